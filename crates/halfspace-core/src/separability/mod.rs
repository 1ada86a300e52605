//! Certificates: whether a sample is separable, its maximum margin, and every binary hypothesis
//! that it leaves, each with a proof that was checked in exact arithmetic before it is reported.
//!
//! A method in floating point may propose here, but never decides. What nobody could prove before
//! a limit is *undecided*, and says which limit. Pure functions of data and a
//! [`Run`](crate::learners::run::Run).

mod alternative;
mod attempt;
mod duplicates;
mod exact_nearest_point;
mod examples;
mod lifting;
mod margin_program;
pub mod maximum_margin;
mod nearest_point;
mod proved_margin;
mod rounding;
pub mod separability;
mod simplex;
mod solver_units;
pub mod undecided;
pub mod version_space;

#[cfg(test)]
mod tests;
