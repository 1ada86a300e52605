//! How far a run is: what was counted, what would end it, and what one block of examples does to
//! that. The train loop takes it over passes, a session over whatever comes in.

use std::ops::Range;

use super::block::Block;
use super::random::Generator;
use super::rule::{Rule, Update};
use super::run::{Counts, Interrupt, Limits, Run};
use super::snapshot::{SnapshotError, SnapshotReader, SnapshotWriter};
use super::stopping::Watch;
use super::trace::{Trace, TracePoint};
use super::train_loop::Reason;

/// The state of a run beside its rule.
#[derive(Clone, Debug)]
pub struct Course {
    /// What ends it.
    pub limits: Limits,
    /// Watches for confidence while the examples are fresh; gone after the first pass.
    pub watch: Option<Watch>,
    /// The mistake curve, if wanted.
    pub trace: Option<Trace>,
    /// The learner's random choices.
    pub random: Generator,
    /// What was counted.
    pub counts: Counts,
    /// Whether the rule's last word was [`Update::Awaiting`]: it is not asked for every example.
    pub is_awaiting: bool,
}

/// The outcome of one block or pass: go on, or the end of the run.
pub type Step = Result<(), Stop>;

/// Why a run does not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It ended.
    End(Reason),
    /// It was given up, and nothing comes of it.
    GivenUp(Interrupt),
}

impl From<Interrupt> for Stop {
    fn from(interrupt: Interrupt) -> Self {
        match interrupt {
            Interrupt::TimeLimit => Self::End(Reason::Limit("max_seconds")),
            Interrupt::Cancelled => Self::End(Reason::Cancelled),
            Interrupt::Suspended | Interrupt::Unreadable | Interrupt::Memory => {
                Self::GivenUp(interrupt)
            }
        }
    }
}

impl Stop {
    /// As the train loop answers.
    ///
    /// # Errors
    /// [`Interrupt::Suspended`] or [`Interrupt::Unreadable`] when the run was given up.
    pub fn into_reason(self) -> Result<Reason, Interrupt> {
        match self {
            Self::End(reason) => Ok(reason),
            Self::GivenUp(why) => Err(why),
        }
    }
}

/// What became of some examples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// A batch consumed them untested.
    Absorbed,
    /// The hypothesis was right on each.
    Consistent,
    /// It was right on each but the last.
    MistakenLast,
}

/// One turn: as many of the examples shown as meet the rule in one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// How many.
    pub rows: usize,
    /// What became of them.
    pub shown: Shown,
    /// Whether the run goes on.
    pub step: Step,
}

impl Course {
    /// Writes what was counted.
    pub fn write_counts(&self, snapshot: &mut SnapshotWriter) {
        self.counts.write(snapshot);
        snapshot.number(self.is_awaiting.into());
    }

    /// Takes over what [`Self::write_counts`] wrote.
    ///
    /// # Errors
    /// When it is cut off.
    pub fn read_counts(&mut self, snapshot: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        self.counts = Counts::read(snapshot)?;
        self.is_awaiting = snapshot.number()? == 1;
        Ok(())
    }

    /// Writes how far a watch is, if there is one, and the generator.
    pub fn write_watch(&self, snapshot: &mut SnapshotWriter) {
        if let Some(watch) = &self.watch {
            snapshot.numbers(watch.state());
        }
        snapshot.generator(&self.random);
    }

    /// Takes over what [`Self::write_watch`] wrote of a course that had a watch if this one has.
    ///
    /// # Errors
    /// When it is no such state.
    pub fn read_watch(&mut self, snapshot: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        if let Some(watch) = self.watch.take() {
            let state = [snapshot.number()?, snapshot.number()?, snapshot.number()?];
            self.watch = Some(watch.with_state(state).ok_or(SnapshotError)?);
        }
        self.random = snapshot.generator()?;
        Ok(())
    }

    /// Shows the rule the first of `rows`, which are not empty: as many as it absorbs, as it is
    /// right on, or up to its first mistake.
    ///
    /// Once `run` was told to stop for another reason than [`Interrupt::Suspended`], the state is
    /// of no use any more.
    pub fn turn(
        &mut self,
        rule: &mut dyn Rule,
        run: &Run,
        block: &Block<'_>,
        rows: Range<usize>,
    ) -> Turn {
        let first = rows.start;
        let left = rows.len() as u64;
        let readable = self.examples_left().map_or(left, |most| left.min(most));
        if self.is_awaiting {
            let count = readable.min(rule.awaits()) as usize;
            let update = rule.absorb(block, first..first + count, &mut self.random);
            self.counts.examples += count as u64;
            return Turn {
                rows: count,
                shown: Shown::Absorbed,
                step: self.count(update).and_then(|()| self.check_limits()),
            };
        }
        let headroom = self.watch.as_ref().map_or(readable, Watch::headroom);
        let count = readable.min(headroom) as usize;
        let mistake = rule.first_mistake(block, first..first + count, &run.stop);
        // Who is to go on later must not lose what this did to the state, where it did anything.
        let is_void = |why| why != Interrupt::Suspended || rule.may_break_off();
        if run.stop.raised().is_some_and(is_void)
            && let Err(stop) = self.look_outside(run)
        {
            return Turn {
                rows: 0,
                shown: Shown::Consistent,
                step: Err(stop),
            };
        }
        match mistake {
            None => {
                self.counts.examples += count as u64;
                Turn {
                    rows: count,
                    shown: Shown::Consistent,
                    step: self.consistent(count as u64),
                }
            }
            Some(at) => {
                let rows = at + 1 - first;
                self.counts.examples += rows as u64;
                let learnt = self.mistake(rule, block, at);
                Turn {
                    rows,
                    shown: Shown::MistakenLast,
                    step: learnt.and_then(|()| self.check_limits()),
                }
            }
        }
    }

    /// Shows progress, and ends the run when somebody outside asked for it.
    ///
    /// # Errors
    /// The end.
    pub fn look_outside(&self, run: &Run) -> Step {
        run.progress.show(&self.counts);
        match run.stop.raised() {
            None => Ok(()),
            Some(interrupt) => Err(interrupt.into()),
        }
    }

    fn consistent(&mut self, count: u64) -> Step {
        let watch = self.watch.as_mut();
        if watch.is_some_and(|watch| watch.consistent(count)) {
            return Err(Stop::End(Reason::Confident));
        }
        self.check_limits()
    }

    /// Learns from an example that the hypothesis got wrong.
    ///
    /// # Errors
    /// The end, when the rule met a limit of its own.
    pub fn mistake(&mut self, rule: &mut dyn Rule, block: &Block<'_>, row: usize) -> Step {
        self.note_mistake();
        let update = rule.update(block, row, &mut self.random);
        self.count(update)
    }

    /// Makes a search's next hypothesis, the present one having failed.
    ///
    /// # Errors
    /// The end, when the search met a limit of its own.
    pub fn search(&mut self, rule: &mut dyn Rule) -> Step {
        self.note_mistake();
        let update = rule.search(&mut self.random);
        self.count(update)
    }

    fn note_mistake(&mut self) {
        self.counts.mistakes += 1;
        if let Some(watch) = &mut self.watch {
            watch.mistake();
        }
        let point = self.point();
        if let Some(trace) = &mut self.trace {
            trace.mistake(point);
        }
    }

    fn count(&mut self, update: Update) -> Step {
        self.is_awaiting = update == Update::Awaiting;
        match update {
            Update::Changed => self.counts.updates += 1,
            Update::Unchanged | Update::Awaiting => {}
            Update::Refused(limit) => return Err(Stop::End(Reason::Limit(limit))),
        }
        Ok(())
    }

    /// The end of the mistake curve: where the run stands.
    pub fn point(&self) -> TracePoint {
        TracePoint {
            examples: self.counts.examples,
            mistakes: self.counts.mistakes,
        }
    }

    fn examples_left(&self) -> Option<u64> {
        let max = self.limits.max_examples?;
        Some(max.saturating_sub(self.counts.examples))
    }

    /// Whether a limit is reached.
    ///
    /// # Errors
    /// The end, with the limit's name.
    pub fn check_limits(&self) -> Step {
        let reached = |max: Option<u64>, count| max.is_some_and(|max| count >= max);
        // The last mistake's update comes first: its batch is read to the end.
        if !self.is_awaiting && reached(self.limits.max_mistakes, self.counts.mistakes) {
            return Err(Stop::End(Reason::Limit("max_mistakes")));
        }
        if reached(self.limits.max_examples, self.counts.examples) {
            return Err(Stop::End(Reason::Limit("max_examples")));
        }
        Ok(())
    }
}
