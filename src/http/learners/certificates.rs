//! `/v1/theory`: the bounds behind certificates, computed from the counts in the query, and the number of examples that
//! a bound needs.
//!
//! The queries and documents are defined here; the formulas and their sources are in `halfspace_core::certificates`.

use std::f64::consts::LN_10;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use halfspace_core::certificates::test_set::Limits;
use halfspace_core::certificates::{
    CONFIDENCE, compression, progressive, survival, test_set, uniqueness,
};
use halfspace_core::learners::engine::stopping::{Sampling, too_small_an_error};
use halfspace_core::theory::{OutOfRange, check_probability, check_whole};

use crate::http::answer::Json;
use crate::http::app_state::App;
use crate::http::computing::compute_figure;
use crate::http::document::declared::{FIGURE, problems};
use crate::http::extract::{Caller, Query};
use crate::http::problem::Problem;

/// The largest number of examples whose binomial tails are summed: the time grows with the square root.
const EXAMPLES_MAX: u64 = 1 << 32;

/// The error to prove if a query states none.
const ERROR_DEFAULT: f64 = 0.05;

/// The largest count in a query.
const COUNT_MAX: u64 = (1 << 53) - 1;

/// Checks that a count is from 0 to another one.
fn check_part(parameter: &'static str, value: u64, whole: (&str, u64)) -> Result<(), OutOfRange> {
    let (name, max) = whole;
    if value <= max {
        return Ok(());
    }
    let detail = format!("{value} is more than {name} = {max}");
    Err(OutOfRange::new(parameter, detail))
}

/// The refusal of a query that has two parameters of which one gives the other.
fn one_of(first: &'static str, second: &str) -> Problem {
    let detail = format!("give either {first} or {second}");
    OutOfRange::new(first, detail).into()
}

/// Errors on examples.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TestSetQuery {
    /// Examples with a wrong prediction.
    #[param(minimum = 0, maximum = 4_294_967_296_i64)]
    errors: u64,
    /// Number of examples.
    #[param(minimum = 1, maximum = 4_294_967_296_i64)]
    examples: u64,
    /// Confidence of each limit.
    #[param(default = 0.95, exclusive_minimum = 0, exclusive_maximum = 1)]
    confidence: Option<f64>,
}

/// Returns the exact confidence limits of an error after a test (Clopper and Pearson).
///
/// The examples must be independent draws that the learner was not shown.
#[utoipa::path(get, path = "/v1/theory/test-set", tag = "theory", params(TestSetQuery),
    responses((status = 200, description = "The limits", body = Limits)),
    extensions(("x-problems" = json!(problems(&[FIGURE])))))]
pub async fn bound_test_set_error(
    State(app): State<App>,
    Caller(owner): Caller,
    Query(query): Query<TestSetQuery>,
) -> Result<Json<Limits>, Problem> {
    let confidence = query.confidence.unwrap_or(CONFIDENCE);
    check_whole("examples", query.examples, ("examples_max", EXAMPLES_MAX))?;
    check_part("errors", query.errors, ("examples", query.examples))?;
    check_probability("confidence", confidence)?;
    let TestSetQuery {
        errors, examples, ..
    } = query;
    let limits = compute_figure(&app, &owner, move |_| {
        Ok(test_set::limits(errors, examples, confidence))
    });
    Ok(Json(limits.await?))
}

/// A run of consistent examples, or the error that it must prove.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SurvivalQuery {
    /// Consistent examples since the last mistake. Give either `run_length` or `error`.
    #[param(minimum = 0, maximum = 9_007_199_254_740_991_i64)]
    run_length: Option<u64>,
    /// Error to prove; 0.05 when both are absent.
    #[param(exclusive_minimum = 0, exclusive_maximum = 1)]
    error: Option<f64>,
    /// Number of the hypothesis: the mistakes before it plus one.
    #[param(default = 1, minimum = 1, maximum = 9_007_199_254_740_991_i64)]
    hypothesis: Option<u64>,
    /// Confidence of the bound.
    #[param(default = 0.95, exclusive_minimum = 0, exclusive_maximum = 1)]
    confidence: Option<f64>,
}

/// A bound on the error of a hypothesis that classified a run of fresh examples correctly.
#[derive(Serialize, ToSchema)]
#[schema(as = SurvivalBound)]
pub struct SurvivalAnswer {
    /// Upper limit of the error.
    error_at_most: f64,
    /// Consistent examples: as asked, or the fewest that prove the error.
    run_length: u64,
    hypothesis: u64,
    confidence: f64,
}

/// Returns the bound on the error of a surviving hypothesis, or the run length that proves an error.
///
/// The bound holds for all hypotheses of a run at once, for independent examples of any distribution.
#[utoipa::path(get, path = "/v1/theory/survival", tag = "theory", params(SurvivalQuery),
    responses((status = 200, description = "The bound", body = SurvivalAnswer)))]
pub async fn bound_surviving_error(
    Query(query): Query<SurvivalQuery>,
) -> Result<Json<SurvivalAnswer>, Problem> {
    let confidence = query.confidence.unwrap_or(CONFIDENCE);
    let hypothesis = query.hypothesis.unwrap_or(1);
    check_whole("hypothesis", hypothesis, ("2^53 - 1", COUNT_MAX))?;
    check_probability("confidence", confidence)?;
    let run_length = match (query.run_length, query.error) {
        (Some(run_length), None) => {
            check_part("run_length", run_length, ("2^53 - 1", COUNT_MAX))?;
            run_length
        }
        (None, error) => {
            let error = error.unwrap_or(ERROR_DEFAULT);
            check_probability("error", error)?;
            survival::run_length(error, hypothesis, confidence).ok_or_else(|| {
                let detail = too_small_an_error(error, libm::log1p(-confidence), hypothesis);
                OutOfRange::new("error", detail)
            })?
        }
        (Some(_), Some(_)) => return Err(one_of("run_length", "error")),
    };
    Ok(Json(SurvivalAnswer {
        error_at_most: survival::error_at_most(run_length, hypothesis, confidence),
        run_length,
        hypothesis,
        confidence,
    }))
}

/// Mistakes of a run.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ProgressiveQuery {
    /// Wrong predictions.
    #[param(minimum = 0, maximum = 9_007_199_254_740_991_i64)]
    mistakes: u64,
    /// Examples, each predicted before it was learnt.
    #[param(minimum = 1, maximum = 9_007_199_254_740_991_i64)]
    examples: u64,
    /// Confidence of the bound.
    #[param(default = 0.95, exclusive_minimum = 0, exclusive_maximum = 1)]
    confidence: Option<f64>,
}

/// A bound on the mean error of the hypotheses of a run.
#[derive(Serialize, ToSchema)]
#[schema(as = ProgressiveBound)]
pub struct ProgressiveAnswer {
    /// Upper limit of the mean error.
    mean_error_at_most: f64,
    confidence: f64,
}

/// Returns the bound on the mean error of the hypotheses of a run (progressive validation).
///
/// The bound holds at all times at once, for independent examples of any distribution.
#[utoipa::path(get, path = "/v1/theory/progressive", tag = "theory", params(ProgressiveQuery),
    responses((status = 200, description = "The bound", body = ProgressiveAnswer)),
    extensions(("x-problems" = json!(problems(&[FIGURE])))))]
pub async fn bound_mean_error(
    State(app): State<App>,
    Caller(owner): Caller,
    Query(query): Query<ProgressiveQuery>,
) -> Result<Json<ProgressiveAnswer>, Problem> {
    let confidence = query.confidence.unwrap_or(CONFIDENCE);
    check_whole("examples", query.examples, ("2^53 - 1", COUNT_MAX))?;
    check_part("mistakes", query.mistakes, ("examples", query.examples))?;
    check_probability("confidence", confidence)?;
    let bound = compute_figure(&app, &owner, move |_| {
        let bound = progressive::mean_error_at_most(query.mistakes, query.examples, confidence);
        Ok(bound)
    });
    Ok(Json(ProgressiveAnswer {
        mean_error_at_most: bound.await?,
        confidence,
    }))
}

/// Examples with a consistent vector, or the confidence that they must give.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct UniquenessQuery {
    /// Features per example.
    n: u64,
    /// Number of examples. Give either `examples` or `confidence`.
    #[param(minimum = 1, maximum = 9_007_199_254_740_991_i64)]
    examples: Option<u64>,
    /// Confidence to reach; 0.95 when both are absent.
    #[param(exclusive_minimum = 0, exclusive_maximum = 1)]
    confidence: Option<f64>,
    /// Distribution of the examples; `uniform-positive` when absent.
    #[param(value_type = Option<String>)]
    sampling: Option<Sampling>,
}

/// A bound on the probability that a consistent vector of binary weights is not the target.
#[derive(Serialize, ToSchema)]
#[schema(as = UniquenessBound)]
pub struct UniquenessAnswer {
    /// Decimal logarithm of the bound on the probability that another vector is consistent.
    log10_doubt: f64,
    /// Number of examples: as asked, or the fewest that give the confidence.
    examples: u64,
    /// One minus the doubt, or 0 if the bound says nothing.
    confidence: f64,
}

/// Returns the doubt that a consistent vector of binary weights is the target, or the examples that a confidence needs.
///
/// The bound holds for independent uniform examples without noise, for any search that found the vector.
#[utoipa::path(get, path = "/v1/theory/uniqueness", tag = "theory", params(UniquenessQuery),
    responses((status = 200, description = "The bound", body = UniquenessAnswer)),
    extensions(("x-problems" = json!(problems(&[FIGURE])))))]
pub async fn bound_other_targets(
    State(app): State<App>,
    Caller(owner): Caller,
    Query(query): Query<UniquenessQuery>,
) -> Result<Json<UniquenessAnswer>, Problem> {
    let UniquenessQuery {
        n,
        examples,
        confidence,
        sampling,
    } = query;
    check_whole("n", n, ("n_max", app.limits.n_max))?;
    let needed = confidence.unwrap_or(CONFIDENCE);
    check_probability("confidence", needed)?;
    match (examples, confidence) {
        (None, _) => {}
        (Some(examples), None) => check_whole("examples", examples, ("2^53 - 1", COUNT_MAX))?,
        (Some(_), Some(_)) => return Err(one_of("examples", "confidence")),
    }
    let sampling = sampling.unwrap_or(Sampling::UniformPositive);
    let figure = compute_figure(&app, &owner, move |stop| {
        let doubt = uniqueness::Doubt::new(n as usize, sampling);
        let examples = match examples {
            Some(examples) => examples,
            None => doubt
                .examples(libm::log1p(-needed), stop)
                .map_err(Problem::stopped)?,
        };
        Ok((doubt.ln_after(examples), examples))
    });
    let (ln_doubt, examples) = figure.await?;
    Ok(Json(UniquenessAnswer {
        // The doubt is 0 if one example refutes every other vector.
        log10_doubt: (ln_doubt / LN_10).max(f64::MIN),
        examples,
        confidence: (-libm::expm1(ln_doubt)).max(0.0),
    }))
}

/// A run and the examples that reproduce it.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct CompressionQuery {
    /// Number of examples.
    #[param(minimum = 1, maximum = 4_294_967_296_i64)]
    examples: u64,
    /// Examples that reproduce the hypothesis.
    #[param(minimum = 0, maximum = 4_294_967_296_i64)]
    kept: u64,
    /// Errors of the hypothesis on the other examples.
    #[param(default = 0, minimum = 0, maximum = 4_294_967_296_i64)]
    errors: Option<u64>,
    /// Confidence of the bound.
    #[param(default = 0.95, exclusive_minimum = 0, exclusive_maximum = 1)]
    confidence: Option<f64>,
}

/// A bound on the error of a hypothesis that a few examples reproduce.
#[derive(Serialize, ToSchema)]
#[schema(as = CompressionBound)]
pub struct CompressionAnswer {
    /// Upper limit of the error.
    error_at_most: f64,
    confidence: f64,
}

/// Returns the bound on the error of a hypothesis that a few of its examples reproduce (Littlestone and Warmuth).
///
/// The bound holds for independent examples of any distribution. A hold-out gives a tighter bound.
#[utoipa::path(get, path = "/v1/theory/compression", tag = "theory", params(CompressionQuery),
    responses((status = 200, description = "The bound", body = CompressionAnswer)),
    extensions(("x-problems" = json!(problems(&[FIGURE])))))]
pub async fn bound_compressed_error(
    State(app): State<App>,
    Caller(owner): Caller,
    Query(query): Query<CompressionQuery>,
) -> Result<Json<CompressionAnswer>, Problem> {
    let confidence = query.confidence.unwrap_or(CONFIDENCE);
    let (examples, kept, errors) = (query.examples, query.kept, query.errors.unwrap_or(0));
    check_whole("examples", examples, ("examples_max", EXAMPLES_MAX))?;
    check_part("kept", kept, ("examples", examples))?;
    check_part("errors", errors, ("examples - kept", examples - kept))?;
    check_probability("confidence", confidence)?;
    let bound = compute_figure(&app, &owner, move |_| {
        Ok(compression::error_at_most(
            examples, kept, errors, confidence,
        ))
    });
    Ok(Json(CompressionAnswer {
        error_at_most: bound.await?,
        confidence,
    }))
}
