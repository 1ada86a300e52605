//! A hypothesis on data.

use std::ops::ControlFlow;

use super::block::{Block, BlockFeatures, row_mask};
use super::data::Data;
use super::examples::Examples;
use super::hypothesis::{Decision, Hypothesis};
use super::run::{Interrupt, StopFlag};
use super::source::{Presentation, Presented, Stream};
use crate::bits::{BLOCK_ROWS, BitBlock, WORD_BITS};

/// Words of work after which what was decided is shown, so that who looks can break off.
const WORDS_BETWEEN_LOOKS: u64 = 1 << 24;

/// Why a hypothesis does not take some examples.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misfit {
    /// They have another number of features.
    #[error("the examples have {given} features, but the model has n = {own}")]
    Length { given: usize, own: usize },
    /// They are real, and it reads bits alone.
    #[error("the model takes Boolean examples only: values all 0/1 or all -1/1")]
    Real,
    /// One of them would take time beyond all bounds.
    #[error("{0}")]
    Intractable(String),
    /// They could not be looked at.
    #[error("the examples could not be read")]
    Unread(Interrupt),
}

/// Whether a hypothesis takes the examples. One of real weights takes Boolean ones too: real
/// examples may happen to hold nothing but zeros and ones.
///
/// # Errors
/// Why it does not.
pub fn check_fit(hypothesis: &Hypothesis, examples: &dyn Examples) -> Result<(), Misfit> {
    let shape = examples.shape();
    let (given, own) = (shape.n, hypothesis.n());
    if given != own {
        return Err(Misfit::Length { given, own });
    }
    if shape.is_real && !hypothesis.takes_real() {
        return Err(Misfit::Real);
    }
    let checked = hypothesis.check_examples(examples);
    checked
        .map_err(Misfit::Unread)?
        .map_err(Misfit::Intractable)
}

/// As [`for_each_decisions_until`], with nobody who could end it but `see`.
///
/// # Panics
/// When [`check_fit`] refuses the examples.
pub fn for_each_decisions(
    hypothesis: &Hypothesis,
    data: &Data,
    zero: f64,
    see: impl FnMut(&[Decision]) -> ControlFlow<()>,
) {
    for_each_decisions_until(hypothesis, data, zero, &StopFlag::default(), see);
}

/// [`decide_each`] on examples in memory, which can always be read.
///
/// # Panics
/// When [`check_fit`] refuses the examples.
pub fn for_each_decisions_until(
    hypothesis: &Hypothesis,
    data: &Data,
    zero: f64,
    stop: &StopFlag,
    mut see: impl FnMut(&[Decision]) -> ControlFlow<()>,
) {
    let decided = decide_each(hypothesis, data, zero, stop, |decisions, _| see(decisions));
    decided.expect("examples in memory are always read");
}

/// Shows the decision on every example, in order, up to 64 at a time and fewer where each takes
/// long, until `see` breaks off or `stop` is raised: then nothing more is shown. Beside the decisions
/// a mask of the examples that are positive, as all are that have no labels.
///
/// Boolean data before a hypothesis over reals alone are read as the values that they were sent as: bit
/// 1 is 1, bit 0 is `zero`. They are spelled out one example at a time, since as doubles they take
/// 64 times their room.
///
/// # Errors
/// What kept the examples from being read.
///
/// # Panics
/// When [`check_fit`] refuses the examples.
pub fn decide_each(
    hypothesis: &Hypothesis,
    examples: &dyn Examples,
    zero: f64,
    stop: &StopFlag,
    mut see: impl FnMut(&[Decision], u64) -> ControlFlow<()>,
) -> Result<(), Interrupt> {
    let shape = examples.shape();
    assert_eq!(hypothesis.n(), shape.n);
    let spells_out = !hypothesis.reads_bits() && !shape.is_real;
    let rows_at_once = WORDS_BETWEEN_LOOKS / hypothesis.words_of_work().max(1);
    let rows_at_once = rows_at_once.clamp(1, BLOCK_ROWS as u64) as usize;
    let mut decisions = Vec::with_capacity(BLOCK_ROWS);
    let mut values = Vec::new();
    let mut stream = Presented::new(examples, Presentation::Labelled);
    while let Some(block) = stream.next_block()? {
        for first in (0..block.rows()).step_by(rows_at_once) {
            let rows = first..block.rows().min(first + rows_at_once);
            decisions.clear();
            match block.features {
                BlockFeatures::Boolean(bits) if spells_out => {
                    for row in rows {
                        spell_out(bits, row, shape.n, zero, &mut values);
                        let block = Block {
                            features: BlockFeatures::Real {
                                n: shape.n,
                                values: &values,
                            },
                            positives: row_mask(1),
                            reflected: 0,
                        };
                        hypothesis.decide(&block, 0..1, stop, &mut decisions);
                    }
                }
                _ => hypothesis.decide(&block, rows, stop, &mut decisions),
            }
            let is_ended = stop.raised().is_some();
            if is_ended || see(&decisions, block.positives >> first).is_break() {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// The `n` values of row `row` of a block, in place of what `values` held: bit 1 is 1, bit 0 is
/// `zero`.
pub fn spell_out(block: BitBlock<'_>, row: usize, n: usize, zero: f64, values: &mut Vec<f64>) {
    values.clear();
    values.extend((0..n).map(|j| {
        if block.word(j / WORD_BITS, row) >> (j % WORD_BITS) & 1 == 1 {
            1.0
        } else {
            zero
        }
    }));
}
