//! Benchmarks of the two matrix products of message passing over the bits of a sample.

use std::hint::black_box;

use halfspace_core::bits::{BLOCK_ROWS, ColumnWeights, add_column_sums, row_sums};

use super::compare;
use super::data::{random_matrix, random_vector};
use super::rows::fold;

/// Compares each product with a read of the same words. The ratio is the fraction of the read bandwidth.
pub fn products() {
    for (place, n, bytes) in [
        ("L2", 1_001, 512 << 10),
        ("DRAM", 1_001, 256 << 20),
        ("DRAM", 10_001, 256 << 20),
    ] {
        let matrix = random_matrix(n, bytes * 8 / n.next_multiple_of(64));
        let words = matrix.words();
        let mut weights = ColumnWeights::new(n);
        let each: Vec<i32> = random_vector(64 * n, 4)
            .iter()
            .map(|word| (word >> 48) as i32)
            .collect();
        weights.assign(&each[..n]);
        let mut rows = [0; BLOCK_ROWS];
        compare(
            &format!("row_sums n={n} {place}, a byte / read bandwidth"),
            None,
            8 * words.len(),
            || {
                for block in matrix.blocks() {
                    row_sums(block, &weights, &mut rows);
                    black_box(&rows);
                }
            },
            || {
                black_box(fold(black_box(&words)));
            },
        );
        let (amounts, mut sums) = ([12_345; BLOCK_ROWS], vec![0; n]);
        compare(
            &format!("add_column_sums n={n} {place}, a byte / read bandwidth"),
            None,
            8 * words.len(),
            || {
                for block in matrix.blocks() {
                    add_column_sums(block, black_box(&amounts), &mut sums);
                }
                black_box(&sums);
            },
            || {
                black_box(fold(black_box(&words)));
            },
        );
        compare(
            &format!("both n={n} {place}, a byte / read bandwidth"),
            None,
            8 * words.len(),
            || {
                for block in matrix.blocks() {
                    row_sums(block, &weights, &mut rows);
                    add_column_sums(block, &rows.map(|sum| sum & 0xffff), &mut sums);
                }
                black_box(&sums);
            },
            || {
                black_box(fold(black_box(&words)));
            },
        );
    }
}
