//! Tests of the cache: the number of fetches, the dropped blobs, and the state after an interrupted fetch.

use std::sync::atomic::AtomicU32;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::BoxStream;
use halfspace_core::learners::engine::run::Interrupt;
use object_store::memory::InMemory;
use object_store::{
    CopyOptions, GetResult, ListResult, MultipartUpload, PutMultipartOptions, PutOptions,
    PutPayload, PutResult, Result,
};
use tempfile::TempDir;
use tokio::sync::Semaphore;

use super::*;
use crate::storage::DataDir;

/// A store that waits for a permit before each part and counts the fetched parts.
#[derive(Debug)]
struct Gated {
    inner: InMemory,
    gate: Semaphore,
    parts: AtomicU32,
}

impl fmt::Display for Gated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("gated")
    }
}

#[async_trait]
impl ObjectStore for Gated {
    async fn get_opts(&self, path: &Path, options: GetOptions) -> Result<GetResult> {
        if !options.head {
            self.gate.acquire().await.unwrap().forget();
            self.parts.fetch_add(1, Ordering::SeqCst);
        }
        self.inner.get_opts(path, options).await
    }
    async fn put_opts(
        &self,
        path: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        self.inner.put_opts(path, payload, options).await
    }
    async fn put_multipart_opts(
        &self,
        path: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(path, options).await
    }
    fn delete_stream(
        &self,
        paths: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(paths)
    }
    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }
    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }
    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}

struct CacheRig {
    store: Arc<Gated>,
    cache: BlobCache,
    stop: StopFlag,
    _directory: TempDir,
}

const PARTS: usize = 1_000;

impl CacheRig {
    /// A cache with this limit, and a store with so many permits.
    fn new(bytes_max: u64, permits: usize) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let scratch = DataDir::open(directory.path()).unwrap().scratch();
        let store = Arc::new(Gated {
            inner: InMemory::new(),
            gate: Semaphore::new(permits),
            parts: 0.into(),
        });
        let cache = BlobCache::new(Arc::clone(&store) as _, scratch, bytes_max);
        let stop = StopFlag::default();
        Self {
            store,
            cache,
            stop,
            _directory: directory,
        }
    }

    async fn put(&self, name: &str, count: usize) -> Path {
        let path = Path::from(name);
        let bytes: Bytes = (0..count).map(|at| (at % 251) as u8).collect();
        self.store.put(&path, bytes.into()).await.unwrap();
        path
    }

    async fn open(&self, path: &Path) -> std::result::Result<Option<Box<dyn ReadAt>>, StoreError> {
        self.cache.open(path, &self.stop).await
    }

    async fn opened(&self, path: &Path) -> Box<dyn ReadAt> {
        self.open(path).await.unwrap().unwrap()
    }

    fn parts(&self) -> u32 {
        self.store.parts.load(Ordering::SeqCst)
    }

    fn held(&self) -> u64 {
        self.cache.0.held.bytes.load(Ordering::SeqCst)
    }
}

#[tokio::test]
async fn cache_fetches_a_blob_once_for_many_readers() {
    let rig = CacheRig::new(1_000, 0);
    let path = rig.put("a", 300).await;
    let opened = futures_util::future::join_all((0..8).map(|_| rig.open(&path)));
    // All callers wait before the gate opens.
    let (opened, ()) = tokio::join!(biased; opened, async {
        assert_eq!(rig.parts(), 0);
        rig.store.gate.add_permits(PARTS);
    });
    for blob in opened {
        let mut buffer = [0; 2];
        blob.unwrap()
            .unwrap()
            .read_exact_at(&mut buffer, 250)
            .unwrap();
        assert_eq!(buffer, [250, 0]);
    }
    assert_eq!((rig.parts(), rig.held()), (1, 300));
}

#[tokio::test]
async fn cache_drops_the_least_recently_used_blob() {
    let rig = CacheRig::new(1_000, PARTS);
    let [a, b, c] = [
        rig.put("a", 400).await,
        rig.put("b", 400).await,
        rig.put("c", 400).await,
    ];
    for path in [&a, &b, &a, &c] {
        drop(rig.opened(path).await);
    }
    assert_eq!((rig.parts(), rig.held()), (3, 800));
    // The second blob was dropped.
    drop(rig.opened(&a).await);
    drop(rig.opened(&c).await);
    assert_eq!(rig.parts(), 3);
    drop(rig.opened(&b).await);
    assert_eq!((rig.parts(), rig.held()), (4, 800));
}

#[tokio::test]
async fn cache_without_room_in_time_names_its_limit() {
    let mut rig = CacheRig::new(1_000, PARTS);
    let inner = Arc::get_mut(&mut rig.cache.0).unwrap();
    inner.space_timeout = Duration::ZERO;
    let [a, b] = [rig.put("a", 600).await, rig.put("b", 600).await];
    let _reader = rig.opened(&a).await;
    let error = rig.open(&b).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
    assert!(
        error.to_string().contains("--blob-cache-bytes-max"),
        "{error}"
    );
    assert_eq!(rig.held(), 600);
}

#[tokio::test]
async fn cache_keeps_a_blob_being_read_and_others_wait_for_room() {
    let rig = CacheRig::new(1_000, PARTS);
    let [a, b] = [rig.put("a", 600).await, rig.put("b", 600).await];
    let reader = rig.opened(&a).await;
    // A forgotten blob keeps its space until its last reader is dropped.
    rig.cache.forget(&a);
    assert_eq!(rig.held(), 600);
    let (waited, ()) = tokio::join!(biased; rig.open(&b), async { drop(reader) });
    waited.unwrap().unwrap();
    assert_eq!(rig.held(), 600);
}

#[tokio::test]
async fn cache_refuses_a_larger_blob_and_names_its_limit() {
    let rig = CacheRig::new(1_000, PARTS);
    let path = rig.put("a", 1_001).await;
    let error = rig.open(&path).await.unwrap_err();
    assert!(matches!(error, StoreError::Other(_)), "{error}");
    assert!(
        error.to_string().contains("--blob-cache-bytes-max"),
        "{error}"
    );
    assert_eq!((rig.parts(), rig.held()), (0, 0));
}

#[tokio::test]
async fn cache_fetch_that_breaks_off_is_begun_anew() {
    let rig = CacheRig::new(1_000, 0);
    let path = rig.put("a", 300).await;
    // The caller is dropped.
    let open = rig.open(&path);
    assert!(futures_util::poll!(std::pin::pin!(open)).is_pending());
    assert_eq!(rig.held(), 0);
    // The stop flag ends the fetch.
    let (stopped, ()) = tokio::join!(biased; rig.open(&path), async {
        rig.stop.raise(Interrupt::Cancelled);
    });
    assert!(matches!(stopped, Err(StoreError::Unavailable(_))));
    assert_eq!((rig.parts(), rig.held()), (0, 0));
    rig.store.gate.add_permits(PARTS);
    let stop = StopFlag::default();
    assert!(rig.cache.open(&path, &stop).await.unwrap().is_some());
    assert!(
        rig.cache
            .open(&Path::from("b"), &stop)
            .await
            .unwrap()
            .is_none()
    );
}

#[tokio::test]
async fn cache_holds_at_most_files_max() {
    let rig = CacheRig::new(1_000_000, PARTS);
    for number in 0..=FILES_MAX {
        let path = rig.put(&number.to_string(), 1).await;
        drop(rig.opened(&path).await);
    }
    assert_eq!(rig.held(), FILES_MAX);
}
