//! Evaluation of a hypothesis on labelled examples.
//!
//! This file holds the counts by label and prediction, and the list of the first wrong examples. The decisions come
//! from `predict.rs`.

use serde::{Deserialize, Serialize};

use std::ops::ControlFlow;

use crate::learners::decision::Decision;
use crate::learners::engine::run::{Counts, Interrupt, Run};
use crate::learners::predict::decide_each;
use crate::learners::predictor::Predictor;
use crate::learners::sample::examples::{Examples, LabelKind};

/// Largest number of wrong examples that an evaluation lists.
pub const WRONG_EXAMPLES_MAX: usize = 100;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evaluation {
    /// Number of examples by label and prediction.
    pub confusion: Confusion,
    /// The first [`WRONG_EXAMPLES_MAX`] wrong examples in the order of the data.
    pub wrong: Vec<WrongExample>,
    /// What interrupted the evaluation before the last example, if anything did.
    pub interrupted: Option<Interrupt>,
}

/// Numbers of examples by label and prediction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Confusion {
    /// Positive examples with prediction 1.
    pub true_positives: u64,
    /// Negative examples with prediction 1.
    pub false_positives: u64,
    /// Negative examples with prediction -1.
    pub true_negatives: u64,
    /// Positive examples with prediction -1.
    pub false_negatives: u64,
}

/// An example with a wrong prediction. The label is the opposite of the prediction.
#[derive(Clone, Debug, PartialEq)]
pub struct WrongExample {
    /// Index of the example in the data, from 0.
    pub index: u64,
    /// Decision of the hypothesis.
    pub decision: Decision,
}

impl Confusion {
    /// Number of examples with a wrong prediction.
    pub fn errors(&self) -> u64 {
        self.false_positives + self.false_negatives
    }

    /// Number of all examples.
    pub fn examples(&self) -> u64 {
        self.errors() + self.true_positives + self.true_negatives
    }

    fn count(&mut self, label_is_positive: bool, prediction_is_positive: bool) {
        *match (label_is_positive, prediction_is_positive) {
            (true, true) => &mut self.true_positives,
            (false, true) => &mut self.false_positives,
            (false, false) => &mut self.true_negatives,
            (true, false) => &mut self.false_negatives,
        } += 1;
    }
}

/// Counts the errors of a hypothesis on all examples. Half-space examples count as positive. `zero` is the value of a
/// 0 bit, see [`decide_each`].
///
/// A time limit or a cancellation ends the evaluation early, with the counts so far.
///
/// # Errors
/// Returns [`Interrupt::Suspended`], [`Interrupt::Unreadable`] or [`Interrupt::Memory`] if the run was interrupted
/// without a result.
///
/// # Panics
/// Panics if the examples have no labels or do not fit the hypothesis, see [`crate::learners::predict::check_fit`].
pub fn evaluate(
    predictor: &Predictor,
    examples: &dyn Examples,
    zero: f64,
    run: &Run,
) -> Result<Evaluation, Interrupt> {
    let shape = examples.shape();
    assert!(
        shape.labels != LabelKind::Unlabelled,
        "examples without labels"
    );
    let mut found = Evaluation::default();
    let mut row = 0;
    decide_each(
        predictor,
        examples,
        zero,
        &run.stop,
        |decisions, positives| {
            for (at, decision) in decisions.iter().enumerate() {
                let label = positives >> at & 1 == 1;
                found.confusion.count(label, decision.is_positive());
                if label != decision.is_positive() && found.wrong.len() < WRONG_EXAMPLES_MAX {
                    found.wrong.push(WrongExample {
                        index: row as u64,
                        decision: decision.clone(),
                    });
                }
                row += 1;
            }
            run.progress.show(&counts(&found.confusion));
            ControlFlow::Continue(())
        },
    )?;
    // An interrupt after the last example changes nothing.
    found.interrupted = run.stop.raised().filter(|_| row < shape.examples);
    match found.interrupted {
        Some(why @ (Interrupt::Suspended | Interrupt::Unreadable | Interrupt::Memory)) => Err(why),
        _ => Ok(found),
    }
}

/// An evaluation as the counts of a run with one pass and no update.
pub fn counts(confusion: &Confusion) -> Counts {
    Counts {
        examples: confusion.examples(),
        mistakes: confusion.errors(),
        updates: 0,
        passes: 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::{BitMatrix, BitVector};
    use crate::learners::hypothesis::Hypothesis;
    use crate::learners::sample::data::{Data, Features, Labels};

    /// The majority of three on all eight examples, repeated `rounds` times.
    fn majority(labels: &str, rounds: usize) -> (Predictor, Data) {
        let bits = |text: &str| BitVector::from_bit_string(text.as_bytes()).unwrap();
        let mut matrix = BitMatrix::new(3);
        for row in 0..8 * rounds {
            matrix.push_row(bits(&format!("{:03b}", row % 8)).words());
        }
        let features = Features::Boolean(matrix);
        let labels = Labels::of_signs(bits(&labels.repeat(rounds)));
        (
            Hypothesis::BinaryWeights(bits("111")).into(),
            Data::new(features, labels),
        )
    }

    #[test]
    fn evaluation_counts_and_places_every_kind_of_error() {
        // The majority labels are 00010111. The given labels make 000 positive, 011 negative and 111
        // negative.
        let (predictor, data) = majority("10000110", 1);
        let found = evaluate(&predictor, &data, 0.0, &Run::default()).unwrap();
        let expected = Confusion {
            true_positives: 2,
            false_positives: 2,
            true_negatives: 3,
            false_negatives: 1,
        };
        assert_eq!(found.confusion, expected);
        assert_eq!((expected.errors(), expected.examples()), (3, 8));
        let wrong: Vec<_> = found
            .wrong
            .iter()
            .map(|wrong| (wrong.index, wrong.decision.clone()))
            .collect();
        let decision = Decision::from;
        assert_eq!(
            wrong,
            [(0, decision(-3_i64)), (3, decision(1)), (7, decision(3)),]
        );
        assert_eq!(found.interrupted, None);
    }

    #[test]
    fn evaluation_lists_the_first_100_wrong_examples() {
        let (predictor, data) = majority("11101000", 40);
        let run = Run::default();
        let found = evaluate(&predictor, &data, 0.0, &run).unwrap();
        assert_eq!(found.confusion.errors(), 320);
        assert_eq!(run.progress.counts(), counts(&found.confusion));
        let places: Vec<u64> = found.wrong.iter().map(|wrong| wrong.index).collect();
        assert_eq!(places, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn evaluation_ends_when_it_is_interrupted() {
        let (predictor, data) = majority("00010111", 40);
        let run = Run::default();
        run.stop.raise(Interrupt::Cancelled);
        let found = evaluate(&predictor, &data, 0.0, &run).unwrap();
        assert_eq!(found.interrupted, Some(Interrupt::Cancelled));
        assert!(found.confusion.examples() < 320);
        run.stop.raise(Interrupt::Suspended);
        let suspended = evaluate(&predictor, &data, 0.0, &run);
        assert_eq!(suspended, Err(Interrupt::Suspended));
    }
}
