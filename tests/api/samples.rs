//! `/v1/samples`: each table is downloaded, uploaded and learnt, and its parameters have their documented ranges.

use serde_json::{Value, json};

use crate::service::{Service, request};

const CSV: &str = "text/csv";

async fn samples(service: &Service) -> Vec<Value> {
    let list = service.get("/v1/samples").await.expect(200).json();
    list["items"].as_array().unwrap().clone()
}

/// The table as CSV.
async fn table(service: &Service, name_and_query: &str) -> String {
    let answer = service.get(&format!("/v1/samples/{name_and_query}")).await;
    let answer = answer.expect(200);
    assert_eq!(answer.header("content-type"), Some(CSV));
    answer.text().to_owned()
}

/// The dataset of an upload with the options of a sample. The service finds the label by the name of the column.
async fn uploaded(service: &Service, item: &Value, csv: String) -> Value {
    let options = item["options"].as_object().unwrap().iter();
    let query: Vec<_> = options
        .map(|(name, value)| format!("{name}={}", value.as_str().unwrap()))
        .collect();
    let path = format!("/v1/datasets?{}", query.join("&"));
    let answer = service.post_as(&path, CSV, csv).await;
    answer.expect(201).json()
}

#[tokio::test]
async fn each_sample_is_uploaded_with_its_counts() {
    let service = Service::start().await;
    let items = samples(&service).await;
    assert_eq!(items.len(), 10);
    for (name, examples, positives, n) in [
        ("tic-tac-toe", 958, Some(626), 27),
        ("monks-1", 432, Some(216), 15),
        ("monks-2", 432, Some(142), 15),
        ("monks-3", 432, Some(228), 15),
        ("parity", 500, None, 11),
        ("majority", 500, None, 11),
        ("dnf", 500, None, 11),
        ("plurality", 500, None, 11),
        ("display", 500, None, 24),
        ("messages", 500, None, 112),
    ] {
        let item = items.iter().find(|item| item["name"] == name).unwrap();
        let csv = table(&service, name).await;
        let columns: Vec<_> = csv.lines().next().unwrap().split(',').collect();
        assert_eq!(item["columns"], json!(columns));
        assert_eq!(item["rows"], examples);
        assert_eq!(item["n"], n);
        let dataset = uploaded(&service, item, csv).await;
        assert_eq!(dataset["examples"], examples, "{name}");
        assert_eq!(dataset["n"], n, "{name}");
        assert_eq!(dataset["contradictions"], 0, "{name}");
        assert_eq!(dataset["table"]["label"]["column"], "class");
        // Two classes are in the order of their names, and more in that of their first rows.
        let mut classes = item["classes"].as_array().unwrap().clone();
        let mut found = dataset["table"]["label"]["classes"]
            .as_array()
            .unwrap()
            .clone();
        for list in [&mut classes, &mut found] {
            list.sort_by_key(|class| class.as_str().unwrap().to_owned());
        }
        assert_eq!(found, classes, "{name}");
        if let Some(positives) = positives {
            assert_eq!(dataset["class_examples"][1], positives, "{name}");
            assert_eq!(dataset["duplicates"], 0, "{name}");
        }
    }
}

#[tokio::test]
async fn the_suggested_training_learns_each_sample() {
    let service = Service::start().await;
    for item in samples(&service).await {
        let csv = table(&service, item["name"].as_str().unwrap()).await;
        let headers = [("content-type", CSV), ("prefer", "wait=60")];
        let path = item["train"].as_str().unwrap();
        let job = service.send(request("POST", path, &headers, csv)).await;
        let result = job.expect(200).json()["result"].clone();
        assert_eq!(result["termination"]["reason"], "converged", "{item}");
        assert_eq!(result["training"]["errors"], 0, "{item}");
        assert_eq!(result["training"]["examples"], item["rows"]);
        let text = table(&service, item["name"].as_str().unwrap()).await;
        let dataset = uploaded(&service, &item, text).await;
        let train = json!({"learner": item["learner"], "data": {"dataset": dataset["id"]}});
        let again = service.run(&json!({"train": train})).await;
        assert_eq!(again["result"]["mistakes"], result["mistakes"], "{item}");
    }
}

/// The drawn rows are those of `generated` data with the same target and seed.
#[tokio::test]
async fn drawn_samples_equal_generated_data() {
    let service = Service::start().await;
    for (query, target) in [
        ("dnf?terms=4", json!({"dnf": {"terms_count": 4, "size": 3}})),
        ("parity?", json!({"parity": {"size": 9}})),
        (
            "majority?",
            json!({"threshold": {"weights": [1, 1, 1, 1, 1, 1, 1, 1, 1], "theta": 5}}),
        ),
    ] {
        let mut digests = Vec::new();
        for seed in [5, 6] {
            let asked = format!("{query}&n=9&m=200&noise=0.1&seed={seed}");
            let csv = table(&service, &asked).await;
            assert_eq!(csv, table(&service, &asked).await);
            let dataset = uploaded(&service, &json!({"options": {}}), csv).await;
            let generated = json!({"seed": seed, "data": {"generated": {"n": 9, "target": target,
                "sampling": "uniform", "count": 200, "noise": 0.1}}});
            let expected = service.post_json("/v1/datasets", &generated).await;
            let expected = expected.expect(201).json();
            // The table has names of classes, which belong to its digest.
            let rows = async |dataset: &Value| {
                let id = dataset["id"].as_str().unwrap();
                let path = format!("/v1/datasets/{id}/examples?format=ndjson&limit=200");
                let rows = service.get(&path).await.expect(200).text().to_owned();
                let rows = rows.replace("\"positive\"", "1");
                rows.replace("\"negative\"", "-1")
            };
            assert_eq!(rows(&dataset).await, rows(&expected).await, "{asked}");
            digests.push(dataset["sha256"].clone());
        }
        assert_ne!(digests[0], digests[1], "{query}");
    }
}

#[tokio::test]
async fn sample_noise_flips_classes_by_the_seed() {
    let service = Service::start().await;
    let clean = table(&service, "monks-3").await;
    assert_eq!(clean, table(&service, "monks-3?seed=7").await);
    let noisy = table(&service, "monks-3?noise=0.05&seed=7").await;
    assert_eq!(noisy, table(&service, "monks-3?seed=7&noise=0.05").await);
    assert_ne!(noisy, table(&service, "monks-3?noise=0.05&seed=8").await);
    let rows = clean.lines().zip(noisy.lines());
    let flipped = rows.filter(|(clean, noisy)| clean != noisy).count();
    // The mean is 21.6 and the standard deviation is 4.5.
    assert!((4..40).contains(&flipped), "{flipped}");
}

/// Each sample accepts both ends of each documented range and refuses the values beyond. A default that is given
/// changes nothing.
#[tokio::test]
async fn sample_parameters_have_the_documented_ranges() {
    let service = Service::start().await;
    let mut checked = 0;
    for item in samples(&service).await {
        let name = item["name"].as_str().unwrap();
        let plain = table(&service, name).await;
        for (parameter, schema) in item["parameters"]["properties"].as_object().unwrap() {
            let asked = |value: &str| format!("{name}?{parameter}={value}");
            let default = schema["default"].to_string();
            assert_eq!(table(&service, &asked(&default)).await, plain, "{default}");
            let is_whole = schema["type"] == "integer";
            let end = |end: &str, step: f64| match schema[end].as_i64().filter(|_| is_whole) {
                Some(end) => (end.to_string(), (end + step.signum() as i64).to_string()),
                None => {
                    let end = schema[end].as_f64().unwrap();
                    (end.to_string(), (end + step).to_string())
                }
            };
            for (inside, outside) in [end("minimum", -0.001), end("maximum", 0.001)] {
                table(&service, &asked(&inside)).await;
                let path = format!("/v1/samples/{}", asked(&outside));
                let refused = service.get(&path).await;
                assert_eq!(refused.problem(400), "invalid-parameter", "{path}");
                assert_eq!(refused.json()["errors"][0]["parameter"], **parameter);
                checked += 1;
            }
        }
    }
    assert_eq!(checked, 2 * (4 * 2 + 3 * 4 + 5 + 3 + 3));
}

#[tokio::test]
async fn unknown_samples_and_parameters_are_refused() {
    let service = Service::start().await;
    let refused = service.get("/v1/samples/chess").await;
    assert_eq!(refused.problem(404), "not-found");
    for item in samples(&service).await {
        assert!(refused.text().contains(item["name"].as_str().unwrap()));
    }
    for (query, parameter) in [
        ("tic-tac-toe?n=5", "n"),
        ("parity?terms=2", "terms"),
        ("dnf?colour=1", "colour"),
        ("dnf?noise=NaN", "noise"),
        ("dnf?m=1.5", "m"),
    ] {
        let refused = service.get(&format!("/v1/samples/{query}")).await;
        assert_eq!(refused.problem(400), "invalid-parameter", "{query}");
        assert_eq!(refused.json()["errors"][0]["parameter"], parameter);
    }
}

#[tokio::test]
async fn head_of_a_sample_has_the_headers_of_get() {
    let service = Service::start().await;
    let csv = table(&service, "monks-1").await;
    let head = request("HEAD", "/v1/samples/monks-1", &[], "");
    let head = service.send(head).await.expect(200);
    assert_eq!(head.header("content-type"), Some(CSV));
    let length = csv.len().to_string();
    assert_eq!(head.header("content-length"), Some(length.as_str()));
    assert!(head.body.is_empty());
}
