//! The journal of sessions: group commit of the examples that sessions have learnt.
//!
//! Appends of one owner that wait at the same time share a transaction, and with it a flush to disk.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

use crate::records::Owner;
use crate::records::session::SessionAppend;
use crate::storage::{AppendOutcome, Store, StoreError};

/// Largest number of appends in one batch.
const BATCH_MAX: usize = 256;

pub(crate) struct Journal {
    store: Arc<Store>,
    waiting: Mutex<Vec<WaitingAppend>>,
    /// Held by the task that writes the waiting appends.
    writing: tokio::sync::Mutex<()>,
}

struct WaitingAppend {
    owner: Owner,
    append: SessionAppend,
    done: oneshot::Sender<Result<AppendOutcome, StoreError>>,
}

impl Journal {
    pub(crate) fn new(store: Arc<Store>) -> Arc<Self> {
        Arc::new(Self {
            store,
            waiting: Mutex::default(),
            writing: tokio::sync::Mutex::default(),
        })
    }

    /// Appends the learnt examples of a session, which are on disk when this returns `Done`.
    ///
    /// # Errors
    /// Errors of the store. After [`StoreError::Unavailable`] the append may have been written.
    pub(crate) async fn append(
        self: &Arc<Self>,
        owner: Owner,
        append: SessionAppend,
    ) -> Result<AppendOutcome, StoreError> {
        let (done, outcome) = oneshot::channel();
        self.queue().push(WaitingAppend {
            owner,
            append,
            done,
        });
        // In a task of its own, because other requests may wait for the same batch when this request is
        // dropped.
        let journal = Arc::clone(self);
        tokio::spawn(async move { journal.write_waiting().await });
        let lost = |_| {
            Err(StoreError::unavailable(
                "the writer of the session ended early",
            ))
        };
        outcome.await.unwrap_or_else(lost)
    }

    async fn write_waiting(&self) {
        let _writing = self.writing.lock().await;
        let mut batch: Vec<WaitingAppend> = {
            let mut queue = self.queue();
            let count = queue.len().min(BATCH_MAX);
            queue.drain(..count).collect()
        };
        // The batch is empty if another task has written it. The sort is stable, so the appends of a session
        // keep their order.
        batch.sort_by(|one, next| one.owner.as_str().cmp(next.owner.as_str()));
        while let Some(last) = batch.last() {
            let owner = last.owner.clone();
            let first = batch.partition_point(|one| one.owner.as_str() < owner.as_str());
            self.write(&owner, batch.split_off(first)).await;
        }
    }

    async fn write(&self, owner: &Owner, some: Vec<WaitingAppend>) {
        let (appends, answers): (Vec<_>, Vec<_>) =
            some.into_iter().map(|one| (one.append, one.done)).unzip();
        match self.store.append_examples(owner, &appends).await {
            Ok(outcomes) => {
                for (done, outcome) in answers.into_iter().zip(outcomes) {
                    // The request may have been dropped.
                    let _ = done.send(Ok(outcome));
                }
            }
            Err(error) => {
                for done in answers {
                    let _ = done.send(Err(again(&error)));
                }
            }
        }
    }

    fn queue(&self) -> std::sync::MutexGuard<'_, Vec<WaitingAppend>> {
        // A list stays valid when its holder panics.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A copy of an error, for each append of a failed transaction.
fn again(error: &StoreError) -> StoreError {
    let text = error.to_string();
    match error {
        StoreError::Full(_) => StoreError::Full(text.into()),
        StoreError::Corrupt(_) => StoreError::corrupt(text),
        _ => StoreError::unavailable(text),
    }
}
