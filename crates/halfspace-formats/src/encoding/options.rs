//! What a request can say about a table.

use std::sync::Arc;

use super::{ColumnEncoding, KindName, Missing, TableEncoding, WeightsColumn, Written};
use crate::dates::DateOrder;
use crate::numbers::DecimalMark;

/// The number of thresholds of a number column if the request states none.
pub const BINS_DEFAULT: u32 = 8;

/// The largest number of thresholds of a number column.
pub const BINS_MAX: u32 = 255;

/// Properties of a table that the request states.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableOptions {
    /// The label value that means +1. All other values then mean -1.
    pub positive: Option<String>,
    /// The column with the weights of the examples. `None` means the one of `roles`, if there is one.
    pub weights: Option<StatedWeights>,
    /// Columns that are not features, by name, by number or from one to another.
    pub ignore: Vec<String>,
    /// Kinds of columns, by name, by number or from one to another.
    pub kinds: Vec<(String, KindName)>,
    /// Kinds of columns that the file declares. Those of the request take precedence.
    pub declared: Vec<(String, KindName)>,
    /// What the columns are, where the table was read before.
    pub roles: Option<Arc<Roles>>,
    /// The coding of number columns.
    pub numbers: Numbers,
    /// The largest number of thresholds per column, for [`Numbers::Thermometer`]. `None` means [`BINS_DEFAULT`].
    pub bins: Option<u32>,
    /// The scaling of number columns.
    pub scale: Scaling,
    /// The treatment of missing cells. `None` means a value of its own.
    pub missing: Option<Missing>,
    /// Texts that mean a missing cell, besides the usual ones.
    pub missing_values: Vec<String>,
    /// The treatment of values that the encoding does not know.
    pub unknown: Unknown,
    /// The byte between fields, where a blank stands for any number of blanks. `None` lets the first line decide.
    pub delimiter: Option<u8>,
    /// The first byte of a line that is no row.
    pub comment: Option<u8>,
    /// The order of the numbers of dates that do not begin with the year. `None` refuses such dates.
    pub dates: Option<DateOrder>,
    /// The decimal mark. `None` means a point, and a number with a comma is refused.
    pub decimal: Option<DecimalMark>,
    /// The sheet of a workbook, by name or by number from 1, where hidden sheets count. `None` means the first
    /// visible sheet with a value.
    pub sheet: Option<String>,
    /// Whether the cells themselves are the features, so that each must be a number.
    pub numbers_only: bool,
    /// The encoding of another table, which this one must have too.
    pub encoding: Option<Arc<TableEncoding>>,
}

/// The column with the weights of the examples, as a request states it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatedWeights {
    /// No column.
    None,
    /// The first column.
    First,
    /// The last column.
    Last,
    /// The column of this name or number.
    Named(String),
}

/// What the columns of a table are by their places, from 0. A name or a number in an option may mean another column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Roles {
    pub(crate) kinds: Vec<(usize, KindName)>,
    /// The columns of numbers with marks between thousands.
    pub(crate) with_thousands: Vec<usize>,
    /// The label column, unless the request names one.
    pub(crate) label: Option<usize>,
    /// The column of weights, unless the request names one.
    pub(crate) weights: Option<WeightsColumn>,
}

impl Roles {
    /// The columns of a table that hold the labels and the weights.
    pub fn beside_features(table: &TableEncoding) -> Self {
        let label = table.label.as_ref();
        Self {
            label: label.map(|label| label.index.saturating_sub(1) as usize),
            weights: table.weights.clone(),
            ..Self::default()
        }
    }

    /// All columns of a table.
    pub(crate) fn of(table: &TableEncoding) -> Self {
        let place = |index: u32| index.saturating_sub(1) as usize;
        let columns = table.columns.iter();
        let kinds = columns.map(|column| (column.place(), column.kind_name()));
        let ignored = table.ignored.iter();
        let ignored = ignored.map(|column| (place(column.index), KindName::Ignored));
        let with_thousands = table.columns.iter();
        let with_thousands =
            with_thousands.filter(|column| column.written == Some(Written::Thousands));
        Self {
            kinds: kinds.chain(ignored).collect(),
            with_thousands: with_thousands.map(ColumnEncoding::place).collect(),
            ..Self::beside_features(table)
        }
    }
}

/// The spellings of the bytes between the fields of CSV, where a blank stands for any number of blanks.
pub(crate) const DELIMITERS: [(&str, u8); 5] = [
    (",", b','),
    (";", b';'),
    ("|", b'|'),
    ("tab", b'\t'),
    ("blank", b' '),
];

/// How numbers become features, as far as the kind of a column depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NumberCoding {
    pub(crate) numbers: Numbers,
    /// Whether a column may have a number for its missing cells.
    pub(crate) is_filled: bool,
}

impl TableOptions {
    /// Whether features depend on all rows of their column.
    pub(crate) fn is_fitted(&self) -> bool {
        self.scale != Scaling::None || self.missing.is_some_and(Missing::fills)
    }

    /// How numbers become features.
    pub(crate) fn number_coding(&self) -> NumberCoding {
        NumberCoding {
            numbers: self.numbers,
            is_filled: self.missing.is_some_and(Missing::fills),
        }
    }

    /// Whether a line is no row.
    pub(crate) fn is_comment(&self, line: &[u8]) -> bool {
        self.comment.is_some() && line.first().copied() == self.comment
    }
}

/// The coding of number columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Numbers {
    /// The number itself.
    #[default]
    Real,
    /// One bit per threshold.
    Thermometer,
}

/// The scaling of number columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scaling {
    /// The number as it is.
    #[default]
    None,
    /// The mean becomes 0 and the standard deviation 1.
    Standard,
    /// The smallest number becomes 0 and the largest 1.
    Range,
}

/// The treatment of values that an encoding does not know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unknown {
    /// The value is refused.
    #[default]
    Refuse,
    /// All features of the column are 0.
    Zero,
}
