//! Experiments as jobs: a part of one, and the gathering of all.

use halfspace_core::experiments::outcome::Outcome;
use halfspace_core::experiments::{Experiment, PartTally};
use halfspace_core::learners::run::{Interrupt, Run};
use serde::Deserialize;

use crate::records::experiment::{ExperimentResult, ExperimentSpec};
use crate::records::experiment_part::{ExperimentPartResult, ExperimentPartSpec};
use crate::records::{JobError, PartOutcome};

use super::ending::{Ending, json};
use super::work::{Found, ResolveError};

/// An experiment whose parameters are checked, and what to do of it.
#[derive(Clone, Debug)]
pub(super) struct ExperimentJob {
    experiment: Experiment,
    seed: u64,
    share: Share,
}

#[derive(Clone, Debug)]
enum Share {
    /// Compute this part.
    Part(u32),
    /// Gather the parts, so far as there are any.
    Whole(Vec<Option<PartTally>>),
}

impl ExperimentJob {
    /// The whole of an experiment, before any of its parts.
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

    /// Seconds of one core that the whole experiment is estimated to take.
    pub(super) fn estimated_seconds(&self) -> f64 {
        self.experiment.estimated_seconds()
    }

    /// How many jobs its parts are; none of a part.
    pub(super) fn parts(&self) -> Option<u32> {
        match self.share {
            Share::Part(_) => None,
            Share::Whole(_) => Some(self.experiment.parts()),
        }
    }

    /// Takes what came of the parts.
    ///
    /// # Errors
    /// What one of them came to is no tally.
    pub(super) fn take(&mut self, parts: &[PartOutcome]) -> Result<(), serde_json::Error> {
        if let Share::Whole(tallies) = &mut self.share {
            *tallies = tallies_of(parts)?;
        }
        Ok(())
    }

    /// Computes the part, or gathers all of them. What a part came to is of no use unless it is
    /// whole; the gathering takes no time to speak of, and heeds no flag.
    pub(super) fn run(&self, run: &Run) -> Result<Found, Interrupt> {
        match &self.share {
            Share::Whole(tallies) => {
                let outcome = self.experiment.gather(tallies);
                Ok(Found::Gathered(Box::new(outcome)))
            }
            Share::Part(part) => match self.experiment.compute(self.seed, *part, run) {
                Ok(tally) => Ok(Found::Part(tally)),
                Err(Interrupt::Cancelled) => Ok(Found::Unwanted),
                Err(Interrupt::TimeLimit) => Ok(Found::TooSlow),
                Err(interrupt) => Err(interrupt),
            },
        }
    }
}

/// What there is of the parts, by their jobs.
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

/// What the parts that have ended come to so far.
///
/// # Errors
/// What is stored is no experiment.
pub fn outcome_so_far(
    spec: &ExperimentSpec,
    parts: &[PartOutcome],
) -> Result<Outcome, ResolveError> {
    let experiment = spec.check(f64::INFINITY)?;
    let tallies = tallies_of(parts).map_err(|error| ResolveError::Damaged(error.to_string()))?;
    Ok(experiment.gather(&tallies))
}

/// What is written of all parts.
pub(super) fn ending_of_whole(outcome: &Outcome) -> Ending {
    Ending {
        result: json(&ExperimentResult::from(outcome)),
        // A part that failed would have failed all: what is missing was cancelled.
        is_cancelled: outcome.is_partial(),
        counts: None,
        model: None,
        trace: None,
    }
}

/// What is written of one part.
pub(super) fn ending_of_part(tally: &PartTally) -> Ending {
    let tally = tally.clone();
    Ending {
        result: json(&ExperimentPartResult { tally }),
        is_cancelled: false,
        counts: None,
        model: None,
        trace: None,
    }
}

/// What a part fails of that its time did not suffice for.
pub(super) fn too_slow() -> JobError {
    JobError {
        code: "time-limit".to_owned(),
        detail: "the part took longer than a job may compute; take fewer runs or smaller points"
            .to_owned(),
    }
}
