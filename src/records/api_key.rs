//! A key by which a client is known, and whose id owns what the client makes.
//!
//! The secret itself is no record: only its digest is kept, beside the record.

use sha2::{Digest, Sha256};

use super::id::ApiKeyId;
use super::owner::Owner;
use super::schedule::Weight;
use super::time::Timestamp;

/// What is known of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKey {
    pub id: ApiKeyId,
    /// Free text of the operator.
    pub name: String,
    pub created_at: Timestamp,
    /// Since when it opens nothing.
    pub revoked_at: Option<Timestamp>,
    /// Where its limits are not those of the settings.
    pub quotas: KeyQuotas,
    /// Its owner's weight among the owners.
    pub weight: Weight,
}

/// The limits of one key; none where those of the settings hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyQuotas {
    /// Jobs that wait.
    pub jobs_queued_max: Option<u64>,
    /// Bytes stored.
    pub stored_bytes_max: Option<u64>,
    /// Sessions.
    pub sessions_max: Option<u64>,
}

impl From<ApiKeyId> for Owner {
    /// The owner of what is made with this key.
    fn from(key: ApiKeyId) -> Self {
        Self::new(key.to_string())
    }
}

/// SHA-256 of a secret. A secret is drawn, and as long as the digest, so that neither salt nor a slow
/// function would make it harder to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SecretDigest(pub [u8; 32]);

impl SecretDigest {
    /// The digest of a secret, as a client sends it.
    #[must_use]
    pub fn of(secret: &str) -> Self {
        Self(Sha256::digest(secret).into())
    }
}
