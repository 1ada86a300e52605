//! `/v1/theory`: bounds, run lengths and exact figures for the parameters in the query, without data or a run.
//!
//! The queries are defined here; the formulas and their sources are in `halfspace_core::theory`.

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use halfspace_core::learners::engine::stopping::Sampling;
use halfspace_core::theory::cover::Dichotomies;
use halfspace_core::theory::directed_drift::{Analysis, analyse};
use halfspace_core::theory::winnow as winnows;
use halfspace_core::theory::{
    MistakeBound, cover as covers, novikoff as novikoffs, stopping as stops,
};

use crate::http::answer::Json;
use crate::http::app_state::App;
use crate::http::computing::compute_figure;
use crate::http::document::declared::{FIGURE, problems};
use crate::http::extract::{Caller, Query};
use crate::http::problem::Problem;

/// Default of the allowed error, which belongs to the default confidence.
const DELTA_DEFAULT: f64 = 0.01;

/// Default of the confidence.
const CONFIDENCE_DEFAULT: f64 = 0.99;

/// Default of Winnow's factor.
const ALPHA_DEFAULT: f64 = 2.0;

/// Numbers of points and dimensions.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct CoverQuery {
    /// Points in general position, P.
    #[param(minimum = 1, maximum = 10_000)]
    points: u64,
    /// Dimensions, N.
    #[param(minimum = 1, maximum = 10_000)]
    dimension: u64,
}

/// Counts the dichotomies of points that hyperplanes through the origin make (Cover's theorem).
///
/// The points must be in general position. The count is exact.
#[utoipa::path(get, path = "/v1/theory/cover", tag = "theory", params(CoverQuery),
    responses((status = 200, description = "The count", body = Dichotomies)),
    extensions(("x-problems" = json!(problems(&[FIGURE])))))]
pub async fn count_dichotomies(
    State(app): State<App>,
    Caller(owner): Caller,
    Query(query): Query<CoverQuery>,
) -> Result<Json<Dichotomies>, Problem> {
    let count = compute_figure(&app, &owner, move |stop| {
        Ok(covers::dichotomies(query.points, query.dimension, stop)?)
    });
    Ok(Json(count.await?))
}

/// Parameters of the analysis.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DirectedDriftQuery {
    /// Features per example.
    #[param(minimum = 1, maximum = 512)]
    n: u64,
    /// Error that a stopping rule is allowed.
    #[param(default = 0.01, exclusive_minimum = 0, exclusive_maximum = 1)]
    delta: Option<f64>,
}

/// Analyses Directed Drift exactly, without a simulation.
///
/// The analysis assumes fresh and uniform positive examples.
#[utoipa::path(get, path = "/v1/theory/directed-drift", tag = "theory",
    params(DirectedDriftQuery),
    responses((status = 200, description = "The analysis", body = Analysis)),
    extensions(("x-problems" = json!(problems(&[FIGURE])))))]
pub async fn analyse_directed_drift(
    State(app): State<App>,
    Caller(owner): Caller,
    Query(query): Query<DirectedDriftQuery>,
) -> Result<Json<Analysis>, Problem> {
    let delta = query.delta.unwrap_or(DELTA_DEFAULT);
    let analysis = compute_figure(&app, &owner, move |stop| Ok(analyse(query.n, delta, stop)?));
    Ok(Json(analysis.await?))
}

/// Parameters of the thresholds.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct StoppingQuery {
    /// Features per example.
    n: u64,
    /// Confidence c; 0.99 when absent. Of all runs started like this, at most 1 - c claim c and are wrong.
    /// This is not the share among those that stopped.
    confidence: Option<f64>,
    /// Distribution of the examples; `uniform-positive` when absent.
    #[param(value_type = Option<String>)]
    sampling: Option<Sampling>,
    /// Number of the hypothesis under `anytime`: the mistakes so far plus one.
    #[param(default = 1, minimum = 1, maximum = 9_007_199_254_740_991_i64)]
    hypothesis: Option<u64>,
}

/// Run lengths at which the stopping rules accept a hypothesis.
#[derive(Serialize, ToSchema)]
#[schema(as = StoppingThresholds)]
pub struct StoppingAnswer {
    /// Smallest error of a wrong hypothesis.
    min_error: f64,
    /// Run length under the rule of the paper.
    per_hypothesis: RunLength,
    /// Run length under `anytime`, for the hypothesis with the given number.
    anytime: RunLength,
}

/// A number of consecutive consistent examples.
#[derive(Serialize, ToSchema)]
pub struct RunLength {
    run_length: u64,
}

/// Returns the run lengths at which the stopping rules accept a hypothesis.
///
/// A run length is the number of consecutive examples without a mistake.
#[utoipa::path(get, path = "/v1/theory/stopping", tag = "theory", params(StoppingQuery),
    responses((status = 200, description = "The run lengths", body = StoppingAnswer)),
    extensions(("x-problems" = json!(problems(&[FIGURE])))))]
pub async fn get_stopping_threshold(
    State(app): State<App>,
    Caller(owner): Caller,
    Query(query): Query<StoppingQuery>,
) -> Result<Json<StoppingAnswer>, Problem> {
    let confidence = query.confidence.unwrap_or(CONFIDENCE_DEFAULT);
    let sampling = query.sampling.unwrap_or(Sampling::UniformPositive);
    let hypothesis = query.hypothesis.unwrap_or(1);
    let (n, n_max) = (query.n, app.limits.n_max);
    let found = compute_figure(&app, &owner, move |_| {
        Ok(stops::thresholds(
            n, n_max, confidence, sampling, hypothesis,
        )?)
    });
    let found = found.await?;
    let of = |run_length| RunLength { run_length };
    Ok(Json(StoppingAnswer {
        min_error: found.min_error,
        per_hypothesis: of(found.per_hypothesis),
        anytime: of(found.anytime),
    }))
}

/// Parameters of Winnow's bound.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct WinnowQuery {
    /// Features, N. If negated literals are features too, N is twice the number of features of an example.
    #[param(minimum = 1, maximum = 9_007_199_254_740_991_i64)]
    n: u64,
    /// Literals of the disjunction, k; at most n.
    #[param(minimum = 0, maximum = 9_007_199_254_740_991_i64)]
    relevant: u64,
    /// Factor of promotion and demotion.
    #[param(default = 2, exclusive_minimum = 1, maximum = 4_294_967_296_i64)]
    alpha: Option<f64>,
    /// Threshold; n when absent. A positive plain decimal with at most 10,000 digits.
    #[param(pattern = "^[0-9]+([.][0-9]+)?$")]
    theta: Option<String>,
}

/// Returns Winnow's mistake bound for disjunctions (Theorem 2 of Khardon, Roth and Servedio).
///
/// The bound holds for every sequence of examples that a disjunction of `relevant` literals labels.
#[utoipa::path(get, path = "/v1/theory/winnow", tag = "theory", params(WinnowQuery),
    responses((status = 200, description = "The bound", body = MistakeBound)),
    extensions(("x-problems" = json!(problems(&[FIGURE])))))]
pub async fn bound_winnow_mistakes(
    State(app): State<App>,
    Caller(owner): Caller,
    Query(query): Query<WinnowQuery>,
) -> Result<Json<MistakeBound>, Problem> {
    let alpha = query.alpha.unwrap_or(ALPHA_DEFAULT);
    let bound = compute_figure(&app, &owner, move |_| {
        let theta = query.theta.as_deref();
        Ok(winnows::bound(query.n, query.relevant, alpha, theta)?)
    });
    Ok(Json(bound.await?))
}

/// Parameters of Novikoff's bound.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct NovikoffQuery {
    /// Largest norm of an example, R.
    #[param(exclusive_minimum = 0)]
    radius: f64,
    /// Norm of the separator, |u|.
    #[param(exclusive_minimum = 0)]
    norm: f64,
    /// Smallest product y <u, x>, called xi.
    #[param(exclusive_minimum = 0)]
    margin: f64,
}

/// Returns Novikoff's bound on the mistakes of the perceptron, R^2 |u|^2 / xi^2.
///
/// The bound holds for every sequence of examples that the separator u classifies with this margin.
#[utoipa::path(get, path = "/v1/theory/novikoff", tag = "theory", params(NovikoffQuery),
    responses((status = 200, description = "The bound", body = MistakeBound)))]
pub async fn bound_perceptron_mistakes(
    Query(query): Query<NovikoffQuery>,
) -> Result<Json<MistakeBound>, Problem> {
    let bound = novikoffs::bound(query.radius, query.norm, query.margin)?;
    Ok(Json(bound))
}
