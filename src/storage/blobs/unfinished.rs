//! Removes the remains of interrupted writes: temporary files beside a blob, and unfinished uploads whose parts an
//! object store still keeps.
//!
//! To other processes such remains look like a write in progress. If a process is the only one on a folder, it
//! removes them at once; otherwise they are removed at an age that no write in progress can reach.

use std::path::{Path, PathBuf};

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::{BlobBackend, Blobs};
use crate::records::Timestamp;
use crate::storage::error::StoreError;

/// Removes all remains in a folder of blobs and returns the number of files. Only the sole process of the folder may
/// call this. Files that cannot be removed stay, because they do no harm.
#[must_use]
pub fn remove_all(directory: &Path) -> u64 {
    remove(directory, &|_| true)
}

impl Blobs {
    /// Removes the remains of writes that were begun, or last continued, before a time. Returns their number.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when an object store does not list or abort its unfinished uploads.
    pub async fn remove_unfinished(&self, before: Timestamp) -> Result<u64, StoreError> {
        let s3 = match &self.home {
            BlobBackend::Folder(directory) => {
                let directory = directory.clone();
                let is_old = move |path: &Path| {
                    modified_at(path).is_some_and(|modified_at| modified_at < before)
                };
                let removed = tokio::task::spawn_blocking(move || remove(&directory, &is_old));
                return removed.await.map_err(StoreError::other);
            }
            BlobBackend::Bucket { s3, .. } => s3,
        };
        let mut aborted = 0;
        for upload in s3.unfinished_uploads().await? {
            let begun_at = OffsetDateTime::parse(&upload.begun_at, &Rfc3339);
            let begun_at = begun_at.map_err(StoreError::other)?;
            let begun_at = Timestamp::from_milliseconds(begun_at.unix_timestamp() * 1_000);
            if begun_at < before {
                s3.abort(&upload).await?;
                aborted += 1;
            }
        }
        Ok(aborted)
    }
}

fn modified_at(path: &Path) -> Option<Timestamp> {
    let modified = path.symlink_metadata().ok()?.modified().ok()?;
    let since = modified.duration_since(std::time::UNIX_EPOCH).ok()?;
    let milliseconds = i64::try_from(since.as_millis()).ok()?;
    Some(Timestamp::from_milliseconds(milliseconds))
}

fn remove(directory: &Path, chosen: &dyn Fn(&Path) -> bool) -> u64 {
    let mut removed = 0;
    let Ok(entries) = std::fs::read_dir(directory) else {
        return removed;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        // The type of the entry itself, so that a link out of the directory is not followed.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            let inside = remove(&path, chosen);
            removed += inside;
            if inside > 0 {
                // The directory of an interrupted write. A directory that is not empty stays.
                let _ = std::fs::remove_dir(&path);
            }
        } else if is_unfinished(&path) && chosen(&path) && std::fs::remove_file(&path).is_ok() {
            removed += 1;
        }
    }
    removed
}

/// The file of the only write of a blob, before the file is renamed.
pub(super) fn first_of(blob: &Path) -> PathBuf {
    let mut name = blob.as_os_str().to_owned();
    name.push("#1");
    name.into()
}

/// The local object store writes to `<name>#<number>` and then renames the file.
fn is_unfinished(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.and_then(|name| name.rsplit_once('#'))
        .is_some_and(|(_, number)| {
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        })
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    const KEY: &str = "jobs/some/0/data";

    async fn with_unfinished(directory: &Path) -> (Blobs, [std::path::PathBuf; 2]) {
        let blobs = Blobs::local(directory).unwrap();
        blobs.put(KEY, Bytes::from_static(b"whole")).await.unwrap();
        let beside = directory.join(format!("{KEY}#1"));
        let alone = directory.join("datasets/some/data#2");
        std::fs::create_dir_all(alone.parent().unwrap()).unwrap();
        for path in [&beside, &alone] {
            std::fs::write(path, b"who").unwrap();
        }
        (blobs, [beside, alone])
    }

    #[tokio::test]
    async fn unfinished_blobs_are_not_listed_and_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        let (blobs, left) = with_unfinished(directory.path()).await;
        assert_eq!(blobs.list("").await.unwrap().len(), 1);
        blobs.put(KEY, Bytes::from_static(b"anew")).await.unwrap();
        assert_eq!(remove_all(directory.path()), 2);
        assert!(!left[0].exists());
        assert!(!directory.path().join("datasets").exists());
        assert_eq!(blobs.get(KEY).await.unwrap().unwrap(), "anew");
        assert_eq!(remove_all(&directory.path().join("missing")), 0);
    }

    #[tokio::test]
    async fn unfinished_blobs_that_are_still_written_stay() {
        let directory = tempfile::tempdir().unwrap();
        let (blobs, left) = with_unfinished(directory.path()).await;
        let written_at = modified_at(&left[0]).unwrap().milliseconds();
        let before = Timestamp::from_milliseconds(written_at - 1);
        assert_eq!(blobs.remove_unfinished(before).await.unwrap(), 0);
        let before = Timestamp::from_milliseconds(written_at + 60_000);
        assert_eq!(blobs.remove_unfinished(before).await.unwrap(), 2);
        assert!(!left[0].exists() && !left[1].exists());
        assert_eq!(blobs.get(KEY).await.unwrap().unwrap(), "whole");
    }
}
