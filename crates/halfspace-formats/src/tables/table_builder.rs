//! Rows of a table on their way to examples: the roles of the columns, the pass that finds the encoding, and the pass
//! that applies it.

use std::io;

use super::cell::{Cell, DecimalMark};
use super::cell_buffer::{CellBuffer, Cells};
use super::column_scan::{ColumnScan, KeptCell};
use super::encoding::{
    CellFeatures, ColumnEncoding, ColumnKind, IgnoredColumn, LabelEncoding, MISSING_NAME,
    MissingCells, NoFeatures, TableEncoding,
};
use super::label_scan::{LabelScan, ReadLabels};
use super::options::{KindName, Missing, Numbers, TableOptions, Unknown};
use super::thresholds::{PASSES, QuantileSearch};
use crate::building::parsed_rows::ParsedRows;
use crate::building::sample_builder::SampleBuilder;
use crate::error::{Fault, FormatError, FormatErrorKind, Place, excerpt};
use crate::stored::spool::Spool;
use crate::text::numbers::parse_number;
use crate::{LabelsColumn, Options, Parsed, RowsKind};

/// Names of columns that hold the labels if the request names no column.
const LABEL_NAMES: [&str; 4] = ["label", "class", "target", "y"];

/// A fault and the column of the table that it is about, from 0.
pub(crate) type InColumn = (usize, Fault);

/// A table under construction.
pub(crate) struct TableBuilder<'o> {
    options: &'o Options,
    columns: Vec<TableColumn>,
    has_header: bool,
    /// The label column, from 0.
    label: Option<usize>,
    labels: LabelScan,
    rows: u64,
    rows_dropped: u64,
    stage: Stage,
}

/// A column of the table.
struct TableColumn {
    name: String,
    /// The reason why the column is no feature.
    ignored: Option<&'static str>,
    kind: Option<KindName>,
    /// The number that the next cell has if the column counts the rows. Only for columns without a name.
    counts: Option<u64>,
}

/// The form in which the rows are kept.
enum Stage {
    /// All cells so far are numbers, and the numbers are the features.
    Plain(SampleBuilder),
    /// The kinds of the columns are open.
    Scanned(Box<Scanned>),
    /// The encoding is given.
    Encoded(Box<Encoder>),
}

struct Scanned {
    /// The rows before the first cell that is no number, with the codes 0 and 1 of their labels as labels.
    plain: Option<ParsedRows>,
    plain_rows: u64,
    columns: Vec<ColumnScan>,
    cells: CellBuffer,
    /// The row being read, the label last.
    row: Vec<KeptCell>,
    spool: Option<Spool>,
}

/// Adds encoded rows to a sample.
struct Encoder {
    encoding: TableEncoding,
    /// The column of the table, from 0, for each column of the encoding.
    places: Vec<usize>,
    builder: SampleBuilder,
    is_real: bool,
    /// The values of a real row.
    values: Vec<f64>,
}

impl<'o> TableBuilder<'o> {
    /// Starts a table of `columns` columns with these names, if it has names.
    ///
    /// # Errors
    /// When an option names no column, or when the label column is open.
    pub(crate) fn new(
        options: &'o Options,
        names: Option<Vec<String>>,
        columns: usize,
        spool: Option<Spool>,
    ) -> Result<Self, Fault> {
        let table = &options.table;
        let has_header = names.is_some();
        let names = names.unwrap_or_else(|| (1..=columns).map(|number| format!("column_{number}")).collect());
        let mut columns: Vec<TableColumn> = names.into_iter().map(TableColumn::of).collect();
        let label = label_column(&columns, has_header, options)?;
        for name in &table.ignore {
            let at = find_column(&columns, name, "ignore")?;
            columns[at].ignored = Some("the request ignores it");
        }
        for (name, kind) in &table.kinds {
            let column = &mut columns[find_column_mut(&columns, name)?];
            match kind {
                KindName::Ignored => column.ignored = Some("the request ignores it"),
                kind => column.kind = Some(*kind),
            }
        }
        if let Some(label) = label {
            columns[label].ignored = None;
            columns[label].counts = None;
        }
        if !has_header {
            columns.iter_mut().for_each(|column| column.counts = None);
        }
        let like = table.encoding.as_deref().and_then(|encoding| encoding.label.as_ref());
        let labels = LabelScan::new(table.positive.as_deref(), like);
        let mut builder = Self {
            options,
            columns,
            has_header,
            label,
            labels,
            rows: 0,
            rows_dropped: 0,
            stage: Stage::Plain(SampleBuilder::dense(&options.limits, options.n, None)?),
        };
        builder.stage = builder.first_stage(spool)?;
        Ok(builder)
    }

    fn first_stage(&self, spool: Option<Spool>) -> Result<Stage, Fault> {
        let table = &self.options.table;
        if let Some(encoding) = &table.encoding {
            let places = self.places(encoding)?;
            let encoder = Encoder::new(encoding.as_ref().clone(), places, self.options, spool)?;
            return Ok(Stage::Encoded(Box::new(encoder)));
        }
        let is_plain = |column: &TableColumn| column.kind.is_none() && column.ignored.is_none() && column.counts.is_none();
        if table.numbers == Numbers::Real && self.columns.iter().all(is_plain) {
            let builder = SampleBuilder::dense(&self.options.limits, self.options.n, spool)?;
            return Ok(Stage::Plain(builder.of_kind(self.options.values)?));
        }
        Ok(Stage::Scanned(Box::new(self.scanned(None, spool)?)))
    }

    /// Reads a row of as many cells as the table has columns. `place` returns the place of a column.
    ///
    /// # Errors
    /// The fault and its column.
    pub(crate) fn row<'c>(
        &mut self,
        cell: impl Fn(usize) -> &'c [u8],
        place: impl Fn(usize) -> Place,
    ) -> Result<(), InColumn> {
        self.rows += 1;
        if self.options.table.missing.is_some() && self.drops(&cell)? {
            self.rows_dropped += 1;
            return Ok(());
        }
        let label = match self.label {
            Some(at) => Some(self.labels.push(cell(at)).map_err(|fault| (at, fault))?),
            None => None,
        };
        if matches!(self.stage, Stage::Plain(_)) && !self.plain_row(&cell, label, place)? {
            self.scan_from_here().map_err(|fault| (0, fault))?;
        } else if matches!(self.stage, Stage::Plain(_)) {
            return Ok(());
        }
        match &mut self.stage {
            Stage::Plain(_) => Ok(()),
            Stage::Scanned(scanned) => scanned.row(&mut self.columns, self.label, self.rows, &cell, label),
            Stage::Encoded(encoder) => encoder.row(self.options, &self.columns, self.rows, &cell, label),
        }
    }

    /// Whether a missing cell leaves the row out.
    fn drops<'c>(&self, cell: &impl Fn(usize) -> &'c [u8]) -> Result<bool, InColumn> {
        let counts = |column: usize| self.columns[column].ignored.is_none();
        let mut missing = (0..self.columns.len())
            .filter(|&column| counts(column) && Cell::of(cell(column), DecimalMark::Point) == Cell::Missing);
        match (missing.next(), self.options.table.missing) {
            (Some(_), Some(Missing::Drop)) => Ok(true),
            (Some(column), Some(Missing::Refuse)) => {
                let detail = format!(
                    "The cell of column {} in row {} is missing; `missing=drop` leaves such rows out.",
                    self.shown(column),
                    self.rows
                );
                Err((column, Fault::new(FormatErrorKind::BadValue, detail)))
            }
            _ => Ok(false),
        }
    }

    fn shown(&self, column: usize) -> String {
        shown(&self.columns[column].name, column)
    }

    /// Reads a row whose cells are numbers. Returns false, and forgets the row, at another cell.
    fn plain_row<'c>(
        &mut self,
        cell: &impl Fn(usize) -> &'c [u8],
        label: Option<u8>,
        place: impl Fn(usize) -> Place,
    ) -> Result<bool, InColumn> {
        let Stage::Plain(builder) = &mut self.stage else {
            return Ok(false);
        };
        for column in 0..self.columns.len() {
            if self.label == Some(column) {
                continue;
            }
            let text = cell(column);
            // A leading zero may belong to a code such as 007, whose spelling must be kept.
            let is_code = matches!(text, [b'0', b'0'..=b'9', ..]);
            let Ok(value) = parse_number(text) else {
                builder.forget_row();
                return Ok(false);
            };
            if is_code {
                builder.forget_row();
                return Ok(false);
            }
            if builder.value(value).map_err(|fault| (column, fault))? {
                builder.note_first_real(place(column));
            }
        }
        let label = label.map(|code| code == 1);
        builder.end_row(label).map_err(|fault| (0, fault))?;
        Ok(true)
    }

    /// Keeps cells by their values from this row on.
    fn scan_from_here(&mut self) -> Result<(), Fault> {
        let unused = SampleBuilder::dense(&self.options.limits, None, None)?;
        let Stage::Plain(builder) = std::mem::replace(&mut self.stage, Stage::Plain(unused)) else {
            return Ok(());
        };
        let spool = builder.spool();
        let plain = match builder.rows() {
            0 => None,
            _ => Some(builder.finish(self.options.unlabelled)?.data),
        };
        self.stage = Stage::Scanned(Box::new(self.scanned(plain, spool)?));
        Ok(())
    }

    fn scanned(&self, mut plain: Option<ParsedRows>, spool: Option<Spool>) -> Result<Scanned, Fault> {
        let decimal = self.options.table.decimal;
        let mut columns: Vec<ColumnScan> =
            self.columns.iter().map(|column| ColumnScan::new(column.kind, decimal)).collect();
        let features: Vec<usize> = (0..columns.len()).filter(|&column| self.label != Some(column)).collect();
        let mut plain_rows = 0;
        if let Some(plain) = &mut plain {
            plain.for_each_values(|values, _| {
                plain_rows += 1;
                let cells = features.iter().zip(values);
                cells.into_iter().try_for_each(|(&column, &value)| {
                    let pushed = columns[column].push_number(value, plain_rows);
                    pushed.map(|_| ()).map_err(|fault| about(&self.columns[column].name, column, fault))
                })
            })?;
        }
        let open = spool.as_ref().map(Spool::opener);
        Ok(Scanned {
            plain,
            plain_rows,
            cells: CellBuffer::new(columns.len() + 1, open),
            row: Vec::with_capacity(columns.len() + 1),
            columns,
            spool,
        })
    }

    /// Returns the sample of all rows.
    ///
    /// # Errors
    /// When the kinds or the labels are open, when there is no row, or when a limit is exceeded.
    pub(crate) fn finish(self) -> Result<Parsed<ParsedRows>, FormatError> {
        let labels = self.label.map(|at| (at, self.columns[at].name.clone()));
        let read = match &labels {
            Some(_) if self.rows > self.rows_dropped => Some(self.labels.finish()?),
            _ => None,
        };
        let label = labels.zip(read.as_ref()).map(|((at, column), read)| LabelEncoding {
            column,
            index: at as u32 + 1,
            positive: read.positive.clone(),
            negative: read.negative.clone(),
        });
        let described = Described {
            columns: &self.columns,
            label_at: self.label,
            label,
            header: self.has_header,
            rows_dropped: self.rows_dropped,
            treatment: self.options.table.missing.unwrap_or_default(),
        };
        let class_names = read.as_ref().and_then(ReadLabels::class_names);
        let (mut parsed, encoding) = match self.stage {
            Stage::Plain(builder) => {
                let flips = read.as_ref().is_some_and(|read| read.is_positive.first() == Some(&true));
                let parsed = builder.finish_labelled(self.options.unlabelled, flips)?;
                let encoding = described.plain(parsed.data.header().kind, parsed.zero_bit_value);
                (parsed, encoding)
            }
            Stage::Scanned(scanned) => scanned.finish(self.options, described, read.as_ref())?,
            Stage::Encoded(encoder) => {
                let encoding = TableEncoding {
                    label: described.label,
                    missing: MissingCells {
                        rows_dropped: self.rows_dropped,
                        ..encoder.encoding.missing
                    },
                    ..encoder.encoding
                };
                (encoder.builder.finish(self.options.unlabelled)?, encoding)
            }
        };
        if self.has_header || !encoding.is_plain() {
            parsed.feature_names = Some(encoding.feature_names());
        }
        parsed.class_names = class_names;
        parsed.table = Some(Box::new(encoding));
        Ok(parsed)
    }
}
