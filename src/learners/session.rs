//! On-line learning: examples one after another, each answered, whatever comes between them.
//!
//! A session is the train loop's [`Course`] without its passes: the same rule, watch and counts,
//! with the stream of examples in the hands of whoever has them. Its state can be written and taken
//! over at any position, batches under way and random generator included, so that a run that was
//! interrupted equals the same run undisturbed.

use std::fmt;

use super::course::{Course, Shown, Stop};
use super::data::Data;
use super::hypothesis::Hypothesis;
use super::rule::Rule;
use super::run::{Counts, Limits, Run};
use super::snapshot::{SnapshotError, SnapshotReader, SnapshotWriter};
use super::source::{Presented, Stream};
use super::stop_conditions;
use super::stopping::{Sampling, Watch, confidence_detail};
use super::task::{self, Input, Task, TaskError};
use super::train_loop::Reason;

/// The first number of a snapshot: how the rest is written.
const VERSION: u64 = 1;

/// Why examples are claimed nothing of.
const UNDECLARED: &str = "the examples are not declared fresh and independent (assume)";

/// What a session learns, and of what.
#[derive(Clone, Debug)]
pub struct SessionPlan {
    /// Learner, parameters, seed and stop conditions.
    pub task: Task,
    /// Features an example.
    pub n: usize,
    /// Whether the features are real.
    pub real: bool,
    /// What is declared of the distribution of the examples.
    pub assume: Option<Sampling>,
}

/// What became of one example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The prediction before it was learnt; none when a batch consumed it untested.
    pub prediction: Option<bool>,
    /// Whether that was wrong.
    pub is_mistake: bool,
    /// Consistent examples since the last mistake.
    pub run_length: u64,
    /// Whether the session ended with it.
    pub is_last: bool,
}

/// How a session ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionEnd {
    /// The confidence rule fired.
    Confident,
    /// A limit was reached: a field of `stop`, or one of the rule's own.
    Limit(String),
}

impl fmt::Display for SessionEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Confident => f.write_str("it is confident"),
            Self::Limit(limit) => write!(f, "limit, {limit}"),
        }
    }
}

/// Why examples were not learnt.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LearnError {
    /// One of them is not what this session learns from.
    #[error("{error}")]
    Unfit {
        /// The first such example, from 0.
        example: usize,
        /// Why.
        error: TaskError,
    },
    /// The run was told to stop; the session is of no use any more.
    #[error("the computation was told to stop")]
    Interrupted,
}

/// A session under way.
pub struct Session {
    plan: SessionPlan,
    rule: Box<dyn Rule>,
    course: Course,
    run_length: u64,
    end: Option<SessionEnd>,
}

impl Session {
    /// The session before its first example.
    ///
    /// # Errors
    /// What of the plan cannot be: a learner that needs the whole sample, or a stop condition that
    /// has no meaning here.
    pub fn new(plan: SessionPlan) -> Result<Self, TaskError> {
        check(&plan)?;
        let (rule, random) = built(&plan)?;
        if !task::takes_stream(&plan.task, rule.order()) {
            let detail = "a session learns examples as they come: only the order cyclic fits";
            return Err(TaskError::NotOnLine(detail.to_owned()));
        }
        let limits = Limits {
            max_passes: None,
            ..plan.task.limits
        };
        let watch = plan.assume;
        let watch = watch
            .and_then(|sampling| stop_conditions::watch_for(&plan.task, plan.n, sampling, true));
        let counts = Counts {
            passes: 1,
            ..Counts::default()
        };
        Ok(Self {
            rule,
            course: Course {
                limits,
                watch,
                trace: None,
                random,
                counts,
                is_awaiting: false,
            },
            run_length: 0,
            end: None,
            plan,
        })
    }

    /// The session that wrote a snapshot.
    ///
    /// # Errors
    /// When the bytes are no snapshot of a session with this plan.
    pub fn restore(plan: SessionPlan, snapshot: &[u8]) -> Result<Self, SnapshotError> {
        let mut session = Self::new(plan).map_err(|_| SnapshotError)?;
        let mut reader = SnapshotReader::new(snapshot);
        if reader.number()? != VERSION {
            return Err(SnapshotError);
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
        course.read_watch(&mut reader)?;
        session.rule.restore(&mut reader)?;
        reader.end()?;
        Ok(session)
    }

    /// All that [`Self::restore`] needs besides the plan.
    pub fn snapshot(&mut self) -> Vec<u8> {
        let mut writer = SnapshotWriter::default();
        writer.number(VERSION);
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
        self.course.write_watch(&mut writer);
        self.rule.snapshot(&mut writer);
        writer.finish()
    }

    /// Learns from examples until they or the session end; an answer for each that was learnt.
    ///
    /// # Errors
    /// When the examples do not fit, none of them is learnt. When `run` was told to stop, the
    /// session is spoilt.
    pub fn learn(&mut self, data: &Data, run: &Run) -> Result<Vec<Answered>, LearnError> {
        if let Err(error) = self.check_examples(data) {
            return Err(self.first_unfit(data, error));
        }
        let mut sample = Presented::new(data, self.plan.task.entry.presentation);
        let mut answers = Vec::with_capacity(data.examples());
        while let Some(block) = sample.next_block().map_err(|_| LearnError::Interrupted)? {
            let mut row = 0;
            while row < block.rows() && self.end.is_none() {
                let rows = row..block.rows();
                let turn = self.course.turn(self.rule.as_mut(), run, &block, rows);
                if run.stop.raised().is_some() {
                    return Err(LearnError::Interrupted);
                }
                self.end = match turn.step {
                    Ok(()) => None,
                    Err(Stop::End(Reason::Confident)) => Some(SessionEnd::Confident),
                    Err(Stop::End(Reason::Limit(name))) => Some(SessionEnd::Limit(name.to_owned())),
                    Err(_) => return Err(LearnError::Interrupted),
                };
                for at in row..row + turn.rows {
                    let is_final = at + 1 == row + turn.rows;
                    let is_mistake = turn.shown == Shown::MistakenLast && is_final;
                    // As it was labelled before any reflection.
                    let label = block.is_positive(at) != (block.reflected >> at & 1 == 1);
                    let is_tested = turn.shown != Shown::Absorbed;
                    match (is_tested, is_mistake) {
                        (false, _) => {}
                        (true, true) => self.run_length = 0,
                        (true, false) => self.run_length += 1,
                    }
                    answers.push(Answered {
                        prediction: is_tested.then_some(label != is_mistake),
                        is_mistake,
                        run_length: self.run_length,
                        is_last: is_final && self.end.is_some(),
                    });
                }
                row += turn.rows;
            }
        }
        Ok(answers)
    }

    /// The first example at fault, one of them being so for this reason.
    fn first_unfit(&self, data: &Data, error: TaskError) -> LearnError {
        let each = (0..data.examples()).map(|row| self.check_examples(&data.rows(row..row + 1)));
        let first = each
            .enumerate()
            .find_map(|(row, checked)| Some((row, checked.err()?)));
        let (example, error) = first.unwrap_or((0, error));
        LearnError::Unfit { example, error }
    }

    /// Whether examples are what this session learns from.
    ///
    /// # Errors
    /// What is not.
    pub fn check_examples(&self, data: &Data) -> Result<(), TaskError> {
        let Self { plan, .. } = self;
        if data.n() != plan.n {
            let (n, own) = (data.n(), plan.n);
            let detail = format!("the examples have {n} features, but the session has n = {own}");
            return Err(TaskError::WrongData(detail));
        }
        let assume = plan.assume;
        let input = Input::Sample { data, assume };
        let is_real = matches!(data.features(), super::data::Features::Real(_));
        if is_real && !plan.real {
            let detail = "the session is over Boolean examples: values all 0/1 or all -1/1";
            return Err(TaskError::WrongData(detail.to_owned()));
        }
        assert_eq!(
            is_real, plan.real,
            "whoever reads spells Boolean values out"
        );
        task::check_data(plan.task.entry, input)?;
        let is_labelled = matches!(data.labels(), super::data::Labels::Labelled(_));
        if assume.is_some_and(|sampling| (sampling == Sampling::Uniform) != is_labelled) {
            let detail = "the session assumes half-space examples (uniform-positive, reflected) \
                          or labelled ones (uniform), and these are the others";
            return Err(TaskError::WrongData(detail.to_owned()));
        }
        match plan.task.entry.check {
            Some(check) => check(&plan.task.parameters, input),
            None => Ok(()),
        }
    }

    /// What the session learns, and of what.
    pub fn plan(&self) -> &SessionPlan {
        &self.plan
    }

    /// The present hypothesis.
    pub fn hypothesis(&self) -> Hypothesis {
        self.rule.hypothesis()
    }

    /// What was counted. The position of the session is its number of examples.
    pub fn counts(&self) -> Counts {
        self.course.counts
    }

    /// Consistent examples since the last mistake.
    pub fn run_length(&self) -> u64 {
        self.run_length
    }

    /// How it ended, if it did.
    pub fn end(&self) -> Option<&SessionEnd> {
        self.end.as_ref()
    }

    /// The watch for confidence, where the examples are declared fresh.
    pub fn watch(&self) -> Option<&Watch> {
        self.course.watch.as_ref()
    }

    /// The paper's claim about one hypothesis, under its own rule only.
    pub fn per_hypothesis_confidence(&self) -> Option<f64> {
        self.watch()?.own_claim()
    }

    /// Why no confidence is claimed of a learner that has a rule for it, or what its rule lacks.
    pub fn confidence_detail(&self) -> Option<&'static str> {
        let has_rules = !self.plan.task.entry.confidence_rules.is_empty();
        let sampling = self.plan.assume.ok_or(UNDECLARED);
        confidence_detail(self.watch(), sampling, self.counts().passes).filter(|_| has_rules)
    }

    /// What is claimed of the run as a whole; none where nothing may be claimed.
    pub fn confidence(&self) -> Option<f64> {
        let is_accepted = self.end == Some(SessionEnd::Confident);
        Some(self.watch()?.claim(is_accepted))
    }
}

fn built(plan: &SessionPlan) -> Result<task::Built, TaskError> {
    task::build_for(&plan.task, plan.n, plan.real)
}

/// Checks everything about a plan that does not need its rule.
fn check(plan: &SessionPlan) -> Result<(), TaskError> {
    let entry = plan.task.entry;
    let name = entry.name;
    if !entry.on_line {
        let detail = format!("{name} needs the whole sample; train it as a job");
        return Err(TaskError::NotOnLine(detail));
    }
    if plan.real && !entry.data.real {
        let detail = format!("{name} takes Boolean examples only");
        return Err(TaskError::WrongData(detail));
    }
    let wrong_stop = |field, detail: &str| {
        let detail = detail.to_owned();
        Err(TaskError::WrongStop { field, detail })
    };
    if plan.task.limits.max_passes.is_some() {
        return wrong_stop("max_passes", "a session has no passes; leave it out");
    }
    if plan.task.ends_by_time {
        return wrong_stop("max_seconds", "a session has no end in time; leave it out");
    }
    let fits = match plan.assume {
        None => true,
        Some(Sampling::Uniform) => entry.data.labelled && !plan.real,
        Some(_) => entry.data.half_space,
    };
    if !fits {
        let detail = format!("{name} does not take such examples in this session");
        return wrong_stop("assume", &detail);
    }
    stop_conditions::check_confidence(&plan.task, plan.n, plan.assume.ok_or(UNDECLARED))
}
