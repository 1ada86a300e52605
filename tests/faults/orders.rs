//! Jobs of every kind, which clients submit during faults, and the checks of how they end.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use halfspace_core::learners::engine::random::Generator;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use crate::fleet::{Doors, Fleet};
use crate::scale::Scale;
use crate::service::{
    Answer, Calls, Client, Receiver, ended_once, endless, long_job, train, until,
};

/// Number of different orders. Later orders repeat them under other names.
const PERIOD: usize = 14;

const CLIENTS: usize = 4;

/// Pause of a client before a retry.
const PAUSE: Duration = Duration::from_millis(50);

/// Time for which a client retries.
const PERSISTENCE: Duration = Duration::from_secs(60);

/// An impatient client disconnects within this time.
const TIMEOUT_MS_MAX: u64 = 30;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A training on generated data.
    Generated,
    /// A training on inline data, which lie in a blob while the job is queued.
    Inline,
    /// A training on a dataset that the client stores first.
    Dataset,
    /// A training whose client waits for the result.
    Waited,
    /// A training with a callback.
    CalledBack,
    /// An endless job that the client cancels at once.
    Cancelled,
    /// A training that is long enough for checkpoints.
    Long,
}

const KINDS: [Kind; 7] = [
    Kind::Generated,
    Kind::Inline,
    Kind::Dataset,
    Kind::Waited,
    Kind::CalledBack,
    Kind::Cancelled,
    Kind::Long,
];

#[derive(Clone, Copy, Debug)]
struct Order(usize);

impl Order {
    fn kind(self) -> Kind {
        KINDS[self.0 % KINDS.len()]
    }

    /// Two orders of one variant have the same result.
    fn variant(self) -> usize {
        self.0 % PERIOD
    }

    fn name(self) -> String {
        format!("order {}", self.0)
    }

    /// The body of the request. The job computes for about a tenth of a second times `work`.
    fn body(self, work: u64, dataset: Option<&str>, hook: &str) -> Value {
        let mut job = match self.kind() {
            Kind::Generated | Kind::Waited | Kind::Long => {
                let times = if self.kind() == Kind::Long { 8 } else { 1 };
                let mut job = train(json!({"name": "directed-drift"}), endless(201));
                job["train"]["stop"] = json!({"max_examples": 200_000 * work * times});
                job
            }
            Kind::Inline | Kind::CalledBack => {
                let mut job = inseparable(self.variant());
                job["train"]["stop"] = json!({"max_passes": 600 * work});
                job
            }
            Kind::Dataset => {
                let mut job = train(shuffled(), json!({"dataset": dataset}));
                job["train"]["stop"] = json!({"max_passes": 600 * work});
                job
            }
            Kind::Cancelled => long_job(1),
        };
        if self.kind() == Kind::CalledBack {
            job["callback"] = json!(hook);
        }
        job["name"] = json!(self.name());
        job["train"]["seed"] = json!(self.variant());
        job
    }
}

/// An endless training on inline data that no half-space separates. Each salt gives other data.
pub fn inseparable(salt: usize) -> Value {
    train(
        shuffled(),
        json!({"labelled": {"examples": examples(salt)}}),
    )
}

/// The passes differ, so the learner detects no cycle.
fn shuffled() -> Value {
    json!({"name": "perceptron", "params": {"order": "shuffled"}})
}

fn examples(salt: usize) -> Vec<Value> {
    let row = |row: usize| {
        let bit = |bit: usize| if row >> bit & 1 == 1 { '1' } else { '0' };
        let x: String = (0..20).map(bit).collect();
        let is_positive = (row * 7919 + salt).is_multiple_of(3);
        json!({"x": x, "y": if is_positive { 1 } else { -1 }})
    };
    (0..200).map(row).collect()
}

/// An order that the service has acknowledged.
pub struct Placed {
    order: Order,
    path: String,
}

#[derive(Default)]
pub struct Met {
    /// Connections that were refused or broke.
    pub cut: AtomicUsize,
    /// Answers that asked for a retry.
    pub refused: AtomicUsize,
    /// Requests that impatient clients abandoned.
    pub impatient: AtomicUsize,
}

impl fmt::Display for Met {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |count: &AtomicUsize| count.load(Ordering::Relaxed);
        write!(
            f,
            "{} connections cut, {} answers 503 or 409, {} clients broke off",
            count(&self.cut),
            count(&self.refused),
            count(&self.impatient)
        )
    }
}

/// Clients of a service under faults. They retry each request under the same key until they get an answer.
pub struct Clients {
    doors: Doors,
    work: u64,
    seed: u64,
    /// Whether the faults may break connections to the service.
    may_be_cut: bool,
    hook: String,
    calls: Calls,
    pub met: Met,
}

impl Clients {
    /// Clients of the processes at these addresses. Jobs are longer for an optimised program.
    pub async fn at(doors: Doors, scale: Scale, may_be_cut: bool) -> Arc<Self> {
        let receiver = Receiver::start().await;
        Arc::new(Self {
            doors,
            work: if cfg!(debug_assertions) { 1 } else { 20 },
            seed: scale.seed(),
            may_be_cut,
            hook: receiver.url(),
            calls: receiver.welcome_all(),
            met: Met::default(),
        })
    }

    /// Results of all variants in an uninterrupted run.
    pub async fn undisturbed(scale: Scale) -> HashMap<usize, Value> {
        let fleet = Fleet::start("sqlite", &["all"]).await;
        let doors = fleet.doors();
        let clients = Self::at(doors.clone(), scale, false).await;
        let orders = (0..PERIOD).map(Order);
        let mut expected = HashMap::new();
        for order in orders.filter(|order| order.kind() != Kind::Cancelled) {
            let path = clients.place(order).await;
            let job = doors.one(0).until_status(&path, "succeeded").await;
            expected.insert(order.variant(), settled(&job));
        }
        expected
    }

    /// Sends `count` orders. The first half is sent without a pause, so that there is always work to compute.
    /// An equal share of the others follows each fault.
    pub async fn place_all(
        self: Arc<Self>,
        count: usize,
        faults: watch::Receiver<usize>,
        of: usize,
    ) -> Vec<Placed> {
        let next = Arc::new(AtomicUsize::new(0));
        let clients = (0..CLIENTS).map(|_| {
            let (this, next, mut faults) = (Arc::clone(&self), Arc::clone(&next), faults.clone());
            tokio::spawn(async move {
                let mut placed = Vec::new();
                loop {
                    let order = Order(next.fetch_add(1, Ordering::Relaxed));
                    if order.0 >= count {
                        return placed;
                    }
                    let due = (2 * order.0).saturating_sub(count) * of / count;
                    faults.wait_for(|&done| done >= due).await.unwrap();
                    let path = this.place(order).await;
                    placed.push(Placed { order, path });
                }
            })
        });
        let mut all = Vec::new();
        for client in clients.collect::<Vec<_>>() {
            all.extend(client.await.unwrap());
        }
        all
    }

    /// Sends one order until the service acknowledges it. Returns the path of the job.
    async fn place(&self, order: Order) -> String {
        let mut dataset = None;
        if order.kind() == Kind::Dataset {
            let asked = json!({"data": {"labelled": {"examples": examples(order.variant())}}});
            let key = format!("data-{}", order.0);
            let stored = self.send(order, "/v1/datasets", Some((&key, &asked)), None);
            dataset = Some(stored.await.id());
        }
        let body = order.body(self.work, dataset.as_deref(), &self.hook);
        let key = format!("key-{}", order.0);
        let prefer = (order.kind() == Kind::Waited).then_some("wait=2");
        let made = self
            .send(order, "/v1/jobs", Some((&key, &body)), prefer)
            .await;
        let path = made.header("location").unwrap().to_owned();
        if order.kind() == Kind::Cancelled {
            self.send(order, &format!("{path}/cancel"), None, None)
                .await;
        }
        path
    }

    /// Sends one request until it succeeds. Only a retry can find out that the answer to an earlier try was
    /// lost.
    async fn send(
        &self,
        order: Order,
        path: &str,
        body: Option<(&str, &Value)>,
        prefer: Option<&str>,
    ) -> Answer {
        let mut headers = Vec::new();
        let mut text = String::new();
        if let Some((key, body)) = body {
            headers.extend([
                ("content-type", "application/json"),
                ("idempotency-key", key),
            ]);
            text = body.to_string();
        }
        headers.extend(prefer.map(|prefer| ("prefer", prefer)));
        let mut random = Generator::seed_from_u64(self.seed ^ order.0 as u64);
        let deadline = Instant::now() + PERSISTENCE;
        if self.may_be_cut && random.random_range(0..4) == 0 {
            let limit = Duration::from_millis(random.random_range(0..TIMEOUT_MS_MAX));
            let client = self.doors.one(order.0);
            let sent = client.send("POST", path, &headers, text.as_bytes());
            if timeout(limit, sent).await.is_err() {
                self.met.impatient.fetch_add(1, Ordering::Relaxed);
            }
        }
        for turn in order.0.. {
            let client = self.doors.one(turn);
            match client.send("POST", path, &headers, text.as_bytes()).await {
                Ok(answer) if answer.status.is_success() => return answer,
                Ok(answer) => {
                    let code = answer.problem(answer.status.as_u16());
                    let comes_again = answer.status == 503 || code == "idempotency-in-flight";
                    assert!(comes_again, "{order:?}: {}", answer.text());
                    assert!(answer.header("retry-after").is_some(), "{}", answer.text());
                    self.met.refused.fetch_add(1, Ordering::Relaxed);
                }
                Err(error) => {
                    assert!(self.may_be_cut, "{order:?}: {error}");
                    self.met.cut.fetch_add(1, Ordering::Relaxed);
                }
            }
            assert!(Instant::now() < deadline, "{order:?} is never met");
            sleep(PAUSE).await;
        }
        unreachable!("numbers do not end")
    }

    /// Asserts that every acknowledged order is one job, which ended once with the expected result. Returns the
    /// number of interrupted attempts.
    pub async fn all_is_well(&self, placed: &[Placed], expected: &HashMap<usize, Value>) -> u64 {
        let client = self.doors.one(0);
        drained(client).await;
        let all = every(client, "/v1/jobs").await;
        assert_eq!(all.len(), placed.len(), "one job a key");
        let models = every(client, "/v1/models").await;
        let mut interrupted = 0;
        for Placed { order, path } in placed {
            let job = ended(client, path).await;
            let id = &job["id"];
            assert!(
                all.iter().any(|listed| listed["id"] == *id),
                "{path} is lost"
            );
            assert_eq!(job["name"], order.name(), "{path}");
            interrupted += job["attempt"].as_u64().unwrap().saturating_sub(1);
            ended_once(client, path, &job).await;
            if order.kind() == Kind::Cancelled {
                assert_eq!(job["status"], "cancelled", "{job}");
                continue;
            }
            let result = settled(&job);
            assert_eq!(result, expected[&order.variant()], "{order:?}");
            if order.kind() == Kind::CalledBack {
                self.was_called_back(client, path, id.as_str().unwrap())
                    .await;
            }
        }
        // The list is read again, since jobs may have ended meanwhile.
        let later = every(client, "/v1/models").await;
        assert!(later.len() >= models.len());
        for Placed { order, path } in placed {
            let of = later
                .iter()
                .filter(|model| path.ends_with(model["job"].as_str().unwrap()));
            let count = of.count();
            let is_one = count == 1 || (count == 0 && order.kind() == Kind::Cancelled);
            assert!(is_one, "{path} has {count} models");
        }
        interrupted
    }

    /// Asserts that the callback came at least once and always with the same body.
    async fn was_called_back(&self, client: Client, path: &str, id: &str) {
        until("a callback to be delivered", async || {
            let job = client.get(path).await.expect(200).json();
            (job["callback"]["state"] == "delivered").then_some(())
        })
        .await;
        let bodies = self.calls.of(id);
        assert!(!bodies.is_empty(), "{path} was not called back");
        assert!(bodies.iter().all(|body| *body == bodies[0]), "{bodies:?}");
    }
}

/// The part of a job's result that is the same in each run.
pub fn settled(job: &Value) -> Value {
    assert_eq!(job["status"], "succeeded", "{job}");
    let mut result = job["result"].clone();
    result["model"] = Value::Null;
    result["seconds"] = Value::Null;
    result
}

async fn ended(client: Client, path: &str) -> Value {
    until(&format!("{path} to end"), async || {
        let job = client.get(path).await.expect(200).json();
        (!job["finished_at"].is_null()).then_some(job)
    })
    .await
}

/// Waits until no job is queued or running, as long as their number decreases in time.
async fn drained(client: Client) {
    let mut left = usize::MAX;
    while left > 0 {
        left = until("jobs to end", async || {
            let queued = every(client, "/v1/jobs?status=queued").await;
            let running = every(client, "/v1/jobs?status=running").await;
            let now = queued.len() + running.len();
            (now < left).then_some(now)
        })
        .await;
    }
}

/// Reads all pages of a list.
async fn every(client: Client, list: &str) -> Vec<Value> {
    let mut items = Vec::new();
    let join = if list.contains('?') { '&' } else { '?' };
    let mut query = "limit=100".to_owned();
    loop {
        let page = client
            .get(&format!("{list}{join}{query}"))
            .await
            .expect(200)
            .json();
        items.extend(page["items"].as_array().unwrap().iter().cloned());
        let Some(cursor) = page["next_cursor"].as_str() else {
            return items;
        };
        query = format!("limit=100&cursor={cursor}");
    }
}
