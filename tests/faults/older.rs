//! An older version and the present one over one database. Clients use processes of both versions, and the test
//! kills API processes and workers of both. `scripts/older REVISION` builds an older version and runs these
//! tests.
//!
//! Release 0.1.0 has no scheduler and records no history, so the tests judge the answers of the service: each
//! acknowledged job has one end, and the result of an uninterrupted run.

use std::collections::HashMap;
use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use halfspace_core::learners::engine::random::Generator;
use rand::{RngExt, SeedableRng};
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::fleet::{Doors, SETTINGS};
use crate::orders::Clients;
use crate::scale::{Scale, report};
use crate::service::{Program, TestDatabase, until};

/// Variable with the path of the older program.
const OLDER: &str = "HALFSPACE_OLDER";

/// A kill falls within this time after all processes were ready.
const LIFE_MS_MAX: u64 = 400;

/// Members of a result that the versions word differently, and the tag that older versions do not serve.
const FREE: [&str; 6] = [
    "bound",
    "termination",
    "best",
    "confidence",
    "detail",
    "task",
];

#[expect(clippy::disallowed_methods, reason = "no setting of the service")]
fn older() -> Option<PathBuf> {
    let told = env::var(OLDER).ok().map(PathBuf::from);
    if told.is_none() {
        eprintln!("skipped: no {OLDER}; scripts/older REVISION builds an older version");
    }
    told
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_older_version_shares_an_embedded_database_with_the_present_one() {
    if let Some(older) = older() {
        let directory = tempfile::tempdir().unwrap();
        let pair = Pair::new(older, directory.path(), "sqlite");
        shared(pair, "two versions over SQLite").await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_older_version_shares_a_database_with_the_present_one() {
    if let Some(older) = older()
        && let Some(database) = TestDatabase::new().await
    {
        let directory = tempfile::tempdir().unwrap();
        let pair = Pair::new(older, directory.path(), &database.url());
        shared(pair, "two versions over PostgreSQL").await;
    }
}

/// The processes of both versions over one store. The older version cannot start again after the present one
/// has migrated.
struct Pair {
    older: PathBuf,
    directory: PathBuf,
    database_url: String,
    /// The program, its role, and whether it is the older version.
    members: Vec<(Program, &'static str, bool)>,
    doors: Doors,
}

impl Pair {
    fn new(older: PathBuf, directory: &Path, database_url: &str) -> Self {
        Self {
            older,
            directory: directory.to_owned(),
            database_url: database_url.to_owned(),
            members: Vec::new(),
            doors: Doors::default(),
        }
    }

    /// Starts a process and waits until it is ready.
    async fn start(&mut self, role: &'static str, is_older: bool) {
        let settings = ["--database-url", &self.database_url, "--role", role];
        let settings = SETTINGS
            .iter()
            .chain(&settings)
            .map(|&text| text.to_owned());
        let settings: Vec<_> = settings.collect();
        let older = is_older.then(|| self.older.clone());
        let directory = self.directory.clone();
        let started = spawn_blocking(move || {
            let settings: Vec<_> = settings.iter().map(String::as_str).collect();
            Program::start_unrecorded(older.as_deref(), &directory, &settings)
        });
        let program = started.await.unwrap();
        let client = program.client();
        until("a process to be ready", async || {
            let ready = client.send("GET", "/readyz", &[], b"").await;
            ready.is_ok_and(|answer| answer.status == 200).then_some(())
        })
        .await;
        self.members.push((program, role, is_older));
        self.open_doors();
    }

    /// Kills a process of this role and version with SIGKILL.
    fn kill(&mut self, role: &str, is_older: bool) {
        let is_meant = |member: &(Program, &str, bool)| (member.1, member.2) == (role, is_older);
        let victim = self.members.iter().position(is_meant).expect("it lives");
        self.members.remove(victim).0.kill();
        self.open_doors();
    }

    fn open_doors(&self) {
        let answering = self.members.iter().filter(|(_, role, _)| *role == "api");
        self.doors
            .lead_to(answering.map(|(program, ..)| program.client()));
    }

    fn survivors(&self, is_older: bool) -> usize {
        self.members
            .iter()
            .filter(|(_, _, is)| *is == is_older)
            .count()
    }
}

/// The results of uninterrupted runs of a version.
async fn results(older: Option<&Path>, scale: Scale) -> HashMap<usize, Value> {
    let directory = tempfile::tempdir().unwrap();
    let settings = [&SETTINGS[..], &["--role", "all"]].concat();
    let program = Program::start_unrecorded(older, directory.path(), &settings);
    let doors = Doors::default();
    doors.lead_to([program.client()].into_iter());
    Clients::results_at(doors, scale).await
}

fn without_free(result: &Value) -> Value {
    let mut result = result.clone();
    let members = result.as_object_mut().expect("a result is an object");
    members.retain(|name, _| !FREE.contains(&name.as_str()));
    result
}

async fn shared(mut pair: Pair, fault: &str) {
    let scale = Scale::from_environment();
    let (kills, orders) = (scale.of(12, 60), scale.of(48, 300));
    let mut random = Generator::seed_from_u64(scale.seed());
    let older = results(Some(&pair.older), scale).await;
    let present = results(None, scale).await;
    // More workers than the test kills.
    for role in ["api", "worker", "worker", "worker"] {
        pair.start(role, true).await;
    }
    let clients = Clients::at_two_versions(pair.doors.clone(), scale).await;
    let (pace, done) = watch::channel(0);
    let placing = tokio::spawn(Arc::clone(&clients).place_all(orders, done, kills));
    // The older version can start again before the migration.
    for kill in 1..=kills / 4 {
        pause(&mut random).await;
        let role = ["api", "worker"][random.random_range(0..2)];
        pair.kill(role, true);
        pair.start(role, true).await;
        pace.send_replace(kill);
    }
    for role in ["api", "worker"] {
        pair.start(role, false).await;
    }
    let mut signals = kills / 4;
    for kill in kills / 4 + 1..=kills {
        pause(&mut random).await;
        let role = ["api", "worker"][random.random_range(0..2)];
        pair.kill(role, false);
        if kill % (kills / 3) == 0 && pair.survivors(true) > 2 {
            pair.kill("worker", true);
            signals += 1;
        }
        pair.start(role, false).await;
        pace.send_replace(kill);
        signals += 1;
    }
    let placed = placing.await.unwrap();
    assert_eq!(placed.len(), orders);
    assert_eq!((pair.survivors(true), pair.survivors(false)), (2, 2));
    let is_expected = |variant: usize, result: &Value| {
        let known = [&older, &present].map(|results| without_free(&results[&variant]));
        known.contains(&without_free(result))
    };
    // Both versions give the same answers about all jobs.
    let mut interrupted = 0;
    for is_older in [true, false] {
        let of_version = pair
            .members
            .iter()
            .filter(|(_, role, is)| *role == "api" && *is == is_older);
        pair.doors
            .lead_to(of_version.map(|(program, ..)| program.client()));
        interrupted = clients.all_is_well_by(&placed, is_expected).await;
    }
    report(
        fault,
        &format!(
            "{signals} processes killed, {orders} jobs acknowledged: 0 lost, 0 ended twice, 0 results differ; \
             {interrupted} attempts interrupted, {}, {} datasets unread by the older version",
            clients.met,
            clients.met.unread.load(Ordering::Relaxed)
        ),
    );
    assert!(interrupted > 0, "the kills disturbed nothing");
}

/// Sleeps until the random moment of the next kill.
async fn pause(random: &mut Generator) {
    sleep(Duration::from_millis(random.random_range(0..LIFE_MS_MAX))).await;
}
