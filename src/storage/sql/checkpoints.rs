//! Statements of checkpoints. A job has at most one checkpoint row, from its first checkpoint until its end.
//!
//! Checkpoints are rows and not blobs, so that the fence of the lease protects their bytes in the same transaction.
//! What a worker writes after it has lost the lease is therefore never stored.

use super::super::error::Result;
use super::super::history::{self, Facts};
use super::super::lease::{Fenced, Lease};
use super::database::{Transaction, statement};
use super::rows::{fence, fenced};
use super::store::Store;
use crate::records::JobId;

impl Store {
    /// Stores the state of a running job for the next claim, in place of the previous checkpoint. It is deleted when
    /// the job ends.
    pub async fn save_checkpoint(&self, lease: &Lease, body: &[u8]) -> Result<Fenced> {
        self.ensure_row_space().await?;
        history::recorded(|| Facts::of_checkpoint("save", lease, body), async {
            let mut transaction = self.database.begin().await?;
            let select = concat!("SELECT 1 FROM jobs", fence!(), "{for update}");
            let held = transaction.optional(fenced(select, lease)).await?;
            if held.is_none() {
                return Ok(Fenced::Lost);
            }
            write(&mut transaction, lease.job, body).await?;
            transaction.commit().await?;
            Ok(Fenced::Done)
        })
        .await
    }

    /// The latest checkpoint of a job that has not ended.
    pub async fn checkpoint(&self, job: JobId) -> Result<Option<Vec<u8>>> {
        history::recorded(|| Facts::of_job("checkpoint", job), async {
            let select =
                statement("SELECT body FROM checkpoints WHERE job = $1").bind(job.to_string());
            let row = self.database.optional(select).await?;
            row.map(|row| row.get("body")).transpose()
        })
        .await
    }
}

/// Stores the checkpoint of a job whose row this transaction has locked.
pub(super) async fn write(transaction: &mut Transaction, job: JobId, body: &[u8]) -> Result<()> {
    let upsert = statement(
        "INSERT INTO checkpoints (job, body, program) VALUES ($1, $2, $3) \
         ON CONFLICT (job) DO UPDATE SET body = excluded.body, program = excluded.program",
    )
    .bind(job.to_string())
    .bind(body)
    .bind(env!("CARGO_PKG_VERSION"));
    transaction.execute(upsert).await.map(|_| ())
}

/// Whether the job has a checkpoint.
pub(super) async fn is_kept(transaction: &mut Transaction, job: JobId) -> Result<bool> {
    let select = statement("SELECT 1 FROM checkpoints WHERE job = $1").bind(job.to_string());
    Ok(transaction.optional(select).await?.is_some())
}

/// Deletes the checkpoint of a job that ends in this transaction.
pub(super) async fn forget(transaction: &mut Transaction, job: JobId) -> Result<()> {
    let delete = statement("DELETE FROM checkpoints WHERE job = $1").bind(job.to_string());
    transaction.execute(delete).await.map(|_| ())
}
