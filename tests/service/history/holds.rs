//! What a worker does with a job under its lease, in its own memory: it may park and resume the job until the job has
//! ended or returned to the queue. All of this happens in one process, so the order is known.

use super::model::Interval;

/// An act of a lease's holder, with its time in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hold {
    Parked(u64),
    Resumed(u64),
    /// Asks the store to end or requeue the job.
    Asks(u64),
    /// The store has ended or requeued the job.
    Over(u64),
}

impl Hold {
    /// The acts of the worker that this operation shows.
    pub fn of(operation: &str, is_written: bool, at: Interval) -> Vec<Self> {
        if !matches!(operation, "finish" | "requeue" | "preempt") {
            return Vec::new();
        }
        let over = at.answer_ns.filter(|_| is_written).map(Self::Over);
        [Self::Asks(at.call_ns)].into_iter().chain(over).collect()
    }

    fn at_ns(&self) -> u64 {
        match *self {
            Self::Parked(at) | Self::Resumed(at) | Self::Asks(at) | Self::Over(at) => at,
        }
    }
}

/// Checks that the acts of one lease's holder fit each other.
///
/// # Errors The first act that does not fit the acts before it.
pub fn check(acts: &[Hold]) -> Result<(), String> {
    let mut acts = acts.to_vec();
    acts.sort_by_key(Hold::at_ns);
    let (mut is_parked, mut is_over) = (false, false);
    for act in &acts {
        let fits = match act {
            Hold::Parked(_) => !is_parked,
            Hold::Resumed(_) => is_parked,
            // A worker asks again after an error. The job does not change meanwhile.
            Hold::Asks(_) | Hold::Over(_) => true,
        };
        if !fits || is_over {
            return Err(format!(
                "{act:?} does not fit the acts of its holder: {acts:?}"
            ));
        }
        match act {
            Hold::Parked(_) => is_parked = true,
            Hold::Resumed(_) => is_parked = false,
            Hold::Asks(_) => {}
            Hold::Over(_) => is_over = true,
        }
    }
    Ok(())
}
