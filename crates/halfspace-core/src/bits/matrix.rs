//! Matrices of bits in the one layout that every kernel reads: blocks of 64 rows.
//!
//! A block is word-major: word `w` of its 64 rows occupies 64 consecutive machine words.

use std::borrow::Cow;

use super::vector::{BitVector, last_word_mask, words_for};

/// Rows per block.
pub const BLOCK_ROWS: usize = 64;

/// `rows` vectors of `n` bits in blocks.
///
/// Invariant: bits past `n` and rows past the last are zero.
#[derive(Clone, Debug)]
pub struct BitMatrix {
    n: usize,
    rows: usize,
    /// Capacity of a row in words, at least the words in use. Spare words are zero.
    capacity: usize,
    words: Vec<u64>,
}

impl BitMatrix {
    /// Creates a matrix without rows, to be filled by [`Self::push_row`].
    pub fn new(n: usize) -> Self {
        Self {
            n,
            rows: 0,
            capacity: words_for(n),
            words: Vec::new(),
        }
    }

    /// Creates a matrix without rows that has reserved memory for `rows` of them.
    pub fn for_rows(n: usize, rows: usize) -> Self {
        let mut matrix = Self::new(n);
        let blocks = rows.div_ceil(BLOCK_ROWS);
        let words = blocks.saturating_mul(BLOCK_ROWS * words_for(n));
        // Without room for all rows the matrix grows row by row.
        let _ = matrix.words.try_reserve_exact(words);
        matrix
    }

    /// Creates a matrix from words in the block layout.
    ///
    /// # Errors
    /// Returns `None` if the length does not fit `rows` rows of `n` bits, or a bit out of range is set.
    pub fn from_block_words(n: usize, rows: usize, words: Vec<u64>) -> Option<Self> {
        let capacity = words_for(n);
        let expected = capacity
            .checked_mul(rows.div_ceil(BLOCK_ROWS))?
            .checked_mul(BLOCK_ROWS)?;
        if words.len() != expected {
            return None;
        }
        let matrix = Self {
            n,
            rows,
            capacity,
            words,
        };
        let clean = matrix.blocks().all(|block| block.is_clean(n));
        clean.then_some(matrix)
    }

    /// Returns the number of bits per row.
    pub fn n(&self) -> usize {
        self.n
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of words per row, without spare words.
    pub fn words_per_row(&self) -> usize {
        words_for(self.n)
    }

    /// Returns all words in the block layout. They are copied only if [`Self::resize_bits`] left spare words, which
    /// [`Self::shrink_to_fit`] frees.
    pub fn words(&self) -> Cow<'_, [u64]> {
        if self.capacity == self.words_per_row() {
            Cow::Borrowed(&self.words)
        } else {
            self.blocks()
                .flat_map(|block| block.words())
                .copied()
                .collect()
        }
    }

    /// Appends a row of packed words. Its bits past `n` must be zero.
    ///
    /// # Panics
    /// Panics if the length of `row` is not the number of words per row.
    pub fn push_row(&mut self, row: &[u64]) {
        assert_eq!(row.len(), self.words_per_row(), "words a row");
        debug_assert!(
            row.last()
                .is_none_or(|word| word & !last_word_mask(self.n) == 0)
        );
        let place = self.rows % BLOCK_ROWS;
        if place == 0 {
            self.push_empty_block();
        }
        let block = self.words.len() - self.capacity * BLOCK_ROWS;
        let places = self.words[block..].iter_mut().skip(place);
        for (to, &bits) in places.step_by(BLOCK_ROWS).zip(row) {
            *to = bits;
        }
        self.rows += 1;
    }

    /// Appends the rows of a block in their order.
    ///
    /// # Panics
    /// Panics if the number of words per row differs.
    pub fn push_block(&mut self, block: BitBlock) {
        assert_eq!(block.words_per_row(), self.words_per_row(), "words a row");
        debug_assert!(block.is_clean(self.n));
        let mut taken = 0;
        while taken < block.rows() {
            let place = self.rows % BLOCK_ROWS;
            if place == 0 {
                self.push_empty_block();
            }
            let count = (block.rows() - taken).min(BLOCK_ROWS - place);
            let last = self.words.len() - self.capacity * BLOCK_ROWS;
            let columns = self.words[last..].chunks_exact_mut(BLOCK_ROWS);
            for (to, from) in columns.zip(block.words().chunks_exact(BLOCK_ROWS)) {
                to[place..place + count].copy_from_slice(&from[taken..taken + count]);
            }
            self.rows += count;
            taken += count;
        }
    }

    /// Changes the width of every row to `n` bits. New bits are zero.
    ///
    /// Widening at least doubles the capacity of a row, so a matrix that grows word by word is copied only a
    /// logarithmic number of times.
    ///
    /// # Panics
    /// Panics if narrowing would drop a set bit.
    pub fn resize_bits(&mut self, n: usize) {
        let new = words_for(n);
        if self.rows == 0 {
            self.capacity = new;
        } else if new > self.capacity {
            self.change_capacity(new.max(2 * self.capacity));
        } else if n < self.n {
            assert!(self.is_clear_from(n), "a bit from {n} on is set");
        }
        self.n = n;
    }

    /// Frees the spare words that [`Self::resize_bits`] left.
    pub fn shrink_to_fit(&mut self) {
        if self.capacity != self.words_per_row() {
            self.change_capacity(self.words_per_row());
        }
        self.words.shrink_to_fit();
    }

    fn push_empty_block(&mut self) {
        self.words
            .resize(self.words.len() + self.capacity * BLOCK_ROWS, 0);
    }

    /// Copies the rows to a layout of `capacity` words per row, which is at least the words in use.
    fn change_capacity(&mut self, capacity: usize) {
        let mut words = vec![0; self.rows.div_ceil(BLOCK_ROWS) * capacity * BLOCK_ROWS];
        for (index, block) in self.blocks().enumerate() {
            let to = index * capacity * BLOCK_ROWS;
            words[to..to + block.words().len()].copy_from_slice(block.words());
        }
        self.words = words;
        self.capacity = capacity;
    }

    /// Returns whether coordinate `n` and all later coordinates are 0 in every row.
    fn is_clear_from(&self, n: usize) -> bool {
        let (kept, past) = (words_for(n), !last_word_mask(n));
        self.blocks().all(|block| {
            let (columns, _) = block.words().as_chunks::<BLOCK_ROWS>();
            let (columns, dropped) = columns.split_at(kept);
            let last = columns.last().map_or(&[][..], |column| &column[..]);
            last.iter().all(|bits| bits & past == 0)
                && dropped.as_flattened().iter().all(|&bits| bits == 0)
        })
    }

    /// Returns the blocks in order. The last block may hold fewer than 64 rows.
    pub fn blocks(&self) -> impl ExactSizeIterator<Item = BitBlock<'_>> {
        (0..self.rows.div_ceil(BLOCK_ROWS)).map(|index| self.block(index))
    }

    /// Returns block `index`, which starts at row `64 * index`.
    pub fn block(&self, index: usize) -> BitBlock<'_> {
        let (capacity, size) = (
            self.capacity * BLOCK_ROWS,
            self.words_per_row() * BLOCK_ROWS,
        );
        let rows = (self.rows - index * BLOCK_ROWS).min(BLOCK_ROWS);
        BitBlock::new(&self.words[index * capacity..][..size], rows)
    }

    /// Returns row `row` as an owned vector.
    pub fn row(&self, row: usize) -> BitVector {
        assert!(row < self.rows);
        let block = self.block(row / BLOCK_ROWS);
        let mut words = vec![0; self.words_per_row()];
        block.copy_row(row % BLOCK_ROWS, &mut words);
        BitVector::from_words(self.n, words)
    }
}

impl PartialEq for BitMatrix {
    /// Compares the rows and ignores spare capacity.
    fn eq(&self, other: &Self) -> bool {
        let same = |(a, b): (BitBlock, BitBlock)| a.words() == b.words();
        (self.n, self.rows) == (other.n, other.rows) && self.blocks().zip(other.blocks()).all(same)
    }
}

impl Eq for BitMatrix {}

/// Up to 64 rows in word-major order: word `w` of row `r` is `words[64 * w + r]`.
#[derive(Clone, Copy, Debug)]
pub struct BitBlock<'a> {
    words: &'a [u64],
    rows: usize,
}

impl<'a> BitBlock<'a> {
    /// Wraps words in the block layout.
    ///
    /// # Panics
    /// Panics if the length of `words` is not a multiple of 64, or `rows` exceeds 64.
    pub fn new(words: &'a [u64], rows: usize) -> Self {
        assert!(words.len().is_multiple_of(BLOCK_ROWS) && rows <= BLOCK_ROWS);
        Self { words, rows }
    }

    /// Returns the number of rows in use, at most 64.
    #[inline]
    pub fn rows(&self) -> usize {
        self.rows
    }

    #[inline]
    pub fn words_per_row(&self) -> usize {
        self.words.len() / BLOCK_ROWS
    }

    /// Returns all words in word-major order.
    #[inline]
    pub fn words(&self) -> &'a [u64] {
        self.words
    }

    pub fn word(&self, word: usize, row: usize) -> u64 {
        self.words[word * BLOCK_ROWS + row]
    }

    /// Copies one row of `words_per_row` words to `out`.
    pub fn copy_row(&self, row: usize, out: &mut [u64]) {
        assert!(row < self.rows && out.len() == self.words_per_row());
        for (word, out) in out.iter_mut().enumerate() {
            *out = self.word(word, row);
        }
    }

    /// Returns whether bits past `n` and rows past the last are zero.
    pub(super) fn is_clean(&self, n: usize) -> bool {
        let Some(last) = self.words_per_row().checked_sub(1) else {
            return true;
        };
        let column = &self.words[last * BLOCK_ROWS..];
        let tails = column.iter().all(|word| word & !last_word_mask(n) == 0);
        let absent = self.words.chunks_exact(BLOCK_ROWS);
        tails
            && absent
                .into_iter()
                .all(|column| column[self.rows..].iter().all(|&word| word == 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_matrix_widened_as_rows_come_equals_one_of_the_final_width(
            rows in prop::collection::vec(prop::collection::vec(0_usize..700, 0..9), 0..150),
            shrink in any::<bool>(),
        ) {
            let n = rows.iter().flatten().map(|&j| j + 1).max().unwrap_or(0);
            let (mut grown, mut expected) = (BitMatrix::new(0), BitMatrix::new(n));
            for set in &rows {
                let width = set.iter().map(|&j| j + 1).max().unwrap_or(0);
                if width > grown.n() {
                    grown.resize_bits(width);
                }
                let (mut narrow, mut wide) = (BitVector::zeros(grown.n()), BitVector::zeros(n));
                for &j in set {
                    narrow.set(j, true);
                    wide.set(j, true);
                }
                grown.push_row(narrow.words());
                expected.push_row(wide.words());
            }
            if shrink {
                grown.shrink_to_fit();
            }
            prop_assert_eq!(&grown, &expected);
            prop_assert_eq!(grown.words(), expected.words());
            let copy = BitMatrix::from_block_words(n, rows.len(), grown.words().into_owned());
            prop_assert_eq!(copy, Some(expected));
        }
    }

    #[test]
    fn a_narrowed_matrix_widens_again() {
        let mut matrix = BitMatrix::new(200);
        matrix.push_row(&[5, 0, 0, 0]);
        matrix.resize_bits(3);
        assert_eq!(matrix.row(0).to_bit_string(), "101");
        matrix.resize_bits(130);
        assert_eq!(matrix.row(0).words(), [5, 0, 0]);
        matrix.resize_bits(1_000);
        assert_eq!(matrix.row(0).words()[0], 5);
    }

    #[test]
    fn narrowing_refuses_to_drop_a_set_bit() {
        for (set, n) in [(2, 2), (64, 64), (64, 3), (130, 64)] {
            let mut row = BitVector::zeros(200);
            row.set(set, true);
            let mut matrix = BitMatrix::new(200);
            matrix.push_row(row.words());
            assert!(!matrix.is_clear_from(n) && matrix.is_clear_from(set + 1));
            matrix.resize_bits(set + 1);
            assert!(std::panic::catch_unwind(move || matrix.resize_bits(n)).is_err());
        }
    }

    #[test]
    fn widening_word_by_word_copies_rarely() {
        let mut matrix = BitMatrix::new(0);
        matrix.push_row(&[]);
        let mut capacities = Vec::new();
        for n in 1..=64 * 64 {
            matrix.resize_bits(n);
            capacities.push(matrix.capacity);
        }
        capacities.dedup();
        assert_eq!(capacities, [1, 2, 4, 8, 16, 32, 64]);
    }

    #[test]
    fn words_that_do_not_fit_are_refused() {
        assert!(BitMatrix::from_block_words(3, 1, vec![0; 63]).is_none());
        let mut words = vec![0; 64];
        words[0] = 0b1000;
        assert!(BitMatrix::from_block_words(3, 1, words.clone()).is_none());
        words.swap(0, 1);
        words[1] = 1;
        assert!(BitMatrix::from_block_words(3, 1, words).is_none());
    }
}
