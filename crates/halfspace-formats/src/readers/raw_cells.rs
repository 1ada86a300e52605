//! Reads the raw cells of a table again: under other options, or with features that a part of the rows decides.

use std::io::{self, Read};
use std::ops::ControlFlow;
use std::sync::Arc;

use halfspace_core::learners::engine::run::Interrupt;
use halfspace_core::learners::sample::block::{Block, BlockFeatures};
use halfspace_core::learners::sample::examples::{Examples, for_each_rows};

use crate::building::parsed::Parsed;
use crate::building::parsed_rows::ParsedRows;
use crate::cell::Cell;
use crate::classes::{Classes, LabelRule};
use crate::encoding::TableEncoding;
use crate::encoding::options::{Numbers, Roles, Scaling, TableOptions, Unknown};
use crate::error::{Fault, FormatError, FormatErrorKind, Place};
use crate::options::{FormatOption, Header, Options, ParseLimits};
use crate::stored::raw_cells::{CellReader, RawRecord};
use crate::stored::spool::Spool;
use crate::tables::table_builder::TableBuilder;

/// The options about the bytes of a file.
const LACKED: [FormatOption; 7] = [
    FormatOption::HEADER,
    FormatOption::BIT_ORDER,
    FormatOption::DELIMITER,
    FormatOption::COMMENT,
    FormatOption::SHEET,
    FormatOption::FIRST_INDEX,
    FormatOption::CHARSET,
];

/// Encodes the raw cells of a table under these options, as if its file came again.
///
/// # Errors
/// A fault of the options, a failure of the source, or damage.
pub fn encode_again(
    cells: impl Read,
    options: &Options,
    spool: Option<Spool>,
) -> Result<Parsed<ParsedRows>, FormatError> {
    options.refuse("a table that has been read", &LACKED)?;
    rows_of(cells, options, spool, &|_| true)
}

/// Encodes a table without raw cells under these options, as if its file came again: its examples are its cells, as the
/// encoding says. `zero` is the number of the bit 0.
///
/// # Errors
/// A fault of the options, or a failure of the source.
pub fn encode_examples(
    examples: &dyn Examples,
    zero: f64,
    encoding: &TableEncoding,
    options: &Options,
    spool: Option<Spool>,
) -> Result<Parsed<ParsedRows>, FormatError> {
    options.refuse("a table that has been read", &LACKED)?;
    TableBuilder::check(options)?;
    let label = &encoding.label;
    let (names, places) = names_and_places(encoding);
    let columns = places.len() + usize::from(label.is_some());
    let classes = label.iter().flat_map(|label| label.classes.each());
    let classes: Vec<Option<&str>> = classes.collect();
    let options = &of_cells(options, names.is_some());
    let mut table = TableBuilder::new(options, names, columns, None, spool, None)?;
    let mut row = vec![Cell::Missing; columns];
    let mut failure = None;
    let mut words = Vec::new();
    let read = for_each_rows(examples, |first, rows| {
        let rows = Block {
            codes: rows.codes(),
            ..Block::of(rows.features, rows.positives())
        };
        for index in 0..rows.rows() {
            match rows.features {
                BlockFeatures::Real { n, values } => {
                    let values = &values[index * n..(index + 1) * n];
                    for (&at, &value) in places.iter().zip(values) {
                        row[at] = Cell::Number(value, None);
                    }
                }
                BlockFeatures::Boolean(_) | BlockFeatures::Sparse(_) => {
                    places
                        .iter()
                        .for_each(|&at| row[at] = Cell::Number(zero, None));
                    let bits = rows.row_bits(index, &mut words);
                    bits.ones()
                        .for_each(|bit| row[places[bit]] = Cell::Number(1.0, None));
                }
            }
            if let Some(label) = label {
                let text = classes.get(rows.class(index) as usize).copied().flatten();
                let cell = text.map_or(Cell::Missing, |text| Cell::Text(text.as_bytes()));
                row[label.index as usize - 1] = cell;
            }
            let place = |column: usize| Place::Cell {
                row: (first + index) as u64 + 1,
                column: column as u64 + 1,
            };
            if let Err(error) = table.row(|at| row[at].clone(), place) {
                failure = Some(error);
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    });
    match (failure, read) {
        (Some(error), _) => Err(error),
        (None, Ok(())) => table.finish(),
        (None, Err(interrupt)) => {
            let detail = "The examples of the table cannot be read.";
            let is_damage = interrupt == Interrupt::Unreadable;
            let kind = if is_damage {
                io::ErrorKind::InvalidData
            } else {
                io::ErrorKind::Other
            };
            Err(Fault::new(FormatErrorKind::Spool(kind), detail).into())
        }
    }
}

/// The names of the columns, if the table has names, and the columns that are features, from 0.
fn names_and_places(encoding: &TableEncoding) -> (Option<Vec<String>>, Vec<usize>) {
    let (features, label) = (&encoding.columns, &encoding.label);
    let columns = features.len() + usize::from(label.is_some());
    let own = features.iter().map(|column| (column.index, &column.name));
    let of_label = label.iter().map(|label| (label.index, &label.column));
    let mut names: Vec<(u32, &String)> = own.chain(of_label).collect();
    names.sort_unstable();
    let names = encoding.header.then(|| {
        let names = names.into_iter().map(|(_, name)| name.clone());
        names.collect()
    });
    let places: Vec<usize> = (0..columns)
        .filter(|&at| {
            label
                .as_ref()
                .is_none_or(|label| label.index as usize != at + 1)
        })
        .collect();
    (names, places)
}

/// Encodes the raw cells of a table as `encoding` does, except that only the rows for which `is_learnt` holds decide
/// values, thresholds, scales and what fills missing cells. Rows are counted from 0, without those that were left out.
/// A value that only other rows have is 0 in all features of its column. `classes` are those of the labels.
///
/// `open` returns the cells, which are read twice. If the request gave the encoding of the table, nothing is decided by
/// its rows, and there is no result.
///
/// # Errors
/// Rows that leave a table without features, a failure of the source, or damage.
pub fn encode_for<R: Read>(
    open: impl Fn() -> io::Result<R>,
    encoding: &TableEncoding,
    classes: Option<&Classes>,
    is_learnt: &dyn Fn(usize) -> bool,
    limits: &ParseLimits,
    spool: Option<Spool>,
) -> Result<Option<Parsed<ParsedRows>>, FormatError> {
    let cells = CellReader::new(open()?)?;
    if cells.head.is_given {
        return Ok(None);
    }
    let mut options = cells.options(encoding, limits)?;
    if encoding.label.is_some() {
        options.label_rule = LabelRule::of(classes);
    }
    let learnt = rows_of(
        open()?,
        &options,
        spool.as_ref().map(Spool::fork),
        is_learnt,
    )?;
    options.table = TableOptions {
        unknown: Unknown::Zero,
        scale: Scaling::None,
        missing: options.table.missing.filter(|missing| !missing.fills()),
        numbers: Numbers::Real,
        bins: None,
        encoding: learnt.table,
        ..options.table
    };
    rows_of(open()?, &options, spool, &|_| true).map(Some)
}

/// Reads raw cells to the end.
///
/// # Errors
/// Damage, or a failure of the source.
pub fn check_cells(cells: impl Read) -> Result<(), FormatError> {
    let mut cells = CellReader::new(cells)?;
    while cells.next()?.is_some() {}
    Ok(())
}

impl<R: Read> CellReader<R> {
    /// The options under which a part of the rows has the columns of `encoding`.
    fn options(
        &self,
        encoding: &TableEncoding,
        limits: &ParseLimits,
    ) -> Result<Options, FormatError> {
        let mut options = Options {
            limits: limits.clone(),
            ..Options::default()
        };
        for (name, text) in &self.head.options {
            let set = options.set(name, text);
            if set != Ok(true) {
                return Err(damaged_options(name).into());
            }
        }
        options.table.roles = Some(Arc::new(Roles::of(encoding)));
        Ok(options)
    }
}

/// The options for cells: whether the first row of the file held names is known.
fn of_cells(options: &Options, has_names: bool) -> Options {
    Options {
        header: match has_names {
            true => Header::True,
            false => Header::False,
        },
        ..options.clone()
    }
}

fn rows_of(
    cells: impl Read,
    options: &Options,
    spool: Option<Spool>,
    is_meant: &dyn Fn(usize) -> bool,
) -> Result<Parsed<ParsedRows>, FormatError> {
    TableBuilder::check(options)?;
    let mut cells = CellReader::new(cells)?;
    let (names, columns) = (cells.head.names.take(), cells.head.columns);
    if columns > options.limits.n_max {
        let limit = options.limits.n_max as u64;
        return Err(Fault::too_large("The table has too many columns", "n_max", limit).into());
    }
    let declared = std::mem::take(&mut cells.head.declared);
    let options = &of_cells(options, names.is_some())
        .with_declared(declared, names.clone().unwrap_or_default());
    let mut table = TableBuilder::new(options, names, columns, None, spool, None)?;
    let (mut row, mut kept) = (0, 0);
    while let Some(record) = cells.next()? {
        match record {
            RawRecord::Values { at, values } => {
                if at >= columns {
                    return Err(damaged_options("values").into());
                }
                table.declare_values(at, values.iter().map(Vec::as_slice))?;
            }
            RawRecord::Row { is_left_out } => {
                row += 1;
                let is_read = is_left_out || is_meant(kept);
                kept += usize::from(!is_left_out);
                if is_read {
                    let place = |column: usize| Place::Cell {
                        row,
                        column: column as u64 + 1,
                    };
                    table.row(|at| cells.cell(at), place)?;
                }
            }
        }
    }
    table.finish()
}

/// The fault of raw cells with something that no program wrote.
fn damaged_options(name: &str) -> Fault {
    let kind = FormatErrorKind::Spool(io::ErrorKind::InvalidData);
    Fault::new(
        kind,
        format!("The raw cells of the table are damaged at their {name}."),
    )
}
