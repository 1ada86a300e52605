//! Weights of classes and of examples in trainings, comparisons and grids.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::service::Service;

const CSV: &str = "text/csv";

/// Rows of two classes, one of which is rare, each with a mark in the first column.
fn rows() -> Vec<[String; 3]> {
    (0..60_u32)
        .map(|row| {
            let number = row.wrapping_mul(2_654_435_761) >> 24;
            let class = if row % 6 == 0 { "rare" } else { "common" };
            [
                number.to_string(),
                (number % 7).to_string(),
                class.to_owned(),
            ]
        })
        .collect()
}

/// The rows as CSV, each as often as `copies` says.
fn table(copies: impl Fn(&str) -> usize) -> String {
    let mut text = "a,b,y\n".to_owned();
    for [a, b, y] in rows() {
        (0..copies(&y)).for_each(|_| {
            let _ = writeln!(text, "{a},{b},{y}");
        });
    }
    text
}

async fn trained(service: &Service, learner: &str, query: &str, body: &str) -> Value {
    let path = format!("/v1/learners/{learner}/train?{query}");
    let answer = service.post_as(&path, CSV, body.to_owned()).await;
    let job = answer.expect(200).json();
    assert_eq!(job["status"], "succeeded", "{job}");
    job["result"].clone()
}

#[tokio::test]
async fn whole_weights_of_classes_are_repeated_rows() {
    let service = Service::start().await;
    let copies = |class: &str| if class == "rare" { 5 } else { 1 };
    for learner in [
        "perceptron",
        "averaged-perceptron",
        "pocket",
        "kernel-perceptron",
    ] {
        let query = match learner.starts_with("kernel") {
            true => "kinds=a:nominal,b:nominal&seed=3&stop.max_passes=6",
            false => "numbers=real&seed=3&stop.max_passes=6",
        };
        let weighted = format!("{query}&class_weight=rare:5");
        let found = trained(&service, learner, &weighted, &table(|_| 1)).await;
        let repeated = trained(&service, learner, query, &table(copies)).await;
        for member in ["mistakes", "updates", "examples", "passes"] {
            assert_eq!(found[member], repeated[member], "{learner} {member}");
        }
        assert_eq!(found["hypothesis"], repeated["hypothesis"], "{learner}");
        assert_eq!(found["class_weight"], json!({"common": 1.0, "rare": 5.0}));
        assert_eq!(found["training"]["examples"], 60);
    }
}

#[tokio::test]
async fn balanced_classes_are_counted_among_the_shown_examples() {
    let service = Service::start().await;
    let query = "class_weight=balanced&stop.max_passes=5";
    let found = trained(&service, "perceptron", query, &table(|_| 1)).await;
    assert_eq!(found["class_weight"], json!({"common": 0.6, "rare": 3.0}));
    let detail = found["bound_detail"].as_str().expect("a reason");
    assert!(
        found["bound"].is_null() && detail.contains("not whole"),
        "{detail}"
    );
    // A hold-out of a half by class leaves 25 and 5.
    let query = "class_weight=balanced&holdout=0.5&stratify=true&stop.max_passes=5";
    let found = trained(&service, "perceptron", query, &table(|_| 1)).await;
    assert_eq!(found["class_weight"], json!({"common": 0.6, "rare": 3.0}));
    assert_eq!(found["holdout"]["examples"], 30);
}

#[tokio::test]
async fn weights_reach_comparisons_and_grids() {
    let service = Service::start().await;
    let examples: Vec<Value> = (0..40)
        .map(|row| json!({"x": format!("{:06b}", row * 7 % 64), "y": if row % 4 == 0 { 1 } else { -1 }}))
        .collect();
    let data = json!({"labelled": {"examples": examples}});
    let compare = json!({"compare": {
        "data": data,
        "learners": [{"name": "perceptron"}, {"name": "winnow"}],
        "folds": 2, "class_weight": "balanced", "stop": {"max_passes": 3},
    }});
    let job = service.run(&compare).await;
    let learners = job["result"]["learners"].as_array().expect("learners");
    assert!(
        learners[0]["reason"].is_null() && !learners[0]["folds"].is_null(),
        "{job}"
    );
    let refused = serde_json::to_string(&learners[1]).expect("text");
    assert!(refused.contains("fractional-weights"), "{refused}");
    let grid = json!({"grid": {
        "train": {"data": data, "learner": {"name": "perceptron"}, "stop": {"max_passes": 3}},
        "over": {"class_weight": ["balanced", {"1": 4, "-1": 1}]},
    }});
    let job = service.run(&grid).await;
    assert_eq!(job["status"], "succeeded", "{job}");
}

#[tokio::test]
async fn wrong_weights_of_classes_are_refused_at_their_place() {
    let service = Service::start().await;
    for (learner, weight, said) in [
        ("perceptron", "rare:0", "from 0.001 to 1000"),
        ("perceptron", "rare:-2", "from 0.001 to 1000"),
        ("perceptron", "rare:1e9", "from 0.001 to 1000"),
        ("perceptron", "rare:NaN", "from 0.001 to 1000"),
        ("perceptron", "even", "balanced"),
        ("perceptron", "rair:2", "rare"),
        ("perceptron", "rare:2,rare:3", "two weights"),
        ("winnow", "rare:2.5", "whole weights"),
        ("sbpi", "balanced", "whole weights"),
    ] {
        let path =
            format!("/v1/learners/{learner}/train?numbers=thermometer&class_weight={weight}");
        let answer = service.post_as(&path, CSV, table(|_| 1)).await;
        let problem = answer.json();
        assert!(
            [400, 422].contains(&answer.status.as_u16()),
            "{weight}: {problem}"
        );
        let text = problem.to_string();
        assert!(
            text.contains("class_weight") && text.contains(said),
            "{weight}: {text}"
        );
    }
}

/// The rows as CSV with a column of whole weights, and each row as often as its weight says.
fn weighted_and_repeated() -> [String; 2] {
    let (mut weighted, mut repeated) = ("a,b,w,y\n".to_owned(), "a,b,y\n".to_owned());
    for (place, [a, b, y]) in rows().into_iter().enumerate() {
        let weight = 1 + place * 7 % 4;
        let _ = writeln!(weighted, "{a},{b},{weight},{y}");
        (0..weight).for_each(|_| {
            let _ = writeln!(repeated, "{a},{b},{y}");
        });
    }
    [weighted, repeated]
}

#[tokio::test]
async fn whole_weights_of_examples_are_repeated_rows_in_requests_and_datasets() {
    let service = Service::start().await;
    let [weighted, repeated] = weighted_and_repeated();
    let query = "numbers=real&labels=y&seed=3&stop.max_passes=4";
    for learner in ["perceptron", "averaged-perceptron", "pocket"] {
        let expected = trained(&service, learner, query, &repeated).await;
        let found = trained(&service, learner, &format!("{query}&weights=w"), &weighted).await;
        let stored = service.post_as(
            "/v1/datasets?numbers=real&labels=y&weights=w",
            CSV,
            weighted.clone(),
        );
        let dataset = stored.await.expect(201).json();
        let job = json!({"train": {
            "learner": {"name": learner}, "seed": 3, "stop": {"max_passes": 4},
            "data": {"dataset": {"id": dataset["id"]}},
        }});
        let job = service.run(&job).await;
        for result in [&found, &job["result"]] {
            for member in ["mistakes", "updates", "examples", "passes", "hypothesis"] {
                assert_eq!(result[member], expected[member], "{learner} {member}");
            }
            assert_eq!(result["training"]["examples"], 60);
        }
        // Without its weights the model is another.
        let unweighted = format!("{query}&ignore=w");
        let other = trained(&service, learner, &unweighted, &weighted).await;
        assert_ne!(other["examples"], expected["examples"], "{learner}");
    }
}

#[tokio::test]
async fn lines_of_vowpal_wabbit_weigh_examples_and_learners_say_which_weights_they_take() {
    let service = Service::start().await;
    let lines = |weight: &str| format!("1 {weight} | a b\n-1 | b c\n1 | a\n-1 2 | c\n");
    let send = async |learner: &str, weight: &str| {
        let path = format!("/v1/learners/{learner}/train?seed=1&stop.max_passes=3");
        service.post_as(&path, "text/x-vw", lines(weight)).await
    };
    let found = send("winnow", "3").await.expect(200).json();
    let copies = "1 | a b\n1 | a b\n1 | a b\n-1 | b c\n1 | a\n-1 | c\n-1 | c\n";
    let path = "/v1/learners/winnow/train?seed=1&stop.max_passes=3";
    let expected = service
        .post_as(path, "text/x-vw", copies)
        .await
        .expect(200)
        .json();
    for member in ["mistakes", "examples", "hypothesis"] {
        assert_eq!(
            found["result"][member], expected["result"][member],
            "{member}"
        );
    }
    let answer = send("perceptron", "2.5").await.expect(200).json();
    assert_eq!(answer["status"], "succeeded", "{answer}");
    let session = json!({"learner": {"name": "perceptron"}, "vocabulary": "open"});
    let session = service
        .post_json("/v1/sessions", &session)
        .await
        .expect(201)
        .json();
    let path = format!("/v1/sessions/{}/examples", session["id"].as_str().unwrap());
    let refused = service
        .post_as(&path, "text/x-vw", lines("2.5"))
        .await
        .expect(422)
        .json();
    assert!(
        refused["detail"]
            .as_str()
            .unwrap()
            .contains("weights other than 1"),
        "{refused}"
    );
    let refused = send("winnow", "2.5").await.expect(422).json();
    let text = refused.to_string();
    assert!(
        text.contains("whole weights") && text.contains("fractional-weights"),
        "{text}"
    );
}
