//! `/v1/datasets`: stores, lists, describes and deletes datasets. The module `examples` reads examples back.

pub mod examples;
pub mod resolve;

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use halfspace_formats::{
    self, Assume, DataForm, Format, FormatErrorKind, LabelsKind, NotReserved, Parsed, Place,
    RowsKind, Spool, TableEncoding, json,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::jobs::{JobsError, NewDataset, Reservation};
use crate::records::dataset::Repetitions;
use crate::records::id::DatasetKind;
use crate::records::train::SeedNumber;
use crate::records::{Dataset, DatasetId, DatasetSummary, KeyRecord, Owner, Timestamp};

use crate::http::App;
use crate::http::datasets::resolve::read_rows;
use crate::http::document::data_schema;
use crate::http::document::declared::{BODY, EXAMPLES, IN_PATH, KEYED, STORED, problems};
use crate::http::extract::body::{self, Effort};
use crate::http::extract::data_body::{DataBody, Octets};
use crate::http::extract::data_options::{self, DataOptions, DataParameters};
use crate::http::extract::idempotency::{KeyHeader, Keyed, NotMade, made_id, once};
use crate::http::extract::{Caller, NoQuery, PageQuery, PathId, Query, page, query_pairs};
use crate::http::jobs::submission::check_name;
use crate::http::permits::OwnerPermit;
use crate::http::problem::{Code, FieldError, Problem, placed};

/// Data to store as a dataset.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DatasetRequest {
    /// Free text that names the dataset.
    #[schema(max_length = 256)]
    name: Option<String>,
    #[schema(schema_with = data_schema::reference)]
    data: DataForm,
    /// Seed of generated data. A missing seed is drawn. Other data take no seed.
    seed: Option<SeedNumber>,
    /// The seed from which the examples were drawn.
    #[serde(skip)]
    drawn_from: Option<u64>,
}

/// A dataset in a list.
#[derive(Serialize, ToSchema)]
pub struct DatasetItem {
    id: DatasetId,
    name: Option<String>,
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
    /// Seed from which generated examples were drawn.
    seed: Option<u64>,
    /// Number of examples.
    examples: u64,
    /// Number of positive examples; null for unlabelled data.
    positives: Option<u64>,
    /// Number of negative examples; null for unlabelled data.
    negatives: Option<u64>,
    /// Examples that equal an earlier example, label included. Null if duplicates were not counted.
    duplicates: Option<u64>,
    /// Distinct rows that appear with both labels. Null without labels, or if contradictions were not
    /// counted.
    contradictions: Option<u64>,
    /// Reason why duplicates and contradictions were not counted.
    duplicates_detail: Option<String>,
    /// SHA-256 digest of the canonical rows. Equal data have the same digest in every format.
    sha256: String,
    /// Bytes of the examples in the store.
    bytes: u64,
    created_at: Timestamp,
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
    /// Names of the features, if the data came with names. A value of a nominal attribute is named
    /// `attribute=value`.
    features: Option<Vec<String>>,
    /// Names of the labels -1 and +1, if the labels came with names.
    #[schema(value_type = Option<Vec<String>>, min_items = 2, max_items = 2)]
    classes: Option<[String; 2]>,
    /// Encoding of the table, if the data came as a table whose description takes at most 4 MiB.
    #[schema(value_type = Option<TableEncoding>)]
    table: Option<Arc<TableEncoding>>,
    /// SHA-256 digest of the columns of the encoding. Tables with the same digest are encoded alike.
    encoding_sha256: Option<String>,
}

impl From<DatasetSummary> for DatasetItem {
    fn from(dataset: DatasetSummary) -> Self {
        let negatives = dataset.negatives();
        let (duplicates, contradictions, duplicates_detail) = match dataset.repetitions {
            Repetitions::Counted {
                duplicates,
                contradictions,
            } => (Some(duplicates), contradictions, None),
            Repetitions::Uncounted(reason) => (None, None, Some(reason)),
        };
        let is_boolean = dataset.values == RowsKind::Boolean;
        Self {
            id: dataset.id,
            name: dataset.name,
            n: dataset.n,
            kind: dataset.kind,
            values: dataset.values,
            zero_bit_value: is_boolean.then_some(dataset.zero_bit_value),
            assume: dataset.assume,
            seed: dataset.seed,
            examples: dataset.examples,
            positives: dataset.positives,
            negatives,
            duplicates,
            contradictions,
            duplicates_detail,
            sha256: dataset.sha256,
            bytes: dataset.bytes,
            created_at: dataset.created_at,
        }
    }
}

impl From<Dataset> for DatasetAnswer {
    fn from(Dataset { summary, names }: Dataset) -> Self {
        Self {
            item: summary.into(),
            encoding_sha256: names
                .table
                .as_ref()
                .map(|table| hex::encode(table.sha256())),
            features: names.features,
            classes: names.classes,
            table: names.table,
        }
    }
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
    let reserved = app.jobs.reserve(&owner, body.stored_least()).await?;
    let (mut new, permit) = match body.format {
        Format::Json => read_json(&app, owner, body, reserved).await?,
        _ => read_lines(&app, owner, body, reserved).await?,
    };
    check_assume(&new)?;
    new.key = key.claim();
    // A complete upload is stored to the end under its permit, even if the client leaves.
    let stored = tokio::spawn(async move {
        let stored = app.jobs.store_dataset(new).await;
        drop(permit);
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
    let dataset = app.jobs.store().dataset(&owner, made_id(&record)?);
    Ok(dataset.await?.map(created))
}

fn created(dataset: Dataset) -> Response {
    let location = format!("/v1/datasets/{}", dataset.summary.id);
    let answer = DatasetAnswer::from(dataset);
    let headers = [(header::LOCATION, location)];
    (StatusCode::CREATED, headers, Json(answer)).into_response()
}

/// A dataset to store, and the permit under which the body was read.
type Read = (NewDataset, Option<OwnerPermit>);

/// Reads a body that is the data. The query contains the name and the options.
async fn read_lines(
    app: &App,
    owner: Owner,
    mut body: DataBody,
    reserved: Reservation,
) -> Result<Read, Problem> {
    body.limits = app.limits.of_datasets();
    let (name, data) = line_options(body.parts.uri.query(), &body.limits)?;
    check_name(app, name.as_deref(), |detail| {
        FieldError::at_parameter("name", detail)
    })?;
    // Checked before spooling, so that one upload does not take the rest of a full disk from others.
    app.jobs.store().ensure_space().await?;
    let options = data.resolve(app, &owner).await?;
    let (format, effort, assume) = (body.format, body.effort(options.n), options.assume);
    let scratch = app.scratch.clone();
    let held = reserved.clone();
    let spool = Spool::new(app.limits.upload_memory_bytes_max, move || scratch.file())
        .reserving(move |bytes| held.grow_to(bytes).map_err(|_| NotReserved));
    let held = reserved.clone();
    let read = body.read_held(app, effort, move |reader| {
        let gathered = halfspace_formats::gather(format, reader, &options, spool);
        gathered.map_err(|error| match held.refusal() {
            Some(over) if error.kind == FormatErrorKind::NotReserved => over.into(),
            _ => error.into(),
        })
    });
    let (parsed, permit) = read.await?;
    let new = NewDataset {
        owner,
        name,
        parsed,
        assume,
        seed: None,
        key: None,
        reserved: Some(reserved),
    };
    Ok((new, permit))
}

/// Reads the JSON form, where fields replace the query parameters.
async fn read_json(
    app: &App,
    owner: Owner,
    body: DataBody,
    reserved: Reservation,
) -> Result<Read, Problem> {
    if let Some((name, _)) = query_pairs(body.parts.uri.query())?.first() {
        let detail = "the parameter is not for JSON bodies; set a field of the JSON body instead";
        return Err(Problem::parameter(Code::INVALID_PARAMETER, name, detail));
    }
    let limits = body.limits.clone();
    let read = body.read_held(app, Effort::AsItsBytes, move |reader| {
        let request = json::from_reader::<DatasetRequest>(reader, &limits)?;
        if request.seed.is_some() && !matches!(request.data, DataForm::Generated(_)) {
            let detail = "The field seed is only for generated data. These data are not generated.";
            let field = FieldError::at_pointer("/seed", detail.to_owned());
            return Err(Problem::new(Code::WRONG_DATA, detail).with(field));
        }
        Ok(request)
    });
    let (request, permit) = read.await?;
    let (request, permit) = drawn(app, &owner, request, permit).await?;
    let DatasetRequest {
        name,
        data,
        drawn_from: seed,
        ..
    } = request;
    let at = |pointer: &str, detail: String| placed(Some(Place::Pointer(pointer.into())), detail);
    check_name(app, name.as_deref(), |detail| at("/name", detail))?;
    let refuse = |pointer: &str, detail: &str| {
        let field = at(pointer, detail.to_owned());
        Err(Problem::new(Code::WRONG_DATA, detail).with(field))
    };
    let data = match data {
        DataForm::Rows(rows) => DataForm::Sample {
            parsed: read_rows(app, &owner, rows, "/data").await?,
            assume: None,
        },
        data => data,
    };
    match data {
        DataForm::Sample { parsed, assume } => {
            let new = NewDataset {
                owner,
                name,
                parsed: parsed.into(),
                assume,
                seed,
                key: None,
                reserved: Some(reserved),
            };
            Ok((new, permit))
        }
        DataForm::Generated(_) | DataForm::Rows(_) => {
            unreachable!("these forms are samples by now")
        }
        DataForm::Dataset { .. } => refuse(
            "/data/dataset",
            "The data are already a stored dataset. To store another dataset, send examples.",
        ),
    }
}

/// Draws generated examples under a permit, because a few bytes may describe many examples.
async fn drawn(
    app: &App,
    owner: &Owner,
    mut request: DatasetRequest,
    permit: Option<OwnerPermit>,
) -> Result<(DatasetRequest, Option<OwnerPermit>), Problem> {
    let DataForm::Generated(spec) = request.data else {
        return Ok((request, permit));
    };
    let permit = match permit {
        Some(permit) => permit,
        None => app.permits.uploads.take(owner).await?,
    };
    let fresh = app.jobs.ids().seed();
    let seed = request.seed.map_or(fresh, SeedNumber::get);
    let state_bytes_max = app.limits.state_bytes_max;
    let draw = move || {
        let data = crate::jobs::draw(&spec, seed, state_bytes_max).map_err(|detail| {
            let place = Place::Pointer("/data/generated/count".to_owned());
            let field = placed(Some(place), detail.clone());
            Problem::new(Code::WRONG_DATA, detail).with(field)
        })?;
        Ok((data, permit))
    };
    let ((data, assume), permit) = body::compute(None, draw).await?;
    request.data = DataForm::Sample {
        parsed: Parsed::of(data),
        assume,
    };
    request.drawn_from = Some(seed);
    Ok((request, Some(permit)))
}

/// The name and the options of a body in a line format, from the query.
///
/// # Errors
/// An unknown parameter, or an invalid value.
pub fn line_options(
    query: Option<&str>,
    limits: &halfspace_formats::ParseLimits,
) -> Result<(Option<String>, DataOptions), Problem> {
    let mut name = None;
    let mut data = DataOptions::new(limits);
    for (parameter, text) in query_pairs(query)? {
        match parameter.as_str() {
            "name" => name = Some(text),
            "assume" => {
                let assume = serde_json::from_value(text.into()).map_err(|_| {
                    let known = "not one of uniform-positive, reflected, uniform";
                    Problem::parameter(Code::INVALID_PARAMETER, "assume", known)
                });
                data.options.assume = Some(assume?);
            }
            parameter if data.parameter(parameter, &text)? => {}
            parameter => return Err(data_options::unknown(parameter, &["name", "assume"])),
        }
    }
    Ok((name, data))
}

/// Refuses an `assume` that does not fit the data. Otherwise every job on the dataset would refuse to run.
fn check_assume(new: &NewDataset) -> Result<(), Problem> {
    let kind = new.parsed.data.header().labels;
    let allowed = Assume::allowed(kind == LabelsKind::Labelled);
    if new
        .assume
        .is_none_or(|assume| kind != LabelsKind::Unlabelled && allowed.contains(&assume))
    {
        return Ok(());
    }
    let detail = "half-space examples can be independent, uniform-positive or reflected; labelled examples can be \
                  independent or uniform";
    Err(Problem::parameter(Code::BAD_OPTION, "assume", detail))
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
    let slice = app.jobs.store().datasets(&owner, &page).await?;
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
    let dataset = app.jobs.dataset(&owner, id).await.map_err(in_path)?;
    Ok(Json(dataset.into()))
}

/// Deletes a dataset, unless a job that has not ended reads the dataset.
///
/// Models that were trained on the dataset stay.
#[utoipa::path(delete, path = "/v1/datasets/{id}", tag = "datasets",
    params(("id" = DatasetId, Path, description = "The dataset")),
    responses((status = 204, description = "The dataset was deleted")),
    extensions(("x-problems" = json!(problems(&[IN_PATH, &[Code::DATASET_IN_USE, Code::STORAGE_FULL]])))))]
pub async fn delete_dataset(
    State(app): State<App>,
    Caller(owner): Caller,
    _: NoQuery,
    PathId(id): PathId<DatasetKind>,
) -> Result<StatusCode, Problem> {
    app.jobs.delete_dataset(&owner, id).await.map_err(in_path)?;
    Ok(StatusCode::NO_CONTENT)
}

/// The problem for a request whose path names the dataset.
pub fn in_path(error: JobsError) -> Problem {
    match error {
        JobsError::DatasetMissing => Problem::not_found("dataset"),
        error => error.into(),
    }
}
