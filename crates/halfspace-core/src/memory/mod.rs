//! The memory of work: a budget for the process, a grant for each piece of work, and a counting allocator.
//!
//! A process has one [`MemoryBudget`]. Work takes a [`Grant`] before the work starts: an upper bound of its memory.
//! The work runs inside [`Grant::within`]. The allocator [`CountingAllocator`] counts the bytes that each thread holds.
//! Work compares these bytes with its grant: [`check`] where the work looks at its stop flag, [`need`] before a
//! large allocation. A grant that is too small grows, or the work ends with [`NoMemory`]. No work waits for
//! memory while it holds a grant. [`push`], [`collect`] and [`insert`] grow collections in this way.
//!
//! A grant may also bound the seconds of computing of the work: see [`Grant::within_time`]. The same calls find the
//! end of the time.

mod allocator;
mod budget;
mod growth;

pub use allocator::{CountingAllocator, foreign, live_bytes};
pub use budget::{
    ComputingTime, Grant, MemoryBudget, NoMemory, SMALL_BYTES_MAX, SharedGrant, SpareMemory, check,
    need,
};
pub use growth::{collect, insert, need_of, push};
