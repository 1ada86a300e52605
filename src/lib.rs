//! halfspace: learning as a service.
//!
//! The service runs Boolean half-space learners as durable jobs over HTTP. The modules are listed in the
//! direction of the data flow. Each module knows only the modules above it:
//!
//! - [`memory`]: the counting allocator, and the memory budget that work is charged to.
//! - [`bits`]: packed vectors and the kernels over them.
//! - [`learners`]: pure functions of data, parameters, a random generator and a run.
//! - [`certificates`]: separability, maximum margin and version spaces, decided with proofs.
//! - [`theory`]: proved bounds and probabilities as numbers.
//! - [`constructions`]: special data from the proofs of the papers.
//! - [`experiments`]: grids of seeded runs, measured beside the curves of theory, and their plots.
//! - [`formats`]: parsing of bytes into packed data, with errors by line and column.
//! - [`records`]: the stored things and the rules that hold in every store.
//! - [`storage`]: the databases and blob stores that keep records and data.
//! - [`callbacks`]: one signed request that tells a server how a job ended.
//! - [`jobs`]: the claims, leases, computation, progress and cancellation of jobs.
//! - [`http`]: all routes with their schemas and errors.
//! - [`config`] and [`app`]: the settings, and the composition of the service.

#![cfg_attr(not(test), warn(clippy::unwrap_used))]

pub mod app;
pub mod bits;
pub mod callbacks;
pub mod certificates;
pub mod config;
pub mod constructions;
pub mod experiments;
pub mod formats;
pub mod http;
pub mod jobs;
pub mod learners;
pub mod memory;
pub mod records;
pub mod storage;
pub mod theory;
