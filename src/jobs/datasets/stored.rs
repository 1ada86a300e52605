//! The stored data of a job or a dataset: how they are opened for reading on demand, and deleted.

use std::sync::Arc;
use std::time::Duration;

use halfspace_core::learners::engine::run::StopFlag;
use halfspace_formats::{BlocksError, Buffers, StoredExamples};
use hex::FromHex;

use crate::records::{Dataset, DatasetId, Owner};
use crate::storage::{Blobs, DeleteDatasetOutcome, StoreError};

use super::Datasets;
use crate::jobs::error::JobsError;

/// Bytes read at once of data that are not held as a whole. The window is small enough to stay in the
/// processor's cache while it is learnt from, and large enough for fast disk reads.
const WINDOW_BYTES_MAX: u64 = 1 << 20;

/// Time limit for deleting a blob after its record. A client waits for the deletion, and the sweep removes a
/// blob that stays.
const FORGET_TIMEOUT: Duration = Duration::from_secs(2);

/// The reason why stored data could not be read.
#[derive(Debug)]
pub enum ReadError {
    /// The store failed, and another attempt may succeed.
    Store(StoreError),
    /// There is no blob.
    Missing(String),
    /// The blob differs from what was written.
    Corrupt(String),
    /// The data are sound, but cannot be encoded as the job needs them.
    Unfit(String),
    /// The reader failed, which is a defect of this program.
    Broken(String),
}

impl From<&BlocksError> for ReadError {
    fn from(error: &BlocksError) -> Self {
        match error {
            BlocksError::Io(cause) => {
                Self::Store(StoreError::unavailable(format!("{error}: {cause}")))
            }
            error => Self::Corrupt(error.to_string()),
        }
    }
}

impl From<ReadError> for JobsError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Store(error) => error.into(),
            ReadError::Missing(detail)
            | ReadError::Corrupt(detail)
            | ReadError::Unfit(detail)
            | ReadError::Broken(detail) => StoreError::corrupt(detail).into(),
        }
    }
}

impl ReadError {
    /// The reason why these examples could not be read.
    pub fn of(examples: &StoredExamples) -> Self {
        match examples.failure() {
            Some(failure) => failure.into(),
            None => Self::Broken("the read stopped without an error".to_owned()),
        }
    }
}

impl Datasets {
    /// Opens the data under a key and reads only the header. Reads end early once `stop` asks for a suspension.
    pub(crate) async fn open_data(
        &self,
        key: &str,
        sha256: &str,
        stop: StopFlag,
    ) -> Result<StoredExamples, ReadError> {
        let found = match self.blobs.open(key, &stop).await {
            // Another attempt would fail too.
            Err(StoreError::Other(error)) => return Err(ReadError::Broken(error.to_string())),
            found => found.map_err(ReadError::Store)?,
        };
        let missing = || ReadError::Missing(format!("the stored data {key} are missing"));
        let source = found.ok_or_else(missing)?;
        let sha256 = <[u8; 32]>::from_hex(sha256)
            .map_err(|_| ReadError::Corrupt("the recorded digest is invalid".to_owned()))?;
        let buffers = self.buffers();
        let opened = tokio::task::spawn_blocking(move || {
            StoredExamples::open(source, sha256, buffers, stop)
        });
        match opened.await {
            Ok(opened) => opened.map_err(|error| ReadError::from(&error)),
            Err(error) => Err(ReadError::Broken(error.to_string())),
        }
    }

    /// The buffers for stored examples.
    pub(super) fn buffers(&self) -> Buffers {
        let whole_bytes_max = self.resident_bytes_max;
        Buffers {
            whole_bytes_max,
            window_bytes: whole_bytes_max.min(WINDOW_BYTES_MAX),
        }
    }

    /// The owner's dataset, with its examples opened but not read.
    ///
    /// # Errors
    /// [`JobsError::DatasetMissing`], or errors of the store.
    pub async fn open(
        &self,
        owner: &Owner,
        id: DatasetId,
        stop: StopFlag,
    ) -> Result<(Dataset, Arc<StoredExamples>), JobsError> {
        let dataset = self.find(owner, id).await?;
        let summary = &dataset.summary;
        match self
            .open_data(&summary.data_key, &summary.facts.sha256, stop)
            .await
        {
            Ok(examples) => Ok((dataset, Arc::new(examples))),
            // The row was read before the blob, so the dataset may have been deleted in between.
            Err(ReadError::Missing(detail)) => match self.store.find(owner, id).await? {
                None => Err(JobsError::DatasetMissing),
                Some(_) => Err(StoreError::corrupt(detail).into()),
            },
            Err(error) => Err(error.into()),
        }
    }

    /// Deletes the owner's dataset.
    ///
    /// # Errors
    /// [`JobsError::DatasetMissing`], [`JobsError::DatasetPinned`], or errors of the store.
    pub async fn delete(&self, owner: &Owner, id: DatasetId) -> Result<(), JobsError> {
        match self.store.delete_dataset(owner, id).await? {
            DeleteDatasetOutcome::Deleted { data_key } => {
                forget_data(&self.blobs, Some(&data_key)).await;
                Ok(())
            }
            DeleteDatasetOutcome::Pinned { job } => Err(JobsError::DatasetPinned { job }),
            DeleteDatasetOutcome::NotFound => Err(JobsError::DatasetMissing),
        }
    }
}

/// Deletes data that are no longer needed, if there are any, and the raw cells beside them. The sweep removes blobs
/// that cannot be deleted now.
pub(crate) async fn forget_data(blobs: &Blobs, key: Option<&str>) {
    let Some(key) = key else { return };
    let cells = Blobs::cells_key(key);
    let delete = async {
        // Only data have raw cells beside them.
        if *Blobs::key_of_data(&cells) == *key {
            blobs.delete(&cells).await?;
        }
        blobs.delete(key).await
    };
    let deleted = tokio::time::timeout(FORGET_TIMEOUT, delete).await;
    let silent = |_| StoreError::unavailable("the store does not respond");
    if let Err(error) = deleted.map_err(silent).flatten() {
        tracing::warn!(key, %error, "unused data remain until the next sweep");
    }
}
