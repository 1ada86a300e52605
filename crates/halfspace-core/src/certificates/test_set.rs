//! The test-set interval: limits on the error of a hypothesis, from its errors on independent examples that the learner
//! was not shown.
//!
//! The limits invert the tails of the binomial distribution (Clopper and Pearson). Source: J. Langford, Tutorial on
//! practical prediction theory for classification (2005).

use serde::Serialize;

use super::binomial::{lower_limit, upper_limit};

pub const SOURCE: &str = "C. J. Clopper and E. S. Pearson, The use of confidence or fiducial limits (1934); \
                          J. Langford, Tutorial on practical prediction theory for classification (2005)";

/// Confidence limits of an error. The one-sided limit and the two-sided interval each hold by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, utoipa::ToSchema)]
#[schema(as = TestSetLimits)]
pub struct Limits {
    /// Share of wrong predictions.
    pub error_rate: f64,
    /// One-sided upper limit of the error.
    pub at_most: f64,
    /// Lower end of the two-sided interval.
    pub low: f64,
    /// Upper end of the two-sided interval.
    pub high: f64,
    pub confidence: f64,
}

/// The limits after `errors` errors on `examples` examples.
pub fn limits(errors: u64, examples: u64, confidence: f64) -> Limits {
    let ln_delta = libm::log1p(-confidence);
    let ln_half = ln_delta - std::f64::consts::LN_2;
    Limits {
        error_rate: errors as f64 / examples.max(1) as f64,
        at_most: upper_limit(errors, examples, ln_delta),
        low: lower_limit(errors, examples, ln_half),
        high: upper_limit(errors, examples, ln_half),
        confidence,
    }
}
