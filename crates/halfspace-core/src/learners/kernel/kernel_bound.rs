//! Novikoff's bound on the mistakes of the kernel perceptron, in the space of all conjunctions: R^2 |u|^2 / xi^2, where
//! R^2 = max K(x, x), |u|^2 is the sum of L(v) score(v) over the support vectors v of u with labels L(v), and xi = min
//! y score(x). All numbers are exact integers. With thickness tau, the bound is on the updates, and R^2 grows by 2 tau.
//!
//! Any strict separator bounds the mistakes of any run from an empty support. If a positive example lies on the final
//! hyperplane, xi = 0. A copy of the hypothesis then learns on, also from scores of 0, for at most 2 p + 10 passes if
//! the run made p, as for linear weights. The counts of the run do not include these passes.

use num_bigint::{BigInt, BigUint};

use crate::bits::BLOCK_ROWS;

use crate::learners::arithmetic::unit::Unit;
use crate::learners::engine::bound::{Bound, Counted, ratio};
use crate::learners::engine::run::{Counts, Interrupt, Run};
use crate::learners::kernel::kernel_expansion::KernelExpansion;
use crate::learners::kernel::kernel_scores::KernelScores;
use crate::learners::sample::block::Block;
use crate::learners::sample::source::Stream;

const THEOREM: &str = "Novikoff";

/// The bound for the mistakes in `counts`, or for its updates with thickness, on the examples of `stream`, which
/// `expansion` classifies correctly.
///
/// # Errors
/// The interrupt that stopped the passes over the examples.
pub fn bound(
    expansion: &KernelExpansion,
    thickness: Option<Unit>,
    stream: &mut dyn Stream,
    counts: &Counts,
    run: &Run,
) -> Result<Bound, Interrupt> {
    let mut separator = KernelSeparator {
        scores: KernelScores::new(),
        expansion: expansion.clone(),
        run,
    };
    let passes_max = 2 * counts.passes + 10;
    for passes in 0..=passes_max {
        let extremes = match separator.pass(stream)? {
            PassResult::Strict(extremes) => extremes,
            PassResult::Taught => continue,
            PassResult::Full => break,
        };
        let counted = Counted::of(thickness.is_some());
        let tau = thickness.map(|tau| tau.over(Unit::ONE));
        let (tau, below) = tau.unwrap_or((BigUint::ZERO, 1_u32.into()));
        let lengths = extremes.radius_squared * &below + tau * 2_u32;
        let numerator = separator.norm_squared()? * lengths;
        let denominator = extremes.margin.magnitude().pow(2) * below;
        let (mistakes_at_most, log2_mistakes_at_most) = ratio(&numerator, &denominator);
        let detail = format!(
            "an example lies on the final hyperplane (xi = 0); the bound uses a strict separator, \
             found in {passes} further passes"
        );
        return Ok(counted.noted(Bound {
            theorem: THEOREM,
            mistakes_at_most,
            log2_mistakes_at_most,
            respected: Some(denominator * counted.number(counts) <= numerator),
            detail: (passes > 0).then_some(detail),
        }));
    }
    let detail = format!(
        "an example lies on the hyperplane (xi = 0), and {passes_max} further passes found no \
         strict separator"
    );
    Ok(Bound {
        theorem: THEOREM,
        mistakes_at_most: None,
        log2_mistakes_at_most: None,
        respected: None,
        detail: Some(detail),
    })
}

/// The result of a pass over the sample.
enum PassResult {
    /// Every example lies strictly on its side.
    Strict(KernelExtremes),
    /// Some examples did not, and the separator learnt from them.
    Taught,
    /// Some examples did not, and the support is full.
    Full,
}

/// The largest norm and the smallest margin of a sample under a separator.
struct KernelExtremes {
    /// R^2.
    radius_squared: BigUint,
    /// xi.
    margin: BigInt,
}

/// A hypothesis that learns until it separates strictly.
struct KernelSeparator<'a> {
    expansion: KernelExpansion,
    scores: KernelScores,
    run: &'a Run,
}

impl KernelSeparator<'_> {
    fn pass(&mut self, stream: &mut dyn Stream) -> Result<PassResult, Interrupt> {
        let mut words = Vec::new();
        let (mut radius_squared, mut least) = (BigUint::ZERO, None);
        let mut is_clean = true;
        stream.rewind();
        loop {
            let stop = &self.run.stop;
            if let Some(shared) = stream.shared() {
                self.scores.prepare_ahead(&self.expansion, &shared, stop);
            }
            let Some(block) = stream.next_block()? else {
                break;
            };
            self.prepare(&block);
            for row in 0..block.rows() {
                let margin = self.margin(&block, row)?;
                let example = self.expansion.example(&block, row, &mut words);
                radius_squared = radius_squared.max(self.expansion.kernel().of_itself(example));
                if margin <= BigInt::ZERO {
                    is_clean = false;
                    let pushed = self.expansion.push(example, block.is_positive(row));
                    if pushed.is_err() {
                        return Ok(PassResult::Full);
                    }
                }
                least = Some(least.map_or(margin.clone(), |least: BigInt| least.min(margin)));
            }
        }
        Ok(match least {
            Some(margin) if is_clean => PassResult::Strict(KernelExtremes {
                radius_squared,
                margin,
            }),
            _ => PassResult::Taught,
        })
    }

    /// |u|^2.
    fn norm_squared(&mut self) -> Result<BigUint, Interrupt> {
        let support = self.expansion.clone();
        let mut sum = BigInt::ZERO;
        for index in 0..support.len().div_ceil(BLOCK_ROWS) {
            let block = support.block(index);
            self.prepare(&block);
            for row in 0..block.rows() {
                sum += self.margin(&block, row)?;
            }
        }
        // The sum is a squared norm, so the magnitude is the sum itself.
        Ok(sum.into_parts().1)
    }

    /// Computes the scores of a block with helpers.
    fn prepare(&mut self, block: &Block<'_>) {
        let (rows, stop) = (0..block.rows(), &self.run.stop);
        self.scores.prepare_rows(&self.expansion, block, rows, stop);
    }

    /// y score(x) of a row.
    fn margin(&mut self, block: &Block<'_>, row: usize) -> Result<BigInt, Interrupt> {
        let stop = &self.run.stop;
        let score = self.scores.score(&self.expansion, block, row, stop);
        match (score, stop.raised()) {
            (Some(score), None) => {
                let score = score.to_big();
                Ok(if block.is_positive(row) {
                    score
                } else {
                    -score
                })
            }
            (_, interrupt) => Err(interrupt.unwrap_or(Interrupt::Suspended)),
        }
    }
}
