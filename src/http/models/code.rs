//! `GET /v1/models/{id}/code`: a model as a stand-alone program for raw rows.

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use halfspace_programs::{Language, NoProgram, Program, Rows};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use crate::records::ModelId;
use crate::records::id::ModelKind;

use crate::http::app_state::App;
use crate::http::computing::compute;
use crate::http::document::declared::{COMPUTED, IN_PATH, problems};
use crate::http::extract::{Caller, PathId, Query};
use crate::http::models::examples::model_in_path;
use crate::http::problem::{Code, Problem};

/// What is left to a client whose program is refused in this language.
fn way_out(language: Language) -> String {
    let others = match language {
        Language::Python => "",
        _ => "Other languages have other limits, Python the fewest. ",
    };
    format!(
        "{others}GET /v1/models/{{id}}/weights.npy returns linear weights as an array, and GET /v1/models/{{id}} \
         every hypothesis as JSON."
    )
}

/// Selects the language of a program.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct CodeQuery {
    /// Language of the program.
    #[param(inline, required)]
    language: Option<LanguageName>,
}

/// The name of a language.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum LanguageName {
    Python,
    C,
    Rust,
    Sqlite,
    Postgresql,
    Excel,
}

impl From<LanguageName> for Language {
    fn from(name: LanguageName) -> Self {
        match name {
            LanguageName::Python => Self::Python,
            LanguageName::C => Self::C,
            LanguageName::Rust => Self::Rust,
            LanguageName::Sqlite => Self::Sqlite,
            LanguageName::Postgresql => Self::Postgresql,
            LanguageName::Excel => Self::Excel,
        }
    }
}

/// Returns the hypothesis and the encoding of a model as a stand-alone program.
///
/// The program reads raw rows and gives exactly the predictions of the service:
///
/// - Python: every model, unless a table of it had dates, which no language reads
/// - PostgreSQL: weights and conjunction kernels in whole numbers
/// - C, Rust, SQLite: the same, if the absolute sum fits into 64 bits
/// - Excel: the same, if the absolute sum is below 2^47 (2^39 with more than two classes, which are at most 255)
///   and the formula has at most 8,192 characters
/// - C, Rust: also real weights, added in the order of the service
///
/// A request for any other program is refused, and the detail names the limit. Programs in Python, C and Rust
/// read CSV from standard input and write one label per row. A query adds the column `predicted` to a table
/// `rows`. A formula belongs into the second row of a sheet with the columns of the file from A. A value that
/// the model does not know gives an error, NULL or #N/A instead of a label.
///
/// If the features of the model are names, a program reads the columns row, name and value, with one line for each
/// name of an example. A query gives the label of each row. There is no formula, and no program of a model whose
/// features are conjunctions of names.
#[utoipa::path(get, path = "/v1/models/{id}/code", tag = "models",
    params(("id" = ModelId, Path, description = "The model"), CodeQuery),
    responses((status = 200, description = "The program", content(
        (String = "text/x-python"), (String = "text/x-c"), (String = "text/x-rust"),
        (String = "application/sql"), (String = "text/plain")))),
    extensions(("x-problems" = json!(problems(&[IN_PATH, COMPUTED, &[Code::INEXPRESSIBLE]])))))]
pub async fn get_model_code(
    State(app): State<App>,
    Caller(owner): Caller,
    Query(query): Query<CodeQuery>,
    PathId(id): PathId<ModelKind>,
) -> Result<Response, Problem> {
    let language = query.language.map(Language::from).ok_or_else(|| {
        let names = Language::ALL.map(Language::name).join(", ");
        let detail = format!("the parameter is missing; the languages are: {names}");
        Problem::parameter(Code::INVALID_PARAMETER, "language", detail)
    })?;
    let model = model_in_path(&app, &owner, id).await?;
    let extraction = model.names.table.as_ref();
    let extraction = extraction.and_then(|table| table.extraction.as_ref());
    if let Some(most) = extraction
        .map(|own| own.conjunctions)
        .filter(|&most| most > 1)
    {
        let detail = format!(
            "The features of the model are conjunctions of up to {most} names, which no program makes. Train \
             kernel-perceptron or kernel-winnow with max_literals = {most}, which learns the same conjunctions from \
             the names alone."
        );
        return Err(Problem::new(Code::INEXPRESSIBLE, detail));
    }
    let permit = app.permits.uploads.take(&owner).await?;
    let memory = app.memory().try_take(0)?;
    let work = move |_: &_| {
        let classes = model.names.class_names();
        let title = format!("Model {id} of halfspace");
        let program = Program {
            title: &title,
            predictor: &model.predictor,
            rows: match (model.names.vocabulary(), &model.names.table) {
                (Some(names), _) => Rows::Names(names),
                (None, Some(table)) => Rows::Table(table),
                (None, None) => Rows::Numbers(model.names.listed()),
            },
            classes: classes.as_deref(),
        };
        let source = memory.settled(|| program.source(language));
        source.map_err(|refusal| match refusal {
            NoProgram::Inexact(inexact) => {
                let detail = format!("{inexact}. {}", way_out(language));
                Problem::new(Code::INEXPRESSIBLE, detail)
            }
            NoProgram::NoMemory(full) => full.into(),
        })
    };
    let source = compute(&app, Some(permit), work).await?;
    let content_type = format!("{}; charset=utf-8", language.media_type());
    let file_name = format!(
        "attachment; filename=\"{id}.{}\"",
        language.file_extension()
    );
    let headers = [
        (header::CONTENT_TYPE, content_type),
        (header::CONTENT_DISPOSITION, file_name),
    ];
    Ok((headers, source).into_response())
}
