//! The decision of a hypothesis on one example, with its score. The score is exact unless the weights are real.

use std::cmp::Ordering;

use num_bigint::{BigInt, BigUint};

/// Decision of a predictor on one example.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The number that decides the prediction. With more than two classes, the score of the predicted one.
    pub score: Score,
    /// The code of the predicted class. With two classes, 1 is the positive one: the score is at least the threshold
    /// of the hypothesis, which is 0 for most kinds.
    pub class: u32,
}

impl Decision {
    /// The decision between two classes.
    pub fn new(score: Score, is_positive: bool) -> Self {
        Self {
            score,
            class: is_positive.into(),
        }
    }

    /// Predicts `class` instead if its score is larger.
    pub fn raise(&mut self, class: u32, score: Score) {
        if score.compare(&self.score) == Ordering::Greater {
            *self = Self { score, class };
        }
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
    /// An exact multiple of a unit that all scores of the hypothesis share. `value` is the double nearest to it.
    Multiple { units: i64, value: f64 },
    /// The score of weights that are real by definition.
    Real(f64),
}

impl Score {
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
