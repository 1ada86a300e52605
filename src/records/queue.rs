//! The queue as clients see it: the load of each owner, and the reason why a job waits.

use serde::Serialize;
use utoipa::ToSchema;

use super::id::JobId;
use super::owner::Owner;
use super::process::Process;
use super::time::Timestamp;

/// The place of a job in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
pub struct QueuePlace {
    /// Queued jobs of the same key that run before this job, counted up to 1,000.
    #[schema(maximum = 1_000)]
    pub ahead: u32,
    /// Reason why the job does not run yet: `about-to-start`, `back-off`, `memory`, `newer-worker`, `no-worker`,
    /// `other-jobs`, `storage-full` or `worker`.
    pub waits_for: WaitsFor,
    /// Time before which no worker takes the job, by the clock of the database. Null unless the job pauses.
    pub not_before: Option<Timestamp>,
}

/// The reason why a queued job does not run yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WaitsFor {
    /// A worker is free and takes the job within a second.
    AboutToStart,
    /// The job pauses after a failed attempt.
    BackOff,
    /// No live process has the memory of the job free, or a larger job waits for the same memory.
    Memory,
    /// No live process knows the schema of the job.
    NewerWorker,
    /// No process that computes jobs is alive.
    NoWorker,
    /// Other jobs of the same key go first.
    OtherJobs,
    /// The disk of the store is full, so no job starts.
    StorageFull,
    /// All workers are busy.
    Worker,
}

/// A job that waits for a worker. A job with waiting parts is represented by the first of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WaitingJob {
    pub id: JobId,
    /// The upper bound of the memory, in bytes.
    pub memory_bytes: u64,
    /// The schema of the stored request.
    pub spec_schema: u32,
    /// Until when the job pauses, if it does.
    pub not_before: Option<Timestamp>,
}

impl WaitingJob {
    /// Why the job waits, as far as the processes tell. `first` is the job of the same owner that goes first among
    /// those that fit into [`Self::memory_bytes_free`].
    #[must_use]
    pub fn reason(&self, processes: &[Process], first: Option<JobId>) -> WaitsFor {
        if computing(processes).next().is_none() {
            WaitsFor::NoWorker
        } else if self.readers(processes).next().is_none() {
            WaitsFor::NewerWorker
        } else if self.not_before.is_some() {
            WaitsFor::BackOff
        } else if self.memory_bytes_free(processes) < self.memory_bytes {
            WaitsFor::Memory
        } else if first.is_some_and(|first| first != self.id) {
            WaitsFor::OtherJobs
        } else if self.idle(processes).next().is_some() {
            WaitsFor::AboutToStart
        } else {
            WaitsFor::Worker
        }
    }

    /// The processes that can claim the job now.
    pub fn idle<'p>(&self, processes: &'p [Process]) -> impl Iterator<Item = &'p Process> {
        let memory_bytes = self.memory_bytes;
        let fits = move |process: &&Process| process.memory.memory_bytes_free >= memory_bytes;
        self.readers(processes)
            .filter(|process| process.is_idle())
            .filter(fits)
    }

    /// The largest free memory, in bytes, of any process that can read the job.
    #[must_use]
    pub fn memory_bytes_free(&self, processes: &[Process]) -> u64 {
        let free = self
            .readers(processes)
            .map(|process| process.memory.memory_bytes_free);
        free.max().unwrap_or(0)
    }

    /// The processes that compute jobs of this schema.
    fn readers<'p>(&self, processes: &'p [Process]) -> impl Iterator<Item = &'p Process> {
        let spec_schema = self.spec_schema;
        computing(processes).filter(move |process| process.spec_schema >= spec_schema)
    }
}

/// The processes that compute jobs.
fn computing(processes: &[Process]) -> impl Iterator<Item = &Process> {
    processes
        .iter()
        .filter(|process| process.workers > 0 && process.is_prompt)
}

/// The load of the queue at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueLoad {
    /// Jobs of all owners.
    pub all: JobCounts,
    /// The oldest queued job.
    pub oldest: Option<JobId>,
    /// The owners with the most jobs, in descending order.
    pub owners: Vec<OwnerLoad>,
}

/// The jobs of an owner in the queue, and the share of the owner.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnerLoad {
    pub owner: Owner,
    pub jobs: JobCounts,
    pub weight: f64,
    /// Computed seconds divided by the weight.
    pub virtual_seconds: f64,
}

/// The jobs of the queue by their state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct JobCounts {
    /// Jobs that wait for a worker. The parts of a job count instead of the job.
    pub queued: u64,
    /// Jobs that a worker computes now.
    pub running: u64,
    /// Jobs that have begun and yield to other jobs in their process.
    pub parked: u64,
}

impl JobCounts {
    /// The number of all jobs.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.queued + self.running + self.parked
    }
}

#[cfg(test)]
mod tests {
    use super::super::process::{ProcessMemory, Role};
    use super::*;

    fn id(number: u8) -> JobId {
        JobId::new(Timestamp::from_milliseconds(1), [number; 10])
    }

    fn process() -> Process {
        Process {
            id: "a".to_owned(),
            role: Role::Worker,
            workers: 2,
            running: 1,
            parked: 0,
            alone: false,
            version: String::new(),
            revision: None,
            spec_schema: 2,
            memory: ProcessMemory {
                memory_bytes_max: 200,
                memory_bytes_taken: 100,
                memory_bytes_free: 100,
            },
            started_at: id(1).made_at(),
            seen_at: id(1).made_at(),
            is_prompt: true,
        }
    }

    #[test]
    fn queue_wait_reasons_have_their_conditions() {
        use WaitsFor::*;
        let job = WaitingJob {
            id: id(1),
            memory_bytes: 100,
            spec_schema: 2,
            not_before: None,
        };
        let first = Some(job.id);
        let idle = process();
        let api = Process {
            workers: 0,
            ..process()
        };
        let silent = Process {
            is_prompt: false,
            ..process()
        };
        let busy = Process {
            running: 2,
            ..process()
        };
        let alone = Process {
            alone: true,
            ..process()
        };
        let older = Process {
            spec_schema: 1,
            ..process()
        };
        let mut full = process();
        full.memory.memory_bytes_free = 99;
        assert_eq!(job.reason(&[], first), NoWorker);
        for (processes, reason) in [
            (vec![&api], NoWorker),
            (vec![&api, &silent], NoWorker),
            (vec![&silent, &busy], Worker),
            (vec![&api, &older], NewerWorker),
            (vec![&api, &full], Memory),
            (vec![&full, &older], Memory),
            (vec![&busy, &alone], Worker),
            // The idle process lacks the memory, and the process with the memory is busy.
            (vec![&full, &busy], Worker),
            (vec![&older, &busy], Worker),
            (vec![&busy, &idle], AboutToStart),
        ] {
            let processes: Vec<_> = processes.into_iter().cloned().collect();
            assert_eq!(job.reason(&processes, first), reason, "{processes:?}");
        }
        let paused = WaitingJob {
            not_before: Some(id(1).made_at()),
            ..job
        };
        assert_eq!(paused.reason(std::slice::from_ref(&idle), None), BackOff);
        assert_eq!(paused.reason(std::slice::from_ref(&full), None), BackOff);
        assert_eq!(paused.reason(&[api], None), NoWorker);
        assert_eq!(paused.reason(&[older], None), NewerWorker);
        for process in [idle, busy] {
            assert_eq!(job.reason(&[process], Some(id(2))), OtherJobs);
        }
        assert_eq!(job.reason(&[full], Some(id(2))), Memory);
    }
}
