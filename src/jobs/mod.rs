//! The job service: accepts jobs, computes them and stores their results.
//!
//! A worker computes a job in a thread of low priority while it holds a permit and a lease:
//!
//! - A permit allows one running computation. A process has as many permits as workers.
//! - A lease gives one worker the right to a job until the lease ends. Every write of the worker is fenced by
//!   the lease, so a worker that has lost its lease changes nothing.
//!
//! The module also owns datasets, stored models, on-line sessions, callback deliveries, the sweep of old
//! records and the check of a store. The module uses the store and the learners, and must not know HTTP.

mod check;
mod data;
mod deliveries;
mod delivery_shares;
mod ids;
mod models;
mod processes;
mod queue;
mod service;
mod service_clock;
mod sessions;
mod sweep;
pub mod tasks;
#[cfg(test)]
mod tests;

pub use check::check_store;
pub use check::report::{CheckNews, CheckSummary, Damage};
pub use data::begun_dataset::BegunDataset;
pub use data::datasets::NewDataset;
pub use data::reservations::Reservation;
pub use data::stored::ReadError;
pub use ids::Ids;
pub use models::LoadedModel;
pub use models::import::{ImportError, check_import};
pub use queue::completion::is_shown_inline;
pub use queue::compute::raise_after;
pub use queue::shares::Shares;
pub use queue::submit::JobDraft;
pub use service::{Jobs, JobsConfig, JobsError};
pub use sessions::SessionError;
pub use sessions::writer::{Learnt, SessionWriter, WhenNotAll};
pub use tasks::{
    Allowance, CheckedTask, Inputs, JobSample, ResolveError, TestData, check_labels, draw, learner,
    outcome_so_far, resolve, unfit_learners, unfit_reason,
};
