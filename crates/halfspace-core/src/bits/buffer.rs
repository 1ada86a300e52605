//! An owned block of rows that is filled again and again, with rows of a matrix or with random ones. Its rows can be
//! negated or filtered, for example against a target.

use super::fill::Lanes;
use super::kernels::{Kernels, kernels, multiversioned};
use super::matrix::{BLOCK_ROWS, BitBlock};
use super::scalar;
use super::vector::{last_word_mask, words_for};

/// Up to 64 rows of `n` bits in the block layout.
///
/// Invariant: bits past `n` and rows past the last are zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockBuffer {
    n: usize,
    rows: usize,
    words: Vec<u64>,
}

impl BlockBuffer {
    /// Creates a buffer without rows.
    pub fn new(n: usize) -> Self {
        Self {
            n,
            rows: 0,
            words: vec![0; words_for(n) * BLOCK_ROWS],
        }
    }

    /// Returns the number of bits per row.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Returns the number of rows, at most 64.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the rows in the form that the kernels read.
    pub fn as_block(&self) -> BitBlock<'_> {
        BitBlock::new(&self.words, self.rows)
    }

    /// Replaces the contents by `rows` rows of independent fair bits. Even for fewer rows, as many words are drawn
    /// from `lanes` as for a whole block.
    ///
    /// # Panics
    /// Panics if `rows` exceeds 64.
    pub fn draw(&mut self, rows: usize, lanes: &mut Lanes) {
        assert!(rows <= BLOCK_ROWS);
        lanes.fill(&mut self.words);
        self.rows = rows;
        self.clean();
    }

    /// Replaces the contents by `rows` rows of independent bits, each 1 with probability `density / 2^32`.
    ///
    /// # Panics
    /// Panics if `rows` exceeds 64.
    pub fn draw_biased(&mut self, rows: usize, density: u32, lanes: &mut Lanes) {
        assert!(rows <= BLOCK_ROWS);
        let mut fresh = vec![0; self.words.len()];
        self.words.fill(0);
        // The loop runs from the last binary place of the density to the first. Each place halves the
        // probability so far and adds a half where the place is 1.
        for place in 0..u32::BITS {
            lanes.fill(&mut fresh);
            let add = density >> place & 1 == 1;
            for (word, fresh) in self.words.iter_mut().zip(&fresh) {
                *word = if add { *word | fresh } else { *word & fresh };
            }
        }
        self.rows = rows;
        self.clean();
    }

    /// Replaces the contents by a copy of `block`.
    ///
    /// # Panics
    /// Panics if the number of words per row differs.
    pub fn copy_block(&mut self, block: BitBlock<'_>) {
        self.words.copy_from_slice(block.words());
        self.rows = block.rows();
    }

    pub fn clear(&mut self) {
        self.words.fill(0);
        self.rows = 0;
    }

    /// Appends row `row` of `block`. Memory access dominates this copy, so one build serves all machines.
    ///
    /// # Panics
    /// Panics if the buffer holds 64 rows, the block has no row `row`, or the number of words per row
    /// differs.
    pub fn push_row(&mut self, block: BitBlock<'_>, row: usize) {
        assert!(self.rows < BLOCK_ROWS && row < block.rows());
        assert_eq!(block.words().len(), self.words.len(), "words a row");
        let from = block.words()[row..].iter().step_by(BLOCK_ROWS);
        let to = self.words[self.rows..].iter_mut().step_by(BLOCK_ROWS);
        for (to, &from) in to.zip(from) {
            *to = from;
        }
        self.rows += 1;
    }

    /// Appends a row of packed words, without bits past the last.
    ///
    /// # Panics
    /// Panics if the buffer holds 64 rows, or the number of words per row differs.
    pub fn push_words(&mut self, row: &[u64]) {
        assert!(self.rows < BLOCK_ROWS);
        assert_eq!(row.len() * BLOCK_ROWS, self.words.len(), "words a row");
        let to = self.words[self.rows..].iter_mut().step_by(BLOCK_ROWS);
        for (to, &from) in to.zip(row) {
            *to = from;
        }
        self.rows += 1;
    }

    /// Inverts all bits of the rows in `mask`. Bits past the last row are ignored.
    pub fn reflect_rows(&mut self, mask: u64) {
        let mask = mask & self.held();
        let last_word = last_word_mask(self.n);
        match kernels() {
            Kernels::Detected => reflect_rows_detected(&mut self.words, mask, last_word),
            Kernels::Scalar => scalar::reflect_rows(&mut self.words, mask, last_word),
        }
    }

    /// Keeps the rows in `mask` in their order and closes the gaps.
    pub fn retain_rows(&mut self, mask: u64) {
        let mask = mask & self.held();
        if mask == self.held() {
            return;
        }
        for column in self.words.as_chunks_mut::<BLOCK_ROWS>().0 {
            let mut kept = 0;
            // Every row is copied without a branch. The next row overwrites the copy of a row that is not
            // kept.
            for row in 0..BLOCK_ROWS {
                column[kept] = column[row];
                kept += (mask >> row & 1) as usize;
            }
            column[kept..].fill(0);
        }
        self.rows = mask.count_ones() as usize;
    }

    /// The mask of all rows of the buffer.
    fn held(&self) -> u64 {
        match self.rows {
            BLOCK_ROWS => u64::MAX,
            rows => (1 << rows) - 1,
        }
    }

    fn clean(&mut self) {
        let columns = self.words.as_chunks_mut::<BLOCK_ROWS>().0;
        if let Some(last) = columns.last_mut() {
            let mask = last_word_mask(self.n);
            last.iter_mut().for_each(|word| *word &= mask);
        }
        for column in columns {
            column[self.rows..].fill(0);
        }
    }
}

multiversioned! {
    fn reflect_rows_detected(words: &mut [u64], mask: u64, last_word: u64) {
        let mut selected = [0; BLOCK_ROWS];
        for (row, selected) in selected.iter_mut().enumerate() {
            *selected = (mask >> row & 1).wrapping_neg();
        }
        let columns = words.as_chunks_mut::<BLOCK_ROWS>().0;
        let Some((last, columns)) = columns.split_last_mut() else { return };
        for column in columns {
            for (bits, &selected) in column.iter_mut().zip(&selected) {
                *bits ^= selected;
            }
        }
        for (bits, &selected) in last.iter_mut().zip(&selected) {
            *bits ^= selected & last_word;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::{BitMatrix, BitVector};
    use proptest::prelude::*;

    fn drawn(n: usize, rows: usize, seed: u64) -> BlockBuffer {
        let mut buffer = BlockBuffer::new(n);
        buffer.draw(rows, &mut Lanes::from_seed(seed));
        buffer
    }

    fn row(buffer: &BlockBuffer, row: usize) -> Vec<u64> {
        let mut words = vec![0; words_for(buffer.n())];
        buffer.as_block().copy_row(row, &mut words);
        words
    }

    fn is_clean(buffer: &BlockBuffer) -> bool {
        buffer.as_block().is_clean(buffer.n())
    }

    proptest! {
        #[test]
        fn masked_rows_are_inverted_and_the_rest_stays(
            n in 1_usize..300, rows in 1..=BLOCK_ROWS, seed in any::<u64>(), mask in any::<u64>(),
        ) {
            let before = drawn(n, rows, seed);
            let mut after = before.clone();
            after.reflect_rows(mask);
            prop_assert!(is_clean(&before) && is_clean(&after));
            let ones = BitVector::from_words(n, vec![u64::MAX; words_for(n)]);
            for r in 0..rows {
                let mut expected = row(&before, r);
                if mask >> r & 1 == 1 {
                    expected.iter_mut().zip(ones.words()).for_each(|(word, all)| *word ^= all);
                }
                prop_assert_eq!(row(&after, r), expected);
            }
            let mut twin = before.words.clone();
            scalar::reflect_rows(&mut twin, mask & before.held(), last_word_mask(n));
            prop_assert_eq!(twin, after.words);
        }

        #[test]
        fn retained_rows_keep_their_order(
            n in 1_usize..300, rows in 1..=BLOCK_ROWS, seed in any::<u64>(),
            mask in prop_oneof![any::<u64>(), Just(0), Just(u64::MAX)],
        ) {
            let before = drawn(n, rows, seed);
            let mut after = before.clone();
            after.retain_rows(mask);
            let kept: Vec<_> = (0..rows).filter(|r| mask >> r & 1 == 1).map(|r| row(&before, r)).collect();
            let found: Vec<_> = (0..after.rows()).map(|r| row(&after, r)).collect();
            prop_assert_eq!(kept, found);
            prop_assert!(is_clean(&after));
        }

        #[test]
        fn gathered_and_appended_rows_are_the_rows_named(
            n in 1_usize..300, parts in prop::collection::vec((0..=BLOCK_ROWS, any::<u64>()), 1..5),
            chosen in prop::collection::vec(any::<prop::sample::Index>(), 0..=BLOCK_ROWS),
        ) {
            let (mut matrix, mut expected) = (BitMatrix::new(n), BitMatrix::new(n));
            for (rows, seed) in parts {
                let buffer = drawn(n, rows, seed);
                matrix.push_block(buffer.as_block());
                (0..rows).for_each(|r| expected.push_row(&row(&buffer, r)));
            }
            prop_assert_eq!(&matrix, &expected);
            if matrix.rows() > 0 {
                let rows: Vec<_> = chosen.iter().map(|index| index.index(matrix.rows())).collect();
                let mut buffer = drawn(n, 64, 1);
                buffer.clear();
                for row in &rows {
                    buffer.push_row(matrix.block(row / BLOCK_ROWS), row % BLOCK_ROWS);
                }
                prop_assert_eq!(buffer.rows(), rows.len());
                for (place, &r) in rows.iter().enumerate() {
                    prop_assert_eq!(BitVector::from_words(n, row(&buffer, place)), matrix.row(r));
                }
                prop_assert!(is_clean(&buffer));
            }
        }
    }
}
