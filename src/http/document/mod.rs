//! The OpenAPI document and the page of the API reference.
//!
//! Each route declares its own parameters, bodies and answers. This module adds what holds for many of them: the
//! security scheme, the tags, and the header that marks answers to retries.

pub mod data_schema;
pub mod declared;
pub mod links;
pub mod request_examples;
pub mod schemas;
pub mod train_parameters;

use axum::middleware::map_response;
use axum::response::Response;
use axum::{Extension, Router};
use serde_json::{Value, json};
use utoipa::openapi::security::SecurityRequirement;
use utoipa::openapi::tag::TagBuilder;
use utoipa::openapi::{
    ContactBuilder, InfoBuilder, LicenseBuilder, OpenApi, OpenApiBuilder, Server,
};
use utoipa_swagger_ui::{Config, SwaggerUi};

use halfspace_formats::Format;

use crate::http::extract::format_name;
use crate::http::extract::idempotency::REPLAYED;
use crate::http::limits::N_MAX;
use crate::http::middleware::compress::Constant;
use crate::http::middleware::keys::needs_key;
use crate::http::problem::IDEMPOTENCY_KEY;

/// The name of the security scheme.
const SCHEME: &str = "bearer";

/// The tags of the operations.
const TAGS: [(&str, &str); 11] = [
    ("constructions", "Examples and formulas from proofs."),
    (
        "datasets",
        "Stored examples, and previews of data that are not stored.",
    ),
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
    ("samples", "Tables to try."),
    ("service", "State, limits and documents of the service."),
    (
        "sessions",
        "Learners that read examples while the client sends them.",
    ),
    ("theory", "Bounds and thresholds of theorems."),
];

/// The document without routes.
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

/// The routes of the API reference, which loads nothing from other hosts.
pub fn docs<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let config = Config::new(["../openapi.json"]).validator_url("none");
    let routes: Router<S> = SwaggerUi::new("/docs").config(config).into();
    routes.layer(map_response(async |response: Response| {
        (Extension(Constant), response)
    }))
}

/// The completed document as JSON.
pub fn text(document: OpenApi) -> String {
    let mut document = serde_json::to_value(document).unwrap_or_default();
    schemas::complete(&mut document["components"]["schemas"]);
    document["components"]["securitySchemes"][SCHEME] = json!({"type": "http",
        "scheme": "bearer", "description": "The secret of an API key. Requests need no key until \
                                            the first key is created (`halfspace keys create`)."});
    if let Some(paths) = document["paths"].as_object_mut() {
        for (path, operations) in paths {
            let operations = operations.as_object_mut();
            for (method, operation) in operations.into_iter().flatten() {
                complete_parameters(operation);
                refuse_null(operation);
                list_data_formats(operation);
                declare_replays(operation);
                if !needs_key(path) {
                    operation["security"] = json!([]);
                }
                declared::declare(path, method, operation);
                links::complete(operation);
                request_examples::complete(operation);
            }
        }
    }
    complete_schema(&mut document);
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    text
}

/// Completes each schema for typed clients: states the width of a number, which clients otherwise read in 32 bits, and
/// moves the default of a union into the description, because the clients of Go and Java cannot construct the default.
fn complete_schema(schema: &mut Value) {
    let types = [&schema["type"], &schema["type"][0]];
    let is = |kind: &str| types.iter().any(|found| **found == kind);
    let format = match schema["maximum"].as_u64() {
        _ if is("number") => "double",
        Some(maximum) if is("integer") && i32::try_from(maximum).is_ok() => "int32",
        _ if is("integer") => "int64",
        _ => "",
    };
    if !format.is_empty() && schema["format"].is_null() {
        schema["format"] = format.into();
    }
    let default = &schema["default"];
    let is_union = schema["$ref"].is_string() && default.is_number() || default[0].is_object();
    if let Some(fields) = schema.as_object_mut().filter(|_| is_union) {
        let default = fields.remove("default").unwrap_or_default();
        let description = fields["description"].as_str().unwrap_or_default();
        let description = format!("{description} Default: `{default}`.");
        fields.insert("description".to_owned(), description.into());
    }
    match schema {
        Value::Object(fields) => fields.values_mut().for_each(complete_schema),
        Value::Array(parts) => parts.iter_mut().for_each(complete_schema),
        _ => {}
    }
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

/// Replaces the media type `*/*` of a body by forms and by every format of data but JSON, which has a schema of its
/// own.
fn list_data_formats(operation: &mut Value) {
    let content = operation.pointer_mut("/requestBody/content");
    let Some(content) = content.and_then(Value::as_object_mut) else {
        return;
    };
    if content.remove("*/*").is_none() {
        return;
    }
    for media_type in Format::media_types() {
        let schema = match Format::from_media_type(media_type) {
            Some(Format::Json) => continue,
            Some(format) if format.is_binary() => json!({"type": "string", "format": "binary"}),
            _ => json!({"type": "string"}),
        };
        content.insert(media_type.to_owned(), json!({"schema": schema}));
    }
    // Generators of clients would demand the fields of a schema in a fixed order.
    content.insert("multipart/form-data".to_owned(), json!({}));
}

/// Adds the schemas of query parameters that spell out the reading of a body, or the sampling.
fn complete_parameters(operation: &mut Value) {
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
                "enum": ["independent", "uniform-positive", "reflected", "uniform"]}),
            Some("format") => json!({"type": "string", "enum": formats}),
            Some("header") => json!({"type": "string", "enum": ["auto", "true", "false"]}),
            // Clients would send a default, and formats without packed bits refuse the parameter.
            Some("bit_order") => json!({"type": "string", "enum": ["big", "little"]}),
            Some("first_index") => json!({"type": "string", "enum": ["auto", "0", "1"]}),
            Some("lower_case") => json!({"type": "string", "enum": ["true", "false"]}),
            Some("occurrences") => json!({"type": "string", "enum": ["presence", "counts"]}),
            Some("vocabulary") => json!({"type": "string", "enum": ["auto", "open"]}),
            Some("labels" | "weights") => json!({"type": "string", "minLength": 1}),
            Some("numbers") => json!({"type": "string", "enum": ["real", "thermometer"]}),
            Some("missing") => {
                json!({"type": "string", "enum": ["value", "drop", "refuse", "mean", "median",
                "most-frequent", "indicator"]})
            }
            Some("scale") => json!({"type": "string", "enum": ["none", "standard", "range"]}),
            Some("unknown") => json!({"type": "string", "enum": ["refuse", "zero"]}),
            Some("delimiter") => {
                json!({"type": "string", "enum": ["auto", ",", ";", "|", "tab", "blank"]})
            }
            Some("comment") => json!({"type": "string", "minLength": 1, "maxLength": 1}),
            Some("label_threshold") => json!({"type": "number"}),
            Some("charset") => json!({"type": "string", "minLength": 1}),
            Some("decimal") => json!({"type": "string", "enum": [".", ","]}),
            Some("dates") => json!({"type": "string", "enum": ["dmy", "mdy"]}),
            Some("confidence" | "error") => json!({"type": "number",
                "exclusiveMinimum": 0, "exclusiveMaximum": 1}),
            // Clients would send a default, and samples without the parameter refuse it.
            Some("n" | "m" | "terms") if parameter["schema"]["default"].is_number() => {
                let mut schema = parameter["schema"].clone();
                schema
                    .as_object_mut()
                    .map(|schema| schema.remove("default"));
                schema
            }
            // A theory route may have a lower maximum than an example.
            Some("n") if parameter["schema"]["maximum"].is_null() => {
                json!({"type": "integer", "minimum": 1, "maximum": N_MAX})
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
    parameters.is_some_and(|all| {
        all.iter()
            .any(|parameter| parameter["name"] == IDEMPOTENCY_KEY)
    })
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
