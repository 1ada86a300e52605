//! The document that requests a job: one field per task, which holds the task with its data and its seed.
//!
//! The task is read as the [`TaskSpec`] that the job stores. Reading takes the data and the seed out of it, because
//! the store keeps both elsewhere and the data may be large. `submission` checks the task against its data.

use std::fmt;
use std::marker::PhantomData;

use halfspace_formats::{CellKeeper, DataForm, json};
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, Error, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use utoipa::ToSchema;
use utoipa::openapi::{Ref, RefOr, Schema};

use crate::records::Priority;
use crate::records::compare::{CompareSpec, FOLDS_MAX, LEARNERS_MAX};
use crate::records::evaluation::EvaluateSpec;
use crate::records::experiment;
use crate::records::grid::GridSpec;
use crate::records::import::ImportSpec;
use crate::records::separability::{MaximumMarginSpec, SeparabilitySpec, VersionSpaceSpec};
use crate::records::task::TaskSpec;
use crate::records::train::{SeedNumber, TrainSpec};

use crate::http::extract::body::RequestMemory;
use crate::http::jobs::place::TaskPlace;
use crate::http::problem::{Code, Problem};

pub struct RequestedJob {
    pub task: TaskSpec,
    /// `None` for a task without data, or if the data come beside the document.
    pub data: Option<DataForm>,
    pub seed: Option<SeedNumber>,
    /// Free text.
    pub name: Option<String>,
    /// URL that is notified when the job ends.
    pub callback: Option<String>,
    /// Priority among the jobs of the owner.
    pub priority: Option<Priority>,
    /// Digest of the data, which is not part of the document.
    pub sha256: Option<String>,
    /// Memory of the request, until the job is stored.
    pub memory: RequestMemory,
    /// Where the raw cells of a table in the request are.
    pub cells: Option<CellKeeper>,
}

/// A job to create, with exactly one task.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct JobRequest {
    #[schema(required = false, value_type = TrainSpec)]
    #[serde(default, deserialize_with = "with_data")]
    train: Option<Requested<TrainSpec>>,
    #[schema(required = false, value_type = SeparabilitySpec)]
    #[serde(default, deserialize_with = "with_data")]
    separability: Option<Requested<SeparabilitySpec>>,
    #[schema(required = false, value_type = MaximumMarginSpec)]
    #[serde(default, deserialize_with = "with_data")]
    maximum_margin: Option<Requested<MaximumMarginSpec>>,
    #[schema(required = false, value_type = VersionSpaceSpec)]
    #[serde(default, deserialize_with = "with_data")]
    version_space: Option<Requested<VersionSpaceSpec>>,
    #[schema(required = false, value_type = EvaluateSpec)]
    #[serde(default, deserialize_with = "with_data")]
    evaluate: Option<Requested<EvaluateSpec>>,
    #[schema(required = false, schema_with = experiment_reference)]
    #[serde(default, deserialize_with = "with_seed")]
    experiment: Option<Requested<experiment::Requested>>,
    #[schema(required = false, value_type = GridSpec)]
    #[serde(default, deserialize_with = "alone")]
    grid: Option<Requested<GridSpec>>,
    #[schema(required = false, value_type = CompareSpec)]
    #[serde(default, deserialize_with = "with_data")]
    compare: Option<Requested<CompareSpec>>,
    #[schema(required = false, value_type = ImportSpec)]
    #[serde(default, deserialize_with = "alone")]
    import: Option<Requested<ImportSpec>>,
    /// Free text.
    #[schema(max_length = 256)]
    name: Option<String>,
    /// URL that is notified when the job ends. The service needs a configured secret.
    #[schema(format = "uri", max_length = 2048)]
    callback: Option<String>,
    /// Priority among the waiting jobs of the same key. Jobs of higher priority run first; 0 when absent.
    #[schema(value_type = Option<i32>, minimum = -10, maximum = 10)]
    priority: Option<Priority>,
}

/// The names of the tasks.
const TASKS: &str = "train, separability, maximum_margin, version_space, evaluate, experiment, grid, compare, import";

fn experiment_reference() -> RefOr<Schema> {
    Ref::from_schema_name("ExperimentRequest").into()
}

type Given<T, E> = Result<Option<Requested<T>>, E>;

/// Reads a task with data, from a field that may be absent and not null.
fn with_data<'de, D: Deserializer<'de>, T: Deserialize<'de>>(task: D) -> Given<T, D::Error> {
    given(task, &DATA)
}

/// Reads a task with a seed and no data.
fn with_seed<'de, D: Deserializer<'de>, T: Deserialize<'de>>(task: D) -> Given<T, D::Error> {
    given(task, &["seed"])
}

/// Reads a task that has no fields beside its own. The training of a grid has the data.
fn alone<'de, D: Deserializer<'de>, T: Deserialize<'de>>(task: D) -> Given<T, D::Error> {
    given(task, &[])
}

/// Reads a task that has the fields `names` beside its own.
fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    task: D,
    names: &'static [&'static str],
) -> Given<T, D::Error> {
    let mut beside = Beside::default();
    let within = Within {
        task: PhantomData::<T>,
        names,
        beside: &mut beside,
    };
    let task = within.deserialize(task)?;
    Ok(Some(Requested { task, beside }))
}

impl<'de> Deserialize<'de> for RequestedJob {
    fn deserialize<D: Deserializer<'de>>(document: D) -> Result<Self, D::Error> {
        let request = JobRequest::deserialize(document)?;
        let compare = |mut compare: CompareSpec| {
            // The job keeps the number of folds, whatever the default of a later release is.
            compare.folds = compare.folds.or(compare.folds());
            TaskSpec::Compare(compare)
        };
        let experiment = |requested: experiment::Requested| TaskSpec::Experiment(requested.0);
        let tasks = [
            of(request.train, TaskSpec::Train),
            of(request.separability, TaskSpec::Separability),
            of(request.maximum_margin, TaskSpec::MaximumMargin),
            of(request.version_space, TaskSpec::VersionSpace),
            of(request.evaluate, TaskSpec::Evaluate),
            of(request.experiment, experiment),
            of(request.grid, TaskSpec::Grid),
            of(request.compare, compare),
            of(request.import, TaskSpec::Import),
        ];
        let mut tasks = tasks.into_iter().flatten();
        let (Some(Requested { task, beside }), None) = (tasks.next(), tasks.next()) else {
            let detail = format!("A job must have exactly one task. The tasks are: {TASKS}.");
            return Err(json::refuse("", &detail));
        };
        Ok(Self {
            task,
            data: beside.data,
            seed: beside.seed.flatten(),
            name: request.name,
            callback: request.callback,
            priority: request.priority,
            sha256: None,
            memory: RequestMemory::default(),
            cells: None,
        })
    }
}

/// A task with what stands beside its own fields.
struct Requested<T> {
    task: T,
    beside: Beside,
}

/// A requested task as one of all tasks.
fn of<T>(
    requested: Option<Requested<T>>,
    task: impl FnOnce(T) -> TaskSpec,
) -> Option<Requested<TaskSpec>> {
    requested.map(|own| Requested {
        task: task(own.task),
        beside: own.beside,
    })
}

/// Reads the value of a field that may stand there once.
fn once<'de, A: MapAccess<'de>, T: Deserialize<'de>>(
    map: &mut A,
    name: &'static str,
    value: &mut Option<T>,
) -> Result<(), A::Error> {
    if value.is_some() {
        return Err(A::Error::duplicate_field(name));
    }
    *value = Some(map.next_value()?);
    Ok(())
}

/// What stands among the fields of a task and is no part of it.
#[derive(Default)]
struct Beside {
    data: Option<DataForm>,
    seed: Option<Option<SeedNumber>>,
}

/// The fields for data.
const DATA: [&str; 2] = ["data", "seed"];

/// Reads a task from an object that has the fields `names` beside those of the task.
struct Within<'a, S> {
    task: S,
    names: &'static [&'static str],
    beside: &'a mut Beside,
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Within<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, task: D) -> Result<S::Value, D::Error> {
        task.deserialize_map(self)
    }
}

impl<'de, S: DeserializeSeed<'de>> Visitor<'de> for Within<'_, S> {
    type Value = S::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<S::Value, A::Error> {
        let (names, beside) = (self.names, self.beside);
        let fields = TaskFields {
            map,
            names,
            beside,
            is_training: false,
        };
        self.task.deserialize(MapAccessDeserializer::new(fields))
    }
}

/// The own fields of a task.
struct TaskFields<'a, A> {
    map: A,
    names: &'static [&'static str],
    beside: &'a mut Beside,
    /// Whether the next value is the training of a grid, which has the data.
    is_training: bool,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for TaskFields<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        key: K,
    ) -> Result<Option<K::Value>, A::Error> {
        let mut key = Some(key);
        loop {
            let names = self.names;
            let name = FieldName {
                key: &mut key,
                names,
                is_training: &mut self.is_training,
            };
            match self.map.next_key_seed(name)? {
                None => return Ok(None),
                Some(Ok(own)) => return Ok(Some(own)),
                Some(Err("data")) => once(&mut self.map, "data", &mut self.beside.data)?,
                Some(Err(_)) => once(&mut self.map, "seed", &mut self.beside.seed)?,
            }
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, value: V) -> Result<V::Value, A::Error> {
        if !self.is_training {
            return self.map.next_value_seed(value);
        }
        self.map.next_value_seed(Within {
            task: value,
            names: &DATA,
            beside: self.beside,
        })
    }
}

/// Reads the name of a field of a task: an own field, or one of `names` as the error.
struct FieldName<'a, K> {
    key: &'a mut Option<K>,
    names: &'static [&'static str],
    is_training: &'a mut bool,
}

impl<'de, K: DeserializeSeed<'de>> DeserializeSeed<'de> for FieldName<'_, K> {
    type Value = Result<K::Value, &'static str>;

    fn deserialize<D: Deserializer<'de>>(self, name: D) -> Result<Self::Value, D::Error> {
        let name = String::deserialize(name)?;
        if let Some(beside) = self.names.iter().find(|beside| **beside == name) {
            return Ok(Err(beside));
        }
        *self.is_training = name == "train";
        let key = self.key.take().expect("a key is read once");
        let own = key.deserialize(name.into_deserializer());
        // The message lists the own fields, and the others are fields for the client too.
        own.map(Ok).map_err(|error: D::Error| {
            let names = self.names.iter().map(|name| format!(", `{name}`"));
            D::Error::custom(format!("{error}{}", names.collect::<String>()))
        })
    }
}

impl RequestedJob {
    /// Checks the rules that the types of the document cannot express.
    ///
    /// # Errors
    /// No data, `assume` for a task that relies on no assumption, a training that no grid has, or a split or a number
    /// of learners that no comparison has.
    pub fn check(&self, at: &TaskPlace) -> Result<(), Problem> {
        let claims = match &self.task {
            TaskSpec::Grid(grid) => {
                check_grid(grid, at)?;
                true
            }
            TaskSpec::Compare(compare) => {
                check_comparison(compare, at)?;
                true
            }
            TaskSpec::Experiment(_) | TaskSpec::Import(_) => return Ok(()),
            task => matches!(
                task,
                TaskSpec::Train(_) | TaskSpec::Evaluate(_) | TaskSpec::MaximumMargin(_)
            ),
        };
        match &self.data {
            None => {
                let detail = "The value does not match the schema: the member `data` is missing.";
                let field = at.below("", detail);
                let place = field.pointer.as_deref().unwrap_or_default();
                Err(Problem::new(Code::SCHEMA, format!("{place}: {detail}")).with(field))
            }
            Some(DataForm::Sample { assume, .. } | DataForm::Dataset { assume, .. })
                if assume.is_some() && !claims =>
            {
                let detail =
                    "`assume` is for tasks with certificates; this task needs no assumption.";
                Err(Problem::at(Code::WRONG_DATA, at.below("/data", detail)))
            }
            _ => Ok(()),
        }
    }
}

fn check_grid(grid: &GridSpec, at: &TaskPlace) -> Result<(), Problem> {
    let (field, detail) = match &grid.train {
        train if train.warm_start.is_some() => (
            "warm_start",
            "the trainings of a grid cannot have a warm start",
        ),
        train if train.trace => (
            "trace",
            "the trainings of a grid keep no trace; repeat a single training to get its trace",
        ),
        _ => return Ok(()),
    };
    Err(Problem::at(Code::SCHEMA, at.field(field, detail)))
}

fn check_comparison(compare: &CompareSpec, at: &TaskPlace) -> Result<(), Problem> {
    let learners = compare.learners.len();
    let (code, field, detail) = match compare.folds {
        Some(_) if compare.holdout.is_some() => {
            let detail = "give either folds or holdout".to_owned();
            (Code::SCHEMA, "holdout", detail)
        }
        Some(folds) if !(2..=FOLDS_MAX).contains(&folds) => {
            let detail = format!("{folds} folds are not from 2 to compare_folds_max: {FOLDS_MAX}");
            (Code::OUT_OF_RANGE, "folds", detail)
        }
        _ if !(1..=LEARNERS_MAX).contains(&learners) => {
            let detail = format!(
                "{learners} learners are not from 1 to compare_learners_max: {LEARNERS_MAX}"
            );
            (Code::OUT_OF_RANGE, "learners", detail)
        }
        _ => return Ok(()),
    };
    Err(Problem::at(code, at.field(field, detail)))
}
