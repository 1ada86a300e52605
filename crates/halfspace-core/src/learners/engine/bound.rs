//! A theorem's bound on the number of mistakes of a run.
//!
//! [`Bound`] holds the bound and the verdict for one run, both of which the learner computes. The functions here turn
//! exact quotients and rounded results into the `f64` that is reported.

use num_bigint::BigUint;

use crate::learners::engine::run::Counts;

/// A bound on the number of mistakes, and whether the run respected the bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// Authors of the theorem.
    pub theorem: &'static str,
    /// The bound. `None` if the run does not determine it or it exceeds the range of `f64`.
    pub mistakes_at_most: Option<f64>,
    /// Binary logarithm of a bound that exceeds the range of `f64`.
    pub log2_mistakes_at_most: Option<f64>,
    /// Whether the run respected the bound. `None` if an assumption of the theorem is not met.
    pub respected: Option<bool>,
    /// Why the number or the verdict is missing, or which assumptions the verdict needs.
    pub detail: Option<String>,
}

impl Bound {
    /// The bound of a committee: the sum of its members' bounds. The committee is wrong only if a member is, so it
    /// makes no more mistakes than all of them together. If classes joined when they appeared, as `joined` says, it is
    /// also wrong on the first example of each. None if a member has no bound.
    pub fn of_members(members: &[MemberOutcome], joined: bool, counts: &Counts) -> Option<Self> {
        let bounds: Vec<&Self> = members
            .iter()
            .map(|member| member.bound.as_ref())
            .collect::<Option<_>>()?;
        let first = bounds.first()?;
        let sum: Option<f64> = bounds.iter().map(|bound| bound.mistakes_at_most).sum();
        let (first_examples, what) = match joined {
            true => (
                members.len() as f64,
                "the sum of the bounds of all classes, and 1 for the first example of each",
            ),
            false => (0.0, "the sum of the bounds of all classes"),
        };
        let sum = sum.map(|sum| sum + first_examples);
        let verdicts: Option<Vec<bool>> = bounds.iter().map(|bound| bound.respected).collect();
        let missing = bounds.iter().find_map(|bound| bound.detail.clone());
        Some(Self {
            theorem: first.theorem,
            mistakes_at_most: sum,
            log2_mistakes_at_most: None,
            respected: verdicts.and_then(|all| {
                let holds = counts.mistakes as f64 <= sum?;
                Some(holds && !all.contains(&false))
            }),
            detail: Some(missing.unwrap_or_else(|| what.to_owned())),
        })
    }

    /// The bound on all mistakes, if this one leaves out the first example of all, before which no class was known.
    #[must_use]
    pub fn and_the_first(self) -> Self {
        let detail = "1 of the mistakes is the first example, before which no class was known";
        Self {
            mistakes_at_most: self.mistakes_at_most.map(|bound| bound + 1.0),
            detail: self.detail.or_else(|| Some(detail.to_owned())),
            ..self
        }
    }

    /// Removes the verdict for a run whose weights did not start at 0, because the theorem assumes that they did.
    pub fn without_verdict(self) -> Self {
        Self {
            respected: None,
            detail: Some("assumption not met: the weights did not start at 0".to_owned()),
            ..self
        }
    }
}

/// What the bound of a rule is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    Mistakes,
    /// All updates, with which a rule with thickness also corrects examples that it predicts correctly.
    Updates,
}

impl Counted {
    /// What the bound of a rule is on, by whether it has thickness.
    pub fn of(is_thick: bool) -> Self {
        match is_thick {
            true => Self::Updates,
            false => Self::Mistakes,
        }
    }

    /// The number that the bound limits.
    pub fn number(self, counts: &Counts) -> u64 {
        match self {
            Self::Mistakes => counts.mistakes,
            Self::Updates => counts.updates,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Mistakes => "mistakes",
            Self::Updates => "updates",
        }
    }

    /// The bound with a note if it is not on the mistakes.
    #[must_use]
    pub fn noted(self, bound: Bound) -> Bound {
        if self == Self::Mistakes {
            return bound;
        }
        let note = "with thickness, the bound is on the updates, which include all mistakes";
        let detail = match bound.detail {
            Some(detail) => format!("{detail}; {note}"),
            None => note.to_owned(),
        };
        Bound {
            detail: Some(detail),
            ..bound
        }
    }
}

/// A member of a committee at the end of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct MemberOutcome {
    /// Examples on which the member decided wrongly.
    pub mistakes: u64,
    /// Mistakes that changed its hypothesis.
    pub updates: u64,
    /// The bound of the learner's theorem for the member, if there is one for this end.
    pub bound: Option<Bound>,
}

impl MemberOutcome {
    pub fn new(counts: &Counts, bound: Option<Bound>) -> Self {
        Self {
            mistakes: counts.mistakes,
            updates: counts.updates,
            bound,
        }
    }
}

/// A bound on a number of mistakes that was computed with a relative error below 2^-36. If a whole number is so near,
/// it is the bound, because 45.99999999999999 in place of 46 would forbid the last mistake.
pub fn on_whole_numbers(computed: f64) -> f64 {
    const ERROR_MAX: f64 = 1.0 / (1_u64 << 36) as f64;
    let whole = computed.round();
    match (computed - whole).abs() <= computed * ERROR_MAX {
        true => whole,
        false => computed,
    }
}

/// Divides two whole numbers. Returns the quotient and no logarithm, or only the binary logarithm if the
/// quotient exceeds the range of `f64`.
pub fn ratio(numerator: &BigUint, denominator: &BigUint) -> (Option<f64>, Option<f64>) {
    let (above, above_exponent) = leading(numerator);
    let (below, below_exponent) = leading(denominator);
    let (quotient, exponent) = (above / below, above_exponent - below_exponent);
    match i32::try_from(exponent).map(|exponent| libm::ldexp(quotient, exponent)) {
        Ok(value) if value.is_finite() => (Some(value), None),
        _ => (None, Some(libm::log2(quotient) + exponent as f64)),
    }
}

/// Splits a whole number into its leading 64 bits and an exponent of two.
pub fn leading(number: &BigUint) -> (f64, i64) {
    let shift = number.bits().saturating_sub(64);
    let first = (number >> shift).iter_u64_digits().next().unwrap_or(0);
    (first as f64, shift as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bound_near_a_whole_number_is_that_number() {
        for whole in [1.0_f64, 46.0, 1e9] {
            for computed in [whole.next_down(), whole, whole.next_up()] {
                assert_eq!(on_whole_numbers(computed), whole);
            }
        }
        assert_eq!(on_whole_numbers(45.999), 45.999);
        assert_eq!(on_whole_numbers(f64::INFINITY), f64::INFINITY);
        assert_eq!(on_whole_numbers(1e-300), 1e-300);
    }

    #[test]
    fn ratio_beyond_f64_is_given_by_its_logarithm() {
        let power = |exponent: u32| BigUint::from(2_u32).pow(exponent);
        let one = BigUint::from(1_u32);
        assert_eq!(ratio(&(power(70) * 3_u32), &power(71)), (Some(1.5), None));
        assert_eq!(ratio(&BigUint::ZERO, &one), (Some(0.0), None));
        assert_eq!(ratio(&power(1023), &one).0, Some(2_f64.powi(1023)));
        assert_eq!(ratio(&power(1024), &one), (None, Some(1024.0)));
        assert_eq!(
            ratio(&power(5000), &power(4000)),
            (Some(2_f64.powi(1000)), None)
        );
        assert_eq!(ratio(&power(5000), &one), (None, Some(5000.0)));
    }
}
