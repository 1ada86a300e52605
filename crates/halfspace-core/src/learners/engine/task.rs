//! A training task: a learner with its conditions. This file also builds the rule of a task and estimates the memory
//! that it needs.

use std::sync::Arc;

use crate::learners::engine::committee::{Committee, Multiclass, OF_TWO};
use crate::learners::engine::entry::{LearnerEntry, Setup};
use crate::learners::engine::evidence::Evidence;
use crate::learners::engine::holdout::{HeldOut, Holdout, HoldoutPart};
use crate::learners::engine::input::{Input, TaskError};
use crate::learners::engine::kept::Kept;
use crate::learners::engine::member::Joining;
use crate::learners::engine::parameters::{ParameterError, Parameters};
use crate::learners::engine::pruning::Pruning;
use crate::learners::engine::random::{Generator, Purpose, Seed};
use crate::learners::engine::rule::{Order, Rule};
use crate::learners::engine::run::{Interrupt, RunLimits};
use crate::learners::engine::stopping::StopRule;
use crate::learners::hypothesis::Hypothesis;
use crate::learners::predictor::Predictor;
use crate::learners::sample::examples::Examples;
use crate::learners::sample::source::Presentation;
use crate::learners::sample::weights::{Weighing, Weights};

/// The name of the parameter that sets the first hypothesis of a learner.
const INITIAL: &str = "initial";

/// The name of the parameter that sets the threshold of a learner.
const THRESHOLD: &str = "theta";

/// The name of the parameter that asks for a bound over a disjunction.
const DISJUNCTION: &str = "relevant";

/// A learner and the conditions of its training.
#[derive(Clone, Debug)]
pub struct Task {
    pub entry: &'static LearnerEntry,
    pub parameters: Parameters,
    /// The number of classes, at least 2 unless they are open. A learner tells two apart, so more of them take a
    /// committee of its rules.
    pub classes: usize,
    /// Whether features have names, which may be new in any example. Call [`Self::read_names`] to set it.
    pub names: bool,
    /// The largest number of active features in an example, once they were counted for features with names.
    pub active_max: Option<u64>,
    /// Whether each class joins when its first example is read. A session then begins with 0 classes.
    pub open: bool,
    /// How the members of a committee learn.
    pub multiclass: Multiclass,
    /// The seed of every random choice.
    pub seed: Seed,
    /// The requested confidence in (0, 1), if any.
    pub confidence: Option<f64>,
    /// The requested confidence rule. None stands for `anytime`, or for `pac` beside an error.
    pub rule: Option<StopRule>,
    /// The largest error that the rule `pac` accepts, in (0, 1).
    pub error: Option<f64>,
    pub limits: RunLimits,
    /// Whether the run ends in any case, because the client set a time limit.
    pub ends_by_time: bool,
    /// Whether the mistake curve is wanted.
    pub trace: bool,
    /// The examples to hold out, which the learner is not shown.
    pub holdout: Option<HeldOut>,
    /// Whether each class has its share of the held-out examples.
    pub stratify: bool,
    /// How much each example counts.
    pub weighing: Weighing,
    /// The weights of the examples, once the run has read their labels.
    pub weights: Option<Weights>,
    /// The features that the hypothesis leaves out.
    pub pruning: Pruning,
    /// The initial hypothesis, in place of the learner's own first one.
    pub start: Option<Arc<Predictor>>,
    /// Why the first hypothesis may depend on the examples. With such a reason, the run claims no confidence.
    pub start_doubt: Option<&'static str>,
    /// Evidence about the declared sampling of a sample: see [`crate::learners::engine::evidence`]. None if no
    /// claim rests on the sampling.
    pub evidence: Option<Evidence>,
}

impl Task {
    /// A task with the defaults of the learner and no requested limits.
    pub fn of(entry: &'static LearnerEntry, seed: Seed) -> Self {
        Self {
            entry,
            parameters: Parameters::defaults(entry.parameters),
            classes: 2,
            names: false,
            active_max: None,
            open: false,
            multiclass: Multiclass::default(),
            seed,
            confidence: None,
            rule: None,
            error: None,
            limits: RunLimits::default(),
            ends_by_time: false,
            trace: false,
            holdout: None,
            stratify: false,
            weighing: Weighing::default(),
            weights: None,
            pruning: Pruning::default(),
            start: None,
            start_doubt: None,
            evidence: None,
        }
    }

    /// Lets features have names.
    ///
    /// # Errors
    /// A parameter has another value than names need.
    pub fn read_names(&mut self) -> Result<(), ParameterError> {
        self.names = true;
        for &required in self.entry.data.names.into_iter().flatten() {
            let why = "features with names need the value";
            self.parameters
                .require(self.entry.parameters, required, why)?;
        }
        Ok(())
    }

    /// Whether the largest number of active features in an example may matter to the learner and is not known. The
    /// default of a threshold follows from it.
    pub fn needs_active_max(&self) -> bool {
        let mut parameters = self.entry.parameters.iter();
        self.names && self.active_max.is_none() && parameters.any(|one| one.name == THRESHOLD)
    }

    /// Whether a run counts the active features first. A given threshold does not depend on them, but the bound for a
    /// disjunction does.
    pub(crate) fn counts_active_max(&self) -> bool {
        let mut parameters = self.entry.parameters.iter();
        let has_bound = parameters.any(|one| one.name == DISJUNCTION)
            && self.parameters.count(DISJUNCTION).is_some();
        self.needs_active_max() && (has_bound || self.parameters.decimal(THRESHOLD).is_none())
    }

    /// Checks that a threshold is known where nobody can count the active features of the examples before the run.
    ///
    /// # Errors
    /// The default of the threshold follows from a number that is not declared.
    pub(crate) fn check_active_max(&self) -> Result<(), ParameterError> {
        if !self.needs_active_max() || self.parameters.decimal(THRESHOLD).is_some() {
            return Ok(());
        }
        let detail = "the default follows from the largest number of names that an example will have; declare it as \
                      `active` beside the vocabulary, or set this parameter";
        Err(ParameterError {
            name: THRESHOLD.to_owned(),
            detail: detail.to_owned(),
            unknown: false,
        })
    }

    /// The requested rule. An error alone asks for `pac`.
    pub fn asked_rule(&self) -> Option<StopRule> {
        self.rule.or(self.error.map(|_| StopRule::Pac))
    }

    /// Whether each class has a rule of its own.
    pub fn is_committee(&self) -> bool {
        self.open || self.classes > 2
    }

    /// The number of rules of the committee, or 0 without one.
    pub(crate) fn committee_size(&self) -> usize {
        if self.is_committee() { self.classes } else { 0 }
    }

    /// The number of rules: one for two classes, or one per class in a committee.
    pub fn members(&self) -> usize {
        if self.is_committee() { self.classes } else { 1 }
    }

    /// Whether the run may stop by a confidence rule.
    pub(crate) fn has_confidence_rules(&self) -> bool {
        !self.entry.confidence_rules.is_empty() || self.error.is_some()
    }

    /// Whether the client set the first hypothesis by a parameter, to another value than the default.
    pub fn has_initial(&self) -> bool {
        let table = self.entry.parameters;
        let has = table.iter().any(|parameter| parameter.name == INITIAL);
        has && self.parameters.is_own(table, INITIAL)
    }
}

/// The split of the examples, if some are held out. `None` if one of the parts has no examples.
///
/// # Errors
/// An interrupt if the labels, which a stratified split needs, cannot be read.
pub fn holdout(task: &Task, input: Input<'_>) -> Result<Option<Holdout>, Interrupt> {
    let (Some(held_out), Some(examples)) = (task.holdout, input.examples()) else {
        return Ok(None);
    };
    match input {
        Input::Sample { data, .. } => Holdout::of(held_out, data, task.stratify, task.seed),
        Input::Generated(_) => Ok(Holdout::new(held_out, examples, task.seed)),
    }
}

/// The rows of a sample that the learner is shown.
pub(crate) fn shown_rows(holdout: Option<&Holdout>, data: &dyn Examples) -> Vec<u32> {
    match holdout {
        Some(holdout) => holdout.rows(HoldoutPart::Shown),
        None => (0..data.shape().examples as u32).collect(),
    }
}

/// The weights of the examples, if they do not all count alike.
///
/// # Errors
/// An interrupt if the labels, from which weights of classes follow, cannot be read.
pub(crate) fn weigh(task: &Task, input: Input<'_>) -> Result<Option<Weights>, Interrupt> {
    match input {
        Input::Sample { data, .. } if !task.weighing.is_none() => {
            let holdout = holdout(task, input)?;
            let rows = shown_rows(holdout.as_ref(), data);
            task.weighing.weights(data, &rows, task.classes).map(Some)
        }
        Input::Sample { .. } | Input::Generated(_) => Ok(None),
    }
}

/// Whether a rule of this order learns from examples that come only once. The shuffled order qualifies unless the
/// client asked for an order.
pub(crate) fn takes_stream(task: &Task, order: Option<Order>) -> bool {
    match order {
        Some(Order::Cyclic) => true,
        Some(Order::Shuffled) => !task.parameters.is_given("order"),
        Some(Order::RandomMistake) | None => false,
    }
}

/// The order of the task's rule before the first pass. A search has none.
///
/// # Errors
/// The reason why the rule cannot be built.
pub(crate) fn task_order(task: &Task, input: Input<'_>) -> Result<Option<Order>, TaskError> {
    first_member(task, input).map(|mut rule| rule.kind().order())
}

/// The number of examples of a pass, if one mark per example is affordable: at most 2^32 - 1.
pub(crate) fn numbered_examples(task: &Task, input: Input<'_>) -> Option<u64> {
    let examples = input.examples().or(task.limits.max_examples)?;
    Some(examples).filter(|&examples| u32::try_from(examples).is_ok())
}

/// Estimates the memory in bytes that a run needs beyond its input.
pub fn state_bytes(task: &Task, input: Input<'_>) -> u64 {
    let n = input.n() as u64;
    let members = task.members() as u64;
    let mut rule = first_member(task, input).ok();
    let order = rule.as_mut().and_then(|rule| rule.kind().order());
    let examples = input.examples().unwrap_or(0);
    let shown = shown_examples(task, input).unwrap_or(0);
    let is_drawn = matches!(input, Input::Generated(_));
    let is_drawn_first = is_drawn && order != Some(Order::Cyclic);
    let drawn = match is_drawn_first {
        true => examples.saturating_mul(n.div_ceil(64) * 8),
        false => 0,
    };
    // A row read out of order takes 4 bytes for its number. A mark for a wrong row takes one bit, and a class code has
    // up to 16 of them.
    let is_parted = task.holdout.is_some() && (is_drawn_first || !is_drawn);
    let rows = match order {
        Some(Order::Shuffled) => examples.saturating_mul(4),
        _ if is_parted && task.stratify => examples.saturating_mul(6),
        _ if is_parted => examples.saturating_mul(4),
        Some(Order::RandomMistake) => shown / 8,
        Some(Order::Cyclic) | None => 0,
    };
    let an_example = rule.map_or(0, |rule| rule.bytes_an_example());
    let noted = shown.saturating_mul(an_example).saturating_mul(members);
    let marked = numbered_examples(task, input).filter(|_| task.entry.has_receipts());
    let kept = marked.map_or(0, |examples| {
        Kept::bytes_max(examples, task.committee_size())
    });
    let all = drawn.saturating_add(rows).saturating_add(noted);
    let all = all.saturating_add(kept);
    let all = all.saturating_add(weighted_bytes(task, input));
    let all = all.saturating_add(task.pruning.bytes(n));
    all.saturating_add((64 * n).saturating_mul(members))
}

/// How many examples a pass shows: each as often as its weight says. None if the stream never ends.
pub fn shown_examples(task: &Task, input: Input<'_>) -> Option<u64> {
    input
        .examples()
        .map(|examples| task.weighing.shown(examples))
}

/// Bytes for the weights of the examples, and for the order in which they are shown.
pub(crate) fn weighted_bytes(task: &Task, input: Input<'_>) -> u64 {
    if task.weighing.is_none() {
        return 0;
    }
    let examples = input.examples().unwrap_or(0);
    let shown = shown_examples(task, input).unwrap_or(0);
    // A weight and the number of a row for each, and a number for each that is shown.
    examples
        .saturating_mul(8)
        .saturating_add(shown.saturating_mul(4))
}

/// Bytes that the state may grow to after `mistakes` mistakes.
pub fn grown_bytes(task: &Task, input: Input<'_>, mistakes: u64) -> u64 {
    let ones = match input {
        Input::Sample { data, .. } => data.shape().average_entries(),
        Input::Generated(_) => None,
    };
    let grown = first_member(task, input).map_or(0, |rule| rule.grown_bytes(mistakes, ones));
    grown.saturating_mul(task.members() as u64)
}

pub(crate) type Built = (Box<dyn Rule>, Generator);

pub(crate) fn build(task: &Task, input: Input<'_>) -> Result<Built, TaskError> {
    build_for(task, input.n(), input.is_real())
}

/// The rule of a task for `n` Boolean or real features. For more than two classes, it is a committee.
pub(crate) fn build_for(task: &Task, n: usize, real: bool) -> Result<Built, TaskError> {
    let mut random = task.seed.generator(Purpose::Learner);
    let starts = task.start.as_deref().map(Predictor::members);
    if starts.is_some_and(|starts| starts.len() != task.members()) {
        let detail = "the model tells another number of classes apart than the examples have";
        return Err(TaskError::WrongStart(detail.to_owned()));
    }
    if task.open {
        let joining = joining(task, n, real)?;
        return Ok((committee(task, Vec::new(), Some(joining))?, random));
    }
    let mut member = |class| build_member(task, n, real, class, &mut random);
    if !task.is_committee() {
        return Ok((member(0)?, random));
    }
    let members = (0..task.members()).map(member);
    let members = members.collect::<Result<Vec<_>, _>>()?;
    check_alike(starts, &members).map_err(TaskError::WrongStart)?;
    Ok((committee(task, members, None)?, random))
}

/// The classes that join, each with a rule that is built like all others.
fn joining(task: &Task, n: usize, real: bool) -> Result<Joining, TaskError> {
    if task.start.is_some() {
        let detail =
            "classes that join start from the learner's first hypothesis; leave the model out";
        return Err(TaskError::WrongStart(detail.to_owned()));
    }
    let own = task.clone();
    let build = move || {
        let mut random = own.seed.generator(Purpose::Learner);
        build_member(&own, n, real, 0, &mut random)
    };
    let first = build()?;
    let build = Box::new(move || build().expect("as the first"));
    Ok(Joining::new(first, build, task.classes))
}

/// The rule of the first class, which has the order and the memory of all members.
pub(crate) fn first_member(task: &Task, input: Input<'_>) -> Result<Box<dyn Rule>, TaskError> {
    let mut random = task.seed.generator(Purpose::Learner);
    build_member(task, input.n(), input.is_real(), 0, &mut random)
}

fn build_member(
    task: &Task,
    n: usize,
    real: bool,
    class: usize,
    random: &mut Generator,
) -> Result<Box<dyn Rule>, TaskError> {
    let rule = (task.entry.build)(&mut Setup {
        parameters: &task.parameters,
        n,
        real,
        active_max: task.names.then(|| task.active_max.unwrap_or(1).max(1)),
        parts: (!task.weighing.is_none()).then(|| task.weighing.parts()),
        random,
    });
    let mut rule = rule.map_err(TaskError::Parameter)?;
    let starts = task.start.as_deref().map(Predictor::members);
    if let Some(start) = starts.and_then(|starts| starts.get(class)) {
        start_from(rule.as_mut(), task, n, start).map_err(TaskError::WrongStart)?;
    }
    Ok(rule)
}

/// Checks that the members of a committee that starts from a model can be compared. A start of whole weights makes
/// another kind of member than one of fractions.
fn check_alike(starts: Option<&[Hypothesis]>, members: &[Box<dyn Rule>]) -> Result<(), String> {
    if starts.is_none() {
        return Ok(());
    }
    let hypotheses = members.iter().map(|member| member.last().into_members());
    match Predictor::committee(hypotheses.flatten().collect()) {
        Some(_) => Ok(()),
        None => Err(
            "with these parameters some classes start from whole multiples of eta and others do not, so their scores \
             have no common scale"
                .to_owned(),
        ),
    }
}

fn committee(
    task: &Task,
    members: Vec<Box<dyn Rule>>,
    joining: Option<Joining>,
) -> Result<Box<dyn Rule>, TaskError> {
    // Half-space examples are all positive.
    let is_labelled = task.entry.presentation != Presentation::HalfSpace;
    let committee = match is_labelled {
        true => Committee::new(task.multiclass, members, joining),
        false => Err(OF_TWO),
    };
    let refused = |why| TaskError::WrongData(format!("{} {why}", task.entry.name));
    Ok(Box::new(committee.map_err(refused)?))
}

fn start_from(
    rule: &mut dyn Rule,
    task: &Task,
    n: usize,
    hypothesis: &Hypothesis,
) -> Result<(), String> {
    let mut parameters = task.entry.parameters.iter();
    if parameters.any(|one| one.name == INITIAL) && task.parameters.is_given(INITIAL) {
        return Err(format!(
            "a run starts either from the model or from the parameter {INITIAL}, not from both"
        ));
    }
    let own = hypothesis.n();
    if own != n {
        return Err(format!(
            "the model has n = {own}, but the examples have {n} features"
        ));
    }
    rule.start_from(hypothesis)
}
