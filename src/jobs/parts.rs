//! Jobs whose work is that of their parts: how these come to be, and what is read of them.

use crate::records::{Job, JobId, Lineage, PartOutcome, Progress, Status};
use crate::storage::{StoreError, Usage};

use super::service::{Jobs, JobsError};
use super::submit::NewJob;

/// Parts read from the store at once.
const PAGE: u32 = 100;

impl Jobs {
    /// Stores a job with its parts, all queued. It holds no permit, whoever waits for it: its parts
    /// may need them all.
    pub(super) async fn enqueue_parts(&self, new: NewJob, count: u32) -> Result<Job, JobsError> {
        let all = Usage {
            jobs_queued: 1 + u64::from(count),
            ..Usage::default()
        };
        self.check_room(&new.owner, &all).await?;
        let parent = Job {
            lineage: Lineage::Parent {
                parts: count,
                left: count,
            },
            progress: Progress {
                fraction: Some(0.0),
                ..Progress::default()
            },
            ..self.record(&new)
        };
        let parts = self.parts_of(&new, &parent, count);
        let insert = || self.store.insert_parts(&parent, &parts, new.key.as_ref());
        let mut stored = insert().await;
        if let Err(StoreError::Unavailable(_)) = stored {
            // Perhaps only the answer is missing. A job that is stored already is left as it is.
            stored = insert().await;
        }
        stored?;
        self.hub.work.notify_one();
        Ok(parent)
    }

    /// The parts of a job, in the order of their ids.
    fn parts_of(&self, new: &NewJob, parent: &Job, count: u32) -> Vec<Job> {
        let mut ids: Vec<JobId> = (0..count).map(|_| self.ids.id()).collect();
        ids.sort_unstable();
        let part = |(id, part): (JobId, u32)| {
            let spec = new.spec.part(part, count)?;
            Some(Job {
                id,
                task: spec.task.name().to_owned(),
                learner: spec.task.learner().map(str::to_owned),
                name: None,
                spec: spec.to_json(),
                data_key: None,
                callback: None,
                progress: Progress::default(),
                lineage: Lineage::Part {
                    parent: parent.id,
                    part,
                },
                ..parent.clone()
            })
        };
        ids.into_iter().zip(0..).filter_map(part).collect()
    }

    /// What came of the parts of a job so far, in their order.
    ///
    /// # Errors
    /// What the store says.
    pub async fn parts(&self, parent: JobId) -> Result<Vec<PartOutcome>, StoreError> {
        let mut all: Vec<PartOutcome> = Vec::new();
        loop {
            let after = all.last().map(|part| part.job);
            let some = self.store.parts(parent, after, PAGE).await?;
            let is_last = some.len() < PAGE as usize;
            all.extend(some);
            if is_last {
                return Ok(all);
            }
        }
    }

    /// Has a job gathered whose last part may just have ended here, and tells whoever waits for it.
    pub(super) async fn after_part(&self, part: &Job) {
        let Lineage::Part { parent, .. } = part.lineage else {
            return;
        };
        self.hub.work.notify_one();
        self.hub.changed(parent);
        if part.status != Status::Failed {
            return;
        }
        // It has failed its parent, and nobody else ends that one.
        match self.store.job(&part.owner, parent).await {
            Ok(Some(parent)) if parent.status == Status::Failed => {
                self.has_ended(&parent);
                self.forget_data(parent.data_key.as_deref()).await;
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(job = %parent, %error, "its failure is told later"),
        }
    }
}
