//! The end of a computation: its result, model, trace or error, in the form that the store writes.
//!
//! Documents of long hypotheses are megabytes of JSON. The thread of the computation makes them, within the
//! memory of the job.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;

use crate::records::{Job, JobError, Status, Timestamp};
use crate::storage::{JobEnd, Spent};

use super::compute::Computed;
use super::lease_renewer::progress;
use crate::jobs::data::stored::ReadError;
use crate::jobs::ids::Ids;
use crate::jobs::service::Jobs;
use crate::jobs::tasks::{Completion, TaskEnd};

/// Longest hypothesis that a result includes, as JSON. A longer hypothesis is only in the model.
pub(crate) const INLINE_HYPOTHESIS_BYTES_MAX: usize = 256 * 1024;

/// The end of a job whose computation failed and is not tried again.
pub(crate) fn of_failed(jobs: &Jobs, job: &Job, computed: Computed) -> JobEnd {
    let error = match computed {
        Computed::Unreadable(error) => unreadable(error),
        Computed::NoMemory => no_memory(),
        _ => JobError {
            code: "internal".to_owned(),
            detail: "the computation failed because of a defect in the service".to_owned(),
        },
    };
    failure(jobs.ids.now(), error, job)
}

/// The error of a job whose data cannot be read.
pub(crate) fn unreadable(error: ReadError) -> JobError {
    let (code, detail) = match error {
        ReadError::Missing(detail) => ("data-missing", detail),
        ReadError::Corrupt(detail) => (JobError::DATA_CORRUPT, detail),
        ReadError::Broken(detail) => ("internal", detail),
        ReadError::Store(error) => ("internal", error.to_string()),
    };
    JobError {
        code: code.to_owned(),
        detail,
    }
}

/// The end of a job without a result.
pub(crate) fn failure(finished_at: Timestamp, error: JobError, job: &Job) -> JobEnd {
    JobEnd {
        status: Status::Failed,
        result: None,
        error: Some(error),
        finished_at,
        progress: job.progress,
        spent: Spent::default(),
        model: None,
        trace: None,
    }
}

/// The end of a job whose computation returned documents.
pub(crate) fn of(ids: &Ids, job: &Job, planned: Option<u64>, completion: Completion) -> JobEnd {
    let mut progress = completion
        .counts
        .map_or(job.progress, |counts| progress(&counts, planned));
    let (status, result, error) = match completion.end {
        TaskEnd::Succeeded(result) => {
            progress.fraction = Some(1.0);
            (Status::Succeeded, Some(result), None)
        }
        TaskEnd::Cancelled(result) => (Status::Cancelled, result, None),
        TaskEnd::Failed(error) => (Status::Failed, None, Some(error)),
    };
    JobEnd {
        status,
        result,
        error,
        finished_at: ids.now(),
        progress,
        spent: Spent::default(),
        model: completion.model,
        trace: completion
            .trace
            .and_then(|trace| serde_json::to_vec(&trace).ok()),
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

pub(crate) fn json_text(document: &impl Serialize) -> String {
    serde_json::to_string(document).expect("documents have string keys")
}

pub(crate) fn json(document: &impl Serialize) -> Value {
    serde_json::to_value(document).expect("documents have string keys")
}

/// Whether a hypothesis is short enough for the document of its result.
pub fn is_shown_inline(hypothesis: &impl Serialize) -> bool {
    is_within(hypothesis, INLINE_HYPOTHESIS_BYTES_MAX)
}

/// Whether the JSON text of a document has at most `bytes_max` bytes. Serialisation stops at the limit.
pub(crate) fn is_within(document: &impl Serialize, bytes_max: usize) -> bool {
    serde_json::to_writer(RemainingBytes(bytes_max), document).is_ok()
}

/// A writer that counts bytes down from a limit and keeps none.
struct RemainingBytes(usize);

impl Write for RemainingBytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = self.0.checked_sub(bytes.len());
        self.0 = left.ok_or(io::ErrorKind::FileTooLarge)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_measured_to_the_byte() {
        assert!(is_within(&[10, 20], 7));
        assert!(!is_within(&[10, 20], 6));
    }
}
