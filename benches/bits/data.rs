//! Random data for the benchmarks of the kernels, the same in each run.

use halfspace_core::bits::{BLOCK_ROWS, BitMatrix, BlockBuffer, Lanes, last_word_mask, words_for};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

pub fn random_words(count: usize) -> Vec<u64> {
    let mut words = vec![0; count.next_multiple_of(8)];
    Lanes::from_seed(1).fill(&mut words);
    words.truncate(count);
    words
}

pub fn random_vector(n: usize, seed: u64) -> Vec<u64> {
    let mut words = vec![0; words_for(n).next_multiple_of(8)];
    Lanes::from_seed(seed).fill(&mut words);
    words.truncate(words_for(n));
    if let Some(last) = words.last_mut() {
        *last &= last_word_mask(n);
    }
    words
}

pub fn random_matrix(n: usize, rows: usize) -> BitMatrix {
    let (mut matrix, mut buffer, mut lanes) =
        (BitMatrix::new(n), BlockBuffer::new(n), Lanes::from_seed(2));
    while matrix.rows() < rows {
        buffer.draw(BLOCK_ROWS.min(rows - matrix.rows()), &mut lanes);
        matrix.push_block(buffer.as_block());
    }
    matrix
}

/// Rows of `n` bits, of which about `set` are 1.
pub fn rows_with(n: usize, set: usize) -> Vec<Vec<u64>> {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(7);
    let row = |_| {
        let mut row = vec![0; words_for(n)];
        for _ in 0..set {
            let j = (generator.next_u64() % n as u64) as usize;
            row[j / 64] |= 1 << (j % 64);
        }
        row
    };
    (0..4096).map(row).collect()
}
