//! `/v1/constructions`: sequences of examples and formulas from the proofs of theorems. A sequence comes back in the
//! answer or is stored as a dataset.
//!
//! The theorems are from R. Khardon, D. Roth and R. A. Servedio, "Efficiency versus convergence of Boolean kernels
//! for on-line learning algorithms" (2005). The field `data` of an answer holds the examples or the id of the
//! dataset, in the form in which requests take data.

use std::fmt;

use axum::extract::{Request, State};
use axum::response::Response;
use halfspace_core::constructions::kernel_perceptron_adversary::{
    self as adversary, AdversaryError,
};
use halfspace_core::constructions::monotone_cnf::{self, CnfError};
use halfspace_core::constructions::winnow_counting::{
    Counting, CountingPlan, CountingQuestion, QuestionError,
};
use halfspace_core::learners::kernel::kernel_winnow_weights::ACTIVE_MAX;
use num_bigint::BigUint;
use serde::de::{self, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::records::Owner;
use crate::records::hypothesis::NumberOrDecimal;
use crate::records::train::SeedNumber;

use crate::http::answer::Json;
use crate::http::app_state::App;
use crate::http::computing::compute_figure;
use crate::http::document::data_schema;
use crate::http::document::declared::{BODY, CONSTRUCTED, KEYED, STORED, problems};
use crate::http::extract::data_body::read_json;
use crate::http::extract::idempotency::{KeyHeader, Keyed, NotMade, once};
use crate::http::extract::{Caller, NoQuery};
use crate::http::learners::construct::{Keep, construct, interrupted, out_of_range, replay};
use crate::http::problem::{Code, Problem};

/// Most clauses of a formula. Over 8 variables there are 36 different clauses.
const CLAUSES_MAX: usize = 1000;

/// Most digits of a number. 2^1024 has 309 digits.
const DIGITS_MAX: usize = 400;

/// A request for a sequence on which the monotone kernel perceptron errs every time (Theorem 4 of Khardon,
/// Roth and Servedio, 2005).
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AdversaryRequest {
    /// Features per example; a multiple of 20.
    #[schema(minimum = 20, multiple_of = 20, maximum = 1_048_576)]
    n: u64,
    /// Members of the set S. The sequence has two examples more.
    #[schema(minimum = 1)]
    size: u64,
    /// Seed of the search. A missing seed is drawn and reported.
    seed: Option<SeedNumber>,
    /// Whether to store the data as a dataset. The answer then contains the id of the dataset.
    #[serde(default)]
    store: bool,
    /// Free text that names the dataset.
    #[schema(max_length = 256)]
    name: Option<String>,
}

/// A request for a sequence that makes kernel Winnow count the satisfying assignments of a formula (Theorem 7
/// of Khardon, Roth and Servedio, 2005).
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CountingRequest {
    /// Variables of the formula.
    #[schema(minimum = 1, maximum = 8)]
    variables: u32,
    /// Clauses of the formula. Each clause has two variables, numbered from 1, which may be equal.
    #[schema(value_type = Vec<Vec<u32>>, min_items = 1, max_items = 1000)]
    clauses: Vec<Clause>,
    /// The number K in the question: has the formula at least K satisfying assignments?
    #[schema(minimum = 1, maximum = 256)]
    at_least: u64,
    /// The update factor of the Winnow that answers the question; 2 when absent.
    #[schema(minimum = 2, maximum = 4_294_967_296_u64)]
    alpha: Option<u64>,
    /// Whether to store the data as a dataset. The answer then contains the id of the dataset.
    #[serde(default)]
    store: bool,
    /// Free text that names the dataset.
    #[schema(max_length = 256)]
    name: Option<String>,
}

/// A clause of two variables.
#[derive(Deserialize)]
#[serde(try_from = "Vec<u32>")]
struct Clause([u32; 2]);

impl TryFrom<Vec<u32>> for Clause {
    type Error = String;

    fn try_from(variables: Vec<u32>) -> Result<Self, String> {
        let two = <[u32; 2]>::try_from(variables);
        two.map(Self)
            .map_err(|given| format!("a clause has two variables, not {}", given.len()))
    }
}

/// A request for a monotone CNF with a given number of satisfying assignments (Lemma 8 of Khardon, Roth and
/// Servedio, 2005).
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CnfRequest {
    /// Variables of the formula.
    #[schema(minimum = 1, maximum = 1024)]
    variables: u32,
    /// The number of satisfying assignments: a JSON number, or a decimal string beyond 2^53.
    #[serde(deserialize_with = "whole_number")]
    #[schema(value_type = NumberOrDecimal)]
    satisfying: BigUint,
}

/// The sequence of Theorem 4.
#[derive(Serialize, ToSchema)]
pub struct AdversaryAnswer {
    #[schema(schema_with = data_schema::reference)]
    data: Box<RawValue>,
    /// Seed of the search.
    seed: u64,
    /// Examples of the sequence. The learner errs on each example.
    examples: u64,
}

/// The sequence of Theorem 7.
#[derive(Serialize, ToSchema)]
pub struct CountingAnswer {
    #[schema(schema_with = data_schema::reference)]
    data: Box<RawValue>,
    /// The example whose prediction answers the question. The prediction is 1 if and only if the formula has
    /// at least `at_least` satisfying assignments.
    query: String,
    /// The threshold as a decimal string: the default of `kernel-winnow` for these data.
    theta: String,
    /// The update factor.
    alpha: u64,
    /// Examples of the sequence. The learner errs on each example.
    examples: u64,
    /// The largest number of active bits in an example. The parameter `max_active` must allow this number.
    active: u32,
    parameters: CountingNumbers,
}

/// The numbers of the construction, with the names of the paper.
#[derive(Serialize, ToSchema)]
pub struct CountingNumbers {
    u: u32,
    v: u32,
    w: u32,
    m: u32,
    q: u32,
    /// A decimal string.
    p: String,
}

/// The formula of Lemma 8.
#[derive(Serialize, ToSchema)]
pub struct CnfAnswer {
    /// Clauses of the formula. Each clause is a list of variables, numbered from 1.
    clauses: Vec<Vec<u32>>,
}

/// Builds the sequence on which the monotone kernel perceptron errs every time (Theorem 4).
///
/// With `store`, the service stores the sequence as a dataset and the answer has status 201.
#[utoipa::path(post, path = "/v1/constructions/kernel-perceptron-adversary",
    tag = "constructions", request_body = AdversaryRequest, params(KeyHeader),
    responses((status = 200, description = "The sequence", body = AdversaryAnswer),
        (status = 201, description = "The sequence is stored", body = AdversaryAnswer)),
    extensions(("x-problems" = json!(problems(&[BODY, KEYED, STORED, CONSTRUCTED])))))]
pub async fn construct_kernel_perceptron_adversary(
    State(app): State<App>,
    Caller(owner): Caller,
    _: NoQuery,
    request: Request,
) -> Result<Response, Problem> {
    let make = |request, key| adversary_made(app.clone(), owner.clone(), request, key);
    let replay = |record| replay(app.clone(), owner.clone(), record);
    once(&app, &owner, request, make, replay).await
}

async fn adversary_made(
    app: App,
    owner: Owner,
    request: Request,
    key: Keyed,
) -> Result<Response, NotMade> {
    let request: AdversaryRequest = read_json(&app, request).await?;
    let keep = Keep {
        app: app.clone(),
        owner,
        key,
        store: request.store,
        name: request.name,
    };
    let (n, size) = (request.n, request.size);
    let examples = size.saturating_add(2);
    let features = usize::try_from(n).unwrap_or(usize::MAX);
    adversary::check(features, size).map_err(no_adversary)?;
    let bytes = keep.check(examples, n)?;
    let seed = app.seed(request.seed);
    let found = construct(&app, &keep.owner, bytes, move |run| {
        adversary::build(features, size, seed, run).map_err(no_adversary)
    });
    let (data, _memory) = found.await?;
    let told = |data| AdversaryAnswer {
        data,
        seed,
        examples,
    };
    keep.answer(data, told).await
}

/// Builds the sequence with which kernel Winnow counts a formula's satisfying assignments (Theorem 7).
///
/// After training on the sequence, the prediction for the `query` example answers the question.
#[utoipa::path(post, path = "/v1/constructions/winnow-counting",
    tag = "constructions", request_body = CountingRequest, params(KeyHeader),
    responses((status = 200, description = "The sequence", body = CountingAnswer),
        (status = 201, description = "The sequence is stored", body = CountingAnswer)),
    extensions(("x-problems" = json!(problems(&[BODY, KEYED, STORED, CONSTRUCTED])))))]
pub async fn construct_winnow_counting(
    State(app): State<App>,
    Caller(owner): Caller,
    _: NoQuery,
    request: Request,
) -> Result<Response, Problem> {
    let make = |request, key| counting_made(app.clone(), owner.clone(), request, key);
    let replay = |record| replay(app.clone(), owner.clone(), record);
    once(&app, &owner, request, make, replay).await
}

async fn counting_made(
    app: App,
    owner: Owner,
    request: Request,
    key: Keyed,
) -> Result<Response, NotMade> {
    let request: CountingRequest = read_json(&app, request).await?;
    let keep = Keep {
        app: app.clone(),
        owner,
        key,
        store: request.store,
        name: request.name,
    };
    let clauses = request.clauses.len();
    if clauses > CLAUSES_MAX {
        let detail = format!("There are {clauses} clauses, more than {CLAUSES_MAX}.");
        return Err(out_of_range("clauses", detail).into());
    }
    let alpha = request.alpha.unwrap_or(2);
    let plan = CountingPlan::new(CountingQuestion {
        variables: request.variables,
        clauses: request.clauses.into_iter().map(|clause| clause.0).collect(),
        at_least: request.at_least,
        alpha,
    });
    let plan = plan.map_err(|error| no_question(&error))?;
    let active = plan.active();
    if u64::from(active) > ACTIVE_MAX {
        let detail = format!(
            "With alpha = {alpha} an example has {active} active features. Kernel Winnow accepts \
             at most {ACTIVE_MAX}. A smaller alpha needs fewer active features."
        );
        return Err(out_of_range("alpha", detail).into());
    }
    let bytes = keep.check(plan.examples(), plan.numbers().m.into())?;
    let building = plan.clone();
    let found = construct(&app, &keep.owner, bytes, move |run| {
        building.build(run).map_err(interrupted)
    });
    let (Counting { data, query }, _memory) = found.await?;
    let numbers = plan.numbers();
    let told = |data| CountingAnswer {
        data,
        query: query.to_bit_string(),
        theta: plan.theta().to_string(),
        alpha,
        examples: plan.examples(),
        active,
        parameters: CountingNumbers {
            u: numbers.u,
            v: numbers.v,
            w: numbers.w,
            m: numbers.m,
            q: numbers.q,
            p: numbers.p.to_string(),
        },
    };
    keep.answer(data, told).await
}

/// Builds a monotone CNF with a given number of satisfying assignments (Lemma 8).
///
/// Each clause has two variables, which may be equal.
#[utoipa::path(post, path = "/v1/constructions/monotone-cnf",
    tag = "constructions", request_body = CnfRequest,
    responses((status = 200, description = "The formula", body = CnfAnswer)),
    extensions(("x-problems" = json!(problems(&[BODY])))))]
pub async fn construct_monotone_cnf(
    State(app): State<App>,
    Caller(owner): Caller,
    _: NoQuery,
    request: Request,
) -> Result<Json<CnfAnswer>, Problem> {
    let request: CnfRequest = read_json(&app, request).await?;
    let clauses = compute_figure(&app, &owner, move |_| {
        let clauses = monotone_cnf::build(request.variables, &request.satisfying);
        clauses.map_err(|error| {
            let field = match error {
                CnfError::Variables(_) => "variables",
                CnfError::Satisfying { .. } => "satisfying",
            };
            out_of_range(field, error.to_string())
        })
    });
    let clauses = clauses.await?;
    Ok(Json(CnfAnswer { clauses }))
}

/// Reads a whole number from a JSON number or a decimal string.
fn whole_number<'de, D: Deserializer<'de>>(value: D) -> Result<BigUint, D::Error> {
    value.deserialize_any(WholeNumber)
}

struct WholeNumber;

impl Visitor<'_> for WholeNumber {
    type Value = BigUint;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a whole number of at least 0, or a decimal string of at most {DIGITS_MAX} digits"
        )
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<BigUint, E> {
        Ok(number.into())
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<BigUint, E> {
        let number = Some(text).filter(|text| text.len() <= DIGITS_MAX);
        let number = number.and_then(|text| text.parse().ok());
        number.ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
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

fn no_question(error: &QuestionError) -> Problem {
    let field = match error {
        QuestionError::Variables(_) => "variables",
        QuestionError::NoClause | QuestionError::Clause { .. } => "clauses",
        QuestionError::AtLeast { .. } => "at_least",
        QuestionError::Alpha(_) => "alpha",
    };
    out_of_range(field, error.to_string())
}
