//! The catalogue of learners.
//!
//! To add a learner, add a file with its [`LearnerEntry`], declare it in its folder, and add a line to [`CATALOGUE`].
//! No code that trains, serves or describes learners depends on their names.

use crate::learners::drift::{directed_drift, directed_drift_async, directed_drift_sync};
use crate::learners::engine::entry::LearnerEntry;
use crate::learners::kernel::{kernel_perceptron, kernel_winnow};
use crate::learners::linear::{
    averaged_perceptron, bounded_perceptron, clipped_perceptron, perceptron, perspectron, pocket,
    sbpi,
};
use crate::learners::message_passing::{amp, auto, focusing_bp, reinforced_amp};
use crate::learners::winnow;

/// All learners in the order of the public list.
pub static CATALOGUE: &[&LearnerEntry] = &[
    &directed_drift::ENTRY,
    &directed_drift_async::ENTRY,
    &directed_drift_sync::ENTRY,
    &perceptron::ENTRY,
    &averaged_perceptron::ENTRY,
    &pocket::ENTRY,
    &perspectron::ENTRY,
    &winnow::ENTRY,
    &kernel_perceptron::ENTRY,
    &kernel_winnow::ENTRY,
    &bounded_perceptron::ENTRY,
    &sbpi::ENTRY,
    &clipped_perceptron::ENTRY,
    &amp::ENTRY,
    &reinforced_amp::ENTRY,
    &focusing_bp::ENTRY,
    &auto::ENTRY,
];

/// Finds the learner with the given name.
pub fn find(name: &str) -> Option<&'static LearnerEntry> {
    CATALOGUE.iter().copied().find(|entry| entry.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learners::engine::entry::DefaultStop;
    use crate::learners::engine::stopping::StopRule;

    #[test]
    fn learner_names_are_unique_and_found() {
        for entry in CATALOGUE {
            let found = find(entry.name).expect("listed");
            assert!(std::ptr::eq(*entry, found));
        }
        assert!(find("perceptrom").is_none());
    }

    #[test]
    fn learners_that_stop_by_confidence_have_the_anytime_rule() {
        for entry in CATALOGUE {
            let by_confidence = entry.default_stop == DefaultStop::Confidence;
            assert!(!by_confidence || !entry.confidence_rules.is_empty());
            let default = entry.confidence_rules.first();
            assert!(default.is_none_or(|rule| *rule == StopRule::Anytime));
        }
    }
}
