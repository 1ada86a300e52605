//! A hypothesis on data.

use std::ops::ControlFlow;

use super::block::{Block, BlockFeatures, row_mask};
use super::data::{Data, Features};
use super::hypothesis::{Decision, Hypothesis};
use super::source::{MemorySample, Presentation, Stream};
use crate::bits::{BLOCK_ROWS, BitMatrix, WORD_BITS};

/// Shows the decision on every example, in order, up to 64 at a time, until `see` breaks off.
///
/// Boolean data before a hypothesis over reals alone are read as the values that they were sent as: bit
/// 1 is 1, bit 0 is `zero`. They are spelled out one example at a time, since as doubles they take
/// 64 times their room.
///
/// # Panics
/// When the examples are not of the hypothesis's n, or are real and it takes Boolean ones only.
pub fn for_each_decisions(
    hypothesis: &Hypothesis,
    data: &Data,
    zero: f64,
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
            hypothesis.decide(&block, 0..1, &mut decisions);
            if decisions.len() == BLOCK_ROWS && shown(&mut decisions, &mut see).is_break() {
                return;
            }
        }
        let _ = shown(&mut decisions, &mut see);
        return;
    }
    let mut stream = MemorySample::new(data, Presentation::Labelled);
    while let Some(block) = stream.next_block() {
        hypothesis.decide(&block, 0..block.rows(), &mut decisions);
        if shown(&mut decisions, &mut see).is_break() {
            return;
        }
    }
}

fn shown(
    decisions: &mut Vec<Decision>,
    see: &mut impl FnMut(&[Decision]) -> ControlFlow<()>,
) -> ControlFlow<()> {
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
