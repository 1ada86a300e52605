//! Comparisons: learners on the same splits, the best of them trained on all of the data, and the figure.

use serde_json::{Value, json};

use crate::service::Service;

/// Examples of four features. The label is the majority of the first three.
fn data(count: u64) -> Value {
    let example = |at: u64| {
        let bits = at * 7 + at / 3;
        let label = if (bits & 0b111).count_ones() >= 2 {
            1
        } else {
            -1
        };
        let bit = |place: u32| if bits >> place & 1 == 1 { '1' } else { '0' };
        let x: String = [0_u32, 1, 2, 3].map(bit).iter().collect();
        json!({"x": x, "y": label})
    };
    json!({"labelled": {"examples": (0..count).map(example).collect::<Vec<_>>()}})
}

fn of_learners(fields: Value) -> Value {
    let mut compare = json!({"data": data(60), "seed": 5,
        "learners": [{"name": "winnow"}, {"name": "perceptron"},
                     {"name": "perceptron", "params": {"bias": false}}]});
    let fields = fields.as_object().expect("fields").clone();
    compare.as_object_mut().expect("an object").extend(fields);
    json!({"compare": compare})
}

/// The table without the times.
fn table(job: &Value) -> Vec<Value> {
    let mut learners = job["result"]["learners"]
        .as_array()
        .expect("a table")
        .clone();
    for learner in &mut learners {
        learner["seconds"] = Value::Null;
        learner["jobs"] = Value::Null;
    }
    learners
}

#[tokio::test]
async fn learners_are_compared_on_the_same_folds() {
    let service = Service::start().await;
    let job = service.run(&of_learners(json!({"folds": 4}))).await;
    assert_eq!(job["status"], "succeeded", "{job}");
    assert_eq!(job["parts"]["total"], 12);
    let learners = job["result"]["learners"].as_array().unwrap();
    for learner in learners {
        assert_eq!(learner["examples"], 60, "{learner}");
        assert_eq!(learner["folds"].as_array().unwrap().len(), 4);
        assert_eq!(learner["certificates"], json!([]));
        assert_eq!(learner["certificates_withheld"][0]["kind"], "test-set");
        let errors = learner["folds"]
            .as_array()
            .unwrap()
            .iter()
            .map(|fold| fold["errors"].as_u64().unwrap());
        assert_eq!(learner["errors"], errors.sum::<u64>());
    }
    // A training of one fold and a training of another learner hold out the same examples.
    let part = async |learner: usize, fold: usize| {
        let id = learners[learner]["jobs"][fold].as_str().unwrap();
        service
            .get(&format!("/v1/jobs/{id}"))
            .await
            .expect(200)
            .json()
    };
    assert_eq!(
        part(0, 2).await["data_sha256"],
        part(1, 2).await["data_sha256"]
    );
    // Both make no errors, and Winnow makes fewer mistakes.
    assert_eq!(
        (&learners[0]["error_rate"], &learners[1]["error_rate"]),
        (&json!(0.0), &json!(0.0))
    );
    assert!(learners[0]["mistakes"].as_u64() < learners[1]["mistakes"].as_u64());
    assert_eq!(job["result"]["best"], 0);
    // The model has learnt from all of the examples.
    let model = job["result"]["model"].as_str().unwrap();
    let model = service
        .get(&format!("/v1/models/{model}"))
        .await
        .expect(200)
        .json();
    assert_eq!(model["learner"], "winnow");
    let training = &job["result"]["training"];
    assert_eq!(training["training"], json!({"errors": 0, "examples": 60}));
    assert_eq!(
        (&training["model"], &training["holdout"]),
        (&job["result"]["model"], &Value::Null)
    );
    let alone = json!({"train": {"data": data(60), "seed": 5, "learner": {"name": "winnow"}}});
    let alone = service.run(&alone).await;
    assert_eq!(training["hypothesis"], alone["result"]["hypothesis"]);
}

#[tokio::test]
async fn comparison_is_the_same_on_any_number_of_workers() {
    let mut tables = Vec::new();
    for workers in ["1", "2"] {
        let service = Service::idle(&["--workers", workers]).await;
        let path = service.submit(&of_learners(json!({"holdout": 0.25}))).await;
        service.compute();
        let job = service.until_status(&path, "succeeded").await;
        tables.push((table(&job), job["result"]["training"]["hypothesis"].clone()));
    }
    assert_eq!(tables[0], tables[1]);
    assert!(tables[0].0.iter().all(|learner| learner["examples"] == 15));
}

#[tokio::test]
async fn comparison_bounds_of_all_learners_hold_at_once() {
    let service = Service::start().await;
    let mut request = of_learners(json!({"holdout": 0.25}));
    request["compare"]["data"]["labelled"]["assume"] = json!("independent");
    let job = service.run(&request).await;
    let learners = job["result"]["learners"].as_array().unwrap();
    for learner in learners {
        let [certificate] = &learner["certificates"].as_array().unwrap()[..] else {
            panic!("{learner}")
        };
        assert_eq!(certificate["kind"], "test-set");
        // Three learners share the allowed error of 0.05.
        let confidence = certificate["confidence"].as_f64().unwrap();
        assert!(
            (confidence - (1.0 - 0.05 / 3.0)).abs() < 1e-12,
            "{confidence}"
        );
    }
    let first = &learners[1]["certificates"][0];
    assert_eq!(
        (&first["errors"], &first["examples"]),
        (&json!(0), &json!(15))
    );
    let at_most = 1.0 - (0.05_f64 / 3.0).powf(1.0 / 15.0);
    assert!((first["at_most"].as_f64().unwrap() - at_most).abs() < 1e-9);
    // The model has seen the held-out examples.
    let kinds = job["result"]["training"]["certificates"]
        .as_array()
        .unwrap();
    assert!(
        kinds
            .iter()
            .all(|certificate| certificate["kind"] != "test-set")
    );
    // The trainings of a grid share the allowed error as well.
    let train = json!({"data": request["compare"]["data"], "learner": {"name": "perceptron"}, "holdout": 0.25});
    let grid = service
        .run(&json!({"grid": {"train": train, "over": {"seed": [1, 2]}}}))
        .await;
    let training = &grid["result"]["trainings"][1];
    assert_eq!(training["certificates"][0]["kind"], "test-set");
    assert_eq!(training["certificates"][0]["confidence"], 0.975);
    let certificate = &training["certificates"][0];
    assert_eq!(
        training["interval"],
        json!({"low": certificate["low"], "high": certificate["high"]})
    );
}

/// Interval of a candidate with these errors, by the route for one hypothesis at the confidence of its share.
async fn interval_alone(service: &Service, counted: &Value, candidates: f64) -> Value {
    let path = format!(
        "/v1/theory/test-set?errors={}&examples={}&confidence={}",
        counted["errors"],
        counted["examples"],
        1.0 - 0.05 / candidates
    );
    let limits = service.get(&path).await.expect(200).json();
    json!({"low": limits["low"], "high": limits["high"]})
}

#[tokio::test]
async fn intervals_of_comparisons_and_grids_hold_for_all_candidates_at_once() {
    let service = Service::start().await;
    for assume in [Value::Null, json!("independent")] {
        let mut request = of_learners(json!({"holdout": 0.25}));
        request["compare"]["data"]["labelled"]["assume"] = assume.clone();
        let compare = service.run(&request).await["result"].take();
        let train = json!({"data": request["compare"]["data"], "learner": {"name": "perceptron"}, "holdout": 0.25});
        let over = json!({"seed": [1, 2, 3, 4, 5]});
        let grid = json!({"grid": {"train": train, "over": over}});
        let grid = service.run(&grid).await["result"].take();
        for learner in compare["learners"].as_array().unwrap() {
            let interval = interval_alone(&service, learner, 3.0).await;
            assert_eq!(learner["interval"], interval);
        }
        for training in grid["trainings"].as_array().unwrap() {
            let interval = interval_alone(&service, &training["holdout"], 5.0).await;
            assert_eq!(training["interval"], interval);
        }
        for (intervals, words) in [
            (&compare["intervals"], "all 3 learners"),
            (&grid["intervals"], "all 5 trainings"),
        ] {
            let statement = intervals["statement"].as_str().unwrap();
            assert!(statement.contains(words), "{statement}");
            assert_eq!(intervals["certified"], !assume.is_null());
            assert_eq!(statement.contains("not declared"), assume.is_null());
            assert_eq!(intervals["confidence"], 0.95);
        }
    }
    // A grid without held-out examples judges by training errors, which bound no error.
    let train = json!({"data": data(20), "learner": {"name": "perceptron"}});
    let grid = service
        .run(&json!({"grid": {"train": train, "over": {"seed": [1, 2]}}}))
        .await;
    assert_eq!(grid["result"]["intervals"], Value::Null);
    assert_eq!(grid["result"]["trainings"][0]["interval"], Value::Null);
}

#[tokio::test]
async fn intervals_have_the_confidence_that_the_request_states() {
    let service = Service::start().await;
    let train = json!({"data": data(20), "learner": {"name": "directed-drift"}, "holdout": 0.25,
        "stop": {"confidence": 0.9}});
    let confidence = async |over: Value| {
        let grid = json!({"grid": {"train": train, "over": over}});
        service.run(&grid).await["result"]["intervals"]["confidence"].take()
    };
    assert_eq!(confidence(json!({"seed": [1, 2]})).await, 0.9);
    assert_eq!(
        confidence(json!({"stop.confidence": [0.5, 0.6]})).await,
        0.95
    );
}

#[tokio::test]
async fn comparison_covers_all_fitting_learners_and_gives_other_reasons() {
    let service = Service::start().await;
    let request =
        json!({"compare": {"data": data(40), "seed": 1, "folds": 2, "stop": {"max_seconds": 20}}});
    let job = service.run(&request).await;
    assert_eq!(job["status"], "succeeded", "{job}");
    let learners = job["result"]["learners"].as_array().unwrap();
    let all = service.get("/v1/learners").await.expect(200).json();
    assert_eq!(learners.len(), all["items"].as_array().unwrap().len());
    let (fit, unfit): (Vec<_>, Vec<_>) = learners
        .iter()
        .partition(|learner| learner["unfit"].is_null());
    assert!(fit.iter().all(|learner| learner["examples"] == 40));
    assert!(
        unfit
            .iter()
            .all(|learner| learner["error_rate"].is_null() && learner["jobs"] == json!([]))
    );
    // Real features fit only a few.
    let real = json!({"labelled": {"examples": [
        {"x": [0.5, 1.5], "y": 1}, {"x": [2.0, -1.0], "y": -1},
        {"x": [0.1, 0.2], "y": 1}, {"x": [-3.0, 1.0], "y": -1}]}});
    let job = service
        .run(&json!({"compare": {"data": real, "folds": 2}}))
        .await;
    let learners = job["result"]["learners"].as_array().unwrap();
    let winnow = learners
        .iter()
        .find(|learner| learner["name"] == "winnow")
        .unwrap();
    assert!(
        winnow["unfit"]
            .as_str()
            .is_some_and(|reason| reason.contains("Boolean")),
        "{winnow}"
    );
    let perceptron = learners
        .iter()
        .find(|learner| learner["name"] == "perceptron")
        .unwrap();
    assert_eq!(
        (&perceptron["unfit"], &perceptron["examples"]),
        (&Value::Null, &json!(4))
    );
}

#[tokio::test]
async fn comparison_figure_is_served_as_svg_csv_and_json() {
    let service = Service::start().await;
    let job = service.run(&of_learners(json!({"folds": 3}))).await;
    let path = format!("/v1/jobs/{}/figure", job["id"].as_str().unwrap());
    let picture = service.get(&format!("{path}?format=svg")).await.expect(200);
    let picture = picture.text();
    for text in [
        "perceptron",
        "winnow",
        "no confidence interval",
        "trained on all examples",
    ] {
        assert!(picture.contains(text), "{text}: {picture}");
    }
    let table = service.get(&format!("{path}?format=csv")).await.expect(200);
    let table = table.text();
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 4);
    assert!(
        lines[3].starts_with("perceptron,\"{\"\"bias\"\":false}\","),
        "{table}"
    );
    let document = service
        .get(&format!("{path}?format=json"))
        .await
        .expect(200)
        .json();
    assert_eq!(document["learners"], job["result"]["learners"]);
    assert_eq!(document["intervals"], job["result"]["intervals"]);
    // The folds share examples, so their range claims no confidence.
    assert_eq!(document["intervals"]["confidence"], Value::Null);
    assert!(document["learners"][0]["interval"]["low"].is_number());
    assert_eq!(document["task"], "compare");
}

#[tokio::test]
async fn a_comparison_that_cannot_run_is_refused_at_its_place() {
    let service = Service::idle(&[]).await;
    let one_class = json!({"labelled": {"examples": [{"x": "01", "y": 1}, {"x": "10", "y": 1}]}});
    let real = json!({"labelled": {"examples": [{"x": [0.5], "y": 1}, {"x": [1.5], "y": -1}]}});
    for (fields, code, pointer) in [
        (json!({"data": one_class}), "wrong-data", "/compare/data"),
        (json!({"data": data(3)}), "wrong-data", "/compare/folds"),
        (json!({"holdout": 0.001}), "wrong-data", "/compare/holdout"),
        (json!({"folds": 1}), "out-of-range", "/compare/folds"),
        (
            json!({"folds": 2, "holdout": 0.5}),
            "schema",
            "/compare/holdout",
        ),
        (json!({"learners": []}), "out-of-range", "/compare/learners"),
        (
            json!({"learners": [{"name": "winnow"}, {"name": "winow"}]}),
            "unknown-learner",
            "/compare/learners/1/name",
        ),
        (
            json!({"learners": [{"name": "perceptron", "params": {"eta": -1}}]}),
            "invalid-parameter",
            "/compare/learners/0/params/eta",
        ),
        (
            json!({"data": real, "folds": 2, "learners": [{"name": "winnow"}, {"name": "amp"}]}),
            "wrong-data",
            "/compare/learners/0",
        ),
        (
            json!({"stop": {"max_seconds": 1e9}}),
            "out-of-range",
            "/compare/stop/max_seconds",
        ),
        (
            json!({"data": {"generated": {"n": 5, "target": {"binary_weights": {}}, "sampling": "uniform"}}}),
            "wrong-data",
            "/compare/data",
        ),
    ] {
        let refused = service
            .post_json("/v1/jobs", &of_learners(fields.clone()))
            .await;
        assert!(refused.status.is_client_error(), "{fields}");
        let problem = refused.json();
        assert_eq!(problem["code"], code, "{fields}: {problem}");
        assert_eq!(
            problem["errors"][0]["pointer"], pointer,
            "{fields}: {problem}"
        );
    }
}

#[tokio::test]
async fn a_cancelled_comparison_keeps_its_table_so_far() {
    let service = Service::idle(&[]).await;
    let path = service.submit(&of_learners(json!({"folds": 2}))).await;
    let cancelled = service.post(&format!("{path}/cancel")).await;
    assert!(cancelled.status.is_success());
    service.compute();
    let job = service.until_status(&path, "cancelled").await;
    assert_eq!(job["result"]["model"], Value::Null);
}

#[tokio::test]
async fn a_comparison_of_more_seconds_than_parts_seconds_max_is_refused() {
    let service = Service::idle(&["--parts-seconds-max", "1000"]).await;
    let learners = json!([{"name": "amp"}, {"name": "perceptron"}]);
    // Two folds, and the best learner on all of the data.
    let long = of_learners(json!({"learners": learners, "folds": 2, "stop": {"max_seconds": 334}}));
    let refused = service.post_json("/v1/jobs", &long).await;
    let problem = refused.json();
    assert_eq!(refused.problem(422), "intractable", "{problem}");
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("1002 seconds"), "{detail}");
    assert!(detail.contains("parts_seconds_max: 1000"), "{detail}");
    assert_eq!(problem["errors"][0]["pointer"], "/compare", "{problem}");
    let short =
        of_learners(json!({"learners": learners, "folds": 2, "stop": {"max_seconds": 333}}));
    service.post_json("/v1/jobs", &short).await.expect(202);
}

/// All learners of the catalogue with the default limits, on a usual table.
#[tokio::test]
async fn a_comparison_without_fields_is_within_parts_seconds_max() {
    let service = Service::idle(&[]).await;
    let compare = json!({"compare": {"data": data(1_000), "seed": 1}});
    service.post_json("/v1/jobs", &compare).await.expect(202);
}
