//! The learning commands. Each sends requests to a service and prints the answer, so the result does not depend on
//! where that service runs.

use std::fs;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use axum::http::Method;
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::Instant;

use crate::app::terminal::{Shown, on_one_line};
use crate::config::{
    CompareCommand, EncodeCommand, ExplainCommand, ImportCommand, Input, LearnersCommand,
    LearningCommand, ModelCommand, Place, Settings, TheoryCommand, TrainCommand, known_format,
};

use super::connection::{Connection, Content};
use super::failure::Failure;
use super::tables;

const JSON: &str = "application/json";
const NDJSON: &str = "application/x-ndjson";

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
    let work = async {
        match command {
            LearningCommand::Train(command) => train(&connection, command, is_json).await,
            LearningCommand::Predict(command) => predict(&connection, command, is_json).await,
            LearningCommand::Evaluate(command) => evaluate(&connection, command, is_json).await,
            LearningCommand::Compare(command) => compare(&connection, command, is_json).await,
            LearningCommand::Explain(command) => explain(&connection, command, is_json).await,
            LearningCommand::Import(command) => import(&connection, command, is_json).await,
            LearningCommand::Encode(command) => encode(&connection, command, is_json).await,
            LearningCommand::Learners(command) => learners(&connection, command, is_json).await,
            LearningCommand::Theory(command) => theory(&connection, command, is_json).await,
        }
    };
    // The store inside this process is removed also after a signal.
    let done = tokio::select! {
        done = work => done,
        stopped = signalled() => Err(stopped),
    };
    let done = done.map_err(|failure| match connection.left_behind() {
        Some(job) => Failure::work(format!("{failure}; the job continues at {job}")),
        None => failure,
    });
    connection.close().await;
    done.map(|()| ExitCode::SUCCESS)
}

/// The failure of a command that a signal ends.
async fn signalled() -> Failure {
    let handlers = signal(SignalKind::interrupt())
        .and_then(|interrupt| Ok((interrupt, signal(SignalKind::terminate())?)));
    let (mut interrupt, mut terminate) = match handlers {
        Ok(handlers) => handlers,
        Err(error) => return Failure::work(format!("no handler of signals: {error}")),
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    Failure::work("interrupted".to_owned())
}

/// Prints a document as JSON or as a table.
fn print(document: &Value, is_json: bool, table: impl Fn(&Value) -> String) -> Result<(), Failure> {
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
    check_folders([&command.out, &command.receipt])?;
    let mut query = Query::of(&command.input.parameters);
    query.add("holdout", command.holdout);
    query.add("stratify", command.stratify.then_some(true));
    query.add("class_weight", command.class_weight.as_deref());
    query.add("seed", command.seed);
    let path = query.after(&format!("/v1/learners/{}/train", escaped(&command.learner)));
    let job = post_file(connection, &path, &command.input).await?;
    let job = finished(connection, job).await?;
    print(&job, is_json, tables::training)?;
    let model = model_path(&job);
    save(connection, model.as_deref(), JSON, command.out.as_deref()).await?;
    let receipt = model.map(|model| format!("{model}/receipt"));
    save(
        connection,
        receipt.as_deref(),
        JSON,
        command.receipt.as_deref(),
    )
    .await
}

async fn predict(
    connection: &Connection,
    command: &ModelCommand,
    is_json: bool,
) -> Result<(), Failure> {
    let query = Query::of(&command.input.parameters);
    let content = Content::File(&command.input.file, media_type(&command.input)?);
    let answer = with_model(connection, &command.model, async |model| {
        let path = query.after(&format!("{model}/predict"));
        connection.send(Method::POST, &path, content, NDJSON).await
    });
    let answer = answer.await?;
    let lines = String::from_utf8_lossy(&answer.body);
    // A late error is the last line.
    let last = lines.trim_end().rsplit('\n').next().unwrap_or_default();
    let late: Value = serde_json::from_str(last).unwrap_or_default();
    match is_json {
        true => tables::write(&lines)?,
        false => tables::write(&tables::predictions(&lines))?,
    }
    match late["error"]["detail"].as_str() {
        Some(detail) => Err(Failure::work(
            match late["error"]["errors"][0]["line"].as_u64() {
                Some(line) => format!("line {line}: {detail}"),
                None => detail.to_owned(),
            },
        )),
        None => Ok(()),
    }
}

async fn evaluate(
    connection: &Connection,
    command: &ModelCommand,
    is_json: bool,
) -> Result<(), Failure> {
    let query = Query::of(&command.input.parameters);
    let result = with_model(connection, &command.model, async |model| {
        let path = query.after(&format!("{model}/evaluate"));
        post_file(connection, &path, &command.input).await
    });
    let result = result.await?;
    print(&result, is_json, tables::evaluation)
}

async fn compare(
    connection: &Connection,
    command: &CompareCommand,
    is_json: bool,
) -> Result<(), Failure> {
    check_folders([&command.out, &command.figure])?;
    let (mut stop, mut data, mut table) = (json!({}), json!({}), Vec::new());
    for (name, value) in &command.input.parameters {
        match name.strip_prefix("stop.") {
            Some(name) => stop[name] = serde_json::from_str(value).unwrap_or_else(|_| json!(value)),
            None if name == "assume" => data["assume"] = json!(value),
            None => table.push((name.clone(), value.clone())),
        }
    }
    let path = Query::of(&table).after("/v1/datasets");
    let dataset = post_file(connection, &path, &command.input).await?;
    data["dataset"] = dataset["id"].clone();
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
        ("stratify", command.stratify.then_some(Value::Bool(true))),
        (
            "class_weight",
            command.class_weight.clone().map(Value::from),
        ),
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
    print(&job, is_json, tables::comparison)?;
    let figure = format!("/v1/jobs/{}/figure", job["id"].as_str().unwrap_or_default());
    let file = command.figure.as_deref();
    save(connection, Some(&figure), "image/svg+xml", file).await?;
    let model = model_path(&job);
    save(connection, model.as_deref(), JSON, command.out.as_deref()).await
}

async fn explain(
    connection: &Connection,
    command: &ExplainCommand,
    is_json: bool,
) -> Result<(), Failure> {
    let mut query = Query::of(&[]);
    query.add("top", command.top);
    query.add("class", command.class.as_deref());
    let explanation = with_model(connection, &command.model, async |model| {
        let path = query.after(&format!("{model}/explanation"));
        connection
            .send(Method::GET, &path, Content::None, JSON)
            .await
    });
    let explanation = explanation.await?;
    print(&explanation.json()?, is_json, tables::explanation)
}

/// Stores an object of a bucket as a dataset. A store inside this process would vanish with it.
async fn import(
    connection: &Connection,
    command: &ImportCommand,
    is_json: bool,
) -> Result<(), Failure> {
    need_server(connection, "import")?;
    let path = Query::of(&command.parameters).after("/v1/datasets/import");
    let mut request = json!({"source": command.source});
    for (member, value) in [
        (
            "format",
            command.format.map(|format| json!(format.media_type())),
        ),
        ("name", command.name.as_ref().map(|name| json!(name))),
    ] {
        if let Some(value) = value {
            request[member] = value;
        }
    }
    let job = connection
        .send(Method::POST, &path, Content::Json(&request), JSON)
        .await?;
    let job = finished(connection, job.json()?).await?;
    print(&job, is_json, |job| tables::members(&job["result"]))
}

/// Refuses a command whose dataset would vanish with the store of this process.
fn need_server(connection: &Connection, command: &str) -> Result<(), Failure> {
    match connection.server() {
        Some(_) => Ok(()),
        None => Err(Failure::usage(format!(
            "{command} needs --server: the dataset stays in the store of a running service"
        ))),
    }
}

/// Stores the table of a dataset under other parameters.
async fn encode(
    connection: &Connection,
    command: &EncodeCommand,
    is_json: bool,
) -> Result<(), Failure> {
    need_server(connection, "encode")?;
    let name = command.name.iter();
    let name = name.map(|name| ("name".to_owned(), name.clone()));
    let parameters: Vec<_> = command.parameters.iter().cloned().chain(name).collect();
    let path = format!("/v1/datasets/{}/encode", escaped(&command.dataset));
    let path = Query::of(&parameters).after(&path);
    let dataset = connection
        .send(Method::POST, &path, Content::None, JSON)
        .await?;
    print(&dataset.json()?, is_json, tables::members)
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
    print(&found.json()?, is_json, tables::learners)
}

async fn theory(
    connection: &Connection,
    command: &TheoryCommand,
    is_json: bool,
) -> Result<(), Failure> {
    let query = Query::of(&command.parameters);
    let known = formulas();
    if !known.contains(&command.formula) {
        return Err(Failure::usage(format!(
            "unknown formula {}; the formulas are {}",
            command.formula,
            known.join(", ")
        )));
    }
    let path = query.after(&format!("/v1/theory/{}", command.formula));
    let found = connection
        .send(Method::GET, &path, Content::None, JSON)
        .await?;
    print(&found.json()?, is_json, tables::members)
}

/// The names of the formulas in the OpenAPI document.
fn formulas() -> Vec<String> {
    let document: Value = serde_json::from_str(&crate::http::document()).unwrap_or_default();
    let paths = document["paths"].as_object().into_iter().flatten();
    let names = paths.filter_map(|(path, _)| path.strip_prefix("/v1/theory/"));
    names.map(str::to_owned).collect()
}

fn media_type(input: &Input) -> Result<&'static str, Failure> {
    if input.file != Path::new("-") && !input.file.exists() {
        let file = input.file.display();
        return Err(Failure::usage(format!("{file}: no such file")));
    }
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

/// Works with the path of a model: one of the service by its id, or that of a file, which is sent to the service and
/// deleted after the work, whatever comes of it.
async fn with_model<T>(
    connection: &Connection,
    model: &str,
    work: impl AsyncFnOnce(&str) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let file = Path::new(model);
    if !file.exists() && connection.server().is_some() {
        return work(&format!("/v1/models/{}", escaped(model))).await;
    }
    let content = Content::File(file, JSON);
    let imported = connection.send(Method::POST, "/v1/models", content, JSON);
    let id = imported.await?.json()?["id"].take();
    let path = format!("/v1/models/{}", id.as_str().unwrap_or_default());
    let done = work(&path).await;
    let removed = connection.send(Method::DELETE, &path, Content::None, JSON);
    let removed = removed.await;
    let done = done?;
    removed?;
    Ok(done)
}

/// Refuses a file in a folder that does not exist, before the work begins.
fn check_folders(files: [&Option<PathBuf>; 2]) -> Result<(), Failure> {
    for file in files.into_iter().flatten() {
        let folder = file.parent().unwrap_or(Path::new(""));
        if folder != Path::new("") && !folder.is_dir() {
            let (file, folder) = (file.display(), folder.display());
            return Err(Failure::usage(format!(
                "{file}: there is no folder {folder}"
            )));
        }
    }
    Ok(())
}

/// The path of the model that a job made.
fn model_path(job: &Value) -> Option<String> {
    let id = job["result"]["model"].as_str()?;
    Some(format!("/v1/models/{id}"))
}

/// Writes an answer of the service to a file, if one is asked for.
///
/// # Errors
/// There is no `path` because the job made no model, or the file cannot be written.
async fn save(
    connection: &Connection,
    path: Option<&str>,
    accept: &str,
    file: Option<&Path>,
) -> Result<(), Failure> {
    let Some(file) = file else { return Ok(()) };
    let name = file.display();
    let path = path.ok_or_else(|| Failure::work(format!("{name}: the job made no model")))?;
    let answer = connection
        .send(Method::GET, path, Content::None, accept)
        .await?;
    fs::write(file, &answer.body).map_err(|error| Failure::work(format!("{name}: {error}")))
}

/// Waits for the end of a job and shows the progress on standard error. Returns the job.
///
/// # Errors
/// The job failed or was interrupted. A running service goes on with an interrupted job.
async fn finished(connection: &Connection, mut job: Value) -> Result<Value, Failure> {
    let id = job["id"].as_str().unwrap_or_default().to_owned();
    let path = format!("/v1/jobs/{id}");
    let mut report = Report::default();
    connection.wait_for(&path);
    while job["finished_at"].is_null() {
        report.show(&job);
        let polled = connection.send(Method::GET, &path, Content::None, JSON);
        job = polled.await.and_then(|answer| answer.json())?;
    }
    connection.left_behind();
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
        let line = tables::progress(job);
        // The reader may have closed the pipe, which is no reason to lose the result.
        let _ = match (is_terminal, is_due) {
            (true, _) => write!(std::io::stderr(), "\r\x1b[K{}", on_one_line(&line)),
            (false, true) => writeln!(Shown(std::io::stderr()), "{line}"),
            (false, false) => return,
        };
        self.last = Some(Instant::now());
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        if self.last.is_some() && std::io::stderr().is_terminal() {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
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
    // The form of queries writes a space as `+`, which a path does not know.
    let form: String = form_urlencoded::byte_serialize(segment.as_bytes()).collect();
    form.replace('+', "%20")
}

impl LearningCommand {
    fn place(&self) -> &Place {
        match self {
            Self::Train(command) => &command.place,
            Self::Predict(command) | Self::Evaluate(command) => &command.place,
            Self::Compare(command) => &command.place,
            Self::Explain(command) => &command.place,
            Self::Import(command) => &command.place,
            Self::Encode(command) => &command.place,
            Self::Learners(command) => &command.place,
            Self::Theory(command) => &command.place,
        }
    }
}
