//! The task `experiment_part`: computes one part of an experiment.

use halfspace_core::experiments::{Experiment, PartTally};
use halfspace_core::learners::engine::random::Seed;
use halfspace_core::learners::engine::run::{Interrupt, Run};

use crate::records::JobError;
use crate::records::experiment_part::{ExperimentPartResult, ExperimentPartSpec};
use crate::records::task::DataSpec;
use crate::storage::JobEnd;

use super::error::ResolveError;
use super::memory_bound;
use super::task::{About, Allowance, Inputs, Task};
use crate::jobs::completion::failure;

/// A part of an experiment that was accepted before.
#[derive(Debug)]
pub(super) struct ExperimentPart {
    experiment: Experiment,
    part: u32,
    seed: Seed,
}

impl Task for ExperimentPart {
    type Spec = ExperimentPartSpec;
    /// A part that does not end has no result.
    type Output = Result<PartTally, Unfinished>;

    fn new(spec: &ExperimentPartSpec, _: &DataSpec, inputs: Inputs) -> Result<Self, ResolveError> {
        let experiment = spec.experiment.check()?;
        let parts = experiment.parts();
        if parts != spec.parts || spec.part >= parts {
            return Err(ResolveError::OtherParts {
                asked: spec.parts,
                now: parts,
            });
        }
        Ok(Self {
            experiment,
            part: spec.part,
            seed: inputs.seed,
        })
    }

    /// The whole experiment was checked.
    fn check(&mut self, _: &Allowance) -> Result<(), ResolveError> {
        Ok(())
    }

    fn run(&self, _: Option<&[u8]>, run: &Run) -> Result<Self::Output, Interrupt> {
        match self.experiment.compute(self.seed.0, self.part, run) {
            Ok(tally) => Ok(Ok(tally)),
            Err(Interrupt::Cancelled) => Ok(Err(Unfinished::Cancelled)),
            Err(Interrupt::TimeLimit) => Ok(Err(Unfinished::TimeLimit)),
            Err(interrupt) => Err(interrupt),
        }
    }

    fn complete(&self, output: Self::Output, about: &About<'_>) -> JobEnd {
        match output {
            Ok(tally) => about.end(&ExperimentPartResult { tally }, false),
            Err(Unfinished::Cancelled) => JobEnd {
                result: None,
                ..about.end(&(), true)
            },
            Err(Unfinished::TimeLimit) => failure(about.ids.now(), too_slow(), about.job),
        }
    }

    fn memory_bytes(&self, _: u64) -> u64 {
        memory_bound::gathering(0)
    }

    fn expected_seconds(&self, _: f64) -> f64 {
        self.experiment.estimated_seconds()
    }
}

/// The reason why a part has no result.
#[derive(Debug)]
pub(super) enum Unfinished {
    /// A client cancelled the experiment.
    Cancelled,
    /// The part exceeded the time limit of a job.
    TimeLimit,
}

fn too_slow() -> JobError {
    JobError {
        code: "time-limit".to_owned(),
        detail: "the part exceeded the time limit of a job; request fewer runs or smaller points"
            .to_owned(),
    }
}
