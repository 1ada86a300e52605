//! Features that have names which nobody listed: from a body to a dataset, a model and predictions, beside the same
//! examples with a fixed number of features.

use std::collections::BTreeSet;
use std::fs;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::{Value, json};

use crate::service::{Service, program};

const NDJSON: &str = "application/x-ndjson";

/// An example: its names, and its class.
type Example = (BTreeSet<String>, &'static str);

/// Examples of three classes with few of many names. The first names tell the classes apart.
fn examples(seed: u64, count: usize) -> Vec<Example> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let one = |row: usize| {
        let class = if row < 3 {
            row
        } else {
            random.random_range(0..3)
        };
        let mut names: BTreeSet<String> = (0..4)
            .map(|_| format!("w={}", random.random_range(0..60)))
            .collect();
        names.insert(format!("of {class}: {}", random.random_range(0..2)));
        (names, ["noun", "verb", "other"][class])
    };
    (0..count).map(one).collect()
}

/// The lines of NDJSON, with names in the order of their bytes or against it.
fn ndjson(examples: &[Example], is_reversed: bool) -> String {
    let line = |(names, class): &Example| {
        let mut names: Vec<&String> = names.iter().collect();
        if is_reversed {
            names.reverse();
        }
        format!("{}\n", json!({"x": names, "y": class}))
    };
    examples.iter().map(line).collect()
}

/// The same examples as a table with one column per name and the class first.
fn table(examples: &[Example]) -> (Vec<String>, String) {
    let all: BTreeSet<&String> = examples.iter().flat_map(|(names, _)| names).collect();
    let mut text = "y".to_owned();
    all.iter().for_each(|name| text += &format!(",\"{name}\""));
    text.push('\n');
    for (names, class) in examples {
        text += class;
        all.iter()
            .for_each(|name| text += if names.contains(*name) { ",1" } else { ",0" });
        text.push('\n');
    }
    (all.into_iter().cloned().collect(), text)
}

async fn trained(service: &Service, query: &str, media_type: &str, body: &str) -> Value {
    let path = format!("/v1/learners/{query}");
    let job = service.post_as(&path, media_type, body.to_owned()).await;
    let job = job.expect(200).json();
    assert_eq!(job["status"], "succeeded", "{query}: {job}");
    job
}

async fn model_of(service: &Service, job: &Value) -> (String, Value) {
    let path = format!("/v1/models/{}", job["result"]["model"].as_str().unwrap());
    let document = service.get(&path).await.expect(200).json();
    (path, document)
}

#[tokio::test]
async fn learners_of_names_learn_as_from_columns_and_their_receipts_replay() {
    let service = Service::start().await;
    let all = examples(1, 60);
    let (names, table) = table(&all);
    let body = ndjson(&all, false);
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
    write("data.ndjson", &body);
    let mut has_best = false;
    for (own, fixed) in [
        ("perceptron/train?seed=1", "&params.reading=unsigned"),
        (
            "perceptron/train?seed=1&multiclass=joint",
            "&params.reading=unsigned",
        ),
        (
            "averaged-perceptron/train?seed=1",
            "&params.reading=unsigned",
        ),
        (
            "pocket/train?seed=1&positive=noun",
            "&params.reading=unsigned",
        ),
        // At most five names of an example are active.
        ("winnow/train?seed=1", "&params.theta=20"),
        (
            "winnow/train?seed=1&holdout=0.3&positive=noun",
            "&params.theta=20",
        ),
        ("kernel-winnow/train?seed=1", "&params.theta=124"),
        (
            "kernel-perceptron/train?seed=1&params.kernel.max_literals=2",
            "&params.kernel.conjunctions=monotone",
        ),
    ] {
        let own = format!("{own}&stop.max_passes=4");
        let job = trained(&service, &own, NDJSON, &body).await;
        let (model, document) = model_of(&service, &job).await;
        assert_eq!(document["vocabulary"], "open");
        assert_eq!(document["features"], json!(names), "{own}");
        let of_table = trained(&service, &format!("{own}{fixed}"), "text/csv", &table).await;
        assert_eq!(job["result"]["best"], of_table["result"]["best"], "{own}");
        has_best |= job["result"].get("best").is_some();
        let (_, of_table) = model_of(&service, &of_table).await;
        assert_eq!(document["hypothesis"], of_table["hypothesis"], "{own}");
        assert_eq!(of_table.get("vocabulary"), None);
        // The order of names in a line changes nothing.
        let turned = trained(&service, &own, NDJSON, &ndjson(&all, true)).await;
        let (_, turned) = model_of(&service, &turned).await;
        assert_eq!(turned["data_sha256"], document["data_sha256"]);
        assert_eq!(turned["sha256"], document["sha256"]);
        if !own.starts_with("pocket") {
            let receipt = service.get(&format!("{model}/receipt")).await;
            write("receipt.json", &receipt.expect(200).json().to_string());
            let mut verify = program();
            verify
                .current_dir(&directory)
                .args(["verify", "receipt.json", "data.ndjson"]);
            if own.contains("positive") {
                verify.args(["--param", "positive=noun"]);
            }
            let replayed = verify.output().unwrap();
            assert!(replayed.status.success(), "{own}: {replayed:?}");
        }
        let imported = service.post_json("/v1/models", &document).await;
        let imported = imported.expect(201).json();
        let others = ndjson(&examples(2, 20), true);
        let mut answers = Vec::new();
        for path in [
            &model,
            &format!("/v1/models/{}", imported["id"].as_str().unwrap()),
        ] {
            let path = format!("{path}/predict");
            let answer = service.post_as(&path, NDJSON, others.clone()).await;
            answers.push(answer.expect(200).text().to_owned());
        }
        assert_eq!(answers[0], answers[1], "{own}");
    }
    assert!(has_best, "a run has a best hypothesis beside the last");
}

#[tokio::test]
async fn names_that_a_model_has_never_seen_have_the_first_weight_and_are_counted() {
    let service = Service::start().await;
    let body =
        "{\"x\":[\"a\",\"b\"],\"y\":1}\n{\"x\":[\"c\",\"b\"],\"y\":-1}\n{\"x\":[\"a\"],\"y\":1}\n";
    for (learner, known, unknown) in [
        ("perceptron/train?seed=1", json!(1), json!(1)),
        // Two promotions of `a`: its weight is 4 of theta = 8 before the third. An unknown name has the weight 1.
        ("winnow/train?seed=1", json!(8), json!(10)),
        (
            "kernel-perceptron/train?seed=1&params.kernel.max_literals=1",
            json!(1),
            json!(1),
        ),
    ] {
        let job = trained(&service, learner, NDJSON, body).await;
        let (model, _) = model_of(&service, &job).await;
        let path = format!("{model}/predict");
        let asked = json!({"unlabelled": {"examples": [["a"], ["x", "a", "y"], [], ["z"]]}});
        let answer = service.post_json(&path, &asked).await.expect(200).json();
        assert_eq!(answer["unseen"], json!([0, 2, 0, 1]), "{learner}");
        assert_eq!(answer["scores"][0], known, "{learner}: {answer}");
        assert_eq!(answer["scores"][1], unknown, "{learner}: {answer}");
        let lines = "{\"x\":[\"y\",\"a\",\"x\"]}\n{\"x\":{\"a\":true}}\n";
        let lines = service
            .post_as(&path, NDJSON, lines.to_owned())
            .await
            .expect(200);
        let lines: Vec<Value> = lines
            .text()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let found: Vec<_> = lines
            .iter()
            .map(|line| (&line["score"], &line["unseen"]))
            .collect();
        assert_eq!(
            found,
            [(&unknown, &json!(2)), (&known, &json!(0))],
            "{learner}"
        );
    }
}

#[tokio::test]
async fn a_dataset_of_names_is_stored_listed_trained_on_and_evaluated() {
    let service = Service::start().await;
    let all = examples(3, 80);
    let upload = service
        .post_as("/v1/datasets?name=words", NDJSON, ndjson(&all, true))
        .await;
    let dataset = upload.expect(201).json();
    let (names, _) = table(&all);
    assert_eq!(dataset["vocabulary"], "open");
    assert_eq!(dataset["n"], names.len());
    assert_eq!(dataset["features"], Value::Null);
    let id = dataset["id"].as_str().unwrap();
    let listed = service
        .get(&format!("/v1/datasets/{id}/examples?limit=2&format=ndjson"))
        .await;
    assert_eq!(listed.expect(200).text(), ndjson(&all[..2], false));
    let page = service
        .get(&format!("/v1/datasets/{id}/examples?offset=79"))
        .await;
    let item = &page.expect(200).json()["items"][0];
    assert_eq!(*item, json!({"x": all[79].0, "y": all[79].1}));
    let refused = service
        .get(&format!("/v1/datasets/{id}/examples?format=csv"))
        .await;
    assert_eq!(refused.problem(406), "not-acceptable");
    // The dataset and the same examples in the request.
    let labelled: Vec<Value> = all.iter().map(|(x, y)| json!({"x": x, "y": y})).collect();
    let mut models = Vec::new();
    for data in [
        json!({"dataset": id}),
        json!({"labelled": {"examples": labelled}}),
    ] {
        let body = json!({"train": {"learner": {"name": "perceptron"}, "seed": 5, "data": data,
            "stop": {"max_passes": 3}}});
        let job = service.run(&body).await;
        assert_eq!(job["status"], "succeeded", "{job}");
        models.push(model_of(&service, &job).await);
    }
    assert_eq!(models[0].1["sha256"], models[1].1["sha256"]);
    assert_eq!(models[0].1["data_sha256"], dataset["sha256"]);
    // Other data, with names of their own: the model counts as many errors wherever they are.
    let others = examples(4, 50);
    let upload = service
        .post_as("/v1/datasets", NDJSON, ndjson(&others, false))
        .await;
    let other = upload.expect(201).json();
    let other = other["id"].as_str().unwrap();
    let (model, document) = &models[0];
    let path = format!("{model}/evaluate");
    let sent = service
        .post_as(&path, NDJSON, ndjson(&others, true))
        .await
        .expect(200)
        .json();
    let stored = service
        .post_json(&path, &json!({"dataset": other}))
        .await
        .expect(200)
        .json();
    let labelled: Vec<Value> = others
        .iter()
        .map(|(x, y)| json!({"x": x, "y": y}))
        .collect();
    let mut errors = vec![sent["errors"].clone(), stored["errors"].clone()];
    for data in [
        json!({"dataset": other}),
        json!({"labelled": {"examples": labelled}}),
    ] {
        let body = json!({"evaluate": {"model": document["id"], "data": data}});
        errors.push(service.run(&body).await["result"]["errors"].clone());
    }
    let predicted = service
        .post_json(&format!("{model}/predict"), &json!({"dataset": other}))
        .await;
    let predicted = predicted.expect(200).json();
    let classes = predicted["predicted_classes"].as_array().unwrap();
    let wrong = classes
        .iter()
        .zip(&others)
        .filter(|(class, (_, y))| *class != y)
        .count();
    errors.push(json!(wrong));
    errors.dedup();
    assert_eq!(errors.len(), 1, "{errors:?}");
    let known: BTreeSet<&String> = all.iter().flat_map(|(names, _)| names).collect();
    let unseen: Vec<usize> = others
        .iter()
        .map(|(names, _)| names.iter().filter(|name| !known.contains(name)).count())
        .collect();
    assert_eq!(predicted["unseen"], json!(unseen));
    let explained = service
        .get(&format!("{model}/explanation?class=noun&top=3"))
        .await;
    assert!(explained.expect(200).text().contains("of 0: "));
}

#[tokio::test]
async fn names_are_refused_where_a_number_of_features_is_needed() {
    let service = Service::start().await;
    let body = "{\"x\":[\"a\",\"b\"],\"y\":1}\n{\"x\":[\"c\"],\"y\":-1}\n";
    let problem = async |path: &str, status: u16, media_type: &str, body: &str| {
        let answer = service.post_as(path, media_type, body.to_owned()).await;
        let text = answer.text().to_owned();
        (answer.problem(status), text)
    };
    for (learner, told) in [
        ("perceptron/train?params.reading=signed", "unsigned"),
        (
            "kernel-perceptron/train?params.kernel.conjunctions=all",
            "monotone",
        ),
        ("winnow/train?params.negated_literals=true", "false"),
        ("sbpi/train?", "take names"),
        ("directed-drift/train?", "take names"),
    ] {
        let (_, text) = problem(&format!("/v1/learners/{learner}"), 422, NDJSON, body).await;
        assert!(text.contains(told), "{learner}: {text}");
    }
    let (code, text) = problem("/v1/learners/perceptron/train?n=3", 400, NDJSON, body).await;
    assert!(code == "bad-option" && text.contains("n = 3"), "{text}");
    let (code, _) = problem(
        "/v1/datasets?vocabulary=open",
        400,
        "text/csv",
        "y,a\n1,0\n",
    )
    .await;
    assert_eq!(code, "bad-option");
    let upload = service
        .post_as("/v1/datasets", NDJSON, body.to_owned())
        .await;
    let id = upload.expect(201).id();
    for task in ["separability", "maximum_margin", "version_space"] {
        let asked = json!({task: {"data": {"dataset": id}}});
        let answer = service.post_json("/v1/jobs", &asked).await;
        assert!(
            answer.text().contains("are names"),
            "{task}: {}",
            answer.text()
        );
        answer.problem(422);
    }
    // A model of names and one of numbers do not read each other's examples.
    let job = trained(&service, "perceptron/train?seed=1", NDJSON, body).await;
    let (of_names, document) = model_of(&service, &job).await;
    let numbers = "{\"x\":\"101\",\"y\":1}\n{\"x\":\"011\",\"y\":-1}\n";
    let job = trained(&service, "perceptron/train?seed=1", NDJSON, numbers).await;
    let (of_numbers, _) = model_of(&service, &job).await;
    let (_, text) = problem(&format!("{of_names}/predict"), 400, NDJSON, numbers).await;
    assert!(text.contains("names"), "{text}");
    let sent = json!({"unlabelled": {"examples": ["101"]}}).to_string();
    let (_, text) = problem(
        &format!("{of_names}/predict"),
        400,
        "application/json",
        &sent,
    )
    .await;
    assert!(text.contains("names"), "{text}");
    let sent = json!({"unlabelled": {"examples": [["a"]]}}).to_string();
    let (_, text) = problem(
        &format!("{of_numbers}/predict"),
        422,
        "application/json",
        &sent,
    )
    .await;
    assert!(text.contains("bits or numbers"), "{text}");
    let program = service
        .get(&format!("{of_names}/code?language=python"))
        .await;
    assert_eq!(program.problem(422), "inexpressible");
    let (_, text) = problem(
        &format!(
            "/v1/learners/perceptron/train?warm_start={}",
            document["id"].as_str().unwrap()
        ),
        422,
        NDJSON,
        body,
    )
    .await;
    assert!(text.contains("warm_start"), "{text}");
    // A file whose names are no vocabulary.
    for features in [
        json!(["b", "a", "c"]),
        json!(["a", "b"]),
        json!(["a", "a", "b"]),
        Value::Null,
    ] {
        let mut altered = document.clone();
        altered["features"] = features;
        let answer = service.post_json("/v1/models", &altered).await;
        answer.problem(422);
    }
}

#[tokio::test]
async fn bound_of_winnow_over_names_needs_no_number_of_names() {
    let service = Service::start().await;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(9);
    let mut body = String::new();
    for row in 0..300 {
        let mut names: BTreeSet<String> = (0..9)
            .map(|_| format!("w{}", random.random_range(3..100_000)))
            .collect();
        if row % 2 == 0 {
            names.insert(format!("w{}", random.random_range(0..3)));
        }
        let y = if row % 2 == 0 { 1 } else { -1 };
        body += &format!("{}\n", json!({"x": names, "y": y}));
    }
    let query = "winnow/train?seed=1&params.relevant=3";
    let job = trained(&service, query, NDJSON, &body).await;
    let bound = &job["result"]["bound"];
    // 6 k (3 + log2 a) with k = 3 and a = 10
    let expected = 18.0 * (3.0 + 10_f64.log2());
    assert_eq!(bound["theorem"], "Winnow over names");
    assert!(
        (bound["mistakes_at_most"].as_f64().unwrap() - expected).abs() < 1e-6,
        "{bound}"
    );
    assert_eq!(bound["respected"], true, "{bound}");
    let small = trained(&service, &format!("{query}&params.theta=20"), NDJSON, &body).await;
    let bound = &small["result"]["bound"];
    assert_eq!(bound["mistakes_at_most"], Value::Null);
    assert!(
        bound["detail"].as_str().unwrap().contains("theta"),
        "{bound}"
    );
}
