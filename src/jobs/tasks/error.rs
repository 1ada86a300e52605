//! The reasons why a requested job cannot run, as `resolve` finds them.

use halfspace_core::experiments::ExperimentError;
use halfspace_core::learners::engine::input::TaskError;
use halfspace_core::learners::engine::parameters::ParameterError;

use crate::records::grid::{GridCell, GridError};

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ResolveError {
    /// No learner has this name.
    #[error("unknown learner `{name}`; the learners are: {known}")]
    UnknownLearner { name: String, known: String },
    /// Parameters that the learner does not have, or values out of range.
    #[error("{}", told(.0))]
    Parameters(Vec<ParameterError>),
    /// The task and the data do not fit.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// The question is too hard for a sample of this size.
    #[error("{0}")]
    Intractable(String),
    /// A field of the task does not fit the data.
    #[error("{field}: {detail}")]
    Field { field: &'static str, detail: String },
    /// A sample is missing, or was given in addition to generated data.
    #[error("a job needs either a sample or generated data, not both")]
    NoData,
    /// The named model was not loaded.
    #[error("the model that the job reads is missing")]
    NoModel,
    /// The parts of the task are estimated to take too long together.
    #[error(
        "the {task} is estimated to take {} of one core, more than parts_seconds_max: {limit}; {}",
        length(*.seconds), cheaper(.task)
    )]
    TooCostly {
        task: &'static str,
        seconds: f64,
        limit: f64,
    },
    /// The experiment is invalid.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    /// Another version of the program divided the experiment into another number of parts.
    #[error(
        "the experiment was divided into {asked} parts, but this program version divides it into \
         {now}"
    )]
    OtherParts { asked: u32, now: u32 },
    /// The grid is invalid.
    #[error(transparent)]
    Grid(#[from] GridError),
    /// A training of the grid cannot run.
    #[error("with {}: {error}", .cell.shown())]
    Cell {
        cell: Box<GridCell>,
        error: Box<ResolveError>,
    },
    /// A learner of the comparison is specified wrongly.
    #[error("learner {at}: {error}")]
    Compared {
        /// The index of the learner.
        at: usize,
        error: Box<ResolveError>,
    },
    /// No learner of the comparison can learn from the data, each for its own reason.
    #[error("no learner of the comparison can learn from these data")]
    NoneFits(Vec<String>),
    /// The stored results of the parts cannot be read.
    #[error("the result of a part cannot be read: {0}")]
    Damaged(String),
}

/// The reason why a task does not fit its data, with the remedy for numbers.
pub fn unfit_reason(error: &TaskError) -> String {
    let remedy = match error {
        TaskError::NotBoolean { named: false, .. } => {
            ". Write each value as 0 or 1, or upload a table of numbers with numbers=thermometer, which makes bits of \
             the numbers."
        }
        TaskError::NotBoolean { named: true, .. } => {
            ". Leave the values out, or choose a learner of real data; GET /v1/learners lists them."
        }
        _ => "",
    };
    format!("{error}{remedy}")
}

/// The errors of parameters in one line.
pub fn told(errors: &[ParameterError]) -> String {
    let all = errors
        .iter()
        .map(|error| format!("{}: {}", error.name, error.detail));
    all.collect::<Vec<_>>().join("; ")
}

/// How to ask for less of a task with parts.
fn cheaper(task: &str) -> &'static str {
    match task {
        "experiment" => "ask for fewer runs, or for fewer or smaller points",
        _ => {
            "ask for fewer trainings, or limit each by max_passes, max_examples or max_seconds in \
             stop"
        }
    }
}

/// Writes a time in seconds; in years from one year on.
fn length(seconds: f64) -> String {
    const YEAR: f64 = 31_557_600.0;
    match seconds / YEAR {
        years if years < 1.0 => format!("{seconds:.0} seconds"),
        years if years < 1e6 => format!("{years:.0} years"),
        years => format!("{years:.0e} years"),
    }
}
