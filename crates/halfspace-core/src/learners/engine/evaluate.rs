//! Evaluation of a hypothesis on labelled examples.
//!
//! This file holds the counts by label and prediction, and the list of the first wrong examples. The decisions come
//! from `predict.rs`.

use std::ops::ControlFlow;

use crate::learners::decision::{Decision, ScoresOf};
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

/// The most classes for which examples are counted by label and prediction together.
const MATRIX_CLASSES_MAX: usize = 256;

/// Numbers of examples by label and prediction, each in the order of the class codes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Confusion {
    /// Examples with each label.
    labelled: Vec<u64>,
    /// Examples with each prediction.
    predicted: Vec<u64>,
    /// Examples with each label that were predicted correctly.
    correct: Vec<u64>,
    /// Examples by label and prediction, row after row. Empty for more classes than [`MATRIX_CLASSES_MAX`].
    matrix: Vec<u64>,
}

/// An example with a wrong prediction.
#[derive(Clone, Debug, PartialEq)]
pub struct WrongExample {
    /// Index of the example in the data, from 0.
    pub index: u64,
    /// The code of its class.
    pub label: u32,
    /// Decision of the hypothesis.
    pub decision: Decision,
}

impl Confusion {
    /// No example of so many classes.
    pub fn of_classes(classes: usize) -> Self {
        let zeros = vec![0; classes];
        let has_matrix = classes <= MATRIX_CLASSES_MAX;
        Self {
            labelled: zeros.clone(),
            predicted: zeros.clone(),
            correct: zeros,
            matrix: vec![0; if has_matrix { classes * classes } else { 0 }],
        }
    }

    /// Number of examples with a wrong prediction.
    pub fn errors(&self) -> u64 {
        self.examples() - self.correct.iter().sum::<u64>()
    }

    /// Number of all examples.
    pub fn examples(&self) -> u64 {
        self.labelled.iter().sum()
    }

    /// For each class, the number of examples with its label, with its prediction, and with both.
    pub fn each(&self) -> impl Iterator<Item = [u64; 3]> {
        let predicted = self.predicted.iter().zip(&self.correct);
        let all = self.labelled.iter().zip(predicted);
        all.map(|(&labelled, (&predicted, &correct))| [labelled, predicted, correct])
    }

    /// For each label, the number of examples by prediction. None if there are too many classes.
    pub fn matrix(&self) -> Option<Vec<Vec<u64>>> {
        let classes = self.labelled.len();
        let rows = self.matrix.chunks(classes.max(1)).map(<[u64]>::to_vec);
        (self.matrix.len() == classes * classes).then(|| rows.collect())
    }

    /// Counts examples with this label and this prediction.
    pub fn count(&mut self, label: u32, prediction: u32, examples: u64) {
        let (label, prediction) = (label as usize, prediction as usize);
        self.labelled[label] += examples;
        self.predicted[prediction] += examples;
        if label == prediction {
            self.correct[label] += examples;
        }
        let at = label * self.labelled.len() + prediction;
        if let Some(cell) = self.matrix.get_mut(at) {
            *cell += examples;
        }
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
    let mut found = Evaluation {
        confusion: Confusion::of_classes(predictor.classes()),
        ..Evaluation::default()
    };
    let mut row = 0;
    let leaders = ScoresOf::Leaders;
    decide_each(
        predictor,
        examples,
        zero,
        leaders,
        &run.stop,
        |decisions, codes| {
            for (at, decision) in decisions.iter().enumerate() {
                let label = codes.get(at);
                found.confusion.count(label, decision.class, 1);
                if label != decision.class && found.wrong.len() < WRONG_EXAMPLES_MAX {
                    found.wrong.push(WrongExample {
                        index: row as u64,
                        label,
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
        let confusion = &found.confusion;
        assert_eq!(confusion.matrix(), Some(vec![vec![3, 2], vec![1, 2]]));
        assert!(confusion.each().eq([[5, 4, 3], [3, 4, 2]]));
        assert_eq!((confusion.errors(), confusion.examples()), (3, 8));
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
