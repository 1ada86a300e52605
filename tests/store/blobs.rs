//! The blob store: one contract suite over a folder and an object store, errors at the start, and an object store
//! that cannot be reached for a while.

mod contract;
mod start;
mod store_away;
