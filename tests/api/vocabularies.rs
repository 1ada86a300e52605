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
pub type Example = (BTreeSet<String>, &'static str);

/// Examples of three classes with few of many names. The first names tell the classes apart.
pub fn examples(seed: u64, count: usize) -> Vec<Example> {
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
pub fn ndjson(examples: &[Example], is_reversed: bool) -> String {
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
        ("perceptron/train?assume=uniform", "no named distribution"),
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
        "application/octet-stream",
        "ab",
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
    let formula = service
        .get(&format!("{of_names}/code?language=excel"))
        .await;
    assert_eq!(formula.problem(422), "inexpressible");
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

/// A model and a session decide whether features have names. The request may leave it to them, but not say otherwise.
#[tokio::test]
async fn a_body_for_a_model_is_read_as_the_model_reads_features() {
    let service = Service::start().await;
    let libsvm = "text/x-libsvm";
    let lines = "noun w=a 7:2\nverb w=b\nnoun 7:3 w=c\n";
    let job = trained(&service, "perceptron/train?seed=1", libsvm, lines).await;
    let (of_names, document) = model_of(&service, &job).await;
    let numbers = "{\"x\":\"101\",\"y\":1}\n{\"x\":\"011\",\"y\":-1}\n";
    let job = trained(&service, "perceptron/train?seed=1", NDJSON, numbers).await;
    let (of_numbers, other) = model_of(&service, &job).await;
    let session = json!({"learner": {"name": "perceptron"}, "vocabulary": "open", "values": "real",
        "classes": ["noun", "verb"]});
    let session = service.post_json("/v1/sessions", &session).await;
    let session = format!("/v1/sessions/{}", session.expect(201).id());
    let id = |document: &Value| document["id"].as_str().unwrap().to_owned();
    let start = format!(
        "/v1/learners/perceptron/train?seed=1&stop.max_passes=1&warm_start={}",
        id(&document)
    );
    // A first name that is a number, no name, and a table, where nothing but the model says that features have names.
    let table = "7,b\n1,2\n";
    for vocabulary in ["", "vocabulary=auto", "vocabulary=open"] {
        let predict = format!("{of_names}/predict?{vocabulary}");
        let one = service.post_as(&predict, libsvm, "noun 7:2 w=a\n").await;
        let one = one.expect(200).json();
        assert_eq!(one["unseen"], json!([0]), "{vocabulary}");
        let csv = format!("{predict}&header=true&kinds=*:number");
        let answer = service.post_as(&csv, "text/csv", table).await;
        assert_eq!(answer.expect(200).json()["unseen"], json!([1]));
        let evaluate = format!("{of_names}/evaluate?{vocabulary}");
        let answer = service.post_as(&evaluate, libsvm, "noun 7:2\n").await;
        assert_eq!(answer.expect(200).json()["examples"], 1);
        let learn = format!("{session}/examples?{vocabulary}");
        let answer = service.post_as(&learn, libsvm, "noun 7:2\n").await;
        answer.expect(200);
        let next = format!("{start}&{vocabulary}");
        let job = service.post_as(&next, libsvm, "noun 7:2\nverb 8\n").await;
        assert_eq!(job.expect(200).json()["status"], "succeeded");
    }
    let session = service.get(&session).await.expect(200).json();
    assert_eq!(session["features"], json!(["7"]));
    // The body would be read as names, and the model reads numbers.
    for path in [
        format!("{of_numbers}/predict?vocabulary=open"),
        format!("{of_numbers}/evaluate?vocabulary=open"),
        format!(
            "/v1/learners/perceptron/train?vocabulary=open&warm_start={}",
            id(&other)
        ),
    ] {
        for (media_type, body) in [(NDJSON, numbers), (libsvm, "1 1:1\n")] {
            let refused = service.post_as(&path, media_type, body).await;
            let text = refused.text().to_owned();
            assert!(text.contains("\"vocabulary\""), "{path}: {text}");
            assert_eq!(refused.problem(422), "wrong-data", "{path}");
        }
    }
}

/// Classes are stated for names as for numbers.
#[tokio::test]
async fn trainings_on_names_read_labels_by_stated_classes() {
    let service = Service::start().await;
    let all = examples(5, 60);
    let upload = service.post_as("/v1/datasets", NDJSON, ndjson(&all, false));
    let id = upload.await.expect(201).id();
    let labelled: Vec<Value> = all.iter().map(|(x, y)| json!({"x": x, "y": y})).collect();
    let inline = json!({"labelled": {"examples": labelled}});
    let list = ["other", "noun", "verb"];
    for (data, classes, expected) in [
        (json!({"dataset": id}), json!(list), &list[..]),
        (inline, json!(list), &list),
        (
            json!({"dataset": {"id": id, "positive": "verb"}}),
            Value::Null,
            &["not verb", "verb"],
        ),
    ] {
        let mut train = json!({"learner": {"name": "perceptron"}, "seed": 1, "data": data});
        if classes.is_array() {
            train["classes"] = classes;
        }
        let job = service.run(&json!({ "train": train })).await;
        let (_, document) = model_of(&service, &job).await;
        assert_eq!(document["classes"], json!(expected));
        assert_eq!(document["vocabulary"], "open");
    }
}

/// Examples in the document of a job have the forms of NDJSON.
#[tokio::test]
async fn examples_in_a_job_name_their_features() {
    let service = Service::start().await;
    let forms = [
        json!([{"x": ["a", "b"], "y": 1}, {"x": ["c", "b"], "y": -1}, {"x": [], "y": 1}]),
        json!([{"x": {"a": true, "b": 1}, "y": 1}, {"x": {"c": 1, "b": 1, "d": 0}, "y": -1},
            {"x": {"a": null}, "y": 1}]),
        json!([{"x": [], "y": 1}, {"x": ["c", "b"], "y": -1}, {"x": ["b", "a"], "y": 1}]),
    ];
    let mut digests = BTreeSet::new();
    for examples in &forms {
        let data = json!({"labelled": {"examples": examples}});
        let body = json!({"train": {"learner": {"name": "perceptron"}, "seed": 1, "data": data}});
        let job = service.run(&body).await;
        let (_, document) = model_of(&service, &job).await;
        assert_eq!(document["features"], json!(["a", "b", "c"]), "{job}");
        digests.insert(document["data_sha256"].as_str().unwrap().to_owned());
    }
    // The last form has another order of the examples.
    assert_eq!(digests.len(), 2);
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
}

/// Animals as a table, with a column of numbers that are words.
const ANIMALS: &str = "zip,legs,fur,animal,y\n10115,4,true,cat,in\n20095,0,false,eel,out\n10115,2,false,hen,out\n\
    20095,4,true,dog,in\n,6,,bee,out\n10115,8,false,spider,out\n";

#[tokio::test]
async fn tables_of_names_learn_as_ndjson_and_their_models_read_single_rows() {
    let service = Service::start().await;
    let ndjson = "{\"x\":{\"zip\":\"10115\",\"legs\":4,\"fur\":true,\"animal\":\"cat\"},\"y\":\"in\"}\n\
        {\"x\":{\"zip\":\"20095\",\"legs\":0,\"fur\":false,\"animal\":\"eel\"},\"y\":\"out\"}\n\
        {\"x\":{\"zip\":\"10115\",\"legs\":2,\"fur\":false,\"animal\":\"hen\"},\"y\":\"out\"}\n\
        {\"x\":{\"zip\":\"20095\",\"legs\":4,\"fur\":true,\"animal\":\"dog\"},\"y\":\"in\"}\n\
        {\"x\":{\"legs\":6,\"animal\":\"bee\"},\"y\":\"out\"}\n\
        {\"x\":{\"zip\":\"10115\",\"legs\":8,\"animal\":\"spider\"},\"y\":\"out\"}\n";
    let libsvm = "in zip=10115 legs:4 fur animal=cat\nout zip=20095 animal=eel\nout zip=10115 legs:2 animal=hen\n\
        in zip=20095 legs:4 fur animal=dog\nout legs:6 animal=bee\nout zip=10115 legs:8 animal=spider\n";
    let path = "perceptron/train?seed=1&stop.max_passes=20";
    let of_table = format!("{path}&vocabulary=open&kinds=zip:nominal&labels=y");
    let rows: Vec<Value> = ndjson
        .lines()
        .map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            let mut row = line["x"].as_object().unwrap().clone();
            for name in ["zip", "legs", "fur", "animal"] {
                row.entry(name).or_insert(Value::Null);
            }
            row.insert("y".to_owned(), line["y"].clone());
            Value::Object(row)
        })
        .collect();
    let lines: String = rows.iter().map(|row| format!("{row}\n")).collect();
    let mut models = Vec::new();
    for (query, media_type, body) in [
        (path, NDJSON, ndjson),
        (path, "text/x-libsvm", libsvm),
        (&of_table, "text/csv", ANIMALS),
        (&of_table, NDJSON, &lines),
        (
            &of_table,
            "text/tab-separated-values",
            &ANIMALS.replace(',', "\t"),
        ),
    ] {
        let job = trained(&service, query, media_type, body).await;
        models.push(model_of(&service, &job).await);
    }
    let data = json!({"table": {"rows": rows, "labels": "y", "kinds": "zip:nominal", "vocabulary": "open"}});
    let body = json!({"train": {"learner": {"name": "perceptron"}, "seed": 1, "data": data,
        "stop": {"max_passes": 20}}});
    let job = service.run(&body).await;
    assert_eq!(job["status"], "succeeded", "{job}");
    models.push(model_of(&service, &job).await);
    // The models differ only in the columns, which NDJSON and LIBSVM do not have.
    let without = |document: &Value| {
        let mut document = document.as_object().unwrap().clone();
        for member in ["id", "job", "created_at", "table", "sha256"] {
            document.remove(member);
        }
        document
    };
    for (_, document) in &models {
        assert_eq!(without(document), without(&models[0].1));
        assert_eq!(document["vocabulary"], "open");
    }
    assert_eq!(models[0].1["sha256"], models[1].1["sha256"]);
    assert_eq!(models[2].1["sha256"], models[4].1["sha256"]);
    let (model, document) = &models[2];
    let kinds: Vec<&Value> = document["table"]["columns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|column| &column["cells"])
        .collect();
    assert_eq!(kinds, ["nominal", "number", "boolean", "nominal"]);
    // The columns and their kinds come back with the file.
    let imported = service.post_json("/v1/models", document).await;
    let imported = format!("/v1/models/{}", imported.expect(201).id());
    // A row by itself is read by the kinds of the training, in any format and with any columns.
    let asked = json!({"unlabelled": {"examples": [{"zip": "10115", "legs": 4}, {"new": 1}]}});
    let expected = service.post_json(&format!("{model}/predict"), &asked).await;
    let expected = expected.expect(200).json();
    assert_eq!(expected["unseen"], json!([0, 1]));
    for path in [model, &imported] {
        let path = format!("{path}/predict");
        for (media_type, body) in [
            ("text/csv", "zip,legs,new\n10115,4,\n,,1\n"),
            ("text/csv", "new,y,legs,zip\n,in,4,10115\n1,out,,\n"),
            (
                "application/json",
                r#"{"rows": [{"zip": 10115, "legs": 4, "new": null}, {"new": 1}]}"#,
            ),
        ] {
            let answer = service.post_as(&path, media_type, body.to_owned()).await;
            let answer = answer.expect(200).json();
            for member in ["predictions", "predicted_classes", "scores", "unseen"] {
                assert_eq!(answer[member], expected[member], "{body}: {answer}");
            }
        }
        let lines = "{\"zip\":10115,\"legs\":4}\n{\"new\":1}\n";
        let lines = service.post_as(&path, NDJSON, lines.to_owned()).await;
        let scores: Vec<Value> = lines
            .expect(200)
            .text()
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["score"].clone())
            .collect();
        assert_eq!(json!(scores), expected["scores"]);
        let word = service
            .post_as(&path, "text/csv", "legs\nmany\n".to_owned())
            .await;
        assert!(
            word.text().contains("not a number") && word.text().contains("unknown=zero"),
            "{}",
            word.text()
        );
        word.problem(422);
    }
    // A model that learnt from no table has no kinds, so the request states them.
    let path = format!("{}/predict", models[0].0);
    let table = "zip,legs\n10115,4\n".to_owned();
    let refused = service.post_as(&path, "text/csv", table.clone()).await;
    assert!(refused.text().contains("kinds="), "{}", refused.text());
    refused.problem(422);
    let stated = format!("{path}?kinds=zip:nominal,legs:number");
    let answer = service.post_as(&stated, "text/csv", table).await;
    assert_eq!(
        answer.expect(200).json()["scores"][0],
        expected["scores"][0]
    );
    let evaluated = service
        .post_as(&format!("{model}/evaluate"), "text/csv", ANIMALS.to_owned())
        .await;
    assert_eq!(evaluated.expect(200).json()["examples"], 6);
}

#[tokio::test]
async fn datasets_and_previews_of_tables_of_names_show_their_columns() {
    let service = Service::start().await;
    let query = "vocabulary=open&kinds=zip:nominal&labels=y";
    let csv = async |path: &str| {
        let body = ANIMALS.to_owned();
        service.post_as(path, "text/csv", body).await
    };
    let upload = csv(&format!("/v1/datasets?{query}")).await;
    let dataset = upload.expect(201).json();
    assert_eq!(dataset["vocabulary"], "open");
    assert_eq!(dataset["table"]["missing"]["treatment"], "absent");
    let id = dataset["id"].as_str().unwrap();
    let page = service
        .get(&format!("/v1/datasets/{id}/examples?limit=1"))
        .await;
    assert_eq!(
        page.expect(200).json()["items"][0],
        json!({"x": {"animal=cat": 1.0, "fur": 1.0, "legs": 4.0, "zip=10115": 1.0}, "y": "in"})
    );
    let shown = csv(&format!("/v1/previews?{query}&rows=1")).await;
    let shown = shown.expect(200).json();
    assert_eq!(shown["refusal"], Value::Null);
    assert_eq!(shown["data"]["sha256"], dataset["sha256"]);
    assert_eq!(shown["rows"], json!([["10115", "4", "true", "cat", "in"]]));
    assert_eq!(shown["columns"][0]["kind"], "nominal");
    // Later data of the same columns, by the encoding of the dataset, fit its models.
    let body = json!({"train": {"learner": {"name": "perceptron"}, "seed": 1, "data": {"dataset": id},
        "stop": {"max_passes": 20}}});
    let job = service.run(&body).await;
    let (model, document) = model_of(&service, &job).await;
    assert_eq!(document["table"], dataset["table"]);
    let evaluate = format!("{model}/evaluate");
    let mut errors = Vec::new();
    for (query, fits) in [
        (format!("encoding={id}"), true),
        ("vocabulary=open&labels=y".to_owned(), false),
    ] {
        let rows = "zip,y,legs\n10115,out,2\n20095,in,4\n".to_owned();
        let upload = service
            .post_as(&format!("/v1/datasets?{query}"), "text/csv", rows)
            .await;
        let other = upload.expect(201).id();
        let answer = service
            .post_json(&evaluate, &json!({"dataset": other}))
            .await;
        match fits {
            true => errors.push(answer.expect(200).json()["errors"].clone()),
            false => {
                assert!(answer.text().contains("encoding"), "{}", answer.text());
                answer.problem(422);
            }
        }
    }
    assert_eq!(errors.len(), 1);
    // A session reads the encoding of names with an open vocabulary only.
    let session = json!({"learner": {"name": "perceptron"}, "encoding": id});
    let refused = service.post_json("/v1/sessions", &session).await;
    assert!(refused.text().contains("vocabulary"), "{}", refused.text());
    refused.problem(422);
    let fixed = csv("/v1/datasets?labels=y&ignore=zip,fur")
        .await
        .expect(201)
        .id();
    let refused = csv(&format!("/v1/datasets?vocabulary=open&encoding={fixed}")).await;
    assert!(
        refused.text().contains("vocabulary=open"),
        "{}",
        refused.text()
    );
    refused.problem(400);
}

#[tokio::test]
async fn indices_of_a_prediction_begin_where_those_of_the_training_did() {
    let service = Service::start().await;
    let libsvm = "text/x-libsvm";
    // The index 0 decides in the last line.
    let job = trained(
        &service,
        "perceptron/train?seed=1",
        libsvm,
        "1 1:1\n-1 2:1\n1 0:1 1:1\n",
    )
    .await;
    let (model, document) = model_of(&service, &job).await;
    assert_eq!(
        (&document["n"], &document["first_index"]),
        (&json!(3), &json!(0))
    );
    let imported = service.post_json("/v1/models", &document).await;
    let imported = format!("/v1/models/{}", imported.expect(201).id());
    for path in [model, imported] {
        let scores = async |query: &str, body: &str| {
            let path = format!("{path}/predict?{query}");
            let answer = service.post_as(&path, libsvm, body.to_owned()).await;
            answer.expect(200).json()["scores"].clone()
        };
        let bits = json!({"unlabelled": {"examples": ["010", "100", "001"]}});
        let own = service.post_json(&format!("{path}/predict"), &bits).await;
        let own = own.expect(200).json()["scores"].clone();
        // Without the index 0 in the body, too.
        assert_eq!(scores("labels=none", "1:1\n0:1\n2:1\n").await, own);
        assert_eq!(scores("labels=none", "1:1\n").await[0], own[0]);
        assert_eq!(
            scores("labels=none&first_index=1", "2:1\n").await[0],
            own[0]
        );
        let dataset = service
            .post_as("/v1/datasets", libsvm, "1 1:1 3:1\n-1 2:1\n".to_owned())
            .await;
        let dataset = dataset.expect(201).json();
        assert_eq!(dataset["first_index"], 1);
        let asked = json!({"dataset": dataset["id"]});
        let refused = service.post_json(&format!("{path}/evaluate"), &asked).await;
        assert!(
            refused.text().contains("first_index=0"),
            "{}",
            refused.text()
        );
        refused.problem(422);
    }
    // A model of other data reads indices from 1.
    let numbers = "{\"x\":\"101\",\"y\":1}\n{\"x\":\"011\",\"y\":-1}\n";
    let job = trained(&service, "perceptron/train?seed=1", NDJSON, numbers).await;
    let (model, _) = model_of(&service, &job).await;
    let refused = service
        .post_as(
            &format!("{model}/predict?labels=none"),
            libsvm,
            "0:1\n".to_owned(),
        )
        .await;
    assert!(
        refused.text().contains("first_index=0"),
        "{}",
        refused.text()
    );
    assert_eq!(refused.problem(400), "bad-index");
}

#[tokio::test]
async fn sparse_examples_may_have_more_features_than_dense_ones() {
    let service = Service::start().await;
    let body = "1 1:1 2000000:1\n-1 2:1 1999999:1\n1 1:1\n";
    let job = trained(
        &service,
        "perceptron/train?seed=1&params.reading=unsigned",
        "text/x-libsvm",
        body,
    )
    .await;
    let (model, _) = model_of(&service, &job).await;
    let answer = service
        .post_as(
            &format!("{model}/predict?labels=none"),
            "text/x-libsvm",
            "2000000:1\n2:1\n".to_owned(),
        )
        .await;
    assert_eq!(answer.expect(200).json()["predictions"], json!([1, -1]));
    let huge = "1 1:1 4294967295:1\n-1 2:1\n";
    for learner in [
        "perceptron",
        "winnow",
        "kernel-perceptron",
        "directed-drift",
        "sbpi",
        "clipped-perceptron",
        "amp",
    ] {
        let path = format!("/v1/learners/{learner}/train?seed=1");
        let refused = service
            .post_as(&path, "text/x-libsvm", huge.to_owned())
            .await;
        let text = refused.text().to_owned();
        assert!(
            text.contains("bytes") && text.contains("state_bytes_max"),
            "{learner}: {text}"
        );
        assert_eq!(refused.problem(413), "too-large");
    }
}
