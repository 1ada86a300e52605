//! The task `evaluate`: the errors of a stored model on examples.

use std::sync::Arc;

use halfspace_core::learners::engine::evaluate::{self, Evaluation, evaluate};
use halfspace_core::learners::engine::random::Seed;
use halfspace_core::learners::engine::run::{Interrupt, Run};
use halfspace_core::learners::engine::task::TaskError;
use halfspace_core::learners::hypothesis::Hypothesis;
use halfspace_core::learners::predict::{Misfit, check_fit};
use halfspace_core::learners::sample::examples::{Examples, LabelKind};

use crate::records::ModelId;
use crate::records::evaluation::{EvaluateResult, EvaluateSpec};

use super::data::TaskData;
use super::{About, Allowance, Completion, Given, ResolveError, Task, memory_bound};

/// The evaluation of a model on examples.
#[derive(Debug)]
pub(super) struct Evaluate {
    model: ModelId,
    hypothesis: Arc<Hypothesis>,
    /// The value of a 0 bit for a model with real weights.
    zero_bit_value: f64,
    seed: Seed,
    data: Arc<TaskData>,
}

impl Task for Evaluate {
    type Spec = EvaluateSpec;
    type Output = Evaluation;

    fn new(spec: &EvaluateSpec, mut given: Given<'_>) -> Result<Self, ResolveError> {
        let data = given.data()?;
        Ok(Self {
            model: spec.model,
            hypothesis: given.inputs.model.ok_or(ResolveError::NoModel)?.hypothesis,
            zero_bit_value: given.spec.zero_bit_value.into(),
            seed: given.seed,
            data,
        })
    }

    /// Checks that the model accepts the examples and that the examples have labels.
    fn check(&self, allowance: &Allowance) -> Result<(), ResolveError> {
        let check = |examples: &dyn Examples| {
            check_labels(examples).map_err(|detail| TaskError::WrongData(detail.to_owned()))?;
            check_fit(&self.hypothesis, examples).map_err(|misfit| match misfit {
                Misfit::Intractable(detail) => ResolveError::Intractable(detail),
                Misfit::Unread(why) => TaskError::Unread(why).into(),
                misfit => TaskError::WrongData(misfit.to_string()).into(),
            })
        };
        self.data
            .check_finite(self.seed, allowance.state_bytes, check)
    }

    fn run(&self, _: Option<&[u8]>, run: &Run) -> Result<Evaluation, Interrupt> {
        match self.data.finite(self.seed, run) {
            Ok(finite) => evaluate(
                &self.hypothesis,
                finite.examples(),
                self.zero_bit_value,
                run,
            ),
            Err(why @ (Interrupt::TimeLimit | Interrupt::Cancelled)) => Ok(Evaluation {
                interrupted: Some(why),
                ..Evaluation::default()
            }),
            Err(why) => Err(why),
        }
    }

    fn complete(&self, evaluation: Evaluation, _: &About<'_>) -> Completion {
        let result = EvaluateResult::new(self.model, &evaluation);
        let is_cancelled = evaluation.interrupted == Some(Interrupt::Cancelled);
        Completion {
            counts: Some(evaluate::counts(&evaluation.confusion)),
            ..Completion::of(&result, is_cancelled)
        }
    }

    fn memory_bytes(&self, resident_bytes_max: u64) -> u64 {
        memory_bound::evaluation(self.data.input(), resident_bytes_max)
    }

    fn expected_seconds(&self, limit: f64) -> f64 {
        let expected = self.data.cells().map(|cells| cells * 1e-9);
        expected.map_or(limit, |expected| expected.min(limit))
    }

    fn examples_planned(&self) -> Option<u64> {
        self.data.input().examples()
    }

    fn data(&self) -> Option<&Arc<TaskData>> {
        Some(&self.data)
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
