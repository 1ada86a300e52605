//! What this process knows of its own jobs: whom to wake when one changes, and how to stop one
//! that runs here. Only a hint: every waiter also polls the store, since other processes write it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, broadcast};

use crate::learners::run::{Interrupt, Run};
use crate::records::JobId;

/// How many changes a slow waiter may lag behind before it looks at the store again.
const CHANGES_KEPT: usize = 256;

/// Wakes waiters and stops runs.
pub struct Hub {
    changes: broadcast::Sender<JobId>,
    /// A job may be claimable.
    pub work: Notify,
    running: Mutex<HashMap<JobId, Arc<Run>>>,
}

impl Default for Hub {
    fn default() -> Self {
        Self {
            changes: broadcast::channel(CHANGES_KEPT).0,
            work: Notify::new(),
            running: Mutex::default(),
        }
    }
}

/// Takes a run off the hub's list when it ends, however it ends.
pub struct Registered<'h> {
    hub: &'h Hub,
    job: JobId,
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
    pub fn register(&self, job: JobId, run: Arc<Run>) -> Registered<'_> {
        self.lock().insert(job, run);
        Registered { hub: self, job }
    }

    /// Stops a job, if it runs here.
    pub fn stop(&self, job: JobId, interrupt: Interrupt) {
        if let Some(run) = self.lock().get(&job) {
            run.stop.raise(interrupt);
        }
    }

    /// Stops all that runs here.
    pub fn stop_all(&self, interrupt: Interrupt) {
        for run in self.lock().values() {
            run.stop.raise(interrupt);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<JobId, Arc<Run>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        self.hub.lock().remove(&self.job);
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
