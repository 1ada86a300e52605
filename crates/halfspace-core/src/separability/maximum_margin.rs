//! The separating hyperplane of maximum margin, and the best bound of Novikoff's theorem.
//!
//! The sources are V. Vapnik and A. Lerner (1963), and C. Cortes and V. Vapnik, "Support-vector networks" (1995), for
//! separable examples. Two margins are in use, which differ if there is a bias:
//!
//! - The *margin* of the result is the geometric margin min y (w.x + b) / |w|, the distance from the hyperplane to
//!   the nearest example. The norm excludes the bias, so that moving all examples together does not change this
//!   margin.
//! - *Novikoff's bound* is for a perceptron that learns the bias as the weight of a constant coordinate, which both
//!   the norm and the radius include. So the best bound R^2/gamma^2 belongs to another hyperplane, the one of maximum
//!   margin among the vectors (w, b). A separate search finds it, and its margin is reported with the bound.
//!
//! [`super::decision`] decides the sample first, so that a negative answer is proved. Then a solver in f64 proposes
//! weights. We take them as exact fractions and compute their margin over all examples in integers. The solver's
//! multipliers yield an upper bound on every margin, also in integers. The result is called optimal only if both
//! margins, its own and that of Novikoff's bound, are within [`RELATIVE_GAP_MAX`] of such bounds. Novikoff's bound uses
//! the margin that was reached and is rounded up, so it is valid in any case.
//!
//! The support is every example at the margin of the exact optimum, including those that the optimum does not need. The
//! weights in f64 cannot tell which these are, so the exact method finds the optimum among the examples near the
//! hyperplane. If it reaches a limit, the support is every example whose distance exceeds the margin by at most one
//! part in [`SUPPORT_PARTS`].
//!
//! Afterwards the support is solved alone, as if it were the whole sample. If this solution is optimal for the whole
//! sample too, we report it, because then a few examples determine the hyperplane, and sample compression bounds its
//! error.

use num_bigint::{BigInt, BigUint};
use num_traits::One;

use crate::learners::engine::run::{Interrupt, Run};
use crate::learners::linear::linear_weights::Reading;
use crate::learners::sample::data::{Data, Labels};

use super::alternative::Multiplier;
use super::decision::{Convention, SeparabilityQuestion, Separator, Verdict, check, decide};
use super::exact_support::exact_support;
use super::examples::SignedExamples;
use super::margin_program::{Solved, largest_margin};
pub use super::proved_margin::RELATIVE_GAP_MAX;
use super::proved_margin::{Margin, Norm, root};
use super::undecided::Undecided;

/// Without the exact optimum, an example counts as support if it is farther than the nearest one by at most one part
/// in this number.
pub const SUPPORT_PARTS: u32 = 1_000_000;

/// Result of the search for the maximum margin.
#[derive(Clone, Debug, PartialEq)]
pub enum MarginOutcome {
    /// The optimal hyperplane.
    Optimal(MaximumMargin),
    /// A separating hyperplane. It, or the one of Novikoff's bound, may be farther from the optimum than
    /// [`RELATIVE_GAP_MAX`]. Both state their relative gap.
    Approximate(MaximumMargin),
    /// All examples have one label and there is a bias, so the margin is unbounded. Novikoff's bound still exists.
    OneLabel(NovikoffBound),
    /// No hyperplane separates the examples. These multipliers are the proof.
    NotSeparable(Vec<Multiplier>),
    /// A limit came before the answer.
    Undecided(Undecided),
}

/// The hyperplane of the largest margin that was found. It is scaled so that the least y (w.x + b) is approximately
/// 1, or between 1 and 2 if f64 can hardly represent the optimum.
#[derive(Clone, Debug, PartialEq)]
pub struct MaximumMargin {
    /// One weight per feature.
    pub weights: Vec<f64>,
    /// The bias, if the question allows one.
    pub bias: Option<f64>,
    /// min y (w.x + b) / |w| for exactly these weights.
    pub margin: f64,
    /// Upper bound on the relative excess of the largest margin over `margin`.
    pub relative_gap: f64,
    /// Indices of the examples at the margin.
    pub support: Vec<usize>,
    /// Whether the support is that of the exact optimum. Otherwise it holds the examples that are at the margin of
    /// these weights, with a relative tolerance of one part in [`SUPPORT_PARTS`].
    pub is_support_exact: bool,
    /// Whether the support, as a sample of its own, has exactly this hyperplane as its solution.
    pub is_of_support: bool,
    /// The best bound of Novikoff's theorem.
    pub bound: NovikoffBound,
}

/// R^2/gamma^2 for perceptrons from w = 0. R and gamma include the bias coordinate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NovikoffBound {
    /// Upper bound on the mistakes: R^2/gamma^2 rounded up, with `margin` as gamma.
    pub value: f64,
    /// R, the largest norm of an example.
    pub radius: f64,
    /// gamma, the largest margin that was found for a hyperplane through the origin of this space.
    pub margin: f64,
    /// Upper bound on the relative excess of the largest margin over `margin`. The bound is at most
    /// [`RELATIVE_GAP_MAX`] in an optimal result.
    pub relative_gap: f64,
}

/// Finds the separating hyperplane of maximum margin. Half-space examples are all positive.
///
/// # Errors
/// Returns the interrupt if the run was suspended, the examples were unreadable, or memory ran out.
///
/// # Panics
/// Panics if [`check`] rejects the sample.
pub fn solve(
    data: &Data,
    bias: bool,
    reading: Reading,
    run: &Run,
) -> Result<MarginOutcome, Interrupt> {
    assert!(check(data).is_ok(), "a checked sample");
    let question = SeparabilityQuestion {
        bias,
        reading,
        convention: Convention::Strict,
    };
    let first = match decide(data, &question, run)? {
        Verdict::NotSeparable(multipliers) => return Ok(MarginOutcome::NotSeparable(multipliers)),
        Verdict::Undecided(why) => return Ok(MarginOutcome::Undecided(why)),
        Verdict::Separable(separator) => coordinates(separator),
    };
    let solved = SignedExamples::new(data, reading, bias, run)
        .and_then(|examples| optimise(&examples, &first, run));
    match solved {
        Ok(outcome) => Ok(outcome),
        Err(interrupt) => Ok(MarginOutcome::Undecided(interrupt.try_into()?)),
    }
}

fn optimise(
    examples: &SignedExamples<'_>,
    separator: &[BigInt],
    run: &Run,
) -> Result<MarginOutcome, Interrupt> {
    let through_origin = match largest_margin(examples, separator, Norm::WithBias, run)? {
        Solved::Margin(margin) => margin,
        Solved::Undecided(why) => return Ok(MarginOutcome::Undecided(why)),
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
        return Ok(MarginOutcome::OneLabel(bound));
    }
    match largest_margin(examples, separator, Norm::WithoutBias, run)? {
        Solved::Margin(margin) => maximum_margin(examples, margin, bound, run),
        Solved::Undecided(why) => Ok(MarginOutcome::Undecided(why)),
    }
}

/// The coordinates of a separator, the bias last.
fn coordinates(separator: Separator) -> Vec<BigInt> {
    let weights = separator.weights.into_iter();
    weights.chain(separator.bias).collect()
}

fn maximum_margin(
    examples: &SignedExamples<'_>,
    margin: Margin,
    bound: NovikoffBound,
    run: &Run,
) -> Result<MarginOutcome, Interrupt> {
    let norm = match examples.has_bias() {
        true => Norm::WithoutBias,
        false => Norm::WithBias,
    };
    let exact = exact_support(&margin, examples, norm, run)?;
    let is_support_exact = exact.is_some();
    let support = match exact {
        Some(support) => support,
        None => margin.nearest(examples, SUPPORT_PARTS, run)?,
    };
    let of_support = solved_on_support(examples, &support, &margin, norm, run)?;
    let is_of_support = of_support.is_some();
    let margin = of_support.unwrap_or(margin);
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
        is_support_exact,
        is_of_support,
        bound,
    };
    let gap = found.relative_gap.max(bound.relative_gap);
    Ok(match gap <= RELATIVE_GAP_MAX {
        true => MarginOutcome::Optimal(found),
        false => MarginOutcome::Approximate(found),
    })
}

/// Solves the support as a sample of its own, and returns the solution if it is optimal for the whole sample too.
fn solved_on_support(
    examples: &SignedExamples<'_>,
    support: &[usize],
    margin: &Margin,
    norm: Norm,
    run: &Run,
) -> Result<Option<Margin>, Interrupt> {
    let (reading, bias) = (examples.reading(), examples.has_bias());
    let question = SeparabilityQuestion {
        bias,
        reading,
        convention: Convention::Strict,
    };
    let data = examples.data().select(support);
    let Verdict::Separable(separator) = decide(&data, &question, run)? else {
        return Ok(None);
    };
    let alone = SignedExamples::new(&data, reading, bias, run)?;
    if bias && has_one_label(&alone) {
        return Ok(None);
    }
    let Solved::Margin(found) = largest_margin(&alone, &coordinates(separator), norm, run)? else {
        return Ok(None);
    };
    let found = margin.of_other_weights(examples, &found.weights, norm, run)?;
    Ok(found.filter(Margin::is_optimal))
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
