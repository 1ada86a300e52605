//! Examples as the train loop reads them: block by block, again from the start, by index or in a random order.

use std::fmt;
use std::ops::Range;

use rand::RngExt;

use crate::bits::{BLOCK_ROWS, BlockBuffer, SparseMatrix};

use crate::learners::engine::random::Generator;
use crate::learners::engine::run::{Interrupt, Run};
use crate::learners::engine::snapshot::{SnapshotError, SnapshotReader, SnapshotWriter};
use crate::learners::sample::block::{Block, BlockFeatures, Steps, WholeBlocks, row_mask};
use crate::learners::sample::classes::BlockCodes;
use crate::learners::sample::data::Data;
use crate::learners::sample::examples::{Examples, ReadRows};
use crate::learners::sample::packer::Packer;
use crate::learners::sample::weights::{Shown, Weights};

/// Swaps of a shuffle between two polls of the stop flag. They are rare, because an interrupted shuffle leaves no
/// order to resume from.
const SWAPS_BETWEEN_LOOKS: usize = 1 << 22;

/// Examples in a fixed order, read block by block.
pub trait Stream: Send {
    /// Features per example.
    fn n(&self) -> usize;

    /// The number of examples per pass. None if the stream never ends.
    fn examples(&self) -> Option<u64>;

    /// The next block of at least one row. None at the end of the pass.
    ///
    /// # Errors
    /// [`Interrupt::Unreadable`] or [`Interrupt::Suspended`] if the next block could not be read.
    fn next_block(&mut self) -> Result<Option<Block<'_>>, Interrupt>;

    /// The row of the example at position `place` of the present order.
    fn row(&self, place: u64) -> u64 {
        place
    }

    /// Whether [`Self::row`] is the position itself.
    fn is_in_order(&self) -> bool {
        true
    }

    /// The rest of the pass, in a form that several threads can read. None unless the examples are in memory and the
    /// next one is the first of a block.
    fn shared(&self) -> Option<SharedSample<'_>> {
        None
    }

    /// Returns to the first example.
    fn rewind(&mut self);

    /// Writes the position of the block that was requested last, or of the first block if none was.
    fn mark(&self, snapshot: &mut SnapshotWriter);

    /// Moves to a position that [`Self::mark`] wrote. The block at that position is the next one.
    ///
    /// # Errors
    /// An error if these examples have no such position. Only a rewind makes the stream usable again.
    fn seek(&mut self, snapshot: &mut SnapshotReader<'_>) -> Result<(), SnapshotError>;
}

/// A finite stream whose examples can also be read by position and reordered.
pub trait Sample: Stream {
    /// Draws a new order for the next pass and returns to its first example.
    ///
    /// # Errors
    /// The interrupt that stopped the shuffle. The sample then has no valid order.
    fn shuffle(&mut self, random: &mut Generator, run: &Run) -> Result<(), Interrupt>;

    /// The example at position `place` of the present order, as a block of one row.
    ///
    /// # Errors
    /// As for [`Stream::next_block`].
    fn example(&mut self, place: u64) -> Result<Block<'_>, Interrupt>;

    /// The same examples as a stream.
    fn as_stream(&mut self) -> &mut dyn Stream;

    /// Moves behind the next `count` examples, as if they had been requested in blocks of 64.
    fn skip(&mut self, count: usize);
}

/// A sample in memory, of which several threads can read different parts at the same time.
#[derive(Clone, Copy, Debug)]
pub struct SharedSample<'a> {
    data: &'a Data,
    presentation: Presentation,
    order: Option<&'a [Shown]>,
    weights: Option<&'a Weights>,
    /// The position of the next example of the pass.
    next: usize,
    examples: usize,
}

impl SharedSample<'_> {
    /// The number of examples that are still to be read in the pass.
    pub fn left(&self) -> usize {
        self.examples - self.next
    }

    /// The same sample, as if the pass ended after the next examples.
    pub fn up_to(self, next: WholeBlocks) -> Self {
        let end = self.next.saturating_add(next.rows());
        Self {
            examples: self.examples.min(end),
            ..self
        }
    }

    /// The number of parts of this size. The last one may be shorter.
    pub fn parts(&self, size: WholeBlocks) -> usize {
        self.left().div_ceil(size.rows())
    }

    /// Part `index`, and the positions of its examples among those that are still to be read.
    pub fn part(&self, index: usize, size: WholeBlocks) -> (Range<usize>, Presented<'_>) {
        let begin = index * size.rows();
        let end = self.left().min(begin + size.rows());
        let rows = self.next + begin..self.next + end;
        let part = match self.order {
            Some(order) => Presented {
                weights: self.weights.cloned(),
                ..Presented::of_order(self.data, self.presentation, order[rows].to_vec())
            },
            None => Presented {
                examples: rows.end,
                next: rows.start,
                ..Presented::new(self.data, self.presentation)
            },
        };
        (begin..end, part)
    }
}

/// The form in which a learner reads its examples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presentation {
    /// Positive examples of a half-space. Negative examples are reflected (u <- -u).
    HalfSpace,
    /// Examples with labels, as bits or values.
    Labelled,
    /// Examples with labels, sparse where they are stored so.
    LabelledSparse,
}

/// A stored sample or a part of one, in the form that a learner reads.
pub struct Presented<'a> {
    n: usize,
    /// The number of stored rows, and the number of examples shown.
    rows: usize,
    examples: usize,
    reader: Box<dyn ReadRows + 'a>,
    /// The whole sample, if it is in memory.
    data: Option<&'a Data>,
    presentation: Presentation,
    /// The row at each position of the pass. None for all rows in their own order.
    order: Option<Vec<Shown>>,
    weights: Option<Weights>,
    is_shuffled: bool,
    next: usize,
    /// The position of the last requested block.
    mark: usize,
    /// Rows collected per block.
    gathered_max: usize,
    bits: BlockBuffer,
    values: Vec<f64>,
    /// The steps of a block, if some are parts.
    steps: Vec<u32>,
    sparse: SparseMatrix,
    packer: Packer,
}

impl<'a> Presented<'a> {
    /// Shows all of `examples`.
    pub fn new(examples: &'a dyn Examples, presentation: Presentation) -> Self {
        let shape = examples.shape();
        let is_sparse = shape.entries.is_some();
        let stays_sparse = is_sparse && presentation == Presentation::LabelledSparse;
        let packs = is_sparse && !stays_sparse;
        Self {
            n: shape.n,
            rows: shape.examples,
            examples: shape.examples,
            reader: examples.reader(),
            data: examples.in_memory(),
            presentation,
            order: None,
            weights: None,
            is_shuffled: false,
            next: 0,
            mark: 0,
            gathered_max: match shape.is_real && !stays_sparse {
                true => Packer::rows_max(shape.n),
                false => BLOCK_ROWS,
            },
            bits: BlockBuffer::new(if stays_sparse { 0 } else { shape.n }),
            values: Vec::new(),
            steps: Vec::new(),
            sparse: SparseMatrix::new(shape.n, shape.is_real),
            packer: Packer::new(if packs { shape.n } else { 0 }, shape.is_real),
        }
    }

    /// Shows these rows of `examples` in this order.
    pub fn of_rows(examples: &'a dyn Examples, presentation: Presentation, rows: Vec<u32>) -> Self {
        let order = rows.into_iter().map(Shown::whole).collect();
        Self::of_order(examples, presentation, order)
    }

    /// Shows these rows of `examples` in this order, each as often as its weight says.
    ///
    /// # Errors
    /// [`Interrupt::Memory`] if the memory grant is too small for their order.
    pub fn weighted(
        examples: &'a dyn Examples,
        presentation: Presentation,
        rows: &[u32],
        weights: &Weights,
    ) -> Result<Self, Interrupt> {
        Ok(Self {
            weights: Some(weights.clone()).filter(Weights::has_parts),
            ..Self::of_order(examples, presentation, weights.shown(rows)?)
        })
    }

    fn of_order(examples: &'a dyn Examples, presentation: Presentation, order: Vec<Shown>) -> Self {
        Self {
            examples: order.len(),
            order: Some(order),
            ..Self::new(examples, presentation)
        }
    }

    /// The position of the next example of the pass.
    pub(super) fn place(&self) -> usize {
        self.next
    }

    /// Moves to a position, of which the block is then the one that was requested last.
    pub(super) fn go_to(&mut self, place: usize) {
        (self.next, self.mark) = (place, place);
    }

    /// Collects rows from arbitrary places in one block.
    fn gather(&mut self, rows: &[usize]) -> Result<Block<'_>, Interrupt> {
        let (mut positives, mut codes) = (0, None::<BlockCodes>);
        self.bits.clear();
        self.values.clear();
        self.sparse.clear();
        for (at, &row) in rows.iter().enumerate() {
            let (found, place) = self.reader.row(row)?;
            positives |= (found.positives() >> place & 1) << at;
            if let Some(found) = found.codes() {
                let codes = codes.get_or_insert(BlockCodes::zeros(found.words().len()));
                codes.set(at, found.get(place));
            }
            let (features, place) = match found.features {
                BlockFeatures::Sparse(block)
                    if self.presentation != Presentation::LabelledSparse =>
                {
                    (self.packer.pack(block, place..place + 1), 0)
                }
                features => (features, place),
            };
            match features {
                BlockFeatures::Boolean(block) => self.bits.push_row(block, place),
                BlockFeatures::Sparse(block) => self.sparse.push_row(block.row(place)),
                BlockFeatures::Real { n, values } => {
                    let values = &values[place * n..(place + 1) * n];
                    self.values.extend_from_slice(values);
                }
            }
        }
        let steps = self.weights.as_ref().map(|weights| Steps {
            of_rows: &self.steps,
            parts: weights.parts(),
        });
        let features = match (self.values.as_slice(), self.sparse.rows()) {
            ([], 0) => {
                let block = present(&mut self.bits, self.presentation, positives);
                return Ok(Block {
                    codes,
                    steps,
                    ..block
                });
            }
            ([], _) => BlockFeatures::Sparse(self.sparse.among(0..rows.len())),
            (values, _) => BlockFeatures::Real { n: self.n, values },
        };
        Ok(Block {
            codes,
            steps,
            ..Block::of(features, positives)
        })
    }
}

/// Replaces `steps` by those of these examples, if some steps are parts.
fn steps_of(weights: Option<&Weights>, shown: &[Shown], steps: &mut Vec<u32>) {
    let Some(weights) = weights else {
        return;
    };
    steps.clear();
    steps.extend(shown.iter().map(|shown| weights.step(*shown)));
}

/// Shows the rows of a buffer, with negative rows reflected if the presentation asks for it.
fn present(bits: &mut BlockBuffer, presentation: Presentation, positives: u64) -> Block<'_> {
    let reflected = match presentation {
        Presentation::HalfSpace => !positives & row_mask(bits.rows()),
        Presentation::Labelled | Presentation::LabelledSparse => 0,
    };
    bits.reflect_rows(reflected);
    Block {
        reflected,
        ..Block::of(
            BlockFeatures::Boolean(bits.as_block()),
            positives | reflected,
        )
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
        self.mark = first;
        let left = self.examples - first;
        if left == 0 {
            return Ok(None);
        }
        if let Some(order) = &self.order {
            let count = left.min(self.gathered_max);
            let mut rows = [0; BLOCK_ROWS];
            let shown = &order[first..first + count];
            for (row, shown) in rows.iter_mut().zip(shown) {
                *row = shown.row() as usize;
            }
            steps_of(self.weights.as_ref(), shown, &mut self.steps);
            self.next += count;
            return self.gather(&rows[..count]).map(Some);
        }
        let rows = self.reader.rows(first)?;
        let (positives, codes) = (rows.positives(), rows.codes());
        let features = match rows.features {
            BlockFeatures::Sparse(block) if self.presentation != Presentation::LabelledSparse => {
                self.packer.pack(block, 0..block.rows())
            }
            features => features,
        };
        self.next += features.rows();
        match features {
            // Only blocks with negative rows are copied, because reflection changes them.
            BlockFeatures::Boolean(block)
                if self.presentation == Presentation::HalfSpace
                    && positives != row_mask(block.rows()) =>
            {
                self.bits.copy_block(block);
                Ok(Some(present(&mut self.bits, self.presentation, positives)))
            }
            features => Ok(Some(Block {
                codes,
                ..Block::of(features, positives)
            })),
        }
    }

    fn row(&self, place: u64) -> u64 {
        let order = self.order.as_ref();
        order.map_or(place, |order| order[place as usize].row().into())
    }

    fn is_in_order(&self) -> bool {
        self.order.is_none()
    }

    fn shared(&self) -> Option<SharedSample<'_>> {
        let data = self.data?;
        self.next
            .is_multiple_of(BLOCK_ROWS)
            .then_some(SharedSample {
                data,
                presentation: self.presentation,
                order: self.order.as_deref(),
                weights: self.weights.as_ref(),
                next: self.next,
                examples: self.examples,
            })
    }

    fn rewind(&mut self) {
        (self.next, self.mark) = (0, 0);
    }

    fn mark(&self, snapshot: &mut SnapshotWriter) {
        snapshot.numbers([self.mark as u64, self.is_shuffled.into()]);
        if let Some(order) = self.order.as_ref().filter(|_| self.is_shuffled) {
            // Two row numbers per 64-bit number.
            let pairs = order.chunks(2).map(|pair| {
                let second = pair.get(1).map_or(0, |shown| shown.code());
                u64::from(pair[0].code()) | u64::from(second) << 32
            });
            snapshot.numbers(pairs);
        }
    }

    fn seek(&mut self, snapshot: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        let place = usize::try_from(snapshot.number()?).map_err(|_| SnapshotError)?;
        if place > self.examples {
            return Err(SnapshotError);
        }
        if snapshot.number()? == 1 {
            let pairs = snapshot.numbers(self.examples.div_ceil(2))?.into_iter();
            let rows = pairs.flat_map(|pair| [pair as u32, (pair >> 32) as u32]);
            let order = rows.take(self.examples).map(Shown::of_code);
            let order: Vec<Shown> = order.collect();
            if order.iter().any(|shown| shown.row() as usize >= self.rows) {
                return Err(SnapshotError);
            }
            (self.order, self.is_shuffled) = (Some(order), true);
        }
        self.go_to(place);
        Ok(())
    }
}

impl Sample for Presented<'_> {
    fn shuffle(&mut self, random: &mut Generator, run: &Run) -> Result<(), Interrupt> {
        // The shuffle of Fisher and Yates. The order of the last pass is a valid start.
        let examples = self.examples;
        let all = || {
            let examples = u32::try_from(examples).expect("a checked task: see `check::check`");
            (0..examples).map(Shown::whole).collect()
        };
        let order = self.order.get_or_insert_with(all);
        for place in (1..examples).rev() {
            order.swap(place, random.random_range(0..=place as u64) as usize);
            if place.is_multiple_of(SWAPS_BETWEEN_LOOKS)
                && let Some(interrupt) = run.stop.raised()
                // A partial shuffle cannot be resumed. The rest takes a second at most.
                && interrupt != Interrupt::Suspended
            {
                return Err(interrupt);
            }
        }
        self.is_shuffled = true;
        self.rewind();
        Ok(())
    }

    fn example(&mut self, place: u64) -> Result<Block<'_>, Interrupt> {
        let row = match &self.order {
            None => place as usize,
            Some(order) => {
                let shown = order[place as usize];
                steps_of(self.weights.as_ref(), &[shown], &mut self.steps);
                shown.row() as usize
            }
        };
        self.gather(&[row])
    }

    fn as_stream(&mut self) -> &mut dyn Stream {
        self
    }

    fn skip(&mut self, count: usize) {
        self.next += count;
        self.mark = (self.next - 1) / BLOCK_ROWS * BLOCK_ROWS;
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
