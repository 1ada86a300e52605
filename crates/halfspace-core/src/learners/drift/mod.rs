//! Directed Drift: learners of binary weights that flip coordinates after a mistake.
//!
//! The folder holds the algorithm D, the batch variants D' and D'' with their majority vote, and the Markov chain
//! behind the confidence rule `exact`. Source: Venkatesh, "Directed Drift: A New Linear Threshold Algorithm for
//! Learning Binary Weights On-Line".

pub mod directed_drift;
pub mod directed_drift_async;
pub mod directed_drift_sync;
pub mod drift_chain;
pub(crate) mod majority_vote;
