//! `/v1/sessions`: creates, lists, returns, saves and deletes sessions, and predicts with them.
//!
//! On-line learning itself is in `examples.rs`.

pub mod answers;
pub mod documents;
pub mod examples;
pub mod stream;

use std::fmt;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use halfspace_core::learners::engine::committee::Multiclass;
use halfspace_core::learners::engine::input::TaskError;
use halfspace_formats::{
    Assume, Classes, Extraction, RowsKind, StatedColumn, StatedLabel, TableEncoding, json,
};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use utoipa::{IntoParams, ToSchema};

use crate::jobs::{EncodingSource, SessionError};
use crate::records::id::{ModelKind, SessionKind};
use crate::records::names::{FeatureNames, VocabularyKind};
use crate::records::session::SessionSpec;
use crate::records::stated_classes::StatedClasses;
use crate::records::train::{LearnerSpec, Positive, SeedNumber, StopSpec};
use crate::records::{KeyRecord, Model, Names, Owner, SessionId};

use crate::http::answer::Json;
use crate::http::app_state::App;
use crate::http::document::data_schema::Data;
use crate::http::document::declared::{ANSWERED, BODY, EXAMPLES, KEYED, SESSION, STORED, problems};
use crate::http::extract::data_body::{Octets, read_json};
use crate::http::extract::data_options::{DataParameters, session_names};
use crate::http::extract::idempotency::{KeyHeader, Keyed, NotMade, made_id, once};
use crate::http::extract::{Caller, NoQuery, PageQuery, PathId, Query, page};
use crate::http::jobs::place::TaskPlace;
use crate::http::jobs::submission::{check_name, unresolvable};
use crate::http::models::predict::{PredictParameters, Predictions};
use crate::http::problem::{Code, FieldError, Problem};
use crate::http::sessions::documents::{
    SavedModel, SessionAnswer, SessionItem, SessionList, answer,
};

/// A session to open.
#[derive(serde::Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionRequest {
    learner: LearnerSpec,
    /// Features per example. Exactly one of `n`, `encoding` and `vocabulary=open` is present.
    n: Option<Positive>,
    /// Whether an example is a set of names, which may be new in any example.
    #[serde(default)]
    vocabulary: VocabularyKind,
    /// The largest number of names that an example will have. With an open vocabulary, the default threshold of
    /// `winnow` and `kernel-winnow` follows from it. An example with more names is learnt, too.
    active: Option<Positive>,
    /// Encoding of raw rows: the id of a model or a dataset, or columns. That of a model or a dataset of texts needs
    /// an open vocabulary.
    encoding: Option<SessionEncoding>,
    /// What the member `text` of an example becomes, with an open vocabulary. `{}` stands for its words.
    extraction: Option<Extraction>,
    /// Names of the classes. Of two, the first has the label -1 and the second the label 1; of more, each gets a
    /// hypothesis of its own. With `open` each label is a class, whose hypothesis joins at its first example. When
    /// absent, the labels of the encoding or of the first examples name two classes.
    classes: Option<StatedClasses>,
    /// How more than two classes are learnt: `one-vs-rest` when absent.
    #[schema(value_type = Option<Multiclass>)]
    multiclass: Option<Multiclass>,
    /// Kind of the features. By default `boolean`, or the kind that the encoding makes.
    values: Option<RowsKind>,
    /// Declares that the examples are fresh and independent draws from this distribution. Without the
    /// declaration the session claims no confidence.
    assume: Option<Assume>,
    /// Seed of every random choice. When absent, the service draws a seed and reports the seed.
    seed: Option<SeedNumber>,
    /// Conditions under which the session ends. A session has no limits on passes or time.
    #[serde(default, deserialize_with = "json::object")]
    stop: StopSpec,
}

/// The encoding of the rows of a session.
#[derive(ToSchema)]
#[serde(untagged)]
enum SessionEncoding {
    /// Id of a model or a dataset, whose encoding the session takes.
    Of(String),
    Columns(#[schema(inline)] StatedColumns),
}

impl<'de> Deserialize<'de> for SessionEncoding {
    fn deserialize<D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        value.deserialize_any(SessionEncodingVisitor)
    }
}

struct SessionEncodingVisitor;

impl<'de> Visitor<'de> for SessionEncodingVisitor {
    type Value = SessionEncoding;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the id of a model or a dataset, or an object with `columns`")
    }

    fn visit_str<E: de::Error>(self, id: &str) -> Result<SessionEncoding, E> {
        Ok(SessionEncoding::Of(id.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<SessionEncoding, A::Error> {
        let columns = StatedColumns::deserialize(MapAccessDeserializer::new(map))?;
        Ok(SessionEncoding::Columns(columns))
    }
}

/// Columns of raw rows.
#[derive(serde::Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct StatedColumns {
    /// Columns with features, in the order of the features.
    columns: Vec<StatedColumn>,
    /// Column with the labels. Without this column the labels are 1 and -1.
    label: Option<StatedLabel>,
}

/// Name of the saved model.
#[derive(serde::Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SaveQuery {
    /// Free text.
    name: Option<String>,
}

impl From<SessionError> for Problem {
    fn from(error: SessionError) -> Self {
        let detail = error.to_string();
        match error {
            SessionError::Store(error) => error.into(),
            SessionError::NotFound => Self::not_found("session"),
            SessionError::Unresolvable(error) => unresolvable(error, &TaskPlace::of_session()),
            SessionError::Unfit(TaskError::Intractable(detail)) => {
                Self::new(Code::INTRACTABLE, detail)
            }
            SessionError::Unfit(_) => Self::new(Code::WRONG_DATA, detail),
            SessionError::Elsewhere { position } => {
                Self::new(Code::STALE_POSITION, detail).at_position(position)
            }
            SessionError::Ended { position, .. } => {
                Self::new(Code::WRONG_STATE, detail).at_position(position)
            }
            SessionError::EndsWithin { .. } | SessionError::FewClasses { .. } => {
                Self::new(Code::WRONG_STATE, detail)
            }
            SessionError::Busy => Self::new(Code::SESSION_BUSY, detail),
            SessionError::TooLong { .. } => Self::new(Code::INTRACTABLE, detail),
            SessionError::OverQuota(over) => over.into(),
            SessionError::NoMemory(full) => full.into(),
            SessionError::Broken => Self::new(Code::INTERNAL, detail),
            SessionError::Stopping => Self::new(Code::STOPPING, detail),
        }
    }
}

fn etag(position: u64) -> String {
    format!("\"{position}\"")
}

/// Opens a session, in which a learner learns one example at a time.
///
/// Send the examples with `POST /v1/sessions/{id}/examples`.
#[utoipa::path(post, path = "/v1/sessions", tag = "sessions",
    request_body(content = SessionRequest, description = "The learner and the end of the session"),
    params(KeyHeader),
    responses((status = 201, description = "The session was created", body = SessionAnswer)),
    extensions(("x-problems" = json!(problems(&[BODY, KEYED, STORED,
        &[Code::UNKNOWN_LEARNER, Code::NOT_ON_LINE, Code::WRONG_DATA, Code::WRONG_STOP,
            Code::INTRACTABLE, Code::QUOTA_FULL]])))))]
pub async fn create_session(
    State(app): State<App>,
    Caller(owner): Caller,
    _: NoQuery,
    request: Request,
) -> Result<Response, Problem> {
    let make = |request, key| opened(app.clone(), owner.clone(), request, key);
    let replay = |record| reopened(app.clone(), owner.clone(), record);
    once(&app, &owner, request, make, replay).await
}

async fn opened(app: App, owner: Owner, request: Request, key: Keyed) -> Result<Response, NotMade> {
    let asked: SessionRequest = read_json(&app, request).await?;
    let (mut names, n) = match (asked.encoding, asked.n, asked.vocabulary, asked.extraction) {
        (None, Some(n), VocabularyKind::Fixed, None) => (Names::default(), n.get()),
        (None, None, VocabularyKind::Open, extraction) => (of_texts(extraction)?, 0),
        (Some(encoding), None, vocabulary, None) => {
            let names = names(&app, &owner, encoding, vocabulary).await?;
            let n = names.table.as_ref().map_or(0, |table| table.n());
            (names, n as u64)
        }
        (_, _, VocabularyKind::Fixed, Some(_)) => {
            let detail = "Texts give names that nobody lists; add `\"vocabulary\": \"open\"` and leave n out.";
            return Err(Problem::new(Code::SCHEMA, detail).into());
        }
        (Some(_), None, VocabularyKind::Open, Some(_)) => {
            let detail = "The encoding says what texts become; leave `extraction` out.";
            return Err(Problem::new(Code::SCHEMA, detail).into());
        }
        _ => {
            let detail = "Exactly one of n, encoding and vocabulary=open must be present.";
            return Err(Problem::new(Code::SCHEMA, detail).into());
        }
    };
    let is_real = names.table.as_ref().is_some_and(|table| table.is_real());
    if n > app.limits.n_max {
        let detail = format!("n is {n}, more than n_max: {}.", app.limits.n_max);
        let field = FieldError::at_pointer("/n", detail);
        return Err(Problem::at(Code::OUT_OF_RANGE, field).into());
    }
    let open = asked.classes == Some(StatedClasses::Open);
    if let Some(stated) = asked.classes {
        names.classes = stated_classes(stated, &names)?;
    }
    let spec = SessionSpec {
        learner: asked.learner,
        n,
        active: asked.active.map(Positive::get),
        names,
        multiclass: asked.multiclass,
        open,
        values: asked.values.unwrap_or(RowsKind::of(is_real)),
        assume: asked.assume,
        seed: app.seed(asked.seed),
        stop: asked.stop,
    };
    let key = key.claim();
    let created = app.jobs.sessions.create(&owner, spec, key.as_ref());
    let id = created.await?.id;
    let answer = app.jobs.sessions.look(&owner, id, answer).await?;
    Ok(created_session(answer))
}

/// An open vocabulary whose examples may have texts, if the request says what these become.
fn of_texts(extraction: Option<Extraction>) -> Result<Names, Problem> {
    let mut names = Names::of_vocabulary();
    if let Some(stated) = extraction {
        let settled = stated.settled().map_err(|detail| {
            let field = FieldError::at_pointer("/extraction", detail);
            Problem::at(Code::OUT_OF_RANGE, field)
        })?;
        names.table = Some(Arc::new(TableEncoding::of_text(&settled)));
    }
    Ok(names)
}

/// The classes that a request lists. None if they are open.
fn stated_classes(stated: StatedClasses, names: &Names) -> Result<Option<Classes>, Problem> {
    let listed = match names.classes {
        Some(_) => Err("The encoding names the classes already; leave `classes` out.".to_owned()),
        None => stated.listed(),
    };
    listed.map_err(|wrong| {
        Problem::at(
            Code::OUT_OF_RANGE,
            FieldError::at_pointer("/classes", wrong),
        )
    })
}

/// The names and the encoding that a request states for its rows.
async fn names(
    app: &App,
    owner: &Owner,
    encoding: SessionEncoding,
    vocabulary: VocabularyKind,
) -> Result<Names, Problem> {
    let at = |detail: String| FieldError::at_pointer("/encoding", detail);
    match encoding {
        SessionEncoding::Of(id) => {
            let source: Result<EncodingSource, String> = id.parse();
            let source = source.map_err(|detail| Problem::at(Code::OUT_OF_RANGE, at(detail)))?;
            let names = session_names(source, app, owner, vocabulary, at);
            Ok(names.await?.kept())
        }
        SessionEncoding::Columns(_) if !vocabulary.is_fixed() => {
            let detail = "Columns have a fixed number of features; leave `vocabulary` out, or name a model of names.";
            Err(Problem::at(Code::WRONG_DATA, at(detail.to_owned())))
        }
        SessionEncoding::Columns(StatedColumns { columns, label }) => {
            let table = TableEncoding::stated(columns, label);
            let table = table.map_err(|detail| Problem::at(Code::OUT_OF_RANGE, at(detail)))?;
            let names = Names {
                features: Some(FeatureNames::Listed(table.feature_names())),
                classes: table.label.as_ref().map(|label| label.classes.clone()),
                table: Some(Arc::new(table)),
            };
            Ok(names.kept())
        }
    }
}

async fn reopened(app: App, owner: Owner, record: KeyRecord) -> Result<Option<Response>, Problem> {
    let looked = app
        .jobs
        .sessions
        .look(&owner, made_id(&record)?, answer)
        .await;
    match looked {
        Ok(answer) => Ok(Some(created_session(answer))),
        Err(SessionError::NotFound) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn created_session(answer: SessionAnswer) -> Response {
    let headers = [
        (header::LOCATION, format!("/v1/sessions/{}", answer.id)),
        (header::ETAG, etag(answer.position)),
    ];
    (StatusCode::CREATED, headers, Json(answer)).into_response()
}

/// Lists sessions, newest first.
///
/// A page has `limit` items. Send `next_cursor` of the answer as `cursor` to get the next page.
#[utoipa::path(get, path = "/v1/sessions", tag = "sessions", params(PageQuery),
    responses((status = 200, description = "A page of sessions", body = SessionList)))]
pub async fn list_sessions(
    State(app): State<App>,
    Caller(owner): Caller,
    Query(query): Query<PageQuery>,
) -> Result<Json<SessionList>, Problem> {
    let page = page::<SessionKind>(query.limit, query.cursor.as_deref())?;
    let slice = app.jobs.sessions.list(&owner, &page).await?;
    Ok(Json(SessionList {
        items: slice.items.into_iter().map(SessionItem::from).collect(),
        next_cursor: slice.next.map(|cursor| cursor.to_string()),
    }))
}

/// Returns one session in its current state.
///
/// The state includes the current hypothesis and the counts of examples and mistakes.
#[utoipa::path(get, path = "/v1/sessions/{id}", tag = "sessions",
    params(("id" = SessionId, Path, description = "The session")),
    responses((status = 200, description = "The session", body = SessionAnswer)),
    extensions(("x-problems" = json!(problems(&[SESSION])))))]
pub async fn get_session(
    State(app): State<App>,
    Caller(owner): Caller,
    _: NoQuery,
    PathId(id): PathId<SessionKind>,
) -> Result<([(header::HeaderName, String); 1], Json<SessionAnswer>), Problem> {
    let answer = app.jobs.sessions.look(&owner, id, answer).await?;
    Ok(([(header::ETAG, etag(answer.position))], Json(answer)))
}

/// Deletes a session.
///
/// Models that were saved from the session stay.
#[utoipa::path(delete, path = "/v1/sessions/{id}", tag = "sessions",
    params(("id" = SessionId, Path, description = "The session")),
    responses((status = 204, description = "The session was deleted")),
    extensions(("x-problems" = json!(problems(&[SESSION, &[Code::STORAGE_FULL]])))))]
pub async fn delete_session(
    State(app): State<App>,
    Caller(owner): Caller,
    _: NoQuery,
    PathId(id): PathId<SessionKind>,
) -> Result<StatusCode, Problem> {
    app.jobs.sessions.delete(&owner, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Saves the current hypothesis of a session as a model.
///
/// The session stays open. The model does not change with the session.
#[utoipa::path(post, path = "/v1/sessions/{id}/model", tag = "sessions",
    params(("id" = SessionId, Path, description = "The session"), SaveQuery, KeyHeader),
    responses((status = 201, description = "The model is stored", body = SavedModel)),
    extensions(("x-problems" = json!(problems(&[
        SESSION, KEYED, STORED, &[Code::WRONG_STATE]])))))]
pub async fn save_session_model(
    State(app): State<App>,
    Caller(owner): Caller,
    Query(query): Query<SaveQuery>,
    PathId(id): PathId<SessionKind>,
    request: Request,
) -> Result<Response, Problem> {
    check_name(&app, query.name.as_deref(), |detail| {
        FieldError::at_parameter("name", detail)
    })?;
    let make = async |request, key: Keyed| {
        key.pass_over_body(&app, request).await?;
        let key = key.claim();
        let saved = app.jobs.sessions.save(&owner, id, query.name, key.as_ref());
        Ok(created_model(saved.await?))
    };
    let replay = async |record| {
        let model = app
            .jobs
            .store
            .find(&owner, made_id::<ModelKind>(&record)?)
            .await?;
        Ok(model.map(created_model))
    };
    once(&app, &owner, request, make, replay).await
}

fn created_model(model: Model) -> Response {
    let location = [(header::LOCATION, format!("/v1/models/{}", model.summary.id))];
    (StatusCode::CREATED, location, Json(SavedModel::from(model))).into_response()
}

/// Predicts labels without learning.
///
/// Formats, answers and limits are those of a prediction by a model. The session keeps its position. If it learns while
/// lines of names arrive, later lines are predicted with what it has learnt by then.
#[utoipa::path(post, path = "/v1/sessions/{id}/predict", tag = "sessions",
    params(("id" = SessionId, Path, description = "The session"), DataParameters, PredictParameters),
    request_body(
        content((Data = "application/json"), (Octets = "*/*")),
        description = "The examples. Labels are ignored. A table has no labels unless `labels` \
                       names their column"),
    responses((status = 200, description = "The predictions", content(
        (Predictions = "application/json"), (String = "application/x-ndjson")))),
    extensions(("x-problems" = json!(problems(&[
        SESSION, BODY, EXAMPLES, ANSWERED, &[Code::NOT_ACCEPTABLE, Code::WRONG_STATE]])))))]
pub async fn predict_session(
    State(app): State<App>,
    Caller(owner): Caller,
    PathId(id): PathId<SessionKind>,
    request: Request,
) -> Result<Response, Problem> {
    let model = app.jobs.sessions.model(&owner, id).await?;
    crate::http::models::predict::answer(&app, &owner, model, request).await
}
