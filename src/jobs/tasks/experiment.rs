//! The task `experiment`: gathers the results of its subjobs, which are computed before it.

use halfspace_core::experiments::outcome::ExperimentOutcome;
use halfspace_core::experiments::{Experiment, PartTally};
use halfspace_core::learners::engine::run::{Interrupt, Run};
use serde::Deserialize;

use crate::records::SubjobOutcome;
use crate::records::experiment::{ExperimentResult, ExperimentSpec};
use crate::records::experiment_part::ExperimentPartResult;
use crate::records::task::DataSpec;
use crate::storage::JobEnd;

use super::error::ResolveError;
use super::memory_bound;
use super::task::{About, Allowance, Inputs, Task};

/// A whole experiment.
#[derive(Debug)]
pub(super) struct WholeExperiment {
    experiment: Experiment,
    /// The tallies of the subjobs that have ended.
    tallies: Vec<Option<PartTally>>,
}

impl Task for WholeExperiment {
    type Spec = ExperimentSpec;
    type Output = ExperimentOutcome;

    fn new(spec: &ExperimentSpec, _: &DataSpec, inputs: Inputs) -> Result<Self, ResolveError> {
        Ok(Self {
            experiment: spec.check()?,
            tallies: tallies_of(&inputs.subjobs)?,
        })
    }

    fn check(&mut self, _: &Allowance) -> Result<(), ResolveError> {
        Ok(())
    }

    /// Gathering is fast and ignores the stop flag.
    fn run(&self, _: Option<&[u8]>, _: &Run) -> Result<ExperimentOutcome, Interrupt> {
        Ok(self.experiment.gather(&self.tallies))
    }

    fn complete(&self, outcome: ExperimentOutcome, about: &About<'_>) -> JobEnd {
        // One failed subjob fails the whole experiment, so a missing subjob was cancelled.
        about.end(&ExperimentResult::from(&outcome), outcome.is_partial())
    }

    fn memory_bytes(&self, _: u64) -> u64 {
        memory_bound::gathering(self.experiment.parts())
    }

    fn expected_seconds(&self, _: f64) -> f64 {
        self.experiment.estimated_seconds()
    }

    fn subjobs(&self) -> Option<u32> {
        Some(self.experiment.parts())
    }
}

/// The tallies of the subjobs that have ended, in the order of the subjobs.
fn tallies_of(subjobs: &[SubjobOutcome]) -> Result<Vec<Option<PartTally>>, ResolveError> {
    let tally = |subjob: &SubjobOutcome| match &subjob.result {
        None => Ok(None),
        Some(result) => {
            let read = ExperimentPartResult::deserialize(result)?;
            Ok(Some(read.tally))
        }
    };
    let tallies: Result<_, serde_json::Error> = subjobs.iter().map(tally).collect();
    tallies.map_err(|error| ResolveError::Damaged(error.to_string()))
}

/// The outcome of the subjobs that have ended so far.
///
/// # Errors
/// If the stored experiment or a stored result of a subjob is invalid.
pub fn outcome_so_far(
    spec: &ExperimentSpec,
    subjobs: &[SubjobOutcome],
) -> Result<ExperimentOutcome, ResolveError> {
    let experiment = spec.check()?;
    Ok(experiment.gather(&tallies_of(subjobs)?))
}
