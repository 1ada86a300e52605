//! Novikoff's bound in the space of all conjunctions: R^2 |u|^2 / xi^2 with R^2 = max K(x, x),
//! |u|^2 the sum of L(v) score(v) over the support vectors v of u, and xi = min y score(x), all in
//! exact integers.
//!
//! Any strict separator bounds any run. Where a positive example lies on the final hyperplane
//! (xi = 0) a copy is taught on, also from scores of 0, for a few more passes, which the run's
//! counts do not include; as for linear weights.

use num_bigint::{BigInt, BigUint};

use super::block::{Block, BlockFeatures};
use super::bound::{Bound, ratio};
use super::kernel_expansion::KernelExpansion;
use super::kernel_scores::KernelScores;
use super::run::{Counts, Interrupt, Run};
use super::source::Stream;

const THEOREM: &str = "Novikoff";

/// The bound for the mistakes of `counts` on the examples of `stream`, all of which `expansion`
/// gets right.
///
/// # Errors
/// The interrupt that cut the passes over the examples short.
pub fn bound(
    expansion: &KernelExpansion,
    stream: &mut dyn Stream,
    counts: &Counts,
    run: &Run,
) -> Result<Bound, Interrupt> {
    let mut separator = Separator {
        scores: KernelScores::new(expansion),
        expansion: expansion.clone(),
        run,
    };
    let passes_max = 2 * counts.passes + 10;
    for passes in 0..=passes_max {
        let extremes = match separator.pass(stream)? {
            Pass::Strict(extremes) => extremes,
            Pass::Taught => continue,
            Pass::Full => break,
        };
        let numerator = separator.norm_squared()? * extremes.radius_squared;
        let denominator = extremes.margin.magnitude().pow(2);
        let (mistakes_at_most, log2_mistakes_at_most) = ratio(&numerator, &denominator);
        let detail = format!(
            "an example lies on the final hyperplane (xi = 0); the bound is that of a strict \
             separator, found from there in {passes} further passes"
        );
        return Ok(Bound {
            theorem: THEOREM,
            mistakes_at_most,
            log2_mistakes_at_most,
            respected: Some(denominator * counts.mistakes <= numerator),
            detail: (passes > 0).then_some(detail),
        });
    }
    let detail = format!(
        "an example lies on the hyperplane (xi = 0), and no strict separator was found in \
         {passes_max} further passes"
    );
    Ok(Bound {
        theorem: THEOREM,
        mistakes_at_most: None,
        log2_mistakes_at_most: None,
        respected: None,
        detail: Some(detail),
    })
}

/// What a pass over the sample came to.
enum Pass {
    /// Every example lies strictly on its side.
    Strict(Extremes),
    /// Some did not, and were learnt.
    Taught,
    /// Some did not, and there is no room to learn them.
    Full,
}

/// The extremes of a sample under a separator.
struct Extremes {
    /// R^2.
    radius_squared: BigUint,
    /// xi.
    margin: BigInt,
}

/// A hypothesis on its way to separate strictly.
struct Separator<'a> {
    expansion: KernelExpansion,
    scores: KernelScores,
    run: &'a Run,
}

impl Separator<'_> {
    fn pass(&mut self, stream: &mut dyn Stream) -> Result<Pass, Interrupt> {
        let mut example = vec![0; self.expansion.support().words_per_row()];
        let (mut radius_squared, mut least) = (BigUint::ZERO, None);
        let mut is_clean = true;
        stream.rewind();
        while let Some(block) = stream.next_block()? {
            for row in 0..block.rows() {
                let margin = self.margin(&block, row)?;
                block.bits().copy_row(row, &mut example);
                if margin <= BigInt::ZERO {
                    is_clean = false;
                    let pushed = self.expansion.push(&example, block.is_positive(row));
                    if pushed.is_err() {
                        return Ok(Pass::Full);
                    }
                }
                radius_squared = radius_squared.max(self.expansion.kernel().of_itself(&example));
                least = Some(least.map_or(margin.clone(), |least: BigInt| least.min(margin)));
            }
        }
        Ok(match least {
            Some(margin) if is_clean => Pass::Strict(Extremes {
                radius_squared,
                margin,
            }),
            _ => Pass::Taught,
        })
    }

    /// |u|^2.
    fn norm_squared(&mut self) -> Result<BigUint, Interrupt> {
        let support = self.expansion.support().clone();
        let mut sum = BigInt::ZERO;
        for (index, bits) in support.blocks().enumerate() {
            let block = Block {
                features: BlockFeatures::Boolean(bits),
                positives: self.expansion.labels(index),
                reflected: 0,
            };
            for row in 0..bits.rows() {
                sum += self.margin(&block, row)?;
            }
        }
        // A square of a norm: the sign is left behind.
        Ok(sum.into_parts().1)
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
