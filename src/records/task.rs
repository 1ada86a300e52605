//! The request of a job of any kind, without the rows of its data.
//!
//! The store keeps it in the same form. Together with the data and the seed, it suffices to repeat the work.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use halfspace_formats::{Assume, GeneratedSpec, Recoding};

use super::compare::CompareSpec;
use super::evaluation::EvaluateSpec;
use super::experiment::ExperimentSpec;
use super::experiment_part::ExperimentPartSpec;
use super::grid::GridSpec;
use super::id::ModelId;
use super::import::{ImportSpec, SourceVersion};
use super::names::Names;
use super::separability::{MaximumMarginSpec, SeparabilitySpec, VersionSpaceSpec};
use super::train::{AmongSpec, Seconds, TrainSpec};

/// The request of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobSpec {
    /// The work to do, as the client asked for it.
    pub task: TaskSpec,
    /// The facts that the service adds.
    pub data: DataSpec,
}

/// What the service knows about the data of a job, and about the job's place among others on the same data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DataSpec {
    /// The distribution that the client declares.
    pub assume: Option<Assume>,
    /// The examples to draw, if the data are generated.
    pub generated: Option<GeneratedSpec>,
    /// The value that a 0 bit of Boolean rows was sent as: 0 or -1.
    #[serde(default)]
    pub zero_bit_value: i8,
    /// The names of features and classes.
    #[serde(default)]
    pub names: Names,
    /// The class codes that a dataset gets from the model that reads it.
    #[serde(default, skip_serializing_if = "Recoding::is_identity")]
    pub recoding: Recoding,
    /// Whether the service drew the seed of generated data for this run alone.
    #[serde(default)]
    pub is_seed_drawn: bool,
    /// The seed of the examples of a dataset, if they were generated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Numbers of duplicates and contradictions of a stored sample, if they were counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repetitions: Option<(u64, u64)>,
    /// The grid or comparison that a training is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub among: Option<AmongSpec>,
    /// The reason why each learner of a comparison cannot learn from the data.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unfit: Vec<Option<String>>,
    /// The version of the object that an import reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceVersion>,
}

impl JobSpec {
    /// Whether the work encodes the table of its data again, so that its features do not depend on what it holds out.
    pub fn needs_cells(&self) -> bool {
        // A training of a comparison holds out its fold.
        let fold = self.data.among.and_then(|among| among.fold);
        let holds_out = self.task.splits() || fold.is_some();
        let table = self.data.names.table.as_ref();
        holds_out && table.is_some_and(|table| table.depends_on_rows())
    }
}

impl DataSpec {
    /// The seed that generated the data of a job with the seed `seed`, if one did.
    pub fn data_seed(&self, seed: u64) -> Option<u64> {
        self.generated.as_ref().map(|_| seed).or(self.seed)
    }
}

/// One kind of work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskSpec {
    /// Train a learner.
    Train(TrainSpec),
    /// Decide whether a hyperplane separates the examples.
    Separability(SeparabilitySpec),
    /// Find the hyperplane with the largest margin.
    MaximumMargin(MaximumMarginSpec),
    /// Find all binary weights that agree with the examples.
    VersionSpace(VersionSpaceSpec),
    /// Evaluate a model on examples.
    Evaluate(EvaluateSpec),
    /// Run an experiment, divided into parts.
    Experiment(ExperimentSpec),
    /// Run one part of an experiment.
    ExperimentPart(ExperimentPartSpec),
    /// Run the trainings of a grid.
    Grid(GridSpec),
    /// Compare learners on the same splits.
    Compare(CompareSpec),
    /// Store an object of a bucket as a dataset.
    Import(ImportSpec),
}

impl TaskSpec {
    /// The name of the task in requests and responses.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Train(_) => "train",
            Self::Separability(_) => "separability",
            Self::MaximumMargin(_) => "maximum_margin",
            Self::VersionSpace(_) => "version_space",
            Self::Evaluate(_) => "evaluate",
            Self::Experiment(_) => "experiment",
            Self::ExperimentPart(_) => "experiment_part",
            Self::Grid(_) => "grid",
            Self::Compare(_) => "compare",
            Self::Import(_) => "import",
        }
    }

    /// The learner's name, if the task has a learner.
    pub fn learner(&self) -> Option<&str> {
        match self {
            Self::Train(spec) => Some(&spec.learner.name),
            Self::Separability(_)
            | Self::MaximumMargin(_)
            | Self::VersionSpace(_)
            | Self::Evaluate(_)
            | Self::Experiment(_)
            | Self::ExperimentPart(_)
            | Self::Grid(_)
            | Self::Compare(_)
            | Self::Import(_) => None,
        }
    }

    /// Whether trainings of the task hold examples out.
    pub fn splits(&self) -> bool {
        match self {
            Self::Train(train) => train.holdout.is_some(),
            Self::Grid(_) | Self::Compare(_) => true,
            Self::Separability(_)
            | Self::MaximumMargin(_)
            | Self::VersionSpace(_)
            | Self::Evaluate(_)
            | Self::Experiment(_)
            | Self::ExperimentPart(_)
            | Self::Import(_) => false,
        }
    }

    /// The stored model that the task reads, and the request field that names the model.
    pub fn model(&self) -> Option<(&'static str, ModelId)> {
        match self {
            Self::Evaluate(spec) => Some(("model", spec.model)),
            Self::Train(spec) => spec.warm_start.map(|model| ("warm_start", model)),
            Self::Separability(_)
            | Self::MaximumMargin(_)
            | Self::VersionSpace(_)
            | Self::Experiment(_)
            | Self::ExperimentPart(_)
            | Self::Grid(_)
            | Self::Compare(_)
            | Self::Import(_) => None,
        }
    }

    /// Time limit of the task in seconds of computing, if the client set one.
    pub fn seconds_max(&self) -> Option<f64> {
        let seconds = match self {
            Self::Train(spec) => spec.stop.max_seconds,
            Self::Separability(spec) => spec.max_seconds,
            Self::MaximumMargin(spec) => spec.max_seconds,
            Self::VersionSpace(spec) => spec.max_seconds,
            Self::Evaluate(spec) => spec.max_seconds,
            Self::Grid(spec) => spec.seconds_max(),
            Self::Compare(spec) => spec.stop.max_seconds,
            Self::Import(spec) => spec.max_seconds,
            Self::Experiment(_) | Self::ExperimentPart(_) => None,
        };
        seconds.map(Seconds::get)
    }
}

impl JobSpec {
    /// The request of one subjob of this job, and its own seed if it has one. `None` if the job has no such subjob.
    pub fn subjob(&self, index: u32, subjobs: u32) -> Option<(Self, Option<u64>)> {
        let (mut seed, mut data) = (None, self.data.clone());
        let task = match &self.task {
            TaskSpec::Experiment(experiment) => TaskSpec::ExperimentPart(ExperimentPartSpec {
                experiment: experiment.clone(),
                parts: subjobs,
                part: index,
            }),
            TaskSpec::Grid(grid) => {
                let cell = grid.cell(index).ok()?;
                seed = cell.seed;
                data.is_seed_drawn &= seed.is_none();
                data.among = Some(AmongSpec {
                    trainings: subjobs,
                    fold: None,
                });
                TaskSpec::Train(cell.train)
            }
            TaskSpec::Compare(compare) => {
                let unfit = std::mem::take(&mut data.unfit);
                let (train, among) = compare.training(&unfit, index)?;
                data.among = Some(among);
                TaskSpec::Train(train)
            }
            _ => return None,
        };
        Some((Self { task, data }, seed))
    }

    /// The request as stored JSON.
    pub fn to_json(&self) -> Value {
        let value = serde_json::to_value(self);
        value.expect("a spec has string keys and finite numbers")
    }
}
