//! How jobs without a result end, and their errors.

use crate::records::{Job, JobError, Status, Timestamp};
use crate::storage::{JobEnd, OverQuota, Spent};

use super::datasets::stored::ReadError;

/// The end of a job that failed.
pub(crate) fn failure(finished_at: Timestamp, error: JobError, job: &Job) -> JobEnd {
    JobEnd {
        status: Status::Failed,
        result: None,
        error: Some(error),
        finished_at,
        progress: job.progress,
        spent: Spent::default(),
        model: None,
        dataset: None,
        trace: None,
    }
}

/// The error of a job whose data cannot be read.
pub(crate) fn unreadable(error: ReadError) -> JobError {
    let (code, detail) = match error {
        ReadError::Missing(detail) => ("data-missing", detail),
        ReadError::Corrupt(detail) => (JobError::DATA_CORRUPT, detail),
        ReadError::Unfit(detail) => ("bad-data", detail),
        ReadError::Broken(detail) => ("internal", detail),
        ReadError::Store(error) => ("internal", error.to_string()),
    };
    JobError {
        code: code.to_owned(),
        detail,
    }
}

/// The error of a job that ran out of memory.
pub(crate) fn no_memory() -> JobError {
    JobError {
        code: "memory".to_owned(),
        detail: "the job needs more memory than is free (memory_bytes_max of GET /v1/limits); \
                 retry when fewer jobs run, send fewer examples, or set a larger \
                 --memory-bytes-max"
            .to_owned(),
    }
}

/// The error of a job whose dataset exceeds a quota.
pub(crate) fn over_quota(over: &OverQuota) -> JobError {
    JobError {
        code: "quota-full".to_owned(),
        detail: over.to_string(),
    }
}

/// The error of a job whose computation panicked.
pub(crate) fn defect() -> JobError {
    JobError {
        code: "internal".to_owned(),
        detail: "the computation failed because of a defect in the service".to_owned(),
    }
}
