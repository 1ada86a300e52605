//! The job service: accepts jobs, computes them and stores their results.
//!
//! A worker computes a job in a thread of low priority while it holds a permit and a lease:
//!
//! - A permit allows one running computation. A process has as many permits as workers.
//! - A lease gives one worker the right to a job until it expires. Every write of the worker is fenced by its lease,
//!   so once the lease is lost, its writes change nothing.
//!
//! The parts are `queue::Queue`, `worker::Worker`, `sessions::Sessions`, `datasets::Datasets` and `models::Models`,
//! each with its own state; [`Jobs`] holds them. The rest of the module is the tasks, the delivery of callbacks, the
//! sweep of old records and the check of a store. It uses the store and the learners, and must not know HTTP.

mod check;
mod completion;
mod config;
mod datasets;
mod deliveries;
mod delivery_shares;
mod error;
mod hub;
mod ids;
mod imports;
mod json_text;
mod models;
mod processes;
mod queue;
mod service;
mod service_clock;
mod sessions;
mod shares;
mod sweep;
pub mod tasks;
#[cfg(test)]
mod tests;
mod worker;

pub use check::check_store;
pub use check::report::{CheckNews, CheckSummary, Damage};
pub use config::{EncodingConfig, ImportConfig, JobsConfig};
pub use datasets::begun_dataset::BegunDataset;
pub use datasets::encoding_source::{EncodingFault, EncodingSource};
pub use datasets::raw_cells::TableCells;
pub use datasets::reservations::Reservation;
pub use datasets::store::{NewDataset, assume_refusal};
pub use datasets::stored::ReadError;
pub use datasets::stored_ratio::StoredRatio;
pub use error::JobsError;
pub use ids::Ids;
pub use imports::{ImportRefusal, Imports};
pub(crate) use json_text::INLINE_HYPOTHESIS_BYTES_MAX;
pub use json_text::is_shown_inline;
pub use models::import::{ImportError, check_import};
pub use models::loaded::LoadedModel;
pub use queue::NewJob;
pub use queue::upkeep::release_terms;
pub use service::Jobs;
pub use sessions::error::SessionError;
pub use sessions::hypotheses::hypothesis_to_write;
pub use sessions::predicting::{FittedExamples, PredictingModel, PresentSession, SessionOverNames};
pub use sessions::writer::{Learnt, SessionWriter, WhenNotAll};
pub use shares::Shares;
pub use tasks::checked::CheckedTask;
pub use tasks::{
    Allowance, Inputs, JobSample, ResolveError, TestData, check_labels, draw, learner,
    outcome_so_far, resolve, unfit_learners, unfit_reason,
};
pub use worker::compute::raise_after;
