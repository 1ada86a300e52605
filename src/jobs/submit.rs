//! How a job comes to be: queued, or computed at once for a client that waits.

use std::sync::Arc;
use std::time::Duration;

use halfspace_core::learners::examples::Examples;
use halfspace_core::learners::run::Interrupt;
use halfspace_core::memory::{Grant, NoMemory};
use halfspace_formats::BlocksHeader;
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio::time::Instant;

use crate::callbacks::CallbackUrl;
use crate::records::task::JobSpec;
use crate::records::{Callback, DatasetId, Demand, Job, KeyClaim, Owner, Priority, Status};
use crate::storage::{Blobs, JobEnd, Lease, StoreError, Usage};

use super::checkpoints::Beginning;
use super::compute::{Computation, Computed};
use super::datasets::unwritten;
use super::keeper::Keeper;
use super::parking::{PermitSlot, Stance};
use super::service::{Jobs, JobsError};
use super::stored_data::ReadError;
use super::work::Work;
use super::worker;

/// A waited job that is expected to take longer is stored first.
const WAITED_SECONDS_MAX: f64 = 0.2;

/// A waited job with more data is stored first.
const WAITED_BYTES_MAX: u64 = 16 << 20;

/// A store that failed later than this is not asked again.
const ASKED_AGAIN_WITHIN: Duration = Duration::from_millis(500);

/// Checked work that is not a job yet.
#[derive(Clone, Debug)]
pub struct NewJob {
    /// Whose it is.
    pub owner: Owner,
    /// Free text of the client.
    pub name: Option<String>,
    /// The request without its data.
    pub spec: JobSpec,
    /// Of every random choice.
    pub seed: u64,
    /// The work itself.
    pub work: Arc<Work>,
    /// The digest of the canonical rows, in hexadecimal, unless the data are generated.
    pub data_sha256: Option<String>,
    /// The dataset that the data are, if they are one: they are not stored a second time.
    pub dataset: Option<DatasetId>,
    /// Where a client wants to be told of the end.
    pub callback: Option<CallbackUrl>,
    /// Its place among the jobs of its owner: higher goes first.
    pub priority: Priority,
    /// The idempotency key that it is made under.
    pub key: Option<KeyClaim>,
}

impl Jobs {
    /// Makes a job, and waits for its end up to `patience`. When this returns the job is on disk.
    ///
    /// # Errors
    /// [`JobsError::OverQuota`], [`JobsError::Stopping`], [`JobsError::DatasetMissing`] when the
    /// dataset was deleted meanwhile, [`JobsError::KeyTaken`] when something else was made under its
    /// key, or what the store says. No job exists then, except perhaps
    /// after [`StoreError::Unavailable`]: nobody knows its id, but it runs.
    pub async fn submit(
        self: &Arc<Self>,
        new: NewJob,
        patience: Duration,
    ) -> Result<Job, JobsError> {
        if self.stopping.is_cancelled() {
            return Err(JobsError::Stopping);
        }
        let begun = Instant::now();
        let owner = new.owner.clone();
        let job = self.acknowledge(new, patience).await?;
        let left = patience.saturating_sub(begun.elapsed());
        if job.status.is_ended() || left.is_zero() {
            return Ok(job);
        }
        self.wait(&owner, job.id, left).await
    }

    /// Brings the job to the store: ended, running or queued.
    async fn acknowledge(
        self: &Arc<Self>,
        new: NewJob,
        patience: Duration,
    ) -> Result<Job, JobsError> {
        if let Some(count) = new.work.parts() {
            return self.enqueue_parts(new, count).await;
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
        let permit = if patience.is_zero() || !is_small(&record, &new.work) {
            None
        } else {
            Arc::clone(&self.permits).try_acquire_owned().ok()
        };
        let taken = permit.and_then(|permit| Some((permit, memory.try_take(asked).ok()?)));
        let Some((permit, memory)) = taken else {
            return self.enqueue(record, &new.work, new.key.as_ref()).await;
        };
        // A task of its own, since the computation goes on when the client leaves.
        let (sender, receiver) = oneshot::channel();
        let adopt_after = patience.min(self.config.adopt_after);
        let this = Arc::clone(self);
        self.tasks.spawn(async move {
            let run = Waited {
                record,
                work: new.work,
                key: new.key,
                sender,
            };
            run.compute(&this, permit, memory, adopt_after).await;
        });
        receiver.await.unwrap_or(Err(JobsError::Stopping))
    }

    pub(super) fn record(&self, new: &NewJob) -> Job {
        Job {
            learner: new.spec.task.learner().map(str::to_owned),
            name: new.name.clone(),
            data_sha256: new.data_sha256.clone(),
            dataset: new.dataset,
            priority: new.priority.get(),
            demand: Demand {
                seconds: new.work.expected_seconds(self.config.seconds_default),
                memory_bytes: new.work.memory_bytes(self.config.resident_bytes_max),
            },
            callback: new.callback.as_ref().map(|url| Callback::new(url.as_str())),
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

    /// Stores a queued job, its data first.
    async fn enqueue(
        &self,
        mut record: Job,
        work: &Work,
        key: Option<&KeyClaim>,
    ) -> Result<Job, JobsError> {
        let least = Usage {
            jobs_queued: 1,
            ..Usage::default()
        };
        self.check_room(&record.owner, &least).await?;
        self.keep_data(&mut record, work).await?;
        let asked_at = Instant::now();
        let mut stored = self.store.insert_job(&record, key).await;
        let is_repeated = is_asked_again(&stored, asked_at);
        if is_repeated {
            // A job that is stored already is left as it is.
            stored = self.store.insert_job(&record, key).await;
        }
        self.forget_unless_stored(&stored, is_repeated, &record)
            .await;
        stored?;
        self.hub.work.notify_one();
        Ok(record)
    }

    /// Deletes the data of a job that certainly is not stored: its key is another's, or there was no
    /// room, and no earlier attempt of which nothing was heard. After any other error the data stay,
    /// since the job may be there all the same and need them. If it is not, the sweep removes them.
    pub(super) async fn forget_unless_stored<T>(
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

    /// Stores the sample of a job, if it has one of its own, and names the blob in its record. Its
    /// bytes are reserved meanwhile; from then on the row counts them.
    pub(super) async fn keep_data(&self, record: &mut Job, work: &Work) -> Result<(), JobsError> {
        let own = work.data().filter(|_| record.dataset.is_none());
        let Some(data) = own.cloned() else {
            return Ok(());
        };
        self.store.demand_room().await?;
        let key = Blobs::data_key(record.id, 0);
        let length = BlocksHeader::of(&data).stored_bytes().unwrap_or(u64::MAX);
        let _reserved = self.reserve(&record.owner, length).await?;
        let mut blob = self.blobs.writer(&key)?;
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

/// Whether a waited job is computed before it is stored: it is expected to be short, and its data are
/// written only at its end.
fn is_small(record: &Job, work: &Work) -> bool {
    let bytes = work.data().map_or(0, |data| data.shape().memory_bytes());
    record.demand.seconds <= WAITED_SECONDS_MAX && bytes <= WAITED_BYTES_MAX
}

/// Whether the store is to be asked once more, since perhaps only its answer is missing. Not when it
/// took its time to fail: the client is to be told within two seconds.
pub(super) fn is_asked_again<T>(stored: &Result<T, StoreError>, asked_at: Instant) -> bool {
    matches!(stored, Err(StoreError::Unavailable(_))) && asked_at.elapsed() < ASKED_AGAIN_WITHIN
}

/// A job that is computed before anybody was told of it.
struct Waited {
    record: Job,
    work: Arc<Work>,
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
        let beginning = Beginning::of(self.record.id);
        let work = Arc::clone(&self.work);
        let permit = PermitSlot::new(permit);
        let slot = Arc::clone(&permit);
        let mut computation = Computation::start(jobs, &self.record, work, beginning, slot, memory);
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
            // A worker tries again what could not be read just now.
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
        // Without a receiver the client has left; the job is stored all the same.
        let _ = self.sender.send(answer);
    }

    /// The job takes its time: it is stored as running, and from then on like any other.
    async fn adopt(mut self, jobs: &Jobs, computation: Computation, permit: Arc<PermitSlot>) {
        self.record.status = Status::Running;
        self.record.attempt = 1;
        let key = self.key.as_ref();
        match jobs.insert_running(&mut self.record, &self.work, key).await {
            Ok((lease, leased_at)) => {
                let _ = self.sender.send(Ok(self.record.clone()));
                let stance = Stance::new(permit, jobs.slice(0.0));
                let keeper = Keeper::new(jobs, &self.record, &lease, leased_at, stance);
                worker::attend(keeper, &self.work, computation).await;
            }
            Err(error) => {
                // If the job is there all the same, it runs again when the lease is over, and
                // needs its data.
                computation.run.stop.raise(Interrupt::Cancelled);
                let _ = self.sender.send(Err(error));
            }
        }
    }
}

impl Jobs {
    /// Stores a job as running here, its data first; the lease, and when it began at the earliest.
    async fn insert_running(
        &self,
        record: &mut Job,
        work: &Work,
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
            // As for a queued job: who stored it before gets the same lease.
            stored = insert().await;
        }
        self.forget_unless_stored(&stored, is_repeated, record)
            .await;
        Ok((stored?, leased_at))
    }

    /// Stores a job that nobody has heard of yet as ended, with its model, in one transaction.
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
