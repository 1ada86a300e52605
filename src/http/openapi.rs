//! The OpenAPI document and the page of the API reference.
//!
//! Each route declares its own parameters, bodies and answers. This module adds the parts that hold for
//! many routes: the security scheme, the tags, the header of replayed answers and the error responses.

use axum::Router;
use serde_json::{Map, Value, json};
use utoipa::openapi::security::SecurityRequirement;
use utoipa::openapi::tag::TagBuilder;
use utoipa::openapi::{
    ContactBuilder, InfoBuilder, LicenseBuilder, OpenApi, OpenApiBuilder, Server,
};
use utoipa_swagger_ui::{Config, SwaggerUi};

use crate::records::train::{Positive, StopRuleName};

use super::idempotency::{KEY, REPLAYED};
use super::keys::needs_key;
use super::limits::Limits;
use super::problem::Code;
use super::schemas::{self, schema_of};

/// The name of the security scheme.
const SCHEME: &str = "bearer";

/// The tags of the operations.
const TAGS: [(&str, &str); 10] = [
    ("constructions", "Examples and formulas from proofs."),
    ("datasets", "Stored examples."),
    ("experiments", "Ready-made figures."),
    ("inference", "The Open Inference Protocol, version 2."),
    (
        "jobs",
        "Durable work: trainings, certificates, evaluations, experiments and grids.",
    ),
    (
        "learners",
        "The catalogue of learners and trainings of one learner.",
    ),
    ("models", "Stored hypotheses, which predict."),
    ("service", "State, limits and documents of the service."),
    (
        "sessions",
        "Learners that read examples while the client sends them.",
    ),
    ("theory", "Bounds and thresholds of theorems."),
];

/// Returns the document without routes.
pub fn base() -> OpenApi {
    let description = "Learning as a service: named learners run as durable jobs over labelled or \
                       half-space Boolean examples. Each `oneOf` with a discriminator is closed: \
                       this release serves no other variant.";
    let contact = ContactBuilder::new().name(Some("halfspace")).build();
    let license = LicenseBuilder::new()
        .name(env!("CARGO_PKG_LICENSE"))
        .identifier(Some(env!("CARGO_PKG_LICENSE")))
        .build();
    let info = InfoBuilder::new()
        .title("halfspace")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(description))
        .contact(Some(contact))
        .license(Some(license));
    let tag = |(name, text): &(&str, &str)| {
        TagBuilder::new()
            .name(*name)
            .description(Some(*text))
            .build()
    };
    // A request needs no key until the first key is created.
    let security = [
        SecurityRequirement::default(),
        SecurityRequirement::new(SCHEME, [""; 0]),
    ];
    OpenApiBuilder::new()
        .info(info)
        .servers(Some([Server::new("/")]))
        .security(Some(security))
        .tags(Some(TAGS.iter().map(tag)))
        .build()
}

/// Returns the routes of the API reference, which loads nothing from other hosts.
pub fn docs<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let config = Config::new(["/openapi.json"]).validator_url("none");
    SwaggerUi::new("/docs").config(config).into()
}

/// Returns the completed document as JSON, with these limits in its schemas.
pub fn text(document: OpenApi, limits: &Limits) -> String {
    let mut document = serde_json::to_value(document).unwrap_or_default();
    schemas::complete(&mut document["components"]["schemas"], limits.n_max);
    document["components"]["securitySchemes"][SCHEME] = json!({"type": "http",
        "scheme": "bearer", "description": "The secret of an API key. Requests need no key until \
                                            the first key is created (`halfspace keys create`)."});
    if let Some(paths) = document["paths"].as_object_mut() {
        for (path, operations) in paths {
            let operations = operations.as_object_mut();
            for (method, operation) in operations.into_iter().flatten() {
                complete_parameters(operation, limits.n_max);
                refuse_null(operation);
                declare_replays(operation);
                declare_key(path, operation);
                declare_problems(path, method, operation);
            }
        }
    }
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    text
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
            Some("header") => json!({"type": "string", "enum": ["auto", "true", "false"]}),
            // Clients would send a default, and formats without packed bits refuse the parameter.
            Some("bit_order") => json!({"type": "string", "enum": ["big", "little"]}),
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
        "schema": {"type": "string", "enum": ["true"]}});
    for (status, response) in operation["responses"].as_object_mut().into_iter().flatten() {
        if status.starts_with('2') {
            response["headers"][REPLAYED.as_str()] = header.clone();
        }
    }
}

/// Declares the answer to a missing key below `/v1` and `/v2`. Other paths need no key.
fn declare_key(path: &str, operation: &mut Value) {
    if !needs_key(path) {
        operation["security"] = json!([]);
        return;
    }
    if let Some(responses) = operation["responses"].as_object_mut() {
        let status = Code::UNAUTHORIZED.status();
        let mut response = problem_response(status);
        response["headers"]["WWW-Authenticate"] = json!({
            "description": "The authentication scheme.",
            "schema": {"type": "string", "enum": ["Bearer"]}});
        responses.insert(status.as_str().to_owned(), response);
    }
}

/// Declares the error responses of an operation, derived from its path, method and parameters.
fn declare_problems(path: &str, method: &str, operation: &mut Value) {
    let has_body = operation.get("requestBody").is_some();
    let mut codes = vec![
        Code::INVALID_PARAMETER,
        Code::FOREIGN_HOST,
        Code::METHOD_NOT_ALLOWED,
        Code::INTERNAL,
        Code::UNAVAILABLE,
    ];
    if path.contains('{') {
        codes.push(Code::NOT_FOUND);
    }
    if ["/trace", "/figure", "/examples", "/models/{id}/predict"]
        .iter()
        .any(|end| path.ends_with(end))
    {
        codes.push(Code::NOT_ACCEPTABLE);
    }
    if path.ends_with("/examples") {
        codes.push(Code::TOO_LARGE);
    }
    // Permits per key limit pages of a dataset, figures, event streams and every route that reads a body.
    let is_shared = ["/events", "/figure", "/examples"];
    if has_body || is_shared.iter().any(|end| path.ends_with(end)) {
        codes.push(Code::TOO_MANY_AT_ONCE);
    }
    if has_body {
        codes.extend([
            Code::TIMEOUT,
            Code::TOO_LARGE,
            Code::UNSUPPORTED_MEDIA_TYPE,
            Code::WRONG_DATA,
        ]);
    }
    if takes_key(operation) {
        codes.extend([
            Code::IDEMPOTENCY_IN_FLIGHT,
            Code::IDEMPOTENCY_GONE,
            Code::IDEMPOTENCY_MISMATCH,
            // The body of a request with a key is always read, because the key also covers the body.
            Code::TIMEOUT,
            Code::TOO_LARGE,
            Code::UNKNOWN_CODING,
        ]);
    }
    if path.starts_with("/v1/sessions") {
        codes.push(Code::WRONG_DATA);
    }
    if stores(path, method) {
        // The limit of one key. The limit of the whole service has status 503.
        codes.push(Code::TOO_MANY_BYTES);
    }
    if path == "/v1/sessions/{id}/examples" {
        codes.extend([Code::SESSION_ENDED, Code::STALE_POSITION]);
    }
    if method != "get" {
        codes.push(Code::STORAGE_FULL);
    }
    if !has_body && method != "get" {
        codes.push(Code::WRONG_STATE);
    }
    if let Some(responses) = operation["responses"].as_object_mut() {
        for code in codes {
            let status = code.status();
            responses.insert(status.as_str().to_owned(), problem_response(status));
        }
        sort_by_status(responses);
    }
}

/// Returns whether the operation may store something.
fn stores(path: &str, method: &str) -> bool {
    let ends = [
        "/jobs",
        "/train",
        "/datasets",
        "/models",
        "/sessions",
        "/examples",
        "/model",
        "/experiments/{figure}",
        "/kernel-perceptron-adversary",
        "/winnow-counting",
    ];
    method == "post" && ends.iter().any(|end| path.ends_with(end))
}

fn problem_response(status: axum::http::StatusCode) -> Value {
    let schema = json!({"$ref": "#/components/schemas/Problem"});
    let description = status.canonical_reason().unwrap_or("Error");
    let content = json!({"application/problem+json": {"schema": schema}});
    json!({"description": description, "content": content})
}

fn sort_by_status(responses: &mut Map<String, Value>) {
    let mut sorted: Vec<_> = std::mem::take(responses).into_iter().collect();
    sorted.sort_by(|(a, _), (b, _)| a.cmp(b));
    responses.extend(sorted);
}
