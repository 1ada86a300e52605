//! Records: the stored jobs, models, datasets, sessions, events and API keys, and the requests and results of all
//! tasks.
//!
//! The ids, times, owners and pages of these records are defined here too. Records are plain data with the rules that
//! hold in every store, such as the allowed changes of status or the form of an id. They know no database, no queue
//! and no HTTP, and they take clocks and random numbers as parameters.

pub mod api_key;
pub mod bounded_json;
pub mod callback;
pub mod class_weight;
pub mod compare;
pub mod dataset;
pub mod evaluation;
pub mod event;
pub mod experiment;
pub mod experiment_params;
pub mod experiment_part;
pub mod figure;
pub mod grid;
pub mod hypothesis;
mod hypothesis_parts;
pub mod id;
pub mod idempotency;
pub mod import;
pub mod intervals;
pub mod job;
pub mod kernel_document;
pub mod lineage;
pub mod model;
pub mod model_file;
pub mod names;
pub mod owner;
pub mod page;
pub mod process;
pub mod queue;
pub mod schedule;
pub mod separability;
pub mod session;
pub mod stated_classes;
mod support_bits;
pub mod task;
pub mod time;
pub mod trace_parent;
pub mod train;
pub mod train_result;
pub mod written;

pub use api_key::{ApiKey, KeyQuotas, SecretDigest};
pub use callback::{Callback, CallbackState};
pub use dataset::{DataFacts, Dataset, DatasetSummary};
pub use event::{Event, EventKind};
pub use id::{ApiKeyId, DatasetId, Id, JobId, ModelId, ParseIdError, SessionId};
pub use idempotency::{KeyClaim, KeyRecord};
pub use job::{Job, JobError, JobTree, Priority, Progress, Status, SubjobOutcome};
pub use lineage::Lineage;
pub use model::{Model, ModelSummary};
pub use names::Names;
pub use owner::Owner;
pub use page::{Cursor, Page, ParseCursorError, Slice};
pub use process::Role;
pub use schedule::{Demand, JobsAhead, Rank};
pub use time::{Clock, ManualClock, Timestamp};
pub use trace_parent::TraceParent;
