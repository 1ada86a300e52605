//! A whole body, kept in memory or in a temporary file, for formats whose directory is at the end.

use std::io::{self, ErrorKind, Read, Seek, SeekFrom};

use halfspace_core::memory;

use crate::error::{Fault, FormatError};
use crate::options::ParseLimits;
use crate::stored::overflow::Overflow;
use crate::stored::spool::{OpenSpool, SpoolFile};

/// The body in memory or in a file. Errors of the file are faults of the spool.
pub(super) struct KeptBody {
    file: Box<dyn SpoolFile>,
    length: u64,
}

impl KeptBody {
    /// Copies the body to memory, or to a file if it is long.
    ///
    /// # Errors
    /// When the body is too long, or the source, the memory or the file fails.
    pub(super) fn keep(
        reader: &mut dyn Read,
        limits: &ParseLimits,
        open: Option<(u64, OpenSpool)>,
    ) -> Result<Self, FormatError> {
        let mut kept = Overflow::new(open);
        let mut buffer = vec![0; 64 * 1024];
        let mut bytes = 0;
        loop {
            let read = match reader.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            };
            bytes += read as u64;
            if bytes > limits.body_bytes_max {
                let (name, limit) = (limits.body_limit_name, limits.body_bytes_max);
                return Err(Fault::too_large("The body is too large", name, limit).into());
            }
            let written = io::Write::write_all(&mut kept, &buffer[..read]);
            written.map_err(Fault::unspooled)?;
        }
        let file = kept.into_file();
        Ok(Self {
            file,
            length: bytes,
        })
    }

    /// The length of the body.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Reads at most `bytes` bytes at a place.
    ///
    /// # Errors
    /// When the memory or the file fails.
    pub(super) fn read_up_to(&mut self, place: u64, bytes: u64) -> Result<Vec<u8>, FormatError> {
        let bytes = bytes.min(self.length.saturating_sub(place));
        memory::need(bytes)?;
        let mut read = Vec::with_capacity(usize::try_from(bytes).unwrap_or(0));
        self.seek(SeekFrom::Start(place))?;
        self.take(bytes).read_to_end(&mut read)?;
        Ok(read)
    }
}

fn marked(error: io::Error) -> io::Error {
    match error.kind() {
        ErrorKind::Interrupted => error,
        _ => Fault::unspooled(error).into_io(),
    }
}

impl Read for KeptBody {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read(buffer).map_err(marked)
    }
}

impl Seek for KeptBody {
    fn seek(&mut self, place: SeekFrom) -> io::Result<u64> {
        self.file.seek(place).map_err(marked)
    }
}
