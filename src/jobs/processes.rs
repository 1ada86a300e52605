//! The report of this process to the other processes, and the list of all processes.

use crate::records::process::{Process, ProcessMemory};
use crate::storage::{ProcessReport, StoreError};

use super::service::Jobs;

impl Jobs {
    /// Tells all processes that this process is alive. The process reports before its start, and then regularly
    /// with the maintenance of the queue.
    ///
    /// # Errors
    /// Errors of the store.
    pub async fn report(&self) -> Result<(), StoreError> {
        let report = ProcessReport {
            worker: &self.worker,
            role: self.config.role,
            workers: u32::try_from(self.config.workers).unwrap_or(u32::MAX),
            memory: self.process_memory(),
            elapsed: self.ids.elapsed(),
        };
        self.store.report_process(&report).await
    }

    /// The live processes in the order of their starts. The row of this process has the present memory.
    ///
    /// # Errors
    /// Errors of the store.
    pub async fn processes(&self) -> Result<Vec<Process>, StoreError> {
        let mut processes = self.store.processes().await?;
        let own = processes
            .iter_mut()
            .find(|process| process.id == self.worker.as_str());
        if let Some(own) = own {
            own.memory = self.process_memory();
            own.is_prompt = true;
        }
        Ok(processes)
    }

    fn process_memory(&self) -> ProcessMemory {
        let memory = &self.config.memory;
        ProcessMemory {
            memory_bytes_max: memory.bytes_max(),
            memory_bytes_taken: memory.taken(),
            memory_bytes_free: memory.available(),
        }
    }
}
