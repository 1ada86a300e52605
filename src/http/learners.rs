//! `/v1/learners`: the catalogue.

use axum::Json;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use halfspace_core::learners::catalogue::{self, CATALOGUE, Entry};
use halfspace_core::learners::parameters;

use super::extract::{NoQuery, PathText};
use super::problem::Problem;

/// A learner, as the catalogue describes it.
#[derive(Serialize, ToSchema)]
pub struct Learner {
    /// Its name in requests.
    name: &'static str,
    /// Its name for people.
    title: &'static str,
    /// What it learns.
    learns: &'static str,
    /// Which examples it takes: `half-space`, `labelled`; Boolean features always, and `real`.
    data: Vec<&'static str>,
    /// How it reads a bit: `signed` as -1 or +1, `unsigned` as 0 or 1.
    reading: &'static str,
    /// Whether it learns one example at a time, or needs the whole sample.
    mode: &'static str,
    /// The rules by which it can stop with a confidence c, the default first. Of all runs started
    /// like this, at most 1 - c claim c and are wrong. This is not the share among those that
    /// stopped.
    confidence_rules: Vec<&'static str>,
    /// Its parameters, as JSON Schema with defaults.
    #[schema(value_type = Object)]
    parameters: Value,
    /// What is proved of it.
    guarantee: Guarantee,
    /// Where it was published.
    source: &'static str,
}

/// What is proved of a learner.
#[derive(Serialize, ToSchema)]
pub struct Guarantee {
    /// Whose theorem.
    theorem: &'static str,
    /// What it says.
    bound: &'static str,
}

/// A list of learners; it has one page.
#[derive(Serialize, ToSchema)]
pub struct LearnerList {
    items: Vec<Learner>,
    /// Always null.
    next_cursor: Option<String>,
}

impl From<&Entry> for Learner {
    fn from(entry: &Entry) -> Self {
        let kinds = [
            (entry.data.half_space, "half-space"),
            (entry.data.labelled, "labelled"),
            (entry.data.real, "real"),
        ];
        Self {
            name: entry.name,
            title: entry.title,
            learns: entry.learns,
            data: kinds
                .into_iter()
                .filter_map(|(takes, kind)| takes.then_some(kind))
                .collect(),
            reading: entry.reading,
            mode: if entry.on_line { "on-line" } else { "batch" },
            confidence_rules: entry
                .confidence_rules
                .iter()
                .map(|rule| rule.name())
                .collect(),
            parameters: parameters::schema(entry.parameters),
            guarantee: Guarantee {
                theorem: entry.guarantee.theorem,
                bound: entry.guarantee.bound,
            },
            source: entry.source,
        }
    }
}

/// The learners there are.
#[utoipa::path(get, path = "/v1/learners", tag = "learners",
    responses((status = 200, description = "Every learner", body = LearnerList)))]
pub async fn list(_: NoQuery) -> Json<LearnerList> {
    Json(LearnerList {
        items: CATALOGUE.iter().map(|entry| (*entry).into()).collect(),
        next_cursor: None,
    })
}

/// One learner.
#[utoipa::path(get, path = "/v1/learners/{name}", tag = "learners",
    params(("name" = String, Path, description = "The learner's name")),
    responses((status = 200, description = "The learner", body = Learner)))]
pub async fn get(PathText(name): PathText, _: NoQuery) -> Result<Json<Learner>, Problem> {
    let entry = catalogue::find(&name).ok_or_else(|| Problem::not_found("learner"))?;
    Ok(Json(entry.into()))
}
