//! Builds examples from the rows of a table.
//!
//! If an encoding is given, each row is encoded at once. Otherwise the cells are taken for numbers that are the
//! features, unless the request rules that out. The first cell that is no number starts a scan, which finds the
//! encoding at the end.

mod bare_rows;
mod declared_values;
mod raw_rows;
mod typed_rows;
mod weighted_rows;

use std::sync::Arc;

use halfspace_core::memory;

use super::bare_line::LabelPlace;
use super::columns::{InColumn, TableColumns};
use super::missing_rule::{MissingRule, TakenWords, none_left};
use super::named_table;
use crate::cell::{Cell, missing_number};
use crate::encoding::{
    DESCRIPTION_BYTES_MAX, LabelEncoding, Missing, MissingCells, NoFeatures, TableEncoding,
};

use super::header::decided;
use super::plain_rows::{PlainRows, low_values, plain_row};
use super::preview::Preview;
use super::scan::TableScan;
use super::stage::Stage;
use crate::building::label_names::{LabelNames, ReadLabels};
use crate::building::parsed::Parsed;
use crate::building::parsed_rows::ParsedRows;
use crate::building::sample_builder::SampleBuilder;
use crate::building::weight_column::WeightColumn;
use crate::encoding::options::{Numbers, Scaling, Unknown};
use crate::error::{Fault, FormatError, FormatErrorKind, Place};
use crate::numbers::{DecimalMark, NumberFault};
use crate::options::{LabelsColumn, Options};
use crate::stored::raw_cells::CellWriter;
use crate::stored::spool::Spool;

/// A table under construction.
pub(crate) struct TableBuilder<'o> {
    options: &'o Options,
    preview: Option<&'o Preview>,
    table: TableColumns,
    /// None if labels are ignored.
    labels: Option<LabelNames>,
    weights: WeightColumn,
    rows: u64,
    rows_dropped: u64,
    stage: Stage,
    /// The columns that may turn out to have no features.
    open: Vec<usize>,
    missing: Arc<MissingRule>,
    taken: TakenWords,
    /// Writes the cells, if somebody needs them.
    raw: Option<CellWriter>,
    /// Where the label is, if all other columns are features in their order and no preview needs the cells.
    label_place: Option<LabelPlace>,
    /// The columns that a given encoding reads, in ascending order.
    encoded: Vec<usize>,
    /// The numbers or the bits of a line. The buffers are reused.
    values: Vec<f64>,
    words: Vec<u64>,
}

impl<'o> TableBuilder<'o> {
    /// Checks the options that do not depend on the columns.
    ///
    /// # Errors
    /// When n is 0 or over the limit, or when the options contradict each other.
    pub(crate) fn check(options: &Options) -> Result<(), Fault> {
        if options.labels == Some(LabelsColumn::Appended) {
            let detail = "`labels=appended` is for octets only. Name the column of the labels, as in `labels=class`.";
            return Err(Fault::new(FormatErrorKind::BadOption, detail));
        }
        if options.table.unknown != Unknown::Refuse && options.table.encoding.is_none() {
            let detail = "The option `unknown` is only for a table with a given `encoding`. Other tables have a \
                          feature for each value. Omit the option.";
            return Err(Fault::new(FormatErrorKind::BadOption, detail));
        }
        if options.table.bins.is_some() && options.table.numbers == Numbers::Real {
            let detail =
                "The option `bins` is for `numbers=thermometer` only. Set both, or omit `bins`.";
            return Err(Fault::new(FormatErrorKind::BadOption, detail));
        }
        if options.table.scale != Scaling::None && options.table.numbers != Numbers::Real {
            let detail = "The option `scale` is for `numbers=real` only: thermometers do not depend on it. Omit one of \
                          them.";
            return Err(Fault::new(FormatErrorKind::BadOption, detail));
        }
        if options.table.is_fitted() && options.table.encoding.is_some() {
            let detail = "The given encoding says how numbers are scaled and what fills missing cells. Omit `scale`, \
                          and let `missing` be absent, `drop` or `refuse`.";
            return Err(Fault::new(FormatErrorKind::BadOption, detail));
        }
        if options.open_vocabulary {
            named_table::check(options)?;
        }
        SampleBuilder::new(&options.limits, options.n, None).map(drop)
    }

    /// Starts a table of `columns` columns with these names, if it has names. `place` is the place of the first row.
    ///
    /// # Errors
    /// When an option names no column of the table, or when nothing tells the label column. With a preview these are
    /// no errors, because it still reads the rows.
    pub(crate) fn new(
        options: &'o Options,
        names: Option<Vec<String>>,
        columns: usize,
        place: Option<Place>,
        spool: Option<Spool>,
        preview: Option<&'o Preview>,
    ) -> Result<Self, FormatError> {
        let request = &options.table;
        let mut table = TableColumns::named(names, columns)?;
        let assigned = table.assign(options.labels.as_ref(), request);
        if let Some(preview) = preview {
            preview.begin(&table, options);
        }
        let like = request
            .encoding
            .as_deref()
            .and_then(|encoding| encoding.label.as_ref());
        let opener = spool.as_ref().map(Spool::workbook_opener);
        let raw = options.cells.as_ref();
        let raw = raw.map(|keeper| CellWriter::new(keeper, opener));
        let stage = assigned
            .map_err(FormatError::from)
            .and_then(|()| Stage::of(&table, options, spool));
        let mut builder = Self {
            raw,
            open: Vec::new(),
            missing: Arc::default(),
            taken: TakenWords::default(),
            options,
            preview,
            labels: LabelNames::new(options, like)?,
            weights: WeightColumn::default(),
            table,
            rows: 0,
            rows_dropped: 0,
            stage: Stage::Refused,
            label_place: None,
            encoded: Vec::new(),
            values: Vec::new(),
            words: Vec::new(),
        };
        match stage {
            Ok(stage) => {
                memory::need_of::<usize>(stage.encoded().len())?;
                builder.encoded = stage.encoded().to_vec();
                builder.encoded.sort_unstable();
                builder.stage = stage;
                builder.open = builder.table.open()?;
                builder.missing = Arc::new(builder.missing_rule()?);
                builder.label_place = builder.direct_place();
            }
            Err(error) => builder.refuse(FormatError {
                place: error.place.or(place),
                ..error
            })?,
        }
        Ok(builder)
    }

    fn missing_rule(&self) -> Result<MissingRule, Fault> {
        let options = &self.options.table;
        let given = options.encoding.iter().flat_map(|given| &given.columns);
        let encoded = self.stage.encoded().iter().copied().zip(given);
        let reads = |at| self.table.is_beside(at) || self.reads(at);
        MissingRule::new(&self.table, options, encoded, reads)
    }

    /// Whether a text is declared a missing cell.
    pub(crate) fn declares_missing(&self, text: &[u8]) -> bool {
        self.missing.declares(text)
    }

    /// Refuses the table. With a preview, reading continues with the next row.
    ///
    /// # Errors
    /// The error, unless a preview keeps it.
    pub(crate) fn refuse(&mut self, error: FormatError) -> Result<(), FormatError> {
        self.stage = Stage::Refused;
        match self.preview {
            Some(preview) => preview.refuse(error),
            None => Err(error),
        }
    }

    /// The label column, from 0.
    pub(crate) fn label(&self) -> Option<usize> {
        self.table.label
    }

    /// Reads a row of as many cells as the table has columns. `place` returns the place of a column.
    ///
    /// # Errors
    /// The fault with its place.
    pub(crate) fn row<'c>(
        &mut self,
        cell: impl Fn(usize) -> Cell<&'c [u8]>,
        place: impl Fn(usize) -> Place,
    ) -> Result<(), FormatError> {
        for at in 0..self.table.columns.len() {
            if let Some(reason) = cell(at).refusal()
                && self.reads(at)
            {
                self.refuse_cell(at, &reason, place(at))?;
            }
        }
        self.sound_row(cell, place)
    }

    /// Reads a row of a format without types, which has no values that a table cannot hold.
    ///
    /// # Errors
    /// The fault with its place.
    pub(crate) fn text_row<'c>(
        &mut self,
        text: impl Fn(usize) -> &'c [u8],
        place: impl Fn(usize) -> Place,
    ) -> Result<(), FormatError> {
        self.sound_row(|at| Cell::Text(text(at)), place)
    }

    /// Reads a row like [`Self::row`], but only the columns in `given`, which ascend. In a plain table the other
    /// cells are 0.
    ///
    /// # Errors
    /// The fault with its place.
    pub(crate) fn sparse_row<'c>(
        &mut self,
        given: &[usize],
        cell: impl Fn(usize) -> Cell<&'c [u8]>,
        place: impl Fn(usize) -> Place,
    ) -> Result<(), FormatError> {
        // The columns of a given encoding need not be in ascending order.
        let is_ordered =
            self.options.table.encoding.is_none() || matches!(self.stage, Stage::Named(_));
        let given = Some(given).filter(|_| is_ordered);
        let read = self.read_row(given, cell, place);
        read.or_else(|error| self.refuse(error))
    }

    fn read_row<'c>(
        &mut self,
        given: Option<&[usize]>,
        cell: impl Fn(usize) -> Cell<&'c [u8]>,
        place: impl Fn(usize) -> Place,
    ) -> Result<(), FormatError> {
        let placed = |(at, fault): InColumn| fault.placed(Some(place(at)));
        memory::check()?;
        let (rule, found) = (Arc::clone(&self.missing), cell);
        let cell = |at: usize| rule.read(at, found(at));
        self.rows += 1;
        self.watch(&cell).map_err(placed)?;
        let is_left_out = self.leaves_out(&cell);
        let cells = (0..self.table.columns.len()).map(&found);
        let is_written = self.write_raw(cells, matches!(is_left_out, Ok(true)))?;
        if let Some(preview) = self.preview {
            preview.row(&cell, matches!(is_left_out, Ok(true)));
        }
        if is_left_out.map_err(placed)? {
            self.rows_dropped += 1;
            return Ok(());
        }
        if matches!(self.stage, Stage::Refused) {
            return Ok(());
        }
        let label = self
            .labels
            .as_mut()
            .zip(self.table.label)
            .map(|(labels, at)| {
                let read = labels.push(&cell(at).spelling());
                read.map_err(|fault| placed((at, fault)))
            });
        let label = label.transpose()?;
        self.read_weight(&cell).map_err(placed)?;
        if let Stage::Plain(plain) = &mut self.stage {
            let read = match given {
                None => plain_row(plain, None, &cell, label, &place),
                Some(given) => {
                    let feature = |&at: &usize| Some((plain.columns.binary_search(&at).ok()?, at));
                    let given: Vec<_> = given.iter().filter_map(feature).collect();
                    plain_row(plain, Some(&given), &cell, label, &place)
                }
            };
            let Some(feature) = read.map_err(placed)? else {
                return Ok(());
            };
            let at = plain.columns[feature];
            plain.builder.forget_row();
            if let Some(fault) = self.no_number(feature, at, &cell(at)) {
                return Err(placed((at, fault)));
            }
            self.scan()?;
            if !is_written {
                let cells = (0..self.table.columns.len()).map(&found);
                self.write_raw(cells, false)?;
            }
        }
        let (table, number) = (&mut self.table, self.rows);
        let read = match &mut self.stage {
            Stage::Scan(scan) => scan.row(table, number, &cell, label),
            Stage::Encoded(encoder, places) => {
                encoder.row(table, places, self.options, number, &cell, label)
            }
            Stage::Named(named) => {
                let context = (&*table, self.options, number);
                named.row(context, given, &cell, label, &place)
            }
            Stage::Plain(_) | Stage::Refused => Ok(()),
        };
        read.map_err(placed)
    }

    /// The fault of a cell that must be a number under the given encoding, if an encoding is given.
    fn no_number(&self, feature: usize, at: usize, cell: &Cell<&[u8]>) -> Option<Fault> {
        let text = &cell.spelling();
        if self.options.table.numbers_only {
            let fault = cell.number().err().unwrap_or(NumberFault::NotANumber);
            return Some(fault.of_value(text));
        }
        let column = &self.options.table.encoding.as_ref()?.columns[feature];
        let why = column.encode(cell.content(DecimalMark::Point), cell);
        let why = why.err().unwrap_or(NoFeatures::NotANumber);
        Some(why.fault(&self.table.columns[at].name, self.rows, text))
    }

    /// Watches the columns that may turn out to have no features.
    fn watch<'c>(&mut self, cell: &impl Fn(usize) -> Cell<&'c [u8]>) -> Result<(), InColumn> {
        if self.open.is_empty() {
            return Ok(());
        }
        for &at in &self.open {
            let was_empty = self.table.columns[at].is_empty();
            let column = &mut self.table.columns[at];
            column.watch(&cell(at));
            if was_empty && !column.is_empty() && self.missing.deciding().next().is_some() {
                let detail = format!("has no name, and no value before row {}", self.rows);
                let fault = Fault::new(FormatErrorKind::TableOption, detail);
                return Err((at, self.table.about(at, fault)));
            }
        }
        let (columns, before) = (&self.table.columns, self.open.len());
        self.open.retain(|&at| columns[at].is_open());
        let is_plain = matches!(self.stage, Stage::Plain(_));
        let is_feature = |&at: &usize| self.table.columns[at].no_feature().is_none();
        if is_plain && !self.open.iter().all(is_feature) {
            self.scan().map_err(|error| (0, error.unplaced()))?;
        }
        // While we do not know this of some column, rows are read cell by cell. The check of all columns is not
        // repeated for each row.
        if self.open.len() < before {
            self.label_place = self.direct_place();
        }
        Ok(())
    }

    /// Whether the cells of a column are read.
    pub(crate) fn reads(&self, at: usize) -> bool {
        match &self.stage {
            Stage::Encoded(..) | Stage::Plain(_) if self.options.table.encoding.is_some() => {
                self.table.is_beside(at) || self.encoded.binary_search(&at).is_ok()
            }
            _ => self.table.columns[at].ignored.is_none(),
        }
    }

    /// Refuses a cell that a table cannot hold. `reason` continues a sentence about the column.
    ///
    /// # Errors
    /// As for [`Self::refuse`].
    fn refuse_cell(&mut self, at: usize, reason: &str, place: Place) -> Result<(), FormatError> {
        let fault = Fault::new(FormatErrorKind::BadValue, reason);
        if let Some(preview) = self.preview {
            preview.refuse_column(at, &fault);
        }
        let fault = self.table.about(at, fault);
        self.refuse(fault.placed(Some(place)))
    }

    /// Whether the row is left out because of a missing cell. While no cell of a column was a word, the words that
    /// mean a missing cell among numbers do so.
    fn leaves_out<'c>(
        &mut self,
        cell: &impl Fn(usize) -> Cell<&'c [u8]>,
    ) -> Result<bool, InColumn> {
        let missing = self.options.table.missing;
        let counts = |&at: &usize| !self.table.columns[at].is_empty();
        let taken = |at: usize| match cell(at) {
            Cell::Text(text) if self.may_be_numbers(at) => missing_number(text),
            _ => None,
        };
        let mut columns = self.missing.deciding().filter(counts);
        match columns.find(|&at| cell(at).is_missing() || taken(at).is_some()) {
            None => Ok(false),
            Some(at) if missing == Some(Missing::Drop) => {
                if let Some(word) = taken(at) {
                    self.taken.note(at, self.rows, word);
                }
                Ok(true)
            }
            Some(at) => {
                let fault = Fault::new(
                    FormatErrorKind::BadValue,
                    format!(
                        "has no value in row {}; `missing=drop` leaves such rows out",
                        self.rows
                    ),
                )
                .mended_by("missing", "drop");
                Err((at, self.table.about(at, fault)))
            }
        }
    }

    /// Whether a column may hold numbers, as far as its cells tell by now.
    fn may_be_numbers(&self, at: usize) -> bool {
        self.table.label != Some(at)
            && match &self.stage {
                Stage::Plain(_) => self.options.table.encoding.is_none(),
                Stage::Scan(scan) => scan.may_be_numbers(at),
                Stage::Encoded(..) | Stage::Named(_) | Stage::Refused => false,
            }
    }

    /// Starts the scan with the rows so far.
    fn scan(&mut self) -> Result<(), FormatError> {
        let plain = match std::mem::replace(&mut self.stage, Stage::Refused) {
            Stage::Plain(plain) => plain,
            stage => {
                self.stage = stage;
                return Ok(());
            }
        };
        let PlainRows {
            builder,
            is_respelled,
            ..
        } = *plain;
        let spool = builder.spool().map(Spool::fork);
        let plain = match builder.rows() {
            0 => None,
            _ => Some(builder.finish(self.options.unlabelled)?),
        };
        let mut scan = TableScan::new(&self.table, self.options, plain, is_respelled, spool)?;
        self.begin_raw(&mut scan)?;
        self.stage = Stage::Scan(Box::new(scan));
        Ok(())
    }

    /// Returns the sample of all rows.
    ///
    /// # Errors
    /// When the kinds or the labels remain undecided, when there is no row, or when a limit is exceeded.
    pub(crate) fn finish(mut self) -> Result<Parsed<ParsedRows>, FormatError> {
        self.taken
            .check(&self.table, |at| self.may_be_numbers(at))?;
        if let Some(preview) = self.preview {
            preview.end_table()?;
        }
        if self.rows > 0 && self.rows == self.rows_dropped {
            return Err(none_left(self.rows).into());
        }
        if self.options.table.is_fitted() {
            self.scan()?;
        }
        if let Some(raw) = self.raw.take() {
            raw.finish()?;
        }
        let (mut table, options) = (self.table, self.options);
        let missing = MissingCells {
            treatment: options.table.missing.unwrap_or_default(),
            cells: 0,
            rows_dropped: self.rows_dropped,
            words: self.missing.words().to_vec(),
        };
        let labels = self.labels.zip(table.label);
        let read = match labels.filter(|_| self.rows > self.rows_dropped) {
            Some((labels, at)) => Some((at, decided(labels, at, &table, options.header)?)),
            None => None,
        };
        let label = read.as_ref().map(|(at, read)| LabelEncoding {
            column: table.columns[*at].name.clone(),
            index: *at as u32 + 1,
            classes: read.classes.clone(),
        });
        let read = read.map(|(_, read)| read);
        let (mut parsed, mut encoding) = match self.stage {
            Stage::Plain(plain) => finish_plain(*plain, &table, options, read, label, missing)?,
            Stage::Scan(scan) => scan.finish(&table, options, read.zip(label), missing)?,
            Stage::Encoded(encoder, _) => {
                let (parsed, encoding) = encoder.finish(options, read)?;
                let encoding = TableEncoding {
                    label,
                    weights: table.described_weights(),
                    missing,
                    ..encoding
                };
                (parsed, encoding)
            }
            Stage::Named(named) => named.finish(&mut table, options, read.zip(label), missing)?,
            Stage::Refused => unreachable!("a refused table ended with its error above"),
        };
        let given = options.table.encoding.as_deref();
        let given = given.and_then(|given| given.weights.as_ref());
        if let (None, Some(given)) = (table.weights, given) {
            encoding.leave_out(given);
        }
        let is_listed = !encoding.is_open() && (encoding.header || !encoding.is_plain());
        if is_listed {
            encoding.need_feature_names()?;
            parsed.feature_names = Some(encoding.feature_names());
        }
        parsed.weights = self.weights.finish()?;
        parsed.classes = encoding.label.as_ref().map(|label| label.classes.clone());
        if encoding.description_bytes() <= DESCRIPTION_BYTES_MAX {
            parsed.table = Some(Arc::new(encoding));
        } else if !encoding.is_plain() {
            let detail = format!(
                "The names and values of the columns take more than {DESCRIPTION_BYTES_MAX} bytes; `ignore=COLUMN,..` \
                 leaves columns out."
            );
            return Err(Fault::new(FormatErrorKind::TableOption, detail).into());
        }
        Ok(parsed)
    }
}

/// The sample of rows that are features as they are, and its encoding.
fn finish_plain(
    plain: PlainRows,
    table: &TableColumns,
    options: &Options,
    read: Option<ReadLabels>,
    label: Option<LabelEncoding>,
    missing: MissingCells,
) -> Result<(Parsed<ParsedRows>, TableEncoding), FormatError> {
    let mut builder = plain.builder;
    if let Some(read) = read {
        builder.decide_labels(read);
    }
    let mut parsed = builder.finish(options.unlabelled)?;
    let encoding = match &options.table.encoding {
        None => {
            let lows = low_values(&mut parsed)?;
            table.describe_plain(label, |feature| lows[feature], missing)?
        }
        Some(given) => TableEncoding {
            label,
            weights: table.described_weights(),
            missing,
            ..given.as_ref().clone()
        },
    };
    Ok((parsed, encoding))
}
