//! Why a cell has no features under an encoding, and what may mend that.

use crate::error::{Fault, FormatErrorKind, excerpt};

/// The reason why a cell has no features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoFeatures {
    /// The encoding has no feature for a missing cell.
    Missing,
    /// The encoding does not know the value.
    Unknown,
    /// The column holds numbers, and the cell does not.
    NotANumber,
    /// Either the column or the cell has percentages, but not both.
    Percent,
    /// The column holds dates, and the cell does not.
    NotADate,
    /// The comma of the cell may stand before a fraction or between thousands.
    Comma,
}

impl NoFeatures {
    /// The fault of the cell with this text in row `row`, counted from 1.
    pub(crate) fn fault(self, column: &str, row: u64, text: &[u8]) -> Fault {
        let (column, shown) = (excerpt(column.as_bytes()), excerpt(text));
        let detail = match self {
            Self::Missing => format!(
                "The cell of column {column} in row {row} is missing, and the encoding has no feature for a missing \
                 cell; `missing=drop` leaves such rows out, and `unknown=zero` reads them as 0."
            ),
            Self::Unknown => format!(
                "The encoding does not know the value {shown} of column {column} in row {row}; `unknown=zero` reads \
                 such values as 0, and a training with `kinds=` can read the column as another kind."
            ),
            Self::Percent => format!(
                "The value {shown} of column {column} in row {row} and the numbers of the model's table are not both \
                 percentages; write them alike, such as 45%, or send numbers such as 0.45 as JSON."
            ),
            Self::NotADate => format!(
                "The value {shown} of column {column} in row {row} is no date such as 2024-12-31; write it so, say \
                 `dates=dmy` or `dates=mdy`, or say `unknown=zero` to read such values as 0."
            ),
            Self::Comma => format!(
                "The comma in the value {shown} of column {column} in row {row} may stand before a fraction or between \
                 thousands; say `decimal=,` or `decimal=.`."
            ),
            Self::NotANumber => format!(
                "The value {shown} of column {column} in row {row} is not a number; the column holds numbers, and \
                 `unknown=zero` reads other values as 0."
            ),
        };
        let fault = Fault::new(FormatErrorKind::TableOption, detail);
        match self {
            Self::Missing => fault
                .mended_by("missing", "drop")
                .mended_by("unknown", "zero"),
            Self::Unknown | Self::NotANumber => fault.mended_by("unknown", "zero"),
            Self::NotADate => fault
                .mended_by("dates", "dmy")
                .mended_by("dates", "mdy")
                .mended_by("unknown", "zero"),
            Self::Comma => fault.mended_by("decimal", ",").mended_by("decimal", "."),
            Self::Percent => fault,
        }
    }
}
