//! Decides whether a hyperplane separates the examples, with a proof of either answer.
//!
//! From the mistakes of a perceptron you cannot tell slow convergence from a sample that is not separable. So up to
//! five steps decide the question:
//!
//! 1. A search by hashing finds contradictory examples (`duplicates`).
//! 2. A bounded run of the perceptron ends with a pass without mistakes or in a cycle (`attempt`).
//! 3. A quadratic program in f64 runs on a growing set of examples (`nearest_point`). Its hyperplane, rounded to
//!    integers, may be right on all examples. Otherwise its multipliers name examples that may exclude every
//!    hyperplane.
//! 4. The exact coefficients of a linear dependency among these examples are computed (`lifting`). If none is negative,
//!    they are a proof; in the service's convention, a negative example must be among them.
//! 5. Otherwise the simplex method in exact integers decides (`simplex`). Examples that its hyperplane misclassifies
//!    are added, until a hyperplane is right on all examples or the multipliers exclude every hyperplane.
//!
//! The result of each step is checked on the sample itself in integers of unlimited size (`alternative`), and only
//! checked results are reported. Step 5 always terminates, so `Undecided` means that a limit came first: time, a
//! cancellation, or more than [`SOLVER_COORDINATES_MAX`] coordinates, which steps 3 to 5 do not accept.
//!
//! Two conventions say whether a positive example may lie on the hyperplane: in the strict one it may not, and in the
//! service's one it may, as in predictions. With a bias both have the same answer, because moving the hyperplane a
//! little towards the negative examples removes ties. Without a bias the answers can differ. In the service's
//! convention, w = 0 is a separator if no example is negative. This answer says nothing about the data.

use num_bigint::BigInt;
use num_traits::{One, Zero};

use crate::learners::engine::run::{Interrupt, Run};
use crate::learners::linear::linear_weights::Reading;
use crate::learners::sample::data::Data;
use crate::learners::sample::examples::{Examples, LabelKind, MANY_CLASSES};

pub use super::alternative::{Convention, Multiplier};
use super::alternative::{exclude_separators, wrong_examples};
use super::attempt::{AttemptOutcome, attempt};
use super::duplicates::contradiction;
use super::examples::{SignedExamples, look};
use super::lifting::dependency;
use super::nearest_point::{nearest_point, vertex};
use super::rounding::{reduce, roundings};
use super::simplex::{ExactSimplex, SimplexColumn, Solution};
use super::undecided::Undecided;

/// Largest number of coordinates, including the bias, for the solver and the exact methods. An exact inverse has the
/// square of this number of entries, which are integers of thousands of bits, so wider samples are left to the
/// perceptron.
pub const SOLVER_COORDINATES_MAX: usize = 2048;

/// Examples that the perceptron may read before the solver starts, beyond its first passes.
const ATTEMPT_EXAMPLES: u64 = 1 << 24;

/// Passes of the perceptron on samples that are too wide for the solver.
const WIDE_PASSES: u64 = 10_000;

/// Largest number of rounds of the quadratic program.
const ROUNDS_MAX: usize = 40;

/// Largest number of examples in the quadratic program.
const PROGRAM_EXAMPLES_MAX: usize = 4096;

/// What to ask about the separability of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeparabilityQuestion {
    /// Whether the hyperplane may miss the origin.
    pub bias: bool,
    /// The reading of Boolean examples. Real examples are used as they are.
    pub reading: Reading,
    /// The convention for examples on the hyperplane.
    pub convention: Convention,
}

/// A proved answer, or the limit that came first.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// This hyperplane separates the examples.
    Separable(Separator),
    /// No hyperplane separates the examples, because sum lambda_i y_i x_i = 0 and, with a bias, sum lambda_i
    /// y_i = 0. All given lambda_i are positive. In the service's convention at least one of them belongs to
    /// a negative example.
    NotSeparable(Vec<Multiplier>),
    /// A limit came before the answer.
    Undecided(Undecided),
}

/// A hyperplane with integer coefficients that is right on every example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Separator {
    /// One weight per feature.
    pub weights: Vec<BigInt>,
    /// The bias, if the question allows one.
    pub bias: Option<BigInt>,
}

/// Errors of [`check`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SampleError {
    /// The examples have no labels.
    #[error("the examples are unlabelled; send labelled or half-space examples")]
    Unlabelled,
    /// The examples have more than two classes.
    #[error("{MANY_CLASSES}")]
    ManyClasses,
}

/// Checks that the sample is valid for [`decide`].
///
/// # Errors
/// Returns an error if the examples are unlabelled or have more than two classes.
pub fn check(examples: &dyn Examples) -> Result<(), SampleError> {
    match examples.shape().labels {
        LabelKind::Unlabelled => Err(SampleError::Unlabelled),
        labels if labels.has_many_classes() => Err(SampleError::ManyClasses),
        LabelKind::HalfSpace | LabelKind::Labelled { .. } => Ok(()),
    }
}

/// Decides whether a hyperplane separates the examples. Half-space examples are all positive.
///
/// # Errors
/// Returns the interrupt if the run was suspended, the examples were unreadable, or memory ran out.
///
/// # Panics
/// Panics if [`check`] rejects the sample.
pub fn decide(
    data: &Data,
    question: &SeparabilityQuestion,
    run: &Run,
) -> Result<Verdict, Interrupt> {
    assert!(check(data).is_ok(), "a checked sample");
    let verdict = SignedExamples::new(data, question.reading, question.bias, run)
        .and_then(|examples| search(&examples, question.convention, run));
    match verdict {
        Ok(verdict) => Ok(verdict),
        Err(interrupt) => Ok(Verdict::Undecided(interrupt.try_into()?)),
    }
}

fn search(
    examples: &SignedExamples<'_>,
    convention: Convention,
    run: &Run,
) -> Result<Verdict, Interrupt> {
    let coordinates = examples.coordinates();
    if convention == Convention::Service && !has_negative(examples) {
        return Ok(separable(examples, vec![BigInt::zero(); coordinates]));
    }
    if let Some(multipliers) = contradiction(examples, convention, run)?
        && exclude_separators(examples, &multipliers, convention, run)?
    {
        return Ok(Verdict::NotSeparable(multipliers));
    }
    let is_wide = coordinates > SOLVER_COORDINATES_MAX;
    let passes = match is_wide {
        true => WIDE_PASSES,
        false => (ATTEMPT_EXAMPLES / examples.count() as u64).clamp(20, 200),
    };
    let hardest = match attempt(examples, convention, passes, run)? {
        AttemptOutcome::Clean(weights) => {
            let wrong = wrong_examples(examples, &weights, convention, 2 * coordinates, run)?;
            if wrong.is_empty() {
                return Ok(separable(examples, weights));
            }
            wrong
        }
        AttemptOutcome::Cycle(multipliers) => {
            if exclude_separators(examples, &multipliers, convention, run)? {
                return Ok(Verdict::NotSeparable(multipliers));
            }
            multipliers
                .iter()
                .map(|multiplier| multiplier.example)
                .collect()
        }
        AttemptOutcome::Unfinished(hardest) => hardest,
    };
    if is_wide {
        return Ok(Verdict::Undecided(Undecided::TooWide {
            coordinates,
            coordinates_max: SOLVER_COORDINATES_MAX,
        }));
    }
    match propose(examples, convention, hardest, run)? {
        Proposed::Separator(weights) => Ok(separable(examples, weights)),
        Proposed::Examples(proposed) => match lifted(examples, convention, &proposed, run)? {
            Some(multipliers) => Ok(Verdict::NotSeparable(multipliers)),
            None => settle(examples, convention, proposed, run),
        },
    }
}

fn has_negative(examples: &SignedExamples<'_>) -> bool {
    (0..examples.count()).any(|index| examples.is_negative(index))
}

fn separable(examples: &SignedExamples<'_>, mut weights: Vec<BigInt>) -> Verdict {
    reduce(&mut weights);
    let bias = if examples.has_bias() {
        weights.pop()
    } else {
        None
    };
    Verdict::Separable(Separator { weights, bias })
}

/// Result of the quadratic program.
pub(super) enum Proposed {
    /// Checked weights that are right on every example.
    Separator(Vec<BigInt>),
    /// Examples that may exclude every separator.
    Examples(Vec<usize>),
}

/// Runs the quadratic program, starting with the examples `hardest`. Each round adds examples that the
/// hyperplane misclassifies.
pub(super) fn propose(
    examples: &SignedExamples<'_>,
    convention: Convention,
    hardest: Vec<usize>,
    run: &Run,
) -> Result<Proposed, Interrupt> {
    let batch = (2 * examples.coordinates()).max(32);
    let mut working = hardest;
    working.truncate(2 * batch);
    if !working
        .iter()
        .any(|&index| is_strict(examples, convention, index))
    {
        working.extend((0..examples.count()).find(|&i| is_strict(examples, convention, i)));
    }
    for _ in 0..ROUNDS_MAX {
        let rows = rows(examples, convention, &working);
        let Some(proposal) = nearest_point(&rows, run)? else {
            break;
        };
        let Some(weights) = right_on(examples, convention, &working, &proposal.variables, run)?
        else {
            let support = support(&working, &proposal.multipliers);
            return Ok(Proposed::Examples(thinned(
                examples, convention, support, run,
            )?));
        };
        let wrong = wrong_examples(examples, &weights, convention, batch, run)?;
        if wrong.is_empty() {
            return Ok(Proposed::Separator(weights));
        }
        // These examples are new, because the weights are right on all previous ones.
        working.extend(wrong);
        if working.len() > PROGRAM_EXAMPLES_MAX {
            break;
        }
    }
    Ok(Proposed::Examples(working))
}

/// Reduces the set of examples that seem to exclude every separator, because the exact simplex is faster on a smaller
/// set.
fn thinned(
    examples: &SignedExamples<'_>,
    convention: Convention,
    proposed: Vec<usize>,
    run: &Run,
) -> Result<Vec<usize>, Interrupt> {
    if proposed.len() <= examples.coordinates() + 1 {
        return Ok(proposed);
    }
    let vertex = vertex(&rows(examples, convention, &proposed), run)?;
    Ok(match vertex {
        Some(vertex) => support(&proposed, &vertex.multipliers),
        None => proposed,
    })
}

/// The vectors in f64, each with a flag that tells whether a.w must be positive.
fn rows(
    examples: &SignedExamples<'_>,
    convention: Convention,
    indices: &[usize],
) -> Vec<(Vec<f64>, bool)> {
    let row = |&index: &usize| {
        let mut values = Vec::new();
        examples.values(index, &mut values);
        (values, is_strict(examples, convention, index))
    };
    indices.iter().map(row).collect()
}

fn is_strict(examples: &SignedExamples<'_>, convention: Convention, index: usize) -> bool {
    convention.is_strict_on(examples.is_negative(index))
}

/// The coarsest rounding of `values` that is right on the examples of `working`.
fn right_on(
    examples: &SignedExamples<'_>,
    convention: Convention,
    working: &[usize],
    values: &[f64],
    run: &Run,
) -> Result<Option<Vec<BigInt>>, Interrupt> {
    for weights in roundings(values) {
        let mut is_right = true;
        for &index in working {
            look(run)?;
            let product = examples.column(index).dot(&weights);
            is_right = convention.is_right(&product, examples.is_negative(index));
            if !is_right {
                break;
            }
        }
        if is_right {
            return Ok(Some(weights));
        }
    }
    Ok(None)
}

/// The examples whose multipliers are not nearly 0, the largest multiplier first.
fn support(working: &[usize], multipliers: &[f64]) -> Vec<usize> {
    let largest = multipliers
        .iter()
        .fold(0.0_f64, |largest, &x| largest.max(x));
    let mut order: Vec<usize> = (0..working.len())
        .filter(|&at| multipliers[at] > 1e-7 * largest)
        .collect();
    order.sort_by(|&one, &other| multipliers[other].total_cmp(&multipliers[one]));
    order.into_iter().map(|at| working[at]).collect()
}

/// The multipliers of the first linear dependency among `proposed`, if they exclude every separator.
pub(super) fn lifted(
    examples: &SignedExamples<'_>,
    convention: Convention,
    proposed: &[usize],
    run: &Run,
) -> Result<Option<Vec<Multiplier>>, Interrupt> {
    let whole = |&index: &usize| {
        let mut vector = vec![BigInt::zero(); examples.coordinates()];
        let column = examples.column(index);
        column.add_to(&mut vector, &BigInt::one());
        vector
    };
    // Any set of more vectors than coordinates is linearly dependent.
    let most = proposed.len().min(examples.coordinates() + 1);
    let columns: Vec<Vec<BigInt>> = proposed[..most].iter().map(whole).collect();
    let Some(mut weights) = dependency(&columns, run)? else {
        return Ok(None);
    };
    reduce(&mut weights);
    let pairs = proposed.iter().zip(weights);
    let mut multipliers: Vec<Multiplier> = pairs
        .map(|(&example, weight)| Multiplier { example, weight })
        .filter(|multiplier| !multiplier.weight.is_zero())
        .collect();
    multipliers.sort_by_key(|multiplier| multiplier.example);
    let excluded = exclude_separators(examples, &multipliers, convention, run)?;
    Ok(excluded.then_some(multipliers))
}

/// Runs the exact simplex, starting with the examples `proposed`. Each round adds examples that the
/// hyperplane misclassifies.
pub(super) fn settle(
    examples: &SignedExamples<'_>,
    convention: Convention,
    proposed: Vec<usize>,
    run: &Run,
) -> Result<Verdict, Interrupt> {
    let coordinates = examples.coordinates();
    let mut simplex = ExactSimplex::new(coordinates);
    let mut added = proposed;
    loop {
        for &example in &added {
            let mut values = Vec::new();
            examples.values(example, &mut values);
            let scale = libm::exp2(f64::from(examples.shift().min(1000)));
            values.iter_mut().for_each(|value| *value *= scale);
            simplex.push(SimplexColumn {
                example,
                column: examples.column(example),
                values,
                is_strict: is_strict(examples, convention, example),
            });
        }
        match simplex.solve(run)? {
            Solution::Multipliers(multipliers) => {
                let excluded = exclude_separators(examples, &multipliers, convention, run)?;
                assert!(excluded, "multipliers of an exact basis");
                return Ok(Verdict::NotSeparable(multipliers));
            }
            Solution::Separator(weights) => {
                added = wrong_examples(examples, &weights, convention, 2 * coordinates, run)?;
                if added.is_empty() {
                    return Ok(separable(examples, weights));
                }
            }
        }
    }
}
