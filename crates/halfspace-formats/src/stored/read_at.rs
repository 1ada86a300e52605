//! Bytes with random access ([`ReadAt`]), and a range of such bytes as a stream.

use std::fmt;
use std::io::{self, Read};

use bytes::Bytes;

/// Bytes that several readers can read at any offset at once.
pub trait ReadAt: fmt::Debug + Send + Sync {
    /// Fills the buffer with the bytes from `offset`.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] if the bytes end before the buffer is full.
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;

    /// The number of bytes.
    ///
    /// # Errors
    /// When the number cannot be determined.
    fn bytes(&self) -> io::Result<u64>;
}

/// A range of bytes as a stream.
pub struct ReadFrom<'a> {
    source: &'a dyn ReadAt,
    offset: u64,
    left: u64,
}

impl<'a> ReadFrom<'a> {
    /// All bytes as a stream.
    ///
    /// # Errors
    /// When the number of bytes cannot be determined.
    pub fn whole(source: &'a dyn ReadAt) -> io::Result<Self> {
        Ok(Self::new(source, 0, source.bytes()?))
    }

    /// Makes a stream of `left` bytes from `offset`.
    pub(crate) fn new(source: &'a dyn ReadAt, offset: u64, left: u64) -> Self {
        Self {
            source,
            offset,
            left,
        }
    }
}

impl Read for ReadFrom<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.left).unwrap_or(usize::MAX);
        let length = buffer.len().min(left);
        self.source
            .read_exact_at(&mut buffer[..length], self.offset)?;
        self.offset += length as u64;
        self.left -= length as u64;
        Ok(length)
    }
}

impl ReadAt for Bytes {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let end = start.saturating_add(buffer.len());
        let found = self.get(start..end).ok_or(io::ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(found);
        Ok(())
    }

    fn bytes(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }
}
