//! A job and its status machine.
//!
//! A job records everything about one piece of long work: the request, the progress and the result. Which worker
//! computes it, and under which lease, is not part of the record but known to the queue.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use halfspace_core::learners::engine::run::Counts;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::callback::Callback;
use super::id::{DatasetId, JobId, ModelId};
use super::owner::Owner;
use super::schedule::Demand;
use super::time::Timestamp;
use super::trace_parent::TraceParent;

/// One piece of long work.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    pub id: JobId,
    pub owner: Owner,
    /// The kind of work, such as `train`.
    pub task: String,
    /// Name of the learner, if the task has one.
    pub learner: Option<String>,
    /// Free text of the client.
    pub name: Option<String>,
    pub status: Status,
    /// The request without its data. Together with the data and the seed, it suffices to repeat the work. Copies of a
    /// job share it, because the encoding of a wide table takes megabytes as a value.
    pub spec: Arc<Value>,
    /// The blob with the packed data of this job alone, if there is one.
    pub data_key: Option<String>,
    /// Size of that blob, in bytes.
    pub data_bytes: u64,
    /// The dataset that the job reads. It cannot be deleted before the job has ended, and may be gone afterwards.
    pub dataset: Option<DatasetId>,
    /// The digest of the canonical rows, in hexadecimal.
    pub data_sha256: Option<String>,
    /// The seed, from 0 to 2^53 - 1, so that every JSON reader represents it exactly.
    pub seed: u64,
    /// Number of attempts that were started, less the attempts that were returned to the queue in good order.
    pub attempt: u32,
    pub created_at: Timestamp,
    /// Start of the first attempt.
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    pub progress: Progress,
    pub result: Option<Value>,
    /// The reason of the failure; present exactly if the job failed.
    pub error: Option<JobError>,
    /// The model that the job stored. It outlives the job, unless it is deleted before.
    pub model: Option<ModelId>,
    /// Whether a client requested the cancellation of the job, which may still succeed.
    pub cancel_requested: bool,
    /// Among the jobs of one owner, a higher priority goes first.
    pub priority: i32,
    /// The expected demand for resources.
    pub demand: Demand,
    /// The callback to send when the job ends, and the state of its delivery.
    pub callback: Option<Callback>,
    /// Whether the job has subjobs or is a subjob.
    pub lineage: JobTree,
    /// The request that created the job, in its distributed trace.
    pub trace_parent: Option<TraceParent>,
}

impl Job {
    /// A new queued job without subjobs. All optional members are empty.
    pub fn queued(
        id: JobId,
        owner: Owner,
        task: &str,
        spec: Value,
        seed: u64,
        created_at: Timestamp,
    ) -> Self {
        Self {
            id,
            owner,
            task: task.to_owned(),
            learner: None,
            name: None,
            status: Status::Queued,
            spec: Arc::new(spec),
            data_key: None,
            data_bytes: 0,
            dataset: None,
            data_sha256: None,
            seed,
            attempt: 0,
            created_at,
            started_at: None,
            finished_at: None,
            progress: Progress::default(),
            result: None,
            error: None,
            model: None,
            cancel_requested: false,
            priority: 0,
            demand: Demand::default(),
            callback: None,
            lineage: JobTree::Single,
            trace_parent: None,
        }
    }
}

/// The largest size of the requests of all subjobs of a job, in bytes. Each subjob stores its own, and all of them
/// are made at once.
pub const PARTS_REQUEST_BYTES_MAX: u64 = 64 << 20;

/// The relation of a job to other jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JobTree {
    /// The usual case: no subjobs, and not itself a subjob.
    #[default]
    Single,
    /// The work is done by subjobs, which are jobs of their own and may be claimed by any worker. When all have
    /// ended, a worker combines their results.
    Parent {
        /// Number of subjobs, at least 1.
        subjobs: u32,
        /// Number of subjobs that have not ended.
        left: u32,
    },
    /// The job is a subjob of another one, and is cancelled and deleted with it.
    Subjob {
        parent: JobId,
        /// Index of the subjob, from 0.
        index: u32,
    },
}

/// The current outcome of one subjob of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct SubjobOutcome {
    pub job: JobId,
    /// Index of the subjob, from 0.
    pub index: u32,
    pub status: Status,
    /// The result; present if the subjob succeeded and possibly if it was cancelled.
    pub result: Option<Value>,
}

/// The priority of a job among the jobs of one client, from -10 to 10. The default is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(try_from = "i32")]
#[schema(minimum = -10, maximum = 10)]
pub struct Priority(i32);

impl Priority {
    /// The number.
    #[must_use]
    pub fn get(self) -> i32 {
        self.0
    }
}

impl TryFrom<i32> for Priority {
    type Error = String;

    fn try_from(number: i32) -> Result<Self, String> {
        if (-10..=10).contains(&number) {
            Ok(Self(number))
        } else {
            Err(format!("{number} is not from -10 to 10"))
        }
    }
}

/// The status of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// The job waits for a worker.
    Queued,
    /// A worker computes the job.
    Running,
    /// The job has a result.
    Succeeded,
    /// The job has an error.
    Failed,
    /// A client cancelled the job.
    Cancelled,
}

impl Status {
    /// All statuses.
    pub const ALL: [Self; 5] = [
        Self::Queued,
        Self::Running,
        Self::Succeeded,
        Self::Failed,
        Self::Cancelled,
    ];

    /// Whether this status is final.
    #[must_use]
    pub fn is_ended(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Cancelled)
    }

    /// The name in the API and in the store.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text is not the name of a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the status must be one of queued, running, succeeded, failed, cancelled")]
pub struct ParseStatusError;

impl FromStr for Status {
    type Err = ParseStatusError;

    fn from_str(text: &str) -> Result<Self, ParseStatusError> {
        Self::ALL
            .into_iter()
            .find(|status| status.as_str() == text)
            .ok_or(ParseStatusError)
    }
}

/// The progress of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Progress {
    /// Examples read, tested or consumed in a batch.
    pub examples: u64,
    /// Examples that the current hypothesis predicted wrongly.
    pub mistakes: u64,
    /// Passes started.
    pub passes: u64,
    /// The finished share of the work, from 0 to 1, if known.
    #[schema(minimum = 0, maximum = 1)]
    pub fraction: Option<f64>,
    /// Estimated seconds until the end, at the speed so far; only for jobs with parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0)]
    pub seconds_left: Option<f64>,
    /// Bytes that an import has read of its object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Bytes of the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_total: Option<u64>,
}

impl Progress {
    /// The progress of a run with these counts that is to read `planned` examples.
    #[must_use]
    pub fn of(counts: &Counts, planned: Option<u64>) -> Self {
        let fraction = planned.map(|planned| counts.examples as f64 / planned.max(1) as f64);
        Self {
            examples: counts.examples,
            mistakes: counts.mistakes,
            passes: counts.passes,
            fraction: fraction.map(|fraction| fraction.min(1.0)),
            ..Self::default()
        }
    }

    /// The progress of an import. Its counts are the bytes of the object, read for the first time and again, out of
    /// `planned` bytes.
    #[must_use]
    pub fn of_source(counts: &Counts, planned: Option<u64>, bytes_total: u64) -> Self {
        let read = counts.examples.saturating_add(counts.updates);
        let fraction = planned.map(|planned| read as f64 / planned.max(1) as f64);
        Self {
            // The dataset is still to be stored.
            fraction: fraction.map(|fraction| fraction.min(0.99)),
            bytes: Some(counts.examples),
            bytes_total: Some(bytes_total),
            ..Self::default()
        }
    }
}

/// The reason why a job failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobError {
    /// A stable error code.
    pub code: String,
    /// An explanation in words.
    pub detail: String,
}

impl JobError {
    /// The code of a job that failed because every attempt broke off.
    pub const POISONED: &'static str = "poisoned";
    /// The code of a job whose stored data or request are damaged.
    pub const DATA_CORRUPT: &'static str = "data-corrupt";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_has_one_name_in_json_and_in_text() {
        for status in Status::ALL {
            assert_eq!(serde_json::to_value(status).unwrap(), status.as_str());
            assert_eq!(status.as_str().parse(), Ok(status));
        }
        assert_eq!("Queued".parse::<Status>(), Err(ParseStatusError));
    }
}
