//! The rows of a Parquet file as a table.

use std::collections::HashSet;

use halfspace_core::memory;

use super::column::ColumnCells;
use super::footer::{Footer, RowGroup};
use super::pages::SharedFile;
use super::schema::Column;
use crate::building::parsed::Parsed;
use crate::building::parsed_rows::ParsedRows;
use crate::cell::Cell;
use crate::error::{Fault, FormatError, FormatErrorKind, Place};
use crate::options::Options;
use crate::readers::expansion::Expansion;
use crate::stored::spool::Spool;
use crate::tables::preview::Preview;
use crate::tables::table_builder::TableBuilder;

/// Rows that are decoded at once. Their values fit into the caches of a processor.
const BATCH_ROWS: usize = 1024;

/// Reads the table. `expansion` counts its cells.
///
/// # Errors
/// The fault with its place.
pub(super) fn read(
    footer: &Footer,
    file: &SharedFile,
    mut expansion: Expansion,
    options: &Options,
    spool: Option<Spool>,
    preview: Option<&Preview>,
) -> Result<Parsed<ParsedRows>, FormatError> {
    let columns = &footer.columns;
    let width = columns.len();
    if width > options.limits.n_max.saturating_add(1) {
        let what = "The table has too many columns";
        return Err(Fault::too_large(what, "n_max", options.limits.n_max as u64).into());
    }
    let start = Some(Place::Cell { row: 1, column: 1 });
    let names = Some(names(columns)?);
    let mut table = TableBuilder::new(options, names, width, start, spool, preview)?;
    // A preview shows the columns without a role, too.
    let is_read = |at: usize| preview.is_some() || table.reads(at);
    let reads: Vec<bool> = (0..width).map(is_read).collect();
    let mut row = 0;
    for group in &footer.groups {
        // Each cell takes a byte or more, as in a line of CSV.
        expansion.add(group.rows.saturating_mul(width as u64))?;
        let cells = opened(columns, &reads, group, file)?;
        let limits = (&mut expansion, options.limits.line_bytes_max);
        read_group(cells, group.rows, &mut row, limits, &mut table)?;
    }
    table.finish()
}

/// The names of the columns.
///
/// # Errors
/// When a name occurs twice.
fn names(columns: &[Column]) -> Result<Vec<String>, Fault> {
    let (mut names, mut seen) = (Vec::new(), HashSet::new());
    for Column { name, .. } in columns {
        if !memory::insert(&mut seen, name.as_str())? {
            let detail = format!("The name {name:?} occurs twice; rename one of the columns.");
            return Err(Fault::new(FormatErrorKind::Schema, detail));
        }
        memory::push(&mut names, name.clone())?;
    }
    Ok(names)
}

/// Opens the columns of a row group.
fn opened(
    columns: &[Column],
    reads: &[bool],
    group: &RowGroup,
    file: &SharedFile,
) -> Result<Vec<ColumnCells>, FormatError> {
    let open = |(column, &is_read): (&Column, &bool)| match column.stored {
        _ if !is_read => Ok(ColumnCells::unread(None)),
        Err(refusal) => Ok(ColumnCells::unread(Some(refusal))),
        Ok(stored) => {
            let chunk = group.chunks[stored.chunk];
            if chunk.values != group.rows {
                let detail = format!(
                    "The Parquet file is damaged: a row group has {} rows, and its column {:?} {} values.",
                    group.rows, column.name, chunk.values
                );
                return Err(Fault::new(FormatErrorKind::Syntax, detail).into());
            }
            ColumnCells::open(file.clone(), stored, chunk)
        }
    };
    memory::collect(columns.iter().zip(reads).map(open))
}

/// Reads the rows of a row group after the first `row` rows.
fn read_group(
    mut columns: Vec<ColumnCells>,
    mut left: u64,
    row: &mut u64,
    (expansion, line_bytes_max): (&mut Expansion, usize),
    table: &mut TableBuilder<'_>,
) -> Result<(), FormatError> {
    while left > 0 {
        let rows = left.min(BATCH_ROWS as u64) as usize;
        let place = |column: usize, row: u64| Place::Cell {
            row,
            column: column as u64 + 1,
        };
        let mut bytes = 0;
        for (at, column) in columns.iter_mut().enumerate() {
            let loaded = column.load(rows);
            bytes += loaded.map_err(|error| FormatError {
                place: error.place.or(Some(place(at, *row + 1))),
                ..error
            })?;
        }
        expansion.add(bytes)?;
        // A batch that is no longer than a row may be has no longer row.
        if bytes > line_bytes_max as u64 {
            check_rows(&columns, rows, line_bytes_max, |at| place(0, *row + 1 + at))?;
        }
        push(
            &columns,
            rows,
            |column, at| place(column, *row + 1 + at),
            table,
        )?;
        *row += rows as u64;
        left -= rows as u64;
    }
    Ok(())
}

/// Checks the lengths of rows.
fn check_rows(
    columns: &[ColumnCells],
    rows: usize,
    line_bytes_max: usize,
    place: impl Fn(u64) -> Place,
) -> Result<(), FormatError> {
    for row in 0..rows {
        let length = |column: &ColumnCells| column.cell(row).spelling().len();
        if columns.iter().map(length).sum::<usize>() > line_bytes_max {
            let what = "A row is too long";
            let fault = Fault::too_large(what, "line_bytes_max", line_bytes_max as u64);
            return Err(fault.placed(Some(place(row as u64))));
        }
    }
    Ok(())
}

/// Reads the rows of a batch, as far as possible as rows of numbers.
fn push(
    columns: &[ColumnCells],
    rows: usize,
    place: impl Fn(usize, u64) -> Place,
    table: &mut TableBuilder<'_>,
) -> Result<(), FormatError> {
    let label = table.label();
    let are_sound = columns.iter().all(ColumnCells::is_sound);
    let numbers = table.number_columns().and_then(|features| {
        let numbers = features.iter().map(|&at| columns[at].numbers());
        numbers.collect::<Option<Vec<_>>>()
    });
    let mut numbers = numbers.filter(|_| are_sound);
    let mut values = Vec::new();
    for row in 0..rows {
        let at = row as u64;
        if let Some(numbers) = &numbers {
            values.clear();
            values.extend(numbers.iter().map(|column| column[row]));
            let label = label.map_or(Cell::Missing, |label| columns[label].cell(row));
            if table.number_row(&values, &label, || place(0, at))? {
                continue;
            }
        }
        let cell = |column: usize| columns[column].cell(row);
        match are_sound {
            true => table.sound_row(cell, |column| place(column, at))?,
            false => table.row(cell, |column| place(column, at))?,
        }
        // The row may have ended the rows of numbers.
        numbers = numbers.filter(|_| table.number_columns().is_some());
    }
    Ok(())
}
