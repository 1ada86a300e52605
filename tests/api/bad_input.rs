//! Bad input: for each kind of fault a problem names the code and the place, and the service creates nothing.

use std::io::Write;

use serde_json::{Value, json};

use crate::service::{Answer, Service, request};

/// The place of the fault that the problem names.
#[derive(Debug)]
enum At {
    Pointer(&'static str),
    Parameter(&'static str),
    Line(u64, u64),
    /// The fault concerns the whole request.
    Nowhere,
}

use At::{Line, Nowhere, Parameter, Pointer};

/// A name, a bad request, and the expected status, code and place.
struct Case(&'static str, Request, u16, &'static str, At);

enum Request {
    /// A JSON body for `POST /v1/jobs`.
    Job(Value),
    /// A text for `POST /v1/jobs`, for bodies that a `Value` cannot express.
    JobText(String),
    /// A request to `/v1/learners/{name}/train?{query}`: learner, query, media type, body.
    Train(&'static str, &'static str, &'static str, Vec<u8>),
    /// A path, headers and a body.
    Raw(&'static str, Vec<(&'static str, &'static str)>, Vec<u8>),
}

use Request::{Job, JobText, Raw, Train};

const LIBSVM: &str = "text/x-libsvm";
const NDJSON: &str = "application/x-ndjson";
const CSV: &str = "text/csv";
const JSON: &str = "application/json";
const JOBS: &str = "/v1/jobs";
const TRAIN: &str = "/v1/learners/perceptron/train";

/// A valid job over these data, which a case then spoils.
fn job(learner: &str, data: Value) -> Value {
    json!({"train": {"learner": {"name": learner}, "data": data, "seed": 1}})
}

fn half_space() -> Value {
    json!({"half_space": {"examples": ["10110", "01111"]}})
}

fn labelled() -> Value {
    json!({"labelled": {"examples": [{"x": "10", "y": 1}, {"x": "01", "y": -1}]}})
}

/// A valid job with `value` at `pointer`.
fn spoilt(mut job: Value, pointer: &str, value: Value) -> Value {
    let (above, name) = pointer.rsplit_once('/').unwrap();
    let parent = job.pointer_mut(above).unwrap();
    match parent {
        Value::Array(items) => items[name.parse::<usize>().unwrap()] = value,
        parent => parent[name] = value,
    }
    job
}

fn drift(pointer: &str, value: Value) -> Request {
    Job(spoilt(job("directed-drift", half_space()), pointer, value))
}

fn stop(learner: &str, data: Value, stop: Value) -> Request {
    Job(spoilt(job(learner, data), "/train/stop", stop))
}

fn params(learner: &str, data: Value, params: Value) -> Request {
    Job(spoilt(job(learner, data), "/train/learner/params", params))
}

fn generated(changes: Value) -> Value {
    let mut plan = json!({"n": 5, "target": {"binary_weights": {}}, "sampling": "uniform-positive",
        "count": 10});
    for (name, value) in changes.as_object().unwrap() {
        plan[name] = value.clone();
    }
    json!({"generated": plan})
}

fn packed(n: u64, rows: &str) -> Value {
    json!({"packed": {"n": n, "rows": rows}})
}

fn real(x: Value) -> Value {
    json!({"labelled": {"examples": [{"x": x, "y": 1}, {"x": [0, 1], "y": -1}]}})
}

fn targets() -> Vec<Case> {
    let target = |target: Value| {
        Job(job(
            "perceptron",
            generated(json!({"target": target, "sampling": "uniform"})),
        ))
    };

    let range = |name, body: Value, pointer| {
        Case(name, target(body), 400, "out-of-range", Pointer(pointer))
    };
    vec![
        range(
            "variable 0",
            json!({"disjunction": {"variables": [0]}}),
            "/train/data/generated/target/disjunction/variables",
        ),
        range(
            "a variable past n",
            json!({"parity": {"variables": [6]}}),
            "/train/data/generated/target/parity/variables",
        ),
        range(
            "a negated variable of a parity",
            json!({"parity": {"variables": [-1]}}),
            "/train/data/generated/target/parity/variables",
        ),
        range(
            "no variables",
            json!({"disjunction": {"variables": []}}),
            "/train/data/generated/target/disjunction/variables",
        ),
        range(
            "given and drawn",
            json!({"disjunction": {"variables": [1], "size": 2}}),
            "/train/data/generated/target/disjunction/variables",
        ),
        range(
            "size past n",
            json!({"parity": {"size": 6}}),
            "/train/data/generated/target/parity/size",
        ),
        range(
            "no terms",
            json!({"dnf": {"terms": []}}),
            "/train/data/generated/target/dnf/terms",
        ),
        range(
            "an empty term",
            json!({"dnf": {"terms": [[1], []]}}),
            "/train/data/generated/target/dnf/terms",
        ),
        range(
            "too many literals",
            json!({"dnf": {"terms_count": 200_000, "size": 2}}),
            "/train/data/generated/target/dnf/terms",
        ),
        range(
            "a weight past 2^40",
            json!({"threshold": {"weights": [1, 2, 3, 4, 1_099_511_627_777_i64]}}),
            "/train/data/generated/target/threshold/weights",
        ),
        Case(
            "too few weights",
            target(json!({"threshold": {"weights": [1, 2]}})),
            400,
            "wrong-shape",
            Pointer("/train/data/generated/target/threshold/weights"),
        ),
        Case(
            "an unknown class",
            target(json!({"majority": {}})),
            400,
            "schema",
            Pointer("/train/data/generated/target/majority"),
        ),
        Case(
            "no class",
            target(json!({})),
            400,
            "schema",
            Pointer("/train/data/generated/target"),
        ),
        Case(
            "a list in place of a class's fields",
            target(json!({"parity": [null, null]})),
            400,
            "schema",
            Pointer("/train/data/generated/target/parity"),
        ),
        Case(
            "half-spaces of a disjunction",
            Job(job(
                "directed-drift",
                generated(json!({"target": {"disjunction": {}}, "sampling": "reflected"})),
            )),
            400,
            "out-of-range",
            Pointer("/train/data/generated/sampling"),
        ),
    ]
}

fn data_in_jobs() -> Vec<Case> {
    let drift_job = |data: Value| Job(job("directed-drift", data));
    let perceptron = |data: Value| Job(job("perceptron", data));
    let x = "/train/data/labelled/examples/0/x";
    vec![
        Case(
            "unequal lengths",
            drift("/train/data/half_space/examples/1", json!("101")),
            400,
            "wrong-shape",
            Pointer("/train/data/half_space/examples/1"),
        ),
        Case(
            "unequal labelled lengths",
            Job(spoilt(
                job("perceptron", labelled()),
                "/train/data/labelled/examples/1/x",
                json!("1"),
            )),
            400,
            "wrong-shape",
            Pointer("/train/data/labelled/examples/1/x"),
        ),
        Case(
            "empty data",
            drift("/train/data/half_space/examples", json!([])),
            400,
            "empty-data",
            Pointer("/train/data/half_space/examples"),
        ),
        Case(
            "an empty example",
            drift("/train/data/half_space/examples/0", json!("")),
            400,
            "empty-data",
            Pointer("/train/data/half_space/examples/0"),
        ),
        Case(
            "a bit that is neither",
            drift("/train/data/half_space/examples/1", json!("10210")),
            400,
            "bad-value",
            Pointer("/train/data/half_space/examples/1"),
        ),
        Case(
            "mixed label codings",
            Job(spoilt(
                job(
                    "perceptron",
                    json!({"labelled": {"examples": [
                {"x": "10", "y": 0}, {"x": "01", "y": 1}, {"x": "11", "y": 1}]}}),
                ),
                "/train/data/labelled/examples/2/y",
                json!(-1),
            )),
            400,
            "bad-label",
            Pointer("/train/data/labelled/examples/2/y"),
        ),
        Case(
            "a label without a text",
            Job(spoilt(
                job("perceptron", labelled()),
                "/train/data/labelled/examples/1/y",
                json!(""),
            )),
            400,
            "bad-label",
            Pointer("/train/data/labelled/examples/1/y"),
        ),
        Case(
            "half-space data for the perceptron",
            perceptron(half_space()),
            422,
            "wrong-data",
            Pointer("/train/data"),
        ),
        Case(
            "half-space data for the pocket",
            Job(job("pocket", half_space())),
            422,
            "wrong-data",
            Pointer("/train/data"),
        ),
        Case(
            "real values for Directed Drift",
            drift_job(real(json!([0.5, 1]))),
            422,
            "wrong-data",
            Pointer("/train/data/labelled/examples/0/x/0"),
        ),
        Case(
            "0 and -1 in one body are real",
            drift_job(real(json!([-1, 1]))),
            422,
            "wrong-data",
            Pointer("/train/data/labelled/examples/1/x/0"),
        ),
        Case(
            "unlabelled data",
            perceptron(json!({"unlabelled": {"examples": ["10"]}})),
            422,
            "wrong-data",
            Pointer("/train/data"),
        ),
        Case(
            "a value that is text",
            perceptron(real(json!(["1", 1]))),
            400,
            "bad-name",
            Pointer("/train/data/labelled/examples/0/x/1"),
        ),
        Case(
            "a value that is null",
            perceptron(real(json!([null, 1]))),
            400,
            "schema",
            Pointer("/train/data/labelled/examples/0/x/0"),
        ),
        Case(
            "an example that is a number",
            perceptron(real(json!(5))),
            400,
            "schema",
            Pointer(x),
        ),
        Case(
            "an example without a label",
            perceptron(json!({"labelled": {"examples": [{"x": "10"}]}})),
            400,
            "schema",
            Pointer("/train/data/labelled/examples/0"),
        ),
        Case(
            "two forms",
            perceptron(json!({"half_space": {"examples": ["1"]},
            "labelled": {"examples": [{"x": "1", "y": 1}]}})),
            400,
            "schema",
            Pointer("/train/data"),
        ),
        Case(
            "no form",
            perceptron(json!({})),
            400,
            "schema",
            Pointer("/train/data"),
        ),
        Case(
            "an unknown form",
            perceptron(json!({"rows": {}})),
            400,
            "schema",
            Pointer("/train/data/rows"),
        ),
        Case(
            "an unknown field of a form",
            drift("/train/data/half_space/colour", json!(1)),
            400,
            "schema",
            Pointer("/train/data/half_space/colour"),
        ),
        Case(
            "an assumption of the other kind",
            drift("/train/data/half_space/assume", json!("uniform")),
            400,
            "out-of-range",
            Pointer("/train/data/half_space/assume"),
        ),
        Case(
            "damaged base64",
            drift_job(packed(8, "!!!!")),
            400,
            "bad-value",
            Pointer("/train/data/packed/rows"),
        ),
        Case(
            "packed rows of no whole number",
            drift_job(packed(16, "AAAA")),
            400,
            "wrong-shape",
            Pointer("/train/data/packed/rows"),
        ),
        Case(
            "packed padding that is set",
            drift_job(packed(3, "/w==")),
            400,
            "bad-value",
            Pointer("/train/data/packed/rows"),
        ),
        Case(
            "no packed rows",
            drift_job(packed(3, "")),
            400,
            "empty-data",
            Pointer("/train/data/packed/rows"),
        ),
        Case(
            "packed n of 0",
            drift_job(packed(0, "AA==")),
            400,
            "out-of-range",
            Pointer("/train/data/packed/n"),
        ),
        Case(
            "packed n over the limit",
            drift_job(packed(1_048_577, "AA==")),
            413,
            "too-large",
            Pointer("/train/data/packed/n"),
        ),
        Case(
            "n over the limit",
            drift_job(generated(json!({"n": 1_048_577}))),
            413,
            "too-large",
            Pointer("/train/data/generated/n"),
        ),
        Case(
            "a count of 0",
            drift_job(generated(json!({"count": 0}))),
            400,
            "out-of-range",
            Pointer("/train/data/generated/count"),
        ),
        Case(
            "more noise than there is",
            drift_job(generated(json!({"noise": 0.6}))),
            400,
            "out-of-range",
            Pointer("/train/data/generated/noise"),
        ),
        Case(
            "a density of 1",
            drift_job(generated(json!({"sampling": "uniform", "density": 1}))),
            400,
            "out-of-range",
            Pointer("/train/data/generated/density"),
        ),
        Case(
            "a target of another length",
            drift_job(generated(
                json!({"target": {"binary_weights": {"weights": "101"}}}),
            )),
            400,
            "wrong-shape",
            Pointer("/train/data/generated/target/binary_weights/weights"),
        ),
        Case(
            "an unknown sampling",
            drift_job(generated(json!({"sampling": "gaussian"}))),
            400,
            "schema",
            Pointer("/train/data/generated/sampling"),
        ),
        Case(
            "half-space samples for the perceptron",
            perceptron(generated(json!({}))),
            422,
            "wrong-data",
            Pointer("/train/data"),
        ),
    ]
}

fn fields_in_jobs() -> Vec<Case> {
    let labels = labelled;
    let name = "/train/learner/name";
    vec![
        Case(
            "an unknown learner",
            drift(name, json!("perceptrom")),
            422,
            "unknown-learner",
            Pointer(name),
        ),
        Case(
            "an unknown field",
            drift("/train/colour", json!(1)),
            400,
            "schema",
            Pointer("/train/colour"),
        ),
        Case(
            "an unknown field at the top",
            drift("/trian", json!(1)),
            400,
            "schema",
            Pointer("/trian"),
        ),
        Case(
            "an unknown stop",
            stop("perceptron", labels(), json!({"max_pases": 1})),
            400,
            "schema",
            Pointer("/train/stop/max_pases"),
        ),
        Case(
            "no learner",
            Job(json!({"train": {"data": half_space()}})),
            400,
            "schema",
            Pointer("/train"),
        ),
        Case(
            "no data",
            Job(json!({"train": {"learner": {"name": "perceptron"}}})),
            400,
            "schema",
            Pointer("/train"),
        ),
        Case("no task", Job(json!({})), 400, "schema", Pointer("")),
        Case(
            "a body that is a list",
            Job(json!([])),
            400,
            "schema",
            Pointer(""),
        ),
        Case(
            "confidence 0",
            stop("directed-drift", half_space(), json!({"confidence": 0})),
            400,
            "schema",
            Pointer("/train/stop/confidence"),
        ),
        Case(
            "confidence 1",
            stop("directed-drift", half_space(), json!({"confidence": 1})),
            400,
            "schema",
            Pointer("/train/stop/confidence"),
        ),
        Case(
            "confidence for the perceptron",
            stop("perceptron", labels(), json!({"confidence": 0.9})),
            422,
            "wrong-stop",
            Pointer("/train/stop/confidence"),
        ),
        Case(
            "no passes",
            stop("perceptron", labels(), json!({"max_passes": 0})),
            400,
            "schema",
            Pointer("/train/stop/max_passes"),
        ),
        Case(
            "half a mistake",
            stop("perceptron", labels(), json!({"max_mistakes": 0.5})),
            400,
            "schema",
            Pointer("/train/stop/max_mistakes"),
        ),
        Case(
            "no time",
            stop("perceptron", labels(), json!({"max_seconds": 0})),
            400,
            "schema",
            Pointer("/train/stop/max_seconds"),
        ),
        Case(
            "too much time",
            stop("perceptron", labels(), json!({"max_seconds": 86_401})),
            400,
            "out-of-range",
            Pointer("/train/stop/max_seconds"),
        ),
        Case(
            "an unknown rule",
            stop("directed-drift", half_space(), json!({"rule": "hope"})),
            400,
            "schema",
            Pointer("/train/stop/rule"),
        ),
        Case(
            "a search that no machine ends in the seconds of a job",
            Job(job(
                "directed-drift",
                generated(json!({"n": 101, "count": null})),
            )),
            422,
            "intractable",
            Pointer("/train/data"),
        ),
        Case(
            "an endless stream",
            Job(job(
                "perceptron",
                generated(json!({"sampling": "uniform", "count": null})),
            )),
            422,
            "wrong-stop",
            Pointer("/train/stop/max_examples"),
        ),
        Case(
            "a seed below 0",
            drift("/train/seed", json!(-1)),
            400,
            "schema",
            Pointer("/train/seed"),
        ),
        Case(
            "a seed of 2^53",
            drift("/train/seed", json!(9_007_199_254_740_992_u64)),
            400,
            "schema",
            Pointer("/train/seed"),
        ),
        Case(
            "a trace that is text",
            drift("/train/trace", json!("yes")),
            400,
            "schema",
            Pointer("/train/trace"),
        ),
        Case(
            "a batch of 0",
            params(
                "directed-drift-sync",
                half_space(),
                json!({"batch_size": 0}),
            ),
            400,
            "invalid-parameter",
            Pointer("/train/learner/params/batch_size"),
        ),
        Case(
            "an unknown parameter",
            params("perceptron", labels(), json!({"etta": 1})),
            400,
            "invalid-parameter",
            Pointer("/train/learner/params/etta"),
        ),
        Case(
            "eta 0",
            params("perceptron", labels(), json!({"eta": 0})),
            400,
            "invalid-parameter",
            Pointer("/train/learner/params/eta"),
        ),
        Case(
            "an unknown order",
            params("perceptron", labels(), json!({"order": "any"})),
            400,
            "invalid-parameter",
            Pointer("/train/learner/params/order"),
        ),
        Case(
            "a first hypothesis of another length",
            params("directed-drift", half_space(), json!({"initial": "101"})),
            422,
            "wrong-data",
            Pointer("/train/learner/params/initial"),
        ),
        Case(
            "a reading of real data",
            params(
                "perceptron",
                real(json!([0.5, 1])),
                json!({"reading": "signed"}),
            ),
            422,
            "wrong-data",
            Pointer("/train/learner/params/reading"),
        ),
        Case(
            "parameters that are a list",
            drift("/train/learner/params", json!([])),
            400,
            "schema",
            Pointer("/train/learner/params"),
        ),
        Case(
            "a callback",
            drift("/callback", json!("https://example.com")),
            422,
            "bad-callback",
            Pointer("/callback"),
        ),
        Case(
            "a long name",
            drift("/name", json!("x".repeat(257))),
            400,
            "out-of-range",
            Pointer("/name"),
        ),
    ]
}

/// Bodies that are not JSON, or that stop being JSON.
fn texts() -> Vec<Case> {
    let good = job("directed-drift", half_space()).to_string();
    let deep = format!("{{\"train\": {}", "[".repeat(100_000));
    let twice = r#"{"train": {"learner": {"name": "perceptron", "name": "pocket"}}}"#;
    let nan = good.replace("\"seed\":1", "\"stop\":{\"confidence\":NaN}");
    let nan_column = nan.find("NaN").unwrap() as u64 + 1;
    let cut = good[..good.len() - 2].to_owned();
    let cut_column = cut.len() as u64;
    let trailing = format!("{good} x");
    let trailing_column = trailing.len() as u64;
    vec![
        Case(
            "nothing",
            JobText(String::new()),
            400,
            "truncated",
            Line(1, 1),
        ),
        Case(
            "a cut text",
            JobText(cut),
            400,
            "truncated",
            Line(1, cut_column),
        ),
        Case(
            "something after the end",
            JobText(trailing),
            400,
            "syntax",
            Line(1, trailing_column),
        ),
        Case(
            "confidence NaN",
            JobText(nan),
            400,
            "syntax",
            Line(1, nan_column),
        ),
        Case(
            "100,000 levels",
            JobText(deep),
            400,
            "too-deep",
            Line(1, 42),
        ),
        Case(
            "a field twice",
            JobText(twice.to_owned()),
            400,
            "schema",
            Pointer("/train/learner"),
        ),
        Case(
            "a number past a double",
            JobText(good.replace("[\"10110\",\"01111\"]", "[[1e999]]")),
            400,
            "syntax",
            Line(1, 50),
        ),
        Case(
            "no UTF-8",
            Raw(JOBS, vec![("content-type", JSON)], b"{\"\xff\":1}".to_vec()),
            400,
            "syntax",
            Line(1, 3),
        ),
    ]
}

/// Bad lines, with the line and the column of the fault.
fn lines() -> Vec<Case> {
    let train = |learner, media_type, body: &str| Train(learner, "", media_type, body.into());
    let query = |query, media_type, body: &str| Train("perceptron", query, media_type, body.into());
    let svm = |body: &str| train("perceptron", LIBSVM, body);
    let csv = |body: &str| query("labels=first", CSV, body);
    let ndjson = |body: &str| train("perceptron", NDJSON, body);
    vec![
        Case(
            "descending indices",
            svm("1 1:1\n-1 3:1 2:1\n"),
            400,
            "bad-index",
            Line(2, 8),
        ),
        Case(
            "an index twice",
            svm("1 2:1 2:1\n"),
            400,
            "bad-index",
            Line(1, 7),
        ),
        Case(
            "a negative index",
            svm("1 -1:1\n"),
            400,
            "bad-index",
            Line(1, 3),
        ),
        Case(
            "an index of 0 after others",
            svm("1 1:1 0:1\n"),
            400,
            "bad-index",
            Line(1, 7),
        ),
        Case(
            "an index past every limit",
            svm("1 99999999999999999999:1\n"),
            400,
            "bad-index",
            Line(1, 3),
        ),
        Case(
            "more weights than the state may have bytes",
            svm("1 1:1\n1 4294967295:1\n"),
            413,
            "too-large",
            Nowhere,
        ),
        Case("no colon", svm("1 1\n"), 400, "bad-index", Line(1, 3)),
        Case(
            "a value of 2 for a Boolean learner",
            train("directed-drift", LIBSVM, "1 1:1\n1 1:1 2:2\n"),
            422,
            "wrong-data",
            Line(2, 9),
        ),
        Case(
            "a value that is text",
            svm("1 1:x\n"),
            400,
            "bad-value",
            Line(1, 5),
        ),
        Case(
            "a value that is NaN",
            svm("1 1:nan\n"),
            400,
            "bad-value",
            Line(1, 5),
        ),
        Case(
            "three labels",
            svm("1 1:1\n2 1:1\n3 1:1\n"),
            422,
            "table-option",
            Nowhere,
        ),
        Case(
            "mixed label codings",
            svm("1 1:1\n0 1:1\n-1 1:1\n"),
            422,
            "table-option",
            Nowhere,
        ),
        Case(
            "a line without a label",
            svm("1:1 2:1\n"),
            400,
            "bad-label",
            Line(1, 1),
        ),
        Case("no lines", svm("\n# nothing\n"), 400, "empty-data", Nowhere),
        Case(
            "an index past n",
            query("n=3", LIBSVM, "1 4:1\n"),
            400,
            "bad-index",
            Line(1, 3),
        ),
        Case(
            "a header in LIBSVM",
            query("header=true", LIBSVM, "1 1:1\n"),
            400,
            "bad-option",
            Nowhere,
        ),
        Case(
            "labels last in LIBSVM",
            query("labels=last", LIBSVM, "1 1:1\n"),
            400,
            "bad-option",
            Nowhere,
        ),
        Case(
            "columns that are missing",
            csv("1,1,0\n1,1\n"),
            400,
            "wrong-shape",
            Line(2, 4),
        ),
        Case(
            "columns too many",
            csv("1,1,0\n1,1,0,1\n"),
            400,
            "wrong-shape",
            Line(2, 7),
        ),
        Case(
            "a missing value",
            csv("1,1.5,0\n0,,0\n"),
            422,
            "table-option",
            Nowhere,
        ),
        Case(
            "an infinite value",
            csv("1,1,0\n1,0,inf\n"),
            400,
            "bad-value",
            Line(2, 5),
        ),
        Case(
            "a third CSV label",
            csv("1,1,0\n2,0,1\n3,0,1\n"),
            422,
            "table-option",
            Nowhere,
        ),
        Case("an open quote", csv("1,\"1,0\n"), 400, "syntax", Line(1, 3)),
        Case(
            "no such column",
            query("labels=y&header=true", CSV, "a,b\n1,0\n"),
            422,
            "table-option",
            Line(1, 1),
        ),
        Case(
            "a CSV without rows",
            query("labels=class", CSV, "a,class\n"),
            400,
            "empty-data",
            Nowhere,
        ),
        Case(
            "lines of two kinds",
            ndjson("{\"x\":\"10\",\"y\":1}\n{\"x\":\"01\"}\n"),
            400,
            "bad-label",
            Line(2, 1),
        ),
        Case(
            "lines of two lengths",
            ndjson("{\"x\":\"10\",\"y\":1}\n{\"x\":\"1\",\"y\":-1}\n"),
            400,
            "wrong-shape",
            Line(2, 7),
        ),
        Case(
            "a bit that is neither",
            ndjson("{\"x\":\"1a\",\"y\":1}\n"),
            400,
            "bad-value",
            Line(1, 8),
        ),
        Case(
            "an unknown field of a line",
            ndjson("{\"x\":\"10\",\"z\":1}\n"),
            400,
            "schema",
            Line(1, 13),
        ),
        Case(
            "a line that is no JSON",
            ndjson("{\"x\":\"10\",\n"),
            400,
            "syntax",
            Line(1, 10),
        ),
        Case(
            "half-space lines for the perceptron",
            ndjson("10\n01\n"),
            422,
            "wrong-data",
            Nowhere,
        ),
        Case("an empty body", svm(""), 400, "empty-data", Nowhere),
    ]
}

/// Bad queries, headers and content codings.
fn around() -> Vec<Case> {
    let good = b"1 1:1\n-1 2:1\n";
    let train = |learner, query| Train(learner, query, LIBSVM, good.to_vec());
    let coded = |coding, body: Vec<u8>| {
        Raw(
            TRAIN,
            vec![("content-type", LIBSVM), ("content-encoding", coding)],
            body,
        )
    };
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(good).unwrap();
    let gzip = gzip.finish().unwrap();
    let mut damaged = gzip.clone();
    let checksum = gzip.len() - 8;
    damaged[checksum] ^= 0xff;
    let zstd = zstd::encode_all(&good[..], 1).unwrap();
    let typed = |path, media_type| Raw(path, vec![("content-type", media_type)], good.to_vec());
    let key = |key| ("idempotency-key", key);
    vec![
        Case(
            "an unknown learner in the path",
            train("perceptrom", ""),
            404,
            "not-found",
            Nowhere,
        ),
        Case(
            "confidence 0",
            train("directed-drift", "stop.confidence=0"),
            400,
            "invalid-parameter",
            Parameter("stop.confidence"),
        ),
        Case(
            "confidence 1",
            train("directed-drift", "stop.confidence=1"),
            400,
            "invalid-parameter",
            Parameter("stop.confidence"),
        ),
        Case(
            "confidence NaN",
            train("directed-drift", "stop.confidence=NaN"),
            400,
            "invalid-parameter",
            Parameter("stop.confidence"),
        ),
        Case(
            "confidence for the perceptron",
            train("perceptron", "stop.confidence=0.9"),
            422,
            "wrong-stop",
            Parameter("stop.confidence"),
        ),
        Case(
            "a batch of 0",
            train("directed-drift-sync", "params.batch_size=0"),
            400,
            "invalid-parameter",
            Parameter("params.batch_size"),
        ),
        Case(
            "a batch that is text",
            train("directed-drift-sync", "params.batch_size=many"),
            400,
            "invalid-parameter",
            Parameter("params.batch_size"),
        ),
        Case(
            "an unknown parameter",
            train("perceptron", "etta=1"),
            400,
            "invalid-parameter",
            Parameter("etta"),
        ),
        Case(
            "a parameter twice",
            train("perceptron", "params.eta=1&params.eta=2"),
            400,
            "invalid-parameter",
            Parameter("params.eta"),
        ),
        Case(
            "no passes",
            train("perceptron", "stop.max_passes=0"),
            400,
            "invalid-parameter",
            Parameter("stop.max_passes"),
        ),
        Case(
            "a seed below 0",
            train("perceptron", "seed=-1"),
            400,
            "invalid-parameter",
            Parameter("seed"),
        ),
        Case(
            "a trace that is a number",
            train("perceptron", "trace=1"),
            400,
            "invalid-parameter",
            Parameter("trace"),
        ),
        Case(
            "n that is text",
            train("perceptron", "n=many"),
            400,
            "invalid-parameter",
            Parameter("n"),
        ),
        Case(
            "an unknown assumption",
            train("perceptron", "assume=all"),
            400,
            "invalid-parameter",
            Parameter("assume"),
        ),
        Case(
            "the other kind's assumption",
            train("directed-drift", "assume=reflected"),
            422,
            "wrong-stop",
            Parameter("assume"),
        ),
        Case(
            "a header that is neither",
            train("perceptron", "header=maybe"),
            400,
            "invalid-parameter",
            Parameter("header"),
        ),
        Case(
            "too much time",
            train("perceptron", "stop.max_seconds=1e9"),
            400,
            "out-of-range",
            Parameter("stop.max_seconds"),
        ),
        Case(
            "a callback",
            train("perceptron", "callback=http://x"),
            422,
            "bad-callback",
            Parameter("callback"),
        ),
        Case(
            "a truncated gzip",
            coded("gzip", gzip[..gzip.len() - 9].to_vec()),
            400,
            "truncated",
            Nowhere,
        ),
        Case(
            "a damaged gzip",
            coded("gzip", damaged),
            400,
            "syntax",
            Nowhere,
        ),
        Case(
            "no gzip at all",
            coded("gzip", good.to_vec()),
            400,
            "syntax",
            Nowhere,
        ),
        Case(
            "a truncated zstd",
            coded("zstd", zstd[..zstd.len() - 2].to_vec()),
            400,
            "truncated",
            Nowhere,
        ),
        Case(
            "an unknown coding",
            coded("br", good.to_vec()),
            415,
            "unsupported-media-type",
            Parameter("Content-Encoding"),
        ),
        Case(
            "two codings",
            coded("gzip, gzip", gzip),
            415,
            "unsupported-media-type",
            Parameter("Content-Encoding"),
        ),
        Case(
            "no type",
            Raw(TRAIN, vec![], good.to_vec()),
            415,
            "unsupported-media-type",
            Nowhere,
        ),
        Case(
            "another type",
            typed(TRAIN, "text/plain"),
            415,
            "unsupported-media-type",
            Nowhere,
        ),
        Case(
            "lines to jobs",
            typed(JOBS, LIBSVM),
            415,
            "unsupported-media-type",
            Nowhere,
        ),
        Case(
            "no type to jobs",
            Raw(JOBS, vec![], b"{}".to_vec()),
            415,
            "unsupported-media-type",
            Nowhere,
        ),
        Case(
            "an empty idempotency key",
            Raw(JOBS, vec![("content-type", JSON), key("")], b"{}".to_vec()),
            400,
            "invalid-parameter",
            Parameter("Idempotency-Key"),
        ),
        Case(
            "an idempotency key of two words",
            Raw(
                TRAIN,
                vec![("content-type", LIBSVM), key("a b")],
                good.to_vec(),
            ),
            400,
            "invalid-parameter",
            Parameter("Idempotency-Key"),
        ),
    ]
}

async fn send(service: &Service, bad: Request) -> Answer {
    match bad {
        Job(body) => service.post_json(JOBS, &body).await,
        JobText(body) => service.post_as(JOBS, JSON, body).await,
        Train(learner, query, media_type, body) => {
            let path = format!("/v1/learners/{learner}/train?{query}");
            service.post_as(&path, media_type, body).await
        }
        Raw(path, headers, body) => service.send(request("POST", path, &headers, body)).await,
    }
}

/// Describes the difference between the answer and the expected one, if there is any.
fn fault(answer: &Answer, status: u16, code: &str, at: &At) -> Option<String> {
    let problem = answer.json();
    let mut faults = Vec::new();
    if answer.status.as_u16() != status || problem["code"] != code {
        faults.push(format!("expected {status} {code}"));
    }
    let first = &problem["errors"][0];
    let found = match at {
        Pointer(pointer) => first["pointer"] == *pointer,
        Parameter(name) => first["parameter"] == *name,
        Line(line, column) => first["line"] == *line && first["column"] == *column,
        Nowhere => ["pointer", "line", "parameter"]
            .iter()
            .all(|place| first.get(place).is_none()),
    };
    if !found {
        faults.push(format!("expected {at:?}"));
    }
    (!faults.is_empty()).then(|| format!("{} in {}", faults.join(", "), answer.text()))
}

async fn refuses(cases: Vec<Case>) {
    let service = Service::start().await;
    let mut faults = Vec::new();
    for Case(name, bad, status, code, at) in cases {
        let answer = send(&service, bad).await;
        faults.extend(fault(&answer, status, code, &at).map(|fault| format!("{name}: {fault}")));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    service.get("/livez").await.expect(200);
    service.get("/readyz").await.expect(200);
    assert_eq!(service.get("/v1/jobs").await.json()["items"], json!([]));
    assert_eq!(service.get("/v1/models").await.json()["items"], json!([]));
}

#[tokio::test]
async fn bad_data_in_a_job_are_refused_at_their_pointer() {
    refuses(data_in_jobs()).await;
}

#[tokio::test]
async fn bad_fields_of_a_job_are_refused_at_their_pointer() {
    refuses(fields_in_jobs()).await;
}

#[tokio::test]
async fn bad_targets_of_generated_data_are_refused_at_their_pointer() {
    refuses(targets()).await;
}

#[tokio::test]
async fn malformed_json_is_refused_at_line_and_column() {
    refuses(texts()).await;
}

#[tokio::test]
async fn bad_lines_are_refused_at_line_and_column() {
    refuses(lines()).await;
}

#[tokio::test]
async fn bad_queries_headers_and_codings_are_refused() {
    refuses(around()).await;
}

#[tokio::test]
async fn bad_parameters_of_lists_are_refused() {
    let service = Service::start().await;
    let cursor_of_models = "?cursor=mdl_01a1f8857c607000abcd36b85fbaafef";
    for (query, parameter) in [
        ("?limit=0", "limit"),
        ("?limit=101", "limit"),
        ("?limit=x", "limit"),
        ("?limit=-1", "limit"),
        ("?cursor=x", "cursor"),
        (cursor_of_models, "cursor"),
        ("?status=done", "status"),
        ("?colour=1", "colour"),
        ("?limit=1&limit=2", "limit"),
    ] {
        let answer = service.get(&format!("/v1/jobs{query}")).await;
        assert_eq!(
            answer.json()["errors"][0]["parameter"],
            parameter,
            "{query} {}",
            answer.text()
        );
        assert_eq!(answer.problem(400), "invalid-parameter", "{query}");
    }
}
