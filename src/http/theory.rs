//! `/v1/theory`: what is proved, as numbers, for the parameters in the query.

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use halfspace_core::theory::directed_drift::{Analysis, ByStart, FixedRule, TheoremOne, analyse};
use halfspace_core::theory::winnow as winnows;
use halfspace_core::theory::{
    MistakeBound, cover as covers, novikoff as novikoffs, stopping as stops,
};
use halfspace_formats::Sampling;

use super::App;
use super::extract::Query;
use super::problem::{Code, Problem};

/// The allowed error when none is given: that of the default confidence.
const DELTA_DEFAULT: f64 = 0.01;

/// The confidence when none is given.
const CONFIDENCE_DEFAULT: f64 = 0.99;

/// Winnow's factor when none is given.
const ALPHA_DEFAULT: f64 = 2.0;

/// How many points in how many dimensions.
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
pub struct Dichotomies {
    /// C(P, N), exactly, as a decimal string.
    #[schema(pattern = "^[1-9][0-9]*$")]
    dichotomies: String,
    /// Its binary logarithm.
    log2: f64,
    /// C(P, N) / 2^P, rounded: 0 where it is below the range of f64.
    fraction: f64,
    /// The binary logarithm of that fraction.
    log2_fraction: f64,
}

/// Cover's theorem: how many of the dichotomies of points hyperplanes through the origin make.
#[utoipa::path(get, path = "/v1/theory/cover", tag = "theory", params(CoverQuery),
    responses((status = 200, description = "The count", body = Dichotomies)))]
pub async fn cover(Query(query): Query<CoverQuery>) -> Result<Json<Dichotomies>, Problem> {
    let found = covers::dichotomies(query.points, query.dimension)?;
    Ok(Json(Dichotomies {
        dichotomies: found.count.to_string(),
        log2: found.log2,
        fraction: found.fraction,
        log2_fraction: found.log2_fraction,
    }))
}

/// Which analysis.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DirectedDriftQuery {
    /// Features an example.
    #[param(minimum = 1, maximum = 512)]
    n: u64,
    /// The error that a stopping rule is allowed.
    #[param(default = 0.01, exclusive_minimum = 0, exclusive_maximum = 1)]
    delta: Option<f64>,
}

/// The exact analysis of Directed Drift (algorithm D) on fresh uniform-positive examples.
#[derive(Serialize, ToSchema)]
#[schema(as = DirectedDriftAnalysis)]
pub struct DirectedDriftAnswer {
    /// Mistakes until the hypothesis is the target.
    expected_mistakes: ByStartAnswer,
    /// Examples up to and including the last of those mistakes.
    expected_examples: ByStartAnswer,
    /// The smallest error of a wrong hypothesis.
    min_error: MinError,
    /// Fang and Venkatesh's bounds on the expected mistakes.
    theorem_1: TheoremOneAnswer,
    /// The paper's stopping rule, made to bound the error of one hypothesis.
    per_hypothesis: FixedRuleAnswer,
    /// The rule `exact`: the smallest fixed run length that keeps `delta` from every start.
    exact: FixedRuleAnswer,
    /// The rule `anytime`.
    anytime: AnytimeAnswer,
}

/// A figure by where a run starts.
#[derive(Serialize, ToSchema)]
#[schema(as = ByStart)]
pub struct ByStartAnswer {
    /// From a hypothesis drawn uniformly.
    random_start: f64,
    /// From a hypothesis at Hamming distance 0, 1, .., n to the target.
    by_distance: Vec<f64>,
}

/// The smallest error of a wrong hypothesis, that of one at Hamming distance 1.
#[derive(Serialize, ToSchema)]
pub struct MinError {
    /// On examples uniform over the positive half-space.
    uniform_positive: f64,
    /// On examples uniform over the cube, negated where negative.
    reflected: f64,
}

/// Theorem 1's bounds on the expected mistakes from any wrong start, without their O terms.
#[derive(Serialize, ToSchema)]
#[schema(as = TheoremOne)]
pub struct TheoremOneAnswer {
    /// alpha e^(beta n), alpha = 1.771866547, beta = 0.139232271.
    lower: f64,
    /// n^n / 2^n; null where it is past f64.
    upper: Option<f64>,
    /// The binary logarithm of the upper bound.
    log2_upper: f64,
    /// Whether the lower bound holds so at this n.
    lower_holds: bool,
    /// Whether the upper bound holds so at this n.
    upper_holds: bool,
    /// What to make of the two.
    detail: &'static str,
}

/// A rule that accepts after a fixed number of consecutive consistent examples.
#[derive(Serialize, ToSchema)]
#[schema(as = FixedRule)]
pub struct FixedRuleAnswer {
    /// That number.
    run_length: u64,
    /// The probability that it ends a run from a random start at a wrong hypothesis.
    false_stop_probability: f64,
    /// The same from the worst start, the target's complement.
    false_stop_probability_worst_start: f64,
    /// The same from each Hamming distance, 0 to n.
    false_stop_probability_by_distance: Vec<f64>,
}

/// A rule whose run length grows with the number of mistakes.
#[derive(Serialize, ToSchema)]
#[schema(as = AnytimeRule)]
pub struct AnytimeAnswer {
    /// The run length that accepts the first hypothesis.
    run_length: u64,
    /// The probability that it ends a run from a random start at a wrong hypothesis.
    false_stop_probability: f64,
    /// By how much that probability may be larger, at most: the sum has no end.
    false_stop_uncertainty: f64,
}

/// The exact analysis of Directed Drift, without a simulation.
#[utoipa::path(get, path = "/v1/theory/directed-drift", tag = "theory",
    params(DirectedDriftQuery),
    responses((status = 200, description = "The analysis", body = DirectedDriftAnswer)))]
pub async fn directed_drift(
    Query(query): Query<DirectedDriftQuery>,
) -> Result<Json<DirectedDriftAnswer>, Problem> {
    let delta = query.delta.unwrap_or(DELTA_DEFAULT);
    // It takes up to some hundredths of a second, in which others want to be answered.
    let analysed = tokio::task::spawn_blocking(move || analyse(query.n, delta)).await;
    let analysed = analysed.map_err(|_| Problem::new(Code::INTERNAL, "The analysis failed."))?;
    Ok(Json(analysed?.into()))
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

/// Which thresholds.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct StoppingQuery {
    /// Features an example.
    n: u64,
    /// The confidence c asked for, 0.99 when absent. Of all runs started like this, at most 1 - c
    /// claim c and are wrong. This is not the share among those that stopped.
    confidence: Option<f64>,
    /// How the examples are drawn, uniform-positive when absent.
    #[param(value_type = Option<String>)]
    sampling: Option<Sampling>,
    /// The number of the hypothesis for `anytime`: the mistakes so far and one.
    #[param(default = 1, minimum = 1, maximum = 9_007_199_254_740_991_i64)]
    hypothesis: Option<u64>,
}

/// When the stopping rules accept a hypothesis.
#[derive(Serialize, ToSchema)]
#[schema(as = StoppingThresholds)]
pub struct StoppingAnswer {
    /// The smallest error of a wrong hypothesis.
    min_error: f64,
    /// Under the rule of the paper.
    per_hypothesis: RunLength,
    /// Under `anytime`, for the hypothesis of that number.
    anytime: RunLength,
}

/// How many consecutive consistent examples.
#[derive(Serialize, ToSchema)]
pub struct RunLength {
    run_length: u64,
}

/// The run lengths at which the stopping rules accept.
#[utoipa::path(get, path = "/v1/theory/stopping", tag = "theory", params(StoppingQuery),
    responses((status = 200, description = "The run lengths", body = StoppingAnswer)))]
pub async fn stopping(
    State(app): State<App>,
    Query(query): Query<StoppingQuery>,
) -> Result<Json<StoppingAnswer>, Problem> {
    let confidence = query.confidence.unwrap_or(CONFIDENCE_DEFAULT);
    let sampling = query.sampling.unwrap_or(Sampling::UniformPositive).into();
    let hypothesis = query.hypothesis.unwrap_or(1);
    let found = stops::thresholds(query.n, app.limits.n_max, confidence, sampling, hypothesis)?;
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
    /// The bound; null where it is past f64.
    mistakes_at_most: Option<f64>,
    /// Its binary logarithm.
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

/// Which bound.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct WinnowQuery {
    /// Features, N: twice those of an example where negated literals are features too.
    #[param(minimum = 1, maximum = 9_007_199_254_740_991_i64)]
    n: u64,
    /// Literals of the disjunction, k; at most n.
    #[param(minimum = 0, maximum = 9_007_199_254_740_991_i64)]
    relevant: u64,
    /// The factor of promotion and demotion.
    #[param(default = 2, exclusive_minimum = 1, maximum = 4_294_967_296_i64)]
    alpha: Option<f64>,
    /// The threshold, n when absent: a positive plain decimal of at most 10,000 digits.
    #[param(pattern = "^[0-9]+([.][0-9]+)?$")]
    theta: Option<String>,
}

/// Winnow's bound on disjunctions (Theorem 2).
#[utoipa::path(get, path = "/v1/theory/winnow", tag = "theory", params(WinnowQuery),
    responses((status = 200, description = "The bound", body = BoundAnswer)))]
pub async fn winnow(Query(query): Query<WinnowQuery>) -> Result<Json<BoundAnswer>, Problem> {
    let alpha = query.alpha.unwrap_or(ALPHA_DEFAULT);
    let bound = winnows::bound(query.n, query.relevant, alpha, query.theta.as_deref())?;
    Ok(Json(bound.into()))
}

/// Which bound.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct NovikoffQuery {
    /// The largest norm of an example, R.
    #[param(exclusive_minimum = 0)]
    radius: f64,
    /// The norm of the separator, |u|.
    #[param(exclusive_minimum = 0)]
    norm: f64,
    /// The smallest product y <u, x>, xi.
    #[param(exclusive_minimum = 0)]
    margin: f64,
}

/// Novikoff's bound on the perceptron's mistakes, R^2 |u|^2 / xi^2.
#[utoipa::path(get, path = "/v1/theory/novikoff", tag = "theory", params(NovikoffQuery),
    responses((status = 200, description = "The bound", body = BoundAnswer)))]
pub async fn novikoff(Query(query): Query<NovikoffQuery>) -> Result<Json<BoundAnswer>, Problem> {
    let bound = novikoffs::bound(query.radius, query.norm, query.margin)?;
    Ok(Json(bound.into()))
}
