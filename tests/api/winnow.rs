//! Winnow and kernel Winnow through the service: training, exact scores and refusals.

use serde_json::{Value, json};

use crate::service::{Answer, Service, train};

/// The disjunction `x1 or x3` over four features, with the label in the first column.
const CSV: &str =
    "1,1,0,0,1\n1,0,0,1,0\n-1,0,1,0,1\n-1,0,0,0,0\n1,1,1,1,1\n-1,0,1,0,0\n1,0,1,1,0\n";

async fn send(service: &Service, path: &str, body: &str) -> Answer {
    let path = format!("/v1/learners/{path}&labels=first");
    service.post_as(&path, "text/csv", body.to_owned()).await
}

fn labelled(examples: &[(&str, i64)]) -> Value {
    let examples: Vec<_> = examples
        .iter()
        .map(|(x, y)| json!({"x": x, "y": y}))
        .collect();
    json!({"labelled": {"examples": examples}})
}

async fn post(service: &Service, name: &str, params: Value, data: Value) -> Answer {
    let body = train(json!({"name": name, "params": params}), data);
    service.post_json("/v1/jobs", &body).await
}

async fn predict(service: &Service, job: &Value, body: &str) -> Answer {
    let path = format!(
        "/v1/models/{}/predict",
        job["result"]["model"].as_str().unwrap()
    );
    service.post_as(&path, "text/csv", body.to_owned()).await
}

#[tokio::test]
async fn winnow_learns_a_disjunction_by_both_routes() {
    let service = Service::start().await;
    let query = "winnow/train?params.alpha=2&params.theta=4&params.relevant=2&stop.max_passes=50";
    let file = send(&service, query, CSV).await.expect(200).json();
    let learner = json!({"name": "winnow", "params": {"alpha": 2, "theta": "4.0", "relevant": 2}});
    let data = labelled(&[
        ("1001", 1),
        ("0010", 1),
        ("0101", -1),
        ("0000", -1),
        ("1111", 1),
        ("0100", -1),
        ("0110", 1),
    ]);
    // The first column of the table is the label.
    let job = service.run(&train(learner, data)).await;
    let result = &file["result"];
    assert_eq!(result["termination"]["reason"], "converged");
    assert_eq!(result["training"]["errors"], 0);
    assert_eq!(result["bound"]["respected"], true);
    // The bound is 2/(2-1) * 4/4 + 2 * 3 * (1 + 2).
    assert!((result["bound"]["mistakes_at_most"].as_f64().unwrap() - 20.0).abs() < 1e-9);
    let hypothesis = &result["hypothesis"];
    assert_eq!(hypothesis["kind"], "winnow");
    assert_eq!(
        (&hypothesis["alpha"], &hypothesis["theta"]),
        (&json!(2), &json!("4"))
    );
    assert_eq!(hypothesis["exponents"].as_array().unwrap().len(), 4);
    assert_eq!(job["result"]["termination"]["reason"], "converged");
    assert_eq!(job["learner"]["params"]["theta"], "4.0");
    let answer = predict(&service, &file, "1,0,0,0\n0,1,0,1\n0,0,1,0\n").await;
    assert_eq!(answer.expect(200).json()["predictions"], json!([1, -1, 1]));
}

#[tokio::test]
async fn winnow_scores_are_exact_fractions_and_large_integers() {
    let service = Service::start().await;
    // A false positive with both features set changes each weight to 1/3.
    let given = json!({"alpha": 3, "theta": "0.9"});
    let learner = json!({"name": "winnow", "params": given});
    let job = service.run(&train(learner, labelled(&[("11", -1)]))).await;
    assert_eq!(job["result"]["hypothesis"]["exponents"], json!([-1, -1]));
    let answer = predict(&service, &job, "1,1\n1,0\n0,0\n")
        .await
        .expect(200)
        .json();
    assert_eq!(answer["scores"], json!(["2/3", "1/3", 0]));
    assert_eq!(answer["predictions"], json!([-1, -1, -1]));
    // The weight is promoted until it reaches 2^60.
    let given = json!({"theta": "1152921504606846976"});
    let learner = json!({"name": "winnow", "params": given});
    let job = service.run(&train(learner, labelled(&[("10", 1)]))).await;
    assert_eq!(job["result"]["hypothesis"]["exponents"], json!([60, 0]));
    let answer = predict(&service, &job, "1,1\n0,1\n")
        .await
        .expect(200)
        .json();
    assert_eq!(answer["scores"], json!(["1152921504606846977", 1]));
    assert_eq!(answer["predictions"], json!([1, -1]));
}

#[tokio::test]
async fn winnow_negated_literals_are_features_on_request() {
    let service = Service::start().await;
    let data = labelled(&[("00", 1), ("01", 1), ("10", -1), ("11", -1)]);
    let learner = json!({"name": "winnow", "params": {"negated_literals": true, "relevant": 1}});
    let job = service.run(&train(learner, data)).await;
    let result = &job["result"];
    assert_eq!(result["termination"]["reason"], "converged");
    assert_eq!(
        result["hypothesis"]["exponents"].as_array().unwrap().len(),
        4
    );
    assert_eq!(result["hypothesis"]["n"], 2);
    assert_eq!(result["bound"]["respected"], true);
}

#[tokio::test]
async fn winnow_bound_with_a_broken_assumption_has_no_verdict() {
    let service = Service::start().await;
    let data = labelled(&[("11", 1), ("11", -1)]);
    let learner = json!({"name": "winnow", "params": {"relevant": 1}});
    let mut body = train(learner, data);
    body["train"]["stop"] = json!({"max_passes": 3});
    let job = service.run(&body).await;
    let bound = &job["result"]["bound"];
    assert_eq!(bound["respected"], Value::Null);
    assert!(
        bound["detail"]
            .as_str()
            .unwrap()
            .starts_with("assumption not met"),
        "{bound}"
    );
}

#[tokio::test]
async fn kernel_winnow_learns_a_dnf_and_its_model_predicts_the_same() {
    let service = Service::start().await;
    // All sixteen examples of `x1 x2 or x3 x4`.
    let rows = (0..16).map(|x: u32| {
        let label = if x & 3 == 3 || x & 12 == 12 { 1 } else { -1 };
        format!(
            "{label},{},{},{},{}\n",
            x >> 3 & 1,
            x >> 2 & 1,
            x >> 1 & 1,
            x & 1
        )
    });
    let rows: Vec<_> = rows.collect();
    let path = "kernel-winnow/train?params.alpha=2&params.theta=10&params.max_active=4";
    let job = send(&service, path, &rows.concat())
        .await
        .expect(200)
        .json();
    let result = &job["result"];
    assert_eq!(result["termination"]["reason"], "converged");
    assert_eq!(result["training"]["errors"], 0);
    let hypothesis = &result["hypothesis"];
    assert_eq!(hypothesis["kind"], "kernel-winnow");
    assert_eq!(hypothesis["theta"], "10");
    let support = hypothesis["support"].as_array().unwrap();
    // The score as a sum over all monomials, computed here from the support.
    let score = |x: u32| -> f64 {
        let bits = |x: &str| u32::from_str_radix(x, 2).unwrap();
        let exponent = |t: u32| {
            let has = support
                .iter()
                .filter(|s| bits(s["x"].as_str().unwrap()) & t == t);
            has.map(|s| s["y"].as_i64().unwrap() * s["count"].as_i64().unwrap())
                .sum::<i64>()
        };
        let monomials = (1..16).filter(|t| t & x == *t);
        monomials.map(|t| 2_f64.powi(exponent(t) as i32)).sum()
    };
    let unlabelled: String = rows
        .iter()
        .map(|row| row.split_once(',').unwrap().1)
        .collect();
    let answer = predict(&service, &job, &unlabelled)
        .await
        .expect(200)
        .json();
    for x in 0..16_u32 {
        let shown = match &answer["scores"][x as usize] {
            Value::String(fraction) => {
                let (p, q) = fraction.split_once('/').unwrap();
                p.parse::<f64>().unwrap() / q.parse::<f64>().unwrap()
            }
            number => number.as_f64().unwrap(),
        };
        assert_eq!(shown, score(x), "{x:04b}");
        let positive = if score(x) >= 10.0 { 1 } else { -1 };
        assert_eq!(answer["predictions"][x as usize], positive);
    }
}

#[tokio::test]
async fn kernel_winnow_refuses_intractable_examples_at_once() {
    let service = Service::start().await;
    let (few, many) = ("1".repeat(12) + &"0".repeat(28), "1".repeat(40));
    let data = labelled(&[(&few, 1), (&many, -1)]);
    let answer = post(&service, "kernel-winnow", json!({}), data).await;
    assert_eq!(answer.problem(422), "intractable");
    let problem = answer.json();
    let detail = problem["detail"].as_str().unwrap();
    assert!(
        detail.contains("Theorem 5") && detail.contains("example 1 "),
        "{detail}"
    );
    assert_eq!(problem["errors"][0]["pointer"], "/train/data");
    let csv = format!("1,{}\n", vec!["1"; 40].join(","));
    let answer = send(&service, "kernel-winnow/train?seed=1", &csv).await;
    assert_eq!(answer.problem(422), "intractable");
    // A generated example may have all features set.
    let generated = |n: u32| {
        json!({"generated": {"n": n, "target": {"binary_weights": {}}, "sampling": "uniform",
            "count": 50}})
    };
    let answer = post(&service, "kernel-winnow", json!({}), generated(40)).await;
    assert_eq!(answer.problem(422), "intractable");
    post(&service, "kernel-winnow", json!({}), generated(9))
        .await
        .expect(202);
    // The refused requests have created no job.
    let jobs = service.get("/v1/jobs").await.expect(200).json();
    assert_eq!(jobs["items"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn kernel_winnow_model_refuses_intractable_rows() {
    let service = Service::start().await;
    let learner = json!({"name": "kernel-winnow", "params": {"max_active": 2}});
    let job = service.run(&train(learner, labelled(&[("1100", 1)]))).await;
    predict(&service, &job, "1,0,0,1\n").await.expect(200);
    let answer = predict(&service, &job, "1,0,0,1\n1,1,1,0\n").await;
    assert_eq!(answer.problem(422), "intractable");
    let detail = answer.json()["detail"].as_str().unwrap().to_owned();
    assert!(
        detail.contains("example 1 ") && detail.contains("Theorem 5"),
        "{detail}"
    );
}

#[tokio::test]
async fn winnow_names_parameters_out_of_range() {
    let service = Service::start().await;
    let long = "9".repeat(10_001);
    let cases = [
        ("winnow", "alpha", json!(1)),
        ("winnow", "alpha", json!(0.5)),
        ("winnow", "alpha", json!(4_294_967_297_u64)),
        ("winnow", "alpha", json!("1")),
        ("winnow", "alpha", json!("1e1")),
        ("winnow", "alpha", json!("1.00000000000000000001")),
        ("winnow", "theta", json!(0)),
        ("winnow", "theta", json!("0.0")),
        ("winnow", "theta", json!(-1)),
        ("winnow", "theta", json!("1e3")),
        ("winnow", "theta", json!(1e300)),
        ("winnow", "theta", json!(long)),
        ("winnow", "relevant", json!(0)),
        ("winnow", "negated_literals", json!(1)),
        ("kernel-winnow", "alpha", json!(1.5)),
        ("kernel-winnow", "alpha", json!(1)),
        ("kernel-winnow", "theta", json!("0")),
        ("kernel-winnow", "max_active", json!(0)),
        ("kernel-winnow", "max_active", json!(25)),
        ("kernel-winnow", "relevant", json!(2)),
    ];
    for (learner, name, value) in cases {
        let mut params = json!({});
        params[name] = value;
        let answer = post(&service, learner, params.clone(), labelled(&[("11", 1)])).await;
        assert_eq!(answer.problem(400), "invalid-parameter", "{params}");
        let errors = &answer.json()["errors"];
        assert_eq!(
            errors[0]["pointer"],
            format!("/train/learner/params/{name}"),
            "{params}"
        );
    }
    let answer = post(
        &service,
        "winnow",
        json!({"relevant": 3}),
        labelled(&[("11", 1)]),
    )
    .await;
    assert_eq!(answer.problem(422), "wrong-data");
    assert_eq!(
        answer.json()["errors"][0]["pointer"],
        "/train/learner/params/relevant"
    );
    let query = format!("winnow/train?params.theta={long}");
    assert_eq!(
        send(&service, &query, CSV).await.problem(400),
        "invalid-parameter"
    );
    let query = format!("winnow/train?params.theta={}&stop.max_passes=2", &long[1..]);
    send(&service, &query, CSV).await.expect(200);
}

#[tokio::test]
async fn winnow_refuses_data_of_another_kind() {
    let service = Service::start().await;
    for learner in ["winnow", "kernel-winnow"] {
        for data in [
            json!({"half_space": {"examples": ["101"]}}),
            json!({"labelled": {"examples": [{"x": [0.5, 2], "y": 1}]}}),
            json!({"unlabelled": {"examples": ["101"]}}),
        ] {
            let answer = post(&service, learner, json!({}), data.clone()).await;
            assert_eq!(answer.problem(422), "wrong-data", "{learner} {data}");
        }
    }
}
