//! PostgreSQL crashes and recovers while clients submit and jobs run. Clients get answers that ask for a retry, and
//! no job is lost.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use halfspace_core::learners::engine::random::Generator;
use rand::{RngExt, SeedableRng};
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

use crate::fleet::{Fleet, TWO_AND_TWO};
use crate::orders::Clients;
use crate::scale::{Scale, report};
use crate::server::PostgresServer;

/// A crash falls within this time after all processes were ready.
const LIFE_MS_MAX: u64 = 600;

/// Greatest milliseconds between a crash and a recovery, in the short and the long form. The long form exceeds
/// a lease.
const AWAY_MS_MAX: [u64; 2] = [1_000, 3_000];

/// Greatest time from the recovery until all processes are ready. Only the long form asserts this time.
const READY: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn database_restarts_lose_no_job_and_clients_get_retryable_errors() {
    let Some(server) = spawn_blocking(PostgresServer::start).await.unwrap() else {
        return;
    };
    let server = Arc::new(server);
    let scale = Scale::from_environment();
    let (restarts, orders) = (scale.of(3, 20), scale.of(30, 200));
    let expected = Clients::undisturbed(scale).await;
    let fleet = Fleet::start(&server.url(), &TWO_AND_TWO).await;
    // Connections of clients to the service must not break.
    let clients = Clients::at(fleet.doors(), scale, false).await;
    let (pace, done) = watch::channel(0);
    let placing = tokio::spawn(Arc::clone(&clients).place_all(orders, done, restarts));
    let away_ms_max = scale.of(AWAY_MS_MAX[0], AWAY_MS_MAX[1]);
    let mut random = Generator::seed_from_u64(scale.seed());
    let mut slowest = Duration::ZERO;
    for restart in 1..=restarts {
        // The sleeps determine only the moments of the crash and of the recovery.
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
