//! The tasks `separability`, `maximum_margin` and `version_space` as jobs.

use serde_json::{Value, json};

use crate::service::Service;

fn exclusive_or() -> Value {
    json!({"labelled": {"examples": [{"x": "00", "y": -1}, {"x": "01", "y": 1},
        {"x": "10", "y": 1}, {"x": "11", "y": -1}]}})
}

fn conjunction() -> Value {
    json!({"labelled": {"examples": [{"x": "00", "y": -1}, {"x": "01", "y": -1},
        {"x": "10", "y": -1}, {"x": "11", "y": 1}]}})
}

/// The rows of a labelled sample in the signed reading, with the bias coordinate last, times the label.
fn signed_rows(data: &Value) -> Vec<Vec<i64>> {
    let examples = data["labelled"]["examples"].as_array().unwrap();
    let row = |example: &Value| {
        let label = example["y"].as_i64().unwrap();
        let bits = example["x"].as_str().unwrap().bytes();
        let signs = bits.map(|bit| if bit == b'1' { label } else { -label });
        signs.chain([label]).collect()
    };
    examples.iter().map(row).collect()
}

#[tokio::test]
async fn separability_certificate_can_be_checked() {
    let service = Service::start().await;
    let ask = |data: Value, convention: &str| {
        json!({"separability": {"data": data, "bias": true, "reading": "signed",
            "convention": convention}})
    };
    for convention in ["strict", "service"] {
        let job = service.run(&ask(conjunction(), convention)).await;
        assert_eq!(job["task"], "separability");
        assert_eq!(job["learner"], Value::Null);
        let result = &job["result"];
        assert_eq!(result["separable"], true, "{result}");
        assert_eq!(result["certificate"]["kind"], "separator");
        let weights = result["certificate"]["weights"].as_array().unwrap();
        let bias = &result["certificate"]["bias"];
        let all: Vec<i64> = weights
            .iter()
            .chain([bias])
            .map(|w| w.as_i64().unwrap())
            .collect();
        for row in signed_rows(&conjunction()) {
            let product: i64 = row.iter().zip(&all).map(|(x, w)| x * w).sum();
            let is_positive = row[2] > 0;
            assert!(product > 0 || product == 0 && is_positive && convention == "service");
        }
    }
    for (convention, kind) in [("strict", "gordan"), ("service", "motzkin")] {
        let job = service.run(&ask(exclusive_or(), convention)).await;
        let certificate = &job["result"]["certificate"];
        assert_eq!(job["result"]["separable"], false);
        assert_eq!(certificate["kind"], kind);
        let rows = signed_rows(&exclusive_or());
        let mut sum = vec![0_i64; 3];
        for multiplier in certificate["multipliers"].as_array().unwrap() {
            let index = multiplier["example"].as_u64().unwrap() as usize;
            let weight: i64 = multiplier["weight"].as_str().unwrap().parse().unwrap();
            assert!(weight > 0);
            for (sum, x) in sum.iter_mut().zip(&rows[index]) {
                *sum += weight * x;
            }
        }
        assert_eq!(sum, [0, 0, 0]);
    }
}

#[tokio::test]
async fn separability_conventions_differ_without_a_bias() {
    let service = Service::start().await;
    // The positive example is the origin, which lies on every hyperplane through the origin.
    let data = json!({"labelled": {"examples": [{"x": [0, 0], "y": 1}, {"x": [1, 0], "y": -1}]}});
    for (convention, separable) in [("strict", false), ("service", true)] {
        let job = json!({"separability": {"data": data, "bias": false, "reading": "unsigned",
            "convention": convention}});
        let result = service.run(&job).await["result"].clone();
        assert_eq!(result["separable"], separable, "{convention}: {result}");
    }
}

#[tokio::test]
async fn the_maximum_margin_makes_a_model_that_predicts() {
    let service = Service::start().await;
    let job = service
        .run(&json!({"maximum_margin": {"data": conjunction()}, "name": "and"}))
        .await;
    let result = &job["result"];
    // The separator of the signed conjunction is x1 + x2 = 1, at distance 1/sqrt(2) from (1, 1) and its
    // neighbours.
    let margin = result["margin"].as_f64().unwrap();
    assert!((margin - 0.5_f64.sqrt()).abs() < 1e-6, "{margin}");
    assert!(result["margin_at_most"].as_f64().unwrap() >= margin);
    assert_eq!(result["support"], json!([1, 2, 3]));
    assert_eq!(result["bound"]["theorem"], "Novikoff");
    assert!(result["bound"]["mistakes_at_most"].as_f64().unwrap() >= 3.0);
    let model = result["model"].as_str().unwrap();
    let path = format!("/v1/models/{model}/predict");
    let lines = "\"11\"\n\"10\"\n\"01\"\n\"00\"\n";
    let answer = service.post_as(&path, "application/x-ndjson", lines).await;
    let answer = answer.expect(200);
    let predictions: Vec<i64> = answer
        .text()
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).unwrap()["prediction"]
                .as_i64()
                .unwrap()
        })
        .collect();
    assert_eq!(predictions, [1, -1, -1, -1]);
    let refused = service
        .run(&json!({"maximum_margin": {"data": exclusive_or()}}))
        .await;
    assert_eq!(refused["result"]["separable"], false);
    assert_eq!(refused["result"]["model"], Value::Null);
    assert_eq!(refused["result"]["certificate"]["kind"], "gordan");
    let list = service
        .get("/v1/jobs?task=maximum_margin")
        .await
        .expect(200)
        .json();
    assert_eq!(list["items"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_version_space_is_counted_and_listed() {
    let service = Service::start().await;
    // A consistent hypothesis agrees with at least two signs of (1, 1, 1) and of (1, 1, -1).
    let data = json!({"half_space": {"examples": ["111", "110"]}});
    let job = service
        .run(&json!({"version_space": {"data": data, "list": 1}}))
        .await;
    let result = &job["result"];
    assert_eq!(result["count"], "2", "{result}");
    assert_eq!(result["unique"], false);
    assert_eq!(result["hypotheses"], json!(["110"]));
    let generated = json!({"generated": {"n": 9, "target": {"binary_weights": {"weights":
        "101100101"}}, "sampling": "uniform-positive", "count": 200}});
    let job = json!({"version_space": {"data": generated, "seed": 3}});
    let result = service.run(&job).await["result"].clone();
    assert_eq!(result["unique"], true, "{result}");
    assert_eq!(result["hypotheses"], json!(["101100101"]));
}

#[tokio::test]
async fn version_space_of_many_features_is_excluded_with_a_proof() {
    let service = Service::start().await;
    let row = "10".repeat(20);
    let contradiction =
        json!({"labelled": {"examples": [{"x": row, "y": 1}, {"x": row, "y": -1}]}});
    let result = service
        .run(&json!({"version_space": {"data": contradiction}}))
        .await["result"]
        .clone();
    assert_eq!(
        (&result["count"], &result["unique"]),
        (&json!("0"), &json!(false)),
        "{result}"
    );
    let multipliers = json!([{"example": 0, "weight": "1"}, {"example": 1, "weight": "1"}]);
    let exclusion = json!({"multipliers": multipliers, "excludes_real_weights": true});
    assert_eq!(result["exclusion"], exclusion);
    let open = json!({"half_space": {"examples": ["1".repeat(33)]}});
    let result = service.run(&json!({"version_space": {"data": open}})).await["result"].clone();
    assert_eq!(
        (&result["count"], &result["exclusion"]),
        (&Value::Null, &Value::Null)
    );
    assert!(
        result["detail"]
            .as_str()
            .is_some_and(|why| why.contains("33 exceeds the 32")),
        "{result}"
    );
}

#[tokio::test]
async fn separability_questions_point_at_unfit_data_and_fields() {
    let service = Service::start().await;
    let real = json!({"labelled": {"examples": [{"x": [0.5], "y": 1}, {"x": [2], "y": -1}]}});
    let wide = json!({"half_space": {"examples": ["1".repeat(513)]}});
    let unlabelled = json!({"unlabelled": {"examples": ["10"]}});
    let endless = json!({"generated": {"n": 5, "target": {"parity": {"size": 2}},
        "sampling": "uniform"}});
    let assumed = json!({"half_space": {"examples": ["10"], "assume": "reflected"}});
    for (body, status, code, pointer) in [
        (
            json!({"separability": {"data": real, "reading": "signed"}}),
            422,
            "wrong-data",
            "/separability/reading",
        ),
        (
            json!({"separability": {"data": unlabelled}}),
            422,
            "wrong-data",
            "/separability/data",
        ),
        (
            json!({"separability": {"data": endless}}),
            422,
            "wrong-data",
            "/separability/data",
        ),
        (
            json!({"separability": {"data": assumed}}),
            422,
            "wrong-data",
            "/separability/data",
        ),
        (
            json!({"separability": {"data": exclusive_or(), "convention": "loose"}}),
            400,
            "schema",
            "/separability/convention",
        ),
        (
            json!({"version_space": {"data": wide}}),
            422,
            "intractable",
            "/version_space/data",
        ),
        (
            json!({"version_space": {"data": real}}),
            422,
            "wrong-data",
            "/version_space/data/labelled/examples/0/x/0",
        ),
        (
            json!({"version_space": {"data": exclusive_or(), "list": 10001}}),
            400,
            "schema",
            "/version_space/list",
        ),
        (
            json!({"maximum_margin": {"data": exclusive_or(), "max_seconds": 0}}),
            400,
            "schema",
            "/maximum_margin/max_seconds",
        ),
        (
            json!({"maximum_margin": {"data": exclusive_or(), "max_seconds": 1e9}}),
            400,
            "out-of-range",
            "/maximum_margin/max_seconds",
        ),
        (
            json!({"maximum_margin": {"data": exclusive_or()},
                "separability": {"data": exclusive_or()}}),
            400,
            "schema",
            "",
        ),
        (
            json!({"separability": null}),
            400,
            "schema",
            "/separability",
        ),
    ] {
        let answer = service
            .post_as("/v1/jobs", "application/json", body.to_string())
            .await;
        let problem = answer.json();
        assert_eq!(answer.problem(status), code, "{body}: {problem}");
        assert_eq!(problem["errors"][0]["pointer"], pointer, "{problem}");
    }
    let jobs = service.get("/v1/jobs").await.expect(200).json();
    assert!(jobs["items"].as_array().unwrap().is_empty());
}
