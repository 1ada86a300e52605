//! What the service keeps: the store over both databases, blobs, damage and the clock.

mod blobs;
mod clock;
mod damage;
#[path = "../service/mod.rs"]
#[allow(
    dead_code,
    unused_imports,
    reason = "each binary of tests uses its own part"
)]
mod service;
mod store_contract;
