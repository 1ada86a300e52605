//! Certificates of trainings, evaluations and sessions, the rule `pac`, and the theory routes of certificates.

use serde_json::{Value, json};

use crate::service::{Service, endless, train};

/// The certificate of a kind, or the reason why the answer lacks the certificate.
fn certificate<'a>(answer: &'a Value, kind: &str) -> Result<&'a Value, &'a str> {
    let of_kind = |list: &str| {
        let mut all = answer[list].as_array().unwrap().iter();
        all.find(|one| one["kind"] == kind)
    };
    match (of_kind("certificates"), of_kind("certificates_withheld")) {
        (Some(certificate), None) => Ok(certificate),
        (None, Some(withheld)) => Err(withheld["reason"].as_str().unwrap()),
        other => panic!("{kind}: {other:?} in {answer}"),
    }
}

#[track_caller]
fn assert_near(found: &Value, expected: f64, within: f64) {
    let found = found.as_f64().unwrap();
    assert!(
        (found - expected).abs() <= within,
        "{found}, not {expected}"
    );
}

fn disjunction(count: u64, noise: f64) -> Value {
    json!({"generated": {"n": 14, "target": {"disjunction": {"variables": [1, 2, 3]}},
        "sampling": "uniform", "count": count, "noise": noise}})
}

#[tokio::test]
async fn recovered_weights_have_a_uniqueness_certificate() {
    let service = Service::start().await;
    let mut data = endless(1001);
    data["generated"]["count"] = json!(1602);
    let mut job = train(json!({"name": "auto"}), data);
    job["train"]["seed"] = json!(7);
    let result = service.run(&job).await["result"].take();
    let unique = certificate(&result, "unique").unwrap();
    assert_near(&unique["log10_doubt"], -12.0749, 5e-5);
    assert_eq!(unique["examples"], 1602);
    assert_eq!(
        unique["assumes"],
        json!(["independent", "uniform-positive"])
    );
    let statement = unique["statement"].as_str().unwrap();
    assert!(
        statement.contains("10^-12.0749") && statement.contains("1602"),
        "{statement}"
    );
    // Too few examples leave other vectors.
    let mut data = endless(11);
    data["generated"]["count"] = json!(5);
    let result = service.run(&train(json!({"name": "auto"}), data)).await["result"].take();
    let why = certificate(&result, "unique").unwrap_err();
    assert!(why.contains("too few"), "{why}");
    // A run that its own success ends has no number of examples that was fixed before.
    let drift = train(json!({"name": "directed-drift-sync"}), endless(11));
    let result = service.run(&drift).await["result"].take();
    let why = certificate(&result, "unique").unwrap_err();
    assert!(why.contains("not fixed"), "{why}");
}

#[tokio::test]
async fn every_certificate_needs_a_declaration_that_nothing_contradicts() {
    let service = Service::start().await;
    let examples: Vec<Value> = (0..64)
        .map(|row: u32| json!({"x": format!("{row:06b}010011"), "y": if row >= 32 { 1 } else { -1 }}))
        .collect();
    let job = |data: Value| {
        let mut job = train(json!({"name": "perceptron"}), data);
        job["train"]["holdout"] = json!(0.25);
        job
    };
    let kinds = [
        "test-set",
        "survival",
        "progressive",
        "unique",
        "compression",
    ];
    let data = json!({"labelled": {"examples": examples}});
    let result = service.run(&job(data.clone())).await["result"].take();
    for kind in kinds {
        let why = certificate(&result, kind).unwrap_err();
        assert!(why.contains("assume"), "{kind}: {why}");
    }
    let mut declared = data.clone();
    declared["labelled"]["assume"] = json!("independent");
    let result = service.run(&job(declared)).await["result"].take();
    for kind in ["test-set", "progressive", "compression"] {
        let found = certificate(&result, kind).unwrap();
        assert_eq!(found["confidence"], 0.95);
        assert_eq!(found["assumes"], json!(["independent"]));
        assert!(
            found["source"]
                .as_str()
                .is_some_and(|source| source.contains('(')),
            "{found}"
        );
    }
    assert!(certificate(&result, "survival").is_ok() || result["passes"] != 1);
    // Each row twice: the examples refute the declared sampling, and with it the independence.
    let twice = [examples.clone(), examples.clone(), examples].concat();
    let refuted = json!({"labelled": {"examples": twice, "assume": "uniform"}});
    let result = service.run(&job(refuted)).await["result"].take();
    for kind in kinds {
        let why = certificate(&result, kind).unwrap_err();
        assert!(why.contains("refute"), "{kind}: {why}");
    }
    // A warm start on the same examples knows them.
    let first = service.run(&job(data.clone())).await;
    let mut again = job(data);
    again["train"]["data"]["labelled"]["assume"] = json!("independent");
    again["train"]["warm_start"] = first["result"]["model"].clone();
    let result = service.run(&again).await["result"].take();
    for kind in ["test-set", "survival", "progressive", "compression"] {
        let why = certificate(&result, kind).unwrap_err();
        assert!(why.contains("initial model"), "{kind}: {why}");
    }
}

#[tokio::test]
async fn the_support_of_a_maximum_margin_certifies_the_hyperplane() {
    let service = Service::start().await;
    let generated = json!({"generated": {"n": 11, "target": {"binary_weights": {}}, "sampling": "uniform",
        "count": 400}});
    let job = json!({"maximum_margin": {"data": generated, "confidence": 0.9}});
    let result = service.run(&job).await["result"].take();
    let found = certificate(&result, "compression").unwrap();
    let kept = result["support"].as_array().unwrap().len();
    assert_eq!(
        (found["confidence"].as_f64(), &found["kept"]),
        (Some(0.9), &json!(kept))
    );
    let path = format!("/v1/theory/compression?examples=400&kept={kept}&confidence=0.9");
    let bound = service.get(&path).await.expect(200).json();
    assert_eq!(found["error_at_most"], bound["error_at_most"]);
    assert!(bound["error_at_most"].as_f64().unwrap() < 1.0, "{bound}");
    // The examples of a client need a declaration.
    let examples = json!([{"x": "11", "y": 1}, {"x": "10", "y": -1}, {"x": "01", "y": -1}]);
    let mut data = json!({"labelled": {"examples": examples}});
    let ask = |data: &Value| json!({"maximum_margin": {"data": data}});
    let result = service.run(&ask(&data)).await["result"].take();
    let why = certificate(&result, "compression").unwrap_err();
    assert!(why.contains("assume"), "{why}");
    data["labelled"]["assume"] = json!("independent");
    let result = service.run(&ask(&data)).await["result"].take();
    // All three examples are needed, which bounds nothing.
    let why = certificate(&result, "compression").unwrap_err();
    assert!(why.contains("3 of 3 examples"), "{why}");
}

/// All rows of nine features with the labels of hidden weights: no draw, but a list.
#[tokio::test]
async fn a_list_of_all_rows_refutes_a_declared_sampling() {
    let service = Service::start().await;
    let example = |row: u32| {
        let agreement = (row ^ 0b0_1101_0110).count_zeros() - 23;
        json!({"x": format!("{row:09b}"), "y": if agreement > 4 { 1 } else { -1 }})
    };
    let ask = async |order: &dyn Fn(u32) -> u32, times: u32, learner: &str| {
        let rows = (0..512 * times).map(|index| example(order(index % 512)));
        let data = json!({"labelled": {"examples": rows.collect::<Vec<_>>(), "assume": "uniform"}});
        service.run(&train(json!({"name": learner}), data)).await["result"].take()
    };
    let sorted = |index| index;
    let mixed = |index| index * 181 % 512;
    let orders: [&dyn Fn(u32) -> u32; 2] = [&sorted, &mixed];
    for order in orders {
        // Once, and each row exactly twice: too few repetitions.
        for times in [1, 2] {
            for learner in ["directed-drift-sync", "auto"] {
                let result = ask(order, times, learner).await;
                assert_eq!(result["termination"]["confidence"], Value::Null, "{result}");
                let why = certificate(&result, "unique").unwrap_err();
                assert!(why.contains("a list of all examples"), "{why}");
            }
        }
    }
    // Draws of the service's own generator are believed.
    let data = json!({"generated": {"n": 9, "target": {"binary_weights": {}}, "sampling": "uniform", "count": 512}});
    let dataset = service
        .post_json("/v1/datasets", &json!({"data": data, "seed": 5}))
        .await;
    let dataset = dataset.expect(201).id();
    let data = json!({"dataset": dataset});
    let result = service.run(&train(json!({"name": "auto"}), data)).await["result"].take();
    assert!(certificate(&result, "unique").is_ok(), "{result}");
}

/// A session of no examples knows nothing, and no certificate says so.
#[tokio::test]
async fn a_session_without_examples_has_no_certificate() {
    let service = Service::start().await;
    let session = json!({"learner": {"name": "perceptron"}, "n": 4, "assume": "independent"});
    let session = service
        .post_json("/v1/sessions", &session)
        .await
        .expect(201)
        .json();
    for kind in ["survival", "progressive"] {
        let why = certificate(&session, kind).unwrap_err();
        assert!(
            why.starts_with('0') && why.contains("do not bound the error below 1"),
            "{why}"
        );
    }
    let path = format!("/v1/sessions/{}/examples", session["id"].as_str().unwrap());
    let (mut position, mut certified) = (0, 0);
    for turn in 0..200 {
        let body = if turn % 2 == 0 {
            "1,1,1,1,0\n"
        } else {
            "0,0,0,0,1\n"
        };
        service.post_as(&path, "text/csv", body).await.expect(200);
        position += 1;
        let path = path.trim_end_matches("/examples");
        let session = service.get(path).await.expect(200).json();
        for kind in ["survival", "progressive"] {
            let Ok(found) = certificate(&session, kind) else {
                continue;
            };
            let bound = &found[if kind == "survival" {
                "error_at_most"
            } else {
                "mean_error_at_most"
            }];
            assert!(bound.as_f64().unwrap() < 1.0, "{position}: {found}");
            certified += 1;
        }
    }
    assert!(certified > 300, "{certified}");
}

#[tokio::test]
async fn an_evaluation_is_certified_on_fresh_examples_only() {
    let service = Service::start().await;
    let learnt = service
        .run(&train(json!({"name": "winnow"}), disjunction(2000, 0.0)))
        .await;
    let model = learnt["result"]["model"].clone();
    let evaluate = |data: Value, fresh: bool| {
        let task = json!({"model": model, "data": data, "fresh": fresh, "confidence": 0.99});
        json!({"evaluate": task})
    };
    // The service drew another seed for these data.
    let result = service.run(&evaluate(disjunction(1000, 0.05), false)).await["result"].take();
    let found = certificate(&result, "test-set").unwrap();
    assert_eq!(
        (&found["examples"], &found["confidence"]),
        (&json!(1000), &json!(0.99))
    );
    assert!(found["low"].as_f64() < found["error_rate"].as_f64());
    assert!(found["high"].as_f64() > found["at_most"].as_f64());
    // The same seed is the same data.
    let mut same = evaluate(disjunction(1000, 0.0), true);
    same["evaluate"]["seed"] = learnt["seed"].clone();
    let result = service.run(&same).await["result"].take();
    let why = certificate(&result, "test-set").unwrap_err();
    assert!(why.contains("seed"), "{why}");
    let rows = json!({"labelled": {"examples": [{"x": "10000000000000", "y": 1},
        {"x": "00000000000000", "y": -1}], "assume": "independent"}});
    let result = service.run(&evaluate(rows.clone(), true)).await["result"].take();
    assert_eq!(certificate(&result, "test-set").unwrap()["errors"], 0);
    let result = service.run(&evaluate(rows.clone(), false)).await["result"].take();
    assert!(
        certificate(&result, "test-set")
            .unwrap_err()
            .contains("fresh=true")
    );
    let path = format!("/v1/models/{}/evaluate", model.as_str().unwrap());
    let by_route = service
        .post_json(&format!("{path}?fresh=true&confidence=0.9"), &rows)
        .await;
    let by_route = by_route.expect(200).json();
    assert_eq!(
        certificate(&by_route, "test-set").unwrap()["confidence"],
        0.9
    );
    for (query, status) in [
        ("fresh=yes", 400),
        ("confidence=1", 400),
        ("assume=iid", 400),
    ] {
        let answer = service.post_json(&format!("{path}?{query}"), &rows).await;
        assert_eq!(answer.problem(status), "invalid-parameter", "{query}");
    }
    let declared = async |assume: &str| {
        let path = format!("{path}?assume={assume}");
        service.post_json(&path, &rows).await
    };
    let answer = declared("independent").await.expect(200);
    assert!(answer.json()["certificates"].is_array());
    assert_eq!(declared("reflected").await.problem(400), "bad-option");
}

#[tokio::test]
async fn a_model_that_learnt_the_same_file_is_not_certified_on_it() {
    // Every number below eight and the majority of its bits, in two orders and lengths.
    let file = |rows: u32, step: u32| {
        let rows = (0..rows).map(|row| row * step % 8);
        let line = |row: u32| {
            let sign = if row.count_ones() > 1 { '+' } else { '-' };
            let active = (0..3).filter(|bit| row >> bit & 1 == 1);
            let active: String = active.map(|bit| format!(" {}:1", bit + 1)).collect();
            format!("{sign}1{active}\n")
        };
        rows.map(line).collect::<String>()
    };
    let (shown, fresh) = (file(16, 1), file(128, 3));
    let service = Service::start().await;
    let query = "/v1/learners/perceptron/train?n=3";
    let learnt = service
        .post_as(query, "text/x-libsvm", shown.clone())
        .await
        .expect(200)
        .json();
    let model = learnt["result"]["model"].as_str().unwrap();
    let path = format!("/v1/models/{model}/evaluate?assume=independent&fresh=true");
    let tested = service
        .post_as(&path, "text/x-libsvm", fresh)
        .await
        .expect(200)
        .json();
    let found = certificate(&tested, "test-set").unwrap();
    assert_eq!(
        (&found["errors"], &found["examples"]),
        (&json!(0), &json!(128))
    );
    assert_near(&found["at_most"], 1.0 - 0.05_f64.powf(1.0 / 128.0), 1e-12);
    let same = service
        .post_as(&path, "text/x-libsvm", shown)
        .await
        .expect(200)
        .json();
    let why = certificate(&same, "test-set").unwrap_err();
    assert_eq!(why, "the model or its ancestors learnt from these data");
}

#[tokio::test]
async fn pac_ends_a_run_on_fresh_independent_examples() {
    let service = Service::start().await;
    let job = |learner: Value, data: Value, stop: Value| {
        let mut job = train(learner, data);
        job["train"]["stop"] = stop;
        job
    };
    let endless = |noise: f64| {
        let mut data = disjunction(1, noise);
        data["generated"].as_object_mut().unwrap().remove("count");
        data
    };
    let winnow = json!({"name": "winnow"});
    let result = service
        .run(&job(winnow.clone(), endless(0.0), json!({"error": 0.1})))
        .await["result"]
        .take();
    let termination = &result["termination"];
    assert_eq!(
        (
            &termination["reason"],
            &termination["rule"],
            &termination["confidence"]
        ),
        (&json!("confident"), &json!("pac"), &json!(0.95))
    );
    assert_eq!(termination["run_length"], termination["threshold"]);
    let detail = termination["confidence_detail"].as_str().unwrap();
    assert!(
        detail.contains("not that the hypothesis is the target"),
        "{detail}"
    );
    let survival = certificate(&result, "survival").unwrap();
    assert!(
        survival["error_at_most"].as_f64().unwrap() <= 0.1,
        "{survival}"
    );
    // A limit that comes first leaves the live bound.
    let limited = json!({"error": 1e-6, "max_examples": 500});
    let result = service
        .run(&job(winnow.clone(), endless(0.0), limited))
        .await["result"]
        .take();
    assert_eq!(result["termination"]["reason"], "limit");
    assert!(certificate(&result, "survival").is_ok());
    let rows = json!({"labelled": {"examples": [{"x": "10", "y": 1}, {"x": "00", "y": -1}]}});
    let random = json!({"name": "perceptron", "params": {"order": "random"}});
    let mut declared = rows.clone();
    declared["labelled"]["assume"] = json!("independent");
    for (learner, data, stop, field) in [
        (winnow.clone(), rows, json!({"error": 0.1}), "error"),
        (
            winnow.clone(),
            endless(0.0),
            json!({"error": 0.1, "rule": "anytime"}),
            "rule",
        ),
        (
            winnow.clone(),
            endless(0.0),
            json!({"rule": "pac"}),
            "error",
        ),
        (
            winnow.clone(),
            endless(0.0),
            json!({"confidence": 0.9}),
            "confidence",
        ),
        (winnow, endless(0.1), json!({"error": 0.1}), "max_examples"),
        (
            json!({"name": "pocket"}),
            disjunction(100, 0.0),
            json!({"error": 0.1}),
            "error",
        ),
        (random, declared, json!({"error": 0.1}), "error"),
    ] {
        let job = job(learner, data, stop);
        let answer = service.post_json("/v1/jobs", &job).await;
        assert_eq!(answer.problem(422), "wrong-stop", "{job}");
        let pointer = &answer.json()["errors"][0]["pointer"];
        assert_eq!(pointer, &json!(format!("/train/stop/{field}")), "{job}");
    }
    for error in [json!(0), json!(1), json!(-0.5), json!("x")] {
        let job = job(
            json!({"name": "winnow"}),
            endless(0.0),
            json!({"error": error}),
        );
        let answer = service.post_json("/v1/jobs", &job).await;
        assert_eq!(answer.problem(400), "schema", "{job}");
    }
}

#[tokio::test]
async fn a_session_has_live_certificates_and_stops_by_pac() {
    let service = Service::start().await;
    let open = |stop: Value, assume: Value| {
        let learner = json!({"name": "perceptron"});
        json!({"learner": learner, "n": 5, "seed": 3, "stop": stop, "assume": assume})
    };
    let undeclared = open(json!({"error": 0.2}), json!(null));
    let answer = service.post_json("/v1/sessions", &undeclared).await;
    assert_eq!(answer.problem(422), "wrong-stop");
    let session = service
        .post_json(
            "/v1/sessions",
            &open(json!({"error": 0.2}), json!("independent")),
        )
        .await
        .expect(201)
        .json();
    let why = certificate(&session, "survival").unwrap_err();
    assert!(why.contains("0 consistent examples"), "{why}");
    let path = format!("/v1/sessions/{}", session["id"].as_str().unwrap());
    let rows: Vec<Value> = (0..41_u32)
        .map(|row| json!({"x": format!("{:05b}", row * 7 % 32), "y": if row * 7 % 32 >= 16 { 1 } else { -1 }}))
        .collect();
    let body = json!({"labelled": {"examples": rows}});
    service
        .post_json(&format!("{path}/examples"), &body)
        .await
        .expect(200);
    let session = service.get(&path).await.expect(200).json();
    assert_eq!(session["termination"]["reason"], "confident");
    assert_eq!(session["termination"]["rule"], "pac");
    let survival = certificate(&session, "survival").unwrap();
    assert!(
        survival["error_at_most"].as_f64().unwrap() <= 0.2,
        "{survival}"
    );
    assert_eq!(survival["run_length"], session["run_length"]);
    assert_eq!(
        survival["hypothesis"].as_u64().unwrap(),
        session["mistakes"].as_u64().unwrap() + 1
    );
    let progressive = certificate(&session, "progressive").unwrap();
    assert_eq!(progressive["examples"], session["position"]);
}

#[tokio::test]
async fn theory_has_the_bound_of_each_certificate_and_the_examples_that_it_needs() {
    let service = Service::start().await;
    let ask = async |query: &str| {
        let answer = service.get(&format!("/v1/theory/{query}")).await;
        answer.expect(200).json()
    };
    assert_near(
        &ask("test-set?errors=0&examples=1302").await["at_most"],
        0.0023,
        5e-5,
    );
    let survival = ask("survival?error=0.1&hypothesis=3").await;
    let length = survival["run_length"].as_u64().unwrap();
    // ceil(ln(12 / 0.05) / -ln 0.9)
    assert_eq!(length, 53);
    assert!(survival["error_at_most"].as_f64().unwrap() <= 0.1);
    let shorter = ask(&format!("survival?run_length={}&hypothesis=3", length - 1)).await;
    assert!(shorter["error_at_most"].as_f64().unwrap() > 0.1);
    assert_eq!(ask("survival?run_length=0").await["error_at_most"], 1.0);
    assert_eq!(
        ask("progressive?mistakes=5&examples=5").await["mean_error_at_most"],
        1.0
    );
    assert_near(
        &ask("uniqueness?n=1001&examples=1602").await["log10_doubt"],
        -12.0749,
        5e-5,
    );
    assert_eq!(
        ask("uniqueness?n=1001&confidence=0.95").await["examples"],
        1462
    );
    assert_eq!(
        ask("uniqueness?n=1001&confidence=0.999999").await["examples"],
        1500
    );
    assert!(
        ask("uniqueness?n=1000000&sampling=uniform").await["examples"].as_u64() > Some(1_000_000)
    );
    assert_near(
        &ask("compression?examples=6513&kept=129").await["error_at_most"],
        0.096,
        5e-4,
    );
    for query in [
        "test-set?errors=0&examples=0",
        "test-set?errors=2&examples=1",
        "test-set?errors=0&examples=10&confidence=1",
        "survival?run_length=5&error=0.1",
        "survival?error=0",
        "progressive?mistakes=0&examples=0",
        "uniqueness?n=0",
        "uniqueness?n=11&examples=0",
        "uniqueness?n=11&examples=5&confidence=0.9",
        "compression?examples=10&kept=11",
        "compression?examples=10&kept=5&errors=6",
    ] {
        let answer = service.get(&format!("/v1/theory/{query}")).await;
        assert_eq!(answer.problem(400), "invalid-parameter", "{query}");
    }
}
