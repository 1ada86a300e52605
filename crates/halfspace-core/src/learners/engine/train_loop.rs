//! The one train loop of all learners: passes, order, progress and the best hypothesis. What one block of examples does
//! to the run is decided in [`crate::learners::engine::run_state`].

use crate::bits::BLOCK_ROWS;
use crate::learners::engine::kept::{Kept, KeptInBlock};
use crate::learners::engine::phase::{Best, Phase, Wrong};
use crate::learners::engine::random::Generator;
use crate::learners::engine::reason::Reason;
use crate::learners::engine::rule::{Kind, Order, Rule};
use crate::learners::engine::run::{Counts, Interrupt, Run, StopFlag};
use crate::learners::engine::run_state::{RunState, Step, Stop};
use crate::learners::engine::snapshot::SnapshotWriter;
use crate::learners::engine::thickness::Lesson;
use crate::learners::lockstep::Judge;
use crate::learners::sample::block::Block;
use crate::learners::sample::source::{Sample, Stream};

/// A run under way.
pub struct TrainLoop<'r> {
    /// The rule of the learner.
    pub rule: &'r mut dyn Rule,
    /// The controls of the run's owner.
    pub run: &'r Run,
    /// The counts of the run and the conditions that end it.
    pub course: RunState,
    /// The generator for random orders.
    pub(crate) order: Generator,
    /// The position in the pass.
    pub(crate) phase: Phase,
    /// Whether the run handed over a state as a checkpoint, or resumed from one.
    pub(crate) was_handed_over: bool,
    /// Whether the loop keeps the best hypothesis beside the last.
    pub keeps_best: bool,
    pub(crate) best: Option<Best>,
    /// The mistaken examples. `None` if they do not reproduce the run.
    pub(crate) kept: Option<Kept>,
    /// Those of the present block.
    in_block: KeptInBlock,
}

/// Bits or values per pass up to which every pass ends with an evaluation of the hypothesis.
const EVERY_PASS_MAX: u64 = 1 << 20;

/// Longer passes are evaluated only once in so many, so evaluation adds at most a sixteenth to their cost.
const PASSES_BETWEEN: u64 = 16;

/// Words of work between two polls of the stop flag.
const WORDS_BETWEEN_LOOKS: usize = 1 << 24;

impl<'r> TrainLoop<'r> {
    /// A run before its first example.
    pub fn new(rule: &'r mut dyn Rule, run: &'r Run, course: RunState, order: Generator) -> Self {
        Self {
            rule,
            run,
            course,
            order,
            phase: Phase::Between,
            was_handed_over: false,
            keeps_best: true,
            best: None,
            kept: None,
            in_block: KeptInBlock::default(),
        }
    }

    /// Runs an on-line rule over a stream in the order of the stream.
    ///
    /// # Errors
    /// [`Interrupt::Suspended`], [`Interrupt::Unreadable`] or [`Interrupt::Memory`] if the run was
    /// abandoned.
    pub fn run_stream(&mut self, stream: &mut dyn Stream) -> Result<Reason, Interrupt> {
        if let Phase::Ended(reason) = self.phase {
            return Ok(reason);
        }
        let stop = loop {
            if let Phase::Between = self.phase {
                stream.rewind();
            }
            if let Err(stop) = self.whole_pass(stream) {
                break stop.into_reason();
            }
        };
        self.leave(stop, stream)
    }

    /// Runs over a sample in the order that the rule asks for.
    ///
    /// # Errors
    /// [`Interrupt::Suspended`], [`Interrupt::Unreadable`] or [`Interrupt::Memory`] if the run was
    /// abandoned.
    pub fn run_sample(&mut self, sample: &mut dyn Sample) -> Result<Reason, Interrupt> {
        if let Phase::Ended(reason) = self.phase {
            return Ok(reason);
        }
        let stop = loop {
            let step = match self.rule.kind().order() {
                Some(Order::Cyclic) => {
                    if let Phase::Between = self.phase {
                        sample.rewind();
                    }
                    self.whole_pass(sample.as_stream())
                }
                Some(Order::Shuffled) => self.shuffled_pass(sample),
                Some(Order::RandomMistake) | None => self.evaluate_and_improve(sample),
            };
            if let Err(stop) = step {
                break stop.into_reason();
            }
        };
        self.leave(stop, sample.as_stream())
    }

    fn shuffled_pass(&mut self, sample: &mut dyn Sample) -> Step {
        if let Phase::Between = self.phase {
            sample.shuffle(&mut self.order, self.run)?;
        }
        self.whole_pass(sample.as_stream())
    }

    /// Reads one pass, or the rest of a resumed one, then does the work between this pass and the next.
    fn whole_pass(&mut self, stream: &mut dyn Stream) -> Step {
        if !matches!(self.phase, Phase::Judging) {
            self.pass(stream)?;
        }
        self.after_pass(stream)
    }

    fn pass(&mut self, stream: &mut dyn Stream) -> Step {
        let before = self.begin_learning();
        let examples = stream.examples();
        let mut limited = Ok(());
        // The number of finished rows among the next blocks. A resumed run may read these rows again.
        let mut done = self.phase.rows();
        loop {
            self.offer(stream);
            self.phase.set_rows(done);
            if let Some(shared) = stream.shared() {
                self.rule.online().look_ahead(&shared, &self.run.stop);
            }
            let Some(block) = stream.next_block()? else {
                break;
            };
            self.course.look_outside(self.run)?;
            let first = done.min(block.rows());
            let place =
                (self.course.counts.examples - before.examples).saturating_sub(first as u64);
            let step = self.block(&block, first);
            if let Some(kept) = &mut self.kept {
                kept.mark(stream, place, &self.in_block);
            }
            match step {
                // The result of a complete pass takes precedence over a limit that its last example
                // reached.
                Err(Stop::End(reason @ Reason::Limit(_)))
                    if examples == Some(self.course.counts.examples - before.examples) =>
                {
                    limited = Err(Stop::End(reason));
                    break;
                }
                step => step?,
            }
            done -= first;
        }
        self.phase = Phase::Between;
        if self.course.is_awaiting {
            return Err(Stop::End(Reason::Exhausted));
        }
        // A committee may be right while its members still learn.
        let counts = self.course.counts;
        if (counts.mistakes, counts.updates) == (before.mistakes, before.updates) {
            return Err(Stop::End(self.rule.clean_pass()));
        }
        if self.course.limits.max_passes == Some(1) {
            return Err(Stop::End(Reason::Exhausted));
        }
        limited
    }

    /// Ends the run at the limit on passes, or prepares the next pass. The watch ends with the first pass, because
    /// the confidence rules need fresh examples.
    fn after_pass(&mut self, stream: &mut dyn Stream) -> Step {
        match self.course.limits.max_passes {
            Some(max) if self.course.counts.passes >= max => {
                Err(Stop::End(Reason::Limit("max_passes")))
            }
            _ => {
                self.course.watch = None;
                self.course.is_first_pass = false;
                self.phase = Phase::Judging;
                self.evaluate_at_end(stream)?;
                self.phase = Phase::Between;
                self.rule.next_pass(&mut self.course.random);
                Ok(())
            }
        }
    }

    /// Counts the errors of the hypothesis at the end of a pass and keeps the best hypothesis. The count must not
    /// take longer than learning, so long passes are evaluated only now and then, and hypotheses that grow with their
    /// mistakes never.
    fn evaluate_at_end(&mut self, stream: &mut dyn Stream) -> Step {
        let pass = self.course.counts.passes;
        let n = stream.n() as u64;
        let Some(examples) = stream.examples().filter(|_| self.keeps_best) else {
            return Ok(());
        };
        let is_short = examples.saturating_mul(n) <= EVERY_PASS_MAX;
        if self.rule.keeps_best() || !(is_short || pass.is_multiple_of(PASSES_BETWEEN)) {
            return Ok(());
        }
        let predictor = self.rule.predictor();
        if predictor.words_of_work() > 2 * n * predictor.members().len() as u64 {
            return Ok(());
        }
        let (mut errors, mut judge) = (0, Judge::new(&predictor));
        stream.rewind();
        while let Some(block) = stream.next_block()? {
            self.course.look_outside(self.run)?;
            let wrong = judge.mistakes(&block, &self.run.stop);
            errors += u64::from(wrong.count_ones());
        }
        // The last masks are valid only if no interrupt was raised meanwhile.
        self.course.look_outside(self.run)?;
        self.keep_best(pass, errors, examples);
        Ok(())
    }

    fn keep_best(&mut self, pass: u64, errors: u64, examples: u64) {
        if self.best.as_ref().is_some_and(|best| best.errors <= errors) {
            return;
        }
        let mut snapshot = SnapshotWriter::default();
        self.rule.snapshot(&mut snapshot);
        self.best = Some(Best {
            pass,
            errors,
            examples,
            state: snapshot.finish(),
        });
    }

    /// The counts before the current pass. Begins a pass unless one is under way.
    fn begin_learning(&mut self) -> Counts {
        if let Phase::Learning { before, .. } = self.phase {
            return before;
        }
        let before = self.course.counts;
        self.begin_pass();
        self.phase = Phase::Learning { before, rows: 0 };
        before
    }

    fn begin_pass(&mut self) {
        self.course.counts.passes += 1;
        self.run.progress.show(&self.course.counts);
    }

    /// Learns from a block, from row `first` on. In a block that takes long, polls the stop flag after each mistake.
    fn block(&mut self, block: &Block<'_>, first: usize) -> Step {
        let rows = block.rows();
        let mut row = first;
        self.in_block.clear();
        let rule = self.rule.online();
        let is_quick = block.words_of_work() <= WORDS_BETWEEN_LOOKS;
        let mistakes_max = if is_quick { u64::MAX } else { 1 };
        while row < rows {
            if row > first
                && let Some(interrupt) = self.run.stop.raised()
            {
                return Err(interrupt.into());
            }
            let (learnt, step) = self
                .course
                .learn(rule, self.run, block, row..rows, mistakes_max);
            row = learnt.end;
            self.in_block.note(&learnt);
            self.phase.set_rows(row);
            step?;
        }
        Ok(())
    }

    /// One pass under one hypothesis, then the next hypothesis: from a search, or from one mistake drawn uniformly.
    fn evaluate_and_improve(&mut self, sample: &mut dyn Sample) -> Step {
        let wrong = self.evaluate(sample)?;
        match self.rule.kind() {
            Kind::Search(rule) => self.course.search(rule)?,
            Kind::Online(_) => self.learn_from_one(sample, wrong)?,
        }
        self.course.check_limits()
    }

    fn learn_from_one(&mut self, sample: &mut dyn Sample, wrong: Wrong) -> Step {
        let mut order = self.order.clone();
        let chosen = rand::RngExt::random_range(&mut order, 0..wrong.lessons);
        let place = crate::bits::select_bit(&wrong.masks, chosen);
        // The draw is committed only after the example is read. A run suspended by the read resumes from
        // here.
        let read = sample.example(place as u64);
        if read.is_err() {
            self.phase = Phase::Evaluating { wrong, rows: 0 };
        }
        let block = read?;
        self.order = order;
        let rule = self.rule.online();
        let lesson = match rule.band() {
            None => None,
            Some(_) => rule.first_lesson(&block, 0..1, &StopFlag::default()),
        };
        let lesson = lesson.unwrap_or(Lesson::mistake(0));
        self.course.lesson(rule, &block, lesson)
    }

    /// One pass, or the rest of a resumed one, under one hypothesis. Returns the mistakes. There is at least one,
    /// because a pass without a mistake ends the run.
    fn evaluate(&mut self, sample: &mut dyn Sample) -> Result<Wrong, Stop> {
        self.begin_evaluating(sample)?;
        let mut done = self.phase.rows();
        loop {
            self.offer(sample.as_stream());
            self.phase.set_rows(done);
            if done == 0 && self.evaluate_ahead(sample)? {
                continue;
            }
            let Some(block) = sample.next_block()? else {
                break;
            };
            self.course.look_outside(self.run)?;
            let (rows, first) = (block.rows(), done.min(block.rows()));
            if first < rows {
                let (lessons, mistakes) = self.rule.lessons(&block, &self.run.stop);
                let raised = self.run.stop.raised();
                let may_break_off = match self.rule.kind() {
                    Kind::Online(rule) => rule.may_break_off(),
                    Kind::Search(_) => false,
                };
                if raised == Some(Interrupt::Suspended) && may_break_off {
                    return Err(Interrupt::Suspended.into());
                }
                if let Phase::Evaluating { wrong, .. } = &mut self.phase {
                    let mistakes = block.weight(mistakes >> first << first);
                    wrong.push(lessons >> first, mistakes, rows - first);
                }
                self.course.counts.examples += (rows - first) as u64;
                self.phase.set_rows(rows);
            }
            done -= first;
        }
        // The last masks are valid only if no interrupt was raised meanwhile.
        self.course.look_outside(self.run)?;
        let Phase::Evaluating { wrong, .. } = std::mem::take(&mut self.phase) else {
            unreachable!("that is what began");
        };
        self.rule.evaluated(wrong.errors);
        if wrong.lessons == 0 {
            return Err(Stop::End(self.rule.clean_pass()));
        }
        let examples = sample.as_stream().examples().unwrap_or(0);
        let is_drawn = self.rule.kind().order() == Some(Order::RandomMistake);
        if is_drawn && self.keeps_best && !self.rule.keeps_best() {
            self.keep_best(self.course.counts.passes, wrong.errors, examples);
        }
        Ok(wrong)
    }

    /// Evaluates the next blocks with helpers. Returns false if the next block is to be read on this thread alone.
    fn evaluate_ahead(&mut self, sample: &mut dyn Sample) -> Result<bool, Stop> {
        let (Some(shared), Kind::Search(rule)) = (sample.shared(), self.rule.kind()) else {
            return Ok(false);
        };
        let left = shared.left();
        let masks = rule.mistakes_ahead(&shared, &self.run.stop);
        if masks.is_empty() {
            return Ok(false);
        }
        self.course.look_outside(self.run)?;
        let read = left.min(masks.len() * BLOCK_ROWS);
        for (index, mask) in masks.iter().enumerate() {
            let rows = BLOCK_ROWS.min(read - index * BLOCK_ROWS);
            if let Phase::Evaluating { wrong, .. } = &mut self.phase {
                wrong.push(*mask, mask.count_ones().into(), rows);
            }
            self.course.counts.examples += rows as u64;
            self.phase.set_rows(rows);
        }
        sample.skip(read);
        Ok(true)
    }

    fn begin_evaluating(&mut self, sample: &mut dyn Sample) -> Step {
        if let Phase::Evaluating { .. } = self.phase {
            return Ok(());
        }
        let max_passes = self.course.limits.max_passes;
        if max_passes.is_some_and(|max| self.course.counts.passes >= max) {
            return Err(Stop::End(Reason::Limit("max_passes")));
        }
        self.begin_pass();
        sample.rewind();
        let wrong = Wrong::default();
        self.phase = Phase::Evaluating { wrong, rows: 0 };
        Ok(())
    }
}
