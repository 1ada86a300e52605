//! Jobs with parts: how the parts of a parent job are stored, read and completed.
//!
//! A grid or an experiment is such a parent. The parts are ordinary jobs, and the parent is computed last to
//! gather their results.

use std::sync::Arc;

use serde_json::Value;
use tokio::time::Instant;

use crate::records::task::JobSpec;
use crate::records::{Job, JobId, JobTree, PartOutcome, Progress, Status};
use crate::storage::{Blobs, JobEnd, StoreError, Usage};

use super::submit::{JobDraft, is_asked_again};
use crate::jobs::ids::Ids;
use crate::jobs::service::{Jobs, JobsError};

/// Parts per page when parts are read from the store.
const PAGE: u32 = 100;

impl Jobs {
    /// Stores a parent with its parts, all queued. The parent holds no permit even for a waiting client,
    /// because its parts may need every permit.
    pub(crate) async fn enqueue_parts(&self, new: JobDraft, count: u32) -> Result<Job, JobsError> {
        let all = Usage {
            jobs_queued: 1 + u64::from(count),
            ..Usage::default()
        };
        self.check_room(&new.owner, &all).await?;
        let mut record = self.record(&new);
        self.keep_data(&mut record, &new.work).await?;
        let parent = Job {
            lineage: JobTree::Parent {
                parts: count,
                left: count,
            },
            progress: Progress {
                fraction: Some(0.0),
                ..Progress::default()
            },
            ..record
        };
        let (ids, spec, whole) = (Arc::clone(&self.ids), new.spec.clone(), parent.clone());
        let parts = tokio::task::spawn_blocking(move || parts_of(&ids, &spec, &whole, count));
        let parts = parts.await.map_err(|_| JobsError::Stopping)?;
        let insert = || self.store.insert_parts(&parent, &parts, new.key.as_ref());
        let asked_at = Instant::now();
        let mut stored = insert().await;
        let is_repeated = is_asked_again(&stored, asked_at);
        if is_repeated {
            // The store leaves a job that is already stored unchanged.
            stored = insert().await;
        }
        self.forget_unless_stored(&stored, is_repeated, &parent)
            .await;
        stored?;
        self.hub.work.notify_one();
        Ok(parent)
    }

    /// The outcomes of the parts of a job so far, in the order of the parts.
    ///
    /// # Errors
    /// Errors of the store.
    pub async fn parts(&self, parent: JobId) -> Result<Vec<PartOutcome>, StoreError> {
        let mut all: Vec<PartOutcome> = Vec::new();
        loop {
            let after = all.last().map(|part| part.job);
            let mut some = self.store.parts(parent, after, PAGE).await?;
            for part in &mut some {
                forget_long(part);
            }
            let is_last = some.len() < PAGE as usize;
            all.extend(some);
            if all
                .iter()
                .zip(0..)
                .any(|(part, number)| part.part != number)
            {
                let told =
                    format!("the parts of {parent} have other numbers than at their creation");
                return Err(StoreError::corrupt(told));
            }
            if is_last {
                return Ok(all);
            }
        }
    }

    /// The key of the blob with the data that a client sent. A part without a dataset reads the blob of the
    /// parent.
    pub(crate) fn data_key_of(job: &Job) -> Option<String> {
        match job.lineage {
            JobTree::Part { parent, .. } if job.data_sha256.is_some() && job.dataset.is_none() => {
                Some(Blobs::data_key(parent, 0))
            }
            _ => job.data_key.clone(),
        }
    }

    /// Wakes the scheduler and the waiters of the parent after a part has ended here. The last part makes the
    /// parent claimable.
    pub(crate) async fn after_part(&self, part: &Job) {
        let JobTree::Part { parent, .. } = part.lineage else {
            return;
        };
        self.hub.work.notify_one();
        self.hub.changed(parent);
        if part.status != Status::Failed {
            return;
        }
        // The failed part has failed the parent in the store, and no other process reports the end of the
        // parent.
        match self.store.job(&part.owner, parent).await {
            Ok(Some(parent)) if parent.status == Status::Failed => {
                self.has_ended(&parent);
                self.forget_data(parent.data_key.as_deref()).await;
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(job = %parent, %error, "the failure is reported later"),
        }
    }
}

/// The parts of a job, in the order of their ids.
fn parts_of(ids: &Ids, whole: &JobSpec, parent: &Job, count: u32) -> Vec<Job> {
    let mut numbered: Vec<JobId> = (0..count).map(|_| ids.id()).collect();
    numbered.sort_unstable();
    // A part inherits the fields of its parent except the request. The request of the parent can be as long as
    // all requests of its parts together.
    let like = Job {
        spec: Value::Null,
        ..parent.clone()
    };
    let part = |(id, part): (JobId, u32)| {
        let (spec, seed) = whole.part(part, count)?;
        Some(Job {
            id,
            task: spec.task.name().to_owned(),
            learner: spec.task.learner().map(str::to_owned),
            name: None,
            spec: spec.to_json(),
            // The data that a client sent stay with the parent.
            data_key: None,
            seed: seed.unwrap_or(parent.seed),
            callback: None,
            progress: Progress::default(),
            lineage: JobTree::Part {
                parent: parent.id,
                part,
            },
            ..like.clone()
        })
    };
    numbered.into_iter().zip(0..).filter_map(part).collect()
}

/// Drops the hypothesis of a part. A hypothesis can be long and is not gathered.
fn forget_long(part: &mut PartOutcome) {
    if let Some(Value::Object(result)) = &mut part.result
        && let Some(hypothesis) = result.get_mut("hypothesis")
    {
        *hypothesis = Value::Null;
    }
}

/// Removes the model and the trace from the end of a part. A parent does not keep the models and traces of its
/// many parts.
pub(crate) fn without_products(mut end: JobEnd) -> JobEnd {
    end.trace = None;
    if end.model.take().is_some()
        && let Some(Value::Object(result)) = &mut end.result
    {
        result.insert("model".to_owned(), Value::Null);
    }
    end
}
