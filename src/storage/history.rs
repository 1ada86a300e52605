//! Records all operations on leases, so that a checker can tell whether the store has kept its promises on jobs.
//!
//! An operation on a job is two trace events of the target `halfspace::history`: a `call` before the query and an
//! `answer` after it. Both carry the number of the operation in this process, and the monotonic time in nanoseconds,
//! which all processes of a machine share. A call without an answer, or with the outcome `error`, may have taken
//! effect. A `note` has neither number nor answer: it records an effect inside a transaction that is about to commit,
//! or an action of the worker itself.
//!
//! The target is off by default, and then nothing is computed for it. `--log halfspace::history=trace` turns it on.
//! Nothing here reads the record, since the checker belongs to the tests.

use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest, Sha256};
use tracing::{Level, field};

use super::error::Result;
use super::lease::{
    CancelOutcome, Claim, DeleteOutcome, Fenced, Heartbeat, JobEnd, Lease, Swept, WorkerId,
};
use crate::records::{Job, JobId, JobTree, Status, Timestamp};

const TARGET: &str = "halfspace::history";

/// The worker parks a job and keeps the lease.
pub fn parked(lease: &Lease) {
    note(|| Facts::of_lease("park", lease));
}

/// The worker resumes a job that was parked.
pub fn resumed(lease: &Lease) {
    note(|| Facts::of_lease("resume", lease));
}

/// The transaction of a claim is about to commit.
pub(super) fn taken(lease: &Lease, seconds: u32) {
    note(|| Facts {
        seconds: Some(seconds),
        ..Facts::of_lease("taken", lease)
    });
}

/// The store queues the job of a dead process, in a transaction that is not committed yet.
pub(super) fn released(job: JobId, claim: u32) {
    note(|| Facts {
        claim: Some(claim),
        ..Facts::of_job("released", job)
    });
}

/// The store itself ends a job that no worker finishes, in a transaction that is not committed yet.
pub(super) fn ended(job: JobId, status: Status, at: Timestamp) {
    note(|| Facts {
        status: Some(status),
        finished_at: Some(at),
        ..Facts::of_job("ended", job)
    });
}

/// Known facts of an operation. Those that are absent do not apply to it.
#[derive(Default)]
pub(super) struct Facts<'a> {
    pub operation: Option<&'static str>,
    pub job: Option<JobId>,
    pub parent: Option<JobId>,
    pub worker: Option<&'a WorkerId>,
    pub attempt: Option<u32>,
    pub claim: Option<u32>,
    /// Length of the lease.
    pub seconds: Option<u32>,
    pub subjobs: Option<u32>,
    pub status: Option<Status>,
    pub finished_at: Option<Timestamp>,
    /// Digest of a result.
    pub result: Option<String>,
    /// Digest of a checkpoint.
    pub state: Option<String>,
    pub cancel_requested: Option<bool>,
    /// Number of jobs that the operation changed.
    pub count: Option<u64>,
    pub outcome: Option<&'static str>,
}

impl<'a> Facts<'a> {
    pub(super) fn of(operation: &'static str) -> Self {
        Self {
            operation: Some(operation),
            ..Self::default()
        }
    }

    pub(super) fn of_job(operation: &'static str, job: JobId) -> Self {
        Self {
            job: Some(job),
            ..Self::of(operation)
        }
    }

    pub(super) fn of_lease(operation: &'static str, lease: &'a Lease) -> Self {
        Self {
            operation: Some(operation),
            ..Self::lease(lease)
        }
    }

    pub(super) fn of_claim(worker: &'a WorkerId, seconds: u32) -> Self {
        Self {
            worker: Some(worker),
            seconds: Some(seconds),
            ..Self::of("claim")
        }
    }

    pub(super) fn of_checkpoint(operation: &'static str, lease: &'a Lease, body: &[u8]) -> Self {
        Self {
            state: Some(digest(body)),
            ..Self::of_lease(operation, lease)
        }
    }

    pub(super) fn of_end(lease: &'a Lease, end: &JobEnd) -> Self {
        Self {
            status: Some(end.status),
            finished_at: Some(end.finished_at),
            result: result(end.result.as_ref()),
            ..Self::of_lease("finish", lease)
        }
    }

    /// A job that is inserted, whether queued, running or ended.
    pub(super) fn of_insert(job: &Job) -> Self {
        let (parent, subjobs) = match job.lineage {
            JobTree::Single => (None, None),
            JobTree::Subjob { parent, .. } => (Some(parent), None),
            JobTree::Parent { subjobs, .. } => (None, Some(subjobs)),
        };
        Self {
            parent,
            subjobs,
            ..Self::of_job("insert", job.id).with_end_of(job)
        }
    }

    fn with_end_of(self, job: &Job) -> Self {
        Self {
            status: Some(job.status),
            finished_at: job.finished_at,
            result: result(job.result.as_ref()),
            ..self
        }
    }

    fn lease(lease: &'a Lease) -> Self {
        Self {
            job: Some(lease.job),
            worker: Some(&lease.worker),
            attempt: Some(lease.attempt),
            claim: Some(lease.claim),
            ..Self::default()
        }
    }

    fn outcome(outcome: &'static str) -> Self {
        Self {
            outcome: Some(outcome),
            ..Self::default()
        }
    }
}

impl From<&()> for Facts<'_> {
    fn from((): &()) -> Self {
        Self::outcome("done")
    }
}

impl From<&u64> for Facts<'_> {
    fn from(count: &u64) -> Self {
        Self {
            count: Some(*count),
            ..Self::outcome("done")
        }
    }
}

impl From<&Swept> for Facts<'_> {
    fn from(swept: &Swept) -> Self {
        Self::from(&swept.jobs)
    }
}

impl From<&Option<Vec<u8>>> for Facts<'_> {
    fn from(body: &Option<Vec<u8>>) -> Self {
        Self {
            state: body.as_deref().map(digest),
            ..Self::outcome("done")
        }
    }
}

impl<'a> From<&'a Lease> for Facts<'a> {
    fn from(lease: &'a Lease) -> Self {
        Self {
            outcome: Some("done"),
            ..Self::lease(lease)
        }
    }
}

impl<'a> From<&'a Option<Claim>> for Facts<'a> {
    fn from(claim: &'a Option<Claim>) -> Self {
        match claim {
            Some(claim) => Self::from(&claim.lease),
            None => Self::outcome("none"),
        }
    }
}

impl From<&Fenced> for Facts<'_> {
    fn from(fenced: &Fenced) -> Self {
        Self::outcome(match fenced {
            Fenced::Done => "done",
            Fenced::Lost => "lost",
        })
    }
}

impl From<&Heartbeat> for Facts<'_> {
    fn from(heartbeat: &Heartbeat) -> Self {
        match *heartbeat {
            Heartbeat::Held { cancel_requested } => Self {
                cancel_requested: Some(cancel_requested),
                ..Self::outcome("done")
            },
            Heartbeat::Lost => Self::outcome("lost"),
        }
    }
}

impl From<&CancelOutcome> for Facts<'_> {
    fn from(outcome: &CancelOutcome) -> Self {
        match outcome {
            CancelOutcome::Cancelled(job) => Self::outcome("cancelled").with_end_of(job),
            CancelOutcome::Requested(_) => Self::outcome("requested"),
            CancelOutcome::AlreadyRequested(_) => Self::outcome("already-requested"),
            CancelOutcome::Ended(job) => Self::outcome("ended").with_end_of(job),
            CancelOutcome::SubjobOf { .. } => Self::outcome("part"),
            CancelOutcome::NotFound => Self::outcome("not-found"),
        }
    }
}

impl From<&DeleteOutcome> for Facts<'_> {
    fn from(outcome: &DeleteOutcome) -> Self {
        Self::outcome(match outcome {
            DeleteOutcome::Deleted { .. } => "done",
            DeleteOutcome::NotEnded => "not-ended",
            DeleteOutcome::SubjobOf { .. } => "part",
            DeleteOutcome::NotFound => "not-found",
        })
    }
}

/// A call of the store, with the number of the operation if the target is on.
#[must_use]
pub(super) struct Call(Option<u64>);

impl Call {
    /// Records the call.
    pub(super) fn of<'a>(facts: impl FnOnce() -> Facts<'a>) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        if !is_on() {
            return Self(None);
        }
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        emit("call", Some(number), &facts());
        Self(Some(number))
    }

    /// Records the answer of the store and returns it.
    pub(super) fn answered<T>(self, answer: Result<T>) -> Result<T>
    where
        for<'a> Facts<'a>: From<&'a T>,
    {
        if self.0.is_some() {
            let facts = answer
                .as_ref()
                .map_or_else(|_| Facts::outcome("error"), Facts::from);
            emit("answer", self.0, &facts);
        }
        answer
    }
}

/// Runs an operation of the store and records the call and the answer.
pub(super) async fn recorded<'a, T>(
    facts: impl FnOnce() -> Facts<'a>,
    operation: impl Future<Output = Result<T>>,
) -> Result<T>
where
    for<'b> Facts<'b>: From<&'b T>,
{
    let call = Call::of(facts);
    call.answered(operation.await)
}

/// Records the insert of a job and its subjobs, with one call per job.
pub(super) fn calls_of(parent: &Job, subjobs: &[Job]) -> Vec<Call> {
    if !is_on() {
        return Vec::new();
    }
    let all = std::iter::once(parent).chain(subjobs);
    all.map(|job| Call::of(|| Facts::of_insert(job))).collect()
}

fn is_on() -> bool {
    tracing::enabled!(target: TARGET, Level::TRACE)
}

fn note<'a>(facts: impl FnOnce() -> Facts<'a>) {
    if is_on() {
        emit("note", None, &facts());
    }
}

fn emit(stage: &'static str, number: Option<u64>, facts: &Facts<'_>) {
    tracing::trace!(
        target: TARGET,
        number,
        at = monotonic_ns(),
        operation = facts.operation.map(field::display),
        job = facts.job.map(field::display),
        parent = facts.parent.map(field::display),
        worker = facts.worker.map(field::display),
        attempt = facts.attempt,
        claim = facts.claim,
        seconds = facts.seconds,
        parts = facts.subjobs,
        status = facts.status.map(field::display),
        finished_at = facts.finished_at.map(field::display),
        result = facts.result.as_ref().map(field::display),
        state = facts.state.as_ref().map(field::display),
        cancel_requested = facts.cancel_requested,
        count = facts.count,
        outcome = facts.outcome.map(field::display),
        "{stage}"
    );
}

fn result(result: Option<&serde_json::Value>) -> Option<String> {
    result.map(|result| digest(result.to_string().as_bytes()))
}

/// The first 16 hexadecimal digits of the SHA-256.
fn digest(bytes: &[u8]) -> String {
    hex::encode(&Sha256::digest(bytes)[..8])
}

/// Nanoseconds of the clock that all processes of this machine share and that never jumps. 0 on systems other
/// than Linux.
fn monotonic_ns() -> u64 {
    #[cfg(target_os = "linux")]
    {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
    }
    #[cfg(not(target_os = "linux"))]
    0
}
