//! The statements of quotas: what an owner uses, and whether there is room for more.
//!
//! Triggers count (see the migrations), so that no statement that stores, ends or deletes something
//! needs to. What is stored is counted first and then held against the limits, as the last thing
//! before the transaction ends; if there is no room, it is rolled back.
//!
//! In PostgreSQL transactions do not see what others have not yet committed. So each takes a lock
//! that lets it be alone with the limits of its owner and of all, which costs as long as a disk
//! takes; but while there is more room than all connections of the server could fill at once, it
//! shares the lock with others like it.

use super::super::quota::{Limited, Quotas, Standing, Usage};
use super::super::{Result, StoreError};
use super::database::{Database, Row, Statement, Transaction, statement};
use crate::records::Owner;

/// Holds what this transaction has added against the limits. To be called when all is written, since
/// whoever waits here must not be waited for.
///
/// # Errors
/// [`StoreError::OverQuota`]; then the caller leaves the transaction uncommitted.
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
    // The triggers wait for the end of the transaction, and this is it.
    let count = statement("SET CONSTRAINTS ALL IMMEDIATE");
    transaction.execute(count).await?;
    // What is locked after it is let go of with it.
    transaction.execute(statement("SAVEPOINT shared")).await?;
    let mut alone = Limited::default();
    // What is locked alone stays so: three rounds at most.
    loop {
        let lock = statement(lock(alone)).bind(owner.as_str());
        transaction.all(lock).await?;
        let (standing, others) = read(transaction, quotas, owner).await?;
        let before = standing.without(asked);
        before.admits(asked).map_err(StoreError::OverQuota)?;
        let crowded = before.crowded(asked, others);
        if (alone.own || !crowded.own) && (alone.all || !crowded.all) {
            return Ok(());
        }
        let back = statement("ROLLBACK TO SAVEPOINT shared");
        transaction.execute(back).await?;
        alone.own |= crowded.own;
        alone.all |= crowded.all;
    }
}

/// Locks the limits of an owner, then those of all: everybody in this order.
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

/// What an owner and all have, and may have.
pub(super) async fn one(database: &Database, quotas: &Quotas, owner: &Owner) -> Result<Standing> {
    let row = database.one(select(owner)).await?;
    Ok(standing(&row, quotas)?.0)
}

async fn read(
    transaction: &mut Transaction,
    quotas: &Quotas,
    owner: &Owner,
) -> Result<(Standing, u64)> {
    let row = transaction.one(select(owner)).await?;
    standing(&row, quotas)
}

/// The rows of an owner and of all: at most 16 each.
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

/// With it, how many transactions there can be at once.
fn standing(row: &Row, quotas: &Quotas) -> Result<(Standing, u64)> {
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
    let standing = Standing {
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
