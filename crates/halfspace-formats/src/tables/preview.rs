//! The preview of a body: the first rows, and the facts about each column of a table.
//!
//! The facts show how each column is read, and which other kinds it could have. A refused table has a preview too.
//! Therefore every column is scanned here, even if the request states its kind, and the reader of the table continues
//! after a refused cell. This module does not know how cells become features.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use super::columns::TableColumns;
use super::seen_table::{PREVIEW_COLUMNS_MAX, PreviewColumn, SeenColumn, SeenTable, shown};
use crate::building::label_names::{LabelCount, LabelNames};
use crate::building::labels::label_name;
use crate::building::parsed::Parsed;
use crate::building::parsed_rows::ParsedRows;
use crate::cell::Cell;
use crate::encoding::options::DELIMITERS;
use crate::error::{Fault, FormatError, FormatErrorKind};
use crate::options::{Options, ParseLimits};
use crate::stored::header::BlocksError;
use crate::stored::parts::RowsPart;

/// Collects a preview while a body is read. Clones share the preview.
#[derive(Clone)]
pub struct Preview {
    rows_max: usize,
    seen: Arc<Mutex<Seen>>,
}

/// The content of a body as a preview shows the content.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[schema(as = PreviewContent)]
pub struct Previewed {
    /// Names of the cells of each row. A row of a table has the first 1,000 columns and those of the labels and the
    /// weights. A row of other data has the label and the first 1,000 features. A name is cut like a cell.
    pub names: Vec<String>,
    /// The first rows. Cells of a table are as written, without quotes and without blanks around. Other data are shown
    /// as numbers. A cell of more than 100 characters is cut and ends in `…`. The rows end early when their cells
    /// take 1 MiB.
    pub rows: Vec<Vec<String>>,
    /// Whether the first row of the table holds names. Null if the data are no table.
    pub header: Option<bool>,
    /// What stands between the fields, in the spelling of the option `delimiter`. Null if the data are no CSV.
    pub delimiter: Option<&'static str>,
    /// Number of columns in the table. Null if the data are no table.
    pub column_count: Option<u64>,
    /// Number of rows of the table that were read. Rows that were left out count too. Null if the data are no table.
    pub row_count: Option<u64>,
    /// The columns that `rows` shows, in the same order. Null if the data are no table.
    pub columns: Option<Vec<PreviewColumn>>,
    /// Values of the label with their numbers of rows, in the order of their first rows. Null if no label column is
    /// known, or if the column has more than 256 values.
    pub label_values: Option<Vec<LabelCount>>,
}

/// The content so far.
#[derive(Default)]
struct Seen {
    delimiter: Option<&'static str>,
    table: Option<SeenTable>,
    labels: Option<LabelNames>,
    refused: Option<FormatError>,
    is_explained: bool,
}

impl Preview {
    /// Makes an empty preview of at most `rows_max` rows.
    pub fn new(rows_max: usize) -> Self {
        Self {
            rows_max,
            seen: Arc::default(),
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a table whose columns have their roles.
    pub(crate) fn begin(&self, table: &TableColumns, options: &Options) {
        let mut seen = self.seen();
        seen.labels = table.label.map(|_| LabelNames::open());
        seen.table = Some(SeenTable::new(table, options));
    }

    /// Notes the byte between the fields.
    pub(crate) fn delimited_by(&self, byte: u8) {
        let mut known = DELIMITERS.iter();
        let spelling = known.find(|(_, own)| *own == byte);
        self.seen().delimiter = spelling.map(|(spelling, _)| *spelling);
    }

    /// Declares the values of a column, whether they occur or not.
    pub(crate) fn declare<'v>(&self, at: usize, values: impl Iterator<Item = &'v [u8]>) {
        if let Some(column) = self.seen().column(at) {
            column.fault = column.cells.declare(values).err();
        }
    }

    /// Reads a row. If it is left out, it does not influence the kinds of the columns.
    pub(crate) fn row<'c>(&self, cell: &impl Fn(usize) -> Cell<&'c [u8]>, is_left_out: bool) {
        let Seen { table, labels, .. } = &mut *self.seen();
        let Some(table) = table else { return };
        table.row(cell, is_left_out, self.rows_max);
        let label = table.label.map(cell).filter(|cell| !cell.is_missing());
        if let (Some(cell), Some(scan), false) = (label, labels.as_mut(), is_left_out)
            && scan.push(&cell.spelling()).is_err()
        {
            *labels = None;
        }
    }

    /// Notes that a column has a cell that cannot be read.
    pub(crate) fn refuse_column(&self, at: usize, fault: &Fault) {
        if let Some(column) = self.seen().column(at) {
            column.fault.get_or_insert_with(|| fault.clone());
        }
    }

    /// Keeps the first error that refuses the content of the body.
    ///
    /// # Errors
    /// Any error that does not concern the content.
    pub(crate) fn refuse(&self, error: FormatError) -> Result<(), FormatError> {
        if !error.kind.is_of_content() {
            return Err(error);
        }
        self.seen().refused.get_or_insert(error);
        Ok(())
    }

    /// Ends the table, with the first error that refused it, if there is one.
    ///
    /// # Errors
    /// That error.
    pub(crate) fn end_table(&self) -> Result<(), FormatError> {
        self.seen().refused.clone().map_or(Ok(()), Err)
    }

    /// Counts the labels of data that are no table.
    pub(crate) fn count_labels(&self, labels: &LabelNames) {
        self.seen().labels = Some(labels.clone());
    }

    /// What `find` says of the table. Data that are no table have nothing to say.
    pub(crate) fn of_table<T>(&self, find: impl FnOnce(&SeenTable) -> Vec<T>) -> Vec<T> {
        self.seen().table.as_ref().map_or_else(Vec::new, find)
    }

    /// The first error that refuses the content of the body, if the preview can show why. `error` is the one that
    /// ended the read.
    ///
    /// # Errors
    /// `error`, if the preview has no content, if the content is not at fault, or if the source failed.
    pub fn explained(&self, error: FormatError) -> Result<FormatError, FormatError> {
        let mut seen = self.seen();
        let is_empty = seen.table.is_none() && seen.labels.is_none();
        let has_failed = matches!(error.kind, FormatErrorKind::Io | FormatErrorKind::NotYet);
        let explained = match &seen.refused {
            Some(first) if !has_failed => Ok(first.clone()),
            None if !is_empty && error.kind.is_of_content() => Ok(error),
            _ => Err(error),
        };
        seen.is_explained |= explained.is_ok();
        explained
    }

    /// Whether the preview has explained why the body is refused.
    pub fn is_explained(&self) -> bool {
        self.seen().is_explained
    }

    /// Returns the content and empties the preview. Data without a table are shown by their examples.
    ///
    /// # Errors
    /// When the examples cannot be read.
    pub fn finish(
        &self,
        parsed: Option<&mut Parsed<ParsedRows>>,
    ) -> Result<Previewed, FormatError> {
        let Seen {
            delimiter,
            table,
            labels,
            ..
        } = std::mem::take(&mut *self.seen());
        let label_values = labels.map(|labels| labels.counts());
        let shown = match (table, parsed) {
            (Some(table), _) => {
                let columns = table.described();
                let names = columns.iter().map(|column| shown(column.name.as_bytes()));
                Previewed {
                    names: names.collect(),
                    header: Some(table.has_header),
                    column_count: Some(table.column_count as u64),
                    row_count: Some(table.row_count),
                    columns: Some(columns),
                    rows: table.rows,
                    ..Previewed::default()
                }
            }
            (None, Some(parsed)) => examples(parsed, self.rows_max)?,
            (None, None) => Previewed::default(),
        };
        Ok(Previewed {
            delimiter,
            label_values,
            ..shown
        })
    }
}

impl Seen {
    fn column(&mut self, at: usize) -> Option<&mut SeenColumn> {
        self.table.as_mut()?.column(at)
    }
}

/// Shows the labels and the first features of the first examples.
fn examples(parsed: &mut Parsed<ParsedRows>, rows_max: usize) -> Result<Previewed, FormatError> {
    let header = parsed.data.header();
    let count = header.n.min(PREVIEW_COLUMNS_MAX);
    let given = parsed.feature_names.as_deref().unwrap_or_default();
    let is_labelled = header.labels.is_labelled();
    let label = is_labelled.then(|| label_name(given));
    if parsed.vocabulary.is_some() || header.n > ParseLimits::DEFAULT.n_max {
        let rows = sparse_rows(parsed, rows_max);
        let names = label.into_iter().chain(["x".to_owned()]).collect();
        return Ok(Previewed {
            names,
            rows,
            ..Previewed::default()
        });
    }
    let classes = parsed.class_names();
    let feature = |at: usize| match given.get(at) {
        Some(name) => shown(name.as_bytes()),
        None => format!("x{}", at + 1),
    };
    let names = label.into_iter().chain((0..count).map(feature)).collect();
    let rows = parsed
        .data
        .first_rows(parsed.zero_bit_value, rows_max, |values, label| {
            let label = label.map(|code| label_text(classes.as_deref(), code));
            let values = values[..count].iter().map(|&value| number(value));
            label.into_iter().chain(values).collect()
        })?;
    Ok(Previewed {
        names,
        rows,
        ..Previewed::default()
    })
}

/// The label and the active features of each of the first examples, by their names or their indices. An example stands
/// in one cell.
fn sparse_rows(parsed: &mut Parsed<ParsedRows>, rows_max: usize) -> Vec<Vec<String>> {
    let (classes, mut rows) = (parsed.class_names(), Vec::new());
    let (vocabulary, first) = (parsed.vocabulary.clone(), parsed.first_index);
    let first = first.map_or(1, |first| usize::from(u8::from(first)));
    let feature = |(id, value): (usize, f64)| {
        let name = match &vocabulary {
            Some(vocabulary) => vocabulary.name(id as u32).unwrap_or_default().to_owned(),
            None => (id + first).to_string(),
        };
        match value {
            1.0 => name,
            _ => format!("{name}: {}", number(value)),
        }
    };
    // The error ends the pass once there are enough rows. A spool that cannot be read shows fewer.
    let _ = parsed.data.for_each_part(|part| {
        let RowsPart::Sparse(block, labels) = part else {
            return Ok(());
        };
        for row in 0..block.rows() {
            if rows.len() == rows_max {
                return Err(BlocksError::Trailing);
            }
            let names: Vec<String> = block
                .row(row)
                .entries()
                .take(PREVIEW_COLUMNS_MAX)
                .map(feature)
                .collect();
            let label = labels
                .as_ref()
                .map(|codes| label_text(classes.as_deref(), codes.get(row)));
            rows.push(
                label
                    .into_iter()
                    .chain([shown(names.join(", ").as_bytes())])
                    .collect(),
            );
        }
        Ok(())
    });
    rows
}

/// The name of a class, or the label itself without names.
fn label_text(classes: Option<&[String]>, code: u32) -> String {
    let sign = || if code == 1 { "1" } else { "-1" }.to_owned();
    classes.map_or_else(sign, |names| {
        names.get(code as usize).cloned().unwrap_or_default()
    })
}

/// Writes a number with as many digits as determine it.
fn number(value: f64) -> String {
    let text = format!("{value:?}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}
