//! Writes documents as JSON text, and measures such text.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;

/// Longest hypothesis that a result includes, as JSON. A longer one is found only in the model.
pub(crate) const INLINE_HYPOTHESIS_BYTES_MAX: usize = 256 * 1024;

pub(crate) fn json_text(document: &impl Serialize) -> String {
    serde_json::to_string(document).expect("documents have string keys")
}

pub(crate) fn json_value(document: &impl Serialize) -> Value {
    serde_json::to_value(document).expect("documents have string keys")
}

/// Whether a hypothesis is short enough for the document of its result.
pub fn is_shown_inline(hypothesis: &impl Serialize) -> bool {
    is_within(hypothesis, INLINE_HYPOTHESIS_BYTES_MAX)
}

/// Whether the JSON text of a document has at most `bytes_max` bytes. Serialisation stops at the limit.
pub(crate) fn is_within(document: &impl Serialize, bytes_max: usize) -> bool {
    serde_json::to_writer(RemainingBytes(bytes_max), document).is_ok()
}

/// A writer that counts bytes down from a limit and keeps none.
struct RemainingBytes(usize);

impl Write for RemainingBytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = self.0.checked_sub(bytes.len());
        self.0 = left.ok_or(io::ErrorKind::FileTooLarge)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_length_is_measured_to_the_byte() {
        assert!(is_within(&[10, 20], 7));
        assert!(!is_within(&[10, 20], 6));
    }
}
