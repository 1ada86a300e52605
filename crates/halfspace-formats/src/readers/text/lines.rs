//! Reader of lines, one at a time from a bounded buffer, with line numbers and a limit on the length.

use std::io::{ErrorKind, Read};

use halfspace_core::memory;
use memchr::memchr;

use crate::content_coding::refuse_compressed;
use crate::error::{Fault, FormatError};

/// Bytes per read of the source for a long body.
const READ_BYTES: usize = 256 * 1024;

/// Bytes of the first read, so that a short body costs little.
const FIRST_READ_BYTES: usize = 4 * 1024;

/// One line, without its line feed and a carriage return before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    /// Number of the line, from 1.
    pub(crate) number: u64,
    pub(crate) text: &'a [u8],
    /// The bytes that end the line. There are none at the end of a body.
    pub(crate) ending: &'static [u8],
}

/// Reads lines. The buffer grows beyond `READ_BYTES` only for a longer line.
pub(crate) struct LineReader<R> {
    reader: R,
    buffer: Vec<u8>,
    /// Bytes that were read and not returned are `buffer[start..end]`.
    start: usize,
    end: usize,
    /// Number of these bytes that are known to contain no line feed.
    searched: usize,
    /// Whether the last read filled the buffer, so that more bytes may be waiting.
    read_was_full: bool,
    ended: bool,
    number: u64,
    line_bytes_max: usize,
}

impl<R: Read> LineReader<R> {
    pub(crate) fn new(reader: R, line_bytes_max: usize) -> Self {
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

    /// Returns the source of the lines.
    pub(crate) fn source(&mut self) -> &mut R {
        &mut self.reader
    }

    /// The bytes of the buffer.
    pub(crate) fn buffer_bytes(&self) -> u64 {
        self.buffer.len() as u64
    }

    /// The bytes in the buffer that belong to no line yet.
    pub(crate) fn pending_bytes(&self) -> usize {
        self.end - self.start
    }

    /// Returns the next line, or `None` at the end. The last line needs no line feed.
    ///
    /// # Errors
    /// `TooLarge` for a line over the limit, and the errors of the source.
    pub(crate) fn next_line(&mut self) -> Result<Option<Line<'_>>, FormatError> {
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
        let mut ending: &[u8] = if after > length { b"\n" } else { b"" };
        if let Some(stripped) = text.strip_suffix(b"\r") {
            text = stripped;
            ending = if after > length { b"\r\n" } else { b"\r" };
        }
        if self.number == 1 {
            refuse_compressed(text)?;
        }
        Ok(Some(Line {
            number: self.number,
            text,
            ending,
        }))
    }

    /// Skips and counts empty lines in the buffer, at most `lines_max`.
    ///
    /// Call this after an empty line, so that even millions of empty lines cost little.
    pub(crate) fn pass_empty_lines(&mut self, lines_max: u64) {
        let (bytes, lines) = empty_lines(&self.buffer[self.start..self.end], lines_max);
        self.start += bytes;
        self.number += lines;
        self.searched = self.searched.saturating_sub(bytes);
    }

    /// The number of the last line that was returned or skipped.
    pub(crate) fn number(&self) -> u64 {
        self.number
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
            // Both buffers exist while the bytes move.
            memory::need(2 * self.buffer.len() as u64)?;
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

/// The bytes and the number of the empty lines at the start of a text, at most `lines_max` lines. A carriage return
/// at the end of the text does not count yet, because its line feed has not arrived.
pub(crate) fn empty_lines(text: &[u8], lines_max: u64) -> (usize, u64) {
    const UNIX: [u8; 64] = [b'\n'; 64];
    const DOS: [u8; 64] = {
        let mut lines = [b'\n'; 64];
        let mut at = 0;
        while at < lines.len() {
            lines[at] = b'\r';
            at += 2;
        }
        lines
    };
    let (mut at, mut lines) = (0, 0);
    while lines < lines_max {
        let left = lines_max - lines;
        match text[at..].first_chunk::<64>() {
            Some(chunk) if left >= 64 && *chunk == UNIX => {
                at += 64;
                lines += 64;
                continue;
            }
            Some(chunk) if left >= 32 && *chunk == DOS => {
                at += 64;
                lines += 32;
                continue;
            }
            _ => {}
        }
        match &text[at..] {
            [b'\n', ..] => at += 1,
            [b'\r', b'\n', ..] => at += 2,
            _ => break,
        }
        lines += 1;
    }
    (at, lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{FormatErrorKind, Place};

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
        let cases: [(&str, &[&str]); 5] = [
            ("", &[]),
            ("a", &["a"]),
            ("a\n", &["a"]),
            ("a\r\nb", &["a", "b"]),
            ("\n\nb\n", &["", "", "b"]),
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
    fn empty_lines_counts_lines_in_chunks_of_any_length() {
        for (line, chunk) in [("\n", 64), ("\r\n", 32)] {
            for count in [0, 1, 31, 32, 33, 63, 64, 65, 200, 1000] {
                let text = line.repeat(count) + "\rx\n";
                let expected = (line.len() * count, count as u64);
                assert_eq!(empty_lines(text.as_bytes(), u64::MAX), expected);
                for lines_max in [0, 1, chunk - 1, chunk, chunk + 1] {
                    let lines = lines_max.min(count);
                    let passed = empty_lines(text.as_bytes(), lines_max as u64);
                    assert_eq!(passed, (line.len() * lines, lines as u64));
                }
            }
        }
        // Without its line feed, a carriage return may begin another line.
        assert_eq!(empty_lines(b"\n\r\n\n\r", u64::MAX), (4, 3));
    }

    #[test]
    fn line_numbers_count_skipped_empty_lines() {
        let mut body = b"\n".repeat(3 * READ_BYTES);
        body.extend(b"\r\n".repeat(READ_BYTES));
        body.extend(b"a\n\n\nb");
        let expected: Vec<_> = lines(&body, 100)
            .expect("short lines")
            .into_iter()
            .filter(|(_, text)| !text.is_empty())
            .collect();
        let mut reader = LineReader::new(body.as_slice(), 100);
        let (mut found, mut empty) = (Vec::new(), 0);
        while let Some(line) = reader.next_line().expect("short lines") {
            if line.text.is_empty() {
                empty += 1;
                reader.pass_empty_lines(u64::MAX);
            } else {
                found.push((line.number, line.text.to_vec()));
            }
        }
        assert_eq!(found, expected);
        // One empty line per read, and those before `b`.
        assert!(empty < 40, "{empty}");
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
