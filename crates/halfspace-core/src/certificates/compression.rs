//! Sample compression: a bound on the error of a hypothesis that a few of its examples reproduce.
//!
//! Suppose a run on m independent examples made mistakes on k distinct ones, and these k alone, in their order,
//! reproduce the run. If its hypothesis errs on j of the other m - k examples, then with probability at least 1 - delta
//! its error is at most the Clopper-Pearson limit for j of m - k at level `delta / (m C(m, k))`. This is a union bound
//! over all sets of k examples and over all k. Source: N. Littlestone and M. K. Warmuth, Relating data compression and
//! learnability (1986).

use super::binomial::{ln_choose, upper_limit};

pub const SOURCE: &str =
    "N. Littlestone and M. K. Warmuth, Relating data compression and learnability (1986)";

/// The bound on the error of a hypothesis that `kept` of `examples` examples reproduce and that errs on `errors` of
/// the others.
pub fn error_at_most(examples: u64, kept: u64, errors: u64, confidence: f64) -> f64 {
    let others = examples.saturating_sub(kept);
    if others == 0 {
        return 1.0;
    }
    let ln_sets = libm::log(examples as f64) + ln_choose(examples, kept);
    upper_limit(errors, others, libm::log1p(-confidence) - ln_sets)
}
