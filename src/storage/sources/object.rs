//! One version of an object, and the reasons why an object cannot be read.

use std::ops::Range;

use bytes::Bytes;
use object_store::aws::AmazonS3;
use object_store::{GetOptions, ObjectStore, path};

use crate::storage::blobs::s3::{store_error, with_cause};
use crate::storage::error::StoreError;

/// An object of a certain version, not read yet.
#[derive(Clone, Debug)]
pub struct SourceObject {
    pub(super) store: AmazonS3,
    pub(super) path: path::Path,
    pub bytes: u64,
    pub(super) etag: String,
}

/// The reason why a source cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The address is wrong or not allowed.
    #[error("{0}")]
    Address(String),
    #[error("there is no such object; check the bucket and the key in `source`")]
    Missing,
    #[error("the object has changed since the request; send the request again")]
    Changed,
    #[error(
        "the object store answers with a redirect, which is not followed; the operator can check --aws-endpoint-url \
         and --aws-region"
    )]
    Redirected,
    #[error(
        "the object store states no ETag for the object, so that a change while it is read could not be noticed; \
         upload the object instead, with POST /v1/datasets"
    )]
    NoVersion,
    #[error(
        "the credentials of the service may not read the object; the operator can allow s3:GetObject below the \
         prefixes of --sources"
    )]
    Denied,
    /// The store does not answer now.
    #[error("{0}")]
    Store(StoreError),
}

impl SourceObject {
    /// Fetches a part of this version of the object.
    ///
    /// # Errors
    /// [`SourceError::Changed`], or any other fault of the object or of its store.
    pub(super) async fn part(&self, range: Range<u64>) -> Result<Bytes, SourceError> {
        let options = GetOptions {
            if_match: Some(self.etag.clone()),
            range: Some(range.clone().into()),
            ..GetOptions::default()
        };
        let found = self.store.get_opts(&self.path, options).await;
        let found = found.map_err(source_error)?;
        // A store that knows no conditions answers with any version.
        match &found.meta.e_tag {
            Some(etag) if *etag == self.etag => {}
            Some(_) => return Err(SourceError::Changed),
            None => return Err(SourceError::NoVersion),
        }
        let part = found.bytes().await.map_err(source_error)?;
        if part.len() as u64 == range.end - range.start {
            return Ok(part);
        }
        let told = format!("{} bytes arrived for the range {range:?}", part.len());
        Err(SourceError::Store(StoreError::unavailable(told)))
    }
}

/// Converts an error of the library.
pub(super) fn source_error(error: object_store::Error) -> SourceError {
    use object_store::Error::{NotFound, PermissionDenied, Precondition, Unauthenticated};
    match error {
        NotFound { .. } => SourceError::Missing,
        Precondition { .. } => SourceError::Changed,
        PermissionDenied { .. } | Unauthenticated { .. } => SourceError::Denied,
        error => {
            let text = with_cause(&error);
            let is_redirect =
                text.contains("status code: 30") || text.contains("Received redirect");
            match is_redirect {
                true => SourceError::Redirected,
                false => SourceError::Store(store_error(error)),
            }
        }
    }
}
