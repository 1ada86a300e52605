//! Counts the errors of a hypothesis on examples, on one thread or with helper threads.

use crate::bits::{BLOCK_ROWS, BitVector};
use crate::learners::engine::outcome::Training;
use crate::learners::engine::run::{Interrupt, Run, StopFlag};
use crate::learners::engine::shared_work;
use crate::learners::hypothesis::Hypothesis;
use crate::learners::linear::linear_weights::Reading;
use crate::learners::lockstep::Judge;
use crate::learners::predictor::Predictor;
use crate::learners::sample::batch::{Batch, is_worth_copying};
use crate::learners::sample::block::{Block, BlockFeatures, row_mask};
use crate::learners::sample::parts::Parts;
use crate::learners::sample::source::Stream;

/// Words of work per example up to which a block of 64 examples is one piece.
const EXAMPLE_WORDS_MAX: u64 = shared_work::PIECE_WORDS_MAX / BLOCK_ROWS as u64;

/// Errors among some examples. `ones` is the number of their 1 bits, if it was counted.
pub(crate) struct CountedErrors {
    pub training: Training,
    pub ones: Option<u64>,
}

impl CountedErrors {
    /// The errors of a hypothesis among no examples.
    fn zero(predictor: &Predictor) -> Self {
        Self {
            training: Training {
                errors: 0,
                examples: 0,
            },
            ones: reads_signed(predictor).then_some(0),
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

/// Counts the errors of the hypothesis among the first `examples` of a stream, leaving out the places of `except`.
/// Returns none if the run must end before the count is complete. The time limit alone does not end it, unless the
/// examples are slow to read or slow to classify.
pub(crate) fn errors_among(
    predictor: &Predictor,
    stream: &mut dyn Stream,
    examples: u64,
    except: Option<&BitVector>,
    is_slow: bool,
    run: &Run,
) -> Result<Option<CountedErrors>, Interrupt> {
    let count = ErrorCount {
        predictor,
        except,
        is_long: is_slow || predictor.words_of_work() > EXAMPLE_WORDS_MAX,
    };
    let Some(parts) = Parts::of(stream, predictor, examples, &run.stop) else {
        return count.among(stream, 0, examples, &run.stop);
    };
    let counted = shared_work::map(&run.stop, parts.count(), |part, stop| {
        let (places, mut part) = parts.get(part);
        let end = examples.min(places.end as u64);
        count.among(&mut part, places.start, end - places.start as u64, stop)
    });
    let mut sum = CountedErrors::zero(predictor);
    for part in counted {
        let Some(part) = part? else { return Ok(None) };
        sum.add(&part);
    }
    Ok(Some(sum))
}

/// Counts errors of a hypothesis among consecutive examples.
struct ErrorCount<'a> {
    predictor: &'a Predictor,
    /// The places that do not count.
    except: Option<&'a BitVector>,
    is_long: bool,
}

impl ErrorCount<'_> {
    /// Counts the errors among the next `examples` of a stream, the first of which has the position `place`. Returns
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
        let mut counted = CountedErrors::zero(self.predictor);
        let (mut batch, mut judge) = (Batch::default(), Judge::new(self.predictor));
        let is_copied = is_worth_copying(self.predictor, examples, run_stop);
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
                let masks = shared_work::map(run_stop, batch.len(), |index, polled| {
                    let stop = if self.is_long { polled } else { &unheeded };
                    self.predictor.mistakes(&batch.block(index), stop)
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
                let mask = judge.mistakes(&block, stop);
                let (read, rows) = (counted.training.examples as usize, block.rows().min(left));
                counted.add(&self.of_block(&block, mask, place + read, rows));
            }
        }
    }

    /// The errors among the first `rows` of a block, which begins at the position `place`.
    fn of_block(
        &self,
        block: &Block<'_>,
        mistakes: u64,
        place: usize,
        rows: usize,
    ) -> CountedErrors {
        let excepted = self.except.map_or(0, |except| except.word_from(place));
        let mask = row_mask(rows) & !excepted;
        let mut counted = CountedErrors::zero(self.predictor);
        counted.training = Training {
            errors: u64::from((mistakes & mask).count_ones()),
            examples: rows as u64,
        };
        if let (Some(ones), BlockFeatures::Sparse(sparse)) = (&mut counted.ones, block.features) {
            *ones = (0..rows).map(|row| sparse.row(row).ids.len() as u64).sum();
        }
        if let (Some(ones), BlockFeatures::Boolean(bits)) = (&mut counted.ones, block.features) {
            let columns = bits.words().chunks(BLOCK_ROWS);
            let words = columns.flat_map(|column| &column[..rows]);
            *ones = words.map(|word| u64::from(word.count_ones())).sum();
        }
        counted
    }
}

/// Whether the weights read a bit as -1 or +1.
fn reads_signed(predictor: &Predictor) -> bool {
    match predictor.one() {
        Some(Hypothesis::Linear(weights)) => weights.reading() == Some(Reading::Signed),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::learners::engine::random::Seed;
    use crate::learners::engine::run::HelperSeats;
    use crate::learners::engine::shared_work::FixedSeats;
    use crate::learners::engine::stopping::Sampling;
    use crate::learners::sample::generate::{Generated, Plan};
    use crate::learners::sample::source::{Presentation, Presented};

    #[test]
    fn error_count_omits_excepted_places() {
        let plan = Plan {
            count: Some(1_300),
            ..Plan::endless(Plan::random_target(71, Seed(1)), Sampling::Uniform)
        };
        let mut target = plan.target.binary_weights().unwrap().clone();
        (0..71).for_each(|j| target.flip(j));
        let predictor = Hypothesis::BinaryWeights(target).into();
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
                    &predictor,
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
