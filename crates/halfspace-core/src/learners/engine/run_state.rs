//! The state of a run beside its rule: the counts, the limits, the confidence watch and the mistake curve.
//!
//! [`RunState`] shows examples to the rule, counts the results and decides when the run ends. This file knows
//! neither passes nor the source of the examples. The train loop applies a [`RunState`] to passes, and a
//! session applies one to incoming examples.

use std::ops::Range;

use crate::learners::engine::random::Generator;
use crate::learners::engine::reason::{MAX_SECONDS, Reason};
use crate::learners::engine::rule::{OnlineRule, SearchRule};
use crate::learners::engine::run::{Counts, Interrupt, Run, RunLimits};
use crate::learners::engine::snapshot::{SnapshotError, SnapshotReader, SnapshotWriter};
use crate::learners::engine::stopping::Watch;
use crate::learners::engine::trace::{Trace, TracePoint};
use crate::learners::engine::update::{Learnt, Update};
use crate::learners::sample::block::Block;

/// State of a run beside its rule.
#[derive(Clone, Debug)]
pub struct RunState {
    /// Limits that end the run.
    pub limits: RunLimits,
    /// Watches for confidence while the examples are fresh. The train loop removes the watch after the first
    /// pass.
    pub watch: Option<Watch>,
    /// The mistake curve if the task requests one.
    pub trace: Option<Trace>,
    /// Generator of the learner's random choices.
    pub random: Generator,
    /// Counts so far.
    pub counts: Counts,
    /// The tests of the first pass. `None` if they are unknown, or if the rule does not test examples one by one.
    pub tested: Option<Tested>,
    /// Whether the examples are still those of the first pass.
    pub is_first_pass: bool,
    /// Whether the last update returned [`Update::Awaiting`]. This flag avoids a call of the rule per
    /// example.
    pub is_awaiting: bool,
}

/// The tests of the first pass over the examples. Each hypothesis met examples that it had not learnt from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tested {
    /// Number of tested examples. A batch consumes examples untested.
    pub examples: u64,
    /// Examples that the present hypothesis got wrong. One more is the number of the last hypothesis.
    pub mistakes: u64,
    /// Consistent examples since the last mistake of the pass.
    pub run_length: u64,
}

impl Tested {
    /// Writes the counts, or their absence.
    pub fn write(tested: Option<Self>, snapshot: &mut SnapshotWriter) {
        let Self {
            examples,
            mistakes,
            run_length,
        } = tested.unwrap_or_default();
        snapshot.numbers([tested.is_some().into(), examples, mistakes, run_length]);
    }

    /// Reads the counts that [`Self::write`] wrote.
    ///
    /// # Errors
    /// Returns an error if the snapshot ends early.
    pub fn read(snapshot: &mut SnapshotReader<'_>) -> Result<Option<Self>, SnapshotError> {
        let is_known = snapshot.number()? == 1;
        let tested = Self {
            examples: snapshot.number()?,
            mistakes: snapshot.number()?,
            run_length: snapshot.number()?,
        };
        Ok(is_known.then_some(tested))
    }
}

/// Result of one block or pass: the run continues, or stops for a reason.
pub type Step = Result<(), Stop>;

/// Why a run stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The run ended and has a result.
    End(Reason),
    /// The run was interrupted and has no result.
    GivenUp(Interrupt),
}

impl From<Interrupt> for Stop {
    fn from(interrupt: Interrupt) -> Self {
        match interrupt {
            Interrupt::TimeLimit => Self::End(Reason::Limit(MAX_SECONDS)),
            Interrupt::Cancelled => Self::End(Reason::Cancelled),
            Interrupt::Suspended | Interrupt::Unreadable | Interrupt::Memory => {
                Self::GivenUp(interrupt)
            }
        }
    }
}

impl Stop {
    /// Converts to the result of the train loop.
    ///
    /// # Errors
    /// Returns [`Interrupt::Suspended`], [`Interrupt::Unreadable`] or [`Interrupt::Memory`] if the run was
    /// interrupted without a result.
    pub fn into_reason(self) -> Result<Reason, Interrupt> {
        match self {
            Self::End(reason) => Ok(reason),
            Self::GivenUp(why) => Err(why),
        }
    }
}

/// How the rule treated some examples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// A batch consumed the examples without a test.
    Absorbed,
    /// The hypothesis was right on every example.
    Consistent,
    /// The hypothesis was right on every example except the last.
    MistakenLast,
}

/// Result of one call of [`RunState::turn`]: a prefix of the examples that the rule treated alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Number of examples.
    pub rows: usize,
    /// How the rule treated the examples.
    pub shown: Shown,
    /// Whether the run continues.
    pub step: Step,
}

impl RunState {
    /// The state before the first example, without a watch and a mistake curve.
    pub fn new(limits: RunLimits, random: Generator) -> Self {
        Self {
            limits,
            watch: None,
            trace: None,
            random,
            counts: Counts::default(),
            tested: None,
            is_first_pass: true,
            is_awaiting: false,
        }
    }

    /// Writes the counts.
    pub fn write_counts(&self, snapshot: &mut SnapshotWriter) {
        self.counts.write(snapshot);
        snapshot.number(self.is_awaiting.into());
    }

    /// Restores the counts that [`Self::write_counts`] wrote.
    ///
    /// # Errors
    /// Returns an error if the snapshot ends early.
    pub fn read_counts(&mut self, snapshot: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        self.counts = Counts::read(snapshot)?;
        self.is_awaiting = snapshot.number()? == 1;
        Ok(())
    }

    /// Writes the state of the watch if there is one, and the generator.
    pub fn write_watch(&self, snapshot: &mut SnapshotWriter) {
        if let Some(watch) = &self.watch {
            snapshot.numbers(watch.state());
        }
        snapshot.generator(&self.random);
    }

    /// Restores the state that [`Self::write_watch`] wrote. The writer must have had a watch if and only if
    /// this run has one.
    ///
    /// # Errors
    /// Returns an error if the snapshot contains no such state.
    pub fn read_watch(&mut self, snapshot: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        if let Some(watch) = self.watch.take() {
            let state = [snapshot.number()?, snapshot.number()?, snapshot.number()?];
            self.watch = Some(watch.with_state(state).ok_or(SnapshotError)?);
        }
        self.random = snapshot.generator()?;
        Ok(())
    }

    /// Shows the rule the first of `rows`, which must not be empty. An incomplete batch consumes examples
    /// until the batch is complete. Otherwise the rule tests examples up to the first mistake. Limits and the
    /// confidence watch may shorten this number.
    ///
    /// If the stop flag of `run` is raised with a reason other than [`Interrupt::Suspended`], the state is
    /// unusable afterwards.
    pub fn turn(
        &mut self,
        rule: &mut dyn OnlineRule,
        run: &Run,
        block: &Block<'_>,
        rows: Range<usize>,
    ) -> Turn {
        let first = rows.start;
        let left = rows.len() as u64;
        let readable = self.examples_left().map_or(left, |most| left.min(most));
        if self.is_awaiting
            && let Some(rule) = rule.as_batch()
        {
            let count = readable.min(rule.batch_remaining()) as usize;
            let update = rule.consume(block, first..first + count, &mut self.random);
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
        // A suspended run resumes from its state, so tests that may have changed the state must be counted. A
        // rule that may break off changes no state in a test. Its answer may be wrong and is discarded.
        let is_void = |why| why != Interrupt::Suspended || rule.may_break_off();
        if run.stop.look().is_some_and(is_void)
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
                if let Some(tested) = self.tests() {
                    tested.examples += rows as u64;
                    tested.mistakes += 1;
                    tested.run_length = 0;
                }
                let learnt = self.mistake(rule, block, at);
                Turn {
                    rows,
                    shown: Shown::MistakenLast,
                    step: learnt.and_then(|()| self.check_limits()),
                }
            }
        }
    }

    /// Whether nothing must happen between two mistakes of a block. [`Self::learn`] may then replace turns.
    pub fn is_unwatched(&self) -> bool {
        self.watch.is_none() && !self.is_awaiting
    }

    /// Shows the rule all of `rows`, of which there must be one. A limit or an update may end the reading
    /// early. The method requires [`Self::is_unwatched`] and a rule that does not break off.
    pub fn learn(
        &mut self,
        rule: &mut dyn OnlineRule,
        block: &Block<'_>,
        rows: Range<usize>,
    ) -> (Learnt, Step) {
        let left = rows.len() as u64;
        let readable = self.examples_left().map_or(left, |most| left.min(most));
        let readable = rows.start..rows.start + readable as usize;
        let mistakes_left = self.limits.max_mistakes.map_or(u64::MAX, |most| {
            most.saturating_sub(self.counts.mistakes).max(1)
        });
        let learnt = rule.learn(block, readable, mistakes_left, &mut self.random);
        let (before, mistakes) = (self.counts, u64::from(learnt.mistaken.count_ones()));
        self.counts.examples += (learnt.end - rows.start) as u64;
        self.counts.mistakes += mistakes;
        self.counts.updates += learnt.changes;
        if let Some(trace) = &mut self.trace {
            let mistaken = (rows.start..learnt.end).filter(|row| learnt.mistaken >> row & 1 == 1);
            for (mistakes, row) in (before.mistakes + 1..).zip(mistaken) {
                let examples = before.examples + (row + 1 - rows.start) as u64;
                trace.mistake(TracePoint { examples, mistakes });
            }
        }
        if let Some(tested) = self.tests() {
            tested.examples += (learnt.end - rows.start) as u64;
            tested.mistakes += mistakes;
            tested.run_length = match learnt.mistaken.checked_ilog2() {
                None => tested.run_length + (learnt.end - rows.start) as u64,
                Some(last) => (learnt.end - 1 - last as usize) as u64,
            };
        }
        let step = match learnt.last {
            Update::Refused(limit) => Err(Stop::End(Reason::Limit(limit))),
            last => {
                self.is_awaiting = last == Update::Awaiting;
                self.check_limits()
            }
        };
        (learnt, step)
    }

    /// Publishes the progress and checks the stop flag.
    ///
    /// # Errors
    /// Returns the reason to stop if the flag is raised.
    pub fn look_outside(&self, run: &Run) -> Step {
        run.progress.show(&self.counts);
        match run.stop.raised() {
            None => Ok(()),
            Some(interrupt) => Err(interrupt.into()),
        }
    }

    /// The counts of the tests while they count.
    fn tests(&mut self) -> Option<&mut Tested> {
        self.tested.as_mut().filter(|_| self.is_first_pass)
    }

    fn consistent(&mut self, count: u64) -> Step {
        if let Some(tested) = self.tests() {
            tested.examples += count;
            tested.run_length += count;
        }
        let watch = self.watch.as_mut();
        if watch.is_some_and(|watch| watch.consistent(count)) {
            return Err(Stop::End(Reason::Confident));
        }
        self.check_limits()
    }

    /// Learns from an example on which the hypothesis made a mistake.
    ///
    /// # Errors
    /// Returns the end of the run if the rule reached a limit of its own.
    pub fn mistake(&mut self, rule: &mut dyn OnlineRule, block: &Block<'_>, row: usize) -> Step {
        self.note_mistake();
        let update = rule.update(block, row, &mut self.random);
        self.count(update)
    }

    /// Replaces the current hypothesis of a search, which failed on the sample, by the next one.
    ///
    /// # Errors
    /// Returns the end of the run if the search reached a limit of its own.
    pub fn search(&mut self, rule: &mut dyn SearchRule) -> Step {
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

    /// Current point of the mistake curve.
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

    /// Checks the limits of examples and mistakes.
    ///
    /// # Errors
    /// Returns the end of the run with the name of the limit that was reached.
    pub fn check_limits(&self) -> Step {
        let reached = |max: Option<u64>, count| max.is_some_and(|max| count >= max);
        // The update of the last mistake comes first, so its batch is read to the end.
        if !self.is_awaiting && reached(self.limits.max_mistakes, self.counts.mistakes) {
            return Err(Stop::End(Reason::Limit("max_mistakes")));
        }
        if reached(self.limits.max_examples, self.counts.examples) {
            return Err(Stop::End(Reason::Limit("max_examples")));
        }
        Ok(())
    }
}
