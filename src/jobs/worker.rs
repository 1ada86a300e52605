//! A worker with a lease: computes a claimed job, and writes what came of it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use crate::formats::StoredExamples;
use crate::learners::run::{Interrupt, Run};
use crate::learners::task::TaskError;
use crate::records::task::JobSpec;
use crate::records::{Job, JobError, Lineage};
use crate::storage::{Blobs, Claim, Fenced, JobEnd, Lease, StoreError};

use super::checkpoints::Beginning;
use super::compute::{Computation, Computed};
use super::ending;
use super::keeper::Keeper;
use super::parts::without_products;
use super::service::{Jobs, JobsError};
use super::stored_data::ReadError;
use super::work::{Allowance, JobSample, ResolveError, Work, resolve};

/// How often the end of a job is written again after the store failed, with growing pauses.
const FINISH_TRIES_MAX: u32 = 200;

/// How often a job that was suspended is given back. With the pauses of a process that stops, less
/// than it waits for its jobs.
const REQUEUE_TRIES_MAX: u32 = 20;

/// How long a worker tries to read data over a network that is away, before it lets its lease run out.
const READ_PATIENCE: Duration = Duration::from_secs(600);

/// The longest pause between two tries.
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// The pause between two tries of a process that stops.
const PAUSE_STOPPING: Duration = Duration::from_millis(200);

impl Jobs {
    /// Computes a claimed job to its end. The lease began at `leased_at` or later.
    pub(super) async fn run_claim(
        &self,
        claim: Claim,
        leased_at: Instant,
        permit: OwnedSemaphorePermit,
    ) {
        let Claim { job, lease } = claim;
        let mut beginning = Beginning::of(job.id);
        let run = Arc::clone(&beginning.run);
        // Listed before the data are read, so that a cancel meanwhile is heard.
        let _registered = self.hub.register(job.id, job.lineage, Arc::clone(&run));
        if self.stopping.is_cancelled() {
            run.stop.raise(Interrupt::Suspended);
        }
        self.hub.changed(job.id);
        if let Lineage::Part { parent, .. } = job.lineage {
            self.hub.changed(parent);
        }
        let mut keeper = Keeper::new(self, &job, &lease, leased_at);
        let prepared = async {
            // First, so that no progress is shown that goes back further.
            if let Some(left) = self.left(&job, &lease).await? {
                beginning.go_on(left);
            }
            self.prepare(&job, &run).await
        };
        let prepared = keeper.keep_while(&run, prepared).await;
        if keeper.is_lost() {
            tracing::warn!(job = %job.id, "the lease was lost while the data were read");
            return;
        }
        let work = match prepared {
            Ok(work) => Arc::new(work),
            Err(Unprepared::Suspended) => return self.give_back(&job, &lease).await,
            Err(Unprepared::Store(error)) => return lease_runs_out(&job, &error),
            Err(Unprepared::Failed(error)) => {
                let end = ending::failure(self.ids.now(), error, &job);
                self.finish(&job, &lease, end).await;
                return;
            }
        };
        let seconds = self.config.seconds_default;
        let computation = Computation::start(Arc::clone(&work), beginning, seconds, permit);
        attend(keeper, &work, computation).await;
    }

    /// Brings back the work that a record stands for.
    async fn prepare(&self, job: &Job, run: &Run) -> Result<Work, Unprepared> {
        let failed = |code: &str, detail: String| {
            Unprepared::Failed(JobError {
                code: code.to_owned(),
                detail,
            })
        };
        let spec: JobSpec = serde_json::from_value(job.spec.clone())
            .map_err(|error| failed("unreadable", format!("the stored request: {error}")))?;
        // The job pins its dataset, whose key is the one that its id says.
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
                Ok(model) => Some(model.hypothesis),
                Err(JobsError::Store(error)) => return Err(Unprepared::Store(error)),
                Err(error) => return Err(failed("model-missing", error.to_string())),
            },
        };
        let parts = match job.lineage {
            Lineage::Parent { .. } => Some(self.parts(job.id).await.map_err(Unprepared::Store)?),
            Lineage::Single | Lineage::Part { .. } => None,
        };
        // In the blocking pool, since some checks read all examples.
        let (seed, sample) = (job.seed, stored.clone().map(JobSample::Stored));
        let resolved = tokio::task::spawn_blocking(move || {
            let mut work = resolve(&spec, seed, sample, model, Allowance::UNLIMITED)?;
            work.take_parts(parts.as_deref().unwrap_or_default())?;
            Ok(work)
        });
        let resolved = resolved.await;
        resolved
            .map_err(|error| failed("internal", error.to_string()))?
            .map_err(|error| match (error, stored) {
                (ResolveError::Task(TaskError::Unread(Interrupt::Suspended)), _) => {
                    Unprepared::Suspended
                }
                (ResolveError::Task(TaskError::Unread(_)), Some(stored)) => {
                    ReadError::of(&stored).into()
                }
                (error, _) => failed("unreadable", error.to_string()),
            })
    }

    /// The data under a key. A network that is away comes back, and all jobs whose data are beyond it
    /// wait for that: so this one waits too, under its lease, instead of using up its attempts.
    async fn read_patiently(
        &self,
        key: &str,
        sha256: &str,
        run: &Run,
    ) -> Result<StoredExamples, Unprepared> {
        let deadline = Instant::now() + READ_PATIENCE;
        let mut pause = Duration::from_millis(50);
        loop {
            let error = match self.open_data(key, sha256, run.stop.clone()).await {
                Ok(opened) => return Ok(opened),
                Err(_) if run.stop.raised().is_some() => return Err(Unprepared::Suspended),
                Err(ReadError::Store(error)) if self.blobs.is_remote() => error,
                Err(error) => return Err(error.into()),
            };
            if Instant::now() >= deadline {
                return Err(Unprepared::Store(error));
            }
            tracing::warn!(key, %error, "the data cannot be read yet");
            tokio::select! {
                () = tokio::time::sleep(pause) => pause = (pause * 2).min(PAUSE_MAX),
                () = self.stopping.cancelled() => return Err(Unprepared::Suspended),
            }
        }
    }

    /// Writes the end of a job, again while the store fails: the result is not thrown away for a
    /// passing error.
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
                self.after_part(&ended).await;
            }
            Some(Fenced::Lost) => self.after_lost(job).await,
            None => {
                tracing::error!(job = %job.id, "the end could not be written; the job runs again");
            }
        }
        self.hub.changed(job.id);
    }

    /// Gives a suspended job back at no cost.
    async fn give_back(&self, job: &Job, lease: &Lease) {
        match self.write_last(job, lease, Last::Requeue).await {
            Some(Fenced::Done) => {}
            Some(Fenced::Lost) => self.after_lost(job).await,
            None => tracing::warn!(job = %job.id, "not given back; the attempt stays charged"),
        }
        self.hub.changed(job.id);
    }

    /// Makes the last write under a lease, again while the store fails; nothing when it goes on
    /// failing.
    async fn write_last(&self, job: &Job, lease: &Lease, last: Last<'_>) -> Option<Fenced> {
        let mut pause = Duration::from_millis(50);
        let tries_max = match last {
            Last::End(_) => FINISH_TRIES_MAX,
            Last::Requeue => REQUEUE_TRIES_MAX,
        };
        for _ in 0..tries_max {
            let written = match last {
                Last::End(end) => self.store.finish_job(lease, end).await,
                Last::Requeue => self.store.requeue_job(lease, self.ids.now()).await,
            };
            match written {
                Ok(fenced) => return Some(fenced),
                Err(error) => {
                    tracing::warn!(job = %job.id, %error, "the store did not take it yet")
                }
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => pause = (pause * 2).min(PAUSE_MAX),
                () = self.stopping.cancelled() => tokio::time::sleep(PAUSE_STOPPING).await,
            }
        }
        None
    }

    /// The lease matched nothing any more. Perhaps because an earlier try was written and only its
    /// answer was missing; a job that has ended needs its data no more, whoever ended it.
    async fn after_lost(&self, job: &Job) {
        match self.store.job(&job.owner, job.id).await {
            Ok(Some(stored)) if stored.status.is_ended() => {
                tracing::info!(job = %job.id, status = %stored.status, "the job has ended already");
                self.forget_data(job.data_key.as_deref()).await;
            }
            Ok(_) => tracing::warn!(job = %job.id, "the lease is over; nothing written"),
            Err(error) => tracing::warn!(job = %job.id, %error, "the lease is over"),
        }
    }
}

/// The last write under a lease.
#[derive(Clone, Copy)]
enum Last<'a> {
    End(&'a JobEnd),
    Requeue,
}

/// Leaves a job whose data cannot be read now to the end of its lease. It is not given back: at no
/// cost and with its place in the queue it would be claimed again at once, and again, before all
/// others. When the lease is over it is tried again, behind fresh jobs, as often as attempts are
/// allowed.
fn lease_runs_out(job: &Job, error: &StoreError) {
    tracing::warn!(job = %job.id, %error, "the data cannot be read; the lease runs out");
}

/// Why a claimed job cannot be computed.
enum Unprepared {
    /// It was given up.
    Suspended,
    /// Not now.
    Store(StoreError),
    /// Never.
    Failed(JobError),
}

impl From<StoreError> for Unprepared {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<ReadError> for Unprepared {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Store(error) => Self::Store(error),
            error => Self::Failed(ending::unreadable(error)),
        }
    }
}

/// Keeps the lease of a running computation, and writes its end.
pub(super) async fn attend(mut keeper: Keeper<'_>, work: &Arc<Work>, mut computation: Computation) {
    keeper.show(work.examples_planned(), &computation.checkpoints);
    let run = Arc::clone(&computation.run);
    let computed = keeper.keep_while(&run, computation.ended()).await;
    let Keeper {
        jobs, job, lease, ..
    } = keeper;
    if keeper.is_lost() {
        tracing::warn!(job = %job.id, "the lease was lost; what was computed is dropped");
        return;
    }
    match computed {
        Computed::Suspended => {
            keeper.keep_last().await;
            jobs.give_back(job, lease).await;
        }
        Computed::Unreadable(ReadError::Store(error)) => lease_runs_out(job, &error),
        computed => {
            let end = ending::end(jobs, job, work, computed).await;
            let end = match job.lineage {
                Lineage::Part { .. } => without_products(end),
                Lineage::Single | Lineage::Parent { .. } => end,
            };
            jobs.finish(job, lease, end).await;
        }
    }
}
