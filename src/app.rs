//! The composition root: settings in, a running service out, and its orderly end.

mod api_keys;
mod stores;

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::Router;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use rand::rngs::{StdRng, SysRng};
use rand::{SeedableRng, TryRng};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::callbacks::client::DELIVERY_LIMIT;
use crate::callbacks::{Allowed, CallbackClient, Signer, system_roots};
use crate::config::{Role, Settings};
use crate::http::{self, App, Doorkeeper, InFlight, ServeLimits};
use crate::jobs::{Ids, Jobs, JobsConfig};
use crate::records::{Clock, Timestamp};
use crate::storage::backup::{self, Backup, BackupError};
use crate::storage::blobs::opening::OpeningError;
use crate::storage::{BlobPlace, DataDir, Place, StoreError};

pub use api_keys::{create_key, keys, revoke_key};
use stores::{check_blobs, open_beside, open_blobs, open_store};

/// How long jobs may take to be written back when the service stops.
const JOBS_PATIENCE: Duration = Duration::from_secs(5);

/// How often metrics are put in order; without it their memory grows.
const METRICS_UPKEEP: Duration = Duration::from_secs(5);

/// Bounds of the histograms, in seconds.
const BUCKETS: [f64; 12] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0,
];

/// Why the service does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The directory, or the embedded database in it, cannot be opened.
    #[error("--data-dir {directory}: {source}")]
    DataDir {
        directory: String,
        source: StoreError,
    },
    /// There is no embedded database where one was looked for.
    #[error("--data-dir {directory}: there is no store here")]
    NoStore { directory: String },
    /// The setting names no database.
    #[error("--database-url: {0}")]
    DatabaseUrl(String),
    /// The shared database cannot be used.
    #[error("--database-url {shown}: {source}")]
    Database {
        /// The address without what is secret in it.
        shown: String,
        source: StoreError,
    },
    /// The setting names no place for blobs, or no way to it.
    #[error("--blob-url: {0}")]
    BlobUrl(String),
    /// The place for blobs will not do.
    #[error("--blob-url {shown}: {source}")]
    Blobs { shown: String, source: OpeningError },
    /// A blob that may be stored could not be read.
    #[error(
        "--blob-cache-bytes-max: {cache_bytes_max} bytes are too few for one blob: --dataset-bytes-max and \
         --state-bytes-max allow {blob_bytes_max}"
    )]
    BlobCache {
        cache_bytes_max: u64,
        blob_bytes_max: u64,
    },
    /// The address cannot be listened on.
    #[error("--listen {address}: {source}")]
    Listen {
        address: String,
        source: std::io::Error,
    },
    /// The system gives no random numbers.
    #[error("the system gives no random numbers: {0}")]
    Random(String),
    /// The store does not do what it is asked with API keys.
    #[error("keys: {0}")]
    Keys(StoreError),
    /// Metrics cannot be set up.
    #[error("metrics: {0}")]
    Metrics(String),
}

/// A service that is ready to answer.
pub struct Service {
    jobs: Arc<Jobs>,
    router: Router,
    // Held as long as the service lives: it tells other processes that somebody is here.
    _data_dir: DataDir,
}

/// The system's clock.
#[derive(Debug)]
struct SystemClock;

impl Clock for SystemClock {
    // The one place that reads the time of day.
    #[expect(clippy::disallowed_methods)]
    fn now(&self) -> Timestamp {
        let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let milliseconds = since_epoch.map_or(0, |since| since.as_millis());
        Timestamp::from_milliseconds(i64::try_from(milliseconds).unwrap_or(i64::MAX))
    }
}

impl Service {
    /// Opens the store and puts everything together. Jobs are not computed yet.
    ///
    /// # Errors
    /// What is wrong, with the setting at fault.
    pub async fn open(settings: &Settings) -> Result<Self, StartError> {
        let ids = Arc::new(ids()?);
        let blob_place = settings.blob_url.place().map_err(StartError::BlobUrl)?;
        let (store, data_dir) = open_store(settings, &ids).await?;
        let blobs = open_blobs(settings, &blob_place, &data_dir)?;
        check_blobs(settings, &blob_place, &blobs, &*store, &ids).await?;
        let jobs = Jobs::new(
            store,
            blobs,
            ids,
            jobs_config(settings),
            callbacks(settings),
        );
        let limits = settings.limits();
        let permits = |limit: u64| {
            let permits = usize::try_from(limit).unwrap_or(Semaphore::MAX_PERMITS);
            Arc::new(Semaphore::new(permits))
        };
        let app = App {
            jobs: Arc::clone(&jobs),
            uploads: permits(limits.uploads_max),
            streams: permits(limits.streams_max),
            doorkeeper: Doorkeeper::default(),
            in_flight: InFlight::default(),
            constructions: permits(limits.constructions_max),
            limits: Arc::new(limits),
            scratch: data_dir.scratch(),
            allowed_hosts: allowed_hosts(settings),
            metrics: metrics_handle()?,
        };
        Ok(Self {
            jobs,
            router: match settings.role {
                Role::All | Role::Api => http::router(app),
                Role::Worker => http::operations_router(app),
            },
            _data_dir: data_dir,
        })
    }

    /// The requests this service answers, for a caller that brings its own connections.
    pub fn router(&self) -> Router {
        self.router.clone()
    }

    /// The jobs.
    pub fn jobs(&self) -> &Arc<Jobs> {
        &self.jobs
    }

    /// Answers and computes until `stop`; then gives running jobs back to the queue, lets answers
    /// end, and closes the store.
    pub async fn run(self, listener: TcpListener, connections_max: u64, stop: CancellationToken) {
        self.jobs.start();
        let upkeep = tokio::spawn(keep_metrics());
        let jobs = Arc::clone(&self.jobs);
        let stopped = async {
            stop.cancelled().await;
            tracing::info!("stopping: running jobs go back to the queue");
            if !jobs.stop(JOBS_PATIENCE).await {
                tracing::warn!("some jobs are not written back; their leases will run out");
            }
        };
        let limits = ServeLimits {
            connections_max,
            ..ServeLimits::default()
        };
        let served = http::serve(listener, self.router.clone(), limits, stop.clone());
        tokio::join!(stopped, served);
        upkeep.abort();
        self.jobs.store().close().await;
    }
}

/// Brings the schema up to date.
///
/// # Errors
/// When the store cannot be opened, with the setting at fault.
pub async fn migrate(settings: &Settings) -> Result<(), StartError> {
    let (store, _data_dir) = open_beside(settings).await?;
    store.close().await;
    Ok(())
}

/// Copies the embedded store to a directory, while others may serve it.
///
/// # Errors
/// Why there is no copy.
pub async fn backup(settings: &Settings, target: &Path) -> Result<Backup, BackupError> {
    match settings.blob_url.place() {
        Ok(BlobPlace::DataDir) => {}
        Ok(BlobPlace::Folder(_) | BlobPlace::Bucket(_)) => return Err(BackupError::BlobsElsewhere),
        Err(_) => return Err(BackupError::BlobUrl),
    }
    match settings.database_url.place() {
        Ok(Place::Sqlite) => backup::backup(&settings.data_dir, target).await,
        Ok(Place::Postgres(_)) => {
            let detail = "a store in PostgreSQL is copied by PostgreSQL's own tools";
            Err(BackupError::NotEmbedded(detail.to_owned()))
        }
        Err(detail) => Err(BackupError::NotEmbedded(detail)),
    }
}

fn ids() -> Result<Ids, StartError> {
    let generator = StdRng::from_seed(entropy()?);
    Ok(Ids::new(Arc::new(SystemClock), generator))
}

/// 256 bits that nobody can foresee: the one place that asks the system for any.
fn entropy() -> Result<[u8; 32], StartError> {
    let mut drawn = [0; 32];
    let filled = SysRng.try_fill_bytes(&mut drawn);
    filled.map_err(|error| StartError::Random(error.to_string()))?;
    Ok(drawn)
}

fn jobs_config(settings: &Settings) -> JobsConfig {
    let limits = settings.limits();
    JobsConfig {
        workers: settings.workers(),
        lease_seconds: settings.lease_seconds,
        attempts_max: limits.attempts_max,
        seconds_default: limits.seconds_max.min(600.0),
        resident_bytes_max: limits.resident_bytes_max,
        retention_days: settings.retention_days,
        checkpoint_every: Duration::from_secs(settings.checkpoint_seconds.into()),
        ..JobsConfig::default()
    }
}

/// Who delivers callbacks; nobody without a secret.
fn callbacks(settings: &Settings) -> Option<CallbackClient> {
    let signer = Signer::new(settings.callback_secret.clone())?;
    let allowed = Allowed::new(settings.callback_allow.clone());
    let client = CallbackClient::new(signer, allowed, system_roots(), DELIVERY_LIMIT);
    Some(client)
}

/// On a loopback address only known names are answered to; elsewhere all.
fn allowed_hosts(settings: &Settings) -> Option<Arc<[String]>> {
    let address = settings.listen.ip();
    let loopback = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    let own = [address.to_string()];
    let all = loopback.into_iter().chain(own);
    let all = all.chain(settings.allowed_hosts.iter().cloned());
    address.is_loopback().then(|| all.collect())
}

/// The process's one recorder of metrics.
fn metrics_handle() -> Result<PrometheusHandle, StartError> {
    static HANDLE: OnceLock<PrometheusHandle> = OnceLock::new();
    if let Some(handle) = HANDLE.get() {
        return Ok(handle.clone());
    }
    let failed =
        |error: metrics_exporter_prometheus::BuildError| StartError::Metrics(error.to_string());
    let builder = PrometheusBuilder::new()
        .set_buckets(&BUCKETS)
        .map_err(failed)?;
    let recorder = builder.build_recorder();
    let handle = HANDLE.get_or_init(|| recorder.handle()).clone();
    // Lost only by a second service of one process, which then counts with the first.
    let _ = metrics::set_global_recorder(recorder);
    Ok(handle)
}

async fn keep_metrics() {
    loop {
        tokio::time::sleep(METRICS_UPKEEP).await;
        if let Ok(handle) = metrics_handle() {
            handle.run_upkeep();
        }
    }
}

/// Listens on the address of the settings.
///
/// # Errors
/// When the address cannot be listened on.
pub async fn listen(settings: &Settings) -> Result<TcpListener, StartError> {
    let bound = TcpListener::bind(settings.listen).await;
    bound.map_err(|source| StartError::Listen {
        address: settings.listen.to_string(),
        source,
    })
}
