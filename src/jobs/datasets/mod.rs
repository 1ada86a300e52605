//! [`Datasets`]: the stored examples of datasets and of jobs, and the space that uploads reserve.
//!
//! A blob is written before its row and deleted after it. The worst that a crash leaves is a blob without a row,
//! which the sweep removes.

pub(super) mod begun_dataset;
pub(super) mod encoding_source;
pub(super) mod raw_cells;
pub(super) mod reservations;
pub(super) mod store;
pub(super) mod stored;
pub(super) mod stored_ratio;

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use halfspace_core::learners::sample::repetitions::RepetitionCounter;
use halfspace_core::memory::MemoryBudget;
use halfspace_formats::{BlocksError, Layout, NamedData, RowRange};
use tokio::task::JoinError;

use crate::records::{Dataset, DatasetId, DatasetSummary, Owner};
use crate::storage::{Blobs, Store, StoreError};

use super::config::{EncodingConfig, JobsConfig};
use super::error::JobsError;
use super::ids::Ids;
use reservations::Reservations;

/// The stored examples of a process.
pub struct Datasets {
    store: Arc<Store>,
    pub(super) blobs: Blobs,
    ids: Arc<Ids>,
    memory: MemoryBudget,
    /// Largest stored data, in bytes, that are held in memory as a whole.
    resident_bytes_max: u64,
    /// How tables are encoded again.
    encoding: Arc<EncodingConfig>,
    /// The space that uploads of this process reserve.
    pub reservations: Arc<Reservations>,
}

impl Datasets {
    pub(super) fn new(
        store: &Arc<Store>,
        blobs: &Blobs,
        ids: &Arc<Ids>,
        config: &JobsConfig,
    ) -> Self {
        Self {
            memory: config.memory.clone(),
            resident_bytes_max: config.resident_bytes_max,
            encoding: Arc::new(config.encoding.clone()),
            reservations: Arc::new(Reservations::new(Arc::clone(store))),
            store: Arc::clone(store),
            blobs: blobs.clone(),
            ids: Arc::clone(ids),
        }
    }

    /// The owner's dataset.
    ///
    /// # Errors
    /// [`JobsError::DatasetMissing`], or errors of the store.
    pub async fn find(&self, owner: &Owner, id: DatasetId) -> Result<Dataset, JobsError> {
        let dataset = self.store.find(owner, id).await?;
        dataset.ok_or(JobsError::DatasetMissing)
    }

    /// At most `count` examples of a dataset from example `first` on, counted from 0, with the classes of labelled
    /// ones, or `None` beyond the last example.
    ///
    /// Reads only the needed ranges of the blob and compares their checks.
    ///
    /// # Errors
    /// [`JobsError::DatasetMissing`], or errors of the store.
    pub async fn read_examples(
        &self,
        dataset: &DatasetSummary,
        first: usize,
        count: usize,
    ) -> Result<Option<NamedData>, JobsError> {
        let corrupt = |error: BlocksError| StoreError::corrupt(error);
        let at_first = [Range {
            start: 0,
            end: Layout::CHECKED_HEAD_BYTES as u64,
        }];
        let head = self.dataset_bytes(dataset, &at_first).await?;
        let layout = Layout::read(head.concat().as_slice()).map_err(corrupt)?;
        let layout = match layout.index_bytes() {
            None => layout,
            Some(length) => {
                let end = dataset.examples_bytes();
                let start = end.checked_sub(length);
                let start = start.ok_or(BlocksError::Truncated).map_err(corrupt)?;
                let at_end = [Range { start, end }];
                let index = self.dataset_bytes(dataset, &at_end).await?;
                layout.with_index(&index.concat()).map_err(corrupt)?
            }
        };
        let Some(range) = RowRange::new(layout.clone(), first, count) else {
            return Ok(None);
        };
        let pieces = range.pieces().ok_or(BlocksError::Truncated);
        let mut pieces = pieces.map_err(corrupt)?;
        let names = layout.names_place(dataset.examples_bytes());
        pieces.extend(names.clone());
        let mut pieces = self.dataset_bytes(dataset, &pieces).await?;
        let read = tokio::task::spawn_blocking(move || {
            let names: Bytes = names.and_then(|_| pieces.pop()).unwrap_or_default();
            let (classes, vocabulary) = layout.read_names(names.as_ref())?;
            Ok::<_, BlocksError>((range.read(&pieces)?, classes, vocabulary))
        });
        let defect = |error: JoinError| StoreError::Other(error.into());
        let read = read.await.map_err(defect)?;
        Ok(Some(read.map_err(corrupt)?))
    }

    async fn dataset_bytes(
        &self,
        dataset: &DatasetSummary,
        ranges: &[Range<u64>],
    ) -> Result<Vec<Bytes>, JobsError> {
        match self.blobs.get_ranges(&dataset.data_key, ranges).await? {
            Some(found) => Ok(found),
            None => Err(self.without_blob(dataset).await?),
        }
    }

    /// The reason why a dataset has no blob: the dataset was deleted after its row was read, or the blob is
    /// lost.
    async fn without_blob(&self, dataset: &DatasetSummary) -> Result<JobsError, JobsError> {
        Ok(match self.store.find(&dataset.owner, dataset.id).await? {
            None => JobsError::DatasetMissing,
            Some(_) => {
                let key = &dataset.data_key;
                StoreError::corrupt(format!("the stored data {key} are missing")).into()
            }
        })
    }

    /// Refuses large writes when the disk is almost full.
    ///
    /// # Errors
    /// Errors of the store.
    pub(super) async fn ensure_space(&self) -> Result<(), StoreError> {
        self.store.ensure_space().await
    }

    /// The largest number of examples that are compared for duplicates.
    fn compared_max(&self) -> usize {
        let fitting = self.memory.bytes_max() / 2 / RepetitionCounter::ROW_BYTES as u64;
        usize::try_from(fitting).map_or(halfspace_formats::EXAMPLES_MAX, |fitting| {
            fitting.min(halfspace_formats::EXAMPLES_MAX)
        })
    }
}
