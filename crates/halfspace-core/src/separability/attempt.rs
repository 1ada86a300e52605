//! The first and cheapest attempt at a decision: a bounded run of the perceptron.
//!
//! It also updates on products of 0 where the convention makes them mistakes. A pass without mistakes yields a
//! separator. If the weights after a pass equal those after a certain earlier pass, the updates in between sum to 0, so
//! their counts are multipliers that exclude every separator. The caller must check both kinds of result. Without
//! either, the attempt reports the examples with the most updates.

use num_bigint::BigInt;

use crate::learners::engine::run::{Interrupt, Run};
use crate::learners::linear::linear_weights::{
    IntegerWeights, LinearScore, LinearScratch, LinearWeights, RealWeights,
};
use crate::learners::sample::block::Block;
use crate::learners::sample::data::DenseFeatures;
use crate::learners::sample::source::{Presentation, Presented, Stream};

use super::alternative::{Convention, Multiplier};
use super::examples::{SignedExamples, look, whole, whole_shift};

/// Result of an attempt.
pub enum AttemptOutcome {
    /// The weights of a pass without mistakes, the bias last.
    Clean(Vec<BigInt>),
    /// The counts of the updates between two passes with the same weights.
    Cycle(Vec<Multiplier>),
    /// The examples with updates, the most frequent first.
    Unfinished(Vec<usize>),
}

/// Runs up to `passes_max` passes in the order of the data, from w = 0.
///
/// # Errors
/// Returns the interrupt if the run stops.
pub fn attempt(
    examples: &SignedExamples<'_>,
    convention: Convention,
    passes_max: u64,
    run: &Run,
) -> Result<AttemptOutcome, Interrupt> {
    let data = examples.data();
    let mut weights = first_weights(examples);
    let mut scratch = weights.scratch();
    let mut stream = Presented::new(data, Presentation::Labelled);
    // Brent's cycle detection keeps the weights of passes 1, 2, 4, 8, ...
    let mut kept = weights.clone();
    let mut updates_since = vec![0_u32; examples.count()];
    for pass in 1..=passes_max {
        let mut is_clean = true;
        let mut first = 0;
        stream.rewind();
        while let Some(block) = stream.next_block()? {
            look(run)?;
            for row in 0..block.rows() {
                if is_right(&weights, &block, row, convention, &mut scratch) {
                    continue;
                }
                is_clean = false;
                updates_since[first + row] += 1;
                let amount = if block.is_positive(row) { 1.0 } else { -1.0 };
                if !weights.add(&block, row, (amount, 1.0), &mut scratch) {
                    return Ok(AttemptOutcome::Unfinished(hardest(&updates_since)));
                }
            }
            first += block.rows();
        }
        if is_clean {
            return Ok(AttemptOutcome::Clean(whole_weights(&weights)));
        }
        if weights == kept {
            return Ok(AttemptOutcome::Cycle(multipliers(&updates_since)));
        }
        if pass.is_power_of_two() && pass < passes_max {
            kept = weights.clone();
            updates_since.fill(0);
        }
    }
    Ok(AttemptOutcome::Unfinished(hardest(&updates_since)))
}

fn first_weights(examples: &SignedExamples<'_>) -> LinearWeights {
    let n = examples.data().n();
    match examples.features() {
        DenseFeatures::Boolean(_) => {
            let bias = examples.has_bias().then_some(0);
            LinearWeights::Integer(IntegerWeights::new(examples.reading(), vec![0; n], bias))
        }
        DenseFeatures::Real(_) => {
            let bias = examples.has_bias().then_some(0.0);
            LinearWeights::Real(RealWeights::new(None, vec![0.0; n], bias))
        }
    }
}

fn is_right(
    weights: &LinearWeights,
    block: &Block<'_>,
    row: usize,
    convention: Convention,
    scratch: &mut LinearScratch,
) -> bool {
    let score = match weights.score(block, row, scratch) {
        LinearScore::Integer(score) => score as f64,
        LinearScore::Real(score) => score,
    };
    match block.is_positive(row) {
        true if convention.is_strict_on(false) => score > 0.0,
        true => score >= 0.0,
        false => score < 0.0,
    }
}

/// Returns integer weights unchanged, and real weights times the power of two that makes them integers.
fn whole_weights(weights: &LinearWeights) -> Vec<BigInt> {
    match weights {
        LinearWeights::Integer(weights) => {
            let all = weights.weights().into_iter().chain(weights.bias());
            all.map(BigInt::from).collect()
        }
        LinearWeights::Real(weights) => {
            let all = weights.weights().iter().copied().chain(weights.bias());
            let all: Vec<f64> = all.collect();
            let shift = whole_shift(&all);
            all.iter().map(|&weight| whole(weight, shift)).collect()
        }
    }
}

fn multipliers(updates: &[u32]) -> Vec<Multiplier> {
    let updated = updates.iter().enumerate().filter(|(_, count)| **count > 0);
    let multiplier = |(example, &count): (usize, &u32)| Multiplier {
        example,
        weight: BigInt::from(count),
    };
    updated.map(multiplier).collect()
}

fn hardest(updates: &[u32]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..updates.len()).filter(|&i| updates[i] > 0).collect();
    order.sort_by_key(|&index| std::cmp::Reverse(updates[index]));
    order
}
