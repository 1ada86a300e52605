//! Directed Drift: learners of binary weights that flip one coordinate after a mistake.
//!
//! The folder holds the algorithm D, the batch variants D' and D'' with their majority vote, and the Markov
//! chain that gives the expected number of examples. Source: Venkatesh, "Directed Drift: A New Linear
//! Threshold Algorithm for Learning Binary Weights On-Line".

pub mod directed_drift;
pub mod directed_drift_async;
pub mod directed_drift_sync;
pub mod drift_chain;
pub(crate) mod majority_vote;
