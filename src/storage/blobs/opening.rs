//! Whether a place for blobs will do, found out before anything rests on it: it can be listed, written,
//! read and deleted from, and what is there is this database's.
//!
//! Each database has a name, and each place for blobs has a mark, which names the place and its
//! database; the database records the name of its place. Two processes that share a database and not
//! its blobs, or blobs and not their database, would lose data: to one of them the blobs of the other
//! are missing, or nobody's. Whoever marks a place first and whoever is recorded first wins, and the
//! other one does not start.

use bytes::Bytes;

use super::Blobs;
use super::url::BlobPlace;
use crate::storage::Store;
use crate::storage::error::StoreError;

/// The key of the mark.
pub const MARK: &str = "store-id";

/// Below this, blobs are written to see whether they can be; the sweep removes those that stay.
pub const PROBES: &str = "probes";

/// Keys looked for in a place that is new to a database with blobs.
const KEYS_TRIED: u32 = 20;

/// Why a place for blobs will not do.
#[derive(Debug, thiserror::Error)]
pub enum OpeningError {
    /// It does not answer, or refuses.
    #[error("blobs cannot be {attempt} there: {source}")]
    Unusable {
        /// What was tried.
        attempt: &'static str,
        source: StoreError,
    },
    /// What was written is not what was read.
    #[error("a blob that was written there was read back as another one")]
    Unfaithful,
    /// It has the blobs of another database.
    #[error(
        "the blobs there belong to another database, which would lose them: give this database a place of \
         its own, or, if that database is gone, delete the blob {MARK} there"
    )]
    AnothersBlobs,
    /// The blobs of the database are in another place.
    #[error(
        "the blobs of this database are in another place ({recorded}): all processes over one database take \
         the same one, and blobs that move take their {MARK} along"
    )]
    Elsewhere { recorded: String },
    /// The database does not answer.
    #[error("{0}")]
    Database(#[from] StoreError),
}

impl Blobs {
    /// Tries all that will be asked of the place, on a blob of this name.
    ///
    /// # Errors
    /// [`OpeningError::Unusable`] with the first thing that failed.
    pub async fn probe(&self, name: &str) -> Result<(), OpeningError> {
        let key = format!("{PROBES}/{name}");
        let bytes = Bytes::copy_from_slice(name.as_bytes());
        let failed = |attempt| move |source| OpeningError::Unusable { attempt, source };
        self.list(PROBES).await.map_err(failed("listed"))?;
        match self.put(&key, bytes.clone()).await {
            // What is there can be read and deleted all the same, and there may be room later.
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

    /// Finds out that the place is the database's, or makes it so. `name` is one that was never used:
    /// the database is called so if it has no name yet, and so is a folder.
    ///
    /// # Errors
    /// [`OpeningError::AnothersBlobs`], [`OpeningError::Elsewhere`], or what either store says.
    pub async fn belong(
        &self,
        place: &BlobPlace,
        store: &dyn Store,
        name: &str,
    ) -> Result<(), OpeningError> {
        let database = store.database_name(name).await?;
        let mark = match self.marked().await? {
            Some(mark) => mark,
            None => match store.blob_place().await? {
                // Perhaps marked and recorded by another process in between.
                Some(recorded) => match self.marked().await? {
                    Some(mark) => mark,
                    None => return Err(OpeningError::Elsewhere { recorded }),
                },
                None => {
                    self.expect_nothing(store).await?;
                    let place = name_of(place, name);
                    let database = database.clone();
                    self.mark(&Mark { database, place }).await?
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

    /// Whether the mark, if there is one, names this database.
    ///
    /// # Errors
    /// When the mark cannot be read.
    pub async fn is_marked_for(&self, database: &str) -> Result<bool, StoreError> {
        let found = self.get(MARK).await?;
        let mark = found.map(|bytes| Mark::read(&bytes));
        Ok(mark.is_none_or(|mark| mark.is_some_and(|mark| mark.database == database)))
    }

    async fn marked(&self) -> Result<Option<Mark>, OpeningError> {
        let failed = |source| OpeningError::Unusable {
            attempt: "read",
            source,
        };
        let found = self.get(MARK).await.map_err(failed)?;
        // A mark that nobody can read is not this database's.
        found
            .map(|bytes| Mark::read(&bytes).ok_or(OpeningError::AnothersBlobs))
            .transpose()
    }

    /// Refuses a place without a mark where the database has blobs elsewhere. One of an older program
    /// has recorded no place: its blobs are where they are.
    async fn expect_nothing(&self, store: &dyn Store) -> Result<(), OpeningError> {
        let keys = store.data_keys_in_use(None, KEYS_TRIED).await?;
        for key in &keys {
            if self.has(key).await? {
                return Ok(());
            }
        }
        if keys.is_empty() {
            return Ok(());
        }
        let recorded = "not recorded".to_owned();
        Err(OpeningError::Elsewhere { recorded })
    }

    /// Marks the place; the mark that it has then.
    async fn mark(&self, mark: &Mark) -> Result<Mark, OpeningError> {
        let failed = |source| OpeningError::Unusable {
            attempt: "written",
            source,
        };
        self.put_first(MARK, mark.text()).await.map_err(failed)?;
        self.marked().await?.ok_or(OpeningError::Unfaithful)
    }
}

/// What a place is called that has no name yet.
fn name_of(place: &BlobPlace, fresh: &str) -> String {
    match place {
        // Whoever marks a bucket at the same time for the same database writes the same.
        BlobPlace::Bucket(bucket) => bucket.to_string(),
        BlobPlace::DataDir | BlobPlace::Folder(_) => fresh.to_owned(),
    }
}

/// What a place for blobs says of itself.
struct Mark {
    database: String,
    place: String,
}

impl Mark {
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
