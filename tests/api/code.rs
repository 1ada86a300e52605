//! `GET /v1/models/{id}/code`: programs of a model, their media types, and the refusals.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::service::{Service, request, skipped};

const TABLE: &str =
    "odor,cap,age,class\nfoul,3,41,p\nnone,1,7,e\n?,2,30,e\nfoul,1,2,p\nnone,3,60,p\n";

/// Trains on the table and returns the path of the model.
async fn trained(service: &Service, learner: &str) -> String {
    let path = format!("/v1/learners/{learner}");
    let headers = [("content-type", "text/csv"), ("prefer", "wait=60")];
    let answer = service.send(request("POST", &path, &headers, TABLE)).await;
    let model = answer.expect(200).json()["result"]["model"].clone();
    format!("/v1/models/{}", model.as_str().unwrap())
}

#[tokio::test]
async fn program_of_each_language_has_its_media_type() {
    let service = Service::start().await;
    let model = trained(&service, "perceptron/train?seed=1&numbers=thermometer").await;
    for (language, media_type, sign) in [
        ("python", "text/x-python", "def predict(row):"),
        ("c", "text/x-c", "int main(void)"),
        ("rust", "text/x-rust", "fn main()"),
        ("sqlite", "application/sql", "AS predicted"),
        ("postgresql", "application/sql", "AS predicted"),
        ("excel", "text/plain", "=IF("),
    ] {
        let program = service
            .get(&format!("{model}/code?language={language}"))
            .await
            .expect(200);
        assert_eq!(
            program.header("content-type"),
            Some(&*format!("{media_type}; charset=utf-8"))
        );
        assert!(
            program.text().contains(sign),
            "{language}: {}",
            program.text()
        );
        assert!(program.text().contains("foul"), "{language}");
    }
}

/// The program in Python labels raw rows like the model, in any order of the columns.
#[tokio::test]
async fn program_in_python_answers_like_the_model() {
    let service = Service::start().await;
    let rows = "class,age,cap,odor\np,5,2,foul\ne,33,1,none\ne,61,3,?\np,0,1,NA\n";
    for learner in [
        "perceptron/train?seed=1",
        "perceptron/train?seed=1&numbers=thermometer&bins=3",
        "kernel-perceptron/train?seed=1&numbers=thermometer",
    ] {
        let model = trained(&service, learner).await;
        let predicted = service
            .post_as(&format!("{model}/predict"), "text/csv", rows)
            .await;
        let predicted = predicted.expect(200).json()["predicted_classes"].clone();
        let program = service
            .get(&format!("{model}/code?language=python"))
            .await
            .expect(200);
        let mut python = Command::new("python3");
        let python = python.args(["-c", program.text()]);
        let Ok(mut child) = python.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() else {
            skipped("python3 does not start");
            return;
        };
        child
            .stdin
            .take()
            .unwrap()
            .write_all(rows.as_bytes())
            .unwrap();
        let output = child.wait_with_output().unwrap();
        let labels: Vec<Value> = String::from_utf8(output.stdout)
            .unwrap()
            .lines()
            .map(|line| json!(line))
            .collect();
        assert_eq!(Value::from(labels), predicted, "{learner}");
    }
}

/// The program in Python takes what a prediction takes: names, with values or without, known or not.
#[tokio::test]
async fn program_over_names_answers_like_the_model() {
    let service = Service::start().await;
    let ndjson = "{\"x\":[\"the\",\"dog\"],\"y\":\"animal\"}\n{\"x\":[\"a\",\"car\"],\"y\":\"thing\"}\n\
                  {\"x\":[\"a\",\"dog\"],\"y\":\"animal\"}\n{\"x\":[\"an\",\"idea\"],\"y\":\"thought\"}\n";
    let examples = json!([
        ["the", "dog"],
        ["car", "wolf", "fox"],
        [],
        ["idea", "x", "y", "z"]
    ]);
    for learner in [
        "perceptron/train?seed=1",
        "averaged-perceptron/train?seed=1",
        "winnow/train?seed=1",
        "winnow/train?seed=1&positive=animal",
        "kernel-perceptron/train?seed=1",
        "kernel-winnow/train?seed=1",
    ] {
        let path = format!("/v1/learners/{learner}");
        let job = service
            .post_as(&path, "application/x-ndjson", ndjson)
            .await
            .expect(200)
            .json();
        let model = format!("/v1/models/{}", job["result"]["model"].as_str().unwrap());
        let asked = json!({"unlabelled": {"examples": examples}});
        let predicted = service.post_json(&format!("{model}/predict"), &asked).await;
        let predicted = predicted.expect(200).json()["predicted_classes"].clone();
        let program = service
            .get(&format!("{model}/code?language=python"))
            .await
            .expect(200);
        let import = format!(
            "import json\n{}\nprint(json.dumps([predict(example) for example in {examples}]))",
            program.text().replace("__main__", "a program")
        );
        let Ok(output) = Command::new("python3").args(["-c", &import]).output() else {
            skipped("python3 does not start");
            return;
        };
        let told = String::from_utf8_lossy(&output.stderr);
        let found: Value = serde_json::from_slice(&output.stdout).expect(&told);
        assert_eq!(found, predicted, "{learner}");
        let formula = service.get(&format!("{model}/code?language=excel")).await;
        assert_eq!(formula.problem(422), "inexpressible");
    }
}

#[tokio::test]
async fn inexact_programs_are_refused_with_the_limit() {
    let service = Service::start().await;
    let real = trained(&service, "perceptron/train?seed=1").await;
    for (language, limit) in [
        ("sqlite", "whole"),
        ("postgresql", "whole"),
        ("excel", "whole"),
    ] {
        let refused = service
            .get(&format!("{real}/code?language={language}"))
            .await;
        assert_eq!(refused.problem(422), "inexpressible");
        assert!(refused.text().contains(limit), "{}", refused.text());
    }
    let many: String = (0..300).map(|at| format!(",a{at}")).collect();
    let ones = ",1".repeat(300);
    let zeros = ",0".repeat(300);
    let csv = format!("y{many}\n1{ones}\n0{zeros}\n");
    let path = "/v1/learners/kernel-perceptron/train?seed=1&params.kernel.conjunctions=all";
    let headers = [("content-type", "text/csv"), ("prefer", "wait=60")];
    let kernel = service
        .send(request("POST", path, &headers, csv))
        .await
        .expect(200)
        .json();
    let kernel = format!("/v1/models/{}", kernel["result"]["model"].as_str().unwrap());
    for (language, limit) in [
        ("c", "63 are exact"),
        ("sqlite", "63 are exact"),
        ("excel", "47 are exact"),
    ] {
        let refused = service
            .get(&format!("{kernel}/code?language={language}"))
            .await;
        assert_eq!(refused.problem(422), "inexpressible");
        assert!(refused.text().contains(limit), "{}", refused.text());
    }
    service
        .get(&format!("{kernel}/code?language=postgresql"))
        .await
        .expect(200);
    for query in ["", "?language=cobol", "?language=c&x=1"] {
        let refused = service.get(&format!("{real}/code{query}")).await;
        assert_eq!(refused.problem(400), "invalid-parameter");
    }
}

/// Trains on two rows of `n` features and returns the path of the model.
async fn wide(service: &Service, n: usize) -> String {
    let headers = [("content-type", "text/x-libsvm"), ("prefer", "wait=60")];
    let path = "/v1/learners/perceptron/train?seed=1";
    let body = format!("+1 {n}:1\n-1 1:1\n");
    let answer = service.send(request("POST", path, &headers, body)).await;
    let model = answer.expect(200).json()["result"]["model"].clone();
    format!("/v1/models/{}", model.as_str().unwrap())
}

/// The description of such a program would take gigabytes.
#[tokio::test]
async fn program_of_a_wide_model_is_refused_with_its_limit_and_remedy() {
    let service = Service::start().await;
    let model = wide(&service, 1 << 20).await;
    for language in ["python", "c", "rust", "sqlite", "postgresql", "excel"] {
        let refused = service
            .get(&format!("{model}/code?language={language}"))
            .await;
        assert_eq!(refused.problem(422), "inexpressible", "{language}");
        let told = refused.text();
        assert!(
            told.contains("16777216 bytes") && told.contains("weights.npy"),
            "{told}"
        );
    }
    let weights = service.get(&format!("{model}/weights.npy")).await;
    assert!(weights.expect(200).body.len() >= 8 << 20);
}

/// A large document is read and written in the blocking pool, and is the same document.
#[tokio::test]
async fn the_document_of_a_wide_model_has_every_weight() {
    let service = Service::start().await;
    let model = wide(&service, 50_000).await;
    let answer = service.get(&model).await.expect(200);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let document = answer.json();
    assert_eq!(
        document["hypothesis"]["weights"].as_array().unwrap().len(),
        50_000
    );
    service.get(&format!("{model}/receipt")).await.expect(200);
}
