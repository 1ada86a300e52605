//! The decision of a hypothesis on one example, with its score. The score is exact unless the weights are real.

use std::cmp::Ordering;
use std::mem;

use num_bigint::{BigInt, BigUint};
use num_integer::Integer;

use crate::learners::arithmetic::unit::Unit;

/// Decision of a predictor on one example.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The number that decides the prediction. With more than two classes, the score of the predicted one.
    pub score: Score,
    /// The code of the predicted class. With two classes, 1 is the positive one: the score is at least the threshold
    /// of the hypothesis, which is 0 for most kinds.
    pub class: u32,
    /// The largest score of another class. None with two classes.
    pub runner_up: Option<Score>,
    /// The scores of all classes in the order of the codes, if they were asked for. Empty with two classes.
    pub scores: Vec<Score>,
}

/// The scores that a caller wants with each decision between more than two classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScoresOf {
    /// Those of the predicted class and of the next one.
    Leaders,
    /// Those of all classes.
    All,
}

impl Decision {
    /// The decision between two classes.
    pub fn new(score: Score, is_positive: bool) -> Self {
        Self {
            score,
            class: is_positive.into(),
            runner_up: None,
            scores: Vec::new(),
        }
    }

    /// Predicts `class` instead if its score is larger.
    pub fn raise(&mut self, class: u32, score: Score) {
        let runner_up = match score.compare(&self.score) {
            Ordering::Greater => {
                self.class = class;
                mem::replace(&mut self.score, score)
            }
            _ => score,
        };
        let is_next = |next: &Score| runner_up.compare(next) == Ordering::Greater;
        if self.runner_up.as_ref().is_none_or(is_next) {
            self.runner_up = Some(runner_up);
        }
    }

    /// By how much the score of the predicted class exceeds all others. None with two classes.
    pub fn margin(&self) -> Option<Score> {
        self.runner_up.as_ref().map(|next| self.score.minus(next))
    }

    /// The codes of the classes by falling scores, and by rising codes among equal ones. Empty unless all scores are
    /// here.
    pub fn ranking(&self) -> Vec<u32> {
        let mut codes: Vec<u32> = (0..self.scores.len() as u32).collect();
        let score = |code: &u32| &self.scores[*code as usize];
        codes.sort_by(|one, other| score(other).compare(score(one)));
        codes
    }

    /// Whether the positive one of two classes is predicted.
    pub fn is_positive(&self) -> bool {
        self.class == 1
    }
}

/// The number that decides a prediction.
#[derive(Clone, Debug, PartialEq)]
pub enum Score {
    /// Exact.
    Integer(i64),
    /// Exact, and larger than 64 bits.
    Large(BigInt),
    /// Exact, in lowest terms with a denominator above 1.
    Fraction {
        numerator: BigInt,
        denominator: BigUint,
    },
    /// An exact multiple of a unit that all scores of the hypothesis share.
    Multiple { units: i64, unit: Unit },
    /// The score of weights that are real by definition.
    Real(f64),
}

impl Score {
    /// A score of integer weights that are counted in a unit.
    pub fn of_units(units: i64, unit: Unit) -> Self {
        match unit == Unit::ONE {
            true => Self::Integer(units),
            false => Self::Multiple { units, unit },
        }
    }

    /// A quotient of whole numbers.
    pub fn quotient(numerator: BigInt, denominator: BigUint) -> Self {
        let shared = numerator.magnitude().gcd(&denominator);
        match &denominator / &shared {
            one if one == BigUint::from(1_u32) => (numerator / BigInt::from(shared)).into(),
            denominator => Self::Fraction {
                numerator: numerator / BigInt::from(shared),
                denominator,
            },
        }
    }

    /// Compares scores of hypotheses of one kind. The comparison is exact where the scores are.
    pub fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Integer(one), Self::Integer(other)) => one.cmp(other),
            (Self::Multiple { units: one, .. }, Self::Multiple { units: other, .. }) => {
                one.cmp(other)
            }
            (Self::Real(one), Self::Real(other)) => {
                one.partial_cmp(other).unwrap_or(Ordering::Equal)
            }
            _ => {
                let ((one, below), (other, below_other)) = (self.fraction(), other.fraction());
                (one * BigInt::from(below_other)).cmp(&(other * BigInt::from(below)))
            }
        }
    }

    /// The difference between scores of hypotheses of one kind, which is exact where the scores are.
    #[must_use]
    pub fn minus(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Integer(one), Self::Integer(other)) => match one.checked_sub(*other) {
                Some(difference) => Self::Integer(difference),
                None => Self::Large(BigInt::from(*one) - other),
            },
            (Self::Multiple { units: one, unit }, Self::Multiple { units: other, .. }) => {
                // Magnitudes of scores are at most 2^60.
                let units = one - other;
                Self::Multiple { units, unit: *unit }
            }
            (Self::Real(one), Self::Real(other)) => Self::Real(one - other),
            _ => {
                let ((one, below), (other, below_other)) = (self.fraction(), other.fraction());
                let numerator =
                    one * BigInt::from(below_other.clone()) - other * BigInt::from(below.clone());
                Self::quotient(numerator, below * below_other)
            }
        }
    }

    /// The numerator and the denominator of an exact score.
    fn fraction(&self) -> (BigInt, BigUint) {
        match self {
            Self::Integer(score) => ((*score).into(), 1_u32.into()),
            Self::Large(score) => (score.clone(), 1_u32.into()),
            Self::Fraction {
                numerator,
                denominator,
            } => (numerator.clone(), denominator.clone()),
            Self::Multiple { .. } | Self::Real(_) => unreachable!("scores of unlike hypotheses"),
        }
    }
}

impl From<BigInt> for Score {
    fn from(score: BigInt) -> Self {
        match i64::try_from(&score) {
            Ok(small) => Self::Integer(small),
            Err(_) => Self::Large(score),
        }
    }
}

impl From<i64> for Decision {
    fn from(score: i64) -> Self {
        Self::new(Score::Integer(score), score >= 0)
    }
}

impl From<f64> for Decision {
    fn from(score: f64) -> Self {
        Self::new(Score::Real(score), score >= 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The decision between classes with these scores.
    fn between(scores: &[Score]) -> Decision {
        let mut decision = Decision::new(scores[0].clone(), false);
        decision.scores = scores.to_vec();
        for (class, score) in (1..).zip(&scores[1..]) {
            decision.raise(class, score.clone());
        }
        decision
    }

    #[test]
    fn decision_takes_the_first_of_the_largest_scores() {
        let whole = |scores: &[i64]| {
            between(
                &scores
                    .iter()
                    .map(|s| Score::Integer(*s))
                    .collect::<Vec<_>>(),
            )
        };
        for (scores, class, margin, ranking) in [
            ([3, 1, 2, 0], 0, 1, [0, 2, 1, 3]),
            ([1, 3, 2, 3], 1, 0, [1, 3, 2, 0]),
            ([-5, -2, -9, -3], 1, 1, [1, 3, 0, 2]),
            ([7, 7, 7, 7], 0, 0, [0, 1, 2, 3]),
            ([0, 1, 2, 9], 3, 7, [3, 2, 1, 0]),
        ] {
            let decision = whole(&scores);
            assert_eq!(
                (decision.class, decision.ranking()),
                (class, ranking.to_vec())
            );
            assert_eq!(decision.margin(), Some(Score::Integer(margin)));
        }
    }

    #[test]
    fn margins_are_exact() {
        let fraction = |numerator: i64, denominator: u32| Score::Fraction {
            numerator: numerator.into(),
            denominator: denominator.into(),
        };
        let margin = |one, other, third| between(&[one, other, third]).margin();
        let (low, high) = (Score::Integer(i64::MIN), Score::Integer(i64::MAX));
        let large = BigInt::from(i64::MAX) - BigInt::from(i64::MIN);
        assert_eq!(margin(low.clone(), high, low), Some(Score::Large(large)));
        assert_eq!(
            margin(fraction(1, 6), fraction(2, 3), fraction(-1, 2)),
            Some(fraction(1, 2))
        );
        assert_eq!(
            margin(fraction(1, 3), fraction(4, 3), Score::Integer(0)),
            Some(Score::Integer(1))
        );
        let unit = Unit::new(0.1).expect("positive");
        let tenths = |units| Score::Multiple { units, unit };
        assert_eq!(margin(tenths(4), tenths(1), tenths(-3)), Some(tenths(3)));
        assert_eq!(
            margin(Score::Real(0.5), Score::Real(0.25), Score::Real(0.0)),
            Some(Score::Real(0.25))
        );
        assert_eq!(Decision::from(5_i64).margin(), None);
    }
}
