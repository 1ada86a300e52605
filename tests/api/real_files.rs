//! Real files as their authors publish them: a LIBSVM file of counts with 20 classes, sparse reals, bits, and tables of
//! ARFF with several labels. Each goes the whole way from a preview to predictions for held-out rows, and must give the
//! figures that were found when it was added. `scripts/real-data` names the sources of the files and runs these tests.

use std::fs;
use std::io::{ErrorKind, Read};
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::service::{Answer, Service, program, request, skipped};

const LIBSVM: &str = "text/x-libsvm";
const ARFF: &str = "text/x-arff";

/// A file of the folder that the script was given, or of the one beside the repository.
fn file(name: &str) -> Option<Vec<u8>> {
    let beside = || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data"));
    let folder = std::env::var_os("HALFSPACE_REAL_DATA").map_or_else(beside, PathBuf::from);
    match fs::read(folder.join(name)) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            skipped(format_args!("there is no {name} in {}", folder.display()));
            None
        }
        Err(error) => panic!("{name}: {error}"),
    }
}

/// Rows to learn from and others to judge by, in one format.
struct Real {
    format: &'static str,
    extension: &'static str,
    /// The parameters of the table.
    query: &'static str,
    train: Vec<u8>,
    test: Vec<u8>,
}

/// What was found: the examples and features of the training rows, and the errors on these and on the others.
#[derive(Debug, PartialEq)]
struct Found {
    examples: u64,
    n: u64,
    training_errors: u64,
    test_errors: u64,
}

fn split_lines(text: &[u8], first: usize) -> (Vec<u8>, Vec<u8>) {
    let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    (lines[..first].concat(), lines[first..].concat())
}

async fn posted(service: &Service, path: &str, real: &Real, body: &[u8]) -> Answer {
    service.post_as(path, real.format, body.to_vec()).await
}

/// The whole way of a user: look, upload, learn, judge, predict, move the model, verify the receipt.
async fn learnt(service: &Service, learner: &str, real: &Real) -> Found {
    let query = real.query;
    let path = format!("/v1/previews?rows=2&{query}");
    let preview = posted(service, &path, real, &real.train)
        .await
        .expect(200)
        .json();
    assert_eq!(preview["refusal"], Value::Null, "{query}");
    let path = format!("/v1/datasets?{query}");
    let dataset = posted(service, &path, real, &real.train)
        .await
        .expect(201)
        .json();
    assert_eq!(dataset["sha256"], preview["data"]["sha256"]);
    let path = format!("/v1/learners/{learner}&seed=1");
    let data = json!({"dataset": dataset["id"]});
    let job = service.post_json(&path, &data).await.expect(200).json();
    assert_eq!(job["status"], "succeeded", "{job}");
    let model = format!("/v1/models/{}", job["result"]["model"].as_str().unwrap());
    let path = format!("{model}/evaluate");
    let judged = posted(service, &path, real, &real.test)
        .await
        .expect(200)
        .json();
    let path = format!("{model}/predict");
    let predicted = posted(service, &path, real, &real.test).await.expect(200);
    let answer = predicted.json();
    assert_eq!(
        json!(answer["predictions"].as_array().unwrap().len()),
        judged["examples"]
    );
    verify(service, &model, real).await;
    // The tests check each exchange against its schema, which takes minutes for 20 lists of 62,000 weights.
    if job["result"].get("members").is_some() {
        return found(&dataset, &job, &judged);
    }
    let file = service.get(&model).await.expect(200);
    let moved = service
        .post_as("/v1/models", "application/json", file.body.clone())
        .await;
    let path = format!("/v1/models/{}/predict", moved.expect(201).id());
    let again = posted(service, &path, real, &real.test)
        .await
        .expect(200)
        .json();
    assert_eq!(again["predictions"], answer["predictions"]);
    found(&dataset, &job, &judged)
}

fn found(dataset: &Value, job: &Value, judged: &Value) -> Found {
    let number = |value: &Value| value.as_u64().unwrap();
    Found {
        examples: number(&dataset["examples"]),
        n: number(&dataset["n"]),
        training_errors: number(&job["result"]["training"]["errors"]),
        test_errors: number(&judged["errors"]),
    }
}

async fn verify(service: &Service, model: &str, real: &Real) {
    let directory = tempfile::tempdir().unwrap();
    let receipt = service.get(&format!("{model}/receipt")).await.expect(200);
    fs::write(directory.path().join("receipt.json"), &receipt.body).unwrap();
    let data = format!("data.{}", real.extension);
    fs::write(directory.path().join(&data), &real.train).unwrap();
    let mut verify = program();
    verify
        .current_dir(&directory)
        .args(["verify", "receipt.json", &data]);
    for parameter in real
        .query
        .split('&')
        .filter(|parameter| !parameter.is_empty())
    {
        verify.args(["--param", parameter]);
    }
    let replayed = verify.output().unwrap();
    assert!(replayed.status.success(), "{replayed:?}");
}

/// The rows of a file of Vowpal Wabbit with one namespace, as LIBSVM.
fn without_namespace(text: &[u8]) -> Vec<u8> {
    let text = String::from_utf8(text.to_vec()).unwrap();
    text.replace("|f ", "").into_bytes()
}

/// One training on a file, and the figures that it found.
struct Expected {
    learner: &'static str,
    query: &'static str,
    found: Found,
}

fn expected(
    learner: &'static str,
    query: &'static str,
    [examples, n, training_errors, test_errors]: [u64; 4],
) -> Expected {
    let found = Found {
        examples,
        n,
        training_errors,
        test_errors,
    };
    Expected {
        learner,
        query,
        found,
    }
}

async fn all_learnt(
    format: &'static str,
    extension: &'static str,
    files: (Vec<u8>, Vec<u8>),
    trainings: Vec<Expected>,
) {
    let service = Service::start().await;
    let (train, test) = files;
    let mut real = Real {
        format,
        extension,
        query: "",
        train,
        test,
    };
    let mut faults = Vec::new();
    for Expected {
        learner,
        query,
        found: expected,
    } in trainings
    {
        real.query = query;
        let learner = format!("{learner}/train?stop.max_passes=20");
        let found = learnt(&service, &learner, &real).await;
        if found != expected {
            faults.push(format!("{learner} {query}: {found:?}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[tokio::test]
#[ignore = "reads real files: scripts/real-data runs it"]
async fn real_data_files_of_news20_are_learnt_by_index_and_by_name() {
    let Some(packed) = file("news20-multiclass.gz") else {
        return;
    };
    let mut text = Vec::new();
    flate2::read::GzDecoder::new(&packed[..])
        .read_to_end(&mut text)
        .unwrap();
    let trainings = vec![
        expected("perceptron", "", [1_500, 61_992, 0, 225]),
        expected("perceptron", "vocabulary=open", [1_500, 24_592, 0, 225]),
    ];
    all_learnt(LIBSVM, "libsvm", split_lines(&text, 1_500), trainings).await;
    // The whole file as it is published.
    let service = Service::start().await;
    let headers = [("content-type", LIBSVM), ("content-encoding", "gzip")];
    let asked = request("POST", "/v1/datasets", &headers, packed);
    let dataset = service.send(asked).await.expect(201).json();
    assert_eq!(dataset["examples"], 2_000);
    assert_eq!(dataset["classes"].as_array().unwrap().len(), 20);
}

#[tokio::test]
#[ignore = "reads real files: scripts/real-data runs it"]
async fn real_data_files_of_rcv1_are_learnt() {
    let (Some(train), Some(test)) = (file("rcv1_small.dat"), file("rcv1_small_test.data")) else {
        return;
    };
    let files = (without_namespace(&train), without_namespace(&test));
    let open = "vocabulary=open";
    let trainings = vec![
        expected("perceptron", "", [1_000, 47_117, 0, 69]),
        expected("averaged-perceptron", "", [1_000, 47_117, 0, 67]),
        expected("averaged-perceptron", open, [1_000, 9_738, 0, 67]),
    ];
    all_learnt(LIBSVM, "libsvm", files, trainings).await;
}

#[tokio::test]
#[ignore = "reads real files: scripts/real-data runs it"]
async fn real_data_files_of_a9a_are_learnt() {
    let (Some(train), Some(test)) = (file("a9a"), file("a9a.t")) else {
        return;
    };
    let trainings = vec![
        expected("averaged-perceptron", "", [32_560, 122, 4_900, 2_447]),
        expected("winnow", "vocabulary=open", [32_560, 122, 6_585, 3_324]),
    ];
    all_learnt(LIBSVM, "libsvm", (train, test), trainings).await;
}

/// One label of a multi-label table, without the others.
async fn label_learnt(name: &str, trainings: Vec<Expected>) {
    let parts = ["train", "test"].map(|part| file(&format!("{name}-{part}.arff")));
    if let [Some(train), Some(test)] = parts {
        all_learnt(ARFF, "arff", (train, test), trainings).await;
    }
}

#[tokio::test]
#[ignore = "reads real files: scripts/real-data runs it"]
async fn real_data_files_of_mulan_are_learnt_label_by_label() {
    let fixed = "labels=A.A8&ignore=-53..-1";
    let open = "labels=A.A8&ignore=-53..-1&vocabulary=open";
    let trainings = vec![
        expected("perceptron", fixed, [1_123, 1_001, 12, 10]),
        expected("averaged-perceptron", open, [1_123, 1_001, 8, 11]),
        expected("winnow", open, [1_123, 1_001, 18, 8]),
    ];
    label_learnt("enron", trainings).await;
    let fixed = "labels=TAG_social&ignore=TAG_2005..-1";
    let open = "labels=TAG_social&ignore=-159..-1&vocabulary=open";
    let trainings = vec![
        expected("averaged-perceptron", fixed, [4_880, 1_836, 82, 64]),
        expected("averaged-perceptron", open, [4_880, 1_836, 5, 69]),
    ];
    label_learnt("bibtex", trainings).await;
    // The vocabulary has the words of the rows, and the columns also those of no row.
    let fixed = "labels=-9&ignore=-45..-1";
    let open = "labels=-9&ignore=-45..-1&vocabulary=open";
    let trainings = vec![
        expected("perceptron", fixed, [333, 1_449, 0, 36]),
        expected("perceptron", open, [333, 894, 0, 27]),
    ];
    label_learnt("medical", trainings).await;
    // A name of a column has a quote after a backslash.
    let query = "labels=TAG_programming&ignore=-983..-1";
    let trainings = vec![expected(
        "averaged-perceptron",
        query,
        [12_920, 500, 1_703, 454],
    )];
    label_learnt("delicious", trainings).await;
    // The first column has 662 names of proteins.
    let fixed = "labels=PDOC00154&ignore=protein,-27..-1";
    let open = "labels=PDOC00154&ignore=-27..-1&vocabulary=open";
    let trainings = vec![
        expected("perceptron", fixed, [463, 2_370, 0, 0]),
        expected("perceptron", open, [463, 1_747, 0, 0]),
    ];
    label_learnt("genbase", trainings).await;
}
