//! A theorem's bound beside what happened.

/// A bound on the number of mistakes, and whether it held.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// Whose theorem.
    pub theorem: &'static str,
    /// The bound, in mistakes; none when the run does not give it.
    pub value: Option<f64>,
    /// The binary logarithm of a bound beyond the range of f64; none when `value` tells it.
    pub log2_value: Option<f64>,
    /// Whether the mistakes of the run obey it; none when an assumption is not met.
    pub holds: Option<bool>,
    /// Why there is no value or verdict, or what it rests on.
    pub detail: Option<String>,
}
