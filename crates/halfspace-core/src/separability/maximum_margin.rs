//! The separating hyperplane of maximum margin, and the best bound that Novikoff's theorem gives.
//!
//! V. Vapnik and A. Lerner (1963); C. Cortes and V. Vapnik, "Support-vector networks" (1995), the
//! case without errors. Two margins are in use, and they differ when there is a bias:
//!
//! - The *margin* of the answer is the geometric one, the distance from the hyperplane to the
//!   nearest example, min y (w.x + b) / |w|. The bias is not in the norm: moving all examples
//!   together changes nothing.
//! - *Novikoff's bound* is about a perceptron that learns the bias as the weight of a constant
//!   coordinate. There both the norm and the radius include that coordinate, so the best bound
//!   R^2/gamma^2 belongs to another hyperplane: the one of maximum margin among vectors (w, b). It
//!   is sought by itself, and its margin is reported beside the bound.
//!
//! Without a bias the two are one. First the sample is decided by [`super::separability`], so that
//! a refusal is proved. Then a solver in f64 proposes; the weights that are reported are taken as
//! the fractions they are and their margin is computed over all examples in whole numbers, and so
//! is an upper bound on any margin, from the solver's multipliers. Only what is within
//! [`RELATIVE_GAP_MAX`] of it is called optimal, and Novikoff's bound uses the margin that was
//! reached, rounded up: it holds in any case.

use num_bigint::{BigInt, BigUint};
use num_traits::One;

use crate::learners::data::{Data, Labels};
use crate::learners::linear::Reading;
use crate::learners::run::{Interrupt, Run};

use super::alternative::Multiplier;
use super::examples::SignedExamples;
use super::margin_program::{Solved, largest_margin};
use super::proved_margin::{Margin, Norm, root};
use super::separability::{Convention, Question, Verdict, check, decide};
use super::undecided::Undecided;

/// The relative distance between a reported margin and a proved upper bound on every margin.
pub const RELATIVE_GAP_MAX: f64 = 1e-6;

/// What is known of the maximum margin.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The optimal hyperplane.
    Optimal(MaximumMargin),
    /// A separating hyperplane, where it or the one of Novikoff's bound may be farther from the
    /// optimum than [`RELATIVE_GAP_MAX`]: both say how far.
    Approximate(MaximumMargin),
    /// All examples have one label and there is a bias: hyperplanes without end lie ever farther
    /// from them. Novikoff's bound exists all the same.
    OneLabel(NovikoffBound),
    /// No hyperplane separates, as these multipliers prove.
    NotSeparable(Vec<Multiplier>),
    /// A limit came first.
    Undecided(Undecided),
}

/// The hyperplane of largest margin that was found, scaled so that the least y (w.x + b) is 1 or
/// nearly so: between 1 and 2 where f64 can hardly write it.
#[derive(Clone, Debug, PartialEq)]
pub struct MaximumMargin {
    /// One weight a feature.
    pub weights: Vec<f64>,
    /// The bias, if one was asked for.
    pub bias: Option<f64>,
    /// min y (w.x + b) / |w|, of these very weights.
    pub margin: f64,
    /// By how much, at most, the largest margin exceeds it, relatively.
    pub relative_gap: f64,
    /// The indices of the examples at that distance from the hyperplane, to 1e-6.
    pub support: Vec<usize>,
    /// The least bound of Novikoff's theorem.
    pub bound: NovikoffBound,
}

/// R^2/gamma^2 of perceptrons from w = 0, the bias coordinate included in both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NovikoffBound {
    /// At least R^2/gamma^2, with the margin below for gamma: an upper bound on the mistakes.
    pub value: f64,
    /// R, the greatest norm of an example.
    pub radius: f64,
    /// gamma, the greatest margin of a hyperplane through the origin of that space.
    pub margin: f64,
    /// By how much, at most, the greatest margin exceeds it, relatively: at most
    /// [`RELATIVE_GAP_MAX`] beside an optimum.
    pub relative_gap: f64,
}

/// Finds the separating hyperplane of maximum margin. Half-space examples are all positive.
///
/// # Errors
/// [`Interrupt::Suspended`] when the run was given up.
///
/// # Panics
/// When [`check`] would refuse the sample.
pub fn solve(data: &Data, bias: bool, reading: Reading, run: &Run) -> Result<Outcome, Interrupt> {
    assert!(check(data).is_ok(), "a checked sample");
    let question = Question {
        bias,
        reading,
        convention: Convention::Strict,
    };
    let first: Vec<BigInt> = match decide(data, &question, run)? {
        Verdict::NotSeparable(multipliers) => return Ok(Outcome::NotSeparable(multipliers)),
        Verdict::Undecided(why) => return Ok(Outcome::Undecided(why)),
        Verdict::Separable(separator) => separator
            .weights
            .into_iter()
            .chain(separator.bias)
            .collect(),
    };
    let solved = SignedExamples::new(data, reading, bias, run)
        .and_then(|examples| optimise(&examples, &first, run));
    match solved {
        Ok(outcome) => Ok(outcome),
        Err(interrupt) => Ok(Outcome::Undecided(interrupt.try_into()?)),
    }
}

fn optimise(
    examples: &SignedExamples<'_>,
    separator: &[BigInt],
    run: &Run,
) -> Result<Outcome, Interrupt> {
    let through_origin = match largest_margin(examples, separator, Norm::WithBias, run)? {
        Solved::Margin(margin) => margin,
        Solved::Undecided(why) => return Ok(Outcome::Undecided(why)),
    };
    let radius_squared = examples.radius_squared(run)?;
    let bound = NovikoffBound {
        value: through_origin.ratio_above(&radius_squared),
        radius: root(&radius_squared, &BigUint::one(), examples.shift()),
        margin: through_origin.value,
        relative_gap: through_origin.relative_gap,
    };
    if !examples.has_bias() {
        return maximum_margin(examples, through_origin, bound, run);
    }
    if has_one_label(examples) {
        return Ok(Outcome::OneLabel(bound));
    }
    match largest_margin(examples, separator, Norm::WithoutBias, run)? {
        Solved::Margin(margin) => maximum_margin(examples, margin, bound, run),
        Solved::Undecided(why) => Ok(Outcome::Undecided(why)),
    }
}

fn maximum_margin(
    examples: &SignedExamples<'_>,
    margin: Margin,
    bound: NovikoffBound,
    run: &Run,
) -> Result<Outcome, Interrupt> {
    let support = margin.support(examples, run)?;
    let mut weights = margin.weights;
    let bias = if examples.has_bias() {
        weights.pop()
    } else {
        None
    };
    let found = MaximumMargin {
        weights,
        bias,
        margin: margin.value,
        relative_gap: margin.relative_gap,
        support,
        bound,
    };
    let gap = found.relative_gap.max(bound.relative_gap);
    Ok(match gap <= RELATIVE_GAP_MAX {
        true => Outcome::Optimal(found),
        false => Outcome::Approximate(found),
    })
}

fn has_one_label(examples: &SignedExamples<'_>) -> bool {
    match examples.data().labels() {
        Labels::Labelled(_) => {
            let first = examples.is_negative(0);
            (1..examples.count()).all(|index| examples.is_negative(index) == first)
        }
        Labels::HalfSpace | Labels::Unlabelled => true,
    }
}
