//! Examples as the train loop reads them: block after block, again from the start, or by index.

use std::fmt;

use rand::RngExt;

use crate::bits::{BLOCK_ROWS, BlockBuffer};

use super::block::{Block, BlockFeatures, row_mask};
use super::examples::{Examples, ReadRows, Rows};
use super::random::Generator;
use super::run::{Interrupt, Run};

/// Swaps of a shuffle between two looks at the stop flag.
const SWAPS_BETWEEN_LOOKS: usize = 1 << 16;

/// Real values gathered at once, unless one row alone has more.
const GATHERED_VALUES_MAX: usize = 1 << 19;

/// Examples in a fixed order, block by block.
pub trait Stream: Send {
    /// Features an example.
    fn n(&self) -> usize;

    /// The number of examples in a pass; none when the stream never ends.
    fn examples(&self) -> Option<u64>;

    /// The next block, of at least one row; none at the end of the pass.
    ///
    /// # Errors
    /// [`Interrupt::Unreadable`] or [`Interrupt::Suspended`]: there is no next block.
    fn next_block(&mut self) -> Result<Option<Block<'_>>, Interrupt>;

    /// Goes back to the first example.
    fn rewind(&mut self);
}

/// A finite stream whose examples can also be reached by place and reordered.
pub trait Sample: Stream {
    /// Draws a new order for the next pass and goes back to its first example. Any order will do
    /// once `run` is told to stop.
    fn shuffle(&mut self, random: &mut Generator, run: &Run);

    /// The example at `place` of the order before any shuffle, as a block of one row.
    ///
    /// # Errors
    /// As for [`Stream::next_block`].
    fn example(&mut self, place: u64) -> Result<Block<'_>, Interrupt>;

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

/// Examples at rest, or some of them, shown as a learner wants them.
pub struct Presented<'a> {
    n: usize,
    examples: usize,
    reader: Box<dyn ReadRows + 'a>,
    presentation: Presentation,
    /// The row read at each place of the pass; none for all rows in their own order.
    order: Option<Vec<u32>>,
    next: usize,
    /// Rows gathered at once.
    gathered_max: usize,
    bits: BlockBuffer,
    values: Vec<f64>,
}

impl<'a> Presented<'a> {
    /// Shows all of `examples`.
    pub fn new(examples: &'a dyn Examples, presentation: Presentation) -> Self {
        let shape = examples.shape();
        Self {
            n: shape.n,
            examples: shape.examples,
            reader: examples.reader(),
            presentation,
            order: None,
            next: 0,
            gathered_max: if shape.is_real {
                (GATHERED_VALUES_MAX / shape.n).clamp(1, BLOCK_ROWS)
            } else {
                BLOCK_ROWS
            },
            bits: BlockBuffer::new(shape.n),
            values: Vec::new(),
        }
    }

    /// Shows these rows of `examples`, in this order.
    pub fn of_rows(examples: &'a dyn Examples, presentation: Presentation, rows: Vec<u32>) -> Self {
        Self {
            examples: rows.len(),
            order: Some(rows),
            ..Self::new(examples, presentation)
        }
    }

    /// Collects rows that lie anywhere, and shows them.
    fn gather(&mut self, rows: &[usize]) -> Result<Block<'_>, Interrupt> {
        let mut positives = 0;
        let mut is_real = false;
        self.bits.clear();
        self.values.clear();
        for (at, &row) in rows.iter().enumerate() {
            let (found, place) = self.reader.row(row)?;
            positives |= (found.positives >> place & 1) << at;
            match found.features {
                BlockFeatures::Boolean(block) => self.bits.push_row(block, place),
                BlockFeatures::Real { n, values } => {
                    is_real = true;
                    let values = &values[place * n..(place + 1) * n];
                    self.values.extend_from_slice(values);
                }
            }
        }
        if is_real {
            let (n, values) = (self.n, self.values.as_slice());
            return Ok(Block {
                features: BlockFeatures::Real { n, values },
                positives,
                reflected: 0,
            });
        }
        Ok(self.present(positives))
    }

    /// Shows the bits in the buffer.
    fn present(&mut self, positives: u64) -> Block<'_> {
        present(&mut self.bits, self.presentation, positives)
    }
}

/// Shows the rows of a buffer, reflected where they are to be.
fn present(bits: &mut BlockBuffer, presentation: Presentation, positives: u64) -> Block<'_> {
    let reflected = match presentation {
        Presentation::HalfSpace => !positives & row_mask(bits.rows()),
        Presentation::Labelled => 0,
    };
    bits.reflect_rows(reflected);
    Block {
        features: BlockFeatures::Boolean(bits.as_block()),
        positives: positives | reflected,
        reflected,
    }
}

impl Stream for Presented<'_> {
    fn n(&self) -> usize {
        self.n
    }

    fn examples(&self) -> Option<u64> {
        Some(self.examples as u64)
    }

    fn next_block(&mut self) -> Result<Option<Block<'_>>, Interrupt> {
        let first = self.next;
        let left = self.examples - first;
        if left == 0 {
            return Ok(None);
        }
        if let Some(order) = &self.order {
            let count = left.min(self.gathered_max);
            let mut rows = [0; BLOCK_ROWS];
            for (row, &ordered) in rows.iter_mut().zip(&order[first..first + count]) {
                *row = ordered as usize;
            }
            self.next += count;
            return self.gather(&rows[..count]).map(Some);
        }
        let rows = self.reader.rows(first)?;
        self.next += rows.count();
        let Rows {
            features,
            positives,
        } = rows;
        match features {
            // Without a copy where none is needed.
            BlockFeatures::Boolean(block)
                if self.presentation == Presentation::HalfSpace
                    && positives != row_mask(block.rows()) =>
            {
                self.bits.copy_block(block);
                Ok(Some(present(&mut self.bits, self.presentation, positives)))
            }
            features => Ok(Some(Block {
                features,
                positives,
                reflected: 0,
            })),
        }
    }

    fn rewind(&mut self) {
        self.next = 0;
    }
}

impl Sample for Presented<'_> {
    fn shuffle(&mut self, random: &mut Generator, run: &Run) {
        // Fisher and Yates; the order of the last pass is as good a start as any.
        let examples = self.examples;
        let all = || {
            let examples = u32::try_from(examples).expect("a checked task: see `task::check`");
            (0..examples).collect()
        };
        let order = self.order.get_or_insert_with(all);
        for place in (1..examples).rev() {
            order.swap(place, random.random_range(0..=place as u64) as usize);
            if place.is_multiple_of(SWAPS_BETWEEN_LOOKS) && run.stop.raised().is_some() {
                break;
            }
        }
        self.next = 0;
    }

    fn example(&mut self, place: u64) -> Result<Block<'_>, Interrupt> {
        let row = match &self.order {
            None => place as usize,
            Some(order) => order[place as usize] as usize,
        };
        self.gather(&[row])
    }

    fn as_stream(&mut self) -> &mut dyn Stream {
        self
    }
}

impl fmt::Debug for Presented<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Presented")
            .field("examples", &self.examples)
            .field("presentation", &self.presentation)
            .field("next", &self.next)
            .finish_non_exhaustive()
    }
}
