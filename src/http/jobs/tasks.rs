//! The body of a request for a job: one field per task, which holds the task and its data.
//!
//! [`JobRequest`] converts into the one task that the job runs. The checks of the task against its data are
//! elsewhere; see `submission`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use halfspace_core::learners::catalogue::CATALOGUE;
use halfspace_formats::{DataForm, json};
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, Error as _, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json as value};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;
use utoipa::{PartialSchema, ToSchema};

use crate::records::compare::{CompareSpec, ComparedSpec, FOLDS_MAX, LEARNERS_MAX, SplitSpec};
use crate::records::evaluation::EvaluateSpec;
use crate::records::experiment::ExperimentSpec;
use crate::records::grid::GridSpec;
use crate::records::separability::{MaximumMarginSpec, SeparabilitySpec, VersionSpaceSpec};
use crate::records::task::TaskSpec;
use crate::records::train::{LearnerSpec, SeedNumber, Share, StopSpec, TrainSpec, WarmStartSpec};
use crate::records::{ModelId, Priority, bounded_json, written};

use crate::http::document::data_schema;
use crate::http::problem::{Code, FieldError, Problem};

/// A job to create, with exactly one task.
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
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = CompareRequest, required = false)]
    compare: Option<CompareRequest>,
    /// Free text.
    #[schema(max_length = 256)]
    pub name: Option<String>,
    /// URL that is notified when the job ends. The service needs a configured secret.
    #[schema(format = "uri", max_length = 2048)]
    pub callback: Option<String>,
    /// Priority among the waiting jobs of the same key. Jobs of higher priority run first; 0 when absent.
    #[schema(value_type = Option<i32>, minimum = -10, maximum = 10)]
    pub priority: Option<Priority>,
}

/// A task in a request: the stored request of the task, with the data and the seed among its fields.
pub struct WithData<T> {
    task: T,
    data: DataForm,
    seed: Option<SeedNumber>,
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for WithData<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(WithDataVisitor(PhantomData))
    }
}

struct WithDataVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for WithDataVisitor<T> {
    type Value = WithData<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<WithData<T>, A::Error> {
        let (mut data, mut seed) = (None, None);
        let rest = TaskFields {
            map,
            data: &mut data,
            seed: &mut seed,
        };
        let task = T::deserialize(MapAccessDeserializer::new(rest))?;
        let data = data.ok_or_else(|| A::Error::missing_field("data"))?;
        let seed = seed.flatten();
        Ok(WithData { task, data, seed })
    }
}

/// The fields of a task. The fields `data` and `seed` are read in passing.
struct TaskFields<'a, A> {
    map: A,
    data: &'a mut Option<DataForm>,
    seed: &'a mut Option<Option<SeedNumber>>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for TaskFields<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        key: K,
    ) -> Result<Option<K::Value>, A::Error> {
        loop {
            let Some(name) = self.map.next_key::<String>()? else {
                return Ok(None);
            };
            match name.as_str() {
                "data" if self.data.is_some() => return Err(A::Error::duplicate_field("data")),
                "data" => *self.data = Some(self.map.next_value()?),
                "seed" if self.seed.is_some() => return Err(A::Error::duplicate_field("seed")),
                "seed" => *self.seed = Some(self.map.next_value()?),
                _ => return key.deserialize(name.into_deserializer()).map(Some),
            }
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, value: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(value)
    }
}

/// The fields that [`WithData`] adds.
#[derive(ToSchema)]
#[allow(dead_code, reason = "only the schema is used")]
struct DataFields {
    #[schema(schema_with = data_schema::reference)]
    data: DataForm,
    /// Seed of generated data.
    seed: Option<SeedNumber>,
}

impl<T: ToSchema> PartialSchema for WithData<T> {
    fn schema() -> RefOr<Schema> {
        let mut schema = T::schema();
        if let (RefOr::T(Schema::Object(task)), RefOr::T(Schema::Object(added))) =
            (&mut schema, DataFields::schema())
        {
            task.properties.extend(added.properties);
            task.required.extend(added.required);
        }
        schema
    }
}

impl<T: ToSchema> ToSchema for WithData<T> {
    fn name() -> Cow<'static, str> {
        T::name()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        DataFields::schemas(schemas);
        T::schemas(schemas);
    }
}

type SeparabilityRequest = WithData<SeparabilitySpec>;
type MaximumMarginRequest = WithData<MaximumMarginSpec>;
type VersionSpaceRequest = WithData<VersionSpaceSpec>;
type EvaluateRequest = WithData<EvaluateSpec>;

/// Mirrors [`TrainSpec`], whose released stored form reads decimals as doubles and nests the warm start.
#[derive(Deserialize, ToSchema)]
#[schema(description = "Trains a learner on data.")]
#[serde(deny_unknown_fields)]
pub struct TrainRequest {
    #[serde(deserialize_with = "written::learner")]
    learner: LearnerSpec,
    #[schema(schema_with = data_schema::reference)]
    data: DataForm,
    /// Seed of every random choice. When absent, the service draws a seed and reports the seed.
    seed: Option<SeedNumber>,
    /// Whether the job keeps its mistake curve.
    #[serde(default)]
    trace: bool,
    /// Share of the examples that the learner does not see, between 0 and 1. The seed selects a random
    /// subset of this share, rounded to whole examples. In the end the service counts the errors of the
    /// hypothesis on this subset. If the examples are independent, as `assume` declares and as generated
    /// examples are, the remaining examples are independent too. Confidence rules then hold as without a
    /// holdout.
    #[schema(value_type = Option<f64>, exclusive_minimum = 0, exclusive_maximum = 1)]
    holdout: Option<Share>,
    /// Model whose hypothesis the training starts from. All counts still begin at 0.
    warm_start: Option<ModelId>,
    #[serde(default, deserialize_with = "json::object")]
    stop: StopSpec,
}

/// Trains over the product of lists of values. Each training is a part of the job.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GridRequest {
    /// The training before its fields are replaced. All trainings share its data, which you send once. The
    /// training can have neither `warm_start` nor `trace`.
    #[serde(deserialize_with = "json::object")]
    train: TrainRequest,
    /// Lists of values for fields of the training. The fields are `seed`, `holdout`, `learner.name`, and
    /// dotted names below `learner.params` and `stop`.
    #[serde(deserialize_with = "written::over")]
    #[schema(value_type = Object, example = json!({"seed": [1, 2, 3], "learner.params.eta": [1, 2]}))]
    over: Map<String, Value>,
}

impl GridRequest {
    /// Converts the request into a task.
    ///
    /// # Errors
    /// A field without a list of values, or a training with a warm start or a trace.
    fn asked(self) -> Result<RequestedTask, Problem> {
        let refused = |pointer: String, detail: &str| {
            let field = FieldError::at_pointer(pointer, detail.to_owned());
            Err(Problem::new(Code::SCHEMA, detail).with(field))
        };
        if self.train.warm_start.is_some() {
            let detail = "the trainings of a grid cannot have a warm start";
            return refused("/grid/train/warm_start".to_owned(), detail);
        }
        if self.train.trace {
            let detail = "the trainings of a grid keep no trace; repeat a single training to get \
                          its trace";
            return refused("/grid/train/trace".to_owned(), detail);
        }
        let mut over = BTreeMap::new();
        for (field, values) in self.over {
            let Value::Array(values) = values else {
                let pointer = field.replace('~', "~0").replace('/', "~1");
                return refused(
                    format!("/grid/over/{pointer}"),
                    "the value must be a list of values",
                );
            };
            over.insert(field, values);
        }
        let asked = RequestedTask::from(self.train);
        let TaskSpec::Train(train) = asked.task else {
            unreachable!("a training is asked for");
        };
        Ok(RequestedTask {
            task: TaskSpec::Grid(GridSpec { train, over }),
            ..asked
        })
    }
}

/// Trains several learners on the same splits of the data, and the best of them on all of the data.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CompareRequest {
    #[schema(schema_with = data_schema::reference)]
    data: DataForm,
    /// The learners. When absent, the service compares all learners that can learn from the data.
    #[serde(default, deserialize_with = "compared")]
    #[schema(min_items = 1, max_items = 100)]
    learners: Option<Vec<LearnerSpec>>,
    /// Number of parts of a random division of the examples. Each part judges the trainings on the others. 5 when both
    /// `folds` and `holdout` are absent.
    #[schema(minimum = 2, maximum = 100)]
    folds: Option<u32>,
    /// Share of the examples that judges all trainings, between 0 and 1. Give either this field or `folds`.
    #[schema(value_type = Option<f64>, exclusive_minimum = 0, exclusive_maximum = 1)]
    holdout: Option<Share>,
    /// Seed of every random choice. When absent, the service draws a seed and reports the seed.
    seed: Option<SeedNumber>,
    /// Stopping conditions of every training. Missing conditions take the defaults of each learner.
    #[serde(default, deserialize_with = "json::object")]
    stop: StopSpec,
}

/// Number of folds of a comparison without `folds` and `holdout`.
const FOLDS: u32 = 5;

impl CompareRequest {
    /// Converts the request into a task.
    ///
    /// # Errors
    /// Both splits, a number of folds out of range, or a number of learners out of range.
    fn asked(self) -> Result<RequestedTask, Problem> {
        let refused = |code, field: &str, detail: String| {
            let field = FieldError::at_pointer(format!("/compare/{field}"), detail.clone());
            Err(Problem::new(code, detail).with(field))
        };
        let split = match (self.folds, self.holdout) {
            (Some(_), Some(_)) => {
                let detail = "give either folds or holdout".to_owned();
                return refused(Code::SCHEMA, "holdout", detail);
            }
            (None, Some(share)) => SplitSpec::Holdout(share),
            (folds, None) => SplitSpec::Folds(folds.unwrap_or(FOLDS)),
        };
        if let SplitSpec::Folds(folds) = split
            && !(2..=FOLDS_MAX).contains(&folds)
        {
            let detail = format!("{folds} folds are not from 2 to compare_folds_max: {FOLDS_MAX}");
            return refused(Code::OUT_OF_RANGE, "folds", detail);
        }
        let learners = self.learners.unwrap_or_else(|| {
            let names = CATALOGUE.iter().map(|entry| entry.name);
            names.map(LearnerSpec::of_defaults).collect()
        });
        if !(1..=LEARNERS_MAX).contains(&learners.len()) {
            let count = learners.len();
            let detail =
                format!("{count} learners are not from 1 to compare_learners_max: {LEARNERS_MAX}");
            return refused(Code::OUT_OF_RANGE, "learners", detail);
        }
        let compared = |learner| ComparedSpec {
            learner,
            unfit: None,
        };
        Ok(RequestedTask {
            task: TaskSpec::Compare(CompareSpec {
                learners: learners.into_iter().map(compared).collect(),
                split,
                stop: self.stop,
            }),
            data: Some(self.data),
            seed: self.seed,
        })
    }
}

/// Reads the learners of a comparison, each with its decimals as written.
fn compared<'de, D: Deserializer<'de>>(field: D) -> Result<Option<Vec<LearnerSpec>>, D::Error> {
    #[derive(Deserialize)]
    struct Written(#[serde(deserialize_with = "written::learner")] LearnerSpec);
    let learners = Option::<Vec<Written>>::deserialize(field)?;
    Ok(learners.map(|learners| {
        learners
            .into_iter()
            .map(|Written(learner)| learner)
            .collect()
    }))
}

/// Reads a task as an object, so null is an error rather than an absent task.
fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(field: D) -> Result<Option<T>, D::Error> {
    json::object(field).map(Some)
}

fn asked<T>(task: &mut Option<WithData<T>>, kind: fn(T) -> TaskSpec) -> Option<RequestedTask> {
    task.take().map(|asked| RequestedTask {
        task: kind(asked.task),
        data: Some(asked.data),
        seed: asked.seed,
    })
}

/// A task and its data, as requested.
pub struct RequestedTask {
    pub task: TaskSpec,
    /// `None` for a task without data.
    pub data: Option<DataForm>,
    pub seed: Option<SeedNumber>,
}

impl RequestedTask {
    /// Refuses `assume` for a task that relies on no assumption.
    fn check(self) -> Result<Self, Problem> {
        let claims = matches!(
            self.task,
            TaskSpec::Train(_)
                | TaskSpec::Grid(_)
                | TaskSpec::Compare(_)
                | TaskSpec::Evaluate(_)
                | TaskSpec::MaximumMargin(_)
        );
        match &self.data {
            Some(DataForm::Sample { assume, .. } | DataForm::Dataset { assume, .. })
                if assume.is_some() && !claims =>
            {
                let detail =
                    "`assume` is for tasks with certificates; this task needs no assumption.";
                let pointer = format!("/{}/data", self.task.name());
                let field = FieldError::at_pointer(pointer, detail.to_owned());
                Err(Problem::new(Code::WRONG_DATA, detail).with(field))
            }
            _ => Ok(self),
        }
    }
}

impl JobRequest {
    /// Names of the tasks, which are the names of their fields.
    pub const TASKS: [&str; 8] = [
        "train",
        "separability",
        "maximum_margin",
        "version_space",
        "evaluate",
        "experiment",
        "grid",
        "compare",
    ];

    /// Returns the one task of the request.
    ///
    /// # Errors
    /// [`Code::SCHEMA`] for no task or several tasks. Faults of the task itself pass through.
    pub fn asked(&mut self) -> Result<RequestedTask, Problem> {
        let experiment = self.experiment.take();
        let grid = self.grid.take();
        let compare = self.compare.take();
        let tasks = [
            self.train.take().map(RequestedTask::from),
            asked(&mut self.separability, TaskSpec::Separability),
            asked(&mut self.maximum_margin, TaskSpec::MaximumMargin),
            asked(&mut self.version_space, TaskSpec::VersionSpace),
            asked(&mut self.evaluate, TaskSpec::Evaluate),
            experiment.map(ExperimentRequest::asked).transpose()?,
            grid.map(GridRequest::asked).transpose()?,
            compare.map(CompareRequest::asked).transpose()?,
        ];
        let mut asked = tasks.into_iter().flatten();
        match (asked.next(), asked.next()) {
            (Some(asked), None) => asked.check(),
            _ => {
                let tasks = Self::TASKS.join(", ");
                let detail = format!("A job must have exactly one task. The tasks are: {tasks}.");
                let field = FieldError::at_pointer("", detail.clone());
                Err(Problem::new(Code::SCHEMA, detail).with(field))
            }
        }
    }
}

impl From<TrainRequest> for RequestedTask {
    fn from(request: TrainRequest) -> Self {
        Self {
            task: TaskSpec::Train(TrainSpec {
                learner: request.learner,
                stop: request.stop,
                trace: request.trace,
                holdout: request.holdout,
                among: None,
                warm_start: request.warm_start.map(|model| WarmStartSpec { model }),
            }),
            data: Some(request.data),
            seed: request.seed,
        }
    }
}

/// An experiment in a job request.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExperimentRequest {
    /// Name of the experiment.
    name: String,
    /// Parameters of the experiment. The schema lists their defaults.
    #[serde(default, deserialize_with = "bounded_json::object")]
    params: Map<String, Value>,
    /// Seed of every random choice. A missing seed is drawn and reported.
    seed: Option<SeedNumber>,
}

impl ExperimentRequest {
    /// The task with the seed of the request.
    ///
    /// # Errors
    /// An unknown experiment, or parameters that do not fit the experiment.
    pub fn asked(self) -> Result<RequestedTask, Problem> {
        let spec = value!({"name": self.name, "params": self.params});
        let spec = serde_path_to_error::deserialize::<_, ExperimentSpec>(spec);
        let spec = spec.map_err(|error| {
            let path = error.path().to_string().replace(['.', '['], "/");
            let pointer = match path.replace(']', "") {
                // The tag is read before the parameters, so an error in the tag has another path.
                path if !path.starts_with("params") => "/experiment/name".to_owned(),
                path => format!("/experiment/{path}"),
            };
            let detail = error.into_inner().to_string();
            let field = FieldError::at_pointer(pointer, detail.clone());
            Problem::new(Code::SCHEMA, detail).with(field)
        })?;
        Ok(RequestedTask {
            task: TaskSpec::Experiment(spec),
            data: None,
            seed: self.seed,
        })
    }
}
