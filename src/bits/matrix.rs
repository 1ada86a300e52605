//! Many packed rows in the one layout that every kernel reads: blocks of 64 rows, word-major
//! inside a block, so that word `w` of the 64 rows stands in 64 consecutive machine words.

use super::vector::{BitVector, last_word_mask, words_for};

/// Rows in a block.
pub const BLOCK_ROWS: usize = 64;

/// `rows` vectors of `n` bits in blocks.
///
/// Invariant: bits past `n` and rows past the last are zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BitMatrix {
    n: usize,
    rows: usize,
    words: Vec<u64>,
}

impl BitMatrix {
    /// A matrix without rows, to be filled by [`Self::push_row`].
    pub fn new(n: usize) -> Self {
        Self {
            n,
            rows: 0,
            words: Vec::new(),
        }
    }

    /// Takes words in the block layout.
    ///
    /// # Errors
    /// `None` when the length does not fit `rows` rows of `n` bits, or a bit out of range is set.
    pub fn from_block_words(n: usize, rows: usize, words: Vec<u64>) -> Option<Self> {
        let expected = words_for(n)
            .checked_mul(rows.div_ceil(BLOCK_ROWS))?
            .checked_mul(BLOCK_ROWS)?;
        if words.len() != expected {
            return None;
        }
        let matrix = Self { n, rows, words };
        let clean = matrix.blocks().all(|block| block.is_clean(n));
        clean.then_some(matrix)
    }

    /// Bits a row.
    pub fn n(&self) -> usize {
        self.n
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Words a row.
    pub fn words_per_row(&self) -> usize {
        words_for(self.n)
    }

    /// All words in the block layout.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Appends a row given as packed words whose bits past `n` are zero.
    pub fn push_row(&mut self, row: &[u64]) {
        let width = self.words_per_row();
        assert_eq!(row.len(), width, "words a row");
        debug_assert!(
            row.last()
                .is_none_or(|word| word & !last_word_mask(self.n) == 0)
        );
        let place = self.rows % BLOCK_ROWS;
        if place == 0 {
            self.words.resize(self.words.len() + width * BLOCK_ROWS, 0);
        }
        let block = self.words.len() - width * BLOCK_ROWS;
        for (word, &bits) in row.iter().enumerate() {
            self.words[block + word * BLOCK_ROWS + place] = bits;
        }
        self.rows += 1;
    }

    /// Widens (or narrows) every row to `n` bits. New bits are zero.
    ///
    /// # Panics
    /// In a debug build, when narrowing would drop a set bit.
    pub fn resize_bits(&mut self, n: usize) {
        let (old, new) = (self.words_per_row(), words_for(n));
        if old != new {
            let blocks = self.rows.div_ceil(BLOCK_ROWS);
            let mut words = vec![0; blocks * new * BLOCK_ROWS];
            let kept = old.min(new) * BLOCK_ROWS;
            for block in 0..blocks {
                let (from, to) = (block * old * BLOCK_ROWS, block * new * BLOCK_ROWS);
                debug_assert!(
                    self.words[from + kept..from + old * BLOCK_ROWS]
                        .iter()
                        .all(|&word| word == 0)
                );
                words[to..to + kept].copy_from_slice(&self.words[from..from + kept]);
            }
            self.words = words;
        }
        self.n = n;
        debug_assert!(self.blocks().all(|block| block.is_clean(n)));
    }

    /// The blocks in order; the last may hold fewer than 64 rows.
    pub fn blocks(&self) -> impl ExactSizeIterator<Item = BitBlock<'_>> {
        (0..self.rows.div_ceil(BLOCK_ROWS)).map(|index| self.block(index))
    }

    /// Block `index`, holding rows `64 * index` and on.
    pub fn block(&self, index: usize) -> BitBlock<'_> {
        let size = self.words_per_row() * BLOCK_ROWS;
        let rows = (self.rows - index * BLOCK_ROWS).min(BLOCK_ROWS);
        BitBlock::new(&self.words[index * size..(index + 1) * size], rows)
    }

    /// Row `row` as a vector of its own.
    pub fn row(&self, row: usize) -> BitVector {
        assert!(row < self.rows);
        let block = self.block(row / BLOCK_ROWS);
        let mut words = vec![0; self.words_per_row()];
        block.copy_row(row % BLOCK_ROWS, &mut words);
        BitVector::from_words(self.n, words)
    }
}

/// Up to 64 rows, word-major: word `w` of row `r` is `words[64 * w + r]`.
#[derive(Clone, Copy, Debug)]
pub struct BitBlock<'a> {
    words: &'a [u64],
    rows: usize,
}

impl<'a> BitBlock<'a> {
    /// Wraps words in the block layout.
    ///
    /// # Panics
    /// When `words` is no multiple of 64 long or `rows` exceeds 64.
    pub fn new(words: &'a [u64], rows: usize) -> Self {
        assert!(words.len().is_multiple_of(BLOCK_ROWS) && rows <= BLOCK_ROWS);
        Self { words, rows }
    }

    /// The number of rows in use, at most 64.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Words a row.
    pub fn words_per_row(&self) -> usize {
        self.words.len() / BLOCK_ROWS
    }

    /// All words, word-major.
    pub fn words(&self) -> &'a [u64] {
        self.words
    }

    /// Word `word` of row `row`.
    pub fn word(&self, word: usize, row: usize) -> u64 {
        self.words[word * BLOCK_ROWS + row]
    }

    /// Copies one row out, `words_per_row` words.
    pub fn copy_row(&self, row: usize, out: &mut [u64]) {
        assert!(row < self.rows && out.len() == self.words_per_row());
        for (word, out) in out.iter_mut().enumerate() {
            *out = self.word(word, row);
        }
    }

    fn is_clean(&self, n: usize) -> bool {
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
