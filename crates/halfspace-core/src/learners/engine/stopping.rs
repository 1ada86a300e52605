//! Confidence rules: after how many consistent examples in a row a learner may stop, and which confidence it may then
//! claim.
//!
//! The run length is the number of consistent examples since the last mistake. A wrong hypothesis survives `r` fresh
//! examples with probability at most `(1 - e)^r`, where `e` is the smallest error of any wrong hypothesis. But a run
//! tests many hypotheses, one after each mistake, and the rules divide the allowed error `delta` among them
//! differently:
//!
//! - `anytime` gives the k-th hypothesis the share `delta / (k (k + 1))`. The shares add up to `delta`.
//! - `per-hypothesis` is the rule of Fang and Venkatesh. It gives `delta` to each hypothesis and therefore promises
//!   nothing for a whole run.
//! - `exact` uses the Markov chain that Directed Drift (algorithm D) forms on fresh uniform-positive examples, for n up
//!   to 512. The chain yields one constant run length that keeps the error of a whole run at `delta`.
//! - `pac` is `anytime` with a requested error in place of the smallest one. It accepts hypotheses with at most this
//!   error, on independent examples of any distribution.
//!
//! One software logarithm (`libm`) decides every threshold, so a threshold is the same on every machine.

use serde::{Deserialize, Serialize};

use std::borrow::Cow;
use std::f64::consts::PI;

use crate::learners::arithmetic::smallest_count::{RUN_LENGTH_MAX, smallest_count};
use crate::learners::drift::drift_chain::DriftChain;

/// The distribution of fresh and independent examples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sampling {
    /// Uniform on the positive half-space {u : <w*, u> >= 0}.
    UniformPositive,
    /// Uniform on the cube and negated when <w*, u> < 0.
    Reflected,
    /// Uniform on the cube, with labels.
    Uniform,
}

impl Sampling {
    /// The name in requests and answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::UniformPositive => "uniform-positive",
            Self::Reflected => "reflected",
            Self::Uniform => "uniform",
        }
    }
}

/// The smallest error of a hypothesis that differs from the target, reached at Hamming distance 1. Requires `n >= 1`.
///
/// The central binomial `C(2k, k) / 4^k` is a product of `k` factors below 1, so nothing overflows for any n, and the
/// relative error stays below `k` units in the last place.
pub fn smallest_error(n: usize, sampling: Sampling) -> f64 {
    let k = n / 2;
    let central = (1..=k)
        .map(|i| (2 * i - 1) as f64 / (2 * i) as f64)
        .product::<f64>();
    if !n.is_multiple_of(2) {
        return central;
    }
    match sampling {
        Sampling::UniformPositive => central / (1.0 + central),
        Sampling::Reflected => central / 2.0,
        Sampling::Uniform => central,
    }
}

/// The rule that may end a run before the end of its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StopRule {
    /// The confidence holds for the run as a whole.
    Anytime,
    /// The paper's rule. The confidence holds for one hypothesis fixed in advance.
    PerHypothesis,
    /// The confidence holds for the run as a whole, by the exact analysis of Directed Drift. Only for this
    /// learner, on fresh uniform-positive examples with n at most 512.
    Exact,
    /// The confidence holds for the run as a whole and for a hypothesis with at most the error `stop.error`. For
    /// learners that change their predictions only after a mistake, on fresh independent examples.
    Pac,
}

impl StopRule {
    /// The name in requests and answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Anytime => "anytime",
            Self::PerHypothesis => "per-hypothesis",
            Self::Exact => "exact",
            Self::Pac => "pac",
        }
    }
}

/// Counts the consistent examples of one run and decides when the run may stop.
#[derive(Clone, Debug)]
pub struct Watch {
    rule: StopRule,
    confidence: f64,
    /// ln(delta), where delta = 1 - confidence.
    ln_delta: f64,
    /// ln(1 - e), which one consistent example adds to the logarithm of the survival probability.
    ln_survival: f64,
    /// The number of the tested hypothesis, from 1. Each mistake adds 1.
    run: u64,
    run_length: u64,
    /// The run length that `rule` required when it was last computed. Since the requirement grows with `run`, the
    /// present one is never smaller. [`NEVER`] if no run suffices.
    threshold: u64,
}

/// The threshold that no run reaches.
const NEVER: u64 = u64::MAX;

impl Watch {
    /// A watch over `n`-bit examples for a confidence in (0, 1). Every hypothesis that the rule must not accept has
    /// at least the error `error`: [`smallest_error`], or the requested error under `pac`.
    ///
    /// # Panics
    /// Panics under `exact` if n is too large for the chain.
    pub fn new(rule: StopRule, confidence: f64, n: usize, error: f64) -> Self {
        assert!(confidence > 0.0 && confidence < 1.0);
        let mut watch = Self {
            rule,
            confidence,
            ln_delta: libm::log(1.0 - confidence),
            ln_survival: libm::log1p(-error),
            run: 1,
            run_length: 0,
            threshold: 0,
        };
        watch.threshold = watch.threshold_now(n);
        watch
    }

    /// How many further consistent examples are needed before the rule could end the run. At least 1.
    pub fn headroom(&self) -> u64 {
        self.threshold - self.run_length
    }

    /// Counts `count <= headroom()` consistent examples. Returns whether the run may end here.
    pub fn consistent(&mut self, count: u64) -> bool {
        self.run_length += count;
        debug_assert!(self.run_length <= self.threshold);
        if self.run_length < self.threshold {
            return false;
        }
        if matches!(self.rule, StopRule::Anytime | StopRule::Pac) {
            self.threshold = self.anytime_threshold();
        }
        self.run_length >= self.threshold
    }

    /// Counts a mistake. The next hypothesis starts with run length 0.
    pub fn mistake(&mut self) {
        self.run += 1;
        self.run_length = 0;
    }

    /// Consistent examples since the last mistake.
    pub fn run_length(&self) -> u64 {
        self.run_length
    }

    /// The run length at which the rule accepts the present hypothesis. None if no run is long enough.
    pub fn threshold(&self) -> Option<u64> {
        let threshold = match self.rule {
            StopRule::Anytime | StopRule::Pac => self.anytime_threshold(),
            StopRule::PerHypothesis | StopRule::Exact => self.threshold,
        };
        Some(threshold).filter(|threshold| *threshold != NEVER)
    }

    /// The state that changes after [`Self::new`]: hypothesis number, run length and last computed threshold.
    pub fn state(&self) -> [u64; 3] {
        [self.run, self.run_length, self.threshold]
    }

    /// Restores an earlier [`Self::state`]. Returns none if the numbers cannot be such a state.
    pub fn with_state(self, [run, run_length, threshold]: [u64; 3]) -> Option<Self> {
        (run > 0 && run_length <= threshold).then_some(Self {
            run,
            run_length,
            threshold,
            ..self
        })
    }

    /// The requested confidence.
    pub fn confidence_asked(&self) -> f64 {
        self.confidence
    }

    pub fn rule(&self) -> StopRule {
        self.rule
    }

    /// The confidence in the present hypothesis. Over whole runs, a claim of c is wrong in at most a share 1 - c of
    /// them.
    pub fn confidence(&self) -> f64 {
        let run = self.run as f64;
        (1.0 - libm::exp(libm::log(run) + libm::log(run + 1.0) + self.ln_doubt())).max(0.0)
    }

    /// The confidence of the run as a whole: the requested one if a rule other than `per-hypothesis` accepted the
    /// hypothesis, otherwise [`Self::confidence()`].
    pub fn claim(&self, is_accepted: bool) -> f64 {
        match self.rule {
            StopRule::Anytime | StopRule::Exact | StopRule::Pac if is_accepted => self.confidence,
            _ => self.confidence(),
        }
    }

    /// The claim of the paper, under the rule `per-hypothesis` only.
    pub fn own_claim(&self) -> Option<f64> {
        let is_its_own = self.rule == StopRule::PerHypothesis;
        is_its_own.then(|| self.per_hypothesis_confidence())
    }

    /// The claim of the paper, which holds for one hypothesis fixed before the data were seen.
    pub fn per_hypothesis_confidence(&self) -> f64 {
        1.0 - libm::exp(self.ln_doubt())
    }

    /// The logarithm of the probability that a wrong hypothesis survived the present run length.
    fn ln_doubt(&self) -> f64 {
        if self.run_length == 0 {
            0.0
        } else {
            self.run_length as f64 * self.ln_survival
        }
    }

    fn threshold_now(&self, n: usize) -> u64 {
        match self.rule {
            StopRule::Anytime | StopRule::Pac => self.anytime_threshold(),
            StopRule::PerHypothesis => per_hypothesis_run_length(n, self.ln_delta),
            StopRule::Exact => DriftChain::new(n).exact_run_length(1.0 - self.confidence),
        }
    }

    fn anytime_threshold(&self) -> u64 {
        anytime_run_length(self.ln_delta, self.ln_survival, self.run).unwrap_or(NEVER)
    }
}

/// Why a run claims no confidence, or what is weak about its claim. None if there is nothing to say. `sampling` is
/// the distribution of the examples, or the reason why they are not known to be fresh. `passes` is the number of
/// passes over them.
pub fn confidence_detail(
    watch: Option<&Watch>,
    sampling: Result<Sampling, Cow<'static, str>>,
    passes: u64,
) -> Option<Cow<'static, str>> {
    match watch {
        None => Some(match sampling {
            Err(why) => why,
            Ok(_) if passes > 1 => "the data were read more than once".into(),
            Ok(_) => "the request asks for no confidence".into(),
        }),
        Some(watch) if watch.rule == StopRule::Pac => Some(
            "the confidence is that the error is at most the requested one, not that the \
             hypothesis is the target"
                .into(),
        ),
        Some(watch) if watch.rule == StopRule::PerHypothesis => Some(
            "the rule per-hypothesis holds for one hypothesis that is fixed in advance, not for a \
             run over several hypotheses; see per_hypothesis_confidence"
                .into(),
        ),
        Some(_) => None,
    }
}

/// ln(1 - e) for the smallest error e, which one consistent example adds to the logarithm of the probability that a
/// wrong hypothesis survives.
pub fn ln_survival(n: usize, sampling: Sampling) -> f64 {
    libm::log1p(-smallest_error(n, sampling))
}

/// The run length that `anytime` requires: the smallest T >= 1 with (1 - e)^T <= delta / (k (k + 1)) for
/// the hypothesis k >= 1. None if T would exceed [`RUN_LENGTH_MAX`].
pub fn anytime_run_length(ln_delta: f64, ln_survival: f64, hypothesis: u64) -> Option<u64> {
    let ln_allowed = ln_share(ln_delta, hypothesis);
    smallest_count(RUN_LENGTH_MAX, |length| {
        length as f64 * ln_survival <= ln_allowed
    })
}

/// ln(delta / (k (k + 1))), the share of the hypothesis k >= 1.
pub fn ln_share(ln_delta: f64, hypothesis: u64) -> f64 {
    let k = hypothesis as f64;
    ln_delta - libm::log(k) - libm::log(k + 1.0)
}

/// The message that no run under the hypothesis k shows so small an error, with one that a run does show.
pub fn too_small_an_error(error: f64, ln_delta: f64, hypothesis: u64) -> String {
    let smallest = -libm::expm1(ln_share(ln_delta, hypothesis) / RUN_LENGTH_MAX as f64);
    // Rounded up, so that the stated error is accepted.
    let stated = 1.1 * smallest;
    format!(
        "no run of at most 2^53 - 1 examples shows an error of {error:e} with this confidence; the smallest error \
         that one shows is about {stated:.1e}"
    )
}

/// floor(sqrt(pi n / 2) ln(1 / delta)) + 1, the paper's run length.
pub fn per_hypothesis_run_length(n: usize, ln_delta: f64) -> u64 {
    libm::floor(libm::sqrt(PI * n as f64 / 2.0) * -ln_delta) as u64 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(rule: StopRule, confidence: f64, n: usize, sampling: Sampling) -> Watch {
        Watch::new(rule, confidence, n, smallest_error(n, sampling))
    }

    #[test]
    fn smallest_errors_have_the_known_values() {
        let positive = |n| smallest_error(n, Sampling::UniformPositive);
        let near = |a: f64, b: f64| (a - b).abs() < 1e-8;
        assert!(near(positive(1), 1.0));
        assert!(near(positive(2), 1.0 / 3.0));
        assert!(near(positive(3), 0.5));
        assert!(near(positive(4), 3.0 / 11.0));
        assert!(near(positive(5), 0.375));
        assert!(near(positive(20), 0.149_802_32));
        assert!(near(positive(25), 0.161_180_26));
        assert!(near(smallest_error(4, Sampling::Reflected), 3.0 / 16.0));
        assert!(near(smallest_error(4, Sampling::Uniform), 3.0 / 8.0));
        assert!(near(smallest_error(5, Sampling::Reflected), 0.375));
        let large = positive(1_048_575) * libm::sqrt(PI * 1_048_575.0 / 2.0);
        assert!((large - 1.0).abs() < 1e-6, "{large}");
    }

    /// Enumerates the cube: the smallest error over all wrong hypotheses, by definition.
    #[test]
    fn smallest_errors_match_an_enumeration_of_the_cube() {
        for n in 1..=8_usize {
            let right = |hypothesis: u32, u: u32| {
                2 * (hypothesis ^ u).count_ones() <= n as u32 // sgn(0) = +1
            };
            let target = (1 << n) - 1;
            let cube = 0..1_u32 << n;
            let mut smallest = [f64::INFINITY; 3];
            for hypothesis in 0..target {
                let positive = cube.clone().filter(|&u| right(target, u));
                let wrong = positive.clone().filter(|&u| !right(hypothesis, u)).count();
                let differing = cube
                    .clone()
                    .filter(|&u| right(target, u) != right(hypothesis, u));
                // A negated example is wrong when the hypothesis gives it a negative product.
                let reflected = cube.clone().filter(|&u| {
                    let shown = if right(target, u) { u } else { !u & target };
                    !right(hypothesis, shown)
                });
                let total = cube.len() as f64;
                let errors = [
                    wrong as f64 / positive.count() as f64,
                    reflected.count() as f64 / total,
                    differing.count() as f64 / total,
                ];
                for (smallest, error) in smallest.iter_mut().zip(errors) {
                    *smallest = smallest.min(error);
                }
            }
            let samplings = [
                Sampling::UniformPositive,
                Sampling::Reflected,
                Sampling::Uniform,
            ];
            for (sampling, expected) in samplings.into_iter().zip(smallest) {
                let computed = smallest_error(n, sampling);
                assert!((computed - expected).abs() < 1e-12, "{n} {sampling:?}");
            }
        }
    }

    #[test]
    fn the_anytime_threshold_is_the_smallest_that_keeps_its_share() {
        for n in [2, 5, 20, 101] {
            let survival = 1.0 - smallest_error(n, Sampling::UniformPositive);
            let mut watch = watch(StopRule::Anytime, 0.95, n, Sampling::UniformPositive);
            for run in 1..200_u64 {
                let share = 0.05 / (run * (run + 1)) as f64;
                let length = watch.threshold().expect("a threshold") as i32;
                assert!(survival.powi(length) <= share * (1.0 + 1e-9));
                assert!(survival.powi(length - 1) > share * (1.0 - 1e-9) || length == 1);
                watch.mistake();
            }
        }
    }

    #[test]
    fn anytime_run_ends_exactly_at_its_threshold() {
        let mut watch = watch(StopRule::Anytime, 0.99, 21, Sampling::Reflected);
        for _ in 0..1000 {
            assert!(!watch.consistent(1));
            watch.mistake();
        }
        let threshold = watch.threshold().expect("a threshold");
        let mut read = 0;
        while !watch.consistent(watch.headroom().min(7)) {
            read = watch.run_length();
        }
        assert!(read < threshold);
        assert_eq!(watch.run_length(), threshold);
        assert!(watch.confidence() >= 0.99);
    }

    /// At 1e-17 and below, 1 - e is 1 as a double; at 1e-300, no 64-bit count is a run length.
    #[test]
    fn run_lengths_of_extreme_errors_are_exact_or_absent() {
        for confidence in [1e-300, 1e-17, 0.5, 0.95, 1.0 - f64::EPSILON / 2.0] {
            for error in [
                5e-324,
                1e-300,
                1e-20,
                1e-19,
                1e-17,
                1e-15,
                1e-9,
                0.5,
                1.0 - f64::EPSILON / 2.0,
            ] {
                let (ln_delta, ln_survival) = (libm::log1p(-confidence), libm::log1p(-error));
                for hypothesis in [1, 2, 1 << 20, RUN_LENGTH_MAX, u64::MAX] {
                    let ln_allowed = ln_share(ln_delta, hypothesis);
                    let suffices = |length: u64| length as f64 * ln_survival <= ln_allowed;
                    match anytime_run_length(ln_delta, ln_survival, hypothesis) {
                        Some(length) => {
                            assert!(suffices(length) && (length == 1 || !suffices(length - 1)));
                        }
                        None => assert!(!suffices(RUN_LENGTH_MAX), "{error} {confidence}"),
                    }
                }
                let mut watch = Watch::new(StopRule::Pac, confidence, 3, error);
                match watch.threshold() {
                    Some(_) => assert!(error > 1e-17, "{error} {confidence}"),
                    None => assert!(error < 1e-9 && !watch.consistent(1 << 60), "{error}"),
                }
            }
        }
    }

    #[test]
    fn the_smallest_error_in_a_refusal_is_accepted() {
        for (confidence, hypothesis) in [(0.5, 1), (0.95, 7), (1.0 - f64::EPSILON / 2.0, 1 << 50)] {
            let ln_delta = libm::log1p(-confidence);
            let told = too_small_an_error(1e-300, ln_delta, hypothesis);
            let stated: f64 = told
                .rsplit(' ')
                .next()
                .expect("a word")
                .parse()
                .expect("a number");
            let of = |error: f64| anytime_run_length(ln_delta, libm::log1p(-error), hypothesis);
            assert!(of(stated).is_some() && of(stated / 2.0).is_none(), "{told}");
        }
    }

    #[test]
    fn the_papers_run_length_is_its_formula() {
        let watch = watch(StopRule::PerHypothesis, 0.95, 20, Sampling::UniformPositive);
        // sqrt(10 pi) * ln 20 = 16.79
        assert_eq!(watch.threshold(), Some(17));
    }

    #[test]
    fn exact_run_length_is_that_of_the_chain_after_any_mistakes() {
        let mut watch = watch(StopRule::Exact, 0.95, 20, Sampling::UniformPositive);
        for _ in 0..100 {
            assert_eq!(watch.threshold(), Some(46));
            watch.mistake();
        }
        assert!(!watch.consistent(45));
        assert!(watch.consistent(1));
    }

    #[test]
    fn anytime_rule_is_certain_of_one_bit_after_one_example() {
        let mut watch = watch(StopRule::Anytime, 0.99, 1, Sampling::UniformPositive);
        assert_eq!(watch.confidence(), 0.0);
        assert!(watch.consistent(1));
        assert_eq!(watch.confidence(), 1.0);
    }

    #[test]
    fn untested_hypothesis_has_confidence_zero() {
        let mut watch = watch(StopRule::PerHypothesis, 0.9, 20, Sampling::UniformPositive);
        for _ in 0..50 {
            watch.mistake();
        }
        assert_eq!(watch.confidence(), 0.0);
        watch.consistent(watch.headroom());
        assert!(watch.per_hypothesis_confidence() > 0.8);
        assert_eq!(watch.confidence(), 0.0, "2,550 * 0.15 is more than 1");
    }

    #[test]
    fn confidence_detail_gives_the_reason_of_no_claim() {
        let fresh = Ok(Sampling::Uniform);
        let unwatched = |sampling, passes| confidence_detail(None, sampling, passes);
        assert_eq!(unwatched(Err("noisy".into()), 2), Some("noisy".into()));
        let again = unwatched(fresh.clone(), 2);
        assert_eq!(again, Some("the data were read more than once".into()));
        assert_eq!(
            unwatched(fresh.clone(), 1),
            Some("the request asks for no confidence".into())
        );
        let said = |rule| {
            let watch = watch(rule, 0.9, 9, Sampling::Uniform);
            confidence_detail(Some(&watch), fresh.clone(), 1)
        };
        assert_eq!(said(StopRule::Anytime), None);
        assert!(said(StopRule::PerHypothesis).is_some());
    }
}
