//! The task `maximum_margin`: the hyperplane with the largest margin.

use std::borrow::Cow;
use std::sync::Arc;

use halfspace_core::certificates::{self, Certificates};
use halfspace_core::learners::engine::evidence::Evidence;
use halfspace_core::learners::engine::random::Seed;
use halfspace_core::learners::engine::run::{Interrupt, Run};
use halfspace_core::learners::hypothesis::Hypothesis;
use halfspace_core::learners::linear::linear_weights::{LinearWeights, RealWeights};
use halfspace_core::learners::sample::examples::Examples;
use halfspace_core::separability::decision::{self, Convention};
use halfspace_core::separability::maximum_margin::{
    self as margin, MarginOutcome, MaximumMargin, NovikoffBound, SUPPORT_PARTS,
};
use halfspace_core::separability::undecided::Undecided;

use crate::records::hypothesis::HypothesisDocument;
use crate::records::separability::{MaximumMarginParams, MaximumMarginResult, MaximumMarginSpec};
use crate::records::task::DataSpec;
use crate::records::train::{BoundDocument, ModelDocument, Share};
use crate::records::{Lineage, Model, ModelSummary, Names};
use crate::storage::JobEnd;

use super::data::TaskData;
use super::error::ResolveError;
use super::memory_bound;
use super::separability::{alternative, check_examples, expected_seconds, shown};
use super::task::{About, Allowance, Inputs, Task};
use crate::jobs::json_text::{INLINE_HYPOTHESIS_BYTES_MAX, is_within, json_text, json_value};

/// Longest list of examples at the margin. A longer list is only counted.
const SUPPORT_MAX: usize = 100_000;

/// The search for the hyperplane with the largest margin.
#[derive(Debug)]
pub(super) struct MaximumMarginTask {
    spec: MaximumMarginSpec,
    seed: Seed,
    /// The seed that generated the data.
    data_seed: Option<u64>,
    data: Arc<TaskData>,
    /// The names of the data's features and classes.
    names: Names,
}

impl Task for MaximumMarginTask {
    type Spec = MaximumMarginSpec;
    type Output = (MarginOutcome, Option<Evidence>);

    fn new(
        spec: &MaximumMarginSpec,
        described: &DataSpec,
        mut inputs: Inputs,
    ) -> Result<Self, ResolveError> {
        Ok(Self {
            spec: spec.clone(),
            seed: inputs.seed,
            data_seed: described.data_seed(inputs.seed.0),
            data: inputs.fixed_data(described)?,
            names: described.names.clone(),
        })
    }

    fn check(&mut self, allowance: &Allowance) -> Result<(), ResolveError> {
        let check = |examples: &dyn Examples| check_examples(examples, self.spec.reading);
        self.data
            .check_whole(self.seed, allowance.state_bytes, check)
    }

    fn run(&self, _: Option<&[u8]>, run: &Run) -> Result<Self::Output, Interrupt> {
        let reading = self.spec.reading.unwrap_or_default();
        let solved = self.data.whole(self.seed, run, |data| {
            margin::solve(data, self.spec.bias, reading, run)
        });
        match solved.and_then(|outcome| Ok((outcome, self.data.evidence(&run.stop)?))) {
            Ok(found) => Ok(found),
            Err(why) => Ok((MarginOutcome::Undecided(why.try_into()?), None)),
        }
    }

    fn complete(&self, (outcome, evidence): Self::Output, about: &About<'_>) -> JobEnd {
        let is_real = self.data.is_real();
        let reading = (!is_real).then(|| self.spec.reading.unwrap_or_default());
        let mut result = MaximumMarginResult {
            separable: Some(true),
            certificate: None,
            model: None,
            hypothesis: None,
            margin: None,
            margin_at_most: None,
            support: None,
            certified: Certificates::default(),
            bound: None,
            detail: None,
            seconds: about.seconds,
        };
        let mut model = None;
        let mut undecided = None;
        match &outcome {
            MarginOutcome::Optimal(optimum) | MarginOutcome::Approximate(optimum) => {
                let weights = RealWeights::new(reading, optimum.weights.clone(), optimum.bias);
                let hypothesis = Hypothesis::Linear(LinearWeights::Real(weights));
                let document = HypothesisDocument::from(&hypothesis);
                let is_short = is_within(&document, INLINE_HYPOTHESIS_BYTES_MAX);
                result.hypothesis = is_short.then(|| document.clone());
                result.margin = Some(optimum.margin);
                // Rounded upwards, so that the bound holds in spite of rounding errors.
                let above = optimum.margin * (1.0 + optimum.relative_gap);
                result.margin_at_most = Some(above.next_up().next_up());
                let is_listed = optimum.support.len() <= SUPPORT_MAX;
                let listed = || optimum.support.iter().map(|&index| index as u64).collect();
                result.support = is_listed.then(listed);
                result.certified = self.certified(optimum, evidence.as_ref());
                result.bound = Some(bound(&optimum.bound));
                result.detail =
                    margin_notes(matches!(outcome, MarginOutcome::Approximate(_)), optimum);
                let made = self.model(about, document);
                result.model = Some(made.summary.id);
                model = Some(made);
            }
            MarginOutcome::OneLabel(novikoff) => {
                result.bound = Some(bound(novikoff));
                result.detail = Some(
                    "all examples have the same label: with a bias the margin can grow without limit, \
                     so no margin is the largest"
                        .to_owned(),
                );
            }
            MarginOutcome::NotSeparable(multipliers) => {
                result.separable = Some(false);
                let (certificate, too_long) =
                    shown(Some(alternative(Convention::Strict, multipliers)));
                let detail = || "no hyperplane separates the examples strictly".to_owned();
                result.certificate = certificate;
                result.detail = Some(too_long.unwrap_or_else(detail));
            }
            MarginOutcome::Undecided(why) => {
                result.separable = (*why == Undecided::NoMargin).then_some(true);
                result.detail = Some(why.to_string());
                undecided = Some(why);
            }
        }
        JobEnd {
            model,
            ..about.end(&result, undecided == Some(&Undecided::Cancelled))
        }
    }

    fn memory_bytes(&self, _: u64) -> u64 {
        memory_bound::certificate(self.data.input(), decision::SOLVER_COORDINATES_MAX)
    }

    fn expected_seconds(&self, limit: f64) -> f64 {
        expected_seconds(&self.data, limit)
    }

    fn data(&self) -> Option<&Arc<TaskData>> {
        Some(&self.data)
    }
}

impl MaximumMarginTask {
    fn certified(&self, found: &MaximumMargin, evidence: Option<&Evidence>) -> Certificates {
        let input = self.data.input();
        let independent = input.independent(evidence).map_err(Cow::into_owned);
        let asked = self.spec.confidence.map(Share::get);
        let confidence = asked.unwrap_or(certificates::CONFIDENCE);
        let examples = input.examples().unwrap_or_default();
        let kept = match found.is_of_support {
            true => Ok(found.support.len() as u64),
            false => Err("the support alone has another hyperplane".to_owned()),
        };
        certificates::of_support(kept, examples, independent, confidence)
    }

    fn model(&self, about: &About<'_>, hypothesis: HypothesisDocument) -> Model {
        let About { ids, job, .. } = about;
        let params = MaximumMarginParams {
            bias: self.spec.bias,
            reading: self.spec.reading,
        };
        let kind = hypothesis.kind().to_owned();
        let n = hypothesis.n() as u64;
        let mut learnt_from = Lineage::nothing();
        learnt_from.add(self.data_seed, job.data_sha256.as_deref());
        let document = ModelDocument {
            params: json_value(&params).as_object().cloned().unwrap_or_default(),
            seed: job.seed,
            data_sha256: job.data_sha256.clone(),
            examples: 0,
            mistakes: 0,
            updates: 0,
            passes: 0,
            held_out: None,
            learnt_from,
            warm_start: None,
            features: self.names.feature_list(),
            vocabulary: self.names.vocabulary_kind(),
            first_index: self.names.first_index(),
            classes: self.names.class_names(),
            one_against_rest: self.names.is_against_rest(),
            table: self.names.table.clone(),
            hypothesis,
        };
        Model {
            summary: ModelSummary {
                id: ids.id(),
                owner: job.owner.clone(),
                job: Some(job.id),
                name: job.name.clone(),
                learner: job.task.clone(),
                kind,
                n,
                created_at: ids.now(),
            },
            document: json_text(&document),
        }
    }
}

/// The notes on a hyperplane that was found.
fn margin_notes(is_approximate: bool, found: &MaximumMargin) -> Option<String> {
    let count = found.support.len();
    let unlisted = (count > SUPPORT_MAX).then(|| {
        format!("{count} examples lie at the margin; the list holds at most {SUPPORT_MAX}")
    });
    let approximate = is_approximate.then(|| {
        format!(
            "the hyperplane separates the examples but is not proved optimal: the largest margin \
             may exceed its margin by the relative amount {:e}, and gamma by {:e}",
            found.relative_gap, found.bound.relative_gap
        )
    });
    let inexact = (!found.is_support_exact).then(|| {
        format!(
            "the exact optimum is out of reach, so support lists the examples within one part in \
             {SUPPORT_PARTS} of the margin"
        )
    });
    let notes: Vec<_> = [unlisted, approximate, inexact]
        .into_iter()
        .flatten()
        .collect();
    (!notes.is_empty()).then(|| notes.join("; "))
}

/// Novikoff's bound on the mistakes of a perceptron. No perceptron ran, so the document does not say whether
/// the bound was respected.
fn bound(novikoff: &NovikoffBound) -> BoundDocument {
    BoundDocument {
        theorem: "Novikoff".to_owned(),
        mistakes_at_most: Some(novikoff.value).filter(|value| value.is_finite()),
        log2_mistakes_at_most: None,
        respected: None,
        detail: Some(format!(
            "R = {} and gamma = {}, including the coordinate of a bias; a perceptron with initial \
             weights w = 0 makes at most R^2/gamma^2 mistakes",
            novikoff.radius, novikoff.margin
        )),
    }
}
