//! Samples: examples in memory, examples read from a store, examples drawn from a hidden target, and the blocks of 64
//! in which all of them are read.

pub mod batch;
pub mod block;
pub mod classes;
pub mod data;
pub mod examples;
pub mod generate;
pub mod known_features;
pub mod packer;
pub mod parts;
pub mod repetitions;
pub mod selected;
pub mod source;
pub mod target;
pub mod weights;
