//! `GET /v1/learners` and `GET /v1/learners/{name}`: the learners of the catalogue as documents.
//!
//! Every fact about a learner comes from its catalogue entry, and no learner is known by name here.

pub mod certificates;
pub mod construct;
pub mod constructions;
pub mod theory;
pub mod train;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use halfspace_core::learners::catalogue::{self, CATALOGUE};
use halfspace_core::learners::engine::entry::{DefaultStop, LearnerEntry};
use halfspace_core::learners::engine::parameters;

use crate::records::DatasetId;

use crate::http::answer::Json;
use crate::http::app_state::App;
use crate::http::document::declared::{COMPUTED, IN_PATH, problems};
use crate::http::extract::{Caller, NoQuery, PathText, Query};
use crate::http::jobs::submission::unfit_learners;
use crate::http::problem::{Code, Problem};

/// A learner of the catalogue.
#[derive(Serialize, ToSchema)]
pub struct Learner {
    /// Name in requests.
    name: &'static str,
    /// Name for people.
    title: &'static str,
    /// The concept that the learner learns, with its most important property.
    learns: &'static str,
    /// Examples that the learner accepts: `half-space`, `labelled` or both. Every learner accepts Boolean
    /// features; `real` means that the learner also accepts real-valued features, and `names` that features may have
    /// names, which may be new in any example. Every learner accepts whole weights of examples; `fractional-weights`
    /// means that weights need not be whole.
    data: Vec<&'static str>,
    /// Numbers that the two bits stand for: -1 and +1 if `signed`, 0 and 1 if `unsigned`.
    reading: &'static str,
    /// `on-line` if the learner learns one example at a time, `batch` if the learner needs the whole
    /// sample.
    mode: &'static str,
    /// Rules that can stop a run with a confidence c; the first rule is the default. Of all runs started
    /// like this, at most 1 - c claim c and are wrong. This is not the share among those that stopped.
    confidence_rules: Vec<&'static str>,
    /// Conditions that end a training whose request states none. A condition of the request replaces its default.
    default_stop: DefaultStopDocument,
    /// Parameters as a JSON Schema with defaults.
    #[schema(value_type = Object)]
    parameters: Value,
    /// A theorem about a learner.
    guarantee: GuaranteeDocument,
    /// Publication that describes the learner.
    source: &'static str,
    /// Whether the learner can learn from the dataset of the request with its default parameters. Null without a
    /// dataset.
    fits: Option<bool>,
    /// Reason why the learner cannot learn from the dataset. Null if the learner can, and without a dataset.
    unfit: Option<String>,
}

/// The conditions that end a training whose request states none.
#[derive(Serialize, ToSchema)]
#[schema(as = DefaultStop)]
pub struct DefaultStopDocument {
    /// Largest number of passes over the data. Null without such a limit.
    max_passes: Option<u64>,
    /// Largest number of mistakes. Null without such a limit.
    max_mistakes: Option<u64>,
    /// Confidence of the rule `anytime` that ends a run on fresh examples. Null if no confidence ends it.
    confidence: Option<f64>,
    /// The same for an endless stream of fresh examples, such as those of a session.
    endless_confidence: Option<f64>,
    /// Time limit in seconds of computing.
    max_seconds: f64,
    /// The conditions as a sentence.
    statement: String,
}

impl DefaultStopDocument {
    /// The conditions on a service that ends a run without a limit after `seconds` seconds of computing.
    fn new(stop: DefaultStop, seconds: f64) -> Self {
        let by_limit = match (stop.max_passes(), stop.max_mistakes()) {
            (Some(1), _) => "after one pass over the data".to_owned(),
            (Some(passes), _) => format!("after {passes} passes over the data"),
            (None, Some(mistakes)) => format!("after {mistakes} mistakes"),
            (None, None) => "at limits of the learner itself".to_owned(),
        };
        let by_confidence = match (stop.confidence(false), stop.confidence(true)) {
            (Some(confidence), _) => {
                format!(
                    " Fresh examples end it earlier, at confidence {confidence} by the rule anytime."
                )
            }
            (None, Some(confidence)) => format!(
                " On an endless stream of fresh examples it ends at confidence {confidence} by the rule anytime."
            ),
            (None, None) => String::new(),
        };
        Self {
            max_passes: stop.max_passes(),
            max_mistakes: stop.max_mistakes(),
            confidence: stop.confidence(false),
            endless_confidence: stop.confidence(true),
            max_seconds: seconds,
            statement: format!(
                "By default a run ends {by_limit}, and at the latest after {seconds} seconds of \
                 computing.{by_confidence}"
            ),
        }
    }
}

/// Selects the data that the learners are compared with.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LearnersQuery {
    /// Dataset for `fits` and `unfit`. The task `compare` has the same checks.
    dataset: Option<DatasetId>,
}

/// The proved property of the learner.
#[derive(Serialize, ToSchema)]
#[schema(as = Guarantee)]
pub struct GuaranteeDocument {
    /// Name of the theorem.
    theorem: &'static str,
    /// Statement of the theorem.
    bound: &'static str,
}

/// All learners, on one page.
#[derive(Serialize, ToSchema)]
pub struct LearnerList {
    items: Vec<Learner>,
    /// Always null, because the list has one page.
    next_cursor: Option<String>,
}

impl Learner {
    /// The learner on a service that ends a run without a limit after `seconds` seconds of computing.
    fn new(entry: &LearnerEntry, seconds: f64) -> Self {
        let kinds = [
            (entry.data.half_space, "half-space"),
            (entry.data.labelled, "labelled"),
            (entry.data.real, "real"),
            (entry.data.names.is_some(), "names"),
            (entry.data.parts, "fractional-weights"),
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
            default_stop: DefaultStopDocument::new(entry.default_stop, seconds),
            parameters: parameters::schema(entry.parameters),
            guarantee: GuaranteeDocument {
                theorem: entry.guarantee.theorem,
                bound: entry.guarantee.bound,
            },
            source: entry.source,
            fits: None,
            unfit: None,
        }
    }
}

/// Lists all learners.
///
/// Each entry names the accepted data, the parameters and stop conditions with their defaults, and the proved
/// guarantee. With `dataset` each entry also tells whether the learner can learn from the dataset, and the reason if
/// the learner cannot.
#[utoipa::path(get, path = "/v1/learners", tag = "learners", params(LearnersQuery),
    responses((status = 200, description = "Every learner", body = LearnerList)),
    extensions(("x-problems" = json!(problems(&[COMPUTED, &[Code::UNKNOWN_DATASET]])))))]
pub async fn list_learners(
    State(app): State<App>,
    Caller(owner): Caller,
    Query(query): Query<LearnersQuery>,
) -> Result<Json<LearnerList>, Problem> {
    let seconds = app.jobs.config.seconds_default;
    let learner = |entry: &&LearnerEntry| Learner::new(entry, seconds);
    let mut items: Vec<Learner> = CATALOGUE.iter().map(learner).collect();
    if let Some(dataset) = query.dataset {
        let reasons = unfit_learners(&app, &owner, dataset).await?;
        for (learner, reason) in items.iter_mut().zip(reasons) {
            learner.fits = Some(reason.is_none());
            learner.unfit = reason;
        }
    }
    Ok(Json(LearnerList {
        items,
        next_cursor: None,
    }))
}

/// Returns one learner.
///
/// The entry names the accepted data, the parameters with their defaults, and the proved guarantee.
#[utoipa::path(get, path = "/v1/learners/{name}", tag = "learners",
    params(("name" = String, Path, description = "The learner's name")),
    responses((status = 200, description = "The learner", body = Learner)),
    extensions(("x-problems" = json!(problems(&[IN_PATH])))))]
pub async fn get_learner(
    State(app): State<App>,
    PathText(name): PathText,
    _: NoQuery,
) -> Result<Json<Learner>, Problem> {
    let entry = catalogue::find(&name).ok_or_else(|| Problem::no_learner(&name))?;
    let seconds = app.jobs.config.seconds_default;
    Ok(Json(Learner::new(entry, seconds)))
}
