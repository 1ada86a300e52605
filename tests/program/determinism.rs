//! A seed determines the result: on the scalar and the detected kernels, with one and with two workers, before and
//! after a restart.

use halfspace_core::bits::{Kernels, use_kernels};
use serde_json::{Value, json};

use crate::service::{Client, Program, Service, train};

/// Trainings that use every kernel and every source of randomness.
fn trainings() -> Vec<Value> {
    let half_space = |n: u32, sampling: &str| {
        json!({"generated": {"n": n, "target": {"binary_weights": {}}, "sampling": sampling,
            "count": 4000}})
    };
    let labelled = |n: u32| {
        json!({"generated": {"n": n, "target": {"binary_weights": {}}, "sampling": "uniform",
            "count": 1500, "noise": 0.02}})
    };
    let examples: Vec<Value> = (0..300_u64)
        .map(|row| {
            let word = row.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7;
            let x = format!("{:067b}", u128::from(word) << 9 | u128::from(row));
            json!({"x": x, "y": if word.count_ones() > 28 { 1 } else { -1 }})
        })
        .collect();
    let sent = json!({"labelled": {"examples": examples}});
    let mut trainings = Vec::new();
    for name in [
        "directed-drift",
        "directed-drift-async",
        "directed-drift-sync",
    ] {
        trainings.push(train(
            json!({"name": name}),
            half_space(101, "uniform-positive"),
        ));
        trainings.push(train(json!({"name": name}), half_space(64, "reflected")));
        trainings.push(train(json!({"name": name}), sent.clone()));
    }
    for order in ["cyclic", "shuffled", "random"] {
        let learner = json!({"name": "perceptron", "params": {"order": order}});
        let mut bounded = train(learner.clone(), labelled(70));
        bounded["train"]["stop"] = json!({"max_passes": 15});
        trainings.push(bounded);
        trainings.push(train(learner, sent.clone()));
    }
    let mut pocket = train(
        json!({"name": "pocket", "params": {"eta": 0.3}}),
        labelled(33),
    );
    pocket["train"]["stop"] = json!({"max_mistakes": 60});
    trainings.push(pocket);
    for (index, training) in trainings.iter_mut().enumerate() {
        training["train"]["seed"] = json!(1000 + index);
        training["train"]["trace"] = json!(true);
    }
    trainings
}

/// The text of the part of a job that the seed determines: the seed, the digest and the result without the
/// model's id and the time.
fn settled(job: &Value) -> String {
    assert_eq!(job["status"], "succeeded", "{job}");
    let mut result = job["result"].clone();
    result["model"] = Value::Null;
    result["seconds"] = Value::Null;
    format!("{} {} {result}", job["seed"], job["data_sha256"])
}

/// Runs all trainings concurrently. Returns the ids of the jobs and the parts that their seeds determine.
async fn run(client: Client) -> (Vec<String>, Vec<String>) {
    let jobs = trainings().into_iter().map(|training| async move {
        let answer = client.post("/v1/jobs", &training, Some("wait=30")).await;
        let job = answer.unwrap().expect(200).json();
        let id = job["id"].as_str().unwrap().to_owned();
        let trace = client.get(&format!("/v1/jobs/{id}/trace")).await;
        (
            id,
            format!("{} {}", settled(&job), trace.expect(200).text()),
        )
    });
    futures_util::future::join_all(jobs)
        .await
        .into_iter()
        .unzip()
}

#[tokio::test]
async fn result_depends_on_the_seed_and_not_on_kernels_or_workers() {
    let mut expected: Option<Vec<String>> = None;
    for workers in ["1", "2"] {
        let directory = tempfile::tempdir().unwrap();
        let settings = ["--workers", workers];
        let program = Program::start(directory.path(), &settings);
        let (ids, found) = run(program.client()).await;
        let expected = expected.get_or_insert_with(|| found.clone());
        assert!(*expected == found, "{workers} workers");
        // The seeds and learners differ, so the results differ.
        assert_ne!(found[0], found[1]);
        program.kill();
        let program = Program::start(directory.path(), &settings);
        for (id, told) in ids.iter().zip(&found) {
            let path = format!("/v1/jobs/{id}");
            let job = program.client().get(&path).await.expect(200).json();
            let trace = program.client().get(&format!("{path}/trace")).await;
            assert_eq!(
                format!("{} {}", settled(&job), trace.expect(200).text()),
                *told
            );
        }
        let (_, again) = run(program.client()).await;
        assert!(*expected == again, "{workers} workers, after a restart");
    }
}

/// The choice of kernels holds for the whole process, so the service runs in this one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_seed_settles_the_result_on_every_kernel() {
    let mut expected: Option<Vec<String>> = None;
    for kernels in [Kernels::Scalar, Kernels::Detected] {
        use_kernels(kernels);
        for workers in ["1", "2"] {
            let service = Service::with(&["--workers", workers]).await;
            let jobs = trainings().into_iter().map(async |training| {
                let job = service.run(&training).await;
                let path = format!("/v1/jobs/{}/trace", job["id"].as_str().unwrap());
                let trace = service.get(&path).await.expect(200);
                format!("{} {}", settled(&job), trace.text())
            });
            let found = futures_util::future::join_all(jobs).await;
            let expected = expected.get_or_insert_with(|| found.clone());
            assert!(*expected == found, "{kernels:?}, {workers} workers");
        }
    }
}

#[tokio::test]
async fn drawn_seed_is_reported_and_reproduces_the_result() {
    let directory = tempfile::tempdir().unwrap();
    let program = Program::start(directory.path(), &[]);
    let client = program.client();
    let mut training = trainings().remove(0);
    training["train"].as_object_mut().unwrap().remove("seed");
    let run = async |body: &Value| {
        let answer = client.post("/v1/jobs", body, Some("wait=30")).await;
        answer.unwrap().expect(200).json()
    };
    let (first, other) = (run(&training).await, run(&training).await);
    assert_ne!(first["seed"], other["seed"]);
    training["train"]["seed"] = first["seed"].clone();
    assert_eq!(settled(&run(&training).await), settled(&first));
}
