//! Certificates: how far you can trust an answer.
//!
//! A certificate is a proved statement about a hypothesis. It holds with a stated confidence for any distribution of
//! independent examples, or for uniform examples only. That is the confidence of each certificate alone: several need
//! not hold jointly with it.
//!
//! There is one file per kind, with its proof or its source, and `binomial.rs` holds the tails of the binomial
//! distribution that they use. This file turns the facts about a run, an evaluation or a session into certificates, and
//! says why a certificate is missing.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::learners::engine::assume::Assume;
use crate::learners::engine::entry::LearnerEntry;
use crate::learners::engine::evaluate::Evaluation;
use crate::learners::engine::outcome::{RunOutcome, Training};
use crate::learners::engine::run_state::Tested;

pub mod binomial;
pub mod compression;
pub mod progressive;
pub mod survival;
pub mod test_set;
pub mod uniqueness;

#[cfg(test)]
mod tests;

/// The confidence of certificates unless a request states another.
pub const CONFIDENCE: f64 = 0.95;

/// A proved statement about an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Certificate {
    /// The kind and the numbers.
    #[serde(flatten)]
    pub claim: Claim,
    /// The statement as a sentence.
    pub statement: String,
    /// Of all runs started like this, at most a share of 1 - confidence makes a wrong statement.
    pub confidence: f64,
    /// The declared or known facts about the examples that the statement needs.
    pub assumes: Vec<Assume>,
    /// The source of the proof.
    pub source: Cow<'static, str>,
}

/// The numbers of a certificate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Claim {
    /// Errors on examples that the learner was not shown.
    TestSet {
        /// Examples with a wrong prediction.
        errors: u64,
        /// The number of examples.
        examples: u64,
        /// The share of wrong predictions.
        error_rate: f64,
        /// The one-sided upper limit of the error.
        at_most: f64,
        /// The lower end of the two-sided interval of the error.
        low: f64,
        /// The upper end of the two-sided interval of the error.
        high: f64,
    },
    /// A run of fresh examples that the hypothesis classified correctly.
    Survival {
        /// The upper limit of the error.
        error_at_most: f64,
        /// Examples since the last mistake or update.
        run_length: u64,
        /// The number of the hypothesis: the mistakes and updates before it plus one.
        hypothesis: u64,
    },
    /// The hypotheses of a run, each tested on the next fresh example.
    Progressive {
        /// The upper limit of the mean error of the hypotheses in use.
        mean_error_at_most: f64,
        /// Wrong predictions.
        mistakes: u64,
        /// Tested examples.
        examples: u64,
    },
    /// A vector of binary weights that is consistent with all examples.
    Unique {
        /// The decimal logarithm of the bound on the probability that another vector is consistent.
        log10_doubt: f64,
        /// The number of examples.
        examples: u64,
        /// The distribution of the examples.
        sampling: Assume,
    },
    /// A hypothesis that a few of the examples reproduce.
    Compression {
        /// The upper limit of the error.
        error_at_most: f64,
        /// The number of examples that reproduce the hypothesis.
        kept: u64,
        /// Errors on the other examples.
        errors: u64,
        /// The number of all examples.
        examples: u64,
    },
}

/// A kind of certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CertificateKind {
    /// [`Claim::TestSet`].
    TestSet,
    /// [`Claim::Survival`].
    Survival,
    /// [`Claim::Progressive`].
    Progressive,
    /// [`Claim::Unique`].
    Unique,
    /// [`Claim::Compression`].
    Compression,
}

impl Claim {
    fn kind(&self) -> CertificateKind {
        match self {
            Self::TestSet { .. } => CertificateKind::TestSet,
            Self::Survival { .. } => CertificateKind::Survival,
            Self::Progressive { .. } => CertificateKind::Progressive,
            Self::Unique { .. } => CertificateKind::Unique,
            Self::Compression { .. } => CertificateKind::Compression,
        }
    }

    /// The reason why the claim says nothing: it rests on no example, or its bound is 1 in the digits of the statement.
    fn says_nothing(&self) -> Option<String> {
        let (bound, examples, ground) = match *self {
            Self::TestSet {
                at_most,
                errors,
                examples,
                ..
            } => (
                at_most,
                examples,
                format!("{errors} errors on {examples} examples"),
            ),
            Self::Survival {
                error_at_most,
                run_length,
                ..
            } => (
                error_at_most,
                run_length,
                format!("{run_length} consistent examples since the last mistake"),
            ),
            Self::Progressive {
                mean_error_at_most,
                mistakes,
                examples,
            } => (
                mean_error_at_most,
                examples,
                format!("{mistakes} mistakes on {examples} fresh examples"),
            ),
            Self::Compression {
                error_at_most,
                kept,
                examples,
                ..
            } => (
                error_at_most,
                examples,
                format!("{kept} of {examples} examples to reproduce the hypothesis"),
            ),
            // The certificate was withheld before.
            Self::Unique { .. } => return None,
        };
        let is_vacuous = examples == 0 || bound > VACUOUS_ABOVE;
        is_vacuous.then(|| format!("{ground} do not bound the error below 1; more examples may"))
    }
}

/// Bounds above this number are 1 in a statement, which has four digits.
const VACUOUS_ABOVE: f64 = 0.9999;

/// A certificate that an answer lacks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = WithheldCertificate)]
pub struct Withheld {
    /// The kind of the certificate.
    pub kind: CertificateKind,
    /// The missing or contradicted assumption.
    pub reason: String,
}

/// The certificates of an answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default)]
pub struct Certificates {
    /// Proved statements about this answer. Each holds by itself with its confidence, and not all of them jointly.
    pub certificates: Vec<Certificate>,
    /// The certificates that this answer lacks, with the reasons.
    pub certificates_withheld: Vec<Withheld>,
}

impl Certificates {
    /// Keeps this kind alone: its certificate, or the reason why there is none.
    pub fn only(mut self, kind: CertificateKind) -> Self {
        self.certificates
            .retain(|certificate| certificate.claim.kind() == kind);
        self.certificates_withheld
            .retain(|withheld| withheld.kind == kind);
        self
    }

    /// The reason why this kind has no certificate, if one is known.
    pub fn reason_without(&self, kind: CertificateKind) -> Option<&str> {
        let mut withheld = self.certificates_withheld.iter();
        let found = withheld.find(|withheld| withheld.kind == kind)?;
        Some(&found.reason)
    }

    /// Replaces the certificate of this kind with the reason why there is none.
    pub fn withhold(&mut self, kind: CertificateKind, reason: &str) {
        self.certificates
            .retain(|certificate| certificate.claim.kind() != kind);
        self.certificates_withheld
            .retain(|withheld| withheld.kind != kind);
        self.add(kind, Err(reason.to_owned()));
    }

    /// Adds a certificate, or the reason why there is none.
    fn add(&mut self, kind: CertificateKind, certified: Result<Certificate, String>) {
        let says_nothing = |certificate: Certificate| match certificate.claim.says_nothing() {
            Some(reason) => Err(reason),
            None => Ok(certificate),
        };
        match certified.and_then(says_nothing) {
            Ok(certificate) => self.certificates.push(certificate),
            Err(reason) => self.certificates_withheld.push(Withheld { kind, reason }),
        }
    }
}

/// The certificates of a training.
pub fn of_run(entry: &LearnerEntry, outcome: &RunOutcome, confidence: f64) -> Certificates {
    let grounds = &outcome.grounds;
    let mut certificates = Certificates::default();
    let fresh = &grounds.fresh;
    if let Some(holdout) = outcome.holdout {
        let certified = fresh
            .clone()
            .map(|assume| test_set(holdout, assume, confidence));
        certificates.add(CertificateKind::TestSet, certified);
    }
    if let Some(tested) = &grounds.tested {
        if entry.is_conservative {
            let survived = grounds.survived.clone();
            let certified = fresh
                .clone()
                .and_then(|assume| Ok(survival(survived?, assume, confidence)));
            certificates.add(CertificateKind::Survival, certified);
        }
        let certified = fresh
            .clone()
            .and_then(|assume| Ok(progressive(tested.clone()?, assume, confidence)));
        certificates.add(CertificateKind::Progressive, certified);
    }
    certificates.add(CertificateKind::Unique, unique(outcome));
    if entry.is_compressed() {
        let certified = fresh.clone().and_then(|assume| {
            let compressed = grounds.compressed.as_ref().map_err(String::clone)?;
            Ok(compression(
                compressed.examples,
                compressed.kept.ones(),
                compressed.errors,
                assume,
                confidence,
            ))
        });
        certificates.add(CertificateKind::Compression, certified);
    }
    certificates
}

/// The certificates of a session after the tests `tested`. `fresh` is the declared origin of the examples, or the
/// reason why we do not know that they are fresh.
pub fn of_session(
    entry: &LearnerEntry,
    tested: Tested,
    fresh: Result<Assume, String>,
    confidence: f64,
) -> Certificates {
    let mut certificates = Certificates::default();
    if entry.is_conservative {
        let certified = fresh
            .clone()
            .map(|assume| survival(tested, assume, confidence));
        certificates.add(CertificateKind::Survival, certified);
    }
    let certified = fresh.map(|assume| progressive(tested, assume, confidence));
    certificates.add(CertificateKind::Progressive, certified);
    certificates
}

/// The certificate of a hyperplane that classifies all examples correctly, where `kept` of them determine it.
/// `independent` is the origin of the examples. Either argument may instead be the reason why there is no
/// certificate.
pub fn of_support(
    kept: Result<u64, String>,
    examples: u64,
    independent: Result<Assume, String>,
    confidence: f64,
) -> Certificates {
    let certified =
        independent.and_then(|assume| Ok(compression(examples, kept?, 0, assume, confidence)));
    let mut certificates = Certificates::default();
    certificates.add(CertificateKind::Compression, certified);
    certificates
}

/// The certificate of an evaluation. `fresh` is the origin of examples that the model did not learn from, or the
/// reason why we do not know that they are fresh.
pub fn of_test(
    evaluation: &Evaluation,
    fresh: Result<Assume, String>,
    confidence: f64,
) -> Certificates {
    let counted = Training {
        errors: evaluation.confusion.errors(),
        examples: evaluation.confusion.examples(),
    };
    let is_whole = evaluation.interrupted.is_none() && counted.examples > 0;
    let certified = fresh.and_then(|assume| match is_whole {
        true => Ok(test_set(counted, assume, confidence)),
        false => Err("not all examples were counted".to_owned()),
    });
    let mut certificates = Certificates::default();
    certificates.add(CertificateKind::TestSet, certified);
    certificates
}

/// The certificate of errors on examples that the learner was not shown.
fn test_set(counted: Training, assume: Assume, confidence: f64) -> Certificate {
    let Training { errors, examples } = counted;
    let limits = test_set::limits(errors, examples, confidence);
    Certificate {
        claim: Claim::TestSet {
            errors,
            examples,
            error_rate: limits.error_rate,
            at_most: limits.at_most,
            low: limits.low,
            high: limits.high,
        },
        statement: format!(
            "With confidence {}, the error of the hypothesis is at most {}, because the hypothesis makes \
             {errors} errors on {examples} examples that the learner was not shown.",
            shown(confidence),
            rounded_up(limits.at_most)
        ),
        confidence,
        assumes: vec![assume],
        source: test_set::SOURCE.into(),
    }
}

fn survival(tested: Tested, assume: Assume, confidence: f64) -> Certificate {
    let (run_length, hypothesis) = (tested.run_length, tested.changes + 1);
    let error_at_most = survival::error_at_most(run_length, hypothesis, confidence);
    Certificate {
        claim: Claim::Survival {
            error_at_most,
            run_length,
            hypothesis,
        },
        statement: format!(
            "With confidence {}, the error of the hypothesis is at most {}, because hypothesis number \
             {hypothesis} classified the last {run_length} fresh examples correctly.",
            shown(confidence),
            rounded_up(error_at_most)
        ),
        confidence,
        assumes: vec![assume],
        source: survival::SOURCE.into(),
    }
}

fn progressive(tested: Tested, assume: Assume, confidence: f64) -> Certificate {
    let Tested {
        examples, mistakes, ..
    } = tested;
    let mean_error_at_most = progressive::mean_error_at_most(mistakes, examples, confidence);
    Certificate {
        claim: Claim::Progressive {
            mean_error_at_most,
            mistakes,
            examples,
        },
        statement: format!(
            "With confidence {}, the mean error of the hypotheses in use was at most {}, because they made \
             {mistakes} mistakes on {examples} fresh examples before the learner learnt these; the last hypothesis \
             may be worse.",
            shown(confidence),
            rounded_up(mean_error_at_most)
        ),
        confidence,
        assumes: vec![assume],
        source: progressive::SOURCE.into(),
    }
}

fn unique(outcome: &RunOutcome) -> Result<Certificate, String> {
    let sampling = outcome.grounds.sampling.clone()?;
    let examples = outcome.grounds.consistent.clone()?;
    let n = outcome.predictor.n();
    if n as u64 > uniqueness::N_MAX {
        return Err(format!("n is more than {}", uniqueness::N_MAX));
    }
    let ln_doubt = uniqueness::Doubt::new(n, sampling).ln_after(examples);
    // There is no doubt if one example refutes every other vector.
    let log10_doubt = (ln_doubt / std::f64::consts::LN_10).max(f64::MIN);
    if log10_doubt >= 0.0 {
        return Err(format!("{examples} examples are too few for n = {n}"));
    }
    let confidence = -libm::expm1(ln_doubt);
    Ok(Certificate {
        claim: Claim::Unique {
            log10_doubt,
            examples,
            sampling: sampling.into(),
        },
        statement: format!(
            "The signs of the hypothesis are the hidden target with a doubt of at most 10^{:.4}, because they are \
             consistent with all of {examples} {} examples.",
            log10_doubt,
            sampling.name()
        ),
        confidence,
        assumes: vec![Assume::Independent, sampling.into()],
        source: uniqueness::SOURCE.into(),
    })
}

fn compression(
    examples: u64,
    kept: u64,
    errors: u64,
    assume: Assume,
    confidence: f64,
) -> Certificate {
    let error_at_most = compression::error_at_most(examples, kept, errors, confidence);
    Certificate {
        claim: Claim::Compression {
            error_at_most,
            kept,
            errors,
            examples,
        },
        statement: format!(
            "With confidence {}, the error of the hypothesis is at most {}, because {kept} of {examples} \
             examples reproduce the hypothesis, which makes {errors} errors on the others; a hold-out gives a \
             tighter bound.",
            shown(confidence),
            rounded_up(error_at_most)
        ),
        confidence,
        assumes: vec![assume],
        source: compression::SOURCE.into(),
    }
}

/// Writes a confidence. Six decimals remain of a longer one, rounded down.
pub fn shown(confidence: f64) -> String {
    let text = confidence.to_string();
    match text.len() {
        ..=8 => text,
        _ => (libm::floor(confidence * 1e6) / 1e6).to_string(),
    }
}

/// Writes a bound with four significant digits, rounded up.
fn rounded_up(bound: f64) -> String {
    if bound <= 0.0 {
        return "0".to_owned();
    }
    let digits = 3 - libm::floor(libm::log10(bound)) as i32;
    let unit = libm::pow(10.0, f64::from(digits));
    format!(
        "{:.1$}",
        libm::ceil(bound * unit) / unit,
        digits.max(0) as usize
    )
    .trim_end_matches('0')
    .trim_end_matches('.')
    .to_owned()
}
