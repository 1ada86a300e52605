//! Confidence intervals for the errors of several candidates, such as the learners of a comparison or the trainings of
//! a grid.
//!
//! People pick the candidate with the fewest errors, but the smallest of many counts is biased downwards. We
//! therefore make the intervals of all candidates hold at once, by giving each an equal part of the allowed error,
//! whether its training has ended or not. The limits are exact. Source: C. J. Clopper and E. S. Pearson (1934), with
//! the union bound.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use halfspace_core::certificates::{CertificateKind, Certificates, shown, test_set};
use halfspace_core::learners::engine::outcome::Training;

/// The intervals of all candidates: what they say, and when it holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ErrorIntervals {
    /// What the intervals say and under which conditions, as sentences.
    pub statement: String,
    /// Confidence with which the errors of all candidates lie in their intervals at once. Null with folds, whose
    /// range is no confidence interval.
    pub confidence: Option<f64>,
    /// Number of candidates that share the allowed error.
    pub candidates: u32,
    /// Whether the service knows that the held-out examples are fresh, or has a declaration of it that the examples do
    /// not refute. If not, the statement names the reason.
    pub certified: bool,
}

/// The interval of the error of one candidate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ErrorInterval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

pub struct Simultaneous {
    /// The candidates in words, such as `learners`.
    noun: &'static str,
    candidates: u32,
    confidence: f64,
    /// Many candidates of a grid have equal counts.
    known: HashMap<(u64, u64), ErrorInterval>,
    judged: u32,
    /// The reason why the service does not know the held-out examples to be fresh.
    doubt: Option<String>,
}

impl Simultaneous {
    /// The intervals of so many candidates, which all hold at once with this confidence.
    pub fn new(noun: &'static str, candidates: u32, confidence: f64) -> Self {
        Self {
            noun,
            candidates: candidates.max(1),
            confidence,
            known: HashMap::new(),
            judged: 0,
            doubt: None,
        }
    }

    /// The confidence of the interval of one candidate.
    fn each(&self) -> f64 {
        1.0 - (1.0 - self.confidence) / f64::from(self.candidates)
    }

    /// The interval of a candidate with these errors on held-out examples.
    pub fn interval(
        &mut self,
        held_out: Training,
        certified: &Certificates,
    ) -> Option<ErrorInterval> {
        let Training { errors, examples } = held_out;
        if examples == 0 {
            return None;
        }
        self.judged += 1;
        // A candidate that errs everywhere has no certificate either, whatever the examples are.
        if errors < examples && self.doubt.is_none() {
            let reason = certified.reason_without(CertificateKind::TestSet);
            self.doubt = reason.map(str::to_owned);
        }
        let each = self.each();
        let interval = self.known.entry((errors, examples)).or_insert_with(|| {
            let test_set::Limits { low, high, .. } = test_set::limits(errors, examples, each);
            ErrorInterval { low, high }
        });
        Some(*interval)
    }

    /// The statement about the intervals, or `None` if no candidate has one.
    pub fn stated(self) -> Option<ErrorIntervals> {
        if self.judged == 0 {
            return None;
        }
        let (noun, candidates) = (self.noun, self.candidates);
        let confidence = shown(self.confidence);
        let claim = match candidates {
            1 => format!("With confidence {confidence}, the error lies in the interval."),
            _ => format!(
                "With confidence {confidence}, the errors of all {candidates} {noun} lie in their intervals at once, \
                 so the interval of the best one holds too. Each interval alone has confidence {}.",
                shown(self.each())
            ),
        };
        let condition = self.doubt.as_ref().map_or(String::new(), |reason| {
            format!(
                " This needs held-out examples that are independent draws and that no training has learnt from. The \
                 service does not know that these are: {reason}."
            )
        });
        Some(ErrorIntervals {
            statement: format!("Exact intervals (Clopper and Pearson). {claim}{condition}"),
            confidence: Some(self.confidence),
            candidates,
            certified: self.doubt.is_none(),
        })
    }
}

impl ErrorIntervals {
    /// The statement about the ranges of folds.
    pub fn of_folds(candidates: u32) -> Self {
        Self {
            statement: "Each line spans the error rates of the folds. The folds share training examples, so the \
                        line is no confidence interval."
                .to_owned(),
            confidence: None,
            candidates,
            certified: false,
        }
    }
}

impl ErrorInterval {
    /// The range of the error rates of folds.
    pub fn of_folds(folds: &[Training]) -> Option<Self> {
        let rates = folds.iter().filter(|fold| fold.examples > 0);
        let rates = rates.map(|fold| fold.errors as f64 / fold.examples as f64);
        rates.fold(None, |range, rate| {
            let Self { low, high } = range.unwrap_or(Self {
                low: rate,
                high: rate,
            });
            Some(Self {
                low: low.min(rate),
                high: high.max(rate),
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(candidates: u32, errors: u64, examples: u64) -> ErrorInterval {
        let mut intervals = Simultaneous::new("trainings", candidates, 0.95);
        let counted = Training { errors, examples };
        intervals
            .interval(counted, &Certificates::default())
            .expect("an interval")
    }

    #[test]
    fn intervals_of_a_thousand_candidates_are_wider_than_of_one() {
        let digits = |value: f64| (value * 1e3).round() / 1e3;
        let rounded = |ErrorInterval { low, high }| (digits(low), digits(high));
        assert_eq!(rounded(of(1, 557, 1200)), (0.436, 0.493));
        assert_eq!(rounded(of(1_000, 557, 1200)), (0.406, 0.523));
    }

    #[test]
    fn interval_statement_names_candidates_and_the_reason_of_a_doubt() {
        let counted = Training {
            errors: 3,
            examples: 9,
        };
        let stated = |certified: &Certificates| {
            let mut intervals = Simultaneous::new("learners", 4, 0.95);
            intervals.interval(counted, certified);
            intervals.stated().expect("one candidate is judged")
        };
        let known = stated(&Certificates::default());
        assert!(
            known.certified && known.statement.contains("all 4 learners"),
            "{known:?}"
        );
        assert!(
            known.statement.contains("alone has confidence 0.9875"),
            "{known:?}"
        );
        let mut doubted = Certificates::default();
        doubted.withhold(CertificateKind::TestSet, "nobody declared it");
        let doubted = stated(&doubted);
        assert!(
            !doubted.certified && doubted.statement.ends_with("nobody declared it."),
            "{doubted:?}"
        );
        assert_eq!(Simultaneous::new("learners", 4, 0.95).stated(), None);
    }

    #[test]
    fn the_range_of_folds_claims_no_confidence() {
        let fold = |errors| Training {
            errors,
            examples: 10,
        };
        let range = ErrorInterval::of_folds(&[fold(3), fold(1), fold(2)]);
        assert_eq!(
            range,
            Some(ErrorInterval {
                low: 0.1,
                high: 0.3
            })
        );
        assert_eq!(ErrorIntervals::of_folds(3).confidence, None);
    }
}
