//! Grid jobs: the check of every training when a grid is accepted, and the gathering of the results.

use std::collections::HashSet;

use halfspace_core::learners::engine::random::Seed;
use halfspace_core::learners::engine::task::{Input, TaskError};

use crate::records::grid::{GridError, GridResult, GridSpec};
use crate::records::job::PARTS_REQUEST_BYTES_MAX;
use crate::records::task::DataSpec;
use crate::records::{PartOutcome, Status};

use super::completion::{Completion, json};
use super::train_job::TrainJob;
use super::work::{Allowance, ResolveError};

/// A grid whose trainings are checked.
#[derive(Clone, Debug)]
pub(super) struct GridJob {
    spec: GridSpec,
    trainings: u32,
    /// The outcomes of the trainings, once they have ended.
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

    /// Checks every training against the common data.
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
                    // An interrupted read of the examples is no error of the training.
                    return Err(error);
                }
                let (cell, error) = (Box::new(cell), Box::new(error));
                return Err(ResolveError::Cell { cell, error });
            }
        }
        Ok(())
    }

    /// Checks the total length of the requests. The description of the data counts too, because each training
    /// is stored with a copy.
    fn check_length(&self, data: &DataSpec) -> Result<(), GridError> {
        let of_data = serde_json::to_vec(data).map_or(u64::MAX, |text| text.len() as u64);
        let each = self.spec.training_bytes().saturating_add(of_data);
        let bytes = each.saturating_mul(self.trainings.into());
        if bytes <= PARTS_REQUEST_BYTES_MAX {
            return Ok(());
        }
        let trainings = self.trainings;
        let detail = format!(
            "the requests of the {trainings} trainings take up to {bytes} bytes in total, more \
             than parts_request_bytes_max: {PARTS_REQUEST_BYTES_MAX}; each request repeats the \
             names of the features and the given weights"
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

    /// Gathers the outcomes of the trainings.
    pub(super) fn gather(&self) -> GridResult {
        let gathered = GridResult::gather(&self.spec, &self.outcomes);
        gathered.expect("the grid was checked when it was accepted, and again when it was claimed")
    }
}

/// The result of a grid.
pub(super) fn completion(result: &GridResult) -> Completion {
    let is_whole = result
        .trainings
        .iter()
        .all(|training| training.status == Status::Succeeded);
    Completion {
        result: json(result),
        // One failed training fails the whole grid, so a missing training was cancelled.
        is_cancelled: !is_whole,
        counts: None,
        model: None,
        trace: None,
    }
}
