//! The report of this process to the others, and the list of all processes.

use std::sync::Arc;

use halfspace_core::memory::MemoryBudget;

use crate::records::Role;
use crate::records::process::{Process, ProcessMemory};
use crate::storage::{ProcessReport, Store, StoreError, WorkerId};

use super::config::JobsConfig;
use super::ids::Ids;

/// The processes over a store, as this one sees and reports them.
pub struct Processes {
    store: Arc<Store>,
    ids: Arc<Ids>,
    /// The name of this process in leases, drawn at each start.
    pub(super) id: WorkerId,
    role: Role,
    workers: usize,
    memory: MemoryBudget,
}

impl Processes {
    pub(super) fn new(store: &Arc<Store>, ids: &Arc<Ids>, config: &JobsConfig) -> Self {
        Self {
            id: WorkerId::new(ids.name("worker")),
            role: config.role,
            workers: config.workers,
            memory: config.memory.clone(),
            store: Arc::clone(store),
            ids: Arc::clone(ids),
        }
    }

    /// Reports to all processes that this one is alive. It does so once before it starts, and then regularly with the
    /// upkeep of the queue.
    ///
    /// # Errors
    /// Errors of the store.
    pub async fn report(&self) -> Result<(), StoreError> {
        let report = ProcessReport {
            worker: &self.id,
            role: self.role,
            workers: u32::try_from(self.workers).unwrap_or(u32::MAX),
            memory: self.own_memory(),
            elapsed: self.ids.elapsed(),
        };
        self.store.report_process(&report).await
    }

    /// The live processes in the order of their starts. Only for this process is the memory up to date.
    ///
    /// # Errors
    /// Errors of the store.
    pub async fn list(&self) -> Result<Vec<Process>, StoreError> {
        let mut processes = self.store.processes().await?;
        let own = processes
            .iter_mut()
            .find(|process| process.id == self.id.as_str());
        if let Some(own) = own {
            own.memory = self.own_memory();
            own.is_prompt = true;
        }
        Ok(processes)
    }

    /// Removes this process from the list.
    pub(super) async fn forget(&self) -> Result<(), StoreError> {
        self.store.forget_process(&self.id).await
    }

    fn own_memory(&self) -> ProcessMemory {
        ProcessMemory {
            memory_bytes_max: self.memory.bytes_max(),
            memory_bytes_taken: self.memory.taken(),
            memory_bytes_free: self.memory.available(),
        }
    }
}
