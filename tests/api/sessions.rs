//! Sessions: learning one example at a time over `/v1/sessions`.

use std::fmt::Write as _;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::join_all;
use halfspace_core::learners::engine::random::Generator;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

use super::session_streams::duplex;
use crate::service::{Answer, Service, request};

const LEARNERS: [&str; 7] = [
    "directed-drift",
    "directed-drift-async",
    "directed-drift-sync",
    "perceptron",
    "winnow",
    "kernel-perceptron",
    "bounded-perceptron",
];

/// Examples of a disjunction of the first three of `n` features. About half of them are positive.
pub(super) fn examples(n: usize, count: usize, seed: u64) -> Vec<(String, i8)> {
    let mut random = Generator::seed_from_u64(seed);
    let one = |_| {
        let bits: Vec<bool> = (0..n).map(|_| random.random_range(0..4) == 0).collect();
        let text = bits
            .iter()
            .map(|&bit| if bit { '1' } else { '0' })
            .collect();
        let label = if bits[..3].contains(&true) { 1 } else { -1 };
        (text, label)
    };
    (0..count).map(one).collect()
}

pub(super) fn lines(examples: &[(String, i8)]) -> String {
    let mut text = String::new();
    for (x, y) in examples {
        writeln!(text, r#"{{"x":"{x}","y":{y}}}"#).unwrap();
    }
    text
}

pub(super) fn body(examples: &[(String, i8)]) -> Value {
    let list: Vec<_> = examples
        .iter()
        .map(|(x, y)| json!({"x": x, "y": y}))
        .collect();
    json!({"labelled": {"examples": list}})
}

pub(super) async fn opened(service: &Service, body: &Value) -> String {
    let answer = service.post_json("/v1/sessions", body).await.expect(201);
    assert_eq!(answer.header("etag"), Some("\"0\""));
    answer.header("location").unwrap().to_owned()
}

pub(super) async fn of(service: &Service, learner: &str, n: usize) -> String {
    let asked = json!({"learner": {"name": learner}, "n": n, "seed": 7});
    opened(service, &asked).await
}

pub(super) async fn send(
    service: &Service,
    path: &str,
    text: &str,
    if_match: Option<&str>,
) -> Answer {
    let mut headers = vec![("content-type", "application/x-ndjson")];
    headers.extend(if_match.map(|value| ("if-match", value)));
    let path = format!("{path}/examples");
    service
        .send(request("POST", &path, &headers, text.to_owned()))
        .await
}

pub(super) async fn send_json(
    service: &Service,
    path: &str,
    body: &Value,
    if_match: &str,
) -> Answer {
    let headers = [("content-type", "application/json"), ("if-match", if_match)];
    let path = format!("{path}/examples");
    service
        .send(request("POST", &path, &headers, body.to_string()))
        .await
}

pub(super) fn answers(answer: &Answer) -> Vec<Value> {
    let lines = answer.text().lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The document of a session without its id and age, which does not depend on the requests that fed it.
pub(super) async fn settled(service: &Service, path: &str) -> Value {
    let answer = service.get(path).await.expect(200);
    let mut session = answer.json();
    let tag = format!("\"{}\"", session["position"]);
    assert_eq!(answer.header("etag"), Some(tag.as_str()));
    session["id"] = Value::Null;
    session["created_at"] = Value::Null;
    session
}

#[tokio::test]
async fn session_answers_and_counts_every_example() {
    let service = Service::start().await;
    let path = of(&service, "perceptron", 3).await;
    // The hypothesis w = 0 with bias 0 predicts 1 for every example, so 000 is a mistake.
    let text = r#"{"x": "111", "y": 1}
        {"x": [0, 0, 0], "y": -1}

        {"x": "111", "y": 1}
"#;
    let answer = send(&service, &path, text, None).await.expect(200);
    assert_eq!(answer.header("content-type"), Some("application/x-ndjson"));
    let expected = [
        json!({"position": 1, "prediction": 1, "mistake": false, "run_length": 1,
            "terminated": false}),
        json!({"position": 2, "prediction": 1, "mistake": true, "run_length": 0,
            "terminated": false}),
        json!({"position": 3, "prediction": 1, "mistake": false, "run_length": 1,
            "terminated": false}),
    ];
    assert_eq!(answers(&answer), expected);
    let session = settled(&service, &path).await;
    for (field, value) in [
        ("position", json!(3)),
        ("examples", json!(3)),
        ("mistakes", json!(1)),
        ("updates", json!(1)),
        ("run_length", json!(1)),
        ("termination", Value::Null),
        ("seed", json!(7)),
    ] {
        assert_eq!(session[field], value, "{field}");
    }
    assert_eq!(session["hypothesis"]["weights"], json!([1, 1, 1]));
}

#[tokio::test]
async fn session_learns_the_same_by_lines_documents_and_interruptions() {
    let service = Service::start().await;
    let all = examples(12, 300, 1);
    for learner in LEARNERS {
        let (streamed, posted) = (
            of(&service, learner, 12).await,
            of(&service, learner, 12).await,
        );
        let answer = send(&service, &streamed, &lines(&all), None)
            .await
            .expect(200);
        let streamed_answers = answers(&answer);
        assert_eq!(streamed_answers.len(), all.len(), "{learner}");
        let mut posted_answers = Vec::new();
        for (index, part) in all.chunks(7).enumerate() {
            if index % 5 == 4 {
                // The next request restores the session from the store.
                service.forget_sessions();
            }
            let stands = format!("\"{}\"", posted_answers.len());
            let answer = send_json(&service, &posted, &body(part), &stands)
                .await
                .expect(200);
            posted_answers.extend(answer.json()["answers"].as_array().unwrap().clone());
            let stands = format!("\"{}\"", posted_answers.len());
            assert_eq!(answer.header("etag"), Some(stands.as_str()));
        }
        assert_eq!(streamed_answers, posted_answers, "{learner}");
        let ends = (
            settled(&service, &streamed).await,
            settled(&service, &posted).await,
        );
        assert_eq!(ends.0, ends.1, "{learner}");
        let untested = posted_answers
            .iter()
            .filter(|one| one["prediction"].is_null());
        let is_batch = learner.ends_with("sync");
        assert_eq!(untested.count() > 0, is_batch, "{learner}");
    }
}

#[tokio::test]
async fn long_session_is_restored_from_its_snapshot() {
    let service = Service::start().await;
    let all = examples(20, 10_000, 2);
    for learner in ["directed-drift-sync", "perceptron", "kernel-perceptron"] {
        let (whole, parts) = (
            of(&service, learner, 20).await,
            of(&service, learner, 20).await,
        );
        send(&service, &whole, &lines(&all), None).await.expect(200);
        for part in all.chunks(2_999) {
            send(&service, &parts, &lines(part), None).await.expect(200);
            service.forget_sessions();
        }
        let ends = (
            settled(&service, &whole).await,
            settled(&service, &parts).await,
        );
        assert_eq!(ends.0, ends.1, "{learner}");
        assert_eq!(ends.0["position"], 10_000);
    }
}

#[tokio::test]
async fn session_refuses_a_stale_position_and_states_its_own() {
    let service = Service::start().await;
    let path = of(&service, "perceptron", 3).await;
    let one = json!({"labelled": {"examples": [{"x": "101", "y": 1}]}});
    send_json(&service, &path, &one, "\"0\"").await.expect(200);
    // A retry of a request that succeeded.
    let again = send_json(&service, &path, &one, "\"0\"").await;
    assert_eq!(again.problem(412), "stale-position");
    assert_eq!(again.json()["position"], 1);
    let line = send(
        &service,
        &path,
        "{\"x\": \"101\", \"y\": 1}\n",
        Some("\"0\""),
    )
    .await;
    assert_eq!(line.problem(412), "stale-position");
    for garbage in [
        "1",
        "\"one\"",
        "\"\"",
        "W/\"1\"",
        "\"1\", \"2\"",
        "\"-1\"",
        "\"+1\"",
    ] {
        let answer = send_json(&service, &path, &one, garbage).await;
        assert_eq!(answer.problem(400), "invalid-parameter", "{garbage}");
    }
    send_json(&service, &path, &one, "*").await.expect(200);
    assert_eq!(settled(&service, &path).await["position"], 2);
}

#[tokio::test]
async fn session_learns_a_document_whole_or_not_at_all() {
    let service = Service::start().await;
    let path = of(&service, "perceptron", 3).await;
    let bad = json!({"labelled": {"examples": [{"x": "101", "y": 1}, {"x": "1x1", "y": 1}]}});
    let answer = service.post_json(&format!("{path}/examples"), &bad).await;
    assert_eq!(answer.problem(400), "bad-value");
    assert_eq!(settled(&service, &path).await["position"], 0);
    let asked = json!({"learner": {"name": "perceptron"}, "n": 3, "stop": {"max_examples": 2}});
    let path = opened(&service, &asked).await;
    let three = json!({"labelled": {"examples": [
        {"x": "101", "y": 1}, {"x": "111", "y": 1}, {"x": "001", "y": 1}]}});
    let answer = service.post_json(&format!("{path}/examples"), &three).await;
    assert_eq!(answer.problem(409), "wrong-state");
    assert!(answer.text().contains("the first 2"), "{}", answer.text());
    assert_eq!(settled(&service, &path).await["position"], 0);
}

#[tokio::test]
async fn session_stream_ends_with_a_late_error_and_keeps_earlier_lines() {
    let service = Service::start().await;
    for (bad, code, line) in [
        ("{\"x\": \"10\", \"y\": 1}", "wrong-data", 4),
        ("{\"x\": \"1010\", \"y\": 1}", "wrong-data", 4),
        ("\"101\"", "bad-label", 4),
        ("{\"x\": \"101\"}", "bad-label", 4),
        ("{\"x\": \"101\", \"y\": 0}", "bad-label", 4),
        ("{\"x\": [1, -1, 1], \"y\": 1}", "wrong-data", 4),
        ("{\"x\": [0.5, 1, 0], \"y\": 1}", "wrong-data", 4),
        ("{\"x\": \"101\", \"y\": 2}", "wrong-data", 4),
        ("{\"x\": \"101\", \"y\": 1, \"z\": 1}", "schema", 4),
        ("no example", "bad-label", 4),
        ("{\"x\": \"1 1\", \"y\": 1}", "bad-value", 4),
    ] {
        let path = of(&service, "perceptron", 3).await;
        let good = "{\"x\": \"101\", \"y\": 1}\n{\"x\": \"000\", \"y\": -1}\n";
        let text = format!("{good}\n{bad}\n{good}");
        let answer = send(&service, &path, &text, None).await.expect(200);
        let all = answers(&answer);
        assert_eq!(all.len(), 3, "{bad}: {all:?}");
        let problem = &all[2]["error"];
        assert_eq!(problem["code"], code, "{bad}: {problem}");
        assert_eq!(problem["errors"][0]["line"], line, "{bad}: {problem}");
        assert!(problem["errors"][0]["column"].is_u64(), "{bad}: {problem}");
        assert_eq!(problem["position"], 2, "{bad}: {problem}");
        assert_eq!(
            problem["request_id"].as_str(),
            answer.header("x-request-id")
        );
        crate::service::contract::assert_valid("/components/schemas/Problem", problem);
        assert_eq!(settled(&service, &path).await["position"], 2, "{bad}");
    }
}

#[tokio::test]
async fn session_learns_no_more_after_its_end() {
    let service = Service::start().await;
    let asked = json!({"learner": {"name": "directed-drift"}, "n": 15, "seed": 4,
        "assume": "uniform-positive", "stop": {"confidence": 0.9}});
    let path = opened(&service, &asked).await;
    // Each example differs from the first hypothesis in a different place.
    let first = service.get(&path).await.expect(200).json();
    let weights = first["hypothesis"]["weights"].as_str().unwrap().to_owned();
    let flipped = |text: &str, all: bool, place: usize| -> String {
        let bits = text.chars().enumerate();
        let flip = |(at, bit)| match (all || at == place, bit) {
            (true, '0') => '1',
            (true, _) => '0',
            (false, bit) => bit,
        };
        bits.map(flip).collect()
    };
    let lines: String = (0..15)
        .map(|place| format!("\"{}\"\n", flipped(&weights, false, place)))
        .collect();
    let answer = send(&service, &path, &lines, None).await.expect(200);
    let all = answers(&answer);
    let (error, learnt) = all.split_last().unwrap();
    assert_eq!(error["error"]["code"], "wrong-state");
    assert_eq!(error["error"]["position"], learnt.len());
    let (last, before) = learnt.split_last().unwrap();
    assert_eq!(last["terminated"], true);
    assert!(before.iter().all(|one| one["terminated"] == false));
    // The smallest T with (1 - C(14, 7) / 2^14)^T <= 0.1 / 2 is 13.
    assert_eq!(learnt.len(), 13);
    let session = settled(&service, &path).await;
    assert_eq!(session["position"], 13);
    assert_eq!(session["termination"]["reason"], "confident");
    assert_eq!(session["termination"]["confidence"], 0.9);
    let list = service.get("/v1/sessions").await.expect(200).json();
    let item = &list["items"][0];
    assert_eq!([&item["position"], &item["mistakes"]], [13, 0]);
    assert_eq!(item["terminated"], true);
    service.forget_sessions();
    assert_eq!(settled(&service, &path).await, session);
    let line = format!("\"{weights}\"\n");
    let more = send(&service, &path, &line, None).await;
    assert_eq!(more.problem(409), "wrong-state");
    assert_eq!(more.json()["position"], 13);
    let more = json!({"half_space": {"examples": [weights]}});
    let more = service.post_json(&format!("{path}/examples"), &more).await;
    assert_eq!(more.problem(409), "wrong-state");
    // An ended session still predicts and can be saved.
    let opposite = flipped(&weights, true, 0);
    let asked = json!({"unlabelled": {"examples": [weights, opposite]}});
    let said = service
        .post_json(&format!("{path}/predict"), &asked)
        .await
        .expect(200);
    assert_eq!(said.json()["predictions"], json!([1, -1]));
}

#[tokio::test]
async fn session_without_a_declaration_claims_no_confidence() {
    let service = Service::start().await;
    let asked = json!({"learner": {"name": "directed-drift", "params": {"initial": "111"}}, "n": 3,
        "stop": {"max_examples": 60}});
    let path = opened(&service, &asked).await;
    let answer = send(&service, &path, &"\"110\"\n".repeat(60), None)
        .await
        .expect(200);
    assert_eq!(answers(&answer).last().unwrap()["terminated"], true);
    let termination = settled(&service, &path).await["termination"].clone();
    assert_eq!(termination["reason"], "limit");
    assert_eq!(termination["detail"], "max_examples");
    assert_eq!(termination["confidence"], Value::Null);
    assert!(
        termination["confidence_detail"]
            .as_str()
            .unwrap()
            .contains("assume")
    );
}

#[tokio::test]
async fn session_prediction_learns_nothing_and_equals_the_saved_model() {
    let service = Service::start().await;
    let all = examples(8, 200, 3);
    let unlabelled: Vec<_> = all.iter().map(|(x, _)| x).collect();
    let unlabelled = json!({"unlabelled": {"examples": unlabelled}});
    for learner in LEARNERS {
        let path = of(&service, learner, 8).await;
        send(&service, &path, &lines(&all), None).await.expect(200);
        let before = settled(&service, &path).await;
        let predict = format!("{path}/predict");
        let said = service
            .post_json(&predict, &unlabelled)
            .await
            .expect(200)
            .json();
        assert_eq!(settled(&service, &path).await, before, "{learner}");
        let saved = service
            .post(&format!("{path}/model?name=mine"))
            .await
            .expect(201);
        assert_eq!(saved.json()["name"], "mine");
        let model = saved.header("location").unwrap().to_owned();
        // The model outlives the session.
        service.delete(&path).await.expect(204);
        assert_eq!(service.get(&path).await.problem(404), "not-found");
        assert_eq!(service.delete(&path).await.problem(404), "not-found");
        let again = service
            .post_json(&format!("{model}/predict"), &unlabelled)
            .await
            .expect(200);
        assert_eq!(
            again.json()["predictions"],
            said["predictions"],
            "{learner}"
        );
        let kept = service.get(&model).await.expect(200).json();
        assert_eq!(kept["hypothesis"], before["hypothesis"], "{learner}");
        assert_eq!(kept["mistakes"], before["mistakes"], "{learner}");
    }
}

#[tokio::test]
async fn session_learns_real_examples() {
    let service = Service::start().await;
    let asked = json!({"learner": {"name": "perceptron"}, "n": 2, "values": "real"});
    let path = opened(&service, &asked).await;
    let text = "{\"x\": [0.5, -1.5], \"y\": -1}\n{\"x\": [-1, 1], \"y\": -1}\n\
                {\"x\": [0, 1], \"y\": 1}\n{\"x\": \"01\", \"y\": 1}\n";
    let whole = answers(&send(&service, &path, text, None).await.expect(200));
    let other = opened(&service, &asked).await;
    let mut stepped = Vec::new();
    for line in text.lines() {
        stepped.extend(answers(
            &send(&service, &other, line, None).await.expect(200),
        ));
        service.forget_sessions();
    }
    assert_eq!(whole, stepped);
    assert_eq!(whole.len(), 4);
    let ends = (
        settled(&service, &path).await,
        settled(&service, &other).await,
    );
    assert_eq!(ends.0["hypothesis"], ends.1["hypothesis"]);
}

#[tokio::test]
async fn session_refuses_unfit_learners_and_settings() {
    let service = Service::start().await;
    for (body, status, code, pointer) in [
        (
            json!({"learner": {"name": "pocket"}, "n": 3}),
            422,
            "not-on-line",
            "/learner/name",
        ),
        (
            json!({"learner": {"name": "perceptron", "params": {"order": "shuffled"}}, "n": 3}),
            422,
            "not-on-line",
            "/learner/name",
        ),
        (
            json!({"learner": {"name": "perceptrom"}, "n": 3}),
            422,
            "unknown-learner",
            "/learner/name",
        ),
        (
            json!({"learner": {"name": "perceptron", "params": {"eta": -1}}, "n": 3}),
            400,
            "invalid-parameter",
            "/learner/params/eta",
        ),
        (
            json!({"learner": {"name": "winnow"}, "n": 3, "values": "real"}),
            422,
            "wrong-data",
            "/values",
        ),
        (
            json!({"learner": {"name": "perceptron"}, "n": 3, "stop": {"max_passes": 3}}),
            422,
            "wrong-stop",
            "/stop/max_passes",
        ),
        (
            json!({"learner": {"name": "perceptron"}, "n": 3, "stop": {"max_seconds": 3}}),
            422,
            "wrong-stop",
            "/stop/max_seconds",
        ),
        (
            json!({"learner": {"name": "perceptron"}, "n": 3, "stop": {"confidence": 0.9}}),
            422,
            "wrong-stop",
            "/stop/confidence",
        ),
        (
            json!({"learner": {"name": "perceptron"}, "n": 3, "assume": "reflected"}),
            422,
            "wrong-stop",
            "/assume",
        ),
        (
            json!({"learner": {"name": "directed-drift"}, "n": 3, "stop": {"rule": "exact"}}),
            422,
            "wrong-stop",
            "/stop/rule",
        ),
        (
            json!({"learner": {"name": "directed-drift", "params": {"initial": "1"}}, "n": 3}),
            422,
            "wrong-data",
            "/learner/params/initial",
        ),
        (
            json!({"learner": {"name": "perceptron"}, "n": 1_048_577}),
            400,
            "out-of-range",
            "/n",
        ),
    ] {
        let answer = service.post_json("/v1/sessions", &body).await;
        assert_eq!(answer.problem(status), code, "{body}");
        assert_eq!(answer.json()["errors"][0]["pointer"], pointer, "{body}");
    }
    for body in [
        json!({"learner": {"name": "perceptron"}}),
        json!({"learner": {"name": "perceptron"}, "n": 0}),
        json!({"learner": {"name": "perceptron"}, "n": 3, "order": "cyclic"}),
        json!({"learner": {"name": "perceptron"}, "n": 3, "stop": {"max_time": 1}}),
        json!({"n": 3}),
    ] {
        let answer = service.post_json("/v1/sessions", &body).await;
        assert_eq!(answer.problem(400), "schema", "{body}");
    }
}

#[tokio::test]
async fn session_refuses_examples_that_do_not_fit() {
    let service = Service::start().await;
    let path = format!("{}/examples", of(&service, "perceptron", 3).await);
    for (body, status, code) in [
        (
            json!({"half_space": {"examples": ["101"]}}),
            422,
            "wrong-data",
        ),
        (
            json!({"unlabelled": {"examples": ["101"]}}),
            422,
            "wrong-data",
        ),
        (
            json!({"labelled": {"examples": [{"x": "1", "y": 1}]}}),
            422,
            "wrong-data",
        ),
        (
            json!({"labelled": {"examples": [{"x": [0.5, 1, 2], "y": 1}]}}),
            422,
            "wrong-data",
        ),
        (
            json!({"dataset": "ds_018bcfe568007000b333333333333333"}),
            422,
            "wrong-data",
        ),
        (json!({"labelled": {"examples": []}}), 400, "empty-data"),
        (json!({"labelled": {"example": []}}), 400, "schema"),
    ] {
        let answer = service.post_json(&path, &body).await;
        assert_eq!(answer.problem(status), code, "{body}");
    }
    let answer = service.post_as(&path, "text/plain", "1,0,1,1").await;
    assert_eq!(answer.problem(415), "unsupported-media-type");
    let missing = "/v1/sessions/ses_018bcfe568007000b333333333333333/examples";
    let one = json!({"labelled": {"examples": [{"x": "101", "y": 1}]}});
    assert_eq!(
        service.post_json(missing, &one).await.problem(404),
        "not-found"
    );
    let many = of(&service, "kernel-winnow", 40).await;
    let dense = json!({"labelled": {"examples": [{"x": "1".repeat(40), "y": 1}]}});
    let answer = service.post_json(&format!("{many}/examples"), &dense).await;
    assert_eq!(answer.problem(422), "intractable");
}

#[tokio::test]
async fn session_answers_lines_as_they_arrive() {
    let service = Service::start().await;
    let path = of(&service, "perceptron", 3).await;
    let (sender, mut answers) = duplex(&service, &path, &[]).await;
    for position in 1..=3 {
        // Two pieces per line: the session learns a line when the line is complete.
        for piece in ["{\"x\": \"10", "1\", \"y\": 1}\n"] {
            sender
                .send(Ok(Bytes::from_static(piece.as_bytes())))
                .unwrap();
        }
        let line = answers.next().await.unwrap().unwrap();
        let line: Value = serde_json::from_slice(&line).unwrap();
        assert_eq!(line["position"], position);
    }
    drop(sender);
    assert!(answers.next().await.is_none());
}

#[tokio::test]
async fn idle_session_stream_loses_its_turn() {
    let service = Service::limited(&[], |limits| limits.session_idle_seconds = 1).await;
    let path = of(&service, "perceptron", 3).await;
    let (sender, mut answers) = duplex(&service, &path, &[]).await;
    // The other request waits for the idle stream, which times out.
    let line = "{\"x\": \"101\", \"y\": 1}\n";
    let other = send(&service, &path, line, None).await.expect(200);
    assert_eq!(other.text().lines().count(), 1);
    let last = answers.next().await.unwrap().unwrap();
    let last: Value = serde_json::from_slice(&last).unwrap();
    assert_eq!(last["error"]["code"], "timeout");
    drop(sender);
}

#[tokio::test]
async fn session_of_sixteen_writers_loses_no_update() {
    write_by_sixteen(20).await;
}

#[tokio::test]
#[ignore = "minutes; see CONTRIBUTING"]
async fn session_of_sixteen_writers_loses_no_update_at_full_size() {
    write_by_sixteen(625).await;
}

async fn write_by_sixteen(each: usize) {
    let service = Service::start().await;
    write_together(&[&service], 16, each).await;
}

/// Writers that take turns with these services teach one session, which then equals one that was taught in a row.
pub async fn write_together(services: &[&Service], writers: usize, each: usize) {
    let first = services[0];
    let path = &of(first, "perceptron", 16).await;
    let writing = (0..writers).map(async |writer| {
        let service = services[writer % services.len()];
        let mut accepted = Vec::new();
        let mut stands = 0;
        for example in examples(16, each, writer as u64) {
            loop {
                let one = body(std::slice::from_ref(&example));
                let answer = send_json(service, path, &one, &format!("\"{stands}\"")).await;
                if answer.status.is_success() {
                    stands = answer.json()["answers"][0]["position"].as_u64().unwrap();
                    accepted.push((stands, example));
                    break;
                }
                assert_eq!(answer.problem(412), "stale-position");
                stands = answer.json()["position"].as_u64().unwrap();
            }
        }
        accepted
    });
    let mut accepted: Vec<_> = join_all(writing).await.into_iter().flatten().collect();
    accepted.sort();
    let positions = accepted.iter().map(|(position, _)| *position);
    assert!(positions.eq(1..=(writers * each) as u64));
    let in_order: Vec<_> = accepted.into_iter().map(|(_, example)| example).collect();
    let serial = of(first, "perceptron", 16).await;
    send(first, &serial, &lines(&in_order), None)
        .await
        .expect(200);
    for service in services {
        assert_eq!(settled(service, path).await, settled(first, &serial).await);
    }
}

#[tokio::test]
async fn sessions_are_listed_and_limited() {
    let service = Service::with(&["--sessions-max", "3"]).await;
    let mut paths = Vec::new();
    for _ in 0..3 {
        paths.push(of(&service, "winnow", 5).await);
    }
    let learnt = examples(5, 8, 1);
    send(&service, &paths[1], &lines(&learnt), None)
        .await
        .expect(200);
    let asked = json!({"learner": {"name": "winnow"}, "n": 5});
    let refused = service.post_json("/v1/sessions", &asked).await;
    assert_eq!(refused.problem(429), "quota-full");
    // The quota lasts until somebody deletes a session.
    assert!(refused.header("retry-after").is_none());
    let first = service.get("/v1/sessions?limit=2").await.expect(200).json();
    let cursor = first["next_cursor"].as_str().unwrap();
    let rest = service
        .get(&format!("/v1/sessions?cursor={cursor}"))
        .await
        .expect(200)
        .json();
    let [fresh, used] = [&first["items"][0], &first["items"][1]];
    assert_eq!(
        (&used["learner"], &used["n"]),
        (&json!("winnow"), &json!(5))
    );
    let document = service.get(&paths[1]).await.expect(200).json();
    for member in ["position", "mistakes", "created_at"] {
        assert_eq!(used[member], document[member], "{member}");
    }
    assert_eq!(
        (&used["position"], &used["terminated"]),
        (&json!(8), &json!(false))
    );
    assert!(used["mistakes"].as_u64().unwrap() > 0, "{used}");
    assert!(
        used["written_at"].as_str() >= used["created_at"].as_str(),
        "{used}"
    );
    assert_eq!(
        (&fresh["mistakes"], &fresh["written_at"]),
        (&json!(0), &Value::Null)
    );
    let items = [&first["items"], &rest["items"]];
    let items = items.iter().flat_map(|items| items.as_array().unwrap());
    let listed: Vec<String> = items
        .map(|item| format!("/v1/sessions/{}", item["id"].as_str().unwrap()))
        .collect();
    paths.reverse();
    assert_eq!(listed, paths);
    service.delete(&paths[0]).await.expect(204);
    opened(&service, &asked).await;
}

#[tokio::test]
async fn session_alternates_between_two_processes() {
    let (one, other) = Service::two().await;
    let path = of(&one, "directed-drift", 12).await;
    let serial = of(&one, "directed-drift", 12).await;
    let all = examples(12, 200, 5);
    for (index, part) in all.chunks(10).enumerate() {
        let service = if index % 2 == 0 { &one } else { &other };
        send(service, &path, &lines(part), None).await.expect(200);
    }
    send(&one, &serial, &lines(&all), None).await.expect(200);
    assert_eq!(settled(&one, &path).await, settled(&one, &serial).await);
    assert_eq!(settled(&other, &path).await, settled(&one, &path).await);
    tokio::time::timeout(Duration::from_secs(10), other.stop())
        .await
        .unwrap();
}
