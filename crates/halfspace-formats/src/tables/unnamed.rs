//! Finds columns that are no features, because they count the rows, or have neither a name nor a value.

use crate::cell::Cell;

/// In a table without names, a first column must count this many rows before we take it for a row number, because
/// with two rows the numbers 0 and 1 may be bits. If the other columns have names, nobody meant a column without one
/// as a feature, so there one row is enough.
const COUNTED_ROWS_MIN: u64 = 3;

/// A first column with a name must count this many rows: the numbers of a few rows may well be a feature, such as a
/// size from 1 to 10.
const NAMED_COUNTED_ROWS_MIN: u64 = 20;

/// What the rows so far tell about a column that may be no feature.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Unnamed {
    /// The column is a feature, because it has a name or its cells are values.
    No,
    /// No row so far. The column may count the rows, which is accepted after `counts_from` of them, or it may be empty.
    Begins {
        counts_from: Option<u64>,
        may_be_empty: bool,
    },
    /// Every cell was the number of its row.
    Counts {
        last: u64,
        rows: u64,
        counts_from: u64,
    },
    /// Every cell was missing.
    Empty,
}

impl Unnamed {
    /// What is known of column `at` of `count` before the first row.
    pub(crate) fn of(at: usize, count: usize, has_header: bool, name: &str) -> Self {
        match (has_header, name) {
            (true, "") => Self::Begins {
                counts_from: Some(1),
                may_be_empty: true,
            },
            // Beside the label it may be the only feature.
            (true, _) if at == 0 && count > 2 => Self::Begins {
                counts_from: Some(NAMED_COUNTED_ROWS_MIN),
                may_be_empty: false,
            },
            (false, _) if at == 0 => Self::Begins {
                counts_from: Some(COUNTED_ROWS_MIN),
                may_be_empty: true,
            },
            (false, _) if at + 1 == count => Self::Begins {
                counts_from: None,
                may_be_empty: true,
            },
            _ => Self::No,
        }
    }

    /// Reads the next cell. A column may count the rows from 0 or from 1.
    pub(crate) fn after(self, cell: &Cell<&[u8]>) -> Self {
        let number = || {
            let number = cell.number().ok();
            number.filter(|number| number.fract() == 0.0)
        };
        match self {
            Self::Begins {
                may_be_empty: true, ..
            }
            | Self::Empty
                if cell.is_missing() =>
            {
                Self::Empty
            }
            Self::Begins {
                counts_from: Some(counts_from),
                ..
            } => match number() {
                Some(first) if first == 0.0 || first == 1.0 => Self::Counts {
                    last: first as u64,
                    rows: 1,
                    counts_from,
                },
                _ => Self::No,
            },
            Self::Counts {
                last,
                rows,
                counts_from,
            } if number() == Some((last + 1) as f64) => Self::Counts {
                last: last + 1,
                rows: rows + 1,
                counts_from,
            },
            _ => Self::No,
        }
    }

    /// The reason why the column is no feature, as far as the rows tell by now.
    pub(crate) fn no_feature(self) -> Option<&'static str> {
        match self {
            Self::Counts {
                rows, counts_from, ..
            } if rows >= counts_from => Some("the column counts the rows"),
            Self::Empty => Some("the column has no name and no value"),
            _ => None,
        }
    }
}
