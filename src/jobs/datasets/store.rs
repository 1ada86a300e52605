//! Writes a dataset: its blob, then its row with the facts about its examples.

use std::io::{self, Write};
use std::sync::Arc;

use halfspace_core::learners::sample::data::Data;
use halfspace_core::learners::sample::examples::{Examples, LabelKind};
use halfspace_core::learners::sample::weights::Weight;
use halfspace_core::memory::{self, Grant};
use halfspace_formats::{
    self, Assume, BlocksError, Classes, LabelsKind, Layout, Parsed, ParsedRows, RawCells, ReadFrom,
    RowsKind, Stored,
};
use tokio::runtime::Handle;
use tokio::task::JoinError;

use crate::records::dataset::Repetitions;
use crate::records::{
    DataFacts, Dataset, DatasetId, DatasetSummary, JobId, KeyClaim, Names, Owner, Timestamp,
};
use crate::storage::blobs::writer::BlobWriter;
use crate::storage::{Blobs, StoreError};

use super::Datasets;
use super::begun_dataset::BegunDataset;
use super::raw_cells::TableCells;
use super::reservations::Reservation;
use super::stored::forget_data;
use crate::jobs::error::JobsError;

/// Parsed examples to be stored, and the client's description of them.
pub struct NewDataset {
    pub owner: Owner,
    /// Free text of the client.
    pub name: Option<String>,
    pub parsed: Parsed<ParsedRows>,
    /// The raw cells of a table whose examples do not tell them.
    pub cells: Option<RawCells>,
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

impl NewDataset {
    /// The bytes of the stored form, which may be an upper bound.
    fn stored_bytes(&self) -> u64 {
        let examples = self.parsed.stored_bytes().unwrap_or(u64::MAX);
        let cells = self.cells.as_ref().map_or(0, RawCells::bytes);
        examples.saturating_add(cells)
    }
}

/// A sample that a request brought for a job.
pub(crate) struct KeptSample {
    pub(crate) data: Arc<Data>,
    pub(crate) names: Names,
    pub(crate) weights: Option<Arc<[Weight]>>,
    /// The raw cells of its table.
    pub(crate) cells: Option<TableCells>,
}

impl KeptSample {
    /// The bytes of its blobs, which may be an upper bound.
    fn stored_bytes(&self) -> u64 {
        let rows = halfspace_formats::stored_bytes(&self.data.shape()).unwrap_or(u64::MAX);
        let names = self.names.vocabulary();
        let names = names.map_or(0, |names| names.stored_bytes());
        let weights = self.weights.as_deref();
        let weights = weights.map_or(0, |all| {
            Layout::weights_bytes_of(all.len()).unwrap_or(u64::MAX)
        });
        let cells = self.cells.as_ref();
        let cells = cells.and_then(|cells| cells.source().bytes().ok());
        let beside = [names, weights, cells.unwrap_or(0)];
        beside.into_iter().fold(rows, u64::saturating_add)
    }

    fn write(&self, to: impl Write) -> Result<(), BlocksError> {
        let vocabulary = self.names.vocabulary().map(AsRef::as_ref);
        let classes = self.names.classes.as_ref();
        let weights = self.weights.as_deref();
        halfspace_formats::write_blocks(&self.data, classes, vocabulary, weights, to)
    }
}

impl Datasets {
    /// Stores a dataset, which is on disk when this returns.
    ///
    /// # Errors
    /// [`JobsError::OverQuota`], [`JobsError::NoMemory`], [`JobsError::KeyTaken`], or errors of the store. After an
    /// error there is no dataset, unless the store gave no answer at first: then one with an unknown id may exist.
    pub async fn store(&self, new: NewDataset) -> Result<Dataset, JobsError> {
        self.store.ensure_space().await?;
        let bytes = new.stored_bytes();
        let reserved = match &new.reserved {
            Some(reserved) => reserved.clone(),
            None => self.reservations.reserve(&new.owner, bytes).await?,
        };
        reserved.set(bytes).map_err(JobsError::OverQuota)?;
        let described = Described::of(&new);
        let blob = new.begun.into_blob()?;
        let (parsed, facts, bytes) = self.write_blob(new.parsed, new.assume, blob).await?;
        let cells_bytes = match self.write_cells(described.id, new.cells).await {
            Ok(bytes) => bytes,
            Err(error) => {
                let key = Blobs::dataset_key(described.id);
                forget_data(&self.blobs, Some(&key)).await;
                return Err(error);
            }
        };
        let dataset = described.dataset(&parsed, facts, (bytes, cells_bytes));
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
                forget_data(&self.blobs, Some(&dataset.summary.data_key)).await;
                return Err(error.into());
            }
        }
        Ok(dataset)
    }

    /// Writes the blob of a dataset on this thread, which may block. The caller stores the row. The writing breaks
    /// off once `look` fails.
    ///
    /// # Errors
    /// [`JobsError::OverQuota`], [`JobsError::NoMemory`], or errors of the store. After an error there is no blob.
    pub(in crate::jobs) fn write_here(
        &self,
        mut new: NewDataset,
        look: impl Fn() -> io::Result<()>,
        runtime: &Handle,
    ) -> Result<Dataset, JobsError> {
        let bytes = new.stored_bytes();
        if let Some(reserved) = &new.reserved {
            reserved.set(bytes).map_err(JobsError::OverQuota)?;
        }
        let described = Described::of(&new);
        let mut blob = new.begun.into_blob()?;
        let compared_max = self.compared_max();
        let facts = match &new.parsed.data {
            ParsedRows::Stored(stored) => facts(&new.parsed, stored, new.assume, compared_max),
            _ => {
                let rows = new.parsed.data.header().examples;
                let needed = halfspace_formats::storing_bytes(rows, compared_max);
                memory::need(needed).map_err(JobsError::NoMemory)?;
                let to = Watched {
                    to: &mut blob,
                    look,
                };
                match new.parsed.store(to, compared_max) {
                    Ok(stored) => facts(&new.parsed, &stored, new.assume, compared_max),
                    Err(error) => {
                        runtime.block_on(blob.abort());
                        return Err(unwritten(error).into());
                    }
                }
            }
        };
        let bytes = runtime.block_on(blob.finish())?;
        let cells_bytes = match runtime.block_on(self.write_cells(described.id, new.cells)) {
            Ok(bytes) => bytes,
            Err(error) => {
                let key = Blobs::dataset_key(described.id);
                runtime.block_on(forget_data(&self.blobs, Some(&key)));
                return Err(error);
            }
        };
        Ok(described.dataset(&new.parsed, facts, (bytes, cells_bytes)))
    }

    /// Writes the raw cells of a table beside its examples. Returns their bytes, 0 if there are none.
    async fn write_cells(&self, id: DatasetId, cells: Option<RawCells>) -> Result<u64, JobsError> {
        let Some(mut cells) = cells else { return Ok(0) };
        let write = move |blob: &mut BlobWriter| cells.write(blob);
        self.write_beside(&Blobs::dataset_key(id), write).await
    }

    /// Writes the blob of raw cells beside data with this key. Returns its bytes.
    async fn write_beside(
        &self,
        key: &str,
        write: impl FnOnce(&mut BlobWriter) -> io::Result<()> + Send + 'static,
    ) -> Result<u64, JobsError> {
        let mut blob = self
            .store
            .blob_writer(&self.blobs, &Blobs::cells_key(key))?;
        let written = tokio::task::spawn_blocking(move || {
            let written = write(&mut blob);
            (blob, written)
        });
        let (blob, written) = written.await.map_err(StoreError::other)?;
        if let Err(error) = written {
            blob.abort().await;
            return Err(StoreError::from(error).into());
        }
        Ok(blob.finish().await?)
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

    /// Finds the facts that a dataset of the examples would have, and stores nothing.
    ///
    /// # Errors
    /// [`JobsError::NoMemory`], or a spool that cannot be read.
    pub async fn describe(
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
        let rows = parsed.data.header().examples;
        let compared_max = self.compared_max();
        let bytes = halfspace_formats::storing_bytes(rows, compared_max);
        let taken = self.memory.try_take(bytes);
        Ok((compared_max, taken.map_err(JobsError::NoMemory)?))
    }

    /// Stores a sample, and the raw cells of its table. Returns the key and the length of the blobs. The bytes are
    /// reserved until the blobs are written; after that the row of the job counts them.
    pub(crate) async fn keep(
        &self,
        owner: &Owner,
        job: JobId,
        sample: KeptSample,
    ) -> Result<(String, u64), JobsError> {
        self.store.ensure_space().await?;
        let key = Blobs::data_key(job, 0);
        let _reserved = self
            .reservations
            .reserve(owner, sample.stored_bytes())
            .await?;
        let cells = sample.cells.clone();
        let mut blob = self.store.blob_writer(&self.blobs, &key)?;
        let written = tokio::task::spawn_blocking(move || {
            let written = sample.write(&mut blob);
            (blob, written)
        });
        let (blob, written) = written.await.map_err(|_| JobsError::Stopping)?;
        if let Err(error) = written {
            blob.abort().await;
            return Err(unwritten(error).into());
        }
        let bytes = blob.finish().await?;
        match self.copy_cells(&key, cells).await {
            Ok(cells_bytes) => Ok((key, bytes.saturating_add(cells_bytes))),
            Err(error) => {
                forget_data(&self.blobs, Some(&key)).await;
                Err(error)
            }
        }
    }

    /// Stores the raw cells of a table beside data with this key. Returns their bytes.
    async fn copy_cells(&self, key: &str, cells: Option<TableCells>) -> Result<u64, JobsError> {
        let Some(cells) = cells else { return Ok(0) };
        self.write_beside(key, move |blob| {
            let mut source = ReadFrom::whole(cells.source())?;
            io::copy(&mut source, blob).map(drop)
        })
        .await
    }
}

/// What is known of a dataset before its blob is written.
struct Described {
    id: DatasetId,
    created_at: Timestamp,
    owner: Owner,
    name: Option<String>,
    seed: Option<u64>,
}

impl Described {
    fn of(new: &NewDataset) -> Self {
        Self {
            id: new.begun.id,
            created_at: new.begun.created_at,
            owner: new.owner.clone(),
            name: new.name.clone(),
            seed: new.seed,
        }
    }

    /// The dataset of the examples, whose blob has `bytes` bytes and that of its raw cells `cells_bytes`.
    fn dataset(
        self,
        parsed: &Parsed<ParsedRows>,
        facts: DataFacts,
        (bytes, cells_bytes): (u64, u64),
    ) -> Dataset {
        Dataset {
            summary: DatasetSummary {
                id: self.id,
                owner: self.owner,
                name: self.name,
                facts,
                seed: self.seed,
                bytes: bytes.saturating_add(cells_bytes),
                cells_bytes,
                data_key: Blobs::dataset_key(self.id),
                created_at: self.created_at,
            },
            names: Names::of(parsed),
        }
    }
}

/// A target whose writes fail once `look` does.
struct Watched<W, L> {
    to: W,
    look: L,
}

impl<W: Write, L: Fn() -> io::Result<()>> Write for Watched<W, L> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (self.look)()?;
        self.to.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Why the declared distribution does not fit examples with labels of this kind, if it does not.
pub fn assume_refusal(kind: LabelKind, assume: Option<Assume>) -> Option<&'static str> {
    let allowed = Assume::allowed(kind.is_labelled());
    if assume.is_none_or(|assume| kind != LabelKind::Unlabelled && allowed.contains(&assume)) {
        return None;
    }
    Some(
        "half-space examples can be independent, uniform-positive or reflected; labelled examples can be \
         independent or uniform",
    )
}

/// The store error for a blob that could not be written.
fn unwritten(error: BlocksError) -> StoreError {
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
    let stored = memory.within(|| parsed.store(to, compared_max))?;
    Ok(facts(parsed, &stored, assume, compared_max))
}

fn facts(
    parsed: &Parsed<ParsedRows>,
    stored: &Stored,
    assume: Option<Assume>,
    compared_max: usize,
) -> DataFacts {
    let header = &stored.header;
    let examples = header.examples as u64;
    let zero_is_minus = !header.is_real && parsed.zero_bit_value < 0.0;
    DataFacts {
        n: header.n as u64,
        kind: LabelsKind::of(header.labels),
        values: RowsKind::of(header.is_real),
        zero_bit_value: if zero_is_minus { -1 } else { 0 },
        assume,
        examples,
        class_examples: match header.labels {
            LabelKind::Labelled { .. } => {
                let mut counts = stored.class_examples.clone();
                // The last classes may have no example.
                counts.resize(parsed.classes.as_ref().map_or(2, Classes::count), 0);
                Some(counts)
            }
            LabelKind::HalfSpace => Some(vec![0, examples]),
            LabelKind::Unlabelled => None,
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
