//! Learners: pure functions of examples, parameters, a random generator and a run.
//!
//! - [`drift`], [`linear`], [`winnow`], [`kernel`] and [`message_passing`] hold the learners, one file each.
//! - [`catalogue`] lists them.
//! - [`engine`] defines a learner as a [`rule`](engine::rule) with an [`entry`](engine::entry), and runs it: in one
//!   piece by [`train`](engine::train), or example by example in a [`session`](engine::session).
//! - [`sample`] holds the examples.
//! - [`hypothesis`] is the answer of a learner, which [`predict`] and [`evaluate`](engine::evaluate) apply to
//!   examples.
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
pub mod message_passing;
pub mod predict;
pub mod predictor;
pub mod sample;
pub mod winnow;
