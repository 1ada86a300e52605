//! A dataset that is being uploaded: its blob may already be written while the body arrives.
//!
//! The blob stays invisible until the dataset is stored, and dropping a begun dataset aborts it.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use crate::records::id::DatasetKind;
use crate::records::{DatasetId, Timestamp};
use crate::storage::blobs::writer::BlobWriter;
use crate::storage::{Blobs, StoreError};

use super::Datasets;
use crate::jobs::error::JobsError;

/// A dataset before its examples are read.
pub struct BegunDataset {
    pub(super) id: DatasetId,
    pub(super) created_at: Timestamp,
    /// At most this number of examples is compared to find repetitions.
    pub compared_max: usize,
    blob: Arc<Mutex<BlobWriter>>,
}

/// The blob of a begun dataset as the target of a reader.
pub struct BlobTarget(Arc<Mutex<BlobWriter>>);

impl Datasets {
    /// Begins a dataset. Nothing is written yet.
    ///
    /// # Errors
    /// When the key of the blob is invalid.
    pub fn begin(&self) -> Result<BegunDataset, JobsError> {
        let id = self.ids.id::<DatasetKind>();
        let blob = self
            .store
            .blob_writer(&self.blobs, &Blobs::dataset_key(id))?;
        Ok(BegunDataset {
            id,
            created_at: self.ids.now(),
            compared_max: self.compared_max(),
            blob: Arc::new(Mutex::new(blob)),
        })
    }
}

impl BegunDataset {
    /// The blob as a target, whose writes block the thread.
    pub fn target(&self) -> BlobTarget {
        BlobTarget(Arc::clone(&self.blob))
    }

    /// Removes the remains of the blob. If a reader still has the target, that happens when the reader ends.
    pub async fn abort(self) {
        if let Ok(blob) = self.into_blob() {
            blob.abort().await;
        }
    }

    /// The blob.
    ///
    /// # Errors
    /// When a reader still has the target.
    pub(super) fn into_blob(self) -> Result<BlobWriter, StoreError> {
        let blob = Arc::into_inner(self.blob).ok_or_else(|| {
            StoreError::other("the examples of a dataset were stored before their reader ended")
        })?;
        Ok(blob.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for BlobTarget {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut blob = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        blob.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
