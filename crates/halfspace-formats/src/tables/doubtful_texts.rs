//! Texts that may have been meant as numbers. The request must say what they are.

use super::number_form::is_number;
use crate::cell::Content;
use crate::error::{Fault, FormatErrorKind, excerpt};
use crate::numbers::{DecimalMark, NumberFault, parse_number};

/// The fault of a text that may have been meant as a number. `decimal` is the decimal mark that the request states.
pub(crate) fn ambiguous(text: &[u8], decimal: Option<DecimalMark>) -> Option<Fault> {
    let comma = || decimal_comma(text).filter(|_| decimal.is_none());
    comma().or_else(|| not_finite(text))
}

/// The fault of a text that may be a number with a decimal comma, while the request names no decimal mark.
fn decimal_comma(text: &[u8]) -> Option<Fault> {
    // A comma that may stand between thousands is judged by the whole column.
    let is_doubtful = text.contains(&b',')
        && is_number(&Content::of(text, DecimalMark::Comma))
        && !is_number(&Content::of(text, DecimalMark::Point));
    is_doubtful.then(|| {
        let detail = format!(
            "has the value {}, which may be a number with a decimal comma; say `decimal=,`, or \
             `decimal=.` if the value is text",
            excerpt(text)
        );
        either_mark(Fault::new(FormatErrorKind::TableOption, detail))
    })
}

/// Adds both decimal marks.
fn either_mark(fault: Fault) -> Fault {
    fault.mended_by("decimal", ",").mended_by("decimal", ".")
}

/// The fault of a comma that no cell of the column explains.
pub(crate) fn doubtful_comma(text: &[u8]) -> Fault {
    let detail = format!(
        "has the value {}, whose comma may stand before a fraction or between thousands; say `decimal=,` or \
         `decimal=.`",
        excerpt(text)
    );
    // Three digits behind the comma are thousands more often than thousandths.
    let fault = Fault::new(FormatErrorKind::TableOption, detail);
    fault.mended_by("decimal", ".").mended_by("decimal", ",")
}

/// The fault of a text that is a number beyond the range of doubles, or a word for infinity.
fn not_finite(text: &[u8]) -> Option<Fault> {
    let is_one = parse_number(text) == Err(NumberFault::NotFinite)
        && Content::of(text, DecimalMark::Point) == Content::Text;
    is_one.then(|| {
        let detail = format!(
            "has the value {}, which is no finite number; `kinds=` with the kind nominal reads it as a word, and \
             `missing_values=` as a missing cell",
            excerpt(text)
        );
        Fault::new(FormatErrorKind::BadValue, detail)
            .mended_as_missing([text])
            .mended_by_kind("nominal")
    })
}
