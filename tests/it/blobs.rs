//! The blob store: one contract suite over a folder and an object store, errors of the start, and an object
//! store that becomes unreachable and returns.

mod contract;
mod start;
mod store_away;
