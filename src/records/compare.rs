//! A comparison: several learners on the same splits of the same data, and the results of their trainings.

use std::iter;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use halfspace_core::certificates::{CONFIDENCE, CertificateKind, Certificates};
use halfspace_core::learners::catalogue::CATALOGUE;
use halfspace_core::learners::engine::committee::Multiclass;
use halfspace_core::learners::engine::outcome::Training;
use halfspace_formats::json;

use super::class_weight::StatedClassWeights;
use super::grid::{best, bytes};
use super::id::{JobId, ModelId};
use super::intervals::{ErrorInterval, ErrorIntervals, Simultaneous};
use super::job::{Status, SubjobOutcome};
use super::train::{
    AmongSpec, BoundDocument, FoldSpec, LearnerSpec, Share, StopSpec, TrainResult, TrainSpec,
    is_false,
};

/// The largest number of folds.
pub const FOLDS_MAX: u32 = 100;

/// The largest number of learners of a comparison.
pub const LEARNERS_MAX: usize = 100;

/// The number of folds without `folds` and `holdout`.
const FOLDS: u32 = 5;

/// Trains several learners on the same splits of the data, and the best of them on all of the data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = CompareRequest)]
pub struct CompareSpec {
    /// The learners. When absent, the service compares all learners that can learn from the data.
    #[serde(default = "all_learners", deserialize_with = "learners")]
    #[schema(value_type = Option<Vec<LearnerSpec>>, min_items = 1, max_items = 100)]
    pub learners: Vec<LearnerSpec>,
    /// Number of parts of a random division of the examples. Each part judges the trainings on the others. 5 when both
    /// `folds` and `holdout` are absent.
    #[schema(minimum = 2, maximum = 100)]
    pub folds: Option<u32>,
    /// Share of the examples that judges all trainings, between 0 and 1. Give either this field or `folds`.
    #[schema(value_type = Option<f64>, exclusive_minimum = 0, exclusive_maximum = 1)]
    pub holdout: Option<Share>,
    /// Whether each class has its share of every part, up to one example. The parts are then no independent draws, so
    /// no interval is certified.
    #[serde(default, skip_serializing_if = "is_false")]
    #[schema(required = false)]
    pub stratify: bool,
    /// How more than two classes are learnt, by all learners that can. `one-vs-rest` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multiclass: Option<Multiclass>,
    /// The weights of the classes in every training, as in a training. Each example judges once, whatever its weight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class_weight: Option<StatedClassWeights>,
    /// Stopping conditions of every training. Missing conditions take the defaults of each learner.
    #[serde(default, deserialize_with = "json::object")]
    #[schema(required = false)]
    pub stop: StopSpec,
}

/// Every learner of the catalogue with its default parameters.
fn all_learners() -> Vec<LearnerSpec> {
    let names = CATALOGUE.iter().map(|entry| entry.name);
    names.map(LearnerSpec::of_defaults).collect()
}

/// Reads the learners of a comparison. Null means every learner.
fn learners<'de, D: Deserializer<'de>>(list: D) -> Result<Vec<LearnerSpec>, D::Error> {
    let given = Option::<Vec<LearnerSpec>>::deserialize(list)?;
    Ok(given.unwrap_or_else(all_learners))
}

/// The reason why each learner of a comparison cannot learn from the data, in the order of the learners. The list is
/// empty if every learner can.
pub type Unfit = [Option<String>];

impl CompareSpec {
    /// The number of folds. None with a holdout.
    pub fn folds(&self) -> Option<u32> {
        match self.holdout {
            Some(_) => None,
            None => Some(self.folds.unwrap_or(FOLDS)),
        }
    }

    /// Trainings per learner.
    pub fn rounds(&self) -> u32 {
        self.folds().unwrap_or(1)
    }

    /// The learners that can learn from the data.
    pub fn fit<'s>(&'s self, unfit: &'s Unfit) -> impl Iterator<Item = &'s LearnerSpec> {
        let reasons = unfit.iter().map(Option::is_none).chain(iter::repeat(true));
        let learners = self.learners.iter().zip(reasons);
        learners.filter_map(|(learner, is_fit)| is_fit.then_some(learner))
    }

    /// Number of trainings before the training of the best learner.
    pub fn trainings(&self, unfit: &Unfit) -> u32 {
        self.rounds() * self.fit(unfit).count() as u32
    }

    /// The training with this index, from 0, and its place in the comparison. Folds change first.
    pub fn training(&self, unfit: &Unfit, index: u32) -> Option<(TrainSpec, AmongSpec)> {
        let learner = self.fit(unfit).nth((index / self.rounds()) as usize)?;
        let fold = |folds| FoldSpec {
            index: index % self.rounds(),
            folds,
        };
        let among = AmongSpec {
            fold: self.folds().map(fold),
            ..self.among(unfit)
        };
        Some((self.training_of(learner), among))
    }

    /// The largest size of the request of one training in bytes, without the description of the data.
    pub fn training_bytes(&self, unfit: &Unfit) -> u64 {
        let request = |learner| bytes(&self.training_of(learner));
        self.fit(unfit).map(request).max().unwrap_or(0)
    }

    /// The training of a learner on the examples that do not judge it.
    pub fn training_of(&self, learner: &LearnerSpec) -> TrainSpec {
        TrainSpec {
            holdout: self.holdout,
            stratify: self.stratify,
            ..self.whole_training(learner)
        }
    }

    /// The training of a learner on all examples.
    pub fn whole_training(&self, learner: &LearnerSpec) -> TrainSpec {
        TrainSpec {
            learner: learner.clone(),
            stop: self.stop.clone(),
            multiclass: self.multiclass,
            class_weight: self.class_weight.clone(),
            ..TrainSpec::of_defaults(&learner.name)
        }
    }

    /// The place of a training on all examples. The certificates of all fit learners hold at once.
    pub fn among(&self, unfit: &Unfit) -> AmongSpec {
        AmongSpec {
            trainings: self.fit(unfit).count().max(1) as u32,
            fold: None,
        }
    }

    /// Gives each learner the interval of its error.
    fn judge(&self, unfit: &Unfit, learners: &mut [ComparedLearner]) -> Option<ErrorIntervals> {
        let candidates = self.fit(unfit).count() as u32;
        if self.folds().is_some() {
            for learner in learners.iter_mut() {
                learner.interval = ErrorInterval::of_folds(&learner.folds);
            }
            let is_any = learners.iter().any(|learner| learner.interval.is_some());
            return is_any.then(|| ErrorIntervals::of_folds(candidates));
        }
        let confidence = self.stop.confidence.map_or(CONFIDENCE, Share::get);
        let mut intervals = Simultaneous::new("learners", candidates, confidence);
        for learner in learners {
            let held_out = learner.folds.first();
            let interval =
                held_out.and_then(|held_out| intervals.interval(*held_out, &learner.certified));
            learner.interval = interval;
        }
        intervals.stated()
    }
}

/// The result of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CompareResult {
    /// All learners in the order of the request.
    pub learners: Vec<ComparedLearner>,
    /// Index of the best learner, from 0. The best learner has the smallest share of errors on the examples that
    /// judge the learners. Fewer mistakes decide between equal shares, then the smaller index. Null if a training was
    /// cancelled.
    pub best: Option<u32>,
    /// What the intervals of the learners say. Null until a learner is judged.
    pub intervals: Option<ErrorIntervals>,
    /// The model of the best learner, trained on all of the data.
    pub model: Option<ModelId>,
    /// The result of that training. The confidence of each certificate allows for the choice among the learners.
    #[schema(value_type = Option<TrainResult>)]
    pub training: Option<BestTraining>,
}

/// The result of the training of the best learner, with the name of the task as in the results of jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "task", rename_all = "snake_case")]
pub enum BestTraining {
    /// The only task.
    Train(Box<TrainResult>),
}

/// A learner of a comparison and the results of its trainings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ComparedLearner {
    /// Name of the learner.
    pub name: String,
    /// Parameters of the learner as requested.
    #[schema(value_type = Object)]
    pub params: Map<String, Value>,
    /// The reason why the learner cannot learn from the data. Null if the learner was trained.
    pub unfit: Option<String>,
    /// The jobs of the trainings, one per fold.
    pub jobs: Vec<JobId>,
    /// The errors on the held-out examples of each training.
    pub folds: Vec<Training>,
    /// Errors on all held-out examples.
    pub errors: Option<u64>,
    /// Number of held-out examples.
    pub examples: Option<u64>,
    /// Share of errors on the held-out examples.
    pub error_rate: Option<f64>,
    /// Interval of the error, as `intervals` states it.
    pub interval: Option<ErrorInterval>,
    /// Mistakes of all trainings.
    pub mistakes: Option<u64>,
    /// Updates of all trainings.
    pub updates: Option<u64>,
    /// Seconds of computing of all trainings.
    pub seconds: Option<f64>,
    /// The bound of a theorem on the mistakes. Null with folds, because each fold has a bound of its own.
    pub bound: Option<BoundDocument>,
    #[serde(flatten)]
    pub certified: Certificates,
}

impl CompareResult {
    /// Combines the results of the trainings, which are in their order, before the best learner is trained on all of
    /// the data.
    pub fn gather(spec: &CompareSpec, unfit: &Unfit, subjobs: &[SubjobOutcome]) -> Self {
        let mut rounds = subjobs.chunks(spec.rounds() as usize);
        let reasons = unfit.iter().cloned().chain(iter::repeat(None));
        let compared = spec.learners.iter().zip(reasons);
        let mut learners: Vec<_> = compared
            .map(|(learner, unfit)| {
                let own = if unfit.is_none() { rounds.next() } else { None };
                ComparedLearner::of(learner, unfit, own.unwrap_or(&[]))
            })
            .collect();
        let intervals = spec.judge(unfit, &mut learners);
        let is_whole = subjobs
            .iter()
            .all(|subjob| subjob.status == Status::Succeeded);
        let judged = learners.iter().zip(0..).filter_map(|(learner, number)| {
            let (errors, examples) = (learner.errors?, learner.examples?);
            Some((Training { errors, examples }, learner.mistakes, number))
        });
        Self {
            best: best(judged).filter(|_| is_whole),
            learners,
            intervals,
            model: None,
            training: None,
        }
    }
}

impl ComparedLearner {
    fn of(learner: &LearnerSpec, unfit: Option<String>, subjobs: &[SubjobOutcome]) -> Self {
        let result =
            |subjob: &SubjobOutcome| TrainResult::deserialize(subjob.result.as_ref()?).ok();
        let results: Vec<TrainResult> = subjobs.iter().filter_map(result).collect();
        let folds: Vec<_> = results.iter().filter_map(|result| result.holdout).collect();
        // A sum over some of the folds would not be comparable.
        let is_whole = !subjobs.is_empty() && folds.len() == subjobs.len();
        let sum =
            |count: fn(&TrainResult) -> u64| is_whole.then(|| results.iter().map(count).sum());
        let errors = is_whole.then(|| folds.iter().map(|fold| fold.errors).sum());
        let examples = is_whole.then(|| folds.iter().map(|fold| fold.examples).sum());
        let rate = |(errors, examples): (u64, u64)| errors as f64 / examples as f64;
        let (mistakes, updates) = (sum(|result| result.mistakes), sum(|result| result.updates));
        let seconds = is_whole.then(|| results.iter().map(|result| result.seconds).sum());
        let first = results.into_iter().next();
        let bound = first.as_ref().and_then(|result| result.bound.clone());
        // The other certificates speak of a hypothesis that nobody keeps.
        let certified = first.map(|result| result.certified.only(CertificateKind::TestSet));
        Self {
            name: learner.name.clone(),
            params: learner.params.clone(),
            unfit,
            jobs: subjobs.iter().map(|subjob| subjob.job).collect(),
            folds,
            errors,
            examples,
            error_rate: errors.zip(examples).map(rate),
            interval: None,
            mistakes,
            updates,
            seconds,
            bound: bound.filter(|_| subjobs.len() == 1),
            certified: certified.unwrap_or_default(),
        }
    }
}
