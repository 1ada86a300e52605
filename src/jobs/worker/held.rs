//! A job under a lease of this process: the last write, which ends the job or returns it to the queue.
//!
//! A job that cannot be computed now goes back to the queue. Transient errors of the store are retried, so that no
//! result is lost.

use std::time::Duration;

use halfspace_core::memory::NoMemory;

use crate::records::{Job, JobError};
use crate::storage::{Fenced, JobEnd, Lease, OverQuota, Requeue, StoreError};

use super::{PAUSE_MAX, Worker};
use crate::jobs::completion;
use crate::jobs::datasets::stored::{ReadError, forget_data};

/// Attempts to write the end of a job while the store fails, with growing pauses.
const FINISH_TRIES_MAX: u32 = 200;

/// Attempts to return a suspended job to the queue. With the pauses of a stopping process they take less time
/// than the process waits for its jobs.
const REQUEUE_TRIES_MAX: u32 = 20;

/// Time limit for storing the state of a job that goes back to the queue.
const STATE_TIMEOUT: Duration = Duration::from_secs(3);

/// Pause in the queue of a job for which there was no memory.
const MEMORY_PAUSE_SECONDS: f64 = 0.5;

/// The pause between two attempts in a stopping process.
const PAUSE_STOPPING: Duration = Duration::from_millis(200);

/// A job that a worker holds under a lease.
#[derive(Clone, Copy)]
pub(super) struct HeldJob<'a> {
    pub worker: &'a Worker,
    pub job: &'a Job,
    pub lease: &'a Lease,
}

impl HeldJob<'_> {
    /// Writes the end of a job. Retries while the store fails, because a transient error must not discard the result.
    pub(super) async fn finish(self, end: JobEnd) {
        let Self { worker, job, .. } = self;
        let mut end = end;
        let fenced = loop {
            match self.write_last(Last::End(&end)).await {
                Ok(fenced) => break fenced,
                // The dataset no longer fits, so the job ends without it.
                Err(over) => {
                    let dataset = end.dataset.as_ref();
                    let key = dataset.map(|dataset| dataset.summary.data_key.as_str());
                    forget_data(&worker.datasets.blobs, key).await;
                    let error = completion::over_quota(&over);
                    end = JobEnd {
                        // What was computed is paid for all the same.
                        spent: end.spent,
                        ..completion::failure(worker.ids.now(), error, job)
                    };
                }
            }
        };
        match fenced {
            Some(Fenced::Done) => {
                let ended = Job {
                    status: end.status,
                    ..job.clone()
                };
                worker.queue.has_ended(&ended);
                forget_data(&worker.datasets.blobs, job.data_key.as_deref()).await;
                worker.queue.after_subjob(&ended).await;
            }
            Some(Fenced::Lost) => self.after_lost().await,
            None => {
                tracing::error!(job = %job.id, "the end of the job could not be stored; the job \
                                                runs again");
            }
        }
        worker.hub.changed(job.id);
    }

    /// Ends a job that failed.
    pub(super) async fn fail(self, error: JobError) {
        let end = completion::failure(self.worker.ids.now(), error, self.job);
        self.finish(end).await;
    }

    /// Returns a job to the queue. If its state cannot be stored, it goes back without it, because a state only saves
    /// time.
    pub(super) async fn give_back(self, requeue: Requeue<'_>) {
        let Self { worker, job, lease } = self;
        if requeue.checkpoint.is_some() {
            let written = worker.store.requeue_job(lease, &requeue, worker.ids.now());
            match tokio::time::timeout(STATE_TIMEOUT, written).await {
                Ok(Ok(_)) => return worker.hub.changed(job.id),
                Ok(Err(error)) => tracing::warn!(job = %job.id, %error, "the state of the job \
                                                                         could not be stored"),
                Err(_) => tracing::warn!(job = %job.id, "the state of the job could not be stored \
                                                         in time"),
            }
        }
        let requeue = Requeue {
            checkpoint: None,
            ..requeue
        };
        match self
            .write_last(Last::Requeue(&requeue))
            .await
            .unwrap_or(None)
        {
            Some(Fenced::Done) => {}
            Some(Fenced::Lost) => self.after_lost().await,
            None => tracing::warn!(job = %job.id, "the job could not return to the queue; its \
                                                   lease will expire"),
        }
        worker.hub.changed(job.id);
    }

    /// Returns a job to the queue when requests have taken the memory since the claim. If it can never fit into the
    /// memory of this process, it fails.
    pub(super) async fn give_back_for_now(self, full: NoMemory) {
        if full.is_final() {
            return self.fail(completion::no_memory()).await;
        }
        let requeue = Requeue {
            pause_seconds: MEMORY_PAUSE_SECONDS,
            ..Requeue::default()
        };
        self.give_back(requeue).await;
    }

    /// Returns a job whose data cannot be read now, until all attempts are used up. It pauses in the queue, because
    /// otherwise the next claim would take it again before all other jobs.
    pub(super) async fn try_later(self, error: &StoreError) {
        let Self { worker, job, lease } = self;
        tracing::warn!(job = %job.id, %error, "the data of the job cannot be read");
        if lease.attempt >= worker.config.attempts_max {
            let detail = format!(
                "the data could not be read in {} attempts; the last error: {error}",
                lease.attempt
            );
            let error = completion::unreadable(ReadError::Missing(detail));
            return self.fail(error).await;
        }
        let requeue = Requeue {
            pause_seconds: worker.config.unread_pause.as_secs_f64(),
            is_charged: true,
            ..Requeue::default()
        };
        self.give_back(requeue).await;
    }

    /// Makes the last write under a lease and retries while the store fails. Returns `None` when all attempts
    /// fail.
    ///
    /// # Errors
    /// The quota that has no room for the dataset of the end.
    async fn write_last(self, last: Last<'_>) -> Result<Option<Fenced>, OverQuota> {
        let Self { worker, job, lease } = self;
        let mut pause = Duration::from_millis(50);
        let tries_max = match last {
            Last::End(_) => FINISH_TRIES_MAX,
            Last::Requeue(_) => REQUEUE_TRIES_MAX,
        };
        for _ in 0..tries_max {
            let written = match last {
                Last::End(end) => worker.store.finish_job(lease, end).await,
                Last::Requeue(requeue) => {
                    let now = worker.ids.now();
                    worker.store.requeue_job(lease, requeue, now).await
                }
            };
            match written {
                Ok(fenced) => return Ok(Some(fenced)),
                Err(StoreError::OverQuota(over)) => return Err(over),
                Err(error) => {
                    tracing::warn!(job = %job.id, %error, "the store refused the write; retrying")
                }
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => pause = (pause * 2).min(PAUSE_MAX),
                () = worker.stopping.cancelled() => tokio::time::sleep(PAUSE_STOPPING).await,
            }
        }
        Ok(None)
    }

    /// Cleans up after a fenced write that matched no lease. An earlier attempt may have been written without
    /// an answer. The data of a job that has ended are deleted in any case.
    async fn after_lost(self) {
        let Self { worker, job, .. } = self;
        match worker.store.find(&job.owner, job.id).await {
            Ok(Some(stored)) if stored.status.is_ended() => {
                tracing::info!(job = %job.id, status = %stored.status, "the job has already ended");
                forget_data(&worker.datasets.blobs, job.data_key.as_deref()).await;
            }
            Ok(_) => tracing::warn!(job = %job.id, "the lease expired; nothing was written"),
            Err(error) => tracing::warn!(job = %job.id, %error, "the lease expired"),
        }
    }
}

/// The last write under a lease.
#[derive(Clone, Copy, Debug)]
enum Last<'a> {
    End(&'a JobEnd),
    Requeue(&'a Requeue<'a>),
}
