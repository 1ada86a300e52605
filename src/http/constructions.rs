//! `/v1/constructions`: examples that theorems are proved with, as an answer or stored as a
//! dataset.
//!
//! What is answered as `data` is a form of data wherever data are accepted: the examples, or the
//! dataset that keeps them.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use num_bigint::BigUint;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use tokio_util::task::AbortOnDropHandle;
use utoipa::ToSchema;

use crate::constructions::kernel_perceptron_adversary::{self as adversary, AdversaryError};
use crate::constructions::monotone_cnf::{self, CnfError};
use crate::constructions::winnow_counting::{Counting, Plan, Question, QuestionError};
use crate::formats::{Parsed, TextFormat, json, write_examples};
use crate::jobs::NewDataset;
use crate::learners::data::Data;
use crate::learners::run::{Interrupt, Run};
use crate::records::Owner;
use crate::records::certificates::WholeNumber;
use crate::records::train::SeedNumber;

use super::App;
use super::body::Effort;
use super::data_body::DataBody;
use super::data_schema;
use super::extract::{Caller, NoQuery};
use super::problem::{Code, FieldError, Problem};
use super::submission::{check_name, refuse_idempotency_key};

/// How long a construction may be sought.
const PATIENCE: Duration = Duration::from_secs(60);

/// Digits of a number: 2^1024 has 309.
const DIGITS_MAX: usize = 400;

/// Bytes of an example in JSON besides its bits: `{"x":"","y":-1},`.
const EXAMPLE_BYTES: u64 = 16;

/// Theorem 4: a sequence on which the monotone kernel perceptron errs every time.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AdversaryRequest {
    /// Features an example, a multiple of 20.
    #[schema(minimum = 20, multiple_of = 20, maximum = 1_048_576)]
    n: u64,
    /// Members of the set S; the sequence has two examples more.
    #[schema(minimum = 1)]
    size: u64,
    /// Of the search; drawn, and reported, when absent.
    seed: Option<SeedNumber>,
    /// Whether the data are kept as a dataset, and answered by its id.
    #[serde(default)]
    store: bool,
    /// Free text, for the dataset.
    #[schema(max_length = 256)]
    name: Option<String>,
}

/// Theorem 7: a sequence that makes kernel Winnow count the satisfying assignments of a formula.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CountingRequest {
    /// Variables of the formula.
    #[schema(minimum = 1, maximum = 8)]
    variables: u32,
    /// Its clauses, each of two variables, from 1, that need not differ.
    #[schema(min_items = 1, max_items = 1000)]
    clauses: Vec<[u32; 2]>,
    /// How many satisfying assignments are asked for.
    #[schema(minimum = 1, maximum = 256)]
    at_least: u64,
    /// The factor of the Winnow that is to answer; 2 when absent.
    #[schema(minimum = 2, maximum = 4_294_967_296_u64)]
    alpha: Option<u64>,
    /// Whether the data are kept as a dataset, and answered by its id.
    #[serde(default)]
    store: bool,
    /// Free text, for the dataset.
    #[schema(max_length = 256)]
    name: Option<String>,
}

/// Lemma 8: a monotone CNF with a given number of satisfying assignments.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CnfRequest {
    /// Variables of the formula.
    #[schema(minimum = 1, maximum = 1024)]
    variables: u32,
    /// How many assignments satisfy it: a number, or a decimal string beyond 2^53.
    #[serde(deserialize_with = "whole_number")]
    #[schema(value_type = WholeNumber)]
    satisfying: BigUint,
}

/// The sequence of Theorem 4.
#[derive(Serialize, ToSchema)]
pub struct AdversaryAnswer {
    #[schema(schema_with = data_schema::reference)]
    data: Box<RawValue>,
    /// Of the search.
    seed: u64,
    /// Examples of the sequence, each of them a mistake.
    examples: u64,
}

/// The sequence of Theorem 7.
#[derive(Serialize, ToSchema)]
pub struct CountingAnswer {
    #[schema(schema_with = data_schema::reference)]
    data: Box<RawValue>,
    /// The example whose prediction answers: 1 iff the formula has so many assignments.
    query: String,
    /// The threshold, in decimal: the default of `kernel-winnow` for these data.
    theta: String,
    /// The factor.
    alpha: u64,
    /// Examples of the sequence, each of them a mistake.
    examples: u64,
    /// The largest number of active bits of an example: `max_active` must allow it.
    active: u32,
    parameters: CountingNumbers,
}

/// The numbers of the construction, as the paper names them.
#[derive(Serialize, ToSchema)]
pub struct CountingNumbers {
    u: u32,
    v: u32,
    w: u32,
    m: u32,
    q: u32,
    /// In decimal.
    p: String,
}

/// The formula of Lemma 8.
#[derive(Serialize, ToSchema)]
pub struct CnfAnswer {
    /// Its clauses, each a list of variables, from 1.
    clauses: Vec<Vec<u32>>,
}

/// Builds the sequence on which the monotone kernel perceptron errs every time (Theorem 4).
#[utoipa::path(post, path = "/v1/constructions/kernel-perceptron-adversary",
    tag = "constructions", request_body = AdversaryRequest,
    responses((status = 200, description = "The sequence", body = AdversaryAnswer),
        (status = 201, description = "The sequence is stored", body = AdversaryAnswer)))]
pub async fn kernel_perceptron_adversary(
    State(app): State<App>,
    Caller(owner): Caller,
    _: NoQuery,
    request: Request,
) -> Result<Response, Problem> {
    refuse_idempotency_key(request.headers())?;
    let (shared, fresh) = (app.clone(), app.jobs.ids().seed());
    let found = construct(&app, request, move |reader, limits, run| {
        let request: AdversaryRequest = json::from_reader(reader, limits)?;
        let keep = Keep {
            app: shared,
            owner,
            store: request.store,
            name: request.name,
        };
        let examples = request.size.saturating_add(2);
        keep.check(examples, request.n)?;
        let seed = request.seed.map_or(fresh, SeedNumber::get);
        let n = usize::try_from(request.n).unwrap_or(usize::MAX);
        let data = adversary::build(n, request.size, seed, run).map_err(no_adversary)?;
        Ok((keep, data, seed, examples))
    });
    let (keep, data, seed, examples) = found.await?;
    let (status, data) = keep.answer(data).await?;
    let answer = AdversaryAnswer {
        data,
        seed,
        examples,
    };
    Ok((status, Json(answer)).into_response())
}

/// Builds the sequence after which kernel Winnow's prediction counts the satisfying assignments of
/// a formula (Theorem 7).
#[utoipa::path(post, path = "/v1/constructions/winnow-counting",
    tag = "constructions", request_body = CountingRequest,
    responses((status = 200, description = "The sequence", body = CountingAnswer),
        (status = 201, description = "The sequence is stored", body = CountingAnswer)))]
pub async fn winnow_counting(
    State(app): State<App>,
    Caller(owner): Caller,
    _: NoQuery,
    request: Request,
) -> Result<Response, Problem> {
    refuse_idempotency_key(request.headers())?;
    let shared = app.clone();
    let found = construct(&app, request, move |reader, limits, run| {
        let request: CountingRequest = json::from_reader(reader, limits)?;
        let keep = Keep {
            app: shared,
            owner,
            store: request.store,
            name: request.name,
        };
        let alpha = request.alpha.unwrap_or(2);
        let question = Question {
            variables: request.variables,
            clauses: request.clauses,
            at_least: request.at_least,
            alpha,
        };
        let plan = Plan::new(question).map_err(|error| no_question(&error))?;
        keep.check(plan.examples(), plan.numbers().m.into())?;
        let counting = plan.build(run).map_err(interrupted)?;
        Ok((keep, plan, counting, alpha))
    });
    let (keep, plan, Counting { data, query }, alpha) = found.await?;
    let (status, data) = keep.answer(data).await?;
    let numbers = plan.numbers();
    let answer = CountingAnswer {
        data,
        query: query.to_bit_string(),
        theta: plan.theta().to_string(),
        alpha,
        examples: plan.examples(),
        active: plan.active(),
        parameters: CountingNumbers {
            u: numbers.u,
            v: numbers.v,
            w: numbers.w,
            m: numbers.m,
            q: numbers.q,
            p: numbers.p.to_string(),
        },
    };
    Ok((status, Json(answer)).into_response())
}

/// Builds a monotone CNF with exactly so many satisfying assignments (Lemma 8).
#[utoipa::path(post, path = "/v1/constructions/monotone-cnf",
    tag = "constructions", request_body = CnfRequest,
    responses((status = 200, description = "The formula", body = CnfAnswer)))]
pub async fn monotone_cnf(
    State(app): State<App>,
    _: NoQuery,
    request: Request,
) -> Result<Json<CnfAnswer>, Problem> {
    refuse_idempotency_key(request.headers())?;
    let body = DataBody::json(&app, request)?;
    let (effort, limits) = (body.effort(), body.limits.clone());
    let clauses = body.read(&app, effort, move |reader| {
        let request: CnfRequest = json::from_reader(reader, &limits)?;
        monotone_cnf::build(request.variables, &request.satisfying).map_err(|error| {
            let field = match error {
                CnfError::Variables(_) => "variables",
                CnfError::Satisfying { .. } => "satisfying",
            };
            out_of_range(field, error.to_string())
        })
    });
    Ok(Json(CnfAnswer {
        clauses: clauses.await?,
    }))
}

/// Reads a request and builds what it asks for where bodies are read: one permit each, in the
/// blocking pool. The run is told to stop when the client leaves, or takes too long.
async fn construct<T: Send + 'static>(
    app: &App,
    request: Request,
    build: impl FnOnce(&mut dyn std::io::Read, &crate::formats::Limits, &Run) -> Result<T, Problem>
    + Send
    + 'static,
) -> Result<T, Problem> {
    let body = DataBody::json(app, request)?;
    let limits = body.limits.clone();
    let run = Arc::<Run>::default();
    let timed = Arc::clone(&run);
    let _timer = AbortOnDropHandle::new(tokio::spawn(async move {
        tokio::time::sleep(PATIENCE).await;
        timed.stop.raise(Interrupt::TimeLimit);
    }));
    let _left = StopOnDrop(Arc::clone(&run));
    let built = body.read(app, Effort::Unknown, move |reader| {
        build(reader, &limits, &run)
    });
    built.await
}

/// Stops a run when nobody waits for it any more.
struct StopOnDrop(Arc<Run>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop.raise(Interrupt::Cancelled);
    }
}

/// What becomes of the data of a construction: the answer, or a dataset.
struct Keep {
    app: App,
    owner: Owner,
    store: bool,
    name: Option<String>,
}

impl Keep {
    /// Refuses a sequence that would be too long, before it is built.
    fn check(&self, examples: u64, n: u64) -> Result<(), Problem> {
        check_name(&self.app, self.name.as_deref(), |detail| at("name", detail))?;
        let limits = &self.app.limits;
        if self.store {
            let bytes = examples.saturating_mul(n.div_ceil(64) * 8);
            let limit = limits.state_bytes_max;
            if bytes > limit {
                let detail = format!(
                    "{examples} examples of {n} bits take {bytes} bytes, more than \
                     state_bytes_max: {limit}."
                );
                return Err(Problem::new(Code::TOO_LARGE, detail));
            }
            return Ok(());
        }
        let bytes = examples.saturating_mul(n + EXAMPLE_BYTES);
        let limit = limits.json_body_bytes_max;
        if bytes > limit {
            let detail = format!(
                "{examples} examples of {n} bits are {bytes} bytes of JSON, more than a body may \
                 have (json_body_bytes_max: {limit}). With \"store\": true they are kept as a \
                 dataset instead."
            );
            let field = at("store", detail.clone());
            return Err(Problem::new(Code::ANSWER_TOO_LONG, detail).with(field));
        }
        Ok(())
    }

    /// The form of the data that is answered, and with which status.
    async fn answer(self, data: Data) -> Result<(StatusCode, Box<RawValue>), Problem> {
        if self.store {
            let parsed = Parsed {
                data,
                first_real: None,
                zero_bit_value: 0.0,
                feature_names: None,
                class_names: None,
            };
            let new = NewDataset {
                owner: self.owner,
                name: self.name,
                parsed,
                assume: None,
            };
            let id = self.app.jobs.store_dataset(new).await?.summary.id;
            let form = serde_json::json!({"dataset": id}).to_string();
            return Ok((StatusCode::CREATED, raw(form)?));
        }
        let limit = self.app.limits.json_body_bytes_max;
        let written = tokio::task::spawn_blocking(move || {
            let examples = write_examples(&data, 0, TextFormat::Json, limit)?;
            Some(format!("{{\"labelled\":{{\"examples\":[{examples}]}}}}"))
        });
        let form = written.await.ok().flatten();
        let form =
            form.ok_or_else(|| Problem::new(Code::INTERNAL, "The answer was not written."))?;
        Ok((StatusCode::OK, raw(form)?))
    }
}

fn raw(form: String) -> Result<Box<RawValue>, Problem> {
    RawValue::from_string(form).map_err(|_| Problem::new(Code::INTERNAL, "The answer is no JSON."))
}

/// A whole number as a JSON number or a decimal string.
fn whole_number<'de, D: Deserializer<'de>>(value: D) -> Result<BigUint, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        Number(u64),
        Text(String),
    }
    let expected = "a whole number, or one in a decimal string of at most 400 digits";
    match Either::deserialize(value) {
        Ok(Either::Number(number)) => Ok(number.into()),
        Ok(Either::Text(text)) if text.len() <= DIGITS_MAX => text
            .parse()
            .map_err(|_| serde::de::Error::custom(format!("{text:?} is not {expected}"))),
        _ => Err(serde::de::Error::custom(format!("this is not {expected}"))),
    }
}

fn at(field: &str, detail: String) -> FieldError {
    FieldError {
        pointer: Some(format!("/{field}")),
        detail,
        ..FieldError::default()
    }
}

fn out_of_range(field: &str, detail: String) -> Problem {
    let field = at(field, detail.clone());
    Problem::new(Code::OUT_OF_RANGE, detail).with(field)
}

fn no_adversary(error: AdversaryError) -> Problem {
    let detail = error.to_string();
    match error {
        AdversaryError::WrongN { .. } => out_of_range("n", detail),
        AdversaryError::Empty
        | AdversaryError::TooMany { .. }
        | AdversaryError::TooLarge { .. } => out_of_range("size", detail),
        AdversaryError::NotFound { .. } => Problem::new(Code::INTRACTABLE, detail),
        AdversaryError::Interrupted(interrupt) => interrupted(interrupt),
    }
}

fn interrupted(_: Interrupt) -> Problem {
    let seconds = PATIENCE.as_secs();
    let detail = format!("It was not found in {seconds} seconds; ask for less.");
    Problem::new(Code::INTRACTABLE, detail)
}

fn no_question(error: &QuestionError) -> Problem {
    let field = match error {
        QuestionError::Variables(_) => "variables",
        QuestionError::NoClause | QuestionError::Clause { .. } => "clauses",
        QuestionError::AtLeast { .. } => "at_least",
        QuestionError::Alpha(_) => "alpha",
    };
    out_of_range(field, error.to_string())
}
