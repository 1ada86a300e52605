//! The owner of a stored thing.
//!
//! A client with an API key owns things under the id of its key; on a service without keys, everything belongs to one
//! anonymous owner. Everything has had an owner since the first schema, so no stored data had to be rewritten for keys
//! and quotas. How a caller becomes an owner is not known here.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The owner of a stored thing. No client sees the things of another owner.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Owner(String);

impl Owner {
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// The single owner of all things in a service without API keys.
    #[must_use]
    pub fn anonymous() -> Self {
        Self::new("anonymous")
    }

    /// Whether this is the single owner of a service without API keys.
    #[must_use]
    pub fn is_anonymous(&self) -> bool {
        *self == Self::anonymous()
    }

    /// The name as it is stored.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
