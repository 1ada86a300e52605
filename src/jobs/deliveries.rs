//! The delivery of callbacks for jobs that have ended in any process.
//!
//! A callback is claimed with a lease and delivered, and then the result is stored. If a process dies in between, the
//! callback is delivered again once the lease has expired, with the same id and body: delivery is at least once. A
//! stopping process claims no more callbacks.
//!
//! [`Deliveries`] decides who may take the next delivery of a process.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::field::Empty;

use crate::callbacks::document::CallbackDocument;
use crate::callbacks::schedule::retry_delay;
use crate::callbacks::{CallbackClient, CallbackUrlError, DeliveryError};
use crate::records::Job;
use crate::storage::{CallbackClaim, CallbackLease, DeliveryOutcome, Store, WorkerId};
use crate::traces;

use super::delivery_shares::{Deliveries, Receiver};
use super::hub::Hub;
use super::ids::Ids;

/// Approximate interval at which an idle process polls for due callbacks.
const POLL: Duration = Duration::from_secs(1);

/// How long a delivery may continue in a stopping process. The process waits longer than this for its jobs.
const STOPPING_TIMEOUT: Duration = Duration::from_secs(2);

/// Attempts to settle a delivery while the store fails, with growing pauses.
const SETTLE_TRIES_MAX: u32 = 8;

/// Characters of a failure reason that are stored.
const REASON_CHARACTERS_MAX: usize = 500;

/// A failed delivery.
struct DeliveryFailure {
    /// The reason that the client may see.
    told: String,
    is_final: bool,
    has_timed_out: bool,
    retry_after: Option<Duration>,
}

/// The delivery of callbacks by one process.
pub(super) struct CallbackDelivery {
    pub(super) client: Arc<CallbackClient>,
    pub(super) store: Arc<Store>,
    pub(super) ids: Arc<Ids>,
    pub(super) hub: Arc<Hub>,
    pub(super) worker: WorkerId,
    pub(super) stopping: CancellationToken,
}

impl CallbackDelivery {
    /// Delivers due callbacks until the process stops. A worker may be silent for `silence_seconds`.
    pub(super) async fn run(self: Arc<Self>, silence_seconds: u32, tasks: TaskTracker) {
        // The time limit of a delivery, plus the time for which a worker may be silent.
        let limit = self.client.limit();
        let delivery_seconds = u32::try_from(limit.as_secs()).unwrap_or(u32::MAX);
        let lease_seconds = delivery_seconds.saturating_add(silence_seconds);
        let deliveries = Deliveries::new(limit);
        while !self.stopping.is_cancelled() {
            let claimed = match deliveries.busy() {
                Some(busy) => {
                    let store = &self.store;
                    store
                        .claim_callback(&self.worker, lease_seconds, &busy)
                        .await
                }
                None => Ok(None),
            };
            match claimed {
                Ok(Some(claim)) => {
                    let this = Arc::clone(&self);
                    let delivery = deliveries.take(Receiver::of(&claim));
                    tasks.spawn(async move {
                        if let Some(has_timed_out) = this.deliver(claim).await {
                            delivery.ended(has_timed_out);
                        }
                    });
                    continue;
                }
                Ok(None) => {}
                Err(error) => tracing::warn!(%error, "callbacks cannot be claimed at the moment"),
            }
            tokio::select! {
                () = self.hub.callbacks.notified() => {}
                () = deliveries.ended.notified() => {}
                () = tokio::time::sleep(self.ids.about(POLL)) => {}
                () = self.stopping.cancelled() => return,
            }
        }
    }

    /// Delivers a callback and stores the outcome. Returns whether the delivery timed out; `None` if the process
    /// stopped meanwhile.
    async fn deliver(&self, claim: CallbackClaim) -> Option<bool> {
        let span = tracing::info_span!(
            target: traces::TARGET,
            "callback",
            otel.kind = "client",
            halfspace.job.id = %claim.job.id,
            server.address = claim.host(),
            halfspace.outcome = Empty,
        );
        let context = traces::follow(&span, claim.job.trace_parent);
        let CallbackClaim {
            job,
            url,
            failures,
            lease,
        } = claim;
        let attempted = tokio::select! {
            attempted = traces::within(context, self.attempt(&job, &url)) => attempted,
            () = self.stopped_for(STOPPING_TIMEOUT) => return None,
        };
        let has_timed_out = attempted
            .as_ref()
            .is_err_and(|failure| failure.has_timed_out);
        let settlement = match attempted {
            Ok(()) => DeliveryOutcome::Delivered,
            Err(failure) => self.after(failure, failures.saturating_add(1)),
        };
        let outcome = match &settlement {
            DeliveryOutcome::Delivered => "delivered",
            DeliveryOutcome::RetryIn { .. } => "failed",
            DeliveryOutcome::GivenUp { error } => {
                tracing::warn!(job = %job.id, error, "the callback failed for good; no further \
                                                      attempt");
                "given-up"
            }
        };
        span.record("halfspace.outcome", outcome);
        metrics::counter!("halfspace_callbacks_total", "outcome" => outcome).increment(1);
        self.settle(&lease, &settlement).await;
        Some(has_timed_out)
    }

    async fn attempt(&self, job: &Job, url: &str) -> Result<(), DeliveryFailure> {
        // The URL is checked again, because the allowed hosts may have changed since the job was accepted.
        let url = self.client.accept(url)?;
        let document = CallbackDocument::of(job).ok_or_else(DeliveryFailure::of_unended)?;
        let body = Bytes::from(document.to_json());
        let now = self.ids.now();
        let delivered = self.client.deliver(&url, job.id, body, now).await;
        delivered.map_err(|error| {
            tracing::info!(job = %job.id, %error, "the delivery of the callback failed");
            error.into()
        })
    }

    /// The next step for a callback after failure number `failures`.
    fn after(&self, failure: DeliveryFailure, failures: u32) -> DeliveryOutcome {
        let error = failure.told;
        let delay = retry_delay(failures, failure.retry_after, self.ids.random());
        match delay.filter(|_| !failure.is_final) {
            Some(delay) => DeliveryOutcome::RetryIn { delay, error },
            None => DeliveryOutcome::GivenUp { error },
        }
    }

    /// Stores the result of a delivery and retries while the store fails. Without a stored result the receiver
    /// is called twice.
    async fn settle(&self, lease: &CallbackLease, settlement: &DeliveryOutcome) {
        let mut pause = Duration::from_millis(50);
        for _ in 0..SETTLE_TRIES_MAX {
            match self.store.settle_callback(lease, settlement).await {
                // A lost lease does no harm: an earlier attempt was written, the job was deleted, or another
                // process delivers too.
                Ok(_) => return,
                Err(error) => {
                    tracing::warn!(job = %lease.job, %error, "the result of the delivery cannot be \
                                                              stored yet");
                }
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => pause *= 2,
                () = self.stopped_for(STOPPING_TIMEOUT) => return,
            }
        }
    }

    /// Returns `timeout` after the process began to stop.
    async fn stopped_for(&self, timeout: Duration) {
        self.stopping.cancelled().await;
        tokio::time::sleep(timeout).await;
    }
}

impl DeliveryFailure {
    /// The store hands out only callbacks of jobs that have ended.
    fn of_unended() -> Self {
        Self {
            told: "the job has not ended, because of a defect in the service".to_owned(),
            is_final: true,
            has_timed_out: false,
            retry_after: None,
        }
    }
}

impl From<CallbackUrlError> for DeliveryFailure {
    fn from(error: CallbackUrlError) -> Self {
        Self {
            told: kept(&error.to_string()),
            is_final: false,
            has_timed_out: false,
            retry_after: None,
        }
    }
}

impl From<DeliveryError> for DeliveryFailure {
    fn from(error: DeliveryError) -> Self {
        // The reason would reveal names and addresses of a network that the client cannot reach.
        let told = match error.is_before_connection() {
            true => "the receiver was not reached".to_owned(),
            false => kept(&error.to_string()),
        };
        Self {
            told,
            is_final: error.is_final(),
            has_timed_out: error.has_timed_out(),
            retry_after: error.retry_after(),
        }
    }
}

/// The stored part of a reason. U+0000 is removed, because not every database can store it.
fn kept(reason: &str) -> String {
    let characters = reason.chars().filter(|&character| character != '\0');
    characters.take(REASON_CHARACTERS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::callbacks::Allowed;

    #[test]
    fn delivery_errors_hide_why_a_connection_failed() {
        let address = "10.1.2.3".parse().unwrap();
        let refused = Allowed::default().check(address).unwrap_err();
        let source = || std::io::Error::other("because");
        let name = "intranet.example".to_owned();
        let address = "10.1.2.3:80".parse().unwrap();
        let limit = Duration::from_secs(10);
        let told = [
            DeliveryError::Refused(refused),
            DeliveryError::Unresolved {
                name,
                source: source(),
            },
            DeliveryError::Connect {
                address,
                source: source(),
            },
            DeliveryError::Undialled { limit },
        ]
        .map(|error| DeliveryFailure::from(error).told);
        assert!(told.iter().all(|one| *one == told[0]), "{told:?}");
        assert_eq!(told[0], "the receiver was not reached");
        let answered = DeliveryFailure::from(DeliveryError::Gone);
        assert!(answered.told.contains("410") && answered.is_final);
    }

    #[test]
    fn delivery_reason_is_cut_and_has_no_nul() {
        let reason = kept(&"a\0".repeat(1_000));
        assert_eq!(reason, "a".repeat(REASON_CHARACTERS_MAX));
    }
}
