//! Requests of the Open Inference Protocol, and the reader of the examples in or after their JSON.

use std::io::{ErrorKind, Read};

use halfspace_core::learners::predict::Misfit;
use halfspace_formats::{
    Datatype, FormatError, ParseLimits, Parsed, TensorList, json, read_tensor_octets,
};
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::records::ModelId;

use crate::http::inference::answer::{Offered, OutputName, Wanted};
use crate::http::problem::{Code, FieldError, Problem};

/// A prediction request.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct InferenceRequest {
    /// An id that the answer repeats.
    #[schema(max_length = 256)]
    pub id: Option<String>,
    /// The id of the model in the path, if the client repeats the id.
    #[schema(value_type = Option<ModelId>)]
    model_name: Option<String>,
    /// The version of the model: 1.
    #[expect(dead_code, reason = "it can be nothing else")]
    model_version: Option<ModelVersion>,
    parameters: Option<RequestParameters>,
    /// Exactly one tensor, `x`.
    #[schema(min_items = 1, max_items = 1)]
    inputs: Vec<InputTensor>,
    /// Output tensors in the order of the answer; all when absent.
    #[schema(max_items = 3)]
    outputs: Option<Vec<RequestedOutput>>,
}

impl InferenceRequest {
    /// Checks that a model name in the body, if there is one, equals the one in the path.
    ///
    /// # Errors
    /// The place of a different name.
    pub fn check_model(&self, id: ModelId) -> Result<(), Problem> {
        match &self.model_name {
            Some(name) if *name != id.to_string() => {
                let detail = "model_name differs from the model in the path.";
                Err(refused(Code::OUT_OF_RANGE, "/model_name", detail))
            }
            _ => Ok(()),
        }
    }

    /// The requested output tensors.
    ///
    /// # Errors
    /// A tensor that is requested twice, or that the model does not offer.
    pub fn wanted(&self, offered: &Offered) -> Result<Vec<Wanted>, Problem> {
        let all = self.parameters.and_then(|given| given.binary_data_output);
        let mut wanted: Vec<Wanted> = Vec::new();
        for (index, output) in self.outputs.iter().flatten().enumerate() {
            let name = output.name;
            if wanted.iter().any(|known| known.name == name) {
                let detail = "The output tensor is requested twice.";
                let pointer = format!("/outputs/{index}/name");
                return Err(refused(Code::SCHEMA, &pointer, detail));
            }
            if !offered.all().contains(&name) {
                let detail = "The classes of the model have no names.";
                let pointer = format!("/outputs/{index}/name");
                return Err(refused(Code::SCHEMA, &pointer, detail));
            }
            let own = output.parameters.and_then(|given| given.binary_data);
            let is_binary = own.or(all).unwrap_or(false);
            wanted.push(Wanted { name, is_binary });
        }
        if wanted.is_empty() {
            let is_binary = all.unwrap_or(false);
            let all = offered.all().into_iter();
            wanted.extend(all.map(|name| Wanted { name, is_binary }));
        }
        Ok(wanted)
    }
}

/// A version of a model.
#[derive(Clone, Copy, Deserialize, ToSchema)]
enum ModelVersion {
    #[serde(rename = "1")]
    One,
}

/// The examples as a tensor: numbers in `data`, or octets after the JSON.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct InputTensor {
    #[expect(dead_code, reason = "it can be nothing else")]
    name: InputName,
    /// `[examples, n]`, or `[n]` for one example.
    #[schema(min_items = 1, max_items = 2)]
    shape: Vec<u64>,
    datatype: Datatype,
    parameters: Option<InputParameters>,
    /// Numbers in the quantity of the shape, row by row, in one list or in one list per row. A model of
    /// Boolean data needs values that are all 0/1 or all -1/1.
    #[schema(value_type = Option<Vec<TensorItem>>)]
    data: Option<TensorList>,
}

/// Names of input tensors.
#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum InputName {
    X,
}

/// A requested output tensor.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestedOutput {
    name: OutputName,
    parameters: Option<OutputParameters>,
}

/// Parameters of the request.
#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestParameters {
    /// Whether the output tensors follow the JSON as octets.
    binary_data_output: Option<bool>,
    /// Sent by MLServer's clients. Has no effect.
    #[expect(dead_code, reason = "it can be nothing else")]
    content_type: Option<ContentHint>,
}

/// Parameters of the input tensor.
#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct InputParameters {
    /// Bytes of the tensor, which then follows the JSON as octets.
    binary_data_size: Option<u64>,
    /// Sent by MLServer's clients. Has no effect.
    #[expect(dead_code, reason = "it can be nothing else")]
    content_type: Option<ContentHint>,
}

/// Parameters of an output tensor.
#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OutputParameters {
    /// Whether this tensor follows the JSON as octets. Overrides `binary_data_output`.
    binary_data: Option<bool>,
    /// Sent by MLServer's clients. Has no effect.
    #[expect(dead_code, reason = "it can be nothing else")]
    content_type: Option<ContentHint>,
}

/// The array type that a client makes of tensors.
#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ContentHint {
    /// A `NumPy` array.
    Np,
}

/// A number, or a row of numbers. A BOOL is true, false, 1 or 0.
#[derive(ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "a shape: the numbers are read without this type")]
pub enum TensorItem {
    Number(f64),
    Truth(bool),
    Row(Vec<Value>),
}

/// The reader of a body with JSON, or with JSON and octets.
pub struct InferenceReader<'a> {
    pub reader: &'a mut dyn Read,
    /// Length of the JSON in bytes, or `None` if the whole body is JSON.
    pub json_length: Option<u64>,
    pub limits: &'a ParseLimits,
}

impl InferenceReader<'_> {
    /// Reads the JSON, with or without the tensor, for examples of `n` features.
    ///
    /// # Errors
    /// Errors in the JSON.
    pub fn request(&mut self, n: usize) -> Result<InferenceRequest, FormatError> {
        let length = self.json_length.unwrap_or(u64::MAX);
        let reader = Read::take(&mut *self.reader, length);
        json::from_reader_of_tensors(reader, self.limits, n)
    }

    /// The examples of the one tensor, from the JSON or from the octets after the JSON.
    ///
    /// # Errors
    /// A missing tensor, or a tensor that does not fit the shape and the datatype.
    pub fn examples(&mut self, asked: &mut InferenceRequest, n: usize) -> Result<Parsed, Problem> {
        let inputs = asked.inputs.len();
        let Some(input) = asked.inputs.pop().filter(|_| inputs == 1) else {
            let detail = "The request must have exactly one input tensor, x.";
            return Err(refused(Code::SCHEMA, "/inputs", detail));
        };
        let rows = rows(&input.shape, n)?;
        let size = input.parameters.and_then(|given| given.binary_data_size);
        match (input.data, size) {
            (Some(list), None) => {
                self.expect_end()?;
                Ok(list.into_parsed(input.datatype, rows, input.shape.len() == 2)?)
            }
            (None, Some(size)) => self.octets(input.datatype, rows, n, size),
            (Some(_), Some(_)) => {
                let detail = "The tensor has both `data` in the JSON and a `binary_data_size`. \
                              Send one of them.";
                Err(refused(Code::SCHEMA, "/inputs/0/data", detail))
            }
            (None, None) => {
                let detail = "The tensor has neither `data` nor a `binary_data_size`.";
                Err(refused(Code::SCHEMA, "/inputs/0", detail))
            }
        }
    }

    fn octets(
        &mut self,
        datatype: Datatype,
        rows: u64,
        n: usize,
        size: u64,
    ) -> Result<Parsed, Problem> {
        let Some(json_length) = self.json_length else {
            let detail = "the header is missing; binary tensors need the length of the JSON";
            let name = "Inference-Header-Content-Length";
            return Err(Problem::parameter(Code::INVALID_PARAMETER, name, detail));
        };
        let due = rows.checked_mul(n as u64);
        let due = due.and_then(|values| values.checked_mul(datatype.bytes()));
        if due != Some(size) {
            let bytes = datatype.bytes();
            let detail = format!(
                "The tensor must have {rows} * {n} * {bytes} bytes by its shape and datatype."
            );
            let pointer = "/inputs/0/parameters/binary_data_size";
            return Err(refused(Code::WRONG_SHAPE, pointer, &detail));
        }
        let reader = &mut *self.reader;
        let read = read_tensor_octets(reader, datatype, rows, n, json_length, self.limits);
        Ok(read?)
    }

    /// Checks that the body ends after the JSON.
    fn expect_end(&mut self) -> Result<(), Problem> {
        let mut byte = [0];
        match self.reader.read_exact(&mut byte) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(()),
            Err(error) => Err(FormatError::from(error).into()),
            Ok(()) => {
                let detail = "The tensor is in the JSON, but the body has further bytes after the \
                              JSON.";
                Err(Problem::new(Code::SYNTAX, detail))
            }
        }
    }
}

/// The number of examples in a tensor of this shape.
fn rows(shape: &[u64], n: usize) -> Result<u64, Problem> {
    let at = "/inputs/0/shape";
    let (rows, length) = match *shape {
        [length] => (1, length),
        [rows, length] => (rows, length),
        _ => {
            let detail = format!("The shape must be [examples, {n}], or [{n}] for one example.");
            return Err(refused(Code::OUT_OF_RANGE, at, &detail));
        }
    };
    if length != n as u64 {
        let given = usize::try_from(length).unwrap_or(usize::MAX);
        let detail = Misfit::Length { given, own: n }.to_string();
        return Err(refused(Code::WRONG_DATA, at, &detail));
    }
    if rows == 0 {
        let detail = "The tensor has no example; send at least one.";
        return Err(refused(Code::EMPTY_DATA, at, detail));
    }
    Ok(rows)
}

/// The problem for a field of the request.
fn refused(code: Code, pointer: &str, detail: &str) -> Problem {
    let field = FieldError::at_pointer(pointer, detail);
    Problem::new(code, format!("{pointer}: {detail}")).with(field)
}
