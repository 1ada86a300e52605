//! The memory of a piece of work, such as a request or a job: a budget for the process, a grant for each piece of work,
//! and a counting allocator.
//!
//! A process has one [`MemoryBudget`]. Before work starts, it takes a [`Grant`], which is the memory that it may use,
//! and then it runs inside [`Grant::within`]. The allocator [`CountingAllocator`] counts the bytes that each thread
//! holds, and the work compares them with its grant: by [`check`] wherever it looks at its stop flag, and by [`need`]
//! before a large allocation. [`push`], [`collect`] and [`insert`] grow collections in this way. If the grant is too
//! small, it grows at the expense of the budget, and if the budget has nothing left, the work ends with [`NoMemory`].
//! Work never waits for memory while it holds a grant.
//!
//! A grant may also bound the computing time of the work (see [`Grant::within_time`]). The same calls notice when it
//! is over.

mod allocator;
mod budget;
mod growth;

pub use allocator::{CountingAllocator, foreign, live_bytes};
pub use budget::{
    ComputingTime, Grant, MemoryBudget, NoMemory, SMALL_BYTES_MAX, SharedGrant, SpareMemory, check,
    need, need_to_double,
};
pub use growth::{collect, insert, need_of, push};
