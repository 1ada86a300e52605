//! Examples after a read, in memory or in a spool ([`ParsedRows`]), and the facts about them that are recorded
//! when they are stored ([`Stored`]).
//!
//! One pass over the examples writes the stored form, computes the digest and counts positive labels and
//! repetitions. Only the count of repetitions takes memory per example, up to a limit.

use std::io::{ErrorKind, Write};

use halfspace_core::bits::BLOCK_ROWS;
use halfspace_core::learners::sample::data::Data;
use halfspace_core::learners::sample::repetitions::{RepetitionCounter, RepetitionCounts};

use crate::error::{Fault, FormatError};
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

    /// Passes the values and the label of each row to `see`. A bit is 0 or 1, or -1 or 1 as `low` says. The call may be
    /// repeated.
    ///
    /// # Errors
    /// When the spool cannot be read, or the first error of `see`.
    pub(crate) fn for_each_row(
        &mut self,
        low: f64,
        mut see: impl FnMut(&[f64], Option<bool>) -> Result<(), FormatError>,
    ) -> Result<(), FormatError> {
        let n = self.header().n;
        let mut values = Vec::with_capacity(n);
        let mut refused = None;
        let passed = self.for_each_part(|part| {
            let seen = match part {
                RowsPart::Row(values, label) => see(values, label),
                RowsPart::Block(block, labels) => (0..block.rows()).try_for_each(|row| {
                    values.clear();
                    values.extend((0..n).map(|at| {
                        let bit = block.word(at / BLOCK_ROWS, row) >> (at % BLOCK_ROWS) & 1;
                        if bit == 1 { 1.0 } else { low }
                    }));
                    see(&values, labels.map(|labels| labels >> row & 1 == 1))
                }),
            };
            seen.map_err(|error| {
                refused = Some(error);
                BlocksError::Header("a row that was refused")
            })
        });
        match (passed, refused) {
            (_, Some(refused)) => Err(refused),
            (Err(BlocksError::Io(error)), None) => Err(Fault::unspooled(error).into()),
            (Err(_), None) => Err(Fault::unspooled(ErrorKind::InvalidData.into()).into()),
            (Ok(()), None) => Ok(()),
        }
    }

    /// Returns `read` of the first `count` rows: see [`Self::for_each_row`].
    ///
    /// # Errors
    /// When the spool cannot be read.
    pub(crate) fn first_rows<T>(
        &mut self,
        low: f64,
        count: usize,
        read: impl Fn(&[f64], Option<bool>) -> T,
    ) -> Result<Vec<T>, FormatError> {
        let mut rows = Vec::new();
        let passed = self.for_each_row(low, |values, label| {
            if rows.len() == count {
                // Ends the pass.
                return Err(Fault::unspooled(ErrorKind::Interrupted.into()).into());
            }
            rows.push(read(values, label));
            Ok(())
        });
        match passed {
            Err(error) if rows.len() < count => Err(error),
            _ => Ok(rows),
        }
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
