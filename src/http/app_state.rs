//! The state that all handlers share.

use std::ops::Deref;
use std::sync::Arc;

use halfspace_core::memory::MemoryBudget;
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::runtime::Handle;

use super::authenticator::Authenticator;
use super::in_flight::InFlight;
use super::limits::Limits;
use super::middleware::origins::Origins;
use super::permits::Permits;
use super::serve::RuntimeWatch;
use crate::jobs::Jobs;
use crate::records::train::SeedNumber;
use crate::storage::ScratchDir;

/// State shared by all handlers. Each request clones it many times, so a clone is one pointer.
#[derive(Clone)]
pub struct App(Arc<AppState>);

impl App {
    pub fn new(state: AppState) -> Self {
        Self(Arc::new(state))
    }
}

impl Deref for App {
    type Target = AppState;

    fn deref(&self) -> &AppState {
        &self.0
    }
}

pub struct AppState {
    /// The job service, with access to the store.
    pub jobs: Arc<Jobs>,
    /// Limits in force.
    pub limits: Arc<Limits>,
    /// Permits for concurrent work.
    pub permits: Permits,
    /// Temporary files for uploads that are not stored yet.
    pub scratch: ScratchDir,
    /// Checks API keys.
    pub authenticator: Authenticator,
    /// Idempotency keys of requests that have no answer yet.
    pub in_flight: InFlight,
    /// Path below which clients see the service, such as `/learn`; empty without a prefix.
    pub base_path: Arc<str>,
    /// Host names that the service answers to. `None` allows every host.
    pub allowed_hosts: Option<Vec<String>>,
    /// Origins of web pages that may send requests.
    pub origins: Origins,
    /// Runtime of the store's connections. Handlers that may run on another runtime spawn store calls here.
    pub runtime: Handle,
    pub watch: Arc<RuntimeWatch>,
    /// Renders the text of `/metrics`.
    pub metrics: PrometheusHandle,
}

impl AppState {
    pub fn memory(&self) -> &MemoryBudget {
        &self.jobs.config.memory
    }

    /// The seed of the request, or one drawn now.
    pub fn seed(&self, given: Option<SeedNumber>) -> u64 {
        given.map_or_else(|| self.jobs.ids.seed(), SeedNumber::get)
    }
}
