//! Jobs with subjobs, such as grids and experiments: how the subjobs are stored, read and completed.
//!
//! The subjobs are ordinary jobs. Their parent is computed last and gathers their results.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use crate::records::task::JobSpec;
use crate::records::{Job, JobId, JobTree, Progress, Status, SubjobOutcome};
use crate::storage::{Blobs, JobEnd, StoreError};

use super::{NewJob, Queue};
use crate::jobs::datasets::stored::forget_data;
use crate::jobs::error::JobsError;
use crate::jobs::ids::Ids;

/// Subjobs per page when subjobs are read from the store.
const PAGE: u32 = 100;

impl Queue {
    /// Stores a parent with its subjobs, all of them queued. The parent gets no permit even if a client waits for it,
    /// because its subjobs may need every permit.
    pub(crate) async fn enqueue_subjobs(
        &self,
        mut new: NewJob,
        count: u32,
    ) -> Result<Job, JobsError> {
        self.check_quota(&new.job.owner, 1 + u64::from(count))
            .await?;
        self.keep_data(&mut new).await?;
        let parent = Job {
            lineage: JobTree::Parent {
                subjobs: count,
                left: count,
            },
            progress: Progress {
                fraction: Some(0.0),
                ..Progress::default()
            },
            ..new.job
        };
        let (ids, whole) = (Arc::clone(&self.ids), parent.clone());
        let subjobs = tokio::task::spawn_blocking(move || subjobs_of(&ids, &whole, count));
        let subjobs = subjobs.await.map_err(|_| JobsError::Stopping)?;
        let subjobs = subjobs.map_err(StoreError::other)?;
        let insert = || {
            self.store
                .insert_subjobs(&parent, &subjobs, new.key.as_ref())
        };
        // The store leaves a job that is already stored unchanged.
        self.insert(&parent, insert).await?;
        self.hub.work.notify_one();
        Ok(parent)
    }

    /// The outcomes of the subjobs of a job so far, in the order of the subjobs.
    ///
    /// # Errors
    /// Errors of the store.
    pub async fn subjobs(&self, parent: JobId) -> Result<Vec<SubjobOutcome>, StoreError> {
        let mut all: Vec<SubjobOutcome> = Vec::new();
        loop {
            let after = all.last().map(|subjob| subjob.job);
            let mut some = self.store.subjobs(parent, after, PAGE).await?;
            for subjob in &mut some {
                forget_long(subjob);
            }
            let is_last = some.len() < PAGE as usize;
            all.extend(some);
            if all
                .iter()
                .zip(0..)
                .any(|(subjob, number)| subjob.index != number)
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

    /// Wakes the scheduler and the parent's waiters after a subjob has ended here, since the last subjob makes the
    /// parent claimable.
    pub(crate) async fn after_subjob(&self, subjob: &Job) {
        let JobTree::Subjob { parent, .. } = subjob.lineage else {
            return;
        };
        self.hub.work.notify_one();
        self.hub.changed(parent);
        if subjob.status != Status::Failed {
            return;
        }
        // The failed subjob has failed the parent in the store, and no other process reports the end of the
        // parent.
        match self.store.find(&subjob.owner, parent).await {
            Ok(Some(parent)) if parent.status == Status::Failed => {
                self.has_ended(&parent);
                forget_data(&self.datasets.blobs, parent.data_key.as_deref()).await;
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(job = %parent, %error, "the failure is reported later"),
        }
    }
}

/// The key of the blob with the data that a client sent. A subjob without a dataset reads its parent's blob.
pub(crate) fn data_key_of(job: &Job) -> Option<String> {
    match job.lineage {
        JobTree::Subjob { parent, .. } if job.data_sha256.is_some() && job.dataset.is_none() => {
            Some(Blobs::data_key(parent, 0))
        }
        _ => job.data_key.clone(),
    }
}

/// The subjobs of a job, in the order of their ids.
fn subjobs_of(ids: &Ids, parent: &Job, count: u32) -> Result<Vec<Job>, serde_json::Error> {
    let whole = JobSpec::deserialize(&*parent.spec)?;
    let mut numbered: Vec<JobId> = (0..count).map(|_| ids.id()).collect();
    numbered.sort_unstable();
    // A subjob inherits the fields of its parent except the request. The request of the parent can be as long as
    // all requests of its subjobs together.
    let shared = Job {
        spec: Arc::default(),
        ..parent.clone()
    };
    let subjob = |(id, index): (JobId, u32)| {
        let (spec, seed) = whole.subjob(index, count)?;
        Some(Job {
            id,
            task: spec.task.name().to_owned(),
            learner: spec.task.learner().map(str::to_owned),
            name: None,
            spec: Arc::new(spec.to_json()),
            // The data that a client sent stay with the parent.
            data_key: None,
            seed: seed.unwrap_or(parent.seed),
            callback: None,
            progress: Progress::default(),
            lineage: JobTree::Subjob {
                parent: parent.id,
                index,
            },
            ..shared.clone()
        })
    };
    Ok(numbered.into_iter().zip(0..).filter_map(subjob).collect())
}

/// Drops the hypothesis of a subjob. A hypothesis can be long and is not gathered.
fn forget_long(subjob: &mut SubjobOutcome) {
    if let Some(Value::Object(result)) = &mut subjob.result
        && let Some(hypothesis) = result.get_mut("hypothesis")
    {
        *hypothesis = Value::Null;
    }
}

/// Removes the model and the trace from the end of a subjob, because a parent does not keep those of its many
/// subjobs.
pub(crate) fn without_products(mut end: JobEnd) -> JobEnd {
    end.trace = None;
    if end.model.take().is_some()
        && let Some(Value::Object(result)) = &mut end.result
    {
        result.insert("model".to_owned(), Value::Null);
    }
    end
}
