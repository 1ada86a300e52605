//! Thresholds of the stopping rules: the run lengths at which they accept a hypothesis.
//!
//! The formulas and the guarantees of the rules are in `learners::engine::stopping`.

use crate::learners::engine::stopping::{
    Sampling, anytime_run_length, per_hypothesis_run_length, smallest_error, too_small_an_error,
};

use super::{OutOfRange, check_probability, check_whole};

/// The thresholds of the stopping rules.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// The smallest error of a wrong hypothesis.
    pub min_error: f64,
    /// Consecutive consistent examples under the rule of the paper.
    pub per_hypothesis: u64,
    /// Consecutive consistent examples under `anytime`, for the requested hypothesis.
    pub anytime: u64,
}

/// Computes the thresholds for `n >= 1` features and a confidence in (0, 1). The threshold of `anytime`
/// applies to hypothesis number `hypothesis`, which is one more than the number of mistakes before it.
///
/// # Errors
/// Names the parameter that is out of range.
pub fn thresholds(
    n: u64,
    n_max: u64,
    confidence: f64,
    sampling: Sampling,
    hypothesis: u64,
) -> Result<Thresholds, OutOfRange> {
    check_whole("n", n, ("n_max", n_max))?;
    check_probability("confidence", confidence)?;
    check_whole("hypothesis", hypothesis, ("2^53 - 1", (1 << 53) - 1))?;
    let n = n as usize;
    let ln_delta = libm::log(1.0 - confidence);
    let min_error = smallest_error(n, sampling);
    let anytime = anytime_run_length(ln_delta, libm::log1p(-min_error), hypothesis);
    Ok(Thresholds {
        min_error,
        per_hypothesis: per_hypothesis_run_length(n, ln_delta),
        anytime: anytime.ok_or_else(|| {
            OutOfRange::new("n", too_small_an_error(min_error, ln_delta, hypothesis))
        })?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learners::engine::stopping::{StopRule, Watch};

    #[test]
    fn thresholds_are_those_of_a_running_stop_rule() {
        let sampling = Sampling::Reflected;
        for (n, confidence) in [(1, 0.5), (20, 0.95), (101, 0.999)] {
            let error = smallest_error(n, sampling);
            let mut watch = Watch::new(StopRule::Anytime, confidence, n, error);
            for hypothesis in 1..50 {
                let found = thresholds(n as u64, 1000, confidence, sampling, hypothesis);
                assert_eq!(Some(found.expect("in range").anytime), watch.threshold());
                watch.mistake();
            }
            let watch = Watch::new(StopRule::PerHypothesis, confidence, n, error);
            let found = thresholds(n as u64, 1000, confidence, sampling, 1).expect("in range");
            assert_eq!(Some(found.per_hypothesis), watch.threshold());
        }
    }

    #[test]
    fn thresholds_exist_for_the_largest_parameters() {
        let n_max = 1 << 20;
        let confidence = 1.0 - f64::EPSILON / 2.0;
        let last = (1 << 53) - 1;
        let found = thresholds(n_max, n_max, confidence, Sampling::Uniform, last);
        let found = found.expect("in range");
        assert!(found.anytime > found.per_hypothesis && found.anytime < 1 << 20);
    }

    #[test]
    fn thresholds_name_the_parameter_out_of_range() {
        let named = |n, confidence, hypothesis| {
            let found = thresholds(n, 100, confidence, Sampling::Uniform, hypothesis);
            found.expect_err("out of range").parameter
        };
        assert_eq!(named(0, 0.5, 1), "n");
        assert_eq!(named(101, 0.5, 1), "n");
        assert_eq!(named(5, 1.0, 1), "confidence");
        assert_eq!(named(5, f64::NAN, 1), "confidence");
        assert_eq!(named(5, 0.5, 0), "hypothesis");
        assert_eq!(named(5, 0.5, 1 << 53), "hypothesis");
    }
}
