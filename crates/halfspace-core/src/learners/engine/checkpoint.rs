//! Checkpoints of a training: the state of the train loop as bytes. A run that resumes from them ends with exactly
//! the same result as the run that wrote them.
//!
//! The bytes contain the counts, the mistake curve, the state of the rule, the best hypothesis so far, the random
//! generators and the position in the examples. They are written between two calls of `RunState::learn`, between two
//! blocks while a hypothesis is evaluated, or at the end. They are valid only for the same task on the same examples in
//! the same program version, which their owner must ensure.
//!
//! Between two passes there is no state to write, and none is needed: a suspension does not interrupt a shuffle, so the
//! next state belongs to the new pass.

use crate::learners::engine::phase::Best;
use crate::learners::engine::phase::{Phase, Wrong};
use crate::learners::engine::reason::Reason;
use crate::learners::engine::run::{Counts, Interrupt};
use crate::learners::engine::run_state::Tested;
use crate::learners::engine::snapshot::{SnapshotError, SnapshotReader, SnapshotWriter};
use crate::learners::engine::trace::Trace;
use crate::learners::engine::train_loop::TrainLoop;
use crate::learners::sample::source::Stream;

/// Limits after which the final state is written, so that the report can be repeated. A run that ended by a limit of
/// its rule resumes from a state before the end.
const LIMITS: [&str; 4] = ["max_passes", "max_mistakes", "max_examples", "max_seconds"];

/// Largest state in bytes. A run with a larger state is not checkpointed and restarts from the beginning.
pub const STATE_BYTES_MAX: usize = 64 << 20;

impl TrainLoop<'_> {
    /// Hands over the state if the owner of the run wants a checkpoint now.
    pub(crate) fn offer(&mut self, stream: &dyn Stream) {
        let checkpoints = self.run.checkpoints.as_ref();
        if checkpoints.is_some_and(|checkpoints| checkpoints.is_wanted()) {
            self.hand_over(Some(stream));
        }
    }

    /// Records the end of the run and returns the result. A suspended run hands over the state to resume from. A run
    /// that ends after an earlier checkpoint hands over its final state too, so that only the report would have to be
    /// repeated.
    pub(crate) fn leave(
        &mut self,
        stop: Result<Reason, Interrupt>,
        stream: &dyn Stream,
    ) -> Result<Reason, Interrupt> {
        match stop {
            Ok(reason) => {
                self.phase = Phase::Ended(reason);
                if self.was_handed_over {
                    self.hand_over(None);
                }
            }
            Err(Interrupt::Suspended) => self.hand_over(Some(stream)),
            Err(_) => {}
        }
        stop
    }

    /// Hands over the state, if the run has one and somebody to receive it. `stream` provides the position in the
    /// examples and is not needed after the end.
    pub(crate) fn hand_over(&mut self, stream: Option<&dyn Stream>) {
        let is_state = match self.phase {
            Phase::Between => false,
            Phase::Learning { .. } | Phase::Evaluating { .. } | Phase::Judging => stream.is_some(),
            Phase::Ended(reason) => number(reason).is_some(),
        };
        let run = self.run;
        if let Some(checkpoints) = run.checkpoints.as_ref().filter(|_| is_state) {
            let counts = self.course.counts;
            checkpoints.take(&counts, &mut || self.written(stream));
            self.was_handed_over = true;
        }
    }

    fn written(&mut self, stream: Option<&dyn Stream>) -> Option<Vec<u8>> {
        let mut snapshot = SnapshotWriter::of_at_most(STATE_BYTES_MAX);
        snapshot.generator(&self.order);
        self.course.write_counts(&mut snapshot);
        snapshot.number(self.course.watch.is_some().into());
        self.course.write_watch(&mut snapshot);
        Tested::write(self.course.tested, &mut snapshot);
        snapshot.number(self.course.is_first_pass.into());
        if let Some(trace) = &self.course.trace {
            trace.write(&mut snapshot);
        }
        match &self.phase {
            Phase::Between => unreachable!("no state is written there"),
            Phase::Learning { before, rows } => {
                snapshot.numbers([1, *rows as u64]);
                before.write(&mut snapshot);
            }
            Phase::Evaluating { wrong, rows } => {
                snapshot.numbers([2, *rows as u64]);
                wrong.write(&mut snapshot);
            }
            Phase::Ended(reason) => {
                let reason = number(*reason).expect("asked for before");
                snapshot.numbers([3, reason]);
            }
            Phase::Judging => snapshot.numbers([4, 0]),
        }
        if let (Some(stream), false) = (stream, matches!(self.phase, Phase::Ended(_))) {
            stream.mark(&mut snapshot);
        }
        self.rule.snapshot(&mut snapshot);
        if let Some(kept) = &self.kept {
            kept.write(&mut snapshot);
        }
        snapshot.number(self.best.is_some().into());
        if let Some(best) = &self.best {
            snapshot.numbers([best.pass, best.errors, best.examples]);
            snapshot.bytes(&best.state);
        }
        snapshot.finish_within()
    }

    /// Restores a state so that the run resumes from there.
    ///
    /// # Errors
    /// Returns an error if the bytes are not a state of this run. Rule, run state and order are then unusable.
    pub(crate) fn resume(
        &mut self,
        state: &[u8],
        stream: &mut dyn Stream,
    ) -> Result<(), SnapshotError> {
        let mut snapshot = SnapshotReader::new(state);
        self.order = snapshot.generator()?;
        self.course.read_counts(&mut snapshot)?;
        if snapshot.number()? == 0 {
            self.course.watch = None;
        }
        self.course.read_watch(&mut snapshot)?;
        self.course.tested = Tested::read(&mut snapshot)?;
        self.course.is_first_pass = snapshot.number()? == 1;
        if let Some(trace) = &mut self.course.trace {
            *trace = Trace::read(&mut snapshot)?;
        }
        let (phase, number) = (snapshot.number()?, snapshot.number()?);
        let rows = usize::try_from(number).map_err(|_| SnapshotError)?;
        self.phase = match phase {
            1 => Phase::Learning {
                before: Counts::read(&mut snapshot)?,
                rows,
            },
            2 => Phase::Evaluating {
                wrong: Wrong::read(&mut snapshot)?,
                rows,
            },
            3 => Phase::Ended(reason(number).ok_or(SnapshotError)?),
            4 => Phase::Judging,
            _ => return Err(SnapshotError),
        };
        if phase != 3 {
            stream.seek(&mut snapshot)?;
        }
        self.rule.restore(&mut snapshot)?;
        if let Some(kept) = &mut self.kept {
            kept.read(&mut snapshot)?;
        }
        self.best = match snapshot.number()? {
            0 => None,
            _ => Some(Best {
                pass: snapshot.number()?,
                errors: snapshot.number()?,
                examples: snapshot.number()?,
                state: snapshot.bytes()?.to_vec(),
            }),
        };
        snapshot.end()?;
        self.was_handed_over = true;
        self.run.progress.show(&self.course.counts);
        Ok(())
    }
}

/// The number that encodes a reason, or `None` for a limit of the rule itself.
fn number(reason: Reason) -> Option<u64> {
    Some(match reason {
        Reason::Confident => 0,
        Reason::Converged => 1,
        Reason::Consistent => 2,
        Reason::Exhausted => 3,
        Reason::Cancelled => 4,
        Reason::Limit(name) => 5 + LIMITS.iter().position(|limit| *limit == name)? as u64,
    })
}

fn reason(number: u64) -> Option<Reason> {
    Some(match number {
        0 => Reason::Confident,
        1 => Reason::Converged,
        2 => Reason::Consistent,
        3 => Reason::Exhausted,
        4 => Reason::Cancelled,
        _ => Reason::Limit(LIMITS.get(usize::try_from(number - 5).ok()?)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkpoint_reasons_have_distinct_numbers() {
        let all: Vec<_> = (0..9).map(|n| reason(n).expect("a reason")).collect();
        for (at, &one) in all.iter().enumerate() {
            assert_eq!(number(one), Some(at as u64));
        }
        assert_eq!(reason(9), None);
        assert_eq!(number(Reason::Limit("restarts")), None);
    }
}
