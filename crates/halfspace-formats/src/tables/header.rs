//! The first row of a table: names of the columns, or an example.

use std::collections::HashSet;

use super::table_builder::InColumn;
use crate::error::{Fault, FormatErrorKind, name};
use crate::text::numbers::{NumberFault, parse_number};
use crate::{Header, LabelsColumn, Options};

/// Returns the names of the columns if the first row holds names.
///
/// # Errors
/// When a name is not UTF-8 or occurs twice, since one column could be mistaken for another.
pub(crate) fn names<'c>(
    columns: usize,
    cell: impl Fn(usize) -> &'c [u8],
    options: &Options,
) -> Result<Option<Vec<String>>, InColumn> {
    if !has_header(columns, &cell, options) {
        return Ok(None);
    }
    let mut seen = HashSet::new();
    let read = |index: usize| {
        let name = name(cell(index)).map_err(|fault| {
            let detail = format!("The name of column {}: {}", index + 1, fault.detail);
            (index, Fault { detail, ..fault })
        })?;
        if !name.is_empty() && !seen.insert(name) {
            let detail = format!(
                "The name {name:?} occurs twice; rename one of the columns, or say `header=false` if the row is an \
                 example."
            );
            return Err((index, Fault::new(FormatErrorKind::Schema, detail)));
        }
        Ok(name.to_owned())
    };
    (0..columns).map(read).collect::<Result<_, _>>().map(Some)
}

/// Whether the first row holds the names of the columns: distinct texts, none of which is a number.
fn has_header<'c>(columns: usize, cell: &impl Fn(usize) -> &'c [u8], options: &Options) -> bool {
    let texts = || (0..columns).map(cell);
    match options.header {
        Header::True => true,
        Header::False => false,
        Header::Auto => {
            // A first row with some numbers is data instead of names, and must not vanish.
            let is_number = |text| parse_number(text) != Err(NumberFault::NotANumber);
            let is_named = match &options.labels {
                Some(LabelsColumn::Named(name)) if name.parse::<i64>().is_err() => {
                    texts().any(|text| text == name.as_bytes())
                }
                _ => false,
            };
            let mut seen = HashSet::new();
            is_named
                || !texts().any(is_number)
                    && texts().all(|text| text.is_empty() || seen.insert(text))
        }
    }
}
