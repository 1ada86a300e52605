//! The whole sample in memory, for tasks that look at all of it: sent along, stored, or drawn.

use std::borrow::Cow;

use crate::learners::data::Data;
use crate::learners::generate::{Generated, Plan};
use crate::learners::random::Seed;
use crate::learners::run::Run;
use crate::learners::task::{Input, TaskError};

use super::work::ResolveError;

/// Checks that there is a whole sample, and `check_data` of it. Generated data are looked at by
/// one example, which is enough to see what any would be refused for.
pub(super) fn check(
    input: Input<'_>,
    seed: Seed,
    state_bytes_max: u64,
    check_data: impl FnOnce(&Data) -> Result<(), ResolveError>,
) -> Result<(), ResolveError> {
    let refused = |detail: &str| Err(TaskError::WrongData(detail.to_owned()).into());
    match input {
        Input::Sample { data, .. } => check_data(data),
        Input::Generated(plan) => {
            let Some(count) = plan.count else {
                return refused("this needs the whole sample: give the data a count");
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
            check_data(&Generated::materialise(plan, seed, &Run::default()))
        }
    }
}

/// The sample.
pub(super) fn of<'a>(input: Input<'a>, seed: Seed, run: &Run) -> Cow<'a, Data> {
    match input {
        Input::Sample { data, .. } => Cow::Borrowed(data),
        Input::Generated(plan) => Cow::Owned(Generated::materialise(plan.clone(), seed, run)),
    }
}
