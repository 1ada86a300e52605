//! `GET /v1/samples` and `GET /v1/samples/{name}`: tables to try, as documents and as CSV.
//!
//! The tables and the limits of their parameters are in [`halfspace_core::samples`].

use axum::Extension;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use halfspace_core::learners::catalogue;
use halfspace_core::learners::engine::parameters::insert_nested;
use halfspace_core::samples::{self, M_MAX, N_MAX, SAMPLES, Sample, SampleParameters, SampleTable};
use halfspace_formats::{Format, Options, parse, push_csv_line};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::{IntoParams, ToSchema};

use crate::records::train::{LearnerSpec, SeedNumber};

use crate::http::answer::Json;
use crate::http::app_state::App;
use crate::http::computing::compute_figure;
use crate::http::document::declared::{FIGURE, IN_PATH, problems};
use crate::http::extract::work::SMALL_WORDS_MAX;
use crate::http::extract::{Caller, NoQuery, PathText, Query};
use crate::http::middleware::compress::Constant;
use crate::http::problem::{Code, Problem};

// A cell takes two words, so no table needs a permit.
const _: () = assert!(2 * (N_MAX + 1) * M_MAX <= SMALL_WORDS_MAX);

/// Parameters of a table. A sample refuses the parameters that it does not have.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SampleQuery {
    /// Features of a drawn table; 11 when absent.
    #[param(default = 11, minimum = 1, maximum = 50)]
    n: Option<u64>,
    /// Rows of a drawn table; 500 when absent.
    #[param(default = 500, minimum = 1, maximum = 10_000)]
    m: Option<u64>,
    /// Terms of a DNF; 3 when absent.
    #[param(default = 3, minimum = 1, maximum = 100)]
    terms: Option<u64>,
    /// Probability that a class is replaced by another.
    #[param(default = 0, minimum = 0, maximum = 0.5)]
    noise: Option<f64>,
    /// Seed of every random choice.
    #[param(value_type = Option<u64>, default = 1, minimum = 0, maximum = 9_007_199_254_740_991_i64)]
    seed: Option<SeedNumber>,
}

/// A table to try.
#[derive(Serialize, ToSchema)]
#[schema(as = Sample)]
pub struct SampleDocument {
    /// Name in requests.
    name: &'static str,
    /// Name for people.
    title: &'static str,
    /// The rows and the rule of the class.
    description: &'static str,
    /// Origin of the definition.
    source: &'static str,
    /// Rows of the table with default parameters.
    rows: usize,
    /// Names of the columns with default parameters. The last column is the label.
    columns: Vec<String>,
    /// Options of data with which to upload the table, such as the kind of a column. Empty if the table needs none.
    #[schema(value_type = Object)]
    options: Value,
    /// Names of the classes.
    classes: &'static [&'static str],
    /// Features per example of a dataset of the table with default parameters.
    n: usize,
    /// A learner that classifies the table with default parameters without errors.
    learner: LearnerSpec,
    /// Query parameters as a JSON Schema with defaults.
    #[schema(value_type = Object)]
    parameters: Value,
    /// Path and query of a training of `learner`. Send the table as the body of a POST request.
    #[schema(format = "uri-reference")]
    train: String,
}

/// All samples, on one page.
#[derive(Serialize, ToSchema)]
pub struct SampleList {
    items: Vec<SampleDocument>,
    /// Always null, because the list has one page.
    next_cursor: Option<String>,
}

/// Lists tables to try.
///
/// The service makes each table from its definition.
#[utoipa::path(get, path = "/v1/samples", tag = "samples",
    responses((status = 200, description = "Every sample", body = SampleList)),
    extensions(("x-problems" = json!(problems(&[FIGURE])))))]
pub async fn list_samples(
    State(app): State<App>,
    Caller(owner): Caller,
    _: NoQuery,
) -> Result<(Extension<Constant>, Json<SampleList>), Problem> {
    let items = compute_figure(&app, &owner, |_| SAMPLES.iter().map(document).collect());
    let list = SampleList {
        items: items.await?,
        next_cursor: None,
    };
    Ok((Extension(Constant), Json(list)))
}

/// Returns a table to try as CSV with a row of names.
///
/// The label is the last column, `class`. Equal parameters give equal bytes.
#[utoipa::path(get, path = "/v1/samples/{name}", tag = "samples",
    params(("name" = String, Path, description = "The sample's name"), SampleQuery),
    responses((status = 200, description = "The table", body = String, content_type = "text/csv")),
    extensions(("x-problems" = json!(problems(&[IN_PATH, FIGURE])))))]
pub async fn get_sample(
    State(app): State<App>,
    Caller(owner): Caller,
    PathText(name): PathText,
    Query(query): Query<SampleQuery>,
) -> Result<Response, Problem> {
    let sample = samples::find(&name).ok_or_else(no_sample)?;
    let given = SampleParameters {
        n: query.n,
        m: query.m,
        terms: query.terms,
        noise: query.noise,
        seed: query.seed.map(SeedNumber::get),
    };
    let text = compute_figure(&app, &owner, move |_| Ok(csv(&sample.table(&given)?))).await?;
    let content_type = [(header::CONTENT_TYPE, Format::Csv.media_type())];
    Ok((content_type, text).into_response())
}

fn document(sample: &Sample) -> Result<SampleDocument, Problem> {
    let table = sample.table(&SampleParameters::default())?;
    let mut options = Options::default();
    for (name, value) in sample.options {
        options
            .set(name, value)
            .map_err(|detail| Problem::new(Code::INTERNAL, detail))?;
    }
    let encoded = parse(Format::Csv, csv(&table).as_bytes(), &options)?;
    let of_data = sample.options.iter();
    let of_data = of_data.map(|(name, value)| format!("{name}={value}"));
    let of_learner = sample.learner_parameters.iter();
    let of_learner = of_learner.map(|(name, value)| format!("params.{name}={value}"));
    let query: Vec<_> = of_data.chain(of_learner).collect();
    let mark = if query.is_empty() { "" } else { "?" };
    Ok(SampleDocument {
        name: sample.name,
        title: sample.title,
        description: sample.description,
        source: sample.source,
        rows: table.rows.len(),
        columns: table.columns,
        options: Value::Object(
            sample
                .options
                .iter()
                .map(|(name, value)| ((*name).to_owned(), json!(value)))
                .collect(),
        ),
        classes: sample.classes,
        n: encoded.data.n(),
        learner: learner(sample),
        parameters: parameters(sample),
        train: format!(
            "/v1/learners/{}/train{mark}{}",
            sample.learner,
            query.join("&")
        ),
    })
}

/// The learner of the suggested training as a job states the learner.
fn learner(sample: &Sample) -> LearnerSpec {
    let mut learner = LearnerSpec::of_defaults(sample.learner);
    let known = catalogue::find(sample.learner).map_or(&[][..], |entry| entry.parameters);
    for (name, text) in sample.learner_parameters {
        if let Some(parameter) = known.iter().find(|parameter| parameter.name == *name) {
            let value = parameter.kind.value_of_text(text);
            insert_nested(&mut learner.params, name, value);
        }
    }
    learner
}

/// The parameters of the sample as the OpenAPI document describes them.
fn parameters(sample: &Sample) -> Value {
    let documented = serde_json::to_value(SampleQuery::into_params(|| None)).unwrap_or_default();
    let mut properties = Map::new();
    for parameter in documented.as_array().into_iter().flatten() {
        let name = parameter["name"].as_str().unwrap_or_default();
        if sample.parameters.contains(&name) {
            let mut schema = parameter["schema"].clone();
            schema["description"] = parameter["description"].clone();
            properties.insert(name.to_owned(), schema);
        }
    }
    json!({"type": "object", "properties": properties, "additionalProperties": false})
}

fn csv(table: &SampleTable) -> String {
    let mut text = String::new();
    push_csv_line(&mut text, table.columns.iter().map(String::as_str));
    for row in &table.rows {
        push_csv_line(&mut text, row.iter().map(AsRef::as_ref));
    }
    text
}

fn no_sample() -> Problem {
    let names: Vec<_> = SAMPLES.iter().map(|sample| sample.name).collect();
    let detail = format!(
        "There is no such sample. The samples are: {}.",
        names.join(", ")
    );
    Problem::new(Code::NOT_FOUND, detail)
}
