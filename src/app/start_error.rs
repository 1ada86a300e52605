//! The reasons why a service or a command does not start. An error that a setting causes names it.

use crate::storage::StoreError;
use crate::storage::blobs::opening::OpeningError;

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The data directory or the embedded database in it cannot be opened.
    #[error("--data-dir {directory}: {source}")]
    DataDir {
        directory: String,
        source: StoreError,
    },
    /// The data directory contains no embedded database.
    #[error("--data-dir {directory}: the directory has no store")]
    NoStore { directory: String },
    /// The setting is not the URL of a database.
    #[error("--database-url: {0}")]
    DatabaseUrl(String),
    /// The shared database cannot be used.
    #[error("--database-url {shown}: {source}")]
    Database {
        /// The URL without its secret parts.
        shown: String,
        source: StoreError,
    },
    /// The setting is not a place for blobs, or the access to the place is incomplete.
    #[error("--blob-url: {0}")]
    BlobUrl(String),
    /// A prefix is not one of a bucket, or the access to the buckets is incomplete.
    #[error("--sources: {0}")]
    Sources(String),
    /// The place of the blobs cannot be used.
    #[error("--blob-url {shown}: {source}")]
    Blobs { shown: String, source: OpeningError },
    /// The cache is smaller than the largest blob, which could then be stored but not read.
    #[error(
        "--blob-cache-bytes-max: {cache_bytes_max} bytes are too few for one blob, because \
         {named} allow {blob_bytes_max} bytes"
    )]
    BlobCache {
        cache_bytes_max: u64,
        blob_bytes_max: u64,
        /// The settings that allow such blobs.
        named: &'static str,
    },
    /// The address of the service cannot be bound.
    #[error("--listen {address}: {source}")]
    Listen {
        address: String,
        source: std::io::Error,
    },
    /// The address of the operations routes cannot be bound.
    #[error("--ops-listen {address}: {source}")]
    OpsListen {
        address: String,
        source: std::io::Error,
    },
    /// The setting is not a list of origins.
    #[error("--cors-origins: {0}")]
    CorsOrigins(String),
    /// The memory is too small, or the setting exceeds the memory of the machine.
    #[error("--memory-bytes-max: {0}")]
    Memory(String),
    /// The system returns no random numbers.
    #[error("the system gives no random numbers: {0}")]
    Random(String),
    /// The store cannot read or write API keys.
    #[error("keys: {0}")]
    Keys(StoreError),
    /// The metrics recorder cannot be installed.
    #[error("metrics: {0}")]
    Metrics(String),
}
