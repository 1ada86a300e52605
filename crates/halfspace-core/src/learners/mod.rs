//! Learners: pure functions of examples, parameters, a random generator and a run.
//!
//! - [`rule`] defines a learner. [`catalogue`] lists the learners with their parameters and guarantees.
//!   Each learner has a file of its own, such as [`perceptron`] or [`winnow`].
//! - [`task`] checks a training before the run. [`train`] runs a task, [`train_loop`] owns the passes and
//!   [`stopping`] the confidence rules. [`checkpoint`] saves the state of a run. [`session`] shows the same
//!   rules one example at a time.
//! - [`examples`] and [`data`] hold finite samples. [`generate`] draws examples of a hidden [`target`].
//!   [`source`] shows both kinds to a rule.
//! - [`hypothesis`] is the answer of a learner. [`predict`] and [`evaluate`] apply a hypothesis to
//!   examples.
//! - [`bound`], [`novikoff`] and [`winnow_bound`] compare the mistakes of a run with a theorem.
//!
//! The module has no clock, no async code, no SQL and no HTTP.

pub mod amp;
pub mod auto;
mod ballot;
pub mod block;
pub mod bound;
pub mod bounded;
mod bounded_perceptron;
pub mod catalogue;
pub mod checkpoint;
mod clipped_perceptron;
pub mod course;
pub mod data;
pub mod decimal;
pub mod directed_drift;
pub mod directed_drift_async;
pub mod directed_drift_sync;
mod disjunction;
pub mod drift_chain;
pub mod evaluate;
pub mod evidence;
pub mod examples;
pub mod generate;
mod hidden_states;
pub mod holdout;
pub mod hypothesis;
pub mod kernel;
mod kernel_bound;
pub mod kernel_expansion;
mod kernel_perceptron;
mod kernel_scores;
pub mod kernel_winnow;
pub mod kernel_winnow_weights;
pub mod linear;
mod message_passing;
pub mod novikoff;
pub mod outcome;
mod parameter_kind;
pub mod parameters;
pub mod perceptron;
pub mod planted;
mod pocket;
pub mod power_scale;
pub mod power_sum;
pub mod predict;
pub mod random;
mod reading;
pub mod recurrences;
mod reinforced_amp;
pub mod repetitions;
mod report;
pub mod rule;
pub mod run;
pub mod sbpi;
pub mod session;
pub mod snapshot;
pub mod source;
mod stop_conditions;
pub mod stopping;
pub mod target;
pub mod task;
pub mod trace;
pub mod train;
pub mod train_loop;
pub mod unit;
mod wide;
pub mod winnow;
pub mod winnow_bound;
pub mod winnow_weights;
