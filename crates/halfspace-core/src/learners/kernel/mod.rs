//! The kernel perceptron and kernel Winnow, whose features are all conjunctions of the given features. Sums are exact.

pub mod active_counts;
pub mod conjunction_kernel;
pub(crate) mod kernel_bound;
pub mod kernel_expansion;
pub(crate) mod kernel_perceptron;
pub(crate) mod kernel_scores;
pub mod kernel_winnow;
pub mod kernel_winnow_weights;
mod listed_support;
