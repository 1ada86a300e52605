//! `POST /v1/previews`: reads data like an upload and stores nothing.

use std::sync::Arc;

use axum::extract::{Request, State};
use halfspace_formats::{
    FirstIndex, PREVIEW_COLUMNS_MAX, Preview, Previewed, TableEncoding, advice,
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::records::{DataFacts, Names};

use crate::http::answer::Json;
use crate::http::app_state::App;
use crate::http::computing::compute;
use crate::http::datasets::upload::{self, DatasetRequest, Purpose};
use crate::http::datasets::{FactsDocument, encoding_sha256};
use crate::http::document::declared::{BODY, EXAMPLES, STORED, problems};
use crate::http::extract::data_body::{DataBody, Octets};
use crate::http::extract::data_options::DataParameters;
use crate::http::extract::{Caller, query_pairs};
use crate::http::problem::{Code, FieldError, Occurrence, Problem};

/// Number of rows in a preview if the request states no number.
const ROWS_DEFAULT: usize = 20;

/// Largest number of rows in a preview.
const ROWS_MAX: usize = 100;

/// The content of a body, without a stored dataset.
#[derive(Serialize, ToSchema)]
#[schema(as = Preview)]
pub struct PreviewDocument {
    /// The dataset that `POST /v1/datasets` would make of the data. Null if the data would be refused.
    data: Option<PreviewData>,
    /// Encoding of the table, if the data are a table whose description takes at most 4 MiB.
    #[schema(value_type = Option<TableEncoding>)]
    table: Option<Arc<TableEncoding>>,
    #[serde(flatten)]
    shown: Previewed,
    /// The problem with which `POST /v1/datasets` would refuse the data. Null if the data would be stored.
    refusal: Option<Refusal>,
    /// What to change in data that would be stored, with repairs: columns that seem to name the rows.
    advice: Vec<FieldError>,
}

/// The dataset that an upload would make.
#[derive(Serialize, ToSchema)]
pub struct PreviewData {
    #[serde(flatten)]
    facts: FactsDocument,
    /// Names of the first 1,000 features, if the data come with names. `n` counts all features.
    #[schema(max_items = 1000)]
    features: Option<Vec<String>>,
    /// First index of the data, 0 or 1, if they come as LIBSVM.
    #[schema(value_type = Option<u8>, minimum = 0, maximum = 1)]
    first_index: Option<FirstIndex>,
    /// Names of the classes, if the labels come with names. Of two classes, the first has the label -1 and the second
    /// the label 1.
    #[schema(value_type = Option<Vec<String>>, min_items = 2)]
    classes: Option<Vec<String>>,
    /// SHA-256 digest of the columns of the encoding. Tables with the same digest are encoded alike.
    encoding_sha256: Option<String>,
}

/// The problem that refuses the data of a preview. Each member equals that member of the problem.
#[derive(Serialize, ToSchema)]
pub struct Refusal {
    code: String,
    status: u16,
    title: String,
    detail: String,
    errors: Vec<FieldError>,
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        let document = problem.document(&Occurrence::default());
        Self {
            code: document.code,
            status: document.status,
            title: document.title,
            detail: document.detail,
            errors: document.errors,
        }
    }
}

impl PreviewData {
    fn new(facts: DataFacts, names: &Names) -> Self {
        let first = names
            .features()
            .map(|names| names.take(PREVIEW_COLUMNS_MAX));
        Self {
            facts: facts.into(),
            features: first.map(|names| names.map(str::to_owned).collect()),
            first_index: names.first_index(),
            classes: names.class_names(),
            encoding_sha256: encoding_sha256(names),
        }
    }
}

/// Shows how data are read, and stores nothing.
///
/// The body, the formats, the parameters and the limits are those of `POST /v1/datasets`, and equal data have the same
/// `sha256` there. The answer to a table has the columns, the kinds that `kinds` accepts for each column, and the first
/// rows as written.
///
/// A table that `POST /v1/datasets` would refuse is answered with 200 as soon as the names of its columns are known.
/// `refusal` then has the problem, and `columns` shows the choices. The rows after a refused cell are read too. The
/// rows end at a line that breaks the format. LIBSVM data with open labels are answered likewise, with
/// `label_values`. Other faults, exceeded limits and damaged bodies are problems.
///
/// The preview of the beginning of a file can differ from that of the whole file. Later rows can change the kinds,
/// the values and the thresholds of columns, or refuse the file.
#[utoipa::path(post, path = "/v1/previews", tag = "datasets",
    params(
        ("rows" = Option<u32>, Query, minimum = 0, maximum = 100,
            description = "Rows to show; 20 when absent. Also with JSON"),
        ("name" = Option<String>, Query, description = "Free text; not with JSON"),
        DataParameters,
        ("assume" = Option<String>, Query, description = "Declares that the data are fresh and \
                                                          independent: `uniform-positive`, \
                                                          `reflected` or `uniform`; not with JSON")),
    request_body(
        content((DatasetRequest = "application/json"), (Octets = "*/*")),
        description = "The data"),
    responses((status = 200, description = "The content of the body", body = PreviewDocument)),
    extensions(("x-problems" = json!(problems(&[BODY, EXAMPLES, STORED])))))]
pub async fn preview_data(
    State(app): State<App>,
    Caller(owner): Caller,
    request: Request,
) -> Result<Json<PreviewDocument>, Problem> {
    let body = DataBody::new(&app, request)?;
    let mut query = query_pairs(body.parts.uri.query())?;
    let preview = Preview::new(row_count(&mut query)?);
    // Spooled rows count against the quota until the answer. Other rows need no quota.
    let reserved = app.jobs.datasets.reservations.reserve(&owner, 0).await?;
    let purpose = Purpose::Preview(&preview);
    let upload = upload::read(&app, &owner, body, query, &reserved, purpose).await?;
    let _held = (upload.permit, upload.memory);
    let (mut parsed, facts, refusal) = match upload.parsed {
        Ok(parsed) => {
            let (parsed, facts) = app.jobs.datasets.describe(parsed, upload.assume).await?;
            (Some(parsed), Some(facts), None)
        }
        Err(problem) => (None, None, Some(Refusal::from(problem))),
    };
    let names = parsed.as_ref().map(Names::of).unwrap_or_default();
    let finish = move |_: &_| {
        let found = parsed.as_ref().map(|_| advice(&preview));
        Ok((found, preview.finish(parsed.as_mut())?))
    };
    let (found, shown) = compute(&app, None, finish).await?;
    Ok(Json(PreviewDocument {
        data: facts.map(|facts| PreviewData::new(facts, &names)),
        advice: found.into_iter().flatten().map(FieldError::from).collect(),
        shown,
        table: names.table,
        refusal,
    }))
}

/// Takes the number of rows out of the query.
fn row_count(query: &mut Vec<(String, String)>) -> Result<usize, Problem> {
    let Some(at) = query.iter().position(|(name, _)| name == "rows") else {
        return Ok(ROWS_DEFAULT);
    };
    let (_, text) = query.remove(at);
    let rows = text.parse().ok().filter(|rows| *rows <= ROWS_MAX);
    rows.ok_or_else(|| {
        let detail = format!("`{text}` is not a whole number from 0 to {ROWS_MAX}");
        Problem::parameter(Code::INVALID_PARAMETER, "rows", detail)
    })
}
