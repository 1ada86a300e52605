//! `POST /v1/models/{id}/evaluate`: counts a model's errors on labelled examples from the body or a dataset.

use std::borrow::Cow;
use std::sync::Arc;

use axum::extract::{Request, State};
use halfspace_core::certificates;
use halfspace_core::learners::engine::evaluate::evaluate;
use halfspace_core::learners::engine::evidence::Evidence;
use halfspace_core::learners::engine::run::CancelOnDrop;
use halfspace_core::learners::engine::run::{Interrupt, Run};
use halfspace_core::learners::sample::examples::Examples;
use halfspace_formats::{self, Assume, Parsed, StoredExamples, digest, occurring};
use serde_json::json;
use utoipa::IntoParams;

use crate::jobs::{LoadedModel, TestData, check_labels};
use crate::records::evaluation::EvaluateResult;
use crate::records::id::ModelKind;
use crate::records::train::Share;
use crate::records::{Dataset, ModelId, Names};

use crate::http::app_state::App;

use crate::http::answer::Json;
use crate::http::computing::compute;
use crate::http::computing::{interrupted, limit};
use crate::http::datasets::resolve::stored_examples;
use crate::http::document::data_schema::Data;
use crate::http::document::declared::{ANSWERED, BODY, EXAMPLES, IN_PATH, problems};
use crate::http::extract::body::Effort;
use crate::http::extract::data_body::{DataBody, Octets};
use crate::http::extract::data_options::{self, DataOptions, DataParameters};
use crate::http::extract::work::ExamplesWork;
use crate::http::extract::{Caller, PathId, literal, parameter, query_pairs};
use crate::http::jobs::document::JobResult;
use crate::http::limits::Limits;
use crate::http::models::examples::{
    ExamplesUse, Origin, RequestExamples, check_n, examples, fit, fit_stored, misnamed,
    model_in_path, options_of, unread,
};
use crate::http::problem::{Code, Problem};

/// Counts the examples that a model classifies correctly and wrongly, and lists the first errors.
///
/// The class names of the model read the labels, so a body may have some of the classes only. A label that the model
/// does not know is an error, and so is an example without a label if the classes have names. Without names, half-space
/// examples count as positive. Examples that are declared independent (`assume`) and new to the model (`fresh`) give
/// the result a certificate: an interval of the error. For generated data and for long evaluations, submit a job with
/// the task `evaluate`. The result of that job is the same document.
#[utoipa::path(post, path = "/v1/models/{id}/evaluate", tag = "models",
    params(("id" = ModelId, Path, description = "The model"),
        DataParameters,
        EvaluateParameters),
    request_body(
        content((Data = "application/json"), (Octets = "*/*")),
        description = "The examples with their labels"),
    responses((status = 200, description = "The evaluation of the model", body = EvaluateResult)),
    extensions(("x-problems" = json!(problems(&[IN_PATH, BODY, EXAMPLES, ANSWERED])))))]
pub async fn evaluate_model(
    State(app): State<App>,
    Caller(owner): Caller,
    PathId(id): PathId<ModelKind>,
    request: Request,
) -> Result<Json<JobResult>, Problem> {
    let model = model_in_path(&app, &owner, id).await?;
    let body = DataBody::new(&app, request)?;
    let format = body.format;
    let n = model.predictor.n();
    let data = options_of(&model, format, ExamplesUse::Evaluate, &body.limits);
    let query = EvaluateQuery::read(body.parts.uri.query(), data)?;
    let options = query
        .data
        .resolve(&app, &owner, &body.parts.headers)
        .await?;
    check_n(&options, n, &model.names, "model")?;
    let effort = Effort::Bounded(ExamplesWork {
        words_each: model.predictor.words_of_work(),
        ..ExamplesWork::reading(format, Some(n), &options)
    });
    let cancel_on_drop = CancelOnDrop::new(app.jobs.worker.helped_stop_flag());
    let held = PendingEvaluation {
        id,
        model,
        limits: app.limits.clone(),
        origin: query.origin,
        confidence: query.confidence,
        run: Run {
            stop: cancel_on_drop.flag(),
            ..Run::default()
        },
    };
    let read = body.under(&options).read(&app, effort, move |reader| {
        match examples(
            halfspace_formats::read(format, reader, &options)?,
            ExamplesUse::Evaluate,
        )? {
            RequestExamples::Sent(parsed, assume) => {
                held.against_sent(&parsed, assume).map(BodyOutcome::Done)
            }
            RequestExamples::Stored(dataset, assume) => {
                let mut held = Box::new(held);
                held.origin.assume = assume;
                Ok(BodyOutcome::NotYet(held, dataset))
            }
        }
    });
    let result = match read.await? {
        BodyOutcome::Done(result) => result,
        BodyOutcome::NotYet(held, dataset) => {
            let permit = Some(app.permits.uploads.take(&owner).await?);
            let (dataset, stored) = stored_examples(&app, &owner, &dataset, "").await?;
            compute(&app, permit, move |_| {
                held.against_stored(&dataset, &stored)
            })
            .await?
        }
    };
    Ok(Json(JobResult::Evaluate(result)))
}

/// Outcome of reading the body.
enum BodyOutcome {
    Done(EvaluateResult),
    /// The examples are in the dataset with this id.
    NotYet(Box<PendingEvaluation>, String),
}

/// A model that waits for examples, and the limits of the evaluation.
struct PendingEvaluation {
    id: ModelId,
    model: LoadedModel,
    limits: Arc<Limits>,
    /// The declarations of the request.
    origin: TestData,
    confidence: f64,
    run: Run,
}

/// Parameters of an evaluation beside the options of data.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(
    dead_code,
    reason = "the fields describe parameters that EvaluateQuery reads"
)]
struct EvaluateParameters {
    /// Declares that the examples are independent draws: `independent`, `uniform-positive`, `reflected` or `uniform`.
    assume: Option<String>,
    /// Declares that neither the model nor its ancestors learnt from the examples.
    #[param(default = false)]
    fresh: Option<bool>,
    /// Confidence of the certificate.
    #[param(default = 0.95, exclusive_minimum = 0, exclusive_maximum = 1)]
    confidence: Option<f64>,
}

/// The query of an evaluation.
struct EvaluateQuery {
    data: DataOptions,
    origin: TestData,
    confidence: f64,
}

impl EvaluateQuery {
    /// Separates the parameters of the evaluation from the options of data.
    ///
    /// # Errors
    /// An unknown parameter, or an invalid value.
    fn read(query: Option<&str>, data: DataOptions) -> Result<Self, Problem> {
        let mut read = Self {
            data,
            origin: TestData::default(),
            confidence: certificates::CONFIDENCE,
        };
        for (name, text) in query_pairs(query)? {
            match name.as_str() {
                "assume" => read.data.options.assume = Some(parameter(&name, json!(text))?),
                "fresh" => read.origin.is_declared_fresh = parameter(&name, literal(&text))?,
                "confidence" => read.confidence = parameter::<Share>(&name, literal(&text))?.get(),
                _ if read.data.parameter(&name, &text)? => {}
                _ => {
                    return Err(data_options::unknown(
                        &name,
                        &["assume", "fresh", "confidence"],
                    ));
                }
            }
        }
        Ok(read)
    }
}

impl PendingEvaluation {
    fn against_sent(
        &self,
        parsed: &Parsed,
        assume: Option<Assume>,
    ) -> Result<EvaluateResult, Problem> {
        let data = fit(&self.model, parsed, Origin::Whole)?;
        let (own, given) = (&self.model.names, Names::of(parsed));
        let codes = own.recoding(&given, &occurring(&parsed.data));
        let codes = codes.map_err(misnamed)?;
        let data = match codes.is_identity() {
            true => data,
            false => Cow::Owned(codes.of(data.into_owned())),
        };
        let _timer = limit(&self.limits, &self.run.stop);
        let origin = TestData {
            assume,
            sha256: self.origin.is_declared_fresh.then(|| {
                let sent = codes.of(parsed.data.clone());
                let names = parsed.vocabulary.as_deref();
                let weights = parsed.weights.as_deref();
                hex::encode(digest(&sent, own.classes.as_ref(), names, weights))
            }),
            ..self.origin.clone()
        };
        let result = self.against(&*data, parsed.zero_bit_value, origin)?;
        let result = result.map_err(|interrupt| interrupted(&self.limits, interrupt))?;
        Ok(EvaluateResult {
            table: parsed.table.clone(),
            ..result
        })
    }

    /// Verifies the digest of a dataset of any size, then evaluates the model while reading.
    fn against_stored(
        &self,
        dataset: &Dataset,
        stored: &StoredExamples,
    ) -> Result<EvaluateResult, Problem> {
        let (own, occurring) = (&self.model.names, dataset.summary.facts.occurring());
        let codes = own.fit(&dataset.names, &occurring).map_err(misnamed)?;
        stored.recode(codes);
        if let Some(names) = own.vocabulary() {
            let renamed = stored.rename(names);
            renamed.map_err(|interrupt| unread(stored, &self.limits, interrupt))?;
        }
        let _timer = limit(&self.limits, &self.run.stop);
        fit_stored(&self.model, stored, &self.limits, &self.run.stop)?;
        let origin = TestData {
            assume: self.origin.assume.or(dataset.summary.facts.assume),
            seed: dataset.summary.seed,
            sha256: Some(dataset.summary.facts.sha256.clone()),
            ..self.origin.clone()
        };
        let result = self.against(stored, dataset.summary.facts.zero_bit_value.into(), origin)?;
        result.map_err(|interrupt| unread(stored, &self.limits, interrupt))
    }

    /// The result, or the interrupt that stopped the evaluation.
    fn against(
        &self,
        examples: &dyn Examples,
        zero: f64,
        origin: TestData,
    ) -> Result<Result<EvaluateResult, Interrupt>, Problem> {
        check_labels(&self.model.names, examples)
            .map_err(|detail| Problem::new(Code::WRONG_DATA, detail))?;
        let shape = examples.shape();
        let is_labelled = shape.labels.is_labelled();
        if !origin
            .assume
            .is_none_or(|assume| assume.fits(is_labelled, shape.is_real))
        {
            let detail = "The declaration does not fit the kind of the examples.";
            return Err(Problem::parameter(
                Code::BAD_OPTION,
                "assume",
                detail.to_owned(),
            ));
        }
        let result = || {
            let evaluation = evaluate(&self.model.predictor, examples, zero, &self.run)?;
            if let Some(interrupt) = evaluation.interrupted {
                return Err(interrupt);
            }
            let sampling = origin.assume.and_then(Assume::sampling);
            let evidence = |_| Evidence::of(examples, None, &self.run.stop);
            let origin = TestData {
                evidence: sampling.map(evidence).transpose()?,
                ..origin
            };
            let fresh = origin.fresh_for(&self.model);
            Ok(EvaluateResult::new(
                self.id,
                &self.model.names,
                &evaluation,
                fresh,
                self.confidence,
            ))
        };
        Ok(result())
    }
}
