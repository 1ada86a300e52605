//! What can go wrong in a store, in the terms in which a caller must answer.
//!
//! Knows no driver: each backend maps its own errors onto these. Knows no HTTP either.

use std::error::Error;
use std::io;

use super::quota::OverQuota;
use crate::records::{DatasetId, KeyRecord};

/// The error of a driver, kept for the log.
pub type Source = Box<dyn Error + Send + Sync>;

/// Why the store did not do what it was asked. Nothing was changed, except that after
/// [`StoreError::Unavailable`] a write may have happened all the same: only the answer is missing.
/// Every write can therefore be asked for again, or is fenced.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The store does not answer now; later it may.
    #[error("the store is not available: {0}")]
    Unavailable(#[source] Source),
    /// There is no room left. Reading still works.
    #[error("the store is full: {0}")]
    Full(#[source] Source),
    /// What is stored cannot be read as what it should be.
    #[error("the store is damaged: {0}")]
    Corrupt(#[source] Source),
    /// A newer version of this program has written the store.
    #[error(
        "the store has schema version {found}, and this program knows versions up to {supported}: \
         use the newer program"
    )]
    Newer { found: i64, supported: i64 },
    /// Another thing is stored under this id or key already.
    #[error("something else is stored under {0}")]
    Conflict(String),
    /// A job is to read a dataset that is not there, or is another's.
    #[error("there is no dataset {0}")]
    DatasetMissing(DatasetId),
    /// The owner made another thing under this idempotency key. Nothing was stored.
    #[error("{} was made under this idempotency key", .0.thing)]
    KeyTaken(Box<KeyRecord>),
    /// There is no room for it within a limit. Nothing was stored.
    #[error(transparent)]
    OverQuota(OverQuota),
    /// Anything else, a mistake in this program included.
    #[error("the store failed: {0}")]
    Other(#[source] Source),
}

impl StoreError {
    pub(crate) fn corrupt(source: impl Into<Source>) -> Self {
        Self::Corrupt(source.into())
    }

    pub(crate) fn unavailable(source: impl Into<Source>) -> Self {
        Self::Unavailable(source.into())
    }

    pub(crate) fn other(source: impl Into<Source>) -> Self {
        Self::Other(source.into())
    }
}

impl From<io::Error> for StoreError {
    fn from(error: io::Error) -> Self {
        if is_full(&error) {
            Self::Full(error.into())
        } else {
            Self::Unavailable(error.into())
        }
    }
}

/// Whether an error, or one that caused it, says that the disk or the quota is used up, or that
/// a file may not be that long.
pub(crate) fn is_full(error: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            let full = matches!(
                error.kind(),
                io::ErrorKind::StorageFull
                    | io::ErrorKind::QuotaExceeded
                    | io::ErrorKind::FileTooLarge
            );
            if full {
                return true;
            }
        }
        cause = error.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("wrapped")]
    struct Wrapped(#[source] io::Error);

    #[test]
    fn a_full_disk_is_seen_through_wrappers() {
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        assert!(is_full(&full()));
        assert!(is_full(&Wrapped(full())));
        assert!(!is_full(&Wrapped(io::ErrorKind::NotFound.into())));
        assert!(matches!(StoreError::from(full()), StoreError::Full(_)));
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        assert!(matches!(
            StoreError::from(denied),
            StoreError::Unavailable(_)
        ));
    }
}
