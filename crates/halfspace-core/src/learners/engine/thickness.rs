//! Thickness: a rule with the thickness tau also learns from an example that it predicts correctly, if the score is too
//! near to the threshold theta. A positive example must reach theta + tau, and a negative one must stay below
//! theta - tau. An update of this kind is no mistake.
//!
//! W. Krauth, M. Mézard, "Learning algorithms with optimal stability in neural networks", J. Phys. A 20 (1987) L745;
//! R. Khardon, G. Wachman, "Noise tolerant variants of the perceptron algorithm", JMLR 8 (2007) 227-248. SNoW calls it
//! the thick separator.

use num_bigint::BigUint;

use crate::learners::arithmetic::decimal::Decimal;
use crate::learners::arithmetic::unit::Unit;
use crate::learners::decision::Score;
use crate::learners::engine::parameters::{Minimum, Parameter, ParameterKind, Parameters};

/// The name of both parameters.
const NAME: &str = "thickness";

/// The thickness in the unit of the scores, for thresholds of 0.
pub const THICKNESS: Parameter = Parameter {
    name: NAME,
    kind: ParameterKind::Number {
        minimum: Minimum::AtLeast(0.0),
        at_most: 1e12,
        default: 0.0,
    },
    description: "How far beyond 0 a score must lie. The learner also learns from correct predictions with a smaller \
                  one.",
};

/// The thickness as a share of the threshold.
pub const SHARE: Parameter = Parameter {
    name: NAME,
    kind: ParameterKind::Number {
        minimum: Minimum::AtLeast(0.0),
        at_most: 0.99,
        default: 0.0,
    },
    description: "How far beyond theta a sum must lie, as a share of theta. The learner also learns from correct \
                  predictions with a nearer one.",
};

/// The value of the parameter. None if it is 0.
pub fn thickness(parameters: &Parameters) -> Option<Unit> {
    Unit::new(parameters.number(NAME))
}

/// The scores that are too near to a threshold.
#[derive(Clone, Debug)]
pub struct Band {
    /// What the score of a positive example must reach.
    pub above: Score,
    /// What the score of a negative example must stay below.
    pub below: Score,
}

/// A row from which a rule learns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lesson {
    pub row: usize,
    /// Whether the row was predicted wrongly.
    pub is_mistake: bool,
}

/// What a member of a committee decided on a row.
#[derive(Clone, Copy, Debug)]
pub struct Stand {
    /// Whether it decided wrongly.
    pub is_mistake: bool,
    /// Whether it learns from the row by itself.
    pub is_lesson: bool,
}

impl Stand {
    /// The stand of a member with this band and score on a row of its own class or of another.
    pub fn of(is_positive: bool, score: &Score, is_own: bool, band: Option<&Band>) -> Self {
        let is_mistake = is_positive != is_own;
        Self {
            is_mistake,
            is_lesson: is_mistake || band.is_some_and(|band| band.teaches(score, is_own)),
        }
    }
}

impl Lesson {
    pub fn mistake(row: usize) -> Self {
        Self {
            row,
            is_mistake: true,
        }
    }
}

impl Band {
    /// The band of width `tau` on both sides of 0, for scores that are counted in whole units.
    pub fn of_units(tau: Unit, unit: Unit) -> Self {
        let (down, up) = tau.count_between(unit);
        Self {
            above: Score::Integer(up),
            below: Score::Integer(-down),
        }
    }

    /// The band of width `tau` on both sides of 0, for real scores in a unit.
    pub fn of_reals(tau: Unit, unit: Unit) -> Self {
        let tau = tau.value() / unit.value();
        Self {
            above: Score::Real(tau),
            below: Score::Real(-tau),
        }
    }

    /// The band between two sums: what a negative example must stay below, and what a positive one must reach.
    pub fn of_decimals([below, above]: &[Decimal; 2]) -> Self {
        let score = |level: &Decimal| {
            let power = BigUint::from(10_u32).pow(level.places());
            Score::quotient(level.digits().clone().into(), power)
        };
        Self {
            above: score(above),
            below: score(below),
        }
    }

    /// Whether a rule learns from an example with this score.
    pub fn teaches(&self, score: &Score, is_positive: bool) -> bool {
        match is_positive {
            true => score.compare(&self.above).is_lt(),
            false => score.compare(&self.below).is_ge(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn band_is_exact_at_its_edges() {
        let unit = |value| Unit::new(value).expect("positive");
        // 0.3 is three tenths, although no double is.
        let three = Band::of_units(unit(0.3), unit(0.1));
        let teaches =
            |band: &Band, score, is_positive| band.teaches(&Score::Integer(score), is_positive);
        assert!(teaches(&three, 2, true) && !teaches(&three, 3, true));
        assert!(teaches(&three, -3, false) && !teaches(&three, -4, false));
        // Two and a half units lie between two whole numbers of them.
        let between = Band::of_units(unit(1.0), unit(0.4));
        assert!(teaches(&between, 2, true) && !teaches(&between, 3, true));
        assert!(teaches(&between, -2, false) && !teaches(&between, -3, false));
    }
}
