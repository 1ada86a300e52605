//! What happened to a job, numbered.
//!
//! Events of one job are numbered from 1 without gaps, and the numbers are stored, so that a reader
//! who lost the connection goes on from the last number on any replica.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::id::JobId;
use super::time::Timestamp;

/// One thing that happened to a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    pub job: JobId,
    /// From 1, per job, without gaps.
    pub sequence: i64,
    pub kind: EventKind,
    /// `progress`: the progress. `status`: `{"status", "attempt"}`. `result`: `{"status", "result",
    /// "error"}`.
    pub body: Value,
    pub at: Timestamp,
}

/// What an event tells. An ended job's last two events are its final `status` and its `result`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    Progress,
    Status,
    Result,
}

impl EventKind {
    /// The name in the contract, which is also the name in the store.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Progress => "progress",
            Self::Status => "status",
            Self::Result => "result",
        }
    }
}

/// The text names no kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a kind of event is one of progress, status, result")]
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
