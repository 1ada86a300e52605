//! The program as an operator runs it: its start and its commands, several processes over one database, and ends by
//! signals.

mod backup;
mod callbacks;
mod command_line;
mod determinism;
mod faults;
mod keys;
mod larger_than_memory;
mod postgres;
mod resumption;
mod revocation;
#[path = "../service/mod.rs"]
#[allow(
    dead_code,
    unused_imports,
    reason = "each binary of tests uses its own part"
)]
mod service;
mod sources;
mod start;
mod traces;
