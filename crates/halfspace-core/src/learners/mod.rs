//! The learners and what they share. What a learner does depends only on the examples, the parameters, the random
//! generator and the run that it is given.
//!
//! - [`drift`], [`linear`], [`winnow`], [`kernel`] and [`message_passing`] hold the learners, one file each.
//! - [`catalogue`] lists them.
//! - [`engine`] defines a learner as a [`rule`](engine::rule) with an [`entry`](engine::entry), and runs it: over a
//!   whole sample in [`train`](engine::train), or example by example in a [`session`](engine::session).
//! - [`sample`] holds the examples.
//! - [`hypothesis`] is the answer of a learner, which [`predict`] and [`evaluate`](engine::evaluate) apply to examples.
//! - [`arithmetic`] holds the exact numbers.
//!
//! The module has no clock, no async code, no SQL and no HTTP.

pub mod arithmetic;
pub mod catalogue;
pub mod decision;
pub mod drift;
pub mod engine;
pub mod hypothesis;
pub mod kernel;
pub mod linear;
mod lockstep;
pub mod message_passing;
pub mod predict;
pub mod predictor;
pub mod sample;
pub mod winnow;
