//! Decimal numbers in text: one parser for the values and labels of all text formats and of workbooks. JSON documents
//! have the parser of their library.

use std::borrow::Cow;

use memchr::{memchr_iter, memchr3};

use crate::error::{Fault, FormatErrorKind, excerpt};

/// Doubles represent all integers up to this magnitude.
pub(crate) const EXACT_MAX: u64 = 1 << f64::MANTISSA_DIGITS;

/// The character before the fraction of a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DecimalMark {
    /// `1.5`
    #[default]
    Point,
    /// `1,5`
    Comma,
}

/// Reason why a text is not a finite number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NumberFault {
    /// The text is no number.
    NotANumber,
    /// The text is `nan`, an infinity, or too large for a double.
    NotFinite,
}

impl NumberFault {
    /// Makes the fault of a value with this text.
    pub(crate) fn of_value(self, text: &[u8]) -> Fault {
        let shown = excerpt(text);
        let detail = match self {
            Self::NotANumber if text.is_empty() => {
                "A value is missing; every feature needs a number.".to_owned()
            }
            Self::NotANumber => format!("{shown} is not a number; a value is a finite number."),
            Self::NotFinite => format!("{shown} is not finite; a value is a finite number."),
        };
        Fault::new(FormatErrorKind::BadValue, detail)
    }
}

/// Reads a decimal number such as `1`, `+1`, `-0.5` or `1e-3`.
pub(crate) fn parse_number(text: &[u8]) -> Result<f64, NumberFault> {
    match text {
        b"1" | b"+1" => return Ok(1.0),
        b"0" => return Ok(0.0),
        b"-1" => return Ok(-1.0),
        _ => {}
    }
    match fast_float2::parse::<f64, _>(text) {
        Ok(value) if value.is_finite() => Ok(value),
        // The parser also accepts the words for infinity and not-a-number.
        Ok(_) => Err(NumberFault::NotFinite),
        Err(_) => Err(NumberFault::NotANumber),
    }
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

/// The shortest text of a number. Most labels are numbers that need no conversion.
pub(crate) fn shortest(number: f64) -> Cow<'static, str> {
    match number {
        1.0 => "1".into(),
        0.0 => "0".into(),
        -1.0 => "-1".into(),
        _ => number.to_string().into(),
    }
}

/// A number that about half of the rows reach, and not all, if there are several numbers. `rows` counts the rows of
/// each of them.
pub(crate) fn middle(numbers: &[f64], rows: impl Iterator<Item = u64>) -> f64 {
    let mut counted: Vec<(f64, u64)> = numbers.iter().copied().zip(rows).collect();
    counted.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let all: u64 = counted.iter().map(|(_, rows)| rows).sum();
    let mut below = 0;
    let reached = counted.iter().position(|(_, rows)| {
        below += rows;
        2 * below >= all
    });
    let next = reached.unwrap_or(0) + 1;
    counted
        .get(next)
        .or(counted.last())
        .map_or(0.0, |(number, _)| *number)
}

/// The exact decimal form of a finite number of 1 or more: its sign, its digits, and a point only if a fraction
/// follows.
pub(crate) fn exact_decimal(text: &[u8]) -> Vec<u8> {
    let text = str::from_utf8(text).unwrap_or_default();
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let unsigned = mantissa.trim_start_matches(['+', '-']);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let all = [whole, fraction].concat();
    // The number is finite and at least 1, so the point is after the first digit that is not 0.
    let point = whole.len() as i64 + exponent.parse::<i64>().unwrap_or(0);
    let point = usize::try_from(point).unwrap_or(0);
    let (whole, fraction) = all.split_at(point.min(all.len()));
    let sign = if mantissa.starts_with('-') { "-" } else { "" };
    let zeros = "0".repeat(point.saturating_sub(all.len()));
    let fraction = fraction.trim_end_matches('0');
    let mark = if fraction.is_empty() { "" } else { "." };
    let number = [whole.trim_start_matches('0'), &zeros, mark, fraction].concat();
    [sign, &number].concat().into_bytes()
}

/// Whether a shorter text may exist for the whole number that is written so, such as 5 for `5.0`.
pub(crate) fn is_respelled(text: &[u8], value: f64) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    is_whole(value) && (!has_own_digits(value) || !digits.iter().all(u8::is_ascii_digit))
}

/// Whether [`is_respelled`] is true for one of the numbers of a line.
pub(crate) fn are_respelled(line: &[u8], values: &[f64]) -> bool {
    let fractions = values.iter().filter(|value| !is_whole(**value)).count();
    if fractions == values.len() {
        return false;
    }
    // Each fraction has one point.
    memchr_iter(b'.', line).count() != fractions
        || memchr3(b'+', b'e', b'E', line).is_some()
        || !values.iter().all(|value| has_own_digits(*value))
}

/// Whether the digits of a whole number are those of its shortest text.
fn has_own_digits(value: f64) -> bool {
    value.abs() < EXACT_MAX as f64 && (value != 0.0 || value.is_sign_positive())
}

/// Whether a finite number is whole. Unlike `f64::fract` this calls no function, so that several numbers are tested
/// at once.
fn is_whole(value: f64) -> bool {
    /// From here on all doubles are whole. A smaller number loses its fraction when it is added.
    const ALL_WHOLE: f64 = 4_503_599_627_370_496.0;
    let size = value.abs();
    (size >= ALL_WHOLE) | (size + ALL_WHOLE - ALL_WHOLE == size)
}

/// Reads four numbers that are `0` or `1` from eight bytes. `pattern` holds four zeros, each followed by a delimiter.
/// Returns the numbers as bits, and 0 if the bytes have this form.
#[inline]
pub(crate) fn four_bits(eight: [u8; 8], pattern: u64) -> (u64, u64) {
    /// The bits in which a `1` differs from a `0`.
    const ONES: u64 = u64::from_le_bytes([1, 0, 1, 0, 1, 0, 1, 0]);
    /// Moves bit 16 k to bit 48 + k. No two of these products share a bit, so there is no carry.
    const GATHER: u64 = 1 << 48 | 1 << 33 | 1 << 18 | 1 << 3;
    let seen = u64::from_le_bytes(eight) ^ pattern;
    (seen.wrapping_mul(GATHER) >> 48 & 0xf, seen & !ONES)
}

/// Reads the finite decimal number at the beginning of a text, and returns it with its number of bytes.
#[inline]
pub(crate) fn number_prefix(text: &[u8]) -> Option<(f64, usize)> {
    if let Some(short) = short_prefix(text) {
        return Some(short);
    }
    let (value, length) = fast_float2::parse_partial::<f64, _>(text).ok()?;
    value.is_finite().then_some((value, length))
}

/// Reads the number at the beginning of a text if it has at most seven digits and a point, but no exponent.
///
/// The eight bytes are compared at once. The digits and the power of ten are exact doubles, so the quotient is
/// rounded only once and is correct.
#[inline]
fn short_prefix(text: &[u8]) -> Option<(f64, usize)> {
    const POWERS: [f64; 8] = [1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7];
    const EACH: u64 = u64::MAX / 0xff;
    const HIGH: u64 = EACH << 7;
    let sign = usize::from(text.first() == Some(&b'-'));
    let eight = u64::from_le_bytes(*text.get(sign..)?.first_chunk()?);
    let digits = eight ^ (EACH * u64::from(b'0'));
    // The highest bit of each byte tells whether the byte is no digit, and whether it is a point.
    let others = (((digits & !HIGH) + EACH * (0x80 - 10)) | digits) & HIGH;
    if others == 0 {
        return None;
    }
    let points = eight ^ (EACH * u64::from(b'.'));
    let points = !(((points & !HIGH) + EACH * 0x7f) | points) & HIGH;
    let ends = others & !points;
    let length = ends.trailing_zeros() as usize / 8;
    let end = text.get(sign + length)?;
    // Only points before the end count.
    let points = points & (ends & ends.wrapping_neg()).wrapping_sub(1);
    if ends == 0 || points & points.wrapping_sub(1) != 0 || end | 0x20 == b'e' {
        return None;
    }
    let has_point = points != 0;
    let whole = match has_point {
        true => points.trailing_zeros() as usize / 8,
        false => length,
    };
    let count = length - usize::from(has_point);
    if count == 0 {
        return None;
    }
    let before = (1 << (8 * whole)) - 1;
    let digits = match has_point {
        true => digits & before | (digits >> 8) & !before,
        false => digits,
    };
    let value = eight_digits(digits << (64 - 8 * count)) / POWERS[count - whole];
    let value = if sign == 1 { -value } else { value };
    Some((value, sign + length))
}

/// The number that eight decimal digits make, one per byte, the first in the lowest byte.
#[inline]
fn eight_digits(digits: u64) -> f64 {
    const EVEN: u64 = 0x0000_00ff_0000_00ff;
    let pairs = (digits * 10).wrapping_add(digits >> 8);
    let high = (pairs & EVEN).wrapping_mul(100 + (1_000_000 << 32));
    let low = (pairs >> 16 & EVEN).wrapping_mul(1 + (10_000 << 32));
    f64::from((high.wrapping_add(low) >> 32) as u32)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn parse_number_matches_the_standard_library(
            text in "[-+]?[0-9]{0,22}[.]?[0-9]{0,22}([eE][-+]?[0-9]{0,3})?[x.e,]?",
        ) {
            let known = text.parse::<f64>().ok().filter(|value| value.is_finite());
            let bits = |value: f64| value.to_bits();
            prop_assert_eq!(parse_number(text.as_bytes()).ok().map(bits), known.map(bits));
        }

        #[test]
        fn number_prefix_ends_where_the_number_ends(
            number in "-?[0-9]{0,9}[.]?[0-9]{0,9}([eE][-+]?[0-9]{1,2})?",
            rest in "[,; x/:]{0,3}[0-9.]{0,9}",
        ) {
            prop_assume!(rest.is_empty() || rest.starts_with([',', ';', ' ', 'x', '/', ':']));
            let read = number_prefix(format!("{number}{rest}").as_bytes());
            let known = number.parse::<f64>().ok().filter(|value| value.is_finite());
            let bits = |(value, length): (f64, usize)| (value.to_bits(), length);
            prop_assert_eq!(read.map(bits), known.map(|value| bits((value, number.len()))));
        }
    }

    #[test]
    fn is_respelled_finds_whole_numbers_with_longer_texts() {
        for (text, expected) in [
            ("0", false),
            ("-5", false),
            ("4503599627370497", false),
            ("9007199254740991", false),
            ("9007199254740993", true),
            ("4503599627370496.5", true),
            ("-0", true),
            ("+5", true),
            ("5.0", true),
            ("5e0", true),
            ("0.50", false),
            ("4503599627370495.5", false),
            ("5e-1", false),
        ] {
            let value = parse_number(text.as_bytes()).expect("a number");
            let line = format!("0.25,{text}");
            assert_eq!(is_respelled(text.as_bytes(), value), expected, "{text}");
            let of_line = are_respelled(line.as_bytes(), &[0.25, value]);
            assert_eq!(of_line, expected, "{line}");
        }
    }

    #[test]
    fn exact_decimals_keep_all_digits() {
        for (text, expected) in [
            ("9007199254740993", "9007199254740993"),
            ("-9007199254740993.0", "-9007199254740993"),
            ("+0009007199254740993.50", "9007199254740993.5"),
            ("1e20", "100000000000000000000"),
            ("-1.25E+18", "-1250000000000000000"),
            ("0.00012e24", "120000000000000000000"),
            ("9007199254740993000e-2", "90071992547409930"),
            ("9007199254740993005e-2", "90071992547409930.05"),
        ] {
            assert_eq!(
                exact_decimal(text.as_bytes()),
                expected.as_bytes(),
                "{text}"
            );
        }
    }

    #[test]
    fn parse_number_tells_out_of_range_from_other_text() {
        let good: [(&str, f64); 8] = [
            ("1", 1.0),
            ("+1", 1.0),
            ("-1", -1.0),
            ("0", 0.0),
            ("1.0", 1.0),
            ("-2.5e-1", -0.25),
            (".5", 0.5),
            ("007", 7.0),
        ];
        for (text, value) in good {
            assert_eq!(parse_number(text.as_bytes()), Ok(value), "{text}");
        }
        for text in ["nan", "NaN", "inf", "-infinity", "1e999"] {
            let parsed = parse_number(text.as_bytes());
            assert_eq!(parsed, Err(NumberFault::NotFinite), "{text}");
        }
        for text in ["", "x", "1x", "--1", "1,5", "0x10", "1_000", " 1"] {
            let parsed = parse_number(text.as_bytes());
            assert_eq!(parsed, Err(NumberFault::NotANumber), "{text}");
        }
        assert_eq!(parse_number(b"\xff"), Err(NumberFault::NotANumber));
    }
}
