//! Experiment jobs: one part of an experiment, or the gathering of all parts.

use halfspace_core::experiments::outcome::Outcome;
use halfspace_core::experiments::{Experiment, PartTally};
use halfspace_core::learners::engine::run::{Interrupt, Run};
use serde::Deserialize;

use crate::records::experiment::{ExperimentResult, ExperimentSpec};
use crate::records::experiment_part::{ExperimentPartResult, ExperimentPartSpec};
use crate::records::{JobError, PartOutcome};

use super::completion::{Completion, json};
use super::work::{ResolveError, TaskOutput};

/// An experiment whose parameters are checked, and the share of it that this job computes.
#[derive(Clone, Debug)]
pub(super) struct ExperimentJob {
    experiment: Experiment,
    seed: u64,
    share: Share,
}

#[derive(Clone, Debug)]
enum Share {
    /// Compute the part of this number.
    Part(u32),
    /// Gather the tallies of the parts that have ended.
    Whole(Vec<Option<PartTally>>),
}

impl ExperimentJob {
    /// The parent job of an experiment, before any part has ended.
    pub(super) fn whole(
        spec: &ExperimentSpec,
        seed: u64,
        seconds_max: f64,
    ) -> Result<Self, ResolveError> {
        let experiment = spec.check(seconds_max)?;
        let share = Share::Whole(vec![None; experiment.parts() as usize]);
        Ok(Self {
            experiment,
            seed,
            share,
        })
    }

    /// A part of an experiment that was accepted before.
    pub(super) fn part(spec: &ExperimentPartSpec, seed: u64) -> Result<Self, ResolveError> {
        let experiment = spec.experiment.check(f64::INFINITY)?;
        let parts = experiment.parts();
        if parts != spec.parts || spec.part >= parts {
            return Err(ResolveError::OtherParts {
                asked: spec.parts,
                now: parts,
            });
        }
        Ok(Self {
            experiment,
            seed,
            share: Share::Part(spec.part),
        })
    }

    /// Estimated seconds of one core for the whole experiment.
    pub(super) fn estimated_seconds(&self) -> f64 {
        self.experiment.estimated_seconds()
    }

    /// The number of part jobs. `None` for a part.
    pub(super) fn parts(&self) -> Option<u32> {
        match self.share {
            Share::Part(_) => None,
            Share::Whole(_) => Some(self.experiment.parts()),
        }
    }

    /// Takes the outcomes of the parts.
    ///
    /// # Errors
    /// If the result of a part is not a tally.
    pub(super) fn take(&mut self, parts: &[PartOutcome]) -> Result<(), serde_json::Error> {
        if let Share::Whole(tallies) = &mut self.share {
            *tallies = tallies_of(parts)?;
        }
        Ok(())
    }

    /// Computes the part, or gathers all parts. An incomplete part has no result. Gathering is fast and ignores
    /// the stop flag.
    pub(super) fn run(&self, run: &Run) -> Result<TaskOutput, Interrupt> {
        match &self.share {
            Share::Whole(tallies) => {
                let outcome = self.experiment.gather(tallies);
                Ok(TaskOutput::Gathered(Box::new(outcome)))
            }
            Share::Part(part) => match self.experiment.compute(self.seed, *part, run) {
                Ok(tally) => Ok(TaskOutput::Part(tally)),
                Err(Interrupt::Cancelled) => Ok(TaskOutput::Unwanted),
                Err(Interrupt::TimeLimit) => Ok(TaskOutput::TooSlow),
                Err(interrupt) => Err(interrupt),
            },
        }
    }
}

/// The tallies of the parts that have ended, in the order of the parts.
fn tallies_of(parts: &[PartOutcome]) -> Result<Vec<Option<PartTally>>, serde_json::Error> {
    let tally = |part: &PartOutcome| match &part.result {
        None => Ok(None),
        Some(result) => {
            let read = ExperimentPartResult::deserialize(result)?;
            Ok(Some(read.tally))
        }
    };
    parts.iter().map(tally).collect()
}

/// The outcome of the parts that have ended so far.
///
/// # Errors
/// If the stored experiment or a stored result of a part is invalid.
pub fn outcome_so_far(
    spec: &ExperimentSpec,
    parts: &[PartOutcome],
) -> Result<Outcome, ResolveError> {
    let experiment = spec.check(f64::INFINITY)?;
    let tallies = tallies_of(parts).map_err(|error| ResolveError::Damaged(error.to_string()))?;
    Ok(experiment.gather(&tallies))
}

/// The result of all parts.
pub(super) fn completion_of_whole(outcome: &Outcome) -> Completion {
    Completion {
        result: json(&ExperimentResult::from(outcome)),
        // One failed part fails the whole experiment, so a missing part was cancelled.
        is_cancelled: outcome.is_partial(),
        counts: None,
        model: None,
        trace: None,
    }
}

/// The result of one part.
pub(super) fn completion_of_part(tally: &PartTally) -> Completion {
    let tally = tally.clone();
    Completion {
        result: json(&ExperimentPartResult { tally }),
        is_cancelled: false,
        counts: None,
        model: None,
        trace: None,
    }
}

/// The error of a part that exceeded its time limit.
pub(super) fn too_slow() -> JobError {
    JobError {
        code: "time-limit".to_owned(),
        detail: "the part exceeded the time limit of a job; request fewer runs or smaller points"
            .to_owned(),
    }
}
