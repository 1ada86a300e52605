//! Time limit of a computation whose client waits for the answer.

use halfspace_core::learners::engine::run::{Interrupt, StopFlag};
use tokio_util::task::AbortOnDropHandle;

use crate::jobs::raise_after;

use crate::http::limits::Limits;
use crate::http::problem::{Code, Problem};

/// Limits a computation to `answer_seconds_max` from now on. Dropping the returned handle removes the limit.
pub fn begin(limits: &Limits, stop: &StopFlag) -> Option<AbortOnDropHandle<()>> {
    raise_after(stop.clone(), limits.answer_seconds_max)
}

/// The problem for an interrupted computation.
pub fn interrupted(limits: &Limits, interrupt: Interrupt) -> Problem {
    match interrupt {
        Interrupt::TimeLimit => {
            let limit = limits.answer_seconds_max;
            let detail = format!(
                "This takes more computing time than answer_seconds_max allows: {limit} seconds. \
                 For predictions without this limit, send Accept: application/x-ndjson. For an \
                 evaluation, create a job with the task `evaluate`."
            );
            Problem::new(Code::TOO_MUCH_WORK, detail)
        }
        Interrupt::Cancelled | Interrupt::Suspended => Problem::new(
            Code::STOPPING,
            "The request ended before its answer was complete.",
        ),
        Interrupt::Unreadable => {
            Problem::new(Code::DATA_CORRUPT, "The stored examples could not be read.")
        }
        Interrupt::Memory => Problem::new(
            Code::NO_MEMORY,
            "Other work uses all memory (memory_bytes_max). Retry the request later.",
        ),
    }
}
