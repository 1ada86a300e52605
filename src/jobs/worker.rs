//! A worker with a lease: computes a claimed job, keeps the lease, writes what came of it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, MissedTickBehavior};

use crate::formats;
use crate::learners::outcome::Outcome;
use crate::learners::run::{Counts, Interrupt};
use crate::learners::train_loop::Reason;
use crate::records::hypothesis::HypothesisDocument;
use crate::records::train::{ModelDocument, TraceDocument, TrainResult, TrainSpec};
use crate::records::{Job, JobError, Model, Progress, Status};
use crate::storage::{Claim, Fenced, Heartbeat, JobEnd, Lease, StoreError};

use super::compute::{Computation, Computed};
use super::service::Jobs;
use super::train_job::{TrainJob, resolve};

/// A hypothesis longer than this, as JSON, is left to its model.
const INLINE_HYPOTHESIS_BYTES_MAX: usize = 256 * 1024;

/// How often the end of a job is written again after the store failed, with growing pauses.
const FINISH_TRIES_MAX: u32 = 200;

/// The longest pause between two tries.
const FINISH_PAUSE_MAX: Duration = Duration::from_secs(5);

impl Jobs {
    /// Computes a claimed job to its end.
    pub(super) async fn run_claim(&self, claim: Claim, permit: OwnedSemaphorePermit) {
        let Claim { job, lease } = claim;
        let train_job = match self.prepare(&job).await {
            Ok(train_job) => Arc::new(train_job),
            Err(Unprepared::Store(error)) => {
                tracing::warn!(job = %job.id, %error, "the data cannot be read; the job goes back");
                let requeued = self.store.requeue_job(&lease, self.ids.now()).await;
                log_fenced(&job, requeued);
                return;
            }
            Err(Unprepared::Failed(error)) => {
                let end = self.failure(error, &job);
                self.finish(&job, &lease, end).await;
                return;
            }
        };
        let seconds = self.config.seconds_default;
        let computation = Computation::start(Arc::clone(&train_job), seconds, permit);
        let _registered = self.hub.register(job.id, Arc::clone(&computation.run));
        if self.stopping.is_cancelled() {
            computation.run.stop.raise(Interrupt::Suspended);
        }
        self.hub.changed(job.id);
        attend(self, &job, &train_job, &lease, computation).await;
    }

    /// Brings back the training that a record stands for.
    async fn prepare(&self, job: &Job) -> Result<TrainJob, Unprepared> {
        let failed = |code: &str, detail: String| {
            Unprepared::Failed(JobError {
                code: code.to_owned(),
                detail,
            })
        };
        let spec: TrainSpec = serde_json::from_value(job.spec.clone())
            .map_err(|error| failed("unreadable", format!("the stored request: {error}")))?;
        let data = match &job.data_key {
            None => None,
            Some(key) => {
                let bytes = self.blobs.get(key).await.map_err(Unprepared::Store)?;
                let bytes = bytes.ok_or_else(|| {
                    failed("data-missing", format!("the stored data {key} are gone"))
                })?;
                let read = tokio::task::spawn_blocking(move || {
                    formats::read_blocks(bytes.as_ref())
                        .map(|data| (hex(&formats::digest(&data)), data))
                });
                let (digest, data) = match read.await {
                    Ok(Ok(read)) => read,
                    Ok(Err(error)) => return Err(failed("data-corrupt", error.to_string())),
                    Err(error) => return Err(failed("internal", error.to_string())),
                };
                if job.data_sha256.as_ref() != Some(&digest) {
                    let detail = "the stored data do not have the digest that was recorded";
                    return Err(failed("data-corrupt", detail.to_owned()));
                }
                Some(Arc::new(data))
            }
        };
        resolve(&spec, job.seed, data, u64::MAX)
            .map_err(|error| failed("unreadable", error.to_string()))
    }

    fn failure(&self, error: JobError, job: &Job) -> JobEnd {
        JobEnd {
            status: Status::Failed,
            result: None,
            error: Some(error),
            finished_at: self.ids.now(),
            progress: job.progress,
            model: None,
            trace: None,
        }
    }

    /// Writes the end of a job, again while the store fails: the result is not thrown away for a
    /// passing error.
    async fn finish(&self, job: &Job, lease: &Lease, end: JobEnd) {
        let mut pause = Duration::from_millis(50);
        for _ in 0..FINISH_TRIES_MAX {
            match self.store.finish_job(lease, &end).await {
                Ok(fenced) => {
                    log_fenced(job, Ok(fenced));
                    if fenced == Fenced::Done {
                        self.forget_data(job.data_key.as_deref()).await;
                    }
                    self.hub.changed(job.id);
                    return;
                }
                Err(error) => tracing::warn!(job = %job.id, %error, "the end is not written yet"),
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => pause = (pause * 2).min(FINISH_PAUSE_MAX),
                () = self.stopping.cancelled() => {
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
            }
        }
        tracing::error!(job = %job.id, "the end could not be written; the job will run again");
    }
}

/// Why a claimed job cannot be computed.
enum Unprepared {
    /// Not now.
    Store(StoreError),
    /// Never.
    Failed(JobError),
}

/// Keeps the lease of a running computation, and writes its end.
pub(super) async fn attend(
    jobs: &Jobs,
    job: &Job,
    train_job: &TrainJob,
    lease: &Lease,
    mut computation: Computation,
) {
    let mut keeper = Keeper {
        jobs,
        job,
        lease,
        planned: train_job.examples_planned(),
        shown: None,
        renewed: Instant::now(),
        is_lost: false,
    };
    let mut tick = tokio::time::interval(jobs.config.progress_interval);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    tick.tick().await;
    let computed = loop {
        tokio::select! {
            computed = computation.ended() => break computed,
            _ = tick.tick() => {
                if let Some(interrupt) = keeper.beat(computation.run.progress.counts()).await {
                    computation.run.stop.raise(interrupt);
                }
            }
        }
    };
    if keeper.is_lost {
        tracing::warn!(job = %job.id, "the lease was lost; what was computed is dropped");
        return;
    }
    match computed {
        Computed::Suspended => {
            let requeued = jobs.store.requeue_job(lease, jobs.ids.now()).await;
            log_fenced(job, requeued);
            jobs.hub.changed(job.id);
        }
        computed => {
            let end = end(jobs, job, train_job, computed);
            jobs.finish(job, lease, end).await;
        }
    }
}

/// Renews one lease.
struct Keeper<'a> {
    jobs: &'a Jobs,
    job: &'a Job,
    lease: &'a Lease,
    planned: Option<u64>,
    /// The counts last stored; none before the first beat, which so always takes place and learns
    /// at once of a cancel that came while the data were read.
    shown: Option<Counts>,
    renewed: Instant,
    is_lost: bool,
}

impl Keeper<'_> {
    /// Shows progress when there is any, and renews the lease in time; why the computation must
    /// stop, if it must.
    async fn beat(&mut self, counts: Counts) -> Option<Interrupt> {
        if self.is_lost {
            return None;
        }
        let lease_seconds = self.jobs.config.lease_seconds;
        let moved = self.shown != Some(counts);
        let lease = Duration::from_secs(lease_seconds.into());
        if !moved && self.renewed.elapsed() < lease / 3 {
            return None;
        }
        let progress = moved.then(|| progress(&counts, self.planned));
        let now = self.jobs.ids.now();
        let beat = self
            .jobs
            .store
            .heartbeat(self.lease, lease_seconds, progress.as_ref(), now);
        match beat.await {
            Ok(Heartbeat::Held { cancel_requested }) => {
                self.renewed = Instant::now();
                self.shown = Some(counts);
                self.jobs.hub.changed(self.job.id);
                cancel_requested.then_some(Interrupt::Cancelled)
            }
            Ok(Heartbeat::Lost) => {
                self.is_lost = true;
                Some(Interrupt::Suspended)
            }
            Err(error) => {
                tracing::warn!(job = %self.job.id, %error, "the lease is not renewed");
                // Slow is not dead, and unheard is not held: by the end of the lease another
                // worker may have the job.
                let is_over = self.renewed.elapsed() >= lease;
                self.is_lost = is_over;
                is_over.then_some(Interrupt::Suspended)
            }
        }
    }
}

/// What a client is shown of the counts.
fn progress(counts: &Counts, planned: Option<u64>) -> Progress {
    let fraction = planned.map(|planned| counts.examples as f64 / planned.max(1) as f64);
    Progress {
        examples: counts.examples,
        mistakes: counts.mistakes,
        passes: counts.passes,
        fraction: fraction.map(|fraction| fraction.min(1.0)),
    }
}

/// The end of a job whose computation was not suspended.
pub(super) fn end(jobs: &Jobs, job: &Job, train_job: &TrainJob, computed: Computed) -> JobEnd {
    let Computed::Ended { outcome, seconds } = computed else {
        let detail = "the computation broke down; this is a defect of the service";
        let code = "internal".to_owned();
        let detail = detail.to_owned();
        return jobs.failure(JobError { code, detail }, job);
    };
    let hypothesis = HypothesisDocument::from(&outcome.hypothesis);
    let model = model(jobs, job, train_job, &outcome, hypothesis.clone());
    let length = serde_json::to_vec(&hypothesis).map_or(usize::MAX, |text| text.len());
    let inline = (length <= INLINE_HYPOTHESIS_BYTES_MAX).then_some(hypothesis);
    let result = TrainResult::new(&outcome, model.id, inline, seconds);
    let trace = outcome.trace.as_ref().map(TraceDocument::from);
    let done = outcome.termination.reason != Reason::Cancelled;
    let mut progress = progress(&outcome.counts, train_job.examples_planned());
    progress.fraction = done.then_some(1.0).or(progress.fraction);
    JobEnd {
        status: if done {
            Status::Succeeded
        } else {
            Status::Cancelled
        },
        result: serde_json::to_value(result).ok(),
        error: None,
        finished_at: jobs.ids.now(),
        progress,
        model: Some(model),
        trace: trace.and_then(|trace| serde_json::to_vec(&trace).ok()),
    }
}

fn model(
    jobs: &Jobs,
    job: &Job,
    train_job: &TrainJob,
    outcome: &Outcome,
    hypothesis: HypothesisDocument,
) -> Model {
    let kind = hypothesis.kind().to_owned();
    let n = hypothesis.n() as u64;
    let document = ModelDocument {
        params: train_job.parameters(),
        seed: job.seed,
        data_sha256: job.data_sha256.clone(),
        examples: outcome.counts.examples,
        mistakes: outcome.counts.mistakes,
        updates: outcome.counts.updates,
        passes: outcome.counts.passes,
        hypothesis,
    };
    Model {
        id: jobs.ids.id(),
        owner: job.owner.clone(),
        job: Some(job.id),
        name: job.name.clone(),
        learner: train_job.entry().name.to_owned(),
        kind,
        n,
        document: serde_json::to_value(document).unwrap_or_default(),
        created_at: jobs.ids.now(),
    }
}

fn log_fenced(job: &Job, fenced: Result<Fenced, StoreError>) {
    match fenced {
        Ok(Fenced::Done) => {}
        Ok(Fenced::Lost) => {
            tracing::warn!(job = %job.id, "the lease is another's; nothing written")
        }
        Err(error) => tracing::warn!(job = %job.id, %error, "the store did not take it"),
    }
}

/// Bytes in hexadecimal, lower case.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
