//! The routes, one file a resource, through the router of a service in this process.

mod bad_input;
#[path = "../../examples/tic_tac_toe/boards.rs"]
mod boards;
mod bounded_perceptron;
mod certificates;
mod constructions;
mod datasets;
mod evaluate;
mod events;
mod experiments;
mod formats;
mod grids;
mod holdout;
mod idempotency;
mod import;
mod inference;
mod jobs;
mod kernel_perceptron;
mod large_data;
mod learners;
mod limits;
mod models;
mod names;
mod ops;
mod predict;
mod problems;
mod serve;
mod session_attacks;
mod session_streams;
mod sessions;
mod theory;
mod trace;
mod train;
mod uploads;
mod warm_start;
mod winnow;
