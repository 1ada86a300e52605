//! The submission of jobs: a job is queued, or computed at once for a waiting client.
//!
//! A short job with a waiting client is computed before it is stored, and stored together with its end. If the
//! computation takes longer than expected, the job is stored as running and then treated like any other job.

use std::sync::Arc;
use std::time::Duration;

use halfspace_core::learners::engine::run::Interrupt;
use halfspace_core::learners::sample::examples::Examples;
use halfspace_core::memory::{Grant, NoMemory};
use halfspace_formats::BlocksHeader;
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio::time::Instant;
use tracing::Instrument;

use crate::callbacks::CallbackUrl;
use crate::records::task::JobSpec;
use crate::records::{Callback, DatasetId, Job, KeyClaim, Owner, Priority, Status};
use crate::storage::{Blobs, JobEnd, Lease, StoreError, Usage};
use crate::traces;

use super::checkpoints::StartState;
use super::compute::{Computation, Computed, computing_span};
use super::lease_renewer::LeaseRenewer;
use super::parking::{PermitSlot, Stance};
use super::worker;
use crate::jobs::data::datasets::unwritten;
use crate::jobs::data::stored::ReadError;
use crate::jobs::service::{Jobs, JobsError};
use crate::jobs::tasks::CheckedTask;

/// Longest expected time of a waited job that is computed before it is stored.
const WAITED_SECONDS_MAX: f64 = 0.2;

/// Largest data of a waited job that is computed before it is stored.
const WAITED_BYTES_MAX: u64 = 16 << 20;

/// A failed insert is repeated only if the store failed within this time.
const ASKED_AGAIN_WITHIN: Duration = Duration::from_millis(500);

/// Checked work that is not stored as a job yet.
#[derive(Clone, Debug)]
pub struct JobDraft {
    /// The owner of the job.
    pub owner: Owner,
    /// Free text of the client.
    pub name: Option<String>,
    /// The request without its data.
    pub spec: JobSpec,
    /// The seed of all random choices.
    pub seed: u64,
    /// The work itself.
    pub work: Arc<CheckedTask>,
    /// The digest of the canonical rows in hexadecimal, or `None` for generated data.
    pub data_sha256: Option<String>,
    /// The dataset that the job reads, if any. The data of a dataset are not stored again.
    pub dataset: Option<DatasetId>,
    /// The URL that is called when the job has ended.
    pub callback: Option<CallbackUrl>,
    /// The priority among the jobs of the owner. Higher goes first.
    pub priority: Priority,
    /// The idempotency key of the request.
    pub key: Option<KeyClaim>,
}

impl Jobs {
    /// Creates a job and waits for its end, at most for `timeout`. The job is on disk when this returns. `stored` is
    /// called before the wait, when nothing of the draft is left in memory.
    ///
    /// # Errors
    /// - [`JobsError::OverQuota`] or [`JobsError::NoMemory`] if the job exceeds a quota or the memory of the
    ///   process.
    /// - [`JobsError::Stopping`] if the process is stopping.
    /// - [`JobsError::DatasetMissing`] if the dataset was deleted meanwhile.
    /// - [`JobsError::KeyTaken`] if another request has used the idempotency key.
    /// - Errors of the store.
    ///
    /// After an error no job exists, with one exception. After [`StoreError::Unavailable`] a job with an
    /// unknown id may exist and run.
    pub async fn submit(
        self: &Arc<Self>,
        new: JobDraft,
        timeout: Duration,
        stored: impl FnOnce(),
    ) -> Result<Job, JobsError> {
        if self.stopping.is_cancelled() {
            return Err(JobsError::Stopping);
        }
        let begun = Instant::now();
        let owner = new.owner.clone();
        let job = self.acknowledge(new, timeout).await?;
        let left = timeout.saturating_sub(begun.elapsed());
        if job.status.is_ended() || left.is_zero() {
            return Ok(job);
        }
        let id = job.id;
        // As in `wait`: the job is read again at its end.
        drop(job);
        stored();
        self.wait(&owner, id, left).await
    }

    /// Stores the job: ended, running or queued.
    async fn acknowledge(
        self: &Arc<Self>,
        new: JobDraft,
        timeout: Duration,
    ) -> Result<Job, JobsError> {
        if let Some(count) = new.work.subjobs {
            return self.enqueue_subjobs(new, count).await;
        }
        let record = self.record(&new);
        let (asked, memory) = (record.demand.memory_bytes, &self.config.memory);
        if asked > memory.bytes_max() {
            return Err(JobsError::NoMemory(NoMemory {
                asked,
                free: memory.available(),
                max: memory.bytes_max(),
            }));
        }
        let permit = if timeout.is_zero() || !is_small(&record, &new.work) {
            None
        } else {
            Arc::clone(&self.permits).try_acquire_owned().ok()
        };
        let taken = permit.and_then(|permit| Some((permit, memory.try_take(asked).ok()?)));
        let Some((permit, memory)) = taken else {
            return self.enqueue(record, &new.work, new.key.as_ref()).await;
        };
        // In a task of its own, because the computation continues when the client leaves.
        let (sender, receiver) = oneshot::channel();
        let adopt_after = timeout.min(self.config.adopt_after);
        let this = Arc::clone(self);
        let span = computing_span(&record);
        let computed = async move {
            let run = Waited {
                record,
                work: new.work,
                key: new.key,
                sender,
            };
            run.compute(&this, permit, memory, adopt_after).await;
        };
        self.tasks.spawn(computed.instrument(span));
        receiver.await.unwrap_or(Err(JobsError::Stopping))
    }

    pub(crate) fn record(&self, new: &JobDraft) -> Job {
        Job {
            learner: new.spec.task.learner().map(str::to_owned),
            name: new.name.clone(),
            data_sha256: new.data_sha256.clone(),
            dataset: new.dataset,
            priority: new.priority.get(),
            demand: new.work.demand,
            callback: new.callback.as_ref().map(|url| Callback::new(url.as_str())),
            trace_parent: traces::current(),
            ..Job::queued(
                self.ids.id(),
                new.owner.clone(),
                new.spec.task.name(),
                new.spec.to_json(),
                new.seed,
                self.ids.now(),
            )
        }
    }

    /// Stores a queued job after its data.
    async fn enqueue(
        &self,
        mut record: Job,
        work: &CheckedTask,
        key: Option<&KeyClaim>,
    ) -> Result<Job, JobsError> {
        let least = Usage {
            jobs_queued: 1,
            ..Usage::default()
        };
        self.check_quota(&record.owner, &least).await?;
        self.keep_data(&mut record, work).await?;
        let asked_at = Instant::now();
        let mut stored = self.store.insert_job(&record, key).await;
        let is_repeated = is_asked_again(&stored, asked_at);
        if is_repeated {
            // The store leaves a job that is already stored unchanged.
            stored = self.store.insert_job(&record, key).await;
        }
        self.forget_unless_stored(&stored, is_repeated, &record)
            .await;
        stored?;
        self.hub.work.notify_one();
        Ok(record)
    }

    /// Deletes the data of a job that is certainly not stored.
    ///
    /// This is certain if another job has the key, or if the first and only insert was refused for lack of
    /// space or quota. After any other error the job may exist and need the data, and the sweep removes the
    /// data of a missing job.
    pub(crate) async fn forget_unless_stored<T>(
        &self,
        stored: &Result<T, StoreError>,
        is_repeated: bool,
        record: &Job,
    ) {
        let is_missing = match stored {
            Err(StoreError::KeyTaken(_)) => true,
            Err(StoreError::Full(_) | StoreError::OverQuota(_)) => !is_repeated,
            _ => false,
        };
        if is_missing {
            self.forget_data(record.data_key.as_deref()).await;
        }
    }

    /// Stores the sample that a request brought and names the blob in the job's record. The bytes are reserved
    /// until the blob is written. Afterwards the row of the job counts them.
    pub(crate) async fn keep_data(
        &self,
        record: &mut Job,
        work: &CheckedTask,
    ) -> Result<(), JobsError> {
        let own = work.data().filter(|_| record.dataset.is_none());
        let Some(data) = own.cloned() else {
            return Ok(());
        };
        self.store.ensure_space().await?;
        let key = Blobs::data_key(record.id, 0);
        let length = BlocksHeader::of(&data).stored_bytes().unwrap_or(u64::MAX);
        let _reserved = self.reserve(&record.owner, length).await?;
        let mut blob = self.store.blob_writer(&self.blobs, &key)?;
        let written = tokio::task::spawn_blocking(move || {
            let written = halfspace_formats::write_blocks(&data, &mut blob);
            (blob, written)
        });
        let (blob, written) = written.await.map_err(|_| JobsError::Stopping)?;
        if let Err(error) = written {
            blob.abort().await;
            return Err(unwritten(error).into());
        }
        let length = blob.finish().await?;
        (record.data_key, record.data_bytes) = (Some(key), length);
        Ok(())
    }
}

/// Whether a waited job is computed before it is stored. Such a job is expected to be short, and its data are
/// small enough to be written only at its end.
fn is_small(record: &Job, work: &CheckedTask) -> bool {
    let bytes = work.data().map_or(0, |data| data.shape().memory_bytes());
    record.demand.seconds <= WAITED_SECONDS_MAX && bytes <= WAITED_BYTES_MAX
}

/// Whether a failed insert is repeated because only the answer may be missing. A slow failure is not repeated,
/// because the client must get an answer within two seconds.
pub(crate) fn is_asked_again<T>(stored: &Result<T, StoreError>, asked_at: Instant) -> bool {
    matches!(stored, Err(StoreError::Unavailable(_))) && asked_at.elapsed() < ASKED_AGAIN_WITHIN
}

/// A waited job that is computed before it is stored.
struct Waited {
    record: Job,
    work: Arc<CheckedTask>,
    key: Option<KeyClaim>,
    sender: oneshot::Sender<Result<Job, JobsError>>,
}

impl Waited {
    async fn compute(
        mut self,
        jobs: &Jobs,
        permit: OwnedSemaphorePermit,
        memory: Grant,
        adopt_after: Duration,
    ) {
        self.record.started_at = Some(jobs.ids.now());
        let start_state = StartState::of(self.record.id, jobs.helped_stop_flag());
        let work = Arc::clone(&self.work);
        let permit = PermitSlot::new(permit);
        let slot = Arc::clone(&permit);
        let mut computation =
            Computation::start(jobs, &self.record, work, start_state, slot, memory);
        let _registered = jobs.hub.register(
            self.record.id,
            self.record.lineage,
            Arc::clone(&computation.run),
        );
        if jobs.stopping.is_cancelled() {
            computation.run.stop.raise(Interrupt::Suspended);
        }
        let computed = tokio::select! {
            computed = computation.ended() => computed,
            () = tokio::time::sleep(adopt_after) => {
                return self.adopt(jobs, computation, permit).await;
            }
        };
        let answer = match computed {
            // A worker retries data that cannot be read now.
            Computed::Suspended | Computed::Unreadable(ReadError::Store(_)) => {
                self.record.started_at = None;
                jobs.enqueue(self.record, &self.work, self.key.as_ref())
                    .await
            }
            computed => {
                let seconds = computation.checkpoints.stopwatch.seconds();
                jobs.owe(&self.record.owner, seconds);
                let (end, _memory) = computed.into_end(jobs, &self.record);
                jobs.insert_ended(self.record, end, self.key.as_ref()).await
            }
        };
        // Without a receiver the client has left. The job is stored nevertheless.
        let _ = self.sender.send(answer);
    }

    /// Stores a job that takes longer than expected as running, and keeps its lease from then on.
    async fn adopt(mut self, jobs: &Jobs, computation: Computation, permit: Arc<PermitSlot>) {
        self.record.status = Status::Running;
        self.record.attempt = 1;
        let key = self.key.as_ref();
        match jobs.insert_running(&mut self.record, &self.work, key).await {
            Ok((lease, leased_at)) => {
                let _ = self.sender.send(Ok(self.record.clone()));
                let stance = Stance::new(permit, jobs.slice(0.0));
                let renewer = LeaseRenewer::new(jobs, &self.record, &lease, leased_at, stance);
                worker::attend(renewer, &self.work, computation).await;
            }
            Err(error) => {
                // The job may be stored in spite of the error. Such a job runs again after the end of the lease
                // and needs its data.
                computation.run.stop.raise(Interrupt::Cancelled);
                let _ = self.sender.send(Err(error));
            }
        }
    }
}

impl Jobs {
    /// Stores a job as running in this process, after its data. Returns the lease and its earliest start_state.
    async fn insert_running(
        &self,
        record: &mut Job,
        work: &CheckedTask,
        key: Option<&KeyClaim>,
    ) -> Result<(Lease, Instant), JobsError> {
        self.keep_data(record, work).await?;
        let leased_at = Instant::now();
        let seconds = self.config.lease_seconds;
        let record = &*record;
        let insert = || {
            self.store
                .insert_running_job(record, &self.worker, seconds, key)
        };
        let mut stored = insert().await;
        let is_repeated = is_asked_again(&stored, leased_at);
        if is_repeated {
            // An insert that was already written returns the same lease.
            stored = insert().await;
        }
        self.forget_unless_stored(&stored, is_repeated, record)
            .await;
        Ok((stored?, leased_at))
    }

    /// Stores an ended job and its model in one transaction, before any client knows of the job.
    async fn insert_ended(
        &self,
        mut record: Job,
        end: JobEnd,
        key: Option<&KeyClaim>,
    ) -> Result<Job, JobsError> {
        record.status = end.status;
        record.attempt = 1;
        record.progress = end.progress;
        record.result = end.result;
        record.error = end.error;
        record.finished_at = Some(end.finished_at);
        record.model = end.model.as_ref().map(|model| model.id);
        let trace = end.trace.as_deref();
        self.store
            .insert_ended_job(&record, end.model.as_ref(), trace, key)
            .await?;
        self.has_ended(&record);
        Ok(record)
    }
}
