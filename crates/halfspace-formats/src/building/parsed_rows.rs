//! The examples of a body that has been read: in memory, in a temporary file (the spool), or already in the stored
//! form.

use std::io::ErrorKind;

use halfspace_core::bits::BLOCK_ROWS;
use halfspace_core::learners::sample::data::Data;
use halfspace_core::learners::sample::examples::{Examples, Shape};

use crate::building::store_pass::Stored;
use crate::error::{Fault, FormatError};
use crate::stored::header::BlocksError;
use crate::stored::parts::{RowsPart, for_each_part};
use crate::stored::spool::SpooledRows;

/// Examples after a read.
pub enum ParsedRows {
    /// Examples within the memory budget.
    Memory(Data),
    /// Examples in a spool.
    Spooled(SpooledRows),
    /// Facts about examples that were written to the target of [`Spool::storing`](crate::Spool::storing).
    Stored(Box<Stored>),
}

impl ParsedRows {
    /// The kinds and sizes of the rows.
    pub fn header(&self) -> Shape {
        match self {
            Self::Memory(data) => data.shape(),
            Self::Spooled(rows) => rows.header,
            Self::Stored(stored) => stored.header,
        }
    }

    /// Passes the values and the label of each row to `see`. A bit is 1 or `low`, which is 0 or -1. You may call this
    /// repeatedly.
    ///
    /// # Errors
    /// When the spool cannot be read, or the first error of `see`.
    pub(crate) fn for_each_row(
        &mut self,
        low: f64,
        mut see: impl FnMut(&[f64], Option<u32>) -> Result<(), FormatError>,
    ) -> Result<(), FormatError> {
        let n = self.header().n;
        let mut values = Vec::with_capacity(n);
        let mut refused = None;
        let passed = self.for_each_part(|part| {
            let seen = match part {
                RowsPart::Row(values, label) => see(values, label),
                RowsPart::Sparse(block, labels) => (0..block.rows()).try_for_each(|row| {
                    values.clear();
                    values.resize(n, if block.is_real() { 0.0 } else { low });
                    for (id, value) in block.row(row).entries() {
                        values[id] = value;
                    }
                    see(&values, labels.as_ref().map(|codes| codes.get(row)))
                }),
                RowsPart::Block(block, labels) => (0..block.rows()).try_for_each(|row| {
                    values.clear();
                    values.extend((0..n).map(|at| {
                        let bit = block.word(at / BLOCK_ROWS, row) >> (at % BLOCK_ROWS) & 1;
                        if bit == 1 { 1.0 } else { low }
                    }));
                    see(&values, labels.as_ref().map(|codes| codes.get(row)))
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
        read: impl Fn(&[f64], Option<u32>) -> T,
    ) -> Result<Vec<T>, FormatError> {
        let mut rows = Vec::new();
        let passed = self.for_each_row(low, |values, label| {
            if rows.len() == count {
                // This error ends the pass.
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

    pub(crate) fn for_each_part(
        &mut self,
        see: impl FnMut(RowsPart<'_>) -> Result<(), BlocksError>,
    ) -> Result<(), BlocksError> {
        match self {
            Self::Memory(data) => for_each_part(data, see),
            Self::Spooled(rows) => rows.for_each_part(see),
            Self::Stored(_) => Err(BlocksError::Io(ErrorKind::Unsupported.into())),
        }
    }
}

impl From<Data> for ParsedRows {
    fn from(data: Data) -> Self {
        Self::Memory(data)
    }
}
