//! The report on a run that has ended: training errors, hold-out errors, mistake bound, confidence claims,
//! target recovery and notes.

use crate::bits::{BLOCK_ROWS, BitVector};

use crate::learners::engine::grounds::{Counted, grounds};
use crate::learners::engine::helpers;
use crate::learners::engine::holdout::HoldoutPart;
use crate::learners::engine::outcome::{BestSeen, Recovery, RunOutcome, Termination, Training};
use crate::learners::engine::run::{Interrupt, Run, StopFlag};
use crate::learners::engine::run_state::RunState;
use crate::learners::engine::snapshot::SnapshotReader;
use crate::learners::engine::stop_conditions;
use crate::learners::engine::stopping::{StopRule, Watch, confidence_detail};
use crate::learners::engine::task::{self, Input, Task};
use crate::learners::engine::train::RunExamples;
use crate::learners::engine::train_loop::{Reason, TrainLoop};
use crate::learners::hypothesis::Hypothesis;
use crate::learners::linear::linear_weights::Reading;
use crate::learners::sample::batch::{Batch, is_worth_copying};
use crate::learners::sample::block::{Block, BlockFeatures, row_mask};
use crate::learners::sample::parts::Parts;
use crate::learners::sample::source::Stream;

/// Words of work per example up to which a block of 64 examples is one piece.
const EXAMPLE_WORDS_MAX: u64 = helpers::PIECE_WORDS_MAX / BLOCK_ROWS as u64;

/// The share of ones below which the report advises against reading a bit as -1 or +1.
const SPARSE: f64 = 0.05;

/// Errors among some examples. `ones` is the number of 1 bits in these examples, if it was counted.
pub(crate) struct CountedErrors {
    pub training: Training,
    ones: Option<u64>,
}

impl CountedErrors {
    /// The errors of a hypothesis among no examples.
    fn zero(hypothesis: &Hypothesis) -> Self {
        Self {
            training: Training {
                errors: 0,
                examples: 0,
            },
            ones: reads_signed(hypothesis).then_some(0),
        }
    }

    /// Adds the errors among further examples.
    fn add(&mut self, further: &Self) {
        self.training.errors += further.training.errors;
        self.training.examples += further.training.examples;
        let ones = self.ones.iter_mut().zip(further.ones);
        ones.for_each(|(sum, ones)| *sum += ones);
    }
}

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
    let hypothesis = train_loop.rule.hypothesis();
    let target = recovery(&hypothesis, input);
    let (mut counted, mut holdout) = (None, None);
    if reason != Reason::Cancelled {
        counted = training_errors(&hypothesis, input, target, counts.examples, source, run)?;
        if source.holdout.is_some() {
            let mut held_out = source.stream(HoldoutPart::HeldOut);
            let all = held_out.examples().unwrap_or(0);
            holdout = errors_among(
                &hypothesis,
                &mut *held_out,
                all,
                None,
                source.is_slow(),
                run,
            )?;
        }
    }
    let mut stream = source.stream(HoldoutPart::Shown);
    let (bound, no_bound) = match train_loop.rule.bound(&mut *stream, &counts, reason, run) {
        Err(why @ (Interrupt::Suspended | Interrupt::Unreadable | Interrupt::Memory)) => {
            return Err(why);
        }
        Err(_) => (None, "the run ended before the bound was computed"),
        Ok(bound) => (bound, train_loop.rule.why_no_bound()),
    };
    let training = counted.as_ref().map(|counted| counted.training);
    let mut notes = Vec::new();
    let shown = stream.examples();
    notes.extend(shown.and_then(|shown| train_loop.rule.remark(reason, shown)));
    notes.extend(batch_note(train_loop));
    notes.extend(counted.and_then(|counted| sparse_note(&counted, stream.n())));
    if let (Reason::Converged, Some(errors @ 1..)) = (reason, training.map(|it| it.errors)) {
        notes.push(format!(
            "the weights are rounded after the scaling by eta, so {errors} examples on the \
             hyperplane count as errors"
        ));
    }
    let errors = Counted {
        training,
        holdout: holdout.map(|counted| counted.training),
    };
    let grounds = grounds(task, input, reason, &hypothesis, errors, train_loop, source)?;
    Ok(RunOutcome {
        hypothesis,
        grounds,
        counts,
        termination: termination(task, input, &train_loop.course, reason, notes),
        training,
        is_best: train_loop.rule.keeps_best(),
        best: best(task, input, train_loop, training),
        holdout: errors.holdout,
        no_bound: bound.is_none().then_some(no_bound),
        bound,
        target,
        trace: train_loop.course.trace.clone(),
    })
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
        hypothesis: rule.hypothesis(),
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

/// The note that the rule of the paper accepts a hypothesis with less confidence than the request asked
/// for.
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
fn batch_note(train_loop: &TrainLoop<'_>) -> Option<String> {
    let course = &train_loop.course;
    let lacking = train_loop.rule.batch_remaining();
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

/// Whether the weights read a bit as -1 or +1.
fn reads_signed(hypothesis: &Hypothesis) -> bool {
    match hypothesis {
        Hypothesis::Linear(weights) => weights.reading() == Some(Reading::Signed),
        _ => false,
    }
}

/// Compares the hypothesis or the signs of its weights with the hidden target.
pub(crate) fn recovery(hypothesis: &Hypothesis, input: Input<'_>) -> Option<Recovery> {
    let Input::Generated(plan) = input else {
        return None;
    };
    let target = plan.target.binary_weights()?;
    let distance = match hypothesis {
        Hypothesis::BinaryWeights(weights) => weights.hamming_distance(target),
        Hypothesis::Linear(weights) => weights.signs().hamming_distance(target),
        // These have no sign per feature, or read the features differently from the target.
        Hypothesis::Winnow(_)
        | Hypothesis::KernelWinnow(_)
        | Hypothesis::Kernel(_)
        | Hypothesis::Bounded(_) => return None,
    };
    Some(Recovery {
        recovered: distance == 0,
        distance: distance as u64,
    })
}

/// Counts the errors of the hypothesis on the examples that the learner was shown: the sample, or the part
/// of a drawn stream that was read. Also counts the ones of these examples if the weights read bits as
/// signs.
fn training_errors(
    hypothesis: &Hypothesis,
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
    let is_binary = matches!(hypothesis, Hypothesis::BinaryWeights(_));
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
    errors_among(hypothesis, &mut *stream, examples, None, is_slow, run)
}

/// Counts the errors of the hypothesis among the first `examples` of a stream, without the places of `except`.
/// Returns none if the run must end before the count is complete. After the time limit the count continues, unless
/// the examples are slow to read or slow to classify.
pub(crate) fn errors_among(
    hypothesis: &Hypothesis,
    stream: &mut dyn Stream,
    examples: u64,
    except: Option<&BitVector>,
    is_slow: bool,
    run: &Run,
) -> Result<Option<CountedErrors>, Interrupt> {
    let count = ErrorCount {
        hypothesis,
        except,
        is_long: is_slow || hypothesis.words_of_work() > EXAMPLE_WORDS_MAX,
    };
    let Some(parts) = Parts::of(stream, hypothesis, examples, &run.stop) else {
        return count.among(stream, 0, examples, &run.stop);
    };
    let counted = helpers::map(&run.stop, parts.count(), |part, stop| {
        let (places, mut part) = parts.get(part);
        let end = examples.min(places.end as u64);
        count.among(&mut part, places.start, end - places.start as u64, stop)
    });
    let mut sum = CountedErrors::zero(hypothesis);
    for part in counted {
        let Some(part) = part? else { return Ok(None) };
        sum.add(&part);
    }
    Ok(Some(sum))
}

/// Counts errors of a hypothesis among consecutive examples.
struct ErrorCount<'a> {
    hypothesis: &'a Hypothesis,
    /// The places that do not count.
    except: Option<&'a BitVector>,
    is_long: bool,
}

impl ErrorCount<'_> {
    /// Counts the errors among the next `examples` of a stream. `place` is the position of the first example. Returns
    /// none if the run must end before the count is complete.
    fn among(
        &self,
        stream: &mut dyn Stream,
        place: usize,
        examples: u64,
        run_stop: &StopFlag,
    ) -> Result<Option<CountedErrors>, Interrupt> {
        // The loop below polls the stop flag between blocks, so blocks of short examples need no flag of their
        // own.
        let unheeded = StopFlag::default();
        let stop = if self.is_long { run_stop } else { &unheeded };
        let mut counted = CountedErrors::zero(self.hypothesis);
        let mut batch = Batch::default();
        let is_copied = is_worth_copying(self.hypothesis, examples, run_stop);
        loop {
            match run_stop.raised() {
                Some(why @ (Interrupt::Suspended | Interrupt::Unreadable | Interrupt::Memory)) => {
                    return Err(why);
                }
                Some(Interrupt::Cancelled) => return Ok(None),
                Some(Interrupt::TimeLimit) if self.is_long => return Ok(None),
                Some(Interrupt::TimeLimit) | None => {}
            }
            let left = (examples - counted.training.examples) as usize;
            if left == 0 {
                return Ok(Some(counted));
            }
            if is_copied {
                batch.fill(stream, left as u64)?;
                if batch.is_empty() {
                    return Ok(Some(counted));
                }
                let masks = helpers::map(run_stop, batch.len(), |index, polled| {
                    let stop = if self.is_long { polled } else { &unheeded };
                    self.hypothesis.mistakes(&batch.block(index), stop)
                });
                for (block, mask) in batch.blocks().zip(masks) {
                    let read = counted.training.examples as usize;
                    let rows = block.rows().min(examples as usize - read);
                    counted.add(&self.of_block(&block, mask, place + read, rows));
                }
            } else {
                let Some(block) = stream.next_block()? else {
                    return Ok(Some(counted));
                };
                let mask = self.hypothesis.mistakes(&block, stop);
                let (read, rows) = (counted.training.examples as usize, block.rows().min(left));
                counted.add(&self.of_block(&block, mask, place + read, rows));
            }
        }
    }

    /// The errors among the first `rows` of a block. `place` is the position of the first row.
    fn of_block(
        &self,
        block: &Block<'_>,
        mistakes: u64,
        place: usize,
        rows: usize,
    ) -> CountedErrors {
        let excepted = self.except.map_or(0, |except| except.word_from(place));
        let mask = row_mask(rows) & !excepted;
        let mut counted = CountedErrors::zero(self.hypothesis);
        counted.training = Training {
            errors: u64::from((mistakes & mask).count_ones()),
            examples: rows as u64,
        };
        if let (Some(ones), BlockFeatures::Boolean(bits)) = (&mut counted.ones, block.features) {
            let columns = bits.words().chunks(BLOCK_ROWS);
            let words = columns.flat_map(|column| &column[..rows]);
            *ones = words.map(|word| u64::from(word.count_ones())).sum();
        }
        counted
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::learners::engine::helpers::{FixedSeats, HelperSeats};
    use crate::learners::engine::random::Seed;
    use crate::learners::engine::stopping::Sampling;
    use crate::learners::sample::generate::{Generated, Plan};
    use crate::learners::sample::source::{Presentation, Presented};

    #[test]
    fn excepted_places_do_not_count_in_any_part() {
        let plan = Plan {
            count: Some(1_300),
            ..Plan::endless(Plan::random_target(71, Seed(1)), Sampling::Uniform)
        };
        let mut target = plan.target.binary_weights().unwrap().clone();
        (0..71).for_each(|j| target.flip(j));
        let hypothesis = Hypothesis::BinaryWeights(target);
        let data = Generated::materialise(plan, Seed(2), &Run::default());
        // The opposite of the target is wrong everywhere.
        let mut except = BitVector::zeros(1_300);
        for place in [0, 63, 64, 511, 512, 700, 1_023, 1_024, 1_270, 1_299] {
            except.set(place, true);
        }
        let seats = Arc::new(FixedSeats::new(2, 0));
        let helped = Run {
            stop: StopFlag::with_helpers(Arc::clone(&seats) as Arc<dyn HelperSeats>),
            ..Run::default()
        };
        for run in [Run::default(), helped] {
            for (examples, errors) in [(1_300, 1_290), (1_271, 1_262), (600, 595), (64, 62)] {
                let mut stream = Presented::new(&data, Presentation::Labelled);
                let counted = errors_among(
                    &hypothesis,
                    &mut stream,
                    examples,
                    Some(&except),
                    false,
                    &run,
                );
                let expected = Training { errors, examples };
                assert_eq!(counted.unwrap().unwrap().training, expected);
            }
        }
        assert!(seats.entered() > 0);
    }
}
