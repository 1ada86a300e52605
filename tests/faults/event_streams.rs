//! Clients keep cutting event streams and resuming them on another replica, while replicas are killed. Each client
//! must receive every event once and in order.

use std::time::Duration;

use futures_util::future::join_all;
use halfspace_core::learners::engine::random::Generator;
use rand::{RngExt, SeedableRng};
use serde_json::json;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::scale::{Scale, report};
use crate::service::{
    Client, Event, Program, TIMEOUT, TestDatabase, assert_ended_once, endless, train,
};

/// Milliseconds after which a client cuts a stream.
const CUT_MS: std::ops::RangeInclusive<u64> = 50..=500;

/// Milliseconds after which a replica is killed.
const KILL_MS: std::ops::RangeInclusive<u64> = 500..=2_500;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn event_streams_over_postgres() {
    if let Some(database) = TestDatabase::new().await {
        event_streams("PostgreSQL", &database.url(), (96, 80)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn event_streams_over_sqlite() {
    event_streams("SQLite", "sqlite", (24, 320)).await;
}

/// `long` holds the number and the seconds of the jobs in the long form, which write more than 10,000 events. A
/// job reports its progress at most twice per second, and less often while the machine is busy.
async fn event_streams(backend: &str, database_url: &str, long: (usize, u32)) {
    let scale = Scale::from_environment();
    let ((jobs, seconds), kills) = scale.of(((24, 4), 2), (long, 20));
    let directory = tempfile::tempdir().unwrap();
    let start = |role, workers: &str| {
        let settings = ["--database-url", database_url, "--role", role, "--workers"];
        Program::start(directory.path(), &[&settings[..], &[workers]].concat())
    };
    let workers = (jobs / 2).to_string();
    let _computing = [(); 2].map(|()| start("worker", &workers));
    let mut replicas = [(); 2].map(|()| start("api", "1"));
    let at_first = [replicas[0].client(), replicas[1].client()];
    let mut paths = Vec::new();
    for number in 0..jobs {
        let mut job = train(json!({"name": "directed-drift"}), endless(401));
        job["train"]["seed"] = json!(number);
        job["train"]["stop"] = json!({"max_seconds": seconds});
        paths.push(at_first[0].submit(&job).await);
    }
    let (tell, addresses) = watch::channel(at_first);
    let following = paths.iter().enumerate().map(|(number, path)| {
        let random = Generator::seed_from_u64(scale.seed() + number as u64);
        let followed = follow(path.clone(), addresses.clone(), random);
        // The test fails if a job does not end some time after its own limit.
        let limit = Duration::from_secs(u64::from(seconds)) + 4 * TIMEOUT;
        tokio::spawn(timeout(limit, followed))
    });
    let following: Vec<_> = following.collect();
    let mut random = Generator::seed_from_u64(scale.seed());
    for kill in 0..kills {
        // The sleep determines only the moment of the kill.
        sleep(Duration::from_millis(random.random_range(KILL_MS))).await;
        let replica = &mut replicas[kill % 2];
        let fresh = start("api", "1");
        let mut now = *addresses.borrow();
        now[kill % 2] = fresh.client();
        std::mem::replace(replica, fresh).kill();
        tell.send(now).unwrap();
    }
    let mut all = Followed::default();
    for (path, followed) in paths.iter().zip(join_all(following).await) {
        let followed = followed.unwrap().expect("the last event in time");
        assert_ended_once(&followed.events);
        let stored = replicas[0].client().events(path).await;
        assert_eq!(followed.events, stored, "{path}: as it is told afterwards");
        all.cuts += followed.cuts;
        all.broken += followed.broken;
        all.events.extend(followed.events);
    }
    assert!(all.cuts > jobs, "nothing was cut: {} times", all.cuts);
    let events = all.events.len();
    assert!(events >= scale.of(jobs, 10_000), "{events} events are few");
    let counts = format!(
        "{} events of {jobs} jobs: 0 gaps, 0 duplicates; {} streams cut and resumed elsewhere, {} broken \
         by {kills} kills of a replica",
        all.events.len(),
        all.cuts,
        all.broken
    );
    report(&format!("event streams, {backend}"), &counts);
}

/// The events of one job that a client received.
#[derive(Default)]
struct Followed {
    events: Vec<Event>,
    /// Streams that the client cut.
    cuts: usize,
    /// Streams that broke or could not be opened.
    broken: usize,
}

/// Follows a job to its end on alternating replicas. Each stream begins after the last received event.
async fn follow(
    path: String,
    addresses: watch::Receiver<[Client; 2]>,
    mut random: Generator,
) -> Followed {
    let path = format!("{path}/events");
    let mut followed = Followed::default();
    let mut replica = random.random_range(0..2);
    while followed
        .events
        .last()
        .is_none_or(|last| last.kind != "result")
    {
        replica = 1 - replica;
        let client = addresses.borrow()[replica];
        let moment = Duration::from_millis(random.random_range(CUT_MS));
        match timeout(moment, read_on(client, &path, &mut followed.events)).await {
            Err(_) => followed.cuts += 1,
            Ok(Ok(())) => {}
            Ok(Err(_)) => {
                followed.broken += 1;
                // A client pauses before it reconnects.
                sleep(Duration::from_millis(20)).await;
            }
        }
    }
    followed
}

/// Reads from the event after the last one until the stream ends.
async fn read_on(client: Client, path: &str, events: &mut Vec<Event>) -> std::io::Result<()> {
    let last = events.last().map(|event| event.id.to_string());
    let headers: Vec<_> = last
        .iter()
        .map(|id| ("last-event-id", id.as_str()))
        .collect();
    let mut stream = client.open("GET", path, &headers, b"").await?;
    if stream.status() == 503 {
        // An overloaded process counts like a broken connection.
        return Err(std::io::ErrorKind::ConnectionRefused.into());
    }
    assert_eq!(stream.status(), 200, "{path}");
    while let Some(event) = stream.event().await? {
        events.push(event);
    }
    Ok(())
}
