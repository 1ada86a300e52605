//! Machine words to and from streams of bytes, little-endian, a chunk at a time.

use std::io::{self, ErrorKind, Read, Write};

const WORD_BYTES: usize = size_of::<u64>();

/// Bytes read or written at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// Writes words as bytes.
pub(super) struct WordWriter<W> {
    to: W,
    chunk: Vec<u8>,
}

impl<W: Write> WordWriter<W> {
    pub(super) fn new(to: W) -> Self {
        let chunk = Vec::with_capacity(CHUNK_BYTES);
        Self { to, chunk }
    }

    /// # Errors
    /// When the target does.
    pub(super) fn write(&mut self, words: impl IntoIterator<Item = u64>) -> io::Result<()> {
        for word in words {
            if self.chunk.len() == CHUNK_BYTES {
                self.to.write_all(&self.chunk)?;
                self.chunk.clear();
            }
            self.chunk.extend_from_slice(&word.to_le_bytes());
        }
        Ok(())
    }

    /// The target, with all that was written.
    ///
    /// # Errors
    /// When the target does.
    pub(super) fn finish(mut self) -> io::Result<W> {
        self.to.write_all(&self.chunk)?;
        self.to.flush()?;
        Ok(self.to)
    }
}

/// Reads words from bytes.
pub(super) struct WordReader<R> {
    from: R,
    chunk: Vec<u8>,
}

impl<R: Read> WordReader<R> {
    pub(super) fn new(from: R) -> Self {
        let chunk = Vec::new();
        Self { from, chunk }
    }

    /// Appends the next `count` words, each as `make` has it.
    ///
    /// # Errors
    /// When the source does, or ends before.
    pub(super) fn read<T>(
        &mut self,
        count: usize,
        to: &mut Vec<T>,
        make: impl Fn(u64) -> T,
    ) -> io::Result<()> {
        let mut left = count;
        while left > 0 {
            let words = left.min(CHUNK_BYTES / WORD_BYTES);
            if self.chunk.len() < words * WORD_BYTES {
                self.chunk.resize(words * WORD_BYTES, 0);
            }
            let chunk = &mut self.chunk[..words * WORD_BYTES];
            self.from.read_exact(chunk)?;
            let (longs, _) = chunk.as_chunks::<WORD_BYTES>();
            to.extend(longs.iter().map(|&bytes| make(u64::from_le_bytes(bytes))));
            left -= words;
        }
        Ok(())
    }

    /// Whether nothing follows.
    ///
    /// # Errors
    /// When the source does.
    pub(super) fn ends(mut self) -> io::Result<bool> {
        match self.from.read_exact(&mut [0]) {
            Ok(()) => Ok(false),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(true),
            Err(error) => Err(error),
        }
    }
}
