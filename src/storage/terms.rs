//! Arguments and outcomes of the methods of the store.

use std::time::Duration;

use super::lease::WorkerId;
use super::quota::OverQuota;
use crate::records::process::ProcessMemory;
use crate::records::{ApiKey, JobId, Role, Status, Timestamp};

/// Filter of a list of jobs. An absent field matches every job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobFilter {
    pub status: Option<Status>,
    pub task: Option<String>,
    pub learner: Option<String>,
    /// The parent whose subjobs are listed. Without one, the list leaves subjobs out.
    pub parent: Option<JobId>,
}

/// Filter of a list of models. An absent field matches every model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelFilter {
    pub learner: Option<String>,
    pub kind: Option<String>,
}

/// Terms of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimTerms {
    /// The lease expires after so many seconds without a heartbeat, and another worker may take the job.
    pub lease_seconds: u32,
    /// A claim passes over jobs that need more memory.
    pub memory_bytes_max: u64,
}

/// Terms on which the jobs of dead workers return to the queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReleaseTerms {
    /// A job fails as `poisoned` after so many deaths of processes that ran the job alone.
    pub deaths_max: u32,
    /// The pause after the first death. Each further one doubles it, up to 60 times the first.
    pub pause_seconds: f64,
}

/// A process's observation of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeNote {
    /// Service time in milliseconds, as far as the process knows.
    pub observed_ms: u64,
    /// The earliest time of day that the process has used since its last note.
    pub earliest: Timestamp,
    /// Clock readings that are older may be deleted, in milliseconds of service time.
    pub kept_ms: u64,
}

/// A process's report of itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProcessReport<'a> {
    pub worker: &'a WorkerId,
    pub role: Role,
    /// Number of jobs that the process computes at once.
    pub workers: u32,
    pub memory: ProcessMemory,
    /// How long the process has run.
    pub elapsed: Duration,
}

/// Upper bound of leases and callback delays, in seconds. If one is longer, the clock has jumped.
pub const SECONDS_AHEAD_MAX: u32 = 2 * 86_400;

/// Outcome of an append to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppendOutcome {
    /// The examples are on disk.
    Done,
    /// The session is at another position. Nothing was written.
    Elsewhere { position: u64 },
    /// The owner has no such session.
    NotFound,
    /// The appends of one call together exceed a limit of their owner. Nothing was written.
    OverQuota(OverQuota),
}

/// Maximum number of API keys, revoked keys included.
pub const API_KEYS_MAX: u32 = 10_000;

/// Result of looking up the secret of an API key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyLookup {
    /// No key was ever created, so no secret is needed.
    NoKeys,
    /// No valid key has this secret.
    Unknown,
    /// The secret belongs to this valid key.
    Known(ApiKey),
}
