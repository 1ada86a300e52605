//! [`Jobs`]: the parts of the job service of one process, and how they are built, started and stopped.
//!
//! Each part takes only what it uses. This file alone knows all of them.

use std::sync::Arc;
use std::time::Duration;

use halfspace_core::learners::engine::run::Interrupt;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::callbacks::CallbackClient;
use crate::storage::{Blobs, Store};

use super::config::JobsConfig;
use super::datasets::Datasets;
use super::deliveries::CallbackDelivery;
use super::hub::Hub;
use super::ids::Ids;
use super::imports::Imports;
use super::models::Models;
use super::processes::Processes;
use super::queue::Queue;
use super::queue::upkeep::Upkeep;
use super::sessions::Sessions;
use super::sweep::Sweep;
use super::worker::Worker;
use super::worker::scheduler::Scheduler;

/// The job service of this process.
pub struct Jobs {
    /// The store of records.
    pub store: Arc<Store>,
    /// The source of ids, seeds and times.
    pub ids: Arc<Ids>,
    pub config: JobsConfig,
    /// The client that checks callback URLs, if this service sends callbacks.
    pub callbacks: Option<Arc<CallbackClient>>,
    /// Cancelled when the process begins to stop.
    pub stopping: CancellationToken,
    pub processes: Arc<Processes>,
    pub queue: Arc<Queue>,
    pub worker: Arc<Worker>,
    pub sessions: Arc<Sessions>,
    pub datasets: Arc<Datasets>,
    pub models: Arc<Models>,
    pub imports: Arc<Imports>,
    pub sweep: Arc<Sweep>,
    pub(super) hub: Arc<Hub>,
    tasks: TaskTracker,
}

impl Jobs {
    /// Builds the job service under a random worker name. Without a callback client, this process delivers no
    /// callbacks.
    pub fn new(
        store: Arc<Store>,
        blobs: Blobs,
        ids: Arc<Ids>,
        config: JobsConfig,
        callbacks: Option<CallbackClient>,
    ) -> Arc<Self> {
        let (hub, stopping) = (Arc::<Hub>::default(), CancellationToken::new());
        let tasks = TaskTracker::new();
        let processes = Arc::new(Processes::new(&store, &ids, &config));
        let datasets = Arc::new(Datasets::new(&store, &blobs, &ids, &config));
        let models = Arc::new(Models::new(&store, &ids));
        let queue = Arc::new(Queue::new(&store, &ids, &hub, &datasets, &stopping));
        let (name, settings) = (processes.id.clone(), config.clone());
        let imports = Imports::new(config.imports.clone(), &datasets, &models);
        let imports = Arc::new(imports);
        let worker = Worker::new(
            &queue,
            &datasets,
            &models,
            &imports,
            name,
            settings,
            tasks.clone(),
        );
        Arc::new(Self {
            worker: Arc::new(worker),
            sessions: Arc::new(Sessions::new(&store, &ids, &config, &stopping)),
            sweep: Arc::new(Sweep::new(&store, blobs, &ids, &config)),
            callbacks: callbacks.map(Arc::new),
            store,
            ids,
            config,
            stopping,
            processes,
            queue,
            datasets,
            models,
            imports,
            hub,
            tasks,
        })
    }

    /// Starts to claim jobs, deliver callbacks and sweep. Until then, jobs are only accepted.
    pub fn start(&self) {
        // An alert compares the number with 0, so the number exists before the first computation.
        metrics::gauge!("halfspace_computations_running").increment(0.0);
        let (queue, processes) = (Arc::clone(&self.queue), Arc::clone(&self.processes));
        let attempts_max = self.config.attempts_max;
        self.tasks
            .spawn(Scheduler::new(Arc::clone(&self.worker)).run());
        self.tasks
            .spawn(Upkeep::new(queue, processes, attempts_max).run());
        self.tasks
            .spawn(Arc::clone(&self.sweep).run(self.stopping.clone()));
        self.tasks
            .spawn(Arc::clone(&self.sessions).forget_regularly());
        // A process without workers delivers no callbacks.
        if let Some(client) = &self.callbacks
            && self.config.workers > 0
        {
            let delivery = CallbackDelivery {
                client: Arc::clone(client),
                store: Arc::clone(&self.store),
                ids: Arc::clone(&self.ids),
                hub: Arc::clone(&self.hub),
                worker: self.processes.id.clone(),
                stopping: self.stopping.clone(),
            };
            let run = Arc::new(delivery).run(self.config.lease_seconds, self.tasks.clone());
            self.tasks.spawn(run);
        }
    }

    /// Stops claiming, and suspends the running jobs without counting the attempt against them. Waits at most
    /// `timeout` for the last writes, and returns whether all were made.
    pub async fn stop(&self, timeout: Duration) -> bool {
        self.stopping.cancel();
        self.hub.stop_all(Interrupt::Suspended);
        self.tasks.close();
        tokio::time::timeout(timeout, self.tasks.wait())
            .await
            .is_ok()
    }
}
