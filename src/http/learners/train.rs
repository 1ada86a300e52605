//! `POST /v1/learners/{name}/train`: a training with its data in the body and its options in the query, for
//! people with a file and curl.
//!
//! The job equals a training from `POST /v1/jobs`. Only the shape of the request and the default wait
//! differ.

use std::time::Duration;

use axum::extract::{Request, State};
use axum::response::Response;
use halfspace_core::learners::engine::catalogue::LearnerEntry;
use halfspace_core::learners::engine::parameters::insert_nested;
use halfspace_formats::{
    self, Assume, BitOrder, Header, LabelsColumn, Options, Place, TableOptions, UnlabelledMeans,
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::jobs::learner;
use crate::records::task::TaskSpec;
use crate::records::train::{LearnerSpec, SeedNumber, Share, StopSpec, TrainSpec, WarmStartSpec};
use crate::records::{ModelId, Owner, Priority};

use crate::http::App;
use crate::http::datasets::resolve::{first_real, sha256};
use crate::http::document::declared::{
    BODY, EXAMPLES, IN_PATH, KEYED, STORED, SUBMITTED, problems,
};
use crate::http::document::learner_parameters::LearnerParameters;
use crate::http::extract::data_body::{DataBody, Octets, bit_order, header_option, labels};
use crate::http::extract::idempotency::{KeyHeader, Keyed, NotMade, once};
use crate::http::extract::{Caller, PathText, PreferWait, query_pairs};
use crate::http::jobs::document::JobDocument;
use crate::http::jobs::submission::{FieldPaths, RequestedJob, submit};
use crate::http::jobs::tasks::RequestedTask;
use crate::http::jobs::{Wait, replay};
use crate::http::problem::{Code, FieldError, Problem, placed};

/// Time that this route waits for the job without `Prefer`.
const WAIT_DEFAULT: Duration = Duration::from_secs(10);

/// Fields of `stop`. Each field is a query parameter of its own.
const STOP_FIELDS: [&str; 6] = [
    "confidence",
    "rule",
    "max_passes",
    "max_mistakes",
    "max_examples",
    "max_seconds",
];

/// Trains a learner on the data in the body.
///
/// The query holds the parameters of the learner (nested names with dots), every field of `stop`, and the
/// options for reading the body. The response waits up to 10 seconds for the end of the job, or as long as
/// `Prefer` asks.
#[utoipa::path(post, path = "/v1/learners/{name}/train", tag = "learners",
    params(
        ("name" = String, Path, description = "The learner's name"),
        ("Prefer" = Option<String>, Header, description = "`wait=S` waits for the end of the job, \
                                                           at most 60 seconds"),
        KeyHeader,
        ("seed" = Option<SeedNumber>, Query, description = "Seed of every random choice"),
        ("trace" = Option<bool>, Query, description = "Whether the job keeps the mistake curve"),
        ("holdout" = Option<f64>, Query, description = "Share of the examples that the learner \
                                                        does not see. At the end the errors on \
                                                        these examples are counted"),
        ("name" = Option<String>, Query, description = "Free text"),
        ("confidence" = Option<f64>, Query, description = "See `stop`. At most a share 1 - c of \
                                                           all such runs claim the confidence c \
                                                           and are wrong. This is not the share \
                                                           among the runs that stopped"),
        ("rule" = Option<String>, Query, description = "See `stop`"),
        ("max_passes" = Option<u64>, Query, description = "See `stop`"),
        ("max_mistakes" = Option<u64>, Query, description = "See `stop`"),
        ("max_examples" = Option<u64>, Query, description = "See `stop`"),
        ("max_seconds" = Option<f64>, Query, description = "See `stop`"),
        ("assume" = Option<String>, Query, description = "Declares that the data are fresh and \
                                                          independent: `uniform-positive`, \
                                                          `reflected` or `uniform`"),
        ("labels" = Option<String>, Query, description = "Place of the labels. In CSV, ARFF and \
                                                          .npy: `first`, `last`, `none` or the \
                                                          name of a column; the default is `first` \
                                                          in CSV and `last` in ARFF and .npy. In \
                                                          octets: `none` (the default) or \
                                                          `appended`, one bit after the bits of \
                                                          each row"),
        ("header" = Option<String>, Query, description = "Whether the first CSV line holds names: \
                                                          `auto`, `true` or `false`"),
        ("bit_order" = Option<String>, Query, description = "Order of the bits in octets. `big` \
                                                             (the default): the most significant \
                                                             bit comes first. `little`: it comes \
                                                             last"),
        ("n" = Option<u64>, Query, description = "Features per example; required for octets"),
        ("warm_start" = Option<ModelId>, Query, description = "Model whose hypothesis starts the \
                                                               training"),
        ("callback" = Option<String>, Query, description = "URL that is notified when the job \
                                                            ends. The service needs a configured \
                                                            secret"),
        ("priority" = Option<i32>, Query, minimum = -10, maximum = 10,
            description = "Priority among the waiting jobs of the same key. Jobs of higher \
                           priority run first; the default is 0"),
        LearnerParameters),
    request_body(
        content((String = "application/x-ndjson"), (String = "text/csv"),
            (String = "text/x-libsvm"), (crate::http::document::data_schema::Data = "application/json"),
            (String = "text/x-arff"), (Octets = "application/x-npy"),
            (Octets = "application/octet-stream")),
        description = "The data"),
    responses(
        (status = 200, description = "The job ended within the wait", body = JobDocument),
        (status = 202, description = "The job is accepted", body = JobDocument)),
    extensions(("x-problems" = json!(problems(&[IN_PATH, BODY, EXAMPLES, KEYED, SUBMITTED, STORED])))))]
pub async fn train_learner(
    State(app): State<App>,
    Caller(owner): Caller,
    PathText(name): PathText,
    prefer: Option<PreferWait>,
    request: Request,
) -> Result<Response, Problem> {
    let entry = learner(&name).map_err(|_| Problem::not_found("learner"))?;
    let wait = Wait {
        prefer,
        timeout: prefer.map_or(WAIT_DEFAULT, |wait| wait.0),
    };
    let make = |request, key| made(app.clone(), owner.clone(), entry, wait, request, key);
    let replay = |record| replay(app.clone(), owner.clone(), wait, record);
    once(&app, &owner, request, make, replay).await
}

async fn made(
    app: App,
    owner: Owner,
    entry: &'static LearnerEntry,
    wait: Wait,
    request: Request,
    key: Keyed,
) -> Result<Response, NotMade> {
    let body = DataBody::new(&app, request)?;
    let query = TrainQuery::read(body.parts.uri.query(), entry)?;
    let (format, effort) = (body.format, body.effort(query.n));
    let options = query.options(&body.limits);
    let read = body.read(&app, effort, move |reader| {
        let form = halfspace_formats::read(format, reader, &options)?;
        let sha256 = sha256(&form);
        Ok((form, sha256))
    });
    let (form, sha256) = read.await?;
    let at = QueryPlace {
        first_real: first_real(&form),
    };
    let learner = LearnerSpec {
        name: entry.name.to_owned(),
        params: query.params,
    };
    let task = TaskSpec::Train(TrainSpec {
        learner,
        stop: query.stop,
        trace: query.trace,
        holdout: query.holdout,
        warm_start: query.warm_start.map(|model| WarmStartSpec { model }),
        in_units: true,
    });
    let job = RequestedJob {
        asked: RequestedTask {
            task,
            data: Some(form),
            seed: query.seed,
        },
        sha256,
        name: query.name,
        callback: query.callback,
        priority: query.priority,
    };
    submit(&app, owner, job, &at, wait, key).await
}

/// The query of this route.
pub struct TrainQuery {
    params: Map<String, Value>,
    stop: StopSpec,
    seed: Option<SeedNumber>,
    trace: bool,
    holdout: Option<Share>,
    warm_start: Option<ModelId>,
    name: Option<String>,
    callback: Option<String>,
    priority: Option<Priority>,
    assume: Option<Assume>,
    labels: Option<LabelsColumn>,
    header: Header,
    bit_order: Option<BitOrder>,
    n: Option<usize>,
}

impl TrainQuery {
    /// Separates the parameters of the service from those of the learner.
    ///
    /// # Errors
    /// A parameter of the service with an invalid value. Parameters of the learner are checked later.
    pub fn read(query: Option<&str>, entry: &LearnerEntry) -> Result<Self, Problem> {
        let mut stop = Map::new();
        let mut read = Self {
            params: Map::new(),
            stop: StopSpec::default(),
            seed: None,
            trace: false,
            holdout: None,
            warm_start: None,
            name: None,
            callback: None,
            priority: None,
            assume: None,
            labels: None,
            header: Header::Auto,
            bit_order: None,
            n: None,
        };
        for (name, text) in query_pairs(query)? {
            let name = name.as_str();
            match name {
                "seed" => read.seed = Some(value(name, literal(&text))?),
                "trace" => read.trace = value(name, literal(&text))?,
                "holdout" => read.holdout = Some(value(name, literal(&text))?),
                "warm_start" => read.warm_start = Some(value(name, json!(text))?),
                "name" => read.name = Some(text),
                "callback" => read.callback = Some(text),
                "priority" => read.priority = Some(value(name, literal(&text))?),
                "assume" => read.assume = Some(value(name, json!(text))?),
                "labels" => read.labels = Some(labels(text)),
                "header" => read.header = header_option(&text)?,
                "bit_order" => read.bit_order = Some(bit_order(&text)?),
                "n" => read.n = Some(value(name, literal(&text))?),
                name if STOP_FIELDS.contains(&name) => {
                    stop.insert(name.to_owned(), literal(&text));
                }
                name => read.learner_parameter(entry, name, &text),
            }
        }
        read.stop = value("", Value::Object(stop))?;
        Ok(read)
    }

    /// Adds a parameter of the learner, whose kind the catalogue knows. An unknown name stays unchanged and
    /// is refused later with the list of known names. The dots of an unknown name, perhaps thousands, nest
    /// nothing.
    fn learner_parameter(&mut self, entry: &LearnerEntry, name: &str, text: &str) {
        let known = entry.parameters.iter().find(|known| known.name == name);
        match known.map(|known| known.kind.value_of_text(text)) {
            Some(value) => insert_nested(&mut self.params, name, value),
            None => {
                self.params.insert(name.to_owned(), json!(text));
            }
        }
    }

    /// Returns the options for reading the body.
    pub fn options(&self, limits: &halfspace_formats::ParseLimits) -> Options {
        Options {
            labels: self.labels.clone(),
            header: self.header,
            values: None,
            n: self.n,
            bit_order: self.bit_order,
            unlabelled: UnlabelledMeans::HalfSpace,
            table: TableOptions::default(),
            assume: self.assume,
            limits: limits.clone(),
        }
    }
}

/// Parses a number or truth value as JSON, and any other text as a string.
fn literal(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(value @ (Value::Number(_) | Value::Bool(_))) => value,
        _ => json!(text),
    }
}

/// Converts a parameter to its type.
///
/// # Errors
/// A problem that names the parameter.
fn value<T: DeserializeOwned>(name: &str, value: Value) -> Result<T, Problem> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        let name = if name.is_empty() { &path } else { name };
        let detail = error.inner().to_string();
        Problem::parameter(Code::INVALID_PARAMETER, name, detail)
    })
}

/// Places in the query and the body of this route.
struct QueryPlace {
    first_real: Option<Place>,
}

impl QueryPlace {
    fn at(name: &str, detail: String) -> FieldError {
        FieldError::at_parameter(name, detail)
    }
}

impl FieldPaths for QueryPlace {
    fn job(&self, field: &str, detail: String) -> FieldError {
        Self::at(field, detail)
    }

    fn learner(&self, detail: String) -> FieldError {
        Self::at("name", detail)
    }

    fn learner_parameter(&self, name: &str, detail: String) -> FieldError {
        Self::at(name, detail)
    }

    fn stop(&self, field: &str, detail: String) -> FieldError {
        Self::at(field, detail)
    }

    fn task(&self, field: &str, detail: String) -> FieldError {
        Self::at(field, detail)
    }

    fn data(&self, detail: String) -> FieldError {
        placed(self.first_real.clone(), detail)
    }
}
