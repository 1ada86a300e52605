//! Statements that insert, list and revoke API keys, and find a key by the digest of its secret.

use super::super::error::Result;
use super::super::error::StoreError;
use super::super::terms::{API_KEYS_MAX, KeyLookup};
use super::database::{Row, Transaction, statement};
use super::store::Store;
use super::{KINDS, rows, shares};
use crate::records::schedule::Weight;
use crate::records::{ApiKey, ApiKeyId, KeyQuotas, Owner, SecretDigest, Timestamp};

impl Store {
    /// Stores an API key. With `adopts`, it becomes the owner of everything that [`Owner::anonymous`] owns.
    ///
    /// # Errors
    /// [`StoreError::Other`] when [`API_KEYS_MAX`] keys exist.
    pub async fn insert_api_key(
        &self,
        key: &ApiKey,
        digest: &SecretDigest,
        adopts: bool,
    ) -> Result<()> {
        let signed_if = |number: Option<u64>| number.map(rows::signed).transpose();
        let mut transaction = self.database.begin().await?;
        let insert = statement(
            "INSERT INTO api_keys (id, name, digest, created_at, jobs_queued_max, stored_bytes_max, \
             sessions_max, weight) SELECT $1, $2, $3, $4, $5, $6, $7, $8 \
             WHERE (SELECT COUNT(*) FROM api_keys) < $9",
        )
        .bind(key.id.to_string())
        .bind(key.name.as_str())
        .bind(digest.0.as_slice())
        .bind(key.created_at.milliseconds())
        .bind(signed_if(key.quotas.jobs_queued_max)?)
        .bind(signed_if(key.quotas.stored_bytes_max)?)
        .bind(signed_if(key.quotas.sessions_max)?)
        .bind(key.weight.get())
        .bind(API_KEYS_MAX);
        if transaction.execute(insert).await? == 0 {
            let detail = format!(
                "the store has {API_KEYS_MAX} keys, including revoked keys, and accepts no more"
            );
            return Err(StoreError::other(detail));
        }
        if adopts {
            adopt(&mut transaction, &Owner::from(key.id)).await?;
        }
        transaction.commit().await
    }

    /// All API keys, revoked keys included, oldest first.
    pub async fn api_keys(&self) -> Result<Vec<ApiKey>> {
        let select = statement(
            "SELECT id, name, created_at, revoked_at, jobs_queued_max, stored_bytes_max, sessions_max, \
             weight FROM api_keys ORDER BY id LIMIT $1",
        );
        let found = self.database.all(select.bind(API_KEYS_MAX)).await?;
        found.iter().map(key).collect()
    }

    /// Revokes an API key and returns whether it exists. If it was revoked before, the earlier time stays.
    pub async fn revoke_api_key(&self, id: ApiKeyId, now: Timestamp) -> Result<bool> {
        let mut transaction = self.database.begin().await?;
        let update =
            statement("UPDATE api_keys SET revoked_at = COALESCE(revoked_at, $2) WHERE id = $1")
                .bind(id.to_string())
                .bind(now.milliseconds());
        let found = transaction.execute(update).await?;
        transaction.commit().await?;
        Ok(found == 1)
    }

    /// Looks up the API key with this digest of its secret. Without a digest, this only tells whether any keys exist.
    pub async fn find_api_key(&self, digest: Option<&SecretDigest>) -> Result<KeyLookup> {
        if let Some(digest) = digest {
            let select = statement(
                "SELECT id, name, created_at, revoked_at, jobs_queued_max, stored_bytes_max, \
                 sessions_max, weight FROM api_keys WHERE digest = $1 AND revoked_at IS NULL",
            );
            let found = self
                .database
                .optional(select.bind(digest.0.as_slice()))
                .await?;
            if let Some(found) = found {
                return Ok(KeyLookup::Known(key(&found)?));
            }
        }
        let any = self
            .database
            .optional(statement("SELECT 1 FROM api_keys LIMIT 1"));
        Ok(match any.await? {
            Some(_) => KeyLookup::Unknown,
            None => KeyLookup::NoKeys,
        })
    }
}

/// The tables of the kinds, and those of rows that belong to a thing and have an owner too.
pub(super) fn adopted() -> impl Iterator<Item = &'static str> {
    let others = ["events", "traces", "callbacks", "idempotency_keys"];
    KINDS.iter().map(|kind| kind.table).chain(others)
}

/// Makes a key the owner of all things of the anonymous owner. Triggers update the usage.
async fn adopt(transaction: &mut Transaction, owner: &Owner) -> Result<()> {
    for table in adopted() {
        let update = statement("UPDATE {table} SET owner = $1 WHERE owner = $2")
            .with("{table}", table)
            .bind(owner.as_str())
            .bind(Owner::anonymous().as_str());
        transaction.execute(update).await?;
    }
    shares::activate(transaction, owner).await
}

fn key(row: &Row) -> Result<ApiKey> {
    let revoked_at: Option<i64> = row.get("revoked_at")?;
    Ok(ApiKey {
        id: rows::parsed(row, "id")?,
        name: row.get("name")?,
        created_at: Timestamp::from_milliseconds(row.get("created_at")?),
        revoked_at: revoked_at.map(Timestamp::from_milliseconds),
        quotas: KeyQuotas {
            jobs_queued_max: rows::unsigned_if(row, "jobs_queued_max")?,
            stored_bytes_max: rows::unsigned_if(row, "stored_bytes_max")?,
            sessions_max: rows::unsigned_if(row, "sessions_max")?,
        },
        weight: Weight::try_from(row.get::<f64>("weight")?).map_err(StoreError::corrupt)?,
    })
}
