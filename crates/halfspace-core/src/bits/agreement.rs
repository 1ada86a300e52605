//! Hamming distances between a vector and the rows of a block, and the search for rows whose distance exceeds a
//! limit.

use std::ops::Range;

use super::kernels::{Kernels, kernels, multiversioned};
use super::matrix::{BLOCK_ROWS, BitBlock};
use super::scalar;

/// Writes the Hamming distance between each row and `vector` to `out`; the row and the vector agree in the other
/// coordinates. Entries past the last row of the block are set to 0.
///
/// # Panics
/// Panics if the length of `vector` is not the number of words per row.
pub fn disagreements(block: BitBlock, vector: &[u64], out: &mut [u32; BLOCK_ROWS]) {
    assert_eq!(vector.len(), block.words_per_row(), "words a row");
    match kernels() {
        Kernels::Detected => disagreements_detected(block.words(), vector, out),
        Kernels::Scalar => return scalar::disagreements(block, vector, out),
    }
    out[block.rows()..].fill(0);
}

/// Returns the mask of the rows r with `distance(r, vector) + bit r of extra > limit`. Bits past the last row
/// of the block are 0.
///
/// # Panics
/// Panics if the length of `vector` is not the number of words per row.
pub fn rows_over(block: BitBlock, vector: &[u64], limit: u32, extra: u64) -> u64 {
    assert_eq!(vector.len(), block.words_per_row(), "words a row");
    let mask = match kernels() {
        Kernels::Detected => rows_over_detected(block.words(), vector, limit, extra),
        Kernels::Scalar => return scalar::rows_over(block, vector, limit, extra),
    };
    match block.rows() {
        BLOCK_ROWS => mask,
        rows => mask & ((1 << rows) - 1),
    }
}

/// Finds the first row r within `rows` with `distance(r, vector) + bit r of extra > limit`.
///
/// # Panics
/// Panics if the length of `vector` is not the number of words per row, or `rows` extends past the last row
/// of the block.
#[inline]
pub fn first_over(
    block: BitBlock,
    rows: Range<usize>,
    vector: &[u64],
    limit: u32,
    extra: u64,
) -> Option<usize> {
    assert!(vector.len() == block.words_per_row() && rows.end <= block.rows());
    match kernels() {
        Kernels::Detected => {
            let row =
                first_over_detected(block.words(), rows.start, rows.end, vector, limit, extra);
            (row < rows.end).then_some(row)
        }
        Kernels::Scalar => scalar::first_over(block, rows, vector, limit, extra),
    }
}

multiversioned! {
    fn disagreements_detected(words: &[u64], vector: &[u64], out: &mut [u32; BLOCK_ROWS]) {
        multiversion::target::match_target! {
            "x86_64+avx512f+avx512vpopcntdq" => {
                use super::avx512::{GROUP_ROWS, for_each_group, narrow};
                let (out, _) = out.as_chunks_mut::<GROUP_ROWS>();
                for_each_group::<false>(words, vector, |group, distances| out[group] = narrow(distances));
            },
            _ => plain::disagreements(words, vector, out),
        }
    }
}

multiversioned! {
    fn rows_over_detected(words: &[u64], vector: &[u64], limit: u32, extra: u64) -> u64 {
        multiversion::target::match_target! {
            "x86_64+avx512f+avx512vpopcntdq" => {
                use super::avx512::{GROUP_ROWS, for_each_group, mask_over};
                let mut mask = 0;
                for_each_group::<false>(words, vector, |group, distances| {
                    let base = group * GROUP_ROWS;
                    mask |= mask_over(distances, limit, extra >> base, u8::MAX) << base;
                });
                mask
            },
            _ => plain::rows_over(words, vector, limit, extra),
        }
    }
}

multiversioned! {
    /// Returns the first row over the limit, or a number of at least `end` if there is none.
    fn first_over_detected(
        words: &[u64],
        start: usize,
        end: usize,
        vector: &[u64],
        limit: u32,
        extra: u64,
    ) -> usize {
        multiversion::target::match_target! {
            "x86_64+avx512f+avx512vpopcntdq" => {
                use super::avx512::{GROUP_ROWS, distances_of_group, mask_over};
                let mut row = start;
                while row < end {
                    // The group may contain rows before the start and past the end. Computing and masking
                    // these rows costs less than a loop whose length the processor cannot predict.
                    let base = row.min(BLOCK_ROWS - GROUP_ROWS);
                    let distances = match vector {
                        // One word per row needs no loop over words. This loop would cost as much as the rows
                        // themselves.
                        [_] => distances_of_group(&words[..BLOCK_ROWS], base, &vector[..1]),
                        _ => distances_of_group(words, base, vector),
                    };
                    let wanted = u8::MAX << (row - base);
                    let mask = mask_over(distances, limit, extra >> base, wanted);
                    if mask != 0 {
                        return base + mask.trailing_zeros() as usize;
                    }
                    row = base + GROUP_ROWS;
                }
                end
            },
            _ => plain::first_over(words, start, end, vector, limit, extra),
        }
    }
}

/// The same kernels as plain loops for every instruction set.
mod plain {
    use super::super::matrix::BLOCK_ROWS;

    /// Rows that [`first_over`] counts together when a row has several words: enough to hide the latency of a
    /// population count, few enough to waste little work when one of the first rows is a hit.
    const GROUP_ROWS: usize = 4;

    #[inline(always)]
    pub fn disagreements(words: &[u64], vector: &[u64], out: &mut [u32; BLOCK_ROWS]) {
        out.fill(0);
        let (columns, _) = words.as_chunks::<BLOCK_ROWS>();
        for (column, &word) in columns.iter().zip(vector) {
            for (out, &bits) in out.iter_mut().zip(column) {
                *out += (bits ^ word).count_ones();
            }
        }
    }

    #[inline(always)]
    pub fn rows_over(words: &[u64], vector: &[u64], limit: u32, extra: u64) -> u64 {
        let mut distances = [0; BLOCK_ROWS];
        disagreements(words, vector, &mut distances);
        let (mut over, mut at_least) = (0, 0);
        for (row, &distance) in distances.iter().enumerate() {
            over |= u64::from(distance > limit) << row;
            at_least |= u64::from(distance >= limit) << row;
        }
        over | at_least & extra
    }

    #[inline(always)]
    pub fn first_over(
        words: &[u64],
        start: usize,
        end: usize,
        vector: &[u64],
        limit: u32,
        extra: u64,
    ) -> usize {
        let is_over = |distance: u32, row: usize| {
            u64::from(distance) + (extra >> (row % BLOCK_ROWS) & 1) > u64::from(limit)
        };
        let mut row = start;
        if let ([word], Some(column)) = (vector, words.first_chunk::<BLOCK_ROWS>()) {
            while row < end && !is_over((column[row % BLOCK_ROWS] ^ word).count_ones(), row) {
                row += 1;
            }
            return row;
        }
        while row < end {
            let base = row.min(BLOCK_ROWS - GROUP_ROWS);
            let mut distances = [0; GROUP_ROWS];
            for (column, &word) in words.chunks_exact(BLOCK_ROWS).zip(vector) {
                for (distance, &bits) in distances.iter_mut().zip(&column[base..]) {
                    *distance += (bits ^ word).count_ones();
                }
            }
            for (place, &distance) in distances.iter().enumerate().skip(row - base) {
                if is_over(distance, base + place) {
                    return base + place;
                }
            }
            row = base + GROUP_ROWS;
        }
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::{last_word_mask, words_for};
    use proptest::prelude::*;

    prop_compose! {
        fn cases()(n in prop_oneof![0_usize..=70, 0_usize..=1100], rows in 1..=BLOCK_ROWS)(
            words in prop::collection::vec(any::<u64>(), words_for(n) * BLOCK_ROWS),
            vector in prop::collection::vec(any::<u64>(), words_for(n)),
            n in Just(n), rows in Just(rows), ends in (0..=rows, 0..=rows), extra in any::<u64>(),
            // Random rows differ in about half the bits, so a limit near n / 2 separates them.
            limit in prop_oneof![
                (0..=n as u32),
                (n as u32 / 2).saturating_sub(3)..=n as u32 / 2 + 3,
                Just(u32::MAX)
            ],
        ) -> (Vec<u64>, usize, Vec<u64>, Range<usize>, u32, u64) {
            let (mut words, mut vector) = (words, vector);
            if let Some(last) = vector.last_mut() {
                *last &= last_word_mask(n);
                let column = words.len() - BLOCK_ROWS;
                words[column..].iter_mut().for_each(|word| *word &= last_word_mask(n));
            }
            for column in words.chunks_exact_mut(BLOCK_ROWS) {
                column[rows..].fill(0);
            }
            (words, rows, vector, ends.0.min(ends.1)..ends.0.max(ends.1), limit, extra)
        }
    }

    proptest! {
        #[test]
        fn distances_match_the_plain_twin((words, rows, vector, ..) in cases()) {
            let block = BitBlock::new(&words, rows);
            let (mut expected, mut found) = ([7; BLOCK_ROWS], [8; BLOCK_ROWS]);
            scalar::disagreements(block, &vector, &mut expected);
            disagreements(block, &vector, &mut found);
            prop_assert_eq!(expected, found);
            plain::disagreements(&words, &vector, &mut found);
            prop_assert_eq!(&expected[..rows], &found[..rows]);
        }

        #[test]
        fn masks_match_the_plain_twin((words, rows, vector, _, limit, extra) in cases()) {
            let block = BitBlock::new(&words, rows);
            let expected = scalar::rows_over(block, &vector, limit, extra);
            prop_assert_eq!(expected, rows_over(block, &vector, limit, extra));
            let plain = plain::rows_over(&words, &vector, limit, extra);
            prop_assert_eq!(expected, plain & (u64::MAX >> (BLOCK_ROWS - rows)));
        }

        #[test]
        fn first_over_matches_the_plain_twin((words, rows, vector, range, limit, extra) in cases()) {
            let block = BitBlock::new(&words, rows);
            let expected = scalar::first_over(block, range.clone(), &vector, limit, extra);
            let found = first_over(block, range.clone(), &vector, limit, extra);
            prop_assert_eq!(expected, found);
            let plain = plain::first_over(&words, range.start, range.end, &vector, limit, extra);
            prop_assert_eq!(expected, (plain < range.end).then_some(plain));
        }
    }

    #[test]
    #[should_panic]
    fn first_over_refuses_rows_past_the_block() {
        first_over(BitBlock::new(&[0; 64], 10), 0..11, &[0], 0, 0);
    }
}
