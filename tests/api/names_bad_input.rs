//! Bad input about names, sparse rows and classes, in every form that carries them: a problem names the fault, its
//! place and a remedy, wherever the examples go, or the input is right and is learnt.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::open_classes::{answers, opened};
use crate::service::{Answer, Service};

const NDJSON: &str = "application/x-ndjson";
const JSON: &str = "application/json";
const LIBSVM: &str = "text/x-libsvm";
const CSV: &str = "text/csv";

/// A body with its type and the parameters with which it gives names.
struct Sent {
    media_type: &'static str,
    query: &'static str,
    body: Vec<u8>,
}

/// The place of a fault.
enum At {
    Line(u64, u64),
    Pointer(&'static str),
    /// The fault concerns the whole body.
    Whole,
}

fn ndjson(body: impl Into<Vec<u8>>) -> Sent {
    sent(NDJSON, "", body)
}

fn labelled(body: impl Into<Vec<u8>>) -> Sent {
    sent(JSON, "", body)
}

fn libsvm(body: impl Into<Vec<u8>>) -> Sent {
    sent(LIBSVM, "", body)
}

fn words(body: impl Into<Vec<u8>>) -> Sent {
    sent(CSV, "vocabulary=open&labels=y&kinds=*:nominal", body)
}

fn numbers(body: impl Into<Vec<u8>>) -> Sent {
    sent(CSV, "vocabulary=open&labels=y&kinds=*:number", body)
}

fn sent(media_type: &'static str, query: &'static str, body: impl Into<Vec<u8>>) -> Sent {
    Sent {
        media_type,
        query,
        body: body.into(),
    }
}

/// Examples of a name each, in every form: lists, a document, names in place of indices, and a table.
fn one_name_each(examples: &[(String, String)]) -> [Sent; 4] {
    let (mut lines, mut rows, mut table) = (String::new(), String::new(), "y,w\n".to_owned());
    let mut all = Vec::new();
    for (name, class) in examples {
        let name = format!("w={name}");
        writeln!(lines, "{}", json!({"x": [name], "y": class})).unwrap();
        all.push(json!({"x": [name], "y": class}));
        writeln!(rows, "{class} {name}").unwrap();
        writeln!(table, "{class},{}", &name[2..]).unwrap();
    }
    let document = json!({"labelled": {"examples": all}}).to_string();
    [
        ndjson(lines),
        labelled(document),
        libsvm(rows),
        words(table),
    ]
}

async fn train(service: &Service, learner: &str, query: &str, sent: &Sent) -> Answer {
    let path = format!("/v1/learners/{learner}/train?seed=1&{}{query}", sent.query);
    service
        .post_as(&path, sent.media_type, sent.body.clone())
        .await
}

/// Shows a body to a session with an open vocabulary.
async fn show(service: &Service, session: &Value, sent: &Sent) -> Answer {
    let path = opened(service, session).await;
    let path = format!("{path}/examples?{}", sent.query);
    service
        .post_as(&path, sent.media_type, sent.body.clone())
        .await
}

/// The problem of an answer. An answer in lines ends with it after the examples before the fault.
fn problem(answer: &Answer) -> Value {
    match answer.status.as_u16() {
        200 => answers(answer.text()).pop().unwrap()["error"].take(),
        _ => answer.json(),
    }
}

fn assert_refused(problem: &Value, code: &str, at: &At, told: &str) {
    assert_eq!(problem["code"], code, "{problem}");
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains(told), "{told}: {detail}");
    let place = &problem["errors"][0];
    let is_there = match at {
        At::Line(line, column) => place["line"] == *line && place["column"] == *column,
        At::Pointer(pointer) => place["pointer"] == *pointer,
        At::Whole => place.get("line").is_none(),
    };
    assert!(is_there, "{problem}");
}

/// A training, an upload and a session refuse the body alike.
async fn refused(service: &Service, sent: &Sent, code: &str, at: At, told: &str) {
    let trained = train(service, "perceptron", "", sent).await;
    assert!(trained.status.is_client_error(), "{}", trained.text());
    let session =
        json!({"learner": {"name": "perceptron"}, "vocabulary": "open", "values": "real"});
    let shown = show(service, &session, sent).await;
    let mut answers = vec![trained, shown];
    // In a document for a dataset the examples are one level deeper.
    if sent.media_type != JSON {
        let path = format!("/v1/datasets?{}", sent.query);
        let stored = service
            .post_as(&path, sent.media_type, sent.body.clone())
            .await;
        answers.push(stored);
    }
    for answer in answers {
        assert_refused(&problem(&answer), code, &at, told);
    }
}

async fn succeeded(service: &Service, learner: &str, query: &str, sent: &Sent) -> Value {
    let job = train(service, learner, query, sent)
        .await
        .expect(200)
        .json();
    assert_eq!(job["status"], "succeeded", "{job}");
    job
}

#[tokio::test]
async fn examples_without_names_are_learnt() {
    let service = Service::start().await;
    let session = json!({"learner": {"name": "perceptron"}, "vocabulary": "open"});
    let some = [
        ndjson("{\"x\":[\"a\"],\"y\":1}\n{\"x\":[],\"y\":-1}\n"),
        labelled(r#"{"labelled":{"examples":[{"x":{"a":1},"y":1},{"x":{},"y":-1}]}}"#),
        libsvm("1 a\n-1\n"),
        words("y,w\n1,a\n-1,\n"),
    ];
    for body in &some {
        let job = succeeded(&service, "perceptron", "", body).await;
        assert_eq!(job["result"]["training"]["errors"], 0, "{job}");
        show(&service, &session, body).await.expect(200);
    }
    // If no example has a name, the request says that names are meant.
    let none = [
        ndjson("{\"x\":[],\"y\":1}\n{\"x\":[],\"y\":-1}\n"),
        labelled(r#"{"labelled":{"examples":[{"x":[],"y":1},{"x":{},"y":-1}]}}"#),
        libsvm("1\n-1\n"),
    ];
    for body in &none {
        let answer = train(&service, "perceptron", "", body).await;
        assert_refused(
            &problem(&answer),
            "empty-data",
            &At::Whole,
            "vocabulary=open",
        );
        let job = succeeded(&service, "perceptron", "&vocabulary=open", body).await;
        assert_eq!(job["result"]["training"]["errors"], 1, "{job}");
        show(&service, &session, body).await.expect(200);
    }
    let table = sent(CSV, "vocabulary=open&labels=y", "y,w\n1,\n-1,\n");
    let answer = train(&service, "perceptron", "", &table).await;
    assert_refused(
        &problem(&answer),
        "empty-data",
        &At::Whole,
        "at least one column must",
    );
}

#[tokio::test]
async fn name_of_2_megabytes_is_refused_at_its_place() {
    let service = Service::start().await;
    let long = "n".repeat(2_000_000);
    for (sent, at) in [
        (
            ndjson(format!(
                "{{\"x\":[\"a\"],\"y\":1}}\n{{\"x\":[\"a\",\"{long}\"],\"y\":-1}}\n"
            )),
            At::Line(2, 11),
        ),
        (
            labelled(format!(
                r#"{{"labelled":{{"examples":[{{"x":["a"],"y":1}},{{"x":["a","{long}"],"y":-1}}]}}}}"#
            )),
            At::Pointer("/labelled/examples/1/x/1"),
        ),
        (libsvm(format!("1 a\n-1 a {long}:2\n")), At::Line(2, 6)),
        (words(format!("y,w\n1,a\n-1,{long}\n")), At::Line(3, 4)),
    ] {
        refused(&service, &sent, "bad-name", at, "at most 1024").await;
    }
    let column = numbers(format!("y,{long}\n1,2\n-1,3\n"));
    refused(&service, &column, "schema", At::Whole, "shorten the name").await;
}

#[tokio::test]
async fn name_with_two_strengths_is_refused_at_its_example() {
    let service = Service::start().await;
    for (sent, at) in [
        (
            ndjson("{\"x\":{\"a\":1},\"y\":1}\n{\"x\":{\"a\":1,\"a\":2},\"y\":-1}\n"),
            At::Line(2, 6),
        ),
        // The text `the` of the column `w` is the name `w=the`.
        (
            ndjson("{\"x\":{\"w\":\"the\",\"w=the\":2},\"y\":1}\n"),
            At::Line(1, 6),
        ),
        (
            labelled(r#"{"labelled":{"examples":[{"x":{"a":1,"a":0},"y":1}]}}"#),
            At::Pointer("/labelled/examples/0/x"),
        ),
        (libsvm("1 b\n-1 a:1 b:1 a:2\n"), At::Line(2, 1)),
    ] {
        refused(&service, &sent, "bad-name", at, "twice in the example").await;
    }
    let columns = numbers("y,a,a\n1,1,2\n-1,0,3\n");
    refused(&service, &columns, "schema", At::Line(1, 5), "rename one").await;
}

/// `limits_named.rs` exceeds the limit of a session.
#[tokio::test]
async fn names_beyond_names_max_are_refused_at_their_example() {
    let service = Service::limited(&[], |limits| limits.names_max = 2).await;
    let three = [("a", 1), ("b", -1), ("c", 1)];
    let three = three.map(|(name, class)| (name.to_owned(), class.to_string()));
    let places = [
        At::Line(3, 7),
        At::Pointer("/labelled/examples/2/x/0"),
        At::Line(3, 3),
        At::Line(4, 3),
    ];
    for (sent, at) in one_name_each(&three).into_iter().zip(places) {
        for path in ["/v1/learners/perceptron/train", "/v1/learners/winnow/train"] {
            let path = format!("{path}?{}", sent.query);
            let answer = service
                .post_as(&path, sent.media_type, sent.body.clone())
                .await;
            assert_refused(&problem(&answer), "too-large", &at, "names_max is 2");
        }
    }
}

#[tokio::test]
async fn names_of_two_normal_forms_are_two_names() {
    let service = Service::start().await;
    let forms = ["\u{e9}", "e\u{301}"];
    let examples = [(forms[0], "1"), (forms[1], "-1")];
    let examples = examples.map(|(name, class)| (name.to_owned(), class.to_owned()));
    for sent in one_name_each(&examples) {
        let job = succeeded(&service, "perceptron", "", &sent).await;
        assert_eq!(job["result"]["training"]["errors"], 0, "{job}");
        let model = format!("/v1/models/{}", job["result"]["model"].as_str().unwrap());
        let names = service.get(&model).await.expect(200).json()["features"].take();
        assert_eq!(
            names,
            json!([format!("w={}", forms[1]), format!("w={}", forms[0])])
        );
        let session = json!({"learner": {"name": "perceptron"}, "vocabulary": "open"});
        let path = opened(&service, &session).await;
        let shown = format!("{path}/examples?{}", sent.query);
        let answer = service
            .post_as(&shown, sent.media_type, sent.body.clone())
            .await;
        answer.expect(200);
        assert_eq!(service.get(&path).await.expect(200).json()["n"], 2);
    }
}

#[tokio::test]
async fn names_that_are_not_utf_8_are_refused_at_their_place() {
    let service = Service::start().await;
    for (sent, at) in [
        (
            ndjson(b"{\"x\":[\"a\"],\"y\":1}\n{\"x\":[\"caf\xe9\"],\"y\":-1}\n"),
            At::Line(2, 11),
        ),
        (
            labelled(b"{\"labelled\":{\"examples\":[{\"x\":[\"caf\xe9\"],\"y\":1}]}}"),
            At::Line(1, 36),
        ),
        (libsvm(b"1 a\n-1 caf\xe9\n"), At::Line(2, 4)),
        (words(b"y,w\n1,a\n-1,caf\xe9\n"), At::Line(3, 4)),
    ] {
        refused(&service, &sent, "syntax", at, "not UTF-8").await;
    }
}

#[tokio::test]
async fn strengths_that_are_not_finite_are_refused_at_their_place() {
    let service = Service::start().await;
    for value in ["NaN", "-Infinity", "1e999"] {
        let lines = format!("{{\"x\":{{\"a\":{value}}},\"y\":1}}\n");
        let document = format!(r#"{{"labelled":{{"examples":[{{"x":{{"a":{value}}},"y":1}}]}}}}"#);
        for (sent, code) in [
            (ndjson(lines), None),
            (labelled(document), Some("syntax")),
            (libsvm(format!("1 a:{value}\n")), Some("bad-value")),
            (
                numbers(format!("y,a\n1,{value}\n-1,1\n")),
                Some("bad-value"),
            ),
        ] {
            // NaN is one of the usual spellings of a missing cell.
            if sent.media_type == CSV && value == "NaN" {
                succeeded(&service, "perceptron", "", &sent).await;
                continue;
            }
            let answer = problem(&train(&service, "perceptron", "", &sent).await);
            let code = code.unwrap_or(if value == "1e999" { "schema" } else { "syntax" });
            let line = if sent.media_type == CSV { 2 } else { 1 };
            assert_eq!(answer["code"], code, "{answer}");
            assert_eq!(answer["errors"][0]["line"], line, "{answer}");
            let detail = answer["detail"].as_str().unwrap();
            assert!(detail.contains("finite"), "{detail}");
        }
    }
}

#[tokio::test]
async fn learners_of_bits_refuse_names_with_values_at_their_place() {
    let service = Service::start().await;
    for learner in ["winnow", "kernel-winnow", "kernel-perceptron"] {
        for (sent, at) in [
            (
                ndjson("{\"x\":{\"a\":1,\"b\":-1},\"y\":1}\n{\"x\":[\"b\"],\"y\":-1}\n"),
                At::Line(1, 6),
            ),
            (
                labelled(
                    r#"{"labelled":{"examples":[{"x":{"a":1,"b":-1},"y":1},{"x":["b"],"y":-1}]}}"#,
                ),
                At::Pointer("/labelled/examples/0/x/b"),
            ),
            (libsvm("1 a b:-1\n-1 b\n"), At::Line(1, 5)),
            (numbers("y,a,b\n1,1,-1\n-1,0,1\n"), At::Line(2, 5)),
        ] {
            let answer = train(&service, learner, "", &sent).await;
            assert_refused(&problem(&answer), "wrong-data", &at, "Leave the values out");
            let mut session = json!({"learner": {"name": learner}, "vocabulary": "open"});
            if learner.ends_with("winnow") {
                session["active"] = json!(2);
            }
            let shown = problem(&show(&service, &session, &sent).await);
            assert_eq!(shown["code"], "wrong-data");
            let detail = shown["detail"].as_str().unwrap();
            assert!(detail.contains("Leave the values out"), "{detail}");
            assert_ne!(shown["errors"][0], Value::Null);
        }
    }
}

#[tokio::test]
async fn threshold_too_small_for_the_names_withholds_the_bound() {
    let service = Service::start().await;
    let mut lines = String::new();
    for row in 0..40 {
        let names: Vec<String> = (0..10).map(|at| format!("w{}", row * 3 + at)).collect();
        let class = if row % 2 == 0 { 1 } else { -1 };
        writeln!(lines, "{}", json!({"x": names, "y": class})).unwrap();
    }
    let sent = ndjson(lines);
    // Ten names are active, so that theta must exceed 20.
    for (theta, is_bounded) in [("20", false), ("20.5", true)] {
        let query = format!("&params.relevant=3&params.theta={theta}");
        let job = succeeded(&service, "winnow", &query, &sent).await;
        let bound = &job["result"]["bound"];
        assert_eq!(bound["mistakes_at_most"].is_null(), !is_bounded, "{bound}");
        let detail = bound["detail"].as_str().unwrap_or_default();
        assert_eq!(detail.contains("theta"), !is_bounded, "{bound}");
    }
    for theta in ["0", "-3"] {
        let answer = train(&service, "winnow", &format!("&params.theta={theta}"), &sent).await;
        assert_eq!(answer.json()["errors"][0]["parameter"], "params.theta");
        assert_eq!(answer.problem(400), "invalid-parameter");
    }
}

#[tokio::test]
async fn ten_thousand_classes_are_refused_and_one_against_the_rest_is_learnt() {
    let service = Service::start().await;
    let examples: Vec<(String, String)> = (0..10_000)
        .map(|at| (format!("n{}", at % 7), format!("c{at}")))
        .collect();
    let places = [
        At::Line(4097, 19),
        At::Pointer("/labelled/examples/4096/y"),
        At::Line(4097, 1),
        At::Line(4098, 1),
    ];
    for (sent, at) in one_name_each(&examples).into_iter().zip(places) {
        for query in ["", "&classes=open"] {
            let answer = train(&service, "perceptron", query, &sent).await;
            assert_refused(&problem(&answer), "bad-label", &at, "classes_max: 4096");
        }
        let session =
            json!({"learner": {"name": "perceptron"}, "vocabulary": "open", "classes": "open"});
        let shown = show(&service, &session, &sent).await;
        assert_refused(&problem(&shown), "bad-label", &at, "fewer classes");
        // What the refusal proposes, with a class among the first and one that is not.
        for class in ["c7", "c9999"] {
            let query = format!("&positive={class}&stop.max_passes=2");
            let job = succeeded(&service, "perceptron", &query, &sent).await;
            assert_eq!(job["result"]["training"]["examples"], 10_000, "{job}");
        }
        let answer = train(&service, "perceptron", "&positive=none", &sent).await;
        assert_eq!(answer.problem(422), "table-option");
    }
    let classes: Vec<&String> = examples.iter().map(|(_, class)| class).collect();
    let asked =
        json!({"learner": {"name": "perceptron"}, "vocabulary": "open", "classes": classes});
    let answer = service.post_json("/v1/sessions", &asked).await;
    assert!(
        answer.text().contains("classes_max: 4096"),
        "{}",
        answer.text()
    );
    assert_eq!(answer.problem(400), "out-of-range");
}

#[tokio::test]
async fn class_that_appears_once_is_a_class() {
    let service = Service::start().await;
    let example = |at: usize| {
        let class = ["a", "b", "c"][(at / 6).min(2)];
        (class.to_owned(), class.to_owned())
    };
    let examples: Vec<(String, String)> = (0..13).map(example).collect();
    for sent in one_name_each(&examples) {
        for query in ["", "&classes=open", "&holdout=0.3"] {
            let job = succeeded(&service, "perceptron", query, &sent).await;
            assert_eq!(job["result"]["members"][2]["class"], "c", "{job}");
        }
        let session =
            json!({"learner": {"name": "perceptron"}, "vocabulary": "open", "classes": "open"});
        let path = opened(&service, &session).await;
        let shown = format!("{path}/examples?{}", sent.query);
        let answer = service
            .post_as(&shown, sent.media_type, sent.body.clone())
            .await;
        answer.expect(200);
        let session = service.get(&path).await.expect(200).json();
        assert_eq!(session["classes"], json!(["a", "b", "c"]));
        // A session of two classes says how to open one of three. NDJSON has the classes of the session.
        let session = json!({"learner": {"name": "perceptron"}, "vocabulary": "open"});
        let answer = problem(&show(&service, &session, &sent).await);
        assert_eq!(answer["code"], "wrong-data", "{answer}");
        assert!(
            answer["detail"].as_str().unwrap().contains("open"),
            "{answer}"
        );
    }
}

#[tokio::test]
async fn one_class_alone_is_refused_unless_the_request_names_another() {
    let service = Service::start().await;
    let one = vec![("v".to_owned(), "a".to_owned()); 5];
    for sent in one_name_each(&one) {
        let answer = train(&service, "perceptron", "", &sent).await;
        let told = "two classes or more";
        assert_refused(&problem(&answer), "table-option", &At::Whole, told);
        for query in ["&positive=a", "&classes=b,a", "&classes=a,b,c"] {
            let job = succeeded(&service, "perceptron", query, &sent).await;
            assert_eq!(job["result"]["training"]["errors"], 0, "{job}");
        }
        for classes in [json!("open"), json!(["a", "b"])] {
            let session = json!({"learner": {"name": "perceptron"}, "vocabulary": "open", "classes": classes});
            show(&service, &session, &sent).await.expect(200);
        }
    }
}

/// One class of a stored dataset of names against the others, and a list of its classes, keep the names.
#[tokio::test]
async fn classes_of_a_stored_dataset_of_names_are_those_that_the_request_states() {
    let service = Service::start().await;
    let example = |at: usize| {
        let class = ["a", "b", "c"][at % 3];
        (format!("{class}{}", at % 2), class.to_owned())
    };
    let examples: Vec<(String, String)> = (0..12).map(example).collect();
    let [sent, ..] = one_name_each(&examples);
    let stored = service
        .post_as("/v1/datasets", NDJSON, sent.body.clone())
        .await;
    let stored = json!({"dataset": stored.expect(201).id()});
    for query in ["positive=b", "classes=c,b,a", "classes=open"] {
        let path = format!("/v1/learners/perceptron/train?seed=1&{query}");
        let by_id = service.post_json(&path, &stored).await.expect(200).json();
        let by_body = succeeded(&service, "perceptron", &format!("&{query}"), &sent).await;
        for member in ["hypothesis", "mistakes", "members"] {
            assert_eq!(
                by_id["result"][member], by_body["result"][member],
                "{query}"
            );
        }
        let model = format!("/v1/models/{}", by_id["result"]["model"].as_str().unwrap());
        let model = service.get(&model).await.expect(200).json();
        assert_eq!(model["features"][0], "w=a0");
    }
}

#[tokio::test]
async fn indices_above_the_limit_are_refused_and_learnt_as_names() {
    let service = Service::start().await;
    for (body, at, told) in [
        (
            "1 1:1\n-1 2:1 4294967296:1\n",
            At::Line(2, 8),
            "above 4294967295",
        ),
        (
            "1 0:1\n-1 2:1 4294967295:1\n",
            At::Line(2, 8),
            "above 4294967294",
        ),
        (
            "1 1:1 99999999999999999999:1\n",
            At::Line(1, 7),
            "far above the limit",
        ),
    ] {
        let sent = libsvm(body);
        let trained = train(&service, "perceptron", "", &sent).await;
        let stored = service.post_as("/v1/datasets", LIBSVM, body).await;
        for answer in [trained, stored] {
            assert_refused(&problem(&answer), "bad-index", &at, told);
        }
        let fixed = json!({"learner": {"name": "perceptron"}, "n": 3});
        let answer = problem(&show(&service, &fixed, &sent).await);
        assert_eq!(answer["code"], "bad-index", "{answer}");
    }
    let largest = libsvm("1 1:1\n-1 2:1 4294967295:1\n");
    let answer = train(&service, "perceptron", "", &largest).await;
    let told = "`vocabulary=open`";
    assert_refused(&problem(&answer), "too-large", &At::Whole, told);
    let job = succeeded(&service, "perceptron", "&vocabulary=open", &largest).await;
    assert_eq!(job["result"]["hypothesis"]["n"], 3);
}

/// A line without a label looks like one with a label, and would lose its first name.
#[tokio::test]
async fn predicted_lines_of_libsvm_begin_with_a_label() {
    let service = Service::start().await;
    let job = succeeded(&service, "perceptron", "", &libsvm("p a b\nq b c\n")).await;
    let model = format!("/v1/models/{}", job["result"]["model"].as_str().unwrap());
    let opened = |classes: Value| {
        let asked =
            json!({"learner": {"name": "perceptron"}, "vocabulary": "open", "classes": classes});
        let service = &service;
        async move {
            let session = service.post_json("/v1/sessions", &asked).await.expect(201);
            let session = format!("/v1/sessions/{}", session.id());
            let path = format!("{session}/examples");
            let taught = service.post_as(&path, LIBSVM, "p a b\nq b c\nr d\n").await;
            taught.expect(200);
            session
        }
    };
    let (fixed, open) = (
        opened(json!(["p", "q", "r"])).await,
        opened(json!("open")).await,
    );
    for (path, line, label_is_known) in [
        (&model, "b a\n", false),
        (&fixed, "b a\n", false),
        // A session that learns new classes may meet one.
        (&open, "b a\n", true),
        (&model, "p b a\n", true),
        (&model, "0 b a\n", true),
    ] {
        let path = format!("{path}/predict");
        let answer = service.post_as(&path, LIBSVM, line).await;
        if label_is_known {
            answer.expect(200);
            continue;
        }
        let found = problem(&answer);
        assert_refused(&found, "bad-label", &At::Line(1, 1), "labels=none");
        let path = format!("{path}?labels=none");
        let unlabelled = service.post_as(&path, LIBSVM, line).await.expect(200);
        assert_eq!(unlabelled.json()["unseen"], json!([0]));
    }
}
