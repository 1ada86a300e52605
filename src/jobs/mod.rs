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

mod check;
mod check_report;
mod checkpoints;
mod completion;
mod compute;
mod datasets;
mod deliveries;
mod hexadecimal;
mod hub;
mod ids;
mod import;
mod lease_renewer;
mod live_session;
mod model_cache;
mod models;
mod parking;
mod parts;
mod reservations;
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
pub mod tasks;
#[cfg(test)]
mod tests;
mod worker;
mod yielding;

pub use check::check_store;
pub use check_report::{CheckNews, CheckSummary, Damage};
pub use completion::is_shown_inline;
pub use compute::raise_after;
pub use datasets::NewDataset;
pub(crate) use hexadecimal::hex;
pub use ids::Ids;
pub use import::{ImportError, check_import};
pub use models::LoadedModel;
pub use reservations::Reservation;
pub use service::{Jobs, JobsConfig, JobsError};
pub use session_writer::{Learnt, SessionWriter, WhenNotAll};
pub use sessions::SessionError;
pub use shares::Shares;
pub use stored_data::ReadError;
pub use submit::JobDraft;
pub use tasks::{
    Allowance, Inputs, JobSample, ResolveError, Work, check_labels, draw, learner, outcome_so_far,
    resolve,
};
