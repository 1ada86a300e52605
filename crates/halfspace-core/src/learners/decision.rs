//! The decision of a hypothesis on one example, and the score behind it. The score is exact wherever the weights are.

use num_bigint::{BigInt, BigUint};

/// Decision of a hypothesis on one example.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The number that decides the prediction.
    pub score: Score,
    /// The prediction. Positive iff the score is at least the threshold of the hypothesis, which is 0 for
    /// most kinds.
    pub is_positive: bool,
}

impl Decision {
    /// The decision between two classes.
    pub fn new(score: Score, is_positive: bool) -> Self {
        Self { score, is_positive }
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
    /// Score of weights that are real by definition.
    Real(f64),
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
