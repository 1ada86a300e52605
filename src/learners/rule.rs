//! What a learner is: a rule that says how one example changes a hypothesis.
//!
//! Passes, order, stopping, tracing, progress and cancellation belong to the one train loop
//! ([`super::train`]); a rule knows none of them. The same rule serves batch jobs and on-line
//! sessions.

use std::ops::Range;

use super::block::Block;
use super::bound::Bound;
use super::hypothesis::Hypothesis;
use super::random::Generator;
use super::run::{Counts, Interrupt, Run, StopFlag};
use super::snapshot::{SnapshotError, SnapshotReader, SnapshotWriter};
use super::source::Stream;
use super::train_loop::Reason;

/// In which order a rule wants its examples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The data's own order, pass after pass.
    Cyclic,
    /// A new random order each pass. Where examples come but once, their own.
    Shuffled,
    /// One example drawn uniformly from all that the hypothesis gets wrong. Each evaluation of
    /// the whole sample is a pass, each example drawn a mistake.
    RandomMistake,
    /// The whole sample between two hypotheses, in any order that stays: [`Rule::mistakes`] reads
    /// it, [`Rule::search`] makes the next hypothesis. Each pass but a clean one is a mistake.
    Search,
}

/// What a mistake or a batch came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// The hypothesis changed.
    Changed,
    /// It did not.
    Unchanged,
    /// The rule wants more examples first: see [`Rule::awaits`].
    Awaiting,
    /// It cannot be applied; the text says which limit of the rule was met.
    Refused(&'static str),
}

/// How one example changes a hypothesis.
pub trait Rule: Send {
    /// The order in which the rule wants its examples, asked before each pass.
    fn order(&self) -> Order {
        Order::Cyclic
    }

    /// Takes over a hypothesis over as many features, found before, in place of its own first one.
    /// Asked before the first example only.
    ///
    /// # Errors
    /// What about the hypothesis does not fit the rule; which would.
    fn start_from(&mut self, hypothesis: &Hypothesis) -> Result<(), String>;

    /// The first of `rows` that the present hypothesis gets wrong.
    ///
    /// Each example is shown once a pass, in order. A rule may take note of those that it gets
    /// right, so long as its hypothesis stays.
    ///
    /// Where one example can take longer than 2^24 words of work, the rule looks at `stop`
    /// meanwhile, and [`Self::may_break_off`]. Once it is raised any answer will do then: the loop
    /// looks at the flag before it believes the answer.
    fn first_mistake(
        &mut self,
        block: &Block<'_>,
        rows: Range<usize>,
        stop: &StopFlag,
    ) -> Option<usize>;

    /// Whether the rule looks at the flag that it is handed. Then looking at examples must change
    /// nothing that [`Self::snapshot`] writes: a state in which it was broken off is one before it
    /// looked. The answers of other rules are right whenever they come.
    fn may_break_off(&self) -> bool {
        false
    }

    /// Learns from row `row`, on which the hypothesis was wrong.
    fn update(&mut self, block: &Block<'_>, row: usize, random: &mut Generator) -> Update;

    /// How many further examples the rule consumes, untested, before it tests again.
    fn awaits(&self) -> u64 {
        0
    }

    /// Consumes `rows`, no more than [`Self::awaits`] of them.
    fn absorb(&mut self, _: &Block<'_>, _: Range<usize>, _: &mut Generator) -> Update {
        unreachable!("a rule that never awaits examples was given some")
    }

    /// The mask of all rows that the present hypothesis gets wrong. Asked only of rules whose
    /// order is [`Order::RandomMistake`] or [`Order::Search`]. `stop` is as for [`Self::first_mistake`].
    fn mistakes(&mut self, block: &Block<'_>, stop: &StopFlag) -> u64 {
        self.hypothesis().mistakes(block, stop)
    }

    /// Told the errors of the present hypothesis after an evaluation of the whole sample.
    fn evaluated(&mut self, _errors: u64) {}

    /// Makes the next hypothesis from a pass in which the present one failed. Asked only of rules
    /// whose order is [`Order::Search`].
    fn search(&mut self, _: &mut Generator) -> Update {
        unreachable!("a rule that does not search was asked to")
    }

    /// Told that a pass in another order than [`Order::RandomMistake`] or [`Order::Search`] was not
    /// clean, and that a further one follows.
    fn next_pass(&mut self, _: &mut Generator) {}

    /// Told of a pass without a mistake, with which the run ends: how it is said to end.
    fn clean_pass(&mut self) -> Reason {
        Reason::Converged
    }

    /// What is to be said of a run that ended for this reason on a sample of so many examples.
    fn remark(&self, _: Reason, _examples: u64) -> Option<String> {
        None
    }

    /// What the rule keeps of each example of a sample.
    fn bytes_an_example(&self) -> u64 {
        0
    }

    /// Bytes that the state may grow to after so many mistakes.
    fn grown_bytes(&self, _mistakes: u64) -> u64 {
        0
    }

    /// The hypothesis to answer with.
    fn hypothesis(&self) -> Hypothesis;

    /// Writes the state, but for what the parameters and the hypothesis to begin from say of it: of
    /// a session, or of a training that is to go on elsewhere. Between two examples, or, where the
    /// whole sample is read under one hypothesis, two blocks.
    fn snapshot(&mut self, snapshot: &mut SnapshotWriter);

    /// Takes over the state that [`Self::snapshot`] wrote, the rule having been built from the same
    /// parameters: it then goes on exactly as the one that wrote it.
    ///
    /// # Errors
    /// When it is no such state; the rule is of no use then.
    fn restore(&mut self, snapshot: &mut SnapshotReader<'_>) -> Result<(), SnapshotError>;

    /// Whether the hypothesis to answer with is the best of the run rather than the last.
    fn keeps_best(&self) -> bool {
        false
    }

    /// Why there is no bound where [`Self::bound`] finds none.
    fn why_no_bound(&self) -> &'static str {
        "no bound on the number of mistakes is known for this learner"
    }

    /// The theorem's bound, once the run has ended on `stream` with `counts` for this reason.
    ///
    /// # Errors
    /// The interrupt that cut the computation short.
    fn bound(
        &self,
        _stream: &mut dyn Stream,
        _counts: &Counts,
        _reason: Reason,
        _run: &Run,
    ) -> Result<Option<Bound>, Interrupt> {
        Ok(None)
    }
}
