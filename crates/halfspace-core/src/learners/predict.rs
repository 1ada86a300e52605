//! Decisions of a hypothesis on examples, and the check that the examples fit it.

use std::ops::{ControlFlow, Range};

use crate::bits::{BLOCK_ROWS, BitBlock, WORD_BITS};
use crate::learners::decision::{Decision, ScoresOf};
use crate::learners::engine::run::{Interrupt, StopFlag};
use crate::learners::engine::shared_work::{self, PIECE_WORDS_MAX};
use crate::learners::lockstep::Judge;
use crate::learners::predictor::Predictor;
use crate::learners::sample::batch::{Batch, is_worth_copying};
use crate::learners::sample::block::{Block, BlockFeatures, row_mask};
use crate::learners::sample::classes::BlockCodes;
use crate::learners::sample::data::Data;
use crate::learners::sample::examples::Examples;
use crate::learners::sample::known_features::KnownFeatures;
use crate::learners::sample::parts::{PART_ROWS_MAX, Parts};
use crate::learners::sample::source::{Presentation, Presented, Stream};
use crate::memory;

/// How many pieces may wait to be shown.
const PIECES_AHEAD: usize = 32;

/// Why a hypothesis cannot decide on some examples.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misfit {
    /// The examples have another number of features.
    #[error("the examples have {given} features, but the model has n = {own}")]
    Length { given: usize, own: usize },
    /// The examples are real and the hypothesis reads only bits.
    #[error(
        "the model accepts Boolean examples only: values all 0/1 or all -1/1, or names without values"
    )]
    Real,
    /// One of the examples would take unreasonably long.
    #[error("{0}")]
    Intractable(String),
    /// The examples could not be read.
    #[error("the examples could not be read")]
    Unread(Interrupt),
}

/// Checks that a hypothesis can decide on the examples. With real weights it also accepts Boolean ones, because real
/// examples may happen to contain only zeros and ones. Sparse examples may have features that the hypothesis does not
/// know if `may_have_unseen`, as where features have names.
///
/// # Errors
/// The reason why the hypothesis cannot decide on the examples.
pub fn check_fit(
    predictor: &Predictor,
    examples: &dyn Examples,
    may_have_unseen: bool,
) -> Result<(), Misfit> {
    let shape = examples.shape();
    let (given, own) = (shape.n, predictor.n());
    if given != own && !(may_have_unseen && shape.entries.is_some() && given > own) {
        return Err(Misfit::Length { given, own });
    }
    if shape.is_real && !predictor.takes_real() {
        return Err(Misfit::Real);
    }
    let checked = predictor.check_examples(examples);
    checked
        .map_err(Misfit::Unread)?
        .map_err(Misfit::Intractable)
}

/// Bytes of the decisions that wait to be shown when `examples` are decided, if their scores fit 64 bits.
pub fn waiting_bytes(examples: u64) -> u64 {
    let waiting = ((PIECES_AHEAD + 1) * PART_ROWS_MAX) as u64;
    examples.min(waiting) * size_of::<Decision>() as u64
}

/// Like [`for_each_decisions_until`], but only `see` can stop the decisions.
///
/// # Panics
/// Panics if [`check_fit`] refuses the examples.
pub fn for_each_decisions(
    predictor: &Predictor,
    data: &Data,
    zero: f64,
    see: impl FnMut(&[Decision]) -> ControlFlow<()>,
) {
    for_each_decisions_until(predictor, data, zero, &StopFlag::default(), see);
}

/// Calls [`decide_each`] on examples in memory, which can always be read.
///
/// # Panics
/// Panics if [`check_fit`] refuses the examples.
pub fn for_each_decisions_until(
    predictor: &Predictor,
    data: &Data,
    zero: f64,
    stop: &StopFlag,
    mut see: impl FnMut(&[Decision]) -> ControlFlow<()>,
) {
    let leaders = ScoresOf::Leaders;
    let decided = decide_each(predictor, data, zero, leaders, stop, |decisions, _| {
        see(decisions)
    });
    decided.expect("examples in memory are always read");
}

/// The number of active features of each example that a hypothesis of `n` features does not know. Only sparse examples
/// have some.
///
/// # Errors
/// The interrupt that kept the examples from being read.
pub fn unknown_features(
    examples: &dyn Examples,
    n: usize,
    stop: &StopFlag,
) -> Result<Vec<u32>, Interrupt> {
    let count = examples.shape().examples;
    memory::need_of::<u32>(count).map_err(|_| Interrupt::Memory)?;
    let mut counts = Vec::with_capacity(count);
    let mut stream = Presented::new(examples, Presentation::LabelledSparse);
    while let Some(block) = stream.next_block()? {
        if let Some(interrupt) = stop.raised() {
            return Err(interrupt);
        }
        counts.extend((0..block.rows()).map(|row| match block.features {
            BlockFeatures::Sparse(rows) => {
                let ids = rows.row(row).ids;
                (ids.len() - ids.partition_point(|&id| (id as usize) < n)) as u32
            }
            BlockFeatures::Boolean(_) | BlockFeatures::Real { .. } => 0,
        }));
    }
    Ok(counts)
}

/// Shows `see` the decisions on all examples in order, up to 64 per call, or fewer if a decision takes long. The
/// second argument of `see` has the class codes of these examples; those without labels count as positive. The calls
/// stop when `see` breaks or `stop` is raised.
///
/// A hypothesis over reals reads Boolean data as numbers: bit 1 as 1 and bit 0 as `zero`, as the client sent them.
/// One example at a time is expanded, because doubles take 64 times the memory of bits.
///
/// Features that the hypothesis does not know have its first weight: 1 if it multiplies its weights, otherwise 0.
///
/// Helpers of the run compute the decisions on samples in memory, and slow decisions on other samples, see
/// [`shared_work`]. The scores of all classes take so much memory that they are computed block by block.
///
/// # Errors
/// The interrupt that kept the examples from being read.
///
/// # Panics
/// Panics if [`check_fit`] refuses the number or the type of the features.
pub fn decide_each(
    predictor: &Predictor,
    examples: &dyn Examples,
    zero: f64,
    scores: ScoresOf,
    stop: &StopFlag,
    mut see: impl FnMut(&[Decision], &BlockCodes) -> ControlFlow<()>,
) -> Result<(), Interrupt> {
    let shape = examples.shape();
    let has_unknown = shape.n > predictor.n() && shape.entries.is_some();
    assert!(predictor.n() == shape.n || has_unknown, "examples that fit");
    let presentation = match has_unknown || predictor.takes_sparse(shape.is_real || zero == 0.0) {
        true => Presentation::LabelledSparse,
        false => Presentation::Labelled,
    };
    let mut stream = Presented::new(examples, presentation);
    let count = shape.examples as u64;
    let is_one_by_one = scores == ScoresOf::All && predictor.one().is_none();
    if !is_one_by_one && let Some(parts) = Parts::of(&stream, predictor, count, stop) {
        decide_in_parts(predictor, &parts, zero, stop, see);
        return Ok(());
    }
    if !is_one_by_one && !shape.is_real && is_worth_copying(predictor, count, stop) {
        return decide_together(predictor, &mut stream, stop, see);
    }
    let see = |decisions: &mut Vec<Decision>, codes: &BlockCodes| see(decisions, codes);
    decide_alone(predictor, &mut stream, zero, scores, stop, see)
}

/// Decides on the examples of a stream on one thread. `see` may take the decisions out of the vector.
fn decide_alone(
    predictor: &Predictor,
    stream: &mut dyn Stream,
    zero: f64,
    scores: ScoresOf,
    stop: &StopFlag,
    mut see: impl FnMut(&mut Vec<Decision>, &BlockCodes) -> ControlFlow<()>,
) -> Result<(), Interrupt> {
    let n = stream.n();
    let mut known = KnownFeatures::of(predictor);
    let (mut decisions, mut values) = (Vec::with_capacity(BLOCK_ROWS), Vec::new());
    let mut judge = Judge::new(predictor);
    while let Some(block) = stream.next_block()? {
        let block = known.only(block);
        for rows in pieces(predictor, block.rows()) {
            decisions.clear();
            let first = rows.start;
            match block.features {
                BlockFeatures::Boolean(bits) if !predictor.reads_bits() => {
                    for row in rows {
                        to_dense(bits, row, n, zero, &mut values);
                        let block =
                            Block::of(BlockFeatures::Real { n, values: &values }, row_mask(1));
                        judge.decide(&block, 0..1, scores, stop, &mut decisions);
                    }
                }
                _ => judge.decide(&block, rows, scores, stop, &mut decisions),
            }
            let is_ended = stop.raised().is_some();
            if is_ended || see(&mut decisions, &block.codes_from(first)).is_break() {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Decides on a sample in memory with helpers. `see` receives the same calls as on one thread.
fn decide_in_parts(
    predictor: &Predictor,
    parts: &Parts<'_>,
    zero: f64,
    stop: &StopFlag,
    mut see: impl FnMut(&[Decision], &BlockCodes) -> ControlFlow<()>,
) {
    let decide = |part: usize, stop: &StopFlag| {
        let (mut all, mut looks) = (Vec::new(), Vec::new());
        let (_, mut part) = parts.get(part);
        let leaders = ScoresOf::Leaders;
        let read = decide_alone(
            predictor,
            &mut part,
            zero,
            leaders,
            stop,
            |decisions, codes| {
                looks.push((decisions.len(), *codes));
                all.append(decisions);
                ControlFlow::Continue(())
            },
        );
        read.expect("examples in memory are always read");
        (all, looks)
    };
    shared_work::for_each(stop, parts.count(), PIECES_AHEAD, decide, |(all, looks)| {
        // A thread that saw the flag may lack decisions.
        if stop.raised().is_some() {
            return ControlFlow::Break(());
        }
        let mut rest = all.as_slice();
        looks.into_iter().try_for_each(|(count, codes)| {
            let decisions;
            (decisions, rest) = rest.split_at(count);
            see(decisions, &codes)
        })
    });
}

/// The rows of a block, divided into ranges of at most [`PIECE_WORDS_MAX`] words of work.
fn pieces(predictor: &Predictor, rows: usize) -> impl Iterator<Item = Range<usize>> + use<> {
    let rows_at_once = PIECE_WORDS_MAX / predictor.words_of_work().max(1);
    let rows_at_once = rows_at_once.clamp(1, BLOCK_ROWS as u64) as usize;
    let firsts = (0..rows).step_by(rows_at_once);
    firsts.map(move |first| first..rows.min(first + rows_at_once))
}

/// Decides on Boolean examples with helpers. `see` receives the same calls as on one thread.
fn decide_together(
    predictor: &Predictor,
    stream: &mut dyn Stream,
    stop: &StopFlag,
    mut see: impl FnMut(&[Decision], &BlockCodes) -> ControlFlow<()>,
) -> Result<(), Interrupt> {
    debug_assert!(predictor.reads_bits());
    let mut batch = Batch::default();
    loop {
        batch.fill(stream, u64::MAX)?;
        let blocks = batch.blocks().enumerate();
        let all: Vec<(usize, Range<usize>)> = blocks
            .flat_map(|(index, block)| {
                pieces(predictor, block.rows()).map(move |rows| (index, rows))
            })
            .collect();
        if all.is_empty() {
            return Ok(());
        }
        let decide = |piece: usize, stop: &StopFlag| {
            let (index, rows) = &all[piece];
            let mut decisions = Vec::with_capacity(rows.len());
            let mut known = KnownFeatures::of(predictor);
            let block = known.only(batch.block(*index));
            let (rows, first) = (rows.clone(), rows.start);
            predictor.decide(&block, rows, ScoresOf::Leaders, stop, &mut decisions);
            // The look ends a pause of the run, and compares the memory of the thread with the grant.
            stop.raised();
            (decisions, block.codes_from(first))
        };
        let mut flow = ControlFlow::Continue(());
        shared_work::for_each(
            stop,
            all.len(),
            PIECES_AHEAD,
            decide,
            |(decisions, codes)| {
                flow = match stop.raised() {
                    Some(_) => ControlFlow::Break(()),
                    None => see(&decisions, &codes),
                };
                flow
            },
        );
        if flow.is_break() {
            return Ok(());
        }
    }
}

/// Replaces `values` by the `n` values of row `row` of a block: bit 1 becomes 1 and bit 0 becomes `zero`.
fn to_dense(block: BitBlock<'_>, row: usize, n: usize, zero: f64, values: &mut Vec<f64>) {
    values.clear();
    values.extend((0..n).map(|j| {
        if block.word(j / WORD_BITS, row) >> (j % WORD_BITS) & 1 == 1 {
            1.0
        } else {
            zero
        }
    }));
}
