//! The one integration binary: linking once is quicker than once for each file.

mod api;
mod backup;
mod callbacks;
mod certificates;
mod determinism;
mod faults;
mod keys;
mod larger_than_memory;
mod learner_suite;
mod openapi;
mod postgres;
mod readme;
#[path = "../service/mod.rs"]
mod service;
mod store_contract;
mod stored_examples;
mod tidy;
