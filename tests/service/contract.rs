//! Checks exchanges against the served OpenAPI document: every answer against the schema of its status, and every
//! accepted JSON body against the schema of its operation.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::service::Answer;

pub static DOCUMENT: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(&halfspace::http::document()).unwrap());

/// The validators made so far, by the pointer of their schema.
static VALIDATORS: LazyLock<Mutex<HashMap<String, Arc<Validator>>>> = LazyLock::new(Mutex::default);

/// Asserts that an exchange satisfies the document.
#[track_caller]
pub fn check(method: &str, path: &str, document: Option<&[u8]>, answer: &Answer) {
    assert!(
        answer.headers.contains_key("x-request-id"),
        "{method} {path}"
    );
    let status = answer.status.as_u16();
    if answer.status.is_client_error() || answer.status.is_server_error() {
        check_problem(path, answer);
    }
    let Some((template, operation)) = operation(method, path) else {
        return;
    };
    let pointer = format!("/paths/{}/{}", escaped(template), method.to_lowercase());
    let declared = &operation["responses"][status.to_string()];
    let said = String::from_utf8_lossy(&answer.body);
    assert!(
        declared.is_object(),
        "{method} {template} does not declare {status}: {said}"
    );
    if status >= 400 {
        let code = format!("`{}`", answer.problem(status));
        let described = declared["description"].as_str().unwrap_or_default();
        assert!(
            described.contains(&code),
            "{method} {template} {status} does not declare {code}: {said}"
        );
    }
    let media_type = answer.header("content-type").unwrap_or_default();
    let media_type = media_type.split(';').next().unwrap_or_default();
    if let Some(content) = declared["content"].as_object() {
        let known = content.contains_key(media_type);
        assert!(
            known,
            "{method} {template} {status} does not declare {media_type:?}"
        );
        if media_type.ends_with("json") && media_type != "application/x-ndjson" {
            let schema = format!(
                "{pointer}/responses/{status}/content/{}/schema",
                escaped(media_type)
            );
            assert_valid(&schema, &answer.json());
        }
    } else {
        assert!(
            answer.body.is_empty(),
            "{method} {template} {status}: {said}"
        );
    }
    let document = document.filter(|document| !document.is_empty());
    if let Some(document) = document.filter(|_| answer.status.is_success()) {
        let accepted = serde_json::from_slice(document).unwrap();
        let schema = format!("{pointer}/requestBody/content/application~1json/schema");
        assert_valid(&schema, &accepted);
    }
}

/// Every error is an RFC 9457 problem with a page that explains its code.
#[track_caller]
fn check_problem(path: &str, answer: &Answer) {
    let code = answer.problem(answer.status.as_u16());
    let problem = answer.json();
    assert_valid("/components/schemas/Problem", &problem);
    assert_eq!(problem["type"], format!("/problems/{code}"));
    assert_eq!(problem["status"], answer.status.as_u16());
    assert_eq!(problem["instance"], path);
    assert_eq!(problem.get("error").is_some(), path.starts_with("/v2"));
    if answer.status == 503 {
        assert!(answer.header("retry-after").is_some(), "{path}: {problem}");
    }
    assert_eq!(
        problem["request_id"].as_str(),
        answer.header("x-request-id")
    );
}

/// Asserts that the instance fits the schema at this pointer of the document.
#[track_caller]
pub fn assert_valid(pointer: &str, instance: &Value) {
    let validator = validator(pointer);
    let errors: Vec<String> = validator
        .iter_errors(instance)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(
        errors.is_empty(),
        "{pointer} refuses {instance}: {errors:#?}"
    );
}

/// Whether the instance fits the schema at this pointer of the document.
pub fn is_valid(pointer: &str, instance: &Value) -> bool {
    validator(pointer).is_valid(instance)
}

fn validator(pointer: &str) -> Arc<Validator> {
    let mut validators = VALIDATORS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(validator) = validators.get(pointer) {
        return Arc::clone(validator);
    }
    let schema = DOCUMENT.pointer(pointer);
    let mut schema = schema.unwrap_or_else(|| panic!("no {pointer}")).clone();
    schema["components"] = json!({"schemas": DOCUMENT["components"]["schemas"]});
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let validator = Arc::new(validator);
    validators.insert(pointer.to_owned(), Arc::clone(&validator));
    validator
}

/// The operation of a path, with the path's template.
fn operation(method: &str, path: &str) -> Option<(&'static str, &'static Value)> {
    let segments: Vec<&str> = path.split('/').collect();
    let fits = |template: &str| {
        let parts: Vec<&str> = template.split('/').collect();
        let fits = |(part, segment): (&&str, &&str)| part.starts_with('{') || part == segment;
        parts.len() == segments.len() && parts.iter().zip(&segments).all(fits)
    };
    let paths = DOCUMENT["paths"].as_object()?;
    let (template, operations) = paths.iter().find(|(template, _)| fits(template))?;
    Some((template, operations.get(method.to_lowercase())?))
}

/// Escapes a token of a JSON Pointer.
fn escaped(token: &str) -> String {
    token.replace('~', "~0").replace('/', "~1")
}
