//! The state of a run apart from its rule: the counts, the limits, the watch of the confidence rule and the mistake
//! curve.
//!
//! [`RunState`] shows examples to the rule, counts the results and decides when the run ends. It neither makes passes
//! nor knows where the examples come from: the train loop applies it to passes, and a session to incoming examples.

use std::ops::Range;

use crate::learners::engine::random::Generator;
use crate::learners::engine::reason::{MAX_SECONDS, Reason};
use crate::learners::engine::rule::{BatchRule, OnlineRule, SearchRule};
use crate::learners::engine::run::{Counts, Interrupt, Run, RunLimits};
use crate::learners::engine::snapshot::{SnapshotError, SnapshotReader, SnapshotWriter};
use crate::learners::engine::stopping::Watch;
use crate::learners::engine::thickness::Lesson;
use crate::learners::engine::trace::{Trace, TracePoint};
use crate::learners::engine::update::{Learnt, Update};
use crate::learners::sample::block::Block;

/// State of a run beside its rule.
#[derive(Clone, Debug)]
pub struct RunState {
    /// Limits that end the run.
    pub limits: RunLimits,
    /// Watches for confidence while the examples are fresh. The train loop removes it after the first pass.
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
    /// Whether the last update returned [`Update::Awaiting`]. This saves a call of the rule per example.
    pub is_awaiting: bool,
}

/// The tests of the first pass, in which each hypothesis met only examples from which it had not learnt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tested {
    /// Number of tested examples. A batch consumes examples untested.
    pub examples: u64,
    /// Mistakes among these examples.
    pub mistakes: u64,
    /// Those of these examples that changed the hypothesis.
    pub updates: u64,
    /// Mistakes and updates together. The number of the last hypothesis is one more. A committee changes whenever one
    /// of its members is wrong, even if the committee is right, so the mistakes alone do not number its hypotheses.
    pub changes: u64,
    /// Examples since the last mistake or update of the pass.
    pub run_length: u64,
}

impl Tested {
    /// Writes the counts, or their absence.
    pub fn write(tested: Option<Self>, snapshot: &mut SnapshotWriter) {
        let Self {
            examples,
            mistakes,
            updates,
            changes,
            run_length,
        } = tested.unwrap_or_default();
        snapshot.number(tested.is_some().into());
        snapshot.numbers([examples, mistakes, updates, changes, run_length]);
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
            updates: snapshot.number()?,
            changes: snapshot.number()?,
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
    /// The result of the train loop.
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

    /// Restores the state that [`Self::write_watch`] wrote. Either both runs have a watch or neither has one.
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

    /// Shows the rule the first of `rows`, of which there must be one, and at most `mistakes_max` mistakes. An
    /// incomplete batch consumes examples until it is complete. Otherwise limits, the confidence watch or an update
    /// may end the reading early. A rule that breaks off may read nothing, and the step then says why.
    ///
    /// If the stop flag of `run` is raised with a reason other than [`Interrupt::Suspended`], the state is unusable
    /// afterwards.
    pub fn learn(
        &mut self,
        rule: &mut dyn OnlineRule,
        run: &Run,
        block: &Block<'_>,
        rows: Range<usize>,
        mistakes_max: u64,
    ) -> (Learnt, Step) {
        let first = rows.start;
        let left = rows.len() as u64;
        let readable = self.examples_left().map_or(left, |most| left.min(most));
        if self.is_awaiting
            && let Some(rule) = rule.as_batch()
        {
            return self.consume(rule, block, first, readable);
        }
        let readable = self
            .watch
            .as_ref()
            .map_or(readable, |watch| readable.min(watch.headroom()));
        let mistakes_left = match (&self.watch, self.limits.max_mistakes) {
            // The watch is told of each change, and allows other rows then.
            (Some(_), _) => 1,
            (None, None) => mistakes_max,
            (None, Some(most)) => {
                mistakes_max.min(most.saturating_sub(self.counts.mistakes).max(1))
            }
        };
        let rows = first..first + readable as usize;
        let learnt = rule.learn(block, rows, mistakes_left, &run.stop, &mut self.random);
        let step = match learnt.end == first {
            // The rule broke off, refused to begin, or a limit left nothing to read.
            true => self
                .look_outside(run)
                .and_then(|()| self.settle(learnt.last))
                .and_then(|()| self.check_limits()),
            false => self.count_learnt(first, &learnt),
        };
        (learnt, step)
    }

    /// Lets a batch consume at most `readable` rows from `first` on.
    fn consume(
        &mut self,
        rule: &mut dyn BatchRule,
        block: &Block<'_>,
        first: usize,
        readable: u64,
    ) -> (Learnt, Step) {
        let count = readable.min(rule.batch_remaining());
        let end = first + count as usize;
        let last = rule.consume(block, first..end, &mut self.random);
        self.counts.examples += count;
        let step = self.count(last).and_then(|()| self.check_limits());
        let learnt = Learnt {
            is_tested: false,
            last,
            ..Learnt::nothing(end)
        };
        (learnt, step)
    }

    /// Counts the tested rows from `first` on, and what the rule did with them.
    fn count_learnt(&mut self, first: usize, learnt: &Learnt) -> Step {
        let (before, examples) = (self.counts, (learnt.end - first) as u64);
        let count = |rows: u64| u64::from(rows.count_ones());
        let (mistakes, updates) = (count(learnt.mistaken), count(learnt.updated));
        let changed = learnt.changed();
        self.counts.examples += examples;
        self.counts.mistakes += mistakes;
        self.counts.updates += updates;
        if let Some(trace) = &mut self.trace {
            let mistaken = (first..learnt.end).filter(|row| learnt.mistaken >> row & 1 == 1);
            for (mistakes, row) in (before.mistakes + 1..).zip(mistaken) {
                let examples = before.examples + (row + 1 - first) as u64;
                trace.mistake(TracePoint { examples, mistakes });
            }
        }
        if let Some(tested) = self.tests() {
            tested.examples += examples;
            tested.mistakes += mistakes;
            tested.updates += updates;
            tested.changes += count(changed);
            tested.run_length = match changed.checked_ilog2() {
                None => tested.run_length + examples,
                Some(last) => (learnt.end - 1 - last as usize) as u64,
            };
        }
        if let Some(watch) = &mut self.watch {
            if changed != 0 {
                watch.mistake();
            } else if watch.consistent(examples) {
                return Err(Stop::End(Reason::Confident));
            }
        }
        self.settle(learnt.last).and_then(|()| self.check_limits())
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

    /// The counts of the tests, while the examples are those of the first pass.
    fn tests(&mut self) -> Option<&mut Tested> {
        self.tested.as_mut().filter(|_| self.is_first_pass)
    }

    /// Learns from one example that was chosen among all lessons.
    ///
    /// # Errors
    /// Returns the end of the run if the rule reached a limit of its own, or as many updates as mistakes are allowed:
    /// a run whose lessons all lie within its thickness would never end.
    pub fn lesson(&mut self, rule: &mut dyn OnlineRule, block: &Block<'_>, lesson: Lesson) -> Step {
        if lesson.is_mistake {
            self.note_mistake();
        }
        let update = rule.update(block, lesson.row, &mut self.random);
        self.count(update)?;
        match self.limits.max_mistakes {
            Some(most) if self.counts.updates >= most => {
                Err(Stop::End(Reason::Limit("max_mistakes")))
            }
            _ => Ok(()),
        }
    }

    /// Replaces the hypothesis of a search, which failed on the sample, by the next one.
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
        self.counts.updates += u64::from(update == Update::Changed);
        self.settle(update)
    }

    /// Notes whether a batch awaits further examples. Ends the run at a limit of the rule.
    fn settle(&mut self, last: Update) -> Step {
        self.is_awaiting = last == Update::Awaiting;
        match last {
            Update::Refused(limit) => Err(Stop::End(Reason::Limit(limit))),
            Update::Changed | Update::Unchanged | Update::Awaiting => Ok(()),
        }
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

    /// Checks the limits on examples and mistakes.
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
