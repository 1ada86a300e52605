//! Holds the rows read so far, with their labels, in memory as long as the budget allows.
//!
//! Rows beyond the budget go to a temporary file, the spool, if the caller gave one. If they are real and the body
//! states how many there are, they can be written in the stored form at once.
//!
//! The buffer does not know what values mean. [`SampleBuilder`](crate::building::sample_builder::SampleBuilder) decides
//! which values are allowed.

use std::io::{self, Write};

use halfspace_core::bits::BLOCK_ROWS;
use halfspace_core::learners::sample::data::Data;
use halfspace_core::learners::sample::examples::Shape;
use halfspace_core::memory;

use crate::building::labels::LabelCodes;
use crate::building::parsed_rows::ParsedRows;
use crate::building::rows::{FinishedRows, RowBuilder, packed_bytes, real_bytes};
use crate::building::store_pass::{StorePass, storing_bytes};
use crate::error::Fault;
use crate::options::UnlabelledMeans;
use crate::stored::header::BlocksError;
use crate::stored::layout::Units;
use crate::stored::parts::RowsPart;
use crate::stored::spool::{DirectTarget, NotReserved, Spool};

/// Values in a piece of the spool, unless one row alone has more.
const PIECE_VALUES_MAX: usize = 8 * 1024;

/// The rows so far.
pub(crate) struct RowBuffer {
    held: FinishedRows,
    /// First row in memory, from 0. A multiple of 64 while rows are packed.
    first: usize,
    /// Number of all rows.
    rows: usize,
    pub(crate) labels: LabelCodes,
    spool: Option<Spool>,
    /// Number of rows that the body states, and the meaning of rows without labels.
    expected: Option<(usize, UnlabelledMeans)>,
    /// The stored form, once the rows have exceeded the memory budget. Fewer than 64 rows may then be in memory.
    pass: Option<StorePass<Box<dyn Write + Send>>>,
}

impl RowBuffer {
    /// Makes a buffer for packed rows of `n` values. A later value may turn the rows real.
    pub(crate) fn new(n: usize, spool: Option<Spool>) -> Self {
        Self {
            held: FinishedRows::packed(n),
            first: 0,
            rows: 0,
            labels: LabelCodes::default(),
            spool,
            expected: None,
            pass: None,
        }
    }

    /// Prepares for `rows` dense rows, before the first row. Their labels must not be recoded.
    pub(crate) fn expect_rows(&mut self, rows: usize, unlabelled: UnlabelledMeans) {
        debug_assert!(self.rows == 0);
        self.expected = Some((rows, unlabelled));
    }

    /// The number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) fn spool(&self) -> Option<&Spool> {
        self.spool.as_ref()
    }

    /// The spool, for a builder in place of this one.
    pub(crate) fn take_spool(&mut self) -> Option<Spool> {
        self.spool.take()
    }

    /// Whether all rows so far are packed.
    pub(crate) fn is_packed(&self) -> bool {
        matches!(self.held, FinishedRows::Packed(_))
    }

    /// Fixes the length of rows, before the first row.
    pub(crate) fn fix_length(&mut self, n: usize) {
        debug_assert!(self.rows == 0);
        if self.is_packed() {
            self.held = FinishedRows::packed(n);
        }
    }

    /// The bytes of `rows` rows of `n` values, in the stored form if there is a spool, otherwise in memory.
    pub(crate) fn bytes(&self, rows: usize, n: usize) -> u64 {
        match &self.held {
            FinishedRows::Packed(_) => packed_bytes(rows, n),
            FinishedRows::Real(_) => real_bytes(rows, n),
        }
    }

    /// The bytes that may be allocated at once while rows grow to `bytes` bytes, because a growing vector takes twice
    /// the bytes that it holds.
    pub(crate) fn bytes_to_grow(&self, bytes: u64) -> u64 {
        match &self.spool {
            Some(spool) => 2 * bytes.min(spool.memory_bytes_max),
            None => 2 * bytes,
        }
    }

    /// The bytes that may be allocated at once while all rows, of `n` values, get their final form.
    pub(crate) fn bytes_to_finish(&self, n: usize) -> u64 {
        match &self.spool {
            Some(spool) => self.bytes(self.rows, n).min(spool.memory_bytes_max),
            None => self.bytes(self.rows, n),
        }
    }

    /// Reserves bytes for the stored form of the rows, if there is a spool.
    ///
    /// # Errors
    /// When the reservation is refused.
    pub(crate) fn reserve(&mut self, bytes: u64) -> Result<(), NotReserved> {
        let spool = self.spool.as_mut();
        spool.map_or(Ok(()), |spool| spool.reserve(bytes, bytes))
    }

    /// Appends the row and clears the row buffers.
    ///
    /// # Errors
    /// When the spool cannot be written.
    pub(crate) fn push(&mut self, row: &mut RowBuilder, label: Option<u32>) -> io::Result<()> {
        self.held.push(row);
        self.labels.push(self.rows, label);
        self.rows += 1;
        let ends_block = self.rows.is_multiple_of(BLOCK_ROWS);
        let is_full = (ends_block || !self.is_packed()) && self.exceeds_memory(self.held.bytes());
        if is_full || ends_block && self.pass.is_some() {
            self.spill()?;
        }
        Ok(())
    }

    /// Converts packed rows of `n` values to doubles. `low` is the value of a 0 bit.
    ///
    /// # Errors
    /// When the spool cannot be written.
    pub(crate) fn become_real(&mut self, n: usize, low: f64) -> io::Result<()> {
        if self.exceeds_memory(real_bytes(self.rows - self.first, n)) {
            // The last packed block may be short. It can be spooled too, since all later rows are real.
            self.spill_all()?;
        }
        self.held.become_real(n, low);
        Ok(())
    }

    /// Returns all rows, of `n` values. `low` is as for [`Self::become_real`].
    ///
    /// # Errors
    /// When the spool cannot be written.
    pub(crate) fn finish(
        mut self,
        n: usize,
        low: f64,
        unlabelled: UnlabelledMeans,
    ) -> io::Result<ParsedRows> {
        let is_spooled = self.spool.as_ref().is_some_and(|spool| !spool.is_empty());
        let has_left = is_spooled || self.pass.is_some();
        if has_left || self.exceeds_memory(self.bytes(self.rows, n)) {
            self.spill_all()?;
        }
        if let Some(pass) = self.pass {
            // Labels that arrive with their rows are 1 and -1, or 1 and 0.
            let stored = pass
                .finish(None, None, None)
                .map_err(BlocksError::into_io)?;
            return Ok(ParsedRows::Stored(Box::new(stored)));
        }
        let header = self.header(self.rows, n, unlabelled);
        if let Some(spool) = self.spool
            && let Some(rows) = spool.into_rows(header, low, self.labels.recoding(), None)?
        {
            return Ok(ParsedRows::Spooled(rows));
        }
        let labels = self.labels.into_labels(header.labels, self.rows);
        Ok(ParsedRows::Memory(Data::new(
            self.held.into_features(n),
            labels,
        )))
    }

    fn header(&self, rows: usize, n: usize, unlabelled: UnlabelledMeans) -> Shape {
        Shape {
            n,
            examples: rows,
            is_real: !self.is_packed(),
            entries: None,
            labels: self.labels.kind(unlabelled),
        }
    }

    /// Begins the stored form if its header is known and no row has left memory. The header is known if the body
    /// states the number of rows and these are real. `count` rows are in memory.
    fn begin_pass(&mut self, count: usize) -> io::Result<()> {
        let FinishedRows::Real(values) = &self.held else {
            return Ok(());
        };
        let Some((rows, unlabelled)) = self.expected.filter(|_| self.first == 0) else {
            return Ok(());
        };
        let direct = self.spool.as_mut().and_then(|spool| spool.direct.take());
        let Some(DirectTarget { to, examples_max }) = direct else {
            return Ok(());
        };
        let header = self.header(rows, values.len() / count, unlabelled);
        let bytes = storing_bytes(rows, examples_max);
        memory::need(bytes).map_err(|full| Fault::from(full).into_io())?;
        let pass = StorePass::new(header, Units::default(), to, examples_max);
        self.pass = Some(pass.map_err(BlocksError::into_io)?);
        Ok(())
    }

    /// Moves whole blocks of packed rows, or all real rows, out of memory.
    fn spill(&mut self) -> io::Result<()> {
        let held = self.rows - self.first;
        let over = if self.is_packed() {
            held % BLOCK_ROWS
        } else {
            0
        };
        self.spill_rows(held - over)
    }

    /// Moves all rows out of memory. If they are packed, no packed row may follow.
    fn spill_all(&mut self) -> io::Result<()> {
        self.spill_rows(self.rows - self.first)
    }

    fn spill_rows(&mut self, count: usize) -> io::Result<()> {
        if count == 0 || self.spool.is_none() {
            return Ok(());
        }
        self.begin_pass(count)?;
        match self.pass {
            Some(_) => self.write_rows(count)?,
            None => self.spool_rows(count)?,
        }
        self.held.forget(count);
        self.first += count;
        self.labels.forget_before(self.first);
        Ok(())
    }

    /// Writes the first `count` rows in the stored form.
    fn write_rows(&mut self, count: usize) -> io::Result<()> {
        let (Some(pass), FinishedRows::Real(values)) = (&mut self.pass, &self.held) else {
            return Ok(());
        };
        for (row, values) in values.chunks_exact(values.len() / count).enumerate() {
            let label = self
                .labels
                .block(self.first + row, 1)
                .map(|codes| codes.get(0));
            pass.push(&RowsPart::Row(values, label))
                .map_err(BlocksError::into_io)?;
        }
        Ok(())
    }

    /// Writes the first `count` rows to the spool.
    fn spool_rows(&mut self, count: usize) -> io::Result<()> {
        let Some(spool) = &mut self.spool else {
            return Ok(());
        };
        match &self.held {
            FinishedRows::Packed(ones) => {
                for (index, block) in ones.blocks().take(count.div_ceil(BLOCK_ROWS)).enumerate() {
                    let first = self.first + index * BLOCK_ROWS;
                    spool.push_packed(block, self.labels.block(first, block.rows()))?;
                }
            }
            FinishedRows::Real(values) => {
                let n = values.len() / count;
                let rows_max = (PIECE_VALUES_MAX / n).clamp(1, BLOCK_ROWS);
                for (index, piece) in values.chunks(rows_max * n).enumerate() {
                    let rows = piece.len() / n;
                    let labels = self.labels.block(self.first + index * rows_max, rows);
                    spool.push_real(piece, rows, labels)?;
                }
            }
        }
        Ok(())
    }

    fn exceeds_memory(&self, bytes: u64) -> bool {
        let budget = self.spool.as_ref().map(|spool| spool.memory_bytes_max);
        budget.is_some_and(|budget| bytes > budget)
    }
}
