//! Jobs per second through the store, and the time of a claim as the queue, the owners and the history grow.
//!
//! `scripts/with-postgres cargo bench --bench queue` measures both databases within minutes. Without the script only
//! SQLite is measured. No job is computed: it is only stored, claimed and finished through the methods of the store.
//!
//! Do not compare the two databases with each other. The script's PostgreSQL server does not wait for its disk
//! (`fsync = off`), and SQLite does.
#![expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use halfspace::records::{Job, JobId, Owner, Progress, Status, Timestamp};
use halfspace::storage::{
    Claim, ClaimTerms, Fenced, JobEnd, PostgresUrl, Requeue, Spent, Store, WorkerId, postgres,
    sqlite,
};
use serde_json::json;
use sqlx::{ConnectOptions, Connection};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Duration of each measurement of a rate.
const SPAN: Duration = Duration::from_secs(3);
const WORKERS: [usize; 3] = [1, 2, 4];
const CLAIMS: usize = 500;
const WAITING: [u32; 3] = [100, 10_000, 100_000];
const OWNERS: u32 = 1_000;
/// Jobs that are claimed and finished before claims are measured again.
const CHURN: usize = 10_000;
/// Number of tasks that fill the queue concurrently.
const FILLERS: u32 = 8;

const TERMS: ClaimTerms = ClaimTerms {
    lease_seconds: 3_600,
    memory_bytes_max: u64::MAX,
};

#[tokio::main]
async fn main() -> Outcome<()> {
    let directory = tempfile::tempdir()?;
    let of_one = sqlite::open(&directory.path().join("one.sqlite")).await?;
    let of_many = sqlite::open(&directory.path().join("many.sqlite")).await?;
    let mut measured = vec![Measured::of("SQLite", Arc::new(of_one), Arc::new(of_many)).await?];
    if let Ok(url) = std::env::var("HALFSPACE_TEST_POSTGRES") {
        let of_one = fresh_database(&url, "bench_one").await?;
        let store = Arc::new(postgres::open(&PostgresUrl::parse(&of_one)?).await?);
        let of_many = fresh_database(&url, "bench_many").await?;
        let of_many = postgres::open(&PostgresUrl::parse(&of_many)?).await?;
        let mut postgres = Measured::of("PostgreSQL", store.clone(), Arc::new(of_many)).await?;
        // A reader that keeps old row versions alive, as a dump of the database does.
        let options: sqlx::postgres::PgConnectOptions = of_one.parse()?;
        let mut reader = options.connect().await?;
        let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT COUNT(*) FROM jobs";
        sqlx::raw_sql(begin).execute(&mut reader).await?;
        churn(&store).await?;
        let what = format!("100000, after {CHURN} more, all kept alive by a reader");
        postgres.claims.push((what, claims(&store).await?));
        reader.close().await?;
        measured.push(postgres);
    } else {
        println!("PostgreSQL: skipped; scripts/with-postgres starts a server");
    }
    println!(
        "\n{:<12} {:>9} {:>9} {:>9}   jobs a second through submit, claim, finish",
        "", "1 worker", "2", "4"
    );
    for database in &measured {
        let [one, two, four] = database.rates;
        println!("{:<12} {one:>9.0} {two:>9.0} {four:>9.0}", database.name);
    }
    println!(
        "\n{:<12} {:>9} {:>9}   microseconds a claim, by jobs waiting",
        "", "median", "p99"
    );
    for database in &measured {
        let mut first = None;
        for (waiting, taken) in &database.claims {
            let first = first.get_or_insert(*taken);
            let growth = taken.median / first.median;
            println!(
                "{:<12} {taken}   {waiting} ({growth:.1} times the first)",
                database.name
            );
        }
    }
    Ok(())
}

/// Creates a database on the server and returns its URL.
async fn fresh_database(url: &str, name: &str) -> Outcome<String> {
    let options: sqlx::postgres::PgConnectOptions = url.parse()?;
    let mut server = options.connect().await?;
    let create = sqlx::AssertSqlSafe(format!("CREATE DATABASE {name}"));
    sqlx::raw_sql(create).execute(&mut server).await?;
    server.close().await?;
    Ok(url.replacen("/postgres?", &format!("/{name}?"), 1))
}

/// The measurements of a database.
struct Measured {
    name: &'static str,
    /// Jobs per second, by [`WORKERS`].
    rates: [f64; 3],
    /// The state of the queue, and the times of claims.
    claims: Vec<(String, Claims)>,
}

impl Measured {
    /// Measures an empty store with jobs of one owner, and another with jobs of many owners.
    async fn of(name: &'static str, of_one: Arc<Store>, of_many: Arc<Store>) -> Outcome<Self> {
        let mut rates = [0.0; 3];
        for (measured, workers) in rates.iter_mut().zip(WORKERS) {
            *measured = rate(&of_one, workers).await?;
        }
        let mut all = Vec::new();
        let mut filled = 0;
        for waiting in WAITING {
            println!("{name}: {waiting} jobs are to wait");
            fill(&of_one, waiting - filled, 1).await?;
            filled = waiting;
            all.push((format!("{waiting}"), claims(&of_one).await?));
        }
        churn(&of_one).await?;
        let what = format!("{filled}, after {CHURN} of them were claimed and finished");
        all.push((what, claims(&of_one).await?));
        println!("{name}: {filled} jobs of {OWNERS} owners are to wait");
        fill(&of_many, filled, OWNERS).await?;
        let what = format!("{filled} of {OWNERS} owners");
        all.push((what, claims(&of_many).await?));
        Ok(Self {
            name,
            rates,
            claims: all,
        })
    }
}

/// Stores `jobs` jobs, whose owners rotate.
async fn fill(store: &Arc<Store>, jobs: u32, owners: u32) -> Outcome<()> {
    let filling = (0..FILLERS).map(|filler| {
        let store = Arc::clone(store);
        tokio::spawn(async move {
            for number in (filler..jobs).step_by(FILLERS as usize) {
                let job = job(&format!("owner-{}", number % owners));
                store.insert_job(&job, None).await.expect("the store works");
            }
        })
    });
    for filler in filling.collect::<Vec<_>>() {
        filler.await?;
    }
    Ok(())
}

/// Jobs per second that `workers` workers store, claim and finish.
async fn rate(store: &Arc<Store>, workers: usize) -> Outcome<f64> {
    let begun = Instant::now();
    let work = (0..workers).map(|_| {
        let store = Arc::clone(store);
        tokio::spawn(async move {
            let mut done = 0_u32;
            while begun.elapsed() < SPAN {
                let job = job("owner-0");
                store.insert_job(&job, None).await.expect("the store works");
                if let Some(claim) = claim(&store).await {
                    finish(&store, &claim).await;
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

/// Times of claims in microseconds.
#[derive(Clone, Copy)]
struct Claims {
    median: f64,
    p99: f64,
}

impl fmt::Display for Claims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>9.0} {:>9.0}", self.median, self.p99)
    }
}

/// Times of single claims. Each claimed job goes back into the queue.
async fn claims(store: &Store) -> Outcome<Claims> {
    let mut times = Vec::new();
    for _ in 0..CLAIMS {
        let begun = Instant::now();
        let claim = claim(store).await.ok_or("the queue is empty")?;
        times.push(begun.elapsed());
        store
            .requeue_job(&claim.lease, &Requeue::default(), now())
            .await?;
    }
    times.sort_unstable();
    let at = |share: usize| times[times.len() * share / 100].as_secs_f64() * 1e6;
    Ok(Claims {
        median: at(50),
        p99: at(99),
    })
}

async fn churn(store: &Store) -> Outcome<()> {
    for _ in 0..CHURN {
        let claim = claim(store).await.ok_or("the queue is empty")?;
        finish(store, &claim).await;
    }
    Ok(())
}

async fn claim(store: &Store) -> Option<Claim> {
    let worker = WorkerId::new("bench");
    let claimed = store.claim_job(&worker, &TERMS, now()).await;
    claimed.expect("the store works")
}

async fn finish(store: &Store, claim: &Claim) {
    let end = JobEnd {
        status: Status::Succeeded,
        result: Some(json!({"filling": "x".repeat(1_000)})),
        error: None,
        finished_at: now(),
        progress: Progress::default(),
        model: None,
        dataset: None,
        trace: None,
        spent: Spent::default(),
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
fn job(owner: &str) -> Job {
    static MADE: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let number = MADE.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let mut random = [7; 10];
    random[..8].copy_from_slice(&number.to_be_bytes());
    Job {
        learner: Some("bench".into()),
        ..Job::queued(
            JobId::new(now(), random),
            Owner::new(owner),
            "train",
            json!({"filling": "x".repeat(500)}),
            0,
            now(),
        )
    }
}
