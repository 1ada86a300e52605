//! Directed Drift: learners of binary weights that flip weights after a mistake.
//!
//! The folder holds the algorithm D, its batch variants D' and D'' with the vote that they share, and the Markov chain
//! behind the confidence rule `exact`. Sources: S. S. Venkatesh, "Directed Drift: a new linear threshold algorithm for
//! learning binary weights on-line"; S. C. Fang and S. S. Venkatesh, "Learning finite binary sequences from half-space
//! data".

pub mod directed_drift;
pub mod directed_drift_async;
pub mod directed_drift_sync;
pub mod drift_chain;
pub(crate) mod majority_vote;
