//! Proofs about a sample: separability, maximum margin and version space.
//!
//! This module decides whether a hyperplane separates a sample, finds the one of maximum margin, and counts the binary
//! weights that are consistent with a sample. Every answer has a proof that was checked in exact arithmetic.
//!
//! Floating point proposes here and never decides. If a limit comes before the proof, the answer is *undecided* and
//! names the limit. All functions depend only on the data and on a [`Run`](crate::learners::engine::run::Run), which
//! can stop them.

mod alternative;
mod attempt;
pub mod box_certificate;
pub mod decision;
mod duplicates;
mod exact_nearest_point;
mod exact_support;
mod examples;
mod interior_point;
mod lifting;
mod margin_program;
pub mod maximum_margin;
mod nearest_point;
mod panels;
mod proved_margin;
mod rounding;
mod simplex;
mod solver_units;
pub mod undecided;
pub mod version_space;

#[cfg(test)]
mod tests;
