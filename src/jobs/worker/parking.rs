//! Parked jobs: jobs that hold a lease and wait for a permit.
//!
//! This module owns the permit of each computation, the list of parked jobs of the process, and the record of how
//! long a job has computed or waited. The policy of yielding and resuming is in `records/schedule.rs`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio::time::Instant;

use crate::records::schedule::Rank;
use crate::records::{JobId, Owner};

/// The permit of one computation, shared with its lease renewer: the renewer takes the permit away while the
/// computation is parked, and the computation may outlive the renewer.
#[derive(Debug, Default)]
pub struct PermitSlot(Mutex<Option<OwnedSemaphorePermit>>);

impl PermitSlot {
    pub fn new(permit: OwnedSemaphorePermit) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Some(permit))))
    }

    pub fn take(&self) -> Option<OwnedSemaphorePermit> {
        self.lock().take()
    }

    fn put(&self, permit: OwnedSemaphorePermit) {
        *self.lock() = Some(permit);
    }

    fn lock(&self) -> MutexGuard<'_, Option<OwnedSemaphorePermit>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A parked job and the channel that resumes it.
#[derive(Debug)]
struct Parked {
    job: ParkedJob,
    resume: oneshot::Sender<OwnedSemaphorePermit>,
}

/// A parked job in the list of [`ParkedJobs`].
#[derive(Clone, Debug)]
pub struct ParkedJob {
    pub job: JobId,
    pub owner: Owner,
    /// The rank of the job when it parked.
    pub rank: Rank,
    /// Whether the state of the job can be stored.
    pub has_state: bool,
}

/// The parked jobs of a process.
#[derive(Debug, Default)]
pub struct ParkedJobs(Mutex<Vec<Parked>>);

impl ParkedJobs {
    pub fn list(&self) -> Vec<ParkedJob> {
        self.lock()
            .iter()
            .map(|parked| parked.job.clone())
            .collect()
    }

    /// Records that the state of a parked job cannot be stored.
    pub fn keep(&self, job: JobId) {
        let mut parked = self.lock();
        let found = parked.iter_mut().find(|parked| parked.job.job == job);
        if let Some(parked) = found {
            parked.job.has_state = false;
        }
    }

    /// Gives a permit to a parked job, which resumes. Returns the permit if the job is no longer parked.
    pub fn resume(
        &self,
        job: JobId,
        permit: OwnedSemaphorePermit,
    ) -> Result<(), OwnedSemaphorePermit> {
        let mut parked = self.lock();
        match parked.iter().position(|parked| parked.job.job == job) {
            Some(at) => parked.swap_remove(at).resume.send(permit),
            None => Err(permit),
        }
    }

    fn add(&self, job: ParkedJob) -> oneshot::Receiver<OwnedSemaphorePermit> {
        let (resume, resumed) = oneshot::channel();
        self.lock().push(Parked { job, resume });
        resumed
    }

    /// Locks the list and removes the jobs whose renewer no longer exists.
    fn lock(&self) -> MutexGuard<'_, Vec<Parked>> {
        let mut parked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        parked.retain(|parked| !parked.resume.is_closed());
        parked
    }
}

/// Whether a job computes or is parked, and since when.
#[derive(Debug)]
pub struct Stance {
    permit: Arc<PermitSlot>,
    /// Start of this attempt.
    begun: Instant,
    since: Instant,
    resumed: Option<oneshot::Receiver<OwnedSemaphorePermit>>,
    slice: Duration,
}

impl Stance {
    /// The stance of a job that begins to compute now.
    pub fn new(permit: Arc<PermitSlot>, slice: Duration) -> Self {
        metrics::gauge!("halfspace_jobs_parked").increment(0.0);
        let now = Instant::now();
        Self {
            permit,
            begun: now,
            since: now,
            resumed: None,
            slice,
        }
    }

    pub fn begun(&self) -> Instant {
        self.begun
    }

    pub fn is_parked(&self) -> bool {
        self.resumed.is_some()
    }

    /// Whether the job has computed, or was parked, for a slice.
    pub fn has_had_its_slice(&self) -> bool {
        self.since.elapsed() >= self.slice
    }

    /// Starts another slice of waiting.
    pub fn wait_on(&mut self) {
        self.since = Instant::now();
    }

    /// Parks a job whose run is already paused, which frees its permit.
    pub fn park(&mut self, parked: &ParkedJobs, job: ParkedJob) {
        self.resumed = Some(parked.add(job));
        self.since = Instant::now();
        drop(self.permit.take());
        metrics::gauge!("halfspace_jobs_parked").increment(1.0);
    }

    /// Waits for the permit with which the scheduler resumes the job. For a job that is not parked, it never returns.
    pub async fn resumed(&mut self) -> OwnedSemaphorePermit {
        if let Some(resumed) = &mut self.resumed
            && let Ok(permit) = resumed.await
        {
            return permit;
        }
        std::future::pending().await
    }

    /// Ends the parking of the job, with a permit unless its run was stopped.
    pub fn unpark(&mut self, permit: Option<OwnedSemaphorePermit>) {
        if let Some(permit) = permit {
            self.permit.put(permit);
        }
        if self.resumed.take().is_some() {
            metrics::gauge!("halfspace_jobs_parked").decrement(1.0);
        }
        self.since = Instant::now();
    }
}

impl Drop for Stance {
    fn drop(&mut self) {
        self.unpark(None);
    }
}
