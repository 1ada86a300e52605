//! SIGKILL at random moments: no acknowledged job is lost, no job ends twice, and each result equals that of an
//! uninterrupted run.

use std::time::Duration;

use halfspace_core::learners::engine::random::Generator;
use rand::{RngExt, SeedableRng};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::fleet::{Fleet, TWO_AND_TWO};
use crate::orders::Clients;
use crate::scale::{Scale, report};
use crate::service::TestDatabase;

/// A kill falls within this time after all processes were ready.
const LIFE_MS_MAX: u64 = 300;

/// Greatest time until all processes are ready again. Only the long form, which has the machine to itself,
/// asserts this time.
const READY: Duration = Duration::from_secs(5);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kills_over_sqlite_lose_no_job_and_end_none_twice() {
    killed_at_random_moments("kills over SQLite", "sqlite").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kills_over_postgres_lose_no_job_and_end_none_twice() {
    if let Some(database) = TestDatabase::new().await {
        killed_at_random_moments("kills over PostgreSQL", &database.url()).await;
    }
}

async fn killed_at_random_moments(fault: &str, database_url: &str) {
    let scale = Scale::from_environment();
    let (kills, orders) = (scale.of(10, 200), scale.of(36, 500));
    let expected = Clients::undisturbed(scale).await;
    let mut fleet = Fleet::start(database_url, &TWO_AND_TWO).await;
    let clients = Clients::at(fleet.doors(), scale, true).await;
    let (pace, done) = watch::channel(0);
    let placing = tokio::spawn(std::sync::Arc::clone(&clients).place_all(orders, done, kills));
    let mut random = Generator::seed_from_u64(scale.seed());
    let (mut signals, mut slowest) = (0, Duration::ZERO);
    for kill in 1..=kills {
        // The sleep determines only the moment of the kill.
        sleep(Duration::from_millis(random.random_range(0..LIFE_MS_MAX))).await;
        let victims: Vec<usize> = match random.random_range(0..5) {
            0 => (0..fleet.len()).collect(),
            _ => vec![random.random_range(0..fleet.len())],
        };
        fleet.kill(&victims);
        let ready = fleet.restart(&victims).await;
        (signals, slowest) = (signals + victims.len(), slowest.max(ready));
        assert!(scale.of(true, ready <= READY), "ready after {ready:?}");
        pace.send_replace(kill);
    }
    let placed = placing.await.unwrap();
    assert_eq!(placed.len(), orders);
    let interrupted = clients.all_is_well(&placed, &expected).await;
    report(
        fault,
        &format!(
            "{kills} kills of {signals} processes, {orders} jobs acknowledged: 0 lost, 0 ended twice, \
             0 results differ; {interrupted} attempts interrupted, {}; ready again after {slowest:.1?} at most",
            clients.met
        ),
    );
    assert!(interrupted > 0, "the kills disturbed nothing");
}
