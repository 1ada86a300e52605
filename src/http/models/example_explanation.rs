//! `POST /v1/models/{id}/explanation`: the terms that an example makes true, beside the decision on it.

use std::ops::ControlFlow;

use axum::extract::{Request, State};
use axum::response::Response;
use halfspace_core::explanations::{
    ExplainedExample, Explanation, ExplanationRequest, explain_example,
};
use halfspace_core::learners::decision::Decision;
use halfspace_core::learners::engine::run::{Interrupt, StopFlag};
use halfspace_core::learners::predict::{for_each_decisions_until, unknown_features};
use halfspace_core::learners::sample::data::Data as Examples;
use halfspace_formats::{Options, Parsed, Place};
use serde::Serialize;
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use crate::jobs::LoadedModel;
use crate::records::ModelId;
use crate::records::evaluation::score_value;
use crate::records::hypothesis::NumberOrDecimal;
use crate::records::id::ModelKind;
use crate::records::names::label_number;

use crate::http::app_state::App;
use crate::http::computing::{compute, interrupted};
use crate::http::document::data_schema::Data;
use crate::http::document::declared::{BODY, COMPUTED, EXAMPLES, IN_PATH, problems};
use crate::http::extract::body::Effort;
use crate::http::extract::data_body::{DataBody, Octets};
use crate::http::extract::data_options::{self, DataOptions, DataParameters};
use crate::http::extract::work::ExamplesWork;
use crate::http::extract::{Caller, PathId, accepted, query_pairs};
use crate::http::limits::Limits;
use crate::http::models::examples::{
    ExamplesUse, Origin, RequestExamples, check_n, examples, fit, model_in_path, of_class,
    options_of,
};
use crate::http::models::explanation::{MEDIA_TYPES, top_of, words_max, written};
use crate::http::permits::OwnerPermit;
use crate::http::problem::{Code, Problem, placed};

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
#[expect(dead_code, reason = "the fields describe parameters that Asked reads")]
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

/// What to explain.
struct Asked {
    top: usize,
    class: Option<String>,
    example: usize,
}

impl Asked {
    /// Separates the parameters of the explanation from the options of data.
    ///
    /// # Errors
    /// An unknown parameter, or an invalid value.
    fn read(query: Option<&str>, data: &mut DataOptions) -> Result<Self, Problem> {
        let (mut top, mut class, mut example) = (None, None, 0);
        for (name, text) in query_pairs(query)? {
            let wrong = |_| {
                let detail = format!("{text:?} is not a whole number of at least 0");
                Problem::parameter(Code::INVALID_PARAMETER, &name, detail)
            };
            match name.as_str() {
                "top" => top = Some(text.parse().map_err(wrong)?),
                "example" => example = text.parse().map_err(wrong)?,
                "class" => class = Some(text),
                _ if data.parameter(&name, &text)? => {}
                _ => return Err(data_options::unknown(&name, &["top", "class", "example"])),
            }
        }
        let top = top_of(top)?;
        Ok(Self {
            top,
            class,
            example,
        })
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
    let media_type = accepted(&body.parts.headers, &MEDIA_TYPES)?;
    let mut data = options_of(&model, body.format, ExamplesUse::Predict, &body.limits);
    let asked = Asked::read(body.parts.uri.query(), &mut data)?;
    let options = data.resolve(&app, &owner, &body.parts.headers).await?;
    check_n(&options, model.predictor.n(), &model.names, "model")?;
    let (parsed, held) = sent(&app, body, options, model.predictor.n()).await?;
    let permit = match held {
        Some(permit) => permit,
        None => app.permits.uploads.take(&owner).await?,
    };
    let (memory, limits) = (app.memory().try_take(0)?, app.limits.clone());
    let work = move |stop: &StopFlag| {
        let (decided, explanation) =
            memory.settled(|| asked.explained(&model, &parsed, &limits, stop))?;
        let words = decided.words();
        let document = |explanation| ExampleExplanation {
            decided,
            explanation,
        };
        Ok(written(media_type, explanation, &words, document))
    };
    compute(&app, Some(permit), work).await
}

/// Reads the examples of a body for a model of `n` features. The permit is that of a large body.
///
/// # Errors
/// Why the body cannot be read, and a body without examples.
async fn sent(
    app: &App,
    body: DataBody,
    options: Options,
    n: usize,
) -> Result<(Box<Parsed>, Option<OwnerPermit>), Problem> {
    let format = body.format;
    let effort = Effort::Brief(ExamplesWork::reading(format, Some(n), &options));
    let read = body.under(&options).read_held(app, effort, move |reader| {
        let read = halfspace_formats::read(format, reader, &options)?;
        match examples(read, ExamplesUse::Predict)? {
            RequestExamples::Sent(parsed, _) => Ok(parsed),
            RequestExamples::Stored(..) => {
                let detail = "Send the example itself, as in `unlabelled`, and not a dataset.";
                let place = Place::Pointer("/dataset".to_owned());
                let error = placed(Some(place), detail.to_owned());
                Err(Problem::at(Code::WRONG_DATA, error))
            }
        }
    });
    read.await
}

impl Asked {
    /// The decision on the example, and what it rests on.
    ///
    /// # Errors
    /// A class or an example that does not exist, an example that the model does not accept, or a hypothesis that has
    /// no terms for one example.
    fn explained(
        &self,
        model: &LoadedModel,
        parsed: &Parsed,
        limits: &Limits,
        stop: &StopFlag,
    ) -> Result<(Decided, Explanation), Problem> {
        let stated = self.class.as_deref();
        let of_stated = stated
            .map(|class| of_class(model, Some(class)))
            .transpose()?;
        let (example, count) = (self.example, parsed.data.examples());
        if example >= count {
            let detail =
                format!("{example} is not below {count}, the number of examples in the body");
            return Err(Problem::parameter(
                Code::INVALID_PARAMETER,
                "example",
                detail,
            ));
        }
        let parsed = parsed.rows(example..example + 1);
        let data = fit(model, &parsed, Origin::Whole)?;
        let decided = Decided::of(model, &data, parsed.zero_bit_value, (limits, stop))?;
        let class = match model.predictor.one() {
            Some(_) => None,
            None => stated.or(decided.predicted_class.as_deref()),
        };
        let hypothesis = match of_stated {
            Some(stated) => stated,
            None => of_class(model, class)?,
        };
        let names = model.names.feature_list();
        let request = ExplanationRequest {
            names: names.as_deref(),
            example: None,
            top: self.top,
            words_max: words_max(limits),
        };
        let own = ExplainedExample::new(hypothesis, &data, parsed.zero_bit_value);
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
}
