//! A job as the interface shows it, whichever route does.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::records::evaluation::EvaluateResult;
use crate::records::experiment::ExperimentResult;
use crate::records::experiment_part::ExperimentPartResult;
use crate::records::grid::GridResult;
use crate::records::separability::{MaximumMarginResult, SeparabilityResult, VersionSpaceResult};
use crate::records::train::{LearnerSpec, TrainResult};
use crate::records::{
    Callback, DatasetId, Job, JobError, JobId, Lineage, ModelId, Progress, Status, Timestamp,
};

/// A job.
#[derive(Serialize, ToSchema)]
#[schema(as = Job)]
pub struct JobDocument {
    id: JobId,
    /// The kind of work.
    task: String,
    status: Status,
    name: Option<String>,
    #[schema(value_type = Option<LearnerSpec>)]
    learner: Option<Value>,
    /// The model that a training begins from; it may be gone.
    #[schema(value_type = Option<ModelId>)]
    warm_start: Option<Value>,
    /// Its place among the jobs of the same key: higher goes first.
    priority: i32,
    /// Of every random choice.
    seed: u64,
    /// The digest of the canonical rows; null when the data are generated.
    data_sha256: Option<String>,
    /// The dataset that the data are; it may be gone when the job has ended.
    dataset: Option<DatasetId>,
    /// The place of a queued job; only in the answer about this job alone.
    pub queue: Option<QueueDocument>,
    /// Attempts begun, less those handed back unharmed.
    attempt: u32,
    created_at: Timestamp,
    started_at: Option<Timestamp>,
    finished_at: Option<Timestamp>,
    progress: Progress,
    #[schema(value_type = Option<JobResult>)]
    result: Option<Value>,
    /// Why it failed.
    error: Option<JobError>,
    /// Where its end is told, and how far that is.
    callback: Option<Callback>,
    /// Its parts, where it has some: jobs of their own, listed by `GET /v1/jobs?parent=`.
    parts: Option<PartsDocument>,
    /// The job that it is a part of, with which it is cancelled and deleted.
    parent: Option<JobId>,
    /// Its number among the parts of that job, from 0.
    part: Option<u32>,
}

/// The place of a job in the queue.
#[derive(Serialize, ToSchema)]
#[schema(as = QueuePlace)]
pub struct QueueDocument {
    /// Queued jobs of the same key that go before it, counted to 1,000.
    #[schema(maximum = 1_000)]
    pub ahead: u32,
}

/// The parts of a job.
#[derive(Serialize, ToSchema)]
#[schema(as = Parts)]
struct PartsDocument {
    /// How many there are.
    #[schema(minimum = 1)]
    total: u32,
    /// How many have not ended.
    left: u32,
}

/// What came of a job, by its task.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[allow(
    dead_code,
    reason = "only its schema is used; results are stored as they are shown"
)]
enum JobResult {
    Train(Box<TrainResult>),
    Separability(SeparabilityResult),
    MaximumMargin(MaximumMarginResult),
    VersionSpace(VersionSpaceResult),
    Evaluate(EvaluateResult),
    Experiment(ExperimentResult),
    ExperimentPart(ExperimentPartResult),
    Grid(GridResult),
}

impl From<Job> for JobDocument {
    fn from(job: Job) -> Self {
        let (parts, parent, part) = match job.lineage {
            Lineage::Single => (None, None, None),
            Lineage::Parent { parts: total, left } => {
                (Some(PartsDocument { total, left }), None, None)
            }
            Lineage::Part { parent, part } => (None, Some(parent), Some(part)),
        };
        Self {
            id: job.id,
            task: job.task,
            status: job.status,
            name: job.name,
            learner: job.spec.pointer("/task/train/learner").cloned(),
            warm_start: job.spec.pointer("/task/train/warm_start/model").cloned(),
            priority: job.priority,
            seed: job.seed,
            data_sha256: job.data_sha256,
            dataset: job.dataset,
            queue: None,
            attempt: job.attempt,
            created_at: job.created_at,
            started_at: job.started_at,
            finished_at: job.finished_at,
            progress: Progress {
                seconds_left: job.progress.seconds_left.filter(|_| !job.status.is_ended()),
                ..job.progress
            },
            result: job.result,
            error: job.error,
            callback: job.callback,
            parts,
            parent,
            part,
        }
    }
}
