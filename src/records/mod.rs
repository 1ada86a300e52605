//! What is stored: jobs, models, datasets, events, API keys, and the ids, times, owners and pages they are named by.
//!
//! Records are plain data with the rules that hold wherever they are kept: which status may follow
//! which, what an id looks like, how a time is written. They know neither a database nor a queue
//! nor HTTP, and they read no clock and draw no random number: both come in as parameters.

pub mod api_key;
pub mod bounded_json;
pub mod callback;
pub mod certificates;
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
pub mod job;
pub mod kernel_document;
pub mod model;
pub mod model_file;
pub mod names;
pub mod owner;
pub mod page;
pub mod schedule;
pub mod session;
pub mod task;
pub mod time;
pub mod train;
pub mod train_result;
pub mod written;

pub use api_key::{ApiKey, KeyQuotas, SecretDigest};
pub use callback::{Callback, CallbackDocument, CallbackState};
pub use dataset::{Dataset, DatasetSummary};
pub use event::{Event, EventKind};
pub use id::{ApiKeyId, DatasetId, Id, JobId, ModelId, ParseIdError, SessionId};
pub use idempotency::{KeyClaim, KeyRecord};
pub use job::{Job, JobError, Lineage, PartOutcome, Priority, Progress, Status};
pub use model::{Model, ModelSummary};
pub use names::Names;
pub use owner::Owner;
pub use page::{Cursor, Page, ParseCursorError, Slice};
pub use schedule::{Demand, Line, Rank};
pub use time::{Clock, ManualClock, Timestamp};
