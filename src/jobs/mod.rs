//! The job service: accepts jobs, computes them and stores their results.
//!
//! A worker computes a job in the blocking pool while it holds a permit and a lease:
//!
//! - A permit allows one running computation. A process has as many permits as workers.
//! - A lease gives one worker the right to a job until the lease ends. Every write of the worker is fenced by
//!   the lease, so a worker that has lost its lease changes nothing.
//!
//! The module also owns datasets, stored models, on-line sessions, callback deliveries, the sweep of old
//! records and the check of a store. The module uses the store and the learners, and must not know HTTP.

mod certificate_job;
mod check;
mod check_report;
mod checkpoints;
mod completion;
mod compute;
mod datasets;
mod deliveries;
mod drawing;
mod evaluate_job;
mod experiment_job;
mod grid_job;
mod hub;
mod ids;
mod import;
mod lease_renewer;
mod live_session;
mod memory_bound;
mod model_cache;
mod models;
mod parking;
mod parts;
mod reservations;
mod resolve_error;
mod scheduler;
mod service;
mod service_clock;
mod session_journal;
mod session_writer;
mod sessions;
mod shares;
mod stored_data;
mod submit;
mod sweep;
#[cfg(test)]
mod tests;
mod train_job;
mod whole_sample;
mod work;
mod worker;
mod yielding;

pub use check::check_store;
pub use check_report::{CheckNews, CheckSummary, Damage};
pub use completion::is_shown_inline;
pub use compute::raise_after;
pub use datasets::NewDataset;
pub use drawing::draw;
pub use evaluate_job::check_labels;
pub use experiment_job::outcome_so_far;
pub use ids::Ids;
pub use import::{ImportError, check_import};
pub use models::LoadedModel;
pub use reservations::Reservation;
pub use service::{Jobs, JobsConfig, JobsError};
pub use session_writer::{Learnt, SessionWriter, WhenNotAll};
pub use sessions::SessionError;
pub use shares::Shares;
pub use stored_data::ReadError;
pub use submit::NewJob;
pub use train_job::learner;
pub use work::{Allowance, JobSample, ResolveError, TaskOutput, Work, resolve};
