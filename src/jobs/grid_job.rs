//! Grids as jobs: what is checked of every training, and the gathering of what they came to.

use std::collections::HashSet;

use crate::learners::random::Seed;
use crate::learners::task::Input;
use crate::records::grid::{GridResult, GridSpec};
use crate::records::task::DataSpec;
use crate::records::{PartOutcome, Status};

use super::ending::{Ending, json};
use super::train_job::TrainJob;
use super::work::{Allowance, ResolveError};

/// A grid whose trainings are checked.
#[derive(Clone, Debug)]
pub(super) struct GridJob {
    spec: GridSpec,
    trainings: u32,
    /// What came of them, once they have ended.
    outcomes: Vec<PartOutcome>,
}

impl GridJob {
    pub(super) fn new(spec: &GridSpec, data: &DataSpec) -> Result<Self, ResolveError> {
        let trainings = spec.trainings()?;
        spec.check_bytes(trainings, data)?;
        Ok(Self {
            trainings,
            spec: spec.clone(),
            outcomes: Vec::new(),
        })
    }

    /// Checks every training against the data that all of them have.
    pub(super) fn check(
        &self,
        seed: Seed,
        data: &DataSpec,
        input: Input<'_>,
        allowance: Allowance,
    ) -> Result<(), ResolveError> {
        let mut checked = HashSet::new();
        for number in 0..self.trainings {
            let cell = self.spec.cell(number)?;
            // Whether one can run does not hang on its seed.
            let train = serde_json::to_string(&cell.train).unwrap_or_default();
            if !checked.insert(train) {
                continue;
            }
            let check = || {
                let job = TrainJob::new(&cell.train, seed)?;
                let job = job.with(&cell.train, None, &data.names)?;
                job.check(input, allowance)
            };
            check().map_err(|error| ResolveError::Cell {
                over: json(&cell.over).to_string(),
                error: Box::new(error),
            })?;
        }
        Ok(())
    }

    pub(super) fn trainings(&self) -> u32 {
        self.trainings
    }

    pub(super) fn take(&mut self, outcomes: &[PartOutcome]) {
        self.outcomes = outcomes.to_vec();
    }

    /// Puts together what the trainings came to.
    pub(super) fn gather(&self) -> GridResult {
        let gathered = GridResult::gather(&self.spec, &self.outcomes);
        gathered.expect("the grid was checked when it was accepted, and again when it was claimed")
    }
}

/// What is written of a grid.
pub(super) fn ending(result: &GridResult) -> Ending {
    let is_whole = result
        .trainings
        .iter()
        .all(|training| training.status == Status::Succeeded);
    Ending {
        result: json(result),
        // A training that failed would have failed all: what is missing was cancelled.
        is_cancelled: !is_whole,
        counts: None,
        model: None,
        trace: None,
    }
}
