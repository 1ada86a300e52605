//! A sample without the features that a training leaves out: those that are too rare so far, or that a model drops.
//!
//! The counts of a training are not part of its state. When a run resumes, the examples before its position are read
//! and counted again, so a state needs no room per feature.

use std::sync::Arc;

use crate::bits::{SparseBlock, SparseMatrix};
use crate::learners::engine::random::Generator;
use crate::learners::engine::run::{Interrupt, Run};
use crate::learners::engine::snapshot::{SnapshotError, SnapshotReader, SnapshotWriter};
use crate::learners::sample::block::{Block, BlockFeatures};
use crate::learners::sample::source::{Presented, Sample, Stream};

/// The place of a feature that has none.
const LEFT_OUT: u32 = u32::MAX;

/// Some of the features of a sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// The features in ascending order.
    features: Vec<u32>,
    /// Per feature of the sample, its place among the chosen ones, or [`LEFT_OUT`].
    places: Vec<u32>,
}

impl Chosen {
    /// The features below `n` of which `is_chosen` is true.
    pub fn new(n: usize, is_chosen: impl Fn(u32) -> bool) -> Self {
        let features: Vec<u32> = (0..n as u32)
            .filter(|&feature| is_chosen(feature))
            .collect();
        let mut places = vec![LEFT_OUT; n];
        for (place, &feature) in (0..).zip(&features) {
            places[feature as usize] = place;
        }
        Self { features, places }
    }

    /// The features in ascending order.
    pub fn features(&self) -> &[u32] {
        &self.features
    }
}

/// The features that count.
#[derive(Debug)]
enum Choice {
    /// From its appearance in the `minimum`-th example on, each.
    Frequent {
        minimum: u32,
        /// Per feature, the number of examples that have it, up to the present one.
        counts: Vec<u32>,
        /// Whether the first pass is under way. Later passes count nothing.
        is_first_pass: bool,
    },
    /// The chosen ones, at their places.
    Chosen(Arc<Chosen>),
}

/// A sample with a choice of its features.
pub struct Selected<'a> {
    sample: Presented<'a>,
    choice: Choice,
    /// The number of examples to count before the next one is read, after a seek.
    uncounted: Option<u64>,
    rows: SparseMatrix,
}

impl<'a> Selected<'a> {
    /// Leaves a feature out of all examples before the `minimum`-th that has it, counted in the order of the first
    /// pass, and out of all examples if there are fewer.
    pub fn frequent(sample: Presented<'a>, minimum: u32) -> Self {
        let counts = vec![0; sample.n()];
        let choice = Choice::Frequent {
            minimum,
            counts,
            is_first_pass: true,
        };
        Self::new(sample, choice)
    }

    /// Shows the chosen features alone, at their places.
    pub fn chosen(sample: Presented<'a>, chosen: Arc<Chosen>) -> Self {
        Self::new(sample, Choice::Chosen(chosen))
    }

    fn new(sample: Presented<'a>, choice: Choice) -> Self {
        Self {
            rows: SparseMatrix::new(0, false),
            sample,
            choice,
            uncounted: None,
        }
    }

    /// The features that count after a run over so many examples.
    ///
    /// # Errors
    /// The interrupt that kept the examples from being read.
    pub fn counted(&mut self, examples: u64) -> Result<Chosen, Interrupt> {
        let is_first = matches!(
            self.choice,
            Choice::Frequent {
                is_first_pass: true,
                ..
            }
        );
        if is_first || self.uncounted.is_some() {
            self.count_again(examples)?;
        }
        let is_frequent = |feature: u32| match &self.choice {
            Choice::Frequent {
                minimum, counts, ..
            } => counts[feature as usize] >= *minimum,
            Choice::Chosen(chosen) => chosen.places[feature as usize] != LEFT_OUT,
        };
        Ok(Chosen::new(self.sample.n(), is_frequent))
    }

    /// Counts the features of the first `examples` examples of the present order. The next example stays the same, also
    /// after an interrupt.
    fn count_again(&mut self, examples: u64) -> Result<(), Interrupt> {
        let place = self.sample.place();
        self.sample.rewind();
        let counted = self.count_from_here(examples);
        self.sample.go_to(place);
        counted
    }

    fn count_from_here(&mut self, examples: u64) -> Result<(), Interrupt> {
        let Choice::Frequent { counts, .. } = &mut self.choice else {
            return Ok(());
        };
        counts.fill(0);
        let mut left = examples;
        while left > 0
            && let Some(block) = self.sample.next_block()?
        {
            let rows = left.min(block.rows() as u64);
            left -= rows;
            if let BlockFeatures::Sparse(own) = block.features {
                let ids = (0..rows as usize).flat_map(|row| own.row(row).ids);
                ids.for_each(|&id| counts[id as usize] = counts[id as usize].saturating_add(1));
            }
        }
        Ok(())
    }
}

impl Choice {
    /// The number of features that are left of `n`, at least one.
    fn n(&self, n: usize) -> usize {
        match self {
            Self::Frequent { .. } => n,
            Self::Chosen(chosen) => chosen.features.len().max(1),
        }
    }

    /// The rows of a block with the features that count. A block that is not sparse stays as it is.
    fn rows_of<'b>(&mut self, n: usize, block: Block<'b>, rows: &'b mut SparseMatrix) -> Block<'b> {
        let BlockFeatures::Sparse(own) = block.features else {
            return block;
        };
        let n = self.n(n);
        if (rows.n(), rows.is_real()) != (n, own.is_real()) {
            *rows = SparseMatrix::new(n, own.is_real());
        }
        rows.clear();
        self.fill(own, rows);
        Block {
            features: BlockFeatures::Sparse(rows.block(0)),
            ..block
        }
    }

    fn fill(&mut self, own: SparseBlock<'_>, rows: &mut SparseMatrix) {
        for row in (0..own.rows()).map(|row| own.row(row)) {
            for (id, value) in row.entries() {
                let place = match self {
                    Self::Frequent {
                        minimum,
                        counts,
                        is_first_pass,
                    } => {
                        counts[id] = counts[id].saturating_add((*is_first_pass).into());
                        if counts[id] >= *minimum {
                            id as u32
                        } else {
                            LEFT_OUT
                        }
                    }
                    Self::Chosen(chosen) => chosen.places[id],
                };
                if place != LEFT_OUT {
                    rows.push(place, value);
                }
            }
            rows.end_row();
        }
    }
}

impl Stream for Selected<'_> {
    fn n(&self) -> usize {
        self.choice.n(self.sample.n())
    }

    fn examples(&self) -> Option<u64> {
        self.sample.examples()
    }

    fn next_block(&mut self) -> Result<Option<Block<'_>>, Interrupt> {
        let n = self.sample.n();
        if let Some(examples) = self.uncounted {
            self.count_again(examples)?;
            self.uncounted = None;
        }
        let Some(block) = self.sample.next_block()? else {
            if let Choice::Frequent { is_first_pass, .. } = &mut self.choice {
                *is_first_pass = false;
            }
            return Ok(None);
        };
        Ok(Some(self.choice.rows_of(n, block, &mut self.rows)))
    }

    fn row(&self, place: u64) -> u64 {
        self.sample.row(place)
    }

    fn is_in_order(&self) -> bool {
        self.sample.is_in_order()
    }

    fn rewind(&mut self) {
        self.sample.rewind();
    }

    fn mark(&self, snapshot: &mut SnapshotWriter) {
        if let Choice::Frequent { is_first_pass, .. } = &self.choice {
            snapshot.number((*is_first_pass).into());
        }
        self.sample.mark(snapshot);
    }

    fn seek(&mut self, snapshot: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        let Choice::Frequent { is_first_pass, .. } = &mut self.choice else {
            return self.sample.seek(snapshot);
        };
        let is_first = snapshot.number()? == 1;
        *is_first_pass = is_first;
        self.sample.seek(snapshot)?;
        // Reading may be interrupted, which says nothing about the state.
        self.uncounted = Some(match is_first {
            true => self.sample.place() as u64,
            false => u64::MAX,
        });
        Ok(())
    }
}

impl Sample for Selected<'_> {
    fn shuffle(&mut self, random: &mut Generator, run: &Run) -> Result<(), Interrupt> {
        self.sample.shuffle(random, run)
    }

    fn example(&mut self, place: u64) -> Result<Block<'_>, Interrupt> {
        let n = self.sample.n();
        let block = self.sample.example(place)?;
        Ok(self.choice.rows_of(n, block, &mut self.rows))
    }

    fn as_stream(&mut self) -> &mut dyn Stream {
        self
    }

    fn skip(&mut self, count: usize) {
        self.sample.skip(count);
    }
}
