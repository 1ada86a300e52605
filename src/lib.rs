//! halfspace: learning as a service.
//!
//! A tour, in the direction in which data flow; each module knows only those above it:
//!
//! - [`memory`]: the allocator that counts, and the budget that work takes its memory from.
//! - [`bits`]: packed vectors and the kernels over them.
//! - [`learners`]: pure functions of data, parameters, a random generator and a run.
//! - [`certificates`]: separability, the maximum margin and version spaces, decided and proved.
//! - [`theory`]: what is proved, as numbers.
//! - [`constructions`]: data built for a purpose, from the papers' proofs.
//! - [`experiments`]: grids of seeded runs, measured beside what theory says, and their plots.
//! - [`formats`]: bytes in, packed data out, errors with line and column.
//! - [`records`]: what is stored, and the rules that hold wherever it is kept.
//! - [`storage`]: where records and blobs are kept.
//! - [`callbacks`]: one signed request that tells a server how its job ended.
//! - [`jobs`]: claim, compute in the blocking pool, lease, progress, cancel.
//! - [`http`]: every route, its schema and its errors.
//! - [`config`] and [`app`]: settings, and the whole put together.

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
