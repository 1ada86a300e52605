//! Decides the kind of a column from its values and the request.

use super::column_scan::ColumnScan;
use super::number_form::NumberForm;
use crate::cell::Content;
use crate::dates::DatePart;
use crate::encoding::options::Numbers;
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
    numbers: Numbers,
) -> Result<FoundKind, Fault> {
    let settled = scan.settled(stated)?;
    let (missing, missing_row) = scan.missing_of(settled.contents.iter().copied());
    let valued = || scan.values.iter().zip(&settled.contents);
    let is_present = |content: &Content| *content != Content::Missing;
    let present = || valued().filter_map(|(value, content)| is_present(content).then_some(value));
    let contents: Vec<Content> = settled
        .contents
        .iter()
        .copied()
        .filter(is_present)
        .collect();
    let wrong = |detail: String| Err(Fault::new(FormatErrorKind::TableOption, detail));
    // A bit is told by its plain numbers.
    let may_be_bits = !scan.is_numbers && settled.form == NumberForm::PLAIN;
    if stated != Some(KindName::Nominal)
        && let Some(values) = boolean(&contents, stated).filter(|_| may_be_bits)
    {
        return Ok(FoundKind::of(ColumnKind::Boolean { values }, missing > 0));
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
    let is_word = |content: &Content| !matches!(content, Content::Number(_) | Content::Missing);
    let word = valued()
        .find(|(_, content)| is_word(content))
        .map(|(value, _)| value);
    let is_number = stated != Some(KindName::Nominal)
        && word.is_none()
        && (scan.is_numbers || present().next().is_some());
    if stated == Some(KindName::Number)
        && let Some(word) = word
    {
        return wrong(format!(
            "is not a number column: row {} has {}, which `missing_values=` can declare a missing cell; amounts and \
             percentages are numbers if all cells have the same sign",
            word.first_row,
            excerpt(word.text.as_bytes())
        ));
    }
    let is_date = settled.form.notation == Notation::Date;
    if stated == Some(KindName::Date) && !(is_number && is_date) {
        let other = word.or_else(|| present().next());
        let shown = other.map_or(String::new(), |value| excerpt(value.text.as_bytes()));
        return wrong(format!(
            "is not a date column: it has the value {shown}, which is no date such as 2024-12-31; `dates=dmy` or \
             `dates=mdy` reads dates whose year comes last, and `missing_values=` declares missing cells"
        ));
    }
    if stated == Some(KindName::Number) && is_date {
        return wrong("holds dates, which have the kind date and not number".to_owned());
    }
    if is_number {
        let found = |kind, missing| FoundKind {
            parts: settled.form.date_parts(),
            ..FoundKind::of(kind, missing)
        };
        return match numbers {
            Numbers::Thermometer => Ok(found(
                ColumnKind::Thermometer {
                    thresholds: Vec::new(),
                },
                missing > 0,
            )),
            Numbers::Real if missing > 0 => {
                let what = if is_date { "dates" } else { "numbers" };
                let detail = format!(
                    "holds {what} and has none in row {missing_row}; `missing=drop` leaves such rows out, and \
                 `numbers=thermometer` codes them"
                );
                Err(Fault::new(FormatErrorKind::TableOption, detail))
            }
            Numbers::Real => Ok(found(ColumnKind::Number, false)),
        };
    }
    if let Some(fault) = scan.odd_cells() {
        return Err(fault);
    }
    let mut values: Vec<String> = present().map(|value| value.text.to_string()).collect();
    values.sort_unstable();
    Ok(FoundKind::of(ColumnKind::Nominal { values }, missing > 0))
}

/// The values of the bits 0 and 1 of a boolean column.
fn boolean(present: &[Content], stated: Option<KindName>) -> Option<[String; 2]> {
    if stated == Some(KindName::Number) {
        return None;
    }
    let words = |zero: &str, one: &str| Some([zero.to_owned(), one.to_owned()]);
    let is_in = |allowed: [f64; 2]| {
        let allowed = |number: &f64| allowed.contains(number);
        present
            .iter()
            .all(|content| matches!(content, Content::Number(number) if allowed(number)))
    };
    match *present.first()? {
        Content::Number(_) if is_in([0.0, 1.0]) => words("0", "1"),
        Content::Number(_) if is_in([-1.0, 1.0]) => words("-1", "1"),
        Content::Flag(family, flag) => {
            let same =
                |content: &Content| matches!(content, Content::Flag(other, _) if *other == family);
            let both = present.contains(&Content::Flag(family, !flag));
            let is_boolean = present.iter().all(same)
                && (both || family.is_told_by_one() || stated == Some(KindName::Boolean));
            let [zero, one] = family.words();
            if is_boolean { words(zero, one) } else { None }
        }
        _ => None,
    }
}
