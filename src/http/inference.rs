//! `/v2`: the Open Inference Protocol, version 2, over models, so that its clients predict unchanged.
//!
//! This file tells what there is; `infer` predicts. A model has one version, `1`: it never changes.
//! <https://github.com/kserve/open-inference-protocol>

use axum::Json;
use axum::extract::{FromRequestParts, Path, State};
use axum::http::request::Parts;
use halfspace_formats::Datatype;
use serde::Serialize;
use utoipa::ToSchema;

use crate::records::id::ModelKind;
use crate::records::{ModelId, Owner};

use super::extract::{Caller, NoQuery, PathId};
use super::infer_answer::OutputName;
use super::model_examples::model_in_path;
use super::problem::Problem;
use super::{App, ops};

/// The one version of every model.
pub const VERSION: &str = "1";

/// The extension of the protocol by which tensors are octets after the JSON.
const BINARY_EXTENSION: &str = "binary_tensor_data";

/// The model and the version that a path names.
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

/// What serves here.
#[derive(Serialize, ToSchema)]
pub struct InferenceServer {
    name: &'static str,
    version: &'static str,
    /// Extensions of the protocol.
    extensions: Vec<&'static str>,
}

/// Whether the service lives.
#[derive(Serialize, ToSchema)]
pub struct InferenceLive {
    live: bool,
}

/// Whether the service can meet requests. Clients differ in which of the two they look at.
#[derive(Serialize, ToSchema)]
pub struct InferenceReady {
    live: bool,
    ready: bool,
}

/// A model in terms of tensors.
#[derive(Serialize, ToSchema)]
pub struct InferenceModel {
    /// The id of the model.
    name: ModelId,
    /// The one version that there is.
    versions: Vec<&'static str>,
    /// `halfspace`.
    platform: &'static str,
    inputs: Vec<TensorMetadata>,
    outputs: Vec<TensorMetadata>,
}

/// What a tensor is.
#[derive(Serialize, ToSchema)]
pub struct TensorMetadata {
    name: &'static str,
    /// Of the input the best suited one; the others are taken too.
    datatype: &'static str,
    /// Its dimensions; -1 is any.
    #[schema(max_items = 2)]
    shape: Vec<i64>,
}

/// Whether a model can be used.
#[derive(Serialize, ToSchema)]
pub struct InferenceModelReady {
    /// The id of the model.
    name: ModelId,
    ready: bool,
}

/// What serves the Open Inference Protocol here.
#[utoipa::path(get, path = "/v2", tag = "inference",
    responses((status = 200, description = "Name, version, extensions", body = InferenceServer)))]
pub async fn server(_: NoQuery) -> Json<InferenceServer> {
    Json(InferenceServer {
        name: env!("CARGO_PKG_NAME"),
        version: env!("CARGO_PKG_VERSION"),
        extensions: vec![BINARY_EXTENSION],
    })
}

/// Whether the process answers at all.
#[utoipa::path(get, path = "/v2/health/live", tag = "inference",
    responses((status = 200, description = "It does", body = InferenceLive)))]
pub async fn live(_: NoQuery) -> Json<InferenceLive> {
    Json(InferenceLive { live: true })
}

/// Whether requests can be met now: not while stopping, nor without the store.
#[utoipa::path(get, path = "/v2/health/ready", tag = "inference",
    responses((status = 200, description = "They can", body = InferenceReady)))]
pub async fn ready(State(app): State<App>, _: NoQuery) -> Result<Json<InferenceReady>, Problem> {
    let Json(_) = ops::ready(State(app)).await?;
    Ok(Json(InferenceReady {
        live: true,
        ready: true,
    }))
}

/// The tensors of a model: `x` goes in, `prediction` and `score` come out.
#[utoipa::path(get, path = "/v2/models/{id}", tag = "inference",
    params(("id" = ModelId, Path, description = "The model")),
    responses((status = 200, description = "Its tensors", body = InferenceModel)))]
pub async fn model(
    State(app): State<App>,
    Caller(owner): Caller,
    _: NoQuery,
    PathId(id): PathId<ModelKind>,
) -> Result<Json<InferenceModel>, Problem> {
    tensors(&app, &owner, id).await
}

/// The tensors of a model, its version named.
#[utoipa::path(get, path = "/v2/models/{id}/versions/{version}", tag = "inference",
    params(("id" = ModelId, Path, description = "The model"),
        ("version" = String, Path, description = "1: a model has one version")),
    responses((status = 200, description = "Its tensors", body = InferenceModel)))]
pub async fn model_version(
    State(app): State<App>,
    Caller(owner): Caller,
    _: NoQuery,
    PathVersion(id): PathVersion,
) -> Result<Json<InferenceModel>, Problem> {
    tensors(&app, &owner, id).await
}

async fn tensors(app: &App, owner: &Owner, id: ModelId) -> Result<Json<InferenceModel>, Problem> {
    let hypothesis = model_in_path(app, owner, id).await?.hypothesis;
    let n = i64::try_from(hypothesis.n()).unwrap_or(i64::MAX);
    let datatype = if hypothesis.reads_bits() {
        Datatype::Bool
    } else {
        Datatype::Fp64
    };
    let output = |name: OutputName| TensorMetadata {
        name: name.text(),
        datatype: name.datatype(),
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
        outputs: OutputName::ALL.map(output).into(),
    }))
}

/// Whether a model can be used: it can when it is there.
#[utoipa::path(get, path = "/v2/models/{id}/ready", tag = "inference",
    params(("id" = ModelId, Path, description = "The model")),
    responses((status = 200, description = "It can", body = InferenceModelReady)))]
pub async fn model_ready(
    State(app): State<App>,
    Caller(owner): Caller,
    _: NoQuery,
    PathId(id): PathId<ModelKind>,
) -> Result<Json<InferenceModelReady>, Problem> {
    usable(&app, &owner, id).await
}

/// Whether a model can be used, its version named.
#[utoipa::path(get, path = "/v2/models/{id}/versions/{version}/ready", tag = "inference",
    params(("id" = ModelId, Path, description = "The model"),
        ("version" = String, Path, description = "1: a model has one version")),
    responses((status = 200, description = "It can", body = InferenceModelReady)))]
pub async fn model_version_ready(
    State(app): State<App>,
    Caller(owner): Caller,
    _: NoQuery,
    PathVersion(id): PathVersion,
) -> Result<Json<InferenceModelReady>, Problem> {
    usable(&app, &owner, id).await
}

async fn usable(
    app: &App,
    owner: &Owner,
    id: ModelId,
) -> Result<Json<InferenceModelReady>, Problem> {
    model_in_path(app, owner, id).await?;
    Ok(Json(InferenceModelReady {
        name: id,
        ready: true,
    }))
}
