//! Matrix-vector products over packed bits in the signed reading: for every row the sum of the
//! columns' weights, each taken as it is where the bit is 1 and negated where it is 0; and for
//! every column the same sum of the rows' weights.
//!
//! Weights are whole numbers, so that sums are exact and one in every build, whatever the order in
//! which it adds. Four bits are looked up at a time: of the weights of four columns (or rows) there
//! are only sixteen signed sums, and sixteen numbers of 32 bits are one register of AVX-512, from
//! which one instruction takes the right one for each of sixteen rows. For the product over rows the
//! bits of four rows must first be brought together for each column; exchanging three of the bits
//! that number the rows with three that number the columns does that, and is a third of the work.

use super::kernels::{Kernels, kernels, multiversioned};
use super::{BLOCK_ROWS, BitBlock, WORD_BITS, scalar, words_for};

/// Weights of a block's rows may not exceed this: a sum over 64 rows then fits 31 bits.
pub const ROW_WEIGHT_MAX: i32 = 1 << 24;

/// Columns (or rows) whose signed sums stand in one table.
pub(super) const GROUP: usize = 4;
/// Tables of the columns of one word, or of the rows of one block.
pub(super) const WORD_TABLES: usize = WORD_BITS / GROUP;

/// The signed sums of four weights, by the four bits that give the signs.
pub(super) type SignedSums = [i32; 1 << GROUP];

/// One weight a column, laid out for [`row_sums`]: 20 bytes a column.
#[derive(Clone, Debug)]
pub struct ColumnWeights {
    weights: Vec<i32>,
    tables: Vec<[SignedSums; WORD_TABLES]>,
}

impl ColumnWeights {
    /// Weights of 0 for `n` columns.
    pub fn new(n: usize) -> Self {
        Self {
            weights: vec![0; n],
            tables: vec![[[0; 1 << GROUP]; WORD_TABLES]; words_for(n)],
        }
    }

    /// Puts one weight a column in the place of those held. Sums of all of them, signs as may be,
    /// should fit an `i32`: sums wrap.
    ///
    /// # Panics
    /// When they are not one a column.
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

/// The table of four weights.
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

/// For each row of a block the sum of the columns' weights, negated where its bit is 0. Places of
/// rows that the block does not hold are set to 0.
///
/// # Panics
/// When there are weights for another number of words.
pub fn row_sums(block: BitBlock, weights: &ColumnWeights, out: &mut [i32; BLOCK_ROWS]) {
    assert_eq!(weights.tables.len(), block.words_per_row(), "words a row");
    match kernels() {
        Kernels::Detected => row_sums_detected(block.words(), &weights.tables, out),
        Kernels::Scalar => scalar::row_sums(block, &weights.weights, out),
    }
    out[block.rows()..].fill(0);
}

/// Adds to each column's sum the weights of the rows of a block, negated where the row's bit is 0.
/// Weights of rows that the block does not hold are not looked at.
///
/// # Panics
/// When the sums are not as many as bits fit the words of a row, or a weight exceeds
/// [`ROW_WEIGHT_MAX`] either way.
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
        let columns = words.as_chunks::<BLOCK_ROWS>().0.iter();
        multiversion::target::match_target! {
            "x86_64+avx512f" => {
                let mut tables = [[0; 1 << GROUP]; WORD_TABLES];
                for (table, group) in tables.iter_mut().zip(weights.as_chunks().0) {
                    *table = signed_sums(group);
                }
                for (column, sums) in columns.zip(sums.chunks_mut(WORD_BITS)) {
                    add_each(sums, &super::avx512_products::sums_of_columns(column, &tables));
                }
            },
            _ => {
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

/// The same by loops that any instruction set can run.
mod plain {
    use super::{BLOCK_ROWS, GROUP, SignedSums, WORD_BITS, WORD_TABLES};

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
        // Twice the selected less all of them.
        sums.map(|sum| 2 * sum - all)
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
