//! The memory of the process: what is allocated, how much there may be, and who has taken how much.
//!
//! The process has one [`Budget`]. Work takes a [`Grant`] from it before the work starts, an upper bound
//! of its memory, and runs inside [`Grant::within`]. The [allocator] counts the bytes that each thread
//! holds. Work compares them with its grant: by [`check`] where it reads or looks at a flag, by [`need`]
//! before it allocates much. A grant that is too small grows, or the work ends with [`NoMemory`]. No work
//! waits while it holds a grant.

pub mod allocator;
mod budget;
mod limit;

pub use allocator::foreign;
pub use budget::{Budget, Grant, NoMemory, SMALL_BYTES_MAX, check, need};
pub use limit::{Machine, default_bytes};

/// Memory that is taken by no work: connections, caches, the store, the program itself.
pub const BASE_BYTES: u64 = 64 << 20;

/// The least memory of a process. Half of it is for work: the bits of one block of the widest examples,
/// their packed and their real form, and the buffers of a request.
pub const LIMIT_BYTES_MIN: u64 = 2 * BASE_BYTES;
