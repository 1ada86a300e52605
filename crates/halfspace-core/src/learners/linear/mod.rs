//! Learners that add examples to weights: the perceptron, its average, the pocket algorithm, the perspectron, the
//! bounded perceptron, and two learners of binary weights (SBPI and the clipped perceptron).
//!
//! The folder also holds linear weights as a hypothesis, the numbers that bits stand for, and Novikoff's bound.

pub(crate) mod averaged_perceptron;
pub mod bounded;
pub(crate) mod bounded_perceptron;
pub(crate) mod clipped_perceptron;
pub(crate) mod hidden_states;
pub(crate) mod joint;
pub mod linear_weights;
pub mod novikoff;
pub mod perceptron;
pub(crate) mod perspectron;
pub(crate) mod pocket;
pub(crate) mod reading;
pub mod sbpi;
