//! A blob that is written in parts and becomes visible as a whole.
//!
//! Memory holds two parts at most, one that is being sent and one that is being filled. The blob stays invisible
//! until [`BlobWriter::finish`]. If the process dies before, the remains are [removed](super::unfinished) later.

use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;

use bytes::Bytes;
use halfspace_core::memory;
use object_store::{MultipartUpload, ObjectStoreExt, path};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::s3::PART_BYTES;
use super::{BlobBackend, Blobs, parsed, unfinished};
use crate::storage::error::StoreError;
use crate::storage::reserve::Reserve;

/// Bytes per part written to a folder. The system copies a small part from the cache of the processor.
const FOLDER_PART_BYTES: usize = 1 << 20;

/// Bytes written to a folder before the next sync begins.
const SYNC_BYTES: usize = 32 << 20;

/// A blob that is being written. Writes may block the thread, and dropping the writer aborts the blob.
pub struct BlobWriter {
    blobs: Blobs,
    path: path::Path,
    /// `None` before the first whole part. A short blob is stored by a single request.
    upload: Option<Box<dyn MultipartUpload>>,
    part_bytes: usize,
    part: Vec<u8>,
    /// The part that is being sent.
    sent: Option<JoinHandle<Result<(), object_store::Error>>>,
    /// Bytes since the last early sync began.
    unsynced_bytes: usize,
    early_sync: Option<JoinHandle<io::Result<()>>>,
    bytes: u64,
    /// The reserve on the same disk. The space that it gives up is not for blobs.
    reserve: Option<Arc<Reserve>>,
    runtime: Handle,
}

impl Blobs {
    /// Begins a blob. Nothing is written yet.
    ///
    /// # Panics
    /// Outside a runtime.
    ///
    /// # Errors
    /// When the key is invalid.
    pub fn writer(&self, key: &str) -> Result<BlobWriter, StoreError> {
        Ok(BlobWriter {
            blobs: self.clone(),
            path: parsed(key)?,
            upload: None,
            part_bytes: match self.home {
                BlobBackend::Folder(_) => FOLDER_PART_BYTES,
                BlobBackend::Bucket { .. } => PART_BYTES,
            },
            part: Vec::new(),
            sent: None,
            unsynced_bytes: 0,
            early_sync: None,
            bytes: 0,
            reserve: None,
            runtime: Handle::current(),
        })
    }

    /// Stores a blob that is larger than a part.
    pub(super) async fn put_in_parts(
        &self,
        path: &path::Path,
        mut bytes: Bytes,
    ) -> Result<(), StoreError> {
        let begun = self.store.put_multipart(path).await;
        let mut upload = begun.map_err(|error| self.error(error))?;
        let put = async {
            while !bytes.is_empty() {
                let part = bytes.split_to(PART_BYTES.min(bytes.len()));
                upload.put_part(part.into()).await?;
            }
            upload.complete().await
        };
        if let Err(error) = put.await {
            // Remains that cannot be removed now are removed later, like those of a crash.
            let _ = upload.abort().await;
            self.remove_empty_directory(path);
            return Err(self.error(error));
        }
        Ok(())
    }
}

impl BlobWriter {
    /// Makes the writer stop when this reserve is given up.
    pub(in crate::storage) fn beside(mut self, reserve: Option<Arc<Reserve>>) -> Self {
        self.reserve = reserve;
        self
    }

    /// Publishes the blob in place of any previous one and returns its length. It is durable when this returns.
    ///
    /// # Errors
    /// Those of [`Blobs::put`]. Nothing remains of the blob then.
    pub async fn finish(mut self) -> Result<u64, StoreError> {
        match self.publish().await {
            Ok(()) => Ok(self.bytes),
            Err(error) => {
                let error = self.blobs.error(error);
                self.abort().await;
                Err(error)
            }
        }
    }

    /// Aborts the write and removes its remains.
    pub async fn abort(mut self) {
        let aborted = self.aborted();
        aborted.await;
    }

    /// Removes the remains of the write. The future does not borrow the writer.
    fn aborted(&mut self) -> impl Future<Output = ()> + Send + 'static {
        let (upload, sent) = (self.upload.take(), self.sent.take());
        let (blobs, path) = (self.blobs.clone(), self.path.clone());
        async move {
            if let Some(mut upload) = upload {
                if let Some(sent) = sent {
                    // A part that arrives after the abort would stay.
                    let _ = sent.await;
                }
                // Remains that cannot be removed now are removed later, like those of a crash.
                let _ = upload.abort().await;
            }
            blobs.remove_empty_directory(&path);
        }
    }

    async fn publish(&mut self) -> Result<(), object_store::Error> {
        if self.upload.is_none() {
            self.blobs.forget(&self.path);
            let part = std::mem::take(&mut self.part);
            self.blobs.store.put(&self.path, part.into()).await?;
            return Ok(());
        }
        self.put_part().await?;
        self.settle().await?;
        if let Some(upload) = &mut self.upload {
            upload.complete().await?;
        }
        self.upload = None;
        Ok(())
    }

    /// Begins to send the part to the store after the part before.
    async fn put_part(&mut self) -> Result<(), object_store::Error> {
        self.settle().await?;
        if self.reserve.as_deref().is_some_and(Reserve::is_given_up) {
            return Err(object_store::Error::Generic {
                store: "the reserve",
                source: Box::new(io::Error::from(Reserve::refusal())),
            });
        }
        self.sync_early();
        let part = std::mem::take(&mut self.part);
        self.unsynced_bytes += part.len();
        let upload = match &mut self.upload {
            Some(upload) => upload,
            none => none.insert(self.blobs.store.put_multipart(&self.path).await?),
        };
        self.sent = Some(self.runtime.spawn(upload.put_part(part.into())));
        Ok(())
    }

    /// Lets the disk write the first parts while the next parts arrive. An early sync that fails changes nothing,
    /// because the sync at the end covers the whole file. The system tells a write error to each open file once, so the
    /// early sync opens the file anew.
    fn sync_early(&mut self) {
        let BlobBackend::Folder(directory) = &self.blobs.home else {
            return;
        };
        let is_syncing = |sync: &JoinHandle<_>| !sync.is_finished();
        if self.unsynced_bytes < SYNC_BYTES || self.early_sync.as_ref().is_some_and(is_syncing) {
            return;
        }
        let file = unfinished::first_of(&directory.join(self.path.as_ref()));
        let sync = move || File::open(file)?.sync_data();
        self.early_sync = Some(self.runtime.spawn_blocking(sync));
        self.unsynced_bytes = 0;
    }

    /// Waits until the store has the part that is being sent.
    async fn settle(&mut self) -> Result<(), object_store::Error> {
        match self.sent.take() {
            Some(sent) => sent.await?,
            None => Ok(()),
        }
    }
}

impl Drop for BlobWriter {
    fn drop(&mut self) {
        if self.upload.is_some() {
            let aborted = self.aborted();
            self.runtime.spawn(aborted);
        }
    }
}

impl Write for BlobWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.part.len() == self.part_bytes {
            let runtime = self.runtime.clone();
            let put = runtime.block_on(self.put_part());
            put.map_err(|error| self.blobs.error(error))?;
        }
        let taken = bytes.len().min(self.part_bytes - self.part.len());
        // Another thread frees the part, so the memory count of this thread must not change.
        memory::foreign(|| {
            if self.upload.is_some() && self.part.capacity() == 0 {
                self.part.reserve_exact(self.part_bytes);
            }
            self.part.extend_from_slice(&bytes[..taken]);
        });
        self.bytes += taken as u64;
        Ok(taken)
    }

    /// Does nothing, because a blob does not exist before [`BlobWriter::finish`].
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "datasets/some/data";

    /// All files in a directory and below.
    fn entries(directory: &std::path::Path) -> Vec<std::path::PathBuf> {
        let mut found = Vec::new();
        let mut waiting = vec![directory.to_owned()];
        while let Some(path) = waiting.pop() {
            for entry in std::fs::read_dir(path).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    waiting.push(path.clone());
                }
                found.push(path);
            }
        }
        found
    }

    #[tokio::test]
    async fn a_blob_takes_nothing_of_a_reserve_that_was_given_up() {
        let directory = tempfile::tempdir().unwrap();
        let blobs = Blobs::local(&directory.path().join("blobs")).unwrap();
        let reserve = Arc::new(Reserve::beside(&directory.path().join("db")));
        reserve.make();
        let mut writer = blobs.writer(KEY).unwrap().beside(Some(reserve.clone()));
        let (writer, kept, given_up) = tokio::task::spawn_blocking(move || {
            let piece = vec![0; 2 * FOLDER_PART_BYTES];
            let kept = writer.write_all(&piece);
            reserve.release();
            let given_up = writer.write_all(&piece);
            (writer, kept, given_up)
        })
        .await
        .unwrap();
        kept.unwrap();
        assert_eq!(given_up.unwrap_err().kind(), io::ErrorKind::StorageFull);
        writer.abort().await;
    }

    async fn written(blobs: &Blobs, bytes: usize) -> BlobWriter {
        let mut writer = blobs.writer(KEY).unwrap();
        let written = tokio::task::spawn_blocking(move || {
            let piece: Vec<u8> = (0..1_000_003).map(|at| (at % 251) as u8).collect();
            let mut left = bytes;
            while left > 0 {
                let now = left.min(piece.len());
                writer.write_all(&piece[..now]).unwrap();
                left -= now;
            }
            writer
        });
        written.await.unwrap()
    }

    #[tokio::test]
    async fn a_blob_is_whole_or_not_there() {
        let directory = tempfile::tempdir().unwrap();
        let blobs = Blobs::local(directory.path()).unwrap();
        // Lengths: short, parts with a rest, whole parts, and parts after an early sync.
        let synced = SYNC_BYTES + 3 * FOLDER_PART_BYTES + 5;
        for bytes in [
            0,
            17,
            2 * FOLDER_PART_BYTES + 5,
            3 * FOLDER_PART_BYTES,
            synced,
        ] {
            let writer = written(&blobs, bytes).await;
            assert_eq!(blobs.get(KEY).await.unwrap(), None);
            assert_eq!(writer.finish().await.unwrap(), bytes as u64);
            let got = blobs.get(KEY).await.unwrap().unwrap();
            assert_eq!(got.len(), bytes);
            let expected = |at: usize| (at % 1_000_003 % 251) as u8;
            assert!(
                got.iter()
                    .enumerate()
                    .all(|(at, &byte)| byte == expected(at))
            );
            blobs.delete(KEY).await.unwrap();
        }
        for bytes in [17, 2 * FOLDER_PART_BYTES + 5, synced] {
            written(&blobs, bytes).await.abort().await;
            assert_eq!(entries(directory.path()), [] as [&std::path::Path; 0]);
        }
    }

    #[tokio::test]
    async fn a_writer_that_is_dropped_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let blobs = Blobs::local(directory.path()).unwrap();
        let writer = written(&blobs, 2 * FOLDER_PART_BYTES + 5).await;
        // An early sync opens this file.
        assert!(unfinished::first_of(&directory.path().join(KEY)).exists());
        drop(writer);
        while !entries(directory.path()).is_empty() {
            tokio::task::yield_now().await;
        }
    }

    /// The directory of the blob is a file, so no part can be written.
    #[tokio::test]
    async fn a_write_that_fails_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let blobs = Blobs::local(directory.path()).unwrap();
        std::fs::write(directory.path().join("datasets"), b"").unwrap();
        let writer = written(&blobs, 17).await;
        assert!(writer.finish().await.is_err());
        let mut writer = blobs.writer(KEY).unwrap();
        let failed = tokio::task::spawn_blocking(move || {
            let part = vec![0; FOLDER_PART_BYTES];
            writer.write_all(&part).unwrap();
            (writer.write_all(&[0]).is_err(), writer)
        });
        let (failed, writer) = failed.await.unwrap();
        assert!(failed);
        writer.abort().await;
        assert_eq!(entries(directory.path()).len(), 1);
    }
}
