//! `POST /v1/models`: imports a model file that `GET /v1/models/{id}` exported.

use std::io::Read;

use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use halfspace_core::learners::engine::random::SEED_MAX;
use halfspace_formats::{self, json};
use halfspace_verify::is_sha256;

use crate::jobs::{ImportError, check_import};
use crate::records::hypothesis::HypothesisDocument;
use crate::records::id::ModelKind;
use crate::records::lineage::LINEAGE_MAX;
use crate::records::model_file::{ClaimedFormat, FORMAT, ModelFile, unknown_member};
use crate::records::names::{NAMES_BYTES_MAX, VocabularyKind, is_short};
use crate::records::train::ModelDocument;
use crate::records::{KeyRecord, Model, Owner};

use crate::http::answer::Json;
use crate::http::app_state::App;
use crate::http::computing::compute;
use crate::http::document::declared::{BODY, KEYED, STORED, problems};
use crate::http::extract::body::Effort;
use crate::http::extract::data_body::DataBody;
use crate::http::extract::idempotency::{KeyHeader, Keyed, NotMade, made_id, once};
use crate::http::extract::{Caller, NoQuery};
use crate::http::jobs::place::TaskPlace;
use crate::http::jobs::submission::check_name;
use crate::http::models::examples::sentence;
use crate::http::models::{ModelAnswer, document};
use crate::http::problem::{Code, FieldError, Problem};

/// Imports a model file under a new id. `GET /v1/models/{id}` exports such files.
///
/// An import overwrites nothing. A file that was altered after the export is refused. The digest `sha256`
/// covers the learner, the hypothesis and the record of the training: parameters, seed, data digest, counts
/// and the names of features and classes. You may change the `name` of the model. The digest is not a
/// signature, so import models only from sources that you trust.
#[utoipa::path(post, path = "/v1/models", tag = "models", request_body = ModelFile,
    params(KeyHeader),
    responses((status = 201, description = "The model is stored", body = ModelAnswer)),
    extensions(("x-problems" = json!(problems(&[BODY, KEYED, STORED,
        &[Code::UNKNOWN_LEARNER, Code::UNKNOWN_MODEL_FORMAT, Code::MODEL_ALTERED,
            Code::WRONG_MODEL]])))))]
pub async fn import_model(
    State(app): State<App>,
    Caller(owner): Caller,
    _: NoQuery,
    request: Request,
) -> Result<Response, Problem> {
    let make = |request, key| made(app.clone(), owner.clone(), request, key);
    let replay = |record| replay(app.clone(), owner.clone(), record);
    once(&app, &owner, request, make, replay).await
}

async fn made(app: App, owner: Owner, request: Request, key: Keyed) -> Result<Response, NotMade> {
    let mut body = DataBody::json(&app, request)?;
    body.limits.body_bytes_max = app.limits.model_bytes_max;
    body.limits.body_limit_name = "model_bytes_max";
    let limits = body.limits.clone();
    let read = body.read(&app, Effort::Unknown, move |reader| {
        checked(reader, &limits)
    });
    let (name, learner, document) = read.await?;
    check_name(&app, name.as_deref(), |detail| {
        FieldError::at_pointer("/name", detail)
    })?;
    let key = key.claim();
    let stored = app
        .jobs
        .models
        .store(owner, name, learner, &document, key.as_ref());
    Ok(created(&app, stored.await?, document).await?)
}

async fn replay(app: App, owner: Owner, record: KeyRecord) -> Result<Option<Response>, Problem> {
    let model = app
        .jobs
        .store
        .find(&owner, made_id::<ModelKind>(&record)?)
        .await?;
    let Some(model) = model else {
        return Ok(None);
    };
    let read = compute(&app, None, move |_| Ok((document(&model)?, model)));
    let (document, model) = read.await?;
    created(&app, model, document).await.map(Some)
}

async fn created(app: &App, model: Model, document: ModelDocument) -> Result<Response, Problem> {
    let location = format!("/v1/models/{}", model.summary.id);
    let answer = compute(app, None, move |_| {
        Ok(ModelAnswer::new(model.summary, document))
    });
    let headers = [(header::LOCATION, location)];
    Ok((StatusCode::CREATED, headers, Json(answer.await?)).into_response())
}

fn refused(code: Code, pointer: &str, detail: String) -> Problem {
    Problem::at(code, FieldError::at_pointer(pointer, detail))
}

/// The name, the learner and the document of a consistent model file.
///
/// # Errors
/// Fields that are refused.
pub fn checked(
    reader: &mut dyn Read,
    limits: &halfspace_formats::ParseLimits,
) -> Result<(Option<String>, String, ModelDocument), Problem> {
    let mut bytes = Vec::new();
    let read = reader.read_to_end(&mut bytes);
    read.map_err(halfspace_formats::FormatError::from)?;
    // A file of another format may have members that are unknown here, so the format is checked first.
    let claim: ClaimedFormat = json::from_reader(bytes.as_slice(), limits)?;
    if let Some(format) = claim.format.filter(|format| format != FORMAT) {
        let shown: String = format.chars().take(100).collect();
        let detail = format!("The model format {shown:?} is not supported; use {FORMAT}.");
        return Err(refused(Code::UNKNOWN_MODEL_FORMAT, "/format", detail));
    }
    let file: ModelFile = json::from_reader(bytes.as_slice(), limits)?;
    drop(bytes);
    let hypothesis = hypothesis(&file, limits)?;
    let learnt_from = &file.learnt_from;
    if learnt_from.seeds.len().max(learnt_from.sha256.len()) > LINEAGE_MAX {
        let detail = format!("A lineage has at most {LINEAGE_MAX} seeds and digests.");
        return Err(refused(Code::OUT_OF_RANGE, "/learnt_from", detail));
    }
    if learnt_from.seeds.iter().any(|&seed| seed > SEED_MAX) {
        let detail = format!("A seed is at most {SEED_MAX}.");
        return Err(refused(Code::OUT_OF_RANGE, "/learnt_from/seeds", detail));
    }
    let digests = learnt_from.sha256.iter();
    for (pointer, text) in [("/sha256", &file.sha256)]
        .into_iter()
        .chain(file.data_sha256.iter().map(|text| ("/data_sha256", text)))
        .chain(digests.map(|text| ("/learnt_from/sha256", text)))
    {
        if !is_sha256(text) {
            let detail = "A SHA-256 digest has 64 lower-case hexadecimal digits.".to_owned();
            return Err(refused(Code::OUT_OF_RANGE, pointer, detail));
        }
    }
    check_names(&file)?;
    let n = file.vocabulary.is_fixed().then(|| hypothesis.n());
    let checked = file.table.as_ref().map(|table| table.check(n));
    checked
        .transpose()
        .map_err(|detail| refused(Code::WRONG_MODEL, "/table", detail))?;
    let document = ModelDocument {
        params: file.params,
        seed: file.seed.get(),
        data_sha256: file.data_sha256,
        examples: file.examples,
        mistakes: file.mistakes,
        updates: file.updates,
        passes: file.passes,
        held_out: file.held_out,
        learnt_from: file.learnt_from,
        warm_start: file.warm_start,
        features: file.features,
        vocabulary: file.vocabulary,
        first_index: file.first_index,
        classes: file.classes,
        one_against_rest: file.one_against_rest,
        table: file.table,
        hypothesis,
    };
    document
        .feature_names()
        .map_err(|detail| refused(Code::WRONG_MODEL, "/features", sentence(detail)))?;
    let classes = document.label_classes();
    let wrong = match &classes {
        Some(classes) if classes.overlap() => {
            Some("Two classes have names that read the same labels; each label has one class.")
        }
        None if document.classes.is_some() => Some("A model has two classes or more."),
        _ => None,
    };
    if let Some(detail) = wrong {
        return Err(refused(Code::WRONG_MODEL, "/classes", detail.to_owned()));
    }
    let document = check_import(&file.learner, document, &file.sha256).map_err(unfit)?;
    Ok((file.name, file.learner, document))
}

/// Checks that there is one name per feature, and that all names are short enough to store. The names of an open
/// vocabulary have a check of their own.
fn check_names(file: &ModelFile) -> Result<(), Problem> {
    let listed = file
        .features
        .as_deref()
        .filter(|_| file.vocabulary.is_fixed());
    let features = listed.unwrap_or_default();
    if listed.is_some() && features.len() as u64 != file.n {
        let detail = format!(
            "The file has {} names for {} features; export the model again, or remove `features`.",
            features.len(),
            file.n
        );
        return Err(refused(Code::WRONG_MODEL, "/features", detail));
    }
    let classes = file.classes.as_deref().unwrap_or_default();
    for (pointer, names) in [("/features", features), ("/classes", classes)] {
        if !is_short(names) {
            let detail = format!("The names take more than {NAMES_BYTES_MAX} bytes in total.");
            return Err(refused(Code::OUT_OF_RANGE, pointer, detail));
        }
    }
    Ok(())
}

/// The hypothesis of a file. The kind and n must equal those that the file declares.
fn hypothesis(
    file: &ModelFile,
    limits: &halfspace_formats::ParseLimits,
) -> Result<HypothesisDocument, Problem> {
    let text = file.hypothesis.get().as_bytes();
    let read: Result<HypothesisDocument, _> = json::from_reader(text, limits);
    let hypothesis = read.map_err(|mut error| {
        error.place = error.place.map(|place| place.under("/hypothesis"));
        Problem::from(error)
    })?;
    if let Some(name) = unknown_member(&file.hypothesis, &hypothesis) {
        let shown: String = name.chars().take(100).collect();
        let kind = hypothesis.kind();
        let detail = format!("A hypothesis of the kind {kind} has no member {shown:?}.");
        return Err(refused(Code::SCHEMA, "/hypothesis", detail));
    }
    let (kind, n) = (hypothesis.kind(), hypothesis.n());
    let (most, limit) = match file.vocabulary {
        // Sparse examples may have more features than dense ones.
        VocabularyKind::Fixed if file.first_index.is_none() => (limits.n_max, "n_max"),
        VocabularyKind::Fixed | VocabularyKind::Open => (limits.names_max, "names_max"),
    };
    if n > most {
        let detail = format!("n is {n}, more than {limit}: {most}.");
        return Err(refused(Code::TOO_LARGE, "/hypothesis/n", detail));
    }
    if file.kind != kind {
        let detail = format!("The hypothesis is of the kind {kind}; set `kind` to it.");
        return Err(refused(Code::WRONG_MODEL, "/kind", detail));
    }
    if file.n != n as u64 {
        let detail = format!("The hypothesis has n = {n}; set `n` to it.");
        return Err(refused(Code::WRONG_MODEL, "/n", detail));
    }
    Ok(hypothesis)
}

fn unfit(error: ImportError) -> Problem {
    let detail = error.to_string();
    match error {
        ImportError::UnknownLearner(_) => refused(Code::UNKNOWN_LEARNER, "/learner", detail),
        ImportError::Hypothesis(_) => refused(Code::WRONG_MODEL, "/hypothesis", detail),
        ImportError::Altered { .. } => refused(Code::MODEL_ALTERED, "/sha256", detail),
        ImportError::Parameters(errors) => {
            let (problem, place) = (
                Problem::new(Code::WRONG_MODEL, detail),
                TaskPlace::in_body("", None),
            );
            errors.into_iter().fold(problem, |problem, error| {
                let field = format!("params.{}", error.name);
                problem.with(place.field(field.trim_end_matches('.'), error.detail))
            })
        }
    }
}
