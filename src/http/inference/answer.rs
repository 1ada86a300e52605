//! The answers of `infer`: tensors as lists in the JSON, or as octets after it. They are written example by example,
//! up to a limit of bytes.

use std::borrow::Cow;
use std::ops::ControlFlow;

use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use halfspace_core::learners::decision::{Decision, Score};
use halfspace_core::learners::engine::run::StopFlag;
use halfspace_core::learners::predict::for_each_decisions_until;
use halfspace_core::learners::predictor::Predictor;
use halfspace_formats::{Format, Parsed};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::jobs::LoadedModel;
use crate::records::ModelId;
use crate::records::evaluation::score_value;
use crate::records::names::label_number;

use crate::http::problem::{Code, Problem};

/// The number of bytes of JSON at the beginning of the body. Tensors follow.
pub const JSON_LENGTH: HeaderName = HeaderName::from_static("inference-header-content-length");

/// Names of output tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum OutputName {
    /// The prediction: INT8 with 1 or -1 for two classes, INT32 with the index of the class for more.
    Prediction,
    /// The exact score that decided: BYTES with a decimal number or a fraction such as 2/3.
    Score,
    /// The name of the predicted class: BYTES. Only for a model whose classes have names.
    Class,
}

impl OutputName {
    /// The name in the protocol.
    pub fn text(self) -> &'static str {
        match self {
            Self::Prediction => "prediction",
            Self::Score => "score",
            Self::Class => "class",
        }
    }
}

/// The outputs that a model offers.
#[derive(Clone, Debug, Default)]
pub struct Offered {
    /// The number of classes.
    classes: usize,
    /// The names of the classes.
    names: Option<Vec<String>>,
}

impl Offered {
    /// The outputs of a model.
    pub fn of(model: &LoadedModel) -> Self {
        Self {
            classes: model.predictor.classes(),
            names: model.names.class_names(),
        }
    }

    /// The outputs in the order of an answer to a request that names none.
    pub fn all(&self) -> Vec<OutputName> {
        let class = self.names.as_ref().map(|_| OutputName::Class);
        let both = [OutputName::Prediction, OutputName::Score];
        both.into_iter().chain(class).collect()
    }

    /// The protocol's datatype of the elements of an output.
    pub fn datatype(&self, name: OutputName) -> &'static str {
        match name {
            OutputName::Prediction if self.classes > 2 => "INT32",
            OutputName::Prediction => "INT8",
            OutputName::Score | OutputName::Class => "BYTES",
        }
    }
}

/// A requested output tensor.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    pub name: OutputName,
    /// Whether the tensor follows the JSON as octets.
    pub is_binary: bool,
}

/// The predictions of a model as tensors.
#[derive(Serialize, ToSchema)]
pub struct InferenceAnswer<'a> {
    model_name: ModelId,
    /// Always 1.
    model_version: &'static str,
    /// The id of the request, if present.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    outputs: Vec<OutputTensor<'a>>,
}

/// A tensor with one element per example.
#[derive(Serialize, ToSchema)]
pub struct OutputTensor<'a> {
    name: &'static str,
    /// INT8, INT32 or BYTES.
    datatype: &'static str,
    /// The number of examples.
    #[schema(min_items = 1, max_items = 1)]
    shape: [u64; 1],
    /// Present if the tensor follows the JSON as octets.
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<OctetsHint>,
    /// The elements: numbers or texts. Absent if the tensor follows the JSON as octets.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Value>>)]
    data: Option<&'a RawValue>,
}

/// The size of a tensor that follows the JSON as octets.
#[derive(Serialize, ToSchema)]
pub struct OctetsHint {
    /// Bytes of the tensor after the JSON.
    binary_data_size: u64,
}

/// The output tensors of a request.
pub struct OutputTensors {
    offered: Offered,
    examples: u64,
    tensors: Vec<Tensor>,
}

/// An output tensor that grows example by example.
struct Tensor {
    wanted: Wanted,
    /// A JSON list without the closing bracket, or octets.
    bytes: Vec<u8>,
}

impl OutputTensors {
    /// Predicts the examples and writes the requested tensors.
    ///
    /// If `stop` is raised, scoring ends early: the answer then lacks examples and must not be sent.
    ///
    /// # Errors
    /// [`Code::ANSWER_TOO_LONG`] as soon as the tensors are longer than `bytes_max`.
    pub fn of(
        predictor: &Predictor,
        offered: Offered,
        parsed: &Parsed,
        wanted: &[Wanted],
        bytes_max: u64,
        stop: &StopFlag,
    ) -> Result<Self, Problem> {
        let tensors = wanted.iter().map(|&wanted| Tensor {
            wanted,
            bytes: Vec::new(),
        });
        let mut answer = Self {
            offered,
            examples: 0,
            tensors: tensors.collect(),
        };
        for_each_decisions_until(
            predictor,
            &parsed.data,
            parsed.zero_bit_value,
            stop,
            |decisions| {
                for decision in decisions {
                    answer.examples += 1;
                    for tensor in &mut answer.tensors {
                        tensor.push(decision, &answer.offered);
                    }
                }
                match answer.bytes() > bytes_max {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            },
        );
        if answer.bytes() > bytes_max {
            let detail = format!(
                "The tensors would be longer than answer_bytes_max: {bytes_max} bytes. Send \
                 fewer examples, or request only the output `prediction`."
            );
            return Err(Problem::new(Code::ANSWER_TOO_LONG, detail));
        }
        Ok(answer)
    }

    /// The number of predicted examples.
    pub fn examples(&self) -> u64 {
        self.examples
    }

    fn bytes(&self) -> u64 {
        let bytes = self.tensors.iter().map(|tensor| tensor.bytes.len() as u64);
        bytes.sum()
    }

    /// The response: one JSON document, then the tensors that were requested as octets.
    pub fn into_response(
        mut self,
        model_name: ModelId,
        model_version: &'static str,
        id: Option<String>,
    ) -> Response {
        let mut lists = Vec::new();
        for tensor in &mut self.tensors {
            lists.push(tensor.take_list());
        }
        let shape = [self.examples];
        let outputs = self.tensors.iter().zip(&lists).map(|(tensor, list)| {
            let octets = OctetsHint {
                binary_data_size: tensor.bytes.len() as u64,
            };
            OutputTensor {
                name: tensor.wanted.name.text(),
                datatype: self.offered.datatype(tensor.wanted.name),
                shape,
                parameters: list.is_none().then_some(octets),
                data: list.as_deref(),
            }
        });
        let document = InferenceAnswer {
            model_name,
            model_version,
            id,
            outputs: outputs.collect(),
        };
        let mut body = serde_json::to_vec(&document).unwrap_or_default();
        if lists.iter().all(Option::is_some) {
            return ([(header::CONTENT_TYPE, Format::Json.media_type())], body).into_response();
        }
        let json_length = HeaderValue::from(body.len());
        for tensor in &self.tensors {
            body.extend_from_slice(&tensor.bytes);
        }
        let media_type = HeaderValue::from_static(Format::Octets.media_type());
        let headers = [
            (header::CONTENT_TYPE, media_type),
            (JSON_LENGTH, json_length),
        ];
        (headers, body).into_response()
    }
}

impl Tensor {
    fn push(&mut self, decision: &Decision, offered: &Offered) {
        let Wanted { name, is_binary } = self.wanted;
        let bytes = &mut self.bytes;
        if !is_binary {
            bytes.push(if bytes.is_empty() { b'[' } else { b',' });
        }
        let text = match name {
            OutputName::Prediction => {
                let number = label_number(decision.class, offered.classes);
                match (is_binary, offered.classes) {
                    (false, _) => bytes.extend_from_slice(number.to_string().as_bytes()),
                    (true, ..=2) => bytes.extend_from_slice(&(number as i8).to_le_bytes()),
                    (true, _) => bytes.extend_from_slice(&(number as i32).to_le_bytes()),
                }
                return;
            }
            OutputName::Score => Cow::Owned(score_text(&decision.score)),
            OutputName::Class => {
                let mut names = offered.names.iter().flatten();
                let name = names.nth(decision.class as usize);
                Cow::Borrowed(name.map_or("", String::as_str))
            }
        };
        if is_binary {
            let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
            bytes.extend_from_slice(&length.to_le_bytes());
            bytes.extend_from_slice(text.as_bytes());
        } else {
            bytes.extend_from_slice(Value::from(text).to_string().as_bytes());
        }
    }

    /// Takes the JSON list out of the tensor. `None` for octets.
    fn take_list(&mut self) -> Option<Box<RawValue>> {
        if self.wanted.is_binary {
            return None;
        }
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.push(b']');
        let text = String::from_utf8(bytes).ok()?;
        RawValue::from_string(text).ok()
    }
}

/// The exact score as text, equal to the number or string in an answer of `predict`. A sum of reals that
/// overflows is `inf`, for which JSON has no number.
fn score_text(score: &Score) -> String {
    match (score, score_value(score)) {
        (Score::Real(overflown), Value::Null) => overflown.to_string(),
        (_, Value::String(exact)) => exact,
        (_, number) => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use halfspace_core::bits::{BitMatrix, BitVector};
    use halfspace_core::learners::hypothesis::Hypothesis;
    use halfspace_core::learners::sample::data::{Data, Features, Labels};
    use num_bigint::BigInt;

    use super::*;

    const BOTH: [OutputName; 2] = [OutputName::Prediction, OutputName::Score];

    /// The tensors of five examples with 0, 1, 2, 3 and 3 ones. The hypothesis has three weights of 1, so the
    /// scores are -3, -1, 1, 3 and 3.
    fn tensors(names: &[OutputName], is_binary: bool, bytes_max: u64) -> Option<Vec<Vec<u8>>> {
        let mut matrix = BitMatrix::new(3);
        for bits in [0b000, 0b001, 0b011, 0b111, 0b111] {
            matrix.push_row(&[bits]);
        }
        let parsed = Parsed::of(Data::new(Features::Boolean(matrix), Labels::Unlabelled));
        let weights = BitVector::from_words(3, vec![0b111]);
        let predictor = Hypothesis::BinaryWeights(weights).into();
        let wanted = names.iter().map(|&name| Wanted { name, is_binary });
        let wanted: Vec<_> = wanted.collect();
        let answer = OutputTensors::of(
            &predictor,
            Offered {
                classes: 2,
                names: None,
            },
            &parsed,
            &wanted,
            bytes_max,
            &StopFlag::default(),
        )
        .ok()?;
        let tensors = answer.tensors.into_iter();
        Some(tensors.map(|tensor| tensor.bytes).collect())
    }

    #[test]
    fn inference_tensors_are_never_longer_than_their_limit() {
        let lists = ["[-1,-1,1,1,1", r#"["-3","-1","1","3","3""#];
        for (names, is_binary, length) in [
            (&BOTH[..], false, lists.concat().len()),
            (&BOTH[..1], false, lists[0].len()),
            (&BOTH[..], true, 5 + 5 * 4 + 7),
            (&BOTH[..1], true, 5),
        ] {
            let whole = tensors(names, is_binary, length as u64).unwrap();
            assert_eq!(whole.concat().len(), length);
            assert_eq!(tensors(names, is_binary, length as u64 - 1), None);
        }
        let found = tensors(&BOTH, false, 1000).unwrap();
        assert_eq!(found, lists.map(|list| list.as_bytes().to_vec()));
        let octets = tensors(&BOTH, true, 1000).unwrap();
        assert_eq!(octets[0], [255, 255, 1, 1, 1]);
        assert_eq!(octets[1][..11], *b"\x02\0\0\0-3\x02\0\0\0-");
    }

    #[test]
    fn inference_score_is_exact_text() {
        let half = Score::Fraction {
            numerator: 1.into(),
            denominator: 2_u32.into(),
        };
        for (score, text) in [
            (Score::Integer(-7), "-7"),
            (Score::Integer(i64::MIN), "-9223372036854775808"),
            (
                Score::from(BigInt::from(1_u128 << 64)),
                "18446744073709551616",
            ),
            (half, "1/2"),
            (Score::Real(0.1), "0.1"),
            (Score::Real(1e300), "1e+300"),
            (Score::Real(f64::NEG_INFINITY), "-inf"),
        ] {
            assert_eq!(score_text(&score), text);
        }
    }
}
