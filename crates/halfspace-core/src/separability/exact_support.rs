//! Finds the examples at the maximum margin, from the exact optimum.

use std::cmp::Ordering;

use num_bigint::BigInt;
use num_traits::Zero;

use crate::learners::engine::run::{Interrupt, Run};

use super::exact_nearest_point::{Nearness, nearest_hull_point};
use super::examples::SignedExamples;
use super::proved_margin::{Margin, Norm};

/// Largest number of examples among which the optimum is sought exactly.
const CANDIDATES_MAX: usize = 4096;

/// An example is near the hyperplane if it is farther than the nearest one by at most one part in this number.
const NEAR_PARTS: u32 = 64;

/// Rounds in which examples join those near the hyperplane.
const ROUNDS_MAX: usize = 8;

/// The examples at the largest margin, from the exact optimum, or `None` if a limit came first.
///
/// The weights in f64 may miss the optimum by the root of their gap, so an example without a multiplier may seem
/// farther than the others. We therefore find the exact optimum of the examples near the hyperplane. It is the
/// optimum of all examples if none is nearer to it.
///
/// # Errors
/// Returns the interrupt if the run stops.
pub fn exact_support(
    margin: &Margin,
    examples: &SignedExamples<'_>,
    norm: Norm,
    run: &Run,
) -> Result<Option<Vec<usize>>, Interrupt> {
    let mut candidates = margin.nearest(examples, NEAR_PARTS, run)?;
    for _ in 0..ROUNDS_MAX {
        if candidates.len() > CANDIDATES_MAX {
            return Ok(None);
        }
        let data = examples.data().select(&candidates);
        let near = SignedExamples::new(&data, examples.reading(), examples.has_bias(), run)?;
        let found = nearest_hull_point(&near, margin.whole(), norm, Nearness::Exact, run)?;
        if !found.is_nearest {
            return Ok(None);
        }
        let mut weights = found.direction;
        weights.resize(examples.coordinates(), BigInt::zero());
        let [of_near, of_all] = [&near, examples].map(|part| tight(part, &weights, norm, run));
        let (of_near, of_all) = (of_near?, of_all?);
        let scaled = |side: &Tight, shift: u32| side.least.clone().map(|least| least << shift);
        let is_same = of_near.iter().zip(&of_all).all(|(near_side, side)| {
            scaled(near_side, examples.shift()) == scaled(side, near.shift())
        });
        let mut at_margin: Vec<usize> = of_all.into_iter().flat_map(|side| side.examples).collect();
        at_margin.sort_unstable();
        if is_same {
            return Ok(Some(at_margin));
        }
        candidates.extend(at_margin);
        candidates.sort_unstable();
        candidates.dedup();
    }
    Ok(None)
}

/// The examples with the least product on one side of the hyperplane.
#[derive(Default)]
struct Tight {
    least: Option<BigInt>,
    examples: Vec<usize>,
}

/// Finds the examples with the least product: of each label if the norm excludes the bias, which then lies in the
/// middle between both, and of all together otherwise.
fn tight(
    examples: &SignedExamples<'_>,
    weights: &[BigInt],
    norm: Norm,
    run: &Run,
) -> Result<[Tight; 2], Interrupt> {
    let mut sides = [Tight::default(), Tight::default()];
    examples.for_each_product(weights, run, |index, product| {
        let is_second = norm == Norm::WithoutBias && examples.is_negative(index);
        let side = &mut sides[usize::from(is_second)];
        match side.least.as_ref().map(|least| product.cmp(least)) {
            Some(Ordering::Greater) => {}
            Some(Ordering::Equal) => side.examples.push(index),
            Some(Ordering::Less) | None => {
                side.least = Some(product);
                side.examples = vec![index];
            }
        }
    })?;
    Ok(sides)
}
