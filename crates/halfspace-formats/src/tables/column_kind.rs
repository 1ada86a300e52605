//! Decides the kind of a column from its values and the request.

use super::column_scan::{ColumnScan, ColumnValue, Settled};
use super::number_form::NumberForm;
use crate::cell::Content;
use crate::dates::DatePart;
use crate::encoding::options::{NumberCoding, Numbers};
use crate::encoding::{ColumnKind, KindName};
use crate::error::{Fault, FormatErrorKind, excerpt};
use crate::written_number::Notation;

/// The kind of a column as its cells tell it.
pub(crate) struct FoundKind {
    pub(crate) kind: ColumnKind,
    /// Whether missing cells get a feature of their own.
    pub(crate) missing: bool,
    /// The parts of dates that are features. Empty if the column holds no dates.
    pub(crate) parts: Vec<DatePart>,
}

impl FoundKind {
    fn of(kind: ColumnKind, missing: bool) -> Self {
        Self {
            kind,
            missing,
            parts: Vec::new(),
        }
    }

    /// The kind, in the spelling that requests use.
    pub(crate) fn name(&self) -> KindName {
        match self.parts.is_empty() {
            true => self.kind.name(),
            false => KindName::Date,
        }
    }
}

/// The kind of a column.
///
/// # Errors
/// When the cells are not of the stated kind, or a missing cell has no coding.
pub(crate) fn column_kind(
    scan: &ColumnScan,
    stated: Option<KindName>,
    coding: NumberCoding,
) -> Result<FoundKind, Fault> {
    let settled = scan.settled(stated)?;
    let has_missing = scan.missing_of(settled.contents.iter().copied()).0 > 0;
    let is_nominal = stated == Some(KindName::Nominal);
    // A bit is told by its plain numbers.
    let may_be_bits = !is_nominal && !scan.is_numbers && settled.form == NumberForm::PLAIN;
    if may_be_bits && let Some(values) = boolean(&settled.contents, stated) {
        return Ok(FoundKind::of(ColumnKind::Boolean { values }, has_missing));
    }
    let is_number = !is_nominal
        && first_word(scan, &settled).is_none()
        && (scan.is_numbers || present(scan, &settled).next().is_some());
    if present(scan, &settled).next().is_none() && !scan.is_numbers {
        // No cell tells how a bit or a date is written.
        return match stated {
            Some(KindName::Number) => number_kind(scan, &settled, coding),
            _ => Ok(FoundKind::of(
                ColumnKind::Nominal { values: Vec::new() },
                has_missing,
            )),
        };
    }
    check_stated(scan, &settled, stated, is_number)?;
    if is_number {
        return number_kind(scan, &settled, coding);
    }
    if let Some(fault) = scan.odd_cells() {
        return Err(fault);
    }
    let values = present(scan, &settled).map(|value| value.text.to_string());
    let mut values: Vec<String> = values.collect();
    values.sort_unstable();
    Ok(FoundKind::of(ColumnKind::Nominal { values }, has_missing))
}

/// The values that are not missing.
fn present<'s>(
    scan: &'s ColumnScan,
    settled: &'s Settled,
) -> impl Iterator<Item = &'s ColumnValue> {
    let valued = scan.values.iter().zip(&settled.contents);
    valued.filter_map(|(value, content)| (*content != Content::Missing).then_some(value))
}

/// The first value that is neither a number nor missing.
fn first_word<'s>(scan: &'s ColumnScan, settled: &Settled) -> Option<&'s ColumnValue> {
    let is_word = |content: &Content| !matches!(content, Content::Number(_) | Content::Missing);
    let mut valued = scan.values.iter().zip(&settled.contents);
    let word = valued.find(|(_, content)| is_word(content));
    word.map(|(value, _)| value)
}

/// Checks that the column has the stated kind, unless its cells are bits. `is_number` tells whether it may hold
/// numbers or dates.
fn check_stated(
    scan: &ColumnScan,
    settled: &Settled,
    stated: Option<KindName>,
    is_number: bool,
) -> Result<(), Fault> {
    let shown = |value: Option<&ColumnValue>| {
        value.map_or(String::new(), |value| excerpt(value.text.as_bytes()))
    };
    let present = || present(scan, settled);
    let word = first_word(scan, settled);
    let is_date = settled.form.notation == Notation::Date;
    let detail = match (stated, word) {
        (Some(KindName::Boolean), _) => {
            let third = present().nth(2).or_else(|| present().nth(1));
            format!(
                "is not boolean, because it has the value {}; `kinds=` can state another kind",
                shown(third.or_else(|| present().next()))
            )
        }
        (Some(KindName::Number), Some(word)) => format!(
            "is not a number column: row {} has {}, which `missing_values=` can declare a missing cell; amounts and \
             percentages are numbers if all cells have the same sign",
            word.first_row,
            excerpt(word.text.as_bytes())
        ),
        (Some(KindName::Number), None) if is_date => {
            "holds dates, which have the kind date and not number".to_owned()
        }
        (Some(KindName::Date), _) if !(is_number && is_date) => format!(
            "is not a date column: it has the value {}, which is no date such as 2024-12-31; `dates=dmy` or \
             `dates=mdy` reads dates whose year comes last, and `missing_values=` declares missing cells",
            shown(word.or_else(|| present().next()))
        ),
        _ => return Ok(()),
    };
    let fault = Fault::new(FormatErrorKind::TableOption, detail);
    Err(match (stated, word) {
        (Some(KindName::Number), None) => fault.mended_by_kind("date"),
        (Some(KindName::Number), Some(word)) => fault
            .mended_as_missing([word.text.as_bytes()])
            .mended_by_kind("nominal"),
        (Some(KindName::Date), _) => fault
            .mended_by("dates", "dmy")
            .mended_by("dates", "mdy")
            .mended_by_kind("nominal"),
        _ => fault.mended_by_kind("number").mended_by_kind("nominal"),
    })
}

/// The kind of a column of numbers or dates.
fn number_kind(
    scan: &ColumnScan,
    settled: &Settled,
    coding: NumberCoding,
) -> Result<FoundKind, Fault> {
    let (missing, row) = scan.missing_of(settled.contents.iter().copied());
    let parts = settled.form.date_parts();
    let kind = match coding.numbers {
        Numbers::Thermometer => ColumnKind::Thermometer {
            thresholds: Vec::new(),
        },
        Numbers::Real if missing > 0 && !coding.is_filled => {
            let what = if parts.is_empty() { "numbers" } else { "dates" };
            let detail = format!(
                "holds {what} and has none in row {row}; `missing=mean` fills such cells, `missing=drop` leaves such \
                 rows out, and `numbers=thermometer` codes them"
            );
            return Err(Fault::new(FormatErrorKind::TableOption, detail)
                .mended_by("missing", "drop")
                .mended_by("missing", "mean")
                .mended_by("numbers", "thermometer"));
        }
        Numbers::Real => ColumnKind::Number,
    };
    Ok(FoundKind {
        kind,
        missing: missing > 0,
        parts,
    })
}

/// The values of the bits 0 and 1 of a boolean column.
fn boolean(contents: &[Content], stated: Option<KindName>) -> Option<[String; 2]> {
    if stated == Some(KindName::Number) {
        return None;
    }
    let present = || {
        contents
            .iter()
            .filter(|content| **content != Content::Missing)
    };
    let words = |zero: &str, one: &str| Some([zero.to_owned(), one.to_owned()]);
    let is_in = |allowed: [f64; 2]| {
        let is_allowed = |number: f64| allowed.contains(&number);
        present().all(|content| content.number().is_some_and(is_allowed))
    };
    match *present().next()? {
        Content::Number(_) if is_in([0.0, 1.0]) => words("0", "1"),
        Content::Number(_) if is_in([-1.0, 1.0]) => words("-1", "1"),
        Content::Flag(family, flag) => {
            let same =
                |content: &Content| matches!(content, Content::Flag(other, _) if *other == family);
            let both = contents.contains(&Content::Flag(family, !flag));
            let is_boolean = present().all(same)
                && (both || family.is_told_by_one() || stated == Some(KindName::Boolean));
            let [zero, one] = family.words();
            if is_boolean { words(zero, one) } else { None }
        }
        _ => None,
    }
}
