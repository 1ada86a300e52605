//! Bytes that are kept in memory up to a limit and move to a file beyond it.
//!
//! The spooled file of `tempfile` 3 does the same with a file of its own, but here the caller opens the file, in the
//! place that the operator chose. Its vector doubles without asking, so at a limit of 16 MiB it may hold almost 48 MiB
//! for a moment, which the grant of the work would not know.

use std::io::{self, Cursor, Read, Write};

use halfspace_core::memory;

use super::spool::{OpenSpool, SpoolFile};
use crate::error::Fault;

/// Bytes that are written once and then read.
pub(crate) struct Overflow {
    memory: Vec<u8>,
    /// The limit, and the source of the file.
    open: Option<(u64, OpenSpool)>,
    file: Option<Box<dyn SpoolFile>>,
}

impl Overflow {
    /// Makes an empty store that moves to a file of `open` after the stated number of bytes.
    pub(crate) fn new(open: Option<(u64, OpenSpool)>) -> Self {
        Self {
            memory: Vec::new(),
            open,
            file: None,
        }
    }

    /// Returns a reader of all bytes.
    ///
    /// # Errors
    /// When the file fails.
    pub(crate) fn reader(&mut self) -> io::Result<Box<dyn Read + '_>> {
        match &mut self.file {
            Some(file) => {
                file.rewind()?;
                Ok(Box::new(file))
            }
            None => Ok(Box::new(self.memory.as_slice())),
        }
    }

    /// All bytes, to be read at any position.
    pub(crate) fn into_file(self) -> Box<dyn SpoolFile> {
        self.file
            .unwrap_or_else(|| Box::new(Cursor::new(self.memory)))
    }
}

impl Write for Overflow {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(file) = &mut self.file {
            return file.write(bytes);
        }
        let length = (self.memory.len() + bytes.len()) as u64;
        match &self.open {
            Some((limit, open)) if length > *limit => {
                let mut file = open()?;
                file.write_all(&std::mem::take(&mut self.memory))?;
                self.file.insert(file).write(bytes)
            }
            _ => {
                memory::need(2 * length).map_err(|full| Fault::from(full).into_io())?;
                self.memory.extend_from_slice(bytes);
                Ok(bytes.len())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), Write::flush)
    }
}
