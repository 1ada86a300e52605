//! Examples as the train loop reads them: block after block, again from the start, or by index.

use rand::RngExt;

use crate::bits::{BLOCK_ROWS, BlockBuffer, gather_rows};

use super::block::{Block, BlockFeatures, row_mask};
use super::data::{Data, Features, Labels, RealMatrix};
use super::random::Generator;
use super::run::Run;

/// Swaps of a shuffle between two looks at the stop flag.
const SWAPS_BETWEEN_LOOKS: usize = 1 << 16;

/// Examples in a fixed order, block by block.
pub trait Stream: Send {
    /// Features an example.
    fn n(&self) -> usize;

    /// The number of examples in a pass; none when the stream never ends.
    fn examples(&self) -> Option<u64>;

    /// The next block, of at least one row; none at the end of the pass.
    fn next_block(&mut self) -> Option<Block<'_>>;

    /// Goes back to the first example.
    fn rewind(&mut self);
}

/// A finite stream whose examples can also be reached by index and reordered.
pub trait Sample: Stream {
    /// Draws a new order for the next pass and goes back to its first example. Any order will do
    /// once `run` is told to stop.
    fn shuffle(&mut self, random: &mut Generator, run: &Run);

    /// The example at `index` in the data's own order, as a block of one row.
    fn example(&mut self, index: u64) -> Block<'_>;

    /// The same examples as a stream.
    fn as_stream(&mut self) -> &mut dyn Stream;
}

/// How a learner wants its examples shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presentation {
    /// As positive examples of a half-space: negative ones are reflected (u <- -u).
    HalfSpace,
    /// With their labels.
    Labelled,
}

/// A sample in memory.
#[derive(Debug)]
pub struct MemorySample<'a> {
    data: &'a Data,
    presentation: Presentation,
    /// The row read at each place of the pass; none for the data's own order.
    order: Option<Vec<u32>>,
    next_row: usize,
    bits: BlockBuffer,
    values: Vec<f64>,
}

impl<'a> MemorySample<'a> {
    /// Shows `data`, which holds fewer than 2^32 examples, as a learner wants it.
    pub fn new(data: &'a Data, presentation: Presentation) -> Self {
        assert!(u32::try_from(data.examples()).is_ok(), "2^32 examples");
        Self {
            data,
            presentation,
            order: None,
            next_row: 0,
            bits: BlockBuffer::new(data.n()),
            values: Vec::new(),
        }
    }

    /// Fills the buffers with the rows given and shows them.
    fn gather(&mut self, rows: &[usize]) -> Block<'_> {
        let positives = match self.data.labels() {
            Labels::Labelled(labels) => rows.iter().enumerate().fold(0, |mask, (at, &row)| {
                mask | u64::from(labels.get(row)) << at
            }),
            Labels::HalfSpace | Labels::Unlabelled => row_mask(rows.len()),
        };
        match self.data.features() {
            Features::Boolean(matrix) => {
                gather_rows(matrix, rows, &mut self.bits);
                self.present(positives)
            }
            Features::Real(matrix) => {
                self.values.clear();
                for &row in rows {
                    self.values.extend_from_slice(matrix.row(row));
                }
                Block {
                    features: real(matrix, &self.values),
                    positives,
                    reflected: 0,
                }
            }
        }
    }

    /// Shows the bits in the buffer.
    fn present(&mut self, positives: u64) -> Block<'_> {
        let rows = row_mask(self.bits.rows());
        let reflected = match self.presentation {
            Presentation::HalfSpace => !positives & rows,
            Presentation::Labelled => 0,
        };
        self.bits.reflect_rows(reflected);
        Block {
            features: BlockFeatures::Boolean(self.bits.as_block()),
            positives: positives | reflected,
            reflected,
        }
    }

    /// Up to 64 rows from `first` on in the data's own order, without a copy where none is needed.
    fn own_block(&mut self, first: usize) -> Block<'_> {
        let index = first / BLOCK_ROWS;
        let rows = (self.data.examples() - first).min(BLOCK_ROWS);
        let positives = match self.data.labels() {
            Labels::Labelled(labels) => labels.words()[index],
            Labels::HalfSpace | Labels::Unlabelled => row_mask(rows),
        };
        match self.data.features() {
            Features::Boolean(matrix) => {
                let negative = positives != row_mask(rows);
                if self.presentation == Presentation::HalfSpace && negative {
                    self.bits.copy_block(matrix.block(index));
                    return self.present(positives);
                }
                Block {
                    features: BlockFeatures::Boolean(matrix.block(index)),
                    positives,
                    reflected: 0,
                }
            }
            Features::Real(matrix) => {
                let n = matrix.n();
                let values = &matrix.values()[first * n..(first + rows) * n];
                Block {
                    features: real(matrix, values),
                    positives,
                    reflected: 0,
                }
            }
        }
    }
}

fn real<'v>(matrix: &RealMatrix, values: &'v [f64]) -> BlockFeatures<'v> {
    BlockFeatures::Real {
        n: matrix.n(),
        values,
    }
}

impl Stream for MemorySample<'_> {
    fn n(&self) -> usize {
        self.data.n()
    }

    fn examples(&self) -> Option<u64> {
        Some(self.data.examples() as u64)
    }

    fn next_block(&mut self) -> Option<Block<'_>> {
        let first = self.next_row;
        let rows = (self.data.examples() - first).min(BLOCK_ROWS);
        if rows == 0 {
            return None;
        }
        self.next_row += rows;
        match &self.order {
            None => Some(self.own_block(first)),
            Some(order) => {
                let mut indices = [0; BLOCK_ROWS];
                for (index, &row) in indices.iter_mut().zip(&order[first..first + rows]) {
                    *index = row as usize;
                }
                Some(self.gather(&indices[..rows]))
            }
        }
    }

    fn rewind(&mut self) {
        self.next_row = 0;
    }
}

impl Sample for MemorySample<'_> {
    fn shuffle(&mut self, random: &mut Generator, run: &Run) {
        // Fisher and Yates; the order of the last pass is as good a start as any.
        let examples = self.data.examples();
        let order = self
            .order
            .get_or_insert_with(|| (0..examples as u32).collect());
        for place in (1..examples).rev() {
            order.swap(place, random.random_range(0..=place as u64) as usize);
            if place.is_multiple_of(SWAPS_BETWEEN_LOOKS) && run.stop.raised().is_some() {
                break;
            }
        }
        self.next_row = 0;
    }

    fn example(&mut self, index: u64) -> Block<'_> {
        self.gather(&[index as usize])
    }

    fn as_stream(&mut self) -> &mut dyn Stream {
        self
    }
}
