//! Flips one coordinate of a vector, drawn among those in which it differs from a row of a block.
//!
//! The draw is unbiased: D. Lemire, "Fast random integer generation in an interval", ACM Transactions on Modeling and
//! Computer Simulation 29(1), 2019.

use super::kernels::{Kernels, kernels, multiversioned};
use super::matrix::{BLOCK_ROWS, BitBlock};
use super::scalar;
use super::select::select_in_word;
use super::vector::BitVector;

/// Inverts one coordinate of `vector` among those in which it differs from row `row`. If `draw` is a uniform word,
/// each of them is equally likely.
///
/// Returns `false` and changes nothing if `draw` is one of the fewer than n in 2^64 words that would bias the choice.
/// The caller must then draw again.
///
/// # Panics
/// Panics if the vector equals the row, the number of words differs, or the block has no row `row`.
#[inline]
#[must_use]
pub fn flip_difference(vector: &mut BitVector, block: BitBlock, row: usize, draw: u64) -> bool {
    let vector = vector.words_mut();
    assert!(vector.len() == block.words_per_row() && row < block.rows());
    match kernels() {
        Kernels::Detected => flip_detected(vector, block.words(), row, draw),
        Kernels::Scalar => scalar::flip_difference(vector, block, row, draw),
    }
}

multiversioned! {
    /// A learner waits for this function between any two rows that it misclassifies, so what counts is the latency
    /// from the old words to the new ones.
    fn flip_detected(vector: &mut [u64], words: &[u64], row: usize, draw: u64) -> bool {
        let differing = |index: usize, word: u64| words[index * BLOCK_ROWS + row] ^ word;
        let counts = vector.iter().enumerate().map(|(i, &word)| differing(i, word).count_ones());
        let Some(mut rank) = scalar::drawn_below(counts.map(u64::from).sum(), draw) else {
            return false;
        };
        for (index, word) in vector.iter_mut().enumerate() {
            let differing = differing(index, *word);
            let count = u64::from(differing.count_ones());
            if rank < count {
                *word ^= multiversion::target::match_target! {
                    // Processors with AVX-512 deposit bits in a few cycles. Some older processors need
                    // hundreds, so they use the other arm.
                    "x86_64+avx512f+bmi2" => std::arch::x86_64::_pdep_u64(1 << rank, differing),
                    _ => select_in_word(differing, rank).map_or(0, |place| 1 << place),
                };
                break;
            }
            rank -= count;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::{BlockBuffer, Lanes};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn flip_difference_inverts_the_same_bit_as_the_plain_twin(
            n in 1_usize..300, rows in 1..=BLOCK_ROWS, seed in any::<u64>(),
            draws in prop::collection::vec(any::<u64>(), 1..30),
        ) {
            let mut buffer = BlockBuffer::new(n);
            buffer.draw(rows, &mut Lanes::from_seed(seed));
            let (block, row) = (buffer.as_block(), seed as usize % rows);
            let mut found = BitVector::from_words(n, vec![seed; n.div_ceil(64)]);
            let distance = |vector: &BitVector| {
                let mut distances = [0; BLOCK_ROWS];
                crate::bits::disagreements(block, vector.words(), &mut distances);
                distances[row]
            };
            for draw in draws.into_iter().chain([0, u64::MAX]) {
                let before = found.clone();
                if distance(&before) == 0 {
                    break;
                }
                let mut expected = before.clone();
                let is_done = flip_difference(&mut found, block, row, draw);
                let twin = scalar::flip_difference(expected.words_mut(), block, row, draw);
                prop_assert_eq!(is_done, twin);
                prop_assert_eq!(&found, &expected);
                let nearer = u32::from(is_done);
                prop_assert_eq!(distance(&found) + nearer, distance(&before));
                prop_assert_eq!(found.hamming_distance(&before), nearer as usize);
            }
        }
    }

    /// The test enumerates words of 8 bits instead of 64, with the same arithmetic.
    #[test]
    fn drawn_below_gives_every_number_the_same_chance() {
        for count in 1..=255_u64 {
            let mut drawn = vec![0; count as usize];
            for draw in 0..256 {
                let (product, remainder) = (draw * count, 256 % count);
                if product % 256 >= remainder {
                    drawn[(product / 256) as usize] += 1;
                }
            }
            assert!(drawn.iter().all(|&times| times == 256 / count), "{count}");
        }
        // Each of three numbers has (2^64 - 1) / 3 words, and one word is left over.
        assert_eq!(scalar::drawn_below(3, 0), None);
        assert_eq!(scalar::drawn_below(3, 1), Some(0));
        assert_eq!(scalar::drawn_below(3, u64::MAX / 3), Some(0));
        assert_eq!(scalar::drawn_below(3, u64::MAX / 3 + 1), Some(1));
        assert_eq!(scalar::drawn_below(3, u64::MAX), Some(2));
        assert_eq!(scalar::drawn_below(1 << 40, 0), Some(0));
    }

    #[test]
    #[should_panic(expected = "nothing to draw from")]
    fn flip_difference_refuses_equal_rows() {
        let _ = flip_difference(&mut BitVector::zeros(3), BitBlock::new(&[0; 64], 4), 3, 2);
    }
}
