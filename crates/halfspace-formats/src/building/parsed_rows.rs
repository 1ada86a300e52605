//! Examples after a read, in memory or in a spool ([`ParsedRows`]), and the facts about them that are recorded
//! when they are stored ([`Stored`]).
//!
//! One pass over the examples writes the stored form, computes the digest and counts positive labels and
//! repetitions. Only the count of repetitions takes memory per example, up to a limit.

use std::io::Write;

use halfspace_core::learners::sample::data::Data;
use halfspace_core::learners::sample::repetitions::{RepetitionCounter, RepetitionCounts};

use crate::stored::blocks::{BlockWriter, BlocksError, BlocksHeader, LabelsKind};
use crate::stored::digest::RowsDigest;
use crate::stored::parts::{RowsPart, for_each_part};
use crate::stored::spool::SpooledRows;

/// Examples after a read.
pub enum ParsedRows {
    /// Examples within the memory budget.
    Memory(Data),
    /// Examples in a spool.
    Spooled(SpooledRows),
}

/// Facts about stored examples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Kinds and sizes of the rows.
    pub header: BlocksHeader,
    /// Number of examples labelled +1.
    pub labelled_positive: u64,
    /// Repetitions among the examples. `None` if there are too many examples to compare.
    pub repetitions: Option<RepetitionCounts>,
    /// Digest of the canonical rows: see [`crate::digest()`].
    pub digest: [u8; 32],
}

impl ParsedRows {
    /// Returns the kinds and sizes of the rows.
    pub fn header(&self) -> BlocksHeader {
        match self {
            Self::Memory(data) => BlocksHeader::of(data),
            Self::Spooled(rows) => rows.header,
        }
    }

    /// Writes the stored form and returns the facts about the examples. Repetitions are counted among at most
    /// `examples_max` examples and take 16 bytes of memory per example.
    ///
    /// # Errors
    /// When the target cannot be written or the spool cannot be read.
    pub fn store(&mut self, to: impl Write, examples_max: usize) -> Result<Stored, BlocksError> {
        let header = self.header();
        let mut blocks = BlockWriter::new(header, to)?;
        let mut digest = RowsDigest::new(&header);
        let is_labelled = header.labels == LabelsKind::Labelled;
        let mut repetitions = RepetitionCounter::new(header.rows, is_labelled, examples_max);
        let mut labelled_positive = 0;
        let mut bytes = Vec::new();
        self.for_each_part(|part| {
            labelled_positive += part.positives();
            part.for_each_row(&mut bytes, |row, label| {
                digest.push(row, label);
                repetitions.push(row, label);
            });
            blocks.push(&part)
        })?;
        blocks.finish()?;
        Ok(Stored {
            header,
            labelled_positive,
            repetitions: repetitions.finish(),
            digest: digest.finish(),
        })
    }

    fn for_each_part(
        &mut self,
        see: impl FnMut(RowsPart<'_>) -> Result<(), BlocksError>,
    ) -> Result<(), BlocksError> {
        match self {
            Self::Memory(data) => for_each_part(data, see),
            Self::Spooled(rows) => rows.for_each_part(see),
        }
    }
}

impl From<Data> for ParsedRows {
    fn from(data: Data) -> Self {
        Self::Memory(data)
    }
}
