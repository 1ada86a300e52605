//! Claims in results are true: the reported hypothesis, notes, refuted declarations, and decimals that are read
//! exactly.

use serde_json::{Value, json};

use crate::service::{Service, request, train};

async fn result(service: &Service, job: &Value) -> Value {
    let job = service.run(job).await;
    assert_eq!(job["status"], "succeeded", "{job}");
    job["result"].clone()
}

/// Exports the model of a result and imports the file. Returns the file and the record of the import, which
/// have equal digests.
async fn imported_again(service: &Service, result: &Value) -> (Value, Value) {
    let path = format!("/v1/models/{}", result["model"].as_str().unwrap());
    let file = service.get(&path).await.expect(200).json();
    let imported = service.post_json("/v1/models", &file).await;
    let imported = imported.expect(201).json();
    assert_eq!(imported["sha256"], file["sha256"]);
    (file, imported)
}

fn detail(result: &Value) -> &str {
    result["termination"]["detail"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn limited_training_reports_the_last_and_the_best_hypothesis() {
    let service = Service::start().await;
    let boards = service.get("/v1/samples/tic-tac-toe").await.expect(200);
    let (names, boards) = boards.text().split_once('\n').unwrap();
    // The file in the UCI repository lists the boards that x has won first.
    let mut boards: Vec<_> = boards.lines().collect();
    boards.sort_by_key(|board| board.ends_with("negative"));
    let csv = format!("{names}\n{}\n", boards.join("\n"));
    let dataset = service.post_as("/v1/datasets", "text/csv", csv).await;
    let data = json!({"dataset": dataset.expect(201).json()["id"]});
    let found = result(
        &service,
        &train(json!({"name": "perceptron"}), data.clone()),
    )
    .await;
    assert_eq!(detail(&found), "max_passes");
    assert_eq!(found["hypothesis_is"], "last");
    let (last, best) = (&found["training"], &found["best"]);
    let errors = |counted: &Value| counted["errors"].as_u64().unwrap();
    assert!(errors(best) < errors(last), "{last} {best}");
    assert_eq!(best["examples"], 958);
    assert!((1..1000).contains(&best["pass"].as_u64().unwrap()));
    // A run that ends at that pass ends with the best hypothesis.
    let mut until = train(json!({"name": "perceptron"}), data.clone());
    until["train"]["stop"] = json!({"max_passes": best["pass"]});
    let until = result(&service, &until).await;
    assert_eq!(until["hypothesis"], best["hypothesis"]);
    assert_eq!(errors(&until["training"]), errors(best));
    assert_eq!((errors(last), errors(best)), (105, 56));
    let mut pocket = train(json!({"name": "pocket"}), data);
    pocket["train"]["stop"] = json!({"max_mistakes": 50});
    let pocket = result(&service, &pocket).await;
    assert_eq!(pocket["hypothesis_is"], "best");
    assert_eq!(pocket["best"], Value::Null);
}

/// The quotient alpha / alpha is 1 for every notation of alpha.
#[tokio::test]
async fn winnow_alpha_is_exactly_the_written_decimal() {
    let service = Service::start().await;
    let data = json!({"labelled": {"examples": [{"x": "1", "y": 1}]}});
    for (alpha, theta) in [
        ("1.7", "1.7"),
        ("1.4", "1.4"),
        ("1.4", "1.96"),
        ("1.9", "1.9"),
        ("2.3", "2.3"),
        ("17e-1", "1.7"),
        ("1.5", "1.5"),
    ] {
        let mistakes = if theta == "1.96" { 2 } else { 1 };
        for alpha in [alpha.to_owned(), format!("\"{alpha}\"")] {
            if alpha.contains("\"17e") {
                continue;
            }
            let body = format!(
                r#"{{"train": {{"learner": {{"name": "winnow", "params": {{"alpha": {alpha},
                    "theta": "{theta}"}}}}, "data": {data}}}}}"#
            );
            let headers = [("content-type", "application/json"), ("prefer", "wait=20")];
            let request = request("POST", "/v1/jobs", &headers, body);
            let job = service.send(request).await.expect(200).json();
            assert_eq!(job["result"]["mistakes"], mistakes, "{alpha} {theta}");
        }
        if !alpha.contains('e') {
            let path =
                format!("/v1/learners/winnow/train?params.alpha={alpha}&params.theta={theta}");
            let job = service.post_json(&path, &data).await.expect(200).json();
            assert_eq!(job["result"]["mistakes"], mistakes, "{alpha} {theta}");
        }
    }
    // A model keeps the decimal through export and import.
    let learner = json!({"name": "winnow", "params": {"alpha": 1.7, "theta": "1.7"}});
    let first = result(&service, &train(learner.clone(), data.clone())).await;
    assert_eq!(first["hypothesis"]["alpha"], "1.7");
    let (file, imported) = imported_again(&service, &first).await;
    assert_eq!(file["params"]["alpha"], "1.7");
    let mut next = train(learner, data.clone());
    next["train"]["warm_start"] = imported["id"].clone();
    assert_eq!(result(&service, &next).await["mistakes"], 0);
    // The double nearest to 1.7 is another number than 1.7.
    let mut other = train(
        json!({"name": "winnow", "params": {"theta": "1.7",
        "alpha": "1.6999999999999999555910790149937383830547332763671875"}}),
        data,
    );
    let of_double = result(&service, &other).await;
    assert_eq!(of_double["mistakes"], 2);
    assert_eq!(of_double["hypothesis"]["alpha"], 1.7);
    other["train"]["warm_start"] = imported["id"].clone();
    let refused = service.post_json("/v1/jobs", &other).await;
    assert_eq!(refused.problem(422), "wrong-start");
}

/// Examples of twelve features that no hyperplane separates.
fn noisy(count: u32) -> Value {
    let example = |index: u32| {
        let bits = index.wrapping_mul(2_654_435_761) >> 20;
        let x: String = (0..12)
            .map(|j| if bits >> j & 1 == 1 { '1' } else { '0' })
            .collect();
        let y = if (bits ^ bits >> 3 ^ bits >> 7) & 1 == 1 {
            1
        } else {
            -1
        };
        json!({"x": x, "y": y})
    };
    json!({"labelled": {"examples": (0..count).map(example).collect::<Vec<_>>()}})
}

#[tokio::test]
async fn perceptron_learning_rate_changes_no_prediction() {
    let service = Service::start().await;
    let real = |mut data: Value| {
        for example in data["labelled"]["examples"].as_array_mut().unwrap() {
            let bits = example["x"].as_str().unwrap().to_owned();
            let values = bits.chars().map(|bit| if bit == '1' { 0.3 } else { -0.1 });
            example["x"] = json!(values.collect::<Vec<f64>>());
        }
        data
    };
    for (learner, data, stop) in [
        ("perceptron", noisy(300), json!({"max_passes": 9})),
        ("pocket", noisy(300), json!({"max_mistakes": 90})),
        ("perceptron", real(noisy(300)), json!({"max_passes": 9})),
    ] {
        let of = async |eta: f64| {
            let learner = json!({"name": learner, "params": {"eta": eta}});
            let mut job = train(learner, data.clone());
            job["train"]["stop"] = stop.clone();
            job["train"]["seed"] = json!(3);
            let job = service.run(&job).await;
            assert_eq!(job["status"], "succeeded", "{job}");
            job
        };
        let one = of(1.0).await;
        for eta in [0.1, 0.3, 0.01, 0.7, 3.0] {
            let other = of(eta).await;
            let (one, other) = (&one["result"], &other["result"]);
            for name in ["mistakes", "updates", "passes"] {
                assert_eq!(other[name], one[name], "{learner} {eta}");
            }
            let weight = |result: &Value, j: usize| result["hypothesis"]["weights"][j].as_f64();
            for j in 0..12 {
                let (scaled, whole) = (weight(other, j).unwrap(), weight(one, j).unwrap());
                assert!(
                    (scaled - eta * whole).abs() <= 1e-12 * scaled.abs(),
                    "{eta}"
                );
            }
            if one["hypothesis"]["reading"].is_string() {
                assert_eq!(other["training"], one["training"], "{learner} {eta}");
            }
        }
    }
    // Scores are exact multiples of the unit, and an imported model is unchanged.
    let learner = json!({"name": "perceptron", "params": {"eta": 0.3}});
    let mut job = train(learner, noisy(300));
    job["train"]["stop"] = json!({"max_passes": 3});
    let found = result(&service, &job).await;
    assert_eq!(found["hypothesis"]["unit"], 0.3);
    let (_, imported) = imported_again(&service, &found).await;
    let evaluated = async |id: &Value| {
        let path = format!("/v1/models/{}/evaluate", id.as_str().unwrap());
        service
            .post_json(&path, &noisy(300))
            .await
            .expect(200)
            .json()["errors"]
            .clone()
    };
    assert_eq!(
        evaluated(&imported["id"]).await,
        found["training"]["errors"]
    );
    // Weights that are not multiples of a unit are computed in floating point.
    job["train"]["learner"]["params"] = json!({"eta": 0.3, "initial": 0.5});
    assert_eq!(
        result(&service, &job).await["hypothesis"]["unit"],
        Value::Null
    );
}

#[tokio::test]
async fn unfilled_batches_are_noted_in_the_result() {
    let service = Service::start().await;
    let few = json!({"generated": {"n": 51, "target": {"binary_weights": {}}, "count": 60,
        "sampling": "uniform-positive"}});
    let found = result(
        &service,
        &train(json!({"name": "directed-drift-sync"}), few),
    )
    .await;
    assert_eq!(found["updates"], 0);
    let said = detail(&found);
    assert!(
        said.contains("inside a batch") && said.contains("is the initial hypothesis"),
        "{said}"
    );
}

#[tokio::test]
async fn stop_rule_below_the_requested_confidence_says_so() {
    let service = Service::start().await;
    let mut job = train(
        json!({"name": "directed-drift-sync"}),
        json!({"generated": {"n": 20,
        "target": {"binary_weights": {}}, "sampling": "uniform-positive"}}),
    );
    job["train"]["stop"] = json!({"confidence": 0.95, "rule": "per-hypothesis"});
    let found = result(&service, &job).await;
    assert_eq!(found["termination"]["reason"], "confident");
    let own = found["termination"]["per_hypothesis_confidence"]
        .as_f64()
        .unwrap();
    assert!(own < 0.95, "{own}");
    assert!(
        detail(&found).contains("below the requested 0.95"),
        "{}",
        detail(&found)
    );
}

#[tokio::test]
async fn sparse_data_read_signed_are_noted_in_the_result() {
    let service = Service::start().await;
    let data = |ones: usize| {
        let example = |index: usize| {
            let x: String = (0..60)
                .map(|j| if (j + index) % 60 < ones { '1' } else { '0' })
                .collect();
            json!({"x": x, "y": if index.is_multiple_of(2) { 1 } else { -1 }})
        };
        json!({"labelled": {"examples": (0..80).map(example).collect::<Vec<_>>()}})
    };
    let of = async |ones: usize, params: Value| {
        let learner = json!({"name": "perceptron", "params": params});
        let mut job = train(learner, data(ones));
        job["train"]["stop"] = json!({"max_passes": 2});
        let found = result(&service, &job).await;
        detail(&found).to_owned()
    };
    let said = of(2, json!({})).await;
    assert!(said.contains("3.33 % of the bits are 1"), "{said}");
    assert!(said.starts_with("max_passes: "), "{said}");
    assert!(
        !of(2, json!({"reading": "unsigned"}))
            .await
            .contains("of the bits")
    );
    assert!(!of(3, json!({})).await.contains("of the bits"));
}

#[tokio::test]
async fn maximum_margin_counts_support_beyond_the_list() {
    let service = Service::start().await;
    let mut csv = String::new();
    for row in 0..100_002 {
        csv.push_str(if row % 2 == 0 { "1,1\n" } else { "-1,0\n" });
    }
    let upload = service
        .post_as("/v1/datasets?labels=first", "text/csv", csv)
        .await;
    let dataset = upload.expect(201).json();
    let job = json!({"maximum_margin": {"data": {"dataset": dataset["id"]}}});
    let found = result(&service, &job).await;
    assert_eq!(found["support"], Value::Null);
    let said = found["detail"].as_str().unwrap();
    assert!(said.contains("100002 examples lie at the margin"), "{said}");
}

#[tokio::test]
async fn a_bound_that_is_null_gives_its_reason() {
    let service = Service::start().await;
    let none = json!({"stop": {"max_passes": 2}});
    for (learner, named) in [
        (json!({"name": "perceptron"}), "separator"),
        (
            json!({"name": "kernel-perceptron", "params": {"kernel": {"max_literals": 1}}}),
            "separator",
        ),
        (json!({"name": "winnow"}), "relevant"),
        (json!({"name": "pocket", "params": {}}), "no bound"),
    ] {
        let mut job = train(learner.clone(), noisy(100));
        if learner["name"] != "pocket" {
            job["train"]["stop"] = none["stop"].clone();
        }
        let found = result(&service, &job).await;
        assert_eq!(found["bound"], Value::Null, "{learner}");
        let why = found["bound_detail"].as_str().unwrap();
        assert!(why.contains(named), "{learner}: {why}");
    }
    let mut job = train(json!({"name": "bounded-perceptron"}), noisy(100));
    job["train"]["stop"] = none["stop"].clone();
    let bound = result(&service, &job).await["bound"].clone();
    assert_eq!(bound["mistakes_at_most"], Value::Null);
    assert!(bound["detail"].is_string());
}

/// Uniform half-space examples of 41 bits, each positive under the initial all-ones weights.
fn positive(count: u64, seed: u64) -> Vec<String> {
    let mut state = seed;
    let mut next = || {
        // The generator is splitmix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    };
    let example = |_| {
        let bits = next();
        let flip = (bits << 23 >> 23).count_ones() < 21;
        (0..41)
            .map(|j| {
                if (bits >> j & 1 == 1) != flip {
                    '1'
                } else {
                    '0'
                }
            })
            .collect()
    };
    (0..count).map(example).collect()
}

#[tokio::test]
async fn examples_that_refute_their_declaration_get_no_claim() {
    let service = Service::start().await;
    let learner = json!({"name": "directed-drift-sync", "params": {"batch_size": 200}});
    let honest = positive(2_000, 1);
    let mut repeated = honest[..50].to_vec();
    while repeated.len() < 2_000 {
        let again = repeated[repeated.len() - 50].clone();
        repeated.push(again);
    }
    for (examples, claims) in [(&honest, true), (&repeated, false)] {
        let data = json!({"half_space": {"examples": examples, "assume": "uniform-positive"}});
        let upload = json!({"data": data});
        let stored = service
            .post_json("/v1/datasets", &upload)
            .await
            .expect(201)
            .json();
        // The comparison happens when the job runs or when the dataset is stored.
        for data in [data, json!({"dataset": stored["id"]})] {
            let found = result(&service, &train(learner.clone(), data)).await;
            let termination = &found["termination"];
            assert_eq!(termination["confidence"].is_f64(), claims, "{termination}");
            let why = termination["confidence_detail"]
                .as_str()
                .unwrap_or_default();
            assert_eq!(
                why.contains("refute assume = uniform-positive"),
                !claims,
                "{why}"
            );
            assert_eq!(detail(&found).contains("refute"), !claims);
        }
        let session = json!({"learner": learner, "n": 41, "assume": "uniform-positive", "seed": 1});
        let session = service
            .post_json("/v1/sessions", &session)
            .await
            .expect(201)
            .json();
        let path = format!("/v1/sessions/{}", session["id"].as_str().unwrap());
        let body = json!({"half_space": {"examples": examples[..60]}});
        let learnt = format!("{path}/examples");
        service.post_json(&learnt, &body).await.expect(200);
        for forgets in [false, true] {
            if forgets {
                service.forget_sessions();
            }
            let now = service.get(&path).await.expect(200).json();
            let why = now["confidence_detail"].as_str().unwrap_or_default();
            assert_eq!(why.contains("refute"), !claims, "{why}");
        }
    }
}

#[tokio::test]
async fn drawn_datasets_keep_their_seed_and_their_distribution() {
    let service = Service::start().await;
    let drawn = |sampling: &str, noise: f64, target: Value| {
        json!({"seed": 9, "data": {"generated": {"n": 7, "target": target, "count": 300,
            "sampling": sampling, "noise": noise}}})
    };
    let weights = || json!({"binary_weights": {}});
    for (request, assume) in [
        (
            drawn("uniform-positive", 0.0, weights()),
            json!("uniform-positive"),
        ),
        (drawn("reflected", 0.0, weights()), json!("reflected")),
        (drawn("uniform", 0.0, weights()), json!("uniform")),
        (drawn("uniform", 0.1, weights()), Value::Null),
        (
            drawn(
                "uniform",
                0.0,
                json!({"disjunction": {"variables": [1, 2]}}),
            ),
            Value::Null,
        ),
    ] {
        let made = service
            .post_json("/v1/datasets", &request)
            .await
            .expect(201)
            .json();
        let path = format!("/v1/datasets/{}", made["id"].as_str().unwrap());
        let found = service.get(&path).await.expect(200).json();
        assert_eq!((&found["seed"], &found["assume"]), (&json!(9), &assume));
        if assume.is_string() {
            let learner = json!({"name": "directed-drift"});
            let data = json!({"dataset": made["id"]});
            let found = result(&service, &train(learner, data)).await;
            assert!(found["termination"]["confidence"].is_f64());
        }
    }
    let sent = json!({"data": {"half_space": {"examples": ["101"]}}});
    let sent = service
        .post_json("/v1/datasets", &sent)
        .await
        .expect(201)
        .json();
    assert_eq!(sent["seed"], Value::Null);
}
