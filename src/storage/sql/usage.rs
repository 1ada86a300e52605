//! Statements of quotas: the usage of an owner, and the check of an insert against the limits.
//!
//! Triggers count the usage (see the migrations), so the statements themselves need not. An insert is counted first;
//! the last step of its transaction compares the counts with the limits, and the transaction is rolled back if one is
//! exceeded.
//!
//! PostgreSQL transactions do not see uncommitted rows of others. An insert near a limit therefore locks the limits
//! of its owner, or those of all owners, exclusively until the commit, which costs the time of a disk write. As long
//! as all connections of the server together cannot reach the limit at once, inserts share the lock.

use super::super::error::Result;
use super::super::error::StoreError;
use super::super::quota::{Limited, QuotaStanding, Quotas, Usage};
use super::database::{Row, Statement, Transaction, statement};
use super::store::Store;
use crate::records::Owner;

/// Checks the usage that this transaction has added against the limits. Call this after all writes: the check may
/// wait for other transactions, and none of them may wait for this one.
///
/// # Errors
/// [`StoreError::OverQuota`]. The caller must not commit the transaction then.
pub(super) async fn admit(
    transaction: &mut Transaction,
    quotas: &Quotas,
    owner: &Owner,
    asked: &Usage,
) -> Result<()> {
    if *asked == Usage::default() {
        return Ok(());
    }
    if transaction.writes_alone() {
        let (standing, _) = read(transaction, quotas, owner).await?;
        let before = standing.without(asked);
        return before.admits(asked).map_err(StoreError::OverQuota);
    }
    // The triggers are deferred to the end of the transaction. This runs them now.
    let count = statement("SET CONSTRAINTS ALL IMMEDIATE");
    transaction.execute(count).await?;
    // A rollback to this savepoint releases the locks taken after it.
    transaction.execute(statement("SAVEPOINT shared")).await?;
    let mut alone = Limited::default();
    // An exclusive lock stays exclusive in later iterations, so there are at most three.
    loop {
        let lock = statement(lock(alone)).bind(owner.as_str());
        transaction.all(lock).await?;
        let (standing, others) = read(transaction, quotas, owner).await?;
        let before = standing.without(asked);
        before.admits(asked).map_err(StoreError::OverQuota)?;
        let near_limit = before.near_limit(asked, others);
        if (alone.own || !near_limit.own) && (alone.all || !near_limit.all) {
            return Ok(());
        }
        let back = statement("ROLLBACK TO SAVEPOINT shared");
        transaction.execute(back).await?;
        alone.own |= near_limit.own;
        alone.all |= near_limit.all;
    }
}

/// Locks the limits of an owner, then those of all owners. Every transaction uses this order.
fn lock(alone: Limited) -> &'static str {
    match (alone.own, alone.all) {
        (false, false) => {
            "SELECT pg_advisory_xact_lock_shared(1, hashtext($1)), \
             pg_advisory_xact_lock_shared(3, 0)"
        }
        (true, false) => {
            "SELECT pg_advisory_xact_lock(1, hashtext($1)), pg_advisory_xact_lock_shared(3, 0)"
        }
        (false, true) => {
            "SELECT pg_advisory_xact_lock_shared(1, hashtext($1)), pg_advisory_xact_lock(3, 0)"
        }
        (true, true) => {
            "SELECT pg_advisory_xact_lock(1, hashtext($1)), pg_advisory_xact_lock(3, 0)"
        }
    }
}

impl Store {
    /// Usage and limits of the owner and of all owners together.
    pub async fn usage(&self, owner: &Owner) -> Result<QuotaStanding> {
        let row = self.database.one(select(owner)).await?;
        Ok(standing(&row, &self.quotas)?.0)
    }
}

async fn read(
    transaction: &mut Transaction,
    quotas: &Quotas,
    owner: &Owner,
) -> Result<(QuotaStanding, u64)> {
    let row = transaction.one(select(owner)).await?;
    standing(&row, quotas)
}

/// The usage rows of an owner and of all owners, at most 16 each.
pub(super) const SELECT: &str = "SELECT \
     CAST(COALESCE(SUM(CASE WHEN owner = '' THEN 0 ELSE queued END), 0) AS BIGINT) AS own_queued, \
     CAST(COALESCE(SUM(CASE WHEN owner = '' THEN 0 ELSE bytes END), 0) AS BIGINT) AS own_bytes, \
     CAST(COALESCE(SUM(CASE WHEN owner = '' THEN 0 ELSE sessions END), 0) AS BIGINT) \
     AS own_sessions, \
     CAST(COALESCE(SUM(CASE WHEN owner = '' THEN queued END), 0) AS BIGINT) AS all_queued, \
     CAST(COALESCE(SUM(CASE WHEN owner = '' THEN bytes END), 0) AS BIGINT) AS all_bytes, \
     CAST(COALESCE(SUM(CASE WHEN owner = '' THEN sessions END), 0) AS BIGINT) AS all_sessions, \
     (SELECT jobs_queued_max FROM api_keys WHERE id = $1) AS jobs_queued_max, \
     (SELECT stored_bytes_max FROM api_keys WHERE id = $1) AS stored_bytes_max, \
     (SELECT sessions_max FROM api_keys WHERE id = $1) AS sessions_max, \
     {connections} AS connections \
     FROM usage WHERE owner IN ($1, '')";

fn select(owner: &Owner) -> Statement {
    statement(SELECT).bind(owner.as_str())
}

/// Returns the standing and the maximum number of concurrent transactions.
fn standing(row: &Row, quotas: &Quotas) -> Result<(QuotaStanding, u64)> {
    let count = |column: &str| {
        let found: i64 = row.get(column)?;
        Ok::<_, StoreError>(u64::try_from(found).unwrap_or(0))
    };
    let own_or = |column: &str, general: u64| {
        let own: Option<i64> = row.get(column)?;
        let own = own.map(|own| u64::try_from(own).unwrap_or(0));
        Ok::<_, StoreError>(own.unwrap_or(general))
    };
    let general = &quotas.per_owner;
    let standing = QuotaStanding {
        own: Usage {
            jobs_queued: count("own_queued")?,
            stored_bytes: count("own_bytes")?,
            sessions: count("own_sessions")?,
        },
        own_max: Usage {
            jobs_queued: own_or("jobs_queued_max", general.jobs_queued)?,
            stored_bytes: own_or("stored_bytes_max", general.stored_bytes)?,
            sessions: own_or("sessions_max", general.sessions)?,
        },
        all: Usage {
            jobs_queued: count("all_queued")?,
            stored_bytes: count("all_bytes")?,
            sessions: count("all_sessions")?,
        },
        all_max: quotas.in_all,
    };
    Ok((standing, count("connections")?))
}
