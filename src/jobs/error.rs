//! The errors of requests about jobs, datasets and models, which know no HTTP status.

use halfspace_core::memory::NoMemory;

use crate::records::{Job, JobId, KeyRecord};
use crate::storage::{OverQuota, StoreError};

#[derive(Debug, thiserror::Error)]
pub enum JobsError {
    #[error(transparent)]
    Store(StoreError),
    /// No such job.
    #[error("no such job")]
    NotFound,
    /// The job has ended, so it cannot be cancelled.
    #[error("the job has already ended as {}", .0.status)]
    Ended(Box<Job>),
    /// The job has not ended, so it cannot be deleted.
    #[error("the job has not ended; cancel it first")]
    NotEnded,
    /// The job is a subjob, which is cancelled and deleted only with its parent.
    #[error("the job is a part of {parent}; cancel or delete {parent} instead")]
    SubjobOf { parent: JobId },
    /// No such dataset.
    #[error("no such dataset")]
    DatasetMissing,
    /// The dataset cannot be deleted yet, because a job that has not ended reads it.
    #[error(
        "the dataset is in use by the job {job}, which has not ended; cancel the job or wait for \
         its end, then delete the dataset"
    )]
    DatasetPinned { job: JobId },
    /// No such model.
    #[error("no such model")]
    ModelMissing,
    /// The owner has used the idempotency key for another request.
    #[error("another request created something under this idempotency key")]
    KeyTaken(Box<KeyRecord>),
    /// A quota would be exceeded.
    #[error(transparent)]
    OverQuota(OverQuota),
    /// The job needs more memory than the process ever has.
    #[error(transparent)]
    NoMemory(NoMemory),
    /// The process is stopping.
    #[error("the service is stopping")]
    Stopping,
}

impl From<StoreError> for JobsError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::DatasetMissing(_) => Self::DatasetMissing,
            StoreError::KeyTaken(record) => Self::KeyTaken(record),
            StoreError::OverQuota(over) => Self::OverQuota(over),
            error => Self::Store(error),
        }
    }
}
