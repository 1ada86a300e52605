//! Runs a construction for a request and delivers the data in the answer or as a new dataset.
//!
//! At most `constructions_max` constructions run at once, and each is stopped after 20 seconds. The constructions
//! themselves are in [`halfspace_core::constructions`].

use std::time::Duration;

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use halfspace_core::learners::engine::run::{Interrupt, Run};
use halfspace_core::learners::sample::data::Data;
use halfspace_core::memory::Grant;
use halfspace_formats::{Parsed, TextFormat, write_examples};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::jobs::NewDataset;
use crate::records::{DatasetId, KeyRecord, Owner};

use crate::http::answer::Json;
use crate::http::app_state::App;
use crate::http::computing;
use crate::http::extract::idempotency::{Keyed, NotMade, made_id};
use crate::http::jobs::submission::check_name;
use crate::http::problem::{Code, FieldError, Problem};

/// Longest time that a construction may run.
pub const TIMEOUT: Duration = Duration::from_secs(20);

/// Bytes of an example in JSON besides the bits: `{"x":"","y":-1},`.
const EXAMPLE_BYTES: u64 = 16;

/// Builds in the blocking pool, under a permit of the owner and a grant of `bytes` bytes, until it is done, the
/// client leaves or [`TIMEOUT`] has passed. Hold the grant as long as the result.
///
/// # Errors
/// Errors of `build`, and a lack of permits or of memory.
pub async fn construct<T: Send + 'static>(
    app: &App,
    owner: &Owner,
    bytes: u64,
    build: impl FnOnce(&Run) -> Result<T, Problem> + Send + 'static,
) -> Result<(T, Grant), Problem> {
    let permit = app.permits.constructions.take(owner).await?;
    let grant = app.memory().try_take(bytes)?;
    let held = grant.clone();
    let built = computing::within(TIMEOUT, Some(permit), move |stop| {
        let run = Run {
            stop: stop.clone(),
            ..Run::default()
        };
        let built = grant.within(|| build(&run));
        match grant.refused() {
            Some(refusal) if built.is_err() => Err(refusal.into()),
            _ => built,
        }
    });
    let timed_out = || Err(interrupted(Interrupt::TimeLimit));
    Ok((built.await.unwrap_or_else(timed_out)?, held))
}

/// Who gets a construction's data, and where: in the answer or as a dataset.
pub struct Keep {
    pub app: App,
    pub owner: Owner,
    pub store: bool,
    pub name: Option<String>,
    /// The idempotency key, stored with the dataset. An answer that stores nothing needs none.
    pub key: Keyed,
}

impl Keep {
    /// Refuses an invalid name and a sequence that would be too long, before the construction starts. Returns a bound
    /// on the memory of the construction and its answer.
    ///
    /// # Errors
    /// The limit that is exceeded, and a remedy.
    pub fn check(&self, examples: u64, n: u64) -> Result<u64, Problem> {
        check_name(&self.app, self.name.as_deref(), |detail| at("name", detail))?;
        let limits = &self.app.limits;
        let n_max = limits.n_max;
        if n > n_max {
            let detail = format!("n is {n}, more than n_max: {n_max}.");
            return Err(out_of_range("n", detail));
        }
        // Rows come in blocks of 64. The search keeps its rows, and the examples are a copy of them.
        let rows = examples.saturating_add(1).next_multiple_of(64);
        let bytes = rows.saturating_mul(2 * n.div_ceil(64) * 8);
        let limit = limits.state_bytes_max;
        if bytes > limit {
            let detail = format!(
                "{examples} examples of {n} bits take {bytes} bytes during the construction, more \
                 than state_bytes_max: {limit}."
            );
            return Err(Problem::new(Code::TOO_LARGE, detail));
        }
        let json_bytes = examples.saturating_mul(n + EXAMPLE_BYTES);
        let limit = limits.answer_bytes_max;
        if !self.store && json_bytes > limit {
            let detail = format!(
                "{examples} examples of {n} bits take {json_bytes} bytes of JSON, more than \
                 answer_bytes_max: {limit}. To store the examples as a dataset instead, send \
                 \"store\": true."
            );
            return Err(Problem::at(Code::ANSWER_TOO_LONG, at("store", detail)));
        }
        // The text of the answer doubles while it grows, and is copied once.
        let answer_bytes = if self.store { 0 } else { 4 * json_bytes };
        Ok(bytes + answer_bytes)
    }

    /// The response. `told` makes the answer around the given JSON form of the data.
    ///
    /// # Errors
    /// Errors of the store.
    pub async fn answer<A: Serialize + Send + Sync + 'static>(
        self,
        data: Data,
        told: impl Fn(Box<RawValue>) -> A,
    ) -> Result<Response, NotMade> {
        if self.store {
            let mut key = self.key.claim();
            if let Some(claim) = &mut key {
                // The dataset does not record the seed and the figures. A replay inserts the id of the
                // dataset.
                claim.answer = serde_json::to_value(told(raw("null".to_owned())?)).ok();
            }
            let parsed = Parsed::of(data).into();
            let new = NewDataset {
                owner: self.owner,
                name: self.name,
                parsed,
                cells: None,
                assume: None,
                seed: None,
                key,
                reserved: None,
                begun: self.app.jobs.datasets.begin()?,
            };
            let id = self.app.jobs.datasets.store(new).await?.summary.id;
            let answer = told(raw(dataset_form(id).to_string())?);
            return Ok(created(id, answer));
        }
        let limit = self.app.limits.answer_bytes_max;
        let written = computing::compute(&self.app, None, move |_| {
            let examples = write_examples(&data, None, None, 0, TextFormat::Json, limit);
            let examples = examples
                .map_err(|_| Problem::new(Code::INTERNAL, "The answer was not written."))?;
            raw(format!("{{\"labelled\":{{\"examples\":[{examples}]}}}}"))
        });
        Ok(Json(told(written.await?)).into_response())
    }
}

/// The answer to a retry of a request that stored a construction, or `None` if the dataset was deleted.
///
/// # Errors
/// Errors of the store.
pub async fn replay(
    app: App,
    owner: Owner,
    record: KeyRecord,
) -> Result<Option<Response>, Problem> {
    let id = made_id(&record)?;
    if app.jobs.store.find(&owner, id).await?.is_none() {
        return Ok(None);
    }
    let mut answer = record.answer.unwrap_or_default();
    answer["data"] = dataset_form(id);
    Ok(Some(created(id, answer)))
}

fn created(id: DatasetId, answer: impl Serialize + Send + Sync + 'static) -> Response {
    let location = [(header::LOCATION, format!("/v1/datasets/{id}"))];
    (StatusCode::CREATED, location, Json(answer)).into_response()
}

fn dataset_form(id: DatasetId) -> Value {
    serde_json::json!({"dataset": id})
}

fn raw(form: String) -> Result<Box<RawValue>, Problem> {
    RawValue::from_string(form).map_err(|_| Problem::new(Code::INTERNAL, "The answer is no JSON."))
}

fn at(field: &str, detail: String) -> FieldError {
    FieldError::at_pointer(format!("/{field}"), detail)
}

/// The problem for a field of the body that is out of range.
pub fn out_of_range(field: &str, detail: String) -> Problem {
    Problem::at(Code::OUT_OF_RANGE, at(field, detail))
}

/// The problem for a construction that took too long.
pub fn interrupted(_: Interrupt) -> Problem {
    let seconds = TIMEOUT.as_secs();
    let detail = format!(
        "The construction was not found within {seconds} seconds. Request a smaller construction."
    );
    Problem::new(Code::INTRACTABLE, detail)
}
