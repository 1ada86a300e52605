//! The service under faults: what must hold while machines die, freeze, fill up and lose the network.
//!
//! Each test is one fault, seeded, and prints what it counted. `scripts/test` runs their short form,
//! `scripts/faults` the long one, and collects the counts.

mod cancels;
mod clock_jumps;
mod connection;
mod cut_off;
mod database_restarts;
mod event_streams;
mod fan_out;
mod files;
mod fleet;
mod freezes;
mod full_disk;
mod full_queue;
mod histories;
mod idempotency_race;
mod kills;
mod memory;
mod older;
mod orders;
mod scale;
mod scheduler;
mod server;
#[path = "../service/mod.rs"]
#[allow(
    dead_code,
    unused_imports,
    reason = "each binary of tests uses its own part"
)]
mod service;
mod tenants;
mod versions;
