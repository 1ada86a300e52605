//! `POST /v1/learners/{name}/train`: a training with its data in the body and its options in the query, for
//! people with a file and curl.
//!
//! The job equals a training from `POST /v1/jobs`. Only the shape of the request and the default wait
//! differ.

use std::time::Duration;

use axum::extract::{Request, State};
use axum::response::Response;
use halfspace_core::learners::engine::entry::LearnerEntry;
use halfspace_core::learners::engine::parameters::insert_nested;
use halfspace_formats::{self, Place};
use serde_json::{Map, Value, json};

use crate::jobs::learner;
use crate::records::task::TaskSpec;
use crate::records::train::{LearnerSpec, SeedNumber, Share, StopSpec, TrainSpec, WarmStartSpec};
use crate::records::{ModelId, Owner, Priority};

use crate::http::app_state::App;
use crate::http::datasets::resolve::{first_real, sha256};
use crate::http::document::data_schema::Data;
use crate::http::document::declared::{
    BODY, EXAMPLES, IN_PATH, KEYED, STORED, SUBMITTED, problems,
};
use crate::http::document::learner_parameters::LearnerParameters;
use crate::http::extract::body::RequestMemory;
use crate::http::extract::data_body::{DataBody, Octets};
use crate::http::extract::data_options::{self, DataOptions, DataParameters};
use crate::http::extract::idempotency::{KeyHeader, Keyed, NotMade, once};
use crate::http::extract::{Caller, PathText, PreferWait, literal, parameter, query_pairs};
use crate::http::jobs::answer::{Wait, replay};
use crate::http::jobs::document::JobDocument;
use crate::http::jobs::submission::{FieldPaths, RequestedJob, read_for_model, submit};
use crate::http::jobs::tasks::RequestedTask;
use crate::http::problem::{FieldError, Problem, placed};

/// Time that this route waits for the job without `Prefer`.
const WAIT_DEFAULT: Duration = Duration::from_secs(10);

/// Fields of the job. Each field is a query parameter of its own.
const JOB_FIELDS: [&str; 8] = [
    "seed",
    "trace",
    "holdout",
    "warm_start",
    "name",
    "callback",
    "priority",
    "assume",
];

/// Fields of `stop`. Each field is a query parameter of its own.
const STOP_FIELDS: [&str; 7] = [
    "confidence",
    "error",
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
        ("error" = Option<f64>, Query, description = "See `stop`"),
        ("rule" = Option<String>, Query, description = "See `stop`"),
        ("max_passes" = Option<u64>, Query, description = "See `stop`"),
        ("max_mistakes" = Option<u64>, Query, description = "See `stop`"),
        ("max_examples" = Option<u64>, Query, description = "See `stop`"),
        ("max_seconds" = Option<f64>, Query, description = "See `stop`"),
        ("assume" = Option<String>, Query, description = "Declares that the data are fresh and \
                                                          independent: `independent`, \
                                                          `uniform-positive`, `reflected` or \
                                                          `uniform`"),
        DataParameters,
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
        content((Data = "application/json"), (Octets = "*/*")),
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
    let entry = learner(&name).map_err(|_| Problem::no_learner(&name))?;
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
    let query = TrainQuery::read(body.parts.uri.query(), entry, &body.limits)?;
    let (format, effort) = (body.format, body.effort(query.data.options.n));
    let memory = RequestMemory::of(&body.parts);
    let mut options = query.data.resolve(&app, &owner).await?;
    if let Some(model) = query.warm_start {
        read_for_model(&app, &owner, model, format, &mut options).await?;
    }
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
        among: None,
        warm_start: query.warm_start.map(|model| WarmStartSpec { model }),
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
        memory,
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
    /// The options for reading the body.
    pub data: DataOptions,
}

impl TrainQuery {
    /// Separates the parameters of the service from those of the learner.
    ///
    /// # Errors
    /// A parameter of the service with an invalid value. Parameters of the learner are checked later.
    pub fn read(
        query: Option<&str>,
        entry: &LearnerEntry,
        limits: &halfspace_formats::ParseLimits,
    ) -> Result<Self, Problem> {
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
            data: DataOptions::new(limits),
        };
        for (name, text) in query_pairs(query)? {
            let name = name.as_str();
            match name {
                "seed" => read.seed = Some(parameter(name, literal(&text))?),
                "trace" => read.trace = parameter(name, literal(&text))?,
                "holdout" => read.holdout = Some(parameter(name, literal(&text))?),
                "warm_start" => read.warm_start = Some(parameter(name, json!(text))?),
                "name" => read.name = Some(text),
                "callback" => read.callback = Some(text),
                "priority" => read.priority = Some(parameter(name, literal(&text))?),
                "assume" => read.data.options.assume = Some(parameter(name, json!(text))?),
                name if STOP_FIELDS.contains(&name) => {
                    stop.insert(name.to_owned(), literal(&text));
                }
                name if read.data.parameter(name, &text)? => {}
                name => read.learner_parameter(entry, name, &text)?,
            }
        }
        read.stop = parameter("", Value::Object(stop))?;
        Ok(read)
    }

    /// Adds a parameter of the learner, whose kind the catalogue knows.
    ///
    /// # Errors
    /// An unknown name, with the list of known names.
    fn learner_parameter(
        &mut self,
        entry: &LearnerEntry,
        name: &str,
        text: &str,
    ) -> Result<(), Problem> {
        let known = entry.parameters.iter().find(|known| known.name == name);
        let Some(known) = known else {
            let own = entry.parameters.iter().map(|known| known.name);
            let own: Vec<&str> = own.chain(JOB_FIELDS).chain(STOP_FIELDS).collect();
            return Err(data_options::unknown(name, &own));
        };
        insert_nested(&mut self.params, name, known.kind.value_of_text(text));
        Ok(())
    }
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
