//! Decimal numbers in text: one parser for the values and labels of all text formats except JSON documents.

use crate::error::{Fault, FormatErrorKind, excerpt};

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
    let decimal = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
    let word = std::str::from_utf8(text).map_err(|_| NumberFault::NotANumber)?;
    match word.parse::<f64>() {
        // `parse` also accepts the words for infinity and not-a-number.
        Ok(value) if value.is_finite() && text.iter().all(decimal) => Ok(value),
        Ok(_) => Err(NumberFault::NotFinite),
        Err(_) => Err(NumberFault::NotANumber),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_and_what_is_none_is_told_apart() {
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
