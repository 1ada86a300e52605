//! The kernel perceptron through the service: its documented figures, exact decisions where floating point fails, and
//! its refusals.

use std::fmt::Write;
use std::path::Path;

use num_bigint::BigInt;
use serde_json::{Value, json};

use crate::service::{Service, request};

const NDJSON: &str = "application/x-ndjson";
const CSV: &str = "text/csv";
const ARFF: &str = "text/x-arff";

/// Queries for the three kernels of the documented figures.
const MONOTONE: &str = "params.kernel.conjunctions=monotone";
const ALL: &str = "params.kernel.conjunctions=all";
const MONOTONE_3: &str = "params.kernel.conjunctions=monotone&params.kernel.max_literals=3";

async fn train(service: &Service, query: &str, body: String) -> Value {
    train_as(service, query, NDJSON, body.into_bytes()).await
}

async fn train_as(service: &Service, query: &str, media_type: &str, body: Vec<u8>) -> Value {
    let path = format!("/v1/learners/kernel-perceptron/train?{query}");
    let headers = [("content-type", media_type), ("prefer", "wait=60")];
    let answer = service.send(request("POST", &path, &headers, body)).await;
    answer.expect(200).json()
}

/// Mistakes, passes and training errors of a converged run.
fn figures(job: &Value) -> [u64; 3] {
    let result = &job["result"];
    assert_eq!(result["termination"]["reason"], "converged", "{result}");
    assert_eq!(result["mistakes"], result["updates"]);
    assert_eq!(result["bound"]["theorem"], "Novikoff");
    assert_eq!(result["bound"]["respected"], true, "{}", result["bound"]);
    let of = |value: &Value| value.as_u64().unwrap();
    [
        of(&result["mistakes"]),
        of(&result["passes"]),
        of(&result["training"]["errors"]),
    ]
}

fn lines(examples: &[(String, bool)]) -> String {
    let mut lines = String::new();
    for (x, is_positive) in examples {
        let y = if *is_positive { 1 } else { -1 };
        writeln!(lines, r#"{{"x":"{x}","y":{y}}}"#).unwrap();
    }
    lines
}

#[tokio::test]
async fn kernel_perceptron_learns_tic_tac_toe_in_the_documented_figures() {
    let service = Service::start().await;
    let boards = service.get("/v1/samples/tic-tac-toe").await.expect(200);
    for (query, expected) in [
        (MONOTONE, [187, 8, 0]),
        (ALL, [156, 4, 0]),
        (MONOTONE_3, [305, 17, 0]),
    ] {
        let job = train_as(&service, query, CSV, boards.body.to_vec()).await;
        assert_eq!(figures(&job), expected, "{query}");
    }
}

#[tokio::test]
#[ignore = "reads ../shared/data: scripts/real-data runs it"]
async fn real_data_the_chess_endgame_is_learnt_in_the_documented_figures() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/kr.vs.kp.arff");
    let body = std::fs::read(&file).unwrap();
    let service = Service::start().await;
    let dataset = service.post_as("/v1/datasets", ARFF, body.clone()).await;
    let dataset = dataset.expect(201).json();
    assert_eq!(
        (&dataset["examples"], &dataset["n"]),
        (&json!(3196), &json!(74))
    );
    assert_eq!(dataset["class_examples"][1], 1669);
    assert_eq!(dataset["classes"], json!(["nowin", "won"]));
    assert_eq!(dataset["features"][73], "wtoeg=t");
    for (query, expected) in [
        (MONOTONE, [331, 10, 0]),
        (ALL, [396, 6, 0]),
        (MONOTONE_3, [1289, 173, 0]),
    ] {
        let job = train_as(&service, query, ARFF, body.clone()).await;
        assert_eq!(figures(&job), expected, "{query}");
        assert_eq!(job["data_sha256"], dataset["sha256"]);
    }
}

/// A bit string of length n with `ones` ones from index `first` on.
fn ones(n: usize, first: usize, ones: usize) -> String {
    let bit = |place| {
        if (first..first + ones).contains(&place) {
            '1'
        } else {
            '0'
        }
    };
    (0..n).map(bit).collect()
}

/// Scores of magnitude 2^54 and more contain a summand -1. Under the monotone kernel the example 0^n
/// contributes -1 to every score, 1^n contributes 2^|z|, and x with 54 ones contributes -2^54 to the score of
/// x. The sum in f64 is 0 instead of -1, which has the other sign. Exponents beyond 1023 overflow f64.
#[tokio::test]
async fn kernel_perceptron_signs_beyond_floats_are_exact() {
    let service = Service::start().await;
    for (n, of_x, in_f64) in [(56, 54, Some(0.0)), (1100, 1050, None)] {
        let [zero, all] = [ones(n, 0, 0), ones(n, 0, n)];
        let x = ones(n, 0, of_x);
        // The example shares all but ten of the ones of x.
        let z = ones(n, 10, of_x - 9);
        let float = -1.0 + 2_f64.powi(of_x as i32) - 2_f64.powi(of_x as i32);
        assert_eq!(in_f64, (!float.is_nan()).then_some(float));
        let examples = [
            (zero, false),
            (all, true),
            (x.clone(), false),
            (z.clone(), true),
        ];
        let job = train(&service, MONOTONE, lines(&examples)).await;
        assert_eq!(figures(&job), [3, 2, 0], "n = {n}");
        let path = format!(
            "/v1/models/{}/predict",
            job["result"]["model"].as_str().unwrap()
        );
        let body = json!({"unlabelled": {"examples": [x, z]}});
        let answer = service.post_json(&path, &body).await.expect(200).json();
        assert_eq!(answer["predictions"], json!([-1, 1]));
        let power = |exponent: usize| BigInt::from(1) << exponent;
        let of_z: BigInt = power(of_x - 9) - power(of_x - 10) - 1;
        assert_eq!(answer["scores"][0], -1);
        match i64::try_from(&of_z) {
            Ok(small) if small < 1 << 53 => assert_eq!(answer["scores"][1], small),
            _ => assert_eq!(answer["scores"][1], of_z.to_string()),
        }
    }
}

#[tokio::test]
async fn kernel_perceptron_bound_beyond_f64_is_given_by_its_logarithm() {
    let service = Service::start().await;
    let n = 2000;
    // The learner errs twice on 0^n, which then scores -1, and 1^n scores 2^2000 - 2. Thus xi = 1, and R^2 and
    // |u|^2 are 2^2000 each.
    let examples = [(ones(n, 0, 0), false), (ones(n, 0, n), true)];
    let job = train(&service, MONOTONE, lines(&examples)).await;
    assert_eq!(figures(&job)[0], 3);
    let bound = &job["result"]["bound"];
    assert_eq!(bound["mistakes_at_most"], Value::Null);
    assert_eq!(bound["log2_mistakes_at_most"], 4000.0);
}

/// Nested parameters of a body have dotted names in a query.
#[tokio::test]
async fn kernel_parameters_mean_the_same_in_body_and_query() {
    let service = Service::start().await;
    let examples: Vec<_> = (0..8)
        .map(|i| (format!("{i:03b}"), [0, 3, 5, 6].contains(&i)))
        .collect();
    let body = json!({"train": {"learner": {"name": "kernel-perceptron", "params": {
            "kernel": {"conjunctions": "monotone", "max_literals": 2}, "order": "shuffled"}},
        "data": {"labelled": {"examples": examples.iter().map(|(x, is_positive)|
            json!({"x": x, "y": if *is_positive { 1 } else { -1 }})).collect::<Vec<_>>()}},
        "seed": 3, "stop": {"max_passes": 20}}});
    let by_body = service.run(&body).await;
    let query = "params.kernel.conjunctions=monotone&params.kernel.max_literals=2&params.order=shuffled&seed=3\
                 &stop.max_passes=20";
    let by_query = train(&service, query, lines(&examples)).await;
    assert_eq!(by_body["learner"], by_query["learner"]);
    let kernel = json!({"conjunctions": "monotone", "max_literals": 2});
    assert_eq!(by_body["learner"]["params"]["kernel"], kernel);
    let hypothesis = &by_body["result"]["hypothesis"];
    assert_eq!(hypothesis, &by_query["result"]["hypothesis"]);
    assert_eq!(hypothesis["kind"], "kernel");
    assert_eq!(hypothesis["n"], 3);
    assert_eq!(hypothesis["kernel"], kernel);
    let support = hypothesis["support"].as_array().unwrap();
    assert_eq!(
        support.len() as u64,
        by_body["result"]["mistakes"].as_u64().unwrap()
    );
    assert!(
        support
            .iter()
            .all(|vector| vector["x"].as_str().unwrap().len() == 3)
    );
    // A parity of three bits has no threshold over pairs: both classes have equal moments up to order two.
    assert_eq!(by_body["result"]["termination"]["detail"], "max_passes");
    // Conjunctions of all three bits represent the parity. The order `random` learns it too.
    let job = train(
        &service,
        "params.order=random&stop.max_passes=100",
        lines(&examples),
    )
    .await;
    assert_eq!(job["result"]["training"]["errors"], 0);
    let kernel = json!({"conjunctions": "all", "max_literals": null});
    assert_eq!(job["result"]["hypothesis"]["kernel"], kernel);
}

#[tokio::test]
async fn kernel_perceptron_refuses_wrong_parameters_and_data() {
    let service = Service::start().await;
    let good = lines(&[("10".to_owned(), true), ("01".to_owned(), false)]);
    let real = "{\"x\":[0.5,1],\"y\":1}\n{\"x\":[1,0],\"y\":-1}\n";
    let wide = lines(&[("1".repeat(100_000), true), ("0".repeat(100_000), false)]);
    for (query, body, status, code, parameter) in [
        (
            "params.kernel.max_literals=0",
            &*good,
            400,
            "invalid-parameter",
            "params.kernel.max_literals",
        ),
        (
            "params.kernel.max_literals=1.5",
            &good,
            400,
            "invalid-parameter",
            "params.kernel.max_literals",
        ),
        (
            "params.kernel.conjunctions=some",
            &good,
            400,
            "invalid-parameter",
            "params.kernel.conjunctions",
        ),
        (
            "params.kernel=all",
            &good,
            400,
            "invalid-parameter",
            "params.kernel",
        ),
        (
            "params.order=backwards",
            &good,
            400,
            "invalid-parameter",
            "params.order",
        ),
        (
            "stop.confidence=0.9",
            &good,
            422,
            "wrong-stop",
            "stop.confidence",
        ),
        (
            "params.kernel.max_literals=50000",
            &wide,
            422,
            "wrong-data",
            "params.kernel.max_literals",
        ),
        ("", "\"10\"\n\"01\"\n", 422, "wrong-data", ""),
        ("", real, 422, "wrong-data", ""),
        (
            "",
            "{\"x\":\"10\",\"y\":1}\n{\"x\":\"101\",\"y\":-1}\n",
            400,
            "wrong-shape",
            "",
        ),
    ] {
        let path = format!("/v1/learners/kernel-perceptron/train?{query}");
        let answer = service.post_as(&path, NDJSON, body.to_owned()).await;
        assert_eq!(answer.problem(status), code, "{query} {}", answer.text());
        let first = &answer.json()["errors"][0];
        assert_eq!(
            first["parameter"].as_str().unwrap_or_default(),
            parameter,
            "{query}"
        );
    }
    for (params, pointer) in [
        (
            json!({"kernel": {"max_literals": 0}}),
            "/train/learner/params/kernel/max_literals",
        ),
        (
            json!({"kernel": {"conjunctions": 1}}),
            "/train/learner/params/kernel/conjunctions",
        ),
        (
            json!({"kernel": {"degree": 2}}),
            "/train/learner/params/kernel/degree",
        ),
        (json!({"kernel": "all"}), "/train/learner/params/kernel"),
    ] {
        let data = json!({"labelled": {"examples": [{"x": "10", "y": 1}, {"x": "01", "y": -1}]}});
        let body = json!({"train": {"data": data,
            "learner": {"name": "kernel-perceptron", "params": params}}});
        let answer = service.post_json("/v1/jobs", &body).await.expect(400);
        assert_eq!(answer.json()["errors"][0]["pointer"], pointer);
    }
    assert_eq!(service.get("/v1/jobs").await.json()["items"], json!([]));
}
