//! Tests that the statements search their indexes and read no other rows.

use super::database::{Row, statement};
use super::store::Store;
use super::{
    api_keys, callbacks, claims, datasets, jobs, processes, shares, subjobs, usage, waiting,
};
use crate::storage::sqlite;

/// The steps of SQLite's plan for a statement.
async fn steps(store: &Store, text: &str) -> Vec<String> {
    let explain: &'static str = format!("EXPLAIN QUERY PLAN {text}").leak();
    let rows = store.database.all(statement(explain)).await.unwrap();
    let detail = |row: &Row| row.get("detail").unwrap();
    rows.iter().map(detail).collect()
}

#[tokio::test]
async fn lists_and_claims_search_their_indexes() {
    let directory = tempfile::tempdir().unwrap();
    let store = sqlite::open(&directory.path().join("db")).await.unwrap();
    for (text, step) in [
        (
            claims::NEXT_OWNER,
            "SEARCH owner_shares USING INDEX owner_shares_in_line ((virtual_seconds,owner)>(?,?))",
        ),
        (
            claims::NEXT_OWNER,
            "SEARCH jobs USING INDEX jobs_to_claim (owner=?)",
        ),
        (
            claims::TAKE_FIRST,
            "SEARCH jobs USING INDEX jobs_to_claim (owner=?)",
        ),
        (
            claims::TAKE_OLDEST,
            "SEARCH jobs USING INDEX jobs_to_claim_by_age (owner=?)",
        ),
        (
            claims::FIRST_OF_OWNER,
            "SEARCH jobs USING INDEX jobs_to_claim (owner=?)",
        ),
        (
            claims::FIRST_OTHER,
            "SCAN owner_shares USING COVERING INDEX owner_shares_in_line",
        ),
        (
            claims::AHEAD,
            "SEARCH jobs USING COVERING INDEX jobs_to_claim (owner=? AND priority>?)",
        ),
        (
            waiting::WAITING,
            "SEARCH jobs USING INDEX jobs_of_parent (parent=?)",
        ),
        (
            callbacks::TAKE_DUE,
            "SEARCH callbacks USING COVERING INDEX callbacks_due (due_at<?)",
        ),
        (
            shares::ENTER,
            "SCAN owner_shares USING INDEX owner_shares_by_place",
        ),
        (usage::SELECT, "SEARCH usage USING PRIMARY KEY (owner=?)"),
        (
            jobs::LIST,
            "SEARCH jobs USING INDEX jobs_by_owner (owner=? AND id<?)",
        ),
        (
            jobs::LIST_PARTS,
            "SEARCH jobs USING INDEX jobs_of_parent (parent=? AND id<?)",
        ),
        (
            subjobs::OUTCOMES,
            "SEARCH jobs USING INDEX jobs_of_parent (parent=? AND id>?)",
        ),
        (
            jobs::DATA_KEYS,
            "SEARCH jobs USING INDEX jobs_data (data_key>?)",
        ),
        (
            datasets::DATA_KEYS,
            "SEARCH datasets USING COVERING INDEX sqlite_autoindex_datasets_2 (data_key>?)",
        ),
        (
            datasets::PIN,
            "SEARCH jobs USING INDEX jobs_pins (dataset=?)",
        ),
    ] {
        let steps = steps(&store, text).await;
        assert!(steps.iter().any(|found| found == step), "{steps:?}");
        assert!(
            !steps.iter().any(|found| found.contains("TEMP B-TREE")),
            "{steps:?}"
        );
    }
}

/// These statements group the jobs that they count, so they sort few rows in temporary trees.
#[tokio::test]
async fn counts_of_jobs_read_indexes() {
    let directory = tempfile::tempdir().unwrap();
    let store = sqlite::open(&directory.path().join("db")).await.unwrap();
    for (text, step) in [
        (
            waiting::LOAD,
            "SCAN jobs USING COVERING INDEX jobs_to_claim_by_age",
        ),
        (waiting::LOAD, "SCAN jobs USING INDEX jobs_running"),
        (processes::LIVE, "SCAN jobs USING INDEX jobs_running"),
    ] {
        let steps = steps(&store, text).await;
        assert!(steps.iter().any(|found| found == step), "{steps:?}");
    }
}

/// A table that no list names would keep the things of nobody when a key adopts them.
#[tokio::test]
async fn every_table_with_an_owner_is_adopted() {
    let directory = tempfile::tempdir().unwrap();
    let store = sqlite::open(&directory.path().join("db")).await.unwrap();
    let select = statement(
        "SELECT t.name AS name FROM sqlite_master AS t JOIN pragma_table_info(t.name) AS c \
         WHERE t.type = 'table' AND c.name = 'owner' ORDER BY t.name",
    );
    let rows = store.database.all(select).await.unwrap();
    let owned: Vec<String> = rows.iter().map(|row| row.get("name").unwrap()).collect();
    // What is counted of an owner follows the things.
    let counts = ["owner_shares", "usage"];
    let mut adopted: Vec<_> = api_keys::adopted().chain(counts).collect();
    adopted.sort_unstable();
    assert_eq!(owned, adopted);
}
