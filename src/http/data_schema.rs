//! The JSON Schema of data for the OpenAPI document. A streaming parser reads such data, so no derive macro
//! can describe them.

use halfspace_core::learners::sample::target::WEIGHT_MAX;
use halfspace_formats::LITERALS_MAX;
use serde_json::{Value, json};
use utoipa::openapi::schema::Schema;
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

use crate::records::DatasetId;

/// Data in a request. The parser reads them as a `halfspace_formats::DataForm`.
pub struct Data;

impl PartialSchema for Data {
    fn schema() -> RefOr<Schema> {
        // `schema` below replaces this schema when the document is written.
        Schema::default().into()
    }
}

impl ToSchema for Data {}

/// A reference to the schema `Data`.
pub fn reference() -> RefOr<Schema> {
    Ref::from_schema_name("Data").into()
}

/// The schema of the target concept of generated data: one class of concepts, selected by name.
fn target(n_max: u64) -> Value {
    let class = |name: &str, description: &str, properties: Value| {
        let fields = json!({"type": "object", "additionalProperties": false,
            "description": description, "properties": properties});
        json!({"type": "object", "required": [name], "additionalProperties": false,
            "properties": {name: fields}})
    };
    let count = |most: u64| json!({"type": ["integer", "null"], "minimum": 1, "maximum": most});
    let variable = |least: i64| json!({"type": "integer", "minimum": least, "maximum": n_max});
    let list = |items: Value| {
        json!({"type": ["array", "null"], "minItems": 1, "maxItems": LITERALS_MAX,
            "items": items})
    };
    let signed = variable(-(n_max as i64));
    let term = json!({"type": "array", "minItems": 1, "items": signed});
    json!({"description": "The concept. Missing parts are drawn from the seed", "oneOf": [
        class("binary_weights", "The sign of a sum of the features with weights 1 or -1",
            json!({"weights": {"type": ["string", "null"], "pattern": "^[01]+$",
                "maxLength": n_max, "description": "n characters; 1 means +1"}})),
        class("disjunction", "At least one of the literals is true. A negated literal has a minus \
                              sign",
            json!({"variables": list(signed.clone()), "size": count(n_max)})),
        class("dnf", "All literals of at least one term are true", json!({"terms": list(term),
            "terms_count": count(LITERALS_MAX as u64), "size": count(n_max)})),
        class("threshold", "The weights of the active features add up to theta or more", json!({
            "weights": {"type": ["array", "null"], "maxItems": n_max,
                "items": {"type": "integer", "minimum": -WEIGHT_MAX, "maximum": WEIGHT_MAX}},
            "theta": {"type": ["integer", "null"]}})),
        class("parity", "An odd number of the variables is 1",
            json!({"variables": list(variable(1)), "size": count(n_max)})),
    ]})
}

/// The schema `Data`. Examples have at most `n_max` features.
pub fn schema(n_max: u64) -> Value {
    let bits = json!({"type": "string", "pattern": "^[01]+$", "maxLength": n_max,
        "description": "One character per feature; coordinate 1 comes first"});
    let example = json!({"description": "A bit string, or a list of numbers. Numbers that are all \
                                         0/1 or all -1/1 are Boolean; other numbers are real",
        "oneOf": [bits, {"type": "array", "minItems": 1, "maxItems": n_max,
            "items": {"type": "number"}}]});
    let labelled = json!({"type": "object", "required": ["x", "y"], "additionalProperties": false,
        "properties": {"x": example, "y": {"type": "integer", "enum": [1, 0, -1]}}});
    let list = |items: &Value| json!({"type": "array", "minItems": 1, "items": items});
    let probability = |maximum: f64| json!({"type": "number", "minimum": 0, "maximum": maximum});
    let form = |name: &str, required: &[&str], properties: Value| {
        json!({"type": "object", "required": [name], "additionalProperties": false, "properties": {
            name: {"type": "object", "required": required, "additionalProperties": false,
                "properties": properties}}})
    };
    let half_space_assume = json!({"type": ["string", "null"],
        "enum": ["uniform-positive", "reflected", null]});
    let uniform_assume = json!({"type": ["string", "null"], "enum": ["uniform", null]});
    let packed_assume = json!({"type": ["string", "null"],
        "enum": ["uniform-positive", "reflected", "uniform", null],
        "description": "`uniform` draws labelled examples; the others draw half-space examples"});
    let generated = json!({
        "n": {"type": "integer", "minimum": 1, "maximum": n_max},
        "target": target(n_max),
        "sampling": {"type": "string", "enum": ["uniform-positive", "reflected", "uniform"]},
        "count": {"type": ["integer", "null"], "minimum": 1},
        "noise": probability(0.5),
        "density": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
    });
    json!({"description": "Data in exactly one of these forms", "oneOf": [
        form("half_space", &["examples"],
            json!({"examples": list(&example), "assume": half_space_assume})),
        form("labelled", &["examples"],
            json!({"examples": list(&labelled), "assume": uniform_assume})),
        form("unlabelled", &["examples"], json!({"examples": list(&example)})),
        form("packed", &["n", "rows"], json!({
            "n": {"type": "integer", "minimum": 1, "maximum": n_max},
            "rows": {"type": "string", "contentEncoding": "base64"},
            "labels": {"type": ["string", "null"], "contentEncoding": "base64"},
            "bit_order": {"type": "string", "enum": ["big", "little"], "default": "big"},
            "assume": packed_assume})),
        form("generated", &["n", "target", "sampling"], generated),
        json!({"type": "object", "required": ["dataset"], "additionalProperties": false,
            "properties": {"dataset": {"type": "string", "pattern": DatasetId::pattern(),
                "description": "The id of a stored dataset"}}}),
    ]})
}
