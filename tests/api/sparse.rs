//! Sparse rows from a file to a model: its document, its receipt in both replays, its predictions after an import.

use std::collections::BTreeSet;
use std::fs;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::{Value, json};

use crate::service::{Service, program};

const LIBSVM: &str = "text/x-libsvm";

const N: usize = 1_500;

/// The same examples in LIBSVM and as a table with the labels first. Few of many features are active.
fn bodies() -> (String, String) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(4);
    let (mut libsvm, mut table) = (String::new(), String::new());
    for row in 0..40 {
        // The last feature of the first row fixes n.
        let last = (row == 0).then_some(N);
        let common = (0..3).map(|_| random.random_range(1..=12_usize));
        let mut ones: BTreeSet<usize> = common.chain(last).collect();
        ones.extend((0..3).map(|_| random.random_range(1..=N)));
        let label = if ones.range(..5).count() > 1 { 1 } else { -1 };
        let pairs: Vec<String> = ones.iter().map(|one| format!("{one}:1")).collect();
        libsvm.push_str(&format!("{label} {}\n", pairs.join(" ")));
        let cells = (1..=N).map(|j| if ones.contains(&j) { "1" } else { "0" });
        let cells: Vec<&str> = cells.collect();
        table.push_str(&format!("{label},{}\n", cells.join(",")));
    }
    (libsvm, table)
}

#[tokio::test]
async fn models_of_sparse_rows_have_receipts_and_predict_the_same_after_an_import() {
    let service = Service::start().await;
    let (libsvm, table) = bodies();
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
    write("data.libsvm", &libsvm);
    write("data.csv", &table);
    for query in [
        "perceptron/train?seed=1&params.reading=unsigned",
        "perceptron/train?seed=1&params.reading=signed&params.order=shuffled",
        "averaged-perceptron/train?seed=1",
        "winnow/train?seed=1&params.theta=6",
        "kernel-perceptron/train?seed=1&params.kernel.conjunctions=monotone&params.kernel.max_literals=2",
        "kernel-perceptron/train?seed=1&params.kernel.max_literals=1",
        "kernel-winnow/train?seed=1&params.theta=40",
    ] {
        let path = format!("/v1/learners/{query}&stop.max_passes=3");
        let job = service.post_as(&path, LIBSVM, libsvm.clone()).await;
        let job = job.expect(200).json();
        assert_eq!(job["status"], "succeeded", "{query}: {job}");
        let model = format!("/v1/models/{}", job["result"]["model"].as_str().unwrap());
        let document = service.get(&model).await.expect(200).json();
        for vector in document["hypothesis"]["support"]
            .as_array()
            .unwrap_or(&vec![])
        {
            assert!(
                vector["ones"].is_array() && vector.get("x").is_none(),
                "{vector}"
            );
        }
        let receipt = service
            .get(&format!("{model}/receipt"))
            .await
            .expect(200)
            .json();
        write("receipt.json", &receipt.to_string());
        for file in ["data.libsvm", "data.csv"] {
            let mut verify = program();
            verify
                .current_dir(&directory)
                .args(["verify", "receipt.json", file]);
            if file == "data.csv" {
                verify.args(["--param", "labels=first"]);
            }
            let replayed = verify.output().unwrap();
            assert!(replayed.status.success(), "{query}, {file}: {replayed:?}");
        }
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/replay_receipt.py");
        let mut python = std::process::Command::new("python3");
        python
            .current_dir(&directory)
            .args([script, "receipt.json", "data.csv"]);
        let replayed = python.output().unwrap();
        assert!(replayed.status.success(), "{query}: {replayed:?}");
        let imported = service
            .post_json("/v1/models", &document)
            .await
            .expect(201)
            .json();
        let imported = format!("/v1/models/{}", imported["id"].as_str().unwrap());
        let mut predicted: Vec<Value> = Vec::new();
        for model in [&model, &imported] {
            for (media_type, body) in [(LIBSVM, &libsvm), ("text/csv", &table)] {
                let labels = if media_type == LIBSVM {
                    ""
                } else {
                    "?labels=first"
                };
                let path = format!("{model}/predict{labels}");
                let answer = service.post_as(&path, media_type, body.clone()).await;
                predicted.push(answer.expect(200).json()["predictions"].clone());
            }
        }
        predicted.dedup();
        assert_eq!(predicted.len(), 1, "{query}");
    }
}

/// An index above n has the first weight of the learner and is counted. A model that reads inactive features refuses
/// it.
#[tokio::test]
async fn indices_that_a_model_has_never_seen_are_counted() {
    let service = Service::start().await;
    let body = "1 1:1 2:1\n1 1:1\n-1 2:1 3:1\n-1 3:1\n";
    let known = "1 1:1 3:1\n-1 2:1\n";
    let more = "1 1:1 3:1 7:1 4294967295:1\n-1 2:1\n";
    for (learner, added) in [
        ("perceptron/train?seed=1&params.reading=unsigned", 0),
        (
            "averaged-perceptron/train?seed=1&params.reading=unsigned",
            0,
        ),
        ("winnow/train?seed=1", 2),
    ] {
        let path = format!("/v1/learners/{learner}");
        let job = service.post_as(&path, LIBSVM, body).await;
        let job = job.expect(200).json();
        let model = format!("/v1/models/{}", job["result"]["model"].as_str().unwrap());
        let asked = async |part: &str, body: &str| {
            let answer = service
                .post_as(&format!("{model}/{part}"), LIBSVM, body.to_owned())
                .await;
            answer.expect(200).json()
        };
        let expected = asked("predict", known).await;
        let found = asked("predict", more).await;
        assert_eq!(expected["unseen"], Value::Null);
        assert_eq!(found["unseen"], json!([2, 0]), "{learner}");
        assert_eq!(found["scores"][1], expected["scores"][1], "{learner}");
        match added {
            0 => assert_eq!(found["scores"][0], expected["scores"][0], "{learner}"),
            _ => assert_eq!(
                found["scores"][0].as_u64(),
                expected["scores"][0].as_u64().map(|score| score + added)
            ),
        }
        let evaluated = (
            asked("evaluate", more).await,
            asked("evaluate", known).await,
        );
        assert_eq!(evaluated.0["errors"], evaluated.1["errors"], "{learner}");
        // From 0 on, the largest known index is 2.
        let path = format!("{model}/predict?first_index=0");
        let from_0 = service.post_as(&path, LIBSVM, "1 0:1 2:1 6:1\n").await;
        assert_eq!(from_0.expect(200).json()["unseen"], json!([1]));
        for part in ["predict", "evaluate"] {
            let path = format!("{model}/{part}?n=100000");
            let refused = service.post_as(&path, LIBSVM, known).await;
            assert_eq!(refused.problem(422), "wrong-data");
        }
    }
    let path = "/v1/learners/perceptron/train?seed=1&params.reading=signed";
    let job = service.post_as(path, LIBSVM, body).await.expect(200).json();
    let model = format!("/v1/models/{}", job["result"]["model"].as_str().unwrap());
    let refused = service
        .post_as(&format!("{model}/predict"), LIBSVM, more)
        .await;
    assert_eq!(refused.problem(400), "bad-index");
}
