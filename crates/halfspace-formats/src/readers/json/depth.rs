//! Depth limit of JSON, checked on the bytes before a parser reads them.
//!
//! `serde_json` has its own depth limit, which protects the stack: 128, which you can only switch off. This module
//! enforces the limit of the service and refuses a deep body wherever the nesting occurs.

use std::io::{self, Read};

use memchr::{memchr_iter, memchr2, memrchr};

use crate::error::{Fault, FormatErrorKind, Place};

/// Counts open arrays and objects across the pieces of a text.
pub(crate) struct DepthCounter {
    depth: usize,
    depth_max: usize,
    in_string: bool,
    /// Whether the next byte follows a backslash.
    escaped: bool,
}

impl DepthCounter {
    pub(crate) fn new(depth_max: usize) -> Self {
        Self {
            depth: 0,
            depth_max,
            in_string: false,
            escaped: false,
        }
    }

    /// Reads the next piece. Returns the position in the piece where the nesting becomes too deep.
    pub(crate) fn excess(&mut self, piece: &[u8]) -> Option<usize> {
        let mut at = 0;
        while at < piece.len() {
            if self.in_string {
                at = self.pass_string(piece, at);
                continue;
            }
            at += plain_bytes(&piece[at..]);
            let Some(&byte) = piece.get(at) else { break };
            match byte {
                b'"' => self.in_string = true,
                b'[' | b'{' if self.depth == self.depth_max => return Some(at),
                b'[' | b'{' => self.depth += 1,
                // The parser refuses surplus closing brackets.
                b']' | b'}' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
            at += 1;
        }
        None
    }

    /// Makes the error of a reader whose text becomes too deep at this place.
    pub(crate) fn refusal(&self, line: u64, column: u64) -> io::Error {
        let place = Place::Line { line, column };
        io::Error::other(too_deep(self.depth_max).placed(Some(place)))
    }

    /// Skips the string that contains `piece[at..]`. Returns the position after the skipped bytes.
    fn pass_string(&mut self, piece: &[u8], at: usize) -> usize {
        if self.escaped {
            self.escaped = false;
            return at + 1;
        }
        let Some(found) = memchr2(b'"', b'\\', &piece[at..]) else {
            return piece.len();
        };
        if piece[at + found] == b'"' {
            self.in_string = false;
        } else {
            self.escaped = true;
        }
        at + found + 1
    }
}

/// The length of a prefix without quotes, brackets and braces. It need not be the longest one.
fn plain_bytes(text: &[u8]) -> usize {
    const EACH: u64 = u64::MAX / 0xff;
    const HIGH: u64 = EACH << 7;
    // The highest bit of a byte is set if the byte is 0.
    let zero = |bytes: u64| !(((bytes & !HIGH) + EACH * 0x7f) | bytes) & HIGH;
    let (eights, _) = text.as_chunks::<8>();
    let is_plain = |eight: &&[u8; 8]| {
        let bytes = u64::from_le_bytes(**eight);
        // Once three bits are set, all brackets and braces are equal. So are some other characters.
        let marks = (bytes | (EACH * 0x26)) ^ (EACH * u64::from(b'}' | 0x26));
        (zero(bytes ^ (EACH * u64::from(b'"'))) | zero(marks)) == 0
    };
    8 * eights.iter().take_while(is_plain).count()
}

/// Makes the fault of a text that nests deeper than `limit`.
pub(crate) fn too_deep(limit: usize) -> Fault {
    let detail = format!("Arrays and objects nest deeper than the limit json_depth_max, {limit}.");
    Fault::new(FormatErrorKind::TooDeep { limit }, detail)
}

/// Passes JSON through. The read fails at the line and column where the nesting becomes too deep.
pub(crate) struct DepthReader<R> {
    reader: R,
    counter: DepthCounter,
    line: u64,
    /// Bytes since the last line feed.
    column: u64,
}

impl<R> DepthReader<R> {
    pub(crate) fn new(reader: R, depth_max: usize) -> Self {
        Self {
            reader,
            counter: DepthCounter::new(depth_max),
            line: 1,
            column: 0,
        }
    }

    fn advance(&mut self, text: &[u8]) {
        match memrchr(b'\n', text) {
            Some(last) => {
                self.line += memchr_iter(b'\n', text).count() as u64;
                self.column = (text.len() - last - 1) as u64;
            }
            None => self.column += text.len() as u64,
        }
    }
}

impl<R: Read> Read for DepthReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        let piece = &buffer[..read];
        if let Some(at) = self.counter.excess(piece) {
            self.advance(&piece[..at]);
            return Err(self.counter.refusal(self.line, self.column + 1));
        }
        self.advance(piece);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::FormatError;

    #[test]
    fn json_depth_is_counted_outside_strings_across_pieces() {
        let text = br#"{"a[[[\"[":[[1],{"b":"\\"}],"c":[[[2]]]}"#;
        let deep = text.len() - b"[2]]]}".len();
        for size in [1, 2, 3, 100] {
            let find = |depth_max| {
                let mut counter = DepthCounter::new(depth_max);
                let pieces = text.chunks(size).enumerate();
                let mut found =
                    pieces.filter_map(|(index, piece)| Some(index * size + counter.excess(piece)?));
                found.next()
            };
            assert_eq!(find(4), None);
            assert_eq!(find(3), Some(deep));
        }
    }

    #[test]
    fn depth_error_names_line_and_column() {
        let mut reader = DepthReader::new(b"{\n\"a\":\n [[1]]}".as_slice(), 2);
        let error = reader.read_to_end(&mut Vec::new()).expect_err("deep");
        let place = FormatError::from(error).place;
        assert_eq!(place, Some(Place::Line { line: 3, column: 3 }));
    }
}
