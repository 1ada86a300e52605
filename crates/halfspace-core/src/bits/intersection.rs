//! The number of coordinates in which a row of a block and a vector are both 1.

use super::kernels::{Kernels, kernels, multiversioned};
use super::matrix::{BLOCK_ROWS, BitBlock};
use super::scalar;

/// Writes for each row the number of coordinates in which the row and `vector` are both 1. Entries past the
/// last row of the block are set to 0.
///
/// # Panics
/// Panics if the length of `vector` is not the number of words per row.
pub fn intersections(block: BitBlock, vector: &[u64], out: &mut [u32; BLOCK_ROWS]) {
    assert_eq!(vector.len(), block.words_per_row(), "words a row");
    match kernels() {
        Kernels::Detected => intersections_detected(block.words(), vector, out),
        Kernels::Scalar => return scalar::intersections(block, vector, out),
    }
    // The layout guarantees zeros past the last row, but the words of a caller may break this rule.
    out[block.rows()..].fill(0);
}

multiversioned! {
    fn intersections_detected(words: &[u64], vector: &[u64], out: &mut [u32; BLOCK_ROWS]) {
        multiversion::target::match_target! {
            "x86_64+avx512f+avx512vpopcntdq" => {
                use super::avx512::{GROUP_ROWS, for_each_group, narrow};
                let (out, _) = out.as_chunks_mut::<GROUP_ROWS>();
                for_each_group::<true>(words, vector, |group, counts| out[group] = narrow(counts));
            },
            _ => plain(words, vector, out),
        }
    }
}

/// The same kernel as a plain loop for every instruction set.
#[inline(always)]
fn plain(words: &[u64], vector: &[u64], out: &mut [u32; BLOCK_ROWS]) {
    out.fill(0);
    let (columns, _) = words.as_chunks::<BLOCK_ROWS>();
    for (column, &word) in columns.iter().zip(vector) {
        for (out, &bits) in out.iter_mut().zip(column) {
            *out += (bits & word).count_ones();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::{BlockBuffer, Lanes, words_for};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn intersections_match_the_plain_twin(
            n in prop_oneof![1_usize..=70, 1_usize..=1100], rows in 1..=BLOCK_ROWS,
            seed in any::<u64>(), density in prop_oneof![Just(1_u32 << 31), any::<u32>()],
        ) {
            let mut lanes = Lanes::from_seed(seed);
            let (mut buffer, mut other) = (BlockBuffer::new(n), BlockBuffer::new(n));
            buffer.draw_biased(rows, density, &mut lanes);
            other.draw_biased(1, density, &mut lanes);
            let (block, mut vector) = (buffer.as_block(), vec![0; words_for(n)]);
            other.as_block().copy_row(0, &mut vector);
            let (mut expected, mut found) = ([7; BLOCK_ROWS], [8; BLOCK_ROWS]);
            scalar::intersections(block, &vector, &mut expected);
            intersections(block, &vector, &mut found);
            prop_assert_eq!(expected, found);
            plain(block.words(), &vector, &mut found);
            prop_assert_eq!(expected, found);
        }
    }

    #[test]
    fn intersections_ignore_ones_past_the_last_row() {
        let (block, mut out) = (BitBlock::new(&[!0; 128], 3), [9; BLOCK_ROWS]);
        intersections(block, &[0b1011, 1 << 63], &mut out);
        assert_eq!(out[..3], [4; 3]);
        assert_eq!(out[3..], [0; 61]);
    }
}
