//! Warm starts from models over names: each name keeps its weight, whichever data it is in.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::service::Service;
use crate::vocabularies::{Example, examples, ndjson};

const NDJSON: &str = "application/x-ndjson";

/// Trains on examples in the body.
async fn trained(service: &Service, query: &str, all: &[Example]) -> Value {
    let path = format!("/v1/learners/{query}");
    let job = service.post_as(&path, NDJSON, ndjson(all, true)).await;
    let job = job.expect(200).json();
    assert_eq!(job["status"], "succeeded", "{query}: {job}");
    job["result"].clone()
}

async fn model(service: &Service, result: &Value) -> Value {
    let path = format!("/v1/models/{}", result["model"].as_str().unwrap());
    service.get(&path).await.expect(200).json()
}

async fn stored(service: &Service, all: &[Example]) -> String {
    let upload = service.post_as("/v1/datasets", NDJSON, ndjson(all, false));
    upload.await.expect(201).id()
}

fn labelled(all: &[Example]) -> Value {
    let all: Vec<Value> = all.iter().map(|(x, y)| json!({"x": x, "y": y})).collect();
    json!({"labelled": {"examples": all}})
}

/// The names of some examples in the order of their bytes.
fn names(all: &[Example]) -> Vec<&String> {
    let names: BTreeSet<&String> = all.iter().flat_map(|(names, _)| names).collect();
    names.into_iter().collect()
}

/// Two passes, of which the second begins from the model of the first, are one pass over all examples. The second part
/// has names that the first lacks, and lacks some that the first has.
#[tokio::test]
async fn warm_start_over_names_continues_where_a_training_left_off() {
    let service = Service::start().await;
    let all = examples(21, 90);
    let (first, second) = all.split_at(45);
    let lacks = |one: &[Example], other: &[Example]| {
        let known = names(other);
        names(one).iter().any(|name| !known.contains(name))
    };
    assert!(lacks(first, second) && lacks(second, first));
    let dataset = stored(&service, second).await;
    for (learner, params) in [
        ("perceptron", json!({})),
        ("perceptron", json!({"eta": 0.3})),
        ("winnow", json!({"thickness": 0.1})),
        ("kernel-winnow", json!({"thickness": 0.1})),
        ("kernel-perceptron", json!({"kernel": {"max_literals": 2}})),
    ] {
        for more in [
            json!({}),
            json!({"multiclass": "joint"}),
            json!({"positive": "noun"}),
        ] {
            if more["multiclass"] == "joint" && learner != "perceptron" {
                continue;
            }
            let run = async |data: Value, start: Option<&Value>| {
                let data = match (&more["positive"], start) {
                    (Value::String(class), None) => {
                        let (dataset, of_first) = (&data["dataset"], &data);
                        assert!(dataset.is_string(), "{of_first}");
                        json!({"dataset": {"id": dataset, "positive": class}})
                    }
                    _ => data,
                };
                let mut train = json!({"learner": {"name": learner, "params": params}, "seed": 1,
                    "data": data, "stop": {"max_passes": 1}, "warm_start": start});
                if let Some(how) = more.get("multiclass") {
                    train["multiclass"] = how.clone();
                }
                let job = service.run(&json!({ "train": train })).await;
                assert_eq!(job["status"], "succeeded", "{learner} {more}: {job}");
                job["result"].clone()
            };
            let of = async |part: &[Example]| json!({"dataset": stored(&service, part).await});
            let begun = run(of(first).await, None).await;
            let whole = run(of(&all).await, None).await;
            let expected = model(&service, &whole).await;
            for data in [json!({"dataset": dataset}), labelled(second)] {
                let result = run(data, Some(&begun["model"])).await;
                let found = model(&service, &result).await;
                let told = format!("{learner} {more}");
                assert_eq!(found["features"], json!(names(&all)), "{told}");
                for member in ["hypothesis", "features", "vocabulary", "classes", "n"] {
                    assert_eq!(found[member], expected[member], "{told}: {member}");
                }
                for count in ["mistakes", "updates", "examples"] {
                    let sum = begun[count].as_u64().unwrap() + result[count].as_u64().unwrap();
                    assert_eq!(whole[count], sum, "{told}: {count}");
                }
                assert_eq!(found["warm_start"], begun["model"]);
            }
        }
    }
}

#[tokio::test]
async fn warm_start_over_names_keeps_what_the_data_lack() {
    let service = Service::start().await;
    let all = examples(22, 60);
    let other: Vec<Example> = (0..40)
        .map(|row| {
            let names = [format!("new {}", row % 7), format!("other {}", row % 3)];
            (names.into_iter().collect(), ["noun", "verb"][row % 2])
        })
        .collect();
    for learner in [
        "perceptron",
        "averaged-perceptron",
        "pocket",
        "winnow",
        "kernel-winnow",
        "kernel-perceptron",
    ] {
        let of_two: Vec<Example> = all
            .iter()
            .filter(|(_, class)| *class != "other")
            .cloned()
            .collect();
        let query = format!("{learner}/train?seed=1&stop.max_passes=5");
        let begun = trained(&service, &query, &of_two).await;
        let begun = model(&service, &begun).await;
        let next = format!("{query}&warm_start={}", begun["id"].as_str().unwrap());
        let result = trained(&service, &next, &other).await;
        let found = model(&service, &result).await;
        let united = [of_two.as_slice(), &other].concat();
        assert_eq!(found["features"], json!(names(&united)), "{learner}");
        assert_eq!(found["n"], names(&united).len());
        let digest = stored(&service, &other).await;
        let digest = service.get(&format!("/v1/datasets/{digest}")).await;
        let digest = digest.expect(200).json();
        assert_eq!(found["data_sha256"], digest["sha256"], "{learner}");
        // The threshold is that of the model, although an example of the data has fewer names.
        let theta = |model: &Value| model["hypothesis"].get("theta").cloned();
        assert_eq!(theta(&found), theta(&begun), "{learner}");
        if let Some(weights) = found["hypothesis"]["exponents"].as_array() {
            let first = begun["hypothesis"]["exponents"].as_array().unwrap();
            let place = |model: &Value, name: &str| {
                let all = model["features"].as_array().unwrap();
                all.iter().position(|own| own == name)
            };
            for name in names(&of_two) {
                let (own, before) = (place(&found, name), place(&begun, name));
                assert_eq!(weights[own.unwrap()], first[before.unwrap()], "{name}");
            }
        }
        // The run began from a model, so it has no receipt, as for numbers.
        let path = format!("/v1/models/{}", found["id"].as_str().unwrap());
        let receipt = service.get(&format!("{path}/receipt")).await;
        assert!(
            receipt.text().contains("began from a model") || learner == "pocket",
            "{}",
            receipt.text()
        );
        receipt.problem(422);
        let imported = service.post_json("/v1/models", &found).await;
        imported.expect(201);
    }
}

#[tokio::test]
async fn warm_start_over_names_has_a_bound_from_any_start() {
    let service = Service::start().await;
    let all = examples(23, 120);
    let class = |(names, class): &Example| {
        let is_noun = *class == "noun";
        (names.clone(), if is_noun { "noun" } else { "verb" })
    };
    let all: Vec<Example> = all.iter().map(class).collect();
    let query = "perceptron/train?seed=1";
    let begun = trained(
        &service,
        &format!("{query}&stop.max_mistakes=3"),
        &all[..40],
    )
    .await;
    let next = format!("{query}&warm_start={}", begun["model"].as_str().unwrap());
    let bound = &trained(&service, &next, &all[30..]).await["bound"];
    assert_eq!(bound["respected"], true, "{bound}");
    let detail = bound["detail"].as_str().unwrap();
    assert!(detail.contains("2 |w_0| |u| / (eta xi)"), "{detail}");
}

#[tokio::test]
async fn warm_start_over_names_is_refused_from_an_unfit_model() {
    let service = Service::start().await;
    let all = examples(24, 40);
    let begun = trained(&service, "winnow/train?seed=1&stop.max_passes=2", &all).await;
    let begun = begun["model"].as_str().unwrap();
    let numbers = "{\"x\":\"101\",\"y\":1}\n{\"x\":\"011\",\"y\":-1}\n";
    let of_numbers = service
        .post_as("/v1/learners/perceptron/train", NDJSON, numbers.to_owned())
        .await;
    let of_numbers = of_numbers.expect(200).json()["result"]["model"].clone();
    let of_numbers = of_numbers.as_str().unwrap();
    let named = ndjson(&all, false);
    for (query, body, code, told) in [
        (
            format!("winnow/train?params.theta=7&warm_start={begun}"),
            &*named,
            "wrong-start",
            "theta = 20",
        ),
        (
            format!("winnow/train?params.alpha=3&warm_start={begun}"),
            &named,
            "wrong-start",
            "alpha = 2",
        ),
        (
            format!("perceptron/train?warm_start={begun}"),
            &named,
            "wrong-start",
            "linear weights",
        ),
        (
            format!("perceptron/train?warm_start={of_numbers}"),
            "{\"x\":[\"a\"],\"y\":1}\n",
            "wrong-data",
            "fixed number",
        ),
    ] {
        let path = format!("/v1/learners/{query}");
        let answer = service.post_as(&path, NDJSON, body.to_owned()).await;
        assert!(answer.text().contains(told), "{query}: {}", answer.text());
        assert_eq!(answer.problem(422), code, "{query}");
    }
    let bits = json!({"labelled": {"examples": [{"x": "101", "y": "noun"}]}});
    let asked =
        json!({"train": {"learner": {"name": "winnow"}, "data": bits, "warm_start": begun}});
    let answer = service.post_json("/v1/jobs", &asked).await;
    assert!(
        answer.text().contains("by their names"),
        "{}",
        answer.text()
    );
    answer.problem(422);
}
