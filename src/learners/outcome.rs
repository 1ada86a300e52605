//! What a run comes to: the hypothesis, the counts, and what may be claimed of them.

use super::bound::Bound;
use super::hypothesis::Hypothesis;
use super::run::Counts;
use super::stopping::StopRule;
use super::trace::Trace;
use super::train_loop::Reason;

/// How and why a run ended, and what it may claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Termination {
    /// Why.
    pub reason: Reason,
    /// The confidence rule that was watched, if any.
    pub rule: Option<StopRule>,
    /// What is claimed of the run as a whole; none where nothing may be claimed.
    pub confidence: Option<f64>,
    /// The paper's claim about one hypothesis, under its own rule only.
    pub per_hypothesis_confidence: Option<f64>,
    /// Consistent examples since the last mistake, while confidence was watched.
    pub run_length: Option<u64>,
    /// The run length at which the hypothesis would be accepted.
    pub threshold: Option<u64>,
    /// Which limit ended the run, and what else is to be said of its end, notes parted by semicolons.
    pub detail: Option<String>,
    /// Why no confidence is claimed of a learner that has a rule for it, or what the rule lacks.
    pub confidence_detail: Option<String>,
}

/// The final hypothesis on some examples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Training {
    /// How many it gets wrong.
    pub errors: u64,
    /// Of how many.
    pub examples: u64,
}

/// The final hypothesis (of a linear one, the signs of its weights) beside the hidden target of
/// generated data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// Whether they are the same.
    pub recovered: bool,
    /// In how many coordinates they differ.
    pub distance: u64,
}

/// The hypothesis at the end of an earlier pass.
#[derive(Clone, Debug, PartialEq)]
pub struct BestSeen {
    /// The hypothesis.
    pub hypothesis: Hypothesis,
    /// The pass that ended with it, from 1.
    pub pass: u64,
    /// Its errors on the training examples.
    pub training: Training,
}

/// What a run came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The answer.
    pub hypothesis: Hypothesis,
    /// Whether it is the best that the learner saw, rather than the last.
    pub is_best: bool,
    /// The best of the hypotheses at the ends of passes that were evaluated, where it makes fewer
    /// errors than the answer.
    pub best: Option<BestSeen>,
    /// What was counted.
    pub counts: Counts,
    /// How it ended.
    pub termination: Termination,
    /// Errors on the training examples; none when the run was to end before they were counted.
    pub training: Option<Training>,
    /// Errors on the examples that were held out; none when there are none, or the run was to end
    /// before they were counted.
    pub holdout: Option<Training>,
    /// The theorem's bound, where the learner has one for this end.
    pub bound: Option<Bound>,
    /// Why there is no bound.
    pub no_bound: Option<&'static str>,
    /// How near the truth it came; none where there is no known truth.
    pub target: Option<Recovery>,
    /// The mistake curve, if wanted.
    pub trace: Option<Trace>,
}
