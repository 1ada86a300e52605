//! Statements of owner shares, which decide whose job is claimed next.
//!
//! An owner becomes active in the transaction that stores one of its jobs, and inactive in a later one that finds no
//! unfinished job. Both lock the owner's row, so no stored job is overlooked.

use super::super::error::Result;
use super::database::{Database, Transaction, statement};
use super::store::Store;
use crate::records::Owner;
use crate::records::schedule::{CLAIM_SECONDS, CREDIT_SECONDS};

/// Maximum number of owners that one transaction corrects.
const OWNERS_AT_ONCE: u32 = 1_000;

/// The position of an owner among the owners, in virtual seconds.
macro_rules! place {
    () => {
        "CASE WHEN virtual_seconds > entered_seconds THEN virtual_seconds ELSE entered_seconds END"
    };
}

/// Makes an owner active who was not: see [`activate`].
pub(super) const ENTER: &str = concat!(
    "INSERT INTO owner_shares (owner, virtual_seconds, entered_seconds, weight, active) \
     SELECT $1, place.seconds - $2, place.seconds, \
     COALESCE((SELECT weight FROM api_keys WHERE id = $1), 1), TRUE FROM (SELECT COALESCE(\
     (SELECT ",
    place!(),
    " FROM owner_shares WHERE active = TRUE ORDER BY ",
    place!(),
    " LIMIT 1), (SELECT MAX(",
    place!(),
    ") FROM owner_shares), 0) AS seconds) AS place WHERE TRUE \
     ON CONFLICT (owner) DO UPDATE SET active = TRUE, \
     entered_seconds = excluded.entered_seconds, virtual_seconds = CASE \
     WHEN excluded.virtual_seconds > owner_shares.virtual_seconds \
     THEN excluded.virtual_seconds ELSE owner_shares.virtual_seconds END"
);

/// Makes an owner active before this transaction stores one of its jobs.
///
/// A claim that has locked the row of the owner locks a usage row when it commits, and storing a job locks a usage
/// row at once. Every transaction therefore locks the row of the owner before any usage row.
///
/// A new or returning owner starts [`CREDIT_SECONDS`] before the position of the least active owner. That position is
/// never before the point where the least active owner itself entered, because otherwise the credits of many new
/// owners would add up. While no owner is active, the last position counts instead, so that a new owner does not go
/// before all others for as long as these have ever computed.
pub(super) async fn activate(transaction: &mut Transaction, owner: &Owner) -> Result<()> {
    let select = "SELECT active FROM owner_shares WHERE owner = $1 {for key share}";
    let select = statement(select).bind(owner.as_str());
    let found = transaction.optional(select).await?;
    if let Some(row) = found
        && row.get("active")?
    {
        return Ok(());
    }
    let upsert = statement(ENTER).bind(owner.as_str()).bind(CREDIT_SECONDS);
    transaction.execute(upsert).await.map(|_| ())
}

/// Adds computed seconds to the share of an owner. The row stays locked until the end of the transaction, so
/// this comes last.
pub(super) async fn pay(transaction: &mut Transaction, owner: &Owner, seconds: f64) -> Result<()> {
    if seconds <= 0.0 {
        return Ok(());
    }
    let update = "UPDATE owner_shares SET virtual_seconds = virtual_seconds + $2 / weight \
         WHERE owner = $1";
    let update = statement(update).bind(owner.as_str()).bind(seconds);
    transaction.execute(update).await.map(|_| ())
}

/// Counts a claim of an owner and adds its cost to the share. This comes last in the transaction, as for
/// [`pay`].
pub(super) async fn charge_claim(transaction: &mut Transaction, owner: &Owner) -> Result<()> {
    let update = "UPDATE owner_shares SET claims = claims + 1, \
         virtual_seconds = virtual_seconds + $2 / weight WHERE owner = $1";
    let update = statement(update).bind(owner.as_str()).bind(CLAIM_SECONDS);
    transaction.execute(update).await.map(|_| ())
}

/// Whether an owner has neither a running job nor a queued job that is ready for a worker.
macro_rules! is_idle {
    () => {
        "NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.owner = owner_shares.owner \
         AND status = 'queued' AND waits = FALSE) \
         AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.owner = owner_shares.owner \
         AND status = 'running')"
    };
}

impl Store {
    /// Adds the seconds of jobs that were computed for waiting clients to the shares of their owners.
    pub async fn pay(&self, spent: &[(Owner, f64)]) -> Result<()> {
        self.with_reserve(|| async move {
            // All transactions lock the rows of owners in one order.
            let mut sorted: Vec<_> = spent.iter().collect();
            sorted.sort_by(|one, next| one.0.cmp(&next.0));
            let mut transaction = self.database.begin().await?;
            for (owner, seconds) in sorted {
                activate(&mut transaction, owner).await?;
                pay(&mut transaction, owner, *seconds).await?;
            }
            transaction.commit().await
        })
        .await
    }

    /// Corrects the set of active owners: those with jobs that have not ended.
    pub async fn tend_shares(&self) -> Result<()> {
        self.with_reserve(|| async move {
            let mut transaction = self.database.begin().await?;
            let select = concat!(
                "SELECT owner FROM owner_shares WHERE active = TRUE AND ",
                is_idle!(),
                " LIMIT $1 {for update, skip locked}"
            );
            let idle = transaction
                .all(statement(select).bind(OWNERS_AT_ONCE))
                .await?;
            for row in &idle {
                // The condition is checked again under the lock, because a job may have been stored meanwhile.
                let update = concat!(
                    "UPDATE owner_shares SET active = FALSE WHERE owner = $1 AND ",
                    is_idle!()
                );
                let update = statement(update).bind(row.get::<String>("owner")?);
                transaction.execute(update).await?;
            }
            // The locks end here, because the next statements lock other owners in their order.
            transaction.commit().await?;
            let mut transaction = self.database.begin().await?;
            let select = "SELECT DISTINCT owner FROM jobs WHERE status = 'queued' AND waits = FALSE \
                 AND NOT EXISTS (SELECT 1 FROM owner_shares AS share WHERE share.owner = jobs.owner \
                 AND share.active = TRUE) ORDER BY owner LIMIT $1";
            let overlooked = transaction
                .all(statement(select).bind(OWNERS_AT_ONCE))
                .await?;
            for row in &overlooked {
                activate(&mut transaction, &Owner::new(row.get::<String>("owner")?)).await?;
            }
            transaction.commit().await
        })
        .await
    }
}

/// The virtual seconds of an owner.
pub(super) async fn virtual_seconds(database: &Database, owner: &Owner) -> Result<f64> {
    let select = "SELECT virtual_seconds FROM owner_shares WHERE owner = $1";
    let found = database
        .optional(statement(select).bind(owner.as_str()))
        .await?;
    found.map_or(Ok(0.0), |row| row.get("virtual_seconds"))
}
