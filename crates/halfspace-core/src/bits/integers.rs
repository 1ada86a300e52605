//! Integer weights of one column per bit: sums that rows select, updates, and the perceptron on a whole block.
//!
//! If there are at most 2^16 weights and they fit 16 bits, they are stored in 16 bits, which lets one AVX2 instruction
//! process sixteen of them. Weights that learn from sparse rows are also stored in 16 bits as long as they fit, in
//! their order, so that more of them fit into the caches. Otherwise they are stored in 64 bits. You cannot tell the
//! difference from outside, because sums and updates are the same in all.

use std::ops::Range;

use super::column_groups::{
    GROUP_COLUMNS, Group, IntegerStep, NarrowRows, RowWords, WIDTH, cell, cell_mut, change,
    parts_of,
};
use super::excerpt::Excerpt;
use super::kernels::{Kernels, kernels, multiversioned};
use super::matrix::BitBlock;
use super::scalar;
use super::sparse::SparseBlock;
use super::vector::{WORD_BITS, ones_of, words_for};
use super::weights::{add_selected, listed_sum, selected_sum};

/// The most columns for which a sum of 16-bit weights fits 32 bits.
pub(super) const NARROW_COLUMNS_MAX: usize = 1 << 16;

/// One integer weight per column. The 64-bit arithmetic wraps, so callers keep the weights small enough that no sum
/// does.
#[derive(Clone, Debug)]
pub struct IntegerColumn {
    n: usize,
    total: i64,
    cells: Cells,
}

#[derive(Clone, Debug)]
enum Cells {
    /// All weights are 0. The first row decides where they are stored.
    Zeros,
    Narrow {
        /// Cells beyond the last column have no meaning, because no row selects them.
        groups: Vec<Group>,
        /// By how much every weight can still change and stay within 16 bits.
        headroom: i64,
    },
    /// The weights after a sparse row was added.
    Listed {
        weights: Vec<i16>,
        /// As in `Wide`.
        offset: i64,
        /// As in `Narrow`, without the offset.
        headroom: i64,
    },
    Wide {
        weights: Vec<i64>,
        /// A number that is added to each of these weights. A signed row changes it in place of the weights that the
        /// row does not select.
        offset: i64,
    },
}

impl PartialEq for IntegerColumn {
    fn eq(&self, other: &Self) -> bool {
        self.n == other.n && self.total == other.total && self.weights() == other.weights()
    }
}

/// Groups of `n` weights of 0.
fn groups_of(n: usize) -> Vec<Group> {
    vec![[[0; WIDTH]; WIDTH]; n.div_ceil(GROUP_COLUMNS)]
}

/// The sum of the weights whose bit in a row of packed words is 1.
fn selected_narrow(groups: &[Group], row: &[u64]) -> i64 {
    match kernels() {
        Kernels::Detected => narrow_sum_detected(groups, RowWords::of_row(row)),
        Kernels::Scalar => scalar::narrow_sum(groups, RowWords::of_row(row)),
    }
}

impl IntegerColumn {
    /// Creates a column of these weights.
    pub fn new(weights: Vec<i64>) -> Self {
        let (n, total) = (weights.len(), weights.iter().sum());
        let largest = weights.iter().map(|weight| weight.saturating_abs()).max();
        let headroom = i64::from(i16::MAX) - largest.unwrap_or(0);
        let cells = match largest {
            None | Some(0) => Cells::Zeros,
            Some(_) if n <= NARROW_COLUMNS_MAX && headroom >= 0 => {
                let mut groups = groups_of(n);
                for (j, weight) in weights.into_iter().enumerate() {
                    *cell_mut(&mut groups, j) = weight as i16;
                }
                Cells::Narrow { groups, headroom }
            }
            Some(_) => Cells::Wide { weights, offset: 0 },
        };
        Self { n, total, cells }
    }

    /// A column of these weights for sparse rows, which lets more of them be stored in 16 bits than packed rows do.
    pub fn listed(weights: Vec<i64>) -> Self {
        let mut column = Self::new(weights);
        if let Cells::Wide { weights, .. } = &column.cells {
            let small = weights.iter().map(|&weight| i16::try_from(weight).ok());
            if let Some(weights) = small.collect() {
                column.cells = Cells::Listed {
                    weights,
                    offset: 0,
                    headroom: 0,
                };
            }
        }
        column
    }

    /// The weights of an excerpt of the columns, which has the sums of these columns in the unsigned reading.
    #[must_use]
    pub fn excerpt(&self, excerpt: &Excerpt) -> Self {
        let n = excerpt.n();
        let listed = |weights: Vec<i16>, offset| Self {
            n,
            total: weights
                .iter()
                .map(|&weight| i64::from(weight) + offset)
                .sum(),
            cells: Cells::Listed {
                weights,
                offset,
                headroom: 0,
            },
        };
        match &self.cells {
            Cells::Zeros => Self::new(vec![0; n]),
            Cells::Narrow { groups, .. } => listed(excerpt.of(0, |j| *cell(groups, j)), 0),
            Cells::Listed {
                weights, offset, ..
            } => listed(excerpt.of(0, |j| weights[j]), *offset),
            Cells::Wide { weights, offset } => Self::new(excerpt.of(0, |j| weights[j] + offset)),
        }
    }

    /// The number of weights.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Adds columns with weights of 0 up to `n` columns. The time depends on the number of new ones only, except that
    /// some calls copy all weights.
    ///
    /// # Panics
    /// Panics if the weights have learnt in the signed reading, which changes the weights of all columns.
    pub fn grow(&mut self, n: usize) {
        if let Cells::Narrow { .. } = self.cells {
            self.list(0);
        }
        self.n = n;
        let offset = match &mut self.cells {
            Cells::Zeros | Cells::Narrow { .. } => return,
            Cells::Listed {
                weights, offset, ..
            } => {
                weights.resize(n, 0);
                *offset
            }
            Cells::Wide { weights, offset } => {
                weights.resize(n, 0);
                *offset
            }
        };
        assert_eq!(offset, 0, "the unsigned reading");
    }

    /// The weights in their order.
    pub fn weights(&self) -> Vec<i64> {
        match &self.cells {
            Cells::Zeros => vec![0; self.n],
            Cells::Narrow { groups, .. } => {
                (0..self.n).map(|j| i64::from(*cell(groups, j))).collect()
            }
            Cells::Listed {
                weights, offset, ..
            } => {
                let weights = weights.iter().map(|&weight| i64::from(weight));
                weights.map(|weight| weight + offset).collect()
            }
            Cells::Wide { weights, offset } => {
                weights.iter().map(|weight| weight + offset).collect()
            }
        }
    }

    /// The largest magnitude of a weight, 0 without weights.
    pub fn largest(&self) -> i64 {
        let largest = match &self.cells {
            Cells::Zeros => None,
            Cells::Narrow { groups, .. } => {
                let full = self.n / GROUP_COLUMNS;
                let weights = groups[..full].as_flattened().as_flattened();
                let last = (full * GROUP_COLUMNS..self.n).map(|j| cell(groups, j));
                let magnitudes = weights
                    .iter()
                    .chain(last)
                    .map(|weight| weight.unsigned_abs());
                magnitudes.max().map(i64::from)
            }
            Cells::Listed {
                weights, offset, ..
            } => {
                let weights = weights.iter().map(|&weight| i64::from(weight) + offset);
                weights.map(i64::abs).max()
            }
            Cells::Wide { weights, offset } => weights
                .iter()
                .map(|weight| (weight + offset).saturating_abs())
                .max(),
        };
        largest.unwrap_or(0)
    }

    /// By how much every weight can change within 16 bits. Negative if a weight is too large.
    fn headroom(&self) -> i64 {
        i64::from(i16::MAX) - self.largest()
    }

    /// Returns the sum for one row of packed words, in the reading of `step` and with its bias.
    ///
    /// # Panics
    /// Panics if the row has another number of words than the column.
    pub fn score(&self, row: &[u64], step: IntegerStep) -> i64 {
        assert_eq!(row.len(), words_for(self.n), "words a row");
        let selected = match &self.cells {
            Cells::Zeros => 0,
            Cells::Wide { weights, offset } => {
                selected_sum(weights, row) + offset * RowWords::of_row(row).ones(row.len())
            }
            Cells::Narrow { groups, .. } => selected_narrow(groups, row),
            // Rows of a run have one layout, so such a row is rare.
            Cells::Listed {
                weights, offset, ..
            } => {
                let words = row.iter().enumerate();
                let ones = words.flat_map(|(at, &word)| {
                    ones_of(word).map(move |one| weights[at * WORD_BITS + one])
                });
                let (sum, count) = ones.fold((0, 0), |(sum, count), weight| {
                    (sum + i64::from(weight), count + 1)
                });
                sum + offset * count
            }
        };
        step.score(selected, self.total)
    }

    /// Adds `amount` times a row of packed words, in the signed or unsigned reading.
    ///
    /// # Panics
    /// Panics if the row has another number of words than the column.
    pub fn add(&mut self, row: &[u64], amount: i64, is_signed: bool) {
        assert_eq!(row.len(), words_for(self.n), "words a row");
        self.make_room(amount.saturating_abs());
        let words = RowWords::of_row(row);
        match &mut self.cells {
            Cells::Wide { weights, offset } => {
                let (selected, others) = parts_of(amount, is_signed);
                add_selected(weights, row, selected);
                *offset += others;
            }
            Cells::Narrow { groups, .. } => match kernels() {
                Kernels::Detected => add_detected(groups, words, amount as i16, is_signed),
                Kernels::Scalar => scalar::add_narrow(groups, words, amount as i16, is_signed),
            },
            Cells::Zeros | Cells::Listed { .. } => unreachable!("relaid by `make_room`"),
        }
        self.total += amount * change(words.ones(row.len()), self.n, is_signed);
    }

    /// Makes sure that packed rows can change every weight by `amount`, and takes this amount from the headroom.
    fn make_room(&mut self, amount: i64) {
        if let Cells::Zeros = self.cells
            && self.n <= NARROW_COLUMNS_MAX
        {
            self.cells = Cells::Narrow {
                groups: groups_of(self.n),
                headroom: i16::MAX.into(),
            };
        }
        let headroom = match &self.cells {
            Cells::Narrow { headroom, .. } => headroom,
            Cells::Zeros | Cells::Listed { .. } => return self.widen(),
            Cells::Wide { .. } => return,
        };
        let headroom = match *headroom >= amount {
            true => *headroom,
            false => self.headroom(),
        };
        match &mut self.cells {
            Cells::Narrow { headroom: kept, .. } if headroom >= amount => *kept = headroom - amount,
            _ => self.widen(),
        }
    }

    fn widen(&mut self) {
        self.cells = Cells::Wide {
            weights: self.weights(),
            offset: 0,
        };
    }

    /// Returns the sum for a Boolean row of these active features, in the reading of `step` and with its bias. The
    /// time depends on the number of active features only, in both readings.
    ///
    /// # Panics
    /// Panics if a feature is not below n.
    pub fn sparse_score(&self, ids: &[u32], step: IntegerStep) -> i64 {
        let selected = match &self.cells {
            Cells::Zeros => 0,
            Cells::Listed {
                weights, offset, ..
            } => listed_sum(weights, ids) + offset * ids.len() as i64,
            Cells::Wide { weights, offset } => listed_sum(weights, ids) + offset * ids.len() as i64,
            Cells::Narrow { groups, .. } => {
                assert!(
                    ids.iter().all(|&id| (id as usize) < self.n),
                    "features below n"
                );
                ids.iter()
                    .map(|&id| i64::from(*cell(groups, id as usize)))
                    .sum()
            }
        };
        step.score(selected, self.total)
    }

    /// Adds `amount` times a Boolean row of these active features, in the signed or unsigned reading. The time
    /// depends on the number of active features only, in both readings, except that some calls copy all weights into
    /// cells of another size.
    ///
    /// # Panics
    /// Panics if a feature is not below n.
    pub fn add_sparse(&mut self, ids: &[u32], amount: i64, is_signed: bool) {
        let (selected, others) = parts_of(amount, is_signed);
        self.list(selected.saturating_abs());
        let offset = match &mut self.cells {
            Cells::Listed {
                weights, offset, ..
            } => {
                ids.iter()
                    .for_each(|&id| weights[id as usize] += selected as i16);
                offset
            }
            Cells::Wide { weights, offset } => {
                ids.iter().for_each(|&id| weights[id as usize] += selected);
                offset
            }
            Cells::Zeros | Cells::Narrow { .. } => unreachable!("relaid by `list`"),
        };
        *offset += others;
        self.total += amount * change(ids.len() as i64, self.n, is_signed);
    }

    /// Makes sure that sparse rows can change every cell by `amount`, and takes this amount from the headroom.
    fn list(&mut self, amount: i64) {
        let relaid = match &self.cells {
            Cells::Zeros => Some(vec![0; self.n]),
            Cells::Narrow { groups, .. } => Some((0..self.n).map(|j| *cell(groups, j)).collect()),
            Cells::Listed { .. } | Cells::Wide { .. } => None,
        };
        if let Some(weights) = relaid {
            self.cells = Cells::Listed {
                weights,
                offset: 0,
                headroom: 0,
            };
        }
        let Cells::Listed {
            weights, headroom, ..
        } = &mut self.cells
        else {
            return;
        };
        if *headroom < amount {
            let largest = weights.iter().map(|weight| weight.unsigned_abs()).max();
            *headroom = i64::from(i16::MAX) - largest.map_or(0, i64::from);
        }
        match *headroom >= amount {
            true => *headroom -= amount,
            false => self.widen(),
        }
    }

    /// [`Self::learn`] for sparse rows.
    ///
    /// # Panics
    /// Panics if a row is not in the block, or one of its features is not below n.
    pub fn learn_sparse(
        &mut self,
        block: SparseBlock<'_>,
        rows: Range<usize>,
        mut step: IntegerStep,
        mistakes_max: u64,
    ) -> (usize, u64, Option<i64>) {
        let mut mistaken = 0_u64;
        for at in rows.clone() {
            let ids = block.row(at).ids;
            let score = self.sparse_score(ids, step);
            if step.is_wrong(at, score) {
                let amount = step.learn(at);
                self.add_sparse(ids, amount, step.is_signed);
                mistaken |= 1 << at;
                if u64::from(mistaken.count_ones()) == mistakes_max {
                    return (at + 1, mistaken, step.bias);
                }
            }
        }
        (rows.end, mistaken, step.bias)
    }

    /// Learns from `rows` of a block as a perceptron does: each row whose score has the wrong sign is added with the
    /// sign of its label, until `mistakes_max` mistakes are made. Returns the row after the last one that was read,
    /// the mask of the mistakes, and the new bias.
    ///
    /// # Panics
    /// Panics if a row is not in the block, or the block has another number of words per row.
    pub fn learn(
        &mut self,
        block: BitBlock,
        rows: Range<usize>,
        step: IntegerStep,
        mistakes_max: u64,
    ) -> (usize, u64, Option<i64>) {
        assert_eq!(block.words_per_row(), words_for(self.n), "words a row");
        assert!(rows.end <= block.rows(), "rows of the block");
        let most = step
            .amount
            .saturating_abs()
            .saturating_mul(rows.len() as i64);
        self.make_room(most);
        let narrow_rows = NarrowRows {
            block,
            rows: rows.clone(),
            mistakes_max,
            n: self.n,
        };
        if let (Cells::Narrow { groups, .. }, Kernels::Detected) = (&mut self.cells, kernels()) {
            return learn_detected(groups, &mut self.total, narrow_rows, step);
        }
        let (mut step, mut mistaken, mut row) = (step, 0, vec![0; block.words_per_row()]);
        for at in rows.clone() {
            block.copy_row(at, &mut row);
            if step.is_wrong(at, self.score(&row, step)) {
                let amount = step.learn(at);
                self.add(&row, amount, step.is_signed);
                mistaken |= 1 << at;
                if u64::from(u64::count_ones(mistaken)) == mistakes_max {
                    return (at + 1, mistaken, step.bias);
                }
            }
        }
        (rows.end, mistaken, step.bias)
    }
}

multiversioned! {
    fn narrow_sum_detected(groups: &[Group], row: RowWords<'_>) -> i64 {
        multiversion::target::match_target! {
            "x86_64+avx2" => super::avx2::narrow_sum(groups, row),
            _ => plain::narrow_sum(groups, row),
        }
    }
}

multiversioned! {
    fn add_detected(groups: &mut [Group], row: RowWords<'_>, amount: i16, is_signed: bool) {
        multiversion::target::match_target! {
            "x86_64+avx512f" => super::avx512_columns::add_narrow(groups, row, amount, is_signed),
            "x86_64+avx2" => super::avx2::add_narrow(groups, row, amount, is_signed),
            _ => plain::add_narrow(groups, row, amount, is_signed),
        }
    }
}

multiversioned! {
    fn learn_detected(
        groups: &mut [Group],
        total: &mut i64,
        within: NarrowRows<'_>,
        step: IntegerStep,
    ) -> (usize, u64, Option<i64>) {
        multiversion::target::match_target! {
            "x86_64+avx512f+avx512vpopcntdq" => {
                super::avx512_columns::learn(groups, total, &within, step)
            },
            _ => {
                let (mut mistaken, mut left, mut step) = (0, within.mistakes_max, step);
                for at in within.rows.clone() {
                    let row = RowWords::of_block(within.block, at);
                    let selected = multiversion::target::match_target! {
                        "x86_64+avx2" => super::avx2::narrow_sum(groups, row),
                        _ => plain::narrow_sum(groups, row),
                    };
                    if step.is_wrong(at, step.score(selected, *total)) {
                        let amount = step.learn(at);
                        multiversion::target::match_target! {
                            "x86_64+avx2" => super::avx2::add_narrow(groups, row, amount as i16, step.is_signed),
                            _ => plain::add_narrow(groups, row, amount as i16, step.is_signed),
                        }
                        let ones = row.ones(within.block.words_per_row());
                        *total += amount * change(ones, within.n, step.is_signed);
                        mistaken |= 1 << at;
                        left -= 1;
                        if left == 0 {
                            return (at + 1, mistaken, step.bias);
                        }
                    }
                }
                (within.rows.end, mistaken, step.bias)
            }
        }
    }
}

/// The same kernels as plain loops for every instruction set.
pub(super) mod plain {
    use super::super::column_groups::{Group, RowWords, WIDTH};

    /// All ones if bit `vector` of the sixteenth is 1, else 0.
    #[inline(always)]
    fn selected(row: RowWords<'_>, group: usize) -> impl Fn(usize, usize) -> i16 {
        let words = row.group(group);
        let sixteenth = |lane: usize| (words[lane / 4] >> (lane % 4 * WIDTH)) as u16;
        let sixteenths: [u16; WIDTH] = std::array::from_fn(sixteenth);
        move |vector, lane| -((sixteenths[lane] >> vector & 1).cast_signed())
    }

    #[inline(always)]
    pub fn narrow_sum(groups: &[Group], row: RowWords<'_>) -> i64 {
        let mut sums = [0_i32; WIDTH];
        for (at, group) in groups.iter().enumerate() {
            let selected = selected(row, at);
            for (vector, weights) in group.iter().enumerate() {
                for (lane, (sum, weight)) in sums.iter_mut().zip(weights).enumerate() {
                    *sum += i32::from(weight & selected(vector, lane));
                }
            }
        }
        sums.into_iter().map(i64::from).sum()
    }

    #[inline(always)]
    pub fn add_narrow(groups: &mut [Group], row: RowWords<'_>, amount: i16, is_signed: bool) {
        // Without a branch, the change is 2a - a where the bit is 1 and -a where the bit is 0.
        let (factor, less) = match is_signed {
            true => (amount.wrapping_mul(2), amount),
            false => (amount, 0),
        };
        for (at, group) in groups.iter_mut().enumerate() {
            let selected = selected(row, at);
            for (vector, weights) in group.iter_mut().enumerate() {
                for (lane, weight) in weights.iter_mut().enumerate() {
                    let change = (factor & selected(vector, lane)).wrapping_sub(less);
                    *weight = weight.wrapping_add(change);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::{BLOCK_ROWS, BitMatrix, SWITCH, WORD_BITS, last_word_mask, use_kernels};
    use proptest::prelude::*;

    prop_compose! {
        fn cases()(n in prop_oneof![1_usize..=70, 1_usize..=600], rows in 1_usize..=BLOCK_ROWS)(
            weights in prop_oneof![3 => prop::collection::vec(-40_i64..=40, n), 1 => Just(vec![0; n])],
            offset in prop_oneof![3 => Just(0_i64), 1 => Just(32_700), 1 => Just(-1 << 33)],
            mut rows in prop::collection::vec(prop::collection::vec(any::<u64>(), words_for(n)), rows),
            is_signed in any::<bool>(), bias in prop::option::of(-90_i64..90),
            amount in prop_oneof![Just(1_i64), 1_i64..=40_000], positives in any::<u64>(), n in Just(n),
        ) -> (Vec<i64>, Vec<Vec<u64>>, IntegerStep) {
            for row in &mut rows {
                *row.last_mut().expect("a word") &= last_word_mask(n);
            }
            let weights = weights.into_iter().map(|weight| weight + offset).collect();
            (weights, rows, IntegerStep { is_signed, bias, amount, positives })
        }
    }

    fn bit(row: &[u64], j: usize) -> bool {
        row[j / WORD_BITS] >> (j % WORD_BITS) & 1 == 1
    }

    /// The value of column `j`.
    fn value(row: &[u64], j: usize, step: IntegerStep) -> i64 {
        match (bit(row, j), step.is_signed) {
            (true, _) => 1,
            (false, true) => -1,
            (false, false) => 0,
        }
    }

    proptest! {
        /// Wherever the weights are stored, a grown column is the one that had the further weights from the beginning.
        #[test]
        fn grown_column_has_further_weights_of_0(
            (weights, rows, step) in cases(), more in 0_usize..900, updates in 0_usize..3,
        ) {
            let n = weights.len() + more;
            let mut longer = weights.clone();
            longer.resize(n, 0);
            let (mut grown, mut whole) = (IntegerColumn::new(weights.clone()), IntegerColumn::new(longer));
            let listed = |row: &Vec<u64>| -> Vec<u32> {
                (0..weights.len()).filter(|&j| bit(row, j)).map(|j| j as u32).collect()
            };
            for row in rows.iter().take(updates) {
                grown.add_sparse(&listed(row), step.amount, false);
                whole.add_sparse(&listed(row), step.amount, false);
            }
            grown.grow(n);
            prop_assert_eq!(&grown, &whole);
            let step = IntegerStep { is_signed: false, ..step };
            for row in &rows {
                let mut ids = listed(row);
                ids.extend((more > 0).then_some(n as u32 - 1));
                prop_assert_eq!(grown.sparse_score(&ids, step), whole.sparse_score(&ids, step));
                grown.add_sparse(&ids, step.amount, false);
                whole.add_sparse(&ids, step.amount, false);
                prop_assert_eq!(&grown, &whole);
            }
        }
    }

    proptest! {
        #[test]
        fn scores_and_updates_are_those_of_the_definition(
            (mut weights, rows, step) in cases(), is_listed in prop_oneof![Just(0), Just(u64::MAX), any::<u64>()],
        ) {
            let mut column = IntegerColumn::new(weights.clone());
            for (at, row) in rows.iter().enumerate() {
                let ids: Vec<u32> = (0..weights.len() as u32).filter(|&j| bit(row, j as usize)).collect();
                let terms = (0..weights.len()).map(|j| weights[j] * value(row, j, step));
                let expected = terms.sum::<i64>() + step.bias.unwrap_or(0);
                prop_assert_eq!(expected, column.score(row, step));
                prop_assert_eq!(expected, column.sparse_score(&ids, step));
                match is_listed >> at & 1 {
                    1 => column.add_sparse(&ids, step.amount, step.is_signed),
                    _ => column.add(row, step.amount, step.is_signed),
                }
                for (j, weight) in weights.iter_mut().enumerate() {
                    *weight += step.amount * value(row, j, step);
                }
                prop_assert_eq!(&weights, &column.weights());
                prop_assert_eq!(weights.iter().sum::<i64>(), column.total);
            }
        }

        #[test]
        fn narrow_sum_and_add_match_the_plain_twins((weights, rows, step) in cases()) {
            let mut column = IntegerColumn::new(weights);
            if let Cells::Narrow { groups, .. } = &mut column.cells {
                let groups: &mut Vec<Group> = groups;
                let (mut plain, mut twin) = (groups.clone(), groups.clone());
                for row in &rows {
                    let (words, amount) = (RowWords::of_row(row), step.amount as i16);
                    prop_assert_eq!(scalar::narrow_sum(groups, words), plain::narrow_sum(groups, words));
                    plain::add_narrow(&mut plain, words, amount, step.is_signed);
                    scalar::add_narrow(&mut twin, words, amount, step.is_signed);
                    add_detected(groups, words, amount, step.is_signed);
                    prop_assert_eq!(&plain, &*groups);
                    prop_assert_eq!(&twin, &*groups);
                }
            }
        }

        #[test]
        fn integer_column_learns_a_block_as_row_by_row(
            (weights, rows, step) in cases(), from in 0_usize..64, mistakes_max in 1_u64..70,
        ) {
            let _switch = SWITCH.lock();
            let mut matrix = BitMatrix::new(weights.len());
            rows.iter().for_each(|row| matrix.push_row(row));
            let from = from % rows.len();
            let learnt = [Kernels::Scalar, Kernels::Detected].map(|chosen| {
                use_kernels(chosen);
                let mut column = IntegerColumn::new(weights.clone());
                let found = column.learn(matrix.block(0), from..rows.len(), step, mistakes_max);
                (found, column.weights(), column.total)
            });
            prop_assert_eq!(&learnt[0], &learnt[1]);
            let (end, mistaken, _) = learnt[0].0;
            let is_full = u64::from(mistaken.count_ones()) == mistakes_max;
            prop_assert!(end == rows.len() || is_full && mistaken >> (end - 1) == 1);
        }
    }

    /// More weights than are narrow for packed rows.
    #[test]
    fn listed_weights_decide_and_learn_as_wide_ones() {
        let n = NARROW_COLUMNS_MAX + 100;
        for largest in [40, i64::from(i16::MAX), i64::from(i16::MAX) + 1] {
            let mut weights: Vec<i64> = (0..n as i64).map(|j| j % 7 - 3).collect();
            weights[n - 1] = largest;
            let mut listed = IntegerColumn::listed(weights.clone());
            assert_eq!(
                matches!(listed.cells, Cells::Listed { .. }),
                largest <= i16::MAX.into()
            );
            let mut wide = IntegerColumn::new(weights);
            let mut row = vec![0; words_for(n)];
            let ids = [0, 3, 64, NARROW_COLUMNS_MAX as u32, n as u32 - 1];
            for id in ids.map(|id| id as usize) {
                row[id / WORD_BITS] |= 1 << (id % WORD_BITS);
            }
            for is_signed in [false, true] {
                let step = IntegerStep {
                    is_signed,
                    bias: Some(2),
                    amount: 1,
                    positives: 0,
                };
                assert_eq!(listed.score(&row, step), wide.score(&row, step));
                assert_eq!(
                    listed.sparse_score(&ids, step),
                    wide.sparse_score(&ids, step)
                );
                listed.add_sparse(&ids, 1, is_signed);
                wide.add_sparse(&ids, 1, is_signed);
                assert_eq!(listed, wide);
            }
            listed.add(&row, 5, true);
            wide.add(&row, 5, true);
            assert_eq!(listed, wide);
        }
    }

    #[test]
    fn weights_beyond_16_bits_are_kept() {
        let mut column = IntegerColumn::new(vec![i64::from(i16::MAX), -3]);
        column.add(&[0b01], 1, true);
        assert_eq!(column.weights(), [32_768, -4]);
        assert!(matches!(column.cells, Cells::Wide { .. }));
        assert_eq!(column, IntegerColumn::new(vec![32_768, -4]));
    }

    #[test]
    fn a_sum_of_many_large_weights_is_exact() {
        for n in [1 << 16, 70_000] {
            let mut matrix = BitMatrix::new(n);
            let mut row = vec![u64::MAX; words_for(n)];
            *row.last_mut().expect("a word") = last_word_mask(n);
            matrix.push_row(&row);
            let mut column = IntegerColumn::new(vec![i64::from(i16::MAX) - 1; n]);
            let step = IntegerStep {
                is_signed: true,
                bias: None,
                amount: 1,
                positives: 1,
            };
            assert_eq!(column.score(&row, step), n as i64 * 32_766);
            assert_eq!(column.learn(matrix.block(0), 0..1, step, 9), (1, 0, None));
        }
    }

    #[test]
    fn small_weights_stay_narrow_for_any_number_of_updates() {
        let mut column = IntegerColumn::new(vec![0; 3]);
        for round in 0..100_000_i64 {
            column.add(&[0b101], 1 - round % 2 * 2, true);
        }
        assert_eq!(column.weights(), [0, 0, 0]);
        assert!(matches!(column.cells, Cells::Narrow { .. }));
    }
}
