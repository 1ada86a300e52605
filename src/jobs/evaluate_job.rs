//! Evaluation jobs: the errors of a stored model on examples.

use std::sync::Arc;

use halfspace_core::learners::engine::evaluate::{self, Evaluation, evaluate};
use halfspace_core::learners::engine::random::Seed;
use halfspace_core::learners::engine::run::{Interrupt, Run};
use halfspace_core::learners::engine::task::{Input, TaskError};
use halfspace_core::learners::hypothesis::Hypothesis;
use halfspace_core::learners::predict::{Misfit, check_fit};
use halfspace_core::learners::sample::examples::{Examples, LabelKind};

use crate::records::ModelId;
use crate::records::evaluation::EvaluateResult;

use super::completion::{Completion, json};
use super::whole_sample::{self, Whole};
use super::work::ResolveError;

/// A model, and how to read the examples.
#[derive(Clone, Debug)]
pub(super) struct EvaluateJob {
    pub(super) model: ModelId,
    pub(super) hypothesis: Arc<Hypothesis>,
    /// The value of a 0 bit for a model with real weights.
    pub(super) zero_bit_value: f64,
    /// The seed of generated data.
    pub(super) seed: Seed,
}

impl EvaluateJob {
    /// Checks that the model accepts the examples and that the examples have labels.
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

    /// Counts the errors of the model.
    ///
    /// # Errors
    /// [`Interrupt::Suspended`], [`Interrupt::Memory`] or [`Interrupt::Unreadable`] if the run was interrupted.
    pub(super) fn run(&self, input: Input<'_>, run: &Run) -> Result<Evaluation, Interrupt> {
        let whole = Whole::of(input, self.seed, run);
        if let (Input::Generated(_), interrupted @ Some(_)) = (input, run.stop.raised()) {
            // An interrupt may have cut the drawing short, so the examples may not be the sample.
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

    /// The result of the evaluation.
    pub(super) fn completion(&self, evaluation: &Evaluation) -> Completion {
        Completion {
            result: json(&EvaluateResult::new(self.model, evaluation)),
            is_cancelled: evaluation.interrupted == Some(Interrupt::Cancelled),
            counts: Some(evaluate::counts(&evaluation.confusion)),
            model: None,
            trace: None,
        }
    }
}

/// Checks that examples can be compared with a model: they have labels, or are positive by definition.
///
/// # Errors
/// The reason why the examples cannot be used.
pub fn check_labels(examples: &dyn Examples) -> Result<(), &'static str> {
    match examples.shape().labels {
        LabelKind::HalfSpace | LabelKind::Labelled => Ok(()),
        LabelKind::Unlabelled => Err(
            "an evaluation needs labelled or half-space examples; unlabelled examples are only for \
             predictions",
        ),
    }
}
