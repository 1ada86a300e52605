//! The statements of checkpoints: one row a job at most, from the first until the job ends.
//!
//! They are rows and no blobs, so that the fence of the lease holds for the bytes too, in one
//! transaction: what a stale worker wrote is never there.

use super::super::{Fenced, Lease, Result};
use super::database::{Database, Transaction, statement};
use super::queue::{fence, fenced};
use crate::records::JobId;

pub(super) async fn save(database: &Database, lease: &Lease, body: &[u8]) -> Result<Fenced> {
    let mut transaction = database.begin().await?;
    let select = concat!("SELECT 1 FROM jobs", fence!(), "{for update}");
    let held = transaction.optional(fenced(select, lease)).await?;
    if held.is_none() {
        return Ok(Fenced::Lost);
    }
    let upsert = statement(
        "INSERT INTO checkpoints (job, body) VALUES ($1, $2) \
         ON CONFLICT (job) DO UPDATE SET body = excluded.body",
    )
    .bind(lease.job.to_string())
    .bind(body);
    transaction.execute(upsert).await?;
    transaction.commit().await?;
    Ok(Fenced::Done)
}

pub(super) async fn of(database: &Database, job: JobId) -> Result<Option<Vec<u8>>> {
    let select = statement("SELECT body FROM checkpoints WHERE job = $1").bind(job.to_string());
    let row = database.optional(select).await?;
    row.map(|row| row.get("body")).transpose()
}

/// Forgets that of a job which ends in this transaction.
pub(super) async fn forget(transaction: &mut Transaction, job: JobId) -> Result<()> {
    let delete = statement("DELETE FROM checkpoints WHERE job = $1").bind(job.to_string());
    transaction.execute(delete).await.map(|_| ())
}
