//! `GET /v1/models/{id}/explanation` and `/weights.npy`: the terms of each kind of model, the formats, and the
//! refusals.

use serde_json::{Value, json};

use crate::service::{Service, request};

const CSV: &str = "text/csv";
const TABLE: &str = "label,tall,wide,old\n1,1,1,0\n-1,0,0,1\n1,1,0,1\n-1,0,1,0\n";

/// Trains on a table and returns the path of the model.
async fn trained(service: &Service, learner: &str, table: &str) -> String {
    let path = format!("/v1/learners/{learner}");
    let headers = [("content-type", CSV), ("prefer", "wait=60")];
    let answer = service
        .send(request("POST", &path, &headers, table.to_owned()))
        .await;
    let model = answer.expect(200).json()["result"]["model"].clone();
    format!("/v1/models/{}", model.as_str().unwrap())
}

async fn explained(service: &Service, path: &str, query: &str) -> Value {
    let answer = service.get(&format!("{path}/explanation{query}")).await;
    answer.expect(200).json()
}

/// Conditions of the terms.
fn conditions(explanation: &Value) -> Vec<String> {
    let terms = explanation["terms"].as_array().unwrap();
    let condition = |term: &Value| {
        let literals = term["literals"].as_array().unwrap();
        let names = literals
            .iter()
            .map(|literal| literal["name"].as_str().unwrap());
        names.collect::<Vec<_>>().join(" and ")
    };
    terms.iter().map(condition).collect()
}

#[tokio::test]
async fn explanation_of_tic_tac_toe_shows_the_lines_of_x() {
    let service = Service::start().await;
    let learner = "kernel-perceptron/train?params.kernel.conjunctions=monotone";
    let boards = service.get("/v1/samples/tic-tac-toe").await.expect(200);
    let path = trained(&service, learner, boards.text()).await;
    let explanation = explained(&service, &path, "").await;
    let found = conditions(&explanation);
    assert_eq!(found.len(), 20);
    for line in ["123", "456", "789", "147", "258", "369", "159", "357"] {
        let square = |at: u8| {
            let (row, column) = (at - b'1', (at - b'1') % 3);
            let (rows, columns) = (["top", "middle", "bottom"], ["left", "middle", "right"]);
            format!(
                "{}-{}=x",
                rows[usize::from(row / 3)],
                columns[usize::from(column)]
            )
        };
        let line = line.bytes().map(square).collect::<Vec<_>>().join(" and ");
        assert!(found.contains(&line), "{line} is not in {found:?}");
    }
    assert_eq!(explanation["max_literals"], 3);
    assert_eq!(explanation["detail"], Value::Null);
    let share = explanation["share"]["decimal"].as_f64().unwrap();
    assert!(0.0 < share && share < 1.0, "{share}");
    let weights = format!("{path}/weights.npy");
    let refused = service.get(&weights).await;
    assert_eq!(refused.problem(422), "inexpressible");
}

/// Examples of 2,000 features with pseudo-random values.
fn noise() -> String {
    let mut state = 1_u64;
    let mut bit = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        if state >> 63 == 1 { "1" } else { "0" }
    };
    let mut row = || (0..=2000).map(|_| bit()).collect::<Vec<_>>().join(",") + "\n";
    (0..200).map(|_| row()).collect()
}

#[tokio::test]
async fn explanation_in_little_time_has_fewer_literals() {
    let service = Service::with(&["--answer-seconds-max", "2.4"]).await;
    let learner = "kernel-perceptron/train?labels=first&stop.max_passes=1";
    let path = trained(&service, learner, &noise()).await;
    let explanation = explained(&service, &path, "").await;
    assert_eq!(explanation["max_literals"], 2);
    let detail = explanation["detail"].as_str().unwrap();
    assert!(detail.contains("conjunctions of 3 literals"), "{detail}");
    assert_eq!(explained(&service, &path, "").await, explanation);
}

#[tokio::test]
async fn explanation_format_is_chosen_by_accept_or_parameter() {
    let service = Service::start().await;
    let path = trained(&service, "perceptron/train", TABLE).await;
    let explanation = explained(&service, &path, "?top=1").await;
    assert_eq!(conditions(&explanation), ["tall"]);
    let at = format!("{path}/explanation");
    let accept = [("accept", "text/plain")];
    let text = service
        .send(request("GET", &at, &accept, ""))
        .await
        .expect(200);
    assert_eq!(
        text.header("content-type"),
        Some("text/plain; charset=utf-8")
    );
    assert!(text.text().contains("  tall\n"), "{}", text.text());
    assert_eq!(
        service.get(&format!("{at}?format=plain")).await.body,
        text.body
    );
    let svg = service.get(&format!("{at}?format=svg")).await.expect(200);
    assert_eq!(svg.header("content-type"), Some("image/svg+xml"));
    assert!(svg.text().starts_with("<svg ") && svg.text().contains(">tall</text>"));
    for query in ["top=0", "top=101", "top=x", "literals=4", "format=csv"] {
        let refused = service.get(&format!("{at}?{query}")).await;
        assert_eq!(refused.problem(400), "invalid-parameter", "{query}");
    }
    let accept = [("accept", "text/csv")];
    let refused = service.send(request("GET", &at, &accept, "")).await;
    assert_eq!(refused.problem(406), "not-acceptable");
    for below in ["explanation", "weights.npy"] {
        let missing = service.get(&format!("/v1/models/mdl_0/{below}")).await;
        assert_eq!(missing.problem(404), "not-found");
    }
}

/// The dtype, the shape and the bytes of an array of one dimension.
async fn array(service: &Service, path: &str) -> (String, Vec<u8>) {
    let answer = service
        .get(&format!("{path}/weights.npy"))
        .await
        .expect(200);
    assert_eq!(answer.header("content-type"), Some("application/x-npy"));
    let length = usize::from(u16::from_le_bytes([answer.body[8], answer.body[9]]));
    let (head, values) = answer.body.split_at(10 + length);
    let head = std::str::from_utf8(&head[10..]).unwrap().trim();
    (head.to_owned(), values.to_vec())
}

#[tokio::test]
async fn weights_of_a_model_are_an_array_with_the_bias_last() {
    let service = Service::start().await;
    let path = trained(&service, "perceptron/train", TABLE).await;
    let model = service.get(&path).await.expect(200).json();
    let hypothesis = &model["hypothesis"];
    let mut expected: Vec<_> = hypothesis["weights"].as_array().unwrap().clone();
    expected.push(hypothesis["bias"].clone());
    let (head, values) = array(&service, &path).await;
    assert!(head.contains("'<i8'") && head.contains("(4,)"), "{head}");
    let values: Vec<_> = values
        .as_chunks()
        .0
        .iter()
        .map(|&bytes| json!(i64::from_le_bytes(bytes)))
        .collect();
    assert_eq!(values, expected);
    let path = trained(
        &service,
        "perceptron/train?params.eta=0.5&params.bias=false",
        TABLE,
    )
    .await;
    let (head, values) = array(&service, &path).await;
    assert!(head.contains("'<f8'") && head.contains("(3,)"), "{head}");
    let values: Vec<_> = values
        .as_chunks()
        .0
        .iter()
        .map(|&bytes| f64::from_le_bytes(bytes))
        .collect();
    let model = service.get(&path).await.expect(200).json();
    let weights = model["hypothesis"]["weights"].as_array().unwrap();
    let weights: Vec<_> = weights
        .iter()
        .map(|weight| weight.as_f64().unwrap())
        .collect();
    assert_eq!(values, weights);
    let path = trained(&service, "sbpi/train?seed=1", TABLE).await;
    let model = service.get(&path).await.expect(200).json();
    let bits = model["hypothesis"]["weights"].as_str().unwrap();
    let (head, values) = array(&service, &path).await;
    assert!(head.contains("'|i1'") && head.contains("(3,)"), "{head}");
    let expected = bits.bytes().map(|bit| if bit == b'1' { 1 } else { 0xff });
    assert_eq!(values, expected.collect::<Vec<u8>>());
    let explanation = explained(&service, &path, "").await;
    let rule = explanation["rule"].as_str().unwrap();
    assert!(
        rule.contains("at least 2 of 3 conditions are true"),
        "{rule}"
    );
    for learner in ["winnow", "kernel-winnow", "bounded-perceptron"] {
        let path = trained(
            &service,
            &format!("{learner}/train?stop.max_passes=9"),
            TABLE,
        )
        .await;
        let refused = service.get(&format!("{path}/weights.npy")).await;
        assert_eq!(refused.problem(422), "inexpressible", "{learner}");
        assert!(!explained(&service, &path, "").await["rule"].is_null());
    }
}
