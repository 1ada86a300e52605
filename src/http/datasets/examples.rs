//! `GET /v1/datasets/{id}/examples`: a page of a dataset, in the format that the client accepts.

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use halfspace_core::bits::BLOCK_ROWS;
use halfspace_formats::{
    self, LabelsKind, TextFormat, Unwritten, write_csv_header, write_examples,
};
use serde::Deserialize;
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use crate::records::id::DatasetKind;
use crate::records::{Dataset, DatasetId, DatasetSummary};

use crate::http::app_state::App;
use crate::http::computing::compute;
use crate::http::datasets::in_path;
use crate::http::document::declared::{COMPUTED, IN_PATH, problems};
use crate::http::extract::work::SMALL_WORDS_MAX;
use crate::http::extract::{Caller, PathId, Query, chosen};
use crate::http::problem::{Code, Problem};

/// Default number of examples per page.
const LIMIT_DEFAULT: u32 = 100;
/// Largest number of examples per page.
const LIMIT_MAX: u32 = 10_000;
/// The most characters of a name that an error shows.
const NAME_SHOWN_MAX: usize = 100;

/// Selects a page of examples.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ExamplesQuery {
    /// Examples to skip; 0 when absent.
    #[param(minimum = 0)]
    offset: Option<u64>,
    /// Examples per page; 100 when absent.
    #[param(minimum = 1, maximum = 10_000)]
    limit: Option<u32>,
    /// Format of the answer. A media type without a wildcard in `Accept` overrides the parameter.
    format: Option<String>,
}

/// An example.
#[derive(ToSchema)]
#[expect(dead_code, reason = "a shape: the text is written example by example")]
pub struct ExampleItem {
    /// A bit string if a 0 bit was sent as 0, otherwise a list of numbers. Of an open vocabulary, a list of the names
    /// of the active features, or an object of them with their values unless all are 1.
    x: Value,
    /// The label. Absent if the examples have no labels.
    #[schema(nullable = false)]
    y: Option<ExampleLabel>,
}

/// The label of an example.
#[derive(ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "as for the example")]
pub enum ExampleLabel {
    /// 1 or -1, unless a class is named by a number.
    Sign(i8),
    /// The name of the class.
    Name(String),
}

/// A page of the examples of a dataset, in stored order.
#[derive(ToSchema)]
#[expect(dead_code, reason = "as for the example")]
pub struct ExamplePage {
    items: Vec<ExampleItem>,
    /// The `offset` of the next page; null on the last page.
    next_offset: Option<u64>,
}

/// Returns a page of the examples of a dataset in stored order.
///
/// `Accept` or `format` selects the format.
/// CSV has the names of the classes. The other formats have the labels 1 and -1, unless a class is named by a number:
/// then they have the names too, because a 1 could mean either.
///
/// You can upload an answer in a line format again and get the same data. In CSV and LIBSVM the label comes
/// first, so upload CSV with `labels=first`. CSV has a row of names if the features have names; upload such a page with
/// `labels=first&header=true`. Upload CSV or LIBSVM without labels with `labels=none`. LIBSVM omits zeros, so also
/// pass `n`. `text/x-vw` lists names, so it needs an open vocabulary.
#[utoipa::path(get, path = "/v1/datasets/{id}/examples", tag = "datasets",
    params(("id" = DatasetId, Path, description = "The dataset"), ExamplesQuery,
        ("Accept" = Option<String>, Header, description = "`application/json`, \
            `application/x-ndjson`, `text/csv`, `text/x-libsvm` or `text/x-vw`")),
    responses((status = 200, description = "The examples", content(
        (ExamplePage = "application/json"), (String = "application/x-ndjson"),
        (String = "text/csv"), (String = "text/x-libsvm"), (String = "text/x-vw")))),
    extensions(("x-problems" = json!(problems(&[
        IN_PATH, COMPUTED, &[Code::NOT_ACCEPTABLE, Code::ANSWER_TOO_LONG]])))))]
pub async fn list_dataset_examples(
    State(app): State<App>,
    Caller(owner): Caller,
    PathId(id): PathId<DatasetKind>,
    Query(query): Query<ExamplesQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let media_types = TextFormat::ALL.map(TextFormat::media_type);
    let media_type = chosen(query.format.as_deref(), &headers, &media_types)?;
    let chosen = |format: &TextFormat| format.media_type() == media_type;
    let format = TextFormat::ALL.into_iter().find(chosen);
    let format = format.unwrap_or(TextFormat::Json);
    let Dataset {
        summary: dataset,
        names,
    } = app.jobs.datasets.find(&owner, id).await.map_err(in_path)?;
    check_names(format, names.is_open())?;
    let offset = query.offset.unwrap_or(0);
    let limit = page_limit(
        &app,
        &dataset,
        names.is_open(),
        (offset, query.limit),
        format,
    )?;
    // Reading a row reads the whole block of the row.
    let rows = u64::from(limit).max(BLOCK_ROWS as u64);
    let permit = match rows.saturating_mul(dataset.facts.n) <= SMALL_WORDS_MAX {
        true => None,
        false => Some(app.permits.uploads.take(&owner).await?),
    };
    // An offset that does not fit the address range lies beyond the end.
    let first = usize::try_from(offset).unwrap_or(usize::MAX);
    let read = app
        .jobs
        .datasets
        .read_examples(&dataset, first, limit as usize);
    let data = read.await.map_err(in_path)?;
    let bytes_max = app.limits.answer_bytes_max;
    let zero = dataset.facts.zero_bit_value;
    let text = match data {
        None => String::new(),
        Some((data, classes, vocabulary)) => {
            compute(&app, permit, move |_| {
                let (classes, names) = (classes.as_ref(), vocabulary.as_ref());
                let text = write_examples(&data, classes, names, zero, format, bytes_max);
                text.map_err(|why| match why {
                    Unwritten::TooLong => too_long("would be longer", bytes_max),
                    Unwritten::Name(name) => unwritable(&name),
                })
            })
            .await?
        }
    };
    let text = match format {
        TextFormat::Csv => {
            let has_label = dataset.facts.kind == LabelsKind::Labelled;
            let header = names
                .listed()
                .map(|names| write_csv_header(names, has_label));
            header.unwrap_or_default() + &text
        }
        TextFormat::Json => {
            let next = offset.saturating_add(limit.into());
            let next = (next < dataset.facts.examples).then_some(next);
            let next = next.map_or_else(|| "null".to_owned(), |next| next.to_string());
            format!("{{\"items\":[{text}],\"next_offset\":{next}}}")
        }
        _ => text,
    };
    Ok(([(header::CONTENT_TYPE, media_type)], text).into_response())
}

/// The number of examples on a page. A page whose values outnumber the bytes of the answer is refused. Each value
/// takes at least one byte, except for the zeros that LIBSVM omits: such a page holds no more values than stored bits.
/// A page of names stops where it gets too long.
fn page_limit(
    app: &App,
    dataset: &DatasetSummary,
    is_open: bool,
    (offset, limit): (u64, Option<u32>),
    format: TextFormat,
) -> Result<u32, Problem> {
    let limit = limit.unwrap_or(LIMIT_DEFAULT);
    if !(1..=LIMIT_MAX).contains(&limit) {
        let detail = format!("{limit} is not from 1 to {LIMIT_MAX}");
        return Err(Problem::parameter(Code::INVALID_PARAMETER, "limit", detail));
    }
    let values_max = app.limits.answer_bytes_max;
    let left = dataset.facts.examples.saturating_sub(offset);
    let values = left.min(limit.into()).saturating_mul(dataset.facts.n);
    let held = match format {
        // The names that are written are counted as they are written.
        _ if is_open => 0,
        TextFormat::Libsvm => values.min(dataset.bytes.saturating_mul(8)),
        TextFormat::Json | TextFormat::Ndjson | TextFormat::Csv | TextFormat::Vw => values,
    };
    if held > values_max {
        return Err(too_long("would hold more values", values_max));
    }
    Ok(limit)
}

/// Checks that a format can write features that have names, or none.
fn check_names(format: TextFormat, is_open: bool) -> Result<(), Problem> {
    let detail = match format {
        TextFormat::Csv | TextFormat::Libsvm if is_open => {
            "The features of this dataset have names, which JSON, NDJSON and the format of Vowpal Wabbit list. Send \
             Accept: application/x-ndjson."
        }
        TextFormat::Vw if !is_open => {
            "The features of this dataset have no names, which the format of Vowpal Wabbit lists. Send Accept: \
             text/x-libsvm."
        }
        _ => return Ok(()),
    };
    Err(Problem::new(Code::NOT_ACCEPTABLE, detail))
}

/// The problem for a name that the format of Vowpal Wabbit cannot have.
fn unwritable(name: &str) -> Problem {
    let shown: String = name.chars().take(NAME_SHOWN_MAX).collect();
    let detail = format!(
        "The name {shown:?} cannot be written for Vowpal Wabbit, whose lines end a name at a blank, a colon or a bar, \
         and have meanings of their own for ^, \\ and a leading apostrophe. Send Accept: application/x-ndjson."
    );
    Problem::new(Code::NOT_ACCEPTABLE, detail)
}

fn too_long(what: &str, limit: u64) -> Problem {
    let detail = format!(
        "The page {what} than answer_bytes_max allows: {limit}. Ask for fewer examples with \
         `limit`."
    );
    Problem::new(Code::ANSWER_TOO_LONG, detail)
}
