//! `/v1/models`: list, get (which is also the export), delete.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::jobs::{JobsError, hex};
use crate::records::id::ModelKind;
use crate::records::model_file::{FORMAT, digest};
use crate::records::train::ModelDocument;
use crate::records::{JobId, Model, ModelId, ModelSummary, Timestamp};
use crate::storage::{ModelFilter, StoreError};

use super::App;
use super::extract::{Caller, NoQuery, PathId, Query, page};
use super::problem::Problem;

/// A model in a list.
#[derive(Serialize, ToSchema)]
pub struct ModelItem {
    id: ModelId,
    /// The job that made it, which may be gone.
    job: Option<JobId>,
    name: Option<String>,
    /// The learner that found the hypothesis.
    learner: String,
    /// The kind of hypothesis.
    kind: String,
    /// Features an example.
    n: u64,
    created_at: Timestamp,
}

/// A page of models, newest first.
#[derive(Serialize, ToSchema)]
pub struct ModelList {
    items: Vec<ModelItem>,
    /// Where the next page begins; null on the last.
    next_cursor: Option<String>,
}

/// A model with its hypothesis.
#[derive(Serialize, ToSchema)]
#[schema(as = Model)]
pub struct ModelAnswer {
    /// The form of this document, which can be imported: `halfspace-model/1`.
    format: &'static str,
    /// A digest of learner, parameters, seed, data digest, counts and hypothesis, so that an
    /// altered file is not imported. It is no signature.
    sha256: String,
    #[serde(flatten)]
    item: ModelItem,
    #[serde(flatten)]
    document: ModelDocument,
}

impl ModelAnswer {
    /// The answer that tells of a model whole.
    pub fn new(model: ModelSummary, document: ModelDocument) -> Self {
        Self {
            format: FORMAT,
            sha256: hex(&digest(&model.learner, &document)),
            item: model.into(),
            document,
        }
    }
}

/// Which models to list.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ListQuery {
    /// Items a page, 20 when absent.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<u32>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
    /// Models of this learner only.
    learner: Option<String>,
    /// Models of this kind of hypothesis only.
    kind: Option<String>,
}

impl From<ModelSummary> for ModelItem {
    fn from(model: ModelSummary) -> Self {
        Self {
            id: model.id,
            job: model.job,
            name: model.name,
            learner: model.learner,
            kind: model.kind,
            n: model.n,
            created_at: model.created_at,
        }
    }
}

/// The models, newest first, without their hypotheses.
#[utoipa::path(get, path = "/v1/models", tag = "models", params(ListQuery),
    responses((status = 200, description = "A page of models", body = ModelList)))]
pub async fn list(
    State(app): State<App>,
    Caller(owner): Caller,
    Query(query): Query<ListQuery>,
) -> Result<Json<ModelList>, Problem> {
    let page = page::<ModelKind>(query.limit, query.cursor.as_deref())?;
    let filter = ModelFilter {
        learner: query.learner,
        kind: query.kind,
    };
    let slice = app.jobs.store().models(&owner, &filter, &page).await?;
    Ok(Json(ModelList {
        items: slice.items.into_iter().map(ModelItem::from).collect(),
        next_cursor: slice.next.map(|cursor| cursor.to_string()),
    }))
}

/// One model, with its hypothesis: a file that `POST /v1/models` imports.
#[utoipa::path(get, path = "/v1/models/{id}", tag = "models",
    params(("id" = ModelId, Path, description = "The model")),
    responses((status = 200, description = "The model", body = ModelAnswer)))]
pub async fn get(
    State(app): State<App>,
    Caller(owner): Caller,
    _: NoQuery,
    PathId(id): PathId<ModelKind>,
) -> Result<Json<ModelAnswer>, Problem> {
    let model = app.jobs.store().model(&owner, id).await?;
    let model = model.ok_or_else(|| Problem::not_found("model"))?;
    let document = document(&model)?;
    let (summary, _) = model.into_parts();
    Ok(Json(ModelAnswer::new(summary, document)))
}

/// The document of a stored model.
///
/// # Errors
/// When what is stored is damaged.
pub fn document(model: &Model) -> Result<ModelDocument, Problem> {
    serde_json::from_str(&model.document).map_err(|error| StoreError::corrupt(error).into())
}

/// Deletes a model. A job that waits to evaluate it, or to begin from it, then fails as
/// `model-missing`.
#[utoipa::path(delete, path = "/v1/models/{id}", tag = "models",
    params(("id" = ModelId, Path, description = "The model")),
    responses((status = 204, description = "The model is gone")))]
pub async fn delete(
    State(app): State<App>,
    Caller(owner): Caller,
    _: NoQuery,
    PathId(id): PathId<ModelKind>,
) -> Result<StatusCode, Problem> {
    match app.jobs.delete_model(&owner, id).await {
        Ok(()) => Ok(StatusCode::NO_CONTENT),
        Err(JobsError::ModelMissing) => Err(Problem::not_found("model")),
        Err(error) => Err(error.into()),
    }
}
