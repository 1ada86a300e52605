//! The spelling of a cell: missing, a number, a truth value or text.

use crate::text::numbers::{NumberFault, parse_number};

/// Spellings of a missing cell, beside an empty one.
pub(crate) const MISSING: [&[u8]; 6] = [b"?", b"NA", b"NaN", b"nan", b"null", b"NULL"];

/// The content of a cell, as its spelling tells it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cell {
    Missing,
    Number(f64),
    /// A truth value in a spelling family.
    Flag(Family, bool),
    Text,
}

/// A pair of words for false and true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    TrueFalse,
    Tf,
    YesNo,
    Yn,
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

    /// Whether one value alone tells the family. A lone `t`, `f`, `y` or `n` may be any code.
    pub(crate) fn is_told_by_one(self) -> bool {
        !matches!(self, Self::Tf | Self::Yn)
    }
}

/// The character before the fraction of a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DecimalMark {
    /// `1.5`
    #[default]
    Point,
    /// `1,5`
    Comma,
}

impl Cell {
    /// Reads the spelling of a trimmed cell.
    pub(crate) fn of(text: &[u8], decimal: DecimalMark) -> Self {
        if is_missing(text) {
            return Self::Missing;
        }
        match number(text, decimal) {
            Ok(number) => return Self::Number(number),
            // A number beyond the range of doubles is a faulty number rather than a word.
            Err(NumberFault::NotFinite) => return Self::Text,
            Err(NumberFault::NotANumber) => {}
        }
        let is = |word: &str| word.as_bytes().eq_ignore_ascii_case(text);
        let flag = FAMILIES.iter().find_map(|family| {
            let [no, yes] = family.words();
            (is(no) || is(yes)).then(|| Self::Flag(*family, is(yes)))
        });
        flag.unwrap_or(Self::Text)
    }
}

/// Whether a trimmed cell is missing.
pub(crate) fn is_missing(text: &[u8]) -> bool {
    text.is_empty() || MISSING.contains(&text)
}

/// Whether a number may be a code such as 007, whose spelling must be kept while the kind of the column is open.
pub(crate) fn is_code(text: &[u8]) -> bool {
    matches!(text, [b'0', b'0'..=b'9', ..])
}

/// Reads a number with this decimal mark.
pub(crate) fn number(text: &[u8], decimal: DecimalMark) -> Result<f64, NumberFault> {
    match decimal {
        DecimalMark::Comma if text.contains(&b'.') => Err(NumberFault::NotANumber),
        DecimalMark::Comma if text.contains(&b',') => {
            let pointed: Vec<u8> = text
                .iter()
                .map(|&byte| if byte == b',' { b'.' } else { byte })
                .collect();
            parse_number(&pointed)
        }
        _ => parse_number(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings() {
        let of = |text: &str| Cell::of(text.as_bytes(), DecimalMark::Point);
        for missing in ["", "?", "NA", "NaN", "nan", "null"] {
            assert_eq!(of(missing), Cell::Missing, "{missing}");
        }
        assert_eq!(of("-2.5"), Cell::Number(-2.5));
        assert_eq!(of("TRUE"), Cell::Flag(Family::TrueFalse, true));
        assert_eq!(of("False"), Cell::Flag(Family::TrueFalse, false));
        assert_eq!(of("n"), Cell::Flag(Family::Yn, false));
        assert_eq!(of("oN"), Cell::Flag(Family::OnOff, true));
        for text in ["inf", "1e999", "1,5", "yes!", "na"] {
            assert_eq!(of(text), Cell::Text, "{text}");
        }
    }

    #[test]
    fn decimal_commas() {
        let of = |text: &str| Cell::of(text.as_bytes(), DecimalMark::Comma);
        assert_eq!(of("1,5"), Cell::Number(1.5));
        assert_eq!(of("-3"), Cell::Number(-3.0));
        assert_eq!(of("1.5"), Cell::Text);
        assert_eq!(of("1,2,3"), Cell::Text);
    }
}
