//! The service under test: inside this process, or as the real program.
//!
//! The tests check every exchange of both kinds against the served OpenAPI schema: see [`contract`].

mod answer;
mod bucket;
mod client;
pub mod contract;
mod corpus;
mod database;
mod event;
pub mod history;
mod inside;
mod memory_limit;
mod program;
mod proxy;
mod receiver;
mod skip;
mod slow;
mod source_server;
mod tiny_s3;

pub use answer::Answer;
pub use bucket::{S3_SECRET, TestBucket};
pub use client::Client;
pub use database::TestDatabase;
pub use event::{Event, assert_ended_once, assert_numbered, ended_once};
pub use inside::{Sending, Service, request, sending};
pub use memory_limit::MemoryLimit;
pub use program::{Program, create_key, memory_peak, processor_ticks, program, revoke_key};
pub use proxy::{Proxy, Way};
pub use receiver::{Calls, Receiver, SECRET};
pub use skip::skipped;
pub use slow::Slow;
pub use source_server::{Object, SourceServer};
pub use tiny_s3::TinyS3;

use std::future::Future;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

/// Timeout of every wait in the tests.
pub const TIMEOUT: Duration = Duration::from_secs(30);

/// Pause between two polls.
const LOOK: Duration = Duration::from_millis(10);

/// Polls `look` until it returns a value.
pub async fn until<T, F: Future<Output = Option<T>>>(what: &str, mut look: impl FnMut() -> F) -> T {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        if let Some(seen) = look().await {
            return seen;
        }
        assert!(Instant::now() < deadline, "waited too long for {what}");
        sleep(LOOK).await;
    }
}

pub fn train(learner: Value, data: Value) -> Value {
    json!({"train": {"learner": learner, "data": data}})
}

/// An endless stream of generated half-space examples.
pub fn endless(n: u32) -> Value {
    json!({"generated": {"n": n, "target": {"binary_weights": {}}, "sampling": "uniform-positive"}})
}

/// A job that computes until it is stopped: directed drift needs about e^(0.139 n) mistakes.
pub fn long_job(seed: u64) -> Value {
    let mut job = train(json!({"name": "directed-drift"}), endless(401));
    job["train"]["seed"] = json!(seed);
    job["train"]["stop"] = json!({"max_seconds": 300});
    job
}

/// A job that ends at once: five examples of the majority of their features.
pub fn short_job() -> Value {
    train(
        json!({"name": "perceptron"}),
        json!({"labelled": {"examples": [
            {"x": "111", "y": 1}, {"x": "110", "y": 1}, {"x": "001", "y": -1},
            {"x": "000", "y": -1}, {"x": "101", "y": 1}]}}),
    )
}
