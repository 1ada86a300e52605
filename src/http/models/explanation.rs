//! `GET` and `POST /v1/models/{id}/explanation`: the heaviest terms of a model, or those that an example makes true, as
//! JSON, as text or as a bar chart.

use std::ops::ControlFlow;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use halfspace_core::explanations::{
    ExplainedExample, Explanation, ExplanationRequest, TERMS_MAX, WORDS_PER_SECOND, explain,
    explain_example,
};
use halfspace_core::learners::decision::Decision;
use halfspace_core::learners::engine::run::{Interrupt, StopFlag};
use halfspace_core::learners::predict::{for_each_decisions_until, unknown_features};
use halfspace_core::learners::sample::data::Data as Examples;
use halfspace_formats::Parsed;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use crate::jobs::LoadedModel;
use crate::records::ModelId;
use crate::records::evaluation::score_value;
use crate::records::hypothesis::NumberOrDecimal;
use crate::records::id::ModelKind;
use crate::records::names::label_number;

use crate::http::answer::Json;
use crate::http::app_state::App;
use crate::http::computing::compute;
use crate::http::computing::interrupted;
use crate::http::document::data_schema::Data;
use crate::http::document::declared::{BODY, COMPUTED, EXAMPLES, IN_PATH, problems};
use crate::http::extract::body::Effort;
use crate::http::extract::data_body::{DataBody, Octets};
use crate::http::extract::data_options::{self, DataOptions, DataParameters};
use crate::http::extract::work::ExamplesWork;
use crate::http::extract::{Caller, PathId, Query, accepted, chosen, query_pairs};
use crate::http::limits::Limits;
use crate::http::models::examples::{
    ExamplesUse, Origin, RequestExamples, check_n, examples, fit, model_in_path, of_class,
    options_of,
};
use crate::http::problem::{Code, Problem};

/// Terms of an answer unless the request gives their number.
const TERMS_DEFAULT: u32 = 20;

/// Times that a busy machine may be slower than [`WORDS_PER_SECOND`] before the answer is refused.
const SLOWDOWN_MAX: f64 = 4.0;

/// Selects the terms and the format of an explanation.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ExplanationQuery {
    /// Terms to show; 20 when absent.
    #[param(minimum = 1, maximum = 100)]
    top: Option<u32>,
    /// The class whose hypothesis to explain, if the model tells more than two apart.
    class: Option<String>,
    /// Format of the answer. A media type without a wildcard in `Accept` overrides the parameter.
    format: Option<String>,
}

/// The formats of an explanation.
const MEDIA_TYPES: [&str; 3] = ["application/json", "text/plain", "image/svg+xml"];

/// The number of terms that a request asks for.
fn top_of(asked: Option<u32>) -> Result<usize, Problem> {
    let top = asked.unwrap_or(TERMS_DEFAULT) as usize;
    if !(1..=TERMS_MAX).contains(&top) {
        let detail = format!("{top} is not from 1 to {TERMS_MAX}");
        return Err(Problem::parameter(Code::INVALID_PARAMETER, "top", detail));
    }
    Ok(top)
}

/// The words of work within the time of an answer.
fn words_max(limits: &Limits) -> u64 {
    (limits.answer_seconds_max / SLOWDOWN_MAX * WORDS_PER_SECOND) as u64
}

/// The answer in a format: the explanation as a text behind `head`, as a picture, or in its document.
fn written<D: Serialize + Send + Sync + 'static>(
    media_type: &'static str,
    explanation: Explanation,
    head: &str,
    document: impl FnOnce(Explanation) -> D,
) -> Response {
    let (content_type, text) = match media_type {
        "text/plain" => ("text/plain; charset=utf-8", format!("{head}{explanation}")),
        "image/svg+xml" => (media_type, explanation.to_svg()),
        _ => return Json(document(explanation)).into_response(),
    };
    ([(header::CONTENT_TYPE, content_type)], text).into_response()
}

/// Explains a model: the decision rule in words, and the heaviest terms with their names and exact weights.
///
/// The terms of a kernel are conjunctions of at most 3 literals. Of the conjunctions that the same support
/// vectors satisfy, the answer shows the shortest one. If the search may take longer than
/// `answer_seconds_max` on a busy machine, the answer compares conjunctions of fewer literals, and `detail` says so.
///
/// `Accept` or `format` selects the format.
#[utoipa::path(get, path = "/v1/models/{id}/explanation", tag = "models",
    params(("id" = ModelId, Path, description = "The model"), ExplanationQuery,
        ("Accept" = Option<String>, Header,
            description = "`application/json`, `text/plain` or `image/svg+xml`")),
    responses((status = 200, description = "The explanation",
        content((Explanation = "application/json"), (String = "text/plain"),
            (String = "image/svg+xml")))),
    extensions(("x-problems" = json!(problems(&[
        IN_PATH, COMPUTED, &[Code::NOT_ACCEPTABLE]])))))]
pub async fn get_model_explanation(
    State(app): State<App>,
    Caller(owner): Caller,
    Query(query): Query<ExplanationQuery>,
    PathId(id): PathId<ModelKind>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let media_type = chosen(query.format.as_deref(), &headers, &MEDIA_TYPES)?;
    let top = top_of(query.top)?;
    let model = model_in_path(&app, &owner, id).await?;
    let permit = app.permits.uploads.take(&owner).await?;
    let (memory, limits) = (app.memory().try_take(0)?, app.limits.clone());
    let work = move |stop: &StopFlag| {
        let class = query.class.as_deref();
        let hypothesis = of_class(&model, class)?;
        let names = model.names.feature_list();
        let request = ExplanationRequest {
            names: names.as_deref(),
            example: None,
            top,
            words_max: words_max(&limits),
        };
        let explained = memory.settled(|| explain(hypothesis, request, stop));
        let mut explanation = explained.map_err(|interrupt| interrupted(&limits, interrupt))?;
        if let (Some(class), None) = (class, model.predictor.one()) {
            explanation = explanation.of_member(class);
        }
        Ok(written(media_type, explanation, "", |whole| whole))
    };
    compute(&app, Some(permit), work).await
}

/// A decision and what it rests on.
#[derive(Serialize, ToSchema)]
pub struct ExampleExplanation {
    #[serde(flatten)]
    decided: Decided,
    #[serde(flatten)]
    explanation: Explanation,
}

/// The decision on one example.
#[derive(Serialize, ToSchema)]
struct Decided {
    /// 1 or -1 of two classes; of more, the place of the predicted class among the classes of the model, from 0.
    prediction: i64,
    /// The name of the predicted class. Null if the labels of the training had no names.
    predicted_class: Option<String>,
    /// The exact score of the predicted class, as in a prediction.
    #[schema(value_type = Option<NumberOrDecimal>)]
    score: Value,
    /// How many active features of the example the model has never seen. They are none of the terms.
    unseen: u32,
}

impl Decided {
    /// The decision on the only example of `data`.
    ///
    /// # Errors
    /// When the request was interrupted.
    fn of(
        model: &LoadedModel,
        data: &Examples,
        zero_bit_value: f64,
        (limits, stop): (&Limits, &StopFlag),
    ) -> Result<Self, Problem> {
        let predictor = &model.predictor;
        let mut decisions: Vec<Decision> = Vec::new();
        for_each_decisions_until(predictor, data, zero_bit_value, stop, |own| {
            decisions.extend_from_slice(own);
            ControlFlow::Continue(())
        });
        let unseen = unknown_features(data, predictor.n(), stop);
        let unseen = unseen.map_err(|interrupt| interrupted(limits, interrupt))?;
        let Some(decision) = decisions.pop() else {
            return Err(interrupted(
                limits,
                stop.raised().unwrap_or(Interrupt::TimeLimit),
            ));
        };
        let classes = model.names.class_names();
        Ok(Self {
            prediction: label_number(decision.class, predictor.classes()),
            predicted_class: classes.map(|names| names[decision.class as usize].clone()),
            score: score_value(&decision.score),
            unseen: unseen.first().copied().unwrap_or(0),
        })
    }

    /// The decision in words.
    fn words(&self) -> String {
        let class = match &self.predicted_class {
            Some(class) => class.clone(),
            None => self.prediction.to_string(),
        };
        let score = match &self.score {
            Value::String(score) => score.clone(),
            score => score.to_string(),
        };
        let unseen = match self.unseen {
            0 => String::new(),
            1 => " One active feature is unknown to the model.".to_owned(),
            count => format!(" {count} active features are unknown to the model."),
        };
        format!("Predicted: {class}, with the score {score}.{unseen}\n\n")
    }
}

/// The parameters of the explanation of an example beside the options of data.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(
    dead_code,
    reason = "the fields describe parameters that ExampleQuery reads"
)]
pub struct ExampleParameters {
    /// Terms to show.
    #[param(minimum = 1, maximum = 100, default = 20)]
    top: Option<u32>,
    /// The class whose hypothesis to explain, if the model tells more than two apart; the predicted one when absent.
    class: Option<String>,
    /// The example of the body to explain, counted from 0.
    #[param(default = 0)]
    example: Option<u64>,
}

/// The query of the explanation of an example.
struct ExampleQuery {
    data: DataOptions,
    top: Option<u32>,
    class: Option<String>,
    example: usize,
}

impl ExampleQuery {
    /// Separates the parameters of the explanation from the options of data.
    ///
    /// # Errors
    /// An unknown parameter, or an invalid value.
    fn read(query: Option<&str>, data: DataOptions) -> Result<Self, Problem> {
        let mut read = Self {
            data,
            top: None,
            class: None,
            example: 0,
        };
        for (name, text) in query_pairs(query)? {
            let wrong = |_| {
                let detail = format!("{text:?} is no whole number");
                Problem::parameter(Code::INVALID_PARAMETER, &name, detail)
            };
            match name.as_str() {
                "top" => read.top = Some(text.parse().map_err(wrong)?),
                "example" => read.example = text.parse().map_err(wrong)?,
                "class" => read.class = Some(text),
                _ if read.data.parameter(&name, &text)? => {}
                _ => return Err(data_options::unknown(&name, &["top", "class", "example"])),
            }
        }
        Ok(read)
    }
}

/// Explains the decision on one example: the terms that are true for it, with their exact weights.
///
/// Of a text the terms are its names, those with the largest weights first; where names have values, those with the
/// largest products of weight and value. If an absent feature counts as -1, its negation is a term. A monotone kernel
/// gives the heaviest conjunctions of the features of the example; over all conjunctions, a kernel is refused.
#[utoipa::path(post, path = "/v1/models/{id}/explanation", tag = "models",
    params(("id" = ModelId, Path, description = "The model"), DataParameters, ExampleParameters,
        ("Accept" = Option<String>, Header,
            description = "`application/json`, `text/plain` or `image/svg+xml`")),
    request_body(
        content((Data = "application/json"), (Octets = "*/*")),
        description = "The example, possibly among others. Labels are ignored"),
    responses((status = 200, description = "The explanation",
        content((ExampleExplanation = "application/json"), (String = "text/plain"),
            (String = "image/svg+xml")))),
    extensions(("x-problems" = json!(problems(&[
        IN_PATH, BODY, EXAMPLES, COMPUTED, &[Code::NOT_ACCEPTABLE, Code::INEXPRESSIBLE]])))))]
pub async fn explain_model_example(
    State(app): State<App>,
    Caller(owner): Caller,
    PathId(id): PathId<ModelKind>,
    request: Request,
) -> Result<Response, Problem> {
    let model = model_in_path(&app, &owner, id).await?;
    let body = DataBody::new(&app, request)?;
    let format = body.format;
    let media_type = accepted(&body.parts.headers, &MEDIA_TYPES)?;
    let data = options_of(&model, format, ExamplesUse::Predict, &body.limits);
    let query = ExampleQuery::read(body.parts.uri.query(), data)?;
    let top = top_of(query.top)?;
    let options = query.data.resolve(&app, &owner).await?;
    let n = model.predictor.n();
    check_n(&options, n, &model.names, "model")?;
    let effort = Effort::Brief(ExamplesWork::reading(format, Some(n)));
    let read = body.read_held(&app, effort, move |reader| {
        let read = halfspace_formats::read(format, reader, &options)?;
        match examples(read, ExamplesUse::Predict)? {
            RequestExamples::Sent(parsed, _) => Ok(parsed),
            RequestExamples::Stored(..) => {
                let detail = "The body names a dataset. Send the example itself.";
                Err(Problem::new(Code::WRONG_DATA, detail))
            }
        }
    });
    let (parsed, held) = read.await?;
    let permit = match held {
        Some(permit) => permit,
        None => app.permits.uploads.take(&owner).await?,
    };
    let (memory, limits) = (app.memory().try_take(0)?, app.limits.clone());
    let work = move |stop: &StopFlag| {
        let asked = (query.class.as_deref(), query.example, top);
        let (decided, explanation) =
            memory.settled(|| explained(&model, &parsed, asked, (&limits, stop)))?;
        let words = decided.words();
        let document = |explanation| ExampleExplanation {
            decided,
            explanation,
        };
        Ok(written(media_type, explanation, &words, document))
    };
    compute(&app, Some(permit), work).await
}

/// The decision on an example of a body, and what it rests on.
fn explained(
    model: &LoadedModel,
    parsed: &Parsed,
    (class, example, top): (Option<&str>, usize, usize),
    (limits, stop): (&Limits, &StopFlag),
) -> Result<(Decided, Explanation), Problem> {
    let of_stated = class
        .map(|class| of_class(model, Some(class)))
        .transpose()?;
    let data = fit(model, parsed, Origin::Whole)?;
    let count = data.examples();
    if example >= count {
        let detail = format!("the body has {count} examples, counted from 0");
        return Err(Problem::parameter(
            Code::INVALID_PARAMETER,
            "example",
            detail,
        ));
    }
    let (data, zero_bit_value) = (data.rows(example..example + 1), parsed.zero_bit_value);
    let decided = Decided::of(model, &data, zero_bit_value, (limits, stop))?;
    let class = match model.predictor.one() {
        Some(_) => None,
        None => class.or(decided.predicted_class.as_deref()),
    };
    let hypothesis = match of_stated {
        Some(stated) => stated,
        None => of_class(model, class)?,
    };
    let names = model.names.feature_list();
    let request = ExplanationRequest {
        names: names.as_deref(),
        example: None,
        top,
        words_max: words_max(limits),
    };
    let own = ExplainedExample::new(hypothesis, &data, zero_bit_value);
    let explanation = explain_example(hypothesis, &own, request, stop);
    let explanation = explanation.map_err(|interrupt| interrupted(limits, interrupt))?;
    let mut explanation = explanation.map_err(|why| {
        let detail = format!(
            "The model cannot be explained by one example: {why}. GET /v1/models/{{id}}/explanation has its \
             heaviest terms."
        );
        Problem::new(Code::INEXPRESSIBLE, detail)
    })?;
    if let Some(class) = class {
        explanation = explanation.of_member(class);
    }
    Ok((decided, explanation))
}
