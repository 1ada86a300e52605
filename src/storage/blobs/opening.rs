//! Checks at the start whether a place for blobs is usable and belongs to this database. Usable means that blobs
//! there can be listed, written, read and deleted.
//!
//! Two processes that share a database but not its blobs, or the blobs but not their database, would lose data: one of
//! them would miss the blobs of the other or take them for leftovers and delete them. Each database therefore has a
//! name and records the name of its place for blobs, and each place has a mark that names the place and its database.
//! The first mark and the first recorded place win, and a process that disagrees does not start.

use bytes::Bytes;

use super::Blobs;
use super::url::BlobLocation;
use crate::storage::error::StoreError;
use crate::storage::sql::store::Store;

/// The key of the mark.
pub const MARK: &str = "store-id";

/// The prefix of test blobs, which check whether the place can be written. The sweep deletes those that
/// remain.
pub const PROBES: &str = "probes";
#[derive(Debug, thiserror::Error)]
pub enum OpeningError {
    /// The place does not answer or refuses the request.
    #[error("blobs cannot be {attempt} at this location: {source}")]
    Unusable {
        /// The attempted operation.
        attempt: &'static str,
        source: StoreError,
    },
    /// A test blob was read back with other contents.
    #[error("a test blob at this location was read back with other content")]
    Unfaithful,
    /// The place has the blobs of another database.
    #[error(
        "the blobs at this location belong to another database; use another location, or delete \
         the blob {MARK} there if that database no longer exists"
    )]
    AnothersBlobs,
    /// The blobs of the database are in another place.
    #[error(
        "the blobs of this database are at another location ({recorded}); all processes of a \
         database need the same location, and moved blobs keep their {MARK}"
    )]
    Elsewhere { recorded: String },
    /// The database failed.
    #[error("{0}")]
    Database(#[from] StoreError),
}

impl Blobs {
    /// Tries every operation that the place must support, on a blob with this name.
    ///
    /// # Errors
    /// [`OpeningError::Unusable`] with the first operation that failed, or [`OpeningError::Unfaithful`].
    pub async fn probe(&self, name: &str) -> Result<(), OpeningError> {
        let key = format!("{PROBES}/{name}");
        let bytes = Bytes::copy_from_slice(name.as_bytes());
        let failed = |attempt| move |source| OpeningError::Unusable { attempt, source };
        self.list(PROBES).await.map_err(failed("listed"))?;
        match self.put(&key, bytes.clone()).await {
            // Existing blobs can still be read and deleted, and there may be space later.
            Err(StoreError::Full(_)) => return Ok(()),
            written => written.map_err(failed("written"))?,
        }
        let read = self.get(&key).await.map_err(failed("read"))?;
        self.delete(&key).await.map_err(failed("deleted"))?;
        if read == Some(bytes) {
            Ok(())
        } else {
            Err(OpeningError::Unfaithful)
        }
    }

    /// Checks that the place belongs to the database, or marks it for the database. `name` must be new: a database
    /// without a name gets it, and so does a folder without a mark.
    ///
    /// # Errors
    /// [`OpeningError::AnothersBlobs`], [`OpeningError::Elsewhere`], or an error of the place or the database.
    pub async fn belong(
        &self,
        place: &BlobLocation,
        store: &Store,
        name: &str,
    ) -> Result<(), OpeningError> {
        let database = store.database_name(name).await?;
        let mark = match self.marked().await? {
            Some(mark) => mark,
            None => match store.blob_place().await? {
                // Another process may have marked and recorded the place in between.
                Some(recorded) => match self.marked().await? {
                    Some(mark) => mark,
                    None => return Err(OpeningError::Elsewhere { recorded }),
                },
                None => {
                    let place = name_of(place, name);
                    let database = database.clone();
                    self.mark(&FolderMark { database, place }).await?
                }
            },
        };
        if mark.database != database {
            return Err(OpeningError::AnothersBlobs);
        }
        let recorded = store.record_blob_place(&mark.place).await?;
        if recorded == mark.place {
            Ok(())
        } else {
            Err(OpeningError::Elsewhere { recorded })
        }
    }

    /// Whether the mark names this database. `true` if the place has no mark.
    ///
    /// # Errors
    /// When the mark cannot be read.
    pub async fn is_marked_for(&self, database: &str) -> Result<bool, StoreError> {
        let found = self.get(MARK).await?;
        let mark = found.map(|bytes| FolderMark::read(&bytes));
        Ok(mark.is_none_or(|mark| mark.is_some_and(|mark| mark.database == database)))
    }

    async fn marked(&self) -> Result<Option<FolderMark>, OpeningError> {
        let failed = |source| OpeningError::Unusable {
            attempt: "read",
            source,
        };
        let found = self.get(MARK).await.map_err(failed)?;
        // An unreadable mark belongs to another database.
        found
            .map(|bytes| FolderMark::read(&bytes).ok_or(OpeningError::AnothersBlobs))
            .transpose()
    }

    /// Marks the place and returns the mark that the place then has.
    async fn mark(&self, mark: &FolderMark) -> Result<FolderMark, OpeningError> {
        let failed = |source| OpeningError::Unusable {
            attempt: "written",
            source,
        };
        self.put_first(MARK, mark.text()).await.map_err(failed)?;
        self.marked().await?.ok_or(OpeningError::Unfaithful)
    }
}

/// The name of a place that is marked for the first time.
fn name_of(place: &BlobLocation, fresh: &str) -> String {
    match place {
        // Concurrent processes of the same database write the same mark to a bucket.
        BlobLocation::Bucket(bucket) => bucket.to_string(),
        BlobLocation::DataDir | BlobLocation::Folder(_) => fresh.to_owned(),
    }
}

/// The mark of a place for blobs.
struct FolderMark {
    database: String,
    place: String,
}

impl FolderMark {
    fn text(&self) -> Bytes {
        format!("{}\n{}\n", self.database, self.place).into()
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let mut lines = std::str::from_utf8(bytes).ok()?.lines();
        Some(Self {
            database: lines.next()?.to_owned(),
            place: lines.next()?.to_owned(),
        })
    }
}
