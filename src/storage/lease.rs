//! Who computes a job now: workers, leases, and what comes of a fenced write.
//!
//! A worker holds a job by a lease that runs out. Slow is not dead: a worker that was frozen may
//! wake up after its job went to another, so every write of a worker names its lease, and a lease
//! that is no longer the job's own changes nothing.

use std::fmt;

use serde_json::Value;

use crate::records::{Job, JobError, JobId, Model, Progress, Status, Timestamp};

/// A worker process, by a name that is drawn at random at each start and never used again.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WorkerId(String);

impl WorkerId {
    /// The worker of that name.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// The name, as it is stored.
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

/// The right to compute one job and to write what comes of it, until it runs out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    pub job: JobId,
    pub worker: WorkerId,
    /// The attempt that this lease is for, from 1.
    pub attempt: u32,
    /// How many times the job was handed out, this time included. A job that goes back to the queue
    /// unharmed gets its attempt back, so the same worker can hold the same attempt twice; this
    /// number never repeats.
    pub claim: u32,
}

/// A job that a worker took.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    pub job: Job,
    pub lease: Lease,
    /// Whether the job must run alone in its process, since processes died while they computed it.
    pub alone: Option<Alone>,
    /// The cost of its last change of workers.
    pub switch_seconds: f64,
}

/// A suspect: a job under which processes have died.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Alone {
    /// The computed seconds at the latest death. The job is ordinary again
    /// [`PROBATION_SECONDS`](crate::records::schedule::PROBATION_SECONDS) later.
    pub death_seconds: f64,
}

/// The computed seconds that a worker reports.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    /// Of all attempts.
    pub seconds: f64,
    /// Of these, the seconds since the last report, which the owner's share pays.
    pub unpaid_seconds: f64,
    /// The level of the job by now.
    pub level: u32,
}

/// What a heartbeat tells.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beat<'a> {
    pub lease_seconds: u32,
    /// Stored and made an event; the caller bounds how often.
    pub progress: Option<&'a Progress>,
    pub spent: Spent,
    /// Whether the worker holds the lease without computing.
    pub is_parked: bool,
    /// Whether a suspect is ordinary from now on.
    pub is_acquitted: bool,
}

/// How a job goes back to the queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct Requeue<'a> {
    pub spent: Spent,
    /// The state to begin from, in the place of the one kept before.
    pub checkpoint: Option<&'a [u8]>,
    pub progress: Option<&'a Progress>,
    /// The cost of the change of workers, where it is known.
    pub switch_seconds: Option<f64>,
    /// The job is not claimed earlier than after so many seconds.
    pub pause_seconds: f64,
    /// Whether the attempt stays charged.
    pub is_charged: bool,
}

/// What a heartbeat brings back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heartbeat {
    /// The lease is extended.
    Held {
        /// A client asked for the job's end.
        cancel_requested: bool,
    },
    /// The job is no longer this worker's: stop at once.
    Lost,
}

/// What came of a write under a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fenced {
    /// It is written.
    Done,
    /// The lease is not the job's any more, and nothing was written.
    Lost,
}

/// The end of a job, as its worker reports it.
#[derive(Clone, Debug, PartialEq)]
pub struct JobEnd {
    /// Succeeded, failed or cancelled.
    pub status: Status,
    pub result: Option<Value>,
    pub error: Option<JobError>,
    pub finished_at: Timestamp,
    pub progress: Progress,
    pub spent: Spent,
    /// Stored in the same transaction, and named in the job.
    pub model: Option<Model>,
    /// The mistake curve, in a form that storage does not know.
    pub trace: Option<Vec<u8>>,
}

/// What came of asking for a job's end.
#[derive(Clone, Debug, PartialEq)]
pub enum CancelOutcome {
    /// It was queued and has ended at once, without a result.
    Cancelled(Job),
    /// It runs, and its worker will be told.
    Requested(Job),
    /// It runs and had been asked to end, or it was cancelled before.
    AlreadyRequested(Job),
    /// It ended otherwise.
    Ended(Job),
    /// It is a part of this job, and ends with it alone.
    PartOf {
        parent: JobId,
    },
    NotFound,
}

/// What came of deleting a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeleteOutcome {
    /// The record is gone; the blob under `data_key` is for the caller to delete.
    Deleted {
        data_key: Option<String>,
    },
    /// It is queued or running.
    NotEnded,
    /// It is a part of this job, and goes with it alone.
    PartOf {
        parent: JobId,
    },
    NotFound,
}

/// What came of deleting a dataset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatasetDeletion {
    /// The record is gone; the blob under `data_key` is for the caller to delete.
    Deleted {
        data_key: String,
    },
    /// This job, perhaps among others, reads it and has not ended.
    Pinned {
        job: JobId,
    },
    NotFound,
}

/// What a sweep removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// How many jobs. As many as the limit: there may be more.
    pub jobs: u64,
    /// The blobs that were theirs, for the caller to delete.
    pub data_keys: Vec<String>,
}
