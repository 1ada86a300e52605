//! Class names: labels mean what the model, session or encoding that reads them says, not what the body says.

use serde_json::{Value, json};

use crate::service::{Answer, Service};

const CSV: &str = "text/csv";
const LIBSVM: &str = "text/x-libsvm";
const NDJSON: &str = "application/x-ndjson";
const JSON: &str = "application/json";

/// Two examples of the classes 1 and 2.
const ONE_TWO: &str = "1 1:1\n2 2:1\n";

async fn trained_with(service: &Service, query: &str, media_type: &str, body: &str) -> String {
    let path = format!("/v1/learners/perceptron/train?seed=1{query}");
    let answer = service.post_as(&path, media_type, body.to_owned()).await;
    let model = answer.expect(200).json()["result"]["model"].clone();
    model.as_str().expect("a model").to_owned()
}

async fn trained(service: &Service, media_type: &str, body: &str) -> String {
    trained_with(service, "", media_type, body).await
}

async fn evaluate(service: &Service, model: &str, media_type: &str, body: &str) -> Answer {
    let path = format!("/v1/models/{model}/evaluate");
    service.post_as(&path, media_type, body.to_owned()).await
}

/// The accuracy of a model on a body.
async fn accuracy(service: &Service, model: &str, media_type: &str, body: &str) -> Value {
    let answer = evaluate(service, model, media_type, body).await;
    answer.expect(200).json()["accuracy"].clone()
}

async fn stored(service: &Service, query: &str, media_type: &str, body: &str) -> String {
    let path = format!("/v1/datasets?{query}");
    let answer = service.post_as(&path, media_type, body.to_owned()).await;
    answer.expect(201).id()
}

async fn file(service: &Service, model: &str) -> Value {
    let path = format!("/v1/models/{model}");
    service.get(&path).await.expect(200).json()
}

#[tokio::test]
async fn evaluate_reads_a_subset_of_the_classes_in_every_format() {
    let service = Service::start().await;
    let model = trained(&service, LIBSVM, ONE_TWO).await;
    for (media_type, body) in [
        (LIBSVM, "1 1:1\n"),
        (LIBSVM, "2 2:1\n"),
        (LIBSVM, "2.0 2:1\n1e0 1:1\n"),
        (CSV, "class,a,b\n1,1,0\n"),
        (CSV, "class,a,b\n2.0,0,1\n"),
        (CSV, "class,a,b\n\"2\",0,1\n1,1,0\n"),
        ("text/tab-separated-values", "class\ta\tb\n2\t0\t1\n"),
        (
            "text/x-arff",
            "@relation r\n@attribute a numeric\n@attribute b numeric\n@attribute class {2,1}\n@data\n0,1,2\n1,0,1\n",
        ),
        (
            "text/x-arff",
            "@relation r\n@attribute a numeric\n@attribute b numeric\n@attribute class numeric\n@data\n1,0,1\n",
        ),
        (NDJSON, "{\"x\":[0,1],\"y\":2}\n"),
        (
            NDJSON,
            "{\"x\":\"10\",\"y\":\"1\"}\n{\"x\":\"01\",\"y\":2.0}\n",
        ),
        (NDJSON, "{\"class\":\"2\",\"a\":0,\"b\":1}\n"),
        (JSON, r#"{"labelled": {"examples": [{"x": "01", "y": 2}]}}"#),
        (JSON, r#"{"labelled": {"examples": [{"x": "10", "y": 1}]}}"#),
        (JSON, r#"{"rows": [{"class": 2.0, "a": 0, "b": 1}]}"#),
        (JSON, r#"{"rows": [{"class": "1", "a": 1, "b": 0}]}"#),
    ] {
        assert_eq!(
            accuracy(&service, &model, media_type, body).await,
            1.0,
            "{body}"
        );
    }
    for (media_type, body) in [
        (LIBSVM, "1 1:1\n3 2:1\n"),
        (LIBSVM, "-1 1:1\n"),
        (CSV, "class,a,b\n1,1,0\n3,0,1\n"),
        (NDJSON, "{\"x\":\"10\",\"y\":0}\n"),
        (JSON, r#"{"labelled": {"examples": [{"x": "01", "y": 3}]}}"#),
        (JSON, r#"{"rows": [{"class": "two", "a": 0, "b": 1}]}"#),
    ] {
        let answer = evaluate(&service, &model, media_type, body).await;
        assert_eq!(answer.problem(400), "bad-label", "{body}");
        let problem = answer.json().to_string();
        assert!(
            problem.contains("`1`") && problem.contains("`2`"),
            "{problem}"
        );
        assert!(
            !answer.json()["errors"].as_array().unwrap().is_empty(),
            "{problem}"
        );
    }
}

#[tokio::test]
async fn models_without_class_names_read_labels_as_signs() {
    let service = Service::start().await;
    let model = trained(&service, LIBSVM, "1 1:1\n-1 2:1\n").await;
    for body in ["1 1:1\n", "-1 2:1\n", "0 2:1\n", "1 1:1\n0 2:1\n"] {
        assert_eq!(
            accuracy(&service, &model, LIBSVM, body).await,
            1.0,
            "{body}"
        );
    }
    let answer = evaluate(&service, &model, LIBSVM, "0 2:1\n-1 2:1\n").await;
    assert_eq!(answer.problem(400), "bad-label");
    let answer = evaluate(&service, &model, LIBSVM, "1 1:1\n2 2:1\n").await;
    assert_eq!(answer.problem(400), "bad-label");
    // The request may say which value means +1.
    let path = format!("/v1/models/{model}/evaluate?positive=2");
    let answer = service.post_as(&path, LIBSVM, "2 1:1\n1 2:1\n").await;
    assert_eq!(answer.expect(200).json()["accuracy"], 1.0);
}

#[tokio::test]
async fn predict_ignores_labels_of_any_kind() {
    let service = Service::start().await;
    let model = trained(&service, LIBSVM, ONE_TWO).await;
    for (query, media_type, body) in [
        ("", LIBSVM, "2 2:1\n"),
        ("", LIBSVM, "7 2:1\n"),
        ("", NDJSON, "{\"x\":\"01\",\"y\":7}\n"),
        (
            "",
            JSON,
            r#"{"labelled": {"examples": [{"x": "01", "y": "what"}]}}"#,
        ),
        ("?labels=class", CSV, "class,a,b\nwhat,0,1\n"),
        ("?labels=class", CSV, "class,a,b\n,0,1\n"),
    ] {
        let path = format!("/v1/models/{model}/predict{query}");
        let answer = service.post_as(&path, media_type, body).await.expect(200);
        assert!(answer.text().contains("\"2\""), "{body}: {}", answer.text());
    }
}

#[tokio::test]
async fn evaluate_reads_datasets_by_their_own_label_values() {
    let service = Service::start().await;
    let model = trained(&service, CSV, "class,a\n1,-3\n2,5\n").await;
    let positive = stored(&service, "", CSV, "class,a\n1,-3\n").await;
    let upside_down = stored(&service, "positive=1", CSV, "class,a\n2,5\n1,-3\n1,-4\n").await;
    let query = format!("encoding={model}");
    let by_encoding = stored(&service, &query, CSV, "class,a\n2,5\n").await;
    for dataset in [&positive, &upside_down, &by_encoding] {
        let data = json!({"dataset": dataset});
        let path = format!("/v1/models/{model}/evaluate");
        let answer = service.post_json(&path, &data).await.expect(200).json();
        assert_eq!(answer["accuracy"], 1.0);
        let body = json!({"evaluate": {"model": model, "data": data}});
        let job = service.run(&body).await;
        assert_eq!(job["result"]["accuracy"], 1.0, "{job}");
        assert_eq!(job["result"]["confusion"], answer["confusion"], "{job}");
    }
    let strange = stored(&service, "", CSV, "class,a\n2,5\n3,-3\n").await;
    let data = json!({"dataset": strange});
    let path = format!("/v1/models/{model}/evaluate");
    let answer = service.post_json(&path, &data).await;
    assert_eq!(answer.problem(422), "wrong-data");
    assert!(answer.json()["detail"].to_string().contains("`3`"));
    let body = json!({"evaluate": {"model": model, "data": data}});
    assert_eq!(
        service.post_json("/v1/jobs", &body).await.problem(422),
        "wrong-data"
    );
    // One class alone tells not which of the labels it has.
    let answer = service.post_as("/v1/datasets", CSV, "class,a\n2,5\n").await;
    assert_eq!(answer.problem(422), "table-option");
    assert!(answer.json()["detail"].to_string().contains("positive=2"));
}

#[tokio::test]
async fn jobs_read_rows_and_examples_by_the_names_of_their_model() {
    let service = Service::start().await;
    let model = trained(&service, LIBSVM, ONE_TWO).await;
    for data in [
        json!({"rows": [{"class": 2, "a": 0, "b": 1}]}),
        json!({"rows": [{"class": 1, "a": 1, "b": 0}]}),
        json!({"labelled": {"examples": [{"x": "10", "y": 1}]}}),
        json!({"labelled": {"examples": [{"x": "01", "y": 2}]}}),
        json!({"labelled": {"examples": [{"x": "01", "y": "2.0"}, {"x": "10", "y": 1}]}}),
    ] {
        let body = json!({"evaluate": {"model": model, "data": data}});
        let job = service.run(&body).await;
        assert_eq!(job["result"]["accuracy"], 1.0, "{job}");
        let body = json!({"train": {"learner": {"name": "perceptron"}, "warm_start": model,
            "data": data}});
        let job = service.run(&body).await;
        let warm = job["result"]["model"]
            .as_str()
            .unwrap_or_else(|| panic!("{job}"));
        assert_eq!(file(&service, warm).await["classes"], json!(["1", "2"]));
        assert_eq!(accuracy(&service, warm, LIBSVM, ONE_TWO).await, 1.0);
    }
}

#[tokio::test]
async fn labelled_examples_of_a_new_training_may_have_names() {
    let service = Service::start().await;
    let data = json!({"labelled": {"examples": [{"x": "01", "y": "no"}, {"x": "10", "y": 2}]}});
    let body = json!({"train": {"learner": {"name": "perceptron"}, "data": data}});
    let job = service.run(&body).await;
    let model = job["result"]["model"].as_str().unwrap();
    assert_eq!(file(&service, model).await["classes"], json!(["no", "2"]));
    // Labels without a name, or one class alone.
    let one = json!({"labelled": {"examples": [{"x": "01", "y": "maybe"}]}});
    let answer = service
        .post_json("/v1/datasets", &json!({"data": one}))
        .await;
    assert_eq!(answer.problem(422), "table-option");
}

#[tokio::test]
async fn warm_starts_keep_the_names_of_their_model() {
    let service = Service::start().await;
    let model = trained(&service, LIBSVM, "1 1:1\n1 1:0.5\n2 2:1\n2 2:0.5\n").await;
    let query = format!("&warm_start={model}");
    let one = "1 1:1\n1 1:0.5\n";
    for body in [one, "2 2:1\n2 2:0.5\n", "2.0 2:0.5\n1 1:1\n"] {
        let warm = trained_with(&service, &query, LIBSVM, body).await;
        assert_eq!(file(&service, &warm).await["classes"], json!(["1", "2"]));
        assert_eq!(accuracy(&service, &warm, LIBSVM, one).await, 1.0, "{body}");
    }
    let path = format!("/v1/learners/perceptron/train?warm_start={model}");
    let answer = service.post_as(&path, LIBSVM, "3 1:0.5\n1 1:1\n").await;
    assert_eq!(answer.problem(400), "bad-label");
    // By the id of a dataset of the class 1 alone, which a reader without the model takes for +1.
    let dataset = stored(&service, "n=2", LIBSVM, one).await;
    let body = json!({"train": {"learner": {"name": "perceptron"}, "warm_start": model,
        "data": {"dataset": dataset}}});
    let job = service.run(&body).await;
    assert_eq!(job["result"]["mistakes"], 0, "{job}");
    let warm = job["result"]["model"].as_str().unwrap();
    assert_eq!(file(&service, warm).await["classes"], json!(["1", "2"]));
    assert_eq!(accuracy(&service, warm, LIBSVM, one).await, 1.0);
}

#[tokio::test]
async fn one_class_against_the_rest_reads_every_other_value() {
    let service = Service::start().await;
    let iris = "class,a\nsetosa,x\nvirginica,y\nother,z\n";
    let model = trained_with(&service, "&positive=setosa", CSV, iris).await;
    let own = file(&service, &model).await;
    assert_eq!(own["classes"], json!(["not setosa", "setosa"]));
    assert_eq!(own["one_against_rest"], true);
    for body in [
        "class,a\nsetosa,x\nvirginica,y\n",
        "class,a\nvirginica,y\nother,z\n",
        "class,a\nsetosa,x\n",
        "class,a\nversicolor,y\n",
    ] {
        assert_eq!(accuracy(&service, &model, CSV, body).await, 1.0, "{body}");
    }
    let three = trained_with(&service, "&positive=3", LIBSVM, "1 1:1\n2 2:1\n3 3:1\n").await;
    for body in ["1 1:1\n3 3:1\n", "3 3:1\n", "1 1:1\n", "4 1:1\n"] {
        assert_eq!(
            accuracy(&service, &three, LIBSVM, body).await,
            1.0,
            "{body}"
        );
    }
    // The file of a model keeps its rest.
    let mut moved = file(&service, &three).await;
    moved["name"] = json!("moved");
    let imported = service
        .post_json("/v1/models", &moved)
        .await
        .expect(201)
        .id();
    assert_eq!(accuracy(&service, &imported, LIBSVM, "4 1:1\n").await, 1.0);
    moved["one_against_rest"] = json!(false);
    let answer = service.post_json("/v1/models", &moved).await;
    assert_eq!(answer.problem(422), "model-altered");
    let path = format!("/v1/models/{three}/evaluate?positive=1");
    let answer = service.post_as(&path, LIBSVM, "1 1:1\n3 3:1\n").await;
    assert_eq!(answer.problem(422), "table-option");
    assert!(answer.json()["detail"].to_string().contains("`positive`"));
    // A dataset of two other values has the label -1 alone.
    let query = format!("encoding={model}");
    let dataset = stored(&service, &query, CSV, "class,a\nvirginica,y\nother,z\n").await;
    let path = format!("/v1/models/{model}/evaluate");
    let answer = service.post_json(&path, &json!({"dataset": dataset})).await;
    assert_eq!(answer.expect(200).json()["accuracy"], 1.0);
}

async fn opened(service: &Service, body: &Value) -> String {
    let answer = service.post_json("/v1/sessions", body).await.expect(201);
    format!("/v1/sessions/{}", answer.id())
}

/// The mistakes of a session on a body.
async fn learnt(service: &Service, session: &str, media_type: &str, body: &str) -> Vec<bool> {
    let path = format!("{session}/examples");
    let answer = service.post_as(&path, media_type, body.to_owned()).await;
    let answer = answer.expect(200);
    let answers: Vec<Value> = match media_type {
        JSON => answer.json()["answers"].as_array().unwrap().clone(),
        _ => answer
            .text()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect(),
    };
    let mistake = |answer: &Value| answer["mistake"].as_bool();
    let mistakes = answers
        .iter()
        .map(|answer| mistake(answer).unwrap_or_else(|| panic!("{answer}")));
    mistakes.collect()
}

#[tokio::test]
async fn the_first_body_of_a_session_names_its_classes() {
    let service = Service::start().await;
    let asked = json!({"learner": {"name": "perceptron"}, "n": 2});
    let session = opened(&service, &asked).await;
    learnt(&service, &session, LIBSVM, "1 1:1\n2 2:1\n1 1:1\n2 2:1\n").await;
    for (media_type, body) in [
        (LIBSVM, "1 1:1\n"),
        (LIBSVM, "2 2:1\n"),
        (CSV, "class,a,b\n2,0,1\n"),
        (NDJSON, "{\"x\":\"10\",\"y\":1}\n"),
        (NDJSON, "{\"x\":\"01\",\"y\":\"2\"}\n"),
        (JSON, r#"{"labelled": {"examples": [{"x": "01", "y": 2}]}}"#),
        (JSON, r#"{"rows": [{"class": 1, "a": 1, "b": 0}]}"#),
    ] {
        service.forget_sessions();
        let mistakes = learnt(&service, &session, media_type, body).await;
        assert_eq!(mistakes, [false], "{body}");
    }
    let path = format!("{session}/examples");
    let answer = service.post_as(&path, LIBSVM, "3 1:1\n").await;
    assert_eq!(answer.problem(422), "wrong-data");
    let path = format!("{session}/model");
    let saved = service.post(&path).await.expect(201).id();
    assert_eq!(file(&service, &saved).await["classes"], json!(["1", "2"]));
    assert_eq!(accuracy(&service, &saved, LIBSVM, "1 1:1\n").await, 1.0);
    let path = format!("{session}/predict");
    let answer = service.post_as(&path, LIBSVM, "2 2:1\n").await.expect(200);
    assert_eq!(answer.json()["predicted_classes"], json!(["2"]));
    // A session of 1 and -1 does not take other labels later.
    let plain = opened(&service, &asked).await;
    learnt(&service, &plain, LIBSVM, "1 1:1\n").await;
    let path = format!("{plain}/examples");
    let answer = service.post_as(&path, LIBSVM, "1 1:1\n2 2:1\n").await;
    assert_eq!(answer.problem(422), "wrong-data");
}

#[tokio::test]
async fn a_session_reads_rows_by_the_labels_of_its_encoding() {
    let service = Service::start().await;
    let iris = "class,a\nsetosa,x\nvirginica,y\nother,z\n";
    let model = trained_with(&service, "&positive=setosa", CSV, iris).await;
    let asked = json!({"learner": {"name": "perceptron"}, "encoding": model});
    let session = opened(&service, &asked).await;
    for (media_type, body) in [
        (CSV, "class,a\nvirginica,y\nother,z\n"),
        (CSV, "class,a\nsetosa,x\n"),
        (
            NDJSON,
            "{\"class\":\"other\",\"a\":\"z\"}\n{\"class\":\"setosa\",\"a\":\"x\"}\n",
        ),
        (JSON, r#"{"rows": [{"class": "virginica", "a": "y"}]}"#),
    ] {
        learnt(&service, &session, media_type, body).await;
    }
    let path = format!("{session}/model");
    let saved = service.post(&path).await.expect(201).id();
    assert_eq!(accuracy(&service, &saved, CSV, iris).await, 1.0);
}

#[tokio::test]
async fn labels_that_are_not_utf_8_never_name_a_class() {
    let service = Service::start().await;
    let latin = b"class,a\nM\xfcller,1\nM\xf6ller,0\n".to_vec();
    let path = "/v1/learners/perceptron/train";
    let answer = service.post_as(path, CSV, latin).await;
    assert!(answer.status.is_client_error(), "{}", answer.text());
    assert!(!answer.text().contains('\u{fffd}') || answer.status.is_client_error());
}
