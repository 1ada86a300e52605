//! Products of real weights with real rows, in a fixed order of addition.
//!
//! A sum of doubles depends on the order of its terms, so the order is part of the definition. Product `j` goes to
//! lane `j mod 16` in the order of the coordinates, then the upper half of the lanes is added to the lower half until
//! one lane is left. Sixteen lanes fill four registers of AVX2 or two of AVX-512. Since no build fuses a product with
//! its addition, all of them give the same bits.

use std::ops::Range;

use super::kernels::{Kernels, kernels, multiversioned};
use super::matrix::BLOCK_ROWS;
use super::real_lanes::{Part, REAL_LANES};
use super::scalar;
use super::sparse::SparseRow;

/// Real weights in the layout of the kernels: zeros fill the last sixteen.
///
/// A kernel may therefore read on past the end of a row into the next one. The zeros keep what it reads there out of
/// the sum, because every value is finite.
#[derive(Clone, Debug, PartialEq)]
pub struct RealColumn {
    n: usize,
    padded: Vec<f64>,
}

/// How a row is decided, and how a mistake changes the weights.
#[derive(Clone, Copy, Debug)]
pub struct RealStep {
    /// The weight of a constant coordinate 1, if there is one.
    pub bias: Option<f64>,
    /// The factor of a positive example in an update. A negative example has the opposite factor.
    pub amount: f64,
    /// The number whose product with each weight must be finite.
    pub factor: f64,
    /// The mask of the rows that are positive.
    pub positives: u64,
}

/// What several rows did to a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RealLearnt {
    /// The row after the last row that was read.
    pub end: usize,
    /// The mask of the mistakes.
    pub mistaken: u64,
    /// The new bias.
    pub bias: Option<f64>,
    /// Whether the last update stayed in the range. Otherwise it changed nothing.
    pub is_finite: bool,
}

impl RealColumn {
    /// Creates a column of these weights. A weight -0.0 becomes 0.0, as it would when 0 is first added.
    pub fn new(mut weights: Vec<f64>) -> Self {
        let n = weights.len();
        weights.iter_mut().for_each(|weight| *weight += 0.0);
        weights.resize(n.next_multiple_of(REAL_LANES), 0.0);
        Self { n, padded: weights }
    }

    /// Adds columns with weights of 0 up to `n` columns.
    pub fn grow(&mut self, n: usize) {
        self.n = n;
        self.padded.resize(n.next_multiple_of(REAL_LANES), 0.0);
    }

    /// The weights in their order.
    pub fn weights(&self) -> &[f64] {
        &self.padded[..self.n]
    }

    /// Multiplies all weights by a finite factor.
    pub fn scale(&mut self, factor: f64) {
        let weights = &mut self.padded[..self.n];
        weights.iter_mut().for_each(|weight| *weight *= factor);
    }

    /// Returns the product with one row of finite values.
    ///
    /// # Panics
    /// Panics if the row is shorter than the column.
    pub fn product(&self, row: &[f64]) -> f64 {
        let row = &row[..self.n];
        match kernels() {
            Kernels::Detected => product_detected(&self.padded, row),
            Kernels::Scalar => scalar::real_product(self.weights(), row),
        }
    }

    /// Returns the first of `rows` whose sign differs from its label, which is bit `r` of `positives` for row `r`.
    /// The sign is positive if the product plus `bias` is at least 0. `values` has the finite values of up to 64
    /// rows, row after row.
    ///
    /// # Panics
    /// Panics if a row of `rows` is not among the values.
    pub fn first_wrong(
        &self,
        values: &[f64],
        rows: Range<usize>,
        bias: f64,
        positives: u64,
    ) -> Option<usize> {
        self.assert_among(&rows, values);
        match kernels() {
            Kernels::Detected => first_wrong_detected(self, values, rows, bias, positives),
            Kernels::Scalar => {
                scalar::first_wrong_real(self.weights(), values, rows, bias, positives)
            }
        }
    }

    /// Learns from `rows` as a perceptron does: each row with the wrong sign is added with the sign of its label, see
    /// [`Self::first_wrong`] and [`Self::add`]. Ends after `mistakes_max` mistakes, or after an update that would
    /// leave the range.
    ///
    /// # Panics
    /// Panics if a row of `rows` is not among the values.
    pub fn learn(
        &mut self,
        values: &[f64],
        rows: Range<usize>,
        step: RealStep,
        mistakes_max: u64,
    ) -> RealLearnt {
        let mut rows = rows;
        let mut learnt = RealLearnt {
            end: rows.end,
            mistaken: 0,
            bias: step.bias,
            is_finite: true,
        };
        for mistakes in 1.. {
            let bias = learnt.bias.unwrap_or(0.0);
            let Some(row) = self.first_wrong(values, rows.clone(), bias, step.positives) else {
                break;
            };
            rows.start = row + 1;
            learnt.mistaken |= 1 << row;
            let amount = match step.positives >> row & 1 {
                1 => step.amount,
                _ => -step.amount,
            };
            learnt.is_finite = self.add(&values[row * self.n..], amount, step.factor);
            if learnt.is_finite {
                learnt.bias = learnt.bias.map(|bias| bias + amount);
            }
            if mistakes == mistakes_max || !learnt.is_finite {
                learnt.end = rows.start;
                break;
            }
        }
        learnt
    }

    /// [`Self::product`] for a sparse row, bit for bit the same, because a feature that is 0 adds nothing to its
    /// lane.
    ///
    /// # Panics
    /// Panics if a feature of the row is not below n.
    pub fn sparse_product(&self, row: SparseRow<'_>) -> f64 {
        let mut lanes = [0.0; REAL_LANES];
        for (j, value) in row.entries() {
            lanes[j % REAL_LANES] += self.weights()[j] * value;
        }
        plain::sum_of_lanes(lanes)
    }

    /// [`Self::add`] for a sparse row.
    ///
    /// # Panics
    /// Panics if a feature of the row is not below n.
    pub fn add_sparse(&mut self, row: SparseRow<'_>, amount: f64, factor: f64) -> bool {
        let weights = &mut self.padded[..self.n];
        let is_finite = row.entries().all(|(j, value)| {
            let sum = weights[j] + amount * value;
            sum.is_finite() && (sum * factor).is_finite()
        });
        if is_finite {
            for (j, value) in row.entries() {
                weights[j] += amount * value;
            }
        }
        is_finite
    }

    fn assert_among(&self, rows: &Range<usize>, values: &[f64]) {
        assert!(
            rows.end <= BLOCK_ROWS && rows.end * self.n <= values.len(),
            "rows among the values"
        );
    }

    /// Adds `amount` times a row to the weights, unless a sum, or a sum times `factor`, is not finite: it then adds
    /// nothing and returns false. `row` may go on with finite values past the last column.
    ///
    /// # Panics
    /// Panics if the row is shorter than the column.
    pub fn add(&mut self, row: &[f64], amount: f64, factor: f64) -> bool {
        let n = self.n;
        match (kernels(), row.get(..self.padded.len())) {
            (Kernels::Detected, Some(row)) => add_detected(self, row, amount, factor),
            _ => scalar::add_real(&mut self.padded[..n], &row[..n], amount, factor),
        }
    }
}

multiversioned! {
    fn product_detected(padded: &[f64], row: &[f64]) -> f64 {
        let (values, rest) = row.as_chunks::<REAL_LANES>();
        let mut last = [0.0; REAL_LANES];
        last[..rest.len()].copy_from_slice(rest);
        let weights = padded.as_chunks().0;
        let parts = [(weights, values), (&weights[values.len()..], std::slice::from_ref(&last))];
        multiversion::target::match_target! {
            "x86_64+avx2" => super::avx2::product_of_parts(parts),
            _ => plain::product_of_parts(parts),
        }
    }
}

multiversioned! {
    fn first_wrong_detected(
        column: &RealColumn,
        values: &[f64],
        rows: Range<usize>,
        bias: f64,
        positives: u64,
    ) -> Option<usize> {
        let (n, padded) = (column.n, column.padded.as_slice());
        let weights = padded.as_chunks().0;
        for row in rows {
            let product = match values[row * n..].get(..padded.len()) {
                None => column.product(&values[row * n..]),
                Some(values) => multiversion::target::match_target! {
                    "x86_64+avx2" => super::avx2::product(weights, values.as_chunks().0, n),
                    _ => plain::product(weights, values.as_chunks().0),
                },
            };
            if (product + bias >= 0.0) != (positives >> row & 1 == 1) {
                return Some(row);
            }
        }
        None
    }
}

multiversioned! {
    fn add_detected(column: &mut RealColumn, row: &[f64], amount: f64, factor: f64) -> bool {
        let kept = last_columns(column.n);
        // A sum and its product are finite if the larger of the two is.
        let factor = factor.abs().max(1.0);
        let (weights, values) = (column.padded.as_chunks_mut().0, row.as_chunks().0);
        multiversion::target::match_target! {
            "x86_64+avx2" => super::avx2::add(weights, values, &kept, amount, factor),
            _ => plain::add(weights, values, &kept, amount, factor),
        }
    }
}

/// 1 in each lane of the last sixteen that belongs to one of the `n` columns, else 0.
#[inline(always)]
fn last_columns(n: usize) -> [f64; REAL_LANES] {
    let last = n - n.saturating_sub(1) / REAL_LANES * REAL_LANES;
    let mut kept = [0.0; REAL_LANES];
    kept[..last].fill(1.0);
    kept
}

/// The same kernels as plain loops for every instruction set.
pub(super) mod plain {
    use super::super::real_lanes::REAL_LANES;
    use super::Part;

    #[inline(always)]
    pub fn product(weights: &[[f64; REAL_LANES]], values: &[[f64; REAL_LANES]]) -> f64 {
        product_of_parts([(weights, values), (&[], &[])])
    }

    /// Adds `amount` times the values to the weights. Whole registers are written, because reading a register right
    /// after a part of it was written is slow. `kept` is 0 in the lanes beyond the last column, which must not
    /// change, else 1. Returns false and adds nothing if a sum times `factor`, which is at least 1, is not finite.
    #[inline(always)]
    pub fn add(
        weights: &mut [[f64; REAL_LANES]],
        values: &[[f64; REAL_LANES]],
        kept: &[f64; REAL_LANES],
        amount: f64,
        factor: f64,
    ) -> bool {
        let Some(last) = weights.len().checked_sub(1) else {
            return true;
        };
        let kept = |at: usize, lane: usize| if at == last { kept[lane] } else { 1.0 };
        // Zero times a number is a zero if and only if the number is finite.
        let mut zeros = [0.0; REAL_LANES];
        for (at, (weights, values)) in weights.iter().zip(values).enumerate() {
            for lane in 0..REAL_LANES {
                let sum = weights[lane] + kept(at, lane) * amount * values[lane];
                zeros[lane] += sum * factor * 0.0;
            }
        }
        if zeros != [0.0; REAL_LANES] {
            return false;
        }
        for (at, (weights, values)) in weights.iter_mut().zip(values).enumerate() {
            for lane in 0..REAL_LANES {
                weights[lane] += kept(at, lane) * amount * values[lane];
            }
        }
        true
    }

    #[inline(always)]
    pub fn product_of_parts(parts: [Part<'_>; 2]) -> f64 {
        let mut lanes = [0.0; REAL_LANES];
        for (weights, values) in parts {
            for (weights, values) in weights.iter().zip(values) {
                for lane in 0..REAL_LANES {
                    lanes[lane] += weights[lane] * values[lane];
                }
            }
        }
        sum_of_lanes(lanes)
    }

    #[inline(always)]
    pub fn sum_of_lanes(mut lanes: [f64; REAL_LANES]) -> f64 {
        let mut half = REAL_LANES / 2;
        while half > 0 {
            for lane in 0..half {
                lanes[lane] += lanes[lane + half];
            }
            half /= 2;
        }
        lanes[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::{SWITCH, use_kernels};
    use proptest::prelude::*;

    /// Values of very different sizes, so that another order of addition gives other bits.
    fn value() -> impl Strategy<Value = f64> {
        let wide = (-1.0..1.0_f64, -40..40).prop_map(|(size, power)| size * 2_f64.powi(power));
        prop_oneof![4 => wide, 1 => Just(0.0), 1 => Just(-0.0)]
    }

    prop_compose! {
        fn cases()(n in prop_oneof![1_usize..=70, 1_usize..=300], rows in 1_usize..=BLOCK_ROWS)(
            weights in prop::collection::vec(value(), n),
            values in prop::collection::vec(value(), n * rows),
            bias in value(), positives in any::<u64>(), from in 0..rows, rows in Just(rows),
        ) -> (Vec<f64>, Vec<f64>, f64, u64, Range<usize>) {
            (weights, values, bias, positives, from..rows)
        }
    }

    proptest! {
        #[test]
        fn products_have_the_bits_of_the_scalar_twin((weights, values, ..) in cases()) {
            let column = RealColumn::new(weights.clone());
            for row in values.chunks(weights.len()) {
                let expected = scalar::real_product(&weights, row).to_bits();
                prop_assert_eq!(expected, column.product(row).to_bits());
                let mut all = row.to_vec();
                all.resize(column.padded.len(), 0.0);
                let plain = plain::product(column.padded.as_chunks().0, all.as_chunks().0);
                prop_assert_eq!(expected, plain.to_bits());
            }
        }

        #[test]
        fn the_first_wrong_row_matches_the_scalar_twin(
            (weights, values, bias, positives, rows) in cases(), is_right in any::<bool>(),
        ) {
            let (n, column) = (weights.len(), RealColumn::new(weights.clone()));
            let right = values.chunks(n).enumerate().fold(0, |right, (row, values)| {
                right | u64::from(column.product(values) + bias >= 0.0) << row
            });
            // Random labels are wrong at once. One wrong label among right ones tests whole blocks.
            let positives = if is_right { right ^ positives & 1 << (positives % 64) } else { positives };
            prop_assert_eq!(
                scalar::first_wrong_real(&weights, &values, rows.clone(), bias, positives),
                column.first_wrong(&values, rows, bias, positives)
            );
        }

        #[test]
        fn real_column_learns_rows_like_the_scalar_twin(
            (weights, values, bias, positives, rows) in cases(), amount in value(),
            mistakes_max in 1_u64..70, has_bias in any::<bool>(),
        ) {
            let step = RealStep { bias: Some(bias).filter(|_| has_bias), amount, factor: 1.0, positives };
            let _switch = SWITCH.lock();
            let learnt = [Kernels::Scalar, Kernels::Detected].map(|chosen| {
                use_kernels(chosen);
                let mut column = RealColumn::new(weights.clone());
                let found = column.learn(&values, rows.clone(), step, mistakes_max);
                (found, column.weights().iter().map(|w| w.to_bits()).collect::<Vec<_>>())
            });
            prop_assert_eq!(&learnt[0], &learnt[1]);
            let RealLearnt { end, mistaken, .. } = learnt[0].0;
            let is_full = u64::from(mistaken.count_ones()) == mistakes_max;
            prop_assert!(end == rows.end || is_full && mistaken >> (end - 1) == 1);
        }

        #[test]
        fn real_column_update_adds_the_row((weights, values, amount, ..) in cases()) {
            let (n, mut column) = (weights.len(), RealColumn::new(weights.clone()));
            let sums: Vec<f64> = weights.iter().zip(&values).map(|(w, x)| w + amount * x).collect();
            for row in [&values[..n], &values] {
                column = RealColumn::new(weights.clone());
                prop_assert!(column.add(row, amount, 1.0));
                prop_assert_eq!(&sums, column.weights());
                prop_assert!(column.padded[n..].iter().all(|&weight| weight == 0.0));
            }
            let mut plain = RealColumn::new(weights);
            let mut row = values[..n].to_vec();
            row.resize(plain.padded.len(), 9.0);
            let (own, row) = (plain.padded.as_chunks_mut().0, row.as_chunks().0);
            prop_assert!(plain::add(own, row, &last_columns(n), amount, 1.0));
            prop_assert_eq!(plain, column);
        }
    }

    #[test]
    fn an_update_beyond_the_range_changes_nothing() {
        for (row, amount, factor) in [([1.0, -1e308], 2.0, 1.0), ([1.0, -1e300], 1.0, 1e10)] {
            let mut column = RealColumn::new(vec![1.0, 2.0]);
            assert!(!column.add(&row, amount, factor));
            assert_eq!(column.weights(), [1.0, 2.0]);
            let step = RealStep {
                bias: Some(-2.0_f64.powi(1023)),
                amount,
                factor,
                positives: 1,
            };
            let learnt = column.learn(&row, 0..1, step, 9);
            let expected = RealLearnt {
                end: 1,
                mistaken: 1,
                bias: step.bias,
                is_finite: false,
            };
            assert_eq!(
                (learnt, column.weights()),
                (expected, [1.0, 2.0].as_slice())
            );
        }
    }

    #[test]
    fn the_order_of_addition_is_the_documented_one() {
        // Lane 0 gets 1e16 and then 1, which is lost. In the order of the coordinates -1e16 comes first.
        let mut weights = vec![0.0; 17];
        (weights[0], weights[8], weights[16]) = (1e16, -1e16, 1.0);
        assert_eq!(RealColumn::new(weights).product(&[1.0; 17]), 0.0);
    }
}
