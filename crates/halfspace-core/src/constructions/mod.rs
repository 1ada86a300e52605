//! Data sets that the proofs of theorems construct, for training.
//!
//! The constructions are an adversarial sequence for the kernel perceptron, monotone CNFs with a given number
//! of satisfying assignments, and the reduction from counting to kernel Winnow. A construction is a function
//! of its parameters and, if random, a seed. This module does not know how data are stored or sent.

pub mod kernel_perceptron_adversary;
pub mod monotone_cnf;
pub mod winnow_counting;
