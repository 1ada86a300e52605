//! What a job is asked to do, whatever it is, without its data.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::formats::{Assume, GeneratedSpec};

use super::certificates::{MaximumMarginSpec, SeparabilitySpec, VersionSpaceSpec};
use super::evaluation::EvaluateSpec;
use super::experiment::ExperimentSpec;
use super::experiment_part::ExperimentPartSpec;
use super::grid::GridSpec;
use super::id::ModelId;
use super::names::Names;
use super::train::{Seconds, TrainSpec};

/// All that is needed, with the data and the seed, to do the work again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobSpec {
    /// What to do.
    pub task: TaskSpec,
    /// What is known of the data besides their rows.
    pub data: DataSpec,
}

/// What is known of the data of a job besides their rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DataSpec {
    /// What the client declares of them.
    pub assume: Option<Assume>,
    /// What to draw, when the data are generated.
    pub generated: Option<GeneratedSpec>,
    /// What a 0 bit of Boolean rows was sent as: 0, or -1.
    #[serde(default)]
    pub zero_bit_value: i8,
    /// The names of features and classes.
    #[serde(default)]
    pub names: Names,
    /// Whether the service drew the seed of generated data for this very run.
    #[serde(default)]
    pub is_seed_drawn: bool,
    /// The seed that the examples of a dataset were drawn from, where they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Duplicates and contradictions of a sample that were counted when it was stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repetitions: Option<(u64, u64)>,
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
    /// Hold a model against examples.
    Evaluate(EvaluateSpec),
    /// Run an experiment, by parts.
    Experiment(ExperimentSpec),
    /// Run a part of one.
    ExperimentPart(ExperimentPartSpec),
    /// Run the trainings of a grid.
    Grid(GridSpec),
}

impl TaskSpec {
    /// Its name in requests and answers.
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
        }
    }

    /// The learner's name, where the task has one.
    pub fn learner(&self) -> Option<&str> {
        match self {
            Self::Train(spec) => Some(&spec.learner.name),
            Self::Separability(_)
            | Self::MaximumMargin(_)
            | Self::VersionSpace(_)
            | Self::Evaluate(_)
            | Self::Experiment(_)
            | Self::ExperimentPart(_)
            | Self::Grid(_) => None,
        }
    }

    /// The stored model that it reads, and the field that names it.
    pub fn model(&self) -> Option<(&'static str, ModelId)> {
        match self {
            Self::Evaluate(spec) => Some(("model", spec.model)),
            Self::Train(spec) => spec.warm_start.map(|start| ("warm_start", start.model)),
            Self::Separability(_)
            | Self::MaximumMargin(_)
            | Self::VersionSpace(_)
            | Self::Experiment(_)
            | Self::ExperimentPart(_)
            | Self::Grid(_) => None,
        }
    }

    /// Seconds of computing after which it ends, if the client said so.
    pub fn seconds_max(&self) -> Option<f64> {
        let seconds = match self {
            Self::Train(spec) => spec.stop.max_seconds,
            Self::Separability(spec) => spec.max_seconds,
            Self::MaximumMargin(spec) => spec.max_seconds,
            Self::VersionSpace(spec) => spec.max_seconds,
            Self::Evaluate(spec) => spec.max_seconds,
            Self::Grid(spec) => spec.seconds_max(),
            Self::Experiment(_) | Self::ExperimentPart(_) => None,
        };
        seconds.map(Seconds::get)
    }
}

impl JobSpec {
    /// What is asked of one of the parts of this, and the seed that it has of its own; nothing where
    /// there is no such part.
    pub fn part(&self, part: u32, parts: u32) -> Option<(Self, Option<u64>)> {
        let (mut seed, mut data) = (None, self.data.clone());
        let task = match &self.task {
            TaskSpec::Experiment(experiment) => TaskSpec::ExperimentPart(ExperimentPartSpec {
                experiment: experiment.clone(),
                parts,
                part,
            }),
            TaskSpec::Grid(grid) => {
                let cell = grid.cell(part).ok()?;
                seed = cell.seed;
                data.is_seed_drawn &= seed.is_none();
                TaskSpec::Train(cell.train)
            }
            _ => return None,
        };
        Some((Self { task, data }, seed))
    }

    /// As it is stored.
    pub fn to_json(&self) -> Value {
        let value = serde_json::to_value(self);
        value.expect("a spec has string keys and finite numbers")
    }
}
