//! Data that the theorems build: worst cases and reductions, made so that they can be trained on.
//!
//! A construction is a function of its parameters and a seed, and answers data like any other.
//! Nothing here knows how data are stored or sent.

pub mod kernel_perceptron_adversary;
pub mod monotone_cnf;
pub mod winnow_counting;
