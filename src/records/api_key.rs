//! API keys. A key identifies a client, and everything that the client makes is owned by the id of its key.
//!
//! The secret is not part of the record; the store keeps only its digest.

use sha2::{Digest, Sha256};

use super::id::ApiKeyId;
use super::owner::Owner;
use super::schedule::Weight;
use super::time::Timestamp;

/// A stored API key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKey {
    pub id: ApiKeyId,
    /// Free text of the operator.
    pub name: String,
    pub created_at: Timestamp,
    /// Time of the revocation. A revoked key is rejected.
    pub revoked_at: Option<Timestamp>,
    /// Limits of this key that replace those of the settings.
    pub quotas: KeyQuotas,
    /// Weight of the key's owner in the scheduler.
    pub weight: Weight,
}

/// The limits of one key. `None` means that the limit of the settings applies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyQuotas {
    /// Number of queued jobs.
    pub jobs_queued_max: Option<u64>,
    /// Number of stored bytes.
    pub stored_bytes_max: Option<u64>,
    /// Number of sessions.
    pub sessions_max: Option<u64>,
}

impl From<ApiKeyId> for Owner {
    /// The owner of everything made with this key.
    fn from(key: ApiKeyId) -> Self {
        Self::new(key.to_string())
    }
}

/// SHA-256 of a secret.
///
/// A secret is random and as long as the digest, so neither a salt nor a slow hash function would make it harder to
/// guess.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SecretDigest(pub [u8; 32]);

impl SecretDigest {
    /// The digest of a secret as a client sends it.
    #[must_use]
    pub fn of(secret: &str) -> Self {
        Self(Sha256::digest(secret).into())
    }
}
