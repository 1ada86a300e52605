//! One computation in the blocking pool, bounded by permits, watched by a timer.

use std::sync::Arc;
use std::time::Duration;

use halfspace_core::learners::run::{Interrupt, Run, StopFlag};
use halfspace_core::memory::Grant;
use tokio::task::JoinHandle;
use tokio_util::task::AbortOnDropHandle;

use crate::records::Job;
use crate::storage::JobEnd;

use super::checkpoints::{Beginning, StateCell};
use super::ending;
use super::parking::PermitSlot;
use super::service::Jobs;
use super::stored_data::ReadError;
use super::work::Work;

/// The shortest pause between two looks at the computed seconds.
const LOOK: Duration = Duration::from_millis(5);

/// What came of a computation.
#[derive(Debug)]
pub enum Computed {
    /// The computation ended, perhaps because of a limit or a cancel.
    Ended {
        /// The result and the documents to store.
        end: Box<JobEnd>,
        /// The memory of these documents, until they are stored.
        memory: Grant,
    },
    /// It was given up, to be gone on with, or run again from the start.
    Suspended,
    /// The data could not be read to their end.
    Unreadable(ReadError),
    /// It needed more memory than was free.
    NoMemory,
    /// It broke down: a defect of this program.
    Panicked,
}

impl Computed {
    /// The end of a job that is not tried again, and the memory that its documents take.
    pub(super) fn into_end(self, jobs: &Jobs, job: &Job) -> (JobEnd, Option<Grant>) {
        match self {
            Self::Ended { end, memory } => (*end, Some(memory)),
            failed => (ending::of_failed(jobs, job, failed), None),
        }
    }
}

/// Raises a flag with [`Interrupt::TimeLimit`] when so many seconds are over, as long as what is
/// returned lives; none when they are never over.
pub fn raise_after(stop: StopFlag, seconds: f64) -> Option<AbortOnDropHandle<()>> {
    let limit = Duration::try_from_secs_f64(seconds).ok()?;
    Some(AbortOnDropHandle::new(tokio::spawn(async move {
        tokio::time::sleep(limit).await;
        stop.raise(Interrupt::TimeLimit);
    })))
}

/// Raises a flag when so many seconds were computed.
async fn end_after(stop: StopFlag, computed: Arc<StateCell>, seconds_max: f64) {
    loop {
        let left = seconds_max - computed.stopwatch.seconds();
        if left <= 0.0 {
            return stop.raise(Interrupt::TimeLimit);
        }
        // The stopwatch may stand still meanwhile.
        let pause = Duration::try_from_secs_f64(left).unwrap_or(Duration::MAX);
        tokio::time::sleep(pause.max(LOOK)).await;
    }
}

/// Counts a computation as long as it takes, however it ends.
struct Computing;

impl Computing {
    fn begin() -> Self {
        metrics::gauge!("halfspace_computations_running").increment(1.0);
        Self
    }
}

impl Drop for Computing {
    fn drop(&mut self) {
        metrics::gauge!("halfspace_computations_running").decrement(1.0);
    }
}

/// A computation under way.
pub struct Computation {
    /// Its outside.
    pub run: Arc<Run>,
    /// Takes its states.
    pub(super) checkpoints: Arc<StateCell>,
    work: Arc<Work>,
    handle: JoinHandle<(Result<Box<JobEnd>, Interrupt>, Grant)>,
    /// Raises the flag when the time is over, whatever its owner waits for meanwhile.
    _timer: AbortOnDropHandle<()>,
}

impl Computation {
    /// Starts to compute a job within the memory. The closure shares the permit, because a blocking task
    /// does not end when its caller leaves. The seconds of earlier attempts count against the limit of
    /// seconds when the job resumes from a checkpoint.
    pub fn start(
        jobs: &Jobs,
        job: &Job,
        work: Arc<Work>,
        beginning: Beginning,
        permit: Arc<PermitSlot>,
        memory: Grant,
    ) -> Self {
        let Beginning {
            run,
            checkpoints,
            state,
        } = beginning;
        let seconds_max = work.seconds_max.unwrap_or(jobs.config.seconds_default);
        let (outside, computed) = (Arc::clone(&run), Arc::clone(&work));
        let (cell, ids, job) = (Arc::clone(&checkpoints), Arc::clone(&jobs.ids), job.clone());
        let handle = tokio::task::spawn_blocking(move || {
            let _counted = Computing::begin();
            let end = memory.settled(|| {
                cell.stopwatch.start();
                let found = computed.run_from(state.as_deref(), &outside);
                cell.stopwatch.stop();
                drop(state);
                ending::of(&ids, &job, &computed, found?, cell.stopwatch.seconds())
            });
            drop(permit.take());
            (end.map(Box::new), memory)
        });
        let timer = end_after(run.stop.clone(), Arc::clone(&checkpoints), seconds_max);
        Self {
            _timer: AbortOnDropHandle::new(tokio::spawn(timer)),
            run,
            checkpoints,
            work,
            handle,
        }
    }

    /// Waits for the end. May be dropped and called again.
    pub async fn ended(&mut self) -> Computed {
        match (&mut self.handle).await {
            Ok((Ok(end), memory)) => Computed::Ended { end, memory },
            Ok((Err(Interrupt::Memory), _)) => Computed::NoMemory,
            Ok((Err(Interrupt::Unreadable), _)) => Computed::Unreadable(self.work.read_error()),
            Ok((Err(_), _)) => Computed::Suspended,
            Err(_) => Computed::Panicked,
        }
    }
}
