//! Which cells of a table are missing, and whether a missing cell decides what becomes of its row.

use std::collections::BTreeMap;

use halfspace_core::memory;

use super::columns::TableColumns;
use super::encoder::decides_rows;
use super::table_column::TableColumn;
use crate::cell::{Cell, is_missing_number};
use crate::encoding::options::TableOptions;
use crate::encoding::{ColumnEncoding, KindName};
use crate::error::{Fault, FormatErrorKind};

/// The rule for the missing cells of a table.
#[derive(Default)]
pub(crate) struct MissingRule {
    /// The texts that mean a missing cell, besides the usual ones.
    words: Vec<String>,
    /// For each column, whether it is known to hold numbers, so that further words mean a missing cell. Empty if none
    /// is.
    of_numbers: Vec<bool>,
    /// For each column, whether a missing cell in it decides what becomes of the row. Empty if none does.
    decides: Vec<bool>,
}

impl MissingRule {
    /// The rule that the request and the given encoding state. `encoded` are the columns of the encoding with their
    /// places in the table, and `reads` tells whether a column is read.
    ///
    /// # Errors
    /// When memory ends.
    pub(crate) fn new<'e>(
        table: &TableColumns,
        options: &TableOptions,
        encoded: impl Iterator<Item = (usize, &'e ColumnEncoding)>,
        reads: impl Fn(usize) -> bool,
    ) -> Result<Self, Fault> {
        let given = options.encoding.as_deref();
        let declared = given.map_or(&[][..], |given| &given.missing.words);
        let is_stated = |column: &TableColumn| column.kind == Some(KindName::Number);
        let stated = table.columns.iter().map(|column| Ok(is_stated(column)));
        let mut of_numbers: Vec<bool> = memory::collect::<_, Fault>(stated)?;
        for (at, column) in encoded {
            of_numbers[at] = column.is_of_numbers();
        }
        if let Some(at) = table.weights {
            of_numbers[at] = true;
        }
        if !of_numbers.contains(&true) {
            of_numbers.clear();
        }
        Ok(Self {
            words: options
                .missing_values
                .iter()
                .chain(declared)
                .cloned()
                .collect(),
            of_numbers,
            decides: match decides_rows(options.missing) {
                true => (0..table.columns.len()).map(reads).collect(),
                false => Vec::new(),
            },
        })
    }

    /// The texts that mean a missing cell, besides the usual ones.
    pub(crate) fn words(&self) -> &[String] {
        &self.words
    }

    /// Whether a text is declared a missing cell.
    pub(crate) fn declares(&self, text: &[u8]) -> bool {
        self.words.iter().any(|word| word.as_bytes() == text)
    }

    /// The columns whose missing cells decide what becomes of the row.
    pub(crate) fn deciding(&self) -> impl Iterator<Item = usize> {
        (0..self.decides.len()).filter(|&at| self.decides[at])
    }

    #[inline]
    fn is_of_numbers(&self, at: usize) -> bool {
        self.of_numbers.get(at) == Some(&true)
    }

    /// A cell of column `at` as the rule reads it.
    #[inline]
    pub(crate) fn read<'c>(&self, at: usize, cell: Cell<&'c [u8]>) -> Cell<&'c [u8]> {
        match cell {
            cell if !self.words.is_empty() && self.declares(&cell.spelling()) => Cell::Missing,
            Cell::Text(text) if self.is_of_numbers(at) && is_missing_number(text) => Cell::Missing,
            cell => cell,
        }
    }
}

/// The fault of a table of which `missing=drop` leaves no row.
pub(crate) fn none_left(rows: u64) -> Fault {
    let detail = format!(
        "Each of the {rows} rows has a missing cell, so `missing=drop` leaves none; leave out the columns that are \
         hardly filled, or say `missing=value`."
    );
    Fault::new(FormatErrorKind::EmptyData, detail).mended_by("missing", "value")
}

/// The first word of each column that was taken for a missing cell because no word stood before it.
#[derive(Default)]
pub(crate) struct TakenWords(BTreeMap<usize, (u64, &'static str)>);

impl TakenWords {
    /// Notes the word of column `at` in row `row`.
    pub(crate) fn note(&mut self, at: usize, row: u64, word: &'static str) {
        self.0.entry(at).or_insert((row, word));
    }

    /// Refuses a column that has words after all. `may_be_numbers` tells whether a column has none.
    ///
    /// # Errors
    /// When the first word of such a column may have been one of its values.
    pub(crate) fn check(
        &self,
        table: &TableColumns,
        may_be_numbers: impl Fn(usize) -> bool,
    ) -> Result<(), Fault> {
        let mut taken = self.0.iter();
        let Some((&at, (row, word))) = taken.find(|(at, _)| !may_be_numbers(**at)) else {
            return Ok(());
        };
        let detail = format!(
            "has words, and `{word}` in row {row} stood for a missing cell until the first of them; say \
             `missing_values={word}` if it is one, or give the column the kind nominal in `kinds=`"
        );
        let fault = Fault::new(FormatErrorKind::TableOption, detail)
            .mended_as_missing([word.as_bytes()])
            .mended_by_kind("nominal");
        Err(table.about(at, fault))
    }
}
