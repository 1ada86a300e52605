//! The task `separability`: whether a hyperplane separates the examples.

use std::sync::Arc;

use halfspace_core::learners::engine::input::TaskError;
use halfspace_core::learners::engine::random::Seed;
use halfspace_core::learners::engine::run::{Interrupt, Run};
use halfspace_core::learners::linear::linear_weights::Reading;
use halfspace_core::learners::sample::examples::Examples;
use halfspace_core::separability::decision::{
    self, Convention, Multiplier, SeparabilityQuestion, Separator, Verdict,
};
use halfspace_core::separability::undecided::Undecided;

use crate::records::separability::{
    CertificateDocument, MultiplierDocument, SeparabilityResult, SeparabilitySpec, whole_number,
};
use crate::records::task::DataSpec;
use crate::storage::JobEnd;

use super::data::TaskData;
use super::error::ResolveError;
use super::memory_bound;
use super::task::{About, Allowance, Inputs, Task};
use crate::jobs::json_text::is_within;

/// Longest certificate that is kept, as JSON.
const CERTIFICATE_BYTES_MAX: usize = 4 << 20;

/// The question whether a hyperplane separates the examples.
#[derive(Debug)]
pub(super) struct Separability {
    spec: SeparabilitySpec,
    seed: Seed,
    data: Arc<TaskData>,
}

impl Task for Separability {
    type Spec = SeparabilitySpec;
    type Output = Verdict;

    fn new(
        spec: &SeparabilitySpec,
        described: &DataSpec,
        mut inputs: Inputs,
    ) -> Result<Self, ResolveError> {
        Ok(Self {
            spec: spec.clone(),
            seed: inputs.seed,
            data: inputs.fixed_data(described)?,
        })
    }

    fn check(&mut self, allowance: &Allowance) -> Result<(), ResolveError> {
        let check = |examples: &dyn Examples| check_examples(examples, self.spec.reading);
        self.data
            .check_whole(self.seed, allowance.state_bytes, check)
    }

    fn run(&self, _: Option<&[u8]>, run: &Run) -> Result<Verdict, Interrupt> {
        let question = SeparabilityQuestion {
            bias: self.spec.bias,
            reading: self.spec.reading.unwrap_or_default(),
            convention: self.spec.convention,
        };
        let decided = self.data.whole(self.seed, run, |data| {
            decision::decide(data, &question, run)
        });
        decided.or_else(|why| Ok(Verdict::Undecided(why.try_into()?)))
    }

    fn complete(&self, verdict: Verdict, about: &About<'_>) -> JobEnd {
        let convention = self.spec.convention;
        let (separable, certificate, undecided) = match &verdict {
            Verdict::Separable(separator) => {
                (Some(true), Some(separator_document(separator)), None)
            }
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
            seconds: about.seconds,
        };
        about.end(&result, undecided == Some(&Undecided::Cancelled))
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

/// Checks the examples of a question about hyperplanes.
pub(super) fn check_examples(
    examples: &dyn Examples,
    reading: Option<Reading>,
) -> Result<(), ResolveError> {
    if reading.is_some() && examples.shape().is_real {
        return Err(ResolveError::Field {
            field: "reading",
            detail: "the field applies only to Boolean data, and these examples are \
                     real-valued; remove the field"
                .to_owned(),
        });
    }
    decision::check(examples).map_err(|error| TaskError::WrongData(error.to_string()).into())
}

/// Expected seconds of a question about the whole sample.
pub(super) fn expected_seconds(data: &TaskData, limit: f64) -> f64 {
    let expected = data.cells().map(|cells| cells * cells * 1e-9);
    expected.map_or(limit, |expected| expected.min(limit))
}

/// A certificate that is short enough to be shown, or the reason for leaving it out. It was checked in either case.
pub(super) fn shown(
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

pub(super) fn alternative(
    convention: Convention,
    multipliers: &[Multiplier],
) -> CertificateDocument {
    let multipliers = documents(multipliers);
    match convention {
        Convention::Strict => CertificateDocument::Gordan { multipliers },
        Convention::Service => CertificateDocument::Motzkin { multipliers },
    }
}

/// The documents of multipliers.
pub(super) fn documents(multipliers: &[Multiplier]) -> Vec<MultiplierDocument> {
    let document = |multiplier: &Multiplier| MultiplierDocument {
        example: multiplier.example as u64,
        weight: multiplier.weight.to_string(),
    };
    multipliers.iter().map(document).collect()
}
