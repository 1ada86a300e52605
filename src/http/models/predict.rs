//! `POST /v1/models/{id}/predict`: predictions of a model for examples in the body or in a dataset.
//!
//! The route of a session predicts by the same [`answer`].

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use halfspace_core::learners::engine::run::CancelOnDrop;
use halfspace_formats::{
    self, Format, LabelRule, LineStep, LineSteps, Options, Parsed, TableEncoding,
};
use serde::Serialize;
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use crate::jobs::{JobsError, LoadedModel, PredictingModel, SessionOverNames};
use crate::records::hypothesis::NumberOrDecimal;
use crate::records::id::ModelKind;
use crate::records::{ModelId, Owner};

use crate::http::app_state::App;
use crate::http::computing;
use crate::http::models::answer_lines::answer_lines;
use crate::http::models::answering::{Answering, next_step};

use crate::http::authenticator::Access;
use crate::http::datasets::resolve::stored_examples;
use crate::http::document::data_schema::Data;
use crate::http::document::declared::{ANSWERED, BODY, EXAMPLES, IN_PATH, problems};
use crate::http::extract::body::Effort;
use crate::http::extract::data_body::{DataBody, Octets};
use crate::http::extract::data_options::{self, DataOptions, DataParameters};
use crate::http::extract::work::ExamplesWork;
use crate::http::extract::{Caller, PathId, accepted, query_pairs};
use crate::http::models::examples::{
    ExamplesUse, Origin, RequestExamples, check_n, examples, model_in_path, options_of,
};
use crate::http::models::predictions_text::AskedScores;
use crate::http::problem::{Code, Occurrence, Problem};

/// Predictions of a model, one per example.
#[derive(Serialize, ToSchema)]
pub struct Predictions {
    /// 1 or -1 of two classes; of more, the place of the class among the classes of the model, from 0.
    predictions: Vec<i64>,
    /// The names of the predicted classes. Null if the labels of the training had no names.
    predicted_classes: Option<Vec<String>>,
    /// The exact scores of the predicted classes; null if none were asked for. A score is a whole number (a
    /// decimal string beyond 2^53), a fraction such as "2/3", or a number if the weights are real by
    /// definition. The score is null if such a sum overflows. The list is null if the answer would be too long
    /// with the scores.
    #[schema(value_type = Option<Vec<Option<NumberOrDecimal>>>)]
    scores: Option<Vec<Value>>,
    /// By how much the score of each predicted class exceeds the scores of all others, in the form of a score. Absent
    /// for two classes and without scores.
    #[schema(nullable = false, value_type = Vec<Option<NumberOrDecimal>>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    margins: Option<Vec<Value>>,
    /// The scores of all classes of each example, in the order of the classes. Only with `scores=all`, for more than
    /// two classes.
    #[schema(nullable = false, value_type = Vec<Vec<Option<NumberOrDecimal>>>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    class_scores: Option<Vec<Vec<Value>>>,
    /// The classes of each example with the largest scores, largest first and equal ones in the order of the classes.
    /// Only with `scores=top=K`, for more than two classes.
    #[schema(nullable = false)]
    #[serde(skip_serializing_if = "Option::is_none")]
    ranking: Option<Vec<Vec<RankedClass>>>,
    /// How many active features of each example the model has never seen. Absent if it reads a fixed number of
    /// features and no line of LIBSVM has a larger index.
    #[schema(nullable = false)]
    #[serde(skip_serializing_if = "Option::is_none")]
    unseen: Option<Vec<u64>>,
    /// The encoding of the table in the body. Absent if the body is no table, or if the answer would be too long.
    #[schema(nullable = false, value_type = TableEncoding)]
    #[serde(skip_serializing_if = "Option::is_none")]
    table: Option<Arc<TableEncoding>>,
}

/// A class with its score.
#[derive(Serialize, ToSchema)]
struct RankedClass {
    /// The name of the class.
    class: String,
    /// The exact score, in the form of `scores`.
    #[schema(value_type = Option<NumberOrDecimal>)]
    score: Value,
}

/// The parameter of a prediction beside the options of data.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(
    dead_code,
    reason = "the field describes a parameter that PredictQuery reads"
)]
pub struct PredictParameters {
    /// The scores in the answer: `none`; `predicted` for those of the predicted classes and, of more than two, their
    /// margins; `all` for the scores of all classes too; or `top=K` for the K classes with the largest scores.
    #[param(default = "predicted", example = "top=3")]
    scores: Option<String>,
}

/// The query of a prediction.
struct PredictQuery {
    data: DataOptions,
    asked: AskedScores,
}

impl PredictQuery {
    /// Separates the parameter of the prediction from the options of data.
    ///
    /// # Errors
    /// An unknown parameter, or an invalid value.
    fn read(query: Option<&str>, data: DataOptions) -> Result<Self, Problem> {
        let asked = AskedScores::default();
        let mut read = Self { data, asked };
        for (name, text) in query_pairs(query)? {
            if name == "scores" {
                let wrong = |detail: &str| {
                    Problem::parameter(Code::INVALID_PARAMETER, &name, detail.to_owned())
                };
                read.asked = text.parse().map_err(wrong)?;
            } else if !read.data.parameter(&name, &text)? {
                return Err(data_options::unknown(&name, &["scores"]));
            }
        }
        Ok(read)
    }
}

/// Predicts the labels of the examples in the body, which may have any accepted format.
///
/// An NDJSON body is answered as NDJSON with one line per example, while the body is still coming in. Each
/// line is read by itself. A late error is the last line, `{"error": ...}`. Bodies in other formats are
/// answered in the same way if `Accept` asks for `application/x-ndjson`.
///
/// An answer in lines may have any length. At most `answer_bytes_max` bytes of the answer wait for a
/// client that does not read yet; then the service reads no more of the body either. Send the body at 16
/// KiB per second or faster, measured over 30 seconds, even if you read each answer before you send more.
/// Once the maximum waits, read the answer at that rate too.
///
/// A JSON document omits the scores if they would make it longer than `answer_bytes_max`. A document
/// that is still too long, or that takes longer than `answer_seconds_max`, is refused.
#[utoipa::path(post, path = "/v1/models/{id}/predict", tag = "models",
    params(("id" = ModelId, Path, description = "The model"),
        DataParameters,
        PredictParameters,
        ("Accept" = Option<String>, Header, description = "`application/json` or \
                                                           `application/x-ndjson`. A body in \
                                                           NDJSON gets an answer in NDJSON")),
    request_body(
        content((Data = "application/json"), (Octets = "*/*")),
        description = "The examples. Labels are ignored"),
    responses((status = 200, description = "The predictions", content(
        (Predictions = "application/json"), (String = "application/x-ndjson")))),
    extensions(("x-problems" = json!(problems(&[
        IN_PATH, BODY, EXAMPLES, ANSWERED, &[Code::NOT_ACCEPTABLE]])))))]
pub async fn predict_model(
    State(app): State<App>,
    Caller(owner): Caller,
    PathId(id): PathId<ModelKind>,
    request: Request,
) -> Result<Response, Problem> {
    let model = model_in_path(&app, &owner, id).await?;
    answer(&app, &owner, PredictingModel::Loaded(model), request).await
}

/// Answers with the predictions for the examples in the body, or in the dataset that the body names.
///
/// # Errors
/// A body at fault, or examples that the model refuses. In an answer in lines, an error after the first line becomes
/// the last line instead.
pub async fn answer(
    app: &App,
    owner: &Owner,
    predicting: PredictingModel,
    request: Request,
) -> Result<Response, Problem> {
    let (model, session) = match predicting {
        PredictingModel::Loaded(model) => (model, None),
        PredictingModel::Session(session) => (session.nameless.clone(), Some(Arc::new(session))),
    };
    let body = DataBody::new(app, request)?;
    let offered = [Format::Json.media_type(), Format::Ndjson.media_type()];
    let media_type = match body.format {
        Format::Ndjson => offered[1],
        _ => accepted(&body.parts.headers, &offered)?,
    };
    let mut options = options_of(&model, body.format, ExamplesUse::Predict, &body.limits);
    if session.as_ref().is_some_and(|own| own.learns_classes) {
        options.options.label_rule = LabelRule::Ignored(None);
    }
    let query = PredictQuery::read(body.parts.uri.query(), options)?;
    let options = query.data.resolve(app, owner, &body.parts.headers).await?;
    check_n(&options, model.predictor.n(), &model.names, "model")?;
    let asked = PredictRequest {
        app: app.clone(),
        owner: owner.clone(),
        session,
        options,
        asked: query.asked,
    };
    let cancel_on_drop = CancelOnDrop::new(app.jobs.worker.helped_stop_flag());
    if media_type == Format::Ndjson.media_type() {
        return asked.lines(model, body, cancel_on_drop).await;
    }
    let answering = Answering::document(model, &app.limits, asked.asked, cancel_on_drop.flag());
    let text = asked.predict(answering, body).await?.finish()?;
    Ok(([(header::CONTENT_TYPE, media_type)], text).into_response())
}

/// The parts of a predict request besides its body and the model.
struct PredictRequest {
    app: App,
    owner: Owner,
    /// What predicts in place of the model, if features have names.
    session: Option<Arc<SessionOverNames>>,
    options: Options,
    asked: AskedScores,
}

impl PredictRequest {
    /// Predicts in a separate task, which writes the lines of the response body. An error before the first
    /// line becomes the response.
    async fn lines(
        self,
        model: LoadedModel,
        mut body: DataBody,
        cancel_on_drop: CancelOnDrop,
    ) -> Result<Response, Problem> {
        let (limits, stop) = (self.app.limits.clone(), cancel_on_drop.flag());
        let (writer, mut reader) = answer_lines(limits.answer_bytes_max, cancel_on_drop);
        let answering = Answering::lines(model, &limits, self.asked, stop, writer.clone());
        let access = Access::of(&body.parts.extensions)?;
        let returned = body.lend();
        let occurrence = body.parts.extensions.get::<Occurrence>();
        let occurrence = occurrence.cloned().unwrap_or_default();
        tokio::spawn(async move {
            let stopping = self.app.jobs.stopping.clone();
            let predicted = tokio::select! {
                predicted = self.predict(answering, body) => predicted.map(drop),
                () = stopping.cancelled() => Err(JobsError::Stopping.into()),
                problem = access.ended() => Err(problem),
            };
            match predicted {
                Ok(()) => {}
                Err(problem) if writer.has_begun() => {
                    writer.fail(problem, &occurrence);
                    // Drains the body, so that a client that sends before it reads gets the answer.
                    returned.forget().await;
                }
                Err(problem) => {
                    drop(returned);
                    writer.fail(problem, &occurrence);
                }
            }
            writer.end();
        });
        reader.begun().await?;
        let headers = [(header::CONTENT_TYPE, Format::Ndjson.media_type())];
        Ok((headers, Body::from_stream(reader.into_stream())).into_response())
    }

    /// Predicts the examples of a body, or of the dataset that the body names.
    async fn predict(
        &self,
        mut answering: Answering,
        body: DataBody,
    ) -> Result<Answering, Problem> {
        let (format, options) = (body.format, self.options.clone());
        match &self.session {
            Some(session) if format == Format::Ndjson => {
                return self.predict_lines_by(session, answering, body).await;
            }
            Some(session) => return self.predict_by(session, answering, body).await,
            None => {}
        }
        let work = answering.work(format, &options);
        let effort = match answering.is_document() {
            true => Effort::Brief(work),
            // Lines may wait for a client that does not read.
            false => Effort::Streamed(work),
        };
        // What was answered in lines cannot be read again.
        let body = match answering.is_document() {
            true => body.under(&options),
            false => body,
        };
        let read = body.read(&self.app, effort, move |reader| {
            if format == Format::Ndjson {
                answering.take_lines(reader, options)?;
                return Ok((answering, None));
            }
            match examples(
                halfspace_formats::read(format, reader, &options)?,
                ExamplesUse::Predict,
            )? {
                RequestExamples::Stored(id, _) => Ok((answering, Some(id))),
                RequestExamples::Sent(parsed, _) => {
                    answering.take(&parsed, Origin::Whole)?;
                    Ok((answering, None))
                }
            }
        });
        match read.await? {
            (answering, None) => Ok(answering),
            (answering, Some(id)) => self.predict_stored(answering, &id).await,
        }
    }

    /// Predicts the examples of a body, or of the dataset that it names, by a session over names.
    async fn predict_by(
        &self,
        session: &SessionOverNames,
        mut answering: Answering,
        body: DataBody,
    ) -> Result<Answering, Problem> {
        let (format, options) = (body.format, self.options.clone());
        let effort = Effort::Brief(answering.work_by_names(format, &options));
        let read = body
            .under(&options)
            .read_held(&self.app, effort, move |reader| {
                let read = halfspace_formats::read(format, reader, &options)?;
                examples(read, ExamplesUse::Predict)
            });
        match read.await? {
            (RequestExamples::Stored(id, _), _) => {
                answering.use_model(session.whole().await?);
                self.predict_stored(answering, &id).await
            }
            (RequestExamples::Sent(parsed, _), _permit) => {
                take_by(session, answering, parsed, Origin::Whole).await
            }
        }
    }

    /// Predicts lines by a session over names. Only a task of the runtime waits while the session learns, or a thread
    /// with a permit, since the session learns on a thread of the same pool.
    async fn predict_lines_by(
        &self,
        session: &Arc<SessionOverNames>,
        mut answering: Answering,
        mut body: DataBody,
    ) -> Result<Answering, Problem> {
        let (options, work) = (
            self.options.clone(),
            answering.work_by_names(body.format, &self.options),
        );
        let session = Arc::clone(session);
        if !body.collect().await? {
            let effort = Effort::Streamed(ExamplesWork {
                words_each: u64::MAX,
                ..work
            });
            let read = body.read(&self.app, effort, move |reader| {
                answering.take_lines_by(&session, reader, options)?;
                Ok(answering)
            });
            return read.await;
        }
        let nameless = session.nameless.clone();
        let read = body.read_held(&self.app, Effort::Brief(work), move |reader| {
            let mut steps = LineSteps::new(reader, options);
            let mut all = Vec::new();
            let end = loop {
                match next_step(&mut steps, &nameless) {
                    Ok(Some(step)) => all.push(step),
                    Ok(None) => break Ok(()),
                    Err(problem) => break Err(problem),
                }
            };
            Ok((all, end))
        });
        let ((steps, end), _permit) = read.await?;
        for LineStep { parsed, last_line } in steps {
            answering = take_by(
                &session,
                answering,
                Box::new(parsed),
                Origin::Line(last_line),
            )
            .await?;
        }
        end.map(|()| answering)
    }

    /// Predicts the examples of a dataset while the dataset is read.
    async fn predict_stored(
        &self,
        mut answering: Answering,
        id: &str,
    ) -> Result<Answering, Problem> {
        // An answer in lines may take long, so its permit does not count as an upload.
        let permit = match answering.is_document() {
            true => self.app.permits.uploads.take(&self.owner).await?,
            false => self.app.permits.streams.try_take(&self.owner)?,
        };
        let (dataset, stored) = stored_examples(&self.app, &self.owner, id, "").await?;
        let predicted = computing::stream(permit, move || {
            answering.take_stored(&dataset, &stored)?;
            Ok(answering)
        });
        predicted.await
    }
}

/// Predicts examples by a session over names, once it does not learn.
async fn take_by(
    session: &SessionOverNames,
    mut answering: Answering,
    parsed: Box<Parsed>,
    whence: Origin,
) -> Result<Answering, Problem> {
    let present = session.present().await?;
    let taken = computing::begin(None, move || {
        answering.take_by(present, &parsed, whence)?;
        Ok(answering)
    });
    taken.await.unwrap_or_else(|_| Err(computing::defect()))
}
