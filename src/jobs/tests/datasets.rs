//! Datasets on disk after interrupted writes and deletions, and after damage.

use halfspace_core::learners::engine::run::{Interrupt, StopFlag};
use halfspace_formats::{CellKeeper, Format, Options, Parsed, RawCells};

use super::*;
use crate::jobs::{Jobs, JobsError, NewDataset};
use crate::records::{Dataset, DatasetId};
use crate::storage::StoreError;

/// Four labelled examples of two features.
fn data() -> Data {
    let mut matrix = BitMatrix::new(2);
    (0..4).for_each(|row| matrix.push_row(&[row]));
    let labels = BitVector::from_words(4, vec![0b1000]);
    Data::new(Features::Boolean(matrix), Labels::of_signs(labels))
}

/// The raw cells of some table.
fn cells() -> RawCells {
    let keeper = CellKeeper::default();
    let options = Options {
        cells: Some(keeper.clone()),
        ..Options::default()
    };
    halfspace_formats::parse(Format::Csv, &b"a,y\nu,1\nv,0\n"[..], &options).unwrap();
    keeper.take().unwrap()
}

fn new_dataset(jobs: &Jobs) -> NewDataset {
    NewDataset {
        key: None,
        owner: Owner::anonymous(),
        name: None,
        parsed: Parsed::of(data()).into(),
        cells: Some(cells()),
        assume: None,
        reserved: None,
        begun: jobs.datasets.begin().unwrap(),
        seed: None,
    }
}

impl Rig {
    async fn dataset(&self) -> Dataset {
        self.jobs
            .datasets
            .store(new_dataset(&self.jobs))
            .await
            .unwrap()
    }

    fn blob_of(&self, dataset: &Dataset) -> PathBuf {
        let key = &dataset.summary.data_key;
        self.directory.path().join("blobs").join(key)
    }

    /// Whether the examples and the raw cells are there. If one of them is, both must be.
    fn has_blobs(&self, dataset: &Dataset) -> bool {
        let data = self.blob_of(dataset);
        let (has_data, has_cells) = (data.exists(), data.with_file_name("cells").exists());
        assert_eq!(has_data, has_cells);
        has_data
    }

    async fn is_listed(&self, id: DatasetId) -> bool {
        let found = self.store.find(&Owner::anonymous(), id).await;
        found.unwrap().is_some()
    }

    /// Gives every blob a modification time that is too old to be spared by a sweep.
    fn age_blobs(&self) {
        let long_ago = std::time::UNIX_EPOCH - Duration::from_secs(2 * 86_400);
        let mut waiting = vec![self.directory.path().join("blobs")];
        while let Some(path) = waiting.pop() {
            if path.is_dir() {
                let entries = std::fs::read_dir(&path).unwrap();
                waiting.extend(entries.map(|entry| entry.unwrap().path()));
            } else {
                let file = std::fs::File::options().write(true).open(&path).unwrap();
                file.set_modified(long_ago).unwrap();
            }
        }
    }
}

fn reader(dataset: &Dataset) -> NewJob {
    let mut new = new_train(json!({"max_passes": 3}));
    new.job.dataset = Some(dataset.summary.id);
    new.job.data_sha256 = Some(dataset.summary.facts.sha256.clone());
    new
}

#[tokio::test]
async fn dataset_insert_of_unknown_outcome_keeps_the_blob() {
    let rig = Rig::new(JobsConfig::default()).await;
    // The first answer is missing, and the insert is repeated.
    faults::plan("INSERT INTO datasets", &[InjectedFault::LostAnswer]);
    let dataset = rig.dataset().await;
    assert!(rig.is_listed(dataset.summary.id).await);
    // Both answers are missing, so the outcome is unknown.
    faults::plan("INSERT INTO datasets", &[InjectedFault::LostAnswer; 2]);
    let stored = rig.jobs.datasets.store(new_dataset(&rig.jobs)).await;
    assert!(matches!(
        stored,
        Err(JobsError::Store(StoreError::Unavailable(_)))
    ));
    // The second answer is a refusal, which says nothing about the first insert.
    faults::plan(
        "INSERT INTO datasets",
        &[InjectedFault::LostAnswer, InjectedFault::Full],
    );
    let stored = rig.jobs.datasets.store(new_dataset(&rig.jobs)).await;
    assert!(matches!(stored, Err(JobsError::Store(StoreError::Full(_)))));
    let page = crate::records::Page::<crate::records::id::DatasetKind>::default();
    let listed = rig.store.list(&Owner::anonymous(), &page).await.unwrap();
    assert_eq!(listed.items.len(), 3);
    for summary in listed.items {
        let stop = StopFlag::default();
        let owner = Owner::anonymous();
        let opened = rig.jobs.datasets.open(&owner, summary.id, stop.clone());
        let (_, examples) = opened.await.unwrap();
        assert_eq!(examples.whole(&stop), Ok(&data()));
    }
}

/// A process that is killed between the two deletions leaves a blob, never a row without a blob.
#[tokio::test]
async fn dataset_row_is_deleted_before_its_blob() {
    let rig = Rig::new(JobsConfig::default()).await;
    let (kept, gone) = (rig.dataset().await, rig.dataset().await);
    let owner = Owner::anonymous();
    // The row is deleted without an answer, as if the process had been killed then.
    faults::plan("DELETE FROM datasets", &[InjectedFault::LostAnswer]);
    let deleted = rig.jobs.datasets.delete(&owner, gone.summary.id).await;
    assert!(deleted.is_err());
    assert!(!rig.is_listed(gone.summary.id).await);
    assert!(rig.has_blobs(&gone));
    // A young blob may belong to a dataset that is being stored.
    rig.jobs.sweep.once().await.unwrap();
    assert!(rig.has_blobs(&gone));
    // The modification time of a blob is not trusted either, because the clock may have been wrong.
    rig.age_blobs();
    rig.jobs.sweep.once().await.unwrap();
    assert!(rig.has_blobs(&gone));
    rig.clock.advance_milliseconds(48 * HOUR_MS);
    rig.jobs.sweep.once().await.unwrap();
    assert!(!rig.has_blobs(&gone));
    assert!(rig.has_blobs(&kept));
    rig.jobs
        .datasets
        .delete(&owner, kept.summary.id)
        .await
        .unwrap();
    assert!(!rig.has_blobs(&kept));
}

#[tokio::test]
async fn job_reads_its_dataset_and_does_not_delete_it() {
    let rig = Rig::new(JobsConfig::default()).await;
    let dataset = rig.dataset().await;
    let id = dataset.summary.id;
    let job = rig
        .jobs
        .worker
        .submit(reader(&dataset), Duration::ZERO, || {})
        .await
        .unwrap();
    // The job has no copy of the data.
    assert_eq!((job.data_key.as_ref(), job.dataset), (None, Some(id)));
    let owner = Owner::anonymous();
    let pinned = rig.jobs.datasets.delete(&owner, id).await;
    assert!(matches!(pinned, Err(JobsError::DatasetPinned { job: by }) if by == job.id));
    rig.jobs.start();
    assert_eq!(rig.ended(job.id).await.status, Status::Succeeded);
    assert!(rig.jobs.stop(TIMEOUT).await);
    rig.jobs.queue.delete(&owner, job.id).await.unwrap();
    rig.age_blobs();
    rig.jobs.sweep.once().await.unwrap();
    rig.clock.advance_milliseconds(48 * HOUR_MS);
    rig.jobs.sweep.once().await.unwrap();
    assert!(rig.blob_of(&dataset).exists());
}

/// The dataset is deleted between the checks and the insert of the job.
#[tokio::test]
async fn a_job_whose_dataset_is_gone_is_not_stored() {
    let rig = Rig::new(JobsConfig::default()).await;
    let dataset = rig.dataset().await;
    let new = reader(&dataset);
    let owner = Owner::anonymous();
    rig.jobs
        .datasets
        .delete(&owner, dataset.summary.id)
        .await
        .unwrap();
    let refused = rig.jobs.worker.submit(new, Duration::ZERO, || {}).await;
    assert!(
        matches!(refused, Err(JobsError::DatasetMissing)),
        "{refused:?}"
    );
    assert_eq!(
        rig.store
            .usage(&Owner::anonymous())
            .await
            .unwrap()
            .all
            .jobs_queued,
        0
    );
}

#[tokio::test]
async fn a_damaged_dataset_fails_its_jobs_and_is_not_read() {
    let rig = Rig::new(JobsConfig::default()).await;
    let dataset = rig.dataset().await;
    let job = rig
        .jobs
        .worker
        .submit(reader(&dataset), Duration::ZERO, || {})
        .await
        .unwrap();
    let path = rig.blob_of(&dataset);
    let mut bytes = std::fs::read(&path).unwrap();
    // Before the names of the classes, which take 32 bytes.
    let last = bytes.len() - 32 - 8;
    bytes[last] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let owner = Owner::anonymous();
    let stop = StopFlag::default();
    let open = || {
        rig.jobs
            .datasets
            .open(&owner, dataset.summary.id, stop.clone())
    };
    let (_, examples) = open().await.unwrap();
    assert_eq!(examples.verify(&stop), Err(Interrupt::Unreadable));
    rig.jobs.start();
    assert_eq!(rig.error_code(job.id).await, "data-corrupt");
    assert!(rig.jobs.stop(TIMEOUT).await);
    // Only the owner deletes a damaged dataset.
    assert!(path.exists());
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(
        open().await,
        Err(JobsError::Store(StoreError::Corrupt(_)))
    ));
}
