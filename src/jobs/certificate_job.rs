//! Jobs that answer questions about a sample: separability, maximum margin and version space.
//!
//! This module turns a stored question into a computation of [`halfspace_core::separability`], and the answer into
//! documents.

use halfspace_core::learners::engine::random::Seed;
use halfspace_core::learners::engine::run::{Interrupt, Run};
use halfspace_core::learners::engine::task::{Input, TaskError};
use halfspace_core::learners::hypothesis::Hypothesis;
use halfspace_core::learners::linear::linear_weights::{LinearWeights, Reading, RealWeights};
use halfspace_core::learners::sample::examples::Examples;
use halfspace_core::separability::decision::{
    self, Convention, Multiplier, Question, Separator, Verdict,
};
use halfspace_core::separability::maximum_margin::{self, MaximumMargin, NovikoffBound};
use halfspace_core::separability::undecided::Undecided;
use halfspace_core::separability::version_space::{self, Enumeration, VersionSpaceError};
use serde::Deserialize;

use crate::records::hypothesis::{HypothesisDocument, ReadingName};
use crate::records::separability::{
    CertificateDocument, ConventionName, MaximumMarginParams, MaximumMarginResult,
    MaximumMarginSpec, MultiplierDocument, SeparabilityResult, SeparabilitySpec,
    VersionSpaceResult, VersionSpaceSpec, whole_number,
};
use crate::records::train::{BoundDocument, ModelDocument};
use crate::records::{Job, Model, Names};

use super::completion::{Completion, INLINE_HYPOTHESIS_BYTES_MAX, is_within, json, json_text};
use super::ids::Ids;
use super::memory_bound;
use super::whole_sample::{self, Whole};
use super::work::ResolveError;

/// Longest certificate that is kept, as JSON.
const CERTIFICATE_BYTES_MAX: usize = 4 << 20;

/// Longest list of examples at the margin. A longer list is only counted.
const SUPPORT_MAX: usize = 100_000;

/// A question about a sample.
#[derive(Clone, Debug)]
pub(super) struct CertificateJob {
    pub(super) asked: Asked,
    /// The seed of generated data.
    pub(super) seed: Seed,
}

#[derive(Clone, Debug)]
pub(super) enum Asked {
    Separability(SeparabilitySpec),
    MaximumMargin(MaximumMarginSpec),
    VersionSpace(VersionSpaceSpec),
}

/// The answer.
#[derive(Debug)]
pub enum Certified {
    /// Whether the sample is separable.
    Separability(Verdict),
    /// The hyperplane with the largest margin.
    MaximumMargin(Box<maximum_margin::Outcome>),
    /// All binary weights that agree with the sample.
    VersionSpace(Enumeration),
}

impl CertificateJob {
    /// Checks the question against the data.
    pub(super) fn check(&self, input: Input<'_>, state_bytes_max: u64) -> Result<(), ResolveError> {
        whole_sample::check_size(input, state_bytes_max)?;
        whole_sample::check(input, self.seed, state_bytes_max, |examples| {
            self.check_examples(examples)
        })
    }

    fn check_examples(&self, examples: &dyn Examples) -> Result<(), ResolveError> {
        let reading = match &self.asked {
            Asked::Separability(spec) => spec.reading,
            Asked::MaximumMargin(spec) => spec.reading,
            Asked::VersionSpace(spec) => {
                let list = spec.list.get();
                return version_space::check(examples, list).map_err(|error| match error {
                    VersionSpaceError::TooWide { .. } => {
                        ResolveError::Intractable(error.to_string())
                    }
                    _ => refused(&error.to_string()),
                });
            }
        };
        if reading.is_some() && examples.shape().is_real {
            return Err(ResolveError::Field {
                field: "reading",
                detail: "the field applies only to Boolean data, and these examples are \
                         real-valued; remove the field"
                    .to_owned(),
            });
        }
        decision::check(examples).map_err(|error| refused(&error.to_string()))
    }

    /// An upper bound of the memory that the answer takes.
    pub(super) fn memory_bytes(&self, input: Input<'_>) -> u64 {
        match self.asked {
            Asked::Separability(_) | Asked::MaximumMargin(_) => {
                memory_bound::certificate(input, decision::SOLVER_COORDINATES_MAX)
            }
            Asked::VersionSpace(_) => memory_bound::version_space(input),
        }
    }

    /// Answers the question.
    ///
    /// # Errors
    /// [`Interrupt::Suspended`] or [`Interrupt::Memory`] if the run was interrupted.
    pub(super) fn run(&self, input: Input<'_>, run: &Run) -> Result<Certified, Interrupt> {
        let whole = Whole::of(input, self.seed, run);
        if let Some(interrupt) = run.stop.raised() {
            // An interrupt may have cut the drawing of the examples short.
            return Ok(self.undecided(interrupt.try_into()?));
        }
        let data = whole.examples().in_memory();
        let data = data.expect("stored examples were read as a whole: see `Work::run`");
        match &self.asked {
            Asked::Separability(spec) => {
                let question = Question {
                    bias: spec.bias,
                    reading: reading(spec.reading),
                    convention: spec.convention.into(),
                };
                decision::decide(data, &question, run).map(Certified::Separability)
            }
            Asked::MaximumMargin(spec) => {
                let outcome = maximum_margin::solve(data, spec.bias, reading(spec.reading), run)?;
                Ok(Certified::MaximumMargin(Box::new(outcome)))
            }
            Asked::VersionSpace(spec) => {
                let list = spec.list.get();
                version_space::enumerate(data, list, run).map(Certified::VersionSpace)
            }
        }
    }

    /// The answer when a limit or a cancellation came first.
    pub(super) fn undecided(&self, why: Undecided) -> Certified {
        match &self.asked {
            Asked::Separability(_) => Certified::Separability(Verdict::Undecided(why)),
            Asked::MaximumMargin(_) => {
                Certified::MaximumMargin(Box::new(maximum_margin::Outcome::Undecided(why)))
            }
            Asked::VersionSpace(_) => Certified::VersionSpace(Enumeration::Undecided(why)),
        }
    }

    /// The result of the question, with a model for a maximum margin.
    pub(super) fn completion(
        &self,
        ids: &Ids,
        job: &Job,
        is_real: bool,
        certified: &Certified,
        seconds: f64,
    ) -> Completion {
        match (&self.asked, certified) {
            (Asked::Separability(spec), Certified::Separability(verdict)) => {
                separability_completion(spec.convention, verdict, seconds)
            }
            (Asked::MaximumMargin(spec), Certified::MaximumMargin(outcome)) => {
                let reading = (!is_real).then(|| reading(spec.reading));
                margin_completion(ids, job, spec, reading, outcome, seconds)
            }
            (Asked::VersionSpace(_), Certified::VersionSpace(enumeration)) => {
                version_space_completion(enumeration, seconds)
            }
            _ => unreachable!("the result belongs to another task"),
        }
    }
}

fn refused(detail: &str) -> ResolveError {
    TaskError::WrongData(detail.to_owned()).into()
}

fn reading(name: Option<ReadingName>) -> Reading {
    name.map_or(Reading::Signed, Reading::from)
}

impl From<ConventionName> for Convention {
    fn from(name: ConventionName) -> Self {
        match name {
            ConventionName::Strict => Self::Strict,
            ConventionName::Service => Self::Service,
        }
    }
}

/// The end of a task without counts, model and trace.
fn completion(result: serde_json::Value, undecided: Option<&Undecided>) -> Completion {
    Completion {
        result,
        is_cancelled: undecided == Some(&Undecided::Cancelled),
        counts: None,
        model: None,
        trace: None,
    }
}

fn separability_completion(
    convention: ConventionName,
    verdict: &Verdict,
    seconds: f64,
) -> Completion {
    let (separable, certificate, undecided) = match verdict {
        Verdict::Separable(separator) => (Some(true), Some(separator_document(separator)), None),
        Verdict::NotSeparable(multipliers) => (
            Some(false),
            Some(alternative(convention, multipliers)),
            None,
        ),
        Verdict::Undecided(why) => (None, None, Some(why)),
    };
    let (certificate, too_long) = shown(certificate);
    let result = SeparabilityResult {
        separable,
        certificate,
        convention,
        detail: undecided.map(Undecided::to_string).or(too_long),
        seconds,
    };
    completion(json(&result), undecided)
}

/// A certificate that is short enough to be shown, or the reason for leaving it out. The certificate was
/// checked in either case.
fn shown(
    certificate: Option<CertificateDocument>,
) -> (Option<CertificateDocument>, Option<String>) {
    match certificate {
        Some(long) if !is_within(&long, CERTIFICATE_BYTES_MAX) => {
            let detail = format!(
                "the certificate was checked, but is longer than {CERTIFICATE_BYTES_MAX} bytes"
            );
            (None, Some(detail))
        }
        certificate => (certificate, None),
    }
}

fn separator_document(separator: &Separator) -> CertificateDocument {
    CertificateDocument::Separator {
        weights: separator.weights.iter().map(whole_number).collect(),
        bias: separator.bias.as_ref().map(whole_number),
    }
}

fn alternative(convention: ConventionName, multipliers: &[Multiplier]) -> CertificateDocument {
    let document = |multiplier: &Multiplier| MultiplierDocument {
        example: multiplier.example as u64,
        weight: multiplier.weight.to_string(),
    };
    let multipliers = multipliers.iter().map(document).collect();
    match convention {
        ConventionName::Strict => CertificateDocument::Gordan { multipliers },
        ConventionName::Service => CertificateDocument::Motzkin { multipliers },
    }
}

fn margin_completion(
    ids: &Ids,
    job: &Job,
    spec: &MaximumMarginSpec,
    reading: Option<Reading>,
    outcome: &maximum_margin::Outcome,
    seconds: f64,
) -> Completion {
    use maximum_margin::Outcome;
    let mut result = MaximumMarginResult {
        separable: Some(true),
        certificate: None,
        model: None,
        hypothesis: None,
        margin: None,
        margin_at_most: None,
        support: None,
        bound: None,
        detail: None,
        seconds,
    };
    let mut model = None;
    let mut undecided = None;
    match outcome {
        Outcome::Optimal(optimum) | Outcome::Approximate(optimum) => {
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
            result.bound = Some(bound(&optimum.bound));
            result.detail = margin_notes(matches!(outcome, Outcome::Approximate(_)), optimum);
            let made = margin_model(ids, job, spec, document);
            result.model = Some(made.id);
            model = Some(made);
        }
        Outcome::OneLabel(novikoff) => {
            result.bound = Some(bound(novikoff));
            result.detail = Some(
                "all examples have the same label: with a bias the margin can grow without limit, \
                 so no margin is the largest"
                    .to_owned(),
            );
        }
        Outcome::NotSeparable(multipliers) => {
            result.separable = Some(false);
            let (certificate, too_long) =
                shown(Some(alternative(ConventionName::Strict, multipliers)));
            let detail = || "no hyperplane separates the examples strictly".to_owned();
            result.certificate = certificate;
            result.detail = Some(too_long.unwrap_or_else(detail));
        }
        Outcome::Undecided(why) => {
            result.separable = (*why == Undecided::NoMargin).then_some(true);
            result.detail = Some(why.to_string());
            undecided = Some(why);
        }
    }
    Completion {
        model,
        ..completion(json(&result), undecided)
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
    let notes: Vec<_> = unlisted.into_iter().chain(approximate).collect();
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

fn margin_model(
    ids: &Ids,
    job: &Job,
    spec: &MaximumMarginSpec,
    hypothesis: HypothesisDocument,
) -> Model {
    let params = MaximumMarginParams {
        bias: spec.bias,
        reading: spec.reading,
    };
    let kind = hypothesis.kind().to_owned();
    let n = hypothesis.n() as u64;
    // The names of the data are part of the stored request.
    let names = job.spec.pointer("/data/names");
    let names = names.and_then(|names| Names::deserialize(names).ok());
    let names = names.unwrap_or_default();
    let document = ModelDocument {
        params: json(&params).as_object().cloned().unwrap_or_default(),
        seed: job.seed,
        data_sha256: job.data_sha256.clone(),
        examples: 0,
        mistakes: 0,
        updates: 0,
        passes: 0,
        held_out: None,
        data_seeds: None,
        warm_start: None,
        features: names.features,
        classes: names.classes,
        hypothesis,
    };
    Model {
        id: ids.id(),
        owner: job.owner.clone(),
        job: Some(job.id),
        name: job.name.clone(),
        learner: job.task.clone(),
        kind,
        n,
        document: json_text(&document),
        created_at: ids.now(),
    }
}

fn version_space_completion(enumeration: &Enumeration, seconds: f64) -> Completion {
    let (result, undecided) = match enumeration {
        Enumeration::Complete(space) => {
            let bits = space.hypotheses.iter().map(|bits| bits.to_bit_string());
            let result = VersionSpaceResult {
                count: Some(space.count.to_string()),
                unique: Some(space.is_unique()),
                hypotheses: bits.collect(),
                detail: None,
                seconds,
            };
            (result, None)
        }
        Enumeration::Undecided(why) => {
            let result = VersionSpaceResult {
                count: None,
                unique: None,
                hypotheses: Vec::new(),
                detail: Some(why.to_string()),
                seconds,
            };
            (result, Some(why))
        }
    };
    completion(json(&result), undecided)
}
