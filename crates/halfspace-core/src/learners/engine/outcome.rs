//! The outcome of a run: hypothesis, counts, errors, mistake bound and confidence claims.

use serde::{Deserialize, Serialize};

use crate::bits::BitVector;
use crate::learners::engine::assume::Assume;
use crate::learners::engine::bound::{Bound, MemberOutcome};
use crate::learners::engine::reason::Reason;
use crate::learners::engine::run::Counts;
use crate::learners::engine::run_state::Tested;
use crate::learners::engine::stopping::{Sampling, StopRule};
use crate::learners::engine::trace::Trace;
use crate::learners::predictor::Predictor;
use crate::learners::sample::weights::Weight;

/// The end of a run and the confidence that the run may claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Termination {
    /// The reason of the end.
    pub reason: Reason,
    /// The confidence rule that was watched, if any.
    pub rule: Option<StopRule>,
    /// The confidence of the run as a whole. None if it may not claim any.
    pub confidence: Option<f64>,
    /// The paper's claim about one hypothesis, under the rule `per-hypothesis` only.
    pub per_hypothesis_confidence: Option<f64>,
    /// Consistent examples since the last mistake, while confidence was watched.
    pub run_length: Option<u64>,
    /// The run length at which the rule would accept the hypothesis.
    pub threshold: Option<u64>,
    /// The limit that ended the run and further notes, separated by semicolons.
    pub detail: Option<String>,
    /// Why a learner with a confidence rule claims no confidence, or what is weak about its rule.
    pub confidence_detail: Option<String>,
}

/// Errors among examples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = ErrorCount)]
pub struct Training {
    /// Examples with a wrong prediction.
    pub errors: u64,
    /// Number of counted examples.
    pub examples: u64,
}

/// The comparison of the hypothesis with the hidden target of generated data. The signs of a linear
/// hypothesis are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Recovery {
    /// Whether both are equal.
    pub recovered: bool,
    /// The number of coordinates in which they differ.
    pub distance: u64,
}

/// The hypothesis at the end of an earlier pass.
#[derive(Clone, Debug, PartialEq)]
pub struct BestSeen {
    pub predictor: Predictor,
    /// The pass that ended with this hypothesis, counted from 1.
    pub pass: u64,
    /// The errors of the hypothesis on the training examples.
    pub training: Training,
}

/// The facts about a run. An error says why a fact is missing.
#[derive(Clone, Debug, PartialEq)]
pub struct Grounds {
    /// The declared or known origin of the examples, if they are fresh: independent draws on which the first
    /// hypothesis does not depend.
    pub fresh: Result<Assume, String>,
    /// The distribution of independent and clean examples with a target of binary weights.
    pub sampling: Result<Sampling, String>,
    /// The tests of the first pass, if the last hypothesis of the run is the last one of that pass.
    pub survived: Result<Tested, String>,
    /// The tests of the first pass. None if the learner does not test the examples one by one.
    pub tested: Option<Result<Tested, String>>,
    /// The number of examples, fixed before the run, if the signs of the weights classify all of them correctly.
    pub consistent: Result<u64, String>,
    /// The examples that reproduce the run.
    pub compressed: Result<Compressed, String>,
    /// The mistaken examples by their ascending rows in the data: one list per member of a committee, and one with two
    /// classes. None if they do not reproduce the run, or are more than
    /// [`ROWS_MAX`](crate::learners::engine::kept::ROWS_MAX).
    pub kept: Option<Vec<Vec<u64>>>,
}

/// A run that a few of its examples reproduce.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compressed {
    /// The number of examples, fixed before the run.
    pub examples: u64,
    /// The errors of the last hypothesis on the examples that it does not need.
    pub errors: u64,
    /// The mistaken examples, by their places among the examples that the learner was shown.
    pub kept: BitVector,
}

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOutcome {
    /// The hypothesis that the learner answers with.
    pub predictor: Predictor,
    /// The features of the sample that the hypothesis has, ascending. None for all of them.
    pub features: Option<Vec<u32>>,
    /// Whether the hypothesis is the best that the learner saw, rather than the last.
    pub is_best: bool,
    /// The weights of the classes, in the order of their codes, if the task states them.
    pub class_weights: Option<Vec<Weight>>,
    /// The best evaluated hypothesis at the end of a pass, if it makes fewer errors than [`Self::predictor`].
    pub best: Option<BestSeen>,
    pub counts: Counts,
    pub termination: Termination,
    /// Errors on the training examples. None if the run had to end before the count.
    pub training: Option<Training>,
    /// Errors on the held-out examples. None without a hold-out, or if the run had to end before the count.
    pub holdout: Option<Training>,
    /// The bound of the learner's theorem, if there is one for this end.
    pub bound: Option<Bound>,
    /// Why there is no bound.
    pub no_bound: Option<&'static str>,
    /// The members of a committee, in the order of the class codes. Empty for two classes.
    pub members: Vec<MemberOutcome>,
    /// The distance from the hidden target. None if the target is unknown.
    pub target: Option<Recovery>,
    /// The facts that certificates rest on.
    pub grounds: Grounds,
    /// The mistake curve, if the task asked for it.
    pub trace: Option<Trace>,
}
