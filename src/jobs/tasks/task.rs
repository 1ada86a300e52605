//! The trait of all tasks: what a task is given, what it does, and how its job ends.

use std::fmt;
use std::sync::Arc;

use halfspace_core::learners::engine::input::TaskError;
use halfspace_core::learners::engine::random::Seed;
use halfspace_core::learners::engine::run::{Counts, Interrupt, Run};
use halfspace_core::learners::sample::weights::Weight;
use serde::Serialize;

use crate::records::task::DataSpec;
use crate::records::{Job, Progress, Status, SubjobOutcome};
use crate::storage::{JobEnd, Spent};

use super::data::{JobSample, TaskData};
use super::error::ResolveError;
use crate::jobs::datasets::raw_cells::TableCells;
use crate::jobs::datasets::stored::ReadError;
use crate::jobs::ids::Ids;
use crate::jobs::imports::ImportInputs;
use crate::jobs::json_text::json_value;
use crate::jobs::models::loaded::LoadedModel;

/// One kind of work with its data.
///
/// Before a job is accepted, `new` reads the request and `check` compares it with the data. A worker does both again,
/// then calls `run` and `complete`.
pub trait Task: fmt::Debug + Send + Sync + Sized + 'static {
    type Spec;
    type Output;

    /// Whether the state of a run can be stored, so that another worker can resume it.
    const HAS_STATE: bool = false;

    /// Reads a request with the description of its data.
    ///
    /// # Errors
    /// Faults that can be found without the examples.
    fn new(spec: &Self::Spec, described: &DataSpec, inputs: Inputs) -> Result<Self, ResolveError>;

    /// Checks the task against the examples.
    ///
    /// # Errors
    /// Every other fault that can be found before the run.
    fn check(&mut self, allowance: &Allowance) -> Result<(), ResolveError>;

    /// Runs to the end. A task with [`Self::HAS_STATE`] resumes from `state` if an earlier run handed one over.
    ///
    /// Stored data are first read through to compare their digest, so that no result rests on damaged data.
    ///
    /// # Errors
    /// [`Interrupt::Suspended`] if the run was suspended, [`Interrupt::Memory`] if memory ran out, and
    /// [`Interrupt::Unreadable`] if the data could not be read.
    fn run(&self, state: Option<&[u8]>, run: &Run) -> Result<Self::Output, Interrupt>;

    /// The end of the job, with the documents of an output.
    fn complete(&self, output: Self::Output, about: &About<'_>) -> JobEnd;

    /// An upper bound of the bytes that `complete` takes beyond [`Self::memory_bytes`].
    fn document_bytes(&self, _output: &Self::Output) -> u64 {
        0
    }

    /// An upper bound of the memory of a run, which holds data of up to `resident_bytes_max` as a whole. If a run
    /// needs more after all, it grows only while memory is free.
    fn memory_bytes(&self, resident_bytes_max: u64) -> u64;

    /// Expected seconds of one core. `limit` is the time limit of the run.
    fn expected_seconds(&self, limit: f64) -> f64;

    /// The largest number of examples that the whole run reads, if it is known.
    fn examples_planned(&self) -> Option<u64> {
        None
    }

    /// The number of subjobs, which are computed before this job. `None` for a job without subjobs.
    fn subjobs(&self) -> Option<u32> {
        None
    }

    /// The reason why each learner of a comparison cannot learn from the data, once they are checked.
    fn unfit(&self) -> Vec<Option<String>> {
        Vec::new()
    }

    /// Bytes of the object that the run reads, if it is an import.
    fn source_bytes(&self) -> Option<u64> {
        None
    }

    /// The data, unless the task has none.
    fn data(&self) -> Option<&Arc<TaskData>> {
        None
    }

    /// Why the data could not be read, after a run has returned [`Interrupt::Unreadable`].
    fn read_error(&self) -> ReadError {
        let cells = self.data().and_then(|data| data.raw_cells());
        if let Some(failure) = cells.and_then(TableCells::take_failure) {
            return failure;
        }
        let stored = self.data().and_then(|data| data.stored());
        stored.map_or_else(
            || ReadError::Broken("data in memory could not be read".to_owned()),
            |examples| ReadError::of(examples),
        )
    }
}

/// The inputs of a job that its request names without containing them.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// The seed of all random choices.
    pub seed: Seed,
    /// The sample, unless the data are generated.
    pub sample: Option<JobSample>,
    /// The raw cells of the table that the sample came as, if the task needs them.
    pub cells: Option<TableCells>,
    /// The weights of the examples, if the request brought both.
    pub weights: Option<Arc<[Weight]>>,
    /// The model that the request names.
    pub model: Option<LoadedModel>,
    /// The outcomes of the subjobs, once they have ended.
    pub subjobs: Vec<SubjobOutcome>,
    /// What an import reads and where it stores the dataset.
    pub import: Option<ImportInputs>,
}

impl Inputs {
    pub fn of(seed: u64) -> Self {
        Self {
            seed: Seed(seed),
            sample: None,
            cells: None,
            weights: None,
            model: None,
            subjobs: Vec::new(),
            import: None,
        }
    }

    /// The data of a task, which takes the sample.
    pub(super) fn data(&mut self, described: &DataSpec) -> Result<Arc<TaskData>, ResolveError> {
        let sample = self.sample.take();
        let data = TaskData::new(described, self.seed, sample)?;
        let data = data.with_cells(self.cells.take());
        Ok(Arc::new(data.with_weights(self.weights.take())))
    }

    /// The data of a task that needs the number of features.
    pub(super) fn fixed_data(
        &mut self,
        described: &DataSpec,
    ) -> Result<Arc<TaskData>, ResolveError> {
        if described.names.is_open() {
            let detail = "the task needs a fixed number of features, and those of the data are names; train a learner \
                          instead";
            return Err(TaskError::WrongData(detail.to_owned()).into());
        }
        self.data(described)
    }
}

/// The job of an output.
pub struct About<'a> {
    pub(in crate::jobs) ids: &'a Ids,
    pub(in crate::jobs) job: &'a Job,
    /// Seconds of computing.
    pub(in crate::jobs) seconds: f64,
}

impl About<'_> {
    /// The end of a job with a result. If a client has cancelled the job, that is the result so far.
    pub(super) fn end(&self, result: &impl Serialize, is_cancelled: bool) -> JobEnd {
        let mut progress = self.job.progress;
        if !is_cancelled {
            progress.fraction = Some(1.0);
        }
        JobEnd {
            status: match is_cancelled {
                true => Status::Cancelled,
                false => Status::Succeeded,
            },
            result: Some(json_value(result)),
            error: None,
            finished_at: self.ids.now(),
            progress,
            spent: Spent::default(),
            model: None,
            dataset: None,
            trace: None,
        }
    }

    /// The end of a job that counts examples, and was to read `planned` of them.
    pub(super) fn counted_end(
        &self,
        result: &impl Serialize,
        is_cancelled: bool,
        counts: &Counts,
        planned: Option<u64>,
    ) -> JobEnd {
        let mut progress = Progress::of(counts, planned);
        if !is_cancelled {
            progress.fraction = Some(1.0);
        }
        JobEnd {
            progress,
            ..self.end(result, is_cancelled)
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
    /// For a job that was accepted before.
    pub const UNLIMITED: Self = Self {
        state_bytes: u64::MAX,
        resident_bytes: u64::MAX,
        seconds: f64::INFINITY,
        parts_seconds: f64::INFINITY,
        is_accepted: true,
    };
}
