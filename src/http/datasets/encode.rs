//! `POST /v1/datasets/{id}/encode`: stores the table of a dataset once more, under other options.

use std::sync::Arc;

use axum::body::HttpBody;
use axum::extract::{Request, State};
use axum::response::Response;
use halfspace_core::learners::engine::run::StopFlag;
use halfspace_formats::{
    CellKeeper, FormatError, Options, Parsed, ParsedRows, ReadAt, ReadFrom, Roles, Spool,
    StoredExamples, TableEncoding, encode_again, encode_examples,
};

use crate::jobs::{NewDataset, StoredRatio, assume_refusal};
use crate::records::id::DatasetKind;
use crate::records::{DatasetId, DatasetSummary, Owner};

use crate::http::app_state::App;
use crate::http::datasets::upload::{check_assume, line_options, refused_room, spool};
use crate::http::datasets::{DatasetAnswer, in_path, replay, stored};
use crate::http::document::declared::{EXAMPLES, IN_PATH, KEYED, STORED, problems};
use crate::http::extract::data_options::DataParameters;
use crate::http::extract::idempotency::{KeyHeader, Keyed, NotMade, once};
use crate::http::extract::{Caller, PathId, body, query_pairs};
use crate::http::jobs::submission::check_name;
use crate::http::problem::{Code, FieldError, Problem};

/// Encodes the table of a dataset again, and stores it as a new dataset.
///
/// The result is that of an upload of the same file with these options, except that numbers before the first cell that
/// is no number have lost their spelling. Without `labels`, the labels stay where they are, and a declared distribution
/// stays. All other options of the upload are gone: state them again.
#[utoipa::path(post, path = "/v1/datasets/{id}/encode", tag = "datasets",
    params(
        ("id" = DatasetId, Path, description = "The dataset, which came as a table"),
        ("name" = Option<String>, Query, description = "Free text"),
        DataParameters,
        ("assume" = Option<String>, Query, description = "Declares that the data are fresh and \
                                                          independent: `uniform-positive`, \
                                                          `reflected` or `uniform`"),
        KeyHeader),
    responses((status = 201, description = "The table is stored once more", body = DatasetAnswer)),
    extensions(("x-problems" = json!(problems(&[IN_PATH, EXAMPLES, KEYED, STORED])))))]
pub async fn encode_dataset(
    State(app): State<App>,
    Caller(owner): Caller,
    PathId(id): PathId<DatasetKind>,
    request: Request,
) -> Result<Response, Problem> {
    let make = |request, key| encoded(app.clone(), owner.clone(), id, request, key);
    let replay = |record| replay(app.clone(), owner.clone(), record);
    once(&app, &owner, request, make, replay).await
}

async fn encoded(
    app: App,
    owner: Owner,
    id: DatasetId,
    request: Request,
    key: Keyed,
) -> Result<Response, NotMade> {
    if !request.body().is_end_stream() {
        let detail = "The request has a body, but the options of this route are in the query.";
        return Err(Problem::new(Code::SCHEMA, detail).into());
    }
    let query = query_pairs(request.uri().query())?;
    let (name, data) = line_options(query, &app.limits.of_datasets())?;
    check_name(&app, name.as_deref(), |detail| {
        FieldError::at_parameter("name", detail)
    })?;
    let table = Table::open(&app, &owner, id).await?;
    let mut options = data.resolve(&app, &owner, request.headers()).await?;
    let keeper = CellKeeper::default();
    options.cells = Some(keeper.clone());
    if options.table.encoding.is_none() {
        options.table.roles = Some(Arc::new(Roles::beside_features(&table.encoding)));
    }
    let (stated, kept) = (options.assume, table.summary.facts.assume);
    let permit = app.permits.uploads.take(&owner).await;
    let permit = permit.map_err(Problem::from)?;
    app.jobs.store.ensure_space().await.map_err(Problem::from)?;
    let datasets = &app.jobs.datasets;
    let reserved = datasets.reservations.reserve(&owner, 1).await?;
    let begun = datasets.begin()?;
    let bytes = table.summary.bytes;
    let ratio = StoredRatio::new(app.limits.stored_ratio_max, move || bytes);
    let spool = spool(&app, &reserved, &ratio).storing(begun.compared_max, begun.target());
    let held = reserved.clone();
    let encode = move || {
        let encoded = table.encode(&options, spool);
        encoded.map_err(|error| refused_room(&error, &held, &ratio).unwrap_or_else(|| error.into()))
    };
    let encoded = body::make_examples(&app, encode).await;
    let checked = encoded.and_then(|(parsed, memory)| {
        check_assume(parsed.data.header().labels, stated)?;
        Ok((parsed, memory))
    });
    let (parsed, memory) = match checked {
        Ok(encoded) => encoded,
        Err(problem) => {
            begun.abort().await;
            return Err(problem.into());
        }
    };
    let kind = parsed.data.header().labels;
    let kept = kept.filter(|kept| assume_refusal(kind, Some(*kept)).is_none());
    let new = NewDataset {
        owner,
        name,
        parsed,
        cells: keeper.take(),
        assume: stated.or(kept),
        seed: None,
        key: key.claim(),
        reserved: Some(reserved),
        begun,
    };
    stored(app, new, (permit, memory)).await
}

/// A dataset that came as a table.
struct Table {
    summary: DatasetSummary,
    encoding: Arc<TableEncoding>,
    cells: Option<Box<dyn ReadAt>>,
    examples: Arc<StoredExamples>,
}

impl Table {
    async fn open(app: &App, owner: &Owner, id: DatasetId) -> Result<Self, Problem> {
        let datasets = &app.jobs.datasets;
        let opened = datasets.open(owner, id, StopFlag::default()).await;
        let (dataset, examples) = opened.map_err(in_path)?;
        let summary = dataset.summary;
        let cells = datasets.raw_cells(&summary).await?;
        let encoding = dataset.names.table;
        match encoding.filter(|encoding| cells.is_some() || encoding.is_plain()) {
            Some(encoding) => Ok(Self {
                summary,
                encoding,
                cells,
                examples,
            }),
            None => {
                let detail =
                    "The dataset did not come as a table, so there are no cells to encode again.";
                Err(Problem::new(Code::WRONG_DATA, detail))
            }
        }
    }

    fn encode(&self, options: &Options, spool: Spool) -> Result<Parsed<ParsedRows>, FormatError> {
        match &self.cells {
            Some(cells) => encode_again(ReadFrom::whole(&**cells)?, options, Some(spool)),
            None => {
                let zero = self.summary.facts.zero_bit_value.into();
                let examples = &*self.examples;
                encode_examples(examples, zero, &self.encoding, options, Some(spool))
            }
        }
    }
}
