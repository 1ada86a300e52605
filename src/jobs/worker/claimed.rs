//! A claimed job from its data to its end: prepared, computed under its lease, and written or given back.
//!
//! A job that cannot be computed now goes back to the queue. One that can never be computed fails.

use std::sync::Arc;
use std::time::Duration;

use halfspace_core::learners::engine::input::TaskError;
use halfspace_core::learners::engine::run::{Interrupt, Run};
use halfspace_core::memory::{Grant, NoMemory};
use halfspace_formats::StoredExamples;
use serde::Deserialize;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use crate::records::task::{JobSpec, TaskSpec};
use crate::records::{Job, JobError, JobTree};
use crate::storage::{Blobs, Claim, JobEnd, Requeue, StoreError};

use super::checkpoints::{self, StartState};
use super::compute::{Computation, Computed};
use super::held::HeldJob;
use super::lease_renewer::{Hold, LeaseRenewer};
use super::parking::{PermitSlot, Stance};
use super::solitude::Solitude;
use super::{PAUSE_MAX, Worker};
use crate::jobs::completion;
use crate::jobs::datasets::stored::ReadError;
use crate::jobs::error::JobsError;
use crate::jobs::imports::{ImportInputs, ImportRefusal};
use crate::jobs::queue::subjobs::{data_key_of, without_products};
use crate::jobs::tasks::checked::CheckedTask;
use crate::jobs::tasks::{Allowance, Inputs, JobSample, ResolveError, resolve};

/// How long a worker retries to read data over an unavailable network before the job is returned to the queue.
const READ_TIMEOUT: Duration = Duration::from_secs(600);

/// Pause in the queue of a job that must run alone while another such job runs in this process. Another process may
/// claim the job after the pause.
const SUSPECT_PAUSE_SECONDS: f64 = 1.0;

impl Worker {
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
        let held = HeldJob {
            worker: self,
            job: &job,
            lease: &lease,
        };
        let memory = match self.config.memory.try_take(job.demand.memory_bytes) {
            Ok(memory) => memory,
            Err(full) => return held.give_back_for_now(full).await,
        };
        let permit = PermitSlot::new(permit);
        let stance = Stance::new(Arc::clone(&permit), self.slice(switch_seconds));
        let mut renewer = LeaseRenewer::new(held, leased_at, stance);
        if let Some(alone) = alone {
            let Some(solitude) = Solitude::begin(self, alone) else {
                let requeue = Requeue {
                    pause_seconds: SUSPECT_PAUSE_SECONDS,
                    ..Requeue::default()
                };
                return held.give_back(requeue).await;
            };
            renewer.solitude = Some(renewer.keep_while(&run, solitude.entered()).await);
        }
        let prepared = async {
            // The state comes first, so that the progress of the job never goes backwards.
            if let Some(left) = checkpoints::left(&self.store, &job, &lease).await? {
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
                return held.give_back(Requeue::default()).await;
            }
            Err(Unprepared::NoMemory(full)) => {
                return held.give_back_for_now(full).await;
            }
            Err(Unprepared::Store(error)) => return held.try_later(&error).await,
            Err(Unprepared::Failed(error)) => return held.fail(error).await,
        };
        let computation =
            self.threads
                .compute(&job, Arc::clone(&work), start_state, permit, memory);
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
            .map_err(|error| failed("internal", format!("the stored request: {error}")))?;
        // The job pins the dataset, and the id of the dataset determines the key.
        let dataset_key = job.dataset.map(Blobs::dataset_key);
        let data_key = data_key_of(job);
        let stored = match data_key.as_ref().or(dataset_key.as_ref()) {
            None => None,
            Some(key) => {
                let sha256 = job.data_sha256.as_deref().unwrap_or_default();
                Some(Arc::new(self.read_patiently(key, sha256, run).await?))
            }
        };
        let needs_cells = spec.needs_cells();
        let cells = match data_key.as_ref().or(dataset_key.as_ref()) {
            Some(key) if needs_cells => Some(self.datasets.cells_of_data(key, &run.stop).await?),
            _ => None,
        };
        let model = match spec.task.model() {
            None => None,
            Some((_, id)) => match self.models.load(&job.owner, id).await {
                Ok(model) => Some(model),
                Err(JobsError::Store(error)) => return Err(error.into()),
                Err(error) => return Err(failed("model-missing", error.to_string())),
            },
        };
        let subjobs = match job.lineage {
            JobTree::Parent { .. } => self.queue.subjobs(job.id).await?,
            JobTree::Single | JobTree::Subjob { .. } => Vec::new(),
        };
        let import = self.import_inputs(job, &spec).await?;
        // In the blocking pool, because some checks read all examples.
        let inputs = Inputs {
            import,
            cells,
            sample: stored.clone().map(JobSample::Stored),
            model,
            subjobs,
            ..Inputs::of(job.seed)
        };
        let within = memory.clone();
        let allowance = Allowance {
            resident_bytes: self.config.resident_bytes_max,
            ..Allowance::UNLIMITED
        };
        let resolved = tokio::task::spawn_blocking(move || {
            within.within(|| resolve(&spec, inputs, &allowance))
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
                (error, _) => failed("internal", error.to_string()),
            })?;
        // The record of a subjob holds a different memory bound.
        memory.grow_to(work.demand.memory_bytes)?;
        Ok(work)
    }

    /// What an import reads and where it stores the dataset. `None` for every other task.
    async fn import_inputs(
        &self,
        job: &Job,
        spec: &JobSpec,
    ) -> Result<Option<ImportInputs>, Unprepared> {
        let (TaskSpec::Import(import), Some(version)) = (&spec.task, &spec.data.source) else {
            return Ok(None);
        };
        let name = job.name.as_deref();
        let inputs = self.imports.inputs(&job.owner, name, import, version);
        match inputs.await.map_err(ImportRefusal::into_job_error) {
            Ok(inputs) => Ok(Some(inputs)),
            Err(Ok(error)) => Err(Unprepared::Failed(error)),
            Err(Err(error)) => Err(error.into()),
        }
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
            let error = match self.datasets.open_data(key, sha256, run.stop.clone()).await {
                Ok(opened) => return Ok(opened),
                Err(_) if run.stop.look().is_some() => return Err(Unprepared::Suspended),
                Err(ReadError::Store(error)) if self.datasets.blobs.is_remote() => error,
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
    let (held, job) = (renewer.held, renewer.held.job);
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
            held.give_back(requeue).await;
        }
        Computed::Unread(error) => held.try_later(&error).await,
        Computed::Ended {
            end,
            memory: _memory,
        } => {
            metrics::histogram!("halfspace_job_run_seconds").record(spent.seconds);
            let end = match job.lineage {
                JobTree::Subjob { .. } => without_products(*end),
                JobTree::Single | JobTree::Parent { .. } => *end,
            };
            held.finish(JobEnd { spent, ..end }).await;
        }
    }
}
