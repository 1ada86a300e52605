//! The errors of requests about sessions, which know no HTTP status.

use halfspace_core::learners::engine::input::TaskError;
use halfspace_core::learners::engine::session::SessionEnd;
use halfspace_core::memory::NoMemory;

use crate::storage::{OverQuota, StoreError};

use crate::jobs::tasks::error::ResolveError;

#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No such session.
    #[error("no such session")]
    NotFound,
    /// The requested session is invalid.
    #[error(transparent)]
    Unresolvable(#[from] ResolveError),
    /// The session cannot learn from an example, and has learnt neither this one nor any after it.
    #[error(transparent)]
    Unfit(#[from] TaskError),
    /// The session is at another position than the request expects, and has learnt nothing.
    #[error(
        "the session stands at position {position}; send the examples after it with `If-Match: \"{position}\"`"
    )]
    Elsewhere { position: u64 },
    /// The session has ended.
    #[error("the session ended at position {position} and accepts no more examples: {end}")]
    Ended { position: u64, end: SessionEnd },
    /// The session would end before the last example, but the request wants all of them learnt or none.
    #[error(
        "the session would end at example {last} of the request, so no example was learnt; send \
         only the first {last} examples"
    )]
    EndsWithin { last: usize },
    /// The session has open classes and cannot predict yet.
    #[error(
        "the classes seen so far: {classes}; a session of open classes predicts, and can be saved as a model, once it \
         has seen three; open a session with a list of `classes` to tell two apart"
    )]
    FewClasses { classes: usize },
    /// Another request is writing.
    #[error("another request is writing to the session")]
    Busy,
    /// The computation exceeded its time limit.
    #[error(
        "learning these examples takes longer than answer_seconds_max, {seconds} seconds; send \
         fewer examples at once"
    )]
    TooLong { seconds: f64 },
    /// A quota would be exceeded.
    #[error(transparent)]
    OverQuota(OverQuota),
    /// The memory budget of the process has no memory for the session.
    #[error(transparent)]
    NoMemory(#[from] NoMemory),
    /// The computation met a defect.
    #[error("the computation failed because of a defect in the service")]
    Broken,
    /// The process is stopping.
    #[error("the service is stopping")]
    Stopping,
}
