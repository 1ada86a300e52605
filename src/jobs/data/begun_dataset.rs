//! A dataset whose blob may be written while its body arrives.
//!
//! The target opens a blob when the first rows need it. The blob is invisible until the dataset is stored. A begun
//! dataset that is dropped aborts its blob.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use halfspace_core::memory::{Grant, MemoryBudget};

use crate::records::id::DatasetKind;
use crate::records::{DatasetId, Timestamp};
use crate::storage::blobs::BlobWriter;
use crate::storage::{Blobs, StoreError};

use super::datasets::STORING_BYTES;
use crate::jobs::service::{Jobs, JobsError};

/// A dataset before its examples are read.
pub struct BegunDataset {
    pub(super) id: DatasetId,
    pub(super) created_at: Timestamp,
    /// The key of the blob.
    pub(super) key: String,
    /// Repetitions are counted among at most this number of examples.
    pub compared_max: usize,
    blobs: Blobs,
    memory: MemoryBudget,
    blob: Arc<Mutex<BegunBlob>>,
}

#[derive(Default)]
struct BegunBlob {
    /// `None` before the target is opened.
    writer: Option<(BlobWriter, Grant)>,
    /// The first error of the target.
    failure: Option<JobsError>,
}

/// The blob of a begun dataset as the target of a reader.
pub struct BlobTarget(Arc<Mutex<BegunBlob>>);

impl Jobs {
    /// Begins a dataset. Nothing is written yet.
    pub fn begin_dataset(&self) -> BegunDataset {
        let id = self.ids.id::<DatasetKind>();
        BegunDataset {
            id,
            created_at: self.ids.now(),
            key: Blobs::dataset_key(id),
            compared_max: self.compared_max(),
            blobs: self.blobs.clone(),
            memory: self.config.memory.clone(),
            blob: Arc::default(),
        }
    }
}

impl BegunDataset {
    /// Returns a function that opens the blob, for a thread of the runtime.
    pub fn target(&self) -> impl FnOnce() -> io::Result<BlobTarget> + Send + use<> {
        let (blobs, key, memory) = (self.blobs.clone(), self.key.clone(), self.memory.clone());
        let blob = Arc::clone(&self.blob);
        move || {
            let grant = memory.try_take(STORING_BYTES).map_err(JobsError::NoMemory);
            let writer = grant.and_then(|grant| Ok((blobs.writer(&key)?, grant)));
            let mut begun = lock(&blob);
            match writer {
                Ok(writer) => begun.writer = Some(writer),
                Err(error) => return Err(begun.fail(error)),
            }
            drop(begun);
            Ok(BlobTarget(blob))
        }
    }

    /// Takes the error of the target, if the target failed.
    pub fn take_failure(&self) -> Option<JobsError> {
        lock(&self.blob).failure.take()
    }

    /// Removes the remains of the blob.
    pub async fn abort(self) {
        if let Some(writer) = self.into_writer() {
            writer.abort().await;
        }
    }

    /// Returns the blob, if the target was opened.
    pub(super) fn into_writer(self) -> Option<BlobWriter> {
        let (writer, _) = lock(&self.blob).writer.take()?;
        Some(writer)
    }
}

impl BegunBlob {
    /// Keeps the error, because the error of a reader has no room for it.
    fn fail(&mut self, error: JobsError) -> io::Error {
        let text = io::Error::other(error.to_string());
        self.failure.get_or_insert(error);
        text
    }
}

impl Write for BlobTarget {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut begun = lock(&self.0);
        let Some((writer, _)) = &mut begun.writer else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let written = writer.write(bytes);
        written.map_err(|error| begun.fail(StoreError::from(error).into()))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
