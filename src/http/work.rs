//! How much work a small body can be: a bound that is found before the body is parsed.
//!
//! Bounds are in machine words: one multiplication and addition, or eight bytes of memory, each.

use halfspace_formats::{Format, extent};

/// Work that needs no permit: about a millisecond, and at most 8 MiB.
pub const SMALL_WORDS_MAX: u64 = 1 << 20;

/// The work that the examples of a body can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// How the body is written.
    pub format: Format,
    /// Features an example, where they are known.
    pub n: Option<usize>,
    /// Words of work per example after parsing.
    pub words_each: u64,
}

impl Work {
    /// Reading alone.
    pub fn reading(format: Format, n: Option<usize>) -> Self {
        Self {
            format,
            n,
            words_each: 0,
        }
    }

    /// Words of work that a whole body is at most.
    pub fn words(&self, body: &[u8]) -> u64 {
        let extent = extent(self.format, body, self.n);
        // The values of a dense row are bytes of the body, which are few.
        let unpacked = match self.format.is_dense() {
            true => 0,
            false => extent.features,
        };
        let each = unpacked.saturating_add(self.words_each);
        extent.examples.saturating_mul(each)
    }
}
