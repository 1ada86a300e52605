//! A hypothesis on data.

use super::data::{Data, Features, Labels, RealMatrix};
use super::hypothesis::{Hypothesis, Score};
use super::source::{MemorySample, Presentation, Stream};
use crate::bits::{BLOCK_ROWS, WORD_BITS};

/// The score of every example, in order.
///
/// # Panics
/// When the examples are not of the hypothesis's n and kind.
pub fn scores(hypothesis: &Hypothesis, data: &Data) -> Vec<Score> {
    assert_eq!(hypothesis.n(), data.n());
    let mut stream = MemorySample::new(data, Presentation::Labelled);
    let mut scores = Vec::with_capacity(data.examples());
    while let Some(block) = stream.next_block() {
        hypothesis.scores(&block, 0..block.rows(), &mut scores);
    }
    scores
}

/// Boolean data as the real values that they were sent as: bit 1 is 1, bit 0 is `zero`.
pub fn with_reals(data: &Data, zero: f64) -> Data {
    let Features::Boolean(matrix) = data.features() else {
        return data.clone();
    };
    let n = matrix.n();
    let mut values = Vec::with_capacity(n * matrix.rows());
    for row in 0..matrix.rows() {
        let block = matrix.block(row / BLOCK_ROWS);
        values.extend((0..n).map(|j| {
            let word = block.word(j / WORD_BITS, row % BLOCK_ROWS);
            if word >> (j % WORD_BITS) & 1 == 1 {
                1.0
            } else {
                zero
            }
        }));
    }
    let labels: Labels = data.labels().clone();
    Data::new(Features::Real(RealMatrix::from_values(n, values)), labels)
}
