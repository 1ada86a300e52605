//! Whose a stored thing is.
//!
//! Every stored thing has an owner from the first schema on, so that keys, quotas and tenants need
//! no rewrite of what is stored. How a caller becomes an owner is not known here; who has an API key
//! owns by its id.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Whose a stored thing is. Nobody sees what another owner stored.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Owner(String);

impl Owner {
    /// The owner of that name.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// The one owner of everything while there are no API keys.
    #[must_use]
    pub fn anonymous() -> Self {
        Self::new("anonymous")
    }

    /// Whether this is the single owner of an open service.
    #[must_use]
    pub fn is_anonymous(&self) -> bool {
        *self == Self::anonymous()
    }

    /// The name, as it is stored.
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
