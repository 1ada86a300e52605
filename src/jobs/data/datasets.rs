//! Stored datasets: how they are written, read and deleted.
//!
//! The blob is written before its row and deleted after its row. A crash therefore leaves at worst a blob
//! without a row, and the sweep removes such blobs.

use std::io::{self, Write};
use std::ops::Range;

use bytes::Bytes;
use halfspace_core::learners::sample::data::Data;
use halfspace_core::learners::sample::repetitions::RepetitionCounter;
use halfspace_core::memory::Grant;
use halfspace_formats::{
    self, Assume, BlocksError, LabelsKind, Layout, Parsed, ParsedRows, RowRange, RowsKind, Stored,
};
use tokio::task::JoinError;

use crate::records::dataset::Repetitions;
use crate::records::{DataFacts, Dataset, DatasetId, DatasetSummary, KeyClaim, Names, Owner};
use crate::storage::blobs::writer::BlobWriter;
use crate::storage::{Blobs, DeleteDatasetOutcome, StoreError};

use super::begun_dataset::BegunDataset;
use super::reservations::Reservation;
use crate::jobs::service::{Jobs, JobsError};

/// Parsed examples to be stored, and the client's description of them.
pub struct NewDataset {
    /// The owner of the dataset.
    pub owner: Owner,
    /// Free text of the client.
    pub name: Option<String>,
    /// The examples.
    pub parsed: Parsed<ParsedRows>,
    /// The declared distribution of the examples.
    pub assume: Option<Assume>,
    /// The seed of drawn examples.
    pub seed: Option<u64>,
    /// The idempotency key of the request.
    pub key: Option<KeyClaim>,
    /// The reservation under which the examples were read.
    pub reserved: Option<Reservation>,
    /// The dataset that was begun before the examples were read.
    pub begun: BegunDataset,
}

impl Jobs {
    /// Stores a dataset. The dataset is on disk when this returns.
    ///
    /// # Errors
    /// [`JobsError::OverQuota`], [`JobsError::NoMemory`], [`JobsError::KeyTaken`], or errors of the store.
    /// After an error no dataset exists, with one exception. If the store gave no answer at first, a dataset
    /// with an unknown id may exist.
    pub async fn store_dataset(&self, new: NewDataset) -> Result<Dataset, JobsError> {
        self.store.ensure_space().await?;
        let bytes = new.parsed.data.header().stored_bytes();
        let bytes = bytes.unwrap_or(u64::MAX);
        let reserved = match &new.reserved {
            Some(reserved) => reserved.clone(),
            None => self.reserve(&new.owner, bytes).await?,
        };
        reserved.set(bytes).map_err(JobsError::OverQuota)?;
        let (id, created_at) = (new.begun.id, new.begun.created_at);
        let blob = new.begun.into_blob().ok_or_else(|| {
            StoreError::other("the examples of a dataset were stored before their reader ended")
        })?;
        let (parsed, facts, bytes) = self.write_blob(new.parsed, new.assume, blob).await?;
        let key = Blobs::dataset_key(id);
        let dataset = Dataset {
            summary: DatasetSummary {
                id,
                owner: new.owner.clone(),
                name: new.name.clone(),
                facts,
                seed: new.seed,
                bytes,
                data_key: key.clone(),
                created_at,
            },
            names: Names::of(&parsed),
        };
        // From here on the row counts the bytes. A second count by the reservation could refuse another upload
        // that fits.
        drop((new.reserved, reserved));
        let claim = new.key.as_ref();
        match self.store.insert(&dataset, claim).await {
            Ok(()) => {}
            Err(StoreError::Unavailable(_)) => {
                // Perhaps only the answer is missing. The store leaves a dataset that is already stored
                // unchanged. After a second error the row may still exist, so the blob stays. The sweep removes
                // the blob if there is no row.
                self.store.insert(&dataset, claim).await?;
            }
            Err(error) => {
                self.forget_data(Some(&key)).await;
                return Err(error.into());
            }
        }
        Ok(dataset)
    }

    /// Writes the examples to the blob, unless their reader did so, and publishes the blob. Returns the length of the
    /// blob.
    async fn write_blob(
        &self,
        mut parsed: Parsed<ParsedRows>,
        assume: Option<Assume>,
        mut blob: BlobWriter,
    ) -> Result<(Parsed<ParsedRows>, DataFacts, u64), JobsError> {
        let facts = if let ParsedRows::Stored(stored) = &parsed.data {
            facts(&parsed, stored, assume, self.compared_max())
        } else {
            let room = self.room_to_compare(&parsed)?;
            let written = tokio::task::spawn_blocking(move || {
                let facts = write(&mut parsed, assume, &mut blob, room);
                (parsed, blob, facts)
            });
            let facts;
            (parsed, blob, facts) = written.await.map_err(StoreError::other)?;
            match facts {
                Ok(facts) => facts,
                Err(error) => {
                    blob.abort().await;
                    return Err(unwritten(error).into());
                }
            }
        };
        let bytes = blob.finish().await?;
        Ok((parsed, facts, bytes))
    }

    /// Finds the facts that a dataset of the examples would have. Stores nothing.
    ///
    /// # Errors
    /// [`JobsError::NoMemory`], or a spool that cannot be read.
    pub async fn describe_data(
        &self,
        mut parsed: Parsed<ParsedRows>,
        assume: Option<Assume>,
    ) -> Result<(Parsed<ParsedRows>, DataFacts), JobsError> {
        let room = self.room_to_compare(&parsed)?;
        let described = tokio::task::spawn_blocking(move || {
            let facts = write(&mut parsed, assume, io::sink(), room);
            (parsed, facts)
        });
        let defect = |error: JoinError| StoreError::Other(error.into());
        let (parsed, facts) = described.await.map_err(defect)?;
        Ok((parsed, facts.map_err(unwritten)?))
    }

    /// The largest number of examples that are compared for duplicates, and the memory for storing the examples.
    fn room_to_compare(&self, parsed: &Parsed<ParsedRows>) -> Result<(usize, Grant), JobsError> {
        let rows = parsed.data.header().rows;
        let compared_max = self.compared_max();
        let bytes = halfspace_formats::storing_bytes(rows, compared_max);
        let taken = self.config.memory.try_take(bytes);
        Ok((compared_max, taken.map_err(JobsError::NoMemory)?))
    }

    /// The largest number of examples that are compared for duplicates.
    pub(super) fn compared_max(&self) -> usize {
        let fitting = self.config.memory.bytes_max() / 2 / RepetitionCounter::ROW_BYTES as u64;
        usize::try_from(fitting).map_or(halfspace_formats::EXAMPLES_MAX, |fitting| {
            fitting.min(halfspace_formats::EXAMPLES_MAX)
        })
    }

    /// The owner's dataset.
    ///
    /// # Errors
    /// [`JobsError::DatasetMissing`], or errors of the store.
    pub async fn dataset(&self, owner: &Owner, id: DatasetId) -> Result<Dataset, JobsError> {
        let dataset = self.store.find(owner, id).await?;
        dataset.ok_or(JobsError::DatasetMissing)
    }

    /// At most `count` examples of a dataset from example `first` on, counted from 0. `None` if there are no
    /// such examples.
    ///
    /// Only the needed ranges of the blob are read, and the checks of the ranges are compared.
    ///
    /// # Errors
    /// [`JobsError::DatasetMissing`], or errors of the store.
    pub async fn read_examples(
        &self,
        dataset: &DatasetSummary,
        first: usize,
        count: usize,
    ) -> Result<Option<Data>, JobsError> {
        let corrupt = |error: BlocksError| StoreError::corrupt(error);
        let at_first = [Range {
            start: 0,
            end: Layout::CHECKED_HEAD_BYTES as u64,
        }];
        let head = self.dataset_bytes(dataset, &at_first).await?;
        let layout = Layout::read(head.concat().as_slice()).map_err(corrupt)?;
        let Some(range) = RowRange::new(layout, first, count) else {
            return Ok(None);
        };
        let pieces = range.pieces().ok_or(BlocksError::Truncated);
        let pieces = self
            .dataset_bytes(dataset, &pieces.map_err(corrupt)?)
            .await?;
        let read = tokio::task::spawn_blocking(move || range.read(&pieces));
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

    /// Deletes the owner's dataset.
    ///
    /// # Errors
    /// [`JobsError::DatasetMissing`], [`JobsError::DatasetPinned`], or errors of the store.
    pub async fn delete_dataset(&self, owner: &Owner, id: DatasetId) -> Result<(), JobsError> {
        match self.store.delete_dataset(owner, id).await? {
            DeleteDatasetOutcome::Deleted { data_key } => {
                self.forget_data(Some(&data_key)).await;
                Ok(())
            }
            DeleteDatasetOutcome::Pinned { job } => Err(JobsError::DatasetPinned { job }),
            DeleteDatasetOutcome::NotFound => Err(JobsError::DatasetMissing),
        }
    }
}

/// The store error for a blob that could not be written.
pub(crate) fn unwritten(error: BlocksError) -> StoreError {
    match error {
        BlocksError::Io(error) => error.into(),
        error => StoreError::other(error),
    }
}

/// Writes the stored form of the examples and returns the facts about them.
fn write(
    parsed: &mut Parsed<ParsedRows>,
    assume: Option<Assume>,
    to: impl Write,
    (compared_max, memory): (usize, Grant),
) -> Result<DataFacts, BlocksError> {
    let stored = memory.within(|| parsed.data.store(to, compared_max))?;
    Ok(facts(parsed, &stored, assume, compared_max))
}

fn facts(
    parsed: &Parsed<ParsedRows>,
    stored: &Stored,
    assume: Option<Assume>,
    compared_max: usize,
) -> DataFacts {
    let header = &stored.header;
    let examples = header.rows as u64;
    let zero_is_minus = header.kind == RowsKind::Boolean && parsed.zero_bit_value < 0.0;
    DataFacts {
        n: header.n as u64,
        kind: header.labels,
        values: header.kind,
        zero_bit_value: if zero_is_minus { -1 } else { 0 },
        assume,
        examples,
        positives: match header.labels {
            LabelsKind::Labelled => Some(stored.labelled_positive),
            LabelsKind::HalfSpace => Some(examples),
            LabelsKind::Unlabelled => None,
        },
        repetitions: repetitions(stored, compared_max),
        sha256: hex::encode(stored.digest),
    }
}

fn repetitions(stored: &Stored, compared_max: usize) -> Repetitions {
    match stored.repetitions {
        Some(counted) => Repetitions::Counted {
            duplicates: counted.duplicates,
            contradictions: counted.contradictions,
        },
        None => {
            let reason =
                format!("duplicates are counted only in data of at most {compared_max} examples");
            Repetitions::Uncounted(reason)
        }
    }
}
