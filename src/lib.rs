//! halfspace: learning as a service.
//!
//! This crate serves the learners of [`halfspace_core`] as durable jobs over HTTP, and reads examples with
//! [`halfspace_formats`]. The modules are listed in the direction of the imports, so each knows only those above it:
//!
//! - [`memory`]: the counting allocator and the memory limit of the machine.
//! - [`records`]: the stored things and the rules that hold in every store.
//! - [`traces`]: the spans of requests, jobs and callbacks, and their export.
//! - [`storage`]: the databases and blob stores that keep records and data.
//! - [`callbacks`]: one signed request that tells a server how a job ended.
//! - [`jobs`]: the claims, leases, computation, progress and cancellation of jobs.
//! - [`http`]: all routes with their schemas and errors.
//! - [`config`] and [`app`]: the settings, and the composition of the service.
//! - [`commands`]: the command line.

#![cfg_attr(not(test), warn(clippy::unwrap_used))]

pub mod app;
pub mod callbacks;
pub mod commands;
pub mod config;
pub mod http;
pub mod jobs;
pub mod memory;
pub mod records;
pub mod storage;
pub mod traces;
