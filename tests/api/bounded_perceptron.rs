//! The bounded perceptron through the service: Boolean and real data, predictions, refusals.

use serde_json::{Value, json};

use crate::service::{Service, train};

const NDJSON: &str = "application/x-ndjson";
const PATH: &str = "/v1/learners/bounded-perceptron/train";

fn examples(list: &[(Value, i8)]) -> Value {
    let examples: Vec<_> = list.iter().map(|(x, y)| json!({"x": x, "y": y})).collect();
    json!({"labelled": {"examples": examples}})
}

#[tokio::test]
async fn bounded_perceptron_reads_bits_unsigned() {
    let service = Service::start().await;
    let data = examples(&[(json!("1100"), 1), (json!("0011"), -1), (json!("1011"), -1)]);
    let job = service
        .run(&train(json!({"name": "bounded-perceptron"}), data))
        .await;
    let result = &job["result"];
    assert_eq!(result["termination"]["reason"], "converged");
    let hypothesis = &result["hypothesis"];
    assert_eq!(hypothesis["kind"], "bounded");
    assert_eq!(hypothesis["n"], 4);
    assert_eq!(hypothesis["inhibition"], 0.5);
    assert_eq!(hypothesis["threshold"], 0.0);
    let weights: Vec<f64> = serde_json::from_value(hypothesis["weights"].clone()).unwrap();
    let bound = &result["bound"];
    assert_eq!(bound["theorem"], "Senn and Fusi");
    assert_eq!(
        (&bound["mistakes_at_most"], &bound["respected"]),
        (&Value::Null, &Value::Null)
    );
    let path = format!("/v1/models/{}/predict", result["model"].as_str().unwrap());
    let score = |bits: [f64; 4]| {
        let products = weights.iter().zip(bits).map(|(w, x)| (w - 0.5) * x);
        products.sum::<f64>() / 4.0
    };
    // A bit may be written as 0/1 or as -1/1. The model takes real values too.
    for rows in [
        json!(["1000", "0001"]),
        json!([[1, 0, 0, 0], [0, 0, 0, 1]]),
        json!([[1, -1, -1, -1], [-1, -1, -1, 1]]),
    ] {
        let body = json!({"unlabelled": {"examples": rows}});
        let answer = service.post_json(&path, &body).await.expect(200).json();
        assert_eq!(answer["predictions"], json!([1, -1]));
        let expected = [score([1.0, 0.0, 0.0, 0.0]), score([0.0, 0.0, 0.0, 1.0])];
        assert_eq!(answer["scores"], json!(expected));
    }
    let body = json!({"unlabelled": {"examples": [[0.5, 0, 0.25, 0]]}});
    let answer = service.post_json(&path, &body).await.expect(200).json();
    assert_eq!(answer["scores"], json!([score([0.5, 0.0, 0.25, 0.0])]));
}

#[tokio::test]
async fn bounded_perceptron_learns_real_values_from_ndjson() {
    let service = Service::start().await;
    let body = "{\"x\":[0.75,0.5,0.25],\"y\":1}\n{\"x\":[0.25,0.5,1],\"y\":0}\n";
    let query = "params.initial=0.5,0.5,0.25&params.inhibition=0.25&params.eta=0.01\
                 &params.threshold=0.005&stop.max_passes=5000";
    let answer = service
        .post_as(&format!("{PATH}?{query}"), NDJSON, body)
        .await;
    let job = answer.expect(200).json();
    assert_eq!(job["result"]["termination"]["reason"], "converged");
    assert_eq!(job["learner"]["params"]["initial"], json!([0.5, 0.5, 0.25]));
    assert_eq!(job["result"]["training"]["errors"], 0);
}

#[tokio::test]
async fn bounded_perceptron_refuses_wrong_parameters_and_data() {
    let service = Service::start().await;
    let good = "{\"x\":\"10\",\"y\":1}\n{\"x\":\"01\",\"y\":-1}\n";
    for (query, parameter) in [
        ("params.inhibition=-0.5", "params.inhibition"),
        ("params.inhibition=NaN", "params.inhibition"),
        ("params.eta=0", "params.eta"),
        ("params.eta=1.5", "params.eta"),
        ("params.threshold=-1", "params.threshold"),
        ("params.initial=1.5", "params.initial"),
        ("params.initial=-0.5,1", "params.initial"),
        ("params.bias=true", "params.bias"),
        ("params.reading=signed", "params.reading"),
    ] {
        let answer = service
            .post_as(&format!("{PATH}?{query}"), NDJSON, good)
            .await;
        assert_eq!(answer.problem(400), "invalid-parameter", "{query}");
        assert_eq!(answer.json()["errors"][0]["parameter"], parameter);
    }
    let answer = service
        .post_as(&format!("{PATH}?params.initial=0.5,0.5,0.5"), NDJSON, good)
        .await;
    assert_eq!(answer.problem(422), "wrong-data");
    assert_eq!(answer.json()["errors"][0]["parameter"], "params.initial");
    for (data, detail) in [
        (
            json!({"half_space": {"examples": ["10", "01"]}}),
            "labelled",
        ),
        (
            examples(&[(json!([0.5, 0.5]), 1), (json!([0.5, 1.5]), -1)]),
            "feature 2 of example 2 is 1.5",
        ),
        (
            examples(&[(json!([-0.5, 0.5]), 1), (json!([0.5, 1]), -1)]),
            "feature 1 of example 1 is -0.5",
        ),
    ] {
        let job = train(json!({"name": "bounded-perceptron"}), data);
        let answer = service.post_json("/v1/jobs", &job).await;
        assert_eq!(answer.problem(422), "wrong-data");
        assert!(answer.text().contains(detail), "{}", answer.text());
    }
    assert_eq!(service.get("/v1/jobs").await.json()["items"], json!([]));
}
