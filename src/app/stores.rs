//! Opens the stores of a process: the data directory, the database and the place of the blobs.
//!
//! Every error names the setting that is at fault.

use std::sync::Arc;
use std::time::Duration;

use crate::config::Settings;
use crate::jobs::{Ids, release_terms};
use crate::records::{Owner, Role};
use crate::storage::blobs::opening::OpeningError;
use crate::storage::blobs::unfinished;
use crate::storage::{
    BlobLocation, Blobs, DataDir, DatabaseLocation, Sources, Store, StoreError, postgres, sqlite,
};

use super::start_error::StartError;

/// Time limit for the checks of the place of the blobs.
const BLOBS_TIMEOUT: Duration = Duration::from_secs(40);

/// Pause between two attempts to open stores that do not answer yet.
const STORES_PAUSE: Duration = Duration::from_secs(1);

/// Opens the database and the place of the blobs. If they do not answer, it tries again; any other error ends the
/// start at once.
pub(super) async fn open_stores(
    settings: &Settings,
    blob_place: &BlobLocation,
    ids: &Ids,
) -> Result<(Arc<Store>, Blobs, DataDir), StartError> {
    waiting(settings, async || {
        let (store, data_dir) = open_store(settings, ids).await?;
        let blobs = open_blobs(settings, blob_place, &data_dir)?;
        check_blobs(settings, blob_place, &blobs, &store, ids).await?;
        Ok((store, blobs, data_dir))
    })
    .await
}

/// Tries to open stores until they answer, for the time of `--wait-for-stores`.
async fn waiting<T>(
    settings: &Settings,
    open: impl AsyncFn() -> Result<T, StartError>,
) -> Result<T, StartError> {
    let wait = Duration::from_secs(settings.wait_for_stores.into());
    let deadline = tokio::time::Instant::now() + wait;
    let mut is_told = false;
    loop {
        match open().await {
            Err(error)
                if may_answer_later(&error)
                    && tokio::time::Instant::now() + STORES_PAUSE <= deadline =>
            {
                if !is_told {
                    tracing::warn!(%error, seconds = wait.as_secs(), "waiting for the stores");
                    is_told = true;
                }
                tokio::time::sleep(STORES_PAUSE).await;
            }
            ended => return ended,
        }
    }
}

/// Whether a database or an object store may still be starting.
fn may_answer_later(error: &StartError) -> bool {
    match error {
        StartError::Database { source, .. } => matches!(source, StoreError::Unavailable(_)),
        StartError::Blobs { source, .. } => match source {
            // A server that has just started may create its bucket later.
            OpeningError::Unusable { .. } => true,
            OpeningError::Database(source) => matches!(source, StoreError::Unavailable(_)),
            OpeningError::Unfaithful
            | OpeningError::AnothersBlobs
            | OpeningError::Elsewhere { .. } => false,
        },
        _ => false,
    }
}

/// Opens the data directory and the database. A process alone in the directory also cleans up after a crash.
async fn open_store(settings: &Settings, ids: &Ids) -> Result<(Arc<Store>, DataDir), StartError> {
    let place = place(settings)?;
    let named = |source| of_data_dir(settings, source);
    let path = settings.data_dir.clone();
    let opened = tokio::task::spawn_blocking(move || DataDir::open(&path)).await;
    let opened = opened.map_err(|error| named(StoreError::Other(error.into())))?;
    let mut data_dir = opened.map_err(named)?;
    if let DatabaseLocation::Postgres(url) = &place {
        tracing::info!(database = %url, "records are kept in a shared database");
    }
    let store = open_database(settings, &place, &data_dir).await?;
    // If this process alone uses the directory of an SQLite store, remaining leases and unfinished blobs
    // belong to a dead process. With PostgreSQL, other processes may use other directories, or this directory
    // from other machines. Their leases stay valid until they expire, and their blobs may still be in work.
    if data_dir.alone() && matches!(place, DatabaseLocation::Sqlite) {
        let terms = release_terms(settings.attempts_max);
        let released = store.release_all_leases(&terms, ids.now()).await;
        let released = released.map_err(named)?;
        if released > 0 {
            tracing::info!(released, "jobs of an ended process are queued again");
        }
        let removed = unfinished::remove_all(&data_dir.blobs_path());
        if removed > 0 {
            tracing::info!(removed, "unfinished blobs were deleted");
        }
    }
    data_dir.share().map_err(named)?;
    Ok((store, data_dir))
}

/// Opens the database and upgrades its schema.
async fn open_database(
    settings: &Settings,
    place: &DatabaseLocation,
    data_dir: &DataDir,
) -> Result<Arc<Store>, StartError> {
    let failed = |source| match place {
        DatabaseLocation::Sqlite => of_data_dir(settings, source),
        DatabaseLocation::Postgres(url) => StartError::Database {
            shown: url.to_string(),
            source,
        },
    };
    let opened = match place {
        DatabaseLocation::Sqlite => sqlite::open(&data_dir.database_path()).await,
        DatabaseLocation::Postgres(url) => postgres::open(url).await,
    };
    let store = opened.map_err(failed)?;
    let mut limits = settings.limits.clone();
    if let Some(free) = free_bytes(settings, data_dir) {
        let usage = store.usage(&Owner::anonymous()).await.map_err(failed)?;
        limits = limits.on_disk(free, usage.all.stored_bytes);
    }
    Ok(Arc::new(store.limited(limits.quotas())))
}

/// Returns the free bytes of the disk with the blobs, if blobs are files and the system tells.
fn free_bytes(settings: &Settings, data_dir: &DataDir) -> Option<u64> {
    let directory = match settings.blob_url.place() {
        Ok(BlobLocation::DataDir) => data_dir.path().to_owned(),
        Ok(BlobLocation::Folder(directory)) => directory,
        Ok(BlobLocation::Bucket(_)) | Err(_) => return None,
    };
    let disk = rustix::fs::statvfs(&directory).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Prepares the access to the place of the blobs. [`check_blobs`] then tests the access.
fn open_blobs(
    settings: &Settings,
    place: &BlobLocation,
    data_dir: &DataDir,
) -> Result<Blobs, StartError> {
    let bucket = match place {
        BlobLocation::DataDir => {
            let opened = Blobs::local(&data_dir.blobs_path());
            if settings.role != Role::All
                && matches!(self::place(settings)?, DatabaseLocation::Postgres(_))
            {
                tracing::warn!(
                    directory = %data_dir.blobs_path().display(),
                    "without --blob-url, every process over this database must share this directory"
                );
            }
            return opened.map_err(|source| of_data_dir(settings, source));
        }
        BlobLocation::Folder(directory) => {
            let unusable = |source| {
                let attempt = "kept";
                unusable_blobs(settings, OpeningError::Unusable { attempt, source })
            };
            return Blobs::local(directory).map_err(unusable);
        }
        BlobLocation::Bucket(bucket) => bucket,
    };
    tracing::info!(%bucket, "blobs are kept in an object store");
    let limits = &settings.limits;
    let mut blob_bytes_max = limits.body_bytes_max.max(limits.state_bytes_max);
    let mut named = "--body-bytes-max and --state-bytes-max";
    if !settings.sources.is_empty() && limits.source_bytes_max > blob_bytes_max {
        blob_bytes_max = limits.source_bytes_max;
        named = "--sources and --source-bytes-max";
    }
    let cache_bytes_max = settings.blob_cache_bytes_max;
    // The header and the checksums of a blob take at most one thirty-second of its size.
    if cache_bytes_max <= blob_bytes_max.saturating_add(blob_bytes_max / 32) {
        return Err(StartError::BlobCache {
            cache_bytes_max,
            blob_bytes_max,
            named,
        });
    }
    let (access, scratch) = (settings.s3_access(), data_dir.scratch());
    if access.is_unencrypted() {
        tracing::warn!(
            "AWS_ENDPOINT_URL is http:// on another machine, so blobs pass the network unencrypted"
        );
    }
    let opened = Blobs::bucket(bucket, &access, scratch, cache_bytes_max);
    opened.map_err(StartError::BlobUrl)
}

/// Prepares the access to the buckets from which datasets may come. `None` if there are none.
pub(super) fn open_sources(
    settings: &Settings,
    place: &BlobLocation,
) -> Result<Option<Sources>, StartError> {
    if settings.sources.is_empty() {
        return Ok(None);
    }
    let access = settings.s3_access();
    let sources = Sources::new(&settings.sources, &access).map_err(StartError::Sources)?;
    if let BlobLocation::Bucket(bucket) = place
        && let Some(prefix) = sources.prefixes().iter().find(|own| own.overlaps(bucket))
    {
        return Err(StartError::Sources(format!(
            "{prefix} reaches the blobs of --blob-url, which hold the data of all keys; name another prefix"
        )));
    }
    let prefixes = sources.prefixes().iter().map(ToString::to_string);
    let prefixes = prefixes.collect::<Vec<_>>().join(", ");
    tracing::info!(%prefixes, "datasets may come from buckets");
    if access.is_unencrypted() {
        tracing::warn!(
            "AWS_ENDPOINT_URL is http:// on another machine, so sources pass the network unencrypted"
        );
    }
    Ok(Some(sources))
}

/// Checks that the place of the blobs is usable and belongs to this database.
async fn check_blobs(
    settings: &Settings,
    place: &BlobLocation,
    blobs: &Blobs,
    store: &Store,
    ids: &Ids,
) -> Result<(), StartError> {
    let checked = async {
        blobs.probe(&ids.name("probe")).await?;
        blobs.belong(place, store, &ids.name("store")).await
    };
    let late = |_| OpeningError::Unusable {
        attempt: "used",
        source: StoreError::unavailable("the store does not respond in time"),
    };
    let checked = tokio::time::timeout(BLOBS_TIMEOUT, checked).await;
    let checked = checked.map_err(late).flatten();
    checked.map_err(|error| match (place, error) {
        (BlobLocation::DataDir, OpeningError::Unusable { source, .. }) => {
            of_data_dir(settings, source)
        }
        (_, error) => unusable_blobs(settings, error),
    })
}

/// Opens the store for a command that runs beside a service. Like a service, it waits for a database that starts.
pub(super) async fn open_beside(settings: &Settings) -> Result<(Arc<Store>, DataDir), StartError> {
    let place = place(settings)?;
    let named = |source| of_data_dir(settings, source);
    waiting(settings, async || {
        let mut data_dir = DataDir::open(&settings.data_dir).map_err(named)?;
        data_dir.share().map_err(named)?;
        let store = open_database(settings, &place, &data_dir).await?;
        Ok((store, data_dir))
    })
    .await
}

/// Like [`open_beside`], but only for a store that exists: a command that finds none must not create an empty one.
pub(super) async fn open_existing(
    settings: &Settings,
) -> Result<(Arc<Store>, DataDir), StartError> {
    let directory = &settings.data_dir;
    let holds_database = || {
        let holds = DataDir::holds_database(directory);
        holds.map_err(|source| of_data_dir(settings, source))
    };
    if matches!(place(settings)?, DatabaseLocation::Sqlite) && !holds_database()? {
        return Err(no_store(settings));
    }
    open_beside(settings).await
}

pub(super) fn no_store(settings: &Settings) -> StartError {
    let directory = settings.data_dir.display().to_string();
    StartError::NoStore { directory }
}

pub(super) fn unusable_blobs(settings: &Settings, source: OpeningError) -> StartError {
    let shown = settings.blob_url.to_string();
    StartError::Blobs { shown, source }
}

pub(super) fn place(settings: &Settings) -> Result<DatabaseLocation, StartError> {
    let place = settings.database();
    place.map_err(StartError::DatabaseUrl)
}

pub(super) fn of_data_dir(settings: &Settings, source: StoreError) -> StartError {
    StartError::DataDir {
        directory: settings.data_dir.display().to_string(),
        source,
    }
}
