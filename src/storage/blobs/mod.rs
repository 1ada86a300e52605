//! Blobs: data too large for rows, stored under keys in a folder or an object store.
//!
//! The contents of a blob are not known here. A blob is written before the record that names it and deleted after it,
//! so the worst that a crash leaves is a blob without a record.
//!
//! - [`url`] parses the place of the blobs, `s3` sends requests to an object store, and `cache` keeps fetched blobs.
//! - `writer` writes a blob in parts, and `ranged` reads one in parts.
//! - [`opening`] checks at the start whether a place is usable and belongs to this database.
//! - [`unfinished`] removes the remains of interrupted writes.

mod cache;
pub mod opening;
mod ranged;
pub(super) mod s3;
pub mod unfinished;
pub mod url;
pub mod writer;

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::TryStreamExt;
use halfspace_core::learners::engine::run::StopFlag;
use halfspace_formats::ReadAt;
use object_store::local::LocalFileSystem;
use object_store::prefix::PrefixStore;
use object_store::{
    OBJECT_STORE_COALESCE_DEFAULT, ObjectStore, ObjectStoreExt, PutMode, coalesce_ranges, path,
};

use self::cache::BlobCache;
use self::s3::{PART_BYTES, S3, count_error, store_error as s3_error};
use self::url::Bucket;
use super::data_dir::{ScratchDir, make_private_directory};
use super::error::{StoreError, is_full};
use crate::records::{DatasetId, JobId, Timestamp};

pub use self::cache::BlobFile;
pub use self::s3::{S3Access, SecretString};

/// How the keys of data end, and those of the raw cells beside them.
const DATA: &str = "/data";
const CELLS: &str = "/cells";

/// A place for blobs.
#[derive(Clone)]
pub struct Blobs {
    store: Arc<dyn ObjectStore>,
    home: BlobBackend,
}

/// Kind of the store, with its own resources.
#[derive(Clone)]
enum BlobBackend {
    /// The blobs are files below this folder.
    Folder(PathBuf),
    Bucket {
        s3: Arc<S3>,
        cache: BlobCache,
    },
}

/// A blob in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    pub key: String,
    pub bytes: u64,
    pub modified_at: Timestamp,
}

impl Blobs {
    /// The blobs in a bucket. Sends no request yet. For reading, blobs are fetched to files without names in
    /// `scratch`, which take at most `cache_bytes_max`.
    ///
    /// # Errors
    /// The name of the wrong setting, without its value.
    pub fn bucket(
        bucket: &Bucket,
        access: &S3Access,
        scratch: ScratchDir,
        cache_bytes_max: u64,
    ) -> Result<Self, String> {
        let s3 = Arc::new(S3::new(bucket.clone(), access)?);
        let prefix = path::Path::parse(&bucket.prefix).map_err(|error| error.to_string())?;
        let store: Arc<dyn ObjectStore> = Arc::new(PrefixStore::new(s3.store.clone(), prefix));
        let cache = BlobCache::new(Arc::clone(&store), scratch, cache_bytes_max);
        let home = BlobBackend::Bucket { s3, cache };
        Ok(Self { store, home })
    }

    /// The blobs in a folder. A missing one is created with access for its owner only. The remains of an interrupted
    /// write are never listed and never block a later write; see [`unfinished`].
    ///
    /// # Errors
    /// When the folder cannot be created.
    pub fn local(directory: &Path) -> Result<Self, StoreError> {
        make_private_directory(directory)?;
        let files = LocalFileSystem::new_with_prefix(directory)
            .map_err(folder_error)?
            // A blob is on disk before it is acknowledged.
            .with_fsync(true)
            .with_automatic_cleanup(true);
        Ok(Self {
            store: Arc::new(files),
            home: BlobBackend::Folder(directory.to_owned()),
        })
    }

    /// The blobs in an existing folder, which stays unchanged. `None` if the folder is missing.
    ///
    /// # Errors
    /// When the folder cannot be opened.
    pub fn existing(directory: &Path) -> Result<Option<Self>, StoreError> {
        if !directory.try_exists()? {
            return Ok(None);
        }
        Self::local(directory).map(Some)
    }

    /// Whether blobs come over a network, which may be unavailable for a while.
    #[must_use]
    pub fn is_remote(&self) -> bool {
        matches!(self.home, BlobBackend::Bucket { .. })
    }

    /// The key of a job's data: attempt 0 for those of the request. Data written by an attempt carry its number, so
    /// that a worker that has lost its lease overwrites no other blob.
    #[must_use]
    pub fn data_key(job: JobId, attempt: u32) -> String {
        format!("jobs/{job}/{attempt}{DATA}")
    }

    /// The key of a dataset.
    #[must_use]
    pub fn dataset_key(dataset: DatasetId) -> String {
        format!("datasets/{dataset}{DATA}")
    }

    /// The key of the raw cells beside data with this key.
    #[must_use]
    pub fn cells_key(data_key: &str) -> String {
        let place = data_key.strip_suffix(DATA).unwrap_or(data_key);
        format!("{place}{CELLS}")
    }

    /// The key of the data to which a blob belongs: its own, unless it holds raw cells.
    #[must_use]
    pub fn key_of_data(key: &str) -> Cow<'_, str> {
        match key.strip_suffix(CELLS) {
            Some(place) => Cow::Owned(format!("{place}{DATA}")),
            None => Cow::Borrowed(key),
        }
    }

    /// Stores a blob in place of any previous one. It is durable when this returns.
    ///
    /// # Errors
    /// [`StoreError::Full`] when the disk is full, [`StoreError::Unavailable`] when the blob cannot be written.
    pub async fn put(&self, key: &str, bytes: Bytes) -> Result<(), StoreError> {
        let path = parsed(key)?;
        self.forget(&path);
        if bytes.len() > PART_BYTES {
            return self.put_in_parts(&path, bytes).await;
        }
        let put = self.store.put(&path, bytes.into()).await;
        put.map_err(|error| self.error(error))?;
        Ok(())
    }

    /// Stores a blob if the key is free. Of several concurrent calls one succeeds. In an object store without
    /// conditional writes, a concurrent call may overwrite the blob.
    async fn put_first(&self, key: &str, bytes: Bytes) -> Result<(), StoreError> {
        let path = parsed(key)?;
        let put = |mode: PutMode| {
            self.store
                .put_opts(&path, bytes.clone().into(), mode.into())
        };
        match put(PutMode::Create).await {
            Ok(_) | Err(object_store::Error::AlreadyExists { .. }) => return Ok(()),
            // Some object stores support no conditions. After any other failure the blob may be stored
            // already.
            Err(error) if s3::is_not_implemented(&error) && !self.has(key).await? => {}
            Err(error) => return Err(self.error(error)),
        }
        let put = put(PutMode::Overwrite).await;
        put.map(|_| ()).map_err(|error| self.error(error))
    }

    /// Whether the blob exists.
    async fn has(&self, key: &str) -> Result<bool, StoreError> {
        match self.store.head(&parsed(key)?).await {
            Ok(_) => Ok(true),
            Err(object_store::Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(self.error(error)),
        }
    }

    /// The whole blob, if it exists.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when the blob cannot be read.
    pub async fn get(&self, key: &str) -> Result<Option<Bytes>, StoreError> {
        match self.store.get(&parsed(key)?).await {
            Ok(found) => {
                let bytes = found.bytes().await;
                Ok(Some(bytes.map_err(|error| self.error(error))?))
            }
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.error(error)),
        }
    }

    /// Opens a blob for reads by position, if it exists. In a folder this opens the file. An object store answers too
    /// slowly for such reads, so a blob that is not in the cache is fetched first. Raising the flag stops the fetch.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when the blob cannot be opened or fetched now; [`StoreError::Full`] when the disk
    /// is full; [`StoreError::Other`] when the blob is larger than the cache.
    pub async fn open(
        &self,
        key: &str,
        stop: &StopFlag,
    ) -> Result<Option<Box<dyn ReadAt>>, StoreError> {
        let path = parsed(key)?;
        let directory = match &self.home {
            BlobBackend::Folder(directory) => directory,
            BlobBackend::Bucket { cache, .. } => return cache.open(&path, stop).await,
        };
        match tokio::fs::File::open(directory.join(path.as_ref())).await {
            Ok(file) => {
                let file = BlobFile(file.into_std().await);
                Ok(Some(Box::new(file)))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// These ranges of a blob, in order, if it exists. Each must be within the blob.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when the blob cannot be read; [`StoreError::Corrupt`] when it ends before a range
    /// does.
    pub async fn get_ranges(
        &self,
        key: &str,
        ranges: &[Range<u64>],
    ) -> Result<Option<Vec<Bytes>>, StoreError> {
        let path = parsed(key)?;
        // Does not call the store's own `get_ranges`, which panics (object_store 0.14.2) if an object store
        // answers a request for several ranges with only some of them.
        let fetch = |range: Range<u64>| {
            let (store, path) = (&self.store, &path);
            async move {
                let found = store.get_range(path, range.clone()).await.map_err(Some)?;
                let is_whole = found.len() as u64 == range.end - range.start;
                is_whole.then_some(found).ok_or(None)
            }
        };
        let found = coalesce_ranges(ranges, fetch, OBJECT_STORE_COALESCE_DEFAULT).await;
        let failed = match found {
            Ok(found) => return Ok(Some(found)),
            Err(Some(object_store::Error::NotFound { .. })) => return Ok(None),
            Err(Some(error)) => self.error(error),
            Err(None) => {
                StoreError::unavailable(format!("a part of the blob {key} arrived incomplete"))
            }
        };
        // Object stores differ in their answers beyond the end of a blob, but every store tells the length.
        let end = ranges.iter().map(|range| range.end).max();
        match self.store.head(&path).await {
            Ok(found) if Some(found.size) < end => {
                let told = format!("the blob {key} is truncated after {} bytes", found.size);
                Err(StoreError::corrupt(told))
            }
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            _ => Err(failed),
        }
    }

    /// Deletes a blob. It is no error if there is none.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when the blob cannot be deleted.
    pub async fn delete(&self, key: &str) -> Result<(), StoreError> {
        let path = parsed(key)?;
        self.forget(&path);
        match self.store.delete(&path).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(self.error(error)),
        }
    }

    /// The blobs whose keys begin with the segments of `prefix`, in no particular order. The empty prefix
    /// lists all blobs.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when the blobs cannot be listed.
    pub async fn list(&self, prefix: &str) -> Result<Vec<Blob>, StoreError> {
        let prefix = parsed(prefix)?;
        let prefix = Some(&prefix).filter(|prefix| !prefix.as_ref().is_empty());
        let found = self.store.list(prefix).map_ok(|found| Blob {
            key: found.location.to_string(),
            bytes: found.size,
            modified_at: Timestamp::from_milliseconds(found.last_modified.timestamp_millis()),
        });
        let found: Result<_, object_store::Error> = found.try_collect().await;
        found.map_err(|error| self.error(error))
    }

    /// Removes the empty directory of an aborted write if blobs are files.
    fn remove_empty_directory(&self, path: &path::Path) {
        let BlobBackend::Folder(directory) = &self.home else {
            return;
        };
        let file = directory.join(path.as_ref());
        let above = file.ancestors().skip(1);
        let inside = above.take_while(|above| *above != directory);
        // The first directory that is not empty ends the loop.
        let _ = inside.map(std::fs::remove_dir).find(Result::is_err);
    }

    /// Drops the cached copy of a blob that is about to change.
    fn forget(&self, path: &path::Path) {
        if let BlobBackend::Bucket { cache, .. } = &self.home {
            cache.forget(path);
        }
    }

    fn error(&self, error: object_store::Error) -> StoreError {
        match self.home {
            BlobBackend::Folder(_) => folder_error(error),
            BlobBackend::Bucket { .. } => s3_error(error),
        }
    }
}

impl fmt::Debug for Blobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Blobs({})", self.store)
    }
}

fn parsed(key: &str) -> Result<path::Path, StoreError> {
    path::Path::parse(key).map_err(StoreError::other)
}

fn folder_error(error: object_store::Error) -> StoreError {
    if is_full(&error) {
        StoreError::Full(error.into())
    } else {
        count_error();
        StoreError::unavailable(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(millisecond: i64) -> String {
        Blobs::data_key(
            JobId::new(Timestamp::from_milliseconds(millisecond), [1; 10]),
            0,
        )
    }

    /// Properties of a folder beyond the contract of all places for blobs (`tests/store/blobs/contract.rs`).
    #[tokio::test]
    async fn blob_folder_survives_reopening_and_keeps_no_empty_directory() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("blobs");
        let blobs = Blobs::local(&root).unwrap();
        blobs
            .put(&key(1), Bytes::from_static(b"one"))
            .await
            .unwrap();
        blobs.put(&key(2), Bytes::from_static(b"")).await.unwrap();
        // A new process sees the same blobs.
        let blobs = Blobs::local(&root).unwrap();
        assert_eq!(blobs.get(&key(1)).await.unwrap().unwrap(), "one");
        assert_eq!(blobs.list("jobs").await.unwrap().len(), 2);
        for _ in 0..2 {
            blobs.delete(&key(1)).await.unwrap();
            blobs.delete(&key(2)).await.unwrap();
        }
        // No empty directory remains except the root.
        assert_eq!(std::fs::read_dir(&root).unwrap().count(), 0);
        blobs
            .put(&key(3), Bytes::from_static(b"again"))
            .await
            .unwrap();
    }

    #[tokio::test]
    async fn blob_keys_stay_inside_the_folder() {
        let directory = tempfile::tempdir().unwrap();
        let blobs = Blobs::local(directory.path()).unwrap();
        for bad in ["../outside", "a/../../b", "a//b"] {
            let put = blobs.put(bad, Bytes::new()).await;
            assert!(matches!(put, Err(StoreError::Other(_))), "{bad}");
        }
    }
}
