//! Rows whose encoding is only known after the last of them: the scan of the columns, and the pass that encodes the
//! kept cells.

use halfspace_core::memory::{self, NoMemory};

use super::bare_line::{BareLine, LabelPlace};
use super::cell_buffer::{CellBuffer, Cells, KeptRow};
use super::column_kind::column_kind;
use super::column_scan::{ColumnScan, KeptCell};
use super::columns::{InColumn, TableColumns};
use super::description::FoundColumn;
use super::encoder::Encoder;
use super::fitting::Fitting;
use super::kept_rows::{KeptRows, LABEL_CELLS, label_bytes};
use super::table_column::TableColumn;
use crate::building::label_names::{LabelNames, ReadLabels};
use crate::building::parsed::Parsed;
use crate::building::parsed_rows::ParsedRows;
use crate::cell::{Cell, Content};
use crate::dates::DatePart;
use crate::encoding::{
    CellFeatures, ColumnEncoding, ColumnKind, LabelEncoding, MissingCells, TableEncoding,
};
use crate::error::{Fault, FormatError};
use crate::options::{Header, Options};
use crate::stored::raw_cells::CellWriter;
use crate::stored::spool::Spool;

/// Rows whose encoding is not known yet.
pub(crate) struct TableScan {
    /// The rows before the first cell that is not a number, with the codes of their labels.
    plain: Option<Parsed<ParsedRows>>,
    columns: Vec<ColumnScan>,
    cells: CellBuffer,
    /// The current row with its label at the end: as cells of any form, or as bare codes.
    row: Vec<KeptCell>,
    codes: Vec<u8>,
    spool: Option<Spool>,
}

impl TableScan {
    /// Starts the scan after the rows `plain`, whose values are the columns without the label. `is_respelled` tells
    /// that the text of a number may have been longer than the shortest one.
    ///
    /// # Errors
    /// When a column has too many values, or the rows cannot be read.
    pub(crate) fn new(
        table: &TableColumns,
        options: &Options,
        mut plain: Option<Parsed<ParsedRows>>,
        is_respelled: bool,
        spool: Option<Spool>,
    ) -> Result<Self, FormatError> {
        let scan = |column: &TableColumn| {
            let scan = ColumnScan::new(column.kind, &options.table);
            scan.with_thousands(column.has_thousands)
        };
        let scans = table.columns.iter().map(|column| Ok(scan(column)));
        let mut columns = memory::collect::<_, FormatError>(scans)?;
        let mut number = 0;
        if let Some(plain) = &mut plain {
            let features: Vec<usize> = (0..columns.len())
                .filter(|&at| !table.is_beside(at))
                .collect();
            plain.data.for_each_row(plain.zero_bit_value, |values, _| {
                number += 1;
                for (&at, &value) in features.iter().zip(values) {
                    let pushed = columns[at].push_number(value, number, is_respelled);
                    pushed.map_err(|fault| table.about(at, fault))?;
                }
                Ok(())
            })?;
        }
        let width = columns.len() + LABEL_CELLS;
        memory::need_of::<(KeptCell, u8)>(width)?;
        Ok(Self {
            plain,
            columns,
            cells: CellBuffer::new(width, spool.as_ref().map(Spool::opener)),
            row: Vec::with_capacity(width),
            codes: Vec::with_capacity(width),
            spool,
        })
    }

    /// Declares the values of a column before the first row, whether they occur or not.
    ///
    /// # Errors
    /// When there are too many values.
    pub(crate) fn declare<'v>(
        &mut self,
        table: &TableColumns,
        at: usize,
        values: impl Iterator<Item = &'v [u8]>,
    ) -> Result<(), Fault> {
        if table.columns[at].ignored.is_some() {
            return Ok(());
        }
        let declared = self.columns[at].declare(values);
        declared.map_err(|fault| table.about(at, fault))
    }

    /// Writes the rows before the scan as raw cells. A label is the text of its code.
    ///
    /// # Errors
    /// When the rows cannot be read, or memory or the file fails.
    pub(super) fn write_plain_rows(
        &mut self,
        label: Option<usize>,
        labels: Option<&LabelNames>,
        raw: &mut CellWriter,
    ) -> Result<(), FormatError> {
        let columns = self.columns.len();
        let Some(plain) = &mut self.plain else {
            return Ok(());
        };
        plain
            .data
            .for_each_row(plain.zero_bit_value, |values, code| {
                let text = labels
                    .zip(code)
                    .and_then(|(labels, code)| labels.text(code));
                let mut values = values.iter();
                let cells = (0..columns).map(|at| match (label == Some(at), text) {
                    (true, Some(text)) => Cell::Text(text.as_bytes()),
                    (true, None) => Cell::Missing,
                    (false, _) => values
                        .next()
                        .map_or(Cell::Missing, |value| Cell::Number(*value, None)),
                });
                Ok(raw.row(cells, false)?)
            })
    }

    /// Whether no cell of a column is a word so far.
    pub(crate) fn may_be_numbers(&self, at: usize) -> bool {
        self.columns[at].may_be_numbers()
    }

    /// Keeps row `number`, counted from 1.
    ///
    /// # Errors
    /// The fault and its column.
    pub(crate) fn row<'c>(
        &mut self,
        table: &TableColumns,
        number: u64,
        cell: &impl Fn(usize) -> Cell<&'c [u8]>,
        label: Option<u32>,
    ) -> Result<(), InColumn> {
        self.row.clear();
        for (at, scan) in self.columns.iter_mut().enumerate() {
            let column = &table.columns[at];
            if column.ignored.is_some() || table.is_beside(at) {
                self.row.push(KeptCell::Code(0));
                continue;
            }
            let cell = cell(at);
            if let Cell::Text(text) = cell
                && let Some(code) = scan.push_known(text)
            {
                self.row.push(KeptCell::Code(code));
                continue;
            }
            let kept = scan.push(&cell, number);
            self.row
                .push(kept.map_err(|fault| (at, table.about(at, fault)))?);
        }
        self.row.extend(label_bytes(label).map(KeptCell::Code));
        let pushed = self.cells.push(&self.row).map_err(Fault::unspooled);
        let pushed = pushed.and_then(|()| Ok(memory::check()?));
        pushed.map_err(|fault| (0, fault))
    }

    /// Sets a row whose `n` cells next to the label are letters or digits that have occurred before. Returns false if
    /// the line is not such a row.
    pub(crate) fn set_letters(&mut self, line: &BareLine<'_>, n: usize, place: LabelPlace) -> bool {
        let Some(letters) = line.letters(n) else {
            return false;
        };
        self.codes.clear();
        let first = usize::from(place == LabelPlace::First);
        self.codes.resize(first, 0);
        let columns = &self.columns[first..first + n];
        let codes = columns.iter().zip(letters);
        self.codes
            .extend(codes.map_while(|(column, letter)| column.code_of(letter)));
        if self.codes.len() < first + n {
            return false;
        }
        self.codes.resize(self.columns.len(), 0);
        true
    }

    /// Keeps the row of [`Self::set_letters`].
    ///
    /// # Errors
    /// When memory or the file fails.
    pub(crate) fn end_letters(&mut self, label: Option<u32>) -> Result<(), Fault> {
        self.codes.extend(label_bytes(label));
        let pushed = self.cells.push_codes(&self.codes);
        pushed.map_err(Fault::unspooled)
    }

    /// Refuses a first row of names if it may be an example, because each name is also a value of its column.
    fn check_header(&self, table: &TableColumns) -> Result<(), Fault> {
        let is_value = |at: usize| {
            let mut values = self.columns[at].values.iter();
            values.any(|value| *value.text == *table.columns[at].name)
        };
        if table.features().next().is_none() || table.features().any(|at| !is_value(at)) {
            return Ok(());
        }
        Err(TableColumns::header_in_doubt())
    }

    /// Returns the encoded sample and its encoding.
    ///
    /// # Errors
    /// When a column does not have the stated kind, or a limit is exceeded.
    pub(crate) fn finish(
        mut self,
        table: &TableColumns,
        options: &Options,
        labels: Option<(ReadLabels, LabelEncoding)>,
        mut missing: MissingCells,
    ) -> Result<(Parsed<ParsedRows>, TableEncoding), FormatError> {
        if table.has_header && options.header == Header::Auto {
            self.check_header(table)?;
        }
        let mut cells = self.cells.finish().map_err(Fault::unspooled)?;
        count_mixed(&mut self.columns, &mut cells)?;
        for at in table.features() {
            let settled = self.columns[at].settle();
            settled.map_err(|fault| table.about(at, fault))?;
        }
        let mut kinds = Vec::new();
        for at in table.features() {
            let scan = &self.columns[at];
            let coding = options.table.number_coding();
            let found = column_kind(scan, table.columns[at].kind, coding);
            let found = found.map_err(|fault| table.about(at, fault))?;
            missing.cells += scan.missing().0;
            let parts = found.parts.iter().copied().map(Some);
            let whole = found.parts.is_empty().then_some(None);
            for part in parts.chain(whole) {
                let column = FoundColumn {
                    at,
                    part,
                    kind: found.kind.clone(),
                    // Only the year says that a date is missing.
                    missing: found.missing && part.is_none_or(|part| part == DatePart::Year),
                    written: scan.written(),
                    scale: None,
                    fill: None,
                };
                memory::push(&mut kinds, column)?;
            }
        }
        let mut rows = KeptRows {
            beside: table.beside(),
            plain: self.plain.take(),
            cells,
            columns: self.columns.len(),
        };
        let fitting = Fitting {
            table,
            scans: &self.columns,
            rows: &mut rows,
        };
        fitting.fit(&mut kinds, options)?;
        let (read, label) = labels.unzip();
        let encoding = table.describe(label, kinds, missing)?;
        let mut encoder = Encoder::new(encoding, options, self.spool.as_ref().map(Spool::fork))?;
        let columns = encoder.encoding.columns.iter();
        let columns = columns.map(|column| Ok(CodedColumn::new(column, &self.columns)));
        let columns = memory::collect::<_, FormatError>(columns)?;
        let bits = CodedBits::of(&columns)?.filter(|_| !encoder.is_real());
        rows.for_each(|row, label| {
            match (&bits, row) {
                (Some(bits), KeptRow::Codes(codes)) => encoder.put_bits(bits.of_row(codes)),
                _ => {
                    let features = columns.iter().filter_map(|column| column.features(row));
                    features.for_each(|features| encoder.put(features));
                }
            }
            Ok(encoder.end_row(read.as_ref().map(|_| label))?)
        })?;
        Ok(encoder.finish(options, read)?)
    }
}

/// Counts the cells of each value in the columns of numbers and other texts.
fn count_mixed(columns: &mut [ColumnScan], cells: &mut Cells) -> Result<(), FormatError> {
    let mixed = columns
        .iter()
        .enumerate()
        .filter(|(_, scan)| scan.is_mixed());
    let mixed = mixed.map(|(at, scan)| (at, vec![0; scan.values.len()]));
    let mut mixed: Vec<(usize, Vec<u64>)> = mixed.collect();
    if mixed.is_empty() {
        return Ok(());
    }
    cells.for_each_row(|row| {
        for (at, counts) in &mut mixed {
            if let KeptCell::Code(code) = row.cell(*at) {
                counts[usize::from(code)] += 1;
            }
        }
        Ok::<(), FormatError>(())
    })?;
    for (at, counts) in mixed {
        columns[at].recount(&counts);
    }
    Ok(())
}

/// A column of the encoding with the features of each code, so that most cells need only one look-up.
struct CodedColumn {
    column: ColumnEncoding,
    codes: Vec<Option<CellFeatures>>,
}

impl CodedColumn {
    fn new(column: &ColumnEncoding, scans: &[ColumnScan]) -> Self {
        let values = scans[column.place()].values.iter();
        let codes = values.map(|value| {
            let text = Cell::Text(value.text.as_bytes());
            column.encode(value.content, &text).ok()
        });
        Self {
            codes: codes.collect(),
            column: column.clone(),
        }
    }

    fn features(&self, row: KeptRow<'_>) -> Option<CellFeatures> {
        match row.cell(self.column.place()) {
            KeptCell::Code(code) => self.codes[usize::from(code)],
            KeptCell::Number(number) if number.is_nan() => {
                self.column.encode(Content::Missing, &Cell::Missing).ok()
            }
            KeptCell::Number(number) => match self.column.kind {
                ColumnKind::Number | ColumnKind::Thermometer { .. } => {
                    Some(self.column.encode_number(number))
                }
                _ => self
                    .column
                    .encode(Content::Number(number), &Cell::Number(number, None))
                    .ok(),
            },
        }
    }
}

/// The features of all codes of a table, if each cell has at most one feature.
struct CodedBits {
    /// For each column its position in the row and its first entry in `bits`.
    columns: Vec<(usize, usize)>,
    /// The feature of each code, and 1 if it is to be set, otherwise 0.
    bits: Vec<(u32, u32)>,
}

impl CodedBits {
    /// Returns `None` if a cell may have several features.
    fn of(columns: &[CodedColumn]) -> Result<Option<Self>, NoMemory> {
        let mut coded = Self {
            columns: Vec::new(),
            bits: Vec::new(),
        };
        for column in columns {
            let place = (column.column.place(), coded.bits.len());
            memory::push(&mut coded.columns, place)?;
            for features in &column.codes {
                let bit = match features {
                    Some(CellFeatures::Ones { from, count: 1 }) => (*from, 1),
                    // The first feature of the column stands for none: it exists, but is not set.
                    None | Some(CellFeatures::Ones { count: 0, .. }) => {
                        (column.column.features[0], 0)
                    }
                    Some(_) => return Ok(None),
                };
                memory::push(&mut coded.bits, bit)?;
            }
        }
        Ok(Some(coded))
    }

    /// The features of a row, each with 1 if it is to be set, otherwise 0.
    fn of_row(&self, codes: &[u8]) -> impl Iterator<Item = (u32, u32)> {
        let columns = self.columns.iter();
        columns.map(|&(place, from)| self.bits[from + usize::from(codes[place])])
    }
}
