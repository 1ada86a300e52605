//! Binary formats: `.npy`, packed octets, and the tensors of the Open Inference Protocol.

pub(crate) mod npy;
pub(crate) mod npy_header;
pub(crate) mod octets;
pub(crate) mod packed;
pub(crate) mod row_reader;
pub(crate) mod tensor;
pub(crate) mod tensor_datatype;
mod tensor_elements;
