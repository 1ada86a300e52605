//! Free workers help a running job: the results stay the same, and a waiting job starts at once.

use halfspace_core::learners::catalogue::CATALOGUE;

use super::yielding::{job_of, of_owner, sample, settled};
use super::*;

/// Settings under which free workers help with work of any size.
fn helped(workers: usize) -> JobsConfig {
    JobsConfig {
        workers,
        helped_words_min: 0,
        ..JobsConfig::default()
    }
}

/// A kernel model of 3,000 examples, and a sample to classify.
async fn kernel_model(rig: &Rig) -> (crate::records::ModelId, LoadedModel) {
    let training = json!({"learner": {"name": "kernel-perceptron"}, "stop": {"max_passes": 2},
        "trace": false});
    let trained = job_of(json!({"train": training}), Some(sample(40, 3_000)), None);
    let trained = rig.end_of(&rig.submit(trained).await).await;
    let model = trained.model.unwrap();
    let loaded = rig.jobs.models.load(&Owner::new("a"), model).await.unwrap();
    (model, loaded)
}

/// The settled results of one job of each learner and of each task that reads examples, with the models.
async fn results(workers: usize) -> Vec<(String, Value, Option<LoadedModel>)> {
    let rig = Rig::new(helped(workers)).await;
    rig.jobs.start();
    let mut tasks: Vec<(String, Value)> = CATALOGUE
        .iter()
        .map(|entry| {
            let training = json!({"learner": {"name": entry.name}, "trace": true, "holdout": 0.25,
                "stop": {"max_examples": 9_000, "max_passes": 20}});
            (entry.name.to_owned(), json!({"train": training}))
        })
        .collect();
    let (id, model) = kernel_model(&rig).await;
    tasks.push(("evaluate".to_owned(), json!({"evaluate": {"model": id}})));
    for (name, spec) in [
        (
            "separability",
            json!({"bias": true, "convention": "strict"}),
        ),
        ("maximum_margin", json!({"bias": true})),
        ("version_space", json!({"list": 10})),
    ] {
        tasks.push((name.to_owned(), json!({name: spec})));
    }
    let training = json!({"learner": {"name": "kernel-perceptron"}, "trace": false,
        "stop": {"max_passes": 4}, "holdout": 0.25});
    let grid = json!({"train": training, "over": {"seed": [1, 2, 3]}});
    tasks.push(("grid".to_owned(), json!({"grid": grid})));
    let mut results = Vec::new();
    for (name, task) in tasks {
        let model = (name == "evaluate").then(|| model.clone());
        let data = match name.as_str() {
            "evaluate" => sample(40, 2_000),
            _ => sample(13, 500),
        };
        let job = rig.submit(job_of(task, Some(data), model)).await;
        let ended = rig.end_of(&job).await;
        assert_eq!(ended.status, Status::Succeeded, "{name}: {:?}", ended.error);
        let stored = match ended.model {
            Some(model) => Some(rig.jobs.models.load(&ended.owner, model).await.unwrap()),
            None => None,
        };
        let trace = rig.store.trace(&ended.owner, ended.id).await.unwrap();
        results.push((name, json!([settled(&ended), trace]), stored));
    }
    assert!(rig.jobs.stop(TIMEOUT).await);
    results
}

#[tokio::test]
async fn every_learner_and_task_gives_the_same_documents_with_one_two_and_three_workers() {
    let expected = results(1).await;
    for workers in [2, 3] {
        assert_eq!(results(workers).await, expected, "{workers} workers");
    }
}

#[tokio::test]
async fn a_small_job_of_another_owner_starts_while_helpers_compute() {
    let rig = Rig::new(helped(2)).await;
    rig.jobs.start();
    // No weights classify the wrong labels, so the search starts again and again.
    let params = json!({"max_iterations": 1_000_000, "restarts": 1_000_000});
    let long = json!({"train": {"learner": {"name": "amp", "params": params}, "trace": false,
        "stop": {"max_seconds": 3_600}}});
    let long = job_of(long, Some(sample(40, 3_000)), None);
    let long = rig.submit(long).await;
    let helps = async || rig.jobs.worker.free_permits.helpers() == 1;
    for _ in 0..3 {
        rig.until("a helper", helps).await;
        let small = of_owner("b", new_train(json!({"max_passes": 1})));
        let ended = rig.end_of(&rig.submit(small).await).await;
        assert_eq!((ended.status, ended.attempt), (Status::Succeeded, 1));
        // Neither job waited for the other, and the long job has not yielded.
        let long = rig.jobs.queue.job(&long.owner, long.id).await.unwrap();
        assert_eq!((long.status, long.attempt), (Status::Running, 1));
    }
    rig.jobs.queue.cancel(&long.owner, long.id).await.unwrap();
    assert_eq!(rig.end_of(&long).await.status, Status::Cancelled);
    assert_eq!(rig.jobs.worker.free_permits.helpers(), 0);
    assert!(rig.jobs.stop(TIMEOUT).await);
}
