//! One computation in a pool of threads of low priority: the start, the time limit and the output.
//!
//! A computation holds a permit while it runs, so the permits bound how many run at once.

use std::sync::Arc;
use std::time::Duration;

use halfspace_core::learners::engine::run::{Interrupt, Run, StopFlag};
use halfspace_core::memory::Grant;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;
use tokio_util::task::AbortOnDropHandle;

use tracing::Span;
use tracing::field::Empty;

use crate::memory::return_after;
use crate::records::Job;
use crate::storage::{JobEnd, StoreError};
use crate::traces;

use super::checkpoints::{StartState, StateCell};
use super::parking::PermitSlot;
use crate::jobs::completion::{defect, failure, no_memory, unreadable};
use crate::jobs::datasets::stored::ReadError;
use crate::jobs::ids::Ids;
use crate::jobs::tasks::checked::CheckedTask;
use crate::jobs::tasks::task::About;

/// The shortest pause between two looks at the computed seconds.
const LOOK: Duration = Duration::from_millis(5);

/// The nice value of the computing threads. With 24 computing threads on two cores, heartbeats and readiness took
/// half as long as without; 19 improved little more, and a lower priority could starve beside other programs.
#[cfg(target_os = "linux")]
const COMPUTE_NICE: i32 = 10;

/// The span of one attempt to compute a job, in the trace of the request that submitted it.
pub(crate) fn computing_span(job: &Job) -> Span {
    let span = tracing::info_span!(
        target: traces::TARGET,
        "job",
        otel.name = format!("job {}", job.task),
        otel.kind = "consumer",
        halfspace.job.id = %job.id,
        halfspace.job.attempt = job.attempt,
        halfspace.job.status = Empty,
        halfspace.learner = job.learner,
    );
    traces::follow(&span, job.trace_parent);
    span
}

/// The outcome of a computation.
#[derive(Debug)]
pub enum Computed {
    /// The computation ended, perhaps because of a limit, a cancellation or a failure that would repeat itself.
    Ended {
        /// The result and the documents to store.
        end: Box<JobEnd>,
        /// The memory grant of these documents, held until they are stored.
        memory: Option<Grant>,
    },
    /// The computation was suspended. Another attempt resumes from its state or starts again.
    Suspended,
    /// The data cannot be read to their end now.
    Unread(StoreError),
}

/// Raises a flag with [`Interrupt::TimeLimit`] after some seconds, unless the returned handle is dropped before.
/// Returns `None` if `seconds` is not a finite duration.
pub fn raise_after(stop: StopFlag, seconds: f64) -> Option<AbortOnDropHandle<()>> {
    let limit = Duration::try_from_secs_f64(seconds).ok()?;
    Some(AbortOnDropHandle::new(tokio::spawn(async move {
        tokio::time::sleep(limit).await;
        stop.raise(Interrupt::TimeLimit);
    })))
}

/// Raises a flag when `seconds_max` seconds have been computed.
async fn end_after(stop: StopFlag, computed: Arc<StateCell>, seconds_max: f64) {
    loop {
        let left = seconds_max - computed.stopwatch.seconds();
        if left <= 0.0 {
            return stop.raise(Interrupt::TimeLimit);
        }
        // The stopwatch may be stopped during the sleep, so the loop looks again.
        let pause = Duration::try_from_secs_f64(left).unwrap_or(Duration::MAX);
        tokio::time::sleep(pause.max(LOOK)).await;
    }
}

/// Counts a computation in the gauge of running computations until the computation ends.
struct RunningGauge;

impl RunningGauge {
    fn begin() -> Self {
        metrics::gauge!("halfspace_computations_running").increment(1.0);
        Self
    }
}

impl Drop for RunningGauge {
    fn drop(&mut self) {
        metrics::gauge!("halfspace_computations_running").decrement(1.0);
    }
}

/// The threads that compute jobs. Their priority is below that of all other threads, so computations delay neither
/// answers nor heartbeats.
pub(crate) struct ComputeThreads {
    runtime: Option<Runtime>,
    ids: Arc<Ids>,
    /// Time limit, in seconds of computing, for a job that names none.
    seconds_default: f64,
}

impl ComputeThreads {
    pub(super) fn new(ids: Arc<Ids>, seconds_default: f64) -> Self {
        let runtime = Builder::new_current_thread()
            .on_thread_start(lower_priority)
            .build();
        Self {
            runtime: Some(runtime.expect("a runtime without drivers opens nothing")),
            ids,
            seconds_default,
        }
    }

    /// Starts to compute a job within its memory. The closure shares the permit, because a blocking task does not end
    /// when its caller leaves. For a job that resumes from a checkpoint, the seconds of earlier attempts count
    /// against the time limit.
    pub(in crate::jobs) fn compute(
        &self,
        job: &Job,
        work: Arc<CheckedTask>,
        start_state: StartState,
        permit: Arc<PermitSlot>,
        memory: Grant,
    ) -> Computation {
        let StartState {
            run,
            checkpoints,
            state,
        } = start_state;
        let seconds_max = work.seconds_max.unwrap_or(self.seconds_default);
        let (outside, computed) = (Arc::clone(&run), Arc::clone(&work));
        let (cell, ids) = (Arc::clone(&checkpoints), Arc::clone(&self.ids));
        let job = Arc::new(job.clone());
        let computed_job = Arc::clone(&job);
        let handle = self.spawn(move || {
            let _counted = RunningGauge::begin();
            let end = memory.settled(|| {
                cell.stopwatch.start();
                let mut about = || {
                    cell.stopwatch.stop();
                    About {
                        ids: &ids,
                        job: &computed_job,
                        seconds: cell.stopwatch.seconds(),
                    }
                };
                let end = computed.task.compute(state, &outside, &mut about);
                cell.stopwatch.stop();
                end.map(Box::new)
            });
            return_after(&memory);
            drop(permit.take());
            (end, memory)
        });
        let timer = end_after(run.stop.clone(), Arc::clone(&checkpoints), seconds_max);
        Computation {
            _timer: AbortOnDropHandle::new(tokio::spawn(timer)),
            run,
            checkpoints,
            ids: Arc::clone(&self.ids),
            job,
            work,
            handle,
        }
    }

    fn spawn<T: Send + 'static>(
        &self,
        computation: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        let runtime = self.runtime.as_ref().expect("the runtime until the drop");
        runtime.spawn_blocking(computation)
    }
}

impl Drop for ComputeThreads {
    fn drop(&mut self) {
        // A runtime cannot wait for its threads within another runtime.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Lowers the priority of the calling thread. Only on Linux has a thread a priority of its own.
fn lower_priority() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, COMPUTE_NICE) {
        tracing::debug!(%error, "the priority of a computing thread stays");
    }
}

/// A job that a thread computes.
pub struct Computation {
    /// The stop flag, progress and checkpoints of the run.
    pub run: Arc<Run>,
    /// Receives the states of the run.
    pub(crate) checkpoints: Arc<StateCell>,
    ids: Arc<Ids>,
    job: Arc<Job>,
    work: Arc<CheckedTask>,
    handle: JoinHandle<(Result<Box<JobEnd>, Interrupt>, Grant)>,
    /// Raises the flag at the time limit even while nothing awaits the computation.
    _timer: AbortOnDropHandle<()>,
}

impl Computation {
    /// Waits for the end. You may drop the future and call the method again.
    pub async fn ended(&mut self) -> Computed {
        let error = match (&mut self.handle).await {
            Ok((Ok(end), memory)) => {
                let memory = Some(memory);
                return Computed::Ended { end, memory };
            }
            Ok((Err(Interrupt::Memory), _)) => no_memory(),
            Ok((Err(Interrupt::Unreadable), _)) => match self.work.read_error() {
                ReadError::Store(error) => return Computed::Unread(error),
                error => unreadable(error),
            },
            Ok((Err(_), _)) => return Computed::Suspended,
            Err(_) => defect(),
        };
        let end = Box::new(failure(self.ids.now(), error, &self.job));
        Computed::Ended { end, memory: None }
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn compute_threads_alone_have_the_lower_priority() {
        use super::{Arc, COMPUTE_NICE, ComputeThreads, Ids};
        use crate::records::{ManualClock, Timestamp};
        use rand::SeedableRng;
        use rustix::process::getpriority_process;

        let before = getpriority_process(None).unwrap();
        let clock = ManualClock::new(Timestamp::from_milliseconds(1));
        let ids = Ids::new(Arc::new(clock), rand::rngs::StdRng::seed_from_u64(1));
        let threads = ComputeThreads::new(Arc::new(ids), 1.0);
        let nice = threads.spawn(|| getpriority_process(None).unwrap());
        assert_eq!(nice.await.unwrap(), before.max(COMPUTE_NICE));
        assert_eq!(getpriority_process(None).unwrap(), before);
    }
}
