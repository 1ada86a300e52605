//! The stop conditions of a task: checks against the learner and the data, the confidence watch of the run,
//! and the limits completed by the learner's defaults.

use crate::learners::engine::catalogue::DefaultStop;
use std::borrow::Cow;

use crate::learners::drift::drift_chain;
use crate::learners::engine::run::RunLimits;
use crate::learners::engine::stopping::{Sampling, StopRule, Watch};
use crate::learners::engine::task::{Input, Task, TaskError, takes_stream, task_order};
use crate::learners::sample::examples::LabelKind;

/// Checks that something ends the task and that its stop conditions fit the learner and the data.
///
/// # Errors
/// [`TaskError::WrongStop`] with the wrong field and the reason.
pub(crate) fn check(task: &Task, input: Input<'_>) -> Result<(), TaskError> {
    let name = task.entry.name;
    check_confidence(task, input.n(), fresh_sampling(task, input))?;
    if let Input::Sample { data, assume } = input {
        let labelled = data.shape().labels == LabelKind::Labelled;
        if assume.is_some_and(|sampling| (sampling == Sampling::Uniform) != labelled) {
            return Err(TaskError::WrongStop {
                field: "assume",
                detail: "half-space examples can be uniform-positive or reflected; labelled \
                         examples can be uniform"
                    .to_owned(),
            });
        }
        return Ok(());
    }
    if input.examples().is_some() {
        return Ok(());
    }
    let field = "max_examples";
    if !task_order(task, input).is_some_and(|order| takes_stream(task, order)) {
        let detail = format!(
            "{name} in this order needs the whole sample; set a count for the generated data"
        );
        return Err(TaskError::WrongStop { field, detail });
    }
    // Noisy labels cause mistakes for ever, so a limit of mistakes ends the run.
    let is_noisy = matches!(input, Input::Generated(plan) if plan.noise > 0.0);
    let ends = watch(task, input).is_some()
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

/// Checks that only a learner with a confidence rule is asked for confidence, and that the rule fits the
/// examples.
pub(crate) fn check_confidence(
    task: &Task,
    n: usize,
    sampling: Result<Sampling, Cow<'static, str>>,
) -> Result<(), TaskError> {
    let name = task.entry.name;
    for (field, is_given) in [
        ("confidence", task.confidence.is_some()),
        ("rule", task.rule.is_some()),
    ] {
        if is_given && task.entry.confidence_rules.is_empty() {
            let detail = format!("{name} has no confidence rule; remove the field");
            return Err(TaskError::WrongStop { field, detail });
        }
    }
    check_rule(task, n, sampling)
}

/// Checks that a rule named by the client belongs to the learner. The rule `exact` also needs the examples
/// that its chain describes. The other rules merely claim nothing without such examples.
fn check_rule(
    task: &Task,
    n: usize,
    sampling: Result<Sampling, Cow<'static, str>>,
) -> Result<(), TaskError> {
    let Some(rule) = task.rule else {
        return Ok(());
    };
    let rules = task.entry.confidence_rules;
    let wrong = |detail| TaskError::WrongStop {
        field: "rule",
        detail,
    };
    if !rules.contains(&rule) {
        let names: Vec<_> = rules.iter().map(|rule| rule.name()).collect();
        let (learner, rule) = (task.entry.name, rule.name());
        let detail = format!(
            "{learner} has no rule {rule}; its rules are: {}",
            names.join(", ")
        );
        return Err(wrong(detail));
    }
    if rule != StopRule::Exact {
        return Ok(());
    }
    if n > drift_chain::N_MAX {
        let limit = drift_chain::N_MAX;
        let detail = format!(
            "the rule exact supports n up to {limit}, but n is {n}; the rule anytime has no limit"
        );
        return Err(wrong(detail));
    }
    let why = match sampling {
        Ok(Sampling::UniformPositive) => return Ok(()),
        Ok(_) => "these examples have another distribution".into(),
        Err(why) => why,
    };
    let detail = format!("the rule exact needs fresh uniform-positive examples: {why}");
    Err(wrong(detail))
}

/// The distribution of the examples if the run may claim confidence from it. The examples must be fresh,
/// independent and clean, the first hypothesis must not depend on them, and no evidence may contradict the
/// declaration.
pub(crate) fn fresh_sampling(task: &Task, input: Input<'_>) -> Result<Sampling, Cow<'static, str>> {
    let sampling = match input {
        Input::Generated(plan) if plan.target.binary_weights().is_none() => {
            Err("the target is not a half-space of binary weights")
        }
        Input::Generated(plan) if plan.is_clean() => Ok(plan.sampling),
        Input::Generated(plan) if plan.noise > 0.0 => Err("the data are noisy"),
        Input::Generated(_) => Err("the density of ones is not 1/2"),
        Input::Sample { assume, .. } => {
            assume.ok_or("the data are not declared fresh and independent (assume)")
        }
    }?;
    if let Some(doubt) = task.start_doubt {
        return Err(doubt.into());
    }
    match (&task.evidence, input) {
        (Some(evidence), Input::Sample { data, .. }) => {
            match evidence.against(sampling, data.shape().n) {
                Some(doubt) => Err(doubt.into()),
                None => Ok(sampling),
            }
        }
        _ => Ok(sampling),
    }
}

pub(crate) fn watch(task: &Task, input: Input<'_>) -> Option<Watch> {
    let unlimited = input.examples().is_none();
    watch_for(
        task,
        input.n(),
        fresh_sampling(task, input).ok()?,
        unlimited,
    )
}

/// The watch over fresh examples of this distribution. `unlimited` tells that the examples come only once.
pub(crate) fn watch_for(
    task: &Task,
    n: usize,
    sampling: Sampling,
    unlimited: bool,
) -> Option<Watch> {
    if task.entry.confidence_rules.is_empty() {
        return None;
    }
    let confidence = match (task.confidence, task.entry.default_stop) {
        (Some(confidence), _) => confidence,
        (None, DefaultStop::Confidence) => 0.99,
        (None, DefaultStop::PassesOrConfidence(_)) if unlimited => 0.99,
        (None, _) => return None,
    };
    Some(Watch::new(
        task.rule.unwrap_or(StopRule::Anytime),
        confidence,
        n,
        sampling,
    ))
}

/// The requested limits, completed by the learner's defaults.
pub(crate) fn limits(task: &Task) -> RunLimits {
    let asked = task.limits;
    match task.entry.default_stop {
        DefaultStop::Confidence => RunLimits {
            max_passes: asked.max_passes.or(Some(1)),
            ..asked
        },
        DefaultStop::Own => asked,
        DefaultStop::Passes(passes) | DefaultStop::PassesOrConfidence(passes) => RunLimits {
            max_passes: asked.max_passes.or(Some(passes)),
            ..asked
        },
        DefaultStop::Mistakes(mistakes) => RunLimits {
            max_mistakes: asked.max_mistakes.or(Some(mistakes)),
            ..asked
        },
    }
}
