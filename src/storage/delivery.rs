//! Leases on callbacks, and the outcomes of deliveries.
//!
//! The transaction that ends a job also makes its callback due. A worker delivers it under a lease that expires, so a
//! crash delays a callback but loses none. The receiver may be notified twice.

use std::time::Duration;

use crate::records::{Callback, Job, JobId, Owner};

use super::lease::WorkerId;

/// A callback that was claimed more often is given up when it is due again. About ten deliveries may fail, so the other
/// claims were interrupted, probably by a crash of their process.
pub const CALLBACK_CLAIMS_MAX: u32 = 100;

/// The right to deliver one callback and to write the outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallbackLease {
    pub job: JobId,
    pub worker: WorkerId,
    /// Number of claims of the callback, including this one. It never repeats.
    pub claim: u32,
}

/// The owners, hosts and URLs that already have their share of the deliveries of a process, or have not answered
/// lately. A claim passes over their callbacks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BusyReceivers {
    pub owners: Vec<Owner>,
    /// Hosts in the form of [`crate::records::Callback::host`].
    pub hosts: Vec<String>,
    /// Hosts that are busy for one owner only.
    pub hosts_of_owners: Vec<(Owner, String)>,
    /// URLs in the form of [`crate::records::Callback::url_digest`], each for one owner only.
    pub urls_of_owners: Vec<(Owner, String)>,
}

/// A callback that a worker is to deliver.
#[derive(Clone, Debug, PartialEq)]
pub struct CallbackClaim {
    /// The ended job.
    pub job: Job,
    /// The URL of the receiver.
    pub url: String,
    /// Number of failed deliveries.
    pub failures: u32,
    pub lease: CallbackLease,
}

impl CallbackClaim {
    #[must_use]
    pub fn host(&self) -> String {
        Callback::new(self.url.as_str()).host()
    }

    /// See [`Callback::url_digest`].
    #[must_use]
    pub fn url_digest(&self) -> String {
        Callback::new(self.url.as_str()).url_digest()
    }
}

/// Outcome of a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeliveryOutcome {
    /// The receiver has accepted the callback.
    Delivered,
    /// The delivery failed. The next delivery is due after this delay.
    RetryIn { delay: Duration, error: String },
    /// The delivery failed for good.
    GivenUp { error: String },
}
