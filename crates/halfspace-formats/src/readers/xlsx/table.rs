//! The rows of a sheet as a table: the columns, the header and the merged cells.

use std::ops::Range;

use super::cell_name::letters;
use super::sheet::{SheetReader, SheetRow};
use super::xml::too_long;
use crate::building::parsed::Parsed;
use crate::building::parsed_rows::ParsedRows;
use crate::cell::Cell;
use crate::error::{Fault, FormatError, FormatErrorKind, Place};
use crate::options::Options;
use crate::readers::expansion::Expansion;
use crate::stored::spool::Spool;
use crate::tables::header;
use crate::tables::preview::Preview;
use crate::tables::table_builder::TableBuilder;

/// Reads the table of a sheet, or returns `None` if it has no value.
///
/// # Errors
/// The fault with its place.
pub(super) fn read(
    sheet: &mut SheetReader<'_, '_, '_>,
    options: &Options,
    expansion: Expansion,
    spool: &mut Option<Spool>,
    preview: Option<&Preview>,
) -> Result<Option<Parsed<ParsedRows>>, FormatError> {
    let mut first = SheetRow::default();
    if !sheet.next_row(&mut first)? {
        sheet.for_each_merge(|_, _| Ok(()))?;
        return Ok(None);
    }
    let mut row = SheetRow {
        number: first.number,
        ..SheetRow::default()
    };
    let mut has_row = sheet.next_row(&mut row)?;
    let mut columns = first.columns();
    if has_row {
        let others = row.columns();
        columns = columns.start.min(others.start)..columns.end.max(others.end);
    }
    let mut cells = RowCells::new(sheet.name, columns, options, expansion);
    let mut table = begin(&mut cells, &first, options, spool.take(), preview)?;
    let mut last = first.number;
    while has_row {
        cells.push(&row, &mut table)?;
        last = row.number;
        has_row = sheet.next_row(&mut row)?;
    }
    let (name, columns) = (sheet.name, cells.columns);
    sheet.for_each_merge(|range, [(top, left), (bottom, right)]| {
        let rows = top.max(first.number)..=bottom.min(last);
        let mut merged = left.max(columns.start)..(right + 1).min(columns.end);
        let is_one_cell = top == bottom && left == right;
        if is_one_cell || rows.is_empty() || !merged.any(|at| table.reads(at - columns.start)) {
            return Ok(());
        }
        let detail = format!(
            "The cells {range} are merged, so that all but the first have no value; separate the merged cells of the \
             table and give each cell its value."
        );
        let fault = Fault::new(FormatErrorKind::BadValue, detail);
        Err(fault.placed(Some(Place::in_sheet(name, top, left))))
    })?;
    table.finish().map(Some)
}

/// Starts the table with the first row, which is a header or an example.
fn begin<'o>(
    cells: &mut RowCells<'_>,
    first: &SheetRow,
    options: &'o Options,
    spool: Option<Spool>,
    preview: Option<&'o Preview>,
) -> Result<TableBuilder<'o>, FormatError> {
    let start = Some(cells.place(first, 0));
    let width = cells.columns.len();
    if width > options.limits.n_max.saturating_add(1) {
        let what = "The table has too many columns";
        let fault = Fault::too_large(what, "n_max", options.limits.n_max as u64);
        return Err(fault.placed(start));
    }
    cells.fill(first)?;
    let names = header::names(width, |at| cells.cell(first, at), options)
        .map_err(|(at, fault)| fault.placed(Some(cells.place(first, at))))?;
    let is_header = names.is_some();
    let mut table = TableBuilder::new(options, names, width, start, spool, preview)?;
    if !is_header {
        cells.push(first, &mut table)?;
        return Ok(table);
    }
    let reason = |at| Some((at, cells.cell(first, at).refusal()?));
    if let Some((at, reason)) = (0..width).find_map(reason) {
        let detail = format!("The name of the column {reason}.");
        let fault = Fault::new(FormatErrorKind::BadValue, detail);
        return Err(fault.placed(Some(cells.place(first, at))));
    }
    Ok(table)
}

/// The cells of a row by the columns of the table.
struct RowCells<'a> {
    sheet: &'a str,
    /// The columns of the sheet, from 1.
    columns: Range<usize>,
    /// The cells of a row, whose texts are parts of the row's text.
    cells: Vec<Cell<Range<usize>>>,
    line_bytes_max: usize,
    expansion: Expansion,
}

impl<'a> RowCells<'a> {
    fn new(sheet: &'a str, columns: Range<usize>, options: &Options, expansion: Expansion) -> Self {
        Self {
            sheet,
            columns,
            cells: Vec::new(),
            line_bytes_max: options.limits.line_bytes_max,
            expansion,
        }
    }

    /// The place of a column of the table.
    fn place(&self, row: &SheetRow, at: usize) -> Place {
        Place::in_sheet(self.sheet, row.number, self.columns.start + at)
    }

    fn cell<'r>(&self, row: &'r SheetRow, at: usize) -> Cell<&'r [u8]> {
        self.cells[at].within(&row.text)
    }

    /// Puts the cells of a row into their columns, and counts the bytes of the row as a line.
    fn fill(&mut self, row: &SheetRow) -> Result<(), FormatError> {
        let width = self.columns.len();
        let bytes = row.bytes + width;
        let counted = match bytes > self.line_bytes_max {
            true => Err(too_long(self.line_bytes_max)),
            false => self.expansion.add(bytes as u64),
        };
        counted.map_err(|fault| fault.placed(Some(self.place(row, 0))))?;
        self.cells.clear();
        self.cells.resize(width, Cell::Missing);
        for (column, cell) in &row.cells {
            if !self.columns.contains(column) {
                let detail = format!(
                    "The cell is outside the columns {} to {}, in which the first two rows of the table have values; \
                     name the column in the first row or empty the cell.",
                    letters(self.columns.start),
                    letters(self.columns.end - 1)
                );
                let fault = Fault::new(FormatErrorKind::UnequalLength, detail);
                let place = Place::in_sheet(self.sheet, row.number, *column);
                return Err(fault.placed(Some(place)));
            }
            self.cells[column - self.columns.start] = cell.clone();
        }
        Ok(())
    }

    /// Reads a row of the table.
    fn push(&mut self, row: &SheetRow, table: &mut TableBuilder<'_>) -> Result<(), FormatError> {
        self.fill(row)?;
        table.row(|at| self.cell(row, at), |at| self.place(row, at))
    }
}
