//! One computation in a pool of threads of low priority: the start, the time limit and the output.
//!
//! A computation holds a permit while it runs, so the permits bound the number of running computations.

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
use crate::storage::JobEnd;
use crate::traces;

use super::checkpoints::{StartState, StateCell};
use super::completion;
use super::parking::PermitSlot;
use crate::jobs::data::stored::ReadError;
use crate::jobs::service::Jobs;
use crate::jobs::tasks::{About, CheckedTask};

/// The shortest pause between two looks at the computed seconds.
const LOOK: Duration = Duration::from_millis(5);

/// The nice value of the computing threads. With 24 computing threads on two cores, heartbeats and readiness took
/// half as long as without; 19 improved little more, and a lower priority could starve beside other programs.
#[cfg(target_os = "linux")]
const COMPUTE_NICE: i32 = 10;

/// The span of one attempt to compute a job. The span continues the trace of the request for the job.
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
    /// The computation ended, perhaps because of a limit or a cancellation.
    Ended {
        /// The result and the documents to store.
        end: Box<JobEnd>,
        /// The memory of these documents. The grant is held until they are stored.
        memory: Grant,
    },
    /// The computation was suspended. Another attempt resumes from its state or starts again.
    Suspended,
    /// The data could not be read to their end.
    Unreadable(ReadError),
    /// The computation needed more memory than was free.
    NoMemory,
    /// The computation panicked, which is a defect of this program.
    Panicked,
}

impl Computed {
    /// The end of a job that is not tried again, and the memory of its documents.
    pub(crate) fn into_end(self, jobs: &Jobs, job: &Job) -> (JobEnd, Option<Grant>) {
        match self {
            Self::Ended { end, memory } => (*end, Some(memory)),
            failed => (completion::of_failed(jobs, job, failed), None),
        }
    }
}

/// Raises a flag with [`Interrupt::TimeLimit`] after some seconds. Dropping the returned handle cancels the
/// timer. Returns `None` if `seconds` is not a finite duration.
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

/// The threads that compute jobs. Their priority is lower than that of all other threads, so computations delay
/// neither answers nor heartbeats.
pub(crate) struct ComputeThreads(Option<Runtime>);

impl Default for ComputeThreads {
    fn default() -> Self {
        let runtime = Builder::new_current_thread()
            .on_thread_start(lower_priority)
            .build();
        Self(Some(
            runtime.expect("a runtime without drivers opens nothing"),
        ))
    }
}

impl ComputeThreads {
    fn spawn<T: Send + 'static>(
        &self,
        computation: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        let runtime = self.0.as_ref().expect("the runtime until the drop");
        runtime.spawn_blocking(computation)
    }
}

impl Drop for ComputeThreads {
    fn drop(&mut self) {
        // A runtime cannot wait for its threads within another runtime.
        if let Some(runtime) = self.0.take() {
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
    work: Arc<CheckedTask>,
    handle: JoinHandle<(Result<Box<JobEnd>, Interrupt>, Grant)>,
    /// Raises the flag at the time limit even while nothing awaits the computation.
    _timer: AbortOnDropHandle<()>,
}

impl Computation {
    /// Starts to compute a job within its memory. The closure shares the permit, because a blocking task does
    /// not end when its caller leaves. When the job resumes from a checkpoint, the seconds of earlier attempts
    /// count against the time limit.
    pub fn start(
        jobs: &Jobs,
        job: &Job,
        work: Arc<CheckedTask>,
        start_state: StartState,
        permit: Arc<PermitSlot>,
        memory: Grant,
    ) -> Self {
        let StartState {
            run,
            checkpoints,
            state,
        } = start_state;
        let seconds_max = work.seconds_max.unwrap_or(jobs.config.seconds_default);
        let (outside, computed) = (Arc::clone(&run), Arc::clone(&work));
        let (cell, ids, job) = (Arc::clone(&checkpoints), Arc::clone(&jobs.ids), job.clone());
        let handle = jobs.compute_threads.spawn(move || {
            let _counted = RunningGauge::begin();
            let end = memory.settled(|| {
                cell.stopwatch.start();
                let mut about = || {
                    cell.stopwatch.stop();
                    About {
                        ids: &ids,
                        job: &job,
                        seconds: cell.stopwatch.seconds(),
                    }
                };
                let completion = computed.compute(state, &outside, &mut about);
                cell.stopwatch.stop();
                let planned = computed.examples_planned;
                completion.map(|completion| completion::of(&ids, &job, planned, completion))
            });
            return_after(&memory);
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

    /// Waits for the end. The future may be dropped and the method called again.
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

#[cfg(test)]
mod tests {
    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn only_computing_threads_have_the_lower_priority() {
        use super::{COMPUTE_NICE, ComputeThreads};
        use rustix::process::getpriority_process;

        let before = getpriority_process(None).unwrap();
        let threads = ComputeThreads::default();
        let nice = threads.spawn(|| getpriority_process(None).unwrap());
        assert_eq!(nice.await.unwrap(), before.max(COMPUTE_NICE));
        assert_eq!(getpriority_process(None).unwrap(), before);
    }
}
