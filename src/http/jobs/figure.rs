//! `GET /v1/jobs/{id}/figure`: the outcome of an experiment or of a comparison as a picture, a table or a document.

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use halfspace_core::experiments::csv::field;
use halfspace_core::figures::bars::{Bar, BarChart};
use halfspace_core::figures::words::number;
use serde::Deserialize;
use serde_json::Value;

use crate::jobs::outcome_so_far;
use crate::records::compare::{CompareResult, ComparedLearner};
use crate::records::experiment::ExperimentResult;
use crate::records::id::JobKind;
use crate::records::task::{JobSpec, TaskSpec};
use crate::records::{JobId, SubjobOutcome};
use crate::storage::StoreError;

use crate::http::answer::Json;
use crate::http::app_state::App;
use crate::http::computing::compute;
use crate::http::document::declared::{COMPUTED, IN_PATH, problems};
use crate::http::extract::{Caller, FormatQuery, PathId, Query, chosen};
use crate::http::jobs::document::JobResult;
use crate::http::problem::{Code, Problem};

/// Returns the outcome of an experiment or of a comparison as a picture, a table or a document.
///
/// `Accept` or `format` selects the format. While the job runs, the outcome contains the parts that have ended.
#[utoipa::path(get, path = "/v1/jobs/{id}/figure", tag = "experiments",
    params(("id" = JobId, Path, description = "The job"), FormatQuery,
        ("Accept" = Option<String>, Header,
            description = "`image/svg+xml`, `text/csv` or `application/json`")),
    responses((status = 200, description = "The figure",
        content((String = "image/svg+xml"), (String = "text/csv"),
            (JobResult = "application/json")))),
    extensions(("x-problems" = json!(problems(&[IN_PATH, COMPUTED, &[Code::NOT_ACCEPTABLE]])))))]
pub async fn get_job_figure(
    State(app): State<App>,
    Caller(owner): Caller,
    Query(query): Query<FormatQuery>,
    PathId(id): PathId<JobKind>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let media_types = ["image/svg+xml", "text/csv", "application/json"];
    let media_type = chosen(query.format.as_deref(), &headers, &media_types)?;
    let job = app.jobs.queue.job(&owner, id).await?;
    let spec = JobSpec::deserialize(&*job.spec).ok().filter(|spec| {
        let task = &spec.task;
        matches!(task, TaskSpec::Experiment(_) | TaskSpec::Compare(_))
    });
    let Some(spec) = spec else {
        let detail =
            "This job has no figure, because the job is neither an experiment nor a comparison.";
        return Err(Problem::new(Code::NOT_FOUND, detail));
    };
    let subjobs = app.jobs.queue.subjobs(job.id).await?;
    let draw = move |_: &_| figure(media_type, &spec, &subjobs, job.result);
    let permit = app.permits.uploads.take(&job.owner).await?;
    compute(&app, Some(permit), draw).await
}

fn figure(
    media_type: &'static str,
    spec: &JobSpec,
    subjobs: &[SubjobOutcome],
    result: Option<Value>,
) -> Result<Response, Problem> {
    let text = match &spec.task {
        TaskSpec::Compare(compare) => {
            let result = match result {
                Some(result) => serde_json::from_value(result).map_err(StoreError::corrupt)?,
                None => CompareResult::gather(compare, &spec.data.unfit, subjobs),
            };
            match media_type {
                "text/csv" => table(&result),
                "image/svg+xml" => picture(&result).to_svg(),
                _ => return Ok(Json(JobResult::Compare(result)).into_response()),
            }
        }
        TaskSpec::Experiment(experiment) => {
            let outcome = outcome_so_far(experiment, subjobs);
            let outcome =
                outcome.map_err(|error| Problem::new(Code::INTERNAL, error.to_string()))?;
            match media_type {
                "text/csv" => outcome.chart.to_csv(),
                "image/svg+xml" => outcome.chart.to_svg(),
                _ => {
                    let result = ExperimentResult::from(&outcome);
                    return Ok(Json(JobResult::Experiment(result)).into_response());
                }
            }
        }
        _ => unreachable!("the task has a figure"),
    };
    let content_type = HeaderValue::from_static(media_type);
    Ok(([(header::CONTENT_TYPE, content_type)], text).into_response())
}

/// The table of a comparison: one line per learner in the order of the request.
fn table(result: &CompareResult) -> String {
    let mut text =
        "learner,params,errors,examples,error_rate,low,high,mistakes,updates,seconds,unfit\n"
            .to_owned();
    for learner in &result.learners {
        let interval = learner.interval;
        let (low, high) = interval
            .map(|interval| (interval.low, interval.high))
            .unzip();
        let cells = [
            learner.name.clone(),
            Value::from(learner.params.clone()).to_string(),
            cell(learner.errors),
            cell(learner.examples),
            cell(learner.error_rate),
            cell(low),
            cell(high),
            cell(learner.mistakes),
            cell(learner.updates),
            cell(learner.seconds),
            cell(learner.unfit.clone()),
        ];
        text.push_str(&cells.map(|cell| field(&cell)).join(","));
        text.push('\n');
    }
    text
}

fn cell(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// The error rates of a comparison as bars, with the best learner first.
fn picture(result: &CompareResult) -> BarChart {
    let mut judged: Vec<_> = result
        .learners
        .iter()
        .filter_map(|learner| Some((learner, learner.error_rate?)))
        .collect();
    judged.sort_by(|(_, one), (_, other)| one.total_cmp(other));
    let best = result.best.map(|best| &result.learners[best as usize]);
    let bar = |(learner, rate): &(&ComparedLearner, f64)| Bar {
        label: match learner.params.is_empty() {
            true => learner.name.clone(),
            false => format!("{} {}", learner.name, Value::from(learner.params.clone())),
        },
        value: *rate,
        text: format!(
            "{} ({} of {})",
            number(*rate),
            cell(learner.errors),
            cell(learner.examples)
        ),
        low: learner.interval.map(|interval| interval.low),
        high: learner.interval.map(|interval| interval.high),
        before: None,
    };
    let note = result
        .intervals
        .iter()
        .map(|intervals| intervals.statement.clone());
    let best = best.map(|best| format!("The model is {}, trained on all examples.", best.name));
    let unfit = result.learners.iter().filter_map(|learner| {
        let reason = learner.unfit.as_ref()?;
        Some(format!("Not compared: {}, because {reason}.", learner.name))
    });
    BarChart {
        title: "Learners on the same held-out examples".to_owned(),
        axis: "share of errors on held-out examples".to_owned(),
        bars: judged.iter().map(bar).collect(),
        notes: note.chain(best).chain(unfit).collect(),
    }
}
