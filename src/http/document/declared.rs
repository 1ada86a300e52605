//! The errors that operations declare in the OpenAPI document.
//!
//! The attribute of each handler lists the codes that it can answer, as groups from this module and as single codes.
//! Middleware and store can answer some more on every route. [`declare`] adds these and writes one response per
//! status, which names the codes of that status.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::http::codes::Code;
use crate::http::middleware::keys::needs_key;

/// The extension of an operation that carries the names of its codes to [`declare`].
const EXTENSION: &str = "x-problems";

/// Errors of every route: the head of the request, the connection, the store and defects.
const EVERY: &[Code] = &[
    Code::INVALID_PARAMETER,
    Code::FOREIGN_HOST,
    Code::METHOD_NOT_ALLOWED,
    Code::INTERNAL,
    Code::DATA_CORRUPT,
    Code::TOO_MANY_CONNECTIONS,
    Code::STOPPING,
    Code::UNAVAILABLE,
];

/// Errors of a thing whose id or name is in the path.
pub const IN_PATH: &[Code] = &[Code::NOT_FOUND];

/// Errors of a computation that needs a permit and memory.
pub const COMPUTED: &[Code] = &[
    Code::TOO_LARGE,
    Code::TOO_MANY_AT_ONCE,
    Code::NO_MEMORY,
    Code::QUEUE_FULL,
    Code::INTRACTABLE,
];

/// Errors of an answer that is computed without examples.
pub const FIGURE: &[Code] = &[Code::TOO_MANY_AT_ONCE, Code::QUEUE_FULL, Code::INTRACTABLE];

/// Errors of reading a body, and of the computations with it.
const READ: &[Code] = &[
    Code::TRUNCATED,
    Code::SYNTAX,
    Code::UNREADABLE,
    Code::TIMEOUT,
    Code::TOO_LARGE,
    Code::UNSUPPORTED_MEDIA_TYPE,
    Code::TOO_MANY_AT_ONCE,
    Code::NO_MEMORY,
    Code::QUEUE_FULL,
    Code::INTRACTABLE,
];

/// Errors of a body with a document or data.
pub const BODY: &[Code] = &[
    Code::SYNTAX,
    Code::SCHEMA,
    Code::OUT_OF_RANGE,
    Code::TOO_DEEP,
    Code::UNSUPPORTED_MEDIA_TYPE,
    Code::STORAGE_FULL,
];

/// Errors of examples in a body or in a dataset.
pub const EXAMPLES: &[Code] = &[
    Code::SCHEMA,
    Code::WRONG_SHAPE,
    Code::EMPTY_DATA,
    Code::BAD_VALUE,
    Code::BAD_LABEL,
    Code::BAD_INDEX,
    Code::BAD_NAME,
    Code::UNSUPPORTED,
    Code::BAD_OPTION,
    Code::TABLE_OPTION,
    Code::UNKNOWN_DATASET,
    Code::UNKNOWN_MODEL,
    Code::WRONG_DATA,
];

/// Errors of predictions and evaluations within the answer.
pub const ANSWERED: &[Code] = &[Code::INTRACTABLE, Code::ANSWER_TOO_LONG];

/// Errors of a construction within the answer.
pub const CONSTRUCTED: &[Code] = &[Code::INTRACTABLE, Code::ANSWER_TOO_LONG];

/// Errors of a request with an idempotency key, whose body is always read.
pub const KEYED: &[Code] = &[
    Code::IDEMPOTENCY_IN_FLIGHT,
    Code::IDEMPOTENCY_GONE,
    Code::IDEMPOTENCY_MISMATCH,
];

/// Errors of a request that stores something.
pub const STORED: &[Code] = &[Code::TOO_LARGE, Code::QUOTA_FULL, Code::STORAGE_FULL];

/// Errors of a request that submits a job.
pub const SUBMITTED: &[Code] = &[
    Code::UNKNOWN_LEARNER,
    Code::UNKNOWN_MODEL,
    Code::WRONG_STOP,
    Code::WRONG_START,
    Code::WRONG_DATA,
    Code::INTRACTABLE,
    Code::BAD_CALLBACK,
    Code::TOO_MANY_JOBS,
    Code::QUEUE_FULL,
];

/// Errors of a session in the path, whose state may have to be loaded.
pub const SESSION: &[Code] = &[
    Code::NOT_FOUND,
    Code::TOO_LARGE,
    Code::WRONG_DATA,
    Code::INTRACTABLE,
    Code::SESSION_BUSY,
    Code::NO_MEMORY,
];

/// The names of the codes in the groups, for the attribute of a handler.
pub fn problems(groups: &[&[Code]]) -> Vec<&'static str> {
    let codes = groups.iter().copied().flatten();
    codes.map(|code| code.name()).collect()
}

/// Replaces the codes that the handler lists by one response per status.
pub fn declare(path: &str, method: &str, operation: &mut Value) {
    let fields = operation.as_object_mut();
    let listed = fields.and_then(|fields| fields.remove(EXTENSION));
    let names = listed.as_ref().and_then(Value::as_array);
    let names = names.into_iter().flatten().filter_map(Value::as_str);
    let own: Vec<Code> = names.filter_map(Code::find).collect();
    let mut groups = vec![EVERY, &own];
    if needs_key(path) {
        groups.push(&[Code::UNAUTHORIZED]);
    }
    if method != "get" {
        groups.push(&[Code::FOREIGN_ORIGIN]);
    }
    if operation.get("requestBody").is_some() || own.contains(&Code::IDEMPOTENCY_MISMATCH) {
        groups.push(READ);
    }
    let mut by_status: BTreeMap<String, Vec<Code>> = BTreeMap::new();
    // The order of the table, in which each code occurs once.
    for &code in Code::ALL {
        if groups.iter().any(|group| group.contains(&code)) {
            let codes = by_status.entry(code.status().as_str().to_owned());
            codes.or_default().push(code);
        }
    }
    for (status, codes) in by_status {
        operation["responses"][status] = response(&codes);
    }
}

/// The response of one status. The description names the codes.
fn response(codes: &[Code]) -> Value {
    let names: Vec<_> = codes
        .iter()
        .map(|code| format!("`{}`", code.name()))
        .collect();
    let status = codes.first().map(|code| code.status());
    let reason = status.and_then(|status| status.canonical_reason());
    let mut response = json!({
        "description": format!("{}: {}", reason.unwrap_or("Error"), names.join(", ")),
        "content": {"application/problem+json": {
            "schema": {"$ref": "#/components/schemas/Problem"}}}});
    if codes.contains(&Code::UNAUTHORIZED) {
        response["headers"]["WWW-Authenticate"] = json!({
            "description": "The authentication scheme.",
            "schema": {"type": "string", "enum": ["Bearer"]}});
    }
    response
}
