//! The preview of a body: the first rows, and the facts about each column of a table.
//!
//! The facts show how each column is read, and which other kinds it could have. A refused table has a preview too.
//! Therefore every column is scanned here, even if the request states its kind, and the reader of the table continues
//! after a refused cell. This module does not know how cells become features.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use super::column_kind::column_kind;
use super::column_scan::{ColumnScan, ColumnValue};
use super::columns::{TableColumn, TableColumns};
use super::doubtful_texts::ambiguous;
use super::named_table::two_kinds;
use super::number_form::is_number;
use crate::building::label_names::{LabelCount, LabelNames};
use crate::building::labels::label_name;
use crate::building::parsed::Parsed;
use crate::building::parsed_rows::ParsedRows;
use crate::cell::{Cell, Content, is_missing};
use crate::encoding::options::{DELIMITERS, Numbers};
use crate::encoding::{KindName, NamedCells};
use crate::error::{Fault, FormatError, FormatErrorKind, legible};
use crate::numbers::DecimalMark;
use crate::options::{Options, ParseLimits};
use crate::stored::header::BlocksError;
use crate::stored::parts::RowsPart;

/// The largest number of columns of a preview, without the label column.
pub const PREVIEW_COLUMNS_MAX: usize = 1000;

/// The largest number of characters of a cell in a preview.
pub const PREVIEW_CELL_CHARACTERS_MAX: usize = 100;

/// A column of more words hardly holds labels, unless it is the first or the last.
const CANDIDATE_WORDS_MAX: u32 = 20;

/// At most this many columns are proposed for the labels.
const CANDIDATES_MAX: usize = 3;

/// Fewer different words do not name the rows.
const IDENTIFIERS_MIN: u32 = 20;

/// Once the shown cells take this many bytes, the preview shows no further row.
const ROWS_BYTES_MAX: usize = 1 << 20;

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
    /// Names of the cells of each row. A row of a table has the first 1,000 columns and the label column. A row of
    /// other data has the label and the first 1,000 features. A name is cut like a cell.
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

/// A column of a table in a preview.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct PreviewColumn {
    /// Name of the column. Without a row of names the third column is `column_3`.
    pub name: String,
    /// Number of the column in the file, from 1.
    pub index: u32,
    /// Use of the column.
    pub role: ColumnRole,
    /// Kind that the column is read as. Null for the label, for a column without cells, and for a column that cannot
    /// be read.
    pub kind: Option<KindName>,
    /// Kinds that the option `kinds` accepts for the column while the other options stay. The label has none. A column
    /// with words can also be `text`, and then all columns give names.
    pub kinds: Vec<KindName>,
    /// Number of different texts in the cells that are not missing. Null if there are more than 256.
    pub distinct: Option<u32>,
    /// Number of missing cells.
    pub missing: u64,
    /// Reason why the column cannot be read under the options.
    pub detail: Option<String>,
}

/// A column of features that cannot be read.
pub(crate) struct RefusedColumn {
    /// The column of the table, from 0.
    pub(crate) at: usize,
    /// The column as an option names it.
    pub(crate) said: String,
    /// The fault, which does not name the column.
    pub(crate) fault: Fault,
    /// The fault with the name of the column.
    pub(crate) told: Fault,
}

/// The use of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ColumnRole {
    /// The column has features.
    Feature,
    /// The column holds the labels.
    Label,
    /// The column is not read.
    Ignored,
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

struct SeenTable {
    columns: Vec<SeenColumn>,
    column_count: usize,
    has_header: bool,
    label: Option<usize>,
    numbers: Numbers,
    decimal: Option<DecimalMark>,
    /// Whether the cells give names, which nobody lists in advance.
    is_open: bool,
    row_count: u64,
    rows: Vec<Vec<String>>,
    rows_bytes: usize,
}

struct SeenColumn {
    /// The column of the table, from 0.
    at: usize,
    column: TableColumn,
    cells: ColumnScan,
    missing: u64,
    /// The reason why the column has no kind.
    fault: Option<Fault>,
    /// The kind under a given encoding.
    given: Option<KindName>,
    /// Whether the column gives names and has more words than a scan keeps.
    has_many_words: bool,
    /// Whether a cell was a word, so that the column may have texts.
    has_word: bool,
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
        let (is_open, options) = (options.open_vocabulary, &options.table);
        // The columns have the kinds of an encoding of names already.
        let given = options.encoding.as_deref().filter(|_| !is_open);
        let given = given.and_then(|given| {
            let places = table.places(given).ok()?;
            let indices: HashMap<usize, usize> = places.into_iter().zip(0..).collect();
            Some((given, indices))
        });
        let seen = |at: usize| {
            let mut column = table.columns[at].clone();
            let kind = given.as_ref().and_then(|(given, indices)| {
                let index = indices.get(&at).copied();
                if index.is_none() {
                    column.ignored = Some("the encoding ignores the column");
                }
                Some(given.columns[index?].kind_name())
            });
            SeenColumn {
                at,
                column,
                cells: ColumnScan::lenient(options),
                missing: 0,
                fault: None,
                given: kind,
                has_many_words: false,
                has_word: false,
            }
        };
        let count = table.columns.len();
        let first = 0..count.min(PREVIEW_COLUMNS_MAX);
        let label = table.label.filter(|at| !first.contains(at));
        let mut seen_now = self.seen();
        seen_now.labels = table.label.map(|_| LabelNames::open());
        seen_now.table = Some(SeenTable {
            columns: first.chain(label).map(seen).collect(),
            column_count: count,
            has_header: table.has_header,
            label: table.label,
            numbers: options.numbers,
            decimal: options.decimal,
            is_open,
            row_count: 0,
            rows: Vec::new(),
            rows_bytes: 0,
        });
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
        table.row_count += 1;
        if table.rows.len() < self.rows_max && table.rows_bytes < ROWS_BYTES_MAX {
            let row = table
                .columns
                .iter()
                .map(|column| shown(&cell(column.at).spelling()));
            let row: Vec<String> = row.collect();
            table.rows_bytes += row.iter().map(String::len).sum::<usize>();
            table.rows.push(row);
        }
        for column in &mut table.columns {
            let (number, is_open) = (table.row_count, table.is_open);
            column.push(&cell(column.at), number, is_left_out, is_open);
        }
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

    /// The columns of features that cannot be read.
    pub(crate) fn refused_columns(&self) -> Vec<RefusedColumn> {
        let seen = self.seen();
        let Some(table) = &seen.table else {
            return Vec::new();
        };
        let refused = |column: &SeenColumn| {
            let fault = column.read_as(table).2?;
            Some(RefusedColumn {
                at: column.at,
                said: column.column.said(column.at, table.has_header),
                told: column
                    .column
                    .about(column.at, table.has_header, fault.clone()),
                fault,
            })
        };
        table.columns.iter().filter_map(refused).collect()
    }

    /// The columns of few words or truth values, as an option names them, from the last one on.
    pub(crate) fn label_candidates(&self) -> Vec<String> {
        let seen = self.seen();
        let Some(table) = &seen.table else {
            return Vec::new();
        };
        let is_candidate = |column: &&SeenColumn| {
            let words = column.distinct().unwrap_or(0);
            (2..=CANDIDATE_WORDS_MAX).contains(&words)
                && !column
                    .cells
                    .values
                    .iter()
                    .any(|value| is_number(&value.content))
        };
        let candidates = table.columns.iter().rev().filter(is_candidate);
        let candidates = candidates.take(CANDIDATES_MAX);
        candidates
            .map(|column| column.column.said(column.at, table.has_header))
            .collect()
    }

    /// The columns of words that seem to name the rows, because nearly every row has a word of its own: each as an
    /// option names it, with the number of its words.
    pub(crate) fn identifiers(&self) -> Vec<(String, u32)> {
        let seen = self.seen();
        let Some(table) = &seen.table else {
            return Vec::new();
        };
        let identifier = |column: &SeenColumn| {
            let words = column.distinct()?;
            let rows = table.row_count.saturating_sub(column.missing);
            let names_rows = words >= IDENTIFIERS_MIN && 10 * u64::from(words) >= 9 * rows;
            let is_nominal = column.read_as(table).1 == Some(KindName::Nominal);
            let said = || column.column.said(column.at, table.has_header);
            (names_rows && is_nominal).then(|| (said(), words))
        };
        table.columns.iter().filter_map(identifier).collect()
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
            (Some(table), _) => table.described(),
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
        let columns = &mut self.table.as_mut()?.columns;
        let found = columns.binary_search_by_key(&at, |column| column.at);
        found.ok().map(|found| &mut columns[found])
    }
}

impl SeenTable {
    fn described(self) -> Previewed {
        let columns = self.columns.iter().map(|column| column.described(&self));
        let columns: Vec<_> = columns.collect();
        Previewed {
            names: columns
                .iter()
                .map(|column| shown(column.name.as_bytes()))
                .collect(),
            header: Some(self.has_header),
            delimiter: None,
            column_count: Some(self.column_count as u64),
            row_count: Some(self.row_count),
            columns: Some(columns),
            rows: self.rows,
            label_values: None,
        }
    }
}

impl SeenColumn {
    fn push(&mut self, cell: &Cell<&[u8]>, row: u64, is_left_out: bool, is_open: bool) {
        self.missing += u64::from(cell.is_missing());
        self.column.watch(cell);
        if is_left_out || self.fault.is_some() || self.has_many_words {
            return;
        }
        self.has_word |= matches!(cell, Cell::Text(text) if may_be_word(text));
        let fault = self.cells.push(cell, row).err();
        self.has_many_words = fault.is_some() && is_open && self.cells.is_full_of_words();
        self.fault = fault.filter(|_| !self.has_many_words);
    }

    /// The role and the kind of the column, and the reason why it cannot be read.
    fn read_as(&self, table: &SeenTable) -> (ColumnRole, Option<KindName>, Option<Fault>) {
        let role = match self.column.ignored.is_some() || self.column.no_feature().is_some() {
            _ if table.label == Some(self.at) => ColumnRole::Label,
            true => ColumnRole::Ignored,
            false => ColumnRole::Feature,
        };
        let (kind, fault) = match (role, self.given) {
            (ColumnRole::Label, _) => (None, None),
            (ColumnRole::Ignored, _) => (Some(KindName::Ignored), None),
            (ColumnRole::Feature, Some(given)) => (Some(given), None),
            (ColumnRole::Feature, None) => self.read_kind(table),
        };
        (role, kind, fault)
    }

    fn described(&self, table: &SeenTable) -> PreviewColumn {
        let (role, kind, fault) = self.read_as(table);
        let detail = fault.map(|fault| self.column.about(self.at, table.has_header, fault).detail);
        PreviewColumn {
            name: self.column.name.clone(),
            index: self.at as u32 + 1,
            role,
            kind,
            kinds: self.accepted_kinds(role, table),
            distinct: self.distinct(),
            missing: self.missing,
            detail,
        }
    }

    /// The kind that a column of features is read as, and the reason why the column is refused.
    fn read_kind(&self, table: &SeenTable) -> (Option<KindName>, Option<Fault>) {
        let stated = self.column.kind;
        let is_nominal = stated == Some(KindName::Nominal);
        let in_doubt = |value: &ColumnValue| ambiguous(value.text.as_bytes(), table.decimal);
        let mut values = self.cells.values.iter().filter(|_| !is_nominal);
        let first = values.find_map(in_doubt);
        if let Some(fault) = self.fault.clone().or(first) {
            return (None, Some(fault));
        }
        if self.cells.is_empty() {
            return (None, None);
        }
        if table.is_open {
            return self.named_kind();
        }
        // Missing cells make a number column unreadable only if its numbers are features.
        match column_kind(&self.cells, stated, Numbers::Thermometer) {
            Ok(found) => {
                let fault = column_kind(&self.cells, stated, table.numbers).err();
                (Some(found.name()), fault)
            }
            Err(fault) => (None, Some(fault)),
        }
    }

    /// The kind of a column that gives names, and the reason why it is refused.
    fn named_kind(&self) -> (Option<KindName>, Option<Fault>) {
        if let Some(stated) = self.column.kind {
            // The refusal of the table names the first cell that is not of the kind.
            return (Some(stated).filter(|kind| self.accepts(*kind)), None);
        }
        let values = self.cells.values.iter();
        let mut kinds = values.filter_map(|value| Some((value, NamedCells::found(value.content)?)));
        let Some((first, kind)) = kinds.next() else {
            return (None, None);
        };
        match kinds.find(|(_, other)| *other != kind) {
            None => (Some(kind.name()), None),
            Some((value, other)) => {
                let (other, before) = ((other, value.first_row), (kind, first.first_row));
                (None, Some(two_kinds(value.text.as_bytes(), other, before)))
            }
        }
    }

    /// Whether a column that gives names can have the kind.
    fn accepts(&self, kind: KindName) -> bool {
        match NamedCells::of(kind) {
            None => kind == KindName::Ignored,
            Some(NamedCells::Nominal | NamedCells::Text) => true,
            Some(cells) => {
                let mut values = self.cells.values.iter();
                !self.has_many_words && values.all(|value| cells.holds(value.content))
            }
        }
    }

    fn accepted_kinds(&self, role: ColumnRole, table: &SeenTable) -> Vec<KindName> {
        match (role, self.given) {
            (ColumnRole::Label, _) => return Vec::new(),
            (_, Some(given)) => return vec![given],
            _ => {}
        }
        let is_accepted = |kind: &KindName| {
            if *kind == KindName::Text {
                // It also mends a column of too many or too long words.
                return self.has_word;
            }
            if table.is_open {
                return self.fault.is_none() && self.accepts(*kind);
            }
            let found = column_kind(&self.cells, Some(*kind), table.numbers);
            let is_coded = *kind != KindName::Nominal || !self.cells.is_numbers;
            self.fault.is_none() && is_coded && found.is_ok_and(|found| found.name() == *kind)
        };
        let kinds = [
            KindName::Boolean,
            KindName::Nominal,
            KindName::Number,
            KindName::Date,
            KindName::Text,
        ];
        let accepted = kinds.into_iter().filter(is_accepted);
        accepted.chain([KindName::Ignored]).collect()
    }

    fn distinct(&self) -> Option<u32> {
        let is_shown = |value: &&ColumnValue| value.cells > 0 && !is_missing(value.text.as_bytes());
        let is_known = self.fault.is_none() && !self.has_many_words && !self.cells.is_numbers;
        is_known.then(|| self.cells.values.iter().filter(is_shown).count() as u32)
    }
}

/// Whether a cell holds neither a number nor a truth value, nor is it missing.
fn may_be_word(text: &[u8]) -> bool {
    let of = |decimal| Content::of(text, decimal);
    let is_word = |content| matches!(content, Content::Text | Content::Written(_));
    is_word(of(DecimalMark::Point)) && is_word(of(DecimalMark::Comma))
}

/// The beginning of a cell.
fn shown(text: &[u8]) -> String {
    // A character takes at most four bytes.
    let start = &text[..text.len().min(4 * (PREVIEW_CELL_CHARACTERS_MAX + 1))];
    let mut text = legible(start, str::to_owned);
    if text.chars().count() > PREVIEW_CELL_CHARACTERS_MAX {
        text = text.chars().take(PREVIEW_CELL_CHARACTERS_MAX - 1).collect();
        text.push('…');
    }
    text
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
