//! Builds a sample of dense rows, one value at a time.
//!
//! The data are Boolean as long as all values are 0 and 1, or all are -1 and 1. The first other value makes all of the
//! data real.
//!
//! The builder enforces the rules on values, labels, lengths and limits. It does not know where a value is in the body,
//! so readers add the place to a fault. Sparse rows have a builder of their own, see `sparse_builder.rs`. It also gets
//! the rows whose features have names.

mod bit_runs;
mod named_rows;

use halfspace_core::bits::{WORD_BITS, words_for};
use halfspace_core::memory;

use crate::building::label_names::{LabelNames, ReadLabels};
use crate::building::parsed::Parsed;
use crate::building::parsed_rows::ParsedRows;
use crate::building::row_buffer::RowBuffer;
use crate::building::rows::{RowBuilder, real_bytes};
use crate::building::sample_rules::SampleRules;
use crate::building::sparse_builder::SparseBuilder;
use crate::building::text_rules::TextRules;
use crate::error::{Fault, FormatErrorKind, Place};
use crate::options::{ParseLimits, UnlabelledMeans};
use crate::stored::header::RowsKind;
use crate::stored::spool::Spool;

/// Examples on the way to a [`ParsedRows`].
pub(crate) struct SampleBuilder {
    rules: SampleRules,
    store: RowBuffer,
    row: RowBuilder,
    /// The names of labels next to the examples. None if labels are ignored or have a column.
    names: Option<LabelNames>,
    /// The rows, if their features have names.
    named: Option<Box<SparseBuilder>>,
    texts: TextRules,
}

impl SampleBuilder {
    /// Makes a builder for rows whose values come one after the other. Rows beyond the memory budget go to
    /// the spool, if there is one.
    ///
    /// # Errors
    /// When a fixed `n` is 0 or over the limit.
    pub(crate) fn new(
        limits: &ParseLimits,
        fixed_n: Option<usize>,
        spool: Option<Spool>,
    ) -> Result<Self, Fault> {
        let rules = SampleRules::new(limits, fixed_n)?;
        Ok(Self {
            store: RowBuffer::new(rules.n, spool),
            rules,
            row: RowBuilder::default(),
            names: Some(LabelNames::of_signs()),
            named: None,
            texts: TextRules::default(),
        })
    }

    /// Fixes the kind of the features before the first row. With `Real` the data are real from the start. With
    /// Boolean features a value that would make them real is a fault.
    pub(crate) fn of_kind(mut self, kind: Option<RowsKind>) -> Result<Self, Fault> {
        if kind == Some(RowsKind::Real) {
            self.become_real(0)?;
        }
        self.rules.kind = kind;
        Ok(self)
    }

    /// Announces the number of rows before the first row, so that they may be written in the stored form at once.
    pub(crate) fn of_rows(mut self, rows: u64, unlabelled: UnlabelledMeans) -> Self {
        if let Ok(rows) = usize::try_from(rows) {
            self.store.expect_rows(rows, unlabelled);
        }
        self
    }

    /// Makes an in-memory builder for the later rows of the same body, which remembers whether the values and labels
    /// use 0 or -1.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn for_the_rest(&self) -> Result<Self, Fault> {
        let rules = &self.rules;
        let rest = Self::new(&rules.limits, rules.fixed_n, None)?;
        let mut rest = rest.of_kind(rules.kind)?;
        (rest.rules.zero_seen, rest.rules.minus_seen) = (rules.zero_seen, rules.minus_seen);
        rest.names.clone_from(&self.names);
        rest.texts.clone_from(&self.texts);
        let mut rest = rest.of_vocabulary(self.named.is_some())?;
        if self
            .named
            .as_ref()
            .is_some_and(|named| !named.sorts_names())
        {
            rest.keep_names_as_they_come();
        }
        Ok(rest)
    }

    /// Adds the next value of a dense row. Returns whether the value made the data real.
    ///
    /// # Errors
    /// When the value is not finite or must not make the data real, or when a limit is exceeded.
    pub(crate) fn value(&mut self, value: f64) -> Result<bool, Fault> {
        let index = self.row.filled;
        self.check_unnamed()?;
        self.rules.limits.check_n(index + 1)?;
        self.row.filled += 1;
        let n = self.expected_n().unwrap_or(index + 1);
        if index >= n {
            // The row is too long, so we count its values only for the message at its end.
            return Ok(false);
        }
        if self.row.ones.len() < words_for(n) && self.packed() {
            self.row.ones.resize(words_for(n), 0);
        }
        self.put(index, value)
    }

    /// Sets the meaning of labels before the first row. None ignores them.
    pub(crate) fn of_labels(mut self, names: Option<LabelNames>) -> Self {
        self.names = names;
        self
    }

    /// Reads the label next to an example. None if labels are ignored.
    ///
    /// # Errors
    /// When the label is none, or when the body mixes 0 and -1.
    pub(crate) fn label(&mut self, label: &[u8]) -> Result<Option<u32>, Fault> {
        self.names
            .as_mut()
            .map(|names| names.push(label))
            .transpose()
    }

    /// Whether the request alone says which label means +1.
    pub(crate) fn reads_stated_labels(&self) -> bool {
        let names = self.names.as_ref();
        names.is_some_and(|names| names.stated().is_some())
    }

    /// Whether only a model can read the labels.
    pub(crate) fn has_foreign_labels(&self) -> bool {
        self.names.as_ref().is_some_and(LabelNames::is_foreign)
    }

    /// Sets the classes of the labels, and what their codes stand for if they need a change.
    pub(crate) fn decide_labels(&mut self, read: ReadLabels) {
        match &mut self.named {
            Some(named) => named.decide_labels(read),
            None => self.rules.classes = Some(self.store.labels.decide(read)),
        }
    }

    /// Ends a dense row.
    ///
    /// # Errors
    /// When the row is empty, its length differs from earlier rows, or a limit is exceeded.
    pub(crate) fn end_row(&mut self, label: Option<u32>) -> Result<(), Fault> {
        if let Some(named) = &mut self.named {
            return named.end_named_row(label);
        }
        self.check_length()?;
        if self.expected_n().is_none() {
            self.rules.n = self.row.filled;
            self.store.fix_length(self.rules.n);
        }
        self.commit(label)
    }

    /// Writes 1 at `count` indices from `from` on, in a packed row of the fixed n.
    #[inline]
    pub(crate) fn set_ones(&mut self, from: usize, count: usize) {
        if self.row.ones.is_empty() {
            self.row.ones.resize(words_for(self.rules.n), 0);
        }
        for index in from..from + count {
            self.row.ones[index / WORD_BITS] |= 1 << (index % WORD_BITS);
        }
    }

    /// Writes 1 at each index whose bit is 1, in a packed row of the fixed n.
    pub(crate) fn or_bits(&mut self, bits: impl Iterator<Item = (u32, u32)>) {
        self.set_ones(0, 0);
        for (index, bit) in bits {
            let index = index as usize;
            self.row.ones[index / WORD_BITS] |= u64::from(bit) << (index % WORD_BITS);
        }
    }

    /// Ends a packed row of the fixed n whose other values are 0.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn end_set_row(&mut self, label: Option<u32>) -> Result<(), Fault> {
        self.set_ones(0, 0);
        self.commit(label)
    }

    /// Forgets the values of the unfinished row.
    pub(crate) fn forget_row(&mut self) {
        self.row.ones.fill(0);
        self.row.real.clear();
        self.row.filled = 0;
    }

    pub(crate) fn spool(&self) -> Option<&Spool> {
        self.store.spool()
    }

    /// Records the place of the value that made the data real.
    pub(crate) fn note_first_real(&mut self, place: Place) {
        match &mut self.named {
            Some(named) => named.note_first_real(place),
            None => self.rules.first_real = Some(place),
        }
    }

    /// The number of rows so far.
    pub(crate) fn rows(&self) -> usize {
        self.named
            .as_ref()
            .map_or_else(|| self.store.rows(), |named| named.rows())
    }

    /// Returns the sample of all rows.
    ///
    /// # Errors
    /// When there is no example or no feature, or when memory or the spool fails.
    pub(crate) fn finish(
        mut self,
        unlabelled: UnlabelledMeans,
    ) -> Result<Parsed<ParsedRows>, Fault> {
        if self.named.is_none() {
            self.rules.check_present(self.rows())?;
            self.texts.check_used(false, false)?;
        }
        let (low, n) = (self.low(), self.rules.n);
        let names = self.names.take().filter(|names| !names.is_empty());
        if let Some(read) = names.map(LabelNames::finish).transpose()? {
            self.decide_labels(read);
        }
        if let Some(named) = self.named {
            return named.finish(unlabelled);
        }
        memory::need(self.store.bytes_to_finish(n))?;
        let data = self.store.finish(n, low, unlabelled);
        Ok(self.rules.parsed(data.map_err(Fault::unspooled)?, low))
    }

    fn packed(&self) -> bool {
        self.store.is_packed()
    }

    /// The value that a 0 bit had in the body: -1 in data with a -1, else 0.
    fn low(&self) -> f64 {
        if self.rules.minus_seen { -1.0 } else { 0.0 }
    }

    /// The length that a dense row must have, if n or an earlier row fixes it.
    fn expected_n(&self) -> Option<usize> {
        let rules = &self.rules;
        rules.fixed_n.or((self.rows() > 0).then_some(rules.n))
    }

    fn check_length(&self) -> Result<(), Fault> {
        let length = self.row.filled;
        let values = if length == 1 { "value" } else { "values" };
        match self.expected_n() {
            None if length == 0 => {
                let detail = "The example has no value; an example needs at least one feature.";
                Err(Fault::new(FormatErrorKind::EmptyData, detail))
            }
            Some(n) if n != length => {
                let source = if self.rules.fixed_n.is_some() {
                    "the option n is"
                } else {
                    "the examples before it have"
                };
                let detail = format!("The example has {length} {values}, but {source} {n}.");
                Err(Fault::new(FormatErrorKind::UnequalLength, detail))
            }
            _ => Ok(()),
        }
    }

    /// Stores a value at an existing position of the row buffers.
    fn put(&mut self, index: usize, value: f64) -> Result<bool, Fault> {
        if !value.is_finite() {
            return Err(SampleRules::not_finite(value));
        }
        if !self.packed() {
            self.put_real(index, value);
            return Ok(false);
        }
        if value == 1.0 {
            self.row.ones[index / WORD_BITS] |= 1 << (index % WORD_BITS);
        } else if !self.rules.is_low(value) {
            self.become_real(index)?;
            self.put_real(index, value);
            return Ok(true);
        }
        Ok(false)
    }

    fn put_real(&mut self, index: usize, value: f64) {
        self.row.real.resize(index, 0.0);
        // Adding 0.0 turns -0.0 into 0.0.
        self.row.real.push(value + 0.0);
    }

    /// Converts all packed rows, and the first `filled` values of the current row, to doubles.
    fn become_real(&mut self, filled: usize) -> Result<(), Fault> {
        self.rules.check_real()?;
        let (rows, n) = (self.rows(), self.rules.n);
        self.check_bytes(rows, n, real_bytes(rows, n))?;
        let low = self.low();
        self.store.become_real(n, low).map_err(Fault::unspooled)?;
        self.row.become_real(filled, low);
        Ok(())
    }

    /// Moves the row to the buffer of finished rows.
    fn commit(&mut self, label: Option<u32>) -> Result<(), Fault> {
        let rows = self.rows() + 1;
        let n = self.rules.n;
        self.check_bytes(rows, n, self.store.bytes(rows, n))?;
        self.store
            .push(&mut self.row, label)
            .map_err(Fault::unspooled)
    }

    /// Checks the bytes of `rows` rows against the limit, the free memory and the spool's reservation.
    fn check_bytes(&mut self, rows: usize, n: usize, bytes: u64) -> Result<(), Fault> {
        if bytes > self.rules.limits.state_bytes_max {
            return Err(self.rules.too_large(rows, n, bytes));
        }
        memory::need(self.store.bytes_to_grow(bytes))?;
        self.store.reserve(bytes).map_err(SampleRules::not_reserved)
    }
}
