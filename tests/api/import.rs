//! `POST /v1/models` imports exported files and refuses all others.

use halfspace::records::hypothesis::HypothesisDocument;
use halfspace::records::model_file::digest;
use halfspace::records::train::ModelDocument;
use halfspace_core::learners::hypothesis::Hypothesis;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::service::{Service, endless, short_job, train};

/// Jobs that make models of every kind, and examples for each model.
fn jobs() -> Vec<(Value, Value)> {
    let labelled = short_job()["train"]["data"].clone();
    let real = json!({"labelled": {"examples": [{"x": [0.5, -1.25, 1], "y": 1},
        {"x": [-0.5, 2, 0.1], "y": -1}, {"x": [3, 0.25, -7], "y": 1}]}});
    let bits = json!({"unlabelled": {"examples": ["110", "001", "101", "010"]}});
    let reals = json!({"unlabelled": {"examples": [[0.5, -1, 2], [-1, 0.1, 0.25]]}});
    let mut cases = vec![
        (
            train(json!({"name": "directed-drift-sync"}), endless(3)),
            bits.clone(),
        ),
        (
            train(json!({"name": "perceptron"}), real.clone()),
            reals.clone(),
        ),
        (json!({"maximum_margin": {"data": labelled}}), bits.clone()),
        (json!({"maximum_margin": {"data": real}}), reals),
    ];
    for learner in [
        "perceptron",
        "pocket",
        "winnow",
        "kernel-perceptron",
        "kernel-winnow",
        "bounded-perceptron",
    ] {
        let job = train(json!({"name": learner}), labelled.clone());
        cases.push((job, bits.clone()));
    }
    cases
}

async fn exported(service: &Service, job: &Value) -> Value {
    let job = service.run(job).await;
    let id = job["result"]["model"]
        .as_str()
        .unwrap_or_else(|| panic!("{job}"));
    service
        .get(&format!("/v1/models/{id}"))
        .await
        .expect(200)
        .json()
}

async fn predicted(service: &Service, model: &Value, data: &Value) -> String {
    let path = format!("/v1/models/{}/predict", model["id"].as_str().unwrap());
    service
        .post_json(&path, data)
        .await
        .expect(200)
        .text()
        .to_owned()
}

#[tokio::test]
async fn imported_model_predicts_the_same_bytes_as_its_export() {
    let (one, other) = (Service::start().await, Service::start().await);
    for (job, data) in jobs() {
        let file = exported(&one, &job).await;
        assert_eq!(file["format"], "halfspace-model/1");
        let answer = other.post_json("/v1/models", &file).await.expect(201);
        let model = answer.json();
        let id = model["id"].as_str().unwrap();
        assert_ne!(model["id"], file["id"]);
        assert_eq!(
            answer.header("location"),
            Some(&*format!("/v1/models/{id}"))
        );
        assert_eq!(model["job"], Value::Null);
        for (name, value) in file.as_object().unwrap() {
            if !["id", "job", "created_at"].contains(&name.as_str()) {
                assert_eq!(&model[name], value, "{name}");
            }
        }
        let seen = other
            .get(&format!("/v1/models/{id}"))
            .await
            .expect(200)
            .json();
        assert_eq!(seen, model);
        let before = predicted(&one, &file, &data).await;
        assert_eq!(predicted(&other, &model, &data).await, before);
    }
}

#[tokio::test]
async fn imported_model_gets_an_id_and_an_optional_name() {
    let service = Service::start().await;
    let mut file = exported(&service, &short_job()).await;
    for name in [json!("mine"), json!(null)] {
        file["name"] = name.clone();
        let model = service
            .post_json("/v1/models", &file)
            .await
            .expect(201)
            .json();
        assert_eq!(model["name"], name);
    }
    for member in ["id", "job", "created_at", "name"] {
        file.as_object_mut().unwrap().remove(member);
    }
    service.post_json("/v1/models", &file).await.expect(201);
    let list = service.get("/v1/models").await.expect(200).json();
    assert_eq!(list["items"].as_array().unwrap().len(), 4);
}

/// Each member that the digest covers is altered to another valid value.
#[tokio::test]
async fn import_refuses_an_altered_file() {
    let service = Service::start().await;
    let file = exported(&service, &short_job()).await;
    let weight = file["hypothesis"]["weights"][0].as_i64().unwrap();
    for (pointer, value) in [
        ("/learner", json!("pocket")),
        ("/params/order", json!("shuffled")),
        ("/seed", json!(file["seed"].as_u64().unwrap() ^ 1)),
        ("/data_sha256", json!("0".repeat(64))),
        ("/data_sha256", json!(null)),
        ("/examples", json!(1)),
        ("/mistakes", json!(1000)),
        ("/updates", json!(1000)),
        ("/passes", json!(1000)),
        ("/hypothesis/weights/0", json!(weight + 1)),
        ("/hypothesis/bias", json!(77)),
        ("/hypothesis/reading", json!("unsigned")),
        ("/sha256", json!("0".repeat(64))),
    ] {
        let mut altered = file.clone();
        *altered.pointer_mut(pointer).unwrap() = value;
        if pointer == "/learner" {
            altered["params"] = json!({});
        }
        let answer = service.post_json("/v1/models", &altered).await;
        assert_eq!(answer.problem(422), "model-altered", "{pointer}");
    }
}

#[tokio::test]
async fn import_points_at_a_malformed_field_of_the_file() {
    let service = Service::start().await;
    let file = exported(&service, &short_job()).await;
    let wide = json!({"kind": "winnow", "n": u64::MAX, "alpha": 2, "theta": "1", "exponents": [],
        "negated_literals": true});
    let drift = json!({"kind": "binary-weights", "n": 3, "weights": "101"});
    for (pointer, value, status, code, place) in [
        (
            "/format",
            json!("halfspace-model/2"),
            422,
            "unknown-model-format",
            "/format",
        ),
        ("/format", json!(""), 422, "unknown-model-format", "/format"),
        ("/format", json!(null), 400, "schema", "/format"),
        ("/format", json!(1), 400, "schema", "/format"),
        (
            "/learner",
            json!("perceptrom"),
            422,
            "unknown-learner",
            "/learner",
        ),
        (
            "/learner",
            json!("separability"),
            422,
            "unknown-learner",
            "/learner",
        ),
        (
            "/params/order",
            json!("any"),
            422,
            "wrong-model",
            "/params/order",
        ),
        ("/params/more", json!(1), 422, "wrong-model", "/params/more"),
        ("/seed", json!(1_u64 << 53), 400, "schema", "/seed"),
        ("/kind", json!("kernel"), 422, "wrong-model", "/kind"),
        ("/n", json!(4), 422, "wrong-model", "/n"),
        (
            "/data_sha256",
            json!("ABC"),
            400,
            "out-of-range",
            "/data_sha256",
        ),
        ("/sha256", json!("ABC"), 400, "out-of-range", "/sha256"),
        ("/examples", json!(-1), 400, "schema", "/examples"),
        ("/more", json!(1), 400, "schema", "/more"),
        ("/hypothesis/more", json!(1), 400, "schema", "/hypothesis"),
        ("/hypothesis/n", json!(4), 422, "wrong-model", "/n"),
        (
            "/hypothesis/weights/0",
            json!("1"),
            400,
            "schema",
            "/hypothesis",
        ),
        (
            "/hypothesis/weights/0",
            json!(i64::MIN),
            422,
            "model-altered",
            "/sha256",
        ),
        ("/hypothesis", wide, 413, "too-large", "/hypothesis/n"),
        (
            "/hypothesis",
            json!({"kind": "none"}),
            400,
            "schema",
            "/hypothesis/kind",
        ),
        ("/hypothesis", json!(7), 400, "schema", "/hypothesis"),
        (
            "/name",
            json!("x".repeat(257)),
            400,
            "out-of-range",
            "/name",
        ),
    ] {
        let mut wrong = file.clone();
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        match wrong.pointer_mut(parent).unwrap() {
            Value::Array(items) => items[name.parse::<usize>().unwrap()] = value,
            parent => parent[name] = value,
        }
        let answer = service.post_json("/v1/models", &wrong).await;
        assert_eq!(answer.problem(status), code, "{pointer} {wrong}");
        assert_eq!(answer.json()["errors"][0]["pointer"], place, "{wrong}");
    }
    let mut of_another = file.clone();
    of_another["hypothesis"] = drift;
    of_another["kind"] = json!("binary-weights");
    let answer = service.post_json("/v1/models", &of_another).await;
    assert_eq!(answer.problem(422), "wrong-model");
    assert!(answer.text().contains("its kind is linear"));
    let csv = service.post_as("/v1/models", "text/csv", "1,2").await;
    assert_eq!(csv.problem(415), "unsupported-media-type");
    let later = r#"{"format": "halfspace-model/9", "shape": "unheard of"}"#;
    let answer = service
        .post_as("/v1/models", "application/json", later)
        .await;
    assert_eq!(answer.problem(422), "unknown-model-format");
}

/// Collects the pointers of all values of a document, with at most two items per array.
fn pointers(value: &Value, at: &str, into: &mut Vec<String>) {
    into.push(at.to_owned());
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate().take(2) {
                pointers(item, &format!("{at}/{index}"), into);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                pointers(member, &format!("{at}/{name}"), into);
            }
        }
        _ => {}
    }
}

/// The digest that an attacker would put into an altered file, or `None` if the file is no model document.
fn forged(file: &Value) -> Option<String> {
    let sent = ModelDocument::deserialize(file).ok()?;
    if sent.hypothesis.n() > 1 << 20 {
        return None;
    }
    let hypothesis = Hypothesis::try_from(&sent.hypothesis).ok()?;
    let hypothesis = HypothesisDocument::from(&hypothesis);
    let document = ModelDocument { hypothesis, ..sent };
    let bytes = digest(file["learner"].as_str()?, &document);
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[tokio::test]
async fn import_refuses_class_names_that_read_the_same_labels() {
    let service = Service::start().await;
    let rows = json!([{"y": 1, "a": 0}, {"y": 2, "a": 1}]);
    let job = train(json!({"name": "perceptron"}), json!({"rows": rows}));
    let file = exported(&service, &job).await;
    assert_eq!(file["classes"], json!(["1", "2"]));
    let import = async |pointer: &str, value: Value| {
        let mut changed = file.clone();
        *changed.pointer_mut(pointer).unwrap() = value;
        changed["sha256"] = json!(forged(&changed).unwrap());
        service.post_json("/v1/models", &changed).await
    };
    import("/classes", json!(["1", "3"])).await.expect(201);
    for names in [["1", "1.0"], ["2", "2"], ["a", "a "]] {
        let answer = import("/classes", json!(names)).await;
        assert_eq!(answer.problem(422), "wrong-model", "{names:?}");
        assert_eq!(answer.json()["errors"][0]["pointer"], "/classes");
    }
    let answer = import("/table/label/classes", json!(["1", "1.0"])).await;
    assert_eq!(answer.problem(422), "wrong-model");
    assert_eq!(answer.json()["errors"][0]["pointer"], "/table");
}

/// Each value of each file is replaced by many others, with a matching digest. The service refuses the file, or
/// the imported model predicts.
#[tokio::test]
async fn import_of_any_file_is_refused_or_predicts() {
    let service = Service::start().await;
    let hostile = [
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(2),
        json!(1e308),
        json!(0.5),
        json!(i64::MIN),
        json!(u64::MAX),
        json!(1_u64 << 40),
        json!(""),
        json!("1"),
        json!("111"),
        json!("x"),
        json!([]),
        json!([1, 1, 1]),
        json!({}),
    ];
    let mut taken = 0;
    for (job, data) in jobs() {
        let file = exported(&service, &job).await;
        let mut places = Vec::new();
        pointers(&file, "", &mut places);
        for place in places {
            for value in &hostile {
                let mut mutated = file.clone();
                *mutated.pointer_mut(&place).unwrap() = value.clone();
                if let Some(digest) = mutated.is_object().then(|| forged(&mutated)).flatten() {
                    mutated["sha256"] = json!(digest);
                }
                let answer = service.post_json("/v1/models", &mutated).await;
                match answer.status.as_u16() {
                    201 => {
                        let path = format!("{}/predict", answer.header("location").unwrap());
                        let predicted = service.post_json(&path, &data).await;
                        let status = predicted.status.as_u16();
                        assert!(matches!(status, 200 | 422), "{mutated}");
                        taken += 1;
                    }
                    400 | 413 | 422 => {}
                    other => panic!("{other} {mutated}: {}", answer.text()),
                }
            }
        }
    }
    assert!(taken > 100, "{taken}");
}

/// A job reads its model when it runs.
#[tokio::test]
async fn job_whose_model_was_deleted_fails_with_its_reason() {
    let file = exported(&Service::start().await, &short_job()).await;
    let service = Service::idle(&[]).await;
    let mut jobs = Vec::new();
    for _ in 0..2 {
        let model = service
            .post_json("/v1/models", &file)
            .await
            .expect(201)
            .json();
        let data = json!({"half_space": {"examples": ["111"]}});
        let task = json!({"evaluate": {"model": model["id"], "data": data}});
        jobs.push((
            model["id"].as_str().unwrap().to_owned(),
            service.submit(&task).await,
        ));
    }
    let (gone, failing) = &jobs[0];
    service
        .delete(&format!("/v1/models/{gone}"))
        .await
        .expect(204);
    service.compute();
    let failed = service.until_status(failing, "failed").await;
    assert_eq!(failed["error"]["code"], "model-missing");
    let (kept, succeeding) = &jobs[1];
    let succeeded = service.until_status(succeeding, "succeeded").await;
    assert_eq!(succeeded["result"]["model"], **kept);
}
