//! Checked work that is not stored as a job yet.

use std::sync::Arc;

use crate::records::task::JobSpec;
use crate::records::{Job, KeyClaim, Owner};
use crate::traces;

use crate::jobs::ids::Ids;
use crate::jobs::tasks::checked::CheckedTask;

/// A job before it is stored.
#[derive(Clone, Debug)]
pub struct NewJob {
    /// The record of the queued job.
    pub job: Job,
    /// The work itself.
    pub work: Arc<CheckedTask>,
    /// The idempotency key of the request.
    pub key: Option<KeyClaim>,
}

impl NewJob {
    /// A job without name, data, callback and key. The request that is being answered is its origin.
    pub fn new(ids: &Ids, owner: Owner, spec: &JobSpec, seed: u64, work: CheckedTask) -> Self {
        let task = spec.task.name();
        let job = Job {
            learner: spec.task.learner().map(str::to_owned),
            demand: work.demand,
            trace_parent: traces::current(),
            ..Job::queued(ids.id(), owner, task, spec.to_json(), seed, ids.now())
        };
        Self {
            job,
            work: Arc::new(work),
            key: None,
        }
    }
}
