//! Work that a client waits for: it ends when the client leaves or its time is over.

use halfspace_core::learners::run::{Interrupt, StopFlag};
use tokio_util::task::AbortOnDropHandle;

use crate::jobs::raise_after;

use super::limits::Limits;
use super::problem::{Code, Problem};

/// Held by whoever waits for an answer: the work for it is told to stop when this is dropped.
#[derive(Debug, Default)]
pub struct Attended(StopFlag);

impl Attended {
    /// The flag that the work looks at.
    pub fn stop(&self) -> StopFlag {
        self.0.clone()
    }
}

impl Drop for Attended {
    fn drop(&mut self) {
        self.0.raise(Interrupt::Cancelled);
    }
}

/// Lets the work that begins now go on for `answer_seconds_max`, as long as what is returned lives.
pub fn begin(limits: &Limits, stop: &StopFlag) -> Option<AbortOnDropHandle<()>> {
    raise_after(stop.clone(), limits.answer_seconds_max)
}

/// What work that was told to stop says of it.
pub fn interrupted(limits: &Limits, interrupt: Interrupt) -> Problem {
    match interrupt {
        Interrupt::TimeLimit => {
            let limit = limits.answer_seconds_max;
            let detail = format!(
                "This takes more computing than answer_seconds_max allows: {limit} seconds. \
                 Predictions that are asked for as application/x-ndjson (Accept) are answered \
                 while they are computed, without this limit; an evaluation can be a job, by the \
                 task `evaluate`."
            );
            Problem::new(Code::TOO_MUCH_WORK, detail)
        }
        Interrupt::Cancelled | Interrupt::Suspended => {
            Problem::new(Code::STOPPING, "Nobody waits for the answer any more.")
        }
        Interrupt::Unreadable => {
            Problem::new(Code::DATA_CORRUPT, "The stored examples could not be read.")
        }
        Interrupt::Memory => Problem::new(
            Code::NO_MEMORY,
            "The memory for work (memory_bytes_max) is taken. Send the request again.",
        ),
    }
}
