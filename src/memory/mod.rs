//! The memory of the process: counted allocations, the memory limit, and the budget that work shares.
//!
//! The process has one [`Budget`]. Before a piece of work starts, it takes a [`Grant`] from the budget. The
//! grant is an upper bound of the memory of this work, which runs inside [`Grant::within`]. The [allocator]
//! counts the bytes that each thread holds. Work compares these bytes with its grant: [`check`] does so
//! wherever the work reads data or polls a flag, and [`need`] before a large allocation. A grant that is too
//! small grows, or the work ends with [`NoMemory`]. Work never waits while it holds a grant.
//!
//! This module does not know the kinds of work.

pub mod allocator;
mod budget;
mod limit;

pub use allocator::foreign;
pub use budget::{Budget, Grant, NoMemory, SMALL_BYTES_MAX, check, need};
pub use limit::{Machine, default_bytes};

/// Memory outside of any grant: connections, caches, the store and the program itself.
pub const BASE_BYTES: u64 = 64 << 20;

/// Smallest memory limit of a process. Half of the limit is for work. That half holds one block of the widest
/// examples in packed and in real form, and the buffers of a request.
pub const LIMIT_BYTES_MIN: u64 = 2 * BASE_BYTES;
