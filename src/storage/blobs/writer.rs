//! A blob that is written in parts and becomes visible as a whole.
//!
//! Memory holds one part of the blob at most. The blob is invisible until [`BlobWriter::finish`]. If the
//! process dies before, the remains are [removed](super::unfinished) later.

use std::io::{self, Write};

use bytes::Bytes;
use object_store::{MultipartUpload, ObjectStoreExt, path};
use tokio::runtime::Handle;

use super::{Blobs, PART_BYTES, parsed};
use crate::storage::error::StoreError;

/// A blob that is being written. Its writes may block the thread.
pub struct BlobWriter {
    blobs: Blobs,
    path: path::Path,
    /// `None` before the first whole part. A short blob is stored by a single request.
    upload: Option<Box<dyn MultipartUpload>>,
    part: Vec<u8>,
    bytes: u64,
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
            part: Vec::new(),
            bytes: 0,
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
    /// Publishes the blob in place of any previous one and returns its length. The blob is durable when this
    /// returns.
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
        if let Some(mut upload) = self.upload.take() {
            // Remains that cannot be removed now are removed later, like those of a crash.
            let _ = upload.abort().await;
        }
        self.blobs.remove_empty_directory(&self.path);
    }

    async fn publish(&mut self) -> Result<(), object_store::Error> {
        let part = std::mem::take(&mut self.part);
        match &mut self.upload {
            None => {
                self.blobs.forget(&self.path);
                self.blobs.store.put(&self.path, part.into()).await?;
            }
            Some(upload) => {
                upload.put_part(part.into()).await?;
                upload.complete().await?;
            }
        }
        Ok(())
    }

    /// Sends the part to the store.
    async fn put_part(&mut self) -> Result<(), object_store::Error> {
        let part = std::mem::replace(&mut self.part, Vec::with_capacity(PART_BYTES));
        let upload = match &mut self.upload {
            Some(upload) => upload,
            none => none.insert(self.blobs.store.put_multipart(&self.path).await?),
        };
        upload.put_part(part.into()).await
    }
}

impl Write for BlobWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.part.len() == PART_BYTES {
            let runtime = self.runtime.clone();
            let put = runtime.block_on(self.put_part());
            put.map_err(|error| self.blobs.error(error))?;
        }
        let taken = bytes.len().min(PART_BYTES - self.part.len());
        self.part.extend_from_slice(&bytes[..taken]);
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
        // Lengths: short, parts with a rest, whole parts.
        for bytes in [0, 17, 2 * PART_BYTES + 5, 3 * PART_BYTES] {
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
        for bytes in [17, 2 * PART_BYTES + 5] {
            written(&blobs, bytes).await.abort().await;
            assert_eq!(entries(directory.path()), [] as [&std::path::Path; 0]);
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
            let part = vec![0; PART_BYTES];
            writer.write_all(&part).unwrap();
            (writer.write_all(&[0]).is_err(), writer)
        });
        let (failed, writer) = failed.await.unwrap();
        assert!(failed);
        writer.abort().await;
        assert_eq!(entries(directory.path()).len(), 1);
    }
}
