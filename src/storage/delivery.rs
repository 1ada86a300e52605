//! Who delivers a callback now: leases on deliveries, and what comes of one.
//!
//! A callback is owed from the transaction in which its job ended. Who delivers it holds it by a
//! lease that runs out, so that a crash delays a callback and loses none; a receiver may then be told
//! twice.

use std::time::Duration;

use crate::records::{Callback, Job, JobId, Owner};

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

/// The owners and hosts that hold their share of the deliveries of a process. A claim passes over their
/// callbacks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BusyReceivers {
    pub owners: Vec<Owner>,
    /// As [`crate::records::Callback::host`] has them.
    pub hosts: Vec<String>,
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

impl CallbackClaim {
    /// The host that is to be told.
    #[must_use]
    pub fn host(&self) -> String {
        Callback::new(self.url.as_str()).host()
    }
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
