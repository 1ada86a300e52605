//! The examples of the OpenAPI document: one for each media type of a request body, and values of parameters. A test
//! sends each of them to the service.
//!
//! Bodies with data hold the same examples in every format, the majority of three bits. If a value of a parameter fits
//! only one media type or learner, its example is named after that.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use halfspace_core::learners::catalogue::CATALOGUE;
use halfspace_core::learners::drift::directed_drift;
use halfspace_core::learners::engine::parameters::ParameterKind;
use halfspace_core::learners::linear::perceptron;
use halfspace_core::learners::winnow;
use halfspace_formats::npy_header;
use serde_json::{Map, Value, json};

/// Name of an example that fits every request of its operation.
const ANY: &str = "";

/// Name of the example of a body of bytes, which JSON cannot hold.
const BASE64: &str = "base64";

const OCTETS: &str = "application/octet-stream";
const NPY: &str = "application/x-npy";
const CSV: &str = "text/csv";
const FORM: &str = "multipart/form-data";
const TSV: &str = "text/tab-separated-values";
const XLSX: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
const ARFF: &str = "text/x-arff";
/// A learner of any labelled data.
const PERCEPTRON: &str = perceptron::ENTRY.name;
/// A learner that stops with a confidence.
const DRIFT: &str = directed_drift::ENTRY.name;

/// The learner of the parameters for the rule `pac`.
const PAC: &str = winnow::ENTRY.name;

const JOB: &str = "job_0198c1a5e0f77b3c9d2e4f5061728394";
const MODEL: &str = "mdl_0198c1a5e0f77b3c9d2e4f5061728394";
const DATASET: &str = "ds_0198c1a5e0f77b3c9d2e4f5061728394";
const SESSION: &str = "ses_0198c1a5e0f77b3c9d2e4f5061728394";

/// A model file as `GET /v1/models/{id}` exports one.
const MODEL_FILE: &str = include_str!("example_model.json");

/// The table of the other examples as a workbook of one sheet.
const WORKBOOK: &[u8] = include_bytes!("majority.xlsx");

/// Adds the examples of the body and of the parameters.
pub fn complete(operation: &mut Value) {
    let id = operation["operationId"].as_str().unwrap_or_default();
    let id = id.to_owned();
    let content = operation.pointer_mut("/requestBody/content");
    for (media_type, content) in content.and_then(Value::as_object_mut).into_iter().flatten() {
        attach(content, of_body(&id, media_type));
    }
    let parameters = operation.get_mut("parameters");
    let parameters = parameters.and_then(Value::as_array_mut);
    for parameter in parameters.into_iter().flatten() {
        let mut examples = of_parameter(&id, parameter);
        if parameter["schema"]["type"] == "string" {
            let numbers = examples.iter_mut().filter(|(_, value)| value.is_number());
            numbers.for_each(|(_, value)| *value = value.to_string().into());
        }
        attach(parameter, examples);
    }
}

/// Attaches one example without a name, or examples under their names.
fn attach(part: &mut Value, examples: Vec<(&str, Value)>) {
    match &*examples {
        [] => {}
        [(ANY, value)] => part["example"] = value.clone(),
        _ => {
            let named = examples.into_iter().map(|(name, value)| {
                let mut example = json!({"value": value});
                if name == BASE64 {
                    example["summary"] = "The bytes in base64. Decode before sending.".into();
                }
                (name.to_owned(), example)
            });
            part["examples"] = named.collect::<Map<_, _>>().into();
        }
    }
}

fn of_body(id: &str, media_type: &str) -> Vec<(&'static str, Value)> {
    let example = match (id, media_type) {
        (_, "application/json") => return of_json(id),
        ("infer_model" | "infer_model_version", _) => {
            let head = json!({"inputs": [{"name": "x", "shape": [2, 3], "datatype": "UINT8",
                "parameters": {"binary_data_size": 6}}]});
            let tensor = [1, 1, 0, 0, 0, 1];
            return bytes([head.to_string().as_bytes(), &tensor].concat());
        }
        (_, "application/x-ndjson") => {
            "{\"x\":\"110\",\"y\":1}\n{\"x\":\"101\",\"y\":1}\n{\"x\":\"001\",\"y\":0}\n\
             {\"x\":\"010\",\"y\":0}\n"
        }
        (_, TSV) => "id\ty\ta\tb\tc\n7\t1\t1\t1\t0\n3\t1\t1\t0\t1\n8\t0\t0\t0\t1\n5\t0\t0\t1\t0\n",
        (_, XLSX) => return bytes(WORKBOOK.to_vec()),
        (_, CSV) => "id,y,a,b,c\n7,1,1,1,0\n3,1,1,0,1\n8,0,0,0,1\n5,0,0,1,0\n",
        // A prediction reads labels only on request.
        ("predict_model" | "predict_session", FORM) => {
            return vec![(ANY, json!({"file": "a,b,c\n1,1,0\n1,0,1\n0,0,1\n0,1,0\n"}))];
        }
        (_, FORM) => {
            return vec![(
                ANY,
                json!({"file": "y,a,b,c\n1,1,1,0\n1,1,0,1\n0,0,0,1\n0,0,1,0\n"}),
            )];
        }
        (_, "text/x-libsvm") => "1 1:1 2:1\n1 1:1 3:1\n-1 3:1\n-1 2:1\n",
        (_, ARFF) => {
            "@relation majority\n@attribute a numeric\n@attribute b numeric\n@attribute c numeric\n\
             @attribute y {0,1}\n@data\n1,1,0,1\n1,0,1,1\n0,0,1,0\n0,1,0,0\n"
        }
        (_, NPY) => return bytes(npy()),
        // Three bits and the label per byte.
        (_, OCTETS) => return bytes(vec![0xD0, 0xB0, 0x20, 0x40]),
        _ => return Vec::new(),
    };
    vec![(ANY, example.into())]
}

fn bytes(bytes: Vec<u8>) -> Vec<(&'static str, Value)> {
    vec![(BASE64, BASE64_STANDARD.encode(bytes).into())]
}

/// A matrix of bytes with the labels in the last column.
fn npy() -> Vec<u8> {
    let rows = [[1, 1, 0, 1], [1, 0, 1, 1], [0, 0, 1, 0], [0, 1, 0, 0]];
    [npy_header("|u1", &[4, 4]), rows.concat()].concat()
}

fn of_json(id: &str) -> Vec<(&'static str, Value)> {
    let data = json!({"labelled": {"examples": [{"x": "110", "y": 1}, {"x": "101", "y": 1},
        {"x": "001", "y": 0}, {"x": "010", "y": 0}]}});
    let perceptron = json!({"name": PERCEPTRON});
    let example = match id {
        "create_job" => return of_jobs(&data),
        "train_learner" | "predict_model" | "evaluate_model" => data,
        "learn_session_examples" | "predict_session" => data,
        "create_dataset" | "preview_data" => json!({"name": "majority", "data": data}),
        "create_session" => json!({"learner": perceptron, "n": 3}),
        "cancel_jobs" | "delete_jobs" => json!({"ids": [JOB]}),
        "run_figure" => json!({"seed": 7, "params": few_points()}),
        "import_model" => serde_json::from_str(MODEL_FILE).unwrap_or_default(),
        "infer_model" | "infer_model_version" => json!({"inputs": [{"name": "x",
            "shape": [2, 3], "datatype": "FP64", "data": [1, 1, 0, 0, 0, 1]}]}),
        "construct_kernel_perceptron_adversary" => json!({"n": 20, "size": 2, "seed": 7}),
        "construct_winnow_counting" => {
            json!({"variables": 2, "clauses": [[1, 2]], "at_least": 3})
        }
        "construct_monotone_cnf" => json!({"variables": 3, "satisfying": 5}),
        "draw_figure" => return figures(),
        _ => return Vec::new(),
    };
    vec![(ANY, example)]
}

/// One figure of each kind.
fn figures() -> Vec<(&'static str, Value)> {
    let axis = |label: &str| json!({"label": label, "unit": "", "scale": "linear"});
    let point = |x: u32, y: u32| json!({"x": x, "y": y, "runs": 1, "censored": 0});
    let chart = json!({
        "title": "Mistakes of two learners", "x": axis("examples read"), "y": axis("mistakes"),
        "series": [
            {"label": "one learner", "form": "step", "points": [point(0, 0), point(1, 1), point(4, 2)]},
            {"label": "another", "form": "step", "points": [point(0, 0), point(2, 1)]},
        ],
        "theory": [{"label": "bound", "points": [{"x": 0, "y": 3}, {"x": 4, "y": 3}]}],
        "marks": [], "notes": ["Both learners read the same examples."],
    });
    let bars = json!({
        "title": "Weights", "axis": "weight",
        "bars": [{"label": "warm", "value": 2.5, "text": "5/2"}, {"label": "wet", "value": -1, "text": "-1"}],
    });
    let maps = json!({
        "title": "A weight per pixel",
        "maps": [{"label": "now", "columns": 2, "values": [1, -0.5, 0, 1]}],
    });
    vec![
        ("chart", json!({"chart": chart})),
        ("bars", json!({"bars": bars})),
        ("heat_maps", json!({"heat_maps": maps})),
    ]
}

/// One job per task, under the name of the task. A training comes first, because tools use the first example.
fn of_jobs(data: &Value) -> Vec<(&'static str, Value)> {
    let train = json!({"learner": {"name": PERCEPTRON}, "data": data, "seed": 7});
    let over = json!({"learner.params.order": ["cyclic", "shuffled"], "seed": [1, 2]});
    let on_data = |task: &str| json!({task: {"data": data}});
    vec![
        (
            "basic_training",
            json!({"train": train, "name": "majority"}),
        ),
        (
            "comparison",
            json!({"compare": {"data": data, "folds": 2, "seed": 7,
                "learners": [{"name": PERCEPTRON}, {"name": PERCEPTRON, "params": {"bias": false}}]}}),
        ),
        (
            "evaluation",
            json!({"evaluate": {"model": MODEL, "data": data}}),
        ),
        (
            "experiment",
            json!({"experiment": {"name": "separable-fraction", "params": few_points()}}),
        ),
        ("grid", json!({"grid": {"train": train, "over": over}})),
        ("maximum_margin", on_data("maximum_margin")),
        ("separability", on_data("separability")),
        ("version_space", on_data("version_space")),
    ]
}

/// Parameters of an experiment that ends within a second.
fn few_points() -> Value {
    json!({"dimensions": [5], "points_per_dimension": [1.0, 2.0], "runs": 20})
}

fn of_parameter(id: &str, parameter: &Value) -> Vec<(&'static str, Value)> {
    let name = parameter["name"].as_str().unwrap_or_default();
    let example = match (parameter["in"].as_str().unwrap_or_default(), name) {
        ("path", "id") => {
            let kind = parameter["schema"]["$ref"].as_str().unwrap_or_default();
            match kind.rsplit('/').next() {
                Some("DatasetId") => DATASET.into(),
                Some("JobId") => JOB.into(),
                Some("SessionId") => SESSION.into(),
                _ => MODEL.into(),
            }
        }
        ("path", "name") if id == "get_sample" => json!("dnf"),
        ("path", "name") => json!(PERCEPTRON),
        ("path", "figure") => json!("cover-figure-1"),
        ("path", "code") => json!("not-found"),
        ("path", "version") => json!("1"),
        ("header", "Prefer") => json!("wait=10"),
        ("header", "Idempotency-Key") => json!("3f8a1c52-6f0e-4b1c-9d8e-2a7b5c4d1e60"),
        ("header", "If-Match") => json!("\"0\""),
        ("header", "Last-Event-ID") => json!(1),
        ("header", "Inference-Header-Content-Length") => return vec![(OCTETS, json!(94))],
        ("header", "Accept") => match id {
            "get_job_trace" | "get_job_figure" => json!("image/svg+xml"),
            "get_model_explanation" => json!("text/plain"),
            "list_dataset_examples" => json!("text/csv"),
            _ => json!("application/x-ndjson"),
        },
        _ => return of_query(id, name),
    };
    vec![(ANY, example)]
}

fn of_query(id: &str, name: &str) -> Vec<(&'static str, Value)> {
    if let Some(example) = of_theory(name).filter(|_| is_theory(id)) {
        return vec![(ANY, example)];
    }
    let example = match name {
        "format" => match id {
            "list_dataset_examples" => json!("ndjson"),
            "get_model_explanation" => json!("plain"),
            _ => json!("csv"),
        },
        "limit" => json!(10),
        "top" => json!(5),
        "offset" => json!(2),
        "rows" => json!(3),
        "dataset" => DATASET.into(),
        "status" => json!("succeeded"),
        "task" => json!("train"),
        "language" => json!("python"),
        "learner" => json!(PERCEPTRON),
        "kind" => json!("linear"),
        "parent" => JOB.into(),
        "warm_start" => MODEL.into(),
        "seed" => json!(7),
        "trace" => json!(true),
        "holdout" => json!(0.25),
        "name" if ["create_dataset", "preview_data"].contains(&id) => {
            return vec![(CSV, json!("majority"))];
        }
        "name" => json!("majority"),
        "stop.max_passes" | "stop.max_mistakes" | "stop.max_examples" => json!(100),
        "stop.max_seconds" => json!(5),
        "priority" => json!(1),
        "labels" => {
            let place = [
                (CSV, "y"),
                (TSV, "y"),
                (XLSX, "y"),
                (ARFF, "last"),
                (NPY, "last"),
                (OCTETS, "appended"),
            ];
            return place.map(|(name, place)| (name, place.into())).to_vec();
        }
        "header" => return [CSV, TSV, XLSX].map(|name| (name, "true".into())).to_vec(),
        "positive" => return vec![(CSV, json!("1"))],
        "ignore" => return [CSV, TSV, XLSX].map(|name| (name, "id".into())).to_vec(),
        "sheet" => return vec![(XLSX, json!("majority"))],
        "kinds" => return vec![(CSV, json!("a:boolean"))],
        "numbers" => return vec![(CSV, json!("thermometer"))],
        "bins" => return vec![(CSV, json!(8))],
        "missing" => return vec![(CSV, json!("drop"))],
        "missing_values" => return vec![(CSV, json!("N/A,-"))],
        "unknown" => return vec![(CSV, json!("refuse"))],
        "delimiter" => return vec![(CSV, json!(","))],
        "decimal" => return vec![(CSV, json!("."))],
        "bit_order" => return vec![(OCTETS, json!("big"))],
        "n" if id == "get_sample" => json!(11),
        "n" => return vec![(OCTETS, json!(3))],
        "assume" if id == "train_learner" => {
            return vec![(DRIFT, json!("uniform")), (PAC, json!("independent"))];
        }
        "assume" => return vec![(CSV, json!("uniform"))],
        "stop.rule" => return vec![(DRIFT, json!("anytime"))],
        "stop.error" => return vec![(PAC, json!(0.05))],
        "fresh" => json!(true),
        "stop.confidence" => return vec![(DRIFT, json!(0.9))],
        "confidence" => json!(0.99),
        "m" => json!(100),
        "terms" => json!(4),
        "noise" => json!(0.05),
        _ if id == "train_learner" => return of_learners(name),
        _ => return Vec::new(),
    };
    vec![(ANY, example)]
}

/// Whether an operation computes figures from a few parameters.
fn is_theory(id: &str) -> bool {
    let prefixes = ["bound_", "analyse_", "count_", "get_stopping_"];
    prefixes.iter().any(|prefix| id.starts_with(prefix))
}

fn of_theory(name: &str) -> Option<Value> {
    Some(match name {
        "n" => json!(11),
        "confidence" => json!(0.99),
        "sampling" => json!("reflected"),
        "hypothesis" => json!(1),
        "delta" => json!(0.01),
        "points" => json!(20),
        "dimension" => json!(10),
        "alpha" => json!(2),
        "theta" => json!("11"),
        "relevant" => json!(2),
        "radius" | "norm" => json!(1),
        "margin" => json!(0.1),
        "error" => json!(0.05),
        "errors" => json!(0),
        "examples" => json!(1302),
        "kept" => json!(129),
        "mistakes" => json!(12),
        "run_length" => json!(100),
        _ => return None,
    })
}

/// A value of the parameter for each learner that takes the parameter.
fn of_learners(name: &str) -> Vec<(&'static str, Value)> {
    let values = CATALOGUE.iter().filter_map(|entry| {
        let mut known = entry.parameters.iter();
        let parameter = known.find(|known| Some(known.name) == name.strip_prefix("params."))?;
        let value = match &parameter.kind {
            ParameterKind::Flag { default } => json!(default),
            ParameterKind::Choice { default, .. } => json!(default),
            ParameterKind::Number { default, .. }
            | ParameterKind::Weights { default, .. }
            | ParameterKind::Factor { default } => match default.fract() {
                0.0 => json!(*default as i64),
                _ => json!(default),
            },
            ParameterKind::Count { minimum, .. } => json!(minimum.max(&2)),
            ParameterKind::Decimal { .. } => json!("3"),
            ParameterKind::Bits => json!("101"),
        };
        Some((entry.name, value))
    });
    values.collect()
}
