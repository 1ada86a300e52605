//! The facts about a run that its certificates rest on.
//!
//! The module `certificates` turns them into statements. This file states no confidence.

use crate::bits::BitVector;
use crate::learners::engine::error_count::errors_among;
use crate::learners::engine::holdout::HoldoutPart;
use crate::learners::engine::input::Input;
use crate::learners::engine::kept::Kept;
use crate::learners::engine::outcome::{Compressed, Grounds, Training};
use crate::learners::engine::pruning::OTHERWISE_CHANGED;
use crate::learners::engine::reason::{MAX_SECONDS, Reason};
use crate::learners::engine::run::{Interrupt, Run};
use crate::learners::engine::run_examples::RunExamples;
use crate::learners::engine::run_state::Tested;
use crate::learners::engine::stop_conditions;
use crate::learners::engine::task::Task;
use crate::learners::engine::train_loop::TrainLoop;
use crate::learners::hypothesis::Hypothesis;
use crate::learners::predictor::Predictor;

/// Why a run with weights has no certificate of the examples that it was shown.
const SHOWN_AGAIN: &str =
    "the examples have weights, so the learner was shown some of them more often than others";

/// The counts of errors that the report of a run has already made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted {
    /// Errors on the examples that the learner was shown.
    pub training: Option<Training>,
    /// Errors on the held-out examples.
    pub holdout: Option<Training>,
}

/// Collects the facts about a run that ended for `reason` with `hypothesis`.
///
/// # Errors
/// [`Interrupt::Suspended`], [`Interrupt::Unreadable`] or [`Interrupt::Memory`] if the report was abandoned.
pub(crate) fn grounds(
    task: &Task,
    input: Input<'_>,
    reason: Reason,
    predictor: &Predictor,
    counted: Counted,
    train_loop: &TrainLoop<'_>,
    source: &RunExamples<'_>,
) -> Result<Grounds, Interrupt> {
    let course = &train_loop.course;
    let kept = train_loop.kept.as_ref();
    let fixed = fixed_examples(input, reason, course.counts.examples);
    let is_pruned = source.pruned.is_some();
    let tested = course.tested.map(|tested| match is_pruned {
        true => Err(OTHERWISE_CHANGED.to_owned()),
        false if task.weights.is_some() => Err(SHOWN_AGAIN.to_owned()),
        false => Ok(tested),
    });
    let independent = input.independent(task.evidence.as_ref());
    let sampling = independent
        .clone()
        .and_then(|_| stop_conditions::clean_sampling(input))
        .map_err(String::from);
    let context = Context {
        predictor,
        counted,
        source,
        run: train_loop.run,
    };
    Ok(Grounds {
        fresh: stop_conditions::fresh(task, input)
            .and(independent)
            .map_err(String::from),
        survived: tested.clone().unwrap_or_else(untested).and_then(|tested| {
            let changes = (course.counts.mistakes, course.counts.updates);
            match changes == (tested.mistakes, tested.updates) {
                true => Ok(tested),
                false => Err("the hypothesis changed after the first pass".to_owned()),
            }
        }),
        tested,
        consistent: match (&sampling, &fixed) {
            (Err(why), _) | (Ok(_), Err(why)) => Err(why.clone()),
            (Ok(_), Ok(examples)) => context.consistent(*examples)?,
        },
        sampling,
        compressed: match (kept.filter(|_| task.entry.is_compressed()), &fixed) {
            _ if is_pruned => Err(OTHERWISE_CHANGED.to_owned()),
            _ if task.weights.is_some() => Err(SHOWN_AGAIN.to_owned()),
            (None, _) => {
                Err("the mistaken examples alone do not reproduce a run in this order".to_owned())
            }
            // The moment of the end depends on neither the mistaken examples nor the request, so these do not reproduce
            // the number of mistakes.
            (Some(_), _) if reason == Reason::Limit(MAX_SECONDS) || reason == Reason::Cancelled => {
                Err(format!(
                    "the mistaken examples do not reproduce where {} ended the run",
                    match reason {
                        Reason::Cancelled => "the cancellation",
                        _ => MAX_SECONDS,
                    }
                ))
            }
            (Some(_), Err(why)) => Err(why.clone()),
            (Some(kept), Ok(examples)) => context.compressed(kept.all(), *examples)?,
        },
        kept: kept.and_then(Kept::listed).map(|lists| {
            let own = |rows: Vec<u64>| source.data_rows(rows);
            lists.into_iter().map(own).collect()
        }),
    })
}

fn untested() -> Result<Tested, String> {
    Err("the learner does not test the examples one by one before it learns".to_owned())
}

/// The number of examples, if it was fixed before the run. A run that ended by its own success has none.
fn fixed_examples(input: Input<'_>, reason: Reason, read: u64) -> Result<u64, String> {
    match (input, input.examples()) {
        (Input::Sample { .. }, Some(examples)) => Ok(examples),
        (_, Some(examples)) if read >= examples => Ok(examples),
        (_, Some(_)) => Err("the run ended before the last example".to_owned()),
        (_, None) if reason == Reason::Limit("max_examples") => Ok(read),
        (_, None) => Err(
            "the number of examples was not fixed before the run (count or max_examples)"
                .to_owned(),
        ),
    }
}

/// The end of a run.
struct Context<'c> {
    predictor: &'c Predictor,
    counted: Counted,
    source: &'c RunExamples<'c>,
    run: &'c Run,
}

impl Context<'_> {
    /// Returns `examples` if the signs of the weights classify all of them correctly.
    fn consistent(&self, examples: u64) -> Result<Result<u64, String>, Interrupt> {
        let Some(signs) = self.predictor.one().and_then(Hypothesis::signs) else {
            return Ok(Err("the hypothesis has no sign per feature".to_owned()));
        };
        let signs = Hypothesis::BinaryWeights(signs).into();
        let mut errors = 0;
        for part in [HoldoutPart::Shown, HoldoutPart::HeldOut] {
            let Some(count) = self.source.count(part, examples) else {
                continue;
            };
            match self.errors(&signs, part, count, None)? {
                None => {
                    return Ok(Err(
                        "the run ended before the errors were counted".to_owned()
                    ));
                }
                Some(found) => errors += found,
            }
        }
        Ok(match errors {
            0 => Ok(examples),
            _ => Err(format!(
                "the signs of the weights are wrong on {errors} of {examples} examples"
            )),
        })
    }

    /// Returns the mistaken examples by their places, with the errors on the others.
    fn compressed(
        &self,
        mistaken: &BitVector,
        examples: u64,
    ) -> Result<Result<Compressed, String>, Interrupt> {
        let examples = self
            .source
            .count(HoldoutPart::Shown, examples)
            .unwrap_or(examples);
        let kept = self.source.places(mistaken);
        let errors = match self.counted.training {
            None => None,
            Some(Training { errors: 0, .. }) => Some(0),
            Some(_) => self.errors(self.predictor, HoldoutPart::Shown, examples, Some(&kept))?,
        };
        Ok(match errors {
            None => Err("the run ended before the errors were counted".to_owned()),
            Some(errors) => Ok(Compressed {
                examples,
                errors,
                kept,
            }),
        })
    }

    /// Counts the errors on the first `examples` of a part, leaving out those of `except`.
    fn errors(
        &self,
        predictor: &Predictor,
        part: HoldoutPart,
        examples: u64,
        except: Option<&BitVector>,
    ) -> Result<Option<u64>, Interrupt> {
        let mut stream = self.source.stream(part);
        let is_slow = self.source.is_slow();
        let counted = errors_among(predictor, &mut *stream, examples, except, is_slow, self.run)?;
        Ok(counted.map(|counted| counted.training.errors))
    }
}
