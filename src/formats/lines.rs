//! Lines of a body, one at a time from a bounded buffer.

use std::io::{ErrorKind, Read};

use memchr::memchr;

use super::error::{Fault, FormatError};

/// Bytes asked of the source at once, when the body is long.
const READ_BYTES: usize = 256 * 1024;

/// Bytes asked of the source at first, so that a short body costs little.
const FIRST_READ_BYTES: usize = 4 * 1024;

/// One line, without its line feed and without a carriage return before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a> {
    /// From 1.
    pub(super) number: u64,
    pub(super) text: &'a [u8],
}

/// Reads lines; past `READ_BYTES` the buffer grows only for a line that is longer than it.
pub(super) struct LineReader<R> {
    reader: R,
    buffer: Vec<u8>,
    /// What was read and not yet handed out is `buffer[start..end]`.
    start: usize,
    end: usize,
    /// How much of that was seen to have no line feed.
    searched: usize,
    /// Whether the last read had all that the buffer could take: more may be waiting.
    read_was_full: bool,
    ended: bool,
    number: u64,
    line_bytes_max: usize,
}

impl<R: Read> LineReader<R> {
    pub(super) fn new(reader: R, line_bytes_max: usize) -> Self {
        Self {
            reader,
            buffer: vec![0; FIRST_READ_BYTES],
            start: 0,
            end: 0,
            searched: 0,
            read_was_full: false,
            ended: false,
            number: 0,
            line_bytes_max,
        }
    }

    /// Where the lines come from.
    pub(super) fn source(&mut self) -> &mut R {
        &mut self.reader
    }

    /// The next line, or `None` at the end; a final line needs no line feed.
    ///
    /// # Errors
    /// `TooLarge` for a line over the limit, and whatever the source raises.
    pub(super) fn next_line(&mut self) -> Result<Option<Line<'_>>, FormatError> {
        let (length, after) = loop {
            let pending = &self.buffer[self.start..self.end];
            let searched = self.searched;
            if let Some(found) = memchr(b'\n', &pending[searched..]) {
                break (searched + found, searched + found + 1);
            }
            self.searched = pending.len();
            if self.ended && self.searched == 0 {
                return Ok(None);
            }
            if self.ended {
                break (self.searched, self.searched);
            }
            self.check_length(self.searched)?;
            self.fill()?;
        };
        self.searched = 0;
        self.check_length(length)?;
        self.number += 1;
        let from = self.start;
        self.start += after;
        let mut text = &self.buffer[from..from + length];
        text = text.strip_suffix(b"\r").unwrap_or(text);
        if self.number == 1 {
            text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        }
        Ok(Some(Line {
            number: self.number,
            text,
        }))
    }

    fn check_length(&self, length: usize) -> Result<(), FormatError> {
        if length <= self.line_bytes_max {
            return Ok(());
        }
        let limit = self.line_bytes_max as u64;
        let fault = Fault::too_large("The line is too long", "line_bytes_max", limit);
        Err(fault.at(self.number + 1, self.line_bytes_max))
    }

    fn fill(&mut self) -> Result<(), FormatError> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        let length = self.buffer.len();
        if self.end == length || (self.read_was_full && length < READ_BYTES) {
            self.buffer.resize(2 * self.buffer.len(), 0);
        }
        loop {
            match self.reader.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.ended = true,
                Ok(read) => {
                    self.end += read;
                    self.read_was_full = self.end == self.buffer.len();
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            }
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::error::{FormatErrorKind, Place};
    use super::*;

    fn lines(text: &[u8], line_bytes_max: usize) -> Result<Vec<(u64, Vec<u8>)>, FormatError> {
        let mut reader = LineReader::new(text, line_bytes_max);
        let mut lines = Vec::new();
        while let Some(line) = reader.next_line()? {
            lines.push((line.number, line.text.to_vec()));
        }
        Ok(lines)
    }

    #[test]
    fn lines_end_with_either_ending_or_the_body() {
        let cases: [(&str, &[&str]); 6] = [
            ("", &[]),
            ("a", &["a"]),
            ("a\n", &["a"]),
            ("a\r\nb", &["a", "b"]),
            ("\n\nb\n", &["", "", "b"]),
            ("\u{feff}a\r\n", &["a"]),
        ];
        for (text, expected) in cases {
            let read = lines(text.as_bytes(), 100).expect("short lines");
            let texts: Vec<_> = read.iter().map(|(_, text)| text.as_slice()).collect();
            let expected: Vec<_> = expected.iter().map(|text| text.as_bytes()).collect();
            assert_eq!(texts, expected, "{text:?}");
            assert!(
                read.iter()
                    .map(|(number, _)| *number)
                    .eq(1..=read.len() as u64)
            );
        }
    }

    #[test]
    fn lines_longer_than_the_buffer_are_read_whole() {
        let long = vec![b'x'; 3 * READ_BYTES + 5];
        let body = [b"a\n".as_slice(), &long, b"\nb\n"].concat();
        let read = lines(&body, 4 * READ_BYTES).expect("within the limit");
        let lengths: Vec<_> = read.iter().map(|(_, text)| text.len()).collect();
        assert_eq!(lengths, [1, long.len(), 1]);
    }

    #[test]
    fn a_line_over_the_limit_is_refused_at_its_place() {
        for body in [b"ab\nabcde\n".as_slice(), b"ab\nabcde"] {
            let error = lines(body, 4).expect_err("too long");
            let kind = FormatErrorKind::TooLarge {
                limit: "line_bytes_max",
                value: 4,
            };
            assert_eq!(error.kind, kind);
            assert_eq!(error.place, Some(Place::Line { line: 2, column: 5 }));
        }
    }
}
