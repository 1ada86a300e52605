//! An upper bound on the work that a small body can cause, computed before the body is parsed.
//!
//! Work is counted in machine words: a word is one multiplication and addition, or eight bytes of memory.

use halfspace_formats::{Format, extent};

/// Largest work without a permit: about a millisecond and at most 8 MiB.
pub const SMALL_WORDS_MAX: u64 = 1 << 20;

/// Largest work on a thread that serves connections: about ten microseconds, less than it costs to hand the work to
/// the blocking pool.
pub const INLINE_WORDS_MAX: u64 = 1 << 14;

/// The work that the examples of a body can cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExamplesWork {
    /// Format of the body.
    pub format: Format,
    /// Features per example, if known.
    pub n: Option<usize>,
    /// Words of work per example after parsing.
    pub words_each: u64,
    /// Words of work per byte of the body after parsing, because an example may have any number of names.
    pub words_a_byte: u64,
}

impl ExamplesWork {
    /// The bound for reading a body and doing nothing else.
    pub fn reading(format: Format, n: Option<usize>) -> Self {
        Self {
            format,
            n,
            words_each: 0,
            words_a_byte: 0,
        }
    }

    /// An upper bound on the words of work for a whole body.
    pub fn words(&self, body: &[u8]) -> u64 {
        let extent = extent(self.format, body, self.n);
        // The values of a dense row are bytes of the body, so a small body has few of them.
        let unpacked = match self.format.is_dense() {
            true => 0,
            false => extent.features,
        };
        let each = unpacked.saturating_add(self.words_each);
        let of_examples = extent.examples.saturating_mul(each);
        of_examples.saturating_add(self.words_a_byte.saturating_mul(body.len() as u64))
    }
}
