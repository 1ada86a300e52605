//! Signed sums of powers of two, where the exponent of a row is the number of coordinates that it shares with a
//! vector.
//!
//! These sums are the scores of a kernel over conjunctions, and they are exact. A power 2^e adds 2^(e % [`LIMB_BITS`])
//! to limb e / [`LIMB_BITS`]. A limb has eight lanes, which fill one AVX-512 register.

use std::ops::Range;

use super::kernels::{Kernels, kernels, multiversioned};
use super::limbs::{LIMB_BITS, Limb, Shared};
use super::matrix::{BLOCK_ROWS, BitMatrix};
use super::scalar;

/// Returns limbs of 0 for rows of `n` bits.
pub fn limbs(n: usize) -> Vec<Limb> {
    vec![[0; 8]; n / LIMB_BITS + 1]
}

/// Adds the power of each of `rows` to the limbs, or subtracts it if the label of the row is 0. `positives` holds one
/// word of labels per block. The limbs have space for 2^20 - 1 powers.
///
/// # Panics
/// Panics if the length of `vector`, `positives` or `limbs` does not fit the matrix, or `rows` extends past its end.
pub fn add_powers(
    matrix: &BitMatrix,
    rows: Range<usize>,
    positives: &[u64],
    vector: &[u64],
    shared: Shared,
    limbs: &mut [Limb],
) {
    assert_eq!(vector.len(), matrix.words_per_row(), "words a row");
    assert_eq!(limbs.len(), matrix.n() / LIMB_BITS + 1, "limbs");
    assert!(rows.end <= matrix.rows() && positives.len() * BLOCK_ROWS >= rows.end);
    match kernels() {
        Kernels::Detected => add_powers_detected(matrix, rows, positives, vector, shared, limbs),
        Kernels::Scalar => scalar::add_powers(matrix, rows, positives, vector, shared, limbs),
    }
}

/// Calls `take` once per block that contains some of `rows`, with its index and the mask of these rows, which lie
/// side by side.
#[inline(always)]
pub(crate) fn for_each_block(rows: Range<usize>, mut take: impl FnMut(usize, u64)) {
    for index in rows.start / BLOCK_ROWS..rows.end.div_ceil(BLOCK_ROWS) {
        let place = |row: usize| row.saturating_sub(index * BLOCK_ROWS).min(BLOCK_ROWS) as u32;
        let below = |row| 1_u64.unbounded_shl(place(row)).wrapping_sub(1);
        take(index, below(rows.end) & !below(rows.start));
    }
}

multiversioned! {
    fn add_powers_detected(
        matrix: &BitMatrix,
        rows: Range<usize>,
        positives: &[u64],
        vector: &[u64],
        shared: Shared,
        limbs: &mut [Limb],
    ) {
        for_each_block(rows, |index, taken| {
            let (words, labels) = (matrix.block(index).words(), positives[index]);
            let labels = [labels, taken];
            multiversion::target::match_target! {
                "x86_64+avx512f+avx512vpopcntdq" => match shared {
                    Shared::Equal => super::avx512::add_powers::<false>(words, labels, vector, matrix.n(), limbs),
                    Shared::Ones => super::avx512::add_powers::<true>(words, labels, vector, matrix.n(), limbs),
                },
                _ => plain::add_powers(words, labels, vector, matrix.n(), shared, limbs),
            }
        });
    }
}

/// The same kernel as a plain loop for every instruction set.
mod plain {
    use super::super::limbs::{LIMB_BITS, Limb, Shared};
    use super::super::matrix::BLOCK_ROWS;

    #[inline(always)]
    pub fn add_powers(
        words: &[u64],
        [positives, taken]: [u64; 2],
        vector: &[u64],
        n: usize,
        shared: Shared,
        limbs: &mut [Limb],
    ) {
        let mut counts = [0_u32; BLOCK_ROWS];
        for (column, &word) in words.as_chunks::<BLOCK_ROWS>().0.iter().zip(vector) {
            for (count, &bits) in counts.iter_mut().zip(column) {
                let counted = match shared {
                    Shared::Equal => bits ^ word,
                    Shared::Ones => bits & word,
                };
                *count += counted.count_ones();
            }
        }
        // Often these rows are few.
        let rows = taken.trailing_zeros() as usize..BLOCK_ROWS - taken.leading_zeros() as usize;
        for row in rows {
            let exponent = match shared {
                Shared::Equal => n - counts[row] as usize,
                Shared::Ones => counts[row] as usize,
            };
            let sign = (positives >> row & 1).cast_signed() * 2 - 1;
            limbs[exponent / LIMB_BITS][row % 8] += sign << (exponent % LIMB_BITS);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::{BitVector, words_for};
    use proptest::prelude::*;

    prop_compose! {
        fn cases()(n in prop_oneof![0_usize..=70, 0_usize..=1100], count in 1_usize..200)(
            drawn in prop::collection::vec(prop::collection::vec(any::<u64>(), words_for(n)), count),
            vector in prop::collection::vec(any::<u64>(), words_for(n)),
            shapes in prop::collection::vec(0_u8..4, count),
            positives in prop::collection::vec(any::<u64>(), count.div_ceil(BLOCK_ROWS)),
            ends in (0..=count, 0..=count), n in Just(n), is_equal in any::<bool>(),
        ) -> (BitMatrix, Range<usize>, Vec<u64>, Vec<u64>, Shared) {
            let mut matrix = BitMatrix::new(n);
            // Some rows are near the vector and some are far, so powers reach every limb.
            for (words, shape) in drawn.iter().zip(shapes) {
                let words = words.iter().zip(&vector).map(|(word, other)| match shape {
                    0 => *word,
                    1 => *other,
                    2 => !other,
                    _ => other ^ (word & word >> 7 & word >> 21),
                });
                matrix.push_row(BitVector::from_words(n, words.collect()).words());
            }
            let vector = BitVector::from_words(n, vector).words().to_vec();
            let shared = if is_equal { Shared::Equal } else { Shared::Ones };
            (matrix, ends.0.min(ends.1)..ends.0.max(ends.1), positives, vector, shared)
        }
    }

    proptest! {
        #[test]
        fn sums_of_powers_match_the_plain_twin((matrix, rows, positives, vector, shared) in cases()) {
            let n = matrix.n();
            let [mut expected, mut found, mut looped] = [limbs(n), limbs(n), limbs(n)];
            for sums in [&mut expected, &mut found, &mut looped] {
                sums[0][0] = -3;
            }
            scalar::add_powers(&matrix, rows.clone(), &positives, &vector, shared, &mut expected);
            add_powers(&matrix, rows.clone(), &positives, &vector, shared, &mut found);
            prop_assert_eq!(&expected, &found);
            for_each_block(rows, |index, taken| {
                let (words, labels) = (matrix.block(index).words(), positives[index]);
                let labels = [labels, taken];
                plain::add_powers(words, labels, &vector, n, shared, &mut looped);
            });
            prop_assert_eq!(expected, looped);
        }
    }

    #[test]
    fn add_powers_adds_each_power_to_its_limb() {
        let mut matrix = BitMatrix::new(90);
        for row in [[u64::MAX, (1 << 26) - 1], [u64::MAX, (1 << 26) - 2], [0, 0]] {
            matrix.push_row(&row);
        }
        let mut found = limbs(90);
        let vector = [u64::MAX, (1 << 26) - 1];
        add_powers(&matrix, 0..3, &[0b101], &vector, Shared::Equal, &mut found);
        // 2^90 = 2^2 * 2^88 and 2^89 = 2^1 * 2^88.
        let expected = [[0, 0, 1, 0, 0, 0, 0, 0], [0; 8], [4, -2, 0, 0, 0, 0, 0, 0]];
        assert_eq!(found, expected);
        add_powers(&matrix, 1..3, &[0b010], &vector, Shared::Ones, &mut found);
        assert_eq!(found, [[0; 8], [0; 8], [4, 0, 0, 0, 0, 0, 0, 0]]);
    }
}
