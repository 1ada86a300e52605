//! Blobs: data too large for rows, under keys, in a folder or an object store.
//!
//! What is inside a blob is not known here. A blob is written before the record that names it and
//! deleted after it, so a crash leaves at worst a blob that nobody names.
//!
//! - [`url`] says where they are, `s3` how an object store is asked, `cache` keeps what was fetched.
//! - `writer` writes a blob piece by piece.
//! - [`opening`] finds out at the start whether a place will do, and whether it is this database's.
//! - [`unfinished`] removes what interrupted writes have left.

mod cache;
pub mod opening;
mod ranged;
mod s3;
pub mod unfinished;
pub mod url;
mod writer;

use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::TryStreamExt;
use halfspace_core::learners::run::StopFlag;
use halfspace_formats::ReadAt;
use object_store::local::LocalFileSystem;
use object_store::prefix::PrefixStore;
use object_store::{
    OBJECT_STORE_COALESCE_DEFAULT, ObjectStore, ObjectStoreExt, PutMode, coalesce_ranges, path,
};

use self::cache::BlobCache;
use self::s3::{S3, store_error as s3_error};
use self::url::Bucket;
use super::data_dir::{Scratch, make_private_directory};
use super::error::{StoreError, is_full};
use crate::records::{DatasetId, JobId, Timestamp};

pub use self::s3::{Hidden, S3Access};

/// Bytes handed to a store, or fetched from it, at once; object stores take no parts under 5 MiB but
/// the last.
const PART_BYTES: usize = 8 << 20;

/// A place for blobs.
#[derive(Clone)]
pub struct Blobs {
    store: Arc<dyn ObjectStore>,
    home: Home,
}

/// What a store is beneath.
#[derive(Clone)]
enum Home {
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
    /// The blobs in a bucket, which is not asked yet. To be read they are fetched to files without a
    /// name in `scratch`, which take at most `cache_bytes_max`.
    ///
    /// # Errors
    /// Which setting is wrong, without its value.
    pub fn bucket(
        bucket: &Bucket,
        access: &S3Access,
        scratch: Scratch,
        cache_bytes_max: u64,
    ) -> Result<Self, String> {
        let s3 = Arc::new(S3::new(bucket.clone(), access)?);
        let prefix = path::Path::parse(&bucket.prefix).map_err(|error| error.to_string())?;
        let store: Arc<dyn ObjectStore> = Arc::new(PrefixStore::new(s3.store.clone(), prefix));
        let cache = BlobCache::new(Arc::clone(&store), scratch, cache_bytes_max);
        let home = Home::Bucket { s3, cache };
        Ok(Self { store, home })
    }

    /// The blobs in a folder, made for its owner only when there is none. What an interrupted
    /// write left there is never listed and never in the way; see [`unfinished`].
    ///
    /// # Errors
    /// When the folder cannot be made.
    pub fn local(directory: &Path) -> Result<Self, StoreError> {
        make_private_directory(directory)?;
        let files = LocalFileSystem::new_with_prefix(directory)
            .map_err(folder_error)?
            // A blob is on disk before it is acknowledged.
            .with_fsync(true)
            .with_automatic_cleanup(true);
        Ok(Self {
            store: Arc::new(files),
            home: Home::Folder(directory.to_owned()),
        })
    }

    /// The blobs in an existing folder, which stays unchanged; none without a folder.
    ///
    /// # Errors
    /// When the folder cannot be opened.
    pub fn existing(directory: &Path) -> Result<Option<Self>, StoreError> {
        if !directory.try_exists()? {
            return Ok(None);
        }
        Self::local(directory).map(Some)
    }

    /// Whether blobs come over a network, which may be away for a while.
    #[must_use]
    pub fn is_remote(&self) -> bool {
        matches!(self.home, Home::Bucket { .. })
    }

    /// Where the data of a job are kept. The data that came with the request have attempt 0; what
    /// an attempt writes carries its number, so that a worker which lost its lease overwrites
    /// nobody's blob.
    #[must_use]
    pub fn data_key(job: JobId, attempt: u32) -> String {
        format!("jobs/{job}/{attempt}/data")
    }

    /// Where a dataset is kept.
    #[must_use]
    pub fn dataset_key(dataset: DatasetId) -> String {
        format!("datasets/{dataset}/data")
    }

    /// Stores a blob, in place of what was there. It is durable when this returns.
    ///
    /// # Errors
    /// [`StoreError::Full`] when there is no room, [`StoreError::Unavailable`] when it cannot be
    /// written.
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

    /// Stores a blob where there is none: of several at once, one. In an object store that cannot be
    /// asked for that, one that comes in the same moment takes its place.
    async fn put_first(&self, key: &str, bytes: Bytes) -> Result<(), StoreError> {
        let path = parsed(key)?;
        let put = |mode: PutMode| {
            self.store
                .put_opts(&path, bytes.clone().into(), mode.into())
        };
        match put(PutMode::Create).await {
            Ok(_) | Err(object_store::Error::AlreadyExists { .. }) => return Ok(()),
            // Not every object store knows of conditions; any other failure may have stored it.
            Err(error) if s3::is_not_implemented(&error) && !self.has(key).await? => {}
            Err(error) => return Err(self.error(error)),
        }
        let put = put(PutMode::Overwrite).await;
        put.map(|_| ()).map_err(|error| self.error(error))
    }

    /// Whether there is such a blob.
    async fn has(&self, key: &str) -> Result<bool, StoreError> {
        match self.store.head(&parsed(key)?).await {
            Ok(_) => Ok(true),
            Err(object_store::Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(self.error(error)),
        }
    }

    /// The whole blob, if there is one.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when it cannot be read.
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

    /// A blob to be read here and there, if there is one: a file is opened; out of an object store,
    /// which answers too slowly for that, the blob is fetched first, unless it is here still. When
    /// the flag is raised the fetch is given up.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when it cannot be opened, or fetched now; [`StoreError::Full`]
    /// when there is no room for it; [`StoreError::Other`] when there never will be.
    pub async fn open(
        &self,
        key: &str,
        stop: &StopFlag,
    ) -> Result<Option<Box<dyn ReadAt>>, StoreError> {
        let path = parsed(key)?;
        let directory = match &self.home {
            Home::Folder(directory) => directory,
            Home::Bucket { cache, .. } => return cache.open(&path, stop).await,
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

    /// These parts of a blob, in order, if there is one. Each lies within the blob: what is cut off
    /// by its end is an error.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when the blob cannot be read; [`StoreError::Corrupt`] when the blob
    /// ends before a part does.
    pub async fn get_ranges(
        &self,
        key: &str,
        ranges: &[Range<u64>],
    ) -> Result<Option<Vec<Bytes>>, StoreError> {
        let path = parsed(key)?;
        // Not the store's own `get_ranges`, which panics (object_store 0.14.2) where an object store
        // answers a request for several parts with the existing parts.
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
            Err(None) => StoreError::unavailable(format!("a part of {key} did not come whole")),
        };
        // Object stores differ past the end of a blob, but each tells the length.
        let end = ranges.iter().map(|range| range.end).max();
        match self.store.head(&path).await {
            Ok(found) if Some(found.size) < end => {
                let told = format!("the blob {key} is cut off after {} bytes", found.size);
                Err(StoreError::corrupt(told))
            }
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            _ => Err(failed),
        }
    }

    /// Removes a blob. That there is none is fine.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when it cannot be removed.
    pub async fn delete(&self, key: &str) -> Result<(), StoreError> {
        let path = parsed(key)?;
        self.forget(&path);
        match self.store.delete(&path).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(self.error(error)),
        }
    }

    /// The blobs whose keys begin with the segments of `prefix`, in no order; all of them for the
    /// empty prefix.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when they cannot be listed.
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

    /// Removes the directory that a write made before it was given up, where blobs are files.
    fn remove_empty_directory(&self, path: &path::Path) {
        let Home::Folder(directory) = &self.home else {
            return;
        };
        let file = directory.join(path.as_ref());
        let above = file.ancestors().skip(1);
        let inside = above.take_while(|above| *above != directory);
        // One that is not empty stays, and with it those above.
        let _ = inside.map(std::fs::remove_dir).find(Result::is_err);
    }

    /// What is here of a blob is not what it will be.
    fn forget(&self, path: &path::Path) {
        if let Home::Bucket { cache, .. } = &self.home {
            cache.forget(path);
        }
    }

    fn error(&self, error: object_store::Error) -> StoreError {
        match self.home {
            Home::Folder(_) => folder_error(error),
            Home::Bucket { .. } => s3_error(error),
        }
    }
}

/// A blob that is a file.
#[derive(Debug)]
struct BlobFile(File);

impl ReadAt for BlobFile {
    #[cfg(unix)]
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.0, buffer, offset)
    }

    #[cfg(windows)]
    fn read_exact_at(&self, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
        while !buffer.is_empty() {
            match std::os::windows::fs::FileExt::seek_read(&self.0, buffer, offset)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => {
                    buffer = &mut buffer[read..];
                    offset += read as u64;
                }
            }
        }
        Ok(())
    }

    fn bytes(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
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

/// What operators watch, since a service whose blobs are away is ready all the same.
fn count_error() {
    metrics::counter!("halfspace_blob_store_errors_total").increment(1);
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

    /// What a folder has beyond the contract of all places for blobs (`tests/it/blobs/contract.rs`).
    #[tokio::test]
    async fn a_folder_outlives_its_process_and_keeps_no_empty_directory() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("blobs");
        let blobs = Blobs::local(&root).unwrap();
        blobs
            .put(&key(1), Bytes::from_static(b"one"))
            .await
            .unwrap();
        blobs.put(&key(2), Bytes::from_static(b"")).await.unwrap();
        // A new process sees the same.
        let blobs = Blobs::local(&root).unwrap();
        assert_eq!(blobs.get(&key(1)).await.unwrap().unwrap(), "one");
        assert_eq!(blobs.list("jobs").await.unwrap().len(), 2);
        for _ in 0..2 {
            blobs.delete(&key(1)).await.unwrap();
            blobs.delete(&key(2)).await.unwrap();
        }
        // No empty directory is left behind but the root.
        assert_eq!(std::fs::read_dir(&root).unwrap().count(), 0);
        blobs
            .put(&key(3), Bytes::from_static(b"again"))
            .await
            .unwrap();
    }

    #[tokio::test]
    async fn keys_stay_inside() {
        let directory = tempfile::tempdir().unwrap();
        let blobs = Blobs::local(directory.path()).unwrap();
        for bad in ["../outside", "a/../../b", "a//b"] {
            let put = blobs.put(bad, Bytes::new()).await;
            assert!(matches!(put, Err(StoreError::Other(_))), "{bad}");
        }
    }
}
