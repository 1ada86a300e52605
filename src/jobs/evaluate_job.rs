//! A stored model held against examples.

use std::sync::Arc;

use halfspace_core::learners::evaluate::{self, Evaluation, evaluate};
use halfspace_core::learners::examples::{Examples, LabelKind};
use halfspace_core::learners::hypothesis::Hypothesis;
use halfspace_core::learners::predict::{Misfit, check_fit};
use halfspace_core::learners::random::Seed;
use halfspace_core::learners::run::{Interrupt, Run};
use halfspace_core::learners::task::{Input, TaskError};

use crate::records::ModelId;
use crate::records::evaluation::EvaluateResult;

use super::ending::{Ending, json};
use super::whole_sample::{self, Whole};
use super::work::ResolveError;

/// A model, and how to read what it is held against.
#[derive(Clone, Debug)]
pub(super) struct EvaluateJob {
    pub(super) model: ModelId,
    pub(super) hypothesis: Arc<Hypothesis>,
    /// What a 0 bit stands for, before a model of real weights.
    pub(super) zero_bit_value: f64,
    /// Of generated data.
    pub(super) seed: Seed,
}

impl EvaluateJob {
    /// Checks that the model takes the examples, and that they have labels.
    pub(super) fn check(&self, input: Input<'_>, state_bytes_max: u64) -> Result<(), ResolveError> {
        whole_sample::check(input, self.seed, state_bytes_max, |examples| {
            check_labels(examples).map_err(|detail| TaskError::WrongData(detail.to_owned()))?;
            check_fit(&self.hypothesis, examples).map_err(|misfit| match misfit {
                Misfit::Intractable(detail) => ResolveError::Intractable(detail),
                Misfit::Unread(why) => TaskError::Unread(why).into(),
                misfit => TaskError::WrongData(misfit.to_string()).into(),
            })
        })
    }

    /// Counts the errors.
    ///
    /// # Errors
    /// [`Interrupt::Suspended`] or [`Interrupt::Unreadable`] when the run was given up.
    pub(super) fn run(&self, input: Input<'_>, run: &Run) -> Result<Evaluation, Interrupt> {
        let whole = Whole::of(input, self.seed, run);
        if let (Input::Generated(_), interrupted @ Some(_)) = (input, run.stop.raised()) {
            // The drawing may have been cut short: what there is, is not the sample.
            return match interrupted {
                Some(why @ (Interrupt::Suspended | Interrupt::Memory)) => Err(why),
                interrupted => Ok(Evaluation {
                    interrupted,
                    ..Evaluation::default()
                }),
            };
        }
        evaluate(&self.hypothesis, whole.examples(), self.zero_bit_value, run)
    }

    /// What is written of it.
    pub(super) fn ending(&self, evaluation: &Evaluation) -> Ending {
        Ending {
            result: json(&EvaluateResult::new(self.model, evaluation)),
            is_cancelled: evaluation.interrupted == Some(Interrupt::Cancelled),
            counts: Some(evaluate::counts(&evaluation.confusion)),
            model: None,
            trace: None,
        }
    }
}

/// Examples that a model is held against have labels, or are positive by definition.
///
/// # Errors
/// What else they are.
pub fn check_labels(examples: &dyn Examples) -> Result<(), &'static str> {
    match examples.shape().labels {
        LabelKind::HalfSpace | LabelKind::Labelled => Ok(()),
        LabelKind::Unlabelled => Err(
            "unlabelled examples are for predict; an evaluation needs labels or half-space \
             examples",
        ),
    }
}
