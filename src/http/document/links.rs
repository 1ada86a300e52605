//! The headers and links of responses in the OpenAPI document. Links lead from a request to what it creates, and from
//! a job to its model.

use serde_json::{Value, json};

/// A link of a response: name, target operation, and place of the id in the body.
type Link = (&'static str, &'static str, &'static str);

const ID: &str = "$response.body#/id";
const RESULT_MODEL: &str = "$response.body#/result/model";

/// Links from a job.
const JOB: &[Link] = &[
    ("job", "get_job", ID),
    ("events", "follow_job", ID),
    ("cancel", "cancel_job", ID),
];

/// Links from a job that may have ended.
const ENDED: &[Link] = &[
    ("job", "get_job", ID),
    ("model", "get_model", RESULT_MODEL),
    ("predict", "predict_model", RESULT_MODEL),
    ("evaluate", "evaluate_model", RESULT_MODEL),
    ("infer", "infer_model", RESULT_MODEL),
    ("explanation", "get_model_explanation", RESULT_MODEL),
    ("trace", "get_job_trace", ID),
];

/// Links from a created model.
const MODEL: &[Link] = &[
    ("model", "get_model", ID),
    ("predict", "predict_model", ID),
    ("evaluate", "evaluate_model", ID),
    ("infer", "infer_model", ID),
    ("explanation", "get_model_explanation", ID),
];

/// Returns the links of a successful response.
fn links(operation: &str, status: &str) -> &'static [Link] {
    match (operation, status) {
        (
            "create_job" | "train_learner" | "run_figure" | "import_dataset" | "cancel_job",
            "202",
        ) => JOB,
        ("create_job" | "train_learner" | "get_job", "200") => ENDED,
        ("run_figure", "200") => &[("job", "get_job", ID), ("figure", "get_job_figure", ID)],
        ("import_dataset", "200") => &[
            ("job", "get_job", ID),
            ("dataset", "get_dataset", "$response.body#/result/dataset"),
        ],
        ("create_dataset" | "encode_dataset", "201") => &[
            ("dataset", "get_dataset", ID),
            ("examples", "list_dataset_examples", ID),
        ],
        ("import_model" | "save_session_model", "201") => MODEL,
        ("create_session", "201") => &[
            ("session", "get_session", ID),
            ("learn", "learn_session_examples", ID),
            ("predict", "predict_session", ID),
            ("save", "save_session_model", ID),
        ],
        ("construct_kernel_perceptron_adversary" | "construct_winnow_counting", "201") => {
            &[("dataset", "get_dataset", "$response.body#/data/dataset")]
        }
        _ => &[],
    }
}

/// Adds the headers and links of the successful responses.
pub fn complete(operation: &mut Value) {
    let id = operation["operationId"].as_str().unwrap_or_default();
    let id = id.to_owned();
    let responses = operation["responses"].as_object_mut();
    for (status, response) in responses.into_iter().flatten() {
        let is_accepted = status == "202";
        if is_accepted || status == "201" {
            response["headers"]["Location"] = json!({"description": "Path of the created thing.",
                "schema": {"type": "string", "format": "uri-reference"}});
        }
        if is_accepted {
            let location = "Path of the job.";
            response["headers"]["Location"]["description"] = location.into();
            response["headers"]["Retry-After"] = json!({
                "description": "Seconds after which to ask for the job again.",
                "schema": {"type": "integer", "minimum": 0}});
        }
        for (name, target, place) in links(&id, status) {
            response["links"][name] = json!({"operationId": target, "parameters": {"id": place}});
        }
    }
}
