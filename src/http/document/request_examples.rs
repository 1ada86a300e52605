//! The examples of the OpenAPI document: one for each media type of a request body, and values of parameters. A test
//! sends each of them to the service.
//!
//! `request_examples.json` holds them, except for bodies of bytes and for the parameters of the learners, which follow
//! from the catalogue. Bodies with data hold the same examples in every format, the majority of three bits. If a value
//! of a parameter fits only one media type or learner, its example is named after that.

use std::sync::LazyLock;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use halfspace_core::learners::catalogue::CATALOGUE;
use halfspace_core::learners::engine::parameters::ParameterKind;
use halfspace_formats::npy_header;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The first entry that fits a body or a parameter has its example.
static ENTRIES: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    let entries = serde_json::from_str(include_str!("request_examples.json"));
    entries.expect("a test reads the entries")
});

/// A model file as `GET /v1/models/{id}` exports one.
const MODEL_FILE: &str = include_str!("example_model.json");

/// The table of the other examples as a workbook of one sheet.
const WORKBOOK: &[u8] = include_bytes!("majority.xlsx");

/// The same table as a file of Parquet.
const PARQUET: &[u8] = include_bytes!("majority.parquet");

/// An example, or several under their names, and the bodies or the parameters that it fits.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// The operations that it fits; all when absent.
    #[serde(default)]
    operations: Vec<String>,
    /// The media type of a body.
    #[serde(default)]
    media_type: String,
    /// The name of a parameter, and where it stands.
    #[serde(default)]
    parameter: String,
    #[serde(default, rename = "in")]
    place: String,
    /// The schema that the parameter refers to; any when absent.
    schema: Option<String>,
    example: Option<Value>,
    #[serde(default)]
    examples: Map<String, Value>,
}

impl Entry {
    fn is_of(&self, operation: &str) -> bool {
        self.operations.is_empty() || self.operations.iter().any(|own| own == operation)
    }

    fn attach(&self, part: &mut Value) {
        match &self.example {
            Some(example) => part["example"] = example.clone(),
            None => attach(part, self.examples.clone()),
        }
    }
}

/// Adds the examples of the body and of the parameters.
pub fn complete(operation: &mut Value) {
    let id = operation["operationId"].as_str().unwrap_or_default();
    let id = id.to_owned();
    let content = operation.pointer_mut("/requestBody/content");
    for (media_type, content) in content.and_then(Value::as_object_mut).into_iter().flatten() {
        let mut entries = ENTRIES.iter();
        if let Some(bytes) = bytes(&id, media_type) {
            content["examples"] = json!({"base64": {
                "summary": "The bytes in base64. Decode before sending.",
                "value": BASE64_STANDARD.encode(bytes),
            }});
        } else if id == "import_model" {
            content["example"] = serde_json::from_str(MODEL_FILE).unwrap_or_default();
        } else if let Some(entry) =
            entries.find(|entry| entry.media_type == *media_type && entry.is_of(&id))
        {
            entry.attach(content);
        }
    }
    let parameters = operation.get_mut("parameters");
    let parameters = parameters.and_then(Value::as_array_mut);
    for parameter in parameters.into_iter().flatten() {
        of_parameter(&id, parameter);
    }
}

/// Attaches examples under their names.
fn attach(part: &mut Value, examples: Map<String, Value>) {
    let named = examples
        .into_iter()
        .map(|(name, value)| (name, json!({"value": value})));
    part["examples"] = named.collect::<Map<_, _>>().into();
}

/// A body that JSON cannot hold.
fn bytes(id: &str, media_type: &str) -> Option<Vec<u8>> {
    match (id, media_type) {
        ("infer_model" | "infer_model_version", "application/octet-stream") => {
            let head = json!({"inputs": [{"name": "x", "shape": [2, 3], "datatype": "UINT8",
                "parameters": {"binary_data_size": 6}}]});
            let tensor = [1, 1, 0, 0, 0, 1];
            Some([head.to_string().as_bytes(), &tensor].concat())
        }
        // Three bits and the label per byte.
        (_, "application/octet-stream") => Some(vec![0xD0, 0xB0, 0x20, 0x40]),
        (_, "application/x-npy") => Some(npy()),
        (_, "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet") => {
            Some(WORKBOOK.to_vec())
        }
        (_, "application/vnd.apache.parquet") => Some(PARQUET.to_vec()),
        _ => None,
    }
}

/// A matrix of bytes with the labels in the last column.
fn npy() -> Vec<u8> {
    let rows = [[1, 1, 0, 1], [1, 0, 1, 1], [0, 0, 1, 0], [0, 1, 0, 0]];
    [npy_header("|u1", &[4, 4]), rows.concat()].concat()
}

fn of_parameter(id: &str, parameter: &mut Value) {
    let name = parameter["name"].as_str().unwrap_or_default();
    let schema = parameter["schema"]["$ref"].as_str().unwrap_or_default();
    let schema = schema.rsplit('/').next().unwrap_or_default();
    let entry = ENTRIES.iter().find(|entry| {
        let is_schema = entry.schema.as_ref().is_none_or(|own| own == schema);
        entry.parameter == name && parameter["in"] == *entry.place && is_schema && entry.is_of(id)
    });
    if let Some(entry) = entry {
        entry.attach(parameter);
    } else if let Some(name) = name.strip_prefix("params.") {
        let mut examples = of_learners(name);
        if parameter["schema"]["type"] == "string" {
            let numbers = examples.values_mut().filter(|value| value.is_number());
            numbers.for_each(|value| *value = value.to_string().into());
        }
        attach(parameter, examples);
    }
}

/// A value of the parameter for each learner that takes it.
fn of_learners(name: &str) -> Map<String, Value> {
    let values = CATALOGUE.iter().filter_map(|entry| {
        let parameter = entry.parameters.iter().find(|known| known.name == name)?;
        let value = match &parameter.kind {
            ParameterKind::Flag { default } => json!(default),
            ParameterKind::Choice { default, .. } => json!(default),
            ParameterKind::Number { default, .. }
            | ParameterKind::Weights { default, .. }
            | ParameterKind::Factor { default } => match default.fract() {
                0.0 => json!(*default as i64),
                _ => json!(default),
            },
            ParameterKind::Count { minimum, .. } => json!(minimum.max(&2)),
            ParameterKind::Decimal { .. } => json!("3"),
            ParameterKind::Bits => json!("101"),
        };
        Some((entry.name.to_owned(), value))
    });
    values.collect()
}
