//! `POST /v1/learners/{name}/train`: a training with its data in the body and its options in the query, for people
//! with a file and curl.
//!
//! The job is the same as one from `POST /v1/jobs`; only the shape of the request and the default wait differ.

use std::time::Duration;

use axum::extract::{Request, State};
use axum::response::Response;
use halfspace_core::learners::engine::entry::LearnerEntry;
use halfspace_core::learners::engine::parameters::insert_nested;
use halfspace_formats::{CellKeeper, ParseLimits, plain_words};
use serde_json::{Map, Value, json};

use crate::jobs::learner;
use crate::records::Owner;

use crate::http::app_state::App;
use crate::http::datasets::resolve::{first_real, sha256};
use crate::http::document::data_schema::Data;
use crate::http::document::declared::{
    BODY, EXAMPLES, IN_PATH, KEYED, STORED, SUBMITTED, problems,
};
use crate::http::document::train_parameters::{self, TrainParameters};
use crate::http::extract::body::RequestMemory;
use crate::http::extract::data_body::{DataBody, Octets};
use crate::http::extract::data_options::{self, DataOptions, DataParameters};
use crate::http::extract::idempotency::{KeyHeader, Keyed, NotMade, once};
use crate::http::extract::{Caller, PathText, PreferWait, literal, parameter, query_pairs};
use crate::http::jobs::answer::{Wait, replay};
use crate::http::jobs::document::JobDocument;
use crate::http::jobs::place::{self, TaskPlace, path};
use crate::http::jobs::submission::{read_for_model, stated_rule, submit};
use crate::http::jobs::tasks::RequestedJob;
use crate::http::problem::{Code, Problem};

/// Time that this route waits for the job without `Prefer`.
const WAIT_DEFAULT: Duration = Duration::from_secs(10);

/// Trains a learner on the data in the body.
///
/// The query holds the fields of the task `train` with dots between nested names, such as `params.eta` and
/// `stop.max_passes`, and the options for reading the body. The response waits up to 10 seconds for the end of the job,
/// or as long as `Prefer` asks.
#[utoipa::path(post, path = "/v1/learners/{name}/train", tag = "learners",
    params(
        ("name" = String, Path, description = "The learner's name"),
        ("Prefer" = Option<String>, Header, description = "`wait=S` waits for the end of the job, \
                                                           at most 60 seconds"),
        KeyHeader,
        ("assume" = Option<String>, Query, description = "Declares that the data are fresh and \
                                                          independent: `independent`, \
                                                          `uniform-positive`, `reflected` or \
                                                          `uniform`"),
        DataParameters, TrainParameters),
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
    let (mut job, data) = read_query(body.parts.uri.query(), entry, &body.limits)?;
    let format = body.format;
    job.memory = RequestMemory::of(&body.parts);
    let mut options = data.resolve(&app, &owner, &body.parts.headers).await?;
    if let Some((_, model)) = job.task.model() {
        read_for_model(&app, &owner, model, format, &mut options).await?;
    } else if let Some(rule) = stated_rule(&job.task, &TaskPlace::in_query(None))? {
        options.label_rule = rule;
    }
    if job.task.splits() {
        let keeper = CellKeeper::default();
        job.cells = Some(keeper.clone());
        options.cells = Some(keeper);
    }
    // A model or an encoding may say what texts become.
    let effort = body.effort(&options);
    let read = body.under(&options).read(&app, effort, move |reader| {
        let form = halfspace_formats::read(format, reader, &options)?;
        let sha256 = sha256(&form);
        Ok((form, sha256))
    });
    let (form, sha256) = read.await?;
    let at = TaskPlace::in_query(first_real(&form));
    (job.data, job.sha256) = (Some(form), sha256);
    submit(&app, owner, job, &at, wait, key).await
}

/// Reads the query as the document of a job without its data, and the options for reading the body.
///
/// # Errors
/// An unknown parameter, or an invalid value. The learner's own parameters are checked later.
pub fn read_query(
    query: Option<&str>,
    entry: &LearnerEntry,
    limits: &ParseLimits,
) -> Result<(RequestedJob, DataOptions), Problem> {
    let mut document = Map::new();
    insert_nested(&mut document, &path("params"), json!({}));
    insert_nested(&mut document, "train.learner.name", json!(entry.name));
    let mut data = DataOptions::new(limits);
    for (name, text) in query_pairs(query)? {
        let own = name.strip_prefix("params.");
        let mut known = entry.parameters.iter();
        let learner_parameter = known.find(|known| Some(known.name) == own);
        let value = match (learner_parameter, train_parameters::find(&name)) {
            (Some(known), _) => known.kind.value_of_text(&text),
            (None, Some(field)) if field.is_text() => json!(text),
            (None, Some(_)) => literal(&text),
            (None, None) if name == "assume" => {
                data.options.assume = Some(parameter(&name, json!(text))?);
                continue;
            }
            (None, None) if data.parameter(&name, &text)? => continue,
            (None, None) => return Err(unknown(&name, entry)),
        };
        insert_nested(&mut document, &path(&name), value);
    }
    let job = serde_path_to_error::deserialize(Value::Object(document)).map_err(|error| {
        let name = place::parameter(&error.path().to_string());
        let detail = plain_words(&error.inner().to_string());
        Problem::parameter(Code::INVALID_PARAMETER, &name, detail)
    })?;
    Ok((job, data))
}

/// The problem for an unknown parameter, with the known names.
fn unknown(name: &str, entry: &LearnerEntry) -> Problem {
    let own = entry.parameters.iter();
    let own: Vec<String> = own
        .map(|known| format!("params.{}", known.name))
        .chain(train_parameters::names().map(str::to_owned))
        .chain(["assume".to_owned()])
        .collect();
    let own: Vec<&str> = own.iter().map(String::as_str).collect();
    data_options::unknown(name, &own)
}
