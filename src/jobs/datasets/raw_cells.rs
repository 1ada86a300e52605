//! The raw cells of tables beside their examples, and how a job encodes them again.

use std::fmt;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use halfspace_core::learners::engine::run::{Interrupt, StopFlag};
use halfspace_core::memory;
use halfspace_formats::{
    BlocksError, Buffers, Classes, FormatError, FormatErrorKind, ReadAt, ReadFrom, Spool,
    StoredExamples, TableEncoding, encode_for,
};

use crate::records::{DatasetSummary, Names};
use crate::storage::{BlobFile, Blobs};

use super::Datasets;
use super::stored::ReadError;
use crate::jobs::config::EncodingConfig;
use crate::jobs::error::JobsError;

/// The raw cells of the table that a sample came as. Clones share the reason why they could not be read.
#[derive(Clone)]
pub struct TableCells {
    source: Arc<dyn ReadAt>,
    config: Arc<EncodingConfig>,
    /// For the examples that are encoded again.
    buffers: Buffers,
    failure: Arc<Mutex<Option<ReadError>>>,
}

impl fmt::Debug for TableCells {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TableCells({:?})", self.source)
    }
}

impl Datasets {
    /// The raw cells of a dataset, if it has any.
    ///
    /// # Errors
    /// [`JobsError::DatasetMissing`], or errors of the store.
    pub async fn raw_cells(
        &self,
        dataset: &DatasetSummary,
    ) -> Result<Option<Box<dyn ReadAt>>, JobsError> {
        if dataset.cells_bytes == 0 {
            return Ok(None);
        }
        let key = Blobs::cells_key(&dataset.data_key);
        match self.blobs.open(&key, &StopFlag::default()).await? {
            Some(found) => Ok(Some(found)),
            None => Err(self.without_blob(dataset).await?),
        }
    }

    /// The raw cells beside data with this key.
    ///
    /// # Errors
    /// There are none, or the store does not answer.
    pub(in crate::jobs) async fn cells_of_data(
        &self,
        data_key: &str,
        stop: &StopFlag,
    ) -> Result<TableCells, ReadError> {
        let key = Blobs::cells_key(data_key);
        let found = self
            .blobs
            .open(&key, stop)
            .await
            .map_err(ReadError::Store)?;
        let missing = || ReadError::Missing(format!("the stored data {key} are missing"));
        Ok(self.table_cells(found.ok_or_else(missing)?))
    }

    /// The raw cells of a table, for a job.
    pub fn table_cells(&self, source: Box<dyn ReadAt>) -> TableCells {
        TableCells {
            source: source.into(),
            config: Arc::clone(&self.encoding),
            buffers: self.buffers(),
            failure: Arc::default(),
        }
    }
}

impl TableCells {
    /// The raw cells, compressed.
    pub(in crate::jobs) fn source(&self) -> &dyn ReadAt {
        &*self.source
    }

    /// Bytes of memory for the examples while the table is encoded; further ones go to disk.
    pub(in crate::jobs) fn memory_bytes_max(&self) -> u64 {
        self.config.memory_bytes_max
    }

    /// Why the cells could not be read. Only the first call gets the reason.
    pub(in crate::jobs) fn take_failure(&self) -> Option<ReadError> {
        self.failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    pub(in crate::jobs) fn note(&self, failure: ReadError) {
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
    }

    /// Notes why the table cannot be encoded.
    pub(in crate::jobs) fn fail(&self, error: FormatError) -> Interrupt {
        self.note(match error.kind {
            FormatErrorKind::NoMemory(_) => return Interrupt::Memory,
            FormatErrorKind::Spool(io::ErrorKind::InvalidData) => ReadError::Corrupt(error.detail),
            FormatErrorKind::Spool(kind) => {
                ReadError::Store(io::Error::new(kind, error.detail).into())
            }
            FormatErrorKind::Io => ReadError::Store(io::Error::other(error.detail).into()),
            _ => ReadError::Unfit(format!(
                "the examples that are not held out make no table: {}",
                error.detail
            )),
        });
        Interrupt::Unreadable
    }

    /// The examples whose features the rows decide for which `is_learnt` holds, in their stored form, and their names.
    /// `None` if the rows of the table decide nothing.
    ///
    /// # Errors
    /// When the cells cannot be read, or these rows make no table.
    pub(in crate::jobs) fn encoded(
        &self,
        table: &TableEncoding,
        classes: Option<&Classes>,
        is_learnt: &dyn Fn(usize) -> bool,
        stop: &StopFlag,
    ) -> Result<Option<(StoredExamples, Names)>, FormatError> {
        let EncodingConfig {
            limits,
            memory_bytes_max,
            scratch,
        } = &*self.config;
        let spool = scratch
            .clone()
            .map(|scratch| Spool::new(*memory_bytes_max, move || scratch.file()));
        let open = || {
            Ok(Watched {
                cells: ReadFrom::whole(&*self.source)?,
                stop,
            })
        };
        let encoded = encode_for(open, table, classes, is_learnt, limits, spool)?;
        let Some(mut parsed) = encoded else {
            return Ok(None);
        };
        let bytes = parsed.stored_bytes().unwrap_or(u64::MAX);
        let (source, sha256): (Box<dyn ReadAt>, _) = match scratch {
            Some(scratch) if bytes > *memory_bytes_max => {
                let mut file = scratch.file()?;
                let stored = parsed.store(&mut file, 0).map_err(unstored)?;
                (Box::new(BlobFile(file)), stored.digest)
            }
            _ => {
                memory::need(bytes)?;
                let mut text = Vec::new();
                let stored = parsed.store(&mut text, 0).map_err(unstored)?;
                (Box::new(Bytes::from(text)), stored.digest)
            }
        };
        let examples = StoredExamples::open(source, sha256, self.buffers, stop.clone());
        Ok(Some((examples.map_err(unstored)?, Names::of(&parsed))))
    }
}

/// Raw cells whose reading ends once the run must.
struct Watched<'c> {
    cells: ReadFrom<'c>,
    stop: &'c StopFlag,
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.stop.raised() {
            // The training reports what it learnt before, for which it needs the examples.
            None | Some(Interrupt::TimeLimit | Interrupt::Cancelled) => self.cells.read(buffer),
            Some(_) => Err(io::Error::other("the training was stopped")),
        }
    }
}

fn unstored(error: BlocksError) -> FormatError {
    match error {
        BlocksError::Io(error) => error.into(),
        error => io::Error::other(error).into(),
    }
}
