//! The worker: prepares a claimed job, computes the job under its lease and writes its end.
//!
//! A job that cannot be computed now goes back to the queue. A job that can never be computed fails. Transient
//! errors of the store are retried, so that no result is lost.

use std::sync::Arc;
use std::time::Duration;

use halfspace_core::learners::engine::input::TaskError;
use halfspace_core::learners::engine::run::{Interrupt, Run};
use halfspace_core::memory::{Grant, NoMemory};
use halfspace_formats::StoredExamples;
use serde::Deserialize;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use crate::records::task::JobSpec;
use crate::records::{Job, JobError, JobTree};
use crate::storage::{Blobs, Claim, Fenced, JobEnd, Lease, Requeue, StoreError};

use super::checkpoints::StartState;
use super::completion;
use super::compute::{Computation, Computed};
use super::lease_renewer::{Hold, LeaseRenewer};
use super::parking::{PermitSlot, Stance};
use super::subjobs::without_products;
use super::yielding::Solitude;
use crate::jobs::data::stored::ReadError;
use crate::jobs::service::{Jobs, JobsError};
use crate::jobs::tasks::{Allowance, CheckedTask, Inputs, JobSample, ResolveError, resolve};

/// Attempts to write the end of a job while the store fails, with growing pauses.
const FINISH_TRIES_MAX: u32 = 200;

/// Attempts to return a suspended job to the queue. With the pauses of a stopping process they take less time
/// than the process waits for its jobs.
const REQUEUE_TRIES_MAX: u32 = 20;

/// How long a worker retries to read data over an unavailable network before the job is returned to the queue.
const READ_TIMEOUT: Duration = Duration::from_secs(600);

/// Time limit for storing the state of a job that goes back to the queue.
const STATE_TIMEOUT: Duration = Duration::from_secs(3);

/// Pause in the queue of a job for which there was no memory.
const MEMORY_PAUSE_SECONDS: f64 = 0.5;

/// Pause in the queue of a job that must run alone while another such job runs in this process. Another process may
/// claim the job after the pause.
const SUSPECT_PAUSE_SECONDS: f64 = 1.0;

/// The longest pause between two attempts.
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// The pause between two attempts in a stopping process.
const PAUSE_STOPPING: Duration = Duration::from_millis(200);

impl Jobs {
    /// Computes a claimed job to the end. The lease began at `leased_at` or later.
    pub(crate) async fn run_claim(
        &self,
        claim: Claim,
        leased_at: Instant,
        permit: OwnedSemaphorePermit,
    ) {
        let Claim {
            job,
            lease,
            alone,
            switch_seconds,
        } = claim;
        let mut start_state = StartState::of(job.id, self.helped_stop_flag());
        let run = Arc::clone(&start_state.run);
        // Registered before the data are read, so that a cancellation stops the reading too.
        let _registered = self.hub.register(job.id, job.lineage, Arc::clone(&run));
        if self.stopping.is_cancelled() {
            run.stop.raise(Interrupt::Suspended);
        }
        self.hub.changed(job.id);
        if let JobTree::Subjob { parent, .. } = job.lineage {
            self.hub.changed(parent);
        }
        let memory = match self.config.memory.try_take(job.demand.memory_bytes) {
            Ok(memory) => memory,
            Err(full) => return self.give_back_for_now(&job, &lease, full).await,
        };
        let permit = PermitSlot::new(permit);
        let stance = Stance::new(Arc::clone(&permit), self.slice(switch_seconds));
        let mut renewer = LeaseRenewer::new(self, &job, &lease, leased_at, stance);
        if let Some(alone) = alone {
            let Some(solitude) = Solitude::begin(self, alone) else {
                let requeue = Requeue {
                    pause_seconds: SUSPECT_PAUSE_SECONDS,
                    ..Requeue::default()
                };
                return self.give_back(&job, &lease, requeue).await;
            };
            renewer.solitude = Some(renewer.keep_while(&run, solitude.entered()).await);
        }
        let prepared = async {
            // The state comes first, so that the progress of the job never goes backwards.
            if let Some(left) = self.left(&job, &lease).await? {
                start_state.resume(left);
            }
            self.prepare(&job, &run, &memory).await
        };
        let prepared = renewer.keep_while(&run, prepared).await;
        if renewer.hold != Hold::Held {
            tracing::warn!(job = %job.id, "the job lost its lease while its data were read");
            return;
        }
        let work = match prepared {
            Ok(work) => Arc::new(work),
            Err(Unprepared::Suspended) => {
                return self.give_back(&job, &lease, Requeue::default()).await;
            }
            Err(Unprepared::NoMemory(full)) => {
                return self.give_back_for_now(&job, &lease, full).await;
            }
            Err(Unprepared::Store(error)) => return self.try_later(&job, &lease, &error).await,
            Err(Unprepared::Failed(error)) => {
                let end = completion::failure(self.ids.now(), error, &job);
                self.finish(&job, &lease, end).await;
                return;
            }
        };
        let computation =
            Computation::start(self, &job, Arc::clone(&work), start_state, permit, memory);
        attend(renewer, &work, computation).await;
    }

    /// Restores the work that a job record describes.
    async fn prepare(
        &self,
        job: &Job,
        run: &Run,
        memory: &Grant,
    ) -> Result<CheckedTask, Unprepared> {
        let failed = |code: &str, detail: String| {
            Unprepared::Failed(JobError {
                code: code.to_owned(),
                detail,
            })
        };
        let spec = JobSpec::deserialize(&*job.spec)
            .map_err(|error| failed("unreadable", format!("the stored request: {error}")))?;
        // The job pins the dataset, and the id of the dataset determines the key.
        let dataset_key = job.dataset.map(Blobs::dataset_key);
        let data_key = Self::data_key_of(job);
        let stored = match data_key.as_ref().or(dataset_key.as_ref()) {
            None => None,
            Some(key) => {
                let sha256 = job.data_sha256.as_deref().unwrap_or_default();
                Some(Arc::new(self.read_patiently(key, sha256, run).await?))
            }
        };
        let model = match spec.task.model() {
            None => None,
            Some((_, id)) => match self.load_model(&job.owner, id).await {
                Ok(model) => Some(model),
                Err(JobsError::Store(error)) => return Err(error.into()),
                Err(error) => return Err(failed("model-missing", error.to_string())),
            },
        };
        let subjobs = match job.lineage {
            JobTree::Parent { .. } => self.subjobs(job.id).await?,
            JobTree::Single | JobTree::Subjob { .. } => Vec::new(),
        };
        // In the blocking pool, because some checks read all examples.
        let inputs = Inputs {
            sample: stored.clone().map(JobSample::Stored),
            model,
            subjobs,
        };
        let (seed, within) = (job.seed, memory.clone());
        let allowance = Allowance {
            resident_bytes: self.config.resident_bytes_max,
            ..Allowance::UNLIMITED
        };
        let resolved = tokio::task::spawn_blocking(move || {
            within.within(|| resolve(&spec, seed, inputs, &allowance))
        });
        let resolved = resolved.await;
        let work = resolved
            .map_err(|error| failed("internal", error.to_string()))?
            .map_err(|error| match (error, stored) {
                (ResolveError::Task(TaskError::Unread(Interrupt::Suspended)), _) => {
                    Unprepared::Suspended
                }
                (ResolveError::Task(TaskError::Unread(Interrupt::Memory)), _) => {
                    Unprepared::Failed(completion::no_memory())
                }
                (ResolveError::Task(TaskError::Unread(_)), Some(stored)) => {
                    ReadError::of(&stored).into()
                }
                (error, _) => failed("unreadable", error.to_string()),
            })?;
        // The record of a subjob holds a different memory bound.
        memory.grow_to(work.demand.memory_bytes)?;
        Ok(work)
    }

    /// Opens the data under a key. While the network to a remote blob store is unavailable, the worker waits
    /// under its lease. Returning the job instead would use up the attempts.
    async fn read_patiently(
        &self,
        key: &str,
        sha256: &str,
        run: &Run,
    ) -> Result<StoredExamples, Unprepared> {
        let deadline = Instant::now() + READ_TIMEOUT;
        let mut pause = Duration::from_millis(50);
        loop {
            let error = match self.open_data(key, sha256, run.stop.clone()).await {
                Ok(opened) => return Ok(opened),
                Err(_) if run.stop.look().is_some() => return Err(Unprepared::Suspended),
                Err(ReadError::Store(error)) if self.blobs.is_remote() => error,
                Err(error) => return Err(error.into()),
            };
            if Instant::now() >= deadline {
                return Err(Unprepared::Store(error));
            }
            tracing::warn!(key, %error, "the data cannot be read at the moment; retrying");
            tokio::select! {
                () = tokio::time::sleep(pause) => pause = (pause * 2).min(PAUSE_MAX),
                () = self.stopping.cancelled() => return Err(Unprepared::Suspended),
            }
        }
    }

    /// Writes the end of a job. Retries while the store fails, so that a transient error does not discard the
    /// result.
    async fn finish(&self, job: &Job, lease: &Lease, end: JobEnd) {
        let fenced = self.write_last(job, lease, Last::End(&end)).await;
        match fenced {
            Some(Fenced::Done) => {
                let ended = Job {
                    status: end.status,
                    ..job.clone()
                };
                self.has_ended(&ended);
                self.forget_data(job.data_key.as_deref()).await;
                self.after_subjob(&ended).await;
            }
            Some(Fenced::Lost) => self.after_lost(job).await,
            None => {
                tracing::error!(job = %job.id, "the end of the job could not be stored; the job \
                                                runs again");
            }
        }
        self.hub.changed(job.id);
    }

    /// Returns a job to the queue. A state that cannot be stored is left out, because a state only saves time.
    async fn give_back(&self, job: &Job, lease: &Lease, requeue: Requeue<'_>) {
        if requeue.checkpoint.is_some() {
            let written = self.store.requeue_job(lease, &requeue, self.ids.now());
            match tokio::time::timeout(STATE_TIMEOUT, written).await {
                Ok(Ok(_)) => return self.hub.changed(job.id),
                Ok(Err(error)) => tracing::warn!(job = %job.id, %error, "the state of the job \
                                                                         could not be stored"),
                Err(_) => tracing::warn!(job = %job.id, "the state of the job could not be stored \
                                                         in time"),
            }
        }
        let requeue = Requeue {
            checkpoint: None,
            ..requeue
        };
        match self.write_last(job, lease, Last::Requeue(&requeue)).await {
            Some(Fenced::Done) => {}
            Some(Fenced::Lost) => self.after_lost(job).await,
            None => tracing::warn!(job = %job.id, "the job could not return to the queue; its \
                                                   lease will expire"),
        }
        self.hub.changed(job.id);
    }

    /// Returns a job to the queue when requests have taken the memory since the claim. The job fails if the job
    /// can never fit into the memory of this process.
    async fn give_back_for_now(&self, job: &Job, lease: &Lease, full: NoMemory) {
        if full.is_final() {
            let end = completion::failure(self.ids.now(), completion::no_memory(), job);
            return self.finish(job, lease, end).await;
        }
        let requeue = Requeue {
            pause_seconds: MEMORY_PAUSE_SECONDS,
            ..Requeue::default()
        };
        self.give_back(job, lease, requeue).await;
    }

    /// Returns a job whose data cannot be read now, until all attempts are used up. The job pauses in the
    /// queue, because the next claim would otherwise take it again before all other jobs.
    async fn try_later(&self, job: &Job, lease: &Lease, error: &StoreError) {
        tracing::warn!(job = %job.id, %error, "the data of the job cannot be read");
        if lease.attempt >= self.config.attempts_max {
            let detail = format!(
                "the data could not be read in {} attempts; the last error: {error}",
                lease.attempt
            );
            let error = completion::unreadable(ReadError::Missing(detail));
            let end = completion::failure(self.ids.now(), error, job);
            return self.finish(job, lease, end).await;
        }
        let requeue = Requeue {
            pause_seconds: self.config.unread_pause.as_secs_f64(),
            is_charged: true,
            ..Requeue::default()
        };
        self.give_back(job, lease, requeue).await;
    }

    /// Makes the last write under a lease and retries while the store fails. Returns `None` when all attempts
    /// fail.
    async fn write_last(&self, job: &Job, lease: &Lease, last: Last<'_>) -> Option<Fenced> {
        let mut pause = Duration::from_millis(50);
        let tries_max = match last {
            Last::End(_) => FINISH_TRIES_MAX,
            Last::Requeue(_) => REQUEUE_TRIES_MAX,
        };
        for _ in 0..tries_max {
            let written = match last {
                Last::End(end) => self.store.finish_job(lease, end).await,
                Last::Requeue(requeue) => {
                    let now = self.ids.now();
                    self.store.requeue_job(lease, requeue, now).await
                }
            };
            match written {
                Ok(fenced) => return Some(fenced),
                Err(error) => {
                    tracing::warn!(job = %job.id, %error, "the store refused the write; retrying")
                }
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => pause = (pause * 2).min(PAUSE_MAX),
                () = self.stopping.cancelled() => tokio::time::sleep(PAUSE_STOPPING).await,
            }
        }
        None
    }

    /// Cleans up after a fenced write that matched no lease. An earlier attempt may have been written without
    /// an answer. The data of a job that has ended are deleted in any case.
    async fn after_lost(&self, job: &Job) {
        match self.store.find(&job.owner, job.id).await {
            Ok(Some(stored)) if stored.status.is_ended() => {
                tracing::info!(job = %job.id, status = %stored.status, "the job has already ended");
                self.forget_data(job.data_key.as_deref()).await;
            }
            Ok(_) => tracing::warn!(job = %job.id, "the lease expired; nothing was written"),
            Err(error) => tracing::warn!(job = %job.id, %error, "the lease expired"),
        }
    }
}

/// The last write under a lease.
#[derive(Clone, Copy, Debug)]
enum Last<'a> {
    End(&'a JobEnd),
    Requeue(&'a Requeue<'a>),
}

/// The reason why a claimed job cannot be computed.
enum Unprepared {
    /// The run was suspended.
    Suspended,
    /// The memory is not available.
    NoMemory(NoMemory),
    /// The store or the blob store failed, and the job is tried again later.
    Store(StoreError),
    /// The job fails.
    Failed(JobError),
}

impl From<NoMemory> for Unprepared {
    fn from(full: NoMemory) -> Self {
        Self::NoMemory(full)
    }
}

impl From<StoreError> for Unprepared {
    fn from(error: StoreError) -> Self {
        match error {
            // Another attempt to read would find the same damage.
            StoreError::Corrupt(damage) => ReadError::Corrupt(damage.to_string()).into(),
            error => Self::Store(error),
        }
    }
}

impl From<ReadError> for Unprepared {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Store(StoreError::Corrupt(damage)) => Self::Failed(completion::unreadable(
                ReadError::Corrupt(damage.to_string()),
            )),
            ReadError::Store(error) => Self::Store(error),
            error => Self::Failed(completion::unreadable(error)),
        }
    }
}

/// Keeps the lease of a running computation and writes its end.
pub(crate) async fn attend(
    mut renewer: LeaseRenewer<'_>,
    work: &Arc<CheckedTask>,
    mut computation: Computation,
) {
    renewer.show(work, &computation.checkpoints);
    let run = Arc::clone(&computation.run);
    let computed = renewer.keep_while(&run, computation.ended()).await;
    let (jobs, job, lease) = (renewer.jobs, renewer.job, renewer.lease);
    match renewer.hold {
        Hold::Held => {}
        Hold::Requeued => return,
        Hold::Lost => {
            tracing::warn!(job = %job.id, "the lease was lost; the computation is discarded");
            return;
        }
    }
    let spent = renewer.spent();
    match computed {
        Computed::Suspended => {
            let state = match &renewer.computing {
                Some(computing) => computing.checkpointing.last(job).await,
                None => None,
            };
            let requeue = Requeue {
                spent,
                checkpoint: state.as_deref(),
                ..Requeue::default()
            };
            jobs.give_back(job, lease, requeue).await;
        }
        Computed::Unreadable(ReadError::Store(error)) => jobs.try_later(job, lease, &error).await,
        computed => {
            metrics::histogram!("halfspace_job_run_seconds").record(spent.seconds);
            let (end, _memory) = computed.into_end(jobs, job);
            let end = match job.lineage {
                JobTree::Subjob { .. } => without_products(end),
                JobTree::Single | JobTree::Parent { .. } => end,
            };
            jobs.finish(job, lease, JobEnd { spent, ..end }).await;
        }
    }
}
