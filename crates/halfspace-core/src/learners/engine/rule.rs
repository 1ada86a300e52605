//! The rule of a learner: how examples change its hypothesis.
//!
//! Every [`Rule`] has a hypothesis and a state. How it learns is its [`Kind`]: an [`OnlineRule`] learns from one
//! example at a time, and a [`SearchRule`] reads the whole sample under one hypothesis before it makes the next. An
//! on-line rule that asks for further examples after a mistake is also a [`BatchRule`].
//!
//! Passes, stopping, tracing, progress and cancellation belong to the train loop
//! ([`crate::learners::engine::train_loop`]). A rule is only told where a pass ends and what an evaluation found, so
//! the same on-line rule serves trainings and sessions.

use std::ops::Range;

use crate::bits::Excerpt;
use crate::learners::arithmetic::bracket::Bracket;
use crate::learners::decision::Decision;
use crate::learners::engine::bound::{Bound, MemberOutcome};
use crate::learners::engine::random::Generator;
use crate::learners::engine::reason::Reason;
use crate::learners::engine::run::{Counts, Interrupt, Run, StopFlag};
use crate::learners::engine::snapshot::{SnapshotError, SnapshotReader, SnapshotWriter};
use crate::learners::engine::thickness::{Band, Lesson, Stand};
use crate::learners::engine::update::{Learnt, Update};
use crate::learners::hypothesis::Hypothesis;
use crate::learners::predictor::Predictor;
use crate::learners::sample::block::Block;
use crate::learners::sample::source::{SharedSample, Stream};

/// The order in which an on-line rule reads the examples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The order of the data in every pass.
    Cyclic,
    /// A new random order for each pass. Examples that come only once stay in their own order.
    Shuffled,
    /// One example, drawn uniformly from all that the hypothesis classifies wrongly. Each evaluation of the whole
    /// sample counts as a pass, and each drawn example as a mistake.
    RandomMistake,
}

/// How a rule learns.
pub enum Kind<'r> {
    /// From one example at a time.
    Online(&'r mut dyn OnlineRule),
    /// From the whole sample. Each pass with an error counts as a mistake.
    Search(&'r mut dyn SearchRule),
}

impl Kind<'_> {
    /// The order of the examples. A search has none: it reads whole passes in the order of the data.
    pub fn order(&self) -> Option<Order> {
        match self {
            Self::Online(rule) => Some(rule.order()),
            Self::Search(_) => None,
        }
    }
}

/// A hypothesis that learns.
pub trait Rule: Send {
    /// How the rule learns now. The train loop asks before each pass, because the answer may change.
    fn kind(&mut self) -> Kind<'_>;

    /// Replaces the rule's own first hypothesis by `hypothesis`, which has the same number of features. Called only
    /// before the first example.
    ///
    /// # Errors
    /// Why the hypothesis does not fit the rule, with the kind of hypothesis that would.
    fn start_from(&mut self, hypothesis: &Hypothesis) -> Result<(), String>;

    /// The mask of all rows that the present hypothesis classifies wrongly. Called while the whole sample is read
    /// under one hypothesis. For `stop`, see [`OnlineRule::first_mistake`].
    fn mistakes(&mut self, block: &Block<'_>, stop: &StopFlag) -> u64 {
        self.predictor().mistakes(block, stop)
    }

    /// Adds features up to `n` features, each with the first weight of the learner. The time per new feature is
    /// constant on average.
    ///
    /// # Errors
    /// Why the rule cannot have so many. Nothing changes then.
    fn grow(&mut self, _n: usize) -> Result<(), String> {
        Err("the learner needs a fixed number of features".to_owned())
    }

    /// Receives the number of errors of the present hypothesis after it was evaluated on the whole sample.
    fn evaluated(&mut self, _errors: u64) {}

    /// Called after a pass with mistakes when another pass follows, unless the pass was an evaluation.
    fn next_pass(&mut self, _: &mut Generator) {}

    /// Called after a pass without a mistake, which ends the run. Returns the reason to report.
    fn clean_pass(&mut self) -> Reason {
        Reason::Converged
    }

    /// A note about a run that ended for this reason on a sample of `_examples` examples.
    fn remark(&self, _: Reason, _examples: u64) -> Option<String> {
        None
    }

    /// Bytes that the rule keeps per example of a sample.
    fn bytes_an_example(&self) -> u64 {
        0
    }

    /// Bytes that the state may grow to after `_mistakes` mistakes. `_ones` is the average number of active features of
    /// an example, if the rows are sparse.
    fn grown_bytes(&self, _mistakes: u64, _ones: Option<u64>) -> u64 {
        0
    }

    /// The hypothesis that the learner answers with.
    fn predictor(&self) -> Predictor;

    /// The hypothesis that makes the mistakes, if the learner answers with another.
    fn last(&self) -> Predictor {
        self.predictor()
    }

    /// What [`Self::predictor`] decides with on examples that have no features but those of an excerpt, at their places
    /// there. The time depends on the excerpt and not on the number of features. None if features have no names.
    fn excerpt(&self, _: &Excerpt) -> Option<Predictor> {
        None
    }

    /// Writes the state of a session, or of a training that resumes elsewhere, without anything that follows from the
    /// parameters and the initial hypothesis. Called between two examples, or between two blocks while the whole
    /// sample is read under one hypothesis.
    fn snapshot(&mut self, snapshot: &mut SnapshotWriter);

    /// Restores the state that [`Self::snapshot`] wrote into a rule that was built from the same parameters. It then
    /// behaves exactly like the rule that wrote the state.
    ///
    /// # Errors
    /// An error if the bytes are not such a state. The rule is unusable then.
    fn restore(&mut self, snapshot: &mut SnapshotReader<'_>) -> Result<(), SnapshotError>;

    /// Whether [`Self::predictor`] is the best hypothesis of the run rather than the last.
    fn keeps_best(&self) -> bool {
        false
    }

    /// The bound of a committee that learns jointly and of which this rule is the first member. `_committee` has the
    /// hypotheses that made the mistakes, and the other arguments are those of [`Self::bound`].
    ///
    /// # Errors
    /// The interrupt that stopped the computation.
    fn joint_bound(
        &self,
        _committee: &Predictor,
        _stream: &mut dyn Stream,
        _counts: &Counts,
        _reason: Reason,
        _run: &Run,
    ) -> Result<Option<Bound>, Interrupt> {
        Ok(None)
    }

    /// The counts and bounds of the members of a committee, in the order of the codes. Empty for a rule of two
    /// classes. The arguments are those of [`Self::bound`]; without a stream, there are no bounds.
    ///
    /// # Errors
    /// The interrupt that stopped the computation.
    fn members(
        &self,
        _stream: Option<&mut (dyn Stream + '_)>,
        _counts: &Counts,
        _reason: Reason,
        _run: &Run,
    ) -> Result<Vec<MemberOutcome>, Interrupt> {
        Ok(Vec::new())
    }

    /// Why [`Self::bound`] finds no bound.
    fn why_no_bound(&self) -> &'static str {
        "no bound on the number of mistakes is known for this learner"
    }

    /// The bound of the learner's theorem, where it needs no examples: a session keeps none. The counts may show that
    /// an assumption fails; the error then says so.
    ///
    /// # Errors
    /// Why there is none.
    fn bound_of_counts(&self, _counts: &Counts) -> Result<Bound, &'static str> {
        Err(self.why_no_bound())
    }

    /// The bound of the learner's theorem, after the run has ended on `_stream` with `_counts` for `_reason`.
    ///
    /// # Errors
    /// The interrupt that stopped the computation.
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

impl dyn Rule + '_ {
    /// The rule, in places that only on-line rules reach.
    ///
    /// # Panics
    /// Panics if the rule is a search. Whoever begins a pass or a session has asked for the [`Kind`].
    pub(crate) fn online(&mut self) -> &mut dyn OnlineRule {
        match self.kind() {
            Kind::Online(rule) => rule,
            Kind::Search(_) => unreachable!("a search reads whole passes"),
        }
    }

    /// The masks of the rows of a block from which the rule would learn, and of the mistakes among them. Called while
    /// the whole sample is read under one hypothesis. For `stop`, see [`OnlineRule::first_mistake`].
    pub(crate) fn lessons(&mut self, block: &Block<'_>, stop: &StopFlag) -> (u64, u64) {
        let (mut lessons, mut mistakes, mut next) = (0, 0, 0);
        match self.kind() {
            Kind::Online(rule) if rule.band().is_some() => {
                while let Some(lesson) = rule.first_lesson(block, next..block.rows(), stop) {
                    lessons |= 1 << lesson.row;
                    mistakes |= u64::from(lesson.is_mistake) << lesson.row;
                    next = lesson.row + 1;
                }
                (lessons, mistakes)
            }
            Kind::Online(_) | Kind::Search(_) => {
                mistakes = self.mistakes(block, stop);
                (mistakes, mistakes)
            }
        }
    }
}

/// A rule that learns from one example at a time.
pub trait OnlineRule: Rule {
    /// The order in which the rule reads the examples. The train loop asks before each pass.
    fn order(&self) -> Order {
        Order::Cyclic
    }

    /// The first of `rows` that the present hypothesis classifies wrongly.
    ///
    /// The loop shows each example once per pass and in order. A rule may take notes about correctly classified
    /// examples, but the hypothesis of a conservative rule stays the same meanwhile.
    ///
    /// If one example can take more than 2^24 words of work, the rule must poll `stop` meanwhile and return true from
    /// [`Self::may_break_off`]. Once the flag is raised, any answer will do, because the loop checks the flag before
    /// it uses the answer.
    fn first_mistake(
        &mut self,
        block: &Block<'_>,
        rows: Range<usize>,
        stop: &StopFlag,
    ) -> Option<usize>;

    /// The first of `rows` from which the rule learns: a mistake, or a row within its
    /// [thickness](crate::learners::engine::thickness). For `stop`, see [`Self::first_mistake`].
    fn first_lesson(
        &mut self,
        block: &Block<'_>,
        rows: Range<usize>,
        stop: &StopFlag,
    ) -> Option<Lesson> {
        match self.as_member() {
            Some(member) if member.band().is_some() => first_in_band(member, block, rows, stop),
            _ => self.first_mistake(block, rows, stop).map(Lesson::mistake),
        }
    }

    /// The scores that are too near to the threshold. None without thickness.
    fn band(&self) -> Option<&Band> {
        None
    }

    /// Whether the rule polls the stop flag that it receives. If so, looking at examples must not change anything
    /// that [`Rule::snapshot`] writes, so that the state after an interrupted look equals the state before. The
    /// answers of other rules are right at any time.
    fn may_break_off(&self) -> bool {
        false
    }

    /// Learns from row `row`, a [lesson](Self::first_lesson).
    fn update(&mut self, block: &Block<'_>, row: usize, random: &mut Generator) -> Update;

    /// Reads `rows` in order and learns from each [lesson](Self::first_lesson). Ends early after `mistakes_max`
    /// mistakes, which is at least 1, or after as many rows that changed the hypothesis, and after an update of the
    /// kind [`Update::Awaiting`] or [`Update::Refused`]. When `stop` is raised, it may also end before a row, which it
    /// then leaves as it was; a rule that [may break off](Self::may_break_off) must.
    ///
    /// A rule that overrides the method must have the same effect, unless it is a committee.
    fn learn(
        &mut self,
        block: &Block<'_>,
        rows: Range<usize>,
        mistakes_max: u64,
        stop: &StopFlag,
        random: &mut Generator,
    ) -> Learnt {
        learn_one_by_one(self, block, rows, mistakes_max, stop, random)
    }

    /// Called by [`Self::learn`] and by committees after at most a block of examples was shown, once the rule has
    /// learnt from the mistakes among them. A committee also calls it before an update, with the examples since the
    /// last call. A limit that is named here ends the run.
    fn presented(&mut self, _examples: u64) -> Option<&'static str> {
        None
    }

    /// Prepares work on the next examples of a sample with helpers, before a block is read. The hypothesis may change
    /// before the last of them. Called only for the orders [`Order::Cyclic`] and [`Order::Shuffled`], and with real
    /// samples only for rules that read them. For `stop`, see [`Self::first_mistake`].
    fn look_ahead(&mut self, _: &SharedSample<'_>, _: &StopFlag) {}

    /// The rule, if an update may ask for further examples.
    fn as_batch(&mut self) -> Option<&mut dyn BatchRule> {
        None
    }

    /// The rule, if it can be a member of a committee.
    fn as_member(&mut self) -> Option<&mut dyn MemberRule> {
        None
    }
}

/// An on-line rule that can be a member of a committee. It learns from mistakes, which are decisions for the other
/// class, and from scores within its band.
pub trait MemberRule: OnlineRule {
    /// The decision of the present hypothesis on row `row`. For `stop`, see [`OnlineRule::first_mistake`].
    fn decide(&mut self, block: &Block<'_>, row: usize, stop: &StopFlag) -> Decision;

    /// What the rule decides on row `row`, with bounds on its score that compare with those of the other members. None
    /// if they cost as much as [`Self::decide`].
    fn glance(&mut self, _block: &Block<'_>, _row: usize) -> Option<(Stand, Bracket)> {
        None
    }

    /// How many examples can be shown before [`OnlineRule::presented`] has to hear of them.
    fn patience(&self) -> u64 {
        u64::MAX
    }

    /// The factor of a positive example in an update, in units of the weights. The factor of a negative one is the
    /// opposite. None unless an update adds the example times this factor, by its label alone and whatever the decision
    /// was. Only members with a factor can learn jointly.
    fn additive_step(&self) -> Option<f64> {
        None
    }
}

/// An on-line rule that learns from a mistake together with further examples: see [`Update::Awaiting`].
pub trait BatchRule: OnlineRule {
    /// The number of further examples that the rule consumes untested before the next test.
    fn batch_remaining(&self) -> u64;

    /// Consumes `rows`, at most [`Self::batch_remaining`] of them.
    fn consume(&mut self, block: &Block<'_>, rows: Range<usize>, random: &mut Generator) -> Update;
}

/// A rule that reads the whole sample with [`Rule::mistakes`], then makes the next hypothesis.
pub trait SearchRule: Rule {
    /// The masks of [`Rule::mistakes`] for the next blocks of a sample, computed by several threads. Empty if the
    /// rule prefers to read the next block alone. For `stop`, see [`OnlineRule::first_mistake`].
    fn mistakes_ahead(&mut self, sample: &SharedSample<'_>, stop: &StopFlag) -> Vec<u64>;

    /// Makes the next hypothesis after a pass with errors.
    fn search(&mut self, random: &mut Generator) -> Update;
}

/// The first of `rows` that is a mistake of a rule or lies within its band. Once it is stopped, any row.
fn first_in_band(
    rule: &mut dyn MemberRule,
    block: &Block<'_>,
    mut rows: Range<usize>,
    stop: &StopFlag,
) -> Option<Lesson> {
    let may_break_off = rule.may_break_off();
    rows.find_map(|row| {
        let is_positive = block.is_positive(row);
        let decision = rule.decide(block, row, stop);
        let is_mistake = decision.is_positive() != is_positive;
        let is_near = |band: &Band| band.teaches(&decision.score, is_positive);
        let is_stopped = may_break_off && stop.raised().is_some();
        (is_mistake || is_stopped || rule.band().is_some_and(is_near))
            .then_some(Lesson { row, is_mistake })
    })
}

/// What [`OnlineRule::learn`] does by definition.
pub fn learn_one_by_one<R: OnlineRule + ?Sized>(
    rule: &mut R,
    block: &Block<'_>,
    rows: Range<usize>,
    mistakes_max: u64,
    stop: &StopFlag,
    random: &mut Generator,
) -> Learnt {
    let mut learnt = Learnt::nothing(rows.end);
    let mut next = rows.start;
    for _ in 0..mistakes_max {
        let lesson = rule.first_lesson(block, next..rows.end, stop);
        // After the flag is raised, the answer may be wrong.
        if rule.may_break_off() && stop.look().is_some() {
            break;
        }
        let skipped = lesson.map_or(rows.end, |lesson| lesson.row) - next;
        let limit = rule.presented(skipped as u64);
        let Some(lesson) = lesson else {
            learnt.last = limit.map_or(learnt.last, Update::Refused);
            return learnt;
        };
        next = lesson.row + 1;
        learnt.note(lesson, rule.update(block, lesson.row, random));
        if let Some(limit) = rule.presented(1).or(limit) {
            learnt.last = Update::Refused(limit);
        }
        if matches!(learnt.last, Update::Awaiting | Update::Refused(_)) {
            break;
        }
    }
    learnt.end = next;
    learnt
}
