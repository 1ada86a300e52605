//! Statements that store, find and delete idempotency keys.
//!
//! A transaction writes the key, as its first lock, before the thing that it creates. A concurrent transaction with
//! the same key waits at the unique index, then finds the key and writes nothing.
//!
//! The column of the answer holds the digest, a space and the JSON.

use std::fmt::Display;

use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::Value;

use super::super::error::Result;
use super::super::error::StoreError;
use super::database::{Row, Statement, Transaction, statement};
use super::digests::DigestColumn::Text;
use super::digests::DigestColumns;
use super::rows;
use super::store::Store;
use crate::records::{KeyClaim, KeyRecord, Owner, Timestamp};

/// The answer that is repeated under an idempotency key.
const ANSWER: DigestColumns = DigestColumns {
    kind: "answer of idempotency key",
    columns: &[Text("key"), Text("thing"), Text("answer")],
};

/// Stores the key, if any, for a thing that the same transaction stores next.
///
/// If the key already belongs to this thing, it is accepted, because only the answer to the first attempt was lost.
///
/// # Errors
/// [`StoreError::KeyTaken`] when another thing was created under this key.
pub(super) async fn claim(
    transaction: &mut Transaction,
    claim: Option<&KeyClaim>,
    owner: &Owner,
    thing: impl Display,
    created_at: Timestamp,
) -> Result<()> {
    let Some(claim) = claim else {
        return Ok(());
    };
    let thing = thing.to_string();
    let answer = rows::json_if(claim.answer.as_ref())?;
    let insert = statement(
        "INSERT INTO idempotency_keys (owner, key, fingerprint, thing, answer, created_at) \
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (owner, key) DO NOTHING",
    )
    .bind(owner.as_str())
    .bind(claim.key.as_str())
    .bind(claim.fingerprint.as_str())
    .bind(thing.as_str())
    .bind(answer.map(|json| with_digest(&claim.key, &thing, &json)))
    .bind(created_at.milliseconds());
    if transaction.execute(insert).await? == 1 {
        return Ok(());
    }
    let found = transaction.optional(select(owner, &claim.key)).await?;
    // The key was deleted a moment ago, so a retry succeeds.
    let found = found.ok_or_else(|| StoreError::unavailable("the sweep is deleting the key"))?;
    let found = record(&found)?;
    if found.thing == thing {
        return Ok(());
    }
    Err(StoreError::KeyTaken(Box::new(found)))
}

impl Store {
    /// The record of this idempotency key of the owner, if the key is still stored.
    pub async fn idempotency_key(&self, owner: &Owner, key: &str) -> Result<Option<KeyRecord>> {
        let row = self.database.optional(select(owner, key)).await?;
        row.as_ref().map(record).transpose()
    }

    /// Deletes at most `limit` idempotency keys of all owners that were created before `created_before`,
    /// oldest first. Returns their number.
    pub async fn sweep_idempotency_keys(
        &self,
        created_before: Timestamp,
        limit: u32,
    ) -> Result<u64> {
        self.with_reserve(|| async move {
            let mut transaction = self.database.begin().await?;
            let delete = statement(
                "DELETE FROM idempotency_keys WHERE (owner, key) IN (SELECT owner, key \
                 FROM idempotency_keys WHERE created_at < $1 ORDER BY created_at LIMIT $2 \
                 {for update, skip locked})",
            )
            .bind(created_before.milliseconds())
            .bind(limit);
            let deleted = transaction.execute(delete).await?;
            transaction.commit().await?;
            Ok(deleted)
        })
        .await
    }
}

fn select(owner: &Owner, key: &str) -> Statement {
    statement(
        "SELECT key, fingerprint, thing, answer FROM idempotency_keys WHERE owner = $1 AND key = $2",
    )
    .bind(owner.as_str())
    .bind(key)
}

fn record(row: &Row) -> Result<KeyRecord> {
    Ok(KeyRecord {
        fingerprint: row.get("fingerprint")?,
        thing: row.get("thing")?,
        answer: answer(row)?,
    })
}

/// The answer of a key.
///
/// # Errors
/// [`StoreError::Corrupt`] when the digest does not match.
pub(super) fn answer(row: &Row) -> Result<Option<Value>> {
    let Some(stored) = row.get::<Option<String>>("answer")? else {
        return Ok(None);
    };
    let (key, thing) = (row.get::<String>("key")?, row.get::<String>("thing")?);
    let json = stored.split_once(' ').map_or("", |(_, json)| json);
    if with_digest(&key, &thing, json) != stored {
        let told = format!("the answer of the idempotency key {key} differs from its digest");
        return Err(StoreError::corrupt(told));
    }
    rows::from_json(json.to_owned()).map(Some)
}

fn with_digest(key: &str, thing: &str, json: &str) -> String {
    let digest = ANSWER.of([key.into(), thing.into(), json.into()]);
    format!("{} {json}", BASE64_STANDARD.encode(digest))
}
