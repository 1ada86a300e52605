//! `/v1/datasets`: stores, lists, describes and deletes datasets. `upload` reads the bodies, and `examples` reads
//! stored examples back.

pub mod encode;
pub mod examples;
pub mod import;
pub mod preview;
pub mod resolve;
pub mod upload;

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use halfspace_formats::{Assume, FirstIndex, LabelsKind, RowsKind, TableEncoding};
use serde::Serialize;
use utoipa::ToSchema;

use crate::jobs::{JobsError, NewDataset};
use crate::records::dataset::Repetitions;
use crate::records::id::DatasetKind;
use crate::records::names::VocabularyKind;
use crate::records::{
    DataFacts, Dataset, DatasetId, DatasetSummary, KeyRecord, Names, Owner, Timestamp,
};

use crate::http::answer::Json;
use crate::http::app_state::App;
use crate::http::datasets::upload::{DatasetRequest, Purpose};
use crate::http::document::declared::{BODY, EXAMPLES, IN_PATH, KEYED, STORED, problems};
use crate::http::extract::data_body::{DataBody, Octets};
use crate::http::extract::data_options::DataParameters;
use crate::http::extract::idempotency::{KeyHeader, Keyed, NotMade, made_id, once};
use crate::http::extract::{Caller, NoQuery, PageQuery, PathId, Query, page, query_pairs};
use crate::http::problem::{Code, Problem};

/// A dataset in a list.
#[derive(Serialize, ToSchema)]
pub struct DatasetItem {
    id: DatasetId,
    name: Option<String>,
    #[serde(flatten)]
    facts: FactsDocument,
    /// Seed from which generated examples were drawn.
    seed: Option<u64>,
    /// Bytes in the store: those of the examples, and of the raw cells.
    bytes: u64,
    /// Of them, the compressed bytes of the raw cells of the table, by which it can be [encoded
    /// again](#tag/datasets/POST/v1/datasets/{id}/encode). It is 0 for data that are no table, and for tables whose
    /// numbers are the features as they are.
    cells_bytes: u64,
    created_at: Timestamp,
}

/// Facts about examples, stored or not.
#[derive(Serialize, ToSchema)]
#[schema(as = DataFacts)]
pub struct FactsDocument {
    /// Features per example.
    n: u64,
    /// Kind of the examples: `half-space` (every example is positive), `labelled` or `unlabelled`.
    kind: LabelsKind,
    /// Kind of the features: `boolean` or `real`.
    values: RowsKind,
    /// Value that was sent for a 0 bit: 0 or -1. Null for real data.
    zero_bit_value: Option<i8>,
    /// Distribution of the examples: declared, or known for examples that were generated without noise.
    assume: Option<Assume>,
    /// Number of examples.
    examples: u64,
    /// Number of examples of each class, in the order of `classes`; of the labels -1 and 1 if these have no names.
    /// Null for unlabelled data.
    class_examples: Option<Vec<u64>>,
    /// Examples that equal an earlier example, label included. Null if duplicates were not counted.
    duplicates: Option<u64>,
    /// Distinct rows that appear with more than one label. Null without labels, or if contradictions were not
    /// counted.
    contradictions: Option<u64>,
    /// Reason why duplicates and contradictions were not counted.
    duplicates_detail: Option<String>,
    /// SHA-256 digest of the canonical rows. Equal data have the same digest in every format.
    sha256: String,
}

/// A page of datasets, newest first, without the names of their features.
#[derive(Serialize, ToSchema)]
pub struct DatasetList {
    items: Vec<DatasetItem>,
    /// Cursor of the next page; null on the last page.
    next_cursor: Option<String>,
}

/// A dataset.
#[derive(Serialize, ToSchema)]
#[schema(as = Dataset)]
pub struct DatasetAnswer {
    #[serde(flatten)]
    item: DatasetItem,
    /// Names of a fixed number of features, if the data came with names; null for an open vocabulary. A value of a
    /// nominal attribute is named `attribute=value`.
    features: Option<Vec<String>>,
    /// Whether the features are fixed. With `open` an example is a set of names, `n` is the number of different names,
    /// at least 1, and the examples list them.
    vocabulary: VocabularyKind,
    /// First index of the data, 0 or 1, if they came as LIBSVM.
    #[schema(value_type = Option<u8>, minimum = 0, maximum = 1)]
    first_index: Option<FirstIndex>,
    /// Names of the classes, if the labels came with names. Of two classes, the first has the label -1 and the second
    /// the label 1.
    #[schema(value_type = Option<Vec<String>>, min_items = 2)]
    classes: Option<Vec<String>>,
    /// Encoding of the table, if the data came as a table whose description takes at most 4 MiB.
    #[schema(value_type = Option<TableEncoding>)]
    table: Option<Arc<TableEncoding>>,
    /// SHA-256 digest of the columns of the encoding. Tables with the same digest are encoded alike.
    encoding_sha256: Option<String>,
}

impl From<DatasetSummary> for DatasetItem {
    fn from(dataset: DatasetSummary) -> Self {
        Self {
            id: dataset.id,
            name: dataset.name,
            facts: dataset.facts.into(),
            seed: dataset.seed,
            bytes: dataset.bytes,
            cells_bytes: dataset.cells_bytes,
            created_at: dataset.created_at,
        }
    }
}

impl From<DataFacts> for FactsDocument {
    fn from(facts: DataFacts) -> Self {
        let (duplicates, contradictions, duplicates_detail) = match facts.repetitions {
            Repetitions::Counted {
                duplicates,
                contradictions,
            } => (Some(duplicates), contradictions, None),
            Repetitions::Uncounted(reason) => (None, None, Some(reason)),
        };
        let is_boolean = facts.values == RowsKind::Boolean;
        Self {
            n: facts.n,
            kind: facts.kind,
            values: facts.values,
            zero_bit_value: is_boolean.then_some(facts.zero_bit_value),
            assume: facts.assume,
            examples: facts.examples,
            class_examples: facts.class_examples,
            duplicates,
            contradictions,
            duplicates_detail,
            sha256: facts.sha256,
        }
    }
}

impl From<Dataset> for DatasetAnswer {
    fn from(Dataset { summary, names }: Dataset) -> Self {
        Self {
            item: summary.into(),
            encoding_sha256: encoding_sha256(&names),
            classes: names.class_names(),
            features: names.listed().map(<[String]>::to_vec),
            vocabulary: names.vocabulary_kind(),
            first_index: names.first_index(),
            table: names.table,
        }
    }
}

/// Digest of the encoding of a table in hexadecimal.
fn encoding_sha256(names: &Names) -> Option<String> {
    let table = names.table.as_ref();
    table.map(|table| hex::encode(table.sha256()))
}

/// Stores data as a dataset, so that jobs can read the data by the id of the dataset.
///
/// A JSON body contains the name and the data. In any other format the body is the data, and the query
/// contains the rest. Examples without labels are half-space examples, unless a JSON body calls them
/// `unlabelled`.
#[utoipa::path(post, path = "/v1/datasets", tag = "datasets",
    params(
        ("name" = Option<String>, Query, description = "Free text; not with JSON"),
        DataParameters,
        ("assume" = Option<String>, Query, description = "Declares that the data are fresh and \
                                                          independent: `uniform-positive`, \
                                                          `reflected` or `uniform`; not with JSON"),
        KeyHeader),
    request_body(
        content((DatasetRequest = "application/json"), (Octets = "*/*")),
        description = "The data"),
    responses((status = 201, description = "The data are stored", body = DatasetAnswer)),
    extensions(("x-problems" = json!(problems(&[BODY, EXAMPLES, KEYED, STORED])))))]
pub async fn create_dataset(
    State(app): State<App>,
    Caller(owner): Caller,
    request: Request,
) -> Result<Response, Problem> {
    let make = |request, key| made(app.clone(), owner.clone(), request, key);
    let replay = |record| replay(app.clone(), owner.clone(), record);
    once(&app, &owner, request, make, replay).await
}

async fn made(app: App, owner: Owner, request: Request, key: Keyed) -> Result<Response, NotMade> {
    let body = DataBody::new(&app, request)?;
    let reserved = app
        .jobs
        .datasets
        .reservations
        .reserve(&owner, body.stored_least())
        .await?;
    let query = query_pairs(body.parts.uri.query())?;
    let begun = app.jobs.datasets.begin()?;
    let purpose = Purpose::Store(&begun);
    let upload = match upload::read(&app, &owner, body, query, &reserved, purpose).await {
        Ok(upload) => upload,
        Err(problem) => {
            begun.abort().await;
            return Err(problem.into());
        }
    };
    let new = NewDataset {
        owner,
        name: upload.name,
        parsed: upload.parsed?,
        cells: upload.cells,
        assume: upload.assume,
        seed: upload.seed,
        key: key.claim(),
        reserved: Some(reserved),
        begun,
    };
    stored(app, new, (upload.permit, upload.memory)).await
}

/// Stores a dataset and answers with it. `held` is what its examples were made under.
async fn stored(app: App, new: NewDataset, held: impl Send + 'static) -> Result<Response, NotMade> {
    // A complete dataset is stored to the end under its permit, even if the client leaves.
    let stored = tokio::spawn(async move {
        let stored = app.jobs.datasets.store(new).await;
        drop(held);
        stored
    });
    let defect = |_| {
        Problem::new(
            Code::INTERNAL,
            "The dataset was not stored because of a defect in the service.",
        )
    };
    Ok(created(stored.await.map_err(defect)??))
}

async fn replay(app: App, owner: Owner, record: KeyRecord) -> Result<Option<Response>, Problem> {
    let dataset = app
        .jobs
        .store
        .find(&owner, made_id::<DatasetKind>(&record)?);
    Ok(dataset.await?.map(created))
}

fn created(dataset: Dataset) -> Response {
    let location = format!("/v1/datasets/{}", dataset.summary.id);
    let answer = DatasetAnswer::from(dataset);
    let headers = [(header::LOCATION, location)];
    (StatusCode::CREATED, headers, Json(answer)).into_response()
}

/// Lists the datasets, newest first, without the names of their features.
///
/// A page has `limit` items. Send `next_cursor` of the answer as `cursor` to get the next page.
#[utoipa::path(get, path = "/v1/datasets", tag = "datasets", params(PageQuery),
    responses((status = 200, description = "One page of the list of datasets", body = DatasetList)))]
pub async fn list_datasets(
    State(app): State<App>,
    Caller(owner): Caller,
    Query(query): Query<PageQuery>,
) -> Result<Json<DatasetList>, Problem> {
    let page = page::<DatasetKind>(query.limit, query.cursor.as_deref())?;
    let slice = app.jobs.store.list(&owner, &page).await?;
    Ok(Json(DatasetList {
        items: slice.items.into_iter().map(DatasetItem::from).collect(),
        next_cursor: slice.next.map(|cursor| cursor.to_string()),
    }))
}

/// Returns a dataset without the examples.
///
/// The answer has the names of the features and of the labels. Read the examples with `GET
/// /v1/datasets/{id}/examples`.
#[utoipa::path(get, path = "/v1/datasets/{id}", tag = "datasets",
    params(("id" = DatasetId, Path, description = "The dataset")),
    responses((status = 200, description = "The dataset", body = DatasetAnswer)),
    extensions(("x-problems" = json!(problems(&[IN_PATH])))))]
pub async fn get_dataset(
    State(app): State<App>,
    Caller(owner): Caller,
    _: NoQuery,
    PathId(id): PathId<DatasetKind>,
) -> Result<Json<DatasetAnswer>, Problem> {
    let dataset = app.jobs.datasets.find(&owner, id).await.map_err(in_path)?;
    Ok(Json(dataset.into()))
}

/// Deletes a dataset, unless a job that has not ended reads the dataset.
///
/// Models that were trained on the dataset stay.
#[utoipa::path(delete, path = "/v1/datasets/{id}", tag = "datasets",
    params(("id" = DatasetId, Path, description = "The dataset")),
    responses((status = 204, description = "The dataset was deleted")),
    extensions(("x-problems" = json!(problems(&[IN_PATH, &[Code::WRONG_STATE, Code::STORAGE_FULL]])))))]
pub async fn delete_dataset(
    State(app): State<App>,
    Caller(owner): Caller,
    _: NoQuery,
    PathId(id): PathId<DatasetKind>,
) -> Result<StatusCode, Problem> {
    app.jobs
        .datasets
        .delete(&owner, id)
        .await
        .map_err(in_path)?;
    Ok(StatusCode::NO_CONTENT)
}

/// The problem for a request whose path names the dataset.
pub fn in_path(error: JobsError) -> Problem {
    match error {
        JobsError::DatasetMissing => Problem::not_found("dataset"),
        error => error.into(),
    }
}
