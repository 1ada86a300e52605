//! What is remembered of a request that made something under a key of its client's
//! (`Idempotency-Key`), so that the same request again makes nothing more.

use serde_json::Value;

use super::id::{Id, Kind, ParseIdError};

/// How long a key is kept at least: 24 hours of service, in milliseconds.
pub const KEPT_MS: u64 = 86_400_000;

/// A key that is to be kept with the thing that a request makes. Whose it is, and since when, the
/// thing says.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyClaim {
    /// The key, as the client sent it.
    pub key: String,
    /// The digest of the request, in hexadecimal.
    pub fingerprint: String,
    /// What the first answer told and the thing does not.
    pub answer: Option<Value>,
}

/// A key that was kept.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyRecord {
    /// The digest of the request that made the thing.
    pub fingerprint: String,
    /// The id of what was made, which may be gone.
    pub thing: String,
    /// What the first answer told and the thing does not.
    pub answer: Option<Value>,
}

impl KeyRecord {
    /// The id of what was made.
    ///
    /// # Errors
    /// When it is a thing of another kind.
    pub fn id<K: Kind>(&self) -> Result<Id<K>, ParseIdError> {
        self.thing.parse()
    }
}
