//! The settings of the jobs of a process, with the defaults that `config.rs` shows to operators.

use std::sync::Arc;
use std::time::Duration;

use halfspace_core::learners::engine::shared_work::WORDS_MIN;
use halfspace_core::memory::MemoryBudget;
use halfspace_formats::ParseLimits;

use crate::records::Role;
use crate::records::schedule::{ANSWER_SECONDS_DEFAULT, SECONDS_DEFAULT, SLICE_SECONDS_MIN};
use crate::storage::{ScratchDir, Sources};

#[derive(Clone, Debug)]
pub struct JobsConfig {
    pub role: Role,
    /// Jobs computed at once. 0 if other processes compute.
    pub workers: usize,
    /// Seconds without a heartbeat after which another worker may take the job.
    pub lease_seconds: u32,
    /// A job fails as `poisoned` after so many deaths of processes in which it ran alone, and as `data-missing` after
    /// so many attempts to read its data.
    pub attempts_max: u32,
    /// Time limit, in seconds of computing, for a job that names none.
    pub seconds_default: f64,
    /// Time limit, in seconds, for the examples of one request to a session.
    pub answer_seconds_max: f64,
    /// Largest stored data, in bytes, that a job holds in memory as a whole. Larger ones are read in parts.
    pub resident_bytes_max: u64,
    /// How long ended jobs are kept.
    pub retention_days: u32,
    /// Time between two checkpoints of a job while checkpoints are cheap.
    pub checkpoint_every: Duration,
    /// If a job that is computed for a waiting client takes longer than this, it is stored while it runs.
    pub adopt_after: Duration,
    /// Time between two stored progress events of a job.
    pub progress_interval: Duration,
    /// Pause in the queue of a job whose data could not be read.
    pub unread_pause: Duration,
    /// The shortest time that a job computes before it yields to another job.
    pub slice: Duration,
    pub memory: MemoryBudget,
    /// How long other jobs may precede a job that needs more memory than is free.
    pub passed_over_max: Duration,
    /// Words of work from which free workers help a running job.
    pub helped_words_min: u64,
    /// How objects of buckets become datasets. `None` if the operator allows none.
    pub imports: Option<ImportConfig>,
    pub encoding: EncodingConfig,
}

/// How the tables of jobs are encoded.
#[derive(Clone, Debug)]
pub struct EncodingConfig {
    pub limits: ParseLimits,
    /// Bytes of memory for the examples; further ones go to disk.
    pub memory_bytes_max: u64,
    /// `None` keeps all examples in memory.
    pub scratch: Option<ScratchDir>,
}

impl Default for EncodingConfig {
    fn default() -> Self {
        Self {
            limits: ParseLimits::DEFAULT,
            memory_bytes_max: 16 << 20,
            scratch: None,
        }
    }
}

/// How objects of buckets become datasets.
#[derive(Clone, Debug)]
pub struct ImportConfig {
    pub sources: Arc<Sources>,
    /// The limits for readers of JSON.
    pub json_limits: ParseLimits,
    /// The limits for readers of every other format.
    pub limits: ParseLimits,
    /// Bytes of memory for the examples; further ones go to disk.
    pub memory_bytes_max: u64,
    /// Stored bytes per byte of the object.
    pub stored_ratio_max: u64,
    pub scratch: ScratchDir,
}

impl Default for JobsConfig {
    fn default() -> Self {
        Self {
            role: Role::All,
            workers: 1,
            lease_seconds: 15,
            attempts_max: 5,
            seconds_default: SECONDS_DEFAULT,
            answer_seconds_max: ANSWER_SECONDS_DEFAULT,
            resident_bytes_max: 64 << 20,
            retention_days: 30,
            checkpoint_every: Duration::from_secs(30),
            adopt_after: Duration::from_millis(200),
            progress_interval: Duration::from_millis(500),
            unread_pause: Duration::from_secs(30),
            slice: Duration::from_secs_f64(SLICE_SECONDS_MIN),
            memory: MemoryBudget::unlimited(),
            passed_over_max: Duration::from_secs(5),
            helped_words_min: WORDS_MIN,
            imports: None,
            encoding: EncodingConfig::default(),
        }
    }
}
