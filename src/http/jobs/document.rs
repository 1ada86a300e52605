//! The JSON document of a job, shared by all routes that return jobs.

use std::sync::Arc;

use halfspace_formats::TableEncoding;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::records::compare::CompareResult;
use crate::records::evaluation::EvaluateResult;
use crate::records::experiment::ExperimentResult;
use crate::records::experiment_part::ExperimentPartResult;
use crate::records::grid::GridResult;
use crate::records::import::ImportResult;
use crate::records::queue::QueuePlace;
use crate::records::separability::{MaximumMarginResult, SeparabilityResult, VersionSpaceResult};
use crate::records::train::{LearnerSpec, TrainResult};
use crate::records::{
    Callback, DatasetId, Job, JobError, JobId, JobTree, ModelId, Progress, Status, Timestamp,
};

/// Place of the encoding of a table in the stored request of a job.
pub const TABLE: &str = "/data/names/table";

/// A job.
#[derive(Serialize, ToSchema)]
#[schema(as = Job)]
pub struct JobDocument {
    id: JobId,
    /// Task of the job.
    task: String,
    status: Status,
    name: Option<String>,
    #[schema(value_type = Option<LearnerSpec>)]
    learner: Option<Value>,
    /// Initial model of a warm start. The model may have been deleted.
    #[schema(value_type = Option<ModelId>)]
    warm_start: Option<Value>,
    /// Jobs of higher priority run first among the jobs of the same key.
    priority: i32,
    /// Seed of every random choice.
    seed: u64,
    /// Digest of the canonical rows. Null for generated data and for jobs without data.
    data_sha256: Option<String>,
    /// Encoding of the table that the job reads, if there is one. Lists leave the encoding out.
    #[schema(value_type = Option<TableEncoding>)]
    table: Option<Value>,
    /// Dataset of the job. The dataset may have been deleted after the end of the job.
    dataset: Option<DatasetId>,
    /// Request that repeats the job, in the form of `POST /v1/jobs`. The request has no `data` if the rows came inside
    /// the request, because the service keeps them only until the job ends. Null for parts of experiments, for
    /// trainings that hold out a fold, and unless the answer is about this job alone.
    #[schema(value_type = Option<Object>)]
    pub request: Option<Value>,
    /// Place in the queue. Null unless the job is queued and the answer is about this job alone.
    pub queue: Option<QueuePlace>,
    /// Attempts that began. An attempt that a worker hands back without a failure is not counted.
    attempt: u32,
    created_at: Timestamp,
    started_at: Option<Timestamp>,
    finished_at: Option<Timestamp>,
    progress: Progress,
    #[schema(value_type = Option<JobResult>)]
    result: Option<Value>,
    /// Reason for the failure; null unless the job failed.
    error: Option<JobError>,
    /// URL to notify at the end of the job, and the state of the notification.
    callback: Option<Callback>,
    /// Parts of the job, if any. Each part is a job: list the parts with `GET /v1/jobs?parent=`.
    parts: Option<PartsDocument>,
    /// Job of which this job is a part. The parts are cancelled and deleted with that job.
    parent: Option<JobId>,
    /// Number of this part within the parent job, from 0.
    part: Option<u32>,
}

/// The parts of a job.
#[derive(Serialize, ToSchema)]
#[schema(as = Parts)]
struct PartsDocument {
    /// Number of parts.
    #[schema(minimum = 1)]
    total: u32,
    /// Number of parts that have not ended.
    left: u32,
}

/// The result of a job. The form depends on the task.
#[derive(Serialize, ToSchema)]
#[serde(tag = "task", rename_all = "snake_case")]
#[allow(dead_code, reason = "most results are read from the store as JSON")]
pub enum JobResult {
    Train(Box<TrainResult>),
    Separability(SeparabilityResult),
    MaximumMargin(MaximumMarginResult),
    VersionSpace(VersionSpaceResult),
    Evaluate(EvaluateResult),
    Experiment(ExperimentResult),
    ExperimentPart(ExperimentPartResult),
    Grid(GridResult),
    Compare(CompareResult),
    Import(ImportResult),
}

/// Adds the name of the task to a stored result, which lacks it.
pub fn tag_result(result: &mut Value, task: &str) {
    if let Some(result) = result.as_object_mut() {
        result.insert("task".to_owned(), task.into());
    }
}

impl From<Job> for JobDocument {
    fn from(mut job: Job) -> Self {
        let mut fitted = None;
        if let Some(result) = &mut job.result {
            tag_result(result, &job.task);
            // The rows that were not held out decided another encoding than all rows.
            fitted = result
                .as_object_mut()
                .and_then(|result| result.remove("table"));
        }
        let (parts, parent, part) = match job.lineage {
            JobTree::Single => (None, None, None),
            JobTree::Parent {
                subjobs: total,
                left,
            } => (Some(PartsDocument { total, left }), None, None),
            JobTree::Subjob { parent, index } => (None, Some(parent), Some(index)),
        };
        Self {
            id: job.id,
            task: job.task,
            status: job.status,
            name: job.name,
            learner: job.spec.pointer("/task/train/learner").cloned(),
            warm_start: job.spec.pointer("/task/train/warm_start").cloned(),
            priority: job.priority,
            seed: job.seed,
            data_sha256: job.data_sha256,
            table: fitted.or_else(|| {
                let of_data = Arc::make_mut(&mut job.spec).pointer_mut(TABLE);
                of_data.map(Value::take)
            }),
            dataset: job.dataset,
            request: None,
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
