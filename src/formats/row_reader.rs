//! Rows of a binary body, each of the same size, one at a time from a bounded buffer.

use std::io::{ErrorKind, Read};

use super::error::FormatError;

/// Bytes asked of the source at once, when rows are shorter.
const READ_BYTES: usize = 64 * 1024;

/// Reads rows; the buffer holds one at least.
pub(super) struct RowReader<R> {
    reader: R,
    row_bytes: usize,
    buffer: Vec<u8>,
    /// What was read and not yet handed out is `buffer[start..end]`.
    start: usize,
    end: usize,
    /// Where in the body `buffer[start]` stands.
    offset: u64,
}

impl<R: Read> RowReader<R> {
    /// For rows of so many bytes, at least one, that begin `offset` bytes into the body.
    pub(super) fn new(reader: R, row_bytes: usize, offset: u64) -> Self {
        debug_assert!(row_bytes > 0);
        Self {
            reader,
            row_bytes,
            buffer: vec![0; row_bytes.max(READ_BYTES)],
            start: 0,
            end: 0,
            offset,
        }
    }

    /// The next row and where in the body it begins; `None` at the end, also when a part of a row
    /// is left: see [`Self::left`].
    ///
    /// # Errors
    /// What the source raises.
    pub(super) fn next_row(&mut self) -> Result<Option<(u64, &[u8])>, FormatError> {
        while self.end - self.start < self.row_bytes {
            if !self.fill()? {
                return Ok(None);
            }
        }
        let (start, offset) = (self.start, self.offset);
        self.start += self.row_bytes;
        self.offset += self.row_bytes as u64;
        Ok(Some((offset, &self.buffer[start..self.start])))
    }

    /// Bytes that were read and are no row.
    pub(super) fn left(&self) -> usize {
        self.end - self.start
    }

    /// Where in the body the next row begins.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Whether anything follows the rows handed out.
    ///
    /// # Errors
    /// What the source raises.
    pub(super) fn has_more(&mut self) -> Result<bool, FormatError> {
        Ok(self.left() > 0 || self.fill()?)
    }

    /// Reads on; false at the end of the body.
    fn fill(&mut self) -> Result<bool, FormatError> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        loop {
            match self.reader.read(&mut self.buffer[self.end..]) {
                Ok(read) => {
                    self.end += read;
                    return Ok(read > 0);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}
