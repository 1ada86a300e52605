//! Statements of callbacks: which of them are due, their leases and the outcomes of deliveries.
//!
//! The transaction that ends a job inserts the row of its callback. Claiming a callback moves its due time by the
//! length of the lease, so the callback of a dead worker becomes due again by itself.

use super::super::delivery::{
    BusyReceivers, CALLBACK_CLAIMS_MAX, CallbackClaim, CallbackLease, DeliveryOutcome,
};
use super::super::error::Result;
use super::super::error::StoreError;
use super::super::lease::{Fenced, WorkerId};
use super::database::{Transaction, statement};
use super::rows;
use super::rows::job_columns;
use super::store::Store;
use crate::records::{Callback, JobId, Owner};

/// Inserts the callback of a job that ends in this transaction.
pub(super) async fn owe(
    transaction: &mut Transaction,
    job: JobId,
    owner: &Owner,
    callback: &Callback,
) -> Result<()> {
    let insert = statement(
        "INSERT INTO callbacks (job, owner, host, url_digest, state, due_at, failures, claims) \
         VALUES ($1, $2, $3, $4, 'pending', {now}, 0, 0)",
    )
    .bind(job.to_string())
    .bind(owner.as_str())
    .bind(callback.host())
    .bind(callback.url_digest());
    transaction.execute(insert).await.map(|_| ())
}

/// Separates the names of a list. No name contains this character.
const BETWEEN_NAMES: &str = "\n";

/// The single statement of a claim. The condition on the time is that of the partial index. This index covers
/// all columns that the statement reads of a callback passed over.
pub(super) const TAKE_DUE: &str = "UPDATE callbacks \
     SET lease_owner = $1, due_at = {now} + $2, claims = claims + 1 \
     WHERE job = (SELECT job FROM callbacks WHERE due_at <= {now} \
     AND {position}($3, $5 || owner || $5) = 0 \
     AND {position}($4, $5 || host || $5) = 0 \
     AND {position}($6, $5 || owner || ' ' || host || $5) = 0 \
     AND {position}($7, $5 || owner || ' ' || url_digest || $5) = 0 \
     ORDER BY due_at LIMIT 1 {for update, skip locked}) RETURNING job, claims";

impl Store {
    /// Takes the callback of an ended job that has been due for longest, for `lease_seconds`. After this time it is
    /// due again.
    ///
    /// Callbacks of owners, hosts and URLs that are `busy` are passed over, and one that was claimed more than
    /// [`CALLBACK_CLAIMS_MAX`] times is given up. If a job names a callback, it is due from the transaction in which
    /// the job ends.
    pub async fn claim_callback(
        &self,
        worker: &WorkerId,
        lease_seconds: u32,
        busy: &BusyReceivers,
    ) -> Result<Option<CallbackClaim>> {
        let owners = listed(busy.owners.iter().map(Owner::as_str));
        let hosts = listed(busy.hosts.iter().map(String::as_str));
        let hosts_of_owners = listed_pairs(&busy.hosts_of_owners);
        let urls_of_owners = listed_pairs(&busy.urls_of_owners);
        // Each iteration returns a callback, fails a callback for good, or finds none.
        loop {
            let mut transaction = self.database.begin().await?;
            let update = statement(TAKE_DUE)
                .bind(worker.as_str())
                .bind(lease_seconds)
                .bind(owners.as_str())
                .bind(hosts.as_str())
                .bind(BETWEEN_NAMES)
                .bind(hosts_of_owners.as_str())
                .bind(urls_of_owners.as_str());
            let Some(row) = transaction.optional(update).await? else {
                return Ok(None);
            };
            let lease = CallbackLease {
                job: rows::parsed(&row, "job")?,
                worker: worker.clone(),
                claim: rows::small(&row, "claims")?,
            };
            if lease.claim > CALLBACK_CLAIMS_MAX {
                let error =
                    format!("{CALLBACK_CLAIMS_MAX} deliveries started, and too many ended early");
                write(
                    &mut transaction,
                    &lease,
                    &DeliveryOutcome::GivenUp { error },
                )
                .await?;
                transaction.commit().await?;
                continue;
            }
            match of(&mut transaction, lease.clone()).await {
                Ok(claim) => {
                    transaction.commit().await?;
                    return Ok(Some(claim));
                }
                // A damaged callback is not delivered, and other callbacks do not wait for it.
                Err(StoreError::Corrupt(damage)) => {
                    tracing::error!(job = %lease.job, %damage, "the callback of a damaged job will not \
                                                                be delivered");
                    let error = "the stored job is damaged".to_owned();
                    write(
                        &mut transaction,
                        &lease,
                        &DeliveryOutcome::GivenUp { error },
                    )
                    .await?;
                    transaction.commit().await?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    pub async fn settle_callback(
        &self,
        lease: &CallbackLease,
        settlement: &DeliveryOutcome,
    ) -> Result<Fenced> {
        self.with_reserve(|| async move {
            let mut transaction = self.database.begin().await?;
            let fenced = write(&mut transaction, lease, settlement).await?;
            transaction.commit().await?;
            Ok(fenced)
        })
        .await
    }
}

/// The names in one text, each between two separators.
fn listed<'n>(names: impl Iterator<Item = &'n str>) -> String {
    names.fold(String::from(BETWEEN_NAMES), |list, name| {
        list + name + BETWEEN_NAMES
    })
}

/// Each pair as one name. No owner contains a space.
fn listed_pairs(pairs: &[(Owner, String)]) -> String {
    let names: Vec<_> = pairs
        .iter()
        .map(|(owner, name)| format!("{} {name}", owner.as_str()))
        .collect();
    listed(names.iter().map(String::as_str))
}

/// A callback with its job. The job exists, because its deletion waits for the callback's row.
async fn of(transaction: &mut Transaction, lease: CallbackLease) -> Result<CallbackClaim> {
    let select = concat!("SELECT ", job_columns!(), " FROM jobs WHERE id = $1");
    let select = statement(select).bind(lease.job.to_string());
    let job = rows::job(&transaction.one(select).await?)?;
    let Some(callback) = &job.callback else {
        let detail = format!("{} has a due callback but no URL", job.id);
        return Err(StoreError::corrupt(detail));
    };
    Ok(CallbackClaim {
        url: callback.url.clone(),
        failures: callback.failures,
        job,
        lease,
    })
}

async fn write(
    transaction: &mut Transaction,
    lease: &CallbackLease,
    settlement: &DeliveryOutcome,
) -> Result<Fenced> {
    let (state, delay, failures, error) = match settlement {
        DeliveryOutcome::Delivered => ("delivered", None, 0, None),
        DeliveryOutcome::RetryIn { delay, error } => ("pending", Some(delay), 1, Some(error)),
        DeliveryOutcome::GivenUp { error } => ("given-up", None, 1, Some(error)),
    };
    let milliseconds = delay.map(|delay| i64::try_from(delay.as_millis()));
    let milliseconds = milliseconds.transpose().map_err(StoreError::other)?;
    let update = statement(
        "UPDATE callbacks SET state = $4, due_at = {now} + $5 / 1000.0, \
         failures = failures + $6, last_error = $7, lease_owner = NULL \
         WHERE job = $1 AND lease_owner = $2 AND claims = $3 AND state = 'pending'",
    )
    .bind(lease.job.to_string())
    .bind(lease.worker.as_str())
    .bind(lease.claim)
    .bind(state)
    // Without a delay the sum is null, so the callback is never due.
    .bind(milliseconds)
    .bind(i64::from(failures))
    .bind(error.map(String::as_str));
    let written = transaction.execute(update).await?;
    Ok(if written == 1 {
        Fenced::Done
    } else {
        Fenced::Lost
    })
}

/// Makes every leased callback due at once.
pub(super) async fn release_all(transaction: &mut Transaction) -> Result<()> {
    let update = statement(
        "UPDATE callbacks SET due_at = {now}, lease_owner = NULL \
         WHERE due_at IS NOT NULL AND lease_owner IS NOT NULL",
    );
    transaction.execute(update).await.map(|_| ())
}
