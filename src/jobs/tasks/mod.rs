//! The tasks: from the stored request of a job to a computation and its documents.
//!
//! Each task has one file, which implements [`Task`]: check, run and complete. [`resolve`] lists the tasks,
//! and turns the request of a job into a [`CheckedTask`].

mod compare;
mod data;
mod drawing;
mod error;
mod evaluate;
mod experiment;
mod experiment_part;
mod grid;
mod maximum_margin;
pub(super) mod memory_bound;
mod receipt;
mod separability;
mod train;
mod version_space;

use std::fmt;
use std::sync::Arc;

use halfspace_core::learners::engine::random::Seed;
use halfspace_core::learners::engine::run::{Counts, Interrupt, Run};
use halfspace_core::learners::engine::trace::Trace;
use halfspace_core::learners::sample::data::Data;
use halfspace_core::memory;
use serde::Serialize;
use serde_json::Value;

use crate::records::task::{DataSpec, JobSpec, TaskSpec};
use crate::records::{Demand, Job, JobError, Model, SubjobOutcome};

use super::data::stored::ReadError;
use super::ids::Ids;
use super::models::LoadedModel;

pub use compare::unfit_learners;
pub use data::JobSample;
pub use drawing::draw;
pub use error::{ResolveError, told, unfit_reason};
pub use evaluate::{TestData, check_labels};
pub use experiment::outcome_so_far;
pub(super) use train::task_of;
pub use train::{Train, learner};

use compare::Compare;
use data::TaskData;
use evaluate::Evaluate;
use experiment::WholeExperiment;
use experiment_part::ExperimentPart;
use grid::Grid;
use maximum_margin::MaximumMarginTask;
use separability::Separability;
use version_space::VersionSpaceTask;

/// One kind of work with its data.
///
/// `new` reads the request and `check` compares the request with the data, both before a job is accepted. A
/// worker repeats them, then calls `run` and `complete`.
pub trait Task: fmt::Debug + Send + Sync + Sized + 'static {
    /// The request.
    type Spec;
    /// The output of a run.
    type Output;

    /// Whether the state of a run can be stored, so that another worker can resume the run.
    const HAS_STATE: bool = false;

    /// Reads a request.
    ///
    /// # Errors
    /// Faults that can be found without the examples.
    fn new(spec: &Self::Spec, given: Given<'_>) -> Result<Self, ResolveError>;

    /// Checks the task against the examples and settles the open parts of the request: see [`Self::settled`].
    ///
    /// # Errors
    /// Every other fault that can be found before the run.
    fn check(&mut self, allowance: &Allowance) -> Result<(), ResolveError>;

    /// Runs to the end. A task with [`Self::HAS_STATE`] resumes from `state` if an earlier run handed over a
    /// state.
    ///
    /// Stored data are read through first and their digest is compared, so that no result rests on damaged
    /// data.
    ///
    /// # Errors
    /// [`Interrupt::Suspended`] if the run was suspended, [`Interrupt::Memory`] if memory ran out, and
    /// [`Interrupt::Unreadable`] if the data could not be read.
    fn run(&self, state: Option<&[u8]>, run: &Run) -> Result<Self::Output, Interrupt>;

    /// The documents of an output.
    fn complete(&self, output: Self::Output, about: &About<'_>) -> Completion;

    /// An upper bound of the bytes that `complete` takes beyond [`Self::memory_bytes`].
    fn document_bytes(&self, _output: &Self::Output) -> u64 {
        0
    }

    /// An upper bound of the memory of a run. Data up to `resident_bytes_max` are held as a whole. A run that
    /// needs more memory grows only while memory is free.
    fn memory_bytes(&self, resident_bytes_max: u64) -> u64;

    /// Expected seconds of one core. `limit` is the time limit of the run.
    fn expected_seconds(&self, limit: f64) -> f64;

    /// The most examples that the whole run reads, if the number is known.
    fn examples_planned(&self) -> Option<u64> {
        None
    }

    /// The number of subjobs, which are computed before this job. `None` for a job without subjobs.
    fn subjobs(&self) -> Option<u32> {
        None
    }

    /// The request to store, if the check settles a part of it.
    fn settled(&self) -> Option<TaskSpec> {
        None
    }

    /// The data, unless the task has none.
    fn data(&self) -> Option<&Arc<TaskData>> {
        None
    }
}

/// The inputs of a job beside the fields of its task.
pub struct Given<'a> {
    seed: Seed,
    seconds_max: Option<f64>,
    spec: &'a DataSpec,
    inputs: Inputs,
}

/// The inputs of a job that its request only names.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    /// The sample, unless the data are generated.
    pub sample: Option<JobSample>,
    /// The model that the request names.
    pub model: Option<LoadedModel>,
    /// The outcomes of the subjobs, once they have ended.
    pub subjobs: Vec<SubjobOutcome>,
}

impl<'a> Given<'a> {
    /// The inputs of a job with this request and seed.
    pub fn new(spec: &'a JobSpec, seed: u64, inputs: Inputs) -> Self {
        Self {
            seed: Seed(seed),
            seconds_max: spec.task.seconds_max(),
            spec: &spec.data,
            inputs,
        }
    }

    fn data(&mut self) -> Result<Arc<TaskData>, ResolveError> {
        TaskData::new(self.spec, self.seed, self.inputs.sample.take()).map(Arc::new)
    }
}

/// The job of an output.
pub struct About<'a> {
    pub(super) ids: &'a Ids,
    pub(super) job: &'a Job,
    /// Seconds of computing.
    pub(super) seconds: f64,
}

/// The documents of a run, before they become the end of a job.
#[derive(Debug)]
pub struct Completion {
    pub(super) end: TaskEnd,
    /// The counts of the run, for tasks that count examples.
    pub(super) counts: Option<Counts>,
    pub(super) model: Option<Model>,
    pub(super) trace: Option<Trace>,
}

/// How a run ended.
#[derive(Debug)]
pub(super) enum TaskEnd {
    /// With a result.
    Succeeded(Value),
    /// By a client. The result so far is kept if it is of use.
    Cancelled(Option<Value>),
    /// With an error.
    Failed(JobError),
}

impl Completion {
    /// A result without counts, model and trace.
    fn of(result: &impl Serialize, is_cancelled: bool) -> Self {
        let result = super::queue::completion::json(result);
        Self::from(match is_cancelled {
            true => TaskEnd::Cancelled(Some(result)),
            false => TaskEnd::Succeeded(result),
        })
    }
}

impl From<TaskEnd> for Completion {
    fn from(end: TaskEnd) -> Self {
        Self {
            end,
            counts: None,
            model: None,
            trace: None,
        }
    }
}

/// The limits that a request is checked against.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Allowance {
    /// Bytes of state.
    pub state_bytes: u64,
    /// Data up to this size are held in memory as a whole.
    pub resident_bytes: u64,
    /// Seconds of computing for a request without a limit.
    pub seconds: f64,
    /// Estimated seconds of one core for a task with all its parts.
    pub parts_seconds: f64,
    /// Whether the job was accepted before.
    pub is_accepted: bool,
}

impl Allowance {
    /// The allowance of a job that was accepted before.
    pub const UNLIMITED: Self = Self {
        state_bytes: u64::MAX,
        resident_bytes: u64::MAX,
        seconds: f64::INFINITY,
        parts_seconds: f64::INFINITY,
        is_accepted: true,
    };
}

/// A checked task, ready to run.
#[derive(Debug)]
pub struct CheckedTask {
    /// Seconds of computing after which the run ends, if the client set a limit.
    pub seconds_max: Option<f64>,
    /// The expected time of one core, and an upper bound of the memory.
    pub demand: Demand,
    /// See [`Task::subjobs`].
    pub subjobs: Option<u32>,
    /// See [`Task::examples_planned`].
    pub examples_planned: Option<u64>,
    /// See [`Task::HAS_STATE`].
    pub has_state: bool,
    /// See [`Task::settled`].
    pub settled: Option<TaskSpec>,
    data: Option<Arc<TaskData>>,
    task: Box<dyn Compute>,
}

/// The run of a task of any kind.
trait Compute: fmt::Debug + Send + Sync {
    /// Runs the task and makes the documents. `about` is called between the two.
    fn compute<'a>(
        &self,
        state: Option<Vec<u8>>,
        run: &Run,
        about: &mut dyn FnMut() -> About<'a>,
    ) -> Result<Completion, Interrupt>;
}

impl<T: Task> Compute for T {
    fn compute<'a>(
        &self,
        state: Option<Vec<u8>>,
        run: &Run,
        about: &mut dyn FnMut() -> About<'a>,
    ) -> Result<Completion, Interrupt> {
        let output = self.run(state.as_deref(), run)?;
        drop(state);
        let about = about();
        memory::need(self.document_bytes(&output)).map_err(|_| Interrupt::Memory)?;
        Ok(self.complete(output, &about))
    }
}

/// Checks the request of a job against the abilities of the service and against the data.
///
/// # Errors
/// Every error that can be known before the run.
pub fn resolve(
    spec: &JobSpec,
    seed: u64,
    inputs: Inputs,
    allowance: &Allowance,
) -> Result<CheckedTask, ResolveError> {
    let given = Given::new(spec, seed, inputs);
    let checked = match &spec.task {
        TaskSpec::Train(task) => CheckedTask::of::<Train>(task, given, allowance),
        TaskSpec::Separability(task) => CheckedTask::of::<Separability>(task, given, allowance),
        TaskSpec::MaximumMargin(task) => {
            CheckedTask::of::<MaximumMarginTask>(task, given, allowance)
        }
        TaskSpec::VersionSpace(task) => CheckedTask::of::<VersionSpaceTask>(task, given, allowance),
        TaskSpec::Evaluate(task) => CheckedTask::of::<Evaluate>(task, given, allowance),
        TaskSpec::Experiment(task) => CheckedTask::of::<WholeExperiment>(task, given, allowance),
        TaskSpec::ExperimentPart(task) => CheckedTask::of::<ExperimentPart>(task, given, allowance),
        TaskSpec::Grid(task) => CheckedTask::of::<Grid>(task, given, allowance),
        TaskSpec::Compare(task) => CheckedTask::of::<Compare>(task, given, allowance),
    }?;
    let (seconds, limit) = (checked.demand.seconds, allowance.parts_seconds);
    if checked.subjobs.is_some() && seconds > limit {
        let task = spec.task.name();
        return Err(ResolveError::TooCostly {
            task,
            seconds,
            limit,
        });
    }
    Ok(checked)
}

/// Checks a task of one kind.
///
/// # Errors
/// As for [`resolve`].
pub fn check<T: Task>(
    spec: &T::Spec,
    given: Given<'_>,
    allowance: &Allowance,
) -> Result<T, ResolveError> {
    let mut task = T::new(spec, given)?;
    task.check(allowance)?;
    Ok(task)
}

impl CheckedTask {
    fn of<T: Task>(
        spec: &T::Spec,
        given: Given<'_>,
        allowance: &Allowance,
    ) -> Result<Self, ResolveError> {
        let seconds_max = given.seconds_max;
        let task: T = check(spec, given, allowance)?;
        let subjobs = task.subjobs();
        Ok(Self {
            // The limit of a job with subjobs is the limit of each subjob. Gathering alone has no limit.
            seconds_max: seconds_max.filter(|_| subjobs.is_none() || T::HAS_STATE),
            demand: Demand {
                seconds: task.expected_seconds(seconds_max.unwrap_or(allowance.seconds)),
                memory_bytes: task.memory_bytes(allowance.resident_bytes),
            },
            subjobs,
            examples_planned: task.examples_planned(),
            has_state: T::HAS_STATE,
            settled: task.settled(),
            data: task.data().cloned(),
            task: Box::new(task),
        })
    }

    /// Runs the task and makes its documents. `about` is called between the two.
    ///
    /// # Errors
    /// As for [`Task::run`]. [`Interrupt::Memory`] also if there is no memory for the documents.
    pub(super) fn compute<'a>(
        &self,
        state: Option<Vec<u8>>,
        run: &Run,
        about: &mut dyn FnMut() -> About<'a>,
    ) -> Result<Completion, Interrupt> {
        self.task.compute(state, run, about)
    }

    /// The sample, if the request brought the sample and no store holds it.
    pub fn data(&self) -> Option<&Arc<Data>> {
        self.data.as_ref()?.in_request()
    }

    /// The reason why the data could not be read, after a run has returned [`Interrupt::Unreadable`].
    pub(super) fn read_error(&self) -> ReadError {
        let stored = self.data.as_ref().and_then(|data| data.stored());
        stored.map_or_else(
            || ReadError::Broken("data in memory could not be read".to_owned()),
            |examples| ReadError::of(examples),
        )
    }
}
