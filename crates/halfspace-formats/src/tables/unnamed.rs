//! Columns without names that may be no features: one that counts the rows, or one without a value.

use crate::cell::Cell;

/// The rows after which a first column counts them in a table without names. Of two rows the numbers 0 and 1 may be
/// bits. A column without a name beside columns with names is no feature that someone meant, so one row is enough.
const COUNTED_ROWS_MIN: u64 = 3;

/// What the rows so far tell about a column without a name, which may be no feature.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Unnamed {
    /// The column has a name, or its cells are values.
    No,
    /// No row so far. A column may count the rows after so many of them, or only be empty.
    Begins { counts_from: Option<u64> },
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
            },
            (false, _) if at == 0 => Self::Begins {
                counts_from: Some(COUNTED_ROWS_MIN),
            },
            (false, _) if at + 1 == count => Self::Begins { counts_from: None },
            _ => Self::No,
        }
    }

    /// Reads the next cell. The rows are counted from 0 or from 1.
    pub(crate) fn after(self, cell: &Cell<&[u8]>) -> Self {
        let number = || {
            let number = cell.number().ok();
            number.filter(|number| number.fract() == 0.0)
        };
        match self {
            Self::Begins { .. } | Self::Empty if cell.is_missing() => Self::Empty,
            Self::Begins {
                counts_from: Some(counts_from),
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

    /// The reason why the column is no feature, as the rows so far tell.
    pub(crate) fn no_feature(self) -> Option<&'static str> {
        match self {
            Self::Counts {
                rows, counts_from, ..
            } if rows >= counts_from => Some("the column has no name and counts the rows"),
            Self::Empty => Some("the column has no name and no value"),
            _ => None,
        }
    }
}
