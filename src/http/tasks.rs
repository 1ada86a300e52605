//! The tasks of a job as a request names them: one field a task, with its data.

use std::collections::BTreeMap;

use halfspace_formats::{DataForm, json};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::records::evaluation::EvaluateSpec;
use crate::records::grid::GridSpec;
use crate::records::hypothesis::ReadingName;
use crate::records::separability::{
    ConventionName, ListLength, MaximumMarginSpec, SeparabilitySpec, VersionSpaceSpec,
};
use crate::records::task::TaskSpec;
use crate::records::train::{
    LearnerSpec, Seconds, SeedNumber, Share, StopSpec, TrainSpec, WarmStartSpec,
};
use crate::records::{ModelId, Priority, written};

use super::data_schema;
use super::experiments::ExperimentRequest;
use super::problem::{Code, FieldError, Problem};

/// A job to be made: exactly one task, and what is said of the job itself.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct JobRequest {
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = TrainRequest, required = false)]
    train: Option<TrainRequest>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = SeparabilityRequest, required = false)]
    separability: Option<SeparabilityRequest>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = MaximumMarginRequest, required = false)]
    maximum_margin: Option<MaximumMarginRequest>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = VersionSpaceRequest, required = false)]
    version_space: Option<VersionSpaceRequest>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = EvaluateRequest, required = false)]
    evaluate: Option<EvaluateRequest>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = ExperimentRequest, required = false)]
    experiment: Option<ExperimentRequest>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = GridRequest, required = false)]
    grid: Option<GridRequest>,
    /// Free text.
    #[schema(max_length = 256)]
    pub name: Option<String>,
    /// Where to send the end of the job; needs a configured secret.
    #[schema(format = "uri", max_length = 2048)]
    pub callback: Option<String>,
    /// Jobs of higher priority go first, among those of the same key; 0 when absent.
    #[schema(value_type = Option<i32>, minimum = -10, maximum = 10)]
    pub priority: Option<Priority>,
}

/// Train a learner on data.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TrainRequest {
    #[serde(deserialize_with = "written::learner")]
    learner: LearnerSpec,
    #[schema(schema_with = data_schema::reference)]
    data: DataForm,
    /// Of every random choice; drawn, and reported, when absent.
    seed: Option<SeedNumber>,
    /// Whether the mistake curve is kept.
    #[serde(default)]
    trace: bool,
    /// The share of the examples that the learner is not shown, between 0 and 1: a random subset,
    /// drawn from the seed, of this share rounded to whole examples, on which the errors of the
    /// hypothesis are counted in the end. Where the examples are independent, as `assume` declares
    /// and generated ones are, the rest is so too, and confidence rules hold as ever.
    #[schema(value_type = Option<f64>, exclusive_minimum = 0, exclusive_maximum = 1)]
    holdout: Option<Share>,
    /// The model whose hypothesis the training begins from; counts begin at 0 all the same.
    warm_start: Option<ModelId>,
    #[serde(default, deserialize_with = "json::object")]
    stop: StopSpec,
}

/// Decide whether a hyperplane separates the examples, with a certificate.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SeparabilityRequest {
    #[schema(schema_with = data_schema::reference)]
    data: DataForm,
    /// Whether the hyperplane may miss the origin.
    #[serde(default = "yes")]
    bias: bool,
    /// How a bit is read; signed when absent. Real-valued data are as they are.
    reading: Option<ReadingName>,
    /// What it means to be on the right side.
    #[serde(default)]
    convention: ConventionName,
    /// Of generated data.
    seed: Option<SeedNumber>,
    /// Seconds of computing; 600 when absent.
    #[schema(value_type = Option<f64>, exclusive_minimum = 0)]
    max_seconds: Option<Seconds>,
}

/// Find the hyperplane with the largest margin.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MaximumMarginRequest {
    #[schema(schema_with = data_schema::reference)]
    data: DataForm,
    /// Whether the hyperplane may miss the origin.
    #[serde(default = "yes")]
    bias: bool,
    /// How a bit is read; signed when absent. Real-valued data are as they are.
    reading: Option<ReadingName>,
    /// Of generated data.
    seed: Option<SeedNumber>,
    /// Seconds of computing; 600 when absent.
    #[schema(value_type = Option<f64>, exclusive_minimum = 0)]
    max_seconds: Option<Seconds>,
}

/// Find all weights in {-1, +1} that agree with the examples.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct VersionSpaceRequest {
    #[schema(schema_with = data_schema::reference)]
    data: DataForm,
    /// How many are listed; 100 when absent.
    #[schema(value_type = Option<u32>, maximum = 10000)]
    list: Option<ListLength>,
    /// Of generated data.
    seed: Option<SeedNumber>,
    /// Seconds of computing; 600 when absent.
    #[schema(value_type = Option<f64>, exclusive_minimum = 0)]
    max_seconds: Option<Seconds>,
}

/// Hold a model against examples whose labels are known.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EvaluateRequest {
    /// The model.
    model: ModelId,
    #[schema(schema_with = data_schema::reference)]
    data: DataForm,
    /// Of generated data.
    seed: Option<SeedNumber>,
    /// Seconds of computing; 600 when absent.
    #[schema(value_type = Option<f64>, exclusive_minimum = 0)]
    max_seconds: Option<Seconds>,
}

/// Train over the product of lists of values, each training a part of the job.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GridRequest {
    /// The training, as it is before anything is replaced in it. Its data are sent once. It begins
    /// from no model and keeps no trace.
    #[serde(deserialize_with = "json::object")]
    train: TrainRequest,
    /// The values that fields of the training take: `seed`, `holdout`, `learner.name`, and what
    /// stands below `learner.params` and `stop`, with dots.
    #[serde(deserialize_with = "written::over")]
    #[schema(value_type = Object, example = json!({"seed": [1, 2, 3], "learner.params.eta": [1, 2]}))]
    over: Map<String, Value>,
}

impl GridRequest {
    /// The task.
    ///
    /// # Errors
    /// Values that are no list, and what a part of a job does not do.
    fn asked(self) -> Result<Asked, Problem> {
        let refused = |pointer: String, detail: &str| {
            let field = FieldError::at_pointer(pointer, detail.to_owned());
            Err(Problem::new(Code::SCHEMA, detail).with(field))
        };
        if self.train.warm_start.is_some() {
            let detail = "a training of a grid begins from no model";
            return refused("/grid/train/warm_start".to_owned(), detail);
        }
        if self.train.trace {
            let detail = "a training of a grid keeps no trace; train the one of interest again";
            return refused("/grid/train/trace".to_owned(), detail);
        }
        let mut over = BTreeMap::new();
        for (field, values) in self.over {
            let Value::Array(values) = values else {
                let pointer = field.replace('~', "~0").replace('/', "~1");
                return refused(format!("/grid/over/{pointer}"), "give a list of values");
            };
            over.insert(field, values);
        }
        let asked = Asked::from(self.train);
        let TaskSpec::Train(train) = asked.task else {
            unreachable!("a training is asked for");
        };
        Ok(Asked {
            task: TaskSpec::Grid(GridSpec { train, over }),
            ..asked
        })
    }
}

/// A task that is there: null is none.
fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(field: D) -> Result<Option<T>, D::Error> {
    json::object(field).map(Some)
}

fn yes() -> bool {
    true
}

/// A task and its data, as the request gave them.
pub struct Asked {
    pub task: TaskSpec,
    /// None of a task that reads none.
    pub data: Option<DataForm>,
    pub seed: Option<SeedNumber>,
}

impl Asked {
    /// Refuses a declaration that nothing would rest on.
    fn check(self) -> Result<Self, Problem> {
        let is_train = matches!(self.task, TaskSpec::Train(_) | TaskSpec::Grid(_));
        match &self.data {
            Some(DataForm::Sample { assume, .. } | DataForm::Dataset { assume, .. })
                if assume.is_some() && !is_train =>
            {
                let detail = "`assume` is for training; a certificate rests on no assumption.";
                let pointer = format!("/{}/data", self.task.name());
                let field = FieldError::at_pointer(pointer, detail.to_owned());
                Err(Problem::new(Code::WRONG_DATA, detail).with(field))
            }
            _ => Ok(self),
        }
    }
}

impl JobRequest {
    /// The names of the tasks, each a field of the request.
    pub const TASKS: [&str; 7] = [
        "train",
        "separability",
        "maximum_margin",
        "version_space",
        "evaluate",
        "experiment",
        "grid",
    ];

    /// The one task.
    ///
    /// # Errors
    /// When there is none or more than one.
    pub fn asked(&mut self) -> Result<Asked, Problem> {
        let experiment = self.experiment.take();
        let grid = self.grid.take();
        let tasks = [
            self.train.take().map(Asked::from),
            self.separability.take().map(Asked::from),
            self.maximum_margin.take().map(Asked::from),
            self.version_space.take().map(Asked::from),
            self.evaluate.take().map(Asked::from),
            experiment.map(ExperimentRequest::asked).transpose()?,
            grid.map(GridRequest::asked).transpose()?,
        ];
        let mut asked = tasks.into_iter().flatten();
        match (asked.next(), asked.next()) {
            (Some(asked), None) => asked.check(),
            _ => {
                let tasks = Self::TASKS.join(", ");
                let detail = format!("A job has exactly one task, one of: {tasks}.");
                let field = FieldError::at_pointer("", detail.clone());
                Err(Problem::new(Code::SCHEMA, detail).with(field))
            }
        }
    }
}

impl From<TrainRequest> for Asked {
    fn from(request: TrainRequest) -> Self {
        Self {
            task: TaskSpec::Train(TrainSpec {
                learner: request.learner,
                stop: request.stop,
                trace: request.trace,
                holdout: request.holdout,
                warm_start: request.warm_start.map(|model| WarmStartSpec { model }),
                in_units: true,
            }),
            data: Some(request.data),
            seed: request.seed,
        }
    }
}

impl From<SeparabilityRequest> for Asked {
    fn from(request: SeparabilityRequest) -> Self {
        Self {
            task: TaskSpec::Separability(SeparabilitySpec {
                bias: request.bias,
                reading: request.reading,
                convention: request.convention,
                max_seconds: request.max_seconds,
            }),
            data: Some(request.data),
            seed: request.seed,
        }
    }
}

impl From<MaximumMarginRequest> for Asked {
    fn from(request: MaximumMarginRequest) -> Self {
        Self {
            task: TaskSpec::MaximumMargin(MaximumMarginSpec {
                bias: request.bias,
                reading: request.reading,
                max_seconds: request.max_seconds,
            }),
            data: Some(request.data),
            seed: request.seed,
        }
    }
}

impl From<VersionSpaceRequest> for Asked {
    fn from(request: VersionSpaceRequest) -> Self {
        Self {
            task: TaskSpec::VersionSpace(VersionSpaceSpec {
                list: request.list.unwrap_or_default(),
                max_seconds: request.max_seconds,
            }),
            data: Some(request.data),
            seed: request.seed,
        }
    }
}

impl From<EvaluateRequest> for Asked {
    fn from(request: EvaluateRequest) -> Self {
        Self {
            task: TaskSpec::Evaluate(EvaluateSpec {
                model: request.model,
                max_seconds: request.max_seconds,
            }),
            data: Some(request.data),
            seed: request.seed,
        }
    }
}
