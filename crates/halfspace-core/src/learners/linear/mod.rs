//! Learners that add examples to weights: the perceptron, the perspectron, the pocket algorithm, and the learners
//! with bounded or binary weights.
//!
//! The folder also holds the linear weights as a hypothesis, the reading of a bit as a number, and Novikoff's bound.

pub mod bounded;
pub(crate) mod bounded_perceptron;
pub(crate) mod clipped_perceptron;
pub(crate) mod hidden_states;
pub mod linear_weights;
pub mod novikoff;
pub mod perceptron;
pub(crate) mod perspectron;
pub(crate) mod pocket;
pub(crate) mod reading;
pub mod sbpi;
