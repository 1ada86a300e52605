//! Receipts of trainings, and their replay.
//!
//! A [`Receipt`] names the parameters, the seed and the mistaken examples of a training. No other examples are needed
//! to repeat the run, because the learner changes its state only on mistakes; an average also needs the number of
//! examples that were presented. [`verify`] replays the run and compares
//! the results with the receipt.
//!
//! The replay is a second implementation of the learners, which shares no code with the train loop, the learners or
//! their kernels. From the other crates it takes only the examples in memory, the names of classes and the digest of
//! data. To get the examples, the caller reads them, or draws them with the generator of `halfspace-core`.

#![cfg_attr(not(test), warn(clippy::unwrap_used))]

mod committee;
mod examples;
mod kernels;
mod learner;
mod learners;
mod random;
mod receipt;
mod replay;
mod winnow;

pub use receipt::{
    DataSource, GENERATOR, HeldOut, Receipt, ReceiptMember, VERSION, document_sha256, is_sha256,
};
pub use replay::{Check, verify};
