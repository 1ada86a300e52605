//! Time limit of a computation whose client waits for the answer.

use halfspace_core::learners::engine::run::{Interrupt, StopFlag};
use halfspace_core::learners::hypothesis::Hypothesis;
use halfspace_core::learners::sample::examples::Examples;
use tokio_util::task::AbortOnDropHandle;

use crate::jobs::raise_after;

use crate::http::extract::work::INLINE_WORDS_MAX;
use crate::http::limits::Limits;
use crate::http::problem::{Code, Problem};

/// Limits a computation to `answer_seconds_max` from now on. Dropping the returned handle removes the limit.
pub fn begin(limits: &Limits, stop: &StopFlag) -> Option<AbortOnDropHandle<()>> {
    raise_after(stop.clone(), limits.answer_seconds_max)
}

/// Limits the decisions of examples. A few decisions get no limit, because they end before a timer would begin.
pub fn begin_decisions(
    limits: &Limits,
    stop: &StopFlag,
    hypothesis: &Hypothesis,
    examples: &dyn Examples,
) -> Option<AbortOnDropHandle<()>> {
    let count = examples.shape().examples as u64;
    match hypothesis.words_of_work().saturating_mul(count) {
        ..=INLINE_WORDS_MAX => None,
        _ => begin(limits, stop),
    }
}

/// The problem for an interrupted computation.
pub fn interrupted(limits: &Limits, interrupt: Interrupt) -> Problem {
    match interrupt {
        Interrupt::TimeLimit => {
            let limit = limits.answer_seconds_max;
            let detail = format!(
                "This takes more computing time than answer_seconds_max allows: {limit} seconds. \
                 Ask for less. Predictions as `Accept: application/x-ndjson` and evaluations as a \
                 job with the task `evaluate` have no such limit."
            );
            Problem::new(Code::TOO_MUCH_WORK, detail)
        }
        Interrupt::Cancelled | Interrupt::Suspended => Problem::stopped(interrupt),
        Interrupt::Unreadable => {
            Problem::new(Code::DATA_CORRUPT, "The stored examples could not be read.")
        }
        Interrupt::Memory => Problem::new(
            Code::NO_MEMORY,
            "Other work uses all memory (memory_bytes_max). Retry the request later.",
        ),
    }
}
