//! The check of a whole store: reads every record and every blob and compares their digests.
//!
//! It writes nothing and may run beside serving processes; records that are deleted meanwhile are skipped. If a part
//! of the database cannot be read, that is reported and the check continues with the rest. Blobs carry their own
//! checks, so they can be verified even without their rows.

pub(super) mod report;

use std::collections::HashSet;
use std::time::Duration;

use halfspace_core::learners::engine::run::StopFlag;
use halfspace_core::learners::sample::examples::Shape;
use halfspace_formats::{
    BlocksError, Buffers, LabelsKind, ReadFrom, RowsKind, StoredExamples, check_cells,
};
use hex::FromHex;
use tokio::time::Instant;

use crate::records::JobId;
use crate::storage::blobs::opening::MARK;
use crate::storage::{Blob, Blobs, CheckedStore, StoreError, StoredTable};

use crate::jobs::worker::checkpoints::Checkpoint;
use report::{CheckNews, CheckSummary, Damage};

/// Bytes of a blob read at once.
const WINDOW_BYTES: u64 = 4 << 20;

/// Damaged blocks reported per blob.
const DAMAGES_MAX: usize = 20;

/// Interval between two progress messages.
const TOLD_EVERY: Duration = Duration::from_secs(2);

/// Sorts after every id.
const LAST: &str = "~";

/// Checks a store. If the database cannot be opened, only the blobs are checked.
///
/// # Errors
/// When a remote database or object store stops answering.
pub async fn check_store(
    database: Result<&CheckedStore, &StoreError>,
    blobs: Option<&Blobs>,
    tell: &mut (dyn FnMut(CheckNews) + Send),
) -> Result<CheckSummary, StoreError> {
    let mut check = Check {
        blobs,
        tell,
        summary: CheckSummary::default(),
        named: HashSet::new(),
        is_embedded: database.as_ref().is_ok_and(|store| store.is_embedded()),
        rows_are_missing: false,
        told_at: Instant::now(),
    };
    match database {
        Ok(store) => check.rows(store).await?,
        Err(error) => {
            check.rows_are_missing = true;
            check.damaged("database", "schema", error.to_string());
        }
    }
    check.remaining_blobs().await?;
    Ok(check.summary)
}

struct Check<'a> {
    blobs: Option<&'a Blobs>,
    tell: &'a mut (dyn FnMut(CheckNews) + Send),
    summary: CheckSummary,
    /// Keys of the blobs that were checked with their rows.
    named: HashSet<String>,
    /// Whether the database is a local file. Read errors of a local file count as damage.
    is_embedded: bool,
    /// Whether some rows could not be read. A blob without a row is then no orphan.
    rows_are_missing: bool,
    told_at: Instant,
}

impl Check<'_> {
    async fn rows(&mut self, store: &CheckedStore) -> Result<(), StoreError> {
        self.progress("checking the pages of the database".to_owned());
        match store.faults().await {
            Ok(faults) => faults
                .into_iter()
                .for_each(|fault| self.damaged("database", "pages", fault)),
            Err(error) => self.unreadable("database", "pages", error)?,
        }
        if let (Some(blobs), Ok(Some(name))) = (self.blobs, store.name().await)
            && let Ok(false) = blobs.is_marked_for(&name).await
        {
            let detail = "the mark names another database: the mark is damaged, or --blob-url \
                          belongs to another store";
            self.damaged("blob", MARK, detail.to_owned());
        }
        for table in store.tables() {
            self.table(store, table).await?;
        }
        match store.digests_of_nothing().await {
            Ok(found) => found.into_iter().for_each(|id| {
                let detail = "the digest of the row exists, but the row is missing".to_owned();
                self.damaged("table", &id, detail);
            }),
            Err(error) => self.unreadable("table", "digests", error)?,
        }
        Ok(())
    }

    /// Checks the rows of a table. If the ids cannot be read in order beyond some place, the rows
    /// behind that place are read backwards from the end.
    async fn table(&mut self, store: &CheckedStore, table: &StoredTable) -> Result<(), StoreError> {
        let mut after = String::new();
        let broken = loop {
            match store.ids_after(table, &after).await {
                Ok(ids) => match ids.last() {
                    None => return Ok(()),
                    Some(last) if *last <= after => {
                        break StoreError::corrupt("the row is out of order");
                    }
                    Some(last) => {
                        after.clone_from(last);
                        self.each(store, table, &ids).await?;
                    }
                },
                Err(error) => break error,
            }
        };
        self.unreadable("table", table.things, broken)?;
        let mut before = LAST.to_owned();
        while let Ok(mut ids) = store.ids_before(table, &before).await {
            ids.retain(|id| *id > after && *id < before);
            let Some(last) = ids.last() else { break };
            before.clone_from(last);
            self.each(store, table, &ids).await?;
        }
        Ok(())
    }

    async fn each(
        &mut self,
        store: &CheckedStore,
        table: &StoredTable,
        ids: &[String],
    ) -> Result<(), StoreError> {
        for id in ids {
            match self.row(store, table, id).await {
                Ok(()) => {}
                Err(RowFailure::Row(error)) => self.unreadable(table.noun, id, error)?,
                Err(RowFailure::BlobsAway(error)) => return Err(error),
            }
            let checked = self.summary.checked.entry(table.noun).or_default();
            *checked += 1;
            let text = format!("{checked} {} checked", table.things);
            self.progress(text);
        }
        Ok(())
    }

    /// Checks a row, and what the row says of blobs, of other rows and of the state of a job.
    async fn row(
        &mut self,
        store: &CheckedStore,
        table: &StoredTable,
        id: &str,
    ) -> Result<(), RowFailure> {
        let Some(found) = store.check(table, id).await? else {
            return Ok(());
        };
        let mut damages = Vec::new();
        if let Some((key, sha256)) = &found.data {
            let compare = |header: &Shape| {
                let is_other = found.facts.as_ref().is_some_and(|facts| {
                    header.n as u64 != facts.n
                        || header.examples as u64 != facts.examples
                        || RowsKind::of(header.is_real) != facts.values
                        || LabelsKind::of(header.labels) != facts.kind
                });
                is_other.then(|| {
                    format!(
                        "the examples of the blob differ from the record of the {}",
                        table.noun
                    )
                })
            };
            damages = self.blob(key, sha256.as_deref(), compare).await?;
        }
        if let Some(key) = &found.cells {
            damages.extend(self.cells(key).await?);
        }
        if let Some(dataset) = found.dataset
            && let Ok(None) = store.find(dataset).await
        {
            damages.push(format!(
                "the dataset {dataset} of the {} is missing",
                table.noun
            ));
        }
        if let Some((body, program)) = found.checkpoint
            && self.is_broken(store, id, body, &program).await?
        {
            let detail =
                "the checkpoint differs from its digest; the job restarts from the beginning";
            damages.push(detail.to_owned());
        }
        // The thing may have been deleted or may have ended meanwhile.
        if !damages.is_empty()
            && store
                .check(table, id)
                .await?
                .is_some_and(|now| now.is_open())
        {
            for detail in damages {
                self.damaged(table.noun, id, detail);
            }
        }
        Ok(())
    }

    /// Whether the state of a job differs from its digest. Only the program that wrote the state can tell.
    async fn is_broken(
        &mut self,
        store: &CheckedStore,
        id: &str,
        body: Vec<u8>,
        program: &str,
    ) -> Result<bool, StoreError> {
        if program != env!("CARGO_PKG_VERSION") {
            self.summary.foreign_checkpoints += 1;
            return Ok(false);
        }
        // The damage of a job's own row is reported with the job.
        let Ok(id) = id.parse::<JobId>() else {
            return Ok(false);
        };
        let Ok(Some(job)) = store.find(id).await else {
            return Ok(false);
        };
        in_pool(move || Checkpoint::open(&job, &body).is_none()).await
    }

    /// The damage of a blob.
    async fn blob(
        &mut self,
        key: &str,
        sha256: Option<&str>,
        compare: impl FnOnce(&Shape) -> Option<String>,
    ) -> Result<Vec<String>, RowFailure> {
        let Some(blobs) = self.blobs else {
            return Ok(vec![format!("the folder of the blob {key} is missing")]);
        };
        self.named.insert(key.to_owned());
        let source = match blobs.read_once(key).await {
            Ok(Some(source)) => source,
            Ok(None) => return Ok(vec![format!("the blob {key} is missing")]),
            Err(error) if blobs.is_remote() => return Err(RowFailure::BlobsAway(error)),
            Err(error) => return Ok(vec![format!("{}{error}", its_blob(key))]),
        };
        let digest = match sha256.map(<[u8; 32]>::from_hex).transpose() {
            Ok(digest) => digest,
            Err(_) => return Ok(vec!["the recorded digest is invalid".to_owned()]),
        };
        let read = in_pool(move || {
            let buffers = Buffers {
                whole_bytes_max: 0,
                window_bytes: WINDOW_BYTES,
            };
            let stop = StopFlag::default();
            let stored = StoredExamples::open(source, digest.unwrap_or_default(), buffers, stop)?;
            let mut bytes = 0;
            let see = &mut |read| bytes += read;
            let damages = stored.damages(digest.is_some(), DAMAGES_MAX, see);
            Ok::<_, BlocksError>((stored, damages, bytes))
        });
        let (stored, mut damages, bytes) = match read.await? {
            Ok(read) => read,
            Err(damage) => return Ok(vec![format!("{}{damage}", its_blob(key))]),
        };
        let is_away = |damage: &BlocksError| matches!(damage, BlocksError::Io(_));
        if blobs.is_remote() && damages.iter().any(is_away) {
            let away = damages.swap_remove(0).to_string();
            return Err(RowFailure::BlobsAway(StoreError::unavailable(away)));
        }
        self.summary.blob_bytes += bytes;
        *self.summary.checked.entry("blob").or_default() += 1;
        let damages = damages
            .iter()
            .map(|damage| format!("{}{damage}", its_blob(key)));
        Ok(damages.chain(compare(stored.header())).collect())
    }

    /// The damage of a blob with raw cells.
    async fn cells(&mut self, key: &str) -> Result<Option<String>, RowFailure> {
        let Some(blobs) = self.blobs else {
            return Ok(None);
        };
        self.named.insert(key.to_owned());
        let source = match blobs.read_once(key).await {
            Ok(Some(source)) => source,
            Ok(None) => return Ok(Some(format!("the blob {key} is missing"))),
            Err(error) if blobs.is_remote() => return Err(RowFailure::BlobsAway(error)),
            Err(error) => return Ok(Some(format!("{}{error}", its_blob(key)))),
        };
        let read = in_pool(move || {
            let bytes = source.bytes()?;
            check_cells(ReadFrom::whole(&*source)?).map(|()| bytes)
        });
        match read.await? {
            Ok(bytes) => {
                self.summary.blob_bytes += bytes;
                *self.summary.checked.entry("blob").or_default() += 1;
                Ok(None)
            }
            Err(error) => Ok(Some(format!("{}{}", its_blob(key), error.detail))),
        }
    }

    /// Blobs without a row: orphans, or blobs whose rows cannot be read.
    async fn remaining_blobs(&mut self) -> Result<(), StoreError> {
        let Some(blobs) = self.blobs else {
            return Ok(());
        };
        let mut found = blobs.list("datasets").await?;
        found.extend(blobs.list("jobs").await?);
        found.sort_by(|one, next| one.key.cmp(&next.key));
        for Blob { key, bytes, .. } in found {
            if self.named.contains(&key) {
                continue;
            }
            // The raw cells of a job stand beside its data.
            if self.named.contains(&*Blobs::key_of_data(&key)) {
                let damage = match self.cells(&key).await {
                    Ok(damage) => damage,
                    Err(RowFailure::Row(error) | RowFailure::BlobsAway(error)) => {
                        return Err(error);
                    }
                };
                damage
                    .into_iter()
                    .for_each(|detail| self.damaged("blob", &key, detail));
                continue;
            }
            if !self.rows_are_missing {
                self.summary.orphans += 1;
                self.summary.orphan_bytes += bytes;
                continue;
            }
            let damages = match *Blobs::key_of_data(&key) == key {
                true => self.blob(&key, None, |_| None).await,
                false => self.cells(&key).await.map(Vec::from_iter),
            };
            match damages {
                Ok(damages) => damages.into_iter().for_each(|detail| {
                    self.damaged("blob", &key, detail.replace(&its_blob(&key), ""))
                }),
                Err(RowFailure::Row(error) | RowFailure::BlobsAway(error)) => return Err(error),
            }
        }
        Ok(())
    }

    fn damaged(&mut self, kind: &'static str, id: &str, detail: String) {
        self.summary.damages += 1;
        let id = id.to_owned();
        (self.tell)(CheckNews::Damage(Damage { kind, id, detail }));
    }

    /// Reports an unreadable row.
    ///
    /// # Errors
    /// The same error if a remote database is unavailable.
    fn unreadable(
        &mut self,
        kind: &'static str,
        id: &str,
        error: StoreError,
    ) -> Result<(), StoreError> {
        match error {
            StoreError::Unavailable(_) if !self.is_embedded => return Err(error),
            StoreError::Corrupt(damage) => self.damaged(kind, id, damage.to_string()),
            error => self.damaged(kind, id, error.to_string()),
        }
        self.rows_are_missing |= ["dataset", "job", "table"].contains(&kind);
        Ok(())
    }

    fn progress(&mut self, text: String) {
        if self.told_at.elapsed() >= TOLD_EVERY {
            self.told_at = Instant::now();
            (self.tell)(CheckNews::Progress(text));
        }
    }
}

/// The reason why the check of a row ended early.
enum RowFailure {
    /// The row cannot be read.
    Row(StoreError),
    /// The object store does not answer.
    BlobsAway(StoreError),
}

impl From<StoreError> for RowFailure {
    fn from(error: StoreError) -> Self {
        Self::Row(error)
    }
}

/// The prefix of a blob's damage in the report of a record.
fn its_blob(key: &str) -> String {
    format!("blob {key}: ")
}

async fn in_pool<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, StoreError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| StoreError::Other(error.into()))
}
