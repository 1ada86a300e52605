//! The weights of Winnow: powers of one base with whole exponents, and exact decisions.
//!
//! Feature i has the weight alpha^e_i. Each exponent is stored together with its power in fixed point
//! ([`crate::learners::arithmetic::power_scale`]). Sums of these powers settle most comparisons with theta, and most
//! between several hypotheses. Sums in integers of unlimited size ([`crate::learners::arithmetic::power_sum`]) decide
//! the closest ones and give every score in an answer.

use std::ops::Range;

use crate::bits::{self, Excerpt};
use crate::learners::arithmetic::bracket::Bracket;
use crate::learners::arithmetic::decimal::Decimal;
use crate::learners::arithmetic::power_scale::{Losses, PowerScale, PowerTable, Rounded};
use crate::learners::arithmetic::power_sum::{Base, PowerSum, terms_of};
use crate::learners::decision::Decision;
use crate::learners::engine::run::StopFlag;
use crate::learners::sample::block::{Block, BlockFeatures, RowBits};
use crate::learners::winnow::sketch::Sketch;

/// Features above which each row needs a look at the stop flag.
const LONG_ROW: usize = 1 << 18;

/// The weights of Winnow, with the threshold for their sum.
#[derive(Clone, Debug, PartialEq)]
pub struct WinnowWeights {
    base: Base,
    theta: Level,
    n: usize,
    exponents: Vec<i32>,
    /// The powers in fixed point, in the order of the exponents. A pure function of the exponents.
    units: Vec<i64>,
    complement_units: Option<ComplementUnits>,
    /// The powers in 16 bits. None with complements.
    sketch: Option<Sketch>,
    /// What the powers lost in fixed point.
    losses: Losses,
    /// The power 1 in fixed point: the weight of a feature that is not known, unless the weights are closed.
    first: Rounded,
    /// Whether a feature that is not known has no weight.
    is_closed: bool,
    scale: PowerScale,
}

/// A number that sums of weights are compared with.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    exact: Decimal,
    /// Rounded up to the scale of the weights.
    units: i64,
}

/// The powers of complements in fixed point. A difference is the power of a feature minus that of its complement, so
/// one selected sum of differences plus the total gives the sum over features and complements.
#[derive(Clone, Debug, PartialEq)]
struct ComplementUnits {
    differences: Vec<i64>,
    total: i64,
}

impl WinnowWeights {
    /// Weights for `n` features. If complements are features too, there are `2 n` weights: first all features, then
    /// all complements.
    ///
    /// # Panics
    /// Panics if the number of exponents is neither `n` nor `2 n`, if an exponent exceeds [`Base::exponent_max`] in
    /// magnitude, or if theta is 0.
    pub fn new(base: Base, theta: Decimal, n: usize, exponents: Vec<i32>) -> Self {
        assert!(exponents.len() == n || exponents.len() == 2 * n);
        assert!(!theta.is_zero());
        let scale = PowerScale::new(base, &theta, exponents.len());
        let mut table = PowerTable::new(scale.clone());
        let first = table.power(0).expect("an exponent within its range");
        let power = |&exponent| table.power(exponent).expect("an exponent within its range");
        let (mut units, mut losses) = (Vec::with_capacity(exponents.len()), Losses::default());
        for Rounded { units: own, loss } in exponents.iter().map(power) {
            units.push(own);
            losses = losses.with(loss, 1);
        }
        let sketch = match exponents.len() == n {
            true => Sketch::new(&units, &scale),
            false => None,
        };
        let mut weights = Self {
            sketch,
            base,
            theta: Level {
                exact: theta,
                units: scale.threshold(),
            },
            n,
            units,
            complement_units: None,
            exponents,
            losses,
            first,
            is_closed: false,
            scale,
        };
        weights.complement_units = weights.differences();
        weights
    }

    fn differences(&self) -> Option<ComplementUnits> {
        if !self.has_complements() {
            return None;
        }
        let (own, complements) = self.units.split_at(self.n);
        let pairs = own.iter().zip(complements);
        Some(ComplementUnits {
            differences: pairs.map(|(own, complement)| own - complement).collect(),
            total: complements.iter().sum(),
        })
    }

    /// Adds features with weights of 1 up to `n` features. Returns whether the powers have another scale now, so that
    /// the tables of [`Self::table`] must be made again.
    ///
    /// # Panics
    /// Panics if complements are features too.
    pub fn grow(&mut self, n: usize) -> bool {
        assert!(!self.has_complements(), "no complements");
        let (old, scale) = (self.n, PowerScale::new(self.base, self.theta(), n));
        self.exponents.resize(n, 0);
        if scale != self.scale {
            let exponents = std::mem::take(&mut self.exponents);
            *self = self.of_exponents(n, exponents);
            return true;
        }
        self.n = n;
        self.units.resize(n, self.first.units);
        self.losses = self.losses.with(self.first.loss, n - old);
        let sketch = self.sketch.take();
        self.sketch = sketch.and_then(|own| own.grown(old..n, self.first.units));
        false
    }

    /// The same weights among `n`, of which the others are 1: see [`bits::renumbered`].
    ///
    /// # Panics
    /// Panics if complements are features too.
    #[must_use]
    pub fn renumbered(&self, ids: &[u32], n: usize) -> Self {
        self.of_exponents(n, bits::renumbered(&self.exponents, ids, n))
    }

    /// The weights of these exponents, with the base, the threshold and the closure of these.
    #[must_use]
    pub fn of_exponents(&self, n: usize, exponents: Vec<i32>) -> Self {
        let weights = Self::new(self.base, self.theta().clone(), n, exponents);
        weights.closed(self.is_closed)
    }

    /// The same weights, of which those of unknown features are 0 if they are closed, and 1 otherwise.
    #[must_use]
    pub fn closed(self, is_closed: bool) -> Self {
        Self { is_closed, ..self }
    }

    /// Whether a feature that is not known has no weight.
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// The weights of an excerpt of the features, which decide alike on examples without others. None if complements
    /// are features too.
    pub fn excerpt(&self, excerpt: &Excerpt) -> Option<Self> {
        let exponents = excerpt.of(0, |feature| self.exponents[feature]);
        (!self.has_complements()).then(|| self.of_exponents(excerpt.n(), exponents))
    }

    /// Features per example, without complements.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Whether complements are features too.
    pub fn has_complements(&self) -> bool {
        self.exponents.len() > self.n
    }

    /// The base alpha of the weights.
    pub fn base(&self) -> Base {
        self.base
    }

    pub fn theta(&self) -> &Decimal {
        &self.theta.exact
    }

    /// Theta, for [`Self::reaches`].
    pub fn theta_level(&self) -> &Level {
        &self.theta
    }

    /// One exponent per feature. The exponents of complements follow all others.
    pub fn exponents(&self) -> &[i32] {
        &self.exponents
    }

    /// A table for [`Self::change`].
    pub fn table(&self) -> PowerTable {
        PowerTable::new(self.scale.clone())
    }

    /// Whether the weights of the active features of a row reach theta.
    pub fn is_positive(&self, row: RowBits<'_>) -> bool {
        self.reaches(row, self.bracket(row), &self.theta)
    }

    /// A level for [`Self::reaches`], below twice theta. Other weights of the same theta and size share it.
    pub fn level(&self, exact: Decimal) -> Level {
        let units = self.scale.level(&exact);
        Level { exact, units }
    }

    /// Whether the weights of the active features of a row, whose sum has these bounds, reach a level.
    pub fn reaches(&self, row: RowBits<'_>, bracket: Bracket, level: &Level) -> bool {
        let verdict = bracket.reaches(level.units);
        verdict.unwrap_or_else(|| self.sum(row).reaches(&level.exact))
    }

    /// The bounds of the sum of the weights of the active features of a row. Other weights of the same base, theta and
    /// size have bounds in the same units.
    pub fn bracket(&self, row: RowBits<'_>) -> Bracket {
        let Some(complements) = &self.complement_units else {
            let (known, unknown) = self.split(row);
            let units = known.sum(&self.units);
            if unknown == 0 {
                return self.scale.bracket(units, self.losses);
            }
            let others = (unknown as i64).checked_mul(self.first.units);
            let losses = self.losses.with(self.first.loss, unknown);
            return match others.and_then(|others| units.checked_add(others)) {
                Some(units) => self.scale.bracket(units, losses),
                None => Bracket::new(i64::MAX, None),
            };
        };
        let units = complements.total + row.sum(&complements.differences);
        self.scale.bracket(units, self.losses)
    }

    /// The first of `rows` that the weights classify wrongly, or any row once `stop` is raised. `words` is memory: see
    /// [`Block::row_bits`].
    pub fn first_mistake(
        &self,
        block: &Block<'_>,
        mut rows: Range<usize>,
        words: &mut Vec<u64>,
        stop: &StopFlag,
    ) -> Option<usize> {
        loop {
            let row = match (&self.sketch, block.features) {
                (Some(sketch), BlockFeatures::Boolean(bits)) => {
                    let labels = block.positives;
                    sketch.first_open(bits, labels, rows.clone(), &self.scale, self.losses)?
                }
                _ => rows.clone().next()?,
            };
            let bits = block.row_bits(row, words);
            let verdict = self.bracket(bits).reaches(self.theta.units);
            // A sum of very large integers takes milliseconds. Other rows matter only if they are long.
            let is_slow = verdict.is_none() || self.n > LONG_ROW;
            if is_slow && stop.raised().is_some() {
                return Some(row);
            }
            let is_positive = verdict.unwrap_or_else(|| self.sum(bits).reaches(&self.theta.exact));
            if is_positive != block.is_positive(row) {
                return Some(row);
            }
            rows.start = row + 1;
        }
    }

    /// The mask of the rows of a block that the weights classify wrongly, or any mask once `stop` is raised.
    pub fn mistakes(&self, block: &Block<'_>, stop: &StopFlag) -> u64 {
        let (mut words, mut mask, mut first) = (Vec::new(), 0, 0);
        while let Some(row) = self.first_mistake(block, first..block.rows(), &mut words, stop) {
            mask |= 1 << row;
            first = row + 1;
        }
        mask
    }

    /// The decision on a row.
    pub fn decide(&self, row: RowBits<'_>) -> Decision {
        let is_positive = self.is_positive(row);
        Decision::new(self.sum(row).into_score(), is_positive)
    }

    /// The known features of a row, and the number of the others that have a weight.
    fn split<'r>(&self, row: RowBits<'r>) -> (RowBits<'r>, usize) {
        let (known, unknown) = row.split_at(self.n);
        (known, if self.is_closed { 0 } else { unknown })
    }

    fn sum(&self, row: RowBits<'_>) -> PowerSum {
        let (n, complements) = (self.n, self.has_complements());
        let (known, unknown) = self.split(row);
        let exponents = active(known, n, complements).map(|feature| self.exponents[feature]);
        let first = std::iter::repeat_n(0, unknown);
        PowerSum::new(self.base, &terms_of(exponents.chain(first)))
    }

    /// Promotes (`by` = 1) or demotes (`by` = -1) every active feature of a row. Returns whether there was one, or
    /// none if an exponent would leave its range; nothing changes then.
    pub fn change(&mut self, row: RowBits<'_>, by: i32, table: &mut PowerTable) -> Option<bool> {
        let (n, complements) = (self.n, self.has_complements());
        let mut changed = 0;
        // `all` loops over the words of a row, and `next` looks for the present word each time.
        let is_changed = active(row, n, complements).all(|feature| {
            let is_changed = self.change_feature(feature, by, table);
            changed += usize::from(is_changed);
            is_changed
        });
        if !is_changed {
            for feature in active(row, n, complements).take(changed) {
                self.change_feature(feature, -by, table);
            }
        }
        is_changed.then_some(changed > 0)
    }

    /// Adds `by` to the exponent of a feature. Returns false and changes nothing if it would leave its range.
    #[inline(always)]
    fn change_feature(&mut self, feature: usize, by: i32, table: &mut PowerTable) -> bool {
        let exponent = self.exponents[feature];
        let (Some(before), Some(after)) = (table.power(exponent), table.power(exponent + by))
        else {
            return false;
        };
        self.exponents[feature] = exponent + by;
        self.units[feature] = after.units;
        self.losses.change(before.loss, after.loss);
        if let Some(sketch) = &mut self.sketch {
            sketch.set(feature, after.units);
        }
        if let Some(kept) = &mut self.complement_units {
            let change = after.units - before.units;
            match feature.checked_sub(self.n) {
                Some(complement) => {
                    kept.total += change;
                    kept.differences[complement] -= change;
                }
                None => kept.differences[feature] += change,
            }
        }
        true
    }
}

/// The positions of the active features of a row of `n` bits. With `complements`, also `n` plus the position of each
/// zero.
pub fn active(
    row: RowBits<'_>,
    n: usize,
    complements: bool,
) -> impl Iterator<Item = usize> + Clone {
    let zeros = complements.then(|| row.zeros(n)).into_iter().flatten();
    row.ones().chain(zeros.map(move |place| n + place))
}

#[cfg(test)]
mod tests {
    use super::RowBits::Packed;
    use super::*;
    use crate::bits::last_word_mask;
    use crate::learners::decision::Score;
    use proptest::prelude::*;

    fn weights(alpha: f64, theta: &str, n: usize, exponents: &[i32]) -> WinnowWeights {
        let base = Base::new(alpha).expect("a base");
        let theta = Decimal::parse(theta).expect("plain");
        WinnowWeights::new(base, theta, n, exponents.to_vec())
    }

    #[test]
    fn winnow_sum_equal_to_theta_is_positive() {
        // Three times 3^-1 is 1, although no fixed-point number represents a third.
        let thirds = weights(3.0, "1", 3, &[-1, -1, -1]);
        let decision = thirds.decide(Packed(&[0b111]));
        assert!(decision.is_positive());
        assert_eq!(decision.score, Score::Integer(1));
        assert!(!thirds.is_positive(Packed(&[0b101])));
        assert!(!thirds.is_positive(Packed(&[0])));
    }

    #[test]
    fn complements_are_active_where_the_bit_is_0() {
        let both = weights(2.0, "5", 2, &[2, 0, 1, -1]);
        // x1 and not x2: 4 + 1/2. x1 and x2: 4 + 1.
        assert!(!both.is_positive(Packed(&[0b01])));
        assert!(both.is_positive(Packed(&[0b11])));
        let decision = both.decide(Packed(&[0b01]));
        let expected = Score::Fraction {
            numerator: 9.into(),
            denominator: 2_u32.into(),
        };
        assert_eq!(decision.score, expected);
    }

    #[test]
    fn an_exponent_out_of_range_changes_nothing() {
        let most = Base::new(2.0).expect("a base").exponent_max();
        let mut weights = weights(2.0, "1", 2, &[0, most]);
        let before = weights.clone();
        let mut table = weights.table();
        assert_eq!(weights.change(Packed(&[0b11]), 1, &mut table), None);
        assert_eq!(weights, before);
        assert_eq!(weights.change(Packed(&[0b00]), 1, &mut table), Some(false));
        assert_eq!(weights.change(Packed(&[0b01]), 1, &mut table), Some(true));
    }

    proptest! {
        #[test]
        fn changed_weights_are_those_made_from_their_exponents(
            rows in prop::collection::vec((any::<u64>(), any::<u64>(), any::<bool>()), 0..60),
            alpha in prop::sample::select(vec![2.0, 3.0, 1.1, 1.5]),
            complements in any::<bool>(),
        ) {
            let n = 70;
            let base = Base::new(alpha).expect("a base");
            let theta = Decimal::parse("70.5").expect("plain");
            let features = if complements { 2 * n } else { n };
            let mut weights = WinnowWeights::new(base, theta, n, vec![0; features]);
            let mut table = weights.table();
            for (low, high, up) in rows {
                let words = [low, high & last_word_mask(n)];
                let row = Packed(&words);
                let listed: Vec<u32> = row.ones().map(|place| place as u32).collect();
                let listed = RowBits::Listed(&listed);
                prop_assert!(active(row, n, complements).eq(active(listed, n, complements)));
                prop_assert_eq!(weights.decide(row), weights.decide(listed));
                let by = if up { 1 } else { -1 };
                let changed = weights.change(if up { row } else { listed }, by, &mut table);
                prop_assert_eq!(changed, Some(complements || words != [0, 0]));
                let sum = weights.sum(row);
                prop_assert_eq!(weights.is_positive(row), sum.reaches(weights.theta()));
            }
            let made = WinnowWeights::new(base, weights.theta().clone(), n, weights.exponents.clone());
            prop_assert_eq!(made, weights);
        }
    }
}
