//! The vote of a batch of half-space examples on each coordinate of a binary hypothesis.

use std::f64::consts::PI;
use std::ops::Range;

use crate::bits::{BitVector, Tally};

use super::block::Block;

/// The largest batch: votes are counted in 32 bits.
pub const BATCH_SIZE_MAX: u64 = u32::MAX as u64;

/// The paper's batch sizes: `factor * pi * n * ln n` rounded up, at least 1.
pub fn default_batch_size(factor: f64, n: usize) -> u64 {
    let n = n as f64;
    let size = libm::ceil(factor * PI * n * libm::log(n)) as u64;
    size.clamp(1, BATCH_SIZE_MAX)
}

/// Counts, for each coordinate, in how many examples of a batch it differs from the hypothesis.
#[derive(Debug)]
pub struct Ballot {
    size: u64,
    awaits: u64,
    tally: Tally,
}

impl Ballot {
    /// A closed ballot for batches of `size` examples of `n` bits.
    pub fn new(n: usize, size: u64) -> Self {
        assert!((1..=BATCH_SIZE_MAX).contains(&size));
        Self {
            size,
            awaits: 0,
            tally: Tally::new(n),
        }
    }

    /// Opens the ballot with the example that the hypothesis got wrong.
    pub fn open(&mut self, block: &Block<'_>, row: usize) {
        self.tally.clear();
        self.tally.add(block.bits(), row..row + 1);
        self.awaits = self.size - 1;
    }

    /// Counts further examples of the batch.
    pub fn add(&mut self, block: &Block<'_>, rows: Range<usize>) {
        assert!(rows.len() as u64 <= self.awaits);
        self.awaits -= rows.len() as u64;
        self.tally.add(block.bits(), rows);
    }

    /// How many examples the batch still lacks.
    pub fn awaits(&self) -> u64 {
        self.awaits
    }

    /// The examples of a batch.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// For each coordinate, the examples that differ from `weights` there.
    pub fn votes(&mut self, weights: &BitVector) -> impl Iterator<Item = u64> {
        let size = self.size;
        let ones = self.tally.counts();
        ones.iter().enumerate().map(move |(j, &ones)| {
            // Where the weight is +1, the examples that differ are those with bit 0.
            if weights.get(j) {
                size - u64::from(ones)
            } else {
                u64::from(ones)
            }
        })
    }
}
