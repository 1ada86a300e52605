//! A checked task of any kind, ready to run.

use std::fmt;
use std::sync::Arc;

use halfspace_core::learners::engine::run::{Interrupt, Run};
use halfspace_core::learners::sample::data::Data;
use halfspace_core::learners::sample::weights::Weight;
use halfspace_core::memory;

use crate::records::Demand;
use crate::records::task::JobSpec;
use crate::storage::JobEnd;

use super::data::TaskData;
use super::error::ResolveError;
use super::task::{About, Allowance, Inputs, Task};
use crate::jobs::datasets::raw_cells::TableCells;
use crate::jobs::datasets::stored::ReadError;

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
    /// See [`Task::source_bytes`].
    pub source_bytes: Option<u64>,
    /// See [`Task::HAS_STATE`].
    pub has_state: bool,
    /// See [`Task::unfit`].
    pub unfit: Vec<Option<String>>,
    data: Option<Arc<TaskData>>,
    pub(in crate::jobs) task: Box<dyn Compute>,
}

/// The run of a task of any kind.
pub(in crate::jobs) trait Compute: fmt::Debug + Send + Sync {
    /// Runs the task and makes its documents, with a call of `about` in between.
    ///
    /// # Errors
    /// As for [`Task::run`]. [`Interrupt::Memory`] also if there is no memory for the documents.
    fn compute<'a>(
        &self,
        state: Option<Vec<u8>>,
        run: &Run,
        about: &mut dyn FnMut() -> About<'a>,
    ) -> Result<JobEnd, Interrupt>;

    /// See [`Task::read_error`].
    fn read_error(&self) -> ReadError;
}

impl<T: Task> Compute for T {
    fn compute<'a>(
        &self,
        state: Option<Vec<u8>>,
        run: &Run,
        about: &mut dyn FnMut() -> About<'a>,
    ) -> Result<JobEnd, Interrupt> {
        let output = self.run(state.as_deref(), run)?;
        drop(state);
        let about = about();
        memory::need(self.document_bytes(&output)).map_err(|_| Interrupt::Memory)?;
        Ok(self.complete(output, &about))
    }

    fn read_error(&self) -> ReadError {
        Task::read_error(self)
    }
}

impl CheckedTask {
    /// Checks a task of the request of a job.
    pub(super) fn of<T: Task>(
        task: &T::Spec,
        spec: &JobSpec,
        inputs: Inputs,
        allowance: &Allowance,
    ) -> Result<Self, ResolveError> {
        let seconds_max = spec.task.seconds_max();
        let mut task = T::new(task, &spec.data, inputs)?;
        task.check(allowance)?;
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
            source_bytes: task.source_bytes(),
            has_state: T::HAS_STATE,
            unfit: task.unfit(),
            data: task.data().cloned(),
            task: Box::new(task),
        })
    }

    /// The sample, if the request brought it and no store holds it.
    pub fn data(&self) -> Option<&Arc<Data>> {
        self.data.as_ref()?.in_request()
    }

    /// The weights of the examples, if the request brought both.
    pub(in crate::jobs) fn weights(&self) -> Option<Arc<[Weight]>> {
        self.data.as_ref()?.known_weights()
    }

    /// The raw cells of the table that the sample came as, if the task needs them.
    pub(in crate::jobs) fn raw_cells(&self) -> Option<TableCells> {
        self.data.as_ref()?.raw_cells().cloned()
    }

    /// See [`Task::read_error`].
    pub(in crate::jobs) fn read_error(&self) -> ReadError {
        self.task.read_error()
    }
}
