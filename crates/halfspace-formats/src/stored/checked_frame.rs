//! A compressed frame and the CRC-64/NVME of its bytes. It also covers bits of the frame that zstd does not read.

use std::io::{self, Read, Write};

use crate::error::Fault;

/// The CRC of the stored form of examples too.
const CRC: crc_fast::CrcAlgorithm = crc_fast::CrcAlgorithm::Crc64Nvme;

/// A target that counts and digests the bytes.
pub(super) struct Counted<W> {
    to: W,
    bytes: u64,
    crc: crc_fast::Digest,
}

impl<W: Write> Counted<W> {
    pub(super) fn new(to: W) -> Self {
        let crc = crc_fast::Digest::new(CRC);
        Self { to, bytes: 0, crc }
    }

    /// Writes the CRC of all bytes, and returns the target and the number of its bytes.
    pub(super) fn finish(mut self) -> io::Result<(W, u64)> {
        let crc = self.crc.finalize().to_le_bytes();
        self.write_all(&crc)?;
        Ok((self.to, self.bytes))
    }
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.bytes += written as u64;
        self.crc.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// A frame whose CRC follows it. The end of the bytes is an error if the CRC is another.
pub(super) struct Checked<R> {
    from: R,
    /// Bytes that were read from the source; the last ones may be the CRC.
    held: Vec<u8>,
    /// The number of held bytes that were passed on.
    passed: usize,
    crc: crc_fast::Digest,
    has_ended: bool,
}

/// Bytes of a CRC.
const CRC_BYTES: usize = size_of::<u64>();

/// Bytes per read of the source.
const READ_BYTES: usize = 64 << 10;

impl<R: Read> Checked<R> {
    pub(super) fn new(from: R) -> Self {
        Self {
            from,
            held: Vec::new(),
            passed: 0,
            crc: crc_fast::Digest::new(CRC),
            has_ended: false,
        }
    }

    /// The number of held bytes that certainly belong to the frame.
    fn ready(&self) -> usize {
        self.held.len().saturating_sub(CRC_BYTES + self.passed)
    }

    fn fill(&mut self) -> io::Result<()> {
        while self.ready() == 0 && !self.has_ended {
            self.held.drain(..self.passed);
            self.passed = 0;
            let kept = self.held.len();
            self.held.resize(kept + READ_BYTES, 0);
            let read = self.from.read(&mut self.held[kept..]);
            self.held.truncate(kept + *read.as_ref().unwrap_or(&0));
            // The error of the source is none of zstd.
            self.has_ended = read.map_err(|error| Fault::unspooled(error).into_io())? == 0;
        }
        Ok(())
    }
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.fill()?;
        let length = self.ready().min(buffer.len());
        if length == 0 && !buffer.is_empty() {
            let stated = self
                .held
                .get(self.passed..)
                .and_then(|rest| rest.try_into().ok());
            let is_whole = stated.map(u64::from_le_bytes) == Some(self.crc.finalize());
            return match is_whole {
                true => Ok(0),
                false => Err(io::ErrorKind::InvalidData.into()),
            };
        }
        let bytes = &self.held[self.passed..self.passed + length];
        buffer[..length].copy_from_slice(bytes);
        self.crc.update(bytes);
        self.passed += length;
        Ok(length)
    }
}
