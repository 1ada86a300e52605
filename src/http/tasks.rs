//! The tasks of a job as a request names them: one field a task, with its data.

use serde::{Deserialize, Deserializer};
use utoipa::ToSchema;

use crate::formats::DataForm;
use crate::records::ModelId;
use crate::records::certificates::{
    ConventionName, MaximumMarginSpec, SeparabilitySpec, VersionSpaceSpec,
};
use crate::records::evaluation::EvaluateSpec;
use crate::records::hypothesis::ReadingName;
use crate::records::task::TaskSpec;
use crate::records::train::{LearnerSpec, Seconds, SeedNumber, StopSpec, TrainSpec};

use super::data_schema;
use super::problem::{Code, FieldError, Problem};

/// Hypotheses of a version space that are listed when the request does not say how many.
const LIST_DEFAULT: u32 = 100;

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
    /// Free text.
    #[schema(max_length = 256)]
    pub name: Option<String>,
    /// Where to send the end of the job; needs a configured secret.
    #[schema(format = "uri")]
    pub callback: Option<String>,
}

/// Train a learner on data.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TrainRequest {
    learner: LearnerSpec,
    #[schema(schema_with = data_schema::reference)]
    data: DataForm,
    /// Of every random choice; drawn, and reported, when absent.
    seed: Option<SeedNumber>,
    /// Whether the mistake curve is kept.
    #[serde(default)]
    trace: bool,
    #[serde(default)]
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
    #[schema(maximum = 10000)]
    list: Option<u32>,
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

/// A field that is there: null is no task.
fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(field: D) -> Result<Option<T>, D::Error> {
    T::deserialize(field).map(Some)
}

fn yes() -> bool {
    true
}

/// A task and its data, as the request gave them.
pub struct Asked {
    pub task: TaskSpec,
    pub data: DataForm,
    pub seed: Option<SeedNumber>,
}

impl JobRequest {
    /// The names of the tasks, each a field of the request.
    pub const TASKS: [&str; 5] = [
        "train",
        "separability",
        "maximum_margin",
        "version_space",
        "evaluate",
    ];

    /// The one task.
    ///
    /// # Errors
    /// When there is none or more than one.
    pub fn asked(&mut self) -> Result<Asked, Problem> {
        let tasks = [
            self.train.take().map(Asked::from),
            self.separability.take().map(Asked::from),
            self.maximum_margin.take().map(Asked::from),
            self.version_space.take().map(Asked::from),
            self.evaluate.take().map(Asked::from),
        ];
        let mut asked = tasks.into_iter().flatten();
        match (asked.next(), asked.next()) {
            (Some(asked), None) => Ok(asked),
            _ => {
                let tasks = Self::TASKS.join(", ");
                let detail = format!("A job has exactly one task, one of: {tasks}.");
                let field = FieldError {
                    pointer: Some(String::new()),
                    detail: detail.clone(),
                    ..FieldError::default()
                };
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
            }),
            data: request.data,
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
            data: request.data,
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
            data: request.data,
            seed: request.seed,
        }
    }
}

impl From<VersionSpaceRequest> for Asked {
    fn from(request: VersionSpaceRequest) -> Self {
        Self {
            task: TaskSpec::VersionSpace(VersionSpaceSpec {
                list: request.list.unwrap_or(LIST_DEFAULT),
                max_seconds: request.max_seconds,
            }),
            data: request.data,
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
            data: request.data,
            seed: request.seed,
        }
    }
}
