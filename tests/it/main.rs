//! The only integration test binary: linking one binary is faster than linking one per file.

mod api;
mod backup;
mod blobs;
mod callbacks;
mod checkpoints;
mod clock;
mod command_line;
mod damage;
mod deploy;
mod determinism;
mod documents;
mod examples;
mod faults;
mod keys;
mod larger_than_memory;
mod learner_suite;
mod openapi;
mod postgres;
mod receipts;
mod resumption;
mod revocation;
mod separability;
#[path = "../service/mod.rs"]
#[allow(
    dead_code,
    unused_imports,
    reason = "each binary of tests uses its own part"
)]
mod service;
mod start;
mod store_contract;
mod stored_examples;
mod tidy;
mod traces;
