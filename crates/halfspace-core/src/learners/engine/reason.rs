//! Why a run ended.

/// The reason why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A confidence rule accepted the hypothesis.
    Confident,
    /// A pass had no mistake.
    Converged,
    /// A search found a hypothesis and a pass without a mistake confirmed it.
    Consistent,
    /// The data ended.
    Exhausted,
    /// A limit was reached. The text is the name of the `stop` field, or describes a limit of the rule itself.
    Limit(&'static str),
    /// A client cancelled the run.
    Cancelled,
}

/// The time limit, as the text of [`Reason::Limit`].
pub(crate) const MAX_SECONDS: &str = "max_seconds";

impl Reason {
    /// The name in answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Confident => "confident",
            Self::Converged => "converged",
            Self::Consistent => "consistent",
            Self::Exhausted => "exhausted",
            Self::Limit(_) => "limit",
            Self::Cancelled => "cancelled",
        }
    }
}
