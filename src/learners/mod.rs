//! Learners: pure functions of data, parameters, a random generator and a run.

pub mod data;
