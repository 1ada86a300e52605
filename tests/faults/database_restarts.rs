//! PostgreSQL crashes and comes back while clients submit and jobs run: clients are asked to come
//! again, and nothing else; no job is lost.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use halfspace_core::learners::random::Generator;
use rand::{RngExt, SeedableRng};
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

use crate::fleet::{Fleet, TWO_AND_TWO};
use crate::orders::Clients;
use crate::scale::{Scale, report};
use crate::server::PostgresServer;

/// A crash falls within this time after all were ready.
const LIFE_MS_MAX: u64 = 600;

/// So long at most the server is away, besides what it takes to recover: in the long form longer than a
/// lease.
const AWAY_MS_MAX: [u64; 2] = [1_000, 3_000];

/// Within this time after the server is back all processes work again. Asserted in the long form.
const READY: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn database_restarts_lose_no_job_and_clients_are_asked_to_come_again() {
    let Some(server) = spawn_blocking(PostgresServer::start).await.unwrap() else {
        return;
    };
    let server = Arc::new(server);
    let scale = Scale::from_environment();
    let (restarts, orders) = (scale.of(3, 20), scale.of(30, 200));
    let expected = Clients::undisturbed(scale).await;
    let fleet = Fleet::start(&server.url(), &TWO_AND_TWO).await;
    // Not one connection to the service may break.
    let clients = Clients::at(fleet.doors(), scale, false).await;
    let (pace, done) = watch::channel(0);
    let placing = tokio::spawn(Arc::clone(&clients).place_all(orders, done, restarts));
    let away_ms_max = scale.of(AWAY_MS_MAX[0], AWAY_MS_MAX[1]);
    let mut random = Generator::seed_from_u64(scale.seed());
    let mut slowest = Duration::ZERO;
    for restart in 1..=restarts {
        // The moments of the crash and of the start are all that these sleeps settle.
        sleep(Duration::from_millis(random.random_range(0..LIFE_MS_MAX))).await;
        let crashed = Arc::clone(&server);
        spawn_blocking(move || crashed.crash()).await.unwrap();
        sleep(Duration::from_millis(random.random_range(0..away_ms_max))).await;
        let recovered = Arc::clone(&server);
        spawn_blocking(move || recovered.recover()).await.unwrap();
        let back = Instant::now();
        fleet.until_ready().await;
        let ready = back.elapsed();
        slowest = slowest.max(ready);
        assert!(scale.of(true, ready <= READY), "ready after {ready:?}");
        pace.send_replace(restart);
    }
    let placed = placing.await.unwrap();
    assert_eq!(placed.len(), orders);
    let interrupted = clients.all_is_well(&placed, &expected).await;
    report(
        "database restarts",
        &format!(
            "{restarts} immediate restarts of PostgreSQL, {orders} jobs acknowledged: 0 lost, 0 ended \
             twice, 0 results differ; {interrupted} attempts interrupted, {}; ready again after \
             {slowest:.1?} at most",
            clients.met
        ),
    );
    let refused = clients.met.refused.load(Ordering::Relaxed);
    assert!(refused > 0, "the restarts disturbed no client");
}
