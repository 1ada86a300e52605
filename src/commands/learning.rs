//! The learning commands. Each command sends requests to a service and prints the answer, so the result does not depend
//! on the place of the work.

use std::fs;
use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use axum::http::Method;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::config::{
    CompareCommand, ExplainCommand, Input, LearnersCommand, LearningCommand, ModelCommand, Place,
    Settings, TheoryCommand, TrainCommand, known_format,
};

use super::connection::{Connection, Content};
use super::failure::Failure;
use super::tables;

const JSON: &str = "application/json";
const NDJSON: &str = "application/x-ndjson";

/// The parameters that limit a training. The others describe the data.
const LIMITS: [&str; 4] = ["max_passes", "max_mistakes", "max_examples", "max_seconds"];

/// Time between two reports on a job if standard error is no terminal.
const REPORT_INTERVAL: Duration = Duration::from_secs(10);

/// Runs a command.
///
/// # Errors
/// The reason why there is no result.
pub async fn run(command: &LearningCommand, settings: &Settings) -> Result<ExitCode, Failure> {
    let place = command.place();
    let connection = Connection::open(place, settings).await?;
    let is_json = place.json || !std::io::stdout().is_terminal();
    let done = match command {
        LearningCommand::Train(command) => train(&connection, command, is_json).await,
        LearningCommand::Predict(command) => predict(&connection, command, is_json).await,
        LearningCommand::Evaluate(command) => evaluate(&connection, command, is_json).await,
        LearningCommand::Compare(command) => compare(&connection, command, is_json).await,
        LearningCommand::Explain(command) => explain(&connection, command, is_json).await,
        LearningCommand::Learners(command) => learners(&connection, command, is_json).await,
        LearningCommand::Theory(command) => theory(&connection, command, is_json).await,
    };
    connection.close().await;
    done.map(|()| ExitCode::SUCCESS)
}

/// Prints a document as JSON or as a table.
fn print(document: &Value, is_json: bool, table: impl Fn(&Value) -> String) {
    match is_json {
        true => tables::write(&format!("{document:#}\n")),
        false => tables::write(&table(document)),
    }
}

async fn train(
    connection: &Connection,
    command: &TrainCommand,
    is_json: bool,
) -> Result<(), Failure> {
    let mut query = Query::of(&command.input.parameters);
    query.add("holdout", command.holdout);
    query.add("seed", command.seed);
    let path = query.after(&format!("/v1/learners/{}/train", escaped(&command.learner)));
    let job = post_file(connection, &path, &command.input).await?;
    let job = finished(connection, job).await?;
    let model = job["result"]["model"].as_str().unwrap_or_default();
    save(
        connection,
        &format!("/v1/models/{model}"),
        JSON,
        command.out.as_deref(),
    )
    .await?;
    let receipt = format!("/v1/models/{model}/receipt");
    save(connection, &receipt, JSON, command.receipt.as_deref()).await?;
    print(&job, is_json, tables::training);
    Ok(())
}

async fn predict(
    connection: &Connection,
    command: &ModelCommand,
    is_json: bool,
) -> Result<(), Failure> {
    let model = model(connection, &command.model).await?;
    let query = Query::of(&command.input.parameters);
    let path = query.after(&format!("/v1/models/{model}/predict"));
    let content = Content::File(&command.input.file, media_type(&command.input)?);
    let answer = connection
        .send(Method::POST, &path, content, NDJSON)
        .await?;
    let lines = String::from_utf8_lossy(&answer.body);
    match is_json {
        true => tables::write(&lines),
        false => tables::write(&tables::predictions(&lines)),
    }
    Ok(())
}

async fn evaluate(
    connection: &Connection,
    command: &ModelCommand,
    is_json: bool,
) -> Result<(), Failure> {
    let model = model(connection, &command.model).await?;
    let query = Query::of(&command.input.parameters);
    let path = query.after(&format!("/v1/models/{model}/evaluate"));
    let result = post_file(connection, &path, &command.input).await?;
    print(&result, is_json, tables::evaluation);
    Ok(())
}

async fn compare(
    connection: &Connection,
    command: &CompareCommand,
    is_json: bool,
) -> Result<(), Failure> {
    let parameters = command.input.parameters.iter().cloned();
    let (limits, table): (Vec<_>, Vec<_>) =
        parameters.partition(|(name, _)| LIMITS.contains(&name.as_str()));
    let stop: serde_json::Map<_, _> = limits
        .into_iter()
        .map(|(name, value)| {
            (
                name,
                serde_json::from_str(&value).unwrap_or(Value::String(value)),
            )
        })
        .collect();
    let (assume, table): (Vec<_>, Vec<_>) =
        table.into_iter().partition(|(name, _)| name == "assume");
    let path = Query::of(&table).after("/v1/datasets");
    let dataset = post_file(connection, &path, &command.input).await?;
    let mut data = json!({"dataset": dataset["id"]});
    if let Some((_, assume)) = assume.into_iter().next_back() {
        data["assume"] = json!(assume);
    }
    let mut request = json!({"data": data, "stop": stop});
    let learners: Vec<_> = command
        .learners
        .iter()
        .map(|name| json!({"name": name}))
        .collect();
    for (member, value) in [
        ("learners", (!learners.is_empty()).then(|| json!(learners))),
        ("folds", command.folds.map(Value::from)),
        ("holdout", command.holdout.map(Value::from)),
        ("seed", command.seed.map(Value::from)),
    ] {
        if let Some(value) = value {
            request[member] = value;
        }
    }
    let request = json!({"compare": request});
    let job = connection
        .send(Method::POST, "/v1/jobs", Content::Json(&request), JSON)
        .await?;
    let job = finished(connection, job.json()?).await?;
    let figure = format!("/v1/jobs/{}/figure", job["id"].as_str().unwrap_or_default());
    save(
        connection,
        &figure,
        "image/svg+xml",
        command.figure.as_deref(),
    )
    .await?;
    if let Some(model) = job["result"]["model"].as_str() {
        save(
            connection,
            &format!("/v1/models/{model}"),
            JSON,
            command.out.as_deref(),
        )
        .await?;
    }
    print(&job, is_json, tables::comparison);
    Ok(())
}

async fn explain(
    connection: &Connection,
    command: &ExplainCommand,
    is_json: bool,
) -> Result<(), Failure> {
    let model = model(connection, &command.model).await?;
    let mut query = Query::of(&[]);
    query.add("top", command.top);
    let path = query.after(&format!("/v1/models/{model}/explanation"));
    let explanation = connection
        .send(Method::GET, &path, Content::None, JSON)
        .await?;
    print(&explanation.json()?, is_json, tables::explanation);
    Ok(())
}

async fn learners(
    connection: &Connection,
    command: &LearnersCommand,
    is_json: bool,
) -> Result<(), Failure> {
    let path = match &command.name {
        Some(name) => format!("/v1/learners/{}", escaped(name)),
        None => "/v1/learners".to_owned(),
    };
    let found = connection
        .send(Method::GET, &path, Content::None, JSON)
        .await?;
    print(&found.json()?, is_json, tables::learners);
    Ok(())
}

async fn theory(
    connection: &Connection,
    command: &TheoryCommand,
    is_json: bool,
) -> Result<(), Failure> {
    let query = Query::of(&command.parameters);
    let path = query.after(&format!("/v1/theory/{}", escaped(&command.formula)));
    let found = connection
        .send(Method::GET, &path, Content::None, JSON)
        .await?;
    print(&found.json()?, is_json, tables::members);
    Ok(())
}

fn media_type(input: &Input) -> Result<&'static str, Failure> {
    let format = known_format(&input.file, input.format).map_err(Failure::usage)?;
    Ok(format.media_type())
}

async fn post_file(connection: &Connection, path: &str, input: &Input) -> Result<Value, Failure> {
    let content = Content::File(&input.file, media_type(input)?);
    connection
        .send(Method::POST, path, content, JSON)
        .await?
        .json()
}

/// The id of a model. A file is first sent to the service.
async fn model(connection: &Connection, model: &str) -> Result<String, Failure> {
    let path = Path::new(model);
    if !path.exists() && connection.server().is_some() {
        return Ok(escaped(model));
    }
    let content = Content::File(path, JSON);
    let imported = connection
        .send(Method::POST, "/v1/models", content, JSON)
        .await?;
    let id = imported.json()?["id"].take();
    Ok(id.as_str().unwrap_or_default().to_owned())
}

/// Writes an answer of the service to a file, if one is asked for.
async fn save(
    connection: &Connection,
    path: &str,
    accept: &str,
    file: Option<&Path>,
) -> Result<(), Failure> {
    let Some(file) = file else { return Ok(()) };
    let answer = connection
        .send(Method::GET, path, Content::None, accept)
        .await?;
    fs::write(file, &answer.body)
        .map_err(|error| Failure::work(format!("{}: {error}", file.display())))
}

/// Waits for the end of a job and shows the progress on standard error. Returns the job.
///
/// # Errors
/// The job failed or was interrupted. A running service goes on with an interrupted job.
async fn finished(connection: &Connection, mut job: Value) -> Result<Value, Failure> {
    let id = job["id"].as_str().unwrap_or_default().to_owned();
    let path = format!("/v1/jobs/{id}");
    let mut report = Report::default();
    while job["finished_at"].is_null() {
        report.show(&job);
        tokio::select! {
            answer = connection.send(Method::GET, &path, Content::None, JSON) => job = answer?.json()?,
            _ = tokio::signal::ctrl_c() => {
                report.clear();
                return Err(Failure::work(match connection.server() {
                    None => "interrupted".to_owned(),
                    Some(server) => format!("interrupted; the job goes on at {server}{path}"),
                }));
            }
        }
    }
    report.clear();
    match job["status"].as_str() {
        Some("succeeded") => Ok(job),
        status => {
            let detail = job["error"]["detail"].as_str().or(status);
            Err(Failure::work(detail.unwrap_or("the job failed").to_owned()))
        }
    }
}

/// The reports on a running job.
#[derive(Default)]
struct Report {
    last: Option<Instant>,
}

impl Report {
    fn show(&mut self, job: &Value) {
        let is_terminal = std::io::stderr().is_terminal();
        let is_due = self
            .last
            .is_none_or(|last| last.elapsed() >= REPORT_INTERVAL);
        if is_terminal {
            eprint!("\r\x1b[K{}", tables::progress(job));
        } else if is_due {
            eprintln!("{}", tables::progress(job));
        } else {
            return;
        }
        self.last = Some(Instant::now());
    }

    fn clear(&self) {
        if self.last.is_some() && std::io::stderr().is_terminal() {
            eprint!("\r\x1b[K");
        }
    }
}

/// The query of a request.
struct Query(form_urlencoded::Serializer<'static, String>);

impl Query {
    fn of(pairs: &[(String, String)]) -> Self {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(pairs);
        Self(query)
    }

    fn add(&mut self, name: &str, value: Option<impl ToString>) {
        if let Some(value) = value {
            self.0.append_pair(name, &value.to_string());
        }
    }

    /// The path with this query.
    fn after(mut self, path: &str) -> String {
        match self.0.finish() {
            query if query.is_empty() => path.to_owned(),
            query => format!("{path}?{query}"),
        }
    }
}

/// A segment of a path.
fn escaped(segment: &str) -> String {
    form_urlencoded::byte_serialize(segment.as_bytes()).collect()
}

impl LearningCommand {
    fn place(&self) -> &Place {
        match self {
            Self::Train(command) => &command.place,
            Self::Predict(command) | Self::Evaluate(command) => &command.place,
            Self::Compare(command) => &command.place,
            Self::Explain(command) => &command.place,
            Self::Learners(command) => &command.place,
            Self::Theory(command) => &command.place,
        }
    }
}
