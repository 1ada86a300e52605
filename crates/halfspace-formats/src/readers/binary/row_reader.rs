//! Reader of the rows of a binary body, one at a time from a bounded buffer. All rows have the same size.

use std::io::{ErrorKind, Read};

use crate::error::FormatError;

/// Bytes per read of the source, unless a row is longer.
const READ_BYTES: usize = 64 * 1024;

/// Reads rows. The buffer holds at least one row.
pub(crate) struct RowReader<R> {
    reader: R,
    row_bytes: usize,
    buffer: Vec<u8>,
    /// Bytes that were read and not returned are `buffer[start..end]`.
    start: usize,
    end: usize,
    /// Position of `buffer[start]` in the body.
    offset: u64,
}

impl<R: Read> RowReader<R> {
    /// Makes a reader of rows of `row_bytes` bytes, at least one, which begin at byte `offset` of the body.
    pub(crate) fn new(reader: R, row_bytes: usize, offset: u64) -> Self {
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

    /// Returns the next row and its position in the body, or `None` at the end. An incomplete last row is not
    /// returned, but counts in [`Self::left`].
    ///
    /// # Errors
    /// The errors of the source.
    pub(crate) fn next_row(&mut self) -> Result<Option<(u64, &[u8])>, FormatError> {
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

    /// The number of bytes that were read and belong to no returned row.
    pub(crate) fn left(&self) -> usize {
        self.end - self.start
    }

    /// The position of the next row in the body.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Whether bytes follow the returned rows.
    ///
    /// # Errors
    /// The errors of the source.
    pub(crate) fn has_more(&mut self) -> Result<bool, FormatError> {
        Ok(self.left() > 0 || self.fill()?)
    }

    /// Reads more bytes. Returns false at the end of the body.
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
