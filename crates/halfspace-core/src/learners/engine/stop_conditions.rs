//! The stop conditions of a task: their checks against the learner and the data, the confidence rule that they ask for,
//! and the limits, completed by the learner's defaults.

use std::borrow::Cow;

use crate::learners::drift::drift_chain;
use crate::learners::engine::assume::Assume;
use crate::learners::engine::entry::DefaultStop;
use crate::learners::engine::input::{Input, TaskError};
use crate::learners::engine::rule::Order;
use crate::learners::engine::run::RunLimits;
use crate::learners::engine::stopping::{
    Sampling, StopRule, Watch, anytime_run_length, smallest_error, too_small_an_error,
};
use crate::learners::engine::task::{Task, takes_stream, task_order};

/// The confidence of the rule `pac` if the request states none.
const PAC_CONFIDENCE: f64 = 0.95;

/// Checks that something ends the task, and that its stop conditions fit the learner and the data.
///
/// # Errors
/// [`TaskError::WrongStop`] with the wrong field and the reason.
pub(crate) fn check(task: &Task, input: Input<'_>) -> Result<(), TaskError> {
    let name = task.entry.name;
    check_confidence(task, input.n(), fresh_sampling(task, input))?;
    check_pac(task, input)?;
    if let Input::Sample { data, assume } = input {
        if task.names && assume.is_some_and(|assume| assume != Assume::Independent) {
            return Err(TaskError::WrongStop {
                field: "assume",
                detail: "features with names have no number, so their examples follow no named distribution; they \
                         can be independent"
                    .to_owned(),
            });
        }
        let shape = data.shape();
        return check_assume(assume, shape.labels.is_labelled(), shape.is_real);
    }
    if input.examples().is_some() {
        return Ok(());
    }
    let field = "max_examples";
    if !task_order(task, input).is_ok_and(|order| takes_stream(task, order)) {
        let detail = format!(
            "{name} in this order needs the whole sample; set a count for the generated data"
        );
        return Err(TaskError::WrongStop { field, detail });
    }
    // Noisy labels cause mistakes for ever, so a limit of mistakes ends the run, and `pac` may never end the run.
    let is_noisy = matches!(input, Input::Generated(plan) if plan.noise > 0.0);
    let ends = watch(task, input).is_some_and(|watch| watch.rule() != StopRule::Pac || !is_noisy)
        || task.limits.max_examples.is_some()
        || task.limits.max_mistakes.is_some() && is_noisy
        || task.ends_by_time;
    if !ends {
        let detail = "the stream of examples is unlimited; set a count for the generated data, or \
                      a stop such as max_examples or max_seconds";
        return Err(TaskError::WrongStop {
            field,
            detail: detail.to_owned(),
        });
    }
    Ok(())
}

/// Checks that a declaration fits the kind of the examples.
pub(crate) fn check_assume(
    assume: Option<Assume>,
    labelled: bool,
    real: bool,
) -> Result<(), TaskError> {
    if assume.is_none_or(|assume| assume.fits(labelled, real)) {
        return Ok(());
    }
    Err(TaskError::WrongStop {
        field: "assume",
        detail:
            "Boolean half-space examples can be uniform-positive or reflected, Boolean labelled \
                 examples can be uniform, and all examples can be independent"
                .to_owned(),
    })
}

/// Checks that only a learner with a confidence rule is asked for confidence, and that the rule fits the examples.
pub(crate) fn check_confidence(
    task: &Task,
    n: usize,
    sampling: Result<Sampling, Cow<'static, str>>,
) -> Result<(), TaskError> {
    let entry = task.entry;
    let wrong = |field, detail| Err(TaskError::WrongStop { field, detail });
    let Some(rule) = task.asked_rule() else {
        if task.confidence.is_none() || !entry.confidence_rules.is_empty() {
            return Ok(());
        }
        let detail = match entry.is_conservative {
            true => format!(
                "{} needs an error beside the confidence; set stop.error",
                entry.name
            ),
            false => format!("{} has no confidence rule; remove the field", entry.name),
        };
        return wrong("confidence", detail);
    };
    let of_entry = entry.confidence_rules.iter().copied();
    let rules: Vec<StopRule> = of_entry
        .chain(entry.is_conservative.then_some(StopRule::Pac))
        .collect();
    if !rules.contains(&rule) {
        let names: Vec<_> = rules.iter().map(|rule| rule.name()).collect();
        let (learner, rule) = (entry.name, rule.name());
        let detail = match names.is_empty() {
            true => format!(
                "{learner} has no rule {rule}, nor any other confidence rule; remove the field"
            ),
            false => format!(
                "{learner} has no rule {rule}; its rules are: {}",
                names.join(", ")
            ),
        };
        let field = if task.rule.is_some() { "rule" } else { "error" };
        return wrong(field, detail);
    }
    match (rule, task.error) {
        (StopRule::Pac, None) => wrong(
            "error",
            "the rule pac needs the largest error to accept; set stop.error".to_owned(),
        ),
        (StopRule::Anytime | StopRule::PerHypothesis | StopRule::Exact, Some(_)) => {
            let detail = format!("an error is for the rule pac only, not for {}", rule.name());
            wrong("error", detail)
        }
        (StopRule::Pac, Some(error)) => check_error(error, task.confidence),
        (StopRule::Exact, None) => check_exact(n, sampling),
        _ => Ok(()),
    }
}

/// Checks that some run of examples is long enough to show an error as small as the requested one.
fn check_error(error: f64, confidence: Option<f64>) -> Result<(), TaskError> {
    let ln_delta = libm::log(1.0 - confidence.unwrap_or(PAC_CONFIDENCE));
    if anytime_run_length(ln_delta, libm::log1p(-error), 1).is_some() {
        return Ok(());
    }
    Err(TaskError::WrongStop {
        field: "error",
        detail: too_small_an_error(error, ln_delta, 1),
    })
}

/// Checks that the examples are those that the chain of the rule `exact` describes. The other rules for a target
/// accept the task without such examples, and claim nothing.
fn check_exact(n: usize, sampling: Result<Sampling, Cow<'static, str>>) -> Result<(), TaskError> {
    let wrong = |detail| {
        Err(TaskError::WrongStop {
            field: "rule",
            detail,
        })
    };
    if n > drift_chain::N_MAX {
        let limit = drift_chain::N_MAX;
        let detail = format!(
            "the rule exact supports n up to {limit}, but n is {n}; the rule anytime has no limit"
        );
        return wrong(detail);
    }
    let why = match sampling {
        Ok(Sampling::UniformPositive) => return Ok(()),
        Ok(_) => "these examples have another distribution".into(),
        Err(why) => why,
    };
    wrong(format!(
        "the rule exact needs fresh uniform-positive examples: {why}"
    ))
}

/// Checks that the rule `pac` sees fresh independent examples, one by one.
fn check_pac(task: &Task, input: Input<'_>) -> Result<(), TaskError> {
    if task.asked_rule() != Some(StopRule::Pac) {
        return Ok(());
    }
    let why = match (task_order(task, input), fresh_once(task, input)) {
        (Ok(Some(Order::RandomMistake) | None), _) => {
            "this order evaluates the whole sample before each mistake".into()
        }
        (_, Err(why)) => why,
        (_, Ok(())) => return Ok(()),
    };
    Err(TaskError::WrongStop {
        field: "error",
        detail: format!("the rule pac needs fresh independent examples, each tested once: {why}"),
    })
}

/// Whether the examples of a run are independent draws and the first hypothesis does not depend on them.
pub(crate) fn fresh(task: &Task, input: Input<'_>) -> Result<(), Cow<'static, str>> {
    if task.stratify {
        return Err(
            "stratify fixes how many examples of each class every part has, so the parts are no \
             independent draws"
                .into(),
        );
    }
    input.independent(task.evidence.as_ref())?;
    task.start_doubt.map_or(Ok(()), |doubt| Err(doubt.into()))
}

/// The distribution of clean examples with a target of binary weights.
pub(crate) fn clean_sampling(input: Input<'_>) -> Result<Sampling, Cow<'static, str>> {
    match input {
        Input::Generated(plan) if plan.target.binary_weights().is_none() => {
            Err("the target is not a half-space of binary weights".into())
        }
        Input::Generated(plan) if plan.is_clean() => Ok(plan.sampling),
        Input::Generated(plan) if plan.noise > 0.0 => Err("the data are noisy".into()),
        Input::Generated(_) => Err("the density of ones is not 1/2".into()),
        Input::Sample { .. } => input.declared_sampling().ok_or_else(|| {
            "assume declares no uniform sampling (uniform-positive, reflected or uniform)".into()
        }),
    }
}

/// The distribution of the examples, if they are fresh and clean, so that the run may claim that it found the target.
pub(crate) fn fresh_sampling(task: &Task, input: Input<'_>) -> Result<Sampling, Cow<'static, str>> {
    fresh_once(task, input)?;
    clean_sampling(input)
}

/// Whether the examples are fresh and none is shown again.
fn fresh_once(task: &Task, input: Input<'_>) -> Result<(), Cow<'static, str>> {
    if !task.weighing.is_none() {
        return Err("weights change how often an example is shown, so the shown ones are no independent draws".into());
    }
    fresh(task, input)
}

pub(crate) fn watch(task: &Task, input: Input<'_>) -> Option<Watch> {
    let unlimited = input.examples().is_none();
    let is_fresh = fresh_once(task, input).is_ok();
    watch_for(
        task,
        input.n(),
        is_fresh,
        clean_sampling(input).ok(),
        unlimited,
    )
}

/// The watch over examples of this distribution, if they are fresh. `unlimited` says that they come only once.
pub(crate) fn watch_for(
    task: &Task,
    n: usize,
    is_fresh: bool,
    sampling: Option<Sampling>,
    unlimited: bool,
) -> Option<Watch> {
    if !is_fresh {
        return None;
    }
    if let Some(error) = task.error {
        let confidence = task.confidence.unwrap_or(PAC_CONFIDENCE);
        return Some(Watch::new(StopRule::Pac, confidence, n, error));
    }
    if task.entry.confidence_rules.is_empty() {
        return None;
    }
    let by_default = task.entry.default_stop.confidence(unlimited);
    let confidence = task.confidence.or(by_default)?;
    Some(Watch::new(
        task.rule.unwrap_or(StopRule::Anytime),
        confidence,
        n,
        smallest_error(n, sampling?),
    ))
}

/// The requested limits, completed by the learner's defaults.
pub(crate) fn limits(task: &Task) -> RunLimits {
    let asked = task.limits;
    let default = match task.error {
        // An error is proved on the tests of the first pass.
        Some(_) => DefaultStop::Passes(1),
        None => task.entry.default_stop,
    };
    RunLimits {
        max_passes: asked.max_passes.or(default.max_passes()),
        max_mistakes: asked.max_mistakes.or(default.max_mistakes()),
        ..asked
    }
}
