//! Examples that were read, wherever they are kept, and what there is to know of them when they are
//! stored: all found out in one pass, in memory that does not grow with them.

use std::io::Write;

use crate::learners::data::Data;
use crate::learners::repetitions::{RepetitionCounter, RepetitionCounts};

use super::blocks::{BlockWriter, BlocksError, BlocksHeader, LabelsKind};
use super::digest::RowsDigest;
use super::parts::{Part, for_each_part};
use super::spool::SpooledRows;

/// Examples that were read.
pub enum Gathered {
    /// Few enough to be held.
    Memory(Data),
    /// In a spool.
    Spooled(SpooledRows),
}

/// What was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Kinds and sizes.
    pub header: BlocksHeader,
    /// Examples labelled +1.
    pub labelled_positive: u64,
    /// What repeats; none when there are more than the asked for.
    pub repetitions: Option<RepetitionCounts>,
    /// The digest of the canonical rows: see [`super::digest()`].
    pub digest: [u8; 32],
}

impl Gathered {
    /// Kinds and sizes.
    pub fn header(&self) -> BlocksHeader {
        match self {
            Self::Memory(data) => BlocksHeader::of(data),
            Self::Spooled(rows) => rows.header,
        }
    }

    /// Writes the stored form, and tells what was written. What repeats is counted when there are
    /// at most `examples_max` examples, 16 bytes each.
    ///
    /// # Errors
    /// When the target cannot be written, or the spool cannot be read.
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
        see: impl FnMut(Part<'_>) -> Result<(), BlocksError>,
    ) -> Result<(), BlocksError> {
        match self {
            Self::Memory(data) => for_each_part(data, see),
            Self::Spooled(rows) => rows.for_each_part(see),
        }
    }
}

impl From<Data> for Gathered {
    fn from(data: Data) -> Self {
        Self::Memory(data)
    }
}
