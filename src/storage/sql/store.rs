//! The store: its connections, its limits, and the space that is kept for writes that must succeed. The methods about
//! records are in the files of their subjects.

use std::sync::Arc;
use std::time::Duration;

use super::super::blobs::Blobs;
use super::super::blobs::writer::BlobWriter;
use super::super::error::{Result, StoreError};
use super::super::quota::Quotas;
use super::super::reserve::Reserve;

use super::database::{Database, statement};
use super::rows;

/// Stores jobs with their events and traces, models, datasets and sessions.
///
/// Every write is one transaction, which is on disk when the method returns. The writes of a worker are fenced by
/// their [`Lease`](crate::storage::Lease). Other writes may be repeated after [`StoreError::Unavailable`], with two
/// exceptions: a repeated `pay` may add seconds twice, and a repeated `insert_api_key` fails if the first call has
/// stored the row. Leases use the clock of the database, which all replicas share. The times in records (`now`) come
/// from the caller.
///
/// An insert may carry an idempotency key, which the same transaction stores. If the owner has created another thing
/// under that key, nothing is stored and the error is [`StoreError::KeyTaken`]. A key that belongs to the same thing
/// is accepted.
///
/// Every insert respects the quotas of the store, also among concurrent inserts. If it would exceed one, nothing is
/// stored and the error is [`StoreError::OverQuota`]. The module [`quota`](crate::storage::quota) lists what is
/// counted.
///
/// [`sqlite::open`](crate::storage::sqlite::open) and [`postgres::open`](crate::storage::postgres::open) open a
/// store.
#[derive(Debug)]
pub struct Store {
    pub(in crate::storage) database: Database,
    /// Reserved disk space of an embedded database.
    reserve: Option<Arc<Reserve>>,
    pub(super) quotas: Quotas,
}

/// Pauses between the attempts of a write that must succeed. Other writers may soon release the space that
/// they have taken.
const PAUSES: [Duration; 3] = [
    Duration::ZERO,
    Duration::from_millis(50),
    Duration::from_millis(200),
];

/// Number of free pages from which an embedded database accepts rows although the disk is full.
const FREE_PAGES_MIN: u64 = 1_024;

impl Store {
    pub(in crate::storage) fn new(database: Database, reserve: Option<Reserve>) -> Self {
        Self {
            database,
            reserve: reserve.map(Arc::new),
            quotas: Quotas::UNLIMITED,
        }
    }

    pub fn quotas(&self) -> &Quotas {
        &self.quotas
    }

    /// The store with these limits.
    #[must_use]
    pub fn limited(self, quotas: Quotas) -> Self {
        Self { quotas, ..self }
    }

    /// Checks whether the store accepts new data such as a blob. Inserts check this themselves.
    ///
    /// # Errors
    /// [`StoreError::Full`] while the remaining disk space is reserved for small writes that must succeed: cancels,
    /// deletions and the ends of jobs.
    pub async fn ensure_space(&self) -> Result<()> {
        match &self.reserve {
            Some(reserve) if !reserve.is_kept() => Err(Reserve::refusal()),
            _ => Ok(()),
        }
    }

    /// Begins a blob. Its writer stops with [`StoreError::Full`] when the remaining disk space is reserved.
    ///
    /// # Errors
    /// When the key is invalid.
    pub fn blob_writer(&self, blobs: &Blobs, key: &str) -> Result<BlobWriter> {
        Ok(blobs.writer(key)?.beside(self.reserve.clone()))
    }

    /// Like [`Self::ensure_space`], but for rows. Deleted rows leave free pages, which also provide space for
    /// rows.
    pub(super) async fn ensure_row_space(&self) -> Result<()> {
        let Err(refusal) = self.ensure_space().await else {
            return Ok(());
        };
        let free = self
            .database
            .one(statement("PRAGMA freelist_count"))
            .await?;
        if rows::unsigned(&free, "freelist_count")? >= FREE_PAGES_MIN {
            return Ok(());
        }
        Err(refusal)
    }

    /// Runs a write that frees space, or a small write that must succeed. If the disk is full, releases the
    /// reserve and retries.
    pub(super) async fn with_reserve<T, F: Future<Output = Result<T>>>(
        &self,
        write: impl Fn() -> F,
    ) -> Result<T> {
        for pause in PAUSES {
            match write().await {
                Err(StoreError::Full(_))
                    if self.reserve.as_deref().is_some_and(Reserve::release) =>
                {
                    tokio::time::sleep(pause).await;
                }
                outcome => return outcome,
            }
        }
        write().await
    }

    /// Checks whether the database answers.
    pub async fn ping(&self) -> Result<()> {
        // Reads the database file and not only the connection.
        let select = statement("SELECT 1 FROM jobs LIMIT 1");
        self.database.optional(select).await?;
        Ok(())
    }

    /// Closes all connections. Every later call returns [`StoreError::Unavailable`].
    pub async fn close(&self) {
        self.database.close().await;
    }
}
