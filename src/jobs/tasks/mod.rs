//! The tasks: from the stored request of a job to a computation and its documents.
//!
//! Each task has one file, which implements [`task::Task`]: check, run and complete. [`resolve`] lists the tasks and
//! turns the request of a job into a [`CheckedTask`].

pub(super) mod checked;
mod compare;
mod data;
mod drawing;
pub(super) mod error;
mod evaluate;
mod experiment;
mod experiment_part;
mod fitted;
mod grid;
mod import;
mod maximum_margin;
pub(super) mod memory_bound;
mod receipt;
mod separability;
pub(super) mod task;
pub(super) mod train;
mod version_space;

use crate::records::task::{JobSpec, TaskSpec};

pub use compare::unfit_learners;
pub use data::JobSample;
pub use drawing::draw;
pub use error::{ResolveError, unfit_reason};
pub use evaluate::{TestData, check_labels};
pub use experiment::outcome_so_far;
pub use task::{Allowance, Inputs, Task};
pub use train::{Train, learner};

use checked::CheckedTask;
use compare::Compare;
use evaluate::Evaluate;
use experiment::WholeExperiment;
use experiment_part::ExperimentPart;
use grid::Grid;
use import::Import;
use maximum_margin::MaximumMarginTask;
use separability::Separability;
use version_space::VersionSpaceTask;

/// Checks the request of a job against the abilities of the service and against the data.
///
/// # Errors
/// Every error that can be known before the run.
pub fn resolve(
    spec: &JobSpec,
    inputs: Inputs,
    allowance: &Allowance,
) -> Result<CheckedTask, ResolveError> {
    let checked = match &spec.task {
        TaskSpec::Train(task) => CheckedTask::of::<Train>(task, spec, inputs, allowance),
        TaskSpec::Separability(task) => {
            CheckedTask::of::<Separability>(task, spec, inputs, allowance)
        }
        TaskSpec::MaximumMargin(task) => {
            CheckedTask::of::<MaximumMarginTask>(task, spec, inputs, allowance)
        }
        TaskSpec::VersionSpace(task) => {
            CheckedTask::of::<VersionSpaceTask>(task, spec, inputs, allowance)
        }
        TaskSpec::Evaluate(task) => CheckedTask::of::<Evaluate>(task, spec, inputs, allowance),
        TaskSpec::Experiment(task) => {
            CheckedTask::of::<WholeExperiment>(task, spec, inputs, allowance)
        }
        TaskSpec::ExperimentPart(task) => {
            CheckedTask::of::<ExperimentPart>(task, spec, inputs, allowance)
        }
        TaskSpec::Grid(task) => CheckedTask::of::<Grid>(task, spec, inputs, allowance),
        TaskSpec::Compare(task) => CheckedTask::of::<Compare>(task, spec, inputs, allowance),
        TaskSpec::Import(task) => CheckedTask::of::<Import>(task, spec, inputs, allowance),
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
