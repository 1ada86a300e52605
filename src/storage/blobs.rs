//! Blobs: data too large for rows, under keys, in a directory or an object store.
//!
//! What is inside a blob is not known here. A blob is written before the record that names it and
//! deleted after it, so a crash leaves at worst a blob that nobody names.

use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::TryStreamExt;
use object_store::local::LocalFileSystem;
use object_store::{ObjectStore, ObjectStoreExt, path};

use super::data_dir::make_private_directory;
use super::error::{StoreError, is_full};
use crate::formats::ReadAt;
use crate::records::{DatasetId, JobId, Timestamp};

/// A place for blobs.
#[derive(Clone)]
pub struct Blobs {
    pub(super) store: Arc<dyn ObjectStore>,
    /// Where the blobs are files, the directory of all of them.
    directory: Option<PathBuf>,
}

/// A blob in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    pub key: String,
    pub bytes: u64,
    pub modified_at: Timestamp,
}

impl Blobs {
    /// The blobs in an object store.
    #[must_use]
    pub fn new(store: Arc<dyn ObjectStore>) -> Self {
        let directory = None;
        Self { store, directory }
    }

    /// The blobs in a directory, made for its owner only when there is none. What an interrupted
    /// write left there is never listed and never in the way; see [`remove_unfinished`].
    ///
    /// # Errors
    /// When the directory cannot be made.
    pub fn local(directory: &Path) -> Result<Self, StoreError> {
        make_private_directory(directory)?;
        let files = LocalFileSystem::new_with_prefix(directory)
            .map_err(store_error)?
            // A blob is on disk before it is acknowledged.
            .with_fsync(true)
            .with_automatic_cleanup(true);
        Ok(Self {
            store: Arc::new(files),
            directory: Some(directory.to_owned()),
        })
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
        self.store
            .put(&parsed(key)?, bytes.into())
            .await
            .map_err(store_error)?;
        Ok(())
    }

    /// The whole blob, if there is one.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when it cannot be read.
    pub async fn get(&self, key: &str) -> Result<Option<Bytes>, StoreError> {
        match self.store.get(&parsed(key)?).await {
            Ok(found) => Ok(Some(found.bytes().await.map_err(store_error)?)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(store_error(error)),
        }
    }

    /// A blob to be read here and there, if there is one: a file is opened; out of an object store,
    /// which answers too slowly for that, the blob is fetched first.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when it cannot be opened.
    pub async fn open(&self, key: &str) -> Result<Option<Box<dyn ReadAt>>, StoreError> {
        let Some(directory) = &self.directory else {
            // Into memory, for want of a place for files beside an object store.
            let bytes = self.get(key).await?;
            return Ok(bytes.map(|bytes| Box::new(bytes) as Box<dyn ReadAt>));
        };
        let path = directory.join(parsed(key)?.as_ref());
        match tokio::fs::File::open(path).await {
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
    /// [`StoreError::Unavailable`] when it cannot be read, also because a part is not in it.
    pub async fn get_ranges(
        &self,
        key: &str,
        ranges: &[Range<u64>],
    ) -> Result<Option<Vec<Bytes>>, StoreError> {
        match self.store.get_ranges(&parsed(key)?, ranges).await {
            Ok(found) => Ok(Some(found)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(store_error(error)),
        }
    }

    /// Removes a blob. That there is none is fine.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when it cannot be removed.
    pub async fn delete(&self, key: &str) -> Result<(), StoreError> {
        match self.store.delete(&parsed(key)?).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(store_error(error)),
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
        found.try_collect().await.map_err(store_error)
    }

    /// Removes the directory that a write made before it was given up, where blobs are files.
    pub(super) fn remove_empty_directory(&self, path: &path::Path) {
        let Some(directory) = &self.directory else {
            return;
        };
        let file = directory.join(path.as_ref());
        let above = file.ancestors().skip(1);
        let inside = above.take_while(|above| *above != directory);
        // One that is not empty stays, and with it those above.
        let _ = inside.map(std::fs::remove_dir).find(Result::is_err);
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

/// Removes what interrupted writes left in a directory of blobs and returns how many files. Only
/// for the sole owner of the directory: to another's eyes a write that goes on looks the same. What
/// cannot be removed stays, since it is in nobody's way.
#[must_use]
pub fn remove_unfinished(directory: &Path) -> u64 {
    let mut removed = 0;
    let Ok(entries) = std::fs::read_dir(directory) else {
        return removed;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        // The type of the entry itself, so that a link is not followed out of the directory.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            removed += remove_unfinished(&path);
            // One that a write was to go to; it stays if anything is in it.
            let _ = std::fs::remove_dir(&path);
        } else if is_unfinished(&path) && std::fs::remove_file(&path).is_ok() {
            removed += 1;
        }
    }
    removed
}

/// The local object store writes to `<name>#<number>` and then renames.
fn is_unfinished(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.and_then(|name| name.rsplit_once('#'))
        .is_some_and(|(_, number)| {
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        })
}

pub(super) fn parsed(key: &str) -> Result<path::Path, StoreError> {
    path::Path::parse(key).map_err(StoreError::other)
}

pub(super) fn store_error(error: object_store::Error) -> StoreError {
    if is_full(&error) {
        StoreError::Full(error.into())
    } else {
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

    #[tokio::test]
    async fn blobs_are_put_got_listed_and_deleted() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("blobs");
        let blobs = Blobs::local(&root).unwrap();
        assert_eq!(blobs.list("").await.unwrap(), []);
        assert_eq!(blobs.get(&key(1)).await.unwrap(), None);
        blobs
            .put(&key(1), Bytes::from_static(b"first"))
            .await
            .unwrap();
        blobs
            .put(&key(1), Bytes::from_static(b"one"))
            .await
            .unwrap();
        blobs.put(&key(2), Bytes::from_static(b"")).await.unwrap();
        // A new process sees the same.
        let blobs = Blobs::local(&root).unwrap();
        assert_eq!(blobs.get(&key(1)).await.unwrap().unwrap(), "one");
        let mut listed = blobs.list("jobs").await.unwrap();
        listed.sort_by_key(|blob| blob.bytes);
        let found: Vec<_> = listed
            .iter()
            .map(|blob| (blob.key.clone(), blob.bytes))
            .collect();
        assert_eq!(found, [(key(2), 0), (key(1), 3)]);
        assert_eq!(blobs.list("job").await.unwrap(), []);
        for _ in 0..2 {
            blobs.delete(&key(1)).await.unwrap();
            blobs.delete(&key(2)).await.unwrap();
        }
        assert_eq!(blobs.list("").await.unwrap(), []);
        // No empty directory is left behind but the root.
        assert_eq!(std::fs::read_dir(&root).unwrap().count(), 0);
        blobs
            .put(&key(3), Bytes::from_static(b"again"))
            .await
            .unwrap();
    }

    #[tokio::test]
    async fn what_an_interrupted_write_left_is_in_nobodys_way() {
        let directory = tempfile::tempdir().unwrap();
        let blobs = Blobs::local(directory.path()).unwrap();
        blobs
            .put(&key(1), Bytes::from_static(b"whole"))
            .await
            .unwrap();
        let left = directory.path().join(format!("{}#1", key(1)));
        std::fs::write(&left, b"who").unwrap();
        let blobs = Blobs::local(directory.path()).unwrap();
        assert_eq!(blobs.list("").await.unwrap().len(), 1);
        blobs
            .put(&key(1), Bytes::from_static(b"anew"))
            .await
            .unwrap();
        let alone = directory.path().join("datasets/some/data#2");
        std::fs::create_dir_all(alone.parent().unwrap()).unwrap();
        std::fs::write(&alone, b"who").unwrap();
        assert_eq!(remove_unfinished(directory.path()), 2);
        assert!(!left.exists());
        assert!(!directory.path().join("datasets").exists());
        assert_eq!(blobs.get(&key(1)).await.unwrap().unwrap(), "anew");
        assert_eq!(remove_unfinished(&directory.path().join("missing")), 0);
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
