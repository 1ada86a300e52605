//! Survival: a bound on the error of a hypothesis that has classified several fresh examples in a row correctly.
//!
//! Hypothesis number k (1 for the first) has survived r tested examples in a row. With
//! `delta_k = delta / (k (k + 1))`, the bound `err(h_k) <= 1 - delta_k^(1/r)` holds for all k and r at once with
//! probability at least 1 - delta.
//!
//! The bound of hypothesis k fails at r only if `(1 - err)^r < delta_k`. Let r* be the first such r. The hypothesis
//! reaches it with probability `(1 - err)^(r*) < delta_k`, and all `delta_k` together sum to delta. The examples may
//! have any distribution. Sources: N. Littlestone, From on-line to batch learning (1989); N. Cesa-Bianchi, A. Conconi
//! and C. Gentile, On the generalization ability of on-line learning algorithms (2004).

use crate::learners::engine::stopping::{anytime_run_length, ln_share};

pub const SOURCE: &str = "N. Littlestone, From on-line to batch learning (1989); N. Cesa-Bianchi, A. Conconi and \
                          C. Gentile, On the generalization ability of on-line learning algorithms (2004)";

/// The smallest run length that proves an error of at most `error` for hypothesis number `hypothesis`, which is where
/// the rule `pac` accepts it. None if no run is long enough.
pub fn run_length(error: f64, hypothesis: u64, confidence: f64) -> Option<u64> {
    anytime_run_length(libm::log1p(-confidence), libm::log1p(-error), hypothesis)
}

/// The bound on the error of hypothesis number `hypothesis` after `run_length` consistent examples.
pub fn error_at_most(run_length: u64, hypothesis: u64, confidence: f64) -> f64 {
    if run_length == 0 {
        return 1.0;
    }
    let ln_delta = libm::log1p(-confidence);
    -libm::expm1(ln_share(ln_delta, hypothesis) / run_length as f64)
}
