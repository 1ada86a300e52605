//! On-line learning: a session answers examples one after another, with pauses of any length in between.
//!
//! A session is a [`RunState`] without passes. Rule, confidence rule and counts work as in the train loop, but the
//! client sends the examples. A session can write and restore its state after any example, including an incomplete
//! batch and the random generator, so an interrupted session gives the same answers as an uninterrupted one.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use crate::bits::Excerpt;
use crate::learners::engine::assume::Assume;
use crate::learners::engine::bound::Bound;
use crate::learners::engine::check::{check_data, check_multiclass, check_names};
use crate::learners::engine::input::{Input, TaskError};
use crate::learners::engine::reason::Reason;
use crate::learners::engine::recurrences::Recurrences;
use crate::learners::engine::report;
use crate::learners::engine::rule::Rule;
use crate::learners::engine::run::{Counts, Run, RunLimits};
use crate::learners::engine::run_state::{RunState, Stop, Tested};
use crate::learners::engine::snapshot::{SnapshotError, SnapshotReader, SnapshotWriter};
use crate::learners::engine::stop_conditions;
use crate::learners::engine::stopping::{Sampling, Watch, confidence_detail};
use crate::learners::engine::task::{self, Task};
use crate::learners::predictor::Predictor;
use crate::learners::sample::block::{Block, BlockFeatures};
use crate::learners::sample::data::{Data, Features};
use crate::learners::sample::source::{Presented, Stream};

/// The first number of a snapshot: the version of its format.
const VERSION: u64 = 1;

/// Why a session claims no confidence if the client declares no sampling.
const UNDECLARED: &str = "the examples are not declared fresh and independent (assume)";

/// The learner of a session and the kind of its examples.
#[derive(Clone, Debug)]
pub struct SessionPlan {
    /// Learner, parameters, seed and stop conditions.
    pub task: Task,
    /// Features per example. 0 if features have names, of which the session learns the number.
    pub n: usize,
    /// Whether the features are real.
    pub real: bool,
    /// The declared origin of the examples.
    pub assume: Option<Assume>,
}

/// The answer to one example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The code of the class that was predicted before the example was learnt; with two classes, 1 is the positive
    /// one. None if a batch consumed the example untested.
    pub prediction: Option<u32>,
    /// Whether the prediction was wrong.
    pub is_mistake: bool,
    /// Consistent examples since the last mistake.
    pub run_length: u64,
    /// Whether the session ended with this example.
    pub is_last: bool,
    /// The number of its names that no earlier example had. None if features have no names.
    pub unseen: Option<u32>,
}

/// The end of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionEnd {
    /// The confidence rule accepted the hypothesis.
    Confident,
    /// A limit was reached: a field of `stop`, or a limit of the rule itself.
    Limit(String),
}

impl fmt::Display for SessionEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Confident => f.write_str("the session is confident"),
            Self::Limit(limit) => write!(f, "limit reached: {limit}"),
        }
    }
}

/// Why examples were not learnt.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LearnError {
    /// An example does not fit the session.
    #[error("{error}")]
    Unfit {
        /// The first such example, counted from 0.
        example: usize,
        /// The reason.
        error: TaskError,
    },
    /// The run was told to stop. The session is unusable afterwards.
    #[error("the computation was stopped")]
    Interrupted,
}

/// A session under way.
pub struct Session {
    plan: SessionPlan,
    /// The number of features that examples have had so far, if they have names.
    n: usize,
    /// The largest number of names of an example so far.
    active_most: u64,
    rule: Box<dyn Rule>,
    course: RunState,
    run_length: u64,
    end: Option<SessionEnd>,
    /// Evidence against the declared sampling, collected while a claim may rest on it.
    recurrences: Recurrences,
    /// How the examples refute the declared sampling.
    refuted: Option<String>,
}

impl Session {
    /// The session before its first example.
    ///
    /// # Errors
    /// An error if the learner needs the whole sample, or a stop condition has no meaning for a session.
    pub fn new(plan: SessionPlan) -> Result<Self, TaskError> {
        check(&plan)?;
        let (mut rule, random) = built(&plan)?;
        if !task::takes_stream(&plan.task, rule.kind().order()) {
            let detail = "a session learns each example once; use the order cyclic";
            return Err(TaskError::NotOnLine(detail.to_owned()));
        }
        let limits = RunLimits {
            max_passes: None,
            ..plan.task.limits
        };
        let watch = watch(&plan).filter(|_| plan.task.start_doubt.is_none());
        let counts = Counts {
            passes: 1,
            ..Counts::default()
        };
        Ok(Self {
            rule,
            course: RunState {
                watch,
                counts,
                tested: Some(Tested::default()),
                ..RunState::new(limits, random)
            },
            run_length: 0,
            end: None,
            recurrences: Recurrences::default(),
            refuted: None,
            n: plan.n,
            active_most: 0,
            plan,
        })
    }

    /// Restores the session that wrote a snapshot.
    ///
    /// # Errors
    /// An error if the bytes are not a snapshot of a session with this plan.
    pub fn restore(plan: SessionPlan, snapshot: &[u8]) -> Result<Self, SnapshotError> {
        let mut session = Self::new(plan).map_err(|_| SnapshotError)?;
        let mut reader = SnapshotReader::new(snapshot);
        if reader.number()? != VERSION {
            return Err(SnapshotError);
        }
        if session.plan.task.names {
            let n = usize::try_from(reader.number()?).map_err(|_| SnapshotError)?;
            session.rule.grow(n.max(1)).map_err(|_| SnapshotError)?;
            session.n = n;
            session.active_most = reader.number()?;
        }
        let course = &mut session.course;
        course.read_counts(&mut reader)?;
        session.run_length = reader.number()?;
        session.end = match reader.number()? {
            0 => None,
            1 => Some(SessionEnd::Confident),
            _ => {
                let text = str::from_utf8(reader.bytes()?).map_err(|_| SnapshotError)?;
                Some(SessionEnd::Limit(text.to_owned()))
            }
        };
        let first = course.watch.take();
        let is_watched = reader.number()? == 1;
        course.watch = watch(&session.plan).filter(|_| is_watched);
        course.read_watch(&mut reader)?;
        if first.is_none() {
            course.watch = None;
        }
        session.recurrences = Recurrences::read(&mut reader)?;
        if reader.number()? == 1 {
            let text = str::from_utf8(reader.bytes()?).map_err(|_| SnapshotError)?;
            session.refuted = Some(text.to_owned());
        }
        session.course.tested = Some(Tested::read(&mut reader)?.ok_or(SnapshotError)?);
        session.rule.restore(&mut reader)?;
        reader.end()?;
        Ok(session)
    }

    /// The state that [`Self::restore`] needs besides the plan.
    pub fn snapshot(&mut self) -> Vec<u8> {
        let mut writer = SnapshotWriter::default();
        writer.number(VERSION);
        if self.plan.task.names {
            writer.numbers([self.n as u64, self.active_most]);
        }
        self.course.write_counts(&mut writer);
        writer.number(self.run_length);
        match &self.end {
            None => writer.number(0),
            Some(SessionEnd::Confident) => writer.number(1),
            Some(SessionEnd::Limit(text)) => {
                writer.number(2);
                writer.bytes(text.as_bytes());
            }
        }
        writer.number(self.course.watch.is_some().into());
        self.course.write_watch(&mut writer);
        self.recurrences.write(&mut writer);
        writer.number(self.refuted.is_some().into());
        if let Some(text) = &self.refuted {
            writer.bytes(text.as_bytes());
        }
        Tested::write(self.course.tested, &mut writer);
        self.rule.snapshot(&mut writer);
        writer.finish()
    }

    /// Learns until the examples or the session end. Returns an answer for each learnt example.
    ///
    /// If features have names, the rule then has all those of `data`. So a session that ends before the last example
    /// must be restored as of the examples that it learnt.
    ///
    /// # Errors
    /// If an example does not fit, none is learnt. If `run` was told to stop, the session is unusable.
    pub fn learn(&mut self, data: &Data, run: &Run) -> Result<Vec<Answered>, LearnError> {
        if let Err(error) = self.check_examples(data) {
            return Err(self.first_unfit(data, error));
        }
        if let Some(n) = self.all_names(data)
            && let Err(detail) = self.rule.grow(n.max(1))
        {
            let error = TaskError::WrongData(detail);
            return Err(LearnError::Unfit { example: 0, error });
        }
        let mut sample = Presented::new(data, self.plan.task.entry.presentation);
        let mut learnt = 0;
        let mut answers = Vec::with_capacity(data.examples());
        while let Some(block) = sample.next_block().map_err(|_| LearnError::Interrupted)? {
            let mut row = 0;
            while row < block.rows() && self.end.is_none() {
                let rows = row..block.rows();
                let rule = self.rule.online();
                let (seen, step) = self.course.learn(rule, run, &block, rows, u64::MAX);
                if run.stop.raised().is_some() {
                    return Err(LearnError::Interrupted);
                }
                self.compare(data, learnt..learnt + seen.end - row);
                learnt += seen.end - row;
                self.end = match step {
                    Err(Stop::End(Reason::Confident)) if self.course.watch.is_none() => None,
                    Ok(()) => None,
                    Err(Stop::End(Reason::Confident)) => Some(SessionEnd::Confident),
                    Err(Stop::End(Reason::Limit(name))) => Some(SessionEnd::Limit(name.to_owned())),
                    Err(_) => return Err(LearnError::Interrupted),
                };
                for at in row..seen.end {
                    self.active_most = self.active_most.max(active(&block, at));
                    let is_mistake = seen.mistaken >> at & 1 == 1;
                    match (seen.is_tested, is_mistake) {
                        (false, _) => {}
                        (true, true) => self.run_length = 0,
                        (true, false) => self.run_length += 1,
                    }
                    answers.push(Answered {
                        prediction: seen.predicted(&block, at),
                        is_mistake,
                        run_length: self.run_length,
                        is_last: at + 1 == seen.end && self.end.is_some(),
                        unseen: unseen(&mut self.n, &block, at).filter(|_| self.plan.task.names),
                    });
                }
                row = seen.end;
            }
        }
        Ok(answers)
    }

    /// The number of features once these examples are learnt. None if none is new.
    fn all_names(&self, data: &Data) -> Option<usize> {
        let Features::Sparse(rows) = data.features() else {
            return None;
        };
        let last = (0..rows.rows()).filter_map(|row| rows.row(row).ids.last());
        let n = last.max().map_or(0, |last| *last as usize + 1);
        (self.plan.task.names && n > self.n).then_some(n)
    }

    /// Compares newly learnt examples with earlier ones while a claim may rest on their sampling.
    fn compare(&mut self, data: &Data, rows: Range<usize>) {
        let Some(sampling) = self.plan.assume.and_then(Assume::sampling) else {
            return;
        };
        if self.fresh().is_err() {
            return;
        }
        for row in rows {
            let Some(bits) = data.features().bits(row) else {
                return;
            };
            let label = data.labels().signs().is_none_or(|signs| signs.get(row));
            self.recurrences.note(bits.words(), label);
        }
        self.refuted = self.recurrences.against(sampling, self.plan.n);
        if self.refuted.is_some() {
            self.course.watch = None;
        }
    }

    /// The first example that does not fit, if `error` is the reason of one of them.
    fn first_unfit(&self, data: &Data, error: TaskError) -> LearnError {
        let each = (0..data.examples()).map(|row| self.check_examples(&data.rows(row..row + 1)));
        let first = each
            .enumerate()
            .find_map(|(row, checked)| Some((row, checked.err()?)));
        let (example, error) = first.unwrap_or((0, error));
        LearnError::Unfit { example, error }
    }

    /// Checks that the examples fit this session.
    ///
    /// # Errors
    /// The first condition that does not hold.
    pub fn check_examples(&self, data: &Data) -> Result<(), TaskError> {
        let Self { plan, .. } = self;
        let is_sparse = matches!(data.features(), Features::Sparse(_));
        let is_fit = match plan.task.names {
            true => is_sparse && data.n() >= self.n,
            false => data.n() == self.n,
        };
        if !is_fit {
            let (n, own) = (data.n(), self.n);
            let detail = format!("the examples have {n} features, but the session has n = {own}");
            return Err(TaskError::WrongData(detail));
        }
        let assume = plan.assume;
        let input = Input::Sample { data, assume };
        let is_real = data.features().is_real();
        if is_real && !plan.real {
            let detail = "the session accepts Boolean examples only: values all 0/1 or all -1/1";
            return Err(TaskError::WrongData(detail.to_owned()));
        }
        assert_eq!(
            is_real, plan.real,
            "whoever reads spells Boolean values out"
        );
        check_data(&plan.task, input)?;
        let is_labelled = data.labels().are_given();
        if stop_conditions::check_assume(assume, is_labelled, is_real).is_err() {
            let detail = "the examples have the wrong kind for the session's `assume`: \
                          uniform-positive and reflected need half-space examples, uniform needs \
                          labelled examples";
            return Err(TaskError::WrongData(detail.to_owned()));
        }
        match plan.task.entry.check {
            Some(check) => check(&plan.task.parameters, input),
            None => Ok(()),
        }
    }

    pub fn plan(&self) -> &SessionPlan {
        &self.plan
    }

    /// Features per example, or the number of names that examples have had so far.
    pub fn n(&self) -> usize {
        self.n
    }

    /// The present hypothesis. None before the first example of open classes.
    pub fn predictor(&self) -> Option<Predictor> {
        let predictor = self.rule.predictor();
        (!predictor.members().is_empty()).then_some(predictor)
    }

    /// The present hypothesis for examples that have no names but those of an excerpt, see [`Rule::excerpt`]. None if
    /// features have no names, and before the first example of open classes.
    pub fn excerpt(&self, excerpt: &Excerpt) -> Option<Predictor> {
        let predictor = self.rule.excerpt(excerpt);
        predictor.filter(|own| self.plan.task.names && !own.members().is_empty())
    }

    /// The hypothesis that predicts the next example before it is learnt. Only an average differs from
    /// [`Self::predictor`].
    pub fn last(&self) -> Predictor {
        self.rule.last()
    }

    /// The counts of the session. Its position is the number of examples.
    pub fn counts(&self) -> Counts {
        self.course.counts
    }

    /// The bound of the learner's theorem, where it needs no examples.
    ///
    /// # Errors
    /// Why there is none.
    pub fn bound(&self) -> Result<Bound, Cow<'static, str>> {
        let most = self.active_most;
        if let Some(declared) = self
            .plan
            .task
            .active_max
            .filter(|declared| *declared < most)
        {
            return Err(format!(
                "an example had {most} names, more than active = {declared}; open a session with a larger active"
            )
            .into());
        }
        let bound = self.rule.bound_of_counts(&self.counts())?;
        match self.plan.task.names && self.plan.task.active_max.is_none() {
            true => Err(
                "the bound needs the largest number of names of an example; open the session with active"
                    .into(),
            ),
            false => Ok(bound),
        }
    }

    /// Consistent examples since the last mistake.
    pub fn run_length(&self) -> u64 {
        self.run_length
    }

    /// The end of the session, if it has ended.
    pub fn end(&self) -> Option<&SessionEnd> {
        self.end.as_ref()
    }

    /// The watch for confidence, if the session may claim any.
    pub fn watch(&self) -> Option<&Watch> {
        self.course.watch.as_ref()
    }

    /// The paper's claim about one hypothesis, under the rule `per-hypothesis` only.
    pub fn per_hypothesis_confidence(&self) -> Option<f64> {
        self.watch()?.own_claim()
    }

    /// A note about an end by the confidence rule, if there is one.
    pub fn end_note(&self) -> Option<String> {
        report::short_note(self.watch()?)
    }

    /// Why a learner with a confidence rule claims no confidence, or what is weak about its rule.
    pub fn confidence_detail(&self) -> Option<Cow<'static, str>> {
        let has_rules = self.plan.task.has_confidence_rules();
        let sampling = self.fresh().and_then(|()| named_sampling(&self.plan));
        confidence_detail(self.watch(), sampling, self.counts().passes).filter(|_| has_rules)
    }

    /// Whether the examples are fresh and independent as far as the service knows.
    ///
    /// # Errors
    /// Why they are not known to be.
    pub fn fresh(&self) -> Result<(), Cow<'static, str>> {
        match (&self.refuted, self.plan.task.start_doubt) {
            _ if self.plan.assume.is_none() => Err(UNDECLARED.into()),
            (Some(refuted), _) => Err(refuted.clone().into()),
            (None, Some(doubt)) => Err(doubt.into()),
            (None, None) => Ok(()),
        }
    }

    /// The tests so far.
    pub fn tested(&self) -> Tested {
        // Each session has them from its beginning on.
        self.course.tested.unwrap_or_default()
    }

    /// The confidence of the session as a whole. None if it may not claim any.
    pub fn confidence(&self) -> Option<f64> {
        let is_accepted = self.end == Some(SessionEnd::Confident);
        Some(self.watch()?.claim(is_accepted))
    }
}

/// The watch that the declaration allows, regardless of the first hypothesis.
fn watch(plan: &SessionPlan) -> Option<Watch> {
    let sampling = plan.assume.and_then(Assume::sampling);
    stop_conditions::watch_for(&plan.task, plan.n, plan.assume.is_some(), sampling, true)
}

/// The declared distribution, or why there is none.
fn named_sampling(plan: &SessionPlan) -> Result<Sampling, Cow<'static, str>> {
    let assume = plan.assume.ok_or(UNDECLARED)?;
    let unnamed = "assume = independent names no distribution of the examples";
    assume.sampling().ok_or(unnamed.into())
}

fn built(plan: &SessionPlan) -> Result<task::Built, TaskError> {
    // Examples without any name have one feature, too.
    let n = if plan.task.names {
        plan.n.max(1)
    } else {
        plan.n
    };
    task::build_for(&plan.task, n, plan.real)
}

/// The number of active features of a sparse row.
fn active(block: &Block<'_>, row: usize) -> u64 {
    match block.features {
        BlockFeatures::Sparse(rows) => rows.row(row).ids.len() as u64,
        BlockFeatures::Boolean(_) | BlockFeatures::Real { .. } => 0,
    }
}

/// The number of features of a sparse row from `known` on, which then counts them.
fn unseen(known: &mut usize, block: &Block<'_>, row: usize) -> Option<u32> {
    let BlockFeatures::Sparse(rows) = block.features else {
        return None;
    };
    let ids = rows.row(row).ids;
    let new = ids.iter().rev().take_while(|id| **id as usize >= *known);
    let count = new.count() as u32;
    *known = ids
        .last()
        .map_or(*known, |last| (*last as usize + 1).max(*known));
    Some(count)
}

/// Checks everything about a plan that can be checked without its rule.
fn check(plan: &SessionPlan) -> Result<(), TaskError> {
    let entry = plan.task.entry;
    let name = entry.name;
    if !entry.on_line {
        let detail = format!("{name} needs the whole sample; train it in a job");
        return Err(TaskError::NotOnLine(detail));
    }
    if plan.real && !entry.data.real {
        return Err(TaskError::NotBoolean {
            learner: name,
            named: plan.task.names,
        });
    }
    check_multiclass(&plan.task)?;
    check_names(&plan.task)?;
    plan.task.check_active_max().map_err(TaskError::Parameter)?;
    let wrong_stop = |field, detail: &str| {
        let detail = detail.to_owned();
        Err(TaskError::WrongStop { field, detail })
    };
    if plan.task.limits.max_passes.is_some() {
        return wrong_stop("max_passes", "a session has no passes; remove the field");
    }
    if plan.task.ends_by_time {
        return wrong_stop(
            "max_seconds",
            "a session has no time limit; remove the field",
        );
    }
    if plan.task.is_committee() && plan.assume.is_some() {
        let detail = "a session of more than two classes claims no confidence; remove the field";
        return wrong_stop("assume", detail);
    }
    let fits = match plan.assume {
        None | Some(Assume::Independent) => true,
        _ if plan.task.names => false,
        Some(Assume::Uniform) => entry.data.labelled && !plan.real,
        Some(Assume::UniformPositive | Assume::Reflected) => entry.data.half_space,
    };
    if !fits {
        let detail = format!("{name} does not accept examples of this kind in the session");
        return wrong_stop("assume", &detail);
    }
    stop_conditions::check_confidence(&plan.task, plan.n, named_sampling(plan))?;
    if plan.task.error.is_some() && plan.assume.is_none() {
        let detail = format!("the rule pac needs fresh independent examples: {UNDECLARED}");
        return wrong_stop("error", &detail);
    }
    Ok(())
}
