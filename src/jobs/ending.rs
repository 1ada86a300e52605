//! What is written of a computation that ended: result, model, mistake curve.
//!
//! Documents of long hypotheses are megabytes of JSON, so they are made in the blocking pool.

use std::io::{self, Write};
use std::sync::Arc;

use serde::Serialize;

use crate::learners::outcome::Outcome;
use crate::learners::train_loop::Reason;
use crate::records::hypothesis::HypothesisDocument;
use crate::records::train::{ModelDocument, TraceDocument, TrainResult};
use crate::records::{Job, JobError, Model, Status, Timestamp};
use crate::storage::JobEnd;

use super::compute::Computed;
use super::ids::Ids;
use super::keeper::progress;
use super::service::Jobs;
use super::train_job::TrainJob;

/// A hypothesis longer than this, as JSON, is left to its model.
const INLINE_HYPOTHESIS_BYTES_MAX: usize = 256 * 1024;

/// The end of a job whose computation was not suspended.
pub(super) async fn end(
    jobs: &Jobs,
    job: &Job,
    train_job: &Arc<TrainJob>,
    computed: Computed,
) -> JobEnd {
    if let Computed::Ended { outcome, seconds } = computed {
        let ids = Arc::clone(&jobs.ids);
        let (of, train_job) = (job.clone(), Arc::clone(train_job));
        let made =
            tokio::task::spawn_blocking(move || made(&ids, &of, &train_job, &outcome, seconds));
        if let Ok(end) = made.await {
            return end;
        }
    }
    let error = JobError {
        code: "internal".to_owned(),
        detail: "the computation broke down; this is a defect of the service".to_owned(),
    };
    failure(jobs.ids.now(), error, job)
}

/// The end of a job that came to nothing.
pub(super) fn failure(finished_at: Timestamp, error: JobError, job: &Job) -> JobEnd {
    JobEnd {
        status: Status::Failed,
        result: None,
        error: Some(error),
        finished_at,
        progress: job.progress,
        model: None,
        trace: None,
    }
}

fn made(ids: &Ids, job: &Job, train_job: &TrainJob, outcome: &Outcome, seconds: f64) -> JobEnd {
    let hypothesis = HypothesisDocument::from(&outcome.hypothesis);
    let inline = is_within(&hypothesis, INLINE_HYPOTHESIS_BYTES_MAX).then(|| hypothesis.clone());
    let model = model(ids, job, train_job, outcome, hypothesis);
    let result = TrainResult::new(outcome, model.id, inline, seconds);
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
        finished_at: ids.now(),
        progress,
        model: Some(model),
        trace: trace.and_then(|trace| serde_json::to_vec(&trace).ok()),
    }
}

fn model(
    ids: &Ids,
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
        id: ids.id(),
        owner: job.owner.clone(),
        job: Some(job.id),
        name: job.name.clone(),
        learner: train_job.entry().name.to_owned(),
        kind,
        n,
        document: serde_json::to_value(document).unwrap_or_default(),
        created_at: ids.now(),
    }
}

/// Whether a document, as JSON, has at most so many bytes; no more of them are made.
fn is_within(document: &impl Serialize, bytes_max: usize) -> bool {
    serde_json::to_writer(Room(bytes_max), document).is_ok()
}

/// Takes so many bytes and keeps none.
struct Room(usize);

impl Write for Room {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = self.0.checked_sub(bytes.len());
        self.0 = left.ok_or(io::ErrorKind::FileTooLarge)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_measured_to_the_byte() {
        assert!(is_within(&[10, 20], 7));
        assert!(!is_within(&[10, 20], 6));
    }
}
