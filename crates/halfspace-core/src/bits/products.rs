//! Matrix-vector products over packed bits in the signed reading, where bit 1 is +1 and bit 0 is -1.
//!
//! [`row_sums`] computes the signed sum of the column weights for every row, [`add_column_sums`] that of the row
//! weights for every column. Weights are integers, so the sums are exact and equal in every build.
//!
//! The kernels look up four bits at a time, because the weights of four columns (or rows) have only sixteen signed
//! sums. On AVX-512, sixteen 32-bit numbers fill one register, and one instruction looks up the sums of sixteen rows.
//! The column sums first need the bits of four rows side by side for each column; three instructions achieve this by
//! exchanging three digits of the row number with three digits of the column number.

use super::kernels::{Kernels, kernels, multiversioned};
use super::matrix::{BLOCK_ROWS, BitBlock};
use super::scalar;
use super::signed_sums::{GROUP, SignedSums, WORD_TABLES};
use super::vector::{WORD_BITS, words_for};

/// Largest magnitude of a row weight. The sum of 64 such weights stays within 2^30 and fits an `i32`.
pub const ROW_WEIGHT_MAX: i32 = 1 << 24;

/// One weight per column in the layout of [`row_sums`]. The layout takes 20 bytes per column.
#[derive(Clone, Debug)]
pub struct ColumnWeights {
    weights: Vec<i32>,
    tables: Vec<[SignedSums; WORD_TABLES]>,
}

impl ColumnWeights {
    /// Creates weights of 0 for `n` columns.
    pub fn new(n: usize) -> Self {
        Self {
            weights: vec![0; n],
            tables: vec![[[0; 1 << GROUP]; WORD_TABLES]; words_for(n)],
        }
    }

    /// Replaces all weights. The sums wrap at 32 bits, so every signed sum of all weights should fit an `i32`.
    ///
    /// # Panics
    /// Panics if the number of weights is not the number of columns.
    pub fn assign(&mut self, weights: &[i32]) {
        self.weights.copy_from_slice(weights);
        for (tables, weights) in self.tables.iter_mut().zip(weights.chunks(WORD_BITS)) {
            let mut all = [0; WORD_BITS];
            all[..weights.len()].copy_from_slice(weights);
            for (table, group) in tables.iter_mut().zip(all.as_chunks().0) {
                *table = signed_sums(group);
            }
        }
    }
}

/// Returns the table of four weights.
fn signed_sums(weights: &[i32; GROUP]) -> SignedSums {
    let mut sums = [0_i32; 1 << GROUP];
    for (bits, sum) in sums.iter_mut().enumerate() {
        for (place, &weight) in weights.iter().enumerate() {
            let signed = if bits >> place & 1 == 1 {
                weight
            } else {
                weight.wrapping_neg()
            };
            *sum = sum.wrapping_add(signed);
        }
    }
    sums
}

/// Writes for each row of a block the sum of the column weights, each negated where the bit of the row is 0.
/// Entries past the last row of the block are set to 0.
///
/// # Panics
/// Panics if the weights belong to another number of words per row.
pub fn row_sums(block: BitBlock, weights: &ColumnWeights, out: &mut [i32; BLOCK_ROWS]) {
    assert_eq!(weights.tables.len(), block.words_per_row(), "words a row");
    match kernels() {
        Kernels::Detected => row_sums_detected(block.words(), &weights.tables, out),
        Kernels::Scalar => scalar::row_sums(block, &weights.weights, out),
    }
    out[block.rows()..].fill(0);
}

/// Adds the weights of the rows of a block to the sum of each column, negated where the bit of the row is 0. Weights
/// past the last row of the block are ignored.
///
/// # Panics
/// Panics if the number of sums does not fit the number of words per row, or a weight exceeds [`ROW_WEIGHT_MAX`] in
/// magnitude.
pub fn add_column_sums(block: BitBlock, weights: &[i32; BLOCK_ROWS], sums: &mut [i64]) {
    assert_eq!(words_for(sums.len()), block.words_per_row(), "words a row");
    let mut held = [0; BLOCK_ROWS];
    held[..block.rows()].copy_from_slice(&weights[..block.rows()]);
    let limits = -ROW_WEIGHT_MAX..=ROW_WEIGHT_MAX;
    assert!(
        held.iter().all(|weight| limits.contains(weight)),
        "the weight of a row"
    );
    match kernels() {
        Kernels::Detected => add_column_sums_detected(block.words(), &held, sums),
        Kernels::Scalar => scalar::add_column_sums(block, &held, sums),
    }
}

multiversioned! {
    fn row_sums_detected(words: &[u64], tables: &[[SignedSums; WORD_TABLES]], out: &mut [i32; BLOCK_ROWS]) {
        multiversion::target::match_target! {
            "x86_64+avx512f" => super::avx512_products::row_sums(words, tables, out),
            _ => plain::row_sums(words, tables, out),
        }
    }
}

multiversioned! {
    fn add_column_sums_detected(words: &[u64], weights: &[i32; BLOCK_ROWS], sums: &mut [i64]) {
        multiversion::target::match_target! {
            "x86_64+avx512f+avx512vbmi+gfni" => super::avx512_products::add_column_sums(words, weights, sums),
            _ => {
                let columns = words.as_chunks::<BLOCK_ROWS>().0.iter();
                for (column, sums) in columns.zip(sums.chunks_mut(WORD_BITS)) {
                    add_each(sums, &plain::sums_of_columns(column, weights));
                }
            }
        }
    }
}

#[inline(always)]
fn add_each(sums: &mut [i64], found: &[i32; WORD_BITS]) {
    for (sum, &found) in sums.iter_mut().zip(found) {
        *sum += i64::from(found);
    }
}

/// The same kernels as plain loops for every instruction set.
mod plain {
    use super::super::matrix::BLOCK_ROWS;
    use super::super::vector::WORD_BITS;
    use super::{GROUP, SignedSums, WORD_TABLES};

    #[inline(always)]
    pub fn row_sums(
        words: &[u64],
        tables: &[[SignedSums; WORD_TABLES]],
        out: &mut [i32; BLOCK_ROWS],
    ) {
        out.fill(0);
        for (column, tables) in words.as_chunks::<BLOCK_ROWS>().0.iter().zip(tables) {
            for (place, table) in tables.iter().enumerate() {
                for (sum, bits) in out.iter_mut().zip(column) {
                    *sum = sum.wrapping_add(table[(bits >> (GROUP * place) & 15) as usize]);
                }
            }
        }
    }

    #[inline(always)]
    pub fn sums_of_columns(
        column: &[u64; BLOCK_ROWS],
        weights: &[i32; BLOCK_ROWS],
    ) -> [i32; WORD_BITS] {
        let mut sums = [0; WORD_BITS];
        let mut all = 0;
        for (&bits, &weight) in column.iter().zip(weights) {
            all += weight;
            let halves = [bits as u32, (bits >> u32::BITS) as u32];
            for (half, sums) in halves.into_iter().zip(sums.as_chunks_mut::<32>().0) {
                for (place, sum) in sums.iter_mut().enumerate() {
                    *sum += weight & -((half >> place & 1).cast_signed());
                }
            }
        }
        // The signed sum is twice the sum of the selected weights minus the sum of all weights.
        // Twice the sum can wrap where the difference still fits.
        sums.map(|sum: i32| sum.wrapping_mul(2).wrapping_sub(all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::last_word_mask;
    use proptest::prelude::*;

    prop_compose! {
        fn cases()(n in prop_oneof![0_usize..=70, 0_usize..=1100], rows in 1..=BLOCK_ROWS)(
            words in prop::collection::vec(any::<u64>(), words_for(n) * BLOCK_ROWS),
            columns in prop::collection::vec(any::<i32>(), n),
            weights in prop::collection::vec(-ROW_WEIGHT_MAX..=ROW_WEIGHT_MAX, BLOCK_ROWS),
            sums in prop::collection::vec(-1_i64 << 40..1 << 40, n),
            n in Just(n), rows in Just(rows),
        ) -> (Vec<u64>, usize, Vec<i32>, [i32; BLOCK_ROWS], Vec<i64>) {
            let mut words = words;
            if let Some(from) = words.len().checked_sub(BLOCK_ROWS) {
                words[from..].iter_mut().for_each(|word| *word &= last_word_mask(n));
            }
            for column in words.chunks_exact_mut(BLOCK_ROWS) {
                column[rows..].fill(0);
            }
            (words, rows, columns, weights.try_into().expect("64"), sums)
        }
    }

    proptest! {
        #[test]
        fn sums_of_rows_match_the_plain_twin((words, rows, columns, ..) in cases()) {
            let block = BitBlock::new(&words, rows);
            let mut weights = ColumnWeights::new(columns.len());
            weights.assign(&columns);
            let (mut expected, mut found) = ([7; BLOCK_ROWS], [8; BLOCK_ROWS]);
            scalar::row_sums(block, &columns, &mut expected);
            row_sums(block, &weights, &mut found);
            prop_assert_eq!(&expected[..rows], &found[..rows]);
            prop_assert!(found[rows..].iter().all(|&sum| sum == 0));
            plain::row_sums(&words, &weights.tables, &mut found);
            prop_assert_eq!(&expected[..rows], &found[..rows]);
        }

        #[test]
        fn sums_of_columns_match_the_plain_twin((words, rows, _, weights, sums) in cases()) {
            let block = BitBlock::new(&words, rows);
            let (mut expected, mut found, mut plain) = (sums.clone(), sums.clone(), sums);
            let mut held = weights;
            held[rows..].fill(0);
            scalar::add_column_sums(block, &held, &mut expected);
            add_column_sums(block, &weights, &mut found);
            prop_assert_eq!(&expected, &found);
            for (column, sums) in words.as_chunks().0.iter().zip(plain.chunks_mut(WORD_BITS)) {
                add_each(sums, &plain::sums_of_columns(column, &held));
            }
            prop_assert_eq!(expected, plain);
        }
    }

    #[test]
    fn the_largest_column_sums_do_not_overflow() {
        let column = [u64::MAX; BLOCK_ROWS];
        let sums = plain::sums_of_columns(&column, &[ROW_WEIGHT_MAX; BLOCK_ROWS]);
        assert_eq!(sums, [ROW_WEIGHT_MAX * BLOCK_ROWS as i32; WORD_BITS]);
    }

    #[test]
    fn sums_are_signed_by_the_bits() {
        let mut words = vec![0; BLOCK_ROWS];
        (words[0], words[1]) = (0b101, 0b011);
        let block = BitBlock::new(&words, 2);
        let mut weights = ColumnWeights::new(3);
        weights.assign(&[1, 10, 100]);
        let mut rows = [0; BLOCK_ROWS];
        row_sums(block, &weights, &mut rows);
        assert_eq!(rows[..3], [91, -89, 0]);
        let (mut sums, mut rows) = ([1_000, 0, 0], [9; BLOCK_ROWS]);
        (rows[0], rows[1]) = (1, 10);
        add_column_sums(block, &rows, &mut sums);
        assert_eq!(sums, [1_011, 9, -9]);
    }

    #[test]
    #[should_panic(expected = "the weight of a row")]
    fn a_weight_too_large_is_refused() {
        add_column_sums(
            BitBlock::new(&[0; 64], 1),
            &[ROW_WEIGHT_MAX + 1; 64],
            &mut [0],
        );
    }
}
