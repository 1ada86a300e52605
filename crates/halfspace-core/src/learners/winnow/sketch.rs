//! The powers of Winnow in 16 bits. A sum of them decides all but close comparisons, eight times as fast as a sum
//! in 64 bits.
//!
//! Each power is rounded down to a multiple of `2^shift` units. The true sum therefore lies between the sum of the
//! rounded powers and that sum plus `2^shift` units per active feature.

use crate::bits::SmallColumn;
use crate::learners::arithmetic::power_scale::PowerScale;

/// Bits of the threshold in the sketch, so that a capped power fits 16 bits.
const THRESHOLD_BITS: u32 = 14;

/// One rounded power per feature.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sketch {
    column: SmallColumn,
    shift: u32,
    /// The least sum in units that reaches the threshold for certain.
    up: i64,
}

impl Sketch {
    /// The sketch of powers in units of `scale`. None if there are too many.
    pub(super) fn new(units: &[i64], scale: &PowerScale) -> Option<Self> {
        let (_, up) = scale.threshold();
        let bits = u64::BITS - up.unsigned_abs().leading_zeros();
        let mut sketch = Self {
            column: SmallColumn::new(units.len())?,
            shift: bits.saturating_sub(THRESHOLD_BITS),
            up,
        };
        for (feature, &units) in units.iter().enumerate() {
            sketch.set(feature, units);
        }
        Some(sketch)
    }

    /// Replaces the power of a feature.
    pub(super) fn set(&mut self, feature: usize, units: i64) {
        // A capped power alone exceeds the threshold, so a sum below the threshold contains none.
        let cap = (self.up >> self.shift) + 1;
        self.column
            .set(feature, (units >> self.shift).min(cap) as i16);
    }

    /// Whether the powers of the active features of a row reach the threshold, if the sketch decides that.
    pub(super) fn reaches(&self, row: &[u64], scale: &PowerScale, inexact: usize) -> Option<bool> {
        let sum = self.column.selected_sum(row);
        if sum << self.shift >= self.up {
            return Some(true);
        }
        let active: i64 = row.iter().map(|word| i64::from(word.count_ones())).sum();
        let most = (sum + active) << self.shift;
        scale.reaches(most, inexact).filter(|reaches| !reaches)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::{last_word_mask, words_for};
    use crate::learners::arithmetic::decimal::Decimal;
    use crate::learners::arithmetic::power_sum::Base;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_decision_of_the_sketch_is_that_of_the_units(
            n in 1_usize..400, seed in prop::collection::vec((any::<u64>(), -80_i32..20), 400),
            theta in 1_u32..3_000, inexact in 0_usize..9,
        ) {
            let theta = Decimal::parse(&theta.to_string()).expect("plain");
            let scale = PowerScale::new(Base::new(1.5).expect("a base"), &theta, n);
            let units: Vec<i64> = seed[..n].iter().map(|(_, e)| scale.power(*e).units).collect();
            let mut row: Vec<u64> = seed[..words_for(n)].iter().map(|(word, _)| *word).collect();
            *row.last_mut().expect("a word") &= last_word_mask(n);
            let sketch = Sketch::new(&units, &scale).expect("few features");
            if let Some(reaches) = sketch.reaches(&row, &scale, inexact) {
                let sum = crate::bits::selected_sum(&units, &row);
                prop_assert_eq!(Some(reaches), scale.reaches(sum, inexact));
            }
        }
    }
}
