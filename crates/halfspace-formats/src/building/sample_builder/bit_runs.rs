//! Bits in bulk: whole rows of bits, and runs of bits inside a dense row.
//!
//! The rules are the same as for single values. The cost is per word instead of per value.

use halfspace_core::bits::{pack_ascii, words_for};

use crate::error::Fault;

use super::{SampleBuilder, check_n};

impl SampleBuilder {
    /// Sets the whole row from a bit string.
    ///
    /// Returns the position of the bit that made the data real, if there is one.
    ///
    /// # Errors
    /// The fault and its position (from 0) in the text.
    pub(crate) fn bits(&mut self, text: &[u8]) -> Result<Option<usize>, (usize, Fault)> {
        check_n(text.len(), &self.limits).map_err(|fault| (self.limits.n_max, fault))?;
        self.row.filled = text.len();
        self.check_length().map_err(|fault| (0, fault))?;
        if self.packed() {
            self.row.ones.resize(words_for(text.len()), 0);
            pack_ascii(text, &mut self.row.ones).map_err(|at| (at, Fault::bad_bit(text, at)))?;
            let ones: u32 = self.row.ones.iter().map(|word| word.count_ones()).sum();
            if ones as usize == text.len() {
                return Ok(None);
            }
            if !self.minus_seen {
                self.zero_seen = true;
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
    pub(crate) fn packed_row(&mut self, words: &[u64], label: Option<bool>) -> Result<(), Fault> {
        debug_assert!(!self.sparse && self.packed() && words.len() == words_for(self.n));
        self.row.ones.clear();
        self.row.ones.extend_from_slice(words);
        self.row.filled = self.n;
        self.end_row(label)
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
        debug_assert!(!self.sparse);
        let index = self.row.filled;
        if count == 0 || index + count > self.n {
            // Zeros of a row that is too long are only counted for the message at its end.
            self.row.filled += count;
            return Ok(false);
        }
        let turns_real = self.packed() && self.minus_seen;
        if turns_real {
            self.become_real(index)?;
        }
        self.row.filled += count;
        if self.packed() {
            // The unwritten bits of a row are 0.
            self.zero_seen = true;
            self.row.ones.resize(words_for(self.n), 0);
        } else {
            self.row.real.resize(index + count, 0.0);
        }
        Ok(turns_real)
    }
}
