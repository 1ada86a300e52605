//! A training on a dataset that is larger than the memory limit of the process. The benchmark `larger_than_memory`
//! runs it at full size.

use serde_json::{Value, json};

use crate::service::{MemoryLimit, Program, memory_peak, skipped};

/// Memory limit of the process.
const LIMIT_BYTES: u64 = 32 << 20;
/// Examples of 1,024 features, which take 48 MiB.
const EXAMPLES: u64 = 393_216;

async fn trained(program: &Program, data: &Value) -> Value {
    let job = json!({"train": {"learner": {"name": "directed-drift"}, "data": data, "seed": 2,
        "stop": {"max_passes": 1}, "holdout": 0.001}});
    let answer = program.client().post("/v1/jobs", &job, None).await;
    let path = answer
        .unwrap()
        .expect(202)
        .header("location")
        .unwrap()
        .to_owned();
    let job = program.client().until_status(&path, "succeeded").await;
    let mut result = job["result"].clone();
    result["model"].take();
    result["seconds"].take();
    result
}

#[tokio::test]
async fn a_dataset_larger_than_the_memory_of_the_process_trains() {
    let limit = match MemoryLimit::new(LIMIT_BYTES) {
        Ok(limit) => limit,
        Err(why) => return skipped(why),
    };
    let directory = tempfile::tempdir().unwrap();
    let free = Program::start(directory.path(), &[]);
    let body = json!({"seed": 1, "data": {"generated": {"n": 1024, "count": EXAMPLES,
        "target": {"binary_weights": {}}, "sampling": "uniform"}}});
    let stored = free.client().post("/v1/datasets", &body, None).await;
    let dataset = stored.unwrap().expect(201).json();
    let bytes = dataset["bytes"].as_u64().unwrap();
    assert!(bytes > LIMIT_BYTES);
    let data = json!({"dataset": dataset["id"]});
    let expected = trained(&free, &data).await;
    free.kill();

    let bounded = Program::start(
        directory.path(),
        &["--workers", "1", "--resident-bytes-max", "1000000"],
    );
    if let Err(why) = limit.hold(bounded.pid()) {
        return skipped(why);
    }
    let idle = memory_peak(bounded.pid());
    assert_eq!(trained(&bounded, &data).await, expected);
    // The peak of a control group never exceeds the limit of the group. The idle process holds mostly its own
    // program code, so the test bounds the growth beyond that.
    if let (Some(idle), Some(own)) = (idle, memory_peak(bounded.pid())) {
        let (grown, all) = (own - idle, limit.peak_bytes());
        assert!(
            grown < bytes * 3 / 4,
            "{grown} beyond {idle}, in all {all:?}"
        );
    }
    bounded.kill();
}
