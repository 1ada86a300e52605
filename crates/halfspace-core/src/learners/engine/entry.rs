//! The description of a learner: what the service knows about it, and how its rule is made.

use crate::learners::engine::input::{Input, TaskError};
use crate::learners::engine::parameters::{Parameter, ParameterError, Parameters};
use crate::learners::engine::random::Generator;
use crate::learners::engine::rule::Rule;
use crate::learners::engine::stopping::StopRule;
use crate::learners::sample::source::Presentation;

/// Description and constructor of one learner.
#[derive(Debug)]
pub struct LearnerEntry {
    /// Name in requests.
    pub name: &'static str,
    /// Display name.
    pub title: &'static str,
    /// The learnt concept in one sentence.
    pub learns: &'static str,
    /// Kinds of examples that the learner accepts.
    pub data: DataKinds,
    /// The reading of a bit in one or two words, such as "signed".
    pub reading: &'static str,
    /// Form in which the learner reads examples.
    pub presentation: Presentation,
    /// Whether the learner can learn from single examples, without the rest of the sample.
    pub on_line: bool,
    /// Growth of the time per example.
    pub pace: Pace,
    /// Rules that let the learner stop with a confidence, the default first. Empty if no rule is proved for this
    /// learner.
    pub confidence_rules: &'static [StopRule],
    /// Whether the learner changes its predictions only after a mistake.
    pub is_conservative: bool,
    /// What repeats a run.
    pub replay: Replay,
    /// Default stop condition. A request that sets the same limit replaces the default.
    pub default_stop: DefaultStop,
    /// Parameters that a request can set.
    pub parameters: &'static [Parameter],
    /// Proved statement about the learner.
    pub guarantee: Guarantee,
    /// Publication of the algorithm.
    pub source: &'static str,
    /// Additional check of the data, beyond their kind.
    pub check: Option<DataCheck>,
    /// Constructor of the rule.
    pub build: fn(&mut Setup<'_>) -> Result<Box<dyn Rule>, ParameterError>,
}

/// Checks data of the right kind and returns an error if the learner cannot process them.
pub type DataCheck = fn(&Parameters, Input<'_>) -> Result<(), TaskError>;

/// The kinds of examples that a learner accepts.
#[derive(Clone, Copy, Debug)]
pub struct DataKinds {
    /// Examples that are positive by definition.
    pub half_space: bool,
    /// Examples with labels.
    pub labelled: bool,
    /// Real-valued features in addition to Boolean ones.
    pub real: bool,
    /// Features that have names, which may be new in any example. The parameters must then have these values. None if
    /// the learner needs the number of features.
    pub names: Option<&'static [(&'static str, &'static str)]>,
    /// Weights that are not whole. Every learner takes whole weights, which show an example several times.
    pub parts: bool,
}

/// Which part of the examples repeats a run in the order `cyclic` or `shuffled`, shown in the order of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replay {
    /// The mistaken examples alone.
    Mistaken,
    /// The mistaken examples, if the number of examples before each of them and in all is known too.
    Numbered,
    /// Nothing less than all examples.
    Whole,
}

/// Growth of the time that a learner needs per example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// The time is constant: some words of work per word of the example.
    Steady,
    /// The time grows with the number of earlier mistakes.
    Slowing,
    /// The time depends on the hypothesis and cannot be estimated in advance.
    Unforeseen,
}

/// Default stop condition of a learner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultStop {
    /// Confidence 0.99 under `anytime` for fresh examples, and one pass.
    Confidence,
    /// The given number of passes.
    Passes(u64),
    /// The given number of passes. An unlimited stream of fresh examples ends at confidence 0.99 under `anytime`.
    PassesOrConfidence(u64),
    /// The given number of mistakes.
    Mistakes(u64),
    /// Limits of the learner itself, which are parameters or stand in its description.
    Own,
}

impl LearnerEntry {
    /// Whether the mistaken examples alone repeat a run.
    pub fn is_compressed(&self) -> bool {
        self.replay == Replay::Mistaken
    }

    /// Whether a receipt that lists the mistaken examples repeats a run.
    pub fn has_receipts(&self) -> bool {
        self.replay != Replay::Whole
    }
}

impl DefaultStop {
    /// The confidence at which a run ends by default.
    pub const CONFIDENCE: f64 = 0.99;

    /// The largest number of passes over the data.
    pub fn max_passes(self) -> Option<u64> {
        match self {
            Self::Confidence => Some(1),
            Self::Passes(passes) | Self::PassesOrConfidence(passes) => Some(passes),
            Self::Mistakes(_) | Self::Own => None,
        }
    }

    /// The largest number of mistakes.
    pub fn max_mistakes(self) -> Option<u64> {
        match self {
            Self::Mistakes(mistakes) => Some(mistakes),
            _ => None,
        }
    }

    /// The confidence that ends a run on fresh examples.
    pub fn confidence(self, is_endless: bool) -> Option<f64> {
        let ends =
            self == Self::Confidence || matches!(self, Self::PassesOrConfidence(_)) && is_endless;
        ends.then_some(Self::CONFIDENCE)
    }
}

/// Proved statement about a learner.
#[derive(Clone, Copy, Debug)]
pub struct Guarantee {
    /// Authors of the theorem.
    pub theorem: &'static str,
    /// Content of the theorem.
    pub bound: &'static str,
}

/// Input of the constructor of a rule.
pub struct Setup<'a> {
    /// The checked parameters.
    pub parameters: &'a Parameters,
    /// Number of features per example.
    pub n: usize,
    /// Whether the features are real.
    pub real: bool,
    /// The largest number of active features in an example, at least 1, if features have names.
    pub active_max: Option<u64>,
    /// The equal parts of a step of which all steps are multiples, if examples have weights.
    pub parts: Option<u32>,
    /// Generator of the learner's own random choices.
    pub random: &'a mut Generator,
}
