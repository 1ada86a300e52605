//! `POST /v1/datasets/import`: submits the job that stores an object of a bucket as a dataset.

use std::collections::BTreeMap;

use axum::extract::{Request, State};
use axum::response::Response;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::records::Priority;
use crate::records::import::ImportSpec;
use crate::records::task::TaskSpec;
use crate::records::train::Seconds;

use crate::http::app_state::App;
use crate::http::document::declared::{BODY, KEYED, STORED, SUBMITTED, problems};
use crate::http::extract::body::RequestMemory;
use crate::http::extract::data_body::read_json;
use crate::http::extract::data_options::{DataParameters, assumed};
use crate::http::extract::idempotency::{KeyHeader, once};
use crate::http::extract::{Caller, PreferWait, query_pairs};
use crate::http::jobs::answer::{Wait, replay};
use crate::http::jobs::document::JobDocument;
use crate::http::jobs::place::TaskPlace;
use crate::http::jobs::submission::submit;
use crate::http::jobs::tasks::RequestedJob;
use crate::http::problem::{Code, Problem};

/// An object of a bucket to store as a dataset.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DatasetSource {
    /// Address of the object: `s3://bucket/key`, within a prefix that the operator allows with `--sources`. The key is
    /// taken as it is written, without percent-encoding.
    #[schema(max_length = 2048)]
    source: String,
    /// Format of the object: a file extension such as `csv`, or a media type. By default the Content-Type of the object
    /// decides, and if that says nothing about data, the extension of the key, before a `.gz` or `.zst`.
    #[schema(max_length = 256)]
    format: Option<String>,
    /// Free text that names the job and the dataset.
    #[schema(max_length = 256)]
    name: Option<String>,
    /// Seconds of computing; 600 when absent.
    #[schema(value_type = Option<f64>, exclusive_minimum = 0)]
    max_seconds: Option<Seconds>,
    /// URL to notify when the job ends. Needs a configured callback secret.
    #[schema(format = "uri", max_length = 2048)]
    callback: Option<String>,
    /// Jobs of higher priority run first among the jobs of the same key; 0 when absent.
    priority: Option<Priority>,
}

/// Stores an object of a bucket as a dataset, in a job.
///
/// The query has the options of the data, as for an upload. The operator allows prefixes of buckets with `--sources`;
/// nothing else is fetched. The job reads the version of the object that this request saw, and its result names the
/// dataset. With `Prefer: wait=S` the answer waits up to S seconds for the end of the job.
#[utoipa::path(post, path = "/v1/datasets/import", tag = "datasets", request_body = DatasetSource,
    params(DataParameters,
        ("assume" = Option<String>, Query, description = "Declares that the data are fresh and \
                                                          independent: `uniform-positive`, \
                                                          `reflected` or `uniform`"),
        ("Prefer" = Option<String>, Header, description = "`wait=S` waits for the end of the job, \
                                                           at most 60 seconds"),
        KeyHeader),
    responses(
        (status = 200, description = "The job ended within the wait", body = JobDocument),
        (status = 202, description = "The job is accepted", body = JobDocument)),
    extensions(("x-problems" = json!(problems(&[BODY, KEYED, SUBMITTED, STORED,
        &[Code::BAD_OPTION, Code::BAD_SOURCE, Code::TABLE_OPTION, Code::UNKNOWN_DATASET]])))))]
pub async fn import_dataset(
    State(app): State<App>,
    Caller(owner): Caller,
    prefer: Option<PreferWait>,
    request: Request,
) -> Result<Response, Problem> {
    let wait = Wait::from(prefer);
    let make = async |request: Request, key| {
        let mut parameters = BTreeMap::from_iter(query_pairs(request.uri().query())?);
        let assume = parameters.remove("assume").map(assumed).transpose()?;
        let source: DatasetSource = read_json(&app, request).await?;
        let job = RequestedJob {
            task: TaskSpec::Import(ImportSpec {
                source: source.source,
                format: source.format,
                parameters,
                assume,
                max_seconds: source.max_seconds,
            }),
            data: None,
            seed: None,
            name: source.name,
            callback: source.callback,
            priority: source.priority,
            sha256: None,
            memory: RequestMemory::default(),
            cells: None,
        };
        submit(&app, owner.clone(), job, &TaskPlace::of_source(), wait, key).await
    };
    let replay = |record| replay(app.clone(), owner.clone(), wait, record);
    once(&app, &owner, request, make, replay).await
}
