//! `/v1/models`: lists, returns and deletes models. The document of a model is also the file that `import` reads.

pub mod answer_lines;
pub mod answering;
pub mod code;
pub mod evaluate;
pub mod example_explanation;
pub mod examples;
pub mod explanation;
pub mod import;
pub mod predict;
pub mod predictions_text;
pub mod receipt;
pub mod weights;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use halfspace_core::memory;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::jobs::JobsError;
use crate::records::id::ModelKind;
use crate::records::model_file::{FORMAT, digest};
use crate::records::train::ModelDocument;
use crate::records::{Model, ModelId, ModelSummary, Owner};
use crate::storage::{ModelFilter, StoreError};

use crate::http::answer::{Held, Json};
use crate::http::app_state::App;
use crate::http::computing::compute_figure;
use crate::http::document::declared::{FIGURE, IN_PATH, problems};
use crate::http::extract::{Caller, NoQuery, PathId, Query, page};
use crate::http::problem::{Code, Problem};

/// The longest document that is read and written at once. Longer ones take more than a millisecond.
const SMALL_DOCUMENT_BYTES: usize = 64 << 10;

/// Bytes of memory per value of a document, in a list that has just grown.
const BYTES_PER_VALUE: usize = 3 * size_of::<serde_json::Number>();

/// A page of models, newest first.
#[derive(Serialize, ToSchema)]
pub struct ModelList {
    items: Vec<ModelSummary>,
    /// Cursor of the next page; null on the last page.
    next_cursor: Option<String>,
}

/// A model with its hypothesis.
#[derive(Serialize, ToSchema)]
#[schema(as = Model)]
pub struct ModelAnswer {
    /// Format of this document, `halfspace-model/1`. You can import the document.
    format: &'static str,
    /// Digest of learner, parameters, seed, data digest, counts and hypothesis. An import refuses an
    /// altered document. The digest is not a signature.
    sha256: String,
    #[serde(flatten)]
    summary: ModelSummary,
    #[serde(flatten)]
    document: ModelDocument,
}

impl ModelAnswer {
    /// Creates the document of a model.
    pub fn new(summary: ModelSummary, document: ModelDocument) -> Self {
        Self {
            format: FORMAT,
            sha256: hex::encode(digest(&summary.learner, &document)),
            summary,
            document,
        }
    }
}

/// The page and the models to list.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ModelListQuery {
    /// Items per page; 20 when absent.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<u32>,
    /// The `next_cursor` of the previous page.
    cursor: Option<String>,
    /// Only models of this learner.
    learner: Option<String>,
    /// Only models with this kind of hypothesis.
    kind: Option<String>,
}

/// Lists models without their hypotheses, newest first.
///
/// A page has `limit` items. Send `next_cursor` of the answer as `cursor` to get the next page.
#[utoipa::path(get, path = "/v1/models", tag = "models", params(ModelListQuery),
    responses((status = 200, description = "A page of models", body = ModelList)))]
pub async fn list_models(
    State(app): State<App>,
    Caller(owner): Caller,
    Query(query): Query<ModelListQuery>,
) -> Result<Json<ModelList>, Problem> {
    let page = page::<ModelKind>(query.limit, query.cursor.as_deref())?;
    let filter = ModelFilter {
        learner: query.learner,
        kind: query.kind,
    };
    let slice = app.jobs.store.models(&owner, &filter, &page).await?;
    Ok(Json(ModelList {
        items: slice.items,
        next_cursor: slice.next.map(|cursor| cursor.to_string()),
    }))
}

/// Returns one model with its hypothesis.
///
/// You can import the document with `POST /v1/models`.
#[utoipa::path(get, path = "/v1/models/{id}", tag = "models",
    params(("id" = ModelId, Path, description = "The model")),
    responses((status = 200, description = "The model", body = ModelAnswer)),
    extensions(("x-problems" = json!(problems(&[IN_PATH, FIGURE, &[Code::NO_MEMORY]])))))]
pub async fn get_model(
    State(app): State<App>,
    Caller(owner): Caller,
    _: NoQuery,
    PathId(id): PathId<ModelKind>,
) -> Result<Response, Problem> {
    of_document(&app, &owner, id, |model| {
        let document = document(&model)?;
        Ok(ModelAnswer::new(model.summary, document))
    })
    .await
}

/// Answers with JSON that `make` makes of a stored model. A large document is read in the blocking pool, under a permit
/// and a grant.
///
/// # Errors
/// 404 if the owner has no such model, a lack of permits or of memory, and the errors of `make`.
async fn of_document<T: Serialize + Send + Sync + 'static>(
    app: &App,
    owner: &Owner,
    id: ModelId,
    make: impl FnOnce(Model) -> Result<T, Problem> + Send + 'static,
) -> Result<Response, Problem> {
    let model = app.jobs.store.find(owner, id).await?;
    let model = model.ok_or_else(|| Problem::not_found("model"))?;
    if model.document.len() <= SMALL_DOCUMENT_BYTES {
        return Ok(Json(make(model)?).into_response());
    }
    let grant = app.memory().try_take(0)?;
    let work = move |_: &_| {
        let made = grant.settled(|| {
            let values = model.document.bytes().filter(|&byte| byte == b',').count();
            memory::need((BYTES_PER_VALUE * values + 2 * model.document.len()) as u64)?;
            make(model)
        })?;
        Ok(Held(made, grant))
    };
    Ok(Json(compute_figure(app, owner, work).await?).into_response())
}

/// Parses the document of a stored model.
///
/// # Errors
/// [`Code::DATA_CORRUPT`](crate::http::problem::Code::DATA_CORRUPT) if the stored document is damaged.
pub fn document(model: &Model) -> Result<ModelDocument, Problem> {
    serde_json::from_str(&model.document).map_err(|error| StoreError::corrupt(error).into())
}

/// Deletes a model.
///
/// A waiting job that evaluates the model, or starts from it, then fails with `model-missing`.
#[utoipa::path(delete, path = "/v1/models/{id}", tag = "models",
    params(("id" = ModelId, Path, description = "The model")),
    responses((status = 204, description = "The model was deleted")),
    extensions(("x-problems" = json!(problems(&[IN_PATH, &[Code::STORAGE_FULL]])))))]
pub async fn delete_model(
    State(app): State<App>,
    Caller(owner): Caller,
    _: NoQuery,
    PathId(id): PathId<ModelKind>,
) -> Result<StatusCode, Problem> {
    match app.jobs.models.delete(&owner, id).await {
        Ok(()) => Ok(StatusCode::NO_CONTENT),
        Err(JobsError::ModelMissing) => Err(Problem::not_found("model")),
        Err(error) => Err(error.into()),
    }
}
