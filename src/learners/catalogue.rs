//! The learners there are. Adding one is a file of its own and a line of [`CATALOGUE`].

use super::parameters::{Parameter, ParameterError, Parameters};
use super::random::Generator;
use super::rule::Rule;
use super::source::Presentation;
use super::stopping::StopRule;
use super::task::{Input, TaskError};
use super::{
    amp, auto, bounded_perceptron, clipped_perceptron, directed_drift, directed_drift_async,
    directed_drift_sync, kernel_perceptron, kernel_winnow, perceptron, pocket, reinforced_amp,
    sbpi, winnow,
};

/// Every learner, in the order in which they are listed.
pub static CATALOGUE: &[&Entry] = &[
    &directed_drift::ENTRY,
    &directed_drift_async::ENTRY,
    &directed_drift_sync::ENTRY,
    &perceptron::ENTRY,
    &pocket::ENTRY,
    &winnow::ENTRY,
    &kernel_perceptron::ENTRY,
    &kernel_winnow::ENTRY,
    &bounded_perceptron::ENTRY,
    &sbpi::ENTRY,
    &clipped_perceptron::ENTRY,
    &amp::ENTRY,
    &reinforced_amp::ENTRY,
    &auto::ENTRY,
];

/// The learner of that name.
pub fn find(name: &str) -> Option<&'static Entry> {
    CATALOGUE.iter().copied().find(|entry| entry.name == name)
}

/// What the service knows of one learner.
#[derive(Debug)]
pub struct Entry {
    /// Its name in requests.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// What it learns, in a sentence.
    pub learns: &'static str,
    /// Which examples it takes.
    pub data: DataKinds,
    /// How it reads a bit, in a word or two.
    pub reading: &'static str,
    /// How it wants its examples shown.
    pub presentation: Presentation,
    /// Whether it can learn one example at a time, without the rest of the sample.
    pub on_line: bool,
    /// How the time of one example grows.
    pub pace: Pace,
    /// The rules by which it may stop with a confidence, the default first; none for a learner of
    /// which no such rule is proved.
    pub confidence_rules: &'static [StopRule],
    /// What ends a run whose request names no limit.
    pub default_stop: DefaultStop,
    /// What can be set.
    pub parameters: &'static [Parameter],
    /// What is proved of it.
    pub guarantee: Guarantee,
    /// Where it was published.
    pub source: &'static str,
    /// What else the data must be, beyond their kind; none where nothing more is asked.
    pub check: Option<DataCheck>,
    /// The format of the rule's states. It grows whenever their bytes mean something else.
    pub state_format: u16,
    /// Makes the rule.
    pub build: fn(&mut Setup<'_>) -> Result<Box<dyn Rule>, ParameterError>,
}

/// Looks at data that are of the right kind; refuses what the learner cannot take all the same.
pub type DataCheck = fn(&Parameters, Input<'_>) -> Result<(), TaskError>;

/// Which examples a learner takes.
#[derive(Clone, Copy, Debug)]
pub struct DataKinds {
    /// Examples that are positive by definition.
    pub half_space: bool,
    /// Examples with labels.
    pub labelled: bool,
    /// Real-valued features besides Boolean ones.
    pub real: bool,
}

/// How the time that a learner takes for one example grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// It stays: some words of work per word of the example.
    Steady,
    /// It grows with the mistakes made before.
    Slowing,
    /// It depends on the hypothesis in a way that nobody foresees.
    Unforeseen,
}

/// What ends a run whose request names no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultStop {
    /// Confidence 0.99 under `anytime` where the data are fresh, and one pass.
    Confidence,
    /// So many passes.
    Passes(u64),
    /// So many passes over a sample; over fresh examples that come but once, confidence 0.99 under
    /// `anytime`.
    PassesOrConfidence(u64),
    /// So many mistakes.
    Mistakes(u64),
    /// Limits of the learner's own, which are parameters or stand in its description.
    Own,
}

/// What is proved of a learner.
#[derive(Clone, Copy, Debug)]
pub struct Guarantee {
    /// Whose theorem.
    pub theorem: &'static str,
    /// What it says.
    pub bound: &'static str,
}

/// What a rule is made from.
pub struct Setup<'a> {
    /// The checked parameters.
    pub parameters: &'a Parameters,
    /// Features an example.
    pub n: usize,
    /// Whether the features are real.
    pub real: bool,
    /// See [`Task::in_units`](super::task::Task::in_units).
    pub in_units: bool,
    /// The learner's own random choices.
    pub random: &'a mut Generator,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found() {
        for entry in CATALOGUE {
            let found = find(entry.name).expect("listed");
            assert!(std::ptr::eq(*entry, found));
        }
        assert!(find("perceptrom").is_none());
    }

    #[test]
    fn who_stops_by_confidence_unasked_has_a_rule_for_it() {
        for entry in CATALOGUE {
            let by_confidence = entry.default_stop == DefaultStop::Confidence;
            assert!(!by_confidence || !entry.confidence_rules.is_empty());
            let default = entry.confidence_rules.first();
            assert!(default.is_none_or(|rule| *rule == StopRule::Anytime));
        }
    }
}
