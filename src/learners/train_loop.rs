//! The one train loop: passes, order and progress of every learner. What happens to one block of
//! examples is [`super::course`]'s.

use crate::bits::BLOCK_ROWS;

use super::block::Block;
use super::course::{Course, Step, Stop};
use super::random::Generator;
use super::rule::{Order, Rule};
use super::run::{Interrupt, Run};
use super::source::{Sample, Stream};

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A confidence rule fired.
    Confident,
    /// A pass without a mistake.
    Converged,
    /// A search found a hypothesis, and a pass without a mistake has checked it.
    Consistent,
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
            Self::Consistent => "consistent",
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
    /// How far it is, and what ends it.
    pub course: Course,
    /// The order's random choices.
    pub order: Generator,
}

impl TrainLoop<'_> {
    /// Runs over a stream in its own order.
    ///
    /// # Errors
    /// [`Interrupt::Suspended`] or [`Interrupt::Unreadable`] when the run was given up.
    pub fn run_stream(&mut self, stream: &mut dyn Stream) -> Result<Reason, Interrupt> {
        loop {
            stream.rewind();
            if let Err(stop) = self.whole_pass(stream) {
                break stop.into_reason();
            }
        }
    }

    /// Runs over a sample in the order that the rule wants.
    ///
    /// # Errors
    /// [`Interrupt::Suspended`] or [`Interrupt::Unreadable`] when the run was given up.
    pub fn run_sample(&mut self, sample: &mut dyn Sample) -> Result<Reason, Interrupt> {
        loop {
            let step = match self.rule.order() {
                Order::Cyclic => {
                    sample.rewind();
                    self.whole_pass(sample.as_stream())
                }
                Order::Shuffled => {
                    sample.shuffle(&mut self.order, self.run);
                    self.whole_pass(sample.as_stream())
                }
                Order::RandomMistake => self.evaluate_and_update(sample),
                Order::Search => self.evaluate_and_search(sample),
            };
            if let Err(stop) = step {
                break stop.into_reason();
            }
        }
    }

    /// One pass example by example, and what is between it and the next.
    fn whole_pass(&mut self, stream: &mut dyn Stream) -> Step {
        self.pass(stream)?;
        self.after_pass()
    }

    fn pass(&mut self, stream: &mut dyn Stream) -> Step {
        let before = self.course.counts;
        self.begin_pass();
        let examples = stream.examples();
        let mut limited = Ok(());
        while let Some(block) = stream.next_block()? {
            self.course.look_outside(self.run)?;
            match self.block(&block) {
                // A limit reached by the last example of a pass comes after what the pass came to.
                Err(Stop::End(reason @ Reason::Limit(_)))
                    if examples == Some(self.course.counts.examples - before.examples) =>
                {
                    limited = Err(Stop::End(reason));
                    break;
                }
                step => step?,
            }
        }
        if self.course.is_awaiting {
            return Err(Stop::End(Reason::Exhausted));
        }
        if self.course.counts.mistakes == before.mistakes {
            return Err(Stop::End(self.rule.clean_pass()));
        }
        if self.course.limits.max_passes == Some(1) {
            return Err(Stop::End(Reason::Exhausted));
        }
        limited
    }

    /// The confidence rules are for fresh examples: they do not outlive the first pass.
    fn after_pass(&mut self) -> Step {
        match self.course.limits.max_passes {
            Some(max) if self.course.counts.passes >= max => {
                Err(Stop::End(Reason::Limit("max_passes")))
            }
            _ => {
                self.course.watch = None;
                self.rule.next_pass(&mut self.course.random);
                Ok(())
            }
        }
    }

    fn begin_pass(&mut self) {
        self.course.counts.passes += 1;
        self.run.progress.show(&self.course.counts);
    }

    fn block(&mut self, block: &Block<'_>) -> Step {
        let rows = block.rows();
        let mut row = 0;
        while row < rows {
            let turn = self.course.turn(self.rule, self.run, block, row..rows);
            row += turn.rows;
            turn.step?;
        }
        Ok(())
    }

    /// One pass in the order [`Order::RandomMistake`]: evaluate everything, then learn from one
    /// mistake drawn uniformly.
    fn evaluate_and_update(&mut self, sample: &mut dyn Sample) -> Step {
        let mut wrong = Wrong::default();
        let errors = self.evaluate(sample, |mask, rows| wrong.push(mask, rows))?;
        let chosen = rand::RngExt::random_range(&mut self.order, 0..errors);
        let place = crate::bits::select_bit(&wrong.masks, chosen);
        let block = sample.example(place as u64)?;
        self.course.mistake(self.rule, &block, 0)?;
        self.course.check_limits()
    }

    /// One pass in the order [`Order::Search`]: read everything, then make the next hypothesis.
    fn evaluate_and_search(&mut self, sample: &mut dyn Sample) -> Step {
        self.evaluate(sample, |_, _| {})?;
        self.course.search(self.rule)?;
        self.course.check_limits()
    }

    /// One pass in which the hypothesis stays; `see` is shown the mask of its errors in each block,
    /// and the block's rows. Their number, which is not 0: a clean pass is the end.
    fn evaluate(
        &mut self,
        sample: &mut dyn Sample,
        mut see: impl FnMut(u64, usize),
    ) -> Result<u64, Stop> {
        let max_passes = self.course.limits.max_passes;
        if max_passes.is_some_and(|max| self.course.counts.passes >= max) {
            return Err(Stop::End(Reason::Limit("max_passes")));
        }
        self.begin_pass();
        sample.rewind();
        let mut errors = 0;
        while let Some(block) = sample.next_block()? {
            self.course.look_outside(self.run)?;
            let mask = self.rule.mistakes(&block, &self.run.stop);
            errors += u64::from(mask.count_ones());
            see(mask, block.rows());
            self.course.counts.examples += block.rows() as u64;
        }
        // The last masks are to be believed only if nobody asked for the end meanwhile.
        self.course.look_outside(self.run)?;
        self.rule.evaluated(errors);
        if errors == 0 {
            return Err(Stop::End(self.rule.clean_pass()));
        }
        Ok(errors)
    }
}

/// Which places of a pass the hypothesis got wrong, a bit each, whatever the sizes of the blocks.
#[derive(Default)]
struct Wrong {
    masks: Vec<u64>,
    places: usize,
}

impl Wrong {
    /// Appends the mask of the next `rows` places.
    fn push(&mut self, mask: u64, rows: usize) {
        let offset = self.places % BLOCK_ROWS;
        match self.masks.last_mut() {
            Some(last) if offset > 0 => {
                *last |= mask << offset;
                if offset + rows > BLOCK_ROWS {
                    self.masks.push(mask >> (BLOCK_ROWS - offset));
                }
            }
            _ => self.masks.push(mask),
        }
        self.places += rows;
    }
}
