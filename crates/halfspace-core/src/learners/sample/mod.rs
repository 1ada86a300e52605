//! Samples: examples in memory or at rest, their blocks, and examples drawn from a hidden target.

pub mod batch;
pub mod block;
pub mod classes;
pub mod data;
pub mod examples;
pub mod generate;
pub mod packer;
pub mod parts;
pub mod repetitions;
pub mod source;
pub mod target;
