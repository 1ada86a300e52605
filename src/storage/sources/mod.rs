//! Sources: objects in buckets that belong to others, from prefixes that the operator allows.
//!
//! They are read with the client of the blobs: the same credentials, server, timeouts and retries. Nothing outside the
//! prefixes is asked for, and no redirect is followed. What an object contains is not known here.
//!
//! - [`url`] decides which addresses are allowed.
//! - [`object`] is one version of an object.
//! - [`reader`] reads an object in order, in parts of one version.

pub mod object;
pub mod reader;
pub mod url;

use std::collections::HashMap;

use object_store::aws::AmazonS3;
use object_store::{Attribute, GetOptions, ObjectStore, path};

use self::object::source_error;
use self::url::{SourcePrefix, SourceUrl};
use super::blobs::S3Access;
use super::blobs::s3::source_store;

pub use self::object::{SourceError, SourceObject};
pub use self::reader::SourceReader;
pub use self::url::SourcesSetting;

/// The objects that the operator allows to be read.
#[derive(Debug)]
pub struct Sources {
    prefixes: Vec<SourcePrefix>,
    /// The client of each bucket.
    buckets: HashMap<String, AmazonS3>,
}

/// What a store tells about an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectFacts {
    pub bytes: u64,
    /// Identifies the version of the object.
    pub etag: String,
    /// The Content-Type, if the object has one.
    pub media_type: Option<String>,
    /// The Content-Encoding, if the object has one.
    pub content_encoding: Option<String>,
}

impl Sources {
    /// Prepares the clients of all buckets. Sends no request.
    ///
    /// # Errors
    /// The mistake in the setting or in the access to the buckets, without their values.
    pub fn new(settings: &[SourcesSetting], access: &S3Access) -> Result<Self, String> {
        let prefixes = settings.iter().map(SourcesSetting::prefix);
        let prefixes: Vec<_> = prefixes.collect::<Result<_, _>>()?;
        let mut buckets = HashMap::new();
        for prefix in &prefixes {
            if !buckets.contains_key(&prefix.bucket) {
                let store = source_store(&prefix.bucket, access)?;
                buckets.insert(prefix.bucket.clone(), store);
            }
        }
        Ok(Self { prefixes, buckets })
    }

    /// The allowed prefixes.
    pub fn prefixes(&self) -> &[SourcePrefix] {
        &self.prefixes
    }

    /// Asks the store about an object.
    ///
    /// # Errors
    /// Any [`SourceError`] but a change.
    pub async fn look(&self, address: &str) -> Result<ObjectFacts, SourceError> {
        let (store, path) = self.place(address)?;
        let options = GetOptions {
            head: true,
            ..GetOptions::default()
        };
        let found = store.get_opts(&path, options).await.map_err(source_error)?;
        let text = |attribute: &Attribute| {
            let value = found.attributes.get(attribute)?;
            Some(value.as_ref().to_owned())
        };
        Ok(ObjectFacts {
            bytes: found.meta.size,
            media_type: text(&Attribute::ContentType),
            content_encoding: text(&Attribute::ContentEncoding),
            etag: found.meta.e_tag.ok_or(SourceError::NoVersion)?,
        })
    }

    /// The object of this length and version. Sends no request.
    ///
    /// # Errors
    /// [`SourceError::Address`].
    pub fn object(
        &self,
        address: &str,
        bytes: u64,
        etag: &str,
    ) -> Result<SourceObject, SourceError> {
        let (store, path) = self.place(address)?;
        Ok(SourceObject {
            store: store.clone(),
            path,
            bytes,
            etag: etag.to_owned(),
        })
    }

    fn place(&self, address: &str) -> Result<(&AmazonS3, path::Path), SourceError> {
        let url = SourceUrl::within(address, &self.prefixes).map_err(SourceError::Address)?;
        let store = self.buckets.get(&url.bucket);
        let store = store.expect("every prefix has a client");
        let wrong = |error: path::Error| SourceError::Address(error.to_string());
        Ok((store, path::Path::parse(&url.key).map_err(wrong)?))
    }
}
