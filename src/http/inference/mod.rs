//! `/v2`: metadata and health of the Open Inference Protocol, version 2, so that existing clients of the protocol can
//! use models of this service.
//!
//! The module `infer` predicts. A model never changes, so each has the single version `1`.
//! <https://github.com/kserve/open-inference-protocol>

pub mod answer;
pub mod infer;
pub mod request;

use axum::extract::{FromRequestParts, Path, State};
use axum::http::request::Parts;
use halfspace_formats::Datatype;
use serde::Serialize;
use utoipa::ToSchema;

use crate::records::ModelId;
use crate::records::id::ModelKind;

use crate::http::answer::Json;
use crate::http::app_state::App;
use crate::http::document::declared::{IN_PATH, problems};
use crate::http::extract::{Caller, NoQuery, PathId};
use crate::http::inference::answer::{Offered, OutputName};
use crate::http::models::examples::model_in_path;
use crate::http::operations;
use crate::http::problem::Problem;

/// The only version of every model.
pub const VERSION: &str = "1";

/// The protocol extension for tensors as octets after the JSON.
const BINARY_EXTENSION: &str = "binary_tensor_data";

/// The model in a path that also names a version.
pub struct PathVersion(pub ModelId);

impl<S: Send + Sync> FromRequestParts<S> for PathVersion {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let path =
            <Path<(String, String)> as FromRequestParts<S>>::from_request_parts(parts, state);
        let Path((id, version)) = path.await.map_err(|_| Problem::not_found("model"))?;
        let id = id.parse().map_err(|_| Problem::not_found("model"))?;
        match version.as_str() {
            VERSION => Ok(Self(id)),
            _ => Err(Problem::not_found("version of the model")),
        }
    }
}

/// The server and the extensions of the protocol.
#[derive(Serialize, ToSchema)]
pub struct InferenceServer {
    name: &'static str,
    version: &'static str,
    /// Supported extensions of the protocol.
    extensions: Vec<&'static str>,
}

/// Whether the service is alive.
#[derive(Serialize, ToSchema)]
pub struct InferenceLive {
    live: bool,
}

/// Whether the service can answer requests. Clients read either `live` or `ready`.
#[derive(Serialize, ToSchema)]
pub struct InferenceReady {
    live: bool,
    ready: bool,
}

/// The input and output tensors of a model.
#[derive(Serialize, ToSchema)]
pub struct InferenceModel {
    /// The id of the model.
    name: ModelId,
    /// The only version.
    versions: Vec<&'static str>,
    /// Always `halfspace`.
    platform: &'static str,
    inputs: Vec<TensorMetadata>,
    outputs: Vec<TensorMetadata>,
}

/// The name, datatype and shape of a tensor.
#[derive(Serialize, ToSchema)]
pub struct TensorMetadata {
    name: &'static str,
    /// For the input, the most suitable datatype. Other datatypes are accepted too.
    datatype: &'static str,
    /// Dimensions of the tensor; -1 means any length.
    #[schema(max_items = 2)]
    shape: Vec<i64>,
}

/// Whether a model is ready for predictions.
#[derive(Serialize, ToSchema)]
pub struct InferenceModelReady {
    /// The id of the model.
    name: ModelId,
    ready: bool,
}

/// Describes the server and the supported extensions of the protocol.
///
/// The name and the version are those of the service.
#[utoipa::path(get, path = "/v2", tag = "inference",
    responses((status = 200, description = "Name, version and extensions of the server", body = InferenceServer)))]
pub async fn get_inference_server(_: NoQuery) -> Json<InferenceServer> {
    Json(InferenceServer {
        name: env!("CARGO_PKG_NAME"),
        version: env!("CARGO_PKG_VERSION"),
        extensions: vec![BINARY_EXTENSION],
    })
}

/// Tells whether the process is alive.
///
/// The answer does not depend on the database. `GET /livez` is the same check without a key.
#[utoipa::path(get, path = "/v2/health/live", tag = "inference",
    responses((status = 200, description = "The process is alive", body = InferenceLive)))]
pub async fn check_inference_liveness(_: NoQuery) -> Json<InferenceLive> {
    Json(InferenceLive { live: true })
}

/// Tells whether the service can answer requests.
///
/// The service is not ready while the process stops or the store does not answer.
#[utoipa::path(get, path = "/v2/health/ready", tag = "inference",
    responses((status = 200, description = "The service is ready", body = InferenceReady)))]
pub async fn check_inference_readiness(
    State(app): State<App>,
    _: NoQuery,
) -> Result<Json<InferenceReady>, Problem> {
    let Json(_) = operations::check_readiness(State(app)).await?;
    Ok(Json(InferenceReady {
        live: true,
        ready: true,
    }))
}

/// Describes the tensors of a model: `x` in, `prediction` and `score` out.
///
/// The description has the metadata format of the Open Inference Protocol.
#[utoipa::path(get, path = "/v2/models/{id}", tag = "inference",
    params(("id" = ModelId, Path, description = "The model")),
    responses((status = 200, description = "The tensors of the model", body = InferenceModel)),
    extensions(("x-problems" = json!(problems(&[IN_PATH])))))]
pub async fn get_inference_model(
    State(app): State<App>,
    Caller(owner): Caller,
    _: NoQuery,
    PathId(id): PathId<ModelKind>,
) -> Result<Json<InferenceModel>, Problem> {
    let model = model_in_path(&app, &owner, id).await?;
    let (predictor, offered) = (&model.predictor, Offered::of(&model));
    let n = i64::try_from(predictor.n()).unwrap_or(i64::MAX);
    let datatype = if predictor.reads_bits() {
        Datatype::Bool
    } else {
        Datatype::Fp64
    };
    let output = |name: OutputName| TensorMetadata {
        name: name.text(),
        datatype: offered.datatype(name),
        shape: vec![-1],
    };
    Ok(Json(InferenceModel {
        name: id,
        versions: vec![VERSION],
        platform: env!("CARGO_PKG_NAME"),
        inputs: vec![TensorMetadata {
            name: "x",
            datatype: datatype.name(),
            shape: vec![-1, n],
        }],
        outputs: offered.all().into_iter().map(output).collect(),
    }))
}

/// Describes the tensors of a named version of a model.
///
/// A model never changes, so the only version is 1.
#[utoipa::path(get, path = "/v2/models/{id}/versions/{version}", tag = "inference",
    params(("id" = ModelId, Path, description = "The model"),
        ("version" = String, Path, description = "The version, always 1")),
    responses((status = 200, description = "The tensors of the model", body = InferenceModel)),
    extensions(("x-problems" = json!(problems(&[IN_PATH])))))]
pub async fn get_inference_model_version(
    app: State<App>,
    caller: Caller,
    query: NoQuery,
    PathVersion(id): PathVersion,
) -> Result<Json<InferenceModel>, Problem> {
    get_inference_model(app, caller, query, PathId(id)).await
}

/// Tells whether a model is ready. Every existing model is ready.
///
/// An unknown id gets status 404.
#[utoipa::path(get, path = "/v2/models/{id}/ready", tag = "inference",
    params(("id" = ModelId, Path, description = "The model")),
    responses((status = 200, description = "The model is ready", body = InferenceModelReady)),
    extensions(("x-problems" = json!(problems(&[IN_PATH])))))]
pub async fn check_inference_model(
    State(app): State<App>,
    Caller(owner): Caller,
    _: NoQuery,
    PathId(id): PathId<ModelKind>,
) -> Result<Json<InferenceModelReady>, Problem> {
    model_in_path(&app, &owner, id).await?;
    Ok(Json(InferenceModelReady {
        name: id,
        ready: true,
    }))
}

/// Tells whether a named version of a model is ready.
///
/// A model never changes, so the only version is 1.
#[utoipa::path(get, path = "/v2/models/{id}/versions/{version}/ready", tag = "inference",
    params(("id" = ModelId, Path, description = "The model"),
        ("version" = String, Path, description = "The version, always 1")),
    responses((status = 200, description = "The model is ready", body = InferenceModelReady)),
    extensions(("x-problems" = json!(problems(&[IN_PATH])))))]
pub async fn check_inference_model_version(
    app: State<App>,
    caller: Caller,
    query: NoQuery,
    PathVersion(id): PathVersion,
) -> Result<Json<InferenceModelReady>, Problem> {
    check_inference_model(app, caller, query, PathId(id)).await
}
