//! The schema of data in JSON, which a streaming reader stands behind and no derive can describe.

use serde_json::{Value, json};
use utoipa::openapi::schema::Schema;
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

/// Data as a request names them: see `crate::formats::DataForm`.
pub struct Data;

impl PartialSchema for Data {
    fn schema() -> RefOr<Schema> {
        // Completed by `schema` below when the document is written.
        Schema::default().into()
    }
}

impl ToSchema for Data {}

/// A reference to the schema.
pub fn reference() -> RefOr<Schema> {
    Ref::from_schema_name("Data").into()
}

/// The schema itself.
pub fn schema(n_max: u64) -> Value {
    let bits = json!({"type": "string", "pattern": "^[01]+$", "maxLength": n_max,
        "description": "One character a feature, coordinate 1 first"});
    let example = json!({"description": "A bit string, or numbers: all 0/1 or all -1/1 are \
        Boolean, anything else is real-valued",
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
        "description": "`uniform` with labels, the others without"});
    let generated = json!({
        "n": {"type": "integer", "minimum": 1, "maximum": n_max},
        "target": {"type": "object", "required": ["binary_weights"],
            "additionalProperties": false, "properties": {"binary_weights": {
                "type": "object", "additionalProperties": false, "properties": {"weights": {
                    "type": ["string", "null"], "pattern": "^[01]+$", "maxLength": n_max,
                    "description": "n characters; drawn from the seed when absent"}}}}},
        "sampling": {"type": "string", "enum": ["uniform-positive", "reflected", "uniform"]},
        "count": {"type": ["integer", "null"], "minimum": 1},
        "noise": probability(0.5),
        "density": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
    });
    json!({"description": "Data: exactly one of these forms", "oneOf": [
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
    ]})
}
