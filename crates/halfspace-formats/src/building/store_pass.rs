//! Writes rows in the stored form in a single pass, which also computes their digest and counts the examples of each
//! class and the repeated examples.
//!
//! Only the count of repetitions takes memory per example, so it is left out if there are too many examples.

use std::io::Write;

use halfspace_core::learners::sample::examples::Shape;
use halfspace_core::learners::sample::repetitions::{RepetitionCounter, RepetitionCounts};
use halfspace_core::learners::sample::weights::Weight;

use crate::classes::Classes;
use crate::stored::blocks::BlockWriter;
use crate::stored::digest::RowsDigest;
use crate::stored::header::BlocksError;
use crate::stored::layout::Units;
use crate::stored::parts::RowsPart;
use crate::vocabulary::Vocabulary;

/// Facts about stored examples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Kinds and sizes of the rows.
    pub header: Shape,
    /// Number of examples of each class. Empty without labels.
    pub class_examples: Vec<u64>,
    /// Repetitions among the examples, or `None` if there are too many examples to compare.
    pub repetitions: Option<RepetitionCounts>,
    /// Digest of the canonical rows: see [`crate::digest()`].
    pub digest: [u8; 32],
}

/// Memory for the buffers of the stored form, of the digest and of a spool.
const BUFFERS_BYTES: u64 = 1 << 20;

/// The memory that storing `rows` examples takes, if repetitions are counted among at most `examples_max`.
pub fn storing_bytes(rows: usize, examples_max: usize) -> u64 {
    let compared = if rows <= examples_max { rows } else { 0 };
    BUFFERS_BYTES + (compared * RepetitionCounter::ROW_BYTES) as u64
}

/// The pass over rows that arrive one after the other.
pub(crate) struct StorePass<W> {
    header: Shape,
    blocks: BlockWriter<W>,
    digest: RowsDigest,
    repetitions: RepetitionCounter,
    class_examples: Vec<u64>,
    /// Reused buffer for the canonical bytes of a row.
    bytes: Vec<u8>,
}

impl<W: Write> StorePass<W> {
    /// Writes the header, which says which units the data have. Repetitions are counted if there are at most
    /// `examples_max` examples. The pass takes the memory of [`storing_bytes`].
    ///
    /// # Errors
    /// When the target cannot be written.
    pub(crate) fn new(
        header: Shape,
        units: Units,
        to: W,
        examples_max: usize,
    ) -> Result<Self, BlocksError> {
        let is_labelled = header.labels.is_labelled();
        Ok(Self {
            header,
            blocks: BlockWriter::new(header, units, to)?,
            digest: RowsDigest::new(&header).on_a_thread(&header),
            repetitions: RepetitionCounter::new(header.examples, is_labelled, examples_max),
            class_examples: Vec::new(),
            bytes: Vec::new(),
        })
    }

    /// Writes the next rows.
    ///
    /// # Errors
    /// When the target cannot be written.
    pub(crate) fn push(&mut self, part: &RowsPart<'_>) -> Result<(), BlocksError> {
        part.count_classes(&mut self.class_examples);
        part.for_each_row(&mut self.bytes, |row, label| {
            self.digest.push(row, label);
            self.repetitions.push(row, label);
        });
        self.blocks.push(part)
    }

    /// Writes the classes of labelled rows, the names of features and the weights of the examples, flushes the target
    /// and returns the facts about the examples.
    ///
    /// # Errors
    /// When the target cannot be written.
    pub(crate) fn finish(
        self,
        classes: Option<&Classes>,
        vocabulary: Option<&Vocabulary>,
        weights: Option<&[Weight]>,
    ) -> Result<Stored, BlocksError> {
        self.blocks.finish(classes, vocabulary, weights)?;
        Ok(Stored {
            header: self.header,
            class_examples: self.class_examples,
            repetitions: self.repetitions.finish(),
            digest: self.digest.finish(classes, vocabulary, weights),
        })
    }
}
