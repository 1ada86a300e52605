//! Two versions of the program over one database. The older one keeps working during and after the migration by the
//! newer one, but cannot start again.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;

use crate::connection::Connection;
use crate::fleet::Fleet;
use crate::orders::Clients;
use crate::scale::{Scale, report};
use crate::service::{Program, TestDatabase};

/// An additive change of the schema, which is the only kind that a migration of a newer program may make.
const MIGRATION: [&str; 2] = [
    "ALTER TABLE jobs ADD COLUMN from_the_future TEXT",
    "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
     VALUES (9999, 'from the future', TRUE, '', 0)",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn versions_of_two_ages_share_an_embedded_database() {
    let fleet = Fleet::start("sqlite", &["api", "worker"]).await;
    let newer = Connection::to_embedded(fleet.directory()).await;
    outlived(fleet, newer, "BEGIN IMMEDIATE", "sqlite", "--data-dir").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn versions_of_two_ages_share_a_database() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let fleet = Fleet::start(&database.url(), &["api", "worker"]).await;
    let newer = Connection::to_shared(&database).await;
    outlived(fleet, newer, "BEGIN", &database.url(), "--database-url").await;
}

/// Migrates the database while processes of the older program serve. Asserts that all jobs of clients survive.
async fn outlived(
    fleet: Fleet,
    mut newer: Connection,
    begin: &'static str,
    url: &str,
    setting: &str,
) {
    let scale = Scale::from_environment();
    let orders = scale.of(12, 48);
    let expected = Clients::undisturbed(scale).await;
    let clients = Clients::at(fleet.doors(), scale, false).await;
    let (pace, done) = watch::channel(0);
    let placing = tokio::spawn(Arc::clone(&clients).place_all(orders, done, 1));
    newer.run(begin).await;
    for statement in MIGRATION {
        newer.run(statement).await;
    }
    // The newer program holds its locks meanwhile, and all other processes wait.
    sleep(Duration::from_secs(1)).await;
    newer.run("COMMIT").await;
    pace.send_replace(1);
    let placed = placing.await.unwrap();
    clients.all_is_well(&placed, &expected).await;
    fleet.until_ready().await;
    let settings = ["--database-url", url];
    let (status, said) = Program::run(fleet.directory(), &settings);
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains(&format!("error: {setting}")), "{said}");
    assert!(
        said.contains("9999") && !said.contains("listens on"),
        "{said}"
    );
    report(
        &format!("two versions, {setting}"),
        &format!(
            "{orders} jobs by the older program while a newer one migrates: all well, {}",
            clients.met
        ),
    );
}
