//! [`Worker`]: the permits of this process and the computations that hold them.
//!
//! - [`scheduler`] claims jobs for free permits, and [`claimed`] computes a claimed job under a lease, which
//!   [`lease_renewer`] renews. [`held`] makes the last write under the lease.
//! - [`submit`] computes a short job at once for a waiting client, or leaves it to the queue.
//! - [`compute`] is one computation in a thread of low priority. [`checkpoints`] stores its states.
//! - [`yielding`] and [`parking`] hand a permit to another job and back. [`solitude`] takes all of them for a job that
//!   must run alone.
//! - [`free_permits`] lends free permits to threads that help a computation.

pub(super) mod checkpoints;
pub(super) mod claimed;
pub(super) mod compute;
mod free_permits;
mod held;
mod lease_renewer;
pub(super) mod parking;
pub(super) mod scheduler;
pub(super) mod solitude;
mod submit;
mod yielding;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use halfspace_core::learners::engine::run::StopFlag;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::records::schedule::{JobsAhead, ParkedPlace, slice_seconds};
use crate::records::{JobId, Owner};
use crate::storage::{Store, StoreError, WorkerId};

use super::config::JobsConfig;
use super::datasets::Datasets;
use super::hub::Hub;
use super::ids::Ids;
use super::imports::Imports;
use super::models::Models;
use super::queue::Queue;
use compute::ComputeThreads;
use free_permits::FreePermits;
use parking::ParkedJobs;

/// The longest pause between two attempts to read data or to make the last write.
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// The worker of this process. It computes as many jobs at once as it has permits.
pub struct Worker {
    store: Arc<Store>,
    ids: Arc<Ids>,
    hub: Arc<Hub>,
    queue: Arc<Queue>,
    datasets: Arc<Datasets>,
    models: Arc<Models>,
    imports: Arc<Imports>,
    /// The name of this process in leases.
    id: WorkerId,
    pub(super) permits: Arc<Semaphore>,
    /// The permits that no job uses, for threads that help a job.
    pub(super) free_permits: Arc<FreePermits>,
    pub(super) threads: ComputeThreads,
    parked: ParkedJobs,
    /// Whether a job of this process runs alone or is about to.
    pub(super) has_suspect: AtomicBool,
    config: JobsConfig,
    stopping: CancellationToken,
    tasks: TaskTracker,
}

impl Worker {
    pub(super) fn new(
        queue: &Arc<Queue>,
        datasets: &Arc<Datasets>,
        models: &Arc<Models>,
        imports: &Arc<Imports>,
        id: WorkerId,
        config: JobsConfig,
        tasks: TaskTracker,
    ) -> Self {
        let permits = Arc::new(Semaphore::new(config.workers));
        let ids = Arc::clone(&queue.ids);
        Self {
            store: Arc::clone(&queue.store),
            hub: Arc::clone(&queue.hub),
            stopping: queue.stopping.clone(),
            free_permits: FreePermits::new(Arc::clone(&permits), config.helped_words_min),
            threads: ComputeThreads::new(Arc::clone(&ids), config.seconds_default),
            parked: ParkedJobs::default(),
            has_suspect: AtomicBool::new(false),
            ids,
            queue: Arc::clone(queue),
            datasets: Arc::clone(datasets),
            models: Arc::clone(models),
            imports: Arc::clone(imports),
            id,
            permits,
            config,
            tasks,
        }
    }

    /// A stop flag for a run that free permits of this process help.
    pub fn helped_stop_flag(&self) -> StopFlag {
        StopFlag::with_helpers(Arc::clone(&self.free_permits) as _)
    }

    /// The time that a job computes before yielding to another job.
    fn slice(&self, switch_seconds: f64) -> Duration {
        let least = self.config.slice.as_secs_f64();
        Duration::try_from_secs_f64(slice_seconds(least, switch_seconds)).unwrap_or(Duration::MAX)
    }

    /// The parked jobs of this process, from the view of a running job of this owner. While the store does not
    /// answer, no claimable job precedes them.
    async fn parked_places(&self, owner: Option<&Owner>) -> Vec<(JobId, ParkedPlace)> {
        let mut places = Vec::new();
        for parked in self.parked.list() {
            let place = ParkedPlace {
                line: self.line(&parked.owner, 0).await.unwrap_or_default(),
                rank: parked.rank,
                is_own: owner == Some(&parked.owner),
                has_state: parked.has_state,
            };
            places.push((parked.job, place));
        }
        places
    }

    /// The jobs that could precede a job of this owner. `freed` is the memory that this job would free.
    async fn line(&self, owner: &Owner, freed: u64) -> Result<JobsAhead, StoreError> {
        let available = self.config.memory.available().saturating_add(freed);
        self.store.line(owner, available).await
    }
}
