//! Adds values in bulk: whole rows of bits or numbers, and runs of bits inside a dense row.
//!
//! The rules are the same as for single values, but bits are handled 64 at a time instead of one by one.

use halfspace_core::bits::{WORD_BITS, pack_ascii, words_for};

use crate::error::Fault;

use super::SampleBuilder;

impl SampleBuilder {
    /// Sets the whole row from a bit string.
    ///
    /// Returns the position of the bit that made the data real, if there is one.
    ///
    /// # Errors
    /// The fault and its position (from 0) in the text.
    pub(crate) fn bits(&mut self, text: &[u8]) -> Result<Option<usize>, (usize, Fault)> {
        self.check_unnamed().map_err(|fault| (0, fault))?;
        self.rules
            .limits
            .check_n(text.len())
            .map_err(|fault| (self.rules.limits.n_max, fault))?;
        self.row.filled = text.len();
        self.check_length().map_err(|fault| (0, fault))?;
        if self.packed() {
            self.row.ones.resize(words_for(text.len()), 0);
            pack_ascii(text, &mut self.row.ones).map_err(|at| (at, Fault::bad_bit(text, at)))?;
            if is_all_ones(&self.row.ones, text.len()) {
                return Ok(None);
            }
            if !self.rules.minus_seen {
                self.rules.zero_seen = true;
                return Ok(None);
            }
            let zero = text.iter().position(|&byte| byte == b'0');
            let became = self.become_real(0);
            became.map_err(|fault| (zero.unwrap_or_default(), fault))?;
            self.real_bits(text)?;
            return Ok(zero);
        }
        self.real_bits(text)?;
        Ok(None)
    }

    /// Sets the whole row from packed words and ends the row. The number of features must be fixed.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn packed_row(&mut self, words: &[u64], label: Option<u32>) -> Result<(), Fault> {
        debug_assert!(self.packed() && words.len() == words_for(self.rules.n));
        self.row.ones.clear();
        self.row.ones.extend_from_slice(words);
        self.row.filled = self.rules.n;
        self.end_row(label)
    }

    /// Whether whole rows of `n` features can be set before they are known to fit.
    pub(crate) fn takes_rows(&self, n: usize) -> bool {
        self.expected_n() == Some(n)
    }

    /// Whether bits are not converted to doubles.
    pub(crate) fn takes_bits(&self) -> bool {
        self.packed() && !self.rules.minus_seen
    }

    /// Sets the whole row from bits that mean 0 and 1. The builder must take such rows.
    pub(crate) fn set_bits(&mut self, words: &[u64]) {
        debug_assert!(self.takes_bits() && self.row.filled == 0);
        let n = self.expected_n().unwrap_or_default();
        self.row.ones.clear();
        self.row.ones.extend_from_slice(words);
        self.row.filled = n;
        self.rules.zero_seen = self.rules.zero_seen || !is_all_ones(words, n);
    }

    /// Adds `count` bits that mean 0 and 1 to the same word of a dense row of a fixed n. The builder must take bits.
    pub(crate) fn push_bits(&mut self, bits: u64, count: usize) {
        let filled = self.row.filled;
        debug_assert!(self.takes_bits() && filled + count <= self.rules.n);
        debug_assert!(filled % WORD_BITS + count <= WORD_BITS);
        self.row.ones.resize(words_for(self.rules.n), 0);
        self.row.ones[filled / WORD_BITS] |= bits << (filled % WORD_BITS);
        self.row.filled += count;
        self.rules.zero_seen = self.rules.zero_seen || bits.count_ones() as usize != count;
    }

    /// Sets the whole row from finite numbers. If they would make the data real, it returns false and changes
    /// nothing. The builder must take rows of this length.
    pub(crate) fn set_numbers(&mut self, values: &[f64]) -> bool {
        debug_assert!(self.takes_rows(values.len()) && self.row.filled == 0);
        if self.packed() {
            let has = |low: f64| values.contains(&low);
            let (zero, minus) = (
                self.rules.zero_seen || has(0.0),
                self.rules.minus_seen || has(-1.0),
            );
            let is_bit = |&value: &f64| value == 1.0 || value == 0.0 || value == -1.0;
            if zero && minus || !values.iter().all(is_bit) {
                return false;
            }
            (self.rules.zero_seen, self.rules.minus_seen) = (zero, minus);
            self.row.ones.clear();
            self.row.ones.extend(values.chunks(WORD_BITS).map(|chunk| {
                let bits = chunk.iter().enumerate();
                bits.fold(0, |word, (bit, &value)| {
                    word | u64::from(value == 1.0) << bit
                })
            }));
        } else {
            self.row.real.clear();
            // Adding 0.0 turns -0.0 into 0.0.
            self.row.real.extend(values.iter().map(|value| value + 0.0));
        }
        self.row.filled = values.len();
        true
    }

    fn real_bits(&mut self, text: &[u8]) -> Result<(), (usize, Fault)> {
        if let Some(at) = text.iter().position(|byte| !b"01".contains(byte)) {
            return Err((at, Fault::bad_bit(text, at)));
        }
        let values = text.iter().map(|&byte| f64::from(byte - b'0'));
        self.row.real.extend(values);
        Ok(())
    }

    /// Adds `count` zeros to a dense row with a fixed n. Returns whether the zeros made the data real.
    ///
    /// # Errors
    /// When the zeros must not make the data real, or when a limit is exceeded.
    pub(crate) fn zeros(&mut self, count: usize) -> Result<bool, Fault> {
        let index = self.row.filled;
        if count == 0 || index + count > self.rules.n {
            // Zeros of a row that is too long are only counted for the message at its end.
            self.row.filled += count;
            return Ok(false);
        }
        let turns_real = self.packed() && self.rules.minus_seen;
        if turns_real {
            self.become_real(index)?;
        }
        self.row.filled += count;
        if self.packed() {
            // The unwritten bits of a row are 0.
            self.rules.zero_seen = true;
            self.row.ones.resize(words_for(self.rules.n), 0);
        } else {
            self.row.real.resize(index + count, 0.0);
        }
        Ok(turns_real)
    }
}

/// Whether the first `n` bits of the words are 1. The other bits are 0.
fn is_all_ones(words: &[u64], n: usize) -> bool {
    let ones: u32 = words.iter().map(|word| word.count_ones()).sum();
    ones as usize == n
}
