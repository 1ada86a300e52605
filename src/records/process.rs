//! A process of the service as all processes see it, and the revision of this program.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::time::Timestamp;

/// The git revision of the sources, if it was known at the build: that of `SOURCE_REVISION`, or for a release build
/// in a git checkout that of the checkout.
pub const REVISION: Option<&str> = match option_env!("SOURCE_REVISION") {
    Some(given) if !given.is_empty() => Some(given),
    _ => option_env!("CHECKOUT_REVISION"),
};

/// The role of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Answer requests and compute jobs.
    All,
    /// Answer requests. Other processes compute the jobs.
    Api,
    /// Compute jobs. Answer only the operations routes.
    Worker,
}

/// A live process of the service.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Worker)]
pub struct Process {
    /// Name of the process, drawn at random at each start.
    pub id: String,
    pub role: Role,
    /// Number of jobs that the process computes at once; 0 in the role `api`.
    pub workers: u32,
    /// Jobs that the process computes now. A job that is computed before it is stored does not count.
    pub running: u32,
    /// Jobs of the process that have yielded to other jobs.
    pub parked: u32,
    /// Whether a job computes alone, because processes died while they computed the job. The other jobs of the
    /// process are parked.
    pub alone: bool,
    pub version: String,
    /// Git revision of the sources; null if the build did not know the revision.
    pub revision: Option<String>,
    /// Newest schema of stored jobs that the process reads. The process does not claim jobs of a newer schema.
    pub spec_schema: u32,
    #[serde(flatten)]
    pub memory: ProcessMemory,
    /// Start of the process by the clock of the database.
    pub started_at: Timestamp,
    /// Time of the last report by the clock of the database. A process reports every 5 seconds or so. A process
    /// without a report for 60 seconds is not listed.
    pub seen_at: Timestamp,
    /// Whether no report is overdue. A process with overdue reports may be dead, so no job waits for this process.
    #[serde(skip)]
    pub is_prompt: bool,
}

impl Process {
    /// Whether the process can claim a job now, if the job fits.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.running < self.workers && !self.alone
    }
}

/// The memory of a process for requests and jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct ProcessMemory {
    /// Bytes of memory for one request or job while no other request or job uses memory.
    pub memory_bytes_max: u64,
    /// Bytes of memory that requests and jobs have reserved.
    pub memory_bytes_taken: u64,
    /// Bytes of memory that one more job can have now.
    pub memory_bytes_free: u64,
}
