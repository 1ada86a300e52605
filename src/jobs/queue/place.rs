//! The place of a queued job: how many jobs come before it, and why it waits.

use halfspace_core::memory::SMALL_BYTES_MAX;

use crate::records::Job;
use crate::records::process::Process;
use crate::records::queue::{QueuePlace, WaitingJob, WaitsFor};
use crate::storage::StoreError;

use super::Queue;
use crate::jobs::processes::Processes;

/// Jobs ahead of a queued job are counted up to this number.
const AHEAD_MAX: u32 = 1_000;

impl Queue {
    /// The place of a queued job. If a worker has taken it meanwhile, it is about to start.
    ///
    /// # Errors
    /// Errors of the store.
    pub async fn place(&self, job: &Job, processes: &Processes) -> Result<QueuePlace, StoreError> {
        let Some(waiting) = self.store.waiting(job.id).await? else {
            return Ok(QueuePlace {
                ahead: 0,
                waits_for: WaitsFor::AboutToStart,
                not_before: None,
            });
        };
        Ok(QueuePlace {
            ahead: self.store.jobs_ahead(job, AHEAD_MAX).await?,
            waits_for: self.reason(job, &waiting, processes).await?,
            not_before: waiting.not_before,
        })
    }

    async fn reason(
        &self,
        job: &Job,
        waiting: &WaitingJob,
        processes: &Processes,
    ) -> Result<WaitsFor, StoreError> {
        if self.store.is_too_full_for_claims().await? {
            return Ok(WaitsFor::StorageFull);
        }
        let processes = processes.list().await?;
        let free = waiting.memory_bytes_free(&processes);
        let first = self.store.first_claimable(&job.owner, free).await?;
        let reason = waiting.reason(&processes, first);
        if reason == WaitsFor::AboutToStart
            && waiting.memory_bytes > SMALL_BYTES_MAX
            && self.is_held_up(waiting, &processes).await?
        {
            return Ok(WaitsFor::Memory);
        }
        Ok(reason)
    }

    /// Whether every idle process keeps its memory for a larger job. See `claimable_bytes` of the scheduler.
    async fn is_held_up(
        &self,
        waiting: &WaitingJob,
        processes: &[Process],
    ) -> Result<bool, StoreError> {
        for process in waiting.idle(processes) {
            let (free, max) = (
                process.memory.memory_bytes_free,
                process.memory.memory_bytes_max,
            );
            if free >= max || !self.store.passes_over(free, max).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
