//! The step from a request to a job, for every route that submits one: all checks before the job exists, and the
//! place of each fault in the request.
//!
//! The checks do not know the routes. [`TaskPlace`] tells where a field stands in a request.

use std::sync::Arc;

use axum::response::Response;
use halfspace_core::experiments::ExperimentError;
use halfspace_core::learners::engine::input::TaskError;
use halfspace_core::learners::engine::run::StopFlag;
use halfspace_formats::{
    CellKeeper, CharsetFault, DataForm, Format, LabelRule, Options, StoredExamples,
};

use crate::callbacks::CallbackUrl;
use crate::jobs::{
    self, Allowance, CheckedTask, ImportRefusal, Inputs, JobSample, JobsError, LoadedModel, NewJob,
    ReadError, ResolveError, resolve, unfit_reason,
};
use crate::records::import::ImportSpec;
use crate::records::task::{DataSpec, JobSpec, TaskSpec};
use crate::records::{Callback, DatasetId, Job, ModelId, Names, Owner, Priority};
use crate::storage::sources::SourceError;

use crate::http::app_state::App;
use crate::http::computing::compute;
use crate::http::datasets::resolve::{JobData, RowReading, find_data};
use crate::http::extract::data_options::check_vocabulary;
use crate::http::extract::idempotency::{Keyed, NotMade};
use crate::http::jobs::answer::{Wait, answer};
use crate::http::jobs::place::TaskPlace;
use crate::http::jobs::tasks::RequestedJob;
use crate::http::problem::{Code, FieldError, Problem};

/// Submits a job and answers about it.
///
/// # Errors
/// The first fault, placed in the request by `at`, and errors of the store.
pub async fn submit(
    app: &App,
    owner: Owner,
    job: RequestedJob,
    at: &TaskPlace,
    wait: Wait,
    key: Keyed,
) -> Result<Response, NotMade> {
    let memory = job.memory.clone();
    let new = checked_job(app, owner, job, at, key).await?;
    let stored = || memory.release();
    let job = app.jobs.worker.submit(new, wait.timeout, stored).await?;
    Ok(answer(app, job, wait.prefer).await)
}

/// Checks a requested job as far as possible before the job exists.
async fn checked_job(
    app: &App,
    owner: Owner,
    job: RequestedJob,
    at: &TaskPlace,
    key: Keyed,
) -> Result<NewJob, Problem> {
    if let TaskSpec::Import(import) = &job.task {
        let import = import.clone();
        return checked_import(app, owner, job, &import, at, key).await;
    }
    let RequestedJob { task, seed, .. } = job;
    let model = find_model(app, &owner, &task, at).await?;
    let stated = stated_rule(&task, at)?;
    let label_rule = match (&model, &stated) {
        (Some(model), _) => model.names.label_rule(),
        (None, stated) => stated.clone().unwrap_or(LabelRule::New),
    };
    let pointer = at.data_pointer();
    let is_against_rest =
        matches!(&job.data, Some(DataForm::Dataset { positive, .. }) if positive.is_some());
    let splits = task.splits();
    let cells = job.cells.or_else(|| splits.then(CellKeeper::default));
    let reading = RowReading {
        pointer,
        label_rule,
        cells: cells.clone(),
        memory: &job.memory,
    };
    let mut found = find_data(app, &owner, job.data, job.sha256, reading).await?;
    if let Some(cells) = cells.and_then(|cells| cells.take()) {
        found.cells = Some(app.jobs.datasets.table_cells(cells.into_source()));
    }
    let callback = accepted_callback(app, job.callback.as_deref(), at)?;
    check_name(app, job.name.as_deref(), |detail| at.at("/name", detail))?;
    check_seconds(app, &task, at)?;
    if is_against_rest && (model.is_some() || stated.is_some()) {
        let detail = "The classes are named already; leave `positive` out.".to_owned();
        return Err(of_data(Code::BAD_OPTION, detail, at));
    }
    if found.spec.generated.is_some() && stated.is_some() {
        let detail = "Generated examples have two classes; leave `classes` out.";
        return Err(wrong_classes(detail.to_owned(), at));
    }
    let own = model.as_ref().map(|model| model.names.clone());
    let classes = own.as_ref().map_or(2, Names::class_count);
    if found.spec.generated.is_some() && classes > 2 {
        let detail = format!(
            "The model tells {classes} classes apart, and generated examples have two; send examples."
        );
        return Err(of_data(Code::WRONG_DATA, detail, at));
    }
    let mut found = match (own, stated) {
        (Some(names), _) => read(app, found, move |data| data.read_by(&names), at).await?,
        (None, Some(LabelRule::Of(classes))) => {
            read(app, found, move |data| data.read_as(classes), at).await?
        }
        (None, Some(_)) => read_in_order(app, &owner, found).await?,
        (None, None) => read_alone(app, found, pointer).await?,
    };
    found.spec.is_seed_drawn = seed.is_none() && found.spec.generated.is_some();
    let mut spec = JobSpec {
        task,
        data: found.spec,
    };
    let seed = app.seed(seed);
    let inputs = Inputs {
        sample: found.sample,
        cells: found.cells.filter(|_| spec.needs_cells()),
        weights: found.weights,
        model,
        ..Inputs::of(seed)
    };
    let mut work = resolved(app, &owner, &spec, inputs, at).await?;
    spec.data.unfit = std::mem::take(&mut work.unfit);
    let mut new = NewJob::new(&app.jobs.ids, owner, &spec, seed, work);
    new.job.data_sha256 = found.sha256;
    new.job.dataset = found.dataset;
    Ok(described(new, job.name, callback, job.priority, &key))
}

/// Adds to a job what any request may say of it.
fn described(
    new: NewJob,
    name: Option<String>,
    callback: Option<CallbackUrl>,
    priority: Option<Priority>,
    key: &Keyed,
) -> NewJob {
    let job = Job {
        name,
        callback: callback.map(|url| Callback::new(url.as_str())),
        priority: priority.unwrap_or_default().get(),
        ..new.job
    };
    NewJob {
        job,
        key: key.claim(),
        ..new
    }
}

/// Checks the request for an import, which looks at the object.
async fn checked_import(
    app: &App,
    owner: Owner,
    job: RequestedJob,
    import: &ImportSpec,
    at: &TaskPlace,
    key: Keyed,
) -> Result<NewJob, Problem> {
    let callback = accepted_callback(app, job.callback.as_deref(), at)?;
    check_name(app, job.name.as_deref(), |detail| at.at("/name", detail))?;
    check_seconds(app, &job.task, at)?;
    let refused = |refusal| unimportable(refusal, at);
    let imports = &app.jobs.imports;
    let version = imports.look(import).await.map_err(refused)?;
    let inputs = imports.inputs(&owner, job.name.as_deref(), import, &version);
    let seed = app.seed(None);
    let inputs = Inputs {
        import: Some(inputs.await.map_err(refused)?),
        ..Inputs::of(seed)
    };
    let spec = JobSpec {
        task: job.task,
        data: DataSpec {
            source: Some(version),
            ..DataSpec::default()
        },
    };
    let work = resolved(app, &owner, &spec, inputs, at).await?;
    let new = NewJob::new(&app.jobs.ids, owner, &spec, seed, work);
    Ok(described(new, job.name, callback, job.priority, &key))
}

/// The problem for an object that cannot be imported, placed in its request.
fn unimportable(refusal: ImportRefusal, at: &TaskPlace) -> Problem {
    let detail = refusal.to_string();
    let (code, field) = match refusal {
        ImportRefusal::Source(SourceError::Store(error)) => return error.into(),
        ImportRefusal::Jobs(JobsError::ModelMissing) => {
            let detail = "There is no such model; GET /v1/models lists them.";
            (
                Code::UNKNOWN_MODEL,
                at.data_option("encoding", detail.to_owned()),
            )
        }
        ImportRefusal::Jobs(JobsError::DatasetMissing) => {
            let detail = "There is no such dataset; GET /v1/datasets lists them.";
            (
                Code::UNKNOWN_DATASET,
                at.data_option("encoding", detail.to_owned()),
            )
        }
        ImportRefusal::Jobs(error) => return error.into(),
        ImportRefusal::Parameter { name, .. } => {
            (Code::INVALID_PARAMETER, at.data_option(&name, detail))
        }
        ImportRefusal::Charset(CharsetFault::Contradiction(_)) => {
            (Code::BAD_OPTION, at.data_option("charset", detail))
        }
        ImportRefusal::Encoding(_) => (Code::TABLE_OPTION, at.data_option("encoding", detail)),
        ImportRefusal::TooLarge { .. } => (Code::TOO_LARGE, at.below("/source", detail)),
        ImportRefusal::Format(_) => (Code::OUT_OF_RANGE, at.below("/format", detail)),
        _ => (Code::BAD_SOURCE, at.below("/source", detail)),
    };
    Problem::at(code, field)
}

/// Lets the values of the labels decide on the classes. A sample of the request is then digested once more.
async fn read_alone(app: &App, mut data: JobData, pointer: &str) -> Result<JobData, Problem> {
    if !data.is_undecided {
        return Ok(data);
    }
    let pointer = pointer.to_owned();
    let work = move |_: &_| data.read_alone(&pointer).map(|()| data);
    compute(app, None, work).await
}

/// Gives the data the labels of the model or the list that reads them. A sample of the request is then digested once
/// more, which takes a second per gibibyte.
async fn read(
    app: &App,
    mut data: JobData,
    by: impl FnOnce(&mut JobData) -> Result<(), String> + Send + 'static,
    at: &TaskPlace,
) -> Result<JobData, Problem> {
    let work = move |_: &_| {
        let read = by(&mut data);
        Ok((data, read))
    };
    match compute(app, None, work).await? {
        (data, Ok(())) => Ok(data),
        (_, Err(detail)) => Err(of_data(Code::WRONG_DATA, detail, at)),
    }
}

/// Orders the classes by their first examples, for a run whose classes join.
async fn read_in_order(app: &App, owner: &Owner, mut data: JobData) -> Result<JobData, Problem> {
    let stored = match &data.sample {
        Some(JobSample::Stored(examples)) => Some(Arc::clone(examples)),
        _ => None,
    };
    // The labels of stored examples are read with the rows.
    let permit = match &stored {
        Some(_) => Some(app.permits.uploads.take(owner).await?),
        None => None,
    };
    let work = move |_: &_| {
        let read = data.read_in_order();
        Ok((data, read))
    };
    match (compute(app, permit, work).await?, stored) {
        ((data, Ok(())), _) => Ok(data),
        (_, Some(stored)) => Err(JobsError::from(ReadError::of(&stored)).into()),
        _ => Err(Problem::new(Code::INTERNAL, "The labels cannot be read.")),
    }
}

/// The rule by which the classes that the trainings of a task state read the labels of its data.
///
/// # Errors
/// The stated names are no list of classes, or a model names the classes.
pub fn stated_rule(task: &TaskSpec, at: &TaskPlace) -> Result<Option<LabelRule>, Problem> {
    let train = match task {
        TaskSpec::Train(train) => train,
        TaskSpec::Grid(grid) => &grid.train,
        _ => return Ok(None),
    };
    let Some(stated) = train.classes.clone() else {
        return Ok(None);
    };
    let rule = match train.warm_start {
        Some(_) => Err("The model names the classes; leave `classes` out.".to_owned()),
        None => stated.label_rule(),
    };
    rule.map(Some).map_err(|detail| wrong_classes(detail, at))
}

fn wrong_classes(detail: String, at: &TaskPlace) -> Problem {
    Problem::at(Code::OUT_OF_RANGE, at.at("/classes", detail))
}

/// Sets the options for reading data for a stored model. Its classes read the labels. The features have names if those
/// of the model do; otherwise its number of features is used if the format leaves the number open. A model that does
/// not exist is refused later, with its place.
///
/// # Errors
/// Names for a model of fixed features. Errors of the store pass through.
pub async fn read_for_model(
    app: &App,
    owner: &Owner,
    model: ModelId,
    format: Format,
    options: &mut Options,
) -> Result<(), Problem> {
    let model = match app.jobs.models.load(owner, model).await {
        Ok(model) => model,
        Err(JobsError::ModelMissing) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    options.label_rule = model.names.label_rule();
    check_vocabulary(options, model.names.vocabulary_kind())?;
    match model.names.is_open() {
        true => {
            options.open_vocabulary = true;
            // Texts become what they became for the model.
            let table = model.names.table.filter(|table| table.extraction.is_some());
            options.table.encoding = options.table.encoding.take().or(table);
        }
        false if format.leaves_n_open() => {
            options.n.get_or_insert(model.predictor.n());
        }
        false => {}
    }
    Ok(())
}

/// Loads the model that a task names, if any.
async fn find_model(
    app: &App,
    owner: &Owner,
    task: &TaskSpec,
    at: &TaskPlace,
) -> Result<Option<LoadedModel>, Problem> {
    let Some((field, id)) = task.model() else {
        return Ok(None);
    };
    match app.jobs.models.load(owner, id).await {
        Ok(model) => Ok(Some(model)),
        Err(error @ JobsError::ModelMissing) => {
            let detail = "There is no such model; GET /v1/models lists them.";
            Err(Problem::from(error).with(at.field(field, detail)))
        }
        Err(error) => Err(error.into()),
    }
}

/// Checks the task against its data and the limits.
async fn resolved(
    app: &App,
    owner: &Owner,
    spec: &JobSpec,
    inputs: Inputs,
    at: &TaskPlace,
) -> Result<CheckedTask, Problem> {
    let stored = match &inputs.sample {
        Some(JobSample::Stored(examples)) => Some(Arc::clone(examples)),
        _ => None,
    };
    let is_long = stored.is_some()
        || matches!(
            spec.task,
            TaskSpec::Experiment(_) | TaskSpec::Grid(_) | TaskSpec::Compare(_)
        );
    let has_indices = spec.data.names.first_index().is_some();
    let spec = spec.clone();
    let check = move |allowance: &_| resolve(&spec, inputs, allowance);
    let checked = checked(app, owner, is_long, stored, check).await?;
    checked.map_err(|error| match error {
        ResolveError::Task(TaskError::TooLarge { .. }) if has_indices => {
            let remedy = "read the data with `vocabulary=open` to keep only the indices that occur";
            let detail = format!("{error}; {remedy}");
            unresolvable(error, at).with_detail(detail)
        }
        error => unresolvable(error, at),
    })
}

/// Runs a check of tasks against their data, which may be stored examples.
///
/// Some checks read all examples or cover many points or trainings. Such a long check is as much work as reading a
/// body and takes the same permit.
async fn checked<T: Send + 'static>(
    app: &App,
    owner: &Owner,
    is_long: bool,
    stored: Option<Arc<StoredExamples>>,
    check: impl FnOnce(&Allowance) -> Result<T, ResolveError> + Send + 'static,
) -> Result<Result<T, ResolveError>, Problem> {
    let config = &app.jobs.config;
    let allowance = Allowance {
        state_bytes: app.limits.state_bytes_max,
        resident_bytes: config.resident_bytes_max,
        seconds: config.seconds_default,
        parts_seconds: app.limits.parts_seconds_max,
        is_accepted: false,
    };
    let permit = match is_long {
        true => Some(app.permits.uploads.take(owner).await?),
        false => None,
    };
    let checked = compute(app, permit, move |_| Ok(check(&allowance))).await?;
    match (&checked, stored) {
        (Err(ResolveError::Task(TaskError::Unread(_))), Some(stored)) => {
            Err(JobsError::from(ReadError::of(&stored)).into())
        }
        _ => Ok(checked),
    }
}

/// For each learner of the catalogue, the reason why it cannot learn from a dataset, or `None` if it can.
///
/// # Errors
/// [`Code::UNKNOWN_DATASET`] if the owner has no such dataset. Errors of the store pass through.
pub async fn unfit_learners(
    app: &App,
    owner: &Owner,
    dataset: DatasetId,
) -> Result<Vec<Option<String>>, Problem> {
    let opened = app.jobs.datasets.open(owner, dataset, StopFlag::default());
    let (dataset, examples) = opened.await.map_err(|error| match error {
        JobsError::DatasetMissing => {
            let detail = "there is no such dataset; GET /v1/datasets lists them";
            Problem::parameter(Code::UNKNOWN_DATASET, "dataset", detail)
        }
        error => error.into(),
    })?;
    let stored = Some(Arc::clone(&examples));
    let data = JobData::of_dataset(dataset, examples, None);
    let check = move |allowance: &_| {
        let sample = data.sample.ok_or(ResolveError::NoData)?;
        jobs::unfit_learners(&data.spec, sample, allowance)
    };
    let reasons = checked(app, owner, true, stored, check).await?;
    reasons.map_err(|error| Problem::new(Code::INTERNAL, error.to_string()))
}

/// Checks the callback URL of a job, if the job has one.
fn accepted_callback(
    app: &App,
    callback: Option<&str>,
    at: &TaskPlace,
) -> Result<Option<CallbackUrl>, Problem> {
    let Some(text) = callback else {
        return Ok(None);
    };
    let refused = |code, detail: String| Problem::at(code, at.at("/callback", detail));
    let Some(client) = &app.jobs.callbacks else {
        let detail = "This service sends no callbacks, because the operator has not set \
                      --callback-secret.";
        return Err(refused(Code::BAD_CALLBACK, detail.to_owned()));
    };
    let accepted = client.accept(text);
    let accepted = accepted.map_err(|error| refused(Code::BAD_CALLBACK, error.to_string()))?;
    Ok(Some(accepted))
}

/// Checks the time limit of a task.
fn check_seconds(app: &App, task: &TaskSpec, at: &TaskPlace) -> Result<(), Problem> {
    let seconds_max = app.limits.seconds_max;
    let Some(seconds) = task.seconds_max().filter(|seconds| *seconds > seconds_max) else {
        return Ok(());
    };
    let detail = format!("max_seconds is {seconds}, more than seconds_max: {seconds_max}.");
    let field = match task {
        TaskSpec::Grid(grid) => match grid.longer_than(seconds_max) {
            Some(pointer) => at.at(&format!("/grid/over{pointer}"), detail),
            None => at.stop("max_seconds", detail),
        },
        TaskSpec::Train(_) | TaskSpec::Compare(_) => at.stop("max_seconds", detail),
        _ => at.field("max_seconds", detail),
    };
    Err(Problem::at(Code::OUT_OF_RANGE, field))
}

/// Checks the free text that names a thing.
///
/// # Errors
/// [`Code::OUT_OF_RANGE`] for a name that is too long or contains U+0000.
pub fn check_name(
    app: &App,
    name: Option<&str>,
    at: impl FnOnce(String) -> FieldError,
) -> Result<(), Problem> {
    let characters_max = app.limits.name_characters_max as usize;
    if name.is_some_and(|name| name.chars().count() > characters_max) {
        let detail = format!("The name is longer than name_characters_max: {characters_max}.");
        return Err(Problem::at(Code::OUT_OF_RANGE, at(detail)));
    }
    if name.is_some_and(|name| name.contains('\0')) {
        // PostgreSQL cannot store this character in a text.
        let detail = "The name holds the character U+0000.".to_owned();
        return Err(Problem::at(Code::OUT_OF_RANGE, at(detail)));
    }
    Ok(())
}

/// The problem for work that cannot run, placed in its request.
pub fn unresolvable(error: ResolveError, at: &TaskPlace) -> Problem {
    let summary = error.to_string();
    match error {
        ResolveError::UnknownLearner { .. } => {
            Problem::at(Code::UNKNOWN_LEARNER, at.learner(summary))
        }
        ResolveError::Parameters(errors) => {
            let fields = errors
                .into_iter()
                .map(|error| at.learner_parameter(&error.name, error.detail));
            fields.fold(
                Problem::new(Code::INVALID_PARAMETER, summary),
                Problem::with,
            )
        }
        ResolveError::Intractable(detail) => of_data(Code::INTRACTABLE, detail, at),
        ResolveError::Field { field, detail } => {
            Problem::at(Code::WRONG_DATA, at.field(field, detail))
        }
        ResolveError::NoData | ResolveError::NoModel => Problem::new(Code::SCHEMA, summary),
        ResolveError::TooCostly { task, .. } => {
            let field = match task {
                "experiment" => at.below("/params", summary),
                task => at.at(&format!("/{task}"), summary),
            };
            Problem::at(Code::INTRACTABLE, field)
        }
        ResolveError::Experiment(error) => {
            let code = match &error {
                ExperimentError::Parameter { .. } => Code::INVALID_PARAMETER,
                ExperimentError::TooManyPoints { .. } => Code::INTRACTABLE,
            };
            let pointer = format!("/params{}", error.pointer());
            Problem::at(code, at.below(&pointer, summary))
        }
        ResolveError::Grid(error) => {
            let pointer = format!("/grid/over{}", error.pointer);
            Problem::at(Code::INVALID_PARAMETER, at.at(&pointer, summary))
        }
        ResolveError::Cell { cell, error } => {
            unresolvable(*error, &at.of_cell(cell)).with_detail(summary)
        }
        ResolveError::Compared { at: number, error } => {
            unresolvable(*error, &at.of_compared(number)).with_detail(summary)
        }
        ResolveError::NoneFits(reasons) => {
            let place = |(number, reason)| at.below(&format!("/learners/{number}"), reason);
            let fields = reasons.into_iter().enumerate().map(place);
            fields.fold(Problem::new(Code::WRONG_DATA, summary), Problem::with)
        }
        ResolveError::OtherParts { .. } | ResolveError::Damaged(_) => {
            Problem::new(Code::INTERNAL, summary)
        }
        ResolveError::Task(error) => unfit(error, at),
    }
}

/// Returns the problem for a task that does not fit its data, placed in its request.
fn unfit(error: TaskError, at: &TaskPlace) -> Problem {
    let summary = error.to_string();
    match error {
        TaskError::WrongData(detail) => of_data(Code::WRONG_DATA, detail, at),
        TaskError::NotBoolean { .. } => {
            let detail = unfit_reason(&error);
            Problem::new(Code::WRONG_DATA, detail).with(at.data(summary))
        }
        TaskError::Intractable(detail) => of_data(Code::INTRACTABLE, detail, at),
        TaskError::NotOnLine(detail) => Problem::at(Code::NOT_ON_LINE, at.learner(detail)),
        TaskError::WrongStart(detail) => {
            let detail = format!("{detail} (change or omit `warm_start`)");
            Problem::at(Code::WRONG_START, at.field("warm_start", detail))
        }
        TaskError::WrongStop { field, detail } => {
            Problem::at(Code::WRONG_STOP, at.stop(field, detail))
        }
        TaskError::Parameter(error) => {
            let field = at.learner_parameter(&error.name, error.detail);
            Problem::new(Code::WRONG_DATA, summary).with(field)
        }
        TaskError::Field { field, detail } => {
            Problem::at(Code::WRONG_DATA, at.field(field, detail))
        }
        TaskError::Unread(_) => Problem::new(Code::INTERNAL, summary),
        TaskError::TooLarge { .. } => Problem::new(Code::TOO_LARGE, summary),
    }
}

/// The problem for data at fault. A cell of a sheet stands in the detail of the error alone.
fn of_data(code: Code, detail: String, at: &TaskPlace) -> Problem {
    Problem::new(code, detail.clone()).with(at.data(detail))
}
