//! The task `compare`: leaves out the learners that do not fit the data, gathers the trainings of the others, and then
//! trains the best of these learners on all of the data.

use std::ops::ControlFlow;
use std::sync::Arc;

use halfspace_core::learners::catalogue::CATALOGUE;
use halfspace_core::learners::engine::entry::LearnerEntry;
use halfspace_core::learners::engine::input::{Input, TaskError};
use halfspace_core::learners::engine::random::Seed;
use halfspace_core::learners::engine::run::{Interrupt, Run};
use halfspace_core::learners::sample::classes::BlockCodes;
use halfspace_core::learners::sample::examples::for_each_rows;

use crate::records::compare::{BestTraining, CompareResult, CompareSpec};
use crate::records::task::DataSpec;
use crate::records::train::{AmongSpec, TrainSpec};
use crate::records::{Status, SubjobOutcome};
use crate::storage::JobEnd;

use super::data::{JobSample, TaskData};
use super::error::ResolveError;
use super::error::unfit_reason;
use super::grid;
use super::memory_bound;
use super::task::{About, Allowance, Inputs, Task};
use super::train::{Train, Trained};

/// A comparison of learners on common data.
#[derive(Debug)]
pub(super) struct Compare {
    spec: CompareSpec,
    seed: Seed,
    /// Before the job is accepted, the unfit learners are unknown.
    described: DataSpec,
    data: Arc<TaskData>,
    /// The outcomes of the trainings, once they have ended.
    outcomes: Vec<SubjobOutcome>,
}

/// The output of a run: the table, and the training of the best learner.
pub(super) struct Compared {
    result: CompareResult,
    best: Option<(Train, Trained)>,
}

impl Task for Compare {
    type Spec = CompareSpec;
    type Output = Compared;

    const HAS_STATE: bool = true;

    fn new(
        spec: &CompareSpec,
        described: &DataSpec,
        mut inputs: Inputs,
    ) -> Result<Self, ResolveError> {
        Ok(Self {
            spec: spec.clone(),
            seed: inputs.seed,
            described: described.clone(),
            data: inputs.data(described)?,
            outcomes: inputs.subjobs,
        })
    }

    fn check(&mut self, allowance: &Allowance) -> Result<(), ResolveError> {
        if allowance.is_accepted {
            return Ok(());
        }
        self.check_classes()?;
        self.check_split()?;
        let mut reasons = Vec::new();
        let among = self.spec.training(&[], 0).map(|(_, among)| among);
        for (at, learner) in self.spec.learners.iter().enumerate() {
            let train = self.train(&self.spec.training_of(learner), among);
            match unfit(train, allowance) {
                Ok(reason) => reasons.push(reason),
                // An interrupted read of the examples says nothing about the learner.
                Err(error @ ResolveError::Task(_)) => return Err(error),
                Err(error) => {
                    let error = Box::new(error);
                    return Err(ResolveError::Compared { at, error });
                }
            }
        }
        if !reasons.contains(&None) {
            return Err(ResolveError::NoneFits(
                reasons.into_iter().flatten().collect(),
            ));
        }
        let (each, trainings) = (
            self.spec.training_bytes(&reasons),
            self.spec.trainings(&reasons),
        );
        let checked = grid::check_bytes(&self.described, each, trainings);
        // The trainings share the allowed error, so their number is the number of the fit learners.
        self.described.unfit = reasons;
        checked.map_err(|detail| ResolveError::Field {
            field: "learners",
            detail,
        })
    }

    fn run(&self, state: Option<&[u8]>, run: &Run) -> Result<Compared, Interrupt> {
        let unfit = &self.described.unfit;
        let result = CompareResult::gather(&self.spec, unfit, &self.outcomes);
        let Some(best) = result.best else {
            return Ok(Compared { result, best: None });
        };
        let learner = &self.spec.learners[best as usize];
        let among = self.spec.among(unfit);
        let train = self
            .train(&self.spec.whole_training(learner), Some(among))
            .expect("the learner was checked when the comparison was accepted");
        let outcome = train.run(state, run)?;
        Ok(Compared {
            result,
            best: Some((train, outcome)),
        })
    }

    fn complete(&self, compared: Compared, about: &About<'_>) -> JobEnd {
        let Compared { mut result, best } = compared;
        let Some((train, outcome)) = best else {
            return about.end(&result, true);
        };
        let trained = train.complete(outcome, about);
        let is_cancelled = trained.status == Status::Cancelled;
        result.model = trained.model.as_ref().map(|model| model.summary.id);
        let training = trained.result.clone();
        let training = training.and_then(|training| serde_json::from_value(training).ok());
        result.training = training.map(|training| BestTraining::Train(Box::new(training)));
        JobEnd {
            model: trained.model,
            ..about.end(&result, is_cancelled)
        }
    }

    fn document_bytes(&self, compared: &Compared) -> u64 {
        let best = compared.best.as_ref();
        best.map_or(0, |(train, outcome)| train.document_bytes(outcome))
    }

    fn memory_bytes(&self, resident_bytes_max: u64) -> u64 {
        let one = memory_bound::any_training(self.data.input(), resident_bytes_max);
        one.saturating_add(memory_bound::gathering(self.trainings()))
    }

    /// The trainings of all rounds, and the longest training once more for the best learner.
    fn expected_seconds(&self, limit: f64) -> f64 {
        let each = self.spec.fit(&self.described.unfit).map(|learner| {
            let train = self.train(&self.spec.whole_training(learner), None);
            train.map_or(limit, |train| train.expected_seconds(limit))
        });
        let (all, longest) = each.fold((0.0, 0.0), |(all, longest), seconds| {
            (all + seconds, f64::max(longest, seconds))
        });
        all * f64::from(self.spec.rounds()) + longest
    }

    fn subjobs(&self) -> Option<u32> {
        Some(self.trainings())
    }

    fn unfit(&self) -> Vec<Option<String>> {
        self.described.unfit.clone()
    }

    fn data(&self) -> Option<&Arc<TaskData>> {
        Some(&self.data)
    }
}

/// For each learner of the catalogue, the reason why it cannot learn from a sample with its default parameters, or
/// `None` if it can.
///
/// # Errors
/// An interrupted read of the sample.
pub fn unfit_learners(
    described: &DataSpec,
    sample: JobSample,
    allowance: &Allowance,
) -> Result<Vec<Option<String>>, ResolveError> {
    // The check of a training on a sample does not depend on the seed.
    let seed = Seed(0);
    let data = Arc::new(TaskData::new(described, seed, Some(sample))?);
    let reason = |entry: &&LearnerEntry| {
        let spec = TrainSpec::of_defaults(entry.name);
        let train = Train::with_data(&spec, None, seed, described, Arc::clone(&data), None);
        unfit(train, allowance)
    };
    CATALOGUE.iter().map(reason).collect()
}

/// Returns the reason why the learner of a training cannot learn from the data, or none if the learner can.
fn unfit(
    train: Result<Train, ResolveError>,
    allowance: &Allowance,
) -> Result<Option<String>, ResolveError> {
    match train.and_then(|mut train| train.check(allowance)) {
        Ok(()) => Ok(None),
        Err(error @ ResolveError::Task(TaskError::Unread(_))) => Err(error),
        Err(ResolveError::Task(error)) => Ok(Some(unfit_reason(&error))),
        Err(error @ ResolveError::Intractable(_)) => Ok(Some(error.to_string())),
        Err(error) => Err(error),
    }
}

impl Compare {
    /// Number of trainings before the training of the best learner.
    fn trainings(&self) -> u32 {
        self.spec.trainings(&self.described.unfit)
    }

    fn train(&self, spec: &TrainSpec, among: Option<AmongSpec>) -> Result<Train, ResolveError> {
        let data = Arc::clone(&self.data);
        Train::with_data(spec, among, self.seed, &self.described, data, None)
    }

    /// Checks that every part of the split has examples.
    fn check_split(&self) -> Result<(), ResolveError> {
        let Some(examples) = self.data.input().examples() else {
            let detail = "a comparison needs limited data; set a count for the generated data";
            return Err(TaskError::WrongData(detail.to_owned()).into());
        };
        let folds = self.spec.folds().unwrap_or_default();
        let (field, detail) = match self.spec.holdout {
            Some(share) => {
                let held_out = (share.get() * examples as f64).round() as u64;
                if (1..examples).contains(&held_out) {
                    return Ok(());
                }
                let share = share.get();
                (
                    "holdout",
                    format!(
                        "the share {share} of {examples} examples, rounded, leaves one part \
                         without examples"
                    ),
                )
            }
            None if u64::from(folds) <= examples => return Ok(()),
            None => (
                "folds",
                format!("{examples} examples cannot make {folds} folds; use fewer folds"),
            ),
        };
        Err(ResolveError::Field { field, detail })
    }

    /// Checks that stored or sent labels have two values at least. A constant would win every comparison otherwise.
    fn check_classes(&self) -> Result<(), ResolveError> {
        let Input::Sample { data, .. } = self.data.input() else {
            return Ok(());
        };
        if !data.shape().labels.is_labelled() {
            return Ok(());
        }
        let (mut first, mut differs) = (None, false);
        let read = for_each_rows(data, |_, rows| {
            let signs = || BlockCodes::of_signs(rows.positives());
            let codes = rows.codes().unwrap_or_else(signs);
            codes.count(rows.count(), |code, examples| {
                differs |= examples > 0 && *first.get_or_insert(code) != code;
            });
            match differs {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        read.map_err(TaskError::Unread)?;
        if differs {
            return Ok(());
        }
        let detail = "all examples have one class; a comparison needs examples of two";
        Err(TaskError::WrongData(detail.to_owned()).into())
    }
}
