//! The layout of the data of a job: sparse rows and dense ones give the same result and the same receipt.

use halfspace_core::bits::SparseMatrix;
use halfspace_core::learners::catalogue::CATALOGUE;

use super::yielding::{job_of, sample, settled};
use super::*;
use crate::records::id::ModelKind;

/// The same examples with sparse rows.
fn sparse(data: &Data) -> Data {
    let Features::Boolean(matrix) = data.features() else {
        panic!("bits");
    };
    let mut rows = SparseMatrix::new(data.n(), false);
    for row in 0..data.examples() {
        matrix
            .row(row)
            .places()
            .for_each(|id| rows.push(id as u32, 1.0));
        rows.end_row();
    }
    Data::new(Features::Sparse(rows), data.labels().clone())
}

#[tokio::test]
async fn result_and_receipt_of_every_learner_are_those_of_the_other_layout() {
    let rig = Rig::new(JobsConfig::default()).await;
    rig.jobs.start();
    let dense = sample(13, 100);
    let sparse = sparse(&dense);
    let digests = [&dense, &sparse].map(|data| halfspace_formats::digest(data, None, None, None));
    assert_eq!(digests[0], digests[1]);
    let mut receipts = 0;
    for entry in CATALOGUE {
        let task = json!({"train": {
            "learner": {"name": entry.name, "params": {}},
            "stop": {"max_examples": 3_000, "max_passes": 1_u64 << 40},
            "trace": true,
        }});
        let mut results = Vec::new();
        for data in [&dense, &sparse] {
            let new = job_of(task.clone(), Some(data.clone()), None);
            let job = rig.end_of(&rig.submit(new).await).await;
            let id = job.result.as_ref().map(|result| result["model"].clone());
            let id = serde_json::from_value(id.unwrap()).unwrap();
            let model = rig.store.find::<ModelKind>(&job.owner, id).await;
            let stored = model.unwrap().unwrap().document;
            results.push((settled(&job), stored));
        }
        receipts += usize::from(results[0].1.contains("\"kept\""));
        assert_eq!(results[0], results[1], "{}", entry.name);
    }
    assert!(receipts > 5, "{receipts} receipts");
    assert!(rig.jobs.stop(TIMEOUT).await);
}
