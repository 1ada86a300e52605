//! Claims jobs while there are permits.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::storage::ClaimTerms;

use super::service::Jobs;

/// About how often an idle scheduler looks for work that another process queued or left behind, and
/// one without a store whether it is back.
const POLL: Duration = Duration::from_millis(500);

impl Jobs {
    /// Claims and starts jobs until the process stops; none where it has no permits at all.
    pub(super) async fn schedule(self: Arc<Self>) {
        // A store that is away or full for hours is told of once.
        let mut is_told = false;
        loop {
            let permit = tokio::select! {
                permit = Arc::clone(&self.permits).acquire_owned() => permit,
                () = self.stopping.cancelled() => return,
            };
            let Ok(permit) = permit else { return };
            let terms = ClaimTerms {
                lease_seconds: self.config.lease_seconds,
                attempts_max: self.config.attempts_max,
            };
            if self.stopping.is_cancelled() {
                return;
            }
            // The lease begins after this.
            let leased_at = Instant::now();
            let claim = self.store.claim_job(&self.worker, &terms, self.ids.now());
            match claim.await {
                Ok(Some(claim)) => {
                    is_told = false;
                    let this = Arc::clone(&self);
                    self.tasks.spawn(async move {
                        this.run_claim(claim, leased_at, permit).await;
                    });
                    continue;
                }
                Ok(None) => is_told = false,
                Err(error) if is_told => tracing::debug!(%error, "no job can be claimed still"),
                Err(error) => {
                    tracing::warn!(%error, "no job can be claimed for now");
                    is_told = true;
                }
            }
            drop(permit);
            tokio::select! {
                () = self.hub.work.notified() => {}
                () = tokio::time::sleep(self.ids.about(POLL)) => {}
                () = self.stopping.cancelled() => return,
            }
        }
    }
}
