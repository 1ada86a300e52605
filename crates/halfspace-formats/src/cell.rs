//! A cell of a table as its reader finds it, and what it holds: nothing, a number, a truth value or text.

use std::borrow::Cow;
use std::ops::Range;

use crate::dates;
use crate::numbers::{DecimalMark, NumberFault, is_respelled, number, parse_number};
use crate::written_number::WrittenNumber;

/// Spellings of a missing cell, beside an empty one.
pub const MISSING: [&str; 6] = ["?", "NA", "NaN", "nan", "null", "NULL"];

/// Further spellings of a missing cell in a column of numbers. Among words they are words, because `None` or `-` may be
/// an answer like any other. These are the words that pandas reads as missing, and two signs from public tables.
pub const MISSING_AMONG_NUMBERS: [&str; 15] = [
    "-", ".", "N/A", "n/a", "#N/A", "#NA", "#N/A N/A", "<NA>", "None", "-nan", "-NaN", "1.#IND",
    "1.#QNAN", "-1.#IND", "-1.#QNAN",
];

/// A cell as a reader finds it. Its texts are `T`, which is bytes or their range in the text of a row.
///
/// If the format has no types, the reader has only texts, and their spelling tells what they are. Numbers and truth
/// values keep their spelling too, because it names the cell if the column turns out to have words.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell<T> {
    Missing,
    /// A text without blanks around.
    Text(T),
    /// A finite number, and its spelling unless this is the shortest one.
    Number(f64, Option<T>),
    Boolean(bool, T),
    /// A date with its [seconds](crate::dates).
    Date(f64),
    /// A value that a table cannot hold. The reason continues a sentence about the column.
    Refused(T),
}

impl<'a> Cell<&'a [u8]> {
    /// Reads a number of a format that has numbers. A number beyond the range of doubles is text. With a decimal
    /// comma a number with a point is text too, as in CSV.
    pub(crate) fn of_number(text: &'a [u8], decimal: DecimalMark) -> Self {
        match number(text, decimal) {
            Ok(value) => Self::Number(value, Some(text)),
            Err(_) => Self::Text(text),
        }
    }

    /// What the cell holds.
    #[inline]
    pub(crate) fn content(&self, decimal: DecimalMark) -> Content {
        match self {
            Self::Text(text) => Content::of(text, decimal),
            Self::Number(value, _) => Content::Number(*value),
            Self::Boolean(value, _) => Content::Flag(Family::TrueFalse, *value),
            Self::Date(seconds) => Content::Written(WrittenNumber::of_date(*seconds)),
            Self::Missing | Self::Refused(_) => Content::Missing,
        }
    }

    /// The text that names the cell, or nothing if it has no value.
    #[inline]
    pub(crate) fn spelling(&self) -> Cow<'a, [u8]> {
        match self {
            Self::Text(text) | Self::Number(_, Some(text)) | Self::Boolean(_, text) => {
                Cow::Borrowed(text)
            }
            Self::Number(value, None) => value.to_string().into_bytes().into(),
            Self::Date(seconds) => dates::written(*seconds).into_bytes().into(),
            Self::Missing | Self::Refused(_) => Cow::Borrowed(b""),
        }
    }

    #[inline]
    pub(crate) fn is_missing(&self) -> bool {
        match self {
            Self::Text(text) => is_missing(text),
            Self::Number(..) | Self::Boolean(..) | Self::Date(_) => false,
            Self::Missing | Self::Refused(_) => true,
        }
    }

    /// The number that the cell holds, with a decimal point.
    #[inline]
    pub(crate) fn number(&self) -> Result<f64, NumberFault> {
        match self {
            Self::Text(text) => parse_number(text),
            Self::Number(value, _) => Ok(*value),
            _ => Err(NumberFault::NotANumber),
        }
    }

    /// Whether the text of this number says more than its value, as in a code such as 007.
    pub(crate) fn is_code(&self) -> bool {
        matches!(self, Self::Text(text) | Self::Number(_, Some(text)) if is_code(text))
    }

    /// Whether the text of this number may be longer than the shortest one.
    pub(crate) fn is_respelled(&self, value: f64) -> bool {
        match self {
            Self::Text(text) | Self::Number(_, Some(text)) => is_respelled(text, value),
            // The shortest text of a whole number has only digits.
            _ => is_respelled(b"", value),
        }
    }

    /// The reason why a table cannot hold the cell. It continues a sentence about the column.
    #[inline]
    pub(crate) fn refusal(&self) -> Option<Cow<'a, str>> {
        match self {
            Self::Refused(reason) => Some(str::from_utf8(reason).unwrap_or("has no text").into()),
            _ => None,
        }
    }
}

impl Cell<Range<usize>> {
    /// The cell with its texts, taken from the text of its row.
    pub(crate) fn within<'r>(&self, row: &'r [u8]) -> Cell<&'r [u8]> {
        let text = |range: &Range<usize>| &row[range.clone()];
        match self {
            Self::Missing => Cell::Missing,
            Self::Text(range) => Cell::Text(text(range)),
            Self::Number(value, spelling) => Cell::Number(*value, spelling.as_ref().map(text)),
            Self::Boolean(value, range) => Cell::Boolean(*value, text(range)),
            Self::Date(seconds) => Cell::Date(*seconds),
            Self::Refused(range) => Cell::Refused(text(range)),
        }
    }
}

/// What a cell holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Content {
    /// Nothing, or one of the words of [`MISSING`].
    Missing,
    /// A finite number.
    Number(f64),
    /// A truth value in a spelling family.
    Flag(Family, bool),
    /// A number that is written in a way of its own, and means a number if its whole column is written so.
    Written(WrittenNumber),
    /// One of the words of [`MISSING_AMONG_NUMBERS`].
    MissingAmongNumbers,
    /// Any other text.
    Text,
}

/// A pair of words for false and true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// `true`, `false`
    TrueFalse,
    /// `t`, `f`
    Tf,
    /// `yes`, `no`
    YesNo,
    /// `y`, `n`
    Yn,
    /// `on`, `off`
    OnOff,
}

const FAMILIES: [Family; 5] = [
    Family::TrueFalse,
    Family::Tf,
    Family::YesNo,
    Family::Yn,
    Family::OnOff,
];

impl Family {
    /// The words for false and true, in lower case.
    pub(crate) fn words(self) -> [&'static str; 2] {
        match self {
            Self::TrueFalse => ["false", "true"],
            Self::Tf => ["f", "t"],
            Self::YesNo => ["no", "yes"],
            Self::Yn => ["n", "y"],
            Self::OnOff => ["off", "on"],
        }
    }

    /// Whether one value suffices to tell the family. A lone `t`, `f`, `y` or `n` could be any code.
    pub(crate) fn is_told_by_one(self) -> bool {
        !matches!(self, Self::Tf | Self::Yn)
    }
}

impl Content {
    /// The number, if the cell holds a plain one.
    pub(crate) fn number(self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(number),
            _ => None,
        }
    }

    /// Reads the spelling of a trimmed cell.
    pub fn of(text: &[u8], decimal: DecimalMark) -> Self {
        if is_missing(text) {
            return Self::Missing;
        }
        if is_missing_number(text) {
            return Self::MissingAmongNumbers;
        }
        match number(text, decimal) {
            Ok(number) => return Self::Number(number),
            // A number beyond the range of doubles is a faulty number, not a word.
            Err(NumberFault::NotFinite) => return Self::Text,
            Err(NumberFault::NotANumber) => {}
        }
        let is = |word: &str| word.as_bytes().eq_ignore_ascii_case(text);
        let flag = FAMILIES.iter().find_map(|family| {
            let [no, yes] = family.words();
            (is(no) || is(yes)).then(|| Self::Flag(*family, is(yes)))
        });
        let written = || WrittenNumber::of(text, decimal).map(Self::Written);
        flag.or_else(written).unwrap_or(Self::Text)
    }
}

/// Whether a trimmed cell is missing.
pub(crate) fn is_missing(text: &[u8]) -> bool {
    text.is_empty() || MISSING.iter().any(|word| word.as_bytes() == text)
}

/// Whether a trimmed cell of a column of numbers is missing, beside the usual ones.
pub(crate) fn is_missing_number(text: &[u8]) -> bool {
    missing_number(text).is_some()
}

/// The word that means a missing cell in a column of numbers, if the cell is one.
pub(crate) fn missing_number(text: &[u8]) -> Option<&'static str> {
    // Most cells end here.
    if !matches!(text, [b'-' | b'.' | b'N' | b'n' | b'#' | b'<' | b'1', ..]) {
        return None;
    }
    let mut words = MISSING_AMONG_NUMBERS.into_iter();
    words.find(|word| word.as_bytes() == text)
}

/// Whether a number may be a code such as 007. Its spelling must be kept while the kind of the column is open.
pub(crate) fn is_code(text: &[u8]) -> bool {
    matches!(text, [b'0', b'0'..=b'9', ..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cell_spellings_are_read_as_missing_number_flag_or_text() {
        let of = |text: &str| Content::of(text.as_bytes(), DecimalMark::Point);
        for missing in ["", "?", "NA", "NaN", "nan", "null"] {
            assert_eq!(of(missing), Content::Missing, "{missing}");
        }
        assert_eq!(of("-2.5"), Content::Number(-2.5));
        assert_eq!(of("TRUE"), Content::Flag(Family::TrueFalse, true));
        assert_eq!(of("False"), Content::Flag(Family::TrueFalse, false));
        assert_eq!(of("n"), Content::Flag(Family::Yn, false));
        assert_eq!(of("oN"), Content::Flag(Family::OnOff, true));
        for text in ["inf", "1e999", "1,5", "yes!", "na"] {
            assert_eq!(of(text), Content::Text, "{text}");
        }
    }

    #[test]
    fn typed_numbers_are_read_as_their_texts() {
        let point = DecimalMark::Point;
        for text in ["0.10", "-0", "1e3", "12345678901234567890"] {
            let cell = Cell::of_number(text.as_bytes(), point);
            let of_text = Cell::Text(text.as_bytes());
            assert_eq!(cell.content(point), of_text.content(point), "{text}");
            assert_eq!(cell.spelling(), text.as_bytes());
        }
        for value in [0.1, -0.0, 5.0, 1e20, 9_007_199_254_740_993.0, -2.5e-9] {
            let text = value.to_string();
            let (cell, of_text) = (Cell::Number(value, None), Cell::Text(text.as_bytes()));
            assert_eq!(cell.spelling(), of_text.spelling());
            assert_eq!(cell.number(), of_text.number());
            assert_eq!(
                cell.is_respelled(value),
                of_text.is_respelled(value),
                "{text}"
            );
        }
        // A number beyond the range of doubles, or with another decimal mark, is text.
        assert_eq!(
            Cell::of_number(b"1e400", point),
            Cell::Text(b"1e400".as_slice())
        );
        assert_eq!(
            Cell::of_number(b"1.5", DecimalMark::Comma),
            Cell::Text(b"1.5".as_slice())
        );
    }

    #[test]
    fn cells_without_a_value_have_a_reason() {
        assert_eq!(
            Cell::Refused(b"has an error".as_slice()).refusal().unwrap(),
            "has an error"
        );
        assert_eq!(Cell::Text(b"2024-01-01".as_slice()).refusal(), None);
    }

    #[test]
    fn cells_with_decimal_commas_are_numbers() {
        let of = |text: &str| Content::of(text.as_bytes(), DecimalMark::Comma);
        assert_eq!(of("1,5"), Content::Number(1.5));
        assert_eq!(of("-3"), Content::Number(-3.0));
        assert_eq!(of("1.5"), Content::Text);
        assert_eq!(of("1,2,3"), Content::Text);
    }
}
