//! Leases of workers on jobs, and the outcomes of fenced writes.
//!
//! A worker holds a job by a lease that expires. A silent worker need not be dead: it may wake up after another one has
//! taken its job. Every write of a worker therefore names its lease, and changes nothing once the lease is lost.
//!
//! There are only types here; the statements are in [`super::sql`].

use std::fmt;

use serde_json::Value;

use crate::records::{Dataset, Job, JobError, JobId, Model, Progress, Status, Timestamp};

/// A worker process. Its name is drawn at random at each start and never reused.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WorkerId(String);

impl WorkerId {
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// The name as stored.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for WorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The right to compute one job and to write its outcome, until the lease expires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    pub job: JobId,
    pub worker: WorkerId,
    /// The attempt under this lease, from 1.
    pub attempt: u32,
    /// Number of claims of the job, including this one. It never repeats. The attempt may: a job that returns to the
    /// queue unharmed gets its attempt back, and the same worker may take it again.
    pub claim: u32,
}

/// A job that a worker has claimed.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    pub job: Job,
    pub lease: Lease,
    /// Present if the job must run alone in its process, because processes have died while they computed it.
    pub alone: Option<Alone>,
    /// Seconds that the last change of workers cost.
    pub switch_seconds: f64,
}

/// A suspect: a job under which processes have died.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Alone {
    /// The computed seconds at the latest death. The job is ordinary again after
    /// [`PROBATION_SECONDS`](crate::records::schedule::PROBATION_SECONDS) more.
    pub death_seconds: f64,
}

/// The computed seconds that a worker reports.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    /// Seconds of all attempts.
    pub seconds: f64,
    /// The part of these seconds since the last report, with which the owner's share is charged.
    pub unpaid_seconds: f64,
    /// The present level of the job.
    pub level: u32,
}

/// Contents of a heartbeat.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beat<'a> {
    pub lease_seconds: u32,
    /// Stored with an event. The caller limits how often.
    pub progress: Option<&'a Progress>,
    pub spent: Spent,
    /// Whether the worker holds the lease without computing.
    pub is_parked: bool,
    /// Whether a suspect is ordinary from now on.
    pub is_acquitted: bool,
}

/// Terms on which a job returns to the queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct Requeue<'a> {
    pub spent: Spent,
    /// State from which the job resumes, in place of the previous checkpoint.
    pub checkpoint: Option<&'a [u8]>,
    pub progress: Option<&'a Progress>,
    /// Seconds that the change of workers cost, if known.
    pub switch_seconds: Option<f64>,
    /// Seconds before which the job is not claimed again.
    pub pause_seconds: f64,
    /// Whether the attempt counts.
    pub is_charged: bool,
}

/// Answer to a heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heartbeat {
    /// The lease is extended.
    Held {
        /// Whether a client has requested the end of the job.
        cancel_requested: bool,
    },
    /// The worker has lost the job and must stop at once.
    Lost,
}

/// Outcome of a write under a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fenced {
    /// The write is stored.
    Done,
    /// The lease is lost. Nothing was written.
    Lost,
}

/// The end of a job as reported by its worker.
#[derive(Clone, Debug, PartialEq)]
pub struct JobEnd {
    /// Succeeded, failed or cancelled.
    pub status: Status,
    pub result: Option<Value>,
    pub error: Option<JobError>,
    pub finished_at: Timestamp,
    pub progress: Progress,
    pub spent: Spent,
    /// The model, which the same transaction stores and the job names.
    pub model: Option<Model>,
    /// The dataset of an import, which the same transaction stores after its blob.
    pub dataset: Option<Dataset>,
    /// The mistake curve, in a form that storage does not know.
    pub trace: Option<Vec<u8>>,
}

/// Outcome of a request to cancel a job.
#[derive(Clone, Debug, PartialEq)]
pub enum CancelOutcome {
    /// The job was queued and has ended without a result.
    Cancelled(Job),
    /// The job has begun or has a checkpoint, so a worker will end it.
    Requested(Job),
    /// The cancel was requested before, or the job is already cancelled.
    AlreadyRequested(Job),
    /// The job has succeeded or failed.
    Ended(Job),
    /// The job is a subjob of this parent, and can only be cancelled with it.
    SubjobOf {
        parent: JobId,
    },
    NotFound,
}

/// Outcome of deleting a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeleteOutcome {
    /// The record is deleted. The caller deletes the blob under `data_key`.
    Deleted {
        data_key: Option<String>,
    },
    /// The job is queued or running.
    NotEnded,
    /// The job is a subjob of this parent, and can only be deleted with it.
    SubjobOf {
        parent: JobId,
    },
    NotFound,
}

/// Outcome of deleting a dataset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeleteDatasetOutcome {
    /// The record is deleted. The caller deletes the blob under `data_key`.
    Deleted {
        data_key: String,
    },
    /// A job that has not ended reads the dataset. There may be more of them.
    Pinned {
        job: JobId,
    },
    NotFound,
}

/// The jobs that a sweep deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Number of deleted jobs. If it equals the limit of the sweep, more may remain.
    pub jobs: u64,
    /// Keys of their blobs, which the caller deletes.
    pub data_keys: Vec<String>,
}
