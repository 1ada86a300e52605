//! Grids as jobs: what is checked of every training, and the gathering of what they came to.

use std::collections::HashSet;

use halfspace_core::learners::random::Seed;
use halfspace_core::learners::task::{Input, TaskError};

use crate::records::grid::{GridError, GridResult, GridSpec};
use crate::records::job::PARTS_REQUEST_BYTES_MAX;
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
    pub(super) fn new(spec: &GridSpec) -> Result<Self, ResolveError> {
        Ok(Self {
            trainings: spec.trainings()?,
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
        self.check_length(data)?;
        let mut checked = HashSet::new();
        for number in 0..self.trainings {
            let cell = self.spec.cell(number)?;
            // Whether a training can run depends on the source of the seed, not on the seed.
            let train = serde_json::to_string(&cell.train).unwrap_or_default();
            if !checked.insert((train, cell.seed.is_none())) {
                continue;
            }
            let data = DataSpec {
                is_seed_drawn: data.is_seed_drawn && cell.seed.is_none(),
                ..data.clone()
            };
            let check = || {
                let job = TrainJob::new(&cell.train, seed)?;
                let job = job.with(&cell.train, None, &data)?;
                job.check(input, allowance)
            };
            if let Err(error) = check() {
                if let ResolveError::Task(TaskError::Unread(_)) = error {
                    // Nothing is known of the training: the examples could not be read just now.
                    return Err(error);
                }
                let (cell, error) = (Box::new(cell), Box::new(error));
                return Err(ResolveError::Cell { cell, error });
            }
        }
        Ok(())
    }

    /// Counts what is known of the data, too: each training is stored with the whole of it.
    fn check_length(&self, data: &DataSpec) -> Result<(), GridError> {
        let of_data = serde_json::to_vec(data).map_or(u64::MAX, |text| text.len() as u64);
        let each = self.spec.training_bytes().saturating_add(of_data);
        let bytes = each.saturating_mul(self.trainings.into());
        if bytes <= PARTS_REQUEST_BYTES_MAX {
            return Ok(());
        }
        let trainings = self.trainings;
        let detail = format!(
            "the requests of the {trainings} trainings take up to {bytes} bytes together, with names of features \
             and given weights in each, more than parts_request_bytes_max: {PARTS_REQUEST_BYTES_MAX}"
        );
        let pointer = String::new();
        Err(GridError { pointer, detail })
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
