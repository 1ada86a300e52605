//! Winnow's weights rounded to 16 bits. Sums of them confirm most labels, many times as fast as sums in 64 bits.
//!
//! Each power is rounded down to a multiple of `2^shift` units, so the true sum exceeds the sum of the rounded powers
//! by less than `2^shift` units per active feature. A power that reaches the threshold alone is capped there.

use std::ops::Range;

use crate::bits::{BitBlock, SmallBounds, SmallColumn};
use crate::learners::arithmetic::power_scale::{Losses, PowerScale};

/// Bits of the threshold in the sketch, so that a capped power fits 16 bits.
const THRESHOLD_BITS: u32 = 14;

/// One rounded power per feature.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sketch {
    column: SmallColumn,
    shift: u32,
    /// The least sum that certainly reaches the threshold.
    least: i64,
}

impl Sketch {
    /// The sketch of powers in units of `scale`. None if there are too many.
    pub(super) fn new(units: &[i64], scale: &PowerScale) -> Option<Self> {
        let up = scale.threshold();
        let bits = u64::BITS - up.unsigned_abs().leading_zeros();
        let shift = bits.saturating_sub(THRESHOLD_BITS);
        let mut sketch = Self {
            column: SmallColumn::new(units.len())?,
            shift,
            least: ((up - 1) >> shift) + 1,
        };
        for (feature, &units) in units.iter().enumerate() {
            sketch.set(feature, units);
        }
        Some(sketch)
    }

    /// The sketch with the further features `new`, each of so many units. None if there are too many.
    pub(super) fn grown(self, new: Range<usize>, units: i64) -> Option<Self> {
        let column = self.column.grown(new.end)?;
        let mut sketch = Self { column, ..self };
        new.for_each(|feature| sketch.set(feature, units));
        Some(sketch)
    }

    /// Replaces the power of a feature.
    #[inline]
    pub(super) fn set(&mut self, feature: usize, units: i64) {
        // A capped power alone reaches the threshold, so a sum below the threshold contains none.
        let power = (units >> self.shift).min(self.least);
        self.column.set(feature, power as i16);
    }

    /// The first of `rows` whose label in `positives` the sketch does not confirm. The powers have these losses in
    /// units of `scale`.
    pub(super) fn first_open(
        &self,
        bits: BitBlock<'_>,
        positives: u64,
        rows: Range<usize>,
        scale: &PowerScale,
        losses: Losses,
    ) -> Option<usize> {
        let bounds = SmallBounds {
            positive: self.least,
            negative: scale.most_below(losses) >> self.shift,
        };
        self.column.first_open(bits, rows, positives, bounds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::{BitMatrix, last_word_mask, words_for};
    use crate::learners::arithmetic::decimal::Decimal;
    use crate::learners::arithmetic::power_scale::Loss;
    use crate::learners::arithmetic::power_sum::Base;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sketch_confirms_only_labels_of_the_exact_sums(
            n in 1_usize..400, seed in prop::collection::vec((any::<u64>(), -80_i32..20), 400),
            theta in 1_u32..3_000, rounded in 0_usize..9,
        ) {
            let theta = Decimal::parse(&theta.to_string()).expect("plain");
            let scale = PowerScale::new(Base::new(1.5).expect("a base"), &theta, n);
            let units: Vec<i64> = seed[..n].iter().map(|(_, e)| scale.power(*e).units).collect();
            let mut row: Vec<u64> = seed[..words_for(n)].iter().map(|(word, _)| *word).collect();
            *row.last_mut().expect("a word") &= last_word_mask(n);
            let sketch = Sketch::new(&units, &scale).expect("few features");
            let mut matrix = BitMatrix::new(n);
            matrix.push_row(&row);
            let sum = crate::bits::selected_sum(&units, &row);
            let losses = Losses::default().with(Loss::Rounded, rounded);
            for positives in [0, 1] {
                let open = sketch.first_open(matrix.block(0), positives, 0..1, &scale, losses);
                if open.is_none() {
                    prop_assert_eq!(Some(positives == 1), scale.bracket(sum, losses).reaches(scale.threshold()));
                }
            }
        }
    }
}
