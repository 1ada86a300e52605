//! The report on a run that has ended: training errors, hold-out errors, mistake bound, confidence claims, target
//! recovery and notes.

use crate::learners::engine::bound::{Bound, MemberOutcome};
use crate::learners::engine::error_count::{CountedErrors, errors_among};
use crate::learners::engine::grounds::{Counted, grounds};
use crate::learners::engine::holdout::HoldoutPart;
use crate::learners::engine::input::Input;
use crate::learners::engine::outcome::{BestSeen, Recovery, RunOutcome, Termination, Training};
use crate::learners::engine::pruning::{NO_BOUND, Pruned};
use crate::learners::engine::reason::Reason;
use crate::learners::engine::rule::Kind;
use crate::learners::engine::run::{Interrupt, Run};
use crate::learners::engine::run_examples::RunExamples;
use crate::learners::engine::run_state::RunState;
use crate::learners::engine::snapshot::SnapshotReader;
use crate::learners::engine::stop_conditions;
use crate::learners::engine::stopping::{StopRule, Watch, confidence_detail};
use crate::learners::engine::task::{self, Task};
use crate::learners::engine::train_loop::TrainLoop;
use crate::learners::hypothesis::Hypothesis;
use crate::learners::predictor::Predictor;
use crate::learners::sample::source::Stream;
use crate::learners::sample::weights::NO_BOUND_OF_PARTS;

/// The share of ones below which the report advises against reading bits as -1 and +1.
const SPARSE: f64 = 0.05;

/// The outcome of a run that ended for `reason`.
///
/// # Errors
/// [`Interrupt::Suspended`], [`Interrupt::Unreadable`] or [`Interrupt::Memory`] if the report was
/// abandoned.
pub(crate) fn report(
    task: &Task,
    input: Input<'_>,
    reason: Reason,
    train_loop: &mut TrainLoop<'_>,
    source: &RunExamples<'_>,
) -> Result<RunOutcome, Interrupt> {
    let end = train_loop.course.point();
    if let Some(trace) = &mut train_loop.course.trace {
        trace.end(end);
    }
    let counts = train_loop.course.counts;
    let run = train_loop.run;
    let predictor = train_loop.rule.predictor();
    let predictor = match &source.pruned {
        Some(pruned) => pruned
            .hypothesis(&predictor)
            .expect("a checked task has names"),
        None => predictor,
    };
    let target = recovery(&predictor, input);
    let (mut counted, mut holdout) = (None, None);
    if reason != Reason::Cancelled {
        counted = training_errors(&predictor, input, target, counts.examples, source, run)?;
        if source.holdout.is_some() {
            let mut held_out = source.stream(HoldoutPart::HeldOut);
            let all = held_out.examples().unwrap_or(0);
            holdout = errors_among(&predictor, &mut *held_out, all, None, source.is_slow(), run)?;
        }
    }
    let mut stream = source.stream(HoldoutPart::Shown);
    let (members, bound) = bounded(task, train_loop, source, &mut *stream, reason)?;
    let training = counted.as_ref().map(|counted| counted.training);
    let mut notes = Vec::new();
    let shown = stream.examples();
    notes.extend(shown.and_then(|shown| train_loop.rule.remark(reason, shown)));
    notes.extend(batch_note(train_loop));
    notes.extend(source.pruned.as_ref().map(Pruned::note));
    notes.extend(counted.and_then(|counted| sparse_note(&counted, stream.n())));
    if let (Reason::Converged, Some(errors @ 1..)) = (reason, training.map(|it| it.errors)) {
        notes.push(converged_note(train_loop, source, &predictor, errors));
    }
    let errors = Counted {
        training,
        holdout: holdout.map(|counted| counted.training),
    };
    let grounds = grounds(task, input, reason, &predictor, errors, train_loop, source)?;
    Ok(RunOutcome {
        predictor,
        features: source
            .pruned
            .as_ref()
            .map(|pruned| pruned.chosen.features().to_vec()),
        grounds,
        counts,
        termination: termination(task, input, &train_loop.course, reason, notes),
        training,
        is_best: train_loop.rule.keeps_best(),
        class_weights: task
            .weights
            .as_ref()
            .and_then(|weights| weights.of_classes().map(<[_]>::to_vec)),
        best: best(task, input, train_loop, training),
        holdout: errors.holdout,
        members,
        no_bound: bound.as_ref().err().copied(),
        bound: bound.ok(),
        target,
        trace: train_loop.course.trace.clone(),
    })
}

/// What is known about the mistakes of each member, and the bound on those of the run, or why there is none.
type Bounded = (Vec<MemberOutcome>, Result<Bound, &'static str>);

fn bounded(
    task: &Task,
    train_loop: &TrainLoop<'_>,
    source: &RunExamples<'_>,
    stream: &mut dyn Stream,
    reason: Reason,
) -> Result<Bounded, Interrupt> {
    let (rule, run, counts) = (&train_loop.rule, train_loop.run, train_loop.course.counts);
    let none = match task.weighing.parts() > 1 {
        _ if source.pruned.is_some() => Some(NO_BOUND),
        true => Some(NO_BOUND_OF_PARTS),
        false => None,
    };
    if let Some(why) = none {
        return Ok((rule.members(None, &counts, reason, run)?, Err(why)));
    }
    let members = rule.members(Some(&mut *stream), &counts, reason, run)?;
    let bound = match rule.bound(stream, &counts, reason, run) {
        Err(why @ (Interrupt::Suspended | Interrupt::Unreadable | Interrupt::Memory)) => {
            return Err(why);
        }
        Err(_) => Err("the run ended before the bound was computed"),
        Ok(own) => own
            .or_else(|| Bound::of_members(&members, task.open, &counts))
            .ok_or_else(|| rule.why_no_bound()),
    };
    Ok((members, bound))
}

/// Why a run that made no mistake in its last pass has training errors.
fn converged_note(
    train_loop: &TrainLoop<'_>,
    source: &RunExamples<'_>,
    predictor: &Predictor,
    errors: u64,
) -> String {
    match train_loop.rule.last() == *predictor {
        _ if source.pruned.is_some() => format!(
            "the last pass was without a mistake, and the hypothesis makes {errors} training errors without the names \
             that were left out"
        ),
        true => format!(
            "the weights are rounded after the scaling by eta, so {errors} examples on the \
             hyperplane count as errors"
        ),
        false => format!(
            "the last weights made no mistake in the last pass, but the answer is another \
             hypothesis, with {errors} training errors"
        ),
    }
}

/// The best hypothesis at the end of a pass, if it makes fewer errors than the last one.
fn best(
    task: &Task,
    input: Input<'_>,
    train_loop: &TrainLoop<'_>,
    last: Option<Training>,
) -> Option<BestSeen> {
    let best = train_loop.best.as_ref()?;
    if last.is_some_and(|last| last.errors <= best.errors) {
        return None;
    }
    let (mut rule, _) = task::build(task, input).ok()?;
    // A rule of the same task wrote this state.
    rule.restore(&mut SnapshotReader::new(&best.state)).ok()?;
    Some(BestSeen {
        predictor: rule.predictor(),
        pass: best.pass,
        training: Training {
            errors: best.errors,
            examples: best.examples,
        },
    })
}

fn termination(
    task: &Task,
    input: Input<'_>,
    course: &RunState,
    reason: Reason,
    mut notes: Vec<String>,
) -> Termination {
    let watch = course.watch.as_ref();
    let has_rules = task.has_confidence_rules();
    let sampling = stop_conditions::fresh_sampling(task, input);
    if let (Err(doubt), Some(_)) = (&sampling, &task.evidence) {
        notes.insert(0, doubt.to_string());
    }
    let unclaimed = confidence_detail(watch, sampling, course.counts.passes);
    let unclaimed = unclaimed.filter(|_| has_rules);
    let is_accepted = reason == Reason::Confident;
    notes.extend(watch.filter(|_| is_accepted).and_then(short_note));
    let notes = (!notes.is_empty()).then(|| notes.join("; "));
    Termination {
        reason,
        rule: watch.map(Watch::rule),
        confidence: watch.map(|watch| watch.claim(is_accepted)),
        per_hypothesis_confidence: watch.and_then(Watch::own_claim),
        run_length: watch.map(Watch::run_length),
        threshold: watch.and_then(Watch::threshold),
        detail: match (reason, notes) {
            (Reason::Limit(name), Some(notes)) => Some(format!("{name}: {notes}")),
            (Reason::Limit(name), None) => Some(name.to_owned()),
            (_, notes) => notes,
        },
        confidence_detail: unclaimed.map(String::from),
    }
}

/// The note that the rule of the paper accepts a hypothesis with less confidence than the request asked for.
pub(crate) fn short_note(watch: &Watch) -> Option<String> {
    let (own, asked) = (watch.own_claim()?, watch.confidence_asked());
    let is_short = watch.rule() == StopRule::PerHypothesis && own < asked;
    is_short.then(|| {
        format!(
            "per_hypothesis_confidence is {own:.4}, below the requested {asked}, because the run \
             length of the paper is too short"
        )
    })
}

/// The note that the run ended inside a batch.
fn batch_note(train_loop: &mut TrainLoop<'_>) -> Option<String> {
    let Kind::Online(rule) = train_loop.rule.kind() else {
        return None;
    };
    let lacking = rule.as_batch()?.batch_remaining();
    let course = &train_loop.course;
    (course.is_awaiting && lacking > 0).then(|| {
        let first = match course.counts.updates {
            0 => ", so the hypothesis is the initial hypothesis",
            _ => "",
        };
        format!(
            "the run ended inside a batch that lacked {lacking} examples: the mistake of this \
             batch changed nothing{first}"
        )
    })
}

/// The note that the data are sparse although bits were read as -1 and +1.
fn sparse_note(counted: &CountedErrors, n: usize) -> Option<String> {
    let bits = counted.training.examples as f64 * n as f64;
    let density = counted.ones? as f64 / bits;
    (density < SPARSE).then(|| {
        let percent = 100.0 * density;
        format!(
            "{percent:.2} % of the bits are 1: on sparse data reading = signed learns slowly or \
             not at all; use reading = unsigned"
        )
    })
}

/// Compares the hypothesis or the signs of its weights with the hidden target.
pub(crate) fn recovery(predictor: &Predictor, input: Input<'_>) -> Option<Recovery> {
    let Input::Generated(plan) = input else {
        return None;
    };
    let target = plan.target.binary_weights()?;
    let distance = predictor.one()?.signs()?.hamming_distance(target);
    Some(Recovery {
        recovered: distance == 0,
        distance: distance as u64,
    })
}

/// Counts the errors of the hypothesis on the examples that the learner was shown: the sample, or the part of a drawn
/// stream that was read. If the weights read bits as signs, also counts the ones of these examples.
fn training_errors(
    predictor: &Predictor,
    input: Input<'_>,
    target: Option<Recovery>,
    read: u64,
    source: &RunExamples<'_>,
    run: &Run,
) -> Result<Option<CountedErrors>, Interrupt> {
    let mut stream = source.stream(HoldoutPart::Shown);
    let (examples, is_clean) = match input {
        Input::Sample { .. } => (stream.examples().unwrap_or(read), false),
        Input::Generated(plan) => {
            let all = stream.examples().unwrap_or(read);
            (all.min(read), plan.noise == 0.0)
        }
    };
    let is_binary = matches!(predictor.one(), Some(Hypothesis::BinaryWeights(_)));
    if is_clean && is_binary && target.is_some_and(|target| target.recovered) {
        // The target itself classifies every clean example correctly, so no count is necessary.
        let errors = 0;
        return Ok(Some(CountedErrors {
            training: Training { errors, examples },
            ones: None,
        }));
    }
    let is_drawn = matches!(input, Input::Generated(_));
    let is_slow = is_drawn || source.is_slow();
    errors_among(predictor, &mut *stream, examples, None, is_slow, run)
}
