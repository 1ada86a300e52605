//! `GET /v1/models/{id}/weights.npy`: the weights of a model of the kind `linear` or `binary-weights` as a NumPy array.

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use halfspace_core::learners::arithmetic::unit::Unit;
use halfspace_core::learners::hypothesis::Hypothesis;
use halfspace_core::learners::linear::linear_weights::LinearWeights;
use halfspace_core::memory;
use halfspace_formats::{Format, npy_header};

use crate::records::ModelId;
use crate::records::id::ModelKind;

use crate::http::app_state::App;
use crate::http::computing::compute;
use crate::http::document::declared::{COMPUTED, IN_PATH, problems};
use crate::http::extract::data_body::Octets;
use crate::http::extract::{Caller, NoQuery, PathId};
use crate::http::models::examples::{model_in_path, of_two_classes};
use crate::http::problem::{Code, Problem};

/// Returns the weights of a model of the kind `binary-weights` or `linear` as a NumPy array.
///
/// The array has one dimension and one weight per feature. If the model has a bias, the bias is the last
/// number, so an example needs a 1 after its features. The numbers are exact:
///
/// - `int8` for binary weights, which are -1 and 1
/// - `int64` for whole weights
/// - `float64` for real weights, and for whole multiples of a learning rate
///
/// Read the bits of Boolean examples as the `reading` of the model demands: as -1 and 1 (`signed`, and all
/// binary weights) or as 0 and 1 (`unsigned`).
#[utoipa::path(get, path = "/v1/models/{id}/weights.npy", tag = "models",
    params(("id" = ModelId, Path, description = "The model")),
    responses((status = 200, description = "The weights",
        content((Octets = "application/x-npy")))),
    extensions(("x-problems" = json!(problems(&[IN_PATH, COMPUTED, &[Code::INEXPRESSIBLE]])))))]
pub async fn get_model_weights(
    State(app): State<App>,
    Caller(owner): Caller,
    _: NoQuery,
    PathId(id): PathId<ModelKind>,
) -> Result<Response, Problem> {
    let model = model_in_path(&app, &owner, id).await?;
    let permit = app.permits.uploads.take(&owner).await?;
    let grant = app.memory().try_take(0)?;
    let work = move |_: &_| grant.settled(|| npy(of_two_classes(&model)?));
    let array = compute(&app, Some(permit), work).await?;
    Ok(([(header::CONTENT_TYPE, Format::Npy.media_type())], array).into_response())
}

/// The array of the weights, with the bias last.
fn npy(hypothesis: &Hypothesis) -> Result<Vec<u8>, Problem> {
    // Two copies of the weights, and the array.
    memory::need((3 * size_of::<f64>() * (hypothesis.n() + 1)) as u64)?;
    let reason = match hypothesis {
        Hypothesis::BinaryWeights(weights) => {
            let n = weights.n();
            let values = (0..n).map(|at| if weights.get(at) { 1_i8 } else { -1 });
            return Ok(array("|i1", n, values.map(i8::to_le_bytes)));
        }
        Hypothesis::Linear(LinearWeights::Integer(own)) if own.unit() == Unit::ONE => {
            let (weights, bias) = (own.weights(), own.bias());
            let length = weights.len() + usize::from(bias.is_some());
            let values = weights.iter().copied().chain(bias);
            return Ok(array("<i8", length, values.map(i64::to_le_bytes)));
        }
        Hypothesis::Linear(own) => {
            let (mut numbers, bias) = own.numbers();
            numbers.extend(bias);
            let length = numbers.len();
            return Ok(array(
                "<f8",
                length,
                numbers.into_iter().map(f64::to_le_bytes),
            ));
        }
        Hypothesis::Winnow(_) => "the weights are powers, which no type of NumPy holds exactly",
        Hypothesis::Bounded(_) => "the score subtracts an inhibition from each weight",
        Hypothesis::Kernel(_) | Hypothesis::KernelWinnow(_) => {
            "the weights belong to conjunctions and not to features"
        }
    };
    let detail = format!(
        "The model has no linear weights: {reason}. GET /v1/models/{{id}} returns the hypothesis, and \
         GET /v1/models/{{id}}/explanation its heaviest terms."
    );
    Err(Problem::new(Code::INEXPRESSIBLE, detail))
}

/// An array of one dimension.
fn array<const BYTES: usize>(
    dtype: &str,
    length: usize,
    values: impl Iterator<Item = [u8; BYTES]>,
) -> Vec<u8> {
    let mut array = npy_header(dtype, &[length]);
    array.reserve_exact(BYTES * length);
    values.for_each(|value| array.extend(value));
    array
}
