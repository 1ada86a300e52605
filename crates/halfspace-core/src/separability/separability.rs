//! Whether a hyperplane separates the examples, with a proof either way.
//!
//! The seeds end on "we cannot tell slow from not separable". Here the question is decided:
//!
//! 1. contradictory examples, found by hashing (`duplicates`);
//! 2. a bounded run of the perceptron: clean, or in a cycle (`attempt`);
//! 3. a quadratic program on a growing set of examples, in f64 (`nearest_point`): its
//!    hyperplane, rounded to whole numbers, may be right on all, or its multipliers say which
//!    examples may exclude every hyperplane;
//! 4. the coefficients of a dependency among these, exactly (`lifting`), if none is
//!    below 0;
//! 5. else the simplex method in exact integers (`simplex`), with every example that its
//!    hyperplanes get wrong added, until one is right on all, or multipliers are found.
//!
//! What any step proposes is checked on the sample itself in whole numbers of unlimited size
//! (`alternative`); only what passed is reported. Step 5 always comes to an end, so
//! `Undecided` means that a limit came first: time, a cancel, or [`SOLVER_COORDINATES_MAX`].
//!
//! With a bias the two conventions have the same answer (move the hyperplane a little towards the
//! negative examples); without, they differ. Where no example is negative, w = 0 is a separator
//! in the service's convention, and is what is answered: it says nothing of the data.

use num_bigint::BigInt;
use num_traits::{One, Zero};

use crate::learners::data::Data;
use crate::learners::examples::{Examples, LabelKind};
use crate::learners::linear::Reading;
use crate::learners::run::{Interrupt, Run};

pub use super::alternative::{Convention, Multiplier};
use super::alternative::{exclude_separators, wrong_examples};
use super::attempt::{Ending, attempt};
use super::duplicates::contradiction;
use super::examples::{SignedExamples, look};
use super::lifting::dependency;
use super::nearest_point::{nearest_point, vertex};
use super::rounding::{reduce, roundings};
use super::simplex::{Entry, ExactSimplex, Solution};
use super::undecided::Undecided;

/// Coordinates, the bias included, up to which the solver and the exact methods are asked: about a
/// second then passes between two looks at the stop flag, in an iteration of the solver, and an
/// exact inverse has the square of them in whole numbers of thousands of bits. Wider samples are
/// the perceptron's alone.
pub const SOLVER_COORDINATES_MAX: usize = 512;

/// Examples that the perceptron may read before the solver is asked, beyond its first passes.
const ATTEMPT_EXAMPLES: u64 = 1 << 24;

/// Passes of the perceptron on samples that are too wide for the solver.
const WIDE_PASSES: u64 = 10_000;

/// Rounds of the quadratic program.
const ROUNDS_MAX: usize = 40;

/// Examples in the quadratic program.
const PROGRAM_EXAMPLES_MAX: usize = 4096;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// Whether the hyperplane may miss the origin.
    pub bias: bool,
    /// How Boolean examples are read; real ones are as they are.
    pub reading: Reading,
    /// What "on its side" means.
    pub convention: Convention,
}

/// The answer, proved.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// There is a separator: this one.
    Separable(Separator),
    /// There is none: sum lambda_i y_i x_i = 0 (with y_i for the bias), lambda > 0 as given, by
    /// example; in the service's convention one multiplier at least is on a negative example.
    NotSeparable(Vec<Multiplier>),
    /// A limit came first.
    Undecided(Undecided),
}

/// A hyperplane in whole numbers, right on every example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Separator {
    /// One weight a feature.
    pub weights: Vec<BigInt>,
    /// The bias, if one was asked for.
    pub bias: Option<BigInt>,
}

/// Why a question about a sample makes no sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SampleError {
    /// Nothing to separate.
    #[error("unlabelled examples: labels or half-space examples are needed")]
    Unlabelled,
}

/// Checks what can be known before [`decide`].
///
/// # Errors
/// What is wrong with the sample.
pub fn check(examples: &dyn Examples) -> Result<(), SampleError> {
    match examples.shape().labels {
        LabelKind::Unlabelled => Err(SampleError::Unlabelled),
        LabelKind::HalfSpace | LabelKind::Labelled => Ok(()),
    }
}

/// Decides whether a hyperplane separates the examples. Half-space examples are all positive.
///
/// # Errors
/// [`Interrupt::Suspended`] when the run was given up.
///
/// # Panics
/// When [`check`] would refuse the sample.
pub fn decide(data: &Data, question: &Question, run: &Run) -> Result<Verdict, Interrupt> {
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
        Ending::Clean(weights) => {
            let wrong = wrong_examples(examples, &weights, convention, 2 * coordinates, run)?;
            if wrong.is_empty() {
                return Ok(separable(examples, weights));
            }
            wrong
        }
        Ending::Cycle(multipliers) => {
            if exclude_separators(examples, &multipliers, convention, run)? {
                return Ok(Verdict::NotSeparable(multipliers));
            }
            multipliers
                .iter()
                .map(|multiplier| multiplier.example)
                .collect()
        }
        Ending::Unfinished(hardest) => hardest,
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

/// What the quadratic program came to.
pub(super) enum Proposed {
    /// Right on every example, checked.
    Separator(Vec<BigInt>),
    /// Examples that may exclude every separator.
    Examples(Vec<usize>),
}

/// The quadratic program on `hardest`, with the examples added that its hyperplanes get wrong.
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
        // They are new: the weights are right on all that were there.
        working.extend(wrong);
        if working.len() > PROGRAM_EXAMPLES_MAX {
            break;
        }
    }
    Ok(Proposed::Examples(working))
}

/// Fewer of the examples that seem to exclude every separator, where fewer may do: the exact
/// simplex has the less to try.
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

/// Vectors in f64, each with whether a.w must be above 0.
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

/// The examples whose multipliers are not nearly 0, the largest first.
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

/// The multipliers that the first dependency among `proposed` gives, if they exclude every
/// separator.
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
    // One more than coordinates are dependent in any case.
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

/// The exact simplex on `proposed`, with the examples added that its hyperplanes get wrong.
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
            simplex.push(Entry {
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
