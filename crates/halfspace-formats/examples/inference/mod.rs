//! The data of a request of the Open Inference Protocol, for the comparison with peers and for the instruction counts.

use std::io::Read;

use halfspace_core::learners::sample::data::Data;
use halfspace_formats::{Datatype, FormatError, ParseLimits, TensorList, json};
use serde::Deserialize;

/// A request of the Open Inference Protocol with one tensor.
#[derive(Deserialize)]
struct Inference {
    inputs: [Tensor; 1],
}

#[derive(Deserialize)]
struct Tensor {
    shape: [u64; 2],
    datatype: Datatype,
    data: TensorList,
}

/// Reads a request with one tensor of `n` features.
///
/// # Errors
/// The faults of the request.
pub fn read_tensor(from: impl Read, n: usize) -> Result<Data, FormatError> {
    let limits = ParseLimits::default();
    let read: Inference = json::from_reader_of_tensors(from, &limits, n)?;
    let [tensor] = read.inputs;
    let parsed = tensor
        .data
        .into_parsed(tensor.datatype, tensor.shape[0], true)?;
    Ok(parsed.data)
}
