//! Damage detection: if a bit of a blob, model, dataset, session, job or checkpoint flips, the damaged record is
//! never served, and `halfspace check` names it.
//!
//! Each test makes a store with one record of each kind through the API, flips one bit, sends every request that
//! reads the record to a fresh service, and flips the bit back.

mod flips;
mod store;

use axum::http::StatusCode;
use halfspace::jobs::CheckNews;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use self::flips::Flips;
use self::store::{Answers, DamagedStore, Kind, Part, Thing};
use crate::service::{Program, TestBucket, TestDatabase};

/// Bits flipped in each part by the short tests.
const FLIPS: usize = 2;

/// Bits flipped in each part by the long tests. In a part with fewer bytes, one bit of each byte is flipped.
const FLIPS_LONG: usize = 200;

/// Passes of a job that runs for a second or more.
const PASSES: u64 = 500_000;

/// Requires each answer to be the expected one or `data-corrupt`. Returns whether one is `data-corrupt`.
fn assert_not_served(context: &str, expected: &Answers, found: &Answers) -> bool {
    let mut is_noticed = false;
    for ((asked, expected), (_, found)) in expected.iter().zip(found) {
        if found == expected {
            continue;
        }
        let (status, body) = found;
        let is_told = *status == StatusCode::INTERNAL_SERVER_ERROR && body.contains("data-corrupt");
        assert!(
            is_told,
            "{context}: {asked} was {expected:?} and is {found:?}"
        );
        is_noticed = true;
    }
    is_noticed
}

async fn damages(store: &DamagedStore) -> Vec<String> {
    let mut told = Vec::new();
    let mut tell = |news| {
        if let CheckNews::Damage(damage) = news {
            told.push(format!("{} {}: {}", damage.kind, damage.id, damage.detail));
        }
    };
    let checked = halfspace::app::check(&store.settings, &mut tell).await;
    let summary = checked.unwrap();
    assert_eq!(summary.damages, told.len() as u64);
    told
}

async fn assert_named(context: &str, store: &DamagedStore, id: &str) {
    let told = damages(store).await;
    assert!(
        told.iter().any(|line| line.contains(id)),
        "{context}: {told:?}"
    );
}

async fn flip_everything(store: &DamagedStore, count: usize) {
    assert_eq!(damages(store).await, [""; 0]);
    let expected = store.ask_all().await;
    for (asked, (status, body)) in &expected {
        assert_eq!(*status, StatusCode::OK, "{asked}: {body}");
    }
    let mut random = Xoshiro256PlusPlus::seed_from_u64(11);
    let mut flipped = 0;
    for thing in &store.things {
        let bits = store.bits(thing).await;
        let chosen: Vec<usize> = match count < bits / 8 {
            true => (0..count).map(|_| random.random_range(0..bits)).collect(),
            // One bit of every byte.
            false => (0..bits).step_by(8).map(|bit| bit + bit / 8 % 8).collect(),
        };
        for bit in chosen {
            let context = format!("bit {bit} of {}", thing.shown());
            if !store.flip(thing, bit).await {
                // The database refuses the text as invalid or as a violated constraint.
                continue;
            }
            let is_noticed = assert_not_served(&context, &expected, &store.ask_all().await);
            assert!(is_noticed || !thing.is_read, "{context} is not noticed");
            assert_named(&context, store, &thing.id).await;
            assert!(store.flip(thing, bit).await);
            flipped += 1;
        }
    }
    eprintln!("{flipped} bits flipped, none served");
    assert_eq!(store.ask_all().await, expected);
    assert_eq!(damages(store).await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flipped_bit_is_never_served_over_sqlite() {
    flip_everything(&DamagedStore::make(None, None).await, FLIPS).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flipped_bit_is_never_served_over_postgres() {
    if let Some(database) = TestDatabase::new().await {
        flip_everything(&DamagedStore::make(Some(database), None).await, FLIPS).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the long form, half an hour"]
async fn many_flipped_bits_are_never_served_over_sqlite() {
    flip_everything(&DamagedStore::make(None, None).await, FLIPS_LONG).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the long form, half an hour"]
async fn many_flipped_bits_are_never_served_over_postgres() {
    if let Some(database) = TestDatabase::new().await {
        flip_everything(&DamagedStore::make(Some(database), None).await, FLIPS_LONG).await;
    }
}

/// Flips bits of the database file while no process uses the store.
async fn flip_the_file(flips: usize) {
    let store = DamagedStore::make(None, None).await;
    let expected = store.ask_all().await;
    let path = store.database_file();
    let whole = std::fs::read(&path).unwrap();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(17);
    // Half of the bits lie in model documents and half anywhere.
    let documents: Vec<usize> = (0..whole.len() - 8)
        .filter(|&at| whole[at..].starts_with(b"\"weights\""))
        .collect();
    assert!(!documents.is_empty());
    let (mut unread, mut named) = (0, 0);
    for number in 0..flips {
        let at = match number % 2 {
            0 => documents.choose(&mut random).unwrap() + random.random_range(0..200),
            _ => random.random_range(0..whole.len()),
        };
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << random.random_range(0..8);
        std::fs::write(&path, &bytes).unwrap();
        let context = format!("byte {at} of the database");
        let mut is_wrong = false;
        match store.try_ask_all().await {
            None => unread += 1,
            Some(found) => {
                for ((asked, expected), (_, found)) in expected.iter().zip(&found) {
                    is_wrong |= found != expected;
                    // Progress, events and counts have no digests.
                    let is_free = asked.contains("/v1/jobs") || asked.contains("/v1/limits");
                    let is_right = found == expected || is_shorter_list(expected, found);
                    let is_served = found.0 == StatusCode::OK && !is_right && !is_free;
                    assert!(
                        !is_served,
                        "{context}: {asked} was {expected:?} and is {found:?}"
                    );
                }
            }
        }
        let told = damages_of_a_broken_store(&store).await;
        named += usize::from(!told.is_empty());
        let is_row = number % 2 == 0 && is_wrong;
        assert!(!is_row || !told.is_empty(), "{context} is not named");
        for file in ["-wal", "-shm"] {
            let mut name = path.clone().into_os_string();
            name.push(file);
            let _ = std::fs::remove_file(name);
        }
    }
    std::fs::write(&path, &whole).unwrap();
    eprintln!(
        "{flips} bits of the file flipped: {unread} kept it from starting, {named} were named"
    );
    assert_eq!(store.ask_all().await, expected);
}

/// Whether an answer is a list that lacks some items. A damaged index may hide rows, which the check finds.
fn is_shorter_list(expected: &(StatusCode, String), found: &(StatusCode, String)) -> bool {
    let items = |answer: &(StatusCode, String)| {
        let read = serde_json::from_str::<serde_json::Value>(&answer.1).unwrap_or_default();
        read["items"].as_array().cloned()
    };
    let (Some(expected), Some(found)) = (items(expected), items(found)) else {
        return false;
    };
    found.len() < expected.len() && found.iter().all(|item| expected.contains(item))
}

/// Like [`damages`], for a store that may fail to open.
async fn damages_of_a_broken_store(store: &DamagedStore) -> Vec<String> {
    let mut told = Vec::new();
    let mut tell = |news| {
        if let CheckNews::Damage(damage) = news {
            told.push(format!("{} {}", damage.kind, damage.id));
        }
    };
    let checked = halfspace::app::check(&store.settings, &mut tell).await;
    if let Err(error) = checked {
        told.push(error.to_string());
    }
    told
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flipped_bit_of_the_database_file_is_never_served() {
    flip_the_file(12).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the long form, many minutes"]
async fn flipped_bits_all_over_the_database_file_are_never_served() {
    flip_the_file(2_000).await;
}

/// A truncated or missing blob is damage (500) and not an unavailable store (503).
async fn blobs_are_cut_off_and_gone(store: &DamagedStore) {
    let expected = store.ask_all().await;
    for thing in store.things.iter().filter(|thing| thing.is_blob()) {
        let whole = store.blob(thing).await;
        let lengths = [0, 20, 47, 48, whole.len() / 2, whole.len() - 1];
        let cut = lengths.map(|length| Some(whole[..length].to_vec()));
        for left in cut.into_iter().chain([None]) {
            let length = left.as_ref().map(Vec::len);
            let context = format!("{length:?} bytes of {}", thing.shown());
            store.replace_blob(thing, left).await;
            let is_noticed = assert_not_served(&context, &expected, &store.ask_all().await);
            assert!(is_noticed || !thing.is_read, "{context}");
            assert_named(&context, store, &thing.id).await;
        }
        store.replace_blob(thing, Some(whole)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_blob_that_is_cut_off_or_gone_is_damage() {
    blobs_are_cut_off_and_gone(&DamagedStore::make(None, None).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damage_in_a_bucket_is_never_served() {
    if let Some(bucket) = TestBucket::new() {
        let mut store = DamagedStore::make(None, Some(bucket)).await;
        blobs_are_cut_off_and_gone(&store).await;
        store.things.retain(Thing::is_blob);
        flip_everything(&store, FLIPS).await;
    }
}

/// A check names both the damaged database and the damaged blob.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn check_names_a_damaged_database_and_a_damaged_blob() {
    let store = DamagedStore::make(None, None).await;
    let blob = store.things.iter().find(|thing| thing.is_blob()).unwrap();
    assert!(store.flip(blob, 8 * 1_000).await);
    let path = store.database_file();
    let whole = std::fs::read(&path).unwrap();
    // A middle page, all pages but the first, the header of the file, the whole file.
    for damaged in [
        3 * 4096..4 * 4096,
        4096..whole.len(),
        0..100,
        0..whole.len(),
    ] {
        let mut bytes = whole.clone();
        bytes[damaged.clone()].fill(0x5a);
        std::fs::write(&path, &bytes).unwrap();
        let told = damages_of_a_broken_store(&store).await;
        let names = |text: &str| told.iter().any(|line| line.contains(text));
        assert!(
            names("database ") || names("table "),
            "{damaged:?}: {told:?}"
        );
        assert!(names(&blob.id), "{damaged:?}: {told:?}");
    }
    std::fs::write(&path, &whole).unwrap();
    let told = damages(&store).await;
    assert_eq!(told.len(), 1, "{told:?}");
}

/// A job with a damaged checkpoint starts again and ends with the same result.
async fn a_damaged_checkpoint_costs_time_only(store: &DamagedStore) {
    let expected = store.result_of(&store.interrupted(PASSES).await).await;
    // Places in the digest, the seconds, the counts, the state and the end.
    for place in [0.0, 0.2, 0.35, 0.6, 1.0] {
        let job = store.interrupted(PASSES).await;
        let checkpoint = DamagedStore::checkpoint_of(&job);
        let bits = store.bits(&checkpoint).await;
        let bit = ((bits - 1) as f64 * place) as usize;
        assert!(store.flip(&checkpoint, bit).await);
        assert_named(&format!("bit {bit} of {bits}"), store, &job).await;
        assert_eq!(store.result_of(&job).await, expected, "bit {bit} of {bits}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_checkpoint_costs_time_only_over_sqlite() {
    a_damaged_checkpoint_costs_time_only(&DamagedStore::make(None, None).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_checkpoint_costs_time_only_over_postgres() {
    if let Some(database) = TestDatabase::new().await {
        let store = DamagedStore::make(Some(database), None).await;
        a_damaged_checkpoint_costs_time_only(&store).await;
    }
}

/// A stored answer of an idempotency key has a digest too.
async fn a_damaged_answer_is_named(store: &DamagedStore, serving: &Program) {
    let client = serving.client();
    let send = async || {
        let path = "/v1/constructions/kernel-perceptron-adversary";
        let headers = [
            ("content-type", "application/json"),
            ("idempotency-key", "once"),
        ];
        let body = br#"{"n": 40, "size": 2, "store": true}"#;
        client.send("POST", path, &headers, body).await.unwrap()
    };
    let made = send().await.expect(201).json();
    let id = made["data"]["dataset"].as_str().unwrap().to_owned();
    let answer = Thing {
        id: id.clone(),
        part: Part::Column {
            table: "idempotency_keys",
            key: "thing",
            column: "answer",
            kind: Kind::Text,
        },
        is_read: true,
    };
    // A digit before the last brace.
    let bit = store.bits(&answer).await - 16;
    assert!(store.flip(&answer, bit).await);
    assert_eq!(send().await.problem(500), "data-corrupt");
    let context = format!("the answer about {id}");
    assert_named(&context, store, &format!("answer {id}: ")).await;
    let path = format!("/v1/datasets/{id}");
    let deleted = client.send("DELETE", &path, &[], b"").await.unwrap();
    assert_eq!(deleted.status, 204);
    assert_eq!(damages(store).await.len(), 1);
}

/// Output and exit status of the command beside a serving process.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn check_command_names_damage_in_output_and_status() {
    let store = DamagedStore::make(None, None).await;
    let directory = store.directory.path();
    let serving = Program::start(directory, &[]);
    let run = |settings: &[&str]| {
        let (status, said) = Program::run(directory, settings);
        (status.code(), said)
    };
    let (status, said) = run(&["check", "--log", "off"]);
    assert_eq!(status, Some(0), "{said}");
    assert!(
        said.contains("no damage found") && said.contains("3 dataset"),
        "{said}"
    );
    let blob = store.things.iter().find(|thing| thing.is_blob()).unwrap();
    assert!(store.flip(blob, 8 * 1_000).await);
    let (status, said) = run(&["check", "--log", "off"]);
    assert_eq!(status, Some(1), "{said}");
    let line = format!("damaged: dataset {}: blob datasets/{0}/data: ", blob.id);
    assert!(
        said.contains(&line) && said.contains("rows 1 to 64,"),
        "{said}"
    );
    let (status, said) = run(&["check", "--json", "--log", "off"]);
    assert_eq!(status, Some(1), "{said}");
    let mut lines = said
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    assert_eq!(lines.next().unwrap()["damage"]["id"], blob.id);
    assert_eq!(lines.next().unwrap()["summary"]["damages"], 1);
    a_damaged_answer_is_named(&store, &serving).await;
    drop(serving);
    // The folder belongs to another store.
    std::fs::write(directory.join("blobs/store-id"), "another\nplace\n").unwrap();
    let (status, said) = run(&["check", "--log", "off"]);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("damaged: blob store-id: "), "{said}");
    for wrong in [
        ["--data-dir", "/nowhere"],
        ["--database-url", "nothing"],
        ["--blob-url", "file:///nowhere"],
    ] {
        let (status, said) = run(&["check", wrong[0], wrong[1]]);
        assert_eq!(status, Some(2), "{said}");
        assert!(said.contains(&format!("error: {}", wrong[0])), "{said}");
    }
}
