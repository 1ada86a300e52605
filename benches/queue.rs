//! How many jobs a second go through the store, and what a claim takes as the queue and its past
//! grow.
//!
//! `scripts/with-postgres cargo bench --bench queue` measures both databases; without the script,
//! SQLite alone. Computing is left out: a job is stored, claimed and finished. The server of the
//! script does not wait for its disk (`fsync = off`), SQLite does; so compare rows and columns, not
//! the databases.
#![expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use halfspace::records::{Job, JobId, Owner, Progress, Status, Timestamp};
use halfspace::storage::{
    Claim, ClaimTerms, Fenced, JobEnd, PostgresUrl, Store, WorkerId, postgres, sqlite,
};
use serde_json::json;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, PgConnection, SqliteConnection};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// How long each rate is measured.
const SPAN: Duration = Duration::from_secs(3);
const CLAIMS: usize = 500;
const WAITING: [u32; 3] = [100, 10_000, 100_000];
/// Jobs claimed and finished before claims are measured again.
const CHURN: usize = 10_000;

const TERMS: ClaimTerms = ClaimTerms {
    lease_seconds: 3_600,
    attempts_max: 5,
};

#[tokio::main]
async fn main() -> Outcome<()> {
    let directory = tempfile::tempdir()?;
    println!("jobs a second through insert, claim, finish; microseconds a claim (median, p99)");
    let path = directory.path().join("queue.sqlite");
    let store = Arc::new(sqlite::open(&path).await?);
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&path);
    let mut beside = Beside::Sqlite(options.connect().await?);
    measure("SQLite", store, &mut beside).await?;
    let Ok(url) = std::env::var("HALFSPACE_TEST_POSTGRES") else {
        println!("PostgreSQL: skipped; scripts/with-postgres starts a server");
        return Ok(());
    };
    let address = PostgresUrl::parse(&url)?;
    let store = Arc::new(postgres::open(&address).await?);
    let options: sqlx::postgres::PgConnectOptions = url.parse()?;
    let mut beside = Beside::Postgres(options.connect().await?);
    measure(
        "PostgreSQL",
        Arc::clone(&store) as Arc<dyn Store>,
        &mut beside,
    )
    .await?;
    // A reader that keeps the past alive, as a dump of the database does.
    let mut reader = options.connect().await?;
    let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT COUNT(*) FROM jobs";
    sqlx::raw_sql(begin).execute(&mut reader).await?;
    churn(&*store).await?;
    let held = claims(&*store).await?;
    println!("PostgreSQL  after {CHURN} more, all kept alive by a reader   {held}");
    reader.close().await?;
    Ok(())
}

/// A connection that fills the queue, past the store.
enum Beside {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
}

impl Beside {
    /// Stores copies of the waiting job until so many wait.
    async fn fill(&mut self, waiting: u32) -> Outcome<()> {
        let columns = "owner, task, learner, name, status, data_key, data_sha256, seed, attempt, \
            priority, created_at, started_at, finished_at, progress, error, model, \
            cancel_requested, lease_owner, lease_until, claims, event_sequence, spec, result, dataset";
        let first = "(SELECT * FROM jobs WHERE status = 'queued' LIMIT 1) AS first";
        match self {
            Self::Sqlite(connection) => {
                let fill = format!(
                    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {waiting}) \
                     INSERT INTO jobs (id, {columns}) \
                     SELECT printf('job_018bcfe568007000b333%012x', i), {columns} FROM n, {first} \
                     WHERE TRUE ON CONFLICT (id) DO NOTHING"
                );
                sqlx::raw_sql(AssertSqlSafe(fill))
                    .execute(connection)
                    .await?;
            }
            Self::Postgres(connection) => {
                let fill = format!(
                    "INSERT INTO jobs (id, {columns}) \
                     SELECT 'job_018bcfe568007000b333' || lpad(to_hex(i), 12, '0'), {columns} \
                     FROM generate_series(1, {waiting}) AS i, {first} ON CONFLICT (id) DO NOTHING"
                );
                sqlx::raw_sql(AssertSqlSafe(fill))
                    .execute(connection)
                    .await?;
            }
        }
        Ok(())
    }
}

async fn measure(name: &str, store: Arc<dyn Store>, beside: &mut Beside) -> Outcome<()> {
    for workers in [1, 2, 4] {
        let rate = rate(&store, workers).await?;
        println!("{name:<11} {workers} workers: {rate:.0} jobs a second");
    }
    store.insert_job(&job(), None).await?;
    for waiting in WAITING {
        beside.fill(waiting).await?;
        let taken = claims(&*store).await?;
        println!("{name:<11} {waiting:>7} waiting: {taken}");
    }
    churn(&*store).await?;
    let taken = claims(&*store).await?;
    println!("{name:<11} after {CHURN} of them were claimed and finished: {taken}");
    Ok(())
}

/// Jobs a second through the whole of their way, with so many at it.
async fn rate(store: &Arc<dyn Store>, workers: usize) -> Outcome<f64> {
    let begun = Instant::now();
    let work = (0..workers).map(|_| {
        let store = Arc::clone(store);
        tokio::spawn(async move {
            let mut done = 0_u32;
            while begun.elapsed() < SPAN {
                store
                    .insert_job(&job(), None)
                    .await
                    .expect("the store works");
                if let Some(claim) = claim(&*store).await {
                    finish(&*store, &claim).await;
                    done += 1;
                }
            }
            done
        })
    });
    let mut done = 0;
    for worker in work.collect::<Vec<_>>() {
        done += worker.await?;
    }
    Ok(f64::from(done) / begun.elapsed().as_secs_f64())
}

/// What single claims take; each job is given back.
async fn claims(store: &dyn Store) -> Outcome<String> {
    let mut times = Vec::new();
    for _ in 0..CLAIMS {
        let begun = Instant::now();
        let claim = claim(store).await.ok_or("the queue is empty")?;
        times.push(begun.elapsed());
        store.requeue_job(&claim.lease, now()).await?;
    }
    times.sort_unstable();
    let at = |share: usize| times[times.len() * share / 100].as_micros();
    Ok(format!("{} us, {} us", at(50), at(99)))
}

async fn churn(store: &dyn Store) -> Outcome<()> {
    for _ in 0..CHURN {
        let claim = claim(store).await.ok_or("the queue is empty")?;
        finish(store, &claim).await;
    }
    Ok(())
}

async fn claim(store: &dyn Store) -> Option<Claim> {
    let worker = WorkerId::new("bench");
    let claimed = store.claim_job(&worker, &TERMS, now()).await;
    claimed.expect("the store works")
}

async fn finish(store: &dyn Store, claim: &Claim) {
    let end = JobEnd {
        status: Status::Succeeded,
        result: Some(json!({"filling": "x".repeat(1_000)})),
        error: None,
        finished_at: now(),
        progress: Progress::default(),
        model: None,
        trace: None,
    };
    let finished = store.finish_job(&claim.lease, &end).await;
    assert_eq!(finished.expect("the store works"), Fenced::Done);
}

fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let milliseconds = since.map_or(0, |since| since.as_millis());
    Timestamp::from_milliseconds(i64::try_from(milliseconds).unwrap_or(i64::MAX))
}

/// A job with a request of ordinary length.
fn job() -> Job {
    static MADE: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let number = MADE.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let mut random = [7; 10];
    random[..8].copy_from_slice(&number.to_be_bytes());
    Job {
        id: JobId::new(now(), random),
        owner: Owner::anonymous(),
        task: "train".into(),
        learner: Some("bench".into()),
        name: None,
        status: Status::Queued,
        spec: json!({"filling": "x".repeat(500)}),
        data_key: None,
        data_bytes: 0,
        data_sha256: None,
        dataset: None,
        seed: 0,
        attempt: 0,
        created_at: now(),
        started_at: None,
        finished_at: None,
        progress: Progress::default(),
        result: None,
        error: None,
        model: None,
        cancel_requested: false,
        priority: 0,
        callback: None,
    }
}
