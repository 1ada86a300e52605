//! Errors of the store, classified by how the caller should react.
//!
//! This module knows no driver, because each backend maps its errors to [`StoreError`], and no HTTP.

use std::error::Error;
use std::io;

use super::quota::OverQuota;
use crate::records::{DatasetId, KeyRecord};

/// The error of a driver, kept for the log.
pub type Source = Box<dyn Error + Send + Sync>;

/// Result of a store method.
pub type Result<T> = std::result::Result<T, StoreError>;

/// Error of a store operation. A failed operation has changed nothing, with one exception: after
/// [`StoreError::Unavailable`] a write may have succeeded although its answer is missing. The documentation of
/// `Store` says which writes may be repeated.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The store does not answer now. A later attempt may succeed.
    #[error("the store is not available: {0}")]
    Unavailable(#[source] Source),
    /// The disk or the quota of the disk is full. Reading still works.
    #[error("the store is full: {0}")]
    Full(#[source] Source),
    /// Stored data are damaged: they cannot be decoded or do not match their digest.
    #[error("the store is damaged: {0}")]
    Corrupt(#[source] Source),
    /// A newer version of this program has written the store.
    #[error(
        "the store has schema version {found}, but this program supports versions up to \
         {supported}; use a newer program"
    )]
    Newer { found: i64, supported: i64 },
    /// The store was made by a version of this program whose schema of the same number differs.
    #[error(
        "the store has the schema of another development version of halfspace, which this version cannot read; \
         keep the store for that version, and start with an empty data directory and database"
    )]
    OtherSchema,
    /// The database holds tables that no version of this program made.
    #[error(
        "the database holds the tables of another program; start with an empty data directory, or name another database"
    )]
    Foreign,
    /// Another thing is already stored under this id or key.
    #[error("a different blob is stored under {0}")]
    Conflict(String),
    /// The owner of the job has no such dataset.
    #[error("no such dataset: {0}")]
    DatasetMissing(DatasetId),
    /// The owner has created another thing under this idempotency key. Nothing was stored.
    #[error("{} was created under this idempotency key", .0.thing)]
    KeyTaken(Box<KeyRecord>),
    /// The insert would exceed a limit. Nothing was stored.
    #[error(transparent)]
    OverQuota(OverQuota),
    /// Any other error, including a mistake in this program.
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
        let error = match error.downcast::<Self>() {
            Ok(error) => return error,
            Err(error) => error,
        };
        if is_full(&error) {
            Self::Full(error.into())
        } else {
            Self::Unavailable(error.into())
        }
    }
}

/// For writers, whose errors must have this type. The conversion back restores the same `StoreError`, and the kind
/// tells code that knows no `StoreError` that the store is full.
impl From<StoreError> for io::Error {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Full(_) => Self::new(io::ErrorKind::StorageFull, error),
            error => Self::other(error),
        }
    }
}

/// Whether an error or one of its causes says that the disk or its quota is full, or that the file is too
/// long.
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
        let written = io::Error::from(StoreError::Full("507".into()));
        assert!(matches!(StoreError::from(written), StoreError::Full(_)));
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        assert!(matches!(
            StoreError::from(denied),
            StoreError::Unavailable(_)
        ));
    }
}
