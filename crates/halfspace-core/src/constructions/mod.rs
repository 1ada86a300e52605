//! Data sets that the proofs of theorems construct, as samples to train on.
//!
//! There are an adversarial sequence for the kernel perceptron, monotone CNFs with a given number of satisfying
//! assignments, and the examples by which kernel Winnow counts satisfying assignments. Each is a function of its
//! parameters and, if it is random, a seed. This module does not know how data are stored or sent.

pub mod kernel_perceptron_adversary;
pub mod monotone_cnf;
pub mod winnow_counting;
