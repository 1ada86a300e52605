//! A hypothesis on data.

use std::ops::ControlFlow;

use super::block::{Block, BlockFeatures, row_mask};
use super::data::{Data, Features};
use super::hypothesis::{Decision, Hypothesis};
use super::run::StopFlag;
use super::source::{MemorySample, Presentation, Stream};
use crate::bits::{BLOCK_ROWS, BitMatrix, WORD_BITS};

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
}

/// Whether a hypothesis takes the examples. One of real weights takes Boolean ones too: real
/// examples may happen to hold nothing but zeros and ones.
///
/// # Errors
/// Why it does not.
pub fn check_fit(hypothesis: &Hypothesis, data: &Data) -> Result<(), Misfit> {
    let (given, own) = (data.n(), hypothesis.n());
    if given != own {
        return Err(Misfit::Length { given, own });
    }
    if matches!(data.features(), Features::Real(_)) && !hypothesis.takes_real() {
        return Err(Misfit::Real);
    }
    let checked = hypothesis.check_examples(data);
    checked.map_err(Misfit::Intractable)
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

/// Shows the decision on every example, in order, up to 64 at a time and fewer where each takes
/// long, until `see` breaks off or `stop` is raised: then nothing more is shown.
///
/// Boolean data before a hypothesis over reals alone are read as the values that they were sent as: bit
/// 1 is 1, bit 0 is `zero`. They are spelled out one example at a time, since as doubles they take
/// 64 times their room.
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
    assert_eq!(hypothesis.n(), data.n());
    let mut decisions = Vec::with_capacity(BLOCK_ROWS);
    if let (false, Features::Boolean(matrix)) = (hypothesis.reads_bits(), data.features()) {
        let mut values = Vec::with_capacity(matrix.n());
        for row in 0..matrix.rows() {
            spell_out(matrix, row, zero, &mut values);
            let (n, values) = (matrix.n(), values.as_slice());
            let block = Block {
                features: BlockFeatures::Real { n, values },
                positives: row_mask(1),
                reflected: 0,
            };
            hypothesis.decide(&block, 0..1, stop, &mut decisions);
            if decisions.len() == BLOCK_ROWS && shown(&mut decisions, stop, &mut see).is_break() {
                return;
            }
        }
        let _ = shown(&mut decisions, stop, &mut see);
        return;
    }
    let rows_at_once = WORDS_BETWEEN_LOOKS / hypothesis.words_of_work().max(1);
    let rows_at_once = rows_at_once.clamp(1, BLOCK_ROWS as u64) as usize;
    let mut stream = MemorySample::new(data, Presentation::Labelled);
    while let Some(block) = stream.next_block() {
        for first in (0..block.rows()).step_by(rows_at_once) {
            let rows = first..block.rows().min(first + rows_at_once);
            hypothesis.decide(&block, rows, stop, &mut decisions);
            if shown(&mut decisions, stop, &mut see).is_break() {
                return;
            }
        }
    }
}

fn shown(
    decisions: &mut Vec<Decision>,
    stop: &StopFlag,
    see: &mut impl FnMut(&[Decision]) -> ControlFlow<()>,
) -> ControlFlow<()> {
    if stop.raised().is_some() {
        return ControlFlow::Break(());
    }
    let flow = see(decisions);
    decisions.clear();
    flow
}

/// The values of one Boolean example, in place of what `values` held: bit 1 is 1, bit 0 is `zero`.
pub fn spell_out(matrix: &BitMatrix, row: usize, zero: f64, values: &mut Vec<f64>) {
    let block = matrix.block(row / BLOCK_ROWS);
    values.clear();
    values.extend((0..matrix.n()).map(|j| {
        let word = block.word(j / WORD_BITS, row % BLOCK_ROWS);
        if word >> (j % WORD_BITS) & 1 == 1 {
            1.0
        } else {
            zero
        }
    }));
}
