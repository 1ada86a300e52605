//! The composition root: builds a service from the settings, runs it and shuts it down in order.
//!
//! Settings, store, jobs and HTTP layer meet only here. The module also opens the listeners, reads the system clock
//! and draws the seed of all random ids.

mod api_keys;
mod check;
pub mod logging;
mod metrics;
mod operations;
pub mod start_error;
mod stores;
mod system;
pub mod terminal;
mod watchdog;

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use halfspace_core::memory::MemoryBudget;
use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::callbacks::client::DELIVERY_LIMIT;
use crate::callbacks::{Allowed, CallbackClient, Signer, system_roots};
use crate::config::Settings;
use crate::http::limits::Limits;
use crate::http::{
    self, App, AppState, Authenticator, InFlight, Origins, Permits, RuntimeWatch, ServeLimits,
    StallLimits,
};
use crate::jobs::{EncodingConfig, ImportConfig, Jobs, JobsConfig};
use crate::memory::{self, Machine};
use crate::records::Role;
use crate::records::schedule::SECONDS_DEFAULT;
use crate::storage::backup::{self, Backup, BackupError};
use crate::storage::{BlobLocation, DataDir, DatabaseLocation, KeyLookup, ScratchDir, Sources};

pub use api_keys::{create_key, keys, revoke_key};
pub use check::check;
pub use operations::Operations;
use start_error::StartError;
use stores::{open_beside, open_sources, open_stores};
use system::ids;

/// Time limit for the return of running jobs to the queue at shutdown.
pub const JOBS_TIMEOUT: Duration = Duration::from_secs(5);

/// Number of open files besides connections: the store, blobs and callbacks.
const OTHER_FILES: u64 = 256;

/// Number of connections that the kernel queues before they are accepted.
const BACKLOG: u32 = 4096;

/// Size of the kernel's send buffer per client, in bytes.
const SEND_BUFFER_BYTES: u32 = 256 * 1024;

/// Memory of the process in bytes if the system does not report the memory of the machine.
const UNKNOWN_MEMORY_BYTES: u64 = 2 << 30;

/// A service that is ready to answer requests.
pub struct Service {
    jobs: Arc<Jobs>,
    router: Router,
    operations_router: Router,
    /// Whether every client may send requests, because no API key exists.
    is_open: bool,
    serve_limits: ServeLimits,
    watch: Arc<RuntimeWatch>,
    // The service holds this directory for its whole life. Other processes see that the directory is in use.
    _data_dir: DataDir,
}

impl Service {
    /// Opens the store and builds the service, which computes no jobs yet.
    ///
    /// # Errors
    /// The fault and the setting that causes it.
    pub async fn open(settings: &Settings) -> Result<Self, StartError> {
        // The store counts from the first moment: the start may end jobs of a dead process.
        let metrics = metrics::handle()?;
        let memory = memory(settings, &Machine::default())?;
        let ids = Arc::new(ids()?);
        let blob_place = settings.blob_url.place().map_err(StartError::BlobUrl)?;
        let sources = open_sources(settings, &blob_place)?;
        let (store, blobs, data_dir) = open_stores(settings, &blob_place, &ids).await?;
        let is_open = matches!(
            store.find_api_key(None).await.map_err(StartError::Keys)?,
            KeyLookup::NoKeys
        );
        let origins = origins(settings, is_open)?;
        let imports = sources.map(|sources| import_config(settings, sources, data_dir.scratch()));
        let encoding = encoding_config(settings, data_dir.scratch());
        let quotas = *store.quotas();
        let jobs = Jobs::new(
            store,
            blobs,
            ids,
            JobsConfig {
                memory: memory.clone(),
                imports,
                encoding,
                ..jobs_config(settings)
            },
            callbacks(settings),
        );
        let limits = Limits {
            memory_bytes_max: memory.bytes_max(),
            stored_bytes_max: Some(quotas.in_all.stored_bytes),
            stored_bytes_per_key_max: Some(quotas.per_owner.stored_bytes),
            ..settings.limits.clone()
        }
        .in_force();
        let watch = RuntimeWatch::new(Handle::current(), StallLimits::default());
        let app = App::new(AppState {
            watch: Arc::clone(&watch),
            jobs: Arc::clone(&jobs),
            permits: Permits::new(&limits),
            authenticator: Authenticator::new(Arc::clone(&jobs.store)),
            in_flight: InFlight::default(),
            limits: Arc::new(limits),
            scratch: data_dir.scratch(),
            base_path: settings.base_path.as_str().into(),
            allowed_hosts: allowed_hosts(settings),
            origins,
            runtime: Handle::current(),
            metrics,
        });
        let operations_router = http::operations_router(app.clone());
        Ok(Self {
            jobs,
            router: match settings.role {
                Role::All | Role::Api => http::router(app),
                Role::Worker => operations_router.clone(),
            },
            operations_router,
            is_open,
            serve_limits: ServeLimits {
                base_path: settings.base_path.as_str().into(),
                connections_max: settings.limits.connections_max,
                trusted_proxies: settings.trusted_proxies.clone(),
                ..ServeLimits::default()
            },
            watch,
            _data_dir: data_dir,
        })
    }

    /// The router of this service, for callers with their own connections.
    pub fn router(&self) -> Router {
        self.router.clone()
    }

    /// Memory for requests and jobs, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.jobs.config.memory.bytes_max()
    }

    pub fn jobs(&self) -> &Arc<Jobs> {
        &self.jobs
    }

    /// Whether every client may send requests, because no API key exists.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Answers requests and computes jobs until `stop`. It then returns running jobs to the queue, ends open
    /// responses and closes the store.
    ///
    /// # Errors
    /// The system gives no thread for the connections.
    pub async fn run(
        self,
        listener: TcpListener,
        operations: Option<Operations>,
        stop: CancellationToken,
    ) -> io::Result<()> {
        // Clients learn why a job waits, so the process is known before the first request.
        if let Err(error) = self.jobs.processes.report().await {
            tracing::warn!(%error, "the process could not report to the store; the report is repeated");
        }
        self.jobs.start();
        let upkeep = tokio::spawn(metrics::keep());
        let jobs = Arc::clone(&self.jobs);
        let stopped = async {
            stop.cancelled().await;
            tracing::info!("stopping: running jobs go back to the queue");
            if !jobs.stop(JOBS_TIMEOUT).await {
                tracing::warn!("some jobs could not return to the queue; their leases will expire");
            }
        };
        // The operations routes respond until everything else has ended.
        let operations_stop = CancellationToken::new();
        let operations = operations.map(|operations| {
            let router = self.operations_router.clone();
            operations.serve(router, operations_stop.clone())
        });
        if let Some(Err(error)) = &operations {
            tracing::error!(%error, "the thread for --ops-listen could not start");
        }
        let (limits, watch) = (self.serve_limits, self.watch);
        let served = watchdog::serve(listener, self.router.clone(), limits, watch, stop.clone());
        let begun = match served {
            Ok(served) => {
                let _ = tokio::join!(stopped, served);
                Ok(())
            }
            Err(error) => {
                stop.cancel();
                stopped.await;
                Err(error)
            }
        };
        operations_stop.cancel();
        upkeep.abort();
        self.jobs.store.close().await;
        begun
    }
}

/// Number of threads that may block: as many as the runtime has by default, and one more per body, because a slow
/// client keeps the reader of its body waiting.
pub fn blocking_threads(settings: &Settings) -> usize {
    const USUAL: u64 = 512;
    let limits = &settings.limits;
    let readers = limits.uploads_max.saturating_add(limits.streams_max);
    usize::try_from(USUAL.saturating_add(readers)).unwrap_or(usize::MAX)
}

/// Upgrades the schema of the store.
///
/// # Errors
/// The store cannot be opened. The error names the setting at fault.
pub async fn migrate(settings: &Settings) -> Result<(), StartError> {
    let (store, _data_dir) = open_beside(settings).await?;
    store.close().await;
    Ok(())
}

/// Copies the embedded store to a directory, even while a service uses it.
///
/// # Errors
/// The reason why there is no copy.
pub async fn backup(settings: &Settings, target: &Path) -> Result<Backup, BackupError> {
    match settings.blob_url.place() {
        Ok(BlobLocation::DataDir) => {}
        Ok(BlobLocation::Folder(_) | BlobLocation::Bucket(_)) => {
            return Err(BackupError::BlobsElsewhere);
        }
        Err(_) => return Err(BackupError::BlobUrl),
    }
    match settings.database() {
        Ok(DatabaseLocation::Sqlite) => backup::backup(&settings.data_dir, target).await,
        Ok(DatabaseLocation::Postgres(_)) => {
            let detail = "use PostgreSQL's own tools to copy a store in PostgreSQL";
            Err(BackupError::NotEmbedded(detail.to_owned()))
        }
        Err(detail) => Err(BackupError::NotEmbedded(detail)),
    }
}

/// The memory for requests and jobs.
fn memory(settings: &Settings, machine: &Machine) -> Result<MemoryBudget, StartError> {
    let refused = |detail: String| Err(StartError::Memory(detail));
    let there_is = machine.bytes();
    let limit = match (settings.memory_bytes_max, there_is) {
        (Some(limit), Some(there_is)) if limit > there_is => {
            return refused(format!(
                "{limit} bytes exceed the {there_is} bytes of this machine or control group"
            ));
        }
        (Some(limit), _) => limit,
        (None, Some(there_is)) => memory::default_bytes(there_is),
        (None, None) => UNKNOWN_MEMORY_BYTES,
    };
    if limit < memory::LIMIT_BYTES_MIN {
        let least = memory::LIMIT_BYTES_MIN;
        return refused(match settings.memory_bytes_max {
            Some(_) => format!("{limit} bytes are too few; the service needs {least} bytes"),
            None => format!(
                "70 % of the memory of this machine or control group is {limit} bytes, but the \
                 service needs {least} bytes"
            ),
        });
    }
    Ok(MemoryBudget::new(limit - memory::BASE_BYTES))
}

fn jobs_config(settings: &Settings) -> JobsConfig {
    let limits = &settings.limits;
    JobsConfig {
        role: settings.role,
        workers: settings.workers(),
        lease_seconds: settings.lease_seconds,
        attempts_max: settings.attempts_max,
        seconds_default: limits.seconds_max.min(SECONDS_DEFAULT),
        answer_seconds_max: limits.answer_seconds_max,
        resident_bytes_max: settings.resident_bytes_max,
        retention_days: settings.retention_days,
        checkpoint_every: Duration::from_secs(settings.checkpoint_seconds.into()),
        ..JobsConfig::default()
    }
}

fn encoding_config(settings: &Settings, scratch: ScratchDir) -> EncodingConfig {
    let limits = &settings.limits;
    EncodingConfig {
        limits: limits.of_datasets(),
        memory_bytes_max: limits.upload_memory_bytes_max,
        scratch: Some(scratch),
    }
}

fn import_config(settings: &Settings, sources: Sources, scratch: ScratchDir) -> ImportConfig {
    let limits = &settings.limits;
    ImportConfig {
        sources: Arc::new(sources),
        json_limits: limits.of_json(),
        limits: limits.of_sources(),
        memory_bytes_max: limits.upload_memory_bytes_max,
        stored_ratio_max: limits.stored_ratio_max,
        scratch,
    }
}

/// The client that delivers callbacks; `None` without a secret.
fn callbacks(settings: &Settings) -> Option<CallbackClient> {
    let signer = Signer::new(settings.callback_secret.clone())?;
    let allowed = Allowed::new(settings.callback_allow.clone());
    let client = CallbackClient::new(signer, allowed, system_roots(), DELIVERY_LIMIT);
    Some(client)
}

/// The accepted host names. On a loopback address only known names are accepted, and on other addresses all
/// names.
fn allowed_hosts(settings: &Settings) -> Option<Vec<String>> {
    let address = settings.listen.ip();
    let loopback = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    let own = [address.to_string()];
    let all = loopback.into_iter().chain(own);
    let all = all.chain(settings.allowed_hosts.iter().cloned());
    address.is_loopback().then(|| all.collect())
}

/// The origins of web pages that may use the service.
fn origins(settings: &Settings, is_open: bool) -> Result<Origins, StartError> {
    let origins = Origins::parse(&settings.cors_origins).map_err(StartError::CorsOrigins)?;
    if origins == Origins::All && !is_open {
        let detail = "`*` allows every web page and is refused because this store has API keys; \
                      list the origins instead";
        return Err(StartError::CorsOrigins(detail.to_owned()));
    }
    Ok(origins)
}

/// Binds the address of the settings.
///
/// # Errors
/// The address cannot be bound.
pub fn listen(settings: &Settings) -> Result<TcpListener, StartError> {
    let listening = || {
        let socket = match settings.listen {
            SocketAddr::V4(_) => TcpSocket::new_v4(),
            SocketAddr::V6(_) => TcpSocket::new_v6(),
        }?;
        socket.set_reuseaddr(true)?;
        // Accepted connections inherit this size. The size limits the kernel memory of a client that does not
        // read.
        socket.set_send_buffer_size(SEND_BUFFER_BYTES)?;
        socket.bind(settings.listen)?;
        socket.listen(BACKLOG)
    };
    listening().map_err(|source| StartError::Listen {
        address: settings.listen.to_string(),
        source,
    })
}

/// Binds the address of the operations routes, if the settings have one.
///
/// # Errors
/// The address cannot be bound.
pub fn listen_for_operations(settings: &Settings) -> Result<Option<Operations>, StartError> {
    let Some(address) = settings.ops_listen else {
        return Ok(None);
    };
    let listening = Operations::listen(address);
    listening.map(Some).map_err(|source| StartError::OpsListen {
        address: address.to_string(),
        source,
    })
}

/// Raises this process's limit on open files to its maximum, because each connection needs one.
pub fn raise_open_files(settings: &Settings) {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let limit = getrlimit(Resource::Nofile);
        let raised = Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        };
        if let Err(error) = setrlimit(Resource::Nofile, raised) {
            tracing::warn!(%error, "the limit on open files could not be raised");
        }
        let (needed, files) = (settings.limits.connections_max + OTHER_FILES, limit.maximum);
        if files.is_some_and(|files| files < needed) {
            tracing::warn!(
                files,
                needed,
                "the system allows fewer open files than --connections-max needs"
            );
        }
    }
}
