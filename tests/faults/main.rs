//! The service under faults: what must hold while processes die or freeze, disks fill up, and networks fail.
//!
//! Each test makes one fault with seeded random choices and prints its counts. `scripts/test` runs the short form of
//! the tests; `scripts/faults` runs the long form and collects the counts.

mod alerts;
mod amplification;
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
mod imports;
mod kills;
mod memory;
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
