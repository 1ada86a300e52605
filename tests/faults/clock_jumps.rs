//! The database's clock jumps ahead, so that a second worker gets a job while the first is alive and believes in its
//! lease. Only the fence of the first worker's writes then keeps the job from having two holders and two ends.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::connection::Connection;
use crate::scale::{Scale, report};
use crate::service::{Client, Program, TIMEOUT, TestDatabase, history, long_job, short_job, until};

/// Leases and pauses as they look after a clock jump that is longer than they are, but shorter than an hour. A
/// longer jump would cost no attempt.
const JUMP: &str = "UPDATE jobs SET lease_until = lease_until - 20, not_before = not_before - 20 \
     WHERE finished_at IS NULL";

/// Less than the time after which a worker renews its lease.
const BETWEEN_JUMPS: Duration = Duration::from_millis(50);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clock_jumps_over_sqlite() {
    let directory = tempfile::tempdir().unwrap();
    let start = |role| Program::start(directory.path(), &settings("sqlite", role));
    let processes = [start("api"), start("worker"), start("worker")];
    let connection = Connection::to_embedded(directory.path()).await;
    clock_jumps("SQLite", &processes, connection).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clock_jumps_over_postgres() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let (directory, url) = (tempfile::tempdir().unwrap(), database.url());
    let start = |role| Program::start(directory.path(), &settings(&url, role));
    let processes = [start("api"), start("worker"), start("worker")];
    let connection = Connection::to_shared(&database).await;
    clock_jumps("PostgreSQL", &processes, connection).await;
}

fn settings<'a>(database_url: &'a str, role: &'a str) -> [&'a str; 8] {
    let url = ["--database-url", database_url, "--role", role];
    let [a, b, c, d] = url;
    [a, b, c, d, "--workers", "1", "--checkpoint-seconds", "1"]
}

async fn clock_jumps(backend: &str, processes: &[Program; 3], mut connection: Connection) {
    let [client, workers @ ..] = processes.each_ref().map(Program::client);
    let rounds = Scale::from_environment().of(2, 20);
    let (mut jumps, mut taken) = (0, 0);
    for round in 0..rounds {
        let long = client.submit(&long_job(round)).await;
        // The second worker resumes from a checkpoint that the first one saved.
        let before = saved(workers).await;
        until("a checkpoint", async || {
            (saved(workers).await > before).then_some(())
        })
        .await;
        // The first worker renews the lease if no process releases the job before.
        let deadline = Instant::now() + TIMEOUT;
        while client.get(&long).await.expect(200).json()["attempt"] == 1 {
            let jump = history::Asked::of(client.address, "", &[]);
            connection.run(JUMP).await;
            if let Some(jump) = jump {
                jump.leases_ran_out();
            }
            jumps += 1;
            assert!(Instant::now() < deadline, "{long} is never taken over");
            sleep(BETWEEN_JUMPS).await;
        }
        // The first worker is free for this job after the store has refused one of its writes.
        let short = client.submit(&short_job()).await;
        client.until_status(&short, "succeeded").await;
        client.cancel(&long).await;
        let ended = client.until_status(&long, "cancelled").await;
        taken += ended["attempt"].as_u64().unwrap() - 1;
    }
    let counts =
        format!("{jumps} jumps, {taken} jobs taken from a worker that lives: 0 stale writes");
    report(&format!("clock jumps, {backend}"), &counts);
}

/// Number of checkpoints that the workers have saved.
async fn saved(workers: [Client; 2]) -> f64 {
    let mut saved = 0.0;
    for worker in workers {
        saved += worker.metric("halfspace_checkpoints_total").await;
    }
    saved
}
