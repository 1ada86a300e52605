//! The OpenAPI document and the page of the API reference.
//!
//! Each route declares its own parameters, bodies and answers. This module adds the parts that hold for
//! many routes or that no derive can express: the schemas of learners, data, experiments and problems, the
//! security scheme and the header of replayed answers.

use axum::Router;
use halfspace_core::learners::engine::catalogue::CATALOGUE;
use halfspace_core::learners::engine::parameters;
use serde_json::{Value, json};
use utoipa::openapi::{InfoBuilder, OpenApi, OpenApiBuilder};
use utoipa::{PartialSchema, ToSchema};
use utoipa_swagger_ui::{Config, SwaggerUi};

use crate::records::train::{Positive, SeedNumber, StopRuleName};

use super::data_schema;
use super::declared;
use super::extract::format_name;
use super::idempotency::{KEY, REPLAYED};
use super::keys::needs_key;
use super::limits::Limits;
use super::links;
use super::problem::{FieldError, ProblemDocument};
use super::request_examples;
use super::tasks::JobRequest;

/// Returns the document without routes.
pub fn base() -> OpenApi {
    let description = "Learning as a service: named learners run as durable jobs over labelled or \
                       half-space Boolean examples.";
    let info = InfoBuilder::new()
        .title("halfspace")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(description));
    OpenApiBuilder::new().info(info).build()
}

/// Returns the routes of the API reference, which loads nothing from other hosts.
pub fn docs<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let config = Config::new(["/openapi.json"]).validator_url("none");
    SwaggerUi::new("/docs").config(config).into()
}

/// Returns the completed document as JSON, with these limits in its schemas.
pub fn text(document: OpenApi, limits: &Limits) -> String {
    let mut document = serde_json::to_value(document).unwrap_or_default();
    complete_schemas(&mut document, limits.n_max);
    document["components"]["securitySchemes"]["bearer"] = json!({"type": "http",
        "scheme": "bearer", "description": "The secret of an API key. Requests need no key until \
                                            the first key is created (`halfspace keys create`)."});
    if let Some(paths) = document["paths"].as_object_mut() {
        for (path, operations) in paths {
            let operations = operations.as_object_mut();
            for (method, operation) in operations.into_iter().flatten() {
                complete_parameters(operation, limits.n_max);
                refuse_null(operation);
                declare_replays(operation);
                if needs_key(path) {
                    operation["security"] = json!([{}, {"bearer": []}]);
                }
                declared::declare(path, method, operation);
                links::complete(operation);
                request_examples::complete(operation);
            }
        }
    }
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    text
}

/// Adds the schemas that no derive can express: the union over the catalogue, the forms of data, the one
/// task of a job, the experiments and the problem.
fn complete_schemas(document: &mut Value, n_max: u64) {
    let schemas = &mut document["components"]["schemas"];
    let learner = |entry: &&halfspace_core::learners::engine::catalogue::Entry| {
        json!({"type": "object", "title": entry.title, "required": ["name"],
            "additionalProperties": false, "properties": {
                "name": {"type": "string", "const": entry.name},
                "params": parameters::schema(entry.parameters)}})
    };
    schemas["LearnerSpec"] = json!({"description": "A learner and its parameters",
        "oneOf": CATALOGUE.iter().map(learner).collect::<Vec<_>>()});
    schemas["Data"] = data_schema::schema(n_max);
    let one_task = JobRequest::TASKS.map(|task| json!({"required": [task]}));
    schemas["JobRequest"]["oneOf"] = one_task.to_vec().into();
    // The task of a job determines the type of its result. `oneOf` would be wrong, because the fields of
    // one result may match several schemas.
    if let Some(results) = schemas["JobResult"].as_object_mut()
        && let Some(any) = results.remove("oneOf")
    {
        results.insert("anyOf".to_owned(), any);
    }
    let experiments = schemas["ExperimentSpec"]["oneOf"].as_array().cloned();
    let with_seed = |mut experiment: Value| {
        experiment["properties"]["seed"] = schema_of::<SeedNumber>();
        experiment["required"] = json!(["name"]);
        experiment["additionalProperties"] = false.into();
        experiment
    };
    schemas["ExperimentRequest"] = json!({"description": "An experiment, its parameters and its seed",
        "oneOf": experiments.into_iter().flatten().map(with_seed).collect::<Vec<_>>()});
    schemas["FieldError"] = schema_of::<FieldError>();
    schemas["Problem"] = schema_of::<ProblemDocument>();
}

/// Removes null from the schema of an optional body, which may be absent but not null.
fn refuse_null(operation: &mut Value) {
    let schema = operation.pointer_mut("/requestBody/content/application~1json/schema");
    if let Some(schema) = schema
        && let Some(choices) = schema["oneOf"].as_array()
        && let [body, null] = choices.as_slice()
        && *null == json!({"type": "null"})
    {
        *schema = body.clone();
    }
}

/// Adds the schemas of query parameters that spell out `stop`, the reading of a body, or the sampling.
fn complete_parameters(operation: &mut Value, n_max: u64) {
    let content = operation.pointer("/responses/200/content");
    let content = content.and_then(Value::as_object);
    let media_types = content.into_iter().flat_map(|content| content.keys());
    let formats: Vec<_> = media_types
        .map(|name| format_name(name).to_owned())
        .collect();
    let parameters = operation
        .get_mut("parameters")
        .and_then(Value::as_array_mut);
    for parameter in parameters.into_iter().flatten() {
        if parameter["in"] != "query" {
            continue;
        }
        let schema = match parameter["name"].as_str() {
            Some("assume") => json!({"type": "string",
                "enum": ["uniform-positive", "reflected", "uniform"]}),
            Some("format") => json!({"type": "string", "enum": formats}),
            Some("header") => json!({"type": "string", "enum": ["auto", "true", "false"]}),
            Some("bit_order") => json!({"type": "string", "enum": ["big", "little"],
                "default": "big"}),
            Some("labels") => json!({"type": "string", "minLength": 1}),
            Some("rule") => schema_of::<StopRuleName>(),
            Some("confidence") => json!({"type": "number",
                "exclusiveMinimum": 0, "exclusiveMaximum": 1}),
            Some("max_passes" | "max_mistakes" | "max_examples") => schema_of::<Positive>(),
            Some("max_seconds") => json!({"type": "number", "exclusiveMinimum": 0}),
            // A theory route may have a lower maximum than an example.
            Some("n") if parameter["schema"]["maximum"].is_null() => {
                json!({"type": "integer", "minimum": 1, "maximum": n_max})
            }
            Some("sampling") => json!({"type": "string", "default": "uniform-positive",
                "enum": ["uniform-positive", "reflected", "uniform"]}),
            _ => continue,
        };
        parameter["schema"] = schema;
    }
}

fn schema_of<T: PartialSchema + ToSchema>() -> Value {
    serde_json::to_value(T::schema()).unwrap_or_default()
}

/// Returns whether the operation accepts an idempotency key.
fn takes_key(operation: &Value) -> bool {
    let parameters = operation["parameters"].as_array();
    parameters.is_some_and(|all| all.iter().any(|parameter| parameter["name"] == KEY))
}

/// Declares the header of an answer that repeats the result of an earlier request.
fn declare_replays(operation: &mut Value) {
    if !takes_key(operation) {
        return;
    }
    let header = json!({"description": "`true` if an earlier request under the same \
                                        Idempotency-Key created the thing. The answer shows the \
                                        thing in its current state.",
        "schema": {"type": "string", "const": "true"}});
    for (status, response) in operation["responses"].as_object_mut().into_iter().flatten() {
        if status.starts_with('2') {
            response["headers"][REPLAYED.as_str()] = header.clone();
        }
    }
}
