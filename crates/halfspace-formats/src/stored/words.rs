//! Machine words as little-endian bytes: a buffered writer and a buffered reader with an optional CRC.

use std::io::{self, ErrorKind, Read, Write};

use crc_fast::{CrcAlgorithm, Digest};
use halfspace_core::bits::WORD_BITS;

const WORD_BYTES: usize = size_of::<u64>();

/// Bytes per write to the target or read of the source.
const CHUNK_BYTES: usize = 64 * 1024;

/// Bytes of a chunk at first.
const CHUNK_BYTES_MIN: usize = 4 * 1024;

/// CRC-64/NVME of the bytes that pass, if the caller wants one.
struct Crc(Option<Digest>);

impl Crc {
    fn wanted() -> Self {
        Self(Some(Digest::new(CrcAlgorithm::Crc64Nvme)))
    }

    fn add(&mut self, bytes: &[u8]) {
        if let Some(digest) = &mut self.0 {
            digest.update(bytes);
        }
    }

    /// Returns the CRC of the bytes since the last call.
    fn take(&mut self) -> u64 {
        self.0.as_mut().map_or(0, Digest::finalize_reset)
    }
}

/// Writes words as bytes.
pub(crate) struct WordWriter<W> {
    to: W,
    /// The chunk grows up to its capacity, because a few words need no large chunk.
    chunk: Vec<u8>,
    /// Bytes of the chunk that hold words.
    filled: usize,
    crc: Crc,
    /// Bytes of the chunk that the CRC already includes.
    seen: usize,
    /// Bytes before the chunk.
    before: u64,
}

impl<W: Write> WordWriter<W> {
    pub(crate) fn new(to: W) -> Self {
        Self {
            to,
            chunk: Vec::with_capacity(CHUNK_BYTES),
            filled: 0,
            crc: Crc(None),
            seen: 0,
            before: 0,
        }
    }

    /// Makes a writer that computes the CRC of the words.
    pub(crate) fn with_crc(to: W) -> Self {
        Self {
            crc: Crc::wanted(),
            ..Self::new(to)
        }
    }

    /// The number of bytes so far.
    pub(crate) fn written(&self) -> u64 {
        self.before + self.filled as u64
    }

    /// Returns the CRC of the words since the last call.
    pub(crate) fn take_crc(&mut self) -> u64 {
        self.crc.add(&self.chunk[self.seen..self.filled]);
        self.seen = self.filled;
        self.crc.take()
    }

    /// # Errors
    /// When the target cannot be written.
    pub(crate) fn write(&mut self, words: impl IntoIterator<Item = u64>) -> io::Result<()> {
        for word in words {
            self.ensure_space()?;
            self.chunk[self.filled..][..WORD_BYTES].copy_from_slice(&word.to_le_bytes());
            self.filled += WORD_BYTES;
        }
        Ok(())
    }

    /// Writes a word that belongs to no CRC. The caller has taken the CRC of the words before it.
    ///
    /// # Errors
    /// When the target cannot be written.
    pub(crate) fn write_unchecked(&mut self, word: u64) -> io::Result<()> {
        self.write([word])?;
        self.seen = self.filled;
        Ok(())
    }

    /// Writes values, each converted by `make`.
    ///
    /// # Errors
    /// When the target cannot be written.
    pub(crate) fn write_slice<T: Copy>(
        &mut self,
        mut values: &[T],
        make: impl Fn(T) -> u64,
    ) -> io::Result<()> {
        while !values.is_empty() {
            self.ensure_space()?;
            let (eights, _) = self.chunk[self.filled..].as_chunks_mut::<WORD_BYTES>();
            let now = eights.len().min(values.len());
            for (eight, &value) in eights.iter_mut().zip(&values[..now]) {
                *eight = make(value).to_le_bytes();
            }
            self.filled += now * WORD_BYTES;
            values = &values[now..];
        }
        Ok(())
    }

    /// Grows the chunk if it is full, or writes the chunk to the target.
    fn ensure_space(&mut self) -> io::Result<()> {
        if self.filled == CHUNK_BYTES {
            self.crc.add(&self.chunk[self.seen..]);
            self.to.write_all(&self.chunk)?;
            self.before += CHUNK_BYTES as u64;
            (self.filled, self.seen) = (0, 0);
        } else if self.filled == self.chunk.len() {
            let bytes = (2 * self.filled).clamp(CHUNK_BYTES_MIN, CHUNK_BYTES);
            self.chunk.resize(bytes, 0);
        }
        Ok(())
    }

    /// Flushes all words and returns the target.
    ///
    /// # Errors
    /// When the target cannot be written.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        self.to.write_all(&self.chunk[..self.filled])?;
        self.to.flush()?;
        Ok(self.to)
    }
}

/// Reads words from bytes.
pub(crate) struct WordReader<R> {
    from: R,
    chunk: Vec<u8>,
    crc: Crc,
}

impl<R: Read> WordReader<R> {
    pub(crate) fn new(from: R) -> Self {
        Self {
            from,
            chunk: Vec::new(),
            crc: Crc(None),
        }
    }

    /// Makes a reader that computes the CRC of the words.
    pub(crate) fn with_crc(from: R) -> Self {
        Self {
            crc: Crc::wanted(),
            ..Self::new(from)
        }
    }

    /// Returns the CRC of the words since the last call.
    pub(crate) fn take_crc(&mut self) -> u64 {
        self.crc.take()
    }

    /// Reads the next word.
    ///
    /// # Errors
    /// When the source fails, or ends before the word does.
    pub(crate) fn word(&mut self) -> io::Result<u64> {
        let mut word = [0; WORD_BYTES];
        self.from.read_exact(&mut word)?;
        self.crc.add(&word);
        Ok(u64::from_le_bytes(word))
    }

    /// Appends the next `count` words, each converted by `make`.
    ///
    /// # Errors
    /// When the source fails, or ends before the words do.
    pub(crate) fn read<T>(
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
            self.crc.add(chunk);
            let (longs, _) = chunk.as_chunks::<WORD_BYTES>();
            to.extend(longs.iter().map(|&bytes| make(u64::from_le_bytes(bytes))));
            left -= words;
        }
        Ok(())
    }

    /// Whether the source is at its end.
    ///
    /// # Errors
    /// When the source fails.
    pub(crate) fn ends(mut self) -> io::Result<bool> {
        match self.from.read_exact(&mut [0]) {
            Ok(()) => Ok(false),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(true),
            Err(error) => Err(error),
        }
    }
}

/// Returns value `j` of a packed row from its word. `low` is the value of a 0 bit.
pub(crate) fn real_value(word: u64, j: usize, low: f64) -> f64 {
    match word >> (j % WORD_BITS) & 1 {
        1 => 1.0,
        _ => low,
    }
}
