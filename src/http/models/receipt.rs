//! `GET /v1/models/{id}/receipt`: the receipt of the training that made a model.

use axum::extract::State;
use axum::response::Response;
use halfspace_core::learners::catalogue;
use halfspace_core::learners::engine::entry::LearnerEntry;
use halfspace_verify::Receipt;
use serde_json::json;

use crate::records::id::ModelKind;
use crate::records::train::{ModelDocument, StoredReceipt};
use crate::records::{Model, ModelId};
use crate::storage::StoreError;

use crate::http::app_state::App;
use crate::http::document::declared::{FIGURE, IN_PATH, problems};
use crate::http::extract::{Caller, NoQuery, PathId};
use crate::http::models::{document, of_document};
use crate::http::problem::{Code, Problem};

/// Returns the receipt of the training that made a model.
///
/// A receipt names the mistaken examples of the training. With the parameters and the seed, these examples reproduce
/// the run. `halfspace verify` replays a receipt on the data with a second implementation of the learners. A training
/// has a receipt if its mistakes and their places reproduce the run, the order is cyclic or shuffled, and the run began
/// from the learner's own first hypothesis. With more than two classes, each has its own list of mistaken examples.
#[utoipa::path(get, path = "/v1/models/{id}/receipt", tag = "models",
    params(("id" = ModelId, Path, description = "The model")),
    responses((status = 200, description = "The receipt", body = Receipt)),
    extensions(("x-problems" = json!(problems(&[IN_PATH, FIGURE, &[Code::NO_MEMORY, Code::INEXPRESSIBLE]])))))]
pub async fn get_model_receipt(
    State(app): State<App>,
    Caller(owner): Caller,
    _: NoQuery,
    PathId(id): PathId<ModelKind>,
) -> Result<Response, Problem> {
    of_document(&app, &owner, id, receipt).await
}

fn receipt(model: Model) -> Result<Receipt, Problem> {
    let stored: StoredReceipt =
        serde_json::from_str(&model.document).map_err(StoreError::corrupt)?;
    stored.receipt.ok_or_else(|| match document(&model) {
        Ok(document) => {
            let reason = reason(&model, &document);
            let detail = format!(
                "The model has no receipt: {reason}. A model of `POST /v1/learners/{{name}}/train` has one."
            );
            Problem::new(Code::INEXPRESSIBLE, detail)
        }
        Err(problem) => problem,
    })
}

/// The reason why a model has no receipt.
fn reason(model: &Model, document: &ModelDocument) -> String {
    let entry = catalogue::find(&model.summary.learner);
    if !entry.is_some_and(LearnerEntry::has_receipts) {
        return format!(
            "no list of mistaken examples reproduces a run of {}",
            model.summary.learner
        );
    }
    if document.params.get("order") == Some(&json!("random")) {
        return "the order of the examples was random".to_owned();
    }
    if document.warm_start.is_some() {
        return "the run began from a model".to_owned();
    }
    if model.summary.job.is_none() {
        return "the model comes from a file or a session".to_owned();
    }
    "the examples had weights, names were left out (minimum_count or discard), the client set the first hypothesis, \
     the stream had neither count nor max_examples, a fold was held out, a limit of the learner ended the run, or the \
     lists of mistaken examples of all classes have more than 65,536 entries"
        .to_owned()
}
