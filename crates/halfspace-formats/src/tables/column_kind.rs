//! Decides the kind of a column from its values and the request.

use super::column_scan::{ColumnScan, ColumnValue};
use crate::cell::Content;
use crate::encoding::options::Numbers;
use crate::encoding::{ColumnKind, KindName};
use crate::error::{Fault, FormatErrorKind, excerpt};

/// The kind of a column, and whether missing cells get a feature of their own.
///
/// # Errors
/// When the cells are not of the stated kind, or a missing cell has no coding.
pub(crate) fn column_kind(
    scan: &ColumnScan,
    stated: Option<KindName>,
    numbers: Numbers,
) -> Result<(ColumnKind, bool), Fault> {
    let (missing, missing_row) = scan.missing();
    let present = || {
        scan.values
            .iter()
            .filter(|value| value.content != Content::Missing)
    };
    let wrong = |detail: String| Err(Fault::new(FormatErrorKind::TableOption, detail));
    if stated != Some(KindName::Nominal)
        && let Some(values) = boolean(scan, stated)
    {
        return Ok((ColumnKind::Boolean { values }, missing > 0));
    }
    if stated == Some(KindName::Boolean) {
        let second = present()
            .nth(2)
            .or_else(|| present().nth(1))
            .or_else(|| present().next());
        let shown = second.map_or(String::new(), |value| excerpt(value.text.as_bytes()));
        return wrong(format!(
            "is not boolean, because it has the value {shown}; `kinds=` can state another kind"
        ));
    }
    let word = present().find(|value| !matches!(value.content, Content::Number(_)));
    let is_number = stated != Some(KindName::Nominal)
        && word.is_none()
        && (scan.is_numbers || present().next().is_some());
    if stated == Some(KindName::Number)
        && let Some(word) = word
    {
        return wrong(format!(
            "is not a number column: row {} has {}, which `missing_values=` can declare a missing cell",
            word.first_row,
            excerpt(word.text.as_bytes())
        ));
    }
    if is_number {
        return match numbers {
            Numbers::Thermometer => Ok((
                ColumnKind::Thermometer {
                    thresholds: Vec::new(),
                },
                missing > 0,
            )),
            Numbers::Real if missing > 0 => {
                let detail = format!(
                    "holds numbers and has no number in row {missing_row}; `missing=drop` leaves such rows out, and \
                 `numbers=thermometer` codes them"
                );
                Err(Fault::new(FormatErrorKind::TableOption, detail))
            }
            Numbers::Real => Ok((ColumnKind::Number, false)),
        };
    }
    if let Some(fault) = scan.odd_cells() {
        return Err(fault);
    }
    let mut values: Vec<String> = present().map(|value| value.text.to_string()).collect();
    values.sort_unstable();
    Ok((ColumnKind::Nominal { values }, missing > 0))
}

/// The values of the bits 0 and 1 of a boolean column.
fn boolean(scan: &ColumnScan, stated: Option<KindName>) -> Option<[String; 2]> {
    if scan.is_numbers || stated == Some(KindName::Number) {
        return None;
    }
    let present: Vec<_> = scan
        .values
        .iter()
        .filter(|value| value.content != Content::Missing)
        .collect();
    let words = |zero: &str, one: &str| Some([zero.to_owned(), one.to_owned()]);
    let is_in = |allowed: [f64; 2]| {
        let allowed = |number| allowed.contains(&number);
        present
            .iter()
            .all(|value| matches!(value.content, Content::Number(number) if allowed(number)))
    };
    let first = present.first()?;
    match first.content {
        Content::Number(_) if is_in([0.0, 1.0]) => words("0", "1"),
        Content::Number(_) if is_in([-1.0, 1.0]) => words("-1", "1"),
        Content::Flag(family, flag) => {
            let same = |value: &&ColumnValue| matches!(value.content, Content::Flag(other, _) if other == family);
            let both = present
                .iter()
                .any(|value| value.content == Content::Flag(family, !flag));
            let is_boolean = present.iter().all(same)
                && (both || family.is_told_by_one() || stated == Some(KindName::Boolean));
            let [zero, one] = family.words();
            if is_boolean { words(zero, one) } else { None }
        }
        _ => None,
    }
}
