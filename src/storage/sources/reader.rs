//! Reads an object in order on a thread that may block: in parts of one version, of which one is fetched ahead.
//!
//! The parts are fetched on the threads of the runtime. A reader holds at most two of them, and the client another
//! copy of each while it arrives.

use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::{Buf, Bytes};
use halfspace_core::learners::engine::run::StopFlag;
use halfspace_core::memory;
use tokio::runtime::Handle;
use tokio_util::task::AbortOnDropHandle;

use super::object::{SourceError, SourceObject};
use crate::storage::error::StoreError;

/// Bytes per request.
const PART_BYTES: u64 = 4 << 20;

/// An upper bound of the bytes that a reader holds outside the memory of its thread.
pub const READER_BYTES: u64 = 4 * PART_BYTES;

/// Interval at which a reader that waits for a part looks at the stop flag.
const LOOK: Duration = Duration::from_millis(50);

/// An object that is read in order.
pub struct SourceReader {
    object: Arc<SourceObject>,
    /// The part that is being read.
    part: Bytes,
    /// The part that is being fetched.
    coming: Option<AbortOnDropHandle<Result<Bytes, SourceError>>>,
    /// Start of the part after that.
    next: u64,
    stop: StopFlag,
    runtime: Handle,
    /// Whether a part is lost, so that the bytes behind it are out of place.
    has_failed: bool,
    watch: SourceWatch,
}

/// The state of a reader, for others than the one who reads.
#[derive(Clone, Debug, Default)]
pub struct SourceWatch {
    read: Arc<AtomicU64>,
    failure: Arc<Mutex<Option<SourceError>>>,
}

impl SourceWatch {
    /// Bytes read so far.
    pub fn bytes(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// The reason why the reader failed, if it did. It is handed out once.
    pub fn failure(&self) -> Option<SourceError> {
        self.lock().take()
    }

    fn fail(&self, error: SourceError) {
        *self.lock() = Some(error);
    }

    fn lock(&self) -> MutexGuard<'_, Option<SourceError>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SourceReader {
    /// Reads the object with requests of this runtime. Reads fail once the flag is raised.
    pub fn new(object: SourceObject, stop: StopFlag, runtime: Handle) -> Self {
        Self {
            object: Arc::new(object),
            part: Bytes::new(),
            coming: None,
            next: 0,
            stop,
            runtime,
            has_failed: false,
            watch: SourceWatch::default(),
        }
    }

    pub fn watch(&self) -> SourceWatch {
        self.watch.clone()
    }

    /// Begins to fetch the next part, if there is one.
    fn fetch(&mut self) {
        let range = self.next..self.object.bytes.min(self.next + PART_BYTES);
        if range.is_empty() {
            return;
        }
        self.next = range.end;
        let object = Arc::clone(&self.object);
        let fetched = self.runtime.spawn(async move { object.part(range).await });
        self.coming = Some(AbortOnDropHandle::new(fetched));
    }

    /// Waits for the part that is being fetched. `None` at the end of the object.
    fn take(&mut self) -> io::Result<Option<Bytes>> {
        let Some(mut coming) = self.coming.take() else {
            return Ok(None);
        };
        let runtime = self.runtime.clone();
        let fetched = loop {
            // Waits while the run is paused.
            if self.stop.raised().is_some() {
                return Err(io::Error::other("the reading was stopped"));
            }
            let waited = async { tokio::time::timeout(LOOK, &mut coming).await };
            if let Ok(fetched) = runtime.block_on(waited) {
                break fetched;
            }
        };
        let defect = |error| Err(SourceError::Store(StoreError::other(error)));
        fetched.unwrap_or_else(defect).map(Some).map_err(|error| {
            let told = io::Error::other(error.to_string());
            self.watch.fail(error);
            told
        })
    }
}

impl Read for SourceReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.part.is_empty() {
            if self.has_failed {
                return Err(io::Error::other("an earlier part of the object is lost"));
            }
            if self.coming.is_none() {
                self.fetch();
            }
            let taken = self.take();
            self.has_failed = taken.is_err();
            let Some(part) = taken? else {
                return Ok(0);
            };
            self.fetch();
            // Other threads allocate the parts, so the memory count of this thread must not change.
            memory::foreign(|| self.part = part);
        }
        let read = buffer.len().min(self.part.len());
        buffer[..read].copy_from_slice(&self.part[..read]);
        self.part.advance(read);
        self.watch.read.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

impl Drop for SourceReader {
    fn drop(&mut self) {
        memory::foreign(|| drop(std::mem::take(&mut self.part)));
    }
}
