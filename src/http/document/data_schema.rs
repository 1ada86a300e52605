//! The JSON Schema of data for the OpenAPI document, written by hand: a streaming parser reads such data, so there is
//! no type that a derive macro could describe.

use halfspace_core::learners::sample::target::WEIGHT_MAX;
use halfspace_formats::{LITERALS_MAX, row_option_names};
use serde_json::{Map, Value, json};
use utoipa::openapi::schema::Schema;
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

use crate::http::limits::N_MAX;

/// Data in a request, which the parser reads as a `halfspace_formats::DataForm`.
pub struct Data;

impl PartialSchema for Data {
    fn schema() -> RefOr<Schema> {
        // `components` below replaces this schema when the document is written.
        Schema::default().into()
    }
}

impl ToSchema for Data {}

/// A reference to the schema `Data`.
pub fn reference() -> RefOr<Schema> {
    Ref::from_schema_name("Data").into()
}

/// The components that describe data, by name.
pub fn components() -> Value {
    let named = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
    let or_null = |name: &str| json!({"oneOf": [named(name), {"type": "null"}]});
    let list = |name: &str| json!({"type": "array", "minItems": 1, "items": named(name)});
    let n = json!({"type": "integer", "minimum": 1, "maximum": N_MAX});
    let mut components = json!({
        "Data": one_of("Data. Exactly one of the properties is present", json!({
            "half_space": named("HalfSpaceData"),
            "labelled": named("LabelledData"),
            "unlabelled": named("UnlabelledData"),
            "packed": named("PackedData"),
            "rows": list("Row"),
            "table": named("TableData"),
            "generated": named("GeneratedData"),
            // A union of a text and an object would be a type of its own in generated clients, which then take no text.
            "dataset": {
                "description": "A stored dataset: its id, or an object with `id`, and with `assume` or with the class \
                                `positive` to tell from all others"}})),
        "HalfSpaceData": object("Positive examples of a half-space", &["examples"], json!({
            "examples": list("Features"), "assume": or_null("HalfSpaceAssume")})),
        "Row": {"type": "object", "minProperties": 1,
            "description": "A row of a table: one member per column",
            "additionalProperties": true},
        "TableData": table_data(list("Row")),
        "HalfSpaceAssume": {"type": "string", "enum": ["independent", "uniform-positive", "reflected"]},
        "LabelledData": object("Examples with labels", &["examples"], json!({
            "examples": list("LabelledExample"), "assume": or_null("LabelledAssume")})),
        "LabelledAssume": {"type": "string", "enum": ["independent", "uniform"]},
        "LabelledExample": object("An example and its label", &["x", "y"], json!({
            "x": named("Features"),
            "y": named("Label")})),
        "Label": {
            "description": "1 if the example is positive, otherwise 0 or -1. For a model or a session: the name of \
                            a class",
            "oneOf": [{"type": "number", "format": "double"}, {"type": "string"}, {"type": "boolean"}]},
        "UnlabelledData": object("Examples without labels", &["examples"],
            json!({"examples": list("Features")})),
        // As for a dataset: generated clients would have a type of their own for a text, a list and an object.
        "Features": {
            "description": "The features of an example: a bit string with one character per feature, a list of \
                            numbers, or names. Numbers that are all 0/1 or all -1/1 are Boolean; other numbers are \
                            real. Names are a list of the active ones in any order, or an object with their values, \
                            in which a text is a part of the name: `\"w\": \"the\"` is the feature `w=the`"},
        "PackedData": object("Bits of Boolean examples", &["n", "rows"], json!({
            "n": n,
            "rows": {"type": "string", "contentEncoding": "base64"},
            "labels": {"type": ["string", "null"], "contentEncoding": "base64"},
            "bit_order": {"type": "string", "enum": ["big", "little"], "default": "big"},
            "assume": or_null("Assume")})),
        "GeneratedData": object("Examples that the service draws", &["n", "target", "sampling"],
            json!({
                "n": n,
                "target": named("Target"),
                "sampling": {"type": "string", "enum": ["uniform-positive", "reflected", "uniform"]},
                "count": {"type": ["integer", "null"], "minimum": 1},
                "noise": {"type": "number", "minimum": 0, "maximum": 0.5},
                "density": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}})),
    });
    for (name, target) in targets() {
        components[name] = target;
    }
    components
}

/// Rows and the options of data, which have the names of the query parameters.
fn table_data(rows: Value) -> Value {
    let names = row_option_names().chain(["encoding"]);
    let option = |name| {
        let number = matches!(name, "n" | "bins");
        (
            name.to_owned(),
            json!({"type": if number { "integer" } else { "string" }}),
        )
    };
    let mut properties: Map<String, Value> = names.map(option).collect();
    properties.insert("rows".to_owned(), rows);
    let description = "Rows of a table. The other properties mean the same as the query parameters";
    object(description, &["rows"], properties.into())
}

/// The schemas of the target concept of generated data: one property per class of concepts.
fn targets() -> [(&'static str, Value); 6] {
    let class = |description: &str, properties: Value| object(description, &[], properties);
    let count = |most: u64| json!({"type": ["integer", "null"], "minimum": 1, "maximum": most});
    let variable = |least: i64| json!({"type": "integer", "minimum": least, "maximum": N_MAX});
    let list = |items: Value| {
        json!({"type": ["array", "null"], "minItems": 1, "maxItems": LITERALS_MAX,
            "items": items})
    };
    let signed = variable(-(N_MAX as i64));
    let term = json!({"type": "array", "minItems": 1, "items": signed});
    let named = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
    let target = one_of(
        "The concept. Exactly one of the properties is present. Missing parts of the concept are drawn \
         from the seed",
        json!({"binary_weights": named("BinaryWeightsTarget"), "disjunction": named("DisjunctionTarget"),
            "dnf": named("DnfTarget"), "threshold": named("ThresholdTarget"),
            "parity": named("ParityTarget")}),
    );
    [
        ("Target", target),
        (
            "BinaryWeightsTarget",
            class(
                "The sign of a sum of the features with weights 1 or -1",
                json!({"weights": {"type": ["string", "null"], "pattern": "^[01]+$",
                    "maxLength": N_MAX, "description": "n characters; 1 means +1"}}),
            ),
        ),
        (
            "DisjunctionTarget",
            class(
                "At least one of the literals is true. A negated literal has a minus sign",
                json!({"variables": list(signed.clone()), "size": count(N_MAX)}),
            ),
        ),
        (
            "DnfTarget",
            class(
                "All literals of at least one term are true",
                json!({"terms": list(term), "terms_count": count(LITERALS_MAX as u64),
                    "size": count(N_MAX)}),
            ),
        ),
        (
            "ThresholdTarget",
            class(
                "The weights of the active features add up to theta or more",
                json!({"weights": {"type": ["array", "null"], "maxItems": N_MAX,
                    "items": {"type": "integer", "minimum": -WEIGHT_MAX, "maximum": WEIGHT_MAX}},
                    "theta": {"type": ["integer", "null"]}}),
            ),
        ),
        (
            "ParityTarget",
            class(
                "An odd number of the variables is 1",
                json!({"variables": list(variable(1)), "size": count(N_MAX)}),
            ),
        ),
    ]
}

fn object(description: &str, required: &[&str], properties: Value) -> Value {
    json!({"type": "object", "description": description, "required": required,
        "additionalProperties": false, "properties": properties})
}

/// A choice of one property. Client generators turn such an object into a type with optional fields.
fn one_of(description: &str, properties: Value) -> Value {
    json!({"type": "object", "description": description, "minProperties": 1, "maxProperties": 1,
        "additionalProperties": false, "properties": properties})
}
