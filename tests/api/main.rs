//! The routes, one file per resource, called through the router of a service in this process, and the documents that
//! describe them.

mod amplification;
mod bad_input;
mod bounded_perceptron;
mod certificates;
mod charsets;
mod class_names;
mod classes;
mod code;
mod compare;
mod console;
mod constructions;
mod datasets;
mod deploy;
mod documents;
mod encodings;
mod evaluate;
mod events;
mod examples;
mod experiments;
mod explanation;
mod figures;
mod formats;
mod forms;
mod grids;
mod helpful_errors;
mod holdout;
mod idempotency;
mod import;
mod inference;
mod jobs;
mod kernel_perceptron;
mod keys;
mod label_words;
mod large_data;
mod learners;
mod limits;
mod limits_named;
mod lineage;
mod many_classes;
mod memory;
mod models;
mod names;
mod names_bad_input;
mod open_classes;
mod openapi;
mod ops;
mod origins;
mod parquet;
mod permits;
mod predict;
mod previews;
mod problems;
mod queue;
mod quotas;
mod real_files;
mod receipts;
mod remedies;
mod repairs;
mod samples;
mod separability;
mod serve;
#[path = "../service/mod.rs"]
#[allow(
    dead_code,
    unused_imports,
    reason = "each binary of tests uses its own part"
)]
mod service;
mod session_attacks;
mod session_names;
mod session_streams;
mod sessions;
mod several_jobs;
mod sources;
mod sparse;
mod tables;
mod text_networks;
mod texts;
mod theory;
mod trace;
mod train;
mod train_query;
mod true_claims;
mod uploads;
mod vocabularies;
mod warm_start;
mod warm_start_names;
mod weights;
mod winnow;
