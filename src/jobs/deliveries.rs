//! Delivers the callbacks of jobs that have ended, whoever ended them.
//!
//! At least once: a callback is claimed by a lease, delivered, and settled. Who vanishes in between
//! leaves it to the end of the lease, and the receiver may be told twice, under the same id and with
//! the same body. A process that stops claims nothing more.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Semaphore;

use crate::callbacks::schedule::retry_delay;
use crate::callbacks::{CallbackClient, CallbackUrlError, DeliveryError};
use crate::records::{CallbackDocument, Job};
use crate::storage::{CallbackClaim, CallbackLease, Settlement};

use super::service::Jobs;

/// Deliveries at once: a receiver that does not answer holds one up for as long as one may take.
const DELIVERIES_MAX: usize = 16;

/// About how often an idle process looks for what is due: again, or from another process.
const POLL: Duration = Duration::from_secs(1);

/// How long a delivery may go on in a process that stops; less than that waits for its jobs.
const PATIENCE_STOPPING: Duration = Duration::from_secs(2);

/// How often what came of a delivery is written again after the store failed, with growing pauses.
const SETTLE_TRIES_MAX: u32 = 8;

/// Characters of a reason that are kept.
const REASON_CHARACTERS_MAX: usize = 500;

/// Why a callback was not delivered.
struct Failure {
    /// For the client.
    told: String,
    is_final: bool,
    retry_after: Option<Duration>,
}

impl Jobs {
    /// Delivers what is due until the process stops; nothing where others compute, or without a
    /// secret.
    pub(super) async fn deliver_callbacks(self: Arc<Self>) {
        let Some(client) = self.callbacks.clone().filter(|_| self.config.workers > 0) else {
            return;
        };
        // As long as a delivery may take, and then as long as a worker may be silent.
        let delivery_seconds = u32::try_from(client.limit().as_secs()).unwrap_or(u32::MAX);
        let lease_seconds = delivery_seconds.saturating_add(self.config.lease_seconds);
        let slots = Arc::new(Semaphore::new(DELIVERIES_MAX));
        loop {
            let slot = tokio::select! {
                slot = Arc::clone(&slots).acquire_owned() => slot,
                () = self.stopping.cancelled() => return,
            };
            let Ok(slot) = slot else { return };
            if self.stopping.is_cancelled() {
                return;
            }
            match self.store.claim_callback(&self.worker, lease_seconds).await {
                Ok(Some(claim)) => {
                    let (this, client) = (Arc::clone(&self), Arc::clone(&client));
                    self.tasks.spawn(async move {
                        this.deliver(&client, claim).await;
                        drop(slot);
                    });
                    continue;
                }
                Ok(None) => {}
                Err(error) => tracing::warn!(%error, "no callback can be claimed now"),
            }
            drop(slot);
            tokio::select! {
                () = self.hub.callbacks.notified() => {}
                () = tokio::time::sleep(self.ids.about(POLL)) => {}
                () = self.stopping.cancelled() => return,
            }
        }
    }

    async fn deliver(&self, client: &CallbackClient, claim: CallbackClaim) {
        let CallbackClaim {
            job,
            url,
            failures,
            lease,
        } = claim;
        let attempted = tokio::select! {
            attempted = self.attempt(client, &job, &url) => attempted,
            () = self.stopped_for(PATIENCE_STOPPING) => return,
        };
        let settlement = match attempted {
            Ok(()) => Settlement::Delivered,
            Err(failure) => self.after(failure, failures.saturating_add(1)),
        };
        let outcome = match &settlement {
            Settlement::Delivered => "delivered",
            Settlement::RetryIn { .. } => "failed",
            Settlement::GivenUp { error } => {
                tracing::warn!(job = %job.id, error, "the callback is given up");
                "given-up"
            }
        };
        metrics::counter!("halfspace_callbacks_total", "outcome" => outcome).increment(1);
        self.settle(&lease, &settlement).await;
    }

    async fn attempt(&self, client: &CallbackClient, job: &Job, url: &str) -> Result<(), Failure> {
        // Read again, since what may be dialled may have changed since it was accepted.
        let url = client.accept(url)?;
        let document = CallbackDocument::of(job).ok_or_else(Failure::of_unended)?;
        let body = Bytes::from(document.to_json());
        let delivered = client.deliver(&url, job.id, body, self.ids.now()).await;
        delivered.map_err(|error| {
            tracing::info!(job = %job.id, %error, "the callback is not delivered");
            error.into()
        })
    }

    /// What is to become of a callback after its failure number `failures`.
    fn after(&self, failure: Failure, failures: u32) -> Settlement {
        let error = failure.told;
        let delay = retry_delay(failures, failure.retry_after, self.ids.random());
        match delay.filter(|_| !failure.is_final) {
            Some(delay) => Settlement::RetryIn { delay, error },
            None => Settlement::GivenUp { error },
        }
    }

    /// Writes what came of a delivery, again while the store fails: else the receiver is told twice.
    async fn settle(&self, lease: &CallbackLease, settlement: &Settlement) {
        let mut pause = Duration::from_millis(50);
        for _ in 0..SETTLE_TRIES_MAX {
            match self.store.settle_callback(lease, settlement).await {
                // Lost is no harm: written by an earlier try, deleted, or delivered by another too.
                Ok(_) => return,
                Err(error) => {
                    tracing::warn!(job = %lease.job, %error, "the callback is not settled yet");
                }
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => pause *= 2,
                () = self.stopped_for(PATIENCE_STOPPING) => return,
            }
        }
    }

    /// Ends so long after the process began to stop.
    async fn stopped_for(&self, patience: Duration) {
        self.stopping.cancelled().await;
        tokio::time::sleep(patience).await;
    }
}

impl Failure {
    /// The store hands out callbacks of jobs that have ended only.
    fn of_unended() -> Self {
        Self {
            told: "the job has not ended; this is a defect of the service".to_owned(),
            is_final: true,
            retry_after: None,
        }
    }
}

impl From<CallbackUrlError> for Failure {
    fn from(error: CallbackUrlError) -> Self {
        Self {
            told: kept(&error.to_string()),
            is_final: false,
            retry_after: None,
        }
    }
}

impl From<DeliveryError> for Failure {
    fn from(error: DeliveryError) -> Self {
        let told = match &error {
            // To which address of a network that is not dialled a name leads is nobody's business.
            DeliveryError::Refused(_) => "the name leads to no address that is dialled".to_owned(),
            error => kept(&error.to_string()),
        };
        Self {
            told,
            is_final: error.is_final(),
            retry_after: error.retry_after(),
        }
    }
}

/// So much of a reason as is kept. Not every database holds U+0000.
fn kept(reason: &str) -> String {
    let characters = reason.chars().filter(|&character| character != '\0');
    characters.take(REASON_CHARACTERS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::callbacks::Allowed;

    #[test]
    fn what_is_not_dialled_is_not_told() {
        let address = "10.1.2.3".parse().unwrap();
        let refused = Allowed::default().check(address).unwrap_err();
        let failure = Failure::from(DeliveryError::Refused(refused));
        assert!(!failure.told.contains("10.1.2.3") && !failure.is_final);
    }

    #[test]
    fn a_reason_is_short_and_storable() {
        let reason = kept(&"a\0".repeat(1_000));
        assert_eq!(reason, "a".repeat(REASON_CHARACTERS_MAX));
    }
}
