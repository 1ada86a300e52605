//! What a worker does with one lease in its own memory: it may hold the job back and go on, until it has
//! ended the job or handed it back. These acts happen in one process, so their order is known.

use super::model::Interval;

/// An act of a lease's holder, with its time in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hold {
    Parked(u64),
    Resumed(u64),
    /// Asks to end the job, or to queue it for another worker.
    Asks(u64),
    /// The store has written that.
    Over(u64),
}

impl Hold {
    /// The acts that an operation shows of the worker that asks for it.
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

/// Fails unless the acts of one lease's holder fit each other.
///
/// # Errors
/// The act that does not fit those before it.
pub fn check(acts: &[Hold]) -> Result<(), String> {
    let mut acts = acts.to_vec();
    acts.sort_by_key(Hold::at_ns);
    let (mut is_parked, mut is_over) = (false, false);
    for act in &acts {
        let fits = match act {
            Hold::Parked(_) => !is_parked,
            Hold::Resumed(_) => is_parked,
            // A worker asks again after an error; the job stays as it is meanwhile.
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
