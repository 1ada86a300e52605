//! What is promised of blobs, wherever they are: one suite over a folder and over an object store; a
//! start that fails says why; an object store that goes away and comes back.

mod contract;
mod start;
mod store_away;
