//! The task `evaluate`: the errors of a stored model on examples.

use std::sync::Arc;

use halfspace_core::certificates;
use halfspace_core::learners::engine::assume::Assume;
use halfspace_core::learners::engine::evaluate::{self, Evaluation, evaluate};
use halfspace_core::learners::engine::evidence::Evidence;
use halfspace_core::learners::engine::input::TaskError;
use halfspace_core::learners::engine::random::Seed;
use halfspace_core::learners::engine::run::{Interrupt, Run};
use halfspace_core::learners::predict::{Misfit, check_fit};
use halfspace_core::learners::sample::examples::{Examples, LabelKind};

use crate::records::evaluation::{EvaluateResult, EvaluateSpec};
use crate::records::task::DataSpec;
use crate::records::train::Share;
use crate::records::{ModelId, Names};
use crate::storage::JobEnd;

use super::data::TaskData;
use super::error::ResolveError;
use super::memory_bound;
use super::task::{About, Allowance, Inputs, Task};
use crate::jobs::models::loaded::LoadedModel;

/// What is known about the origin of the examples of an evaluation.
#[derive(Clone, Debug, Default)]
pub struct TestData {
    /// The declared origin.
    pub assume: Option<Assume>,
    /// Whether the client declares that neither the model nor its ancestors learnt from the examples.
    pub is_declared_fresh: bool,
    /// The seed with which the service drew the examples.
    pub seed: Option<u64>,
    /// Whether the service drew the seed for this evaluation alone.
    pub is_seed_drawn: bool,
    /// The digest of the examples.
    pub sha256: Option<String>,
    /// The evidence about a declared sampling.
    pub evidence: Option<Evidence>,
}

impl TestData {
    /// The origin of the examples, if they are independent draws that the model did not learn from.
    ///
    /// # Errors
    /// The declaration that is missing or contradicted.
    pub fn fresh_for(&self, model: &LoadedModel) -> Result<Assume, String> {
        if self.is_seed_drawn {
            return Ok(Assume::Independent);
        }
        let lineage = &model.lineage;
        let is_new = || lineage.check_new(self.seed, self.sha256.as_deref());
        if let Some(seed) = self.seed {
            is_new()?;
            return match lineage.excludes(seed) || self.is_declared_fresh {
                true => Ok(Assume::Independent),
                false => Err(UNKNOWN_FRESH.to_owned()),
            };
        }
        let assume = self
            .assume
            .ok_or("the data are not declared independent (assume)")?;
        if !self.is_declared_fresh {
            return Err(UNKNOWN_FRESH.to_owned());
        }
        is_new()?;
        let doubt = match (&self.evidence, assume.sampling()) {
            (Some(evidence), Some(sampling)) => evidence.against(sampling, model.predictor.n()),
            _ => None,
        };
        doubt.map_or(Ok(assume), Err)
    }
}

/// The reason for no certificate of examples that the model may have learnt from.
const UNKNOWN_FRESH: &str =
    "the model may have learnt from the data; declare fresh=true if it did not";

/// The evaluation of a model on examples.
#[derive(Debug)]
pub(super) struct Evaluate {
    id: ModelId,
    model: LoadedModel,
    origin: TestData,
    confidence: f64,
    /// The value of a 0 bit for a model with real weights.
    zero_bit_value: f64,
    seed: Seed,
    data: Arc<TaskData>,
}

impl Task for Evaluate {
    type Spec = EvaluateSpec;
    type Output = (Evaluation, Option<Evidence>);

    fn new(
        spec: &EvaluateSpec,
        described: &DataSpec,
        mut inputs: Inputs,
    ) -> Result<Self, ResolveError> {
        let mut data = inputs.data(described)?;
        let model = inputs.model.ok_or(ResolveError::NoModel)?;
        if let Some(own) = model.names.vocabulary() {
            let renamed = Arc::make_mut(&mut data).rename(own, &described.names);
            renamed.map_err(TaskError::Unread)?;
        }
        let origin = TestData {
            assume: described.assume,
            is_declared_fresh: spec.fresh,
            seed: described.data_seed(inputs.seed.0),
            is_seed_drawn: described.is_seed_drawn && described.generated.is_some(),
            ..TestData::default()
        };
        Ok(Self {
            id: spec.model,
            model,
            origin,
            confidence: spec.confidence.map_or(certificates::CONFIDENCE, Share::get),
            zero_bit_value: described.zero_bit_value.into(),
            seed: inputs.seed,
            data,
        })
    }

    /// Checks that the model accepts the examples and that the examples have labels.
    fn check(&mut self, allowance: &Allowance) -> Result<(), ResolveError> {
        let check = |examples: &dyn Examples| {
            check_labels(&self.model.names, examples)
                .map_err(|detail| TaskError::WrongData(detail.to_owned()))?;
            let is_named = self.model.names.is_open();
            check_fit(&self.model.predictor, examples, is_named).map_err(|misfit| match misfit {
                Misfit::Intractable(detail) => ResolveError::Intractable(detail),
                Misfit::Unread(why) => TaskError::Unread(why).into(),
                misfit => TaskError::WrongData(misfit.to_string()).into(),
            })
        };
        self.data
            .check_finite(self.seed, allowance.state_bytes, check)
    }

    fn run(&self, _: Option<&[u8]>, run: &Run) -> Result<Self::Output, Interrupt> {
        let finite = match self.data.finite(self.seed, run) {
            Ok(finite) => finite,
            Err(why @ (Interrupt::TimeLimit | Interrupt::Cancelled)) => {
                let interrupted = Evaluation {
                    interrupted: Some(why),
                    ..Evaluation::default()
                };
                return Ok((interrupted, None));
            }
            Err(why) => return Err(why),
        };
        let predictor = &self.model.predictor;
        let evaluation = evaluate(predictor, finite.examples(), self.zero_bit_value, run)?;
        Ok((evaluation, self.data.evidence(&run.stop)?))
    }

    fn complete(
        &self,
        (evaluation, evidence): (Evaluation, Option<Evidence>),
        about: &About<'_>,
    ) -> JobEnd {
        let origin = TestData {
            sha256: about.job.data_sha256.clone(),
            evidence,
            ..self.origin.clone()
        };
        let origin = origin.fresh_for(&self.model);
        let result = EvaluateResult::new(
            self.id,
            &self.model.names,
            &evaluation,
            origin,
            self.confidence,
        );
        let is_cancelled = evaluation.interrupted == Some(Interrupt::Cancelled);
        let counts = evaluate::counts(&evaluation.confusion);
        about.counted_end(&result, is_cancelled, &counts, self.examples_planned())
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

/// Checks that examples can be compared with a model of these names: they have labels, or are positive by definition.
/// With named classes, none of them is positive by definition.
///
/// # Errors
/// The reason why the examples cannot be used.
pub fn check_labels(model: &Names, examples: &dyn Examples) -> Result<(), &'static str> {
    match examples.shape().labels {
        LabelKind::HalfSpace if model.class_names().is_some() => Err(
            "the examples have no labels, but only labels tell the classes of the model; send the examples with their \
             labels",
        ),
        LabelKind::HalfSpace | LabelKind::Labelled { .. } => Ok(()),
        LabelKind::Unlabelled => Err(
            "an evaluation needs labelled or half-space examples; unlabelled examples are only for \
             predictions",
        ),
    }
}
