//! Notifications about the jobs of this process, and the list of its running computations.
//!
//! The hub wakes waiters when a job changes, and stops a computation that runs in this process. Its notifications are
//! only hints: other processes change the store too, so every waiter also polls it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use halfspace_core::learners::engine::run::{Interrupt, Run};
use tokio::sync::{Notify, broadcast};

use crate::records::{JobId, JobTree};

/// Number of changes that a slow waiter may lag behind. A waiter that lags further reads the store again.
const CHANGES_KEPT: usize = 256;

pub struct Hub {
    changes: broadcast::Sender<JobId>,
    /// Notified when a job may be claimable.
    pub work: Notify,
    /// Notified when a callback may be due.
    pub callbacks: Notify,
    running: Mutex<HashMap<JobId, Running>>,
}

/// A running computation of this process.
struct Running {
    run: Arc<Run>,
    /// The parent, if the job is a subjob of another job.
    parent: Option<JobId>,
}

impl Default for Hub {
    fn default() -> Self {
        Self {
            changes: broadcast::channel(CHANGES_KEPT).0,
            work: Notify::new(),
            callbacks: Notify::new(),
            running: Mutex::default(),
        }
    }
}

/// The registration of a run with the hub, until it is dropped.
pub struct Registered<'h> {
    hub: &'h Hub,
    job: JobId,
    run: Arc<Run>,
}

impl Hub {
    pub fn changed(&self, job: JobId) {
        // `send` fails only when there is no subscriber.
        let _ = self.changes.send(job);
    }

    /// Subscribes to changes from now on.
    pub fn subscribe(&self) -> broadcast::Receiver<JobId> {
        self.changes.subscribe()
    }

    /// Registers a run so that [`Self::stop`] finds it.
    pub fn register(&self, job: JobId, lineage: JobTree, run: Arc<Run>) -> Registered<'_> {
        let parent = match lineage {
            JobTree::Subjob { parent, .. } => Some(parent),
            JobTree::Single | JobTree::Parent { .. } => None,
        };
        let running = Running {
            run: Arc::clone(&run),
            parent,
        };
        self.lock().insert(job, running);
        metrics::gauge!("halfspace_jobs_running").increment(1.0);
        Registered {
            hub: self,
            job,
            run,
        }
    }

    /// Stops the runs of a job and of its subjobs in this process.
    pub fn stop(&self, job: JobId, interrupt: Interrupt) {
        for (id, running) in &*self.lock() {
            if *id == job || running.parent == Some(job) {
                running.run.stop.raise(interrupt);
            }
        }
    }

    pub fn stop_all(&self, interrupt: Interrupt) {
        for running in self.lock().values() {
            running.run.stop.raise(interrupt);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<JobId, Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        metrics::gauge!("halfspace_jobs_running").decrement(1.0);
        let mut running = self.hub.lock();
        // A job whose lease was lost may run here again. The newer run stays registered.
        if running
            .get(&self.job)
            .is_some_and(|running| Arc::ptr_eq(&running.run, &self.run))
        {
            running.remove(&self.job);
        }
    }
}

/// Waits for a change of one job. A lagging receiver that has missed changes also returns.
pub async fn changed(changes: &mut broadcast::Receiver<JobId>, job: JobId) {
    loop {
        match changes.recv().await {
            Ok(changed) if changed != job => {}
            Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => return,
            // The hub is dropped only with the service. The caller's own timer still fires.
            Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::Timestamp;

    #[test]
    fn hub_keeps_a_newer_run_when_an_older_one_ends() {
        let hub = Hub::default();
        let job = JobId::new(Timestamp::from_milliseconds(1), [1; 10]);
        let newer = Arc::new(Run::default());
        let old_guard = hub.register(job, JobTree::Single, Arc::default());
        let guard = hub.register(job, JobTree::Single, Arc::clone(&newer));
        drop(old_guard);
        hub.stop(job, Interrupt::Cancelled);
        assert_eq!(newer.stop.raised(), Some(Interrupt::Cancelled));
        drop(guard);
        assert!(hub.lock().is_empty());
    }

    #[test]
    fn hub_stops_the_parts_of_a_job_with_it() {
        let hub = Hub::default();
        let [parent, subjob, other] =
            [1, 2, 3].map(|id| JobId::new(Timestamp::from_milliseconds(1), [id; 10]));
        let runs = [Arc::new(Run::default()), Arc::new(Run::default())];
        let lineage = JobTree::Subjob { parent, index: 0 };
        let _subjob = hub.register(subjob, lineage, Arc::clone(&runs[0]));
        let _other = hub.register(other, JobTree::Single, Arc::clone(&runs[1]));
        hub.stop(parent, Interrupt::Cancelled);
        assert_eq!(runs[0].stop.raised(), Some(Interrupt::Cancelled));
        assert_eq!(runs[1].stop.raised(), None);
    }
}
