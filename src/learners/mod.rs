//! Learners: pure functions of data, parameters, a random generator and a run.

mod ballot;
pub mod block;
pub mod bound;
pub mod catalogue;
pub mod data;
mod directed_drift;
mod directed_drift_async;
mod directed_drift_sync;
pub mod generate;
pub mod hypothesis;
pub mod linear;
mod novikoff;
pub mod outcome;
mod parameter_kind;
pub mod parameters;
mod perceptron;
mod pocket;
pub mod predict;
pub mod random;
pub mod rule;
pub mod run;
pub mod source;
pub mod stopping;
pub mod task;
pub mod trace;
pub mod train;
pub mod train_loop;
