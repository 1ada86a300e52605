//! Who delivers a callback now: leases on deliveries, and what comes of one.
//!
//! A callback is owed from the transaction in which its job ended. Who delivers it holds it by a
//! lease that runs out, so that a crash delays a callback and loses none; a receiver may then be told
//! twice.

use std::time::Duration;

use crate::records::{Job, JobId};

use super::lease::WorkerId;

/// A callback that was handed out so often is given up when it comes due again: about ten deliveries
/// can fail, so the others broke off, and took whoever made them along.
pub const CALLBACK_CLAIMS_MAX: u32 = 100;

/// The right to deliver one callback and to write what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallbackLease {
    pub job: JobId,
    pub worker: WorkerId,
    /// How many times the callback was handed out, this time included. Never repeats.
    pub claim: u32,
}

/// A callback that a worker is to deliver.
#[derive(Clone, Debug, PartialEq)]
pub struct CallbackClaim {
    /// The job, which has ended.
    pub job: Job,
    /// Where its end is to be told.
    pub url: String,
    /// Deliveries that failed.
    pub failures: u32,
    pub lease: CallbackLease,
}

/// What came of a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settlement {
    /// The receiver has it.
    Delivered,
    /// It failed, and is to be tried again after this time.
    RetryIn { delay: Duration, error: String },
    /// It failed for good.
    GivenUp { error: String },
}
