//! A blob that is read once and in order, in pieces of 8 MiB. Each piece is one request to the object store, and none
//! is kept in a file.

use std::io;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use halfspace_formats::ReadAt;
use object_store::ObjectStoreExt;
use tokio::runtime::Handle;

use super::s3::PART_BYTES;
use super::{Blobs, parsed};
use crate::storage::error::StoreError;

/// A blob with its latest piece.
#[derive(Debug)]
struct Ranged {
    blobs: Blobs,
    key: String,
    bytes: u64,
    piece: Mutex<(u64, Bytes)>,
    runtime: Handle,
}

impl Blobs {
    /// Opens a blob for one read in order, on a thread that may block. `None` if the blob does not exist.
    ///
    /// # Panics
    /// Outside a runtime.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when the place does not answer.
    pub async fn read_once(&self, key: &str) -> Result<Option<Box<dyn ReadAt>>, StoreError> {
        let found = match self.store.head(&parsed(key)?).await {
            Ok(found) => found,
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(self.error(error)),
        };
        Ok(Some(Box::new(Ranged {
            blobs: self.clone(),
            key: key.to_owned(),
            bytes: found.size,
            piece: Mutex::default(),
            runtime: Handle::current(),
        })))
    }
}

impl Ranged {
    fn piece_at(&self, offset: u64) -> io::Result<Bytes> {
        let range = offset..self.bytes.min(offset.saturating_add(PART_BYTES as u64));
        let got = self
            .blobs
            .get_ranges(&self.key, std::slice::from_ref(&range));
        let got = self.runtime.block_on(got)?;
        let mut pieces = got.ok_or(io::ErrorKind::NotFound)?;
        pieces.pop().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl ReadAt for Ranged {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let (mut offset, mut left) = (offset, buffer);
        let mut piece = self.piece.lock().unwrap_or_else(PoisonError::into_inner);
        while !left.is_empty() {
            if offset >= self.bytes {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let is_in = offset >= piece.0 && offset < piece.0 + piece.1.len() as u64;
            if !is_in {
                *piece = (offset, self.piece_at(offset)?);
            }
            let from = &piece.1[(offset - piece.0) as usize..];
            let taken = from.len().min(left.len());
            let (filled, rest) = left.split_at_mut(taken);
            filled.copy_from_slice(&from[..taken]);
            left = rest;
            offset += taken as u64;
        }
        Ok(())
    }

    fn bytes(&self) -> io::Result<u64> {
        Ok(self.bytes)
    }
}
