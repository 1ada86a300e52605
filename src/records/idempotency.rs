//! The record of a request with an `Idempotency-Key`.
//!
//! It belongs to the thing that the request made. A retry of the request with the same key then makes nothing more.

use serde_json::Value;

use super::id::{Id, Kind, ParseIdError};

/// The shortest time that a key is kept, in milliseconds: 24 hours of service.
pub const KEPT_MS: u64 = 86_400_000;

/// A key to store together with the thing that a request makes. Its owner and its time are those of the thing.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyClaim {
    /// The key as the client sent it.
    pub key: String,
    /// The digest of the request, in hexadecimal.
    pub fingerprint: String,
    /// The part of the first response that cannot be read from the thing.
    pub answer: Option<Value>,
}

/// A stored key.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyRecord {
    /// The digest of the request that made the thing.
    pub fingerprint: String,
    /// The id of the thing, which may have been deleted.
    pub thing: String,
    /// The part of the first response that cannot be read from the thing.
    pub answer: Option<Value>,
}

impl KeyRecord {
    /// The id of the thing.
    ///
    /// # Errors
    /// The thing is of another kind.
    pub fn id<K: Kind>(&self) -> Result<Id<K>, ParseIdError> {
        self.thing.parse()
    }
}
