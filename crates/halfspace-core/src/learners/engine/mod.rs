//! The engine that all learners share: the trait of a rule, its catalogue entry, the train loop and the reports.
//!
//! A rule says how examples change a hypothesis. The engine does everything else: the passes, the order of the
//! examples, the stop conditions, the checkpoints, the mistake curve and the sessions. Apart from the confidence rule
//! `exact`, which needs the Markov chain of Directed Drift, it knows no learner.

pub mod assume;
pub mod bound;
pub mod check;
pub mod checkpoint;
pub mod committee;
pub mod entry;
mod error_count;
pub mod evaluate;
pub mod even_draws;
pub mod evidence;
pub mod grounds;
pub mod holdout;
pub mod input;
pub mod kept;
pub mod member;
pub mod outcome;
pub(crate) mod parameter_kind;
pub mod parameters;
pub mod phase;
pub mod pruning;
pub mod random;
pub mod reason;
pub mod recurrences;
pub(crate) mod report;
pub mod rule;
pub mod run;
mod run_examples;
pub mod run_state;
pub mod session;
pub mod shared_work;
pub mod snapshot;
pub(crate) mod stop_conditions;
pub mod stopping;
pub mod task;
pub mod thickness;
pub mod trace;
pub mod train;
pub mod train_loop;
pub mod update;
mod verdict;
