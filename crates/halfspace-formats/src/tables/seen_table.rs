//! The columns of a table in a preview: how each is read, which other kinds it could have, and why it cannot be read.

use std::collections::HashMap;

use serde::Serialize;

use super::column_kind::column_kind;
use super::column_scan::{ColumnScan, ColumnValue};
use super::columns::TableColumns;
use super::doubtful_texts::ambiguous;
use super::named_table::two_kinds;
use super::table_column::TableColumn;
use crate::cell::{Cell, Content, is_missing};
use crate::encoding::options::NumberCoding;
use crate::encoding::{KindName, NamedCells};
use crate::error::{Fault, legible};
use crate::numbers::DecimalMark;
use crate::options::Options;

/// The largest number of columns of a preview, without those of the labels and the weights.
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

/// A column of a table in a preview.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct PreviewColumn {
    /// Name of the column. Without a row of names the third column is `column_3`.
    pub name: String,
    /// Number of the column in the file, from 1.
    pub index: u32,
    /// Use of the column.
    pub role: ColumnRole,
    /// Kind that the column is read as. Null for the labels and the weights, for a column without cells, and for a
    /// column that cannot be read.
    pub kind: Option<KindName>,
    /// Kinds that the option `kinds` accepts for the column while the other options stay. The labels and the
    /// weights have none. A column with words can also be `text`, and then all columns give names.
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
    /// The column holds the weights of the examples.
    Weights,
    /// The column is not read.
    Ignored,
}

/// The rows and the columns of a table as a preview has seen them.
pub(crate) struct SeenTable {
    columns: Vec<SeenColumn>,
    pub(super) column_count: usize,
    pub(super) has_header: bool,
    pub(super) label: Option<usize>,
    weights: Option<usize>,
    coding: NumberCoding,
    decimal: Option<DecimalMark>,
    /// Whether the cells give names, which nobody lists in advance.
    is_open: bool,
    pub(super) row_count: u64,
    pub(super) rows: Vec<Vec<String>>,
    rows_bytes: usize,
}

/// A column of such a table.
pub(crate) struct SeenColumn {
    /// The column of the table, from 0.
    at: usize,
    /// The column as an option names it.
    said: String,
    column: TableColumn,
    pub(super) cells: ColumnScan,
    missing: u64,
    /// The reason why the column has no kind.
    pub(super) fault: Option<Fault>,
    /// The kind under a given encoding.
    given: Option<KindName>,
    /// Whether the column gives names and has more words than a scan keeps.
    has_many_words: bool,
    /// Whether a cell was a word, so that the column may have texts.
    has_word: bool,
}

impl SeenTable {
    /// Begins a table whose columns have their roles.
    pub(super) fn new(table: &TableColumns, options: &Options) -> Self {
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
                said: table.said(at),
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
        let beside = table.beside().into_iter().flatten();
        let mut beside: Vec<usize> = beside.filter(|at| !first.contains(at)).collect();
        beside.sort_unstable();
        Self {
            columns: first.chain(beside).map(seen).collect(),
            column_count: count,
            has_header: table.has_header,
            label: table.label,
            weights: table.weights,
            coding: options.number_coding(),
            decimal: options.decimal,
            is_open,
            row_count: 0,
            rows: Vec::new(),
            rows_bytes: 0,
        }
    }

    /// Reads a row, of which at most `rows_max` are shown.
    pub(super) fn row<'c>(
        &mut self,
        cell: &impl Fn(usize) -> Cell<&'c [u8]>,
        is_left_out: bool,
        rows_max: usize,
    ) {
        self.row_count += 1;
        if self.rows.len() < rows_max && self.rows_bytes < ROWS_BYTES_MAX {
            let row = self
                .columns
                .iter()
                .map(|column| shown(&cell(column.at).spelling()));
            let row: Vec<String> = row.collect();
            self.rows_bytes += row.iter().map(String::len).sum::<usize>();
            self.rows.push(row);
        }
        for column in &mut self.columns {
            let (number, is_open) = (self.row_count, self.is_open);
            column.push(&cell(column.at), number, is_left_out, is_open);
        }
    }

    /// The column of the table at this place, if it is shown.
    pub(super) fn column(&mut self, at: usize) -> Option<&mut SeenColumn> {
        let found = self.columns.binary_search_by_key(&at, |column| column.at);
        found.ok().map(|found| &mut self.columns[found])
    }

    /// What the columns are read as.
    pub(super) fn described(&self) -> Vec<PreviewColumn> {
        let columns = self.columns.iter().map(|column| column.described(self));
        columns.collect()
    }

    /// The columns of features that cannot be read.
    pub(crate) fn refused_columns(&self) -> Vec<RefusedColumn> {
        let refused = |column: &SeenColumn| {
            let fault = column.read_as(self).2?;
            Some(RefusedColumn {
                at: column.at,
                said: column.said.clone(),
                told: column.column.about(&column.said, fault.clone()),
                fault,
            })
        };
        self.columns.iter().filter_map(refused).collect()
    }

    /// The columns of few words or truth values, as an option names them, from the last one on.
    pub(crate) fn label_candidates(&self) -> Vec<String> {
        let is_candidate = |column: &&SeenColumn| {
            let few = (2..=CANDIDATE_WORDS_MAX).contains(&column.distinct().unwrap_or(0));
            let kind = || column.read_as(self).1;
            few && matches!(kind(), Some(KindName::Boolean | KindName::Nominal))
        };
        let candidates = self.columns.iter().rev().filter(is_candidate);
        let candidates = candidates.take(CANDIDATES_MAX);
        candidates.map(|column| column.said.clone()).collect()
    }

    /// The columns whose words seem to name the rows, because nearly every row has one of its own. Returns how an
    /// option names the column, and the numbers of its cells and of its words.
    pub(crate) fn identifiers(&self) -> Vec<(String, u64, u32)> {
        let identifier = |column: &SeenColumn| {
            let words = column.distinct()?;
            let rows = self.row_count.saturating_sub(column.missing);
            let names_rows = words >= IDENTIFIERS_MIN && 10 * u64::from(words) >= 9 * rows;
            let is_nominal = column.read_as(self).1 == Some(KindName::Nominal);
            (names_rows && is_nominal).then(|| (column.said.clone(), rows, words))
        };
        let is_feature = |column: &&SeenColumn| column.read_as(self).0 == ColumnRole::Feature;
        let found: Vec<_> = self.columns.iter().filter_map(identifier).collect();
        // Without them, the table must still have features.
        match self.columns.iter().filter(is_feature).count() > found.len() {
            true => found,
            false => Vec::new(),
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
            _ if table.weights == Some(self.at) => ColumnRole::Weights,
            true => ColumnRole::Ignored,
            false => ColumnRole::Feature,
        };
        let (kind, fault) = match (role, self.given) {
            (ColumnRole::Label | ColumnRole::Weights, _) => (None, None),
            (ColumnRole::Ignored, _) => (Some(KindName::Ignored), None),
            (ColumnRole::Feature, Some(given)) => (Some(given), None),
            (ColumnRole::Feature, None) => self.read_kind(table),
        };
        (role, kind, fault)
    }

    fn described(&self, table: &SeenTable) -> PreviewColumn {
        let (role, kind, fault) = self.read_as(table);
        let detail = fault.map(|fault| self.column.about(&self.said, fault).detail);
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
        // What the texts may mean decides whether they are too many.
        if let Some(fault) = first.or(self.fault.clone()) {
            return (None, Some(fault));
        }
        if self.cells.is_empty() {
            return (None, None);
        }
        if table.is_open {
            return self.named_kind();
        }
        // Missing cells make a number column unreadable only if its numbers are features.
        let lenient = NumberCoding {
            is_filled: true,
            ..table.coding
        };
        match column_kind(&self.cells, stated, lenient) {
            Ok(found) => {
                let fault = column_kind(&self.cells, stated, table.coding).err();
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
            (ColumnRole::Label | ColumnRole::Weights, _) => return Vec::new(),
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
            let found = column_kind(&self.cells, Some(*kind), table.coding);
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
pub(super) fn shown(text: &[u8]) -> String {
    // A character takes at most four bytes.
    let start = &text[..text.len().min(4 * (PREVIEW_CELL_CHARACTERS_MAX + 1))];
    let mut text = legible(start, str::to_owned);
    if text.chars().count() > PREVIEW_CELL_CHARACTERS_MAX {
        text = text.chars().take(PREVIEW_CELL_CHARACTERS_MAX - 1).collect();
        text.push('…');
    }
    text
}
