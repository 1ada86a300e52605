//! The checks of a task before it runs: data, stop conditions, hold-out, memory and parameters.

use crate::learners::engine::committee::Multiclass;
use crate::learners::engine::holdout::HeldOut;
use crate::learners::engine::input::{Input, TaskError};
use crate::learners::engine::pruning::Pruning;
use crate::learners::engine::rule::Order;
use crate::learners::engine::stop_conditions;
use crate::learners::engine::stopping::Sampling;
use crate::learners::engine::task::{
    Task, build, first_member, holdout, shown_examples, state_bytes, task_order, weighted_bytes,
};
use crate::learners::sample::examples::{LabelKind, MANY_CLASSES};
use crate::learners::sample::weights::{ClassWeights, Shown};

/// Checks everything that can be known before the run starts.
///
/// # Errors
/// The first condition that does not hold, with the allowed choices.
pub fn check(task: &Task, input: Input<'_>, state_bytes_max: u64) -> Result<(), TaskError> {
    check_data(task, input)?;
    stop_conditions::check(task, input)?;
    check_accepted(task, input, state_bytes_max)
}

/// Checks a task that was accepted before. The stop conditions are not checked again.
///
/// # Errors
/// As for [`check`].
pub fn check_accepted(
    task: &Task,
    input: Input<'_>,
    state_bytes_max: u64,
) -> Result<(), TaskError> {
    check_data(task, input)?;
    check_parts(task, input)?;
    check_weights(task, input)?;
    let needed = state_bytes(task, input);
    if needed > state_bytes_max {
        let limit = state_bytes_max;
        check_shown(task, input, limit)?;
        return Err(TaskError::TooLarge { needed, limit });
    }
    build(task, input)?;
    check_open(task, input)?;
    check_pruning(task, input)?;
    // The learner's own check comes last, because it may read all examples.
    match task.entry.check {
        Some(check) => check(&task.parameters, input),
        None => Ok(()),
    }
}

/// Checks that both parts of a hold-out have examples, each with its share of every class if asked, and that rows read
/// out of order can be numbered.
fn check_parts(task: &Task, input: Input<'_>) -> Result<(), TaskError> {
    check_stratify(task, input)?;
    if let Some(held_out) = task.holdout {
        let Some(examples) = input.examples() else {
            let detail = "a holdout needs limited data; set a count for the generated data";
            return Err(TaskError::Field {
                field: "holdout",
                detail: detail.to_owned(),
            });
        };
        if holdout(task, input).map_err(TaskError::Unread)?.is_none() {
            let detail = match held_out {
                HeldOut::Share(share) if task.stratify => format!(
                    "the share {share} of each class, rounded, leaves one part without examples, because one example \
                     of each class remains for the learner"
                ),
                HeldOut::Share(share) => format!(
                    "the share {share} of {examples} examples, rounded, leaves one part without \
                     examples"
                ),
                HeldOut::Fold { folds, .. } => {
                    format!("{folds} folds of {examples} examples leave a fold without examples")
                }
            };
            let field = "holdout";
            return Err(TaskError::Field { field, detail });
        }
    }
    if task.holdout.is_some() || task_order(task, input) == Ok(Some(Order::Shuffled)) {
        return check_numbered(input);
    }
    Ok(())
}

/// Checks that the learner takes the weights, and that the examples have the classes that have some.
fn check_weights(task: &Task, input: Input<'_>) -> Result<(), TaskError> {
    let weighing = &task.weighing;
    let data = match input {
        _ if weighing.is_none() => return Ok(()),
        Input::Generated(_) => {
            return Err(wrong_class_weight(
                "generated examples all count alike; upload them, or leave class_weight out",
            ));
        }
        Input::Sample { data, .. } => data,
    };
    if weighing.classes.is_some() && !data.shape().labels.is_labelled() {
        return Err(wrong_class_weight(
            "the examples have no labels; add them, or leave class_weight out",
        ));
    }
    if let Some(ClassWeights::Each(all)) = &weighing.classes
        && all.len() != task.classes
    {
        return Err(wrong_class_weight(
            "class_weight has another number of classes than the examples",
        ));
    }
    if weighing.parts() > 1 && !task.entry.data.parts {
        let name = task.entry.name;
        let detail = format!(
            "{name} learns with whole weights only, such as 1 and 2; the catalogue marks the learners that take others \
             with fractional-weights"
        );
        return Err(match weighing.row_parts() {
            1 => wrong_class_weight(&detail),
            _ => TaskError::WrongData(format!("the examples have fractional weights: {detail}")),
        });
    }
    check_numbered(input)
}

/// Refuses weights that alone take more than `limit` bytes for the order of the examples.
fn check_shown(task: &Task, input: Input<'_>, limit: u64) -> Result<(), TaskError> {
    let shown = shown_examples(task, input).unwrap_or(0);
    if task.weighing.is_none() || weighted_bytes(task, input) <= limit {
        return Ok(());
    }
    let detail = format!(
        "with their weights, a pass shows {shown} examples, whose order takes more than state_bytes_max: {limit}; \
         divide all weights by the same number"
    );
    Err(TaskError::WrongData(detail))
}

fn wrong_class_weight(detail: &str) -> TaskError {
    TaskError::Field {
        field: "class_weight",
        detail: detail.to_owned(),
    }
}

/// Checks that examples are held out, and have labels, if each class shall have its share of them.
fn check_stratify(task: &Task, input: Input<'_>) -> Result<(), TaskError> {
    let detail = match input {
        _ if !task.stratify => return Ok(()),
        _ if task.holdout.is_none() => "no examples are held out; set holdout",
        Input::Generated(_) => {
            "the classes of generated examples are not counted before the run; upload them"
        }
        Input::Sample { data, .. } if !data.shape().labels.is_labelled() => {
            "the examples have no labels; add them"
        }
        Input::Sample { .. } => return Ok(()),
    };
    Err(TaskError::Field {
        field: "stratify",
        detail: format!("{detail}, or leave stratify out"),
    })
}

/// Checks that a run whose classes join when they appear reads the examples in their order, as a session does.
fn check_open(task: &Task, input: Input<'_>) -> Result<(), TaskError> {
    let wrong = match (task_order(task, input), task.holdout, input) {
        _ if !task.open => return Ok(()),
        (_, _, Input::Generated(_)) => "generated examples have two classes; leave classes out",
        (Ok(order), _, _) if order != Some(Order::Cyclic) => {
            "classes=open needs the order of the data; set the parameter order to cyclic"
        }
        (_, Some(_), _) => {
            "classes=open learns from all examples in their order; leave holdout out"
        }
        _ => return Ok(()),
    };
    Err(TaskError::WrongData(wrong.to_owned()))
}

/// Checks that features can be left out: they have names, and each has a weight if the lightest are to go.
fn check_pruning(task: &Task, input: Input<'_>) -> Result<(), TaskError> {
    let Pruning {
        minimum_count,
        discard,
    } = task.pruning;
    let Some(field) = task.pruning.field() else {
        return Ok(());
    };
    let is_claimed = task.confidence.is_some() || task.error.is_some();
    let has_order = task.entry.parameters.iter().any(|own| own.name == "order");
    let is_drawn = || Ok::<_, TaskError>(task_order(task, input)? == Some(Order::RandomMistake));
    let (field, detail) = if !task.names {
        (
            field,
            "only names can be left out of examples, and these have none; remove the field",
        )
    } else if is_claimed {
        (
            field,
            "a run that leaves names out claims no confidence; remove the field, or stop.confidence and stop.error",
        )
    } else if minimum_count.is_some() && is_drawn()? {
        let detail = match has_order {
            true => {
                "names are counted in the order of the first pass, and order=random has none; set another order"
            }
            false => {
                "names are counted in the order of the first pass, and the learner has none; choose another learner"
            }
        };
        ("minimum_count", detail)
    } else if minimum_count.is_some() && task.start.is_some() {
        let detail = "the names of the first hypothesis are known before any is counted; leave minimum_count out";
        ("minimum_count", detail)
    } else if discard.is_some() && !has_weights(task, input)? {
        (
            "discard",
            "the learner has no weight per name, so none is the lightest; leave discard out",
        )
    } else {
        return Ok(());
    };
    let detail = detail.to_owned();
    Err(TaskError::Field { field, detail })
}

/// Whether the hypotheses of a task have a weight per feature.
fn has_weights(task: &Task, input: Input<'_>) -> Result<bool, TaskError> {
    let predictor = first_member(task, input)?.predictor();
    Ok(predictor.members()[0].magnitudes().is_some())
}

/// Checks that every row has a number of 31 bits, as rows read out of order need.
pub(crate) fn check_numbered(input: Input<'_>) -> Result<(), TaskError> {
    let rows_max = Shown::ROWS_MAX;
    match input {
        Input::Sample { data, .. } if data.shape().examples as u64 > rows_max => {
            Err(TaskError::WrongData(format!(
                "at most {rows_max} examples can be shuffled, weighted or held out"
            )))
        }
        Input::Sample { .. } | Input::Generated(_) => Ok(()),
    }
}

pub(crate) fn check_data(task: &Task, input: Input<'_>) -> Result<(), TaskError> {
    let entry = task.entry;
    let (labelled, real) = match input {
        Input::Generated(plan) => (plan.sampling == Sampling::Uniform, false),
        Input::Sample { data, .. } => match data.shape().labels {
            LabelKind::Unlabelled => {
                let detail = "a training needs labelled or half-space examples; unlabelled \
                              examples are only for predictions";
                return Err(TaskError::WrongData(detail.to_owned()));
            }
            labels if task.open && !labels.is_labelled() => {
                let detail = "each example needs the label of a class";
                return Err(TaskError::WrongData(detail.to_owned()));
            }
            labels if !task.open && task.classes > 2 && !labels.has_many_classes() => {
                let detail = "each example needs the label of one of the classes";
                return Err(TaskError::WrongData(detail.to_owned()));
            }
            labels if !task.is_committee() && labels.has_many_classes() => {
                return Err(TaskError::WrongData(MANY_CLASSES.to_owned()));
            }
            labels => (labels.is_labelled(), data.shape().is_real),
        },
    };
    check_multiclass(task)?;
    check_names(task)?;
    let name = entry.name;
    if real && !entry.data.real {
        return Err(TaskError::NotBoolean {
            learner: name,
            named: task.names,
        });
    }
    if labelled && !entry.data.labelled {
        let detail = format!("{name} accepts half-space examples only");
        return Err(TaskError::WrongData(detail));
    }
    if !labelled && !entry.data.half_space {
        let detail = format!(
            "{name} needs labelled examples; half-space examples are all positive and cannot be \
             separated"
        );
        return Err(TaskError::WrongData(detail));
    }
    Ok(())
}

/// Checks that the learner takes features with names, if they have any.
pub(crate) fn check_names(task: &Task) -> Result<(), TaskError> {
    if !task.names || task.entry.data.names.is_some() {
        return Ok(());
    }
    let name = task.entry.name;
    let detail = format!(
        "{name} needs the number of features, and features with names have none; the list of learners says which ones \
         take names"
    );
    Err(TaskError::WrongData(detail))
}

/// Checks that only more than two classes are learnt jointly.
pub(crate) fn check_multiclass(task: &Task) -> Result<(), TaskError> {
    if task.is_committee() || task.multiclass != Multiclass::Joint {
        return Ok(());
    }
    let detail =
        "the examples have two classes, which one hypothesis tells apart; leave multiclass out";
    Err(TaskError::WrongData(detail.to_owned()))
}
