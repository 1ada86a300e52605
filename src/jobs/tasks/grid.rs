//! The task `grid`: checks every training when a grid is accepted, and gathers the results.

use std::collections::HashMap;
use std::sync::Arc;

use halfspace_core::learners::engine::input::TaskError;
use halfspace_core::learners::engine::random::Seed;
use halfspace_core::learners::engine::run::{Interrupt, Run};

use crate::records::grid::{GridError, GridResult, GridSpec};
use crate::records::job::PARTS_REQUEST_BYTES_MAX;
use crate::records::task::DataSpec;
use crate::records::train::Seconds;
use crate::records::{Status, SubjobOutcome};
use crate::storage::JobEnd;

use super::data::TaskData;
use super::error::ResolveError;
use super::memory_bound;
use super::task::{About, Allowance, Inputs, Task};
use super::train::Train;

/// A grid of trainings on common data.
#[derive(Debug)]
pub(super) struct Grid {
    spec: GridSpec,
    trainings: u32,
    /// The expected seconds of all trainings, once they are checked.
    seconds: f64,
    seed: Seed,
    described: DataSpec,
    data: Arc<TaskData>,
    /// The outcomes of the trainings, once they have ended.
    outcomes: Vec<SubjobOutcome>,
}

impl Task for Grid {
    type Spec = GridSpec;
    type Output = GridResult;

    fn new(
        spec: &GridSpec,
        described: &DataSpec,
        mut inputs: Inputs,
    ) -> Result<Self, ResolveError> {
        Ok(Self {
            trainings: spec.trainings()?,
            seconds: 0.0,
            spec: spec.clone(),
            seed: inputs.seed,
            described: described.clone(),
            data: inputs.data(described)?,
            outcomes: inputs.subjobs,
        })
    }

    /// Checks every training.
    fn check(&mut self, allowance: &Allowance) -> Result<(), ResolveError> {
        self.check_length()?;
        let mut checked = HashMap::new();
        for number in 0..self.trainings {
            let cell = self.spec.cell(number)?;
            // Whether a training can run depends on the source of the seed, not on the seed.
            let train = serde_json::to_string(&cell.train).unwrap_or_default();
            let alike = (train, cell.seed.is_none());
            if let Some(seconds) = checked.get(&alike) {
                self.seconds += seconds;
                continue;
            }
            let described = DataSpec {
                is_seed_drawn: self.described.is_seed_drawn && cell.seed.is_none(),
                ..self.described.clone()
            };
            let data = Arc::clone(&self.data);
            let train = Train::with_data(&cell.train, None, self.seed, &described, data, None);
            let limit = cell.train.stop.max_seconds.map(Seconds::get);
            let limit = limit.unwrap_or(allowance.seconds);
            let checked_train = train.and_then(|mut train| {
                train.check(allowance)?;
                Ok(train.expected_seconds(limit))
            });
            match checked_train {
                Ok(seconds) => {
                    self.seconds += seconds;
                    checked.insert(alike, seconds);
                }
                // An interrupted read of the examples is no error of the training.
                Err(error @ ResolveError::Task(TaskError::Unread(_))) => return Err(error),
                Err(error) => {
                    let (cell, error) = (Box::new(cell), Box::new(error));
                    return Err(ResolveError::Cell { cell, error });
                }
            }
        }
        Ok(())
    }

    /// Gathers the outcomes of the trainings.
    fn run(&self, _: Option<&[u8]>, _: &Run) -> Result<GridResult, Interrupt> {
        let gathered = GridResult::gather(&self.spec, &self.outcomes);
        Ok(gathered.expect("the grid was checked when it was accepted, and again at the claim"))
    }

    fn complete(&self, result: GridResult, about: &About<'_>) -> JobEnd {
        let mut trainings = result.trainings.iter();
        // One failed training fails the whole grid, so a missing training was cancelled.
        let is_whole = trainings.all(|training| training.status == Status::Succeeded);
        about.end(&result, !is_whole)
    }

    fn memory_bytes(&self, resident_bytes_max: u64) -> u64 {
        let one = memory_bound::any_training(self.data.input(), resident_bytes_max);
        one.max(memory_bound::gathering(self.trainings))
    }

    fn expected_seconds(&self, _: f64) -> f64 {
        self.seconds
    }

    fn subjobs(&self) -> Option<u32> {
        Some(self.trainings)
    }

    fn data(&self) -> Option<&Arc<TaskData>> {
        Some(&self.data)
    }
}

impl Grid {
    /// Checks the total length of the requests. The description of the data counts too, because each training
    /// is stored with a copy.
    fn check_length(&self) -> Result<(), GridError> {
        let checked = check_bytes(&self.described, self.spec.training_bytes(), self.trainings);
        checked.map_err(|detail| GridError {
            pointer: String::new(),
            detail,
        })
    }
}

/// Checks the total length of the requests of some trainings. `each` is the largest length of one request without the
/// description of the data.
pub(super) fn check_bytes(described: &DataSpec, each: u64, trainings: u32) -> Result<(), String> {
    let of_data = serde_json::to_vec(described).map_or(u64::MAX, |text| text.len() as u64);
    let bytes = each
        .saturating_add(of_data)
        .saturating_mul(trainings.into());
    if bytes <= PARTS_REQUEST_BYTES_MAX {
        return Ok(());
    }
    Err(format!(
        "the requests of the {trainings} trainings take up to {bytes} bytes in total, more than \
         parts_request_bytes_max: {PARTS_REQUEST_BYTES_MAX}; each request repeats the names of the \
         features and the given weights"
    ))
}
