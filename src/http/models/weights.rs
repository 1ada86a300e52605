//! `GET /v1/models/{id}/weights.npy`: the weights of a model of the kind `linear` or `binary-weights` as a NumPy array.

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use halfspace_core::learners::arithmetic::unit::Unit;
use halfspace_core::learners::hypothesis::Hypothesis;
use halfspace_core::learners::linear::linear_weights::LinearWeights;
use halfspace_core::learners::predictor::Predictor;
use halfspace_core::memory;
use halfspace_formats::{Format, npy_header};

use crate::records::ModelId;
use crate::records::id::ModelKind;

use crate::http::app_state::App;
use crate::http::computing::compute;
use crate::http::document::declared::{COMPUTED, IN_PATH, problems};
use crate::http::extract::data_body::Octets;
use crate::http::extract::{Caller, NoQuery, PathId};
use crate::http::models::examples::model_in_path;
use crate::http::problem::{Code, Problem};

/// Returns the weights of a model of the kind `binary-weights` or `linear` as a NumPy array.
///
/// The array has one dimension and one weight per feature. If the model has a bias, the bias is the last
/// number, so an example needs a 1 after its features. A model of more than two classes has such a row for each class,
/// in the order of the classes. The numbers are exact:
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
    let work = move |_: &_| grant.settled(|| npy(&model.predictor));
    let array = compute(&app, Some(permit), work).await?;
    Ok(([(header::CONTENT_TYPE, Format::Npy.media_type())], array).into_response())
}

/// The array of the weights, with the bias last. A committee has a row per member.
fn npy(predictor: &Predictor) -> Result<Vec<u8>, Problem> {
    let members = predictor.members();
    // Two copies of the weights, and the array.
    let row_bytes = 3 * size_of::<f64>() * (predictor.n() + 1);
    memory::need(members.len().saturating_mul(row_bytes) as u64)?;
    let rows: Vec<Row> = members.iter().map(row).collect::<Result<_, _>>()?;
    // The members of a committee are of one kind.
    let Row { dtype, length, .. } = rows[0];
    let mut array = match rows.len() {
        1 => npy_header(dtype, &[length]),
        rows => npy_header(dtype, &[rows, length]),
    };
    array.reserve_exact(rows.iter().map(|row| row.bytes.len()).sum());
    rows.iter().for_each(|row| array.extend(&row.bytes));
    Ok(array)
}

/// The numbers of a member.
struct Row {
    dtype: &'static str,
    length: usize,
    bytes: Vec<u8>,
}

fn row(member: &Hypothesis) -> Result<Row, Problem> {
    Ok(match member {
        Hypothesis::BinaryWeights(weights) => {
            let sign = |at| if weights.get(at) { 1_i8 } else { -1 };
            row_of("|i1", (0..weights.n()).map(|at| sign(at).to_le_bytes()))
        }
        Hypothesis::Linear(LinearWeights::Integer(own)) if own.unit() == Unit::ONE => {
            let numbers = own.weights().into_iter().chain(own.bias());
            row_of("<i8", numbers.map(i64::to_le_bytes))
        }
        Hypothesis::Linear(own) => {
            let (numbers, bias) = own.numbers();
            row_of("<f8", numbers.into_iter().chain(bias).map(f64::to_le_bytes))
        }
        Hypothesis::Winnow(_)
        | Hypothesis::Bounded(_)
        | Hypothesis::Kernel(_)
        | Hypothesis::KernelWinnow(_) => return Err(no_weights(member)),
    })
}

fn row_of<const BYTES: usize>(
    dtype: &'static str,
    numbers: impl Iterator<Item = [u8; BYTES]>,
) -> Row {
    let bytes: Vec<u8> = numbers.flatten().collect();
    let length = bytes.len() / BYTES;
    Row {
        dtype,
        length,
        bytes,
    }
}

fn no_weights(hypothesis: &Hypothesis) -> Problem {
    let reason = match hypothesis {
        Hypothesis::Winnow(_) => "the weights are powers, which no type of NumPy holds exactly",
        Hypothesis::Bounded(_) => "the score subtracts an inhibition from each weight",
        _ => "the weights belong to conjunctions and not to features",
    };
    let detail = format!(
        "The model has no linear weights: {reason}. GET /v1/models/{{id}} returns the hypothesis, and \
         GET /v1/models/{{id}}/explanation its heaviest terms."
    );
    Problem::new(Code::INEXPRESSIBLE, detail)
}
