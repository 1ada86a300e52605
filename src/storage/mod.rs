//! Persistent storage: the [`Store`] over two databases, and blobs beside the database.
//!
//! Storage knows records, SQL and files. It decides nothing about learning or HTTP and starts no work of its own:
//! claiming jobs, renewing leases and sweeping is up to the module `jobs`. All SQL of the program is below this
//! module.
//!
//! - [`Store`] stores records. `tests/store/store_contract.rs` tests its contract on both databases.
//! - [`sql`] holds the methods of the store, each in the file of its subject with its statements. They serve both
//!   databases.
//! - [`sqlite`] opens the embedded database and [`postgres`] the shared one. [`database_url`] selects between them.
//! - [`data_dir`] is the directory of the embedded database and of local blobs.
//! - [`backup`] copies an embedded store while the server uses it.
//! - `reserve` keeps disk space free for cancels and deletions beside an embedded database.
//! - [`blobs`] stores the examples of datasets and jobs, which are too large for rows.
//! - [`sources`] reads objects of others from the buckets that the operator allows.
//! - [`quota`] defines the limits of owners.
//! - [`lease`] defines the leases on jobs, [`delivery`] the leases on callbacks, and [`error`] the errors.
//! - [`terms`] holds the other arguments and outcomes of the store.
//! - [`history`] records the operations on leases for the tests.

pub mod backup;
pub mod blobs;
pub mod data_dir;
pub mod database_url;
pub mod delivery;
pub mod error;
pub mod history;
pub mod lease;
pub mod postgres;
pub mod quota;
mod reserve;
pub mod sources;
pub mod sql;
pub mod sqlite;
pub mod terms;

pub use blobs::url::{BlobLocation, BlobUrl, Bucket};
pub use blobs::{Blob, BlobFile, Blobs, S3Access, SecretString};
pub use data_dir::{DataDir, ScratchDir};
pub use database_url::{DatabaseLocation, DatabaseUrl};
pub use delivery::{
    BusyReceivers, CALLBACK_CLAIMS_MAX, CallbackClaim, CallbackLease, DeliveryOutcome,
};
pub use error::{Result, StoreError};
pub use lease::{
    Alone, Beat, CancelOutcome, Claim, DeleteDatasetOutcome, DeleteOutcome, Fenced, Heartbeat,
    JobEnd, Lease, Requeue, Spent, Swept, WorkerId,
};
pub use postgres::PostgresUrl;
pub use quota::{Limit, OverQuota, QuotaStanding, Quotas, Usage};
pub use sources::{ObjectFacts, Sources, SourcesSetting};
pub use sql::check::CheckedStore;
pub use sql::store::Store;
pub use sql::stored::{Checked, StoredTable};
pub use terms::{
    API_KEYS_MAX, AppendOutcome, ClaimTerms, JobFilter, KeyLookup, ModelFilter, ProcessReport,
    ReleaseTerms, SECONDS_AHEAD_MAX, TimeNote,
};
