//! The state of a training as bytes, and back: a run that goes on from them ends as the one that wrote
//! them would have ended, bit for bit.
//!
//! A state is that of the course and of the rule, the random choices of the order, and where in the
//! examples the run is. It is taken between two turns, or two blocks under one hypothesis, and is
//! good for the same task on the same examples, in the program that wrote it: who keeps it makes sure
//! of that. Before a pass there is none: a shuffle is not broken off, and the state that follows is that of
//! the pass.

use super::run::{Counts, Interrupt};
use super::snapshot::{SnapshotError, SnapshotReader, SnapshotWriter};
use super::source::Stream;
use super::trace::Trace;
use super::train_loop::{Best, Reason, TrainLoop};

/// Limits by which a run may have ended that waits for its report only. A run that ended by another
/// limit, one of its rule's own, goes on from before its end.
const LIMITS: [&str; 4] = ["max_passes", "max_mistakes", "max_examples", "max_seconds"];

/// Larger states are not handed over: a run that has one begins from the beginning.
pub const STATE_BYTES_MAX: usize = 64 << 20;

/// Where in its passes a run is.
#[derive(Clone, Debug, Default)]
pub enum Phase {
    /// Between two of them, or before the first.
    #[default]
    Between,
    /// In a pass example by example.
    Learning {
        /// What was counted before it.
        before: Counts,
        /// Rows of the block at hand that are done.
        rows: usize,
    },
    /// In a pass under one hypothesis.
    Evaluating {
        /// What that got wrong so far.
        wrong: Wrong,
        /// As above.
        rows: usize,
    },
    /// After a pass, whose hypothesis is evaluated from the beginning.
    Judging,
    /// Past the last.
    Ended(Reason),
}

impl Phase {
    /// Rows of the block at hand that are done.
    pub fn rows(&self) -> usize {
        match self {
            Self::Learning { rows, .. } | Self::Evaluating { rows, .. } => *rows,
            Self::Between | Self::Judging | Self::Ended(_) => 0,
        }
    }

    /// Takes note of them.
    pub fn set_rows(&mut self, done: usize) {
        if let Self::Learning { rows, .. } | Self::Evaluating { rows, .. } = self {
            *rows = done;
        }
    }
}

/// Which places of a pass the hypothesis got wrong, a bit each, whatever the sizes of the blocks.
#[derive(Clone, Debug, Default)]
pub struct Wrong {
    /// A bit a place.
    pub masks: Vec<u64>,
    /// How many are set.
    pub errors: u64,
    places: usize,
}

impl Wrong {
    /// Appends the mask of the next `rows` places.
    pub fn push(&mut self, mask: u64, rows: usize) {
        let bits = u64::BITS as usize;
        self.errors += u64::from(mask.count_ones());
        let offset = self.places % bits;
        match self.masks.last_mut() {
            Some(last) if offset > 0 => {
                *last |= mask << offset;
                if offset + rows > bits {
                    self.masks.push(mask >> (bits - offset));
                }
            }
            _ => self.masks.push(mask),
        }
        self.places += rows;
    }

    fn write(&self, snapshot: &mut SnapshotWriter) {
        snapshot.number(self.places as u64);
        snapshot.numbers(self.masks.iter().copied());
    }

    fn read(snapshot: &mut SnapshotReader<'_>) -> Result<Self, SnapshotError> {
        let places = usize::try_from(snapshot.number()?).map_err(|_| SnapshotError)?;
        let masks = snapshot.numbers(places.div_ceil(u64::BITS as usize))?;
        let errors = masks.iter().map(|mask| u64::from(mask.count_ones())).sum();
        Ok(Self {
            masks,
            errors,
            places,
        })
    }
}

impl TrainLoop<'_> {
    /// Hands the state over if somebody wants one now.
    pub(super) fn offer(&mut self, stream: &dyn Stream) {
        let checkpoints = self.run.checkpoints.as_ref();
        if checkpoints.is_some_and(|checkpoints| checkpoints.is_wanted()) {
            self.hand_over(Some(stream));
        }
    }

    /// Takes note of why the run stops here; what is to be said of it. A state is left to whoever
    /// goes on with a run that was suspended, and one to report from where this was a long run.
    pub(super) fn leave(
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

    /// Hands the state over, if there is one and anybody who takes it. `stream` is where the
    /// examples come from, and not needed after the end.
    pub(super) fn hand_over(&mut self, stream: Option<&dyn Stream>) {
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
        snapshot.number(self.best.is_some().into());
        if let Some(best) = &self.best {
            snapshot.numbers([best.pass, best.errors, best.examples]);
            snapshot.bytes(&best.state);
        }
        snapshot.finish_within()
    }

    /// Takes over a state: the run goes on from there.
    ///
    /// # Errors
    /// When it is none of this run; rule, course and order are of no use then.
    pub(super) fn go_on(
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

/// The number that stands for a reason; none of a limit of the rule's own.
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
    fn every_reason_but_a_rules_own_limit_has_a_number_of_its_own() {
        let all: Vec<_> = (0..9).map(|n| reason(n).expect("a reason")).collect();
        for (at, &one) in all.iter().enumerate() {
            assert_eq!(number(one), Some(at as u64));
        }
        assert_eq!(reason(9), None);
        assert_eq!(number(Reason::Limit("restarts")), None);
    }

    #[test]
    fn places_go_on_whatever_the_sizes_of_the_blocks() {
        let mut wrong = Wrong::default();
        for (mask, rows) in [(0b101, 3), (u64::MAX, 64), (0, 1), (0b11, 60)] {
            wrong.push(mask, rows);
        }
        assert_eq!(
            (wrong.errors, wrong.places, wrong.masks.len()),
            (68, 128, 2)
        );
        let mut snapshot = SnapshotWriter::default();
        wrong.write(&mut snapshot);
        let bytes = snapshot.finish();
        let read = Wrong::read(&mut SnapshotReader::new(&bytes)).expect("what was written");
        assert_eq!((read.masks, read.errors), (wrong.masks, wrong.errors));
    }
}
