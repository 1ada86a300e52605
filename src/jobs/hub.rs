//! What this process knows of its own jobs: whom to wake when one changes, and how to stop one
//! that runs here. Only a hint: every waiter also polls the store, since other processes write it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use halfspace_core::learners::run::{Interrupt, Run};
use tokio::sync::{Notify, broadcast};

use crate::records::{JobId, Lineage};

/// How many changes a slow waiter may lag behind before it looks at the store again.
const CHANGES_KEPT: usize = 256;

/// Wakes waiters and stops runs.
pub struct Hub {
    changes: broadcast::Sender<JobId>,
    /// A job may be claimable.
    pub work: Notify,
    /// A callback may be due.
    pub callbacks: Notify,
    running: Mutex<HashMap<JobId, Running>>,
}

/// What runs here.
struct Running {
    run: Arc<Run>,
    /// The job that it is a part of.
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

/// Takes a run off the hub's list when it ends, however it ends.
pub struct Registered<'h> {
    hub: &'h Hub,
    job: JobId,
    run: Arc<Run>,
}

impl Hub {
    /// Tells everybody that a job has changed.
    pub fn changed(&self, job: JobId) {
        // Without a waiter there is nobody to tell.
        let _ = self.changes.send(job);
    }

    /// Changes from now on.
    pub fn subscribe(&self) -> broadcast::Receiver<JobId> {
        self.changes.subscribe()
    }

    /// Lists a run, so that [`Self::stop`] finds it.
    pub fn register(&self, job: JobId, lineage: Lineage, run: Arc<Run>) -> Registered<'_> {
        let parent = match lineage {
            Lineage::Part { parent, .. } => Some(parent),
            Lineage::Single | Lineage::Parent { .. } => None,
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

    /// Stops a job, and the parts of it, so far as they run here.
    pub fn stop(&self, job: JobId, interrupt: Interrupt) {
        for (id, running) in &*self.lock() {
            if *id == job || running.parent == Some(job) {
                running.run.stop.raise(interrupt);
            }
        }
    }

    /// Stops all that runs here.
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
        // A job whose lease was lost may be back here as a newer run, which stays listed.
        if running
            .get(&self.job)
            .is_some_and(|running| Arc::ptr_eq(&running.run, &self.run))
        {
            running.remove(&self.job);
        }
    }
}

/// Waits for a change of one job. Missing some changes counts as one.
pub async fn changed(changes: &mut broadcast::Receiver<JobId>, job: JobId) {
    loop {
        match changes.recv().await {
            Ok(changed) if changed != job => {}
            Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => return,
            // The hub is gone with the service; the caller's own timer goes on.
            Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::Timestamp;

    #[test]
    fn an_old_run_that_ends_leaves_the_newer_one_listed() {
        let hub = Hub::default();
        let job = JobId::new(Timestamp::from_milliseconds(1), [1; 10]);
        let newer = Arc::new(Run::default());
        let old_guard = hub.register(job, Lineage::Single, Arc::default());
        let guard = hub.register(job, Lineage::Single, Arc::clone(&newer));
        drop(old_guard);
        hub.stop(job, Interrupt::Cancelled);
        assert_eq!(newer.stop.raised(), Some(Interrupt::Cancelled));
        drop(guard);
        assert!(hub.lock().is_empty());
    }

    #[test]
    fn the_parts_of_a_job_stop_with_it() {
        let hub = Hub::default();
        let [parent, part, other] =
            [1, 2, 3].map(|id| JobId::new(Timestamp::from_milliseconds(1), [id; 10]));
        let runs = [Arc::new(Run::default()), Arc::new(Run::default())];
        let lineage = Lineage::Part { parent, part: 0 };
        let _part = hub.register(part, lineage, Arc::clone(&runs[0]));
        let _other = hub.register(other, Lineage::Single, Arc::clone(&runs[1]));
        hub.stop(parent, Interrupt::Cancelled);
        assert_eq!(runs[0].stop.raised(), Some(Interrupt::Cancelled));
        assert_eq!(runs[1].stop.raised(), None);
    }
}
