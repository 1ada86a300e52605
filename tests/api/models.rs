//! `/v1/models`: list, get, delete, predict.

use serde_json::{Value, json};

use crate::service::{Service, endless, short_job, train, until};

/// Trains the model of `short_job` and returns its path.
async fn linear(service: &Service) -> String {
    model_of(&service.run(&short_job()).await)
}

async fn real(service: &Service) -> String {
    let data = json!({"labelled": {"examples": [
        {"x": [0.5, -1.25], "y": 1}, {"x": [-0.5, 2], "y": -1}, {"x": [3, 0.25], "y": 1}]}});
    model_of(
        &service
            .run(&train(json!({"name": "perceptron"}), data))
            .await,
    )
}

fn model_of(job: &Value) -> String {
    format!("/v1/models/{}", job["result"]["model"].as_str().unwrap())
}

#[tokio::test]
async fn a_model_is_listed_shown_and_deleted() {
    let service = Service::start().await;
    let path = linear(&service).await;
    let list = service.get("/v1/models").await.expect(200).json();
    let item = list["items"][0].as_object().unwrap();
    let model = service.get(&path).await.expect(200).json();
    for (name, value) in item {
        assert_eq!(&model[name], value, "{name}");
    }
    assert_eq!(model["learner"], "perceptron");
    assert_eq!(model["kind"], "linear");
    assert_eq!(model["params"]["order"], "cyclic");
    assert_eq!(model["hypothesis"]["weights"].as_array().unwrap().len(), 3);
    service.delete(&path).await.expect(204);
    assert_eq!(service.get(&path).await.problem(404), "not-found");
    assert_eq!(service.delete(&path).await.problem(404), "not-found");
    let predict = service
        .post_as(&format!("{path}/predict"), "text/csv", "1,1,1")
        .await;
    assert_eq!(predict.problem(404), "not-found");
}

#[tokio::test]
async fn models_are_paged_and_filtered() {
    let service = Service::start().await;
    let linear = linear(&service).await;
    let drift = train(json!({"name": "directed-drift-sync"}), endless(15));
    let drift = model_of(&service.run(&drift).await);
    let paths = async |query: &str| -> Vec<String> {
        let page = service
            .get(&format!("/v1/models?{query}"))
            .await
            .expect(200)
            .json();
        let items = page["items"].as_array().unwrap();
        items
            .iter()
            .map(|item| format!("/v1/models/{}", item["id"].as_str().unwrap()))
            .collect()
    };
    assert_eq!(paths("").await, [drift.clone(), linear.clone()]);
    assert_eq!(paths("learner=perceptron").await, [&*linear]);
    assert_eq!(paths("kind=binary-weights").await, [&*drift]);
    assert!(
        paths("kind=linear&learner=directed-drift-sync")
            .await
            .is_empty()
    );
    let page = service.get("/v1/models?limit=1").await.expect(200).json();
    let cursor = page["next_cursor"].as_str().unwrap();
    assert_eq!(paths(&format!("limit=1&cursor={cursor}")).await, [linear]);
}

#[tokio::test]
async fn predict_gives_the_same_predictions_in_every_format() {
    let service = Service::start().await;
    let path = format!("{}/predict", linear(&service).await);
    let bodies = [
        (
            "application/json",
            r#"{"unlabelled": {"examples": ["111", "000", "001"]}}"#,
        ),
        (
            "application/json",
            r#"{"half_space": {"examples": [[1,1,1], "000", "001"]}}"#,
        ),
        (
            "application/json",
            r#"{"labelled": {"examples": [{"x":"111","y":-1},{"x":"000","y":1},{"x":"001","y":1}]}}"#,
        ),
        (
            "application/json",
            r#"{"packed": {"n": 3, "rows": "4AAg"}}"#,
        ),
        ("text/csv", "1,1,1\n0,0,0\n0,0,1\n"),
        ("text/x-libsvm", "1 1:1 2:1 3:1\n1\n-1 3:1\n"),
    ];
    let mut seen = None;
    for (media_type, body) in bodies {
        let answer = service.post_as(&path, media_type, body).await;
        let mut answer = answer.expect(200).json();
        let table = answer.as_object_mut().unwrap().remove("table");
        assert_eq!(table.is_some(), media_type == "text/csv");
        assert_eq!(answer["predictions"], json!([1, -1, -1]), "{media_type}");
        assert_eq!(
            *seen.get_or_insert_with(|| answer.clone()),
            answer,
            "{media_type}"
        );
    }
    let with_labels = service
        .post_as(&format!("{path}?labels=last"), "text/csv", "1,1,1,0\n")
        .await;
    assert_eq!(with_labels.expect(200).json()["predictions"], json!([1]));
}

#[tokio::test]
async fn predict_answers_lines_with_lines() {
    let service = Service::start().await;
    let path = format!("{}/predict", linear(&service).await);
    let body = "{\"x\":\"111\"}\n{\"x\":[0,0,0]}\n{\"x\":\"001\"}\n";
    let answer = service
        .post_as(&path, "application/x-ndjson", body)
        .await
        .expect(200);
    assert_eq!(answer.header("content-type"), Some("application/x-ndjson"));
    let lines: Vec<Value> = answer
        .text()
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    let predictions: Vec<i64> = lines
        .iter()
        .map(|l| l["prediction"].as_i64().unwrap())
        .collect();
    assert_eq!(predictions, [1, -1, -1]);
    assert!(lines.iter().all(|line| line["score"].is_i64()));
}

/// Scores of a linear hypothesis over reals, computed here.
fn scores(hypothesis: &Value, rows: &[[f64; 2]]) -> Vec<f64> {
    let number = |value: &Value| value.as_f64().unwrap();
    let weights = &hypothesis["weights"];
    let bias = number(&hypothesis["bias"]);
    let score = |row: &[f64; 2]| number(&weights[0]) * row[0] + number(&weights[1]) * row[1] + bias;
    rows.iter().map(score).collect()
}

#[tokio::test]
async fn predict_by_a_real_model_accepts_rows_of_zeros_and_ones() {
    let service = Service::start().await;
    let model = real(&service).await;
    let hypothesis = service.get(&model).await.expect(200).json()["hypothesis"].clone();
    let cases: [(&str, &str, [[f64; 2]; 2]); 5] = [
        ("text/csv", "0,1\n1,1\n", [[0.0, 1.0], [1.0, 1.0]]),
        ("text/csv", "-1,1\n1,1\n", [[-1.0, 1.0], [1.0, 1.0]]),
        ("text/csv", "0.5,1\n1,-7\n", [[0.5, 1.0], [1.0, -7.0]]),
        (
            "text/x-libsvm",
            "1 2:1\n1 1:1 2:1\n",
            [[0.0, 1.0], [1.0, 1.0]],
        ),
        (
            "application/x-ndjson",
            "\"01\"\n\"11\"\n",
            [[0.0, 1.0], [1.0, 1.0]],
        ),
    ];
    for (media_type, body, rows) in cases {
        let answer = service
            .post_as(&format!("{model}/predict"), media_type, body)
            .await
            .expect(200);
        let found: Vec<f64> = if media_type == "application/x-ndjson" {
            let line = |line| {
                serde_json::from_str::<Value>(line).unwrap()["score"]
                    .as_f64()
                    .unwrap()
            };
            answer.text().lines().map(line).collect()
        } else {
            let document = answer.json();
            let scores = document["scores"].as_array().unwrap();
            scores.iter().map(|score| score.as_f64().unwrap()).collect()
        };
        assert_eq!(found, scores(&hypothesis, &rows), "{media_type} {body}");
    }
}

#[tokio::test]
async fn predict_refuses_data_that_do_not_fit_the_model() {
    let service = Service::start().await;
    let path = format!("{}/predict", linear(&service).await);
    let cases = [
        ("text/csv", "", "1,1\n", 422, "wrong-data"),
        ("text/csv", "", "1,0.5,1\n", 422, "wrong-data"),
        ("text/x-libsvm", "", "1 4:1\n", 400, "bad-index"),
        ("text/csv", "?no=1", "1,1,1\n", 400, "invalid-parameter"),
        (
            "text/csv",
            "?header=maybe",
            "1,1,1\n",
            400,
            "invalid-parameter",
        ),
        (
            "application/json",
            "",
            r#"{"unlabelled": {"examples": ["1111"]}}"#,
            422,
            "wrong-data",
        ),
        (
            "application/json",
            "",
            r#"{"unlabelled": {"examples": []}}"#,
            400,
            "empty-data",
        ),
        ("text/plain", "", "111", 415, "unsupported-media-type"),
    ];
    for (media_type, query, body, status, code) in cases {
        let answer = service
            .post_as(&format!("{path}{query}"), media_type, body)
            .await;
        assert_eq!(answer.problem(status), code, "{media_type} {query} {body}");
    }
    let generated = endless(3).to_string();
    let answer = service.post_as(&path, "application/json", generated).await;
    assert_eq!(answer.problem(422), "wrong-data");
}

#[tokio::test]
async fn a_model_predicts_its_own_training_data_as_its_result_says() {
    let service = Service::start().await;
    let job = service.run(&short_job()).await;
    let data = short_job()["train"]["data"].clone();
    let path = format!("{}/predict", model_of(&job));
    let answer = service.post_json(&path, &data).await.expect(200).json();
    let labels: Vec<Value> = data["labelled"]["examples"]
        .as_array()
        .unwrap()
        .iter()
        .map(|example| example["y"].clone())
        .collect();
    assert_eq!(answer["predictions"], Value::Array(labels));
    assert_eq!(job["result"]["training"]["errors"], 0);
}

/// The rows fill more than one block of 64. The service reads the zeros of each row by that row alone.
#[tokio::test]
async fn predict_by_a_real_model_accepts_many_rows_of_zeros_and_ones() {
    let service = Service::start().await;
    let model = real(&service).await;
    let hypothesis = service.get(&model).await.expect(200).json()["hypothesis"].clone();
    let rows: Vec<[f64; 2]> = (0..150)
        .map(|row| [f64::from(row % 2), f64::from(row % 3 / 2)])
        .collect();
    let text: String = rows.iter().map(|[a, b]| format!("{a},{b}\n")).collect();
    let answer = service
        .post_as(&format!("{model}/predict"), "text/csv", text)
        .await;
    let document = answer.expect(200).json();
    let found = document["scores"].as_array().unwrap().iter();
    let found: Vec<f64> = found.map(|score| score.as_f64().unwrap()).collect();
    assert_eq!(found, scores(&hypothesis, &rows));
}

#[tokio::test]
async fn predict_refuses_a_declaration_of_sampling() {
    let service = Service::start().await;
    let path = format!("{}/predict", linear(&service).await);
    let data = json!({"half_space": {"examples": ["111"], "assume": "uniform-positive"}});
    let answer = service.post_json(&path, &data).await;
    assert_eq!(answer.problem(400), "bad-option");
}

#[tokio::test]
async fn a_model_that_is_deleted_predicts_no_more() {
    let (one, other) = Service::two().await;
    one.compute();
    let said = json!({"unlabelled": {"examples": ["101"]}});
    let here = linear(&one).await;
    let elsewhere = linear(&one).await;
    for path in [&here, &elsewhere] {
        let predict = format!("{path}/predict");
        let first = one.post_json(&predict, &said).await.expect(200);
        // The second request uses the cached model.
        let again = one.post_json(&predict, &said).await.expect(200);
        assert_eq!(first.text(), again.text());
    }
    one.delete(&here).await.expect(204);
    let refused = one.post_json(&format!("{here}/predict"), &said).await;
    assert_eq!(refused.problem(404), "not-found");
    other.delete(&elsewhere).await.expect(204);
    let predict = format!("{elsewhere}/predict");
    until("the deletion to be seen", async || {
        let answer = one.post_json(&predict, &said).await;
        (answer.status == 404).then_some(())
    })
    .await;
}
