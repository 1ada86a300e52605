//! A comparison: several learners on the same splits of the same data, and the results of their trainings.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use halfspace_core::certificates::{CONFIDENCE, CertificateKind, Certificates};
use halfspace_core::learners::engine::outcome::Training;

use super::grid::{best, bytes};
use super::id::{JobId, ModelId};
use super::intervals::{ErrorInterval, ErrorIntervals, Simultaneous};
use super::job::{Status, SubjobOutcome};
use super::train::{
    AmongSpec, BoundDocument, FoldSpec, LearnerSpec, Share, StopSpec, TrainResult, TrainSpec,
};

/// The largest number of folds.
pub const FOLDS_MAX: u32 = 100;

/// The largest number of learners of a comparison.
pub const LEARNERS_MAX: usize = 100;

/// The learners and the split of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompareSpec {
    /// The learners in the order of the result.
    pub learners: Vec<ComparedSpec>,
    /// The examples that judge the learners.
    pub split: SplitSpec,
    /// The stopping conditions of every training.
    pub stop: StopSpec,
}

/// A learner of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedSpec {
    /// The learner and its parameters.
    pub learner: LearnerSpec,
    /// The reason why the learner cannot learn from the data. The check of the comparison finds the reasons.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfit: Option<String>,
}

/// The examples that judge the learners.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SplitSpec {
    /// One random subset of this share.
    Holdout(Share),
    /// Each part of a random division into this number of parts.
    Folds(u32),
}

impl CompareSpec {
    /// Trainings per learner.
    pub fn rounds(&self) -> u32 {
        match self.split {
            SplitSpec::Holdout(_) => 1,
            SplitSpec::Folds(folds) => folds,
        }
    }

    /// The learners that can learn from the data.
    pub fn fit(&self) -> impl Iterator<Item = &ComparedSpec> {
        self.learners
            .iter()
            .filter(|compared| compared.unfit.is_none())
    }

    /// Number of trainings before the training of the best learner.
    pub fn trainings(&self) -> u32 {
        self.rounds() * self.fit().count() as u32
    }

    /// The training with this index, from 0. Folds change first.
    pub fn training(&self, index: u32) -> Option<TrainSpec> {
        let compared = self.fit().nth((index / self.rounds()) as usize)?;
        Some(self.training_of(&compared.learner, index % self.rounds()))
    }

    /// The largest size of the request of one training in bytes, without the description of the data.
    pub fn training_bytes(&self) -> u64 {
        let request = |compared: &ComparedSpec| bytes(&self.training_of(&compared.learner, 0));
        self.fit().map(request).max().unwrap_or(0)
    }

    /// The training of a learner on all examples but those of a round.
    pub fn training_of(&self, learner: &LearnerSpec, round: u32) -> TrainSpec {
        let (holdout, fold) = match self.split {
            SplitSpec::Holdout(share) => (Some(share), None),
            SplitSpec::Folds(folds) => (
                None,
                Some(FoldSpec {
                    index: round,
                    folds,
                }),
            ),
        };
        TrainSpec {
            holdout,
            among: Some(AmongSpec {
                trainings: self.fit().count().max(1) as u32,
                fold,
            }),
            ..self.whole_training(learner)
        }
    }

    /// Gives each learner the interval of its error.
    fn judge(&self, learners: &mut [ComparedLearner]) -> Option<ErrorIntervals> {
        let candidates = self.fit().count() as u32;
        if let SplitSpec::Folds(_) = self.split {
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

    /// The training of a learner on all examples.
    pub fn whole_training(&self, learner: &LearnerSpec) -> TrainSpec {
        TrainSpec {
            learner: learner.clone(),
            stop: self.stop.clone(),
            trace: false,
            holdout: None,
            among: Some(AmongSpec {
                trainings: self.fit().count().max(1) as u32,
                fold: None,
            }),
            warm_start: None,
        }
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
    /// Combines the results of the trainings in their order, before the best learner is trained on all of the data.
    pub fn gather(spec: &CompareSpec, subjobs: &[SubjobOutcome]) -> Self {
        let mut rounds = subjobs.chunks(spec.rounds() as usize);
        let mut learners: Vec<_> = spec
            .learners
            .iter()
            .map(|compared| match compared.unfit {
                Some(_) => ComparedLearner::of(compared, &[]),
                None => ComparedLearner::of(compared, rounds.next().unwrap_or(&[])),
            })
            .collect();
        let intervals = spec.judge(&mut learners);
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
    fn of(compared: &ComparedSpec, subjobs: &[SubjobOutcome]) -> Self {
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
            name: compared.learner.name.clone(),
            params: compared.learner.params.clone(),
            unfit: compared.unfit.clone(),
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
