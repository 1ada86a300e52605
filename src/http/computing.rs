//! The one place where routes compute: in the blocking pool and, unless the work is small, under a permit. The time is
//! limited too, except for answers that are streamed as lines.
//!
//! A handler runs on a thread of the runtime, which serves the connections of all clients. A computation there would
//! hold everyone up, and an endless one would stop the service. Anything that takes more than a millisecond therefore
//! goes through this module; no route begins work in the blocking pool by itself (`crates/halfspace-core/tests/tidy`
//! checks that). The work receives a stop flag, for those functions of the libraries that may take long.

use std::time::Duration;

use halfspace_core::learners::engine::run::{CancelOnDrop, Interrupt, StopFlag};
use halfspace_core::learners::predictor::Predictor;
use halfspace_core::learners::sample::examples::Examples;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tokio_util::task::AbortOnDropHandle;

use crate::jobs::raise_after;
use crate::records::Owner;

use crate::http::app_state::App;
use crate::http::extract::work::INLINE_WORDS_MAX;
use crate::http::limits::Limits;
use crate::http::permits::OwnerPermit;
use crate::http::problem::{Code, Problem};

/// Computes a part of an answer for at most `answer_seconds_max`. The permit is held until the work has ended, even
/// if the client has its answer before. Pass `None` for little work, or if the caller holds the permit.
///
/// # Errors
/// Errors of the work, [`Code::INTRACTABLE`] at the limit, and [`Code::INTERNAL`] if the work panics.
pub async fn compute<T: Send + 'static>(
    app: &App,
    permit: Option<OwnerPermit>,
    work: impl FnOnce(&StopFlag) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let limit = Duration::try_from_secs_f64(app.limits.answer_seconds_max);
    let computed = within(limit.unwrap_or(Duration::MAX), permit, work).await;
    computed.unwrap_or_else(|| Err(interrupted(&app.limits, Interrupt::TimeLimit)))
}

/// Computes an answer that needs no examples, such as a figure of a theorem, under a permit of `computations_max`.
///
/// # Errors
/// As for [`compute`], and a lack of permits.
pub async fn compute_figure<T: Send + 'static>(
    app: &App,
    owner: &Owner,
    work: impl FnOnce(&StopFlag) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let permit = app.permits.computations.take(owner).await?;
    compute(app, Some(permit), work).await
}

/// Computes for at most `limit`, then returns `None`. The stop flag is raised there, or when the caller is dropped.
///
/// # Errors
/// Errors of the work, and [`Code::INTERNAL`] if the work panics.
pub async fn within<T: Send + 'static>(
    limit: Duration,
    permit: Option<OwnerPermit>,
    work: impl FnOnce(&StopFlag) -> Result<T, Problem> + Send + 'static,
) -> Option<Result<T, Problem>> {
    let cancel_on_drop = CancelOnDrop::default();
    let stop = cancel_on_drop.flag();
    let begun = Instant::now();
    let computed = begin(permit, move || work(&stop));
    let Ok(computed) = timeout(limit, computed).await else {
        cancel_on_drop.flag().raise(Interrupt::TimeLimit);
        return None;
    };
    // The timer is late by up to a millisecond.
    if begun.elapsed() > limit {
        return None;
    }
    Some(computed.unwrap_or_else(|_| Err(defect())))
}

/// Computes lines that are sent meanwhile, for as long as the client reads them.
///
/// # Errors
/// As for [`within`].
pub async fn stream<T: Send + 'static>(
    permit: OwnerPermit,
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let computed = begin(Some(permit), work).await;
    computed.unwrap_or_else(|_| Err(defect()))
}

/// Begins work in the blocking pool.
pub fn begin<T: Send + 'static>(
    permit: Option<OwnerPermit>,
    work: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    tokio::task::spawn_blocking(move || {
        let _permit = permit;
        work()
    })
}

/// The answer to work that panicked.
pub fn defect() -> Problem {
    let detail = "The computation failed because of a defect in the service.";
    Problem::new(Code::INTERNAL, detail)
}

/// Limits a computation to `answer_seconds_max` from now on, until the returned handle is dropped.
pub fn limit(limits: &Limits, stop: &StopFlag) -> Option<AbortOnDropHandle<()>> {
    raise_after(stop.clone(), limits.answer_seconds_max)
}

/// Limits the decisions of examples. If they are few, no limit is set, because they end before a timer would begin.
pub fn limit_decisions(
    limits: &Limits,
    stop: &StopFlag,
    predictor: &Predictor,
    examples: &dyn Examples,
) -> Option<AbortOnDropHandle<()>> {
    let count = examples.shape().examples as u64;
    match predictor.words_of_work().saturating_mul(count) {
        ..=INLINE_WORDS_MAX => None,
        _ => limit(limits, stop),
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
            Problem::new(Code::INTRACTABLE, detail)
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
