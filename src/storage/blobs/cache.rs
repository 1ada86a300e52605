//! A cache of blobs from an object store, for reads by position.
//!
//! A blob is fetched once, to a file without a name, for any number of readers. Such a file disappears with its
//! process, and no other process can mistake a partial one for a whole blob. The total size of the files is limited:
//! to make space, the cache drops the least recently used blobs that nobody reads, and if every blob is being read, a
//! new fetch waits.
//!
//! We do not use `moka` 0.12, which reserves no space before a fetch and evicts blobs that are being read: with a limit
//! of 64 MiB and 200 readers of 1 MiB each it reports 64 MiB, while 200 MiB stay in use.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt, stream};
use halfspace_core::learners::engine::run::StopFlag;
use halfspace_formats::ReadAt;
use object_store::path::Path;
use object_store::{GetOptions, ObjectMeta, ObjectStore, ObjectStoreExt};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::s3::{PART_BYTES, store_error};
use crate::storage::data_dir::ScratchDir;
use crate::storage::error::StoreError;

/// Maximum number of open files. Each file costs a descriptor.
const FILES_MAX: u64 = 128;

/// Concurrent parts of a fetch. Memory holds as many parts.
const PARTS_AT_ONCE: usize = 3;

/// How long a fetch waits for space.
const SPACE_TIMEOUT: Duration = Duration::from_secs(10);

/// Interval between two checks of the stop flag.
const LOOK: Duration = Duration::from_millis(100);

/// The cached blobs of a process.
#[derive(Clone)]
pub(super) struct BlobCache(Arc<Inner>);

struct Inner {
    store: Arc<dyn ObjectStore>,
    scratch: ScratchDir,
    bytes_max: u64,
    space_timeout: Duration,
    held: Arc<OpenFileTotals>,
    blobs: Mutex<HashMap<Path, CacheEntry>>,
    /// Counter of uses, which orders the blobs by their last use.
    uses: AtomicU64,
}

/// Totals of the open files, including dropped blobs that are still being read.
#[derive(Default)]
struct OpenFileTotals {
    bytes: AtomicU64,
    files: AtomicU64,
    /// Notified when space may have become free and when a fetch ended.
    changed: Notify,
}

enum CacheEntry {
    /// A caller is fetching the blob.
    Coming,
    Here {
        blob: Arc<Fetched>,
        used: u64,
    },
}

/// A whole blob and its space.
#[derive(Debug)]
struct Fetched {
    file: BlobFile,
    reservation: CacheReservation,
}

/// Bytes that count against the limit until this is dropped.
struct CacheReservation {
    held: Arc<OpenFileTotals>,
    bytes: u64,
}

/// A reader of a blob. The blob keeps its space until all readers are dropped.
#[derive(Debug)]
struct Reader(Arc<Fetched>);

impl BlobCache {
    pub(super) fn new(store: Arc<dyn ObjectStore>, scratch: ScratchDir, bytes_max: u64) -> Self {
        Self(Arc::new(Inner {
            store,
            scratch,
            bytes_max,
            space_timeout: SPACE_TIMEOUT,
            held: Arc::default(),
            blobs: Mutex::default(),
            uses: AtomicU64::new(0),
        }))
    }

    /// Opens a blob if it exists. If it is not in the cache, it is fetched first.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when the blob cannot be fetched now, no space becomes free in time, or the flag is
    /// raised; [`StoreError::Full`] when the disk is full; [`StoreError::Other`] when the blob is larger than the
    /// limit of the cache.
    pub(super) async fn open(
        &self,
        path: &Path,
        stop: &StopFlag,
    ) -> Result<Option<Box<dyn ReadAt>>, StoreError> {
        loop {
            let changed = self.0.held.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            match self.0.look(path) {
                CacheLookup::Here(reader) => {
                    metrics::counter!("halfspace_blob_cache_hits_total").increment(1);
                    return Ok(Some(Box::new(reader)));
                }
                CacheLookup::Nobodys(coming) => {
                    return tokio::select! {
                        fetched = coming.fetch(stop) => fetched,
                        stopped = raised(stop) => Err(stopped),
                    };
                }
                CacheLookup::Coming => {}
            }
            check_stop(stop)?;
            let _ = tokio::time::timeout(LOOK, changed).await;
        }
    }

    /// Drops a blob that is deleted or overwritten. Those who already read it may go on.
    pub(super) fn forget(&self, path: &Path) {
        let mut blobs = self.0.blobs();
        if let Some(CacheEntry::Here { .. }) = blobs.get(path) {
            blobs.remove(path);
        }
    }
}

enum CacheLookup<'a> {
    Here(Reader),
    Coming,
    /// The caller must fetch the blob.
    Nobodys(Coming<'a>),
}

impl Inner {
    fn blobs(&self) -> MutexGuard<'_, HashMap<Path, CacheEntry>> {
        // A thread that panicked under this lock has changed at most one entry.
        self.blobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look<'a>(&'a self, path: &'a Path) -> CacheLookup<'a> {
        let now = self.uses.fetch_add(1, Ordering::Relaxed);
        let mut blobs = self.blobs();
        match blobs.get_mut(path) {
            Some(CacheEntry::Here { blob, used }) => {
                *used = now;
                CacheLookup::Here(Reader(Arc::clone(blob)))
            }
            Some(CacheEntry::Coming) => CacheLookup::Coming,
            None => {
                blobs.insert(path.clone(), CacheEntry::Coming);
                CacheLookup::Nobodys(Coming { cache: self, path })
            }
        }
    }

    /// Takes space, if necessary from blobs without readers. `None` if every blob is being read.
    fn try_reserve(&self, bytes: u64) -> Option<CacheReservation> {
        let mut blobs = self.blobs();
        let held = &self.held;
        // Space is taken only here, under the lock. Other threads can only release space meanwhile.
        while held.bytes.load(Ordering::Relaxed).saturating_add(bytes) > self.bytes_max
            || held.files.load(Ordering::Relaxed) >= FILES_MAX
        {
            let unread = blobs.iter().filter_map(|(path, entry)| match entry {
                // Readers are created under the lock too.
                CacheEntry::Here { blob, used } if Arc::strong_count(blob) == 1 => {
                    Some((*used, path))
                }
                _ => None,
            });
            let (_, longest) = unread.min()?;
            let longest = longest.clone();
            blobs.remove(&longest);
        }
        Some(CacheReservation::take(held, bytes))
    }

    async fn reserve(&self, bytes: u64, stop: &StopFlag) -> Result<CacheReservation, StoreError> {
        let deadline = Instant::now() + self.space_timeout;
        loop {
            let changed = self.held.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if let Some(reservation) = self.try_reserve(bytes) {
                return Ok(reservation);
            }
            check_stop(stop)?;
            if Instant::now() >= deadline {
                let told = format!(
                    "every cached blob is in use, and the cache has no space for {bytes} bytes; \
                     --blob-cache-bytes-max is {}",
                    self.bytes_max
                );
                return Err(StoreError::unavailable(told));
            }
            let _ = tokio::time::timeout(LOOK, changed).await;
        }
    }
}

/// The right and the duty to fetch a blob. If this is dropped before the fetch ends, another caller may fetch
/// the blob.
struct Coming<'a> {
    cache: &'a Inner,
    path: &'a Path,
}

impl Coming<'_> {
    async fn fetch(self, stop: &StopFlag) -> Result<Option<Box<dyn ReadAt>>, StoreError> {
        let cache = self.cache;
        let meta = match cache.store.head(self.path).await {
            Ok(meta) => meta,
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(store_error(error)),
        };
        if meta.size > cache.bytes_max {
            return Err(StoreError::other(format!(
                "the blob {} of {} bytes is larger than --blob-cache-bytes-max, {}",
                self.path, meta.size, cache.bytes_max
            )));
        }
        let reservation = cache.reserve(meta.size, stop).await?;
        let scratch = cache.scratch.clone();
        let file = in_pool(move || scratch.file()).await?;
        let file = Arc::new(file);
        self.fill(&file, &meta).await?;
        let file = Arc::into_inner(file).ok_or_else(|| StoreError::other("the file is in use"))?;
        let blob = Arc::new(Fetched {
            file: BlobFile(file),
            reservation,
        });
        metrics::counter!("halfspace_blob_cache_misses_total").increment(1);
        let used = cache.uses.fetch_add(1, Ordering::Relaxed);
        let here = CacheEntry::Here {
            blob: Arc::clone(&blob),
            used,
        };
        cache.blobs().insert(self.path.clone(), here);
        Ok(Some(Box::new(Reader(blob))))
    }

    /// Fetches the blob in parts and writes them in order. Some parts are fetched ahead.
    async fn fill(&self, file: &Arc<File>, meta: &ObjectMeta) -> Result<(), StoreError> {
        let starts = (0..meta.size).step_by(PART_BYTES);
        let ranges = starts.map(|start| start..meta.size.min(start + PART_BYTES as u64));
        let parts = stream::iter(ranges).map(|range| self.part(meta, range));
        let mut parts = parts.buffered(PARTS_AT_ONCE);
        while let Some(part) = parts.try_next().await? {
            let file = Arc::clone(file);
            in_pool(move || (&*file).write_all(&part)).await?;
        }
        Ok(())
    }

    /// Fetches a part of the same version of the blob.
    async fn part(&self, meta: &ObjectMeta, range: Range<u64>) -> Result<bytes::Bytes, StoreError> {
        let options = GetOptions {
            if_match: meta.e_tag.clone(),
            range: Some(range.clone().into()),
            ..GetOptions::default()
        };
        let got = self.cache.store.get_opts(self.path, options).await;
        let part = got
            .map_err(store_error)?
            .bytes()
            .await
            .map_err(store_error)?;
        if part.len() as u64 == range.end - range.start {
            Ok(part)
        } else {
            let told = format!(
                "{} returned {} bytes for the range {range:?}",
                self.path,
                part.len()
            );
            Err(StoreError::unavailable(told))
        }
    }
}

impl Drop for Coming<'_> {
    fn drop(&mut self) {
        let mut blobs = self.cache.blobs();
        if let Some(CacheEntry::Coming) = blobs.get(self.path) {
            blobs.remove(self.path);
        }
        drop(blobs);
        self.cache.held.changed.notify_waiters();
    }
}

/// Runs blocking work on the pool of blocking threads.
async fn in_pool<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, StoreError> {
    let done = tokio::task::spawn_blocking(work).await;
    Ok(done.map_err(StoreError::other)??)
}

fn check_stop(stop: &StopFlag) -> Result<(), StoreError> {
    match stop.look() {
        None => Ok(()),
        Some(_) => Err(StoreError::unavailable(
            "the request for the blob was cancelled",
        )),
    }
}

/// Returns when the flag is raised.
async fn raised(stop: &StopFlag) -> StoreError {
    loop {
        if let Err(stopped) = check_stop(stop) {
            return stopped;
        }
        tokio::time::sleep(LOOK).await;
    }
}

impl CacheReservation {
    fn take(held: &Arc<OpenFileTotals>, bytes: u64) -> Self {
        let before = held.bytes.fetch_add(bytes, Ordering::Relaxed);
        held.files.fetch_add(1, Ordering::Relaxed);
        metrics::gauge!("halfspace_blob_cache_bytes").set((before + bytes) as f64);
        let held = Arc::clone(held);
        Self { held, bytes }
    }
}

impl Drop for CacheReservation {
    fn drop(&mut self) {
        let before = self.held.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        self.held.files.fetch_sub(1, Ordering::Relaxed);
        metrics::gauge!("halfspace_blob_cache_bytes").set((before - self.bytes) as f64);
        self.held.changed.notify_waiters();
    }
}

impl fmt::Debug for CacheReservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CacheReservation({})", self.bytes)
    }
}

impl ReadAt for Reader {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.file.read_exact_at(buffer, offset)
    }

    fn bytes(&self) -> io::Result<u64> {
        self.0.file.bytes()
    }
}

impl Drop for Reader {
    /// Notifies waiting fetches, because the last reader makes the file removable.
    fn drop(&mut self) {
        self.0.reservation.held.changed.notify_waiters();
    }
}

/// A file whose bytes are read at any offset, such as a blob.
#[derive(Debug)]
pub struct BlobFile(pub File);

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

#[cfg(test)]
mod tests;
