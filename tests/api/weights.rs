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
