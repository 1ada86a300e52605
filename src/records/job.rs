//! A job and its status machine.
//!
//! A job is everything that is known about one piece of long work: what was asked, how far it is,
//! what came of it. Which worker computes it, and until when, is the queue's business and not part
//! of the record.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::callback::Callback;
use super::id::{DatasetId, JobId, ModelId};
use super::owner::Owner;
use super::schedule::Demand;
use super::time::Timestamp;

/// One piece of long work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    pub id: JobId,
    pub owner: Owner,
    /// The kind of work, such as `train`.
    pub task: String,
    /// The learner's name, where the task has one.
    pub learner: Option<String>,
    /// Free text of the client.
    pub name: Option<String>,
    pub status: Status,
    /// The request without its data: with the data and the seed, all that is needed to do the work
    /// again.
    pub spec: Value,
    /// The blob that holds the packed data of this job alone, where there are any.
    pub data_key: Option<String>,
    /// Bytes of that blob.
    pub data_bytes: u64,
    /// The dataset that it reads, which stays as long as the job has not ended, and may be gone
    /// after that.
    pub dataset: Option<DatasetId>,
    /// The digest of the canonical rows, in hexadecimal.
    pub data_sha256: Option<String>,
    /// Seeds are 0..2^53-1, so that every JSON reader keeps them.
    pub seed: u64,
    /// How many times the work was begun, less the times it was handed back unharmed.
    pub attempt: u32,
    pub created_at: Timestamp,
    /// When the first attempt began.
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    pub progress: Progress,
    pub result: Option<Value>,
    /// Why the job failed; there exactly when it did.
    pub error: Option<JobError>,
    /// The model that the job stored. It outlives the job, and may have been deleted before it.
    pub model: Option<ModelId>,
    /// A client asked for the end of the job. It may still succeed.
    pub cancel_requested: bool,
    /// Higher goes first, among the jobs of its owner.
    pub priority: i32,
    /// The resources that it is expected to take.
    #[serde(default)]
    pub demand: Demand,
    /// Where a client wants to be told of the end, and how far that is.
    pub callback: Option<Callback>,
    /// Whether it has parts, or is one.
    #[serde(default)]
    pub lineage: Lineage,
}

impl Job {
    /// A job that waits to be computed by itself, and of which nothing else is known.
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
            spec,
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
            lineage: Lineage::Single,
        }
    }
}

/// The most bytes of the requests of all parts of a job: each has one of its own, which is stored, and
/// all of them are made at once.
pub const PARTS_REQUEST_BYTES_MAX: u64 = 64 << 20;

/// How a job belongs to others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Lineage {
    /// It is computed by itself, as most are.
    #[default]
    Single,
    /// Its work is that of its parts, jobs of their own that any worker takes; when all of them have
    /// ended, a worker gathers what they came to.
    Parent {
        /// How many parts it has, 1 or more.
        parts: u32,
        /// How many of them have not ended.
        left: u32,
    },
    /// One of the parts of another job, with which it is cancelled and deleted.
    Part {
        /// The job that it is a part of.
        parent: JobId,
        /// Its number among the parts, from 0.
        part: u32,
    },
}

/// What came of one part of a job, so far.
#[derive(Clone, Debug, PartialEq)]
pub struct PartOutcome {
    pub job: JobId,
    /// The number of the part, from 0.
    pub part: u32,
    pub status: Status,
    /// There when it succeeded, and perhaps when it was cancelled.
    pub result: Option<Value>,
}

/// How a client may place a job among his own: -10 to 10, 0 for most.
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

/// Where a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Waits for a worker.
    Queued,
    /// A worker computes it.
    Running,
    /// It has its result.
    Succeeded,
    /// It has an error.
    Failed,
    /// A client ended it.
    Cancelled,
}

impl Status {
    /// Every status.
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

    /// Whether a job may go from this status to `next` in one step. What ended is final, and a
    /// running job may go back to the queue: its worker died or was told to stop.
    #[must_use]
    pub fn may_become(self, next: Self) -> bool {
        match self {
            Self::Queued => matches!(next, Self::Running | Self::Cancelled),
            Self::Running => next != Self::Running,
            Self::Succeeded | Self::Failed | Self::Cancelled => false,
        }
    }

    /// The name in the contract, which is also the name in the store.
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

/// The text names no status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a status is one of queued, running, succeeded, failed, cancelled")]
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

/// How far a job is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Progress {
    /// Examples read, tested or consumed in a batch.
    pub examples: u64,
    /// Failed tests of the current hypothesis.
    pub mistakes: u64,
    /// Passes begun.
    pub passes: u64,
    /// The part of the work that is done, from 0 to 1, where it can be told.
    #[schema(minimum = 0, maximum = 1)]
    pub fraction: Option<f64>,
    /// Seconds until the end, if it goes on as so far; of jobs that have parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0)]
    pub seconds_left: Option<f64>,
}

/// Why a job failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobError {
    /// A stable code.
    pub code: String,
    /// A sentence for people.
    pub detail: String,
}

impl JobError {
    /// The code of a job that was given up because every attempt at it broke off.
    pub const POISONED: &'static str = "poisoned";
    /// The code of a job whose data, or whose request, are not as they were written.
    pub const DATA_CORRUPT: &'static str = "data-corrupt";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_six_steps_are_allowed() {
        use Status::{Cancelled, Failed, Queued, Running, Succeeded};
        let allowed = [
            (Queued, Running),
            (Queued, Cancelled),
            (Running, Succeeded),
            (Running, Failed),
            (Running, Cancelled),
            (Running, Queued),
        ];
        for from in Status::ALL {
            for to in Status::ALL {
                assert_eq!(
                    from.may_become(to),
                    allowed.contains(&(from, to)),
                    "{from} to {to}"
                );
            }
        }
    }

    #[test]
    fn ended_is_final() {
        for from in Status::ALL.into_iter().filter(|status| status.is_ended()) {
            assert!(Status::ALL.into_iter().all(|to| !from.may_become(to)));
        }
        assert!(!Status::Queued.is_ended() && !Status::Running.is_ended());
    }

    #[test]
    fn one_name_in_json_and_in_text() {
        for status in Status::ALL {
            assert_eq!(serde_json::to_value(status).unwrap(), status.as_str());
            assert_eq!(status.as_str().parse(), Ok(status));
        }
        assert_eq!("Queued".parse::<Status>(), Err(ParseStatusError));
    }
}
