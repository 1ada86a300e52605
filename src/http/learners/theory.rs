//! `/v1/theory`: bounds, run lengths and exact figures for the parameters in the query, without data or a
//! run.
//!
//! The formulas and their sources are in `halfspace_core::theory`. This module owns the queries and the documents.

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use halfspace_core::theory::directed_drift::{Analysis, ByStart, FixedRule, TheoremOne, analyse};
use halfspace_core::theory::winnow as winnows;
use halfspace_core::theory::{
    MistakeBound, cover as covers, novikoff as novikoffs, stopping as stops,
};
use halfspace_formats::SamplingMethod;

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

/// Cover's count of linearly separable dichotomies.
#[derive(Serialize, ToSchema)]
#[schema(as = Dichotomies)]
pub struct DichotomiesDocument {
    /// C(P, N), exactly, as a decimal string.
    #[schema(pattern = "^[1-9][0-9]*$")]
    dichotomies: String,
    /// Binary logarithm of the count.
    log2: f64,
    /// C(P, N) / 2^P, rounded to a double; 0 below the range of doubles.
    fraction: f64,
    /// Binary logarithm of the fraction.
    log2_fraction: f64,
}

/// Counts the dichotomies of points that hyperplanes through the origin make (Cover's theorem).
///
/// The points must be in general position. The count is exact.
#[utoipa::path(get, path = "/v1/theory/cover", tag = "theory", params(CoverQuery),
    responses((status = 200, description = "The count", body = DichotomiesDocument)),
    extensions(("x-problems" = json!(problems(&[FIGURE])))))]
pub async fn count_dichotomies(
    State(app): State<App>,
    Caller(owner): Caller,
    Query(query): Query<CoverQuery>,
) -> Result<Json<DichotomiesDocument>, Problem> {
    let count = compute_figure(&app, &owner, move |stop| {
        let found = covers::dichotomies(query.points, query.dimension, stop)?;
        Ok(DichotomiesDocument {
            dichotomies: found.count.to_string(),
            log2: found.log2,
            fraction: found.fraction,
            log2_fraction: found.log2_fraction,
        })
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

/// The exact analysis of Directed Drift (algorithm D) on fresh uniform-positive examples.
#[derive(Serialize, ToSchema)]
#[schema(as = DirectedDriftAnalysis)]
pub struct DirectedDriftAnswer {
    /// Expected mistakes until the hypothesis is the target.
    expected_mistakes: ByStartAnswer,
    /// Expected examples up to and including the last of those mistakes.
    expected_examples: ByStartAnswer,
    /// Smallest error of a wrong hypothesis.
    min_error: MinError,
    /// Bounds of Fang and Venkatesh on the expected mistakes.
    theorem_1: TheoremOneAnswer,
    /// Stopping rule of the paper, whose run length bounds the error of a single hypothesis.
    per_hypothesis: FixedRuleAnswer,
    /// Rule `exact`: the smallest fixed run length that keeps `delta` from every start.
    exact: FixedRuleAnswer,
    /// Rule `anytime`.
    anytime: AnytimeAnswer,
}

/// A figure for different starts of a run.
#[derive(Serialize, ToSchema)]
#[schema(as = ByStart)]
pub struct ByStartAnswer {
    /// Start at a hypothesis that is drawn uniformly.
    random_start: f64,
    /// Starts at Hamming distance 0, 1, .., n from the target.
    by_distance: Vec<f64>,
}

/// Smallest error of a wrong hypothesis. A hypothesis at Hamming distance 1 from the target has this error.
#[derive(Serialize, ToSchema)]
pub struct MinError {
    /// Error on examples that are uniform over the positive half-space.
    uniform_positive: f64,
    /// Error on examples that are uniform over the cube, with negative examples negated.
    reflected: f64,
}

/// Bounds of Theorem 1 on the expected mistakes from any wrong start, without their O terms.
#[derive(Serialize, ToSchema)]
#[schema(as = TheoremOne)]
pub struct TheoremOneAnswer {
    /// alpha e^(beta n), alpha = 1.771866547, beta = 0.139232271.
    lower: f64,
    /// n^n / 2^n; null beyond the range of doubles.
    upper: Option<f64>,
    /// Binary logarithm of the upper bound.
    log2_upper: f64,
    /// Whether the lower bound holds at this n without its O term.
    lower_holds: bool,
    /// Whether the upper bound holds at this n without its O term.
    upper_holds: bool,
    /// Explanation of the two bounds.
    detail: &'static str,
}

/// A rule that accepts after a fixed number of consecutive consistent examples.
#[derive(Serialize, ToSchema)]
#[schema(as = FixedRule)]
pub struct FixedRuleAnswer {
    /// Number of consecutive consistent examples.
    run_length: u64,
    /// Probability that the rule ends a run from a random start at a wrong hypothesis.
    false_stop_probability: f64,
    /// The same probability from the worst start, the complement of the target.
    false_stop_probability_worst_start: f64,
    /// The same probability from each Hamming distance, 0 to n.
    false_stop_probability_by_distance: Vec<f64>,
}

/// A rule whose run length grows with the number of mistakes.
#[derive(Serialize, ToSchema)]
#[schema(as = AnytimeRule)]
pub struct AnytimeAnswer {
    /// Run length that accepts the first hypothesis.
    run_length: u64,
    /// Probability that the rule ends a run from a random start at a wrong hypothesis.
    false_stop_probability: f64,
    /// Largest amount by which `false_stop_probability` may be too small, because an infinite sum is cut
    /// off.
    false_stop_uncertainty: f64,
}

/// Analyses Directed Drift exactly, without a simulation.
///
/// The analysis assumes fresh and uniform positive examples.
#[utoipa::path(get, path = "/v1/theory/directed-drift", tag = "theory",
    params(DirectedDriftQuery),
    responses((status = 200, description = "The analysis", body = DirectedDriftAnswer)),
    extensions(("x-problems" = json!(problems(&[FIGURE])))))]
pub async fn analyse_directed_drift(
    State(app): State<App>,
    Caller(owner): Caller,
    Query(query): Query<DirectedDriftQuery>,
) -> Result<Json<DirectedDriftAnswer>, Problem> {
    let delta = query.delta.unwrap_or(DELTA_DEFAULT);
    let analysis = compute_figure(&app, &owner, move |stop| Ok(analyse(query.n, delta, stop)?));
    Ok(Json(analysis.await?.into()))
}

impl From<Analysis> for DirectedDriftAnswer {
    fn from(analysis: Analysis) -> Self {
        Self {
            expected_mistakes: analysis.expected_mistakes.into(),
            expected_examples: analysis.expected_examples.into(),
            min_error: MinError {
                uniform_positive: analysis.min_error_uniform_positive,
                reflected: analysis.min_error_reflected,
            },
            theorem_1: analysis.theorem_1.into(),
            per_hypothesis: analysis.per_hypothesis.into(),
            exact: analysis.exact.into(),
            anytime: AnytimeAnswer {
                run_length: analysis.anytime.run_length,
                false_stop_probability: analysis.anytime.false_stop_probability,
                false_stop_uncertainty: analysis.anytime.uncertainty,
            },
        }
    }
}

impl From<ByStart> for ByStartAnswer {
    fn from(figure: ByStart) -> Self {
        Self {
            random_start: figure.random_start,
            by_distance: figure.by_distance,
        }
    }
}

impl From<TheoremOne> for TheoremOneAnswer {
    fn from(theorem: TheoremOne) -> Self {
        Self {
            lower: theorem.lower,
            upper: theorem.upper,
            log2_upper: theorem.log2_upper,
            lower_holds: theorem.lower_holds,
            upper_holds: theorem.upper_holds,
            detail: TheoremOne::DETAIL,
        }
    }
}

impl From<FixedRule> for FixedRuleAnswer {
    fn from(rule: FixedRule) -> Self {
        Self {
            run_length: rule.run_length,
            false_stop_probability_worst_start: rule.worst_start(),
            false_stop_probability: rule.false_stop.random_start,
            false_stop_probability_by_distance: rule.false_stop.by_distance,
        }
    }
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
    sampling: Option<SamplingMethod>,
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
    let sampling = query
        .sampling
        .unwrap_or(SamplingMethod::UniformPositive)
        .into();
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

/// A bound on the number of mistakes.
#[derive(Serialize, ToSchema)]
#[schema(as = MistakeBound)]
pub struct BoundAnswer {
    /// The bound; null outside the range of doubles.
    mistakes_at_most: Option<f64>,
    /// Binary logarithm of the bound.
    log2_mistakes_at_most: f64,
}

impl From<MistakeBound> for BoundAnswer {
    fn from(bound: MistakeBound) -> Self {
        Self {
            mistakes_at_most: bound.value,
            log2_mistakes_at_most: bound.log2,
        }
    }
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
    responses((status = 200, description = "The bound", body = BoundAnswer)),
    extensions(("x-problems" = json!(problems(&[FIGURE])))))]
pub async fn bound_winnow_mistakes(
    State(app): State<App>,
    Caller(owner): Caller,
    Query(query): Query<WinnowQuery>,
) -> Result<Json<BoundAnswer>, Problem> {
    let alpha = query.alpha.unwrap_or(ALPHA_DEFAULT);
    let bound = compute_figure(&app, &owner, move |_| {
        let theta = query.theta.as_deref();
        Ok(winnows::bound(query.n, query.relevant, alpha, theta)?)
    });
    Ok(Json(bound.await?.into()))
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
    responses((status = 200, description = "The bound", body = BoundAnswer)))]
pub async fn bound_perceptron_mistakes(
    Query(query): Query<NovikoffQuery>,
) -> Result<Json<BoundAnswer>, Problem> {
    let bound = novikoffs::bound(query.radius, query.norm, query.margin)?;
    Ok(Json(bound.into()))
}
