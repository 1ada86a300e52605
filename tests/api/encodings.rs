//! Encodings that the rows of a table decide: scales and fills, the same table under other options, and trainings whose
//! held-out examples decide nothing.

use std::fmt::Write;

use halfspace_core::learners::engine::holdout::{HeldOut, Holdout, HoldoutPart};
use halfspace_core::learners::engine::random::Seed;
use serde_json::{Value, json};

use super::keys::{Caller, named};
use crate::service::{Service, request};

const CSV: &str = "text/csv";

/// Rows whose first column differs from the second by its spread, has gaps and a few numbers far from the others, so
/// that it matters which rows decide its scale.
fn rows() -> Vec<String> {
    (0..60_u32)
        .map(|row| {
            let number = row.wrapping_mul(2_654_435_761) >> 20;
            let small = f64::from(number % 64) / 8.0;
            let large = match row % 12 {
                5 => 90_000.0,
                _ => f64::from(number % 1000),
            };
            let word = ["red", "blue", "green"][row as usize % 3];
            let word = if row == 40 { "once" } else { word };
            let label = if small + large / 500.0 > 5.0 {
                "p"
            } else {
                "q"
            };
            let small = if row % 7 == 3 {
                String::new()
            } else {
                small.to_string()
            };
            format!("{small},{large},{word},{label}")
        })
        .collect()
}

fn table<'r>(rows: impl IntoIterator<Item = &'r String>) -> String {
    let mut text = "small,large,word,y\n".to_owned();
    for row in rows {
        let _ = writeln!(text, "{row}");
    }
    text
}

/// The rows of a part of a split.
fn part(held_out: HeldOut, seed: u64, part: HoldoutPart) -> Vec<String> {
    let rows = rows();
    let holdout = Holdout::new(held_out, rows.len() as u64, Seed(seed)).expect("two parts");
    let numbers = holdout.rows(part);
    numbers
        .iter()
        .map(|&row| rows[row as usize].clone())
        .collect()
}

async fn uploaded(service: &Service, query: &str, body: &str) -> Value {
    let path = format!("/v1/datasets?{query}");
    let answer = service.post_as(&path, CSV, body.to_owned()).await;
    answer.expect(201).json()
}

async fn trained(service: &Service, query: &str, body: &str) -> Value {
    let path = format!("/v1/learners/perceptron/train?{query}");
    let answer = service.post_as(&path, CSV, body.to_owned()).await;
    let job = answer.expect(200).json();
    assert_eq!(job["status"], "succeeded", "{job}");
    job
}

async fn model_of(service: &Service, job: &Value) -> Value {
    let id = job["result"]["model"].as_str().expect("a model");
    let model = service.get(&format!("/v1/models/{id}")).await;
    model.expect(200).json()
}

const FITS: &str = "missing=mean&scale=standard";

#[tokio::test]
async fn datasets_are_encoded_again_as_their_files_would_be() {
    let service = Service::start().await;
    let body = table(&rows());
    let first = uploaded(&service, FITS, &body).await;
    let id = first["id"].as_str().expect("an id");
    let path = format!("/v1/datasets/{id}/encode");
    for query in [
        "missing=median&scale=range",
        "missing=drop",
        "numbers=thermometer&bins=3",
        "ignore=small",
        "labels=word&missing=most-frequent&positive=red",
        "vocabulary=open",
        "missing=mean&kinds=large:nominal",
    ] {
        let again = service.post(&format!("{path}?{query}&name=again")).await;
        let again = again.expect(201).json();
        let anew = uploaded(&service, query, &body).await;
        for member in [
            "sha256",
            "table",
            "classes",
            "features",
            "bytes",
            "cells_bytes",
        ] {
            assert_eq!(again[member], anew[member], "{query} {member}");
        }
        assert_eq!(again["name"], "again");
        // The copy has cells of its own.
        let id = again["id"].as_str().expect("an id");
        let third = service
            .post(&format!("/v1/datasets/{id}/encode?{FITS}"))
            .await;
        let third = third.expect(201).json();
        let labels = if query.contains("labels=") {
            "other"
        } else {
            ""
        };
        assert_eq!(
            third["sha256"] == first["sha256"],
            labels.is_empty(),
            "{query}"
        );
    }
    // A table of numbers keeps no cells, because its examples are its cells.
    let plain = "a,b,y\n1,2.5,1\n2,3,0\n3,4,1\n";
    let numbers = uploaded(&service, "", plain).await;
    assert_eq!(numbers["cells_bytes"], 0);
    let id = numbers["id"].as_str().expect("an id");
    let again = service
        .post(&format!("/v1/datasets/{id}/encode?scale=range"))
        .await;
    let again = again.expect(201).json();
    let anew = uploaded(&service, "scale=range", plain).await;
    assert_eq!(again["sha256"], anew["sha256"]);
    assert!(again["cells_bytes"].as_u64() > Some(0));
}

#[tokio::test]
async fn encoding_again_has_the_limits_of_an_upload() {
    let service = Service::start().await;
    let body = table(&rows());
    let own = named("own");
    let own = Caller::new(
        &service,
        halfspace::config::NewKey {
            bytes: Some(8_000),
            ..own
        },
    )
    .await;
    let sent = own
        .send("POST", &format!("/v1/datasets?{FITS}"), CSV, &body)
        .await;
    let dataset = sent.expect(201).json();
    let (id, bytes) = (dataset["id"].as_str().expect("an id"), &dataset["bytes"]);
    assert!(bytes.as_u64() > dataset["cells_bytes"].as_u64());
    let used = own.get("/v1/limits").await.expect(200).json();
    assert_eq!(used["own"]["stored_bytes"]["used"], *bytes, "{used}");
    let path = format!("/v1/datasets/{id}/encode?{FITS}");
    let mut refused = None;
    for _ in 0..8 {
        let answer = own.send("POST", &path, CSV, "").await;
        if answer.status.as_u16() != 201 {
            refused = Some(answer);
            break;
        }
    }
    let refused = refused.expect("the quota ends");
    assert_eq!(refused.problem(429), "quota-full");
    // Another key has no such dataset.
    let other = Caller::new(&service, named("other")).await;
    let answer = other.send("POST", &path, CSV, "").await;
    assert_eq!(answer.problem(404), "not-found");
    own.send("DELETE", &format!("/v1/datasets/{id}"), "", "")
        .await
        .expect(204);
    let answer = own.send("POST", &path, CSV, "").await;
    assert_eq!(answer.problem(404), "not-found");
}

#[tokio::test]
async fn encoding_again_names_what_is_wrong() {
    let service = Service::start().await;
    let dataset = uploaded(&service, FITS, &table(&rows())).await;
    let path = format!(
        "/v1/datasets/{}/encode",
        dataset["id"].as_str().expect("an id")
    );
    for (query, status, code, told) in [
        (
            "delimiter=%3B",
            400,
            "bad-option",
            "a table that has been read",
        ),
        (
            "charset=utf-8",
            400,
            "bad-option",
            "a table that has been read",
        ),
        (
            "labels=none&missing=value",
            422,
            "table-option",
            "`missing=mean` fills",
        ),
        (
            "missing=drop&labels=nothing",
            422,
            "table-option",
            "`small`, `large`",
        ),
        (
            "scale=cubic",
            400,
            "invalid-parameter",
            "none, standard, range",
        ),
        ("missing=zero", 400, "invalid-parameter", "most-frequent"),
        (
            "scale=range&numbers=thermometer",
            400,
            "bad-option",
            "`scale`",
        ),
        ("rows=3", 400, "invalid-parameter", "unknown parameter"),
        (
            "missing=drop&assume=uniform-positive",
            400,
            "bad-option",
            "independent",
        ),
    ] {
        let answer = service.post(&format!("{path}?{query}")).await;
        assert_eq!(answer.problem(status), code, "{query}");
        let detail = answer.json()["detail"].to_string();
        assert!(detail.contains(told), "{query}: {detail}");
    }
    let examples =
        json!({"data": {"labelled": {"examples": [{"x": "10", "y": 1}, {"x": "01", "y": 0}]}}});
    let listed = service.post_json("/v1/datasets", &examples).await;
    let path = format!("/v1/datasets/{}/encode", listed.expect(201).id());
    let answer = service.post(&path).await;
    assert_eq!(answer.problem(422), "wrong-data");
    assert!(
        answer.json()["detail"]
            .to_string()
            .contains("did not come as a table")
    );
    let path = format!(
        "/v1/datasets/{}/encode?missing=drop",
        dataset["id"].as_str().expect("an id")
    );
    let answer = service.post_json(&path, &json!({"missing": "drop"})).await;
    assert_eq!(answer.problem(400), "schema");
    assert!(answer.json()["detail"].to_string().contains("in the query"));
    // A key gives the same dataset again.
    let path = format!(
        "/v1/datasets/{}/encode?missing=drop",
        dataset["id"].as_str().expect("an id")
    );
    let keyed = || request("POST", &path, &[("idempotency-key", "once")], "");
    let [first, second] = [service.send(keyed()).await, service.send(keyed()).await];
    assert_eq!(first.expect(201).id(), second.expect(201).id());
}

#[tokio::test]
async fn held_out_rows_decide_no_feature() {
    let service = Service::with(&["--resident-bytes-max", "1"]).await;
    let (rows, seed) = (rows(), 11);
    let body = table(&rows);
    let share = HeldOut::Share(0.4);
    let shown = part(share, seed, HoldoutPart::Shown);
    let split = format!("holdout=0.4&seed={seed}");
    for fits in [
        FITS,
        "missing=indicator&scale=range",
        "numbers=thermometer&bins=4",
        "missing=most-frequent",
    ] {
        // The rows that are not held out, alone.
        let alone = model_of(&service, &trained(&service, fits, &table(&shown)).await).await;
        let dataset = uploaded(&service, fits, &body).await;
        assert_ne!(
            dataset["table"]["columns"], alone["table"]["columns"],
            "{fits}"
        );
        let sent = trained(&service, &format!("{fits}&{split}"), &body).await;
        let by_id = json!({"dataset": dataset["id"]});
        let path = format!("/v1/learners/perceptron/train?{split}");
        let named = service.post_json(&path, &by_id).await.expect(200).json();
        let queued = json!({"train": {"learner": {"name": "perceptron"}, "data": by_id, "holdout": 0.4, "seed": seed}});
        let path = service.submit(&queued).await;
        let queued = service.until_status(&path, "succeeded").await;
        for job in [&sent, &named, &queued] {
            let model = model_of(&service, job).await;
            assert_eq!(
                model["table"]["columns"], alone["table"]["columns"],
                "{fits}"
            );
            assert_eq!(model["hypothesis"], alone["hypothesis"], "{fits}");
            assert_eq!(job["table"]["columns"], alone["table"]["columns"], "{fits}");
            assert_eq!(job["result"]["table"], Value::Null, "{fits}");
            assert_eq!(
                job["result"]["training"], sent["result"]["training"],
                "{fits}"
            );
            assert_eq!(
                job["result"]["holdout"], sent["result"]["holdout"],
                "{fits}"
            );
            // The digest of the model is that of the table under its encoding.
            let id = model["id"].as_str().expect("an id");
            let under = uploaded(&service, &format!("encoding={id}&unknown=zero"), &body).await;
            assert_eq!(under["sha256"], model["data_sha256"], "{fits}");
        }
        let without = trained(&service, &format!("{fits}&seed={seed}"), &body).await;
        let model = model_of(&service, &without).await;
        assert_eq!(
            model["table"]["columns"], dataset["table"]["columns"],
            "{fits}"
        );
        assert_eq!(model["data_sha256"], dataset["sha256"], "{fits}");
    }
}

#[tokio::test]
async fn folds_of_a_comparison_are_encoded_by_their_own_rows() {
    let service = Service::start().await;
    let (folds, seed) = (5, 3);
    let body = table(&rows());
    let dataset = uploaded(&service, FITS, &body).await;
    let (mut expected, mut leaking) = (Vec::new(), Vec::new());
    for index in 0..folds {
        let fold = HeldOut::Fold { index, folds };
        let shown = table(&part(fold, seed, HoldoutPart::Shown));
        let held = table(&part(fold, seed, HoldoutPart::HeldOut));
        let encoded = format!(
            "encoding={}&unknown=zero",
            dataset["id"].as_str().expect("an id")
        );
        for (query, errors) in [(FITS, &mut expected), (encoded.as_str(), &mut leaking)] {
            let job = trained(&service, query, &shown).await;
            let model = job["result"]["model"].as_str().expect("a model");
            let path = format!("/v1/models/{model}/evaluate?unknown=zero&labels=y");
            let evaluated = service.post_as(&path, CSV, held.clone()).await;
            errors.push(evaluated.expect(200).json()["errors"].clone());
        }
    }
    assert_ne!(expected, leaking, "the data must tell the two apart");
    let objects: Vec<Value> = rows()
        .iter()
        .map(|row| {
            let cells: Vec<&str> = row.split(',').collect();
            let small: Option<f64> = cells[0].parse().ok();
            let large: f64 = cells[1].parse().expect("a number");
            json!({"small": small, "large": large, "word": cells[2], "y": cells[3]})
        })
        .collect();
    let sent = json!({"table": {"rows": objects, "missing": "mean", "scale": "standard"}});
    for data in [json!({"dataset": dataset["id"]}), sent] {
        let job = json!({"compare": {"data": data, "seed": seed, "folds": folds,
            "learners": [{"name": "perceptron"}]}});
        let job = service.run(&job).await;
        assert_eq!(job["status"], "succeeded", "{job}");
        let found = job["result"]["learners"][0]["folds"]
            .as_array()
            .expect("folds");
        let errors: Vec<Value> = found.iter().map(|fold| fold["errors"].clone()).collect();
        assert_eq!(errors, expected);
    }
    // The trainings of a grid hold the same rows out as a single one.
    let train = json!({"learner": {"name": "perceptron"}, "data": {"dataset": dataset["id"]},
        "holdout": 0.4, "seed": 11});
    let alone = service.run(&json!({"train": train})).await;
    let grid = json!({"grid": {"train": train, "over": {"learner.params.bias": [true, false]}}});
    let grid = service.run(&grid).await;
    let cells = grid["result"]["trainings"].as_array().expect("trainings");
    let errors = alone["result"]["holdout"]["errors"]
        .as_u64()
        .expect("errors");
    let found: Vec<_> = cells
        .iter()
        .map(|cell| cell["holdout"]["errors"].as_u64())
        .collect();
    assert!(found.contains(&Some(errors)), "{errors}: {grid}");
}

#[tokio::test]
async fn models_that_scale_read_tables_alone() {
    let service = Service::start().await;
    let job = trained(&service, "scale=range", "a,b,y\n1,2,1\n3,5,0\n4,9,1\n").await;
    let model = model_of(&service, &job).await;
    assert_eq!(model["features"], json!(["a.scaled", "b.scaled"]));
    let path = format!(
        "/v1/models/{}/predict",
        model["id"].as_str().expect("an id")
    );
    let rows = json!({"rows": [{"a": 2.5, "b": 9}]});
    service.post_json(&path, &rows).await.expect(200);
    for (media_type, body) in [
        (
            "application/json",
            r#"{"unlabelled": {"examples": [[0.5, 1.0]]}}"#,
        ),
        ("application/x-ndjson", "{\"x\": [0.5, 1.0]}\n"),
        ("text/x-libsvm", "1:0.5 2:1\n"),
    ] {
        let answer = service.post_as(&path, media_type, body).await;
        assert_eq!(answer.problem(422), "table-option", "{media_type}");
        let detail = answer.json()["detail"].to_string();
        assert!(
            detail.contains("whether its numbers are scaled"),
            "{detail}"
        );
    }
    // Examples without a table do not tell it either, wherever they meet the model.
    let id = &model["id"];
    let numbers =
        json!({"labelled": {"examples": [{"x": [0.5, 1.0], "y": 1}, {"x": [0.0, 1.0], "y": 0}]}});
    let plain = json!({"dataset": service.post_json("/v1/datasets", &json!({"data": numbers})).await.expect(201).id()});
    let evaluate = |data: &Value| json!({"evaluate": {"data": data, "model": id}});
    for data in [&numbers, &plain] {
        let answer = service.post_json("/v1/jobs", &evaluate(data)).await;
        assert_eq!(answer.problem(422), "wrong-data", "{data}");
    }
    // A dataset that was encoded by the model does.
    let body = "b,a,y\n2,1,1\n5,3,0\n9,4,1\n";
    let encoded = uploaded(
        &service,
        &format!("encoding={}", id.as_str().expect("an id")),
        body,
    )
    .await;
    let encoded = json!({"dataset": encoded["id"]});
    let job = service.run(&evaluate(&encoded)).await;
    assert_eq!(job["status"], "succeeded", "{job}");
    for verb in ["predict", "evaluate"] {
        let path = format!("/v1/models/{}/{verb}", id.as_str().expect("an id"));
        service.post_json(&path, &encoded).await.expect(200);
    }
    let code = format!(
        "/v1/models/{}/code?language=python",
        model["id"].as_str().expect("an id")
    );
    let answer = service.get(&code).await;
    assert!(
        answer.json()["detail"].to_string().contains("scaled"),
        "{}",
        answer.text()
    );
}

#[tokio::test]
async fn rows_that_a_training_learns_from_must_make_a_table() {
    let service = Service::start().await;
    // Every row but one is held out, so that no threshold is left.
    let body = "x,y\n1,p\n2,q\n3,p\n4,q\n5,p\n6,q\n";
    let path = "/v1/learners/perceptron/train?numbers=thermometer&holdout=0.8&seed=1";
    let job = service.post_as(path, CSV, body).await.expect(200).json();
    assert_eq!(job["status"], "failed", "{job}");
    assert_eq!(job["error"]["code"], "bad-data");
    let detail = job["error"]["detail"].as_str().expect("a reason");
    assert!(
        detail.contains("not held out") && detail.contains("no features"),
        "{detail}"
    );
}

#[tokio::test]
async fn columns_with_gaps_stay_columns_in_every_part() {
    let service = Service::start().await;
    let mut body = "flag,when,x,y\n".to_owned();
    for row in 0..20 {
        let (flag, when) = match row {
            3 => ("yes", "2024-05-06"),
            _ => ("", ""),
        };
        let _ = writeln!(body, "{flag},{when},{}.5,{}", row * row % 17, row % 2);
    }
    for query in [
        "missing=most-frequent",
        "numbers=thermometer",
        "missing=mean&scale=range",
    ] {
        let dataset = uploaded(&service, query, &body).await;
        let job = json!({"compare": {"data": {"dataset": dataset["id"]}, "seed": 1, "folds": 10,
            "learners": [{"name": "perceptron"}]}});
        let job = service.run(&job).await;
        assert_eq!(job["status"], "succeeded", "{query}: {job}");
    }
}
