//! Builds a sample of sparse rows, which list only their active features, those that are not 0. Features have indices
//! or names.
//!
//! The data stay Boolean until the first value that makes them real, as in `sample_builder.rs`. At the end, the number
//! of active features decides whether the sample is kept sparse or dense. Rows beyond the memory budget go to a
//! temporary file, the spool, if there is one. The builder does not know where a value is in the body, so readers add
//! the place to a fault.

use std::sync::Arc;

use halfspace_core::bits::{BLOCK_ROWS, SparseMatrix};
use halfspace_core::learners::sample::data::{Data, Features};
use halfspace_core::learners::sample::examples::{LabelKind, Shape};
use halfspace_core::memory;

use crate::building::label_names::ReadLabels;
use crate::building::labels::LabelCodes;
use crate::building::named_row::NamedRow;
use crate::building::parsed::Parsed;
use crate::building::parsed_rows::ParsedRows;
use crate::building::sample_rules::SampleRules;
use crate::building::text_rules::TextRules;
use crate::error::{Fault, FormatErrorKind, Place};
use crate::options::{ParseLimits, UnlabelledMeans};
use crate::stored::header::RowsKind;
use crate::stored::layout::stored_bytes;
use crate::stored::sparse_blocks;
use crate::stored::spool::Spool;
use crate::texts::Occurrences;

/// Why a reader of Boolean examples refuses a name with another value than 1.
pub const NAMES_WITHOUT_VALUES: &str = "Each name counts as 1 in Boolean examples, but a name has another value. Leave \
    the values out, or open the session with `\"values\": \"real\"` and without conjunctions.";

/// The most features whose numbers fit into 32 bits. Rows in a dense form may have fewer.
const N_MAX: usize = u32::MAX as usize;

/// How later data may have larger indices.
const LARGER: &str =
    "If later examples may have more features, learn with a larger n, or with `vocabulary=open`.";

/// Sparse rows on the way to a [`ParsedRows`].
pub(crate) struct SparseBuilder {
    /// Their `n` is the largest index so far, from 1, unless the caller fixed it.
    rules: SampleRules,
    /// The largest index of all rows, from 1.
    largest: usize,
    is_real: bool,
    /// The rows in memory. They have values once a value other than 1 has occurred.
    held: SparseMatrix,
    /// Number of rows before them, a multiple of 64.
    first: usize,
    /// Active features of all rows: with the value 1, and with another one.
    ones: usize,
    others: usize,
    labels: LabelCodes,
    spool: Option<Spool>,
    /// The names of the features, if they have names.
    names: Option<NamedRow>,
    /// The most features.
    n_max: usize,
    /// The number of features that a model knows, if there may be more of them.
    known_n: Option<usize>,
    /// The index of the first feature in the body, for errors.
    first_index: usize,
    /// Number of first rows in the spool whose indices were taken to begin at 1 and begin at 0.
    rows_to_raise: usize,
}

impl SparseBuilder {
    /// Makes a builder of rows of `fixed_n` features, or of as many as the largest index. `kind` fixes the kind of
    /// the features.
    ///
    /// # Errors
    /// When a fixed `n` is 0 or more than indices can tell.
    pub(crate) fn new(
        limits: &ParseLimits,
        fixed_n: Option<usize>,
        kind: Option<RowsKind>,
        spool: Option<Spool>,
    ) -> Result<Self, Fault> {
        if let Some(n) = fixed_n.filter(|&n| n > N_MAX) {
            let detail = format!("n is {n}, but indices tell at most {N_MAX} features apart.");
            return Err(Fault::new(FormatErrorKind::BadOption, detail));
        }
        let mut rules = SampleRules::new(limits, None)?;
        rules.n = fixed_n.unwrap_or(0);
        rules.fixed_n = fixed_n;
        rules.kind = kind;
        let is_real = kind == Some(RowsKind::Real);
        Ok(Self {
            held: SparseMatrix::new(N_MAX, is_real),
            rules,
            largest: 0,
            is_real,
            first: 0,
            ones: 0,
            others: 0,
            labels: LabelCodes::default(),
            spool,
            names: None,
            n_max: N_MAX,
            known_n: None,
            first_index: 1,
            rows_to_raise: 0,
        })
    }

    /// Lets the first feature of the body have this index, before the first row.
    pub(crate) fn of_first_index(mut self, first_index: usize) -> Self {
        self.first_index = first_index;
        self
    }

    /// Lets a fixed n be only the number of features that a model knows. Rows with others stay sparse, so that nothing
    /// takes them for a row of this n.
    pub(crate) fn with_unseen(mut self) -> Self {
        self.known_n = self.rules.fixed_n.take();
        self
    }

    /// Lets the indices of the body begin at 0, before the first index of a row. Those of earlier rows were taken to
    /// begin at 1.
    ///
    /// # Errors
    /// When an earlier index is too large for this, or when memory ends.
    pub(crate) fn begin_at_0(&mut self) -> Result<(), Fault> {
        let n = self.largest + usize::from(self.largest > 0);
        if let Some(fixed) = self.rules.fixed_n.filter(|&fixed| n > fixed) {
            let detail = format!(
                "The index 0 makes n = {n} of the index {} of an earlier line, but n is {fixed}.",
                n - 1
            );
            return Err(Fault::new(FormatErrorKind::BadIndex, detail));
        }
        if n > self.n_max {
            let detail = format!(
                "The index {} of an earlier line is above {}.",
                n - 1,
                self.n_max - 1
            );
            return Err(Fault::new(FormatErrorKind::BadIndex, detail));
        }
        memory::need(self.held.bytes())?;
        self.held = sparse_blocks::raised(&self.held);
        let known = self.rules.fixed_n.or(self.known_n);
        self.rules.n = known.map_or(n, |known| known.max(n));
        self.largest = n;
        self.rows_to_raise = self.first;
        self.first_index = 0;
        Ok(())
    }

    /// Makes a builder of rows whose features have names, as the request says or the examples. `texts` are those of
    /// the rows, and `kind` is as for [`Self::new`].
    ///
    /// # Errors
    /// As for [`Self::new`].
    pub(crate) fn of_names(
        limits: &ParseLimits,
        kind: Option<RowsKind>,
        spool: Option<Spool>,
        are_stated: bool,
        texts: TextRules,
    ) -> Result<Self, Fault> {
        // Counts are numbers, even if each happens to be 1.
        let counts = texts.extraction.occurrences == Occurrences::Counts;
        let kind = kind.or(counts.then_some(RowsKind::Real));
        Ok(Self {
            names: Some(NamedRow::new(limits.names_max, are_stated, texts)),
            n_max: limits.names_max,
            ..Self::new(limits, None, kind, spool)?
        })
    }

    /// Lets the names keep the order in which they come. Otherwise [`Self::finish`] sorts them.
    pub(crate) fn keep_names_as_they_come(&mut self) {
        if let Some(names) = &mut self.names {
            names.are_as_they_come = true;
        }
    }

    /// Whether the names will have the order of their bytes.
    pub(crate) fn sorts_names(&self) -> bool {
        self.names
            .as_ref()
            .is_none_or(|names| !names.are_as_they_come)
    }

    /// Adds the feature of a name to the row of a builder of names. Returns whether the value made the data real.
    ///
    /// # Errors
    /// When the name is none, when there are too many, or when the value is not finite or must not make the data real.
    pub(crate) fn name(&mut self, name: &str, value: f64) -> Result<bool, Fault> {
        if !value.is_finite() {
            return Err(SampleRules::not_finite(value));
        }
        let was_real = self.is_real;
        if value != 1.0 && value != 0.0 {
            if self.rules.kind == Some(RowsKind::Boolean) {
                let kind = FormatErrorKind::NotBoolean;
                return Err(Fault::new(kind, NAMES_WITHOUT_VALUES));
            }
            self.is_real = true;
        }
        if let Some(names) = &mut self.names {
            names.push(name, value)?;
        }
        Ok(self.is_real && !was_real)
    }

    /// Adds the names of a text in a column to the row of a builder of names.
    ///
    /// # Errors
    /// As for [`NamedRow::text`].
    pub(crate) fn text(&mut self, column: &str, text: &str) -> Result<(), Fault> {
        self.names
            .as_mut()
            .map_or(Ok(()), |names| names.text(column, text))
    }

    /// Ends a row of names.
    ///
    /// # Errors
    /// When a name occurs twice with different values, when a count must not make the data real, or when a limit is
    /// exceeded.
    pub(crate) fn end_named_row(&mut self, label: Option<u32>) -> Result<(), Fault> {
        let Some(names) = &mut self.names else {
            return self.end_row(0, label);
        };
        let row = names.end()?;
        let others = row.iter().filter(|(_, value)| *value != 1.0).count();
        if others > 0 && !self.is_real {
            // The count of a name in a text, which was not read as a value.
            if self.rules.kind == Some(RowsKind::Boolean) {
                return Err(Fault::new(
                    FormatErrorKind::NotBoolean,
                    NAMES_WITHOUT_VALUES,
                ));
            }
            self.is_real = true;
        }
        self.ones += row.len() - others;
        self.others += others;
        if others > 0 {
            self.held.become_real();
        }
        row.drain(..)
            .for_each(|(id, value)| self.held.push(id, value));
        let n = names.vocabulary.len();
        self.end_row(n, label)
    }

    /// Adds the value 1 at an index from 0, after all smaller indices of the row. If the index is not allowed, it
    /// adds nothing and returns false.
    #[inline]
    pub(crate) fn set_one(&mut self, index: usize) -> bool {
        if index >= self.rules.fixed_n.unwrap_or(self.n_max) {
            return false;
        }
        self.ones += 1;
        self.held.push(index as u32, 1.0);
        true
    }

    /// Adds a value at an index from 0, after all smaller indices of the row. Returns whether the value made the data
    /// real.
    ///
    /// # Errors
    /// When the value is not finite or must not make the data real, when the index is not below a fixed n, or
    /// when a limit is exceeded.
    pub(crate) fn value(&mut self, index: usize, value: f64) -> Result<bool, Fault> {
        if let Some(n) = self.rules.fixed_n.filter(|&n| index >= n) {
            let detail = match self.first_index {
                0 => format!("Index {index} is not below n = {n}; indices begin at 0. {LARGER}"),
                first => format!("Index {} is above n = {n}. {LARGER}", index + first),
            };
            return Err(Fault::new(FormatErrorKind::BadIndex, detail));
        }
        if index >= self.n_max {
            let largest = self.n_max - 1 + self.first_index;
            let detail = format!(
                "Index {} is above {largest}, the largest one; number the features from {} on, or say \
                 `vocabulary=open`, which takes indices for names.",
                index + self.first_index,
                self.first_index
            );
            return Err(Fault::new(FormatErrorKind::BadIndex, detail));
        }
        if !value.is_finite() {
            return Err(SampleRules::not_finite(value));
        }
        let was_real = self.is_real;
        if value != 1.0 && !self.rules.is_low(value) {
            self.rules.check_real()?;
            self.is_real = true;
        }
        if value == 1.0 {
            self.set_one(index);
        } else if value != 0.0 {
            self.others += 1;
            self.held.become_real();
            self.held.push(index as u32, value);
        }
        Ok(self.is_real && !was_real)
    }

    /// Ends a row. `last` is its largest index from 1, or 0 for a row without values.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn end_row(&mut self, last: usize, label: Option<u32>) -> Result<(), Fault> {
        self.rules.n = self.rules.n.max(last);
        self.largest = self.largest.max(last);
        self.labels.push(self.rows(), label);
        self.held.end_row();
        let shape = self.shape();
        let names = self.vocabulary_bytes();
        let bytes = shape.memory_bytes() + names;
        if bytes > self.rules.limits.state_bytes_max {
            return Err(self.rules.too_large(shape.examples, shape.n, bytes));
        }
        let held = self.held.bytes();
        let budget = self.budget();
        memory::need(2 * (held.min(budget) + names))?;
        if let Some(spool) = &self.spool {
            let stored = stored_bytes(&self.header(UnlabelledMeans::Nothing));
            let stored = stored.and_then(|bytes| bytes.checked_add(names));
            // Rows that left memory are no longer held. When the others are packed at the end, they may take more
            // bytes than now.
            let held = if self.first > 0 {
                u64::MAX
            } else {
                held.max(bytes)
            };
            let reserved = spool.reserve(stored.unwrap_or(u64::MAX), held);
            reserved.map_err(SampleRules::not_reserved)?;
        }
        if held > budget && self.rows().is_multiple_of(BLOCK_ROWS) {
            self.spill().map_err(Fault::unspooled)?;
        }
        Ok(())
    }

    /// Moves all rows out of memory. They must be whole blocks, unless they are the last rows of all.
    fn spill(&mut self) -> std::io::Result<()> {
        let Some(spool) = &mut self.spool else {
            return Ok(());
        };
        for block in 0..self.held.rows().div_ceil(BLOCK_ROWS) {
            let rows = self.held.block(block);
            let labels = self
                .labels
                .block(self.first + block * BLOCK_ROWS, rows.rows());
            spool.push_sparse(rows, labels)?;
        }
        self.first += self.held.rows();
        self.held.clear();
        self.labels.forget_before(self.first);
        Ok(())
    }

    /// Sets the classes of the labels, and what their codes stand for if they need a change.
    pub(crate) fn decide_labels(&mut self, read: ReadLabels) {
        self.rules.classes = Some(self.labels.decide(read));
    }

    /// Records the place of the value that made the data real.
    pub(crate) fn note_first_real(&mut self, place: Place) {
        self.rules.first_real = Some(place);
    }

    /// Whether a value has made the data real.
    pub(crate) fn is_real(&self) -> bool {
        self.is_real
    }

    /// The number of active features of the rows in memory.
    pub(crate) fn held_entries(&self) -> usize {
        self.held.entries()
    }

    /// The number of rows so far.
    pub(crate) fn rows(&self) -> usize {
        self.first + self.held.rows()
    }

    /// Whether some row has the name.
    pub(crate) fn has_name(&self, name: &str) -> bool {
        let names = self.names.as_ref();
        names.is_some_and(|names| names.vocabulary.id(name).is_some())
    }

    fn vocabulary_bytes(&self) -> u64 {
        let names = self.names.as_ref();
        names.map_or(0, |names| names.vocabulary.bytes())
    }

    /// The shape of the features so far, in the layout that fits the number of active ones. Names need sparse rows, and
    /// so do features that a model has never seen.
    fn shape(&self) -> Shape {
        // In Boolean data an explicit -1 is a bit 0, like an absent value.
        let entries = self.ones + if self.is_real { self.others } else { 0 };
        let shape = Shape {
            n: self.rules.n,
            examples: self.rows(),
            is_real: self.is_real,
            entries: None,
            // The limit on bytes is about the features.
            labels: LabelKind::Unlabelled,
        };
        let has_unseen = self.known_n.is_some_and(|known| shape.n > known);
        match self.names.is_some() || has_unseen {
            true => Shape {
                entries: Some(entries),
                ..shape
            },
            false => shape.of_entries(entries),
        }
    }

    fn header(&self, unlabelled: UnlabelledMeans) -> Shape {
        Shape {
            labels: self.labels.kind(unlabelled),
            ..self.shape()
        }
    }

    /// Returns the sample of all rows.
    ///
    /// # Errors
    /// When there is no example or no feature, or when memory or the spool fails.
    pub(crate) fn finish(
        mut self,
        unlabelled: UnlabelledMeans,
    ) -> Result<Parsed<ParsedRows>, Fault> {
        if self.names.as_ref().is_some_and(NamedRow::may_be_empty) {
            // Examples without any name have one feature, which has no name yet.
            self.rules.n = self.rules.n.max(1);
        }
        if self.names.is_some() && self.rules.n == 0 && self.rows() > 0 {
            let detail = "No example has a value or a name; write the values, or say `vocabulary=open` if examples \
                          without any name are meant.";
            return Err(Fault::new(FormatErrorKind::EmptyData, detail));
        }
        self.rules.check_present(self.rows())?;
        let (shape, header) = (self.shape(), self.header(unlabelled));
        if shape.entries.is_none() {
            // So many features are active that the rows are kept in their dense form.
            self.rules.limits.check_n(shape.n)?;
        }
        if let Some(names) = &self.names {
            names.check_used()?;
        }
        let table = self.names.as_ref().and_then(NamedRow::extracted);
        if let Some(names) = self.names.as_ref().filter(|_| self.sorts_names()) {
            memory::need(names.vocabulary.sorting_bytes())?;
        }
        let names = self.names.take().map(|names| match names.are_as_they_come {
            true => (names.vocabulary, None),
            false => {
                let (vocabulary, places) = names.vocabulary.sorted();
                (vocabulary, Some(places))
            }
        });
        let (vocabulary, places) = names.unzip();
        let places = places.flatten();
        let finished = |rules: SampleRules, data| Parsed {
            vocabulary: vocabulary.map(Arc::new),
            table: table.map(Arc::new),
            ..rules.parsed(data, 0.0)
        };
        if self.first > 0 || shape.memory_bytes() > self.budget() {
            self.spill().map_err(Fault::unspooled)?;
        }
        if let Some(spool) = self.spool {
            let spooled = spool.into_rows(header, 0.0, self.labels.recoding(), places.as_ref());
            if let Some(mut rows) = spooled.map_err(Fault::unspooled)? {
                rows.rows_to_raise = self.rows_to_raise;
                return Ok(finished(self.rules, ParsedRows::Spooled(rows)));
            }
        }
        memory::need(shape.memory_bytes())?;
        let rows = self.held.with(header.n, self.is_real);
        let features = Features::Sparse(match places {
            Some(places) => places.of_rows(&rows)?,
            None => rows,
        });
        let features = match header.entries {
            Some(_) => features,
            None => features.packed()?.into(),
        };
        let labels = self.labels.into_labels(header.labels, header.examples);
        let data = ParsedRows::Memory(Data::new(features, labels));
        Ok(finished(self.rules, data))
    }

    /// The bytes that rows may take in memory.
    fn budget(&self) -> u64 {
        let spool = self.spool.as_ref();
        spool.map_or(u64::MAX, |spool| spool.memory_bytes_max)
    }
}
