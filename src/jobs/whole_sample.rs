//! The whole sample, for tasks that need all examples: from the request, from the store, or drawn.

use halfspace_core::learners::engine::random::Seed;
use halfspace_core::learners::engine::run::Run;
use halfspace_core::learners::engine::task::{Input, TaskError};
use halfspace_core::learners::sample::data::Data;
use halfspace_core::learners::sample::examples::Examples;
use halfspace_core::learners::sample::generate::{Generated, Plan};

use super::work::ResolveError;

/// Refuses stored examples that do not fit into memory as a whole.
pub(super) fn check_size(input: Input<'_>, state_bytes_max: u64) -> Result<(), ResolveError> {
    let Input::Sample { data, .. } = input else {
        return Ok(());
    };
    let (needed, limit) = (data.shape().memory_bytes(), state_bytes_max);
    // A sample in memory was measured when the request was read.
    if data.in_memory().is_none() && needed > limit {
        return Err(TaskError::TooLarge { needed, limit }.into());
    }
    Ok(())
}

/// Checks that the sample is finite, and calls `check_examples`. Generated data are checked by one example,
/// because all their examples pass or fail together.
pub(super) fn check(
    input: Input<'_>,
    seed: Seed,
    state_bytes_max: u64,
    check_examples: impl FnOnce(&dyn Examples) -> Result<(), ResolveError>,
) -> Result<(), ResolveError> {
    let refused = |detail: &str| Err(TaskError::WrongData(detail.to_owned()).into());
    match input {
        Input::Sample { data, .. } => check_examples(data),
        Input::Generated(plan) => {
            let Some(count) = plan.count else {
                return refused(
                    "the task needs the whole sample; set a count for the generated data",
                );
            };
            let limit = state_bytes_max;
            let needed = count.saturating_mul(plan.target.n().div_ceil(64) as u64 * 8);
            if needed > limit {
                return Err(TaskError::TooLarge { needed, limit }.into());
            }
            let plan = Plan {
                count: Some(1),
                ..plan.clone()
            };
            check_examples(&Generated::materialise(plan, seed, &Run::default()))
        }
    }
}

/// A finite sample.
pub(super) enum Whole<'a> {
    /// In memory or in a blob.
    AtRest(&'a dyn Examples),
    /// Drawn into memory.
    Drawn(Data),
}

impl<'a> Whole<'a> {
    pub(super) fn of(input: Input<'a>, seed: Seed, run: &Run) -> Self {
        match input {
            Input::Sample { data, .. } => Self::AtRest(data),
            Input::Generated(plan) => Self::Drawn(Generated::materialise(plan.clone(), seed, run)),
        }
    }

    pub(super) fn examples(&self) -> &dyn Examples {
        match self {
            Self::AtRest(examples) => *examples,
            Self::Drawn(data) => data,
        }
    }
}
