//! Names of features and classes: models keep those of their data, and the service compares them with those of other
//! data.

use serde_json::{Value, json};

use crate::service::{Answer, Service};

const CSV: &str = "text/csv";
const ARFF: &str = "text/x-arff";

const TABLE: &str = "label,tall,wide,old\n1,1,1,0\n-1,0,0,1\n1,1,0,1\n-1,0,1,0\n";
const MUSHROOMS: &str = "@relation m\n@attribute size {small, large}\n@attribute ring {0, 1}\n\
    @attribute class {edible, poisonous}\n@data\nsmall,1,edible\nlarge,0,poisonous\n";

async fn trained(service: &Service, media_type: &str, body: &str) -> String {
    let path = "/v1/learners/perceptron/train?seed=1";
    let answer = service.post_as(path, media_type, body.to_owned()).await;
    let model = answer.expect(200).json()["result"]["model"].clone();
    format!("/v1/models/{}", model.as_str().unwrap())
}

async fn predict(service: &Service, model: &str, media_type: &str, body: &str) -> Answer {
    let path = format!("{model}/predict");
    service.post_as(&path, media_type, body.to_owned()).await
}

#[tokio::test]
async fn a_model_keeps_the_names_of_its_features() {
    let service = Service::start().await;
    let path = trained(&service, CSV, TABLE).await;
    let model = service.get(&path).await.expect(200).json();
    assert_eq!(model["features"], json!(["tall", "wide", "old"]));
    assert!(model.get("classes").is_none());
    // A model that is trained on the dataset of the same table keeps the names too.
    let stored = service
        .post_as("/v1/datasets", CSV, TABLE)
        .await
        .expect(201);
    let body = json!({"train": {"learner": {"name": "perceptron"}, "seed": 1,
        "data": {"dataset": stored.json()["id"]}}});
    let job = service.run(&body).await;
    let by_id = format!("/v1/models/{}", job["result"]["model"].as_str().unwrap());
    let by_id = service.get(&by_id).await.expect(200).json();
    assert_eq!(
        (&by_id["features"], &by_id["sha256"]),
        (&model["features"], &model["sha256"])
    );
    // The model of a maximum margin keeps the names too.
    let body = json!({"maximum_margin": {"data": {"dataset": stored.json()["id"]}}});
    let job = service.run(&body).await;
    let margin = format!("/v1/models/{}", job["result"]["model"].as_str().unwrap());
    let margin = service.get(&margin).await.expect(200).json();
    assert_eq!(margin["features"], model["features"]);
    let path = "/v1/learners/perceptron/train?labels=first";
    let plain = service.post_as(path, CSV, "1,1,1,0\n-1,0,0,1\n").await;
    let plain = plain.expect(200).json()["result"]["model"].clone();
    let plain = format!("/v1/models/{}", plain.as_str().unwrap());
    assert!(
        service
            .get(&plain)
            .await
            .expect(200)
            .json()
            .get("features")
            .is_none()
    );
}

#[tokio::test]
async fn model_file_keeps_feature_and_class_names() {
    let service = Service::start().await;
    let path = trained(&service, ARFF, MUSHROOMS).await;
    let file = service.get(&path).await.expect(200).json();
    let features = ["size=large", "size=small", "ring"];
    assert_eq!(file["features"], json!(features));
    assert_eq!(file["classes"], json!(["poisonous", "edible"]));
    let imported = service
        .post_json("/v1/models", &file)
        .await
        .expect(201)
        .json();
    for name in ["features", "classes", "sha256", "hypothesis"] {
        assert_eq!(imported[name], file[name]);
    }
    let changed = |name: &str, value: Value| {
        let mut changed = file.clone();
        changed[name] = value;
        changed
    };
    for (file, status, code) in [
        (
            changed("features", json!(["a", "b", "c"])),
            422,
            "model-altered",
        ),
        (changed("features", Value::Null), 422, "model-altered"),
        (changed("features", json!(["a", "b"])), 422, "wrong-model"),
        (changed("features", json!([])), 422, "wrong-model"),
        (
            changed("classes", json!(["edible", "poisonous"])),
            422,
            "model-altered",
        ),
        (changed("classes", json!(["edible"])), 422, "wrong-model"),
        (changed("feature_names", json!(features)), 400, "schema"),
        (
            changed("features", json!(vec!["x".repeat(400_000); 3])),
            400,
            "out-of-range",
        ),
    ] {
        let answer = service.post_json("/v1/models", &file).await;
        assert_eq!(answer.problem(status), code);
    }
}

#[tokio::test]
async fn predict_matches_columns_by_name() {
    let service = Service::start().await;
    let model = trained(&service, CSV, TABLE).await;
    let same = predict(&service, &model, CSV, "tall,wide,old\n1,1,0\n0,0,1\n").await;
    assert_eq!(same.expect(200).json()["predictions"], json!([1, -1]));
    let swapped = "old,wide,tall\n0,1,1\n1,0,0\n";
    let answer = predict(&service, &model, CSV, swapped).await;
    assert_eq!(answer.expect(200).json()["predictions"], json!([1, -1]));
    let other = swapped.replace("old", "young");
    let answer = predict(&service, &model, CSV, &other).await;
    assert_eq!(answer.problem(422), "table-option");
    let detail = answer.json()["detail"].to_string();
    assert!(
        detail.contains("`young`") && detail.contains("ignore=young"),
        "{detail}"
    );
    let evaluate = format!("{model}/evaluate");
    let labelled = "label,tall,old,wide\n1,1,0,1\n";
    let answer = service.post_as(&evaluate, CSV, labelled).await;
    assert_eq!(answer.expect(200).json()["errors"], 0);
    // The features of a dataset have their order.
    let stored = service
        .post_as("/v1/datasets", CSV, labelled)
        .await
        .expect(201);
    let by_id = json!({"dataset": stored.json()["id"]});
    for path in [format!("{model}/predict"), evaluate] {
        let answer = service.post_json(&path, &by_id).await;
        assert_eq!(answer.problem(422), "wrong-data");
    }
    let id = model.trim_start_matches("/v1/models/");
    let body = json!({"evaluate": {"model": id, "data": by_id}});
    let answer = service.post_json("/v1/jobs", &body).await;
    assert_eq!(answer.problem(422), "wrong-data");
    let body = json!({"train": {"learner": {"name": "perceptron"}, "data": by_id,
        "warm_start": id}});
    let answer = service.post_json("/v1/jobs", &body).await;
    assert_eq!(answer.problem(422), "wrong-data");
    // Data without names are read by the order of their features.
    for (media_type, body) in [
        (CSV, "1,1,0\n0,0,1\n"),
        ("text/x-libsvm", "1 1:1 2:1\n1 3:1\n"),
        (
            "application/json",
            r#"{"unlabelled": {"examples": ["110", "001"]}}"#,
        ),
    ] {
        let answer = predict(&service, &model, media_type, body).await;
        assert_eq!(answer.expect(200).json()["predictions"], json!([1, -1]));
    }
}

#[tokio::test]
async fn evaluate_matches_classes_by_name() {
    let service = Service::start().await;
    let model = trained(&service, ARFF, MUSHROOMS).await;
    let evaluate = format!("{model}/evaluate");
    let answer = service.post_as(&evaluate, ARFF, MUSHROOMS).await;
    assert_eq!(answer.expect(200).json()["errors"], 0);
    let turned = MUSHROOMS.replace("{edible, poisonous}", "{poisonous, edible}");
    let answer = service.post_as(&evaluate, ARFF, turned.clone()).await;
    assert_eq!(answer.expect(200).json()["errors"], 0);
    let other = MUSHROOMS.replace("poisonous", "deadly");
    let answer = service.post_as(&evaluate, ARFF, other).await;
    assert_eq!(answer.problem(400), "bad-label");
    assert!(answer.json()["detail"].to_string().contains("poisonous"));
    // A prediction skips the labels.
    let path = format!("{model}/predict?labels=last");
    let answer = service.post_as(&path, ARFF, turned).await.expect(200);
    assert_eq!(answer.json()["predictions"], json!([1, -1]));
}
