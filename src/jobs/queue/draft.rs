//! Checked work that is not stored as a job yet.

use std::sync::Arc;

use crate::callbacks::CallbackUrl;
use crate::records::task::JobSpec;
use crate::records::{Callback, DatasetId, Job, KeyClaim, Owner, Priority};
use crate::traces;

use crate::jobs::ids::Ids;
use crate::jobs::tasks::checked::CheckedTask;

/// Checked work that is not stored as a job yet.
#[derive(Clone, Debug)]
pub struct JobDraft {
    /// The owner of the job.
    pub owner: Owner,
    /// Free text of the client.
    pub name: Option<String>,
    /// The request without its data.
    pub spec: JobSpec,
    /// The seed of all random choices.
    pub seed: u64,
    /// The work itself.
    pub work: Arc<CheckedTask>,
    /// The digest of the canonical rows in hexadecimal, or `None` for generated data.
    pub data_sha256: Option<String>,
    /// The dataset that the job reads, if any. The data of a dataset are not stored again.
    pub dataset: Option<DatasetId>,
    /// The URL that is called when the job has ended.
    pub callback: Option<CallbackUrl>,
    /// The priority among the jobs of the owner. Higher goes first.
    pub priority: Priority,
    /// The idempotency key of the request.
    pub key: Option<KeyClaim>,
}

impl JobDraft {
    /// The record of the queued job.
    pub(crate) fn record(&self, ids: &Ids) -> Job {
        Job {
            learner: self.spec.task.learner().map(str::to_owned),
            name: self.name.clone(),
            data_sha256: self.data_sha256.clone(),
            dataset: self.dataset,
            priority: self.priority.get(),
            demand: self.work.demand,
            callback: self
                .callback
                .as_ref()
                .map(|url| Callback::new(url.as_str())),
            trace_parent: traces::current(),
            ..Job::queued(
                ids.id(),
                self.owner.clone(),
                self.spec.task.name(),
                self.spec.to_json(),
                self.seed,
                ids.now(),
            )
        }
    }
}
