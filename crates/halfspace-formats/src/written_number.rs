//! Numbers as people write them in tables: with marks between thousands, with a percent sign, with the sign of a
//! currency, or as a date.
//!
//! A text alone cannot tell whether the comma of `1,234` stands before a fraction or between thousands, and a `%` in
//! one cell says nothing about the others. So this module only says how a text may be read, and the scan of the column
//! (`tables/column_scan.rs`) decides when it has seen all cells.

use crate::dates::{self, DateOrder};
use crate::numbers::{DecimalMark, number};

/// The signs of currencies before or after an amount.
const CURRENCIES: [char; 6] = ['$', '€', '£', '¥', '₹', '₩'];

/// The blanks between an amount and its sign: a space, and those that do not break a line.
const BLANKS: [char; 3] = [' ', '\u{a0}', '\u{202f}'];

/// A number that is not written in the plain way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WrittenNumber {
    pub(crate) value: f64,
    pub(crate) notation: Notation,
    pub(crate) thousands: Thousands,
}

/// The notation of a number. All numbers of a column have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notation {
    Plain,
    /// `45%`, which is the number 0.45.
    Percent,
    Currency(char),
    /// A date, which is the number of its [seconds](crate::dates).
    Date,
}

/// Whether marks stand between the thousands of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Thousands {
    Unmarked,
    /// The only mark could stand before a fraction instead, as in `1,234`.
    Doubtful,
    Marked,
}

impl WrittenNumber {
    /// A date with these seconds.
    pub(crate) fn of_date(seconds: f64) -> Self {
        Self {
            value: seconds,
            notation: Notation::Date,
            thousands: Thousands::Unmarked,
        }
    }

    /// Reads a date whose year comes last.
    pub(crate) fn of_ordered_date(text: &[u8], order: DateOrder) -> Option<Self> {
        let text = str::from_utf8(text).ok()?;
        dates::ordered(text, order).map(Self::of_date)
    }

    /// Reads a trimmed cell that is no plain number. None if it is no number at all.
    pub(crate) fn of(text: &[u8], decimal: DecimalMark) -> Option<Self> {
        // Most texts are words, which end here.
        if !text.iter().any(u8::is_ascii_digit) {
            return None;
        }
        let text = str::from_utf8(text).ok()?;
        if let Some(seconds) = dates::iso(text) {
            return Some(Self::of_date(seconds));
        }
        let (sign, rest) = signed(text);
        let (notation, rest) = notation(rest);
        let (sign, digits) = match (sign, signed(rest)) {
            ("", own) => own,
            (_, ("", digits)) => (sign, digits),
            _ => return None,
        };
        // Two signs, as in `-+5`, are none of these.
        if !digits.starts_with(|first: char| first.is_ascii_digit() || ".,".contains(first)) {
            return None;
        }
        let (plain, thousands) = ungrouped(digits, decimal)?;
        if notation == Notation::Plain && thousands == Thousands::Unmarked {
            return None;
        }
        let exponent = match notation {
            Notation::Percent if plain.contains(['e', 'E']) => return None,
            // The quotient of two rounded numbers could be another one.
            Notation::Percent => "e-2",
            Notation::Plain | Notation::Currency(_) | Notation::Date => "",
        };
        let plain = [sign, &plain, exponent].concat();
        let value = number(plain.as_bytes(), DecimalMark::Point).ok()?;
        Some(Self {
            value,
            notation,
            thousands,
        })
    }
}

fn signed(text: &str) -> (&str, &str) {
    match text.strip_prefix(['+', '-']) {
        Some(rest) => text.split_at(text.len() - rest.len()),
        None => ("", text),
    }
}

/// The notation of a text without its sign, and what is left of the text.
fn notation(text: &str) -> (Notation, &str) {
    if let Some(rest) = text.strip_suffix('%') {
        return (Notation::Percent, rest.trim_end_matches(BLANKS));
    }
    for currency in CURRENCIES {
        if let Some(rest) = text.strip_prefix(currency) {
            return (
                Notation::Currency(currency),
                rest.trim_start_matches(BLANKS),
            );
        }
        if let Some(rest) = text.strip_suffix(currency) {
            return (Notation::Currency(currency), rest.trim_end_matches(BLANKS));
        }
    }
    (Notation::Plain, text)
}

/// The digits with a decimal point and without marks between thousands.
fn ungrouped(digits: &str, decimal: DecimalMark) -> Option<(String, Thousands)> {
    let (mark, point) = match decimal {
        DecimalMark::Point => (',', '.'),
        DecimalMark::Comma => ('.', ','),
    };
    let (whole, fraction) = match digits.split_once(point) {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (digits, None),
    };
    if !whole.contains(mark) {
        return Some((digits.replacen(point, ".", 1), Thousands::Unmarked));
    }
    let mut groups = whole.split(mark);
    let first = groups.next()?;
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_first = (1..=3).contains(&first.len()) && !first.starts_with('0') && are_digits(first);
    let are_groups = groups
        .clone()
        .all(|group| group.len() == 3 && are_digits(group));
    if !is_first || !are_groups || !fraction.is_none_or(are_digits) {
        return None;
    }
    let thousands = match (groups.count(), fraction) {
        (1, None) => Thousands::Doubtful,
        _ => Thousands::Marked,
    };
    let fraction = fraction.map_or(String::new(), |fraction| format!(".{fraction}"));
    Some((whole.replace(mark, "") + &fraction, thousands))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, decimal: DecimalMark) -> Option<(f64, Notation, Thousands)> {
        let read = WrittenNumber::of(text.as_bytes(), decimal)?;
        Some((read.value, read.notation, read.thousands))
    }

    #[test]
    fn amounts_percentages_and_thousands_are_numbers() {
        use Notation::{Currency, Percent, Plain};
        use Thousands::{Doubtful, Marked, Unmarked};
        for (text, expected) in [
            ("1,234.5", (1234.5, Plain, Marked)),
            ("-1,234,567", (-1_234_567.0, Plain, Marked)),
            ("1,234", (1234.0, Plain, Doubtful)),
            ("45%", (0.45, Percent, Unmarked)),
            ("-12.3 %", (-0.123, Percent, Unmarked)),
            ("1,234.5%", (12.345, Percent, Marked)),
            ("$10", (10.0, Currency('$'), Unmarked)),
            ("-$ 1,234.50", (-1234.5, Currency('$'), Marked)),
            ("$-3", (-3.0, Currency('$'), Unmarked)),
            ("7.5\u{a0}€", (7.5, Currency('€'), Unmarked)),
            ("£.5", (0.5, Currency('£'), Unmarked)),
        ] {
            assert_eq!(read(text, DecimalMark::Point), Some(expected), "{text}");
        }
        for (text, expected) in [
            ("1.234,5", (1234.5, Plain, Marked)),
            ("1.234", (1234.0, Plain, Doubtful)),
            ("12,5%", (0.125, Percent, Unmarked)),
            ("1.234,50 €", (1234.5, Currency('€'), Marked)),
        ] {
            assert_eq!(read(text, DecimalMark::Comma), Some(expected), "{text}");
        }
    }

    #[test]
    fn plain_numbers_and_other_texts_are_not_written_numbers() {
        for text in [
            "",
            "%",
            "$",
            "1.5",
            "12",
            "1,5",
            "1,2345",
            "1234,567",
            "0,123",
            "1,234,5",
            "1,,234",
            "1,234e3",
            "5e1%",
            "$5%",
            "--$5",
            "-$-5",
            "$+-5",
            "A1%",
            "10 $ each",
            "1 234",
            "1.234.567",
            "$",
            "5 apples",
            "1,234.5.6",
        ] {
            assert_eq!(read(text, DecimalMark::Point), None, "{text}");
        }
    }
}
