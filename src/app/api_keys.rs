//! Creates, lists and revokes API keys for the command `keys`, also while a service runs on the same store.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::config::{NewKey, Settings};
use crate::records::{ApiKey, ApiKeyId, Clock, KeyQuotas, SecretDigest};

use super::start_error::StartError;
use super::stores::{open_beside, open_existing};
use super::system::{SystemClock, entropy, ids};

/// Creates an API key and returns it with its secret, which is not stored.
///
/// # Errors
/// The store cannot be opened (the error then names the setting at fault), or it rejects the key.
pub async fn create_key(settings: &Settings, new: NewKey) -> Result<(ApiKey, String), StartError> {
    let ids = ids()?;
    let secret = format!("hsk_{}", URL_SAFE_NO_PAD.encode(entropy()?));
    let key = ApiKey {
        id: ids.id(),
        name: new.name,
        created_at: ids.now(),
        revoked_at: None,
        quotas: KeyQuotas {
            jobs_queued_max: new.jobs,
            stored_bytes_max: new.bytes,
            sessions_max: new.sessions,
        },
        weight: new.weight,
    };
    let (store, _data_dir) = open_beside(settings).await?;
    let digest = SecretDigest::of(&secret);
    let stored = store
        .insert_api_key(&key, &digest, new.adopt_anonymous)
        .await;
    store.close().await;
    stored.map_err(StartError::Keys)?;
    Ok((key, secret))
}

/// Lists all API keys.
///
/// # Errors
/// The store cannot be opened (the error then names the setting at fault), or it cannot be read.
pub async fn keys(settings: &Settings) -> Result<Vec<ApiKey>, StartError> {
    let (store, _data_dir) = open_existing(settings).await?;
    let keys = store.api_keys().await;
    store.close().await;
    keys.map_err(StartError::Keys)
}

/// Revokes an API key. Returns whether such a key exists.
///
/// # Errors
/// The store cannot be opened (the error then names the setting at fault), or it cannot be written.
pub async fn revoke_key(settings: &Settings, id: ApiKeyId) -> Result<bool, StartError> {
    let (store, _data_dir) = open_existing(settings).await?;
    let revoked = store.revoke_api_key(id, SystemClock::start().now()).await;
    store.close().await;
    revoked.map_err(StartError::Keys)
}
