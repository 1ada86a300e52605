//! The computations of sessions in the blocking pool, each under a permit and for a limited time.

use std::sync::Arc;
use std::time::Duration;

use halfspace_core::learners::engine::run::{CancelOnDrop, Interrupt, Run};
use halfspace_core::memory::Grant;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::error::SessionError;

/// The permits of the computations of sessions, and their limits.
pub(super) struct Computing {
    permits: Arc<Semaphore>,
    /// Time limit, in seconds, for the examples of one request.
    seconds_max: f64,
    pub(super) stopping: CancellationToken,
}

impl Computing {
    /// Computes for at least two sessions at once, even in a process without workers.
    pub(super) fn new(workers: usize, seconds_max: f64, stopping: CancellationToken) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(workers.max(2))),
            seconds_max,
            stopping,
        }
    }

    /// The error of a computation that was told to stop.
    pub(super) fn interrupted(&self) -> SessionError {
        if self.stopping.is_cancelled() {
            return SessionError::Stopping;
        }
        let seconds = self.seconds_max;
        SessionError::TooLong { seconds }
    }

    /// Computes in the blocking pool. The stop flag is raised at the time limit, when the process stops, and when the
    /// returned future is dropped.
    ///
    /// # Errors
    /// [`SessionError::NoMemory`], or [`SessionError::Broken`] after a panic. Work that was stopped returns a value
    /// of its own.
    pub(super) async fn compute<T: Send + 'static>(
        &self,
        memory: &Grant,
        work: impl FnOnce(Grant, &Run) -> T + Send + 'static,
    ) -> Result<T, SessionError> {
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        let permit = permit.map_err(|_| SessionError::Stopping)?;
        let run = Arc::new(Run::default());
        let _watch = CancelOnDrop::new(run.stop.clone());
        let (outside, inside) = (Arc::clone(&run), memory.clone());
        let mut handle = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            work(inside, &outside)
        });
        let limit = Duration::try_from_secs_f64(self.seconds_max);
        let done = tokio::select! {
            done = &mut handle => Some(done),
            () = tokio::time::sleep(limit.unwrap_or(Duration::MAX)) => {
                run.stop.raise(Interrupt::TimeLimit);
                None
            }
            () = self.stopping.cancelled() => {
                run.stop.raise(Interrupt::Suspended);
                None
            }
        };
        let done = match done {
            Some(done) => done,
            None => handle.await,
        };
        match memory.refused() {
            Some(refusal) => Err(refusal.into()),
            None => done.map_err(|_| SessionError::Broken),
        }
    }
}
