//! The schemas of the OpenAPI document that no derive can express: learners, data, experiments, and the named
//! variants of unions.
//!
//! Client generators can decode a union if each variant is a component with a required tag of a single value, and a
//! discriminator maps the tags to the components. The programs in `tests/clients` check this.

use halfspace_core::learners::catalogue::CATALOGUE;
use halfspace_core::learners::engine::entry::LearnerEntry;
use halfspace_core::learners::engine::parameters;
use serde_json::{Map, Value, json};
use utoipa::{PartialSchema, ToSchema};

use crate::records::train::SeedNumber;

use crate::http::document::data_schema;
use crate::http::problem::{FieldError, ProblemDocument};

/// The tagged unions: component, tag, and suffix of the names of the variants. The variants of `JobResult`
/// have names already.
const UNIONS: [(&str, &str, &str); 8] = [
    ("JobResult", "task", ""),
    ("HypothesisDocument", "kind", "Hypothesis"),
    ("CertificateDocument", "kind", "Certificate"),
    ("Certificate", "kind", "Certificate"),
    ("ReceiptData", "kind", "ReceiptData"),
    ("LearnerSpec", "name", "Learner"),
    ("ExperimentSpec", "name", "Experiment"),
    ("ExperimentRequest", "name", "ExperimentRequest"),
];

/// Completes the components of the document.
pub fn complete(schemas: &mut Value) {
    schemas["LearnerSpec"] = json!({"description": "A learner and its parameters",
        "oneOf": CATALOGUE.iter().map(|entry| learner(entry)).collect::<Vec<_>>()});
    schemas["InitialWeights"] = json!({"description": "One number for all weights, or a list",
        "oneOf": [{"type": "number"}, {"type": "array", "minItems": 1,
            "items": {"type": "number"}}]});
    let experiments = schemas["ExperimentSpec"]["oneOf"].as_array().cloned();
    let with_seed = |mut experiment: Value| {
        experiment["properties"]["seed"] = schema_of::<SeedNumber>();
        experiment["required"] = json!(["name"]);
        experiment["additionalProperties"] = false.into();
        experiment
    };
    schemas["ExperimentRequest"] = json!({"description": "An experiment, its parameters and its seed",
        "oneOf": experiments.into_iter().flatten().map(with_seed).collect::<Vec<_>>()});
    let fields = schemas["JobRequest"]["properties"].clone();
    for field in fields.as_object().into_iter().flat_map(Map::values) {
        let task = field["$ref"]
            .as_str()
            .and_then(|task| task.rsplit('/').next());
        let without_data = ["ExperimentRequest", "GridRequest", "ImportRequest"];
        if let Some(task) = task.filter(|task| !without_data.contains(task)) {
            add_data(&mut schemas[task]);
        }
    }
    schemas["Certificate"] = certificates(schemas);
    for limits in ["Limits", "LimitsAnswer"] {
        omit_advice(&mut schemas[limits]);
    }
    schemas["FieldError"] = schema_of::<FieldError>();
    schemas["Problem"] = schema_of::<ProblemDocument>();
    if let (Some(schemas), Value::Object(data)) =
        (schemas.as_object_mut(), data_schema::components())
    {
        schemas.extend(data);
        for (union, tag, suffix) in UNIONS {
            name_variants(schemas, union, tag, suffix);
        }
    }
}

/// Removes from each limit the paragraph for operators that says when to set it.
fn omit_advice(limits: &mut Value) {
    let parts = limits.get_mut("allOf").and_then(Value::as_array_mut);
    parts.into_iter().flatten().for_each(omit_advice);
    let properties = limits.get_mut("properties").and_then(Value::as_object_mut);
    for limit in properties.into_iter().flat_map(Map::values_mut) {
        let told = limit.get("description").and_then(Value::as_str);
        let told = told.and_then(|told| told.split_once("\n\nSet it "));
        if let Some((told, _)) = told {
            limit["description"] = told.to_owned().into();
        }
    }
}

/// Adds the fields that the document of a job has among those of its task.
fn add_data(task: &mut Value) {
    task["properties"]["data"] = json!({"$ref": reference("Data")});
    task["properties"]["seed"] = seed();
    match task["required"].as_array_mut() {
        Some(required) => required.push("data".into()),
        None => task["required"] = json!(["data"]),
    }
}

/// The schema of the seed of a task.
pub fn seed() -> Value {
    let description =
        "Seed of every random choice. When absent, the service draws a seed and reports the seed.";
    let seed = json!({"$ref": reference("SeedNumber"), "description": description});
    json!({"oneOf": [seed, {"type": "null"}]})
}

pub fn schema_of<T: PartialSchema + ToSchema>() -> Value {
    serde_json::to_value(T::schema()).unwrap_or_default()
}

/// The union of certificates. Each variant has the fields of its claim and those of all certificates.
fn certificates(schemas: &mut Value) -> Value {
    let common = schemas["Certificate"]["allOf"][1].take();
    let claims = schemas["Claim"]["oneOf"].as_array().cloned();
    let whole = |mut claim: Value| {
        for (name, schema) in common["properties"].as_object().into_iter().flatten() {
            claim["properties"][name] = schema.clone();
        }
        if let Some(required) = claim["required"].as_array_mut() {
            required.extend(common["required"].as_array().cloned().unwrap_or_default());
        }
        claim
    };
    let variants: Vec<Value> = claims.into_iter().flatten().map(whole).collect();
    if let Some(schemas) = schemas.as_object_mut() {
        schemas.remove("Claim");
    }
    json!({"description": schemas["Certificate"]["description"], "oneOf": variants})
}

fn reference(name: &str) -> Value {
    format!("#/components/schemas/{name}").into()
}

fn learner(entry: &LearnerEntry) -> Value {
    let mut params = parameters::schema(entry.parameters);
    name_numbers(&mut params);
    json!({"type": "object", "description": entry.title, "required": ["name"],
        "additionalProperties": false, "properties": {
            "name": {"type": "string", "enum": [entry.name]}, "params": params}})
}

/// Replaces parameters of several types by references to named unions. The bounds stay beside the reference.
fn name_numbers(params: &mut Value) {
    let properties = params["properties"].as_object_mut();
    for parameter in properties.into_iter().flat_map(Map::values_mut) {
        if parameter["type"] == "object" {
            name_numbers(parameter);
            continue;
        }
        let is_number_or_text = [
            json!(["number", "string"]),
            json!(["string", "number", "null"]),
        ];
        let is_number_or_text = is_number_or_text.contains(&parameter["type"]);
        let Some(fields) = parameter.as_object_mut() else {
            continue;
        };
        if fields.remove("oneOf").is_some() {
            fields.insert("$ref".to_owned(), reference("InitialWeights"));
        } else if is_number_or_text {
            let types = fields.remove("type");
            fields.insert("$ref".to_owned(), reference("NumberOrDecimal"));
            if types.is_some_and(|types| types[2] == "null") {
                let description = fields.remove("description");
                *parameter = json!({"description": description,
                    "oneOf": [parameter, {"type": "null"}]});
            }
        }
    }
}

/// Turns the variants of a union into components and adds the discriminator.
fn name_variants(schemas: &mut Map<String, Value>, union: &str, tag: &str, suffix: &str) {
    let variants = schemas[union]["oneOf"].as_array().cloned();
    let mut mapping = Map::new();
    for variant in variants.into_iter().flatten() {
        let (name, value) = if let Some([component, tagged]) = slice(&variant["allOf"]) {
            let name = component["$ref"].as_str().unwrap_or_default();
            let name = name.rsplit('/').next().unwrap_or_default().to_owned();
            let tag_schema = &tagged["properties"][tag];
            require(&mut schemas[&name], tag, tag_schema);
            (name, tag_schema["enum"][0].clone())
        } else {
            let value = variant["properties"][tag]["enum"][0].clone();
            let name = pascal_case(value.as_str().unwrap_or_default()) + suffix;
            schemas.insert(name.clone(), variant);
            (name, value)
        };
        let value = value.as_str().unwrap_or_default().to_owned();
        mapping.insert(value, reference(&name));
    }
    let references = mapping.values().map(|name| json!({"$ref": name}));
    schemas[union]["oneOf"] = references.collect();
    schemas[union]["discriminator"] = json!({"propertyName": tag, "mapping": mapping});
}

fn slice(list: &Value) -> Option<&[Value]> {
    list.as_array().map(Vec::as_slice)
}

/// Adds a required property to a component, which may extend another component.
fn require(component: &mut Value, name: &str, schema: &Value) {
    let fields = match component["allOf"].as_array().map(Vec::len) {
        Some(parts) => &mut component["allOf"][parts - 1],
        None => component,
    };
    fields["properties"][name] = schema.clone();
    if let Some(required) = fields["required"].as_array_mut() {
        required.push(name.into());
    }
}

fn pascal_case(name: &str) -> String {
    let capital = |word: &str| {
        let (first, rest) = word.split_at(word.len().min(1));
        first.to_uppercase() + rest
    };
    name.split('-').map(capital).collect()
}
