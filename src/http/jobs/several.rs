//! `POST /v1/jobs/cancel` and `POST /v1/jobs/delete`: many jobs with one request.
//!
//! Each job is cancelled or deleted by its own write, exactly as on the route for one job. A long list therefore
//! locks nothing for longer than a single job does, and a job that cannot be cancelled or deleted does not affect the
//! others.

use std::fmt;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use crate::jobs::JobsError;
use crate::records::{JobId, Owner, Status};

use crate::http::answer::Json;
use crate::http::app_state::App;
use crate::http::document::declared::{BODY, problems};
use crate::http::extract::data_body::read_json;
use crate::http::extract::{Caller, NoQuery};
use crate::http::limits::JOB_IDS_MAX;
use crate::http::problem::Problem;

/// Jobs to cancel or to delete.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct JobIds {
    /// Ids of jobs. Parts are cancelled and deleted with the job of which they are parts.
    #[serde(deserialize_with = "ids")]
    #[schema(min_items = 1, max_items = 1_000)]
    ids: Vec<JobId>,
}

/// What became of each job of the request.
#[derive(Serialize, ToSchema)]
pub struct JobOutcomes {
    /// One item for each id, in the order of the request.
    items: Vec<JobOutcome>,
}

/// What became of one job.
#[derive(Serialize, ToSchema)]
pub struct JobOutcome {
    id: JobId,
    /// Status of the cancelled job. Null if the job was deleted or the request failed for it.
    status: Option<Status>,
    /// Reason why nothing was done; null if the job was cancelled or deleted.
    refusal: Option<JobRefusal>,
}

/// Reason why a job was neither cancelled nor deleted.
#[derive(Clone, Serialize, ToSchema)]
pub struct JobRefusal {
    /// Name of the error, as in a problem document. `/problems/{code}` explains it.
    code: String,
    detail: String,
}

/// Cancels several jobs.
///
/// Each job ends as if you had cancelled it alone; a job that you cancelled before is no error. The answer tells for
/// each id what became of it, so look for a `refusal`. You can safely repeat the request.
#[utoipa::path(post, path = "/v1/jobs/cancel", tag = "jobs", request_body = JobIds,
    responses((status = 200, description = "What became of each job", body = JobOutcomes)),
    extensions(("x-problems" = json!(problems(&[BODY])))))]
pub async fn cancel_jobs(
    State(app): State<App>,
    Caller(owner): Caller,
    _: NoQuery,
    request: Request,
) -> Result<Json<JobOutcomes>, Problem> {
    each(&app, &owner, request, Act::Cancel).await
}

/// Deletes several ended jobs. Their models stay.
///
/// The answer tells for each id what became of it. A job that has not ended is refused; cancel it first. After a
/// repeated request, the jobs that the first one deleted are refused as `not-found`.
#[utoipa::path(post, path = "/v1/jobs/delete", tag = "jobs", request_body = JobIds,
    responses((status = 200, description = "What became of each job", body = JobOutcomes)),
    extensions(("x-problems" = json!(problems(&[BODY])))))]
pub async fn delete_jobs(
    State(app): State<App>,
    Caller(owner): Caller,
    _: NoQuery,
    request: Request,
) -> Result<Json<JobOutcomes>, Problem> {
    each(&app, &owner, request, Act::Delete).await
}

/// What a request does with each of its jobs.
#[derive(Clone, Copy)]
enum Act {
    Cancel,
    Delete,
}

/// Cancels or deletes the jobs of the body one after the other.
async fn each(
    app: &App,
    owner: &Owner,
    request: Request,
    act: Act,
) -> Result<Json<JobOutcomes>, Problem> {
    let JobIds { ids } = read_json(app, request).await?;
    let mut outcomes = Outcomes::default();
    for id in ids {
        if outcomes.refuses(id) {
            continue;
        }
        let outcome = match act {
            Act::Cancel => {
                let cancelled = app.jobs.queue.cancel(owner, id).await;
                cancelled.map(|(job, _)| Some(job.status))
            }
            Act::Delete => app.jobs.queue.delete(owner, id).await.map(|()| None),
        };
        outcomes.add(id, outcome);
    }
    let items = outcomes.items;
    Ok(Json(JobOutcomes { items }))
}

/// The outcomes so far.
#[derive(Default)]
struct Outcomes {
    items: Vec<JobOutcome>,
    /// The refusal of a store that is away or full. The store is not asked again, and the remaining jobs get the same
    /// refusal.
    silence: Option<JobRefusal>,
}

impl Outcomes {
    /// Refuses a job after a refusal of the store. Returns whether it did.
    fn refuses(&mut self, id: JobId) -> bool {
        let refusal = self.silence.clone();
        if refusal.is_none() {
            return false;
        }
        self.items.push(JobOutcome {
            id,
            status: None,
            refusal,
        });
        true
    }

    fn add(&mut self, id: JobId, outcome: Result<Option<Status>, JobsError>) {
        // Damage (500) concerns one job; the next one may be whole.
        const SILENT: [StatusCode; 2] = [
            StatusCode::SERVICE_UNAVAILABLE,
            StatusCode::INSUFFICIENT_STORAGE,
        ];
        let outcome = outcome.map_err(Problem::from);
        let status = outcome.as_ref().ok().copied().flatten();
        let problem = outcome.err();
        let refusal = problem.as_ref().map(JobRefusal::from);
        if problem.is_some_and(|problem| SILENT.contains(&problem.code().status())) {
            self.silence = refusal.clone();
        }
        self.items.push(JobOutcome {
            id,
            status,
            refusal,
        });
    }
}

impl From<&Problem> for JobRefusal {
    fn from(problem: &Problem) -> Self {
        Self {
            code: problem.code().name().to_owned(),
            detail: problem.to_string(),
        }
    }
}

/// Reads from one to [`JOB_IDS_MAX`] ids, and never holds more.
fn ids<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<JobId>, D::Error> {
    struct Ids;

    impl<'de> Visitor<'de> for Ids {
        type Value = Vec<JobId>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(
                formatter,
                "a list of ids of jobs, at least one and at most job_ids_max: {JOB_IDS_MAX}"
            )
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<JobId>, A::Error> {
            let mut ids = Vec::new();
            while let Some(id) = seq.next_element()? {
                if ids.len() == JOB_IDS_MAX as usize {
                    let longer = ids.len() + 1;
                    return Err(A::Error::invalid_length(longer, &self));
                }
                ids.push(id);
            }
            match ids.is_empty() {
                true => Err(A::Error::invalid_length(0, &self)),
                false => Ok(ids),
            }
        }
    }

    deserializer.deserialize_seq(Ids)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::StoreError;

    #[test]
    fn mass_request_stops_at_a_silent_store_but_not_at_damage() {
        let id = "job_0198c1a5e0f77b3c9d2e4f5061728394".parse::<JobId>();
        let id = id.expect("an id");
        let mut outcomes = Outcomes::default();
        let errors = [
            StoreError::Corrupt("a row".into()),
            StoreError::unavailable("silence"),
        ];
        for error in errors {
            assert!(!outcomes.refuses(id));
            outcomes.add(id, Err(JobsError::Store(error)));
        }
        assert!(outcomes.refuses(id) && outcomes.refuses(id));
        let items = outcomes.items.into_iter();
        let codes: Vec<_> = items
            .map(|item| item.refusal.map(|refusal| refusal.code))
            .collect();
        let expected = ["data-corrupt", "unavailable", "unavailable", "unavailable"];
        assert_eq!(codes, expected.map(|code| Some(code.to_owned())));
    }
}
