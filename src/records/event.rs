//! The numbered events of a job.
//!
//! They are numbered from 1 without gaps, and the store keeps the numbers. A reader who lost the connection can
//! therefore resume after the last number, at any replica.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::id::JobId;
use super::time::Timestamp;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    pub job: JobId,
    /// Number of the event within its job, from 1 and without gaps.
    pub sequence: i64,
    pub kind: EventKind,
    /// `progress`: the progress. `status`: `{"status", "attempt"}`. `result`:
    /// `{"status", "result", "error"}`.
    pub body: Value,
    pub at: Timestamp,
}

/// The kind of an event. The last two events of an ended job are the final `status` and the `result`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    Progress,
    Status,
    Result,
}

impl EventKind {
    /// The name in the API and in the store.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Progress => "progress",
            Self::Status => "status",
            Self::Result => "result",
        }
    }
}

/// The text is not the name of a kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the kind of an event must be one of progress, status, result")]
pub struct ParseEventKindError;

impl FromStr for EventKind {
    type Err = ParseEventKindError;

    fn from_str(text: &str) -> Result<Self, ParseEventKindError> {
        [Self::Progress, Self::Status, Self::Result]
            .into_iter()
            .find(|kind| kind.as_str() == text)
            .ok_or(ParseEventKindError)
    }
}
