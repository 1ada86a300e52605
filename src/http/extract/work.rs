//! An upper bound on the work that a small body can cause, computed before the body is parsed.
//!
//! Work is counted in machine words: a word is one multiplication and addition, or eight bytes of memory.

use halfspace_formats::{Charset, Format, Options, extent};

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
    /// Whether the bytes of the body tell little of its text, which is in another charset.
    pub is_decoded: bool,
}

impl ExamplesWork {
    /// The bound for reading a body under these options and doing nothing else. `n` is the number of features per
    /// example, if it is known: in a sparse format even a few bytes may describe many.
    pub fn reading(format: Format, n: Option<usize>, options: &Options) -> Self {
        Self {
            format,
            n,
            words_each: 0,
            // One name per character is work proportional to the bytes.
            words_a_byte: options.names_per_character() as u64 - 1,
            is_decoded: options.charset.is_some(),
        }
    }

    /// An upper bound on the words of work for a whole body.
    pub fn words(&self, body: &[u8]) -> u64 {
        let is_marked = Charset::is_marked(body) && !self.format.is_binary();
        if self.is_decoded || is_marked {
            return u64::MAX;
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of 16 KiB may have a million conjunctions.
    #[test]
    fn names_of_a_small_body_count_as_work() {
        let words = |option: &[(&str, &str)]| {
            let mut options = Options::default();
            for (name, text) in option {
                assert_eq!(options.set(name, text), Ok(true));
            }
            ExamplesWork::reading(Format::Ndjson, None, &options).words(&[b'a'; 100])
        };
        assert_eq!(words(&[]), 0);
        assert!(words(&[("conjunctions", "2")]) > SMALL_WORDS_MAX);
        assert_eq!(words(&[("words", "1-3"), ("characters", "2-6")]), 700);
    }
}
