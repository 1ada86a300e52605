//! Datasets that do not fit into memory: operations that read them block by block, and refusals of those that need
//! the whole dataset.

use serde_json::{Value, json};

use crate::service::{Service, train};

/// Settings of a service that keeps no dataset in memory and allows 10,000 bytes of state.
const FRUGAL: [&str; 4] = ["--resident-bytes-max", "1", "--state-bytes-max", "10000"];

/// Two services over one directory: one with default limits and one with `FRUGAL`.
async fn services() -> (Service, Service) {
    let generous = Service::start().await;
    let frugal = generous.beside(&FRUGAL).await;
    (generous, frugal)
}

/// Stores 5,000 examples of 100 features, more than 80,000 bytes, and returns the id.
async fn stored(service: &Service) -> String {
    let data = json!({"generated": {"n": 100, "target": {"disjunction": {"variables": [3, 70]}},
        "sampling": "uniform", "density": 0.02, "count": 5000}});
    let body = json!({"data": data, "seed": 4});
    let answer = service.post_json("/v1/datasets", &body).await.expect(201);
    assert!(answer.json()["bytes"].as_u64().unwrap() > 80_000);
    answer.id()
}

#[tokio::test]
async fn dataset_larger_than_the_state_trains_and_is_evaluated() {
    let (generous, frugal) = services().await;
    let id = stored(&generous).await;
    let data = json!({"dataset": id});
    let outcome = |job: &Value| {
        assert_eq!(job["status"], "succeeded", "{job}");
        let mut result = job["result"].clone();
        result["model"].take();
        result["seconds"].take();
        result
    };
    for learner in [
        json!({"name": "perceptron"}),
        json!({"name": "winnow"}),
        json!({"name": "kernel-winnow", "params": {"max_active": 16}}),
        json!({"name": "pocket"}),
    ] {
        let mut job = train(learner.clone(), data.clone());
        job["train"]["seed"] = json!(1);
        job["train"]["stop"] = json!({"max_passes": 5});
        let whole = generous.run(&job).await;
        let parts = frugal.run(&job).await;
        assert_eq!(outcome(&whole), outcome(&parts), "{learner}");
        let evaluate = json!({"evaluate": {"model": whole["result"]["model"], "data": data}});
        let mut whole = generous.run(&evaluate).await["result"].clone();
        let mut parts = frugal.run(&evaluate).await["result"].clone();
        assert_eq!(whole["model"].take(), parts["model"].take());
        assert_eq!(
            (&whole, &whole["examples"]),
            (&parts, &json!(5000)),
            "{learner}"
        );
    }
}

/// A search keeps a number per example. That is more state than the frugal service allows, but less than the
/// examples themselves.
#[tokio::test]
async fn message_passing_keeps_less_state_than_the_examples() {
    let generous = Service::start().await;
    let searching = ["--resident-bytes-max", "1", "--state-bytes-max", "70000"];
    let frugal = generous.beside(&searching).await;
    let data = json!({"dataset": stored(&generous).await});
    for (name, params) in [
        ("amp", json!({"restarts": 10})),
        ("reinforced-amp", json!({})),
        ("auto", json!({})),
        ("sbpi", json!({})),
    ] {
        let mut job = train(json!({"name": name, "params": params}), data.clone());
        job["train"]["seed"] = json!(1);
        job["train"]["stop"] = json!({"max_passes": 12});
        let outcomes = [generous.run(&job).await, frugal.run(&job).await].map(|job| {
            assert_eq!(job["status"], "succeeded", "{job}");
            let mut result = job["result"].clone();
            result["model"].take();
            result["seconds"].take();
            result
        });
        assert_eq!(outcomes[0], outcomes[1], "{name}");
        assert_eq!(outcomes[0]["passes"], 12, "{name}");
    }
}

#[tokio::test]
async fn task_that_needs_all_examples_in_memory_is_refused_at_once() {
    let (generous, frugal) = services().await;
    let id = stored(&generous).await;
    let data = json!({"dataset": id});
    let mut shuffled = train(
        json!({"name": "perceptron", "params": {"order": "shuffled"}}),
        data.clone(),
    );
    let mut parted = train(json!({"name": "perceptron"}), data.clone());
    parted["train"]["holdout"] = json!(0.1);
    for (job, needed) in [
        (json!({"separability": {"data": data}}), "81528"),
        (json!({"maximum_margin": {"data": data}}), "81528"),
        (json!({"version_space": {"data": data}}), "81528"),
        // One number per row.
        (shuffled.take(), "27025"),
        (parted.take(), "27025"),
        // Message passing keeps further numbers per row.
        (train(json!({"name": "amp"}), data.clone()), "46400"),
    ] {
        let problem = frugal.post_json("/v1/jobs", &job).await;
        assert_eq!(problem.problem(413), "too-large", "{job}");
        let detail = problem.json()["detail"].as_str().unwrap().to_owned();
        let says = format!(
            "the task needs {needed} bytes of state, more than state_bytes_max: \
                            10000"
        );
        assert_eq!(detail, says, "{job}");
    }
    let job = train(json!({"name": "perceptron"}), data.clone());
    let model = generous.run(&job).await["result"]["model"].take();
    // These routes read the dataset in parts.
    for route in ["predict", "evaluate"] {
        let path = format!("/v1/models/{}/{route}", model.as_str().unwrap());
        let whole = generous.post_json(&path, &data).await;
        let in_parts = frugal.post_json(&path, &data).await;
        assert_eq!(
            in_parts.expect(200).json(),
            whole.expect(200).json(),
            "{route}"
        );
    }
    // Other errors do not depend on the memory limit.
    let mut winnow = train(
        json!({"name": "kernel-winnow", "params": {"max_active": 3}}),
        data.clone(),
    );
    let problem = frugal.post_json("/v1/jobs", &winnow.take()).await;
    assert_eq!(problem.problem(422), "intractable");
    assert_eq!(problem.json()["errors"][0]["pointer"], "/train/data");
    let drift = train(json!({"name": "directed-drift"}), data);
    assert_eq!(frugal.run(&drift).await["status"], "succeeded");
}

/// One bit of a stored dataset flips. The service must not answer from data that were never sent.
#[tokio::test]
async fn a_damaged_dataset_is_neither_predicted_nor_evaluated() {
    let (generous, frugal) = services().await;
    if generous.has_blobs_elsewhere() {
        return;
    }
    let id = stored(&generous).await;
    let data = json!({"dataset": id});
    let job = train(json!({"name": "perceptron"}), data.clone());
    let model = generous.run(&job).await["result"]["model"].take();
    let path = generous
        .directory()
        .join(format!("blobs/datasets/{id}/data"));
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[50_000] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    for service in [&generous, &frugal] {
        for route in ["predict", "evaluate"] {
            let path = format!("/v1/models/{}/{route}", model.as_str().unwrap());
            service.post_json(&path, &data).await.expect(500);
        }
    }
}
