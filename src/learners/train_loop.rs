//! The one train loop: passes, order, stopping, tracing, progress and cancellation of every
//! learner.

use super::random::Generator;
use super::rule::{Order, Rule, Update};
use super::run::{Counts, Interrupt, Limits, Run};
use super::source::{Sample, Stream};
use super::stopping::Watch;
use super::trace::{Trace, TracePoint};

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A confidence rule fired.
    Confident,
    /// A pass without a mistake.
    Converged,
    /// The data ended.
    Exhausted,
    /// A limit was reached: the name of the `stop` field, or what the rule itself cannot exceed.
    Limit(&'static str),
    /// A client asked for the end.
    Cancelled,
}

impl Reason {
    /// The name in answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Confident => "confident",
            Self::Converged => "converged",
            Self::Exhausted => "exhausted",
            Self::Limit(_) => "limit",
            Self::Cancelled => "cancelled",
        }
    }
}

/// A run under way.
pub struct TrainLoop<'r> {
    /// The learner.
    pub rule: &'r mut dyn Rule,
    /// Its outside.
    pub run: &'r Run,
    /// What ends it.
    pub limits: Limits,
    /// Watches for confidence while the examples are fresh; gone after the first pass.
    pub watch: Option<Watch>,
    /// The mistake curve, if wanted.
    pub trace: Option<Trace>,
    /// The learner's random choices.
    pub random: Generator,
    /// The order's random choices.
    pub order: Generator,
    /// What was counted.
    pub counts: Counts,
    /// Whether the rule's last word was [`Update::Awaiting`]: it is not asked for every example.
    pub is_awaiting: bool,
}

/// The outcome of one block or pass: go on, or the end of the run.
type Step = Result<(), Stop>;

enum Stop {
    End(Reason),
    Suspended,
}

impl TrainLoop<'_> {
    /// Runs over a stream in its own order.
    ///
    /// # Errors
    /// [`Interrupt::Suspended`] when the run was given up.
    pub fn run_stream(&mut self, stream: &mut dyn Stream) -> Result<Reason, Interrupt> {
        debug_assert_eq!(self.rule.order(), Order::Cyclic);
        self.run_passes(stream, |_, stream| stream.rewind())
    }

    /// Runs over a sample in the order that the rule wants.
    ///
    /// # Errors
    /// [`Interrupt::Suspended`] when the run was given up.
    pub fn run_sample(&mut self, sample: &mut dyn Sample) -> Result<Reason, Interrupt> {
        match self.rule.order() {
            Order::Cyclic => self.run_stream(sample.as_stream()),
            Order::Shuffled => self.run_passes(sample, |this, sample| {
                sample.shuffle(&mut this.order, this.run);
            }),
            Order::RandomMistake => loop {
                if let Err(stop) = self.evaluate_and_update(sample) {
                    break stop.into_reason();
                }
            },
        }
    }

    /// Pass after pass; `begin` puts the stream at the start of a pass.
    fn run_passes<S: Stream + ?Sized>(
        &mut self,
        stream: &mut S,
        begin: impl Fn(&mut Self, &mut S),
    ) -> Result<Reason, Interrupt> {
        loop {
            begin(self, stream);
            let stop = match self.pass(stream) {
                Err(stop) => stop,
                Ok(()) => match self.after_pass() {
                    Err(stop) => stop,
                    Ok(()) => continue,
                },
            };
            return stop.into_reason();
        }
    }

    fn pass<S: Stream + ?Sized>(&mut self, stream: &mut S) -> Step {
        let before = self.counts;
        self.begin_pass();
        let examples = stream.examples();
        let mut limited = Ok(());
        while let Some(block) = stream.next_block() {
            self.look_outside()?;
            match self.block(&block) {
                // A limit reached by the last example of a pass comes after what the pass came to.
                Err(Stop::End(reason @ Reason::Limit(_)))
                    if examples == Some(self.counts.examples - before.examples) =>
                {
                    limited = Err(Stop::End(reason));
                    break;
                }
                step => step?,
            }
        }
        if self.is_awaiting {
            return Err(Stop::End(Reason::Exhausted));
        }
        if self.counts.mistakes == before.mistakes {
            return Err(Stop::End(Reason::Converged));
        }
        if self.limits.max_passes == Some(1) {
            return Err(Stop::End(Reason::Exhausted));
        }
        limited
    }

    /// The confidence rules are for fresh examples: they do not outlive the first pass.
    fn after_pass(&mut self) -> Step {
        match self.limits.max_passes {
            Some(max) if self.counts.passes >= max => Err(Stop::End(Reason::Limit("max_passes"))),
            _ => {
                self.watch = None;
                Ok(())
            }
        }
    }

    fn begin_pass(&mut self) {
        self.counts.passes += 1;
        self.run.progress.show(&self.counts);
    }

    /// Shows progress, and ends the run when somebody outside asked for it.
    fn look_outside(&mut self) -> Step {
        self.run.progress.show(&self.counts);
        match self.run.stop.raised() {
            None => Ok(()),
            Some(Interrupt::TimeLimit) => Err(Stop::End(Reason::Limit("max_seconds"))),
            Some(Interrupt::Cancelled) => Err(Stop::End(Reason::Cancelled)),
            Some(Interrupt::Suspended) => Err(Stop::Suspended),
        }
    }

    fn block(&mut self, block: &super::block::Block<'_>) -> Step {
        let rows = block.rows();
        let mut row = 0;
        while row < rows {
            let left = (rows - row) as u64;
            let readable = self.examples_left().map_or(left, |most| left.min(most));
            if self.is_awaiting {
                let awaited = self.rule.awaits();
                let count = readable.min(awaited) as usize;
                let update = self.rule.absorb(block, row..row + count, &mut self.random);
                row += count;
                self.counts.examples += count as u64;
                self.count(update)?;
                self.check_limits()?;
                continue;
            }
            let headroom = self.watch.as_ref().map_or(readable, Watch::headroom);
            let count = readable.min(headroom) as usize;
            let stop = &self.run.stop;
            let mistake = self.rule.first_mistake(block, row..row + count, stop);
            if stop.raised().is_some() {
                self.look_outside()?;
            }
            match mistake {
                None => {
                    row += count;
                    self.counts.examples += count as u64;
                    if self.consistent(count as u64) {
                        return Err(Stop::End(Reason::Confident));
                    }
                }
                Some(at) => {
                    self.counts.examples += (at + 1 - row) as u64;
                    row = at + 1;
                    self.mistake(block, at)?;
                }
            }
            self.check_limits()?;
        }
        Ok(())
    }

    fn consistent(&mut self, count: u64) -> bool {
        let watch = self.watch.as_mut();
        watch.is_some_and(|watch| watch.consistent(count))
    }

    fn mistake(&mut self, block: &super::block::Block<'_>, row: usize) -> Step {
        self.counts.mistakes += 1;
        if let Some(watch) = &mut self.watch {
            watch.mistake();
        }
        let point = self.point();
        if let Some(trace) = &mut self.trace {
            trace.mistake(point);
        }
        let update = self.rule.update(block, row, &mut self.random);
        self.count(update)
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

    fn check_limits(&self) -> Step {
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

    /// One pass in the order [`Order::RandomMistake`]: evaluate everything, then learn from one
    /// mistake drawn uniformly.
    fn evaluate_and_update(&mut self, sample: &mut dyn Sample) -> Step {
        let max_passes = self.limits.max_passes;
        if max_passes.is_some_and(|max| self.counts.passes >= max) {
            return Err(Stop::End(Reason::Limit("max_passes")));
        }
        self.begin_pass();
        sample.rewind();
        let mut wrong = Vec::new();
        while let Some(block) = sample.next_block() {
            self.look_outside()?;
            wrong.push(self.rule.mistakes(&block, &self.run.stop));
            self.counts.examples += block.rows() as u64;
        }
        // The last masks are to be believed only if nobody asked for the end meanwhile.
        self.look_outside()?;
        let errors: u64 = wrong.iter().map(|mask| u64::from(mask.count_ones())).sum();
        self.rule.evaluated(errors);
        if errors == 0 {
            return Err(Stop::End(Reason::Converged));
        }
        let chosen = rand::RngExt::random_range(&mut self.order, 0..errors);
        let index = crate::bits::select_bit(&wrong, chosen);
        let block = sample.example(index as u64);
        self.mistake(&block, 0)?;
        self.check_limits()
    }
}

impl Stop {
    fn into_reason(self) -> Result<Reason, Interrupt> {
        match self {
            Self::End(reason) => Ok(reason),
            Self::Suspended => Err(Interrupt::Suspended),
        }
    }
}
