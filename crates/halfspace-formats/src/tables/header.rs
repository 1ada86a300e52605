//! Decides whether the first row of a table holds the names of the columns or an example, and reads the names. Labels
//! that cannot be read may be due to this row.

use std::collections::HashSet;

use halfspace_core::memory;

use super::columns::{InColumn, TableColumns};
use crate::building::label_names::{LabelNames, ReadLabels};
use crate::cell::{Cell, Content};
use crate::encoding::options::StatedWeights;
use crate::error::{Fault, FormatErrorKind, name};
use crate::numbers::{DecimalMark, NumberFault};
use crate::options::{Header, LabelsColumn, Options};

/// The names of the columns if the first row holds names.
///
/// # Errors
/// When a name is not UTF-8 or occurs twice, because you could then mistake one column for another.
pub(crate) fn names<'c>(
    columns: usize,
    cell: impl Fn(usize) -> Cell<&'c [u8]>,
    options: &Options,
) -> Result<Option<Vec<String>>, InColumn> {
    let has_header = has_header(columns, &cell, options).map_err(|fault| (0, fault))?;
    if !has_header {
        return Ok(None);
    }
    let mut seen = HashSet::new();
    let mut read = |index: usize| {
        let text = cell(index).spelling();
        let name = name(&text).map_err(|fault| {
            let detail = format!("The name of column {}: {}", index + 1, fault.detail);
            (index, Fault { detail, ..fault })
        })?;
        let name = name.to_owned();
        let is_new = memory::insert(&mut seen, text).map_err(|full| (index, full.into()))?;
        if !name.is_empty() && !is_new {
            let detail = format!(
                "The name {name:?} occurs twice; rename one of the columns, or say `header=false` if the row is an \
                 example."
            );
            let fault = Fault::new(FormatErrorKind::Schema, detail);
            return Err((index, fault.mended_by("header", "false")));
        }
        Ok(name)
    };
    let mut names = Vec::new();
    for index in 0..columns {
        memory::push(&mut names, read(index)?).map_err(|full| (index, full.into()))?;
    }
    Ok(Some(names))
}

/// Whether the first row holds the names of the columns: distinct texts, none of which is a number.
fn has_header<'c>(
    columns: usize,
    cell: &impl Fn(usize) -> Cell<&'c [u8]>,
    options: &Options,
) -> Result<bool, Fault> {
    let texts = || (0..columns).map(|at| cell(at).spelling());
    match options.header {
        Header::True => Ok(true),
        Header::False => Ok(false),
        Header::Auto => {
            // If some of its cells are numbers, the first row is data and must not vanish.
            let is_written =
                |at| matches!(cell(at).content(DecimalMark::Point), Content::Written(_));
            let is_number =
                |at| cell(at).number() != Err(NumberFault::NotANumber) || is_written(at);
            let label = match &options.labels {
                Some(LabelsColumn::Named(name)) => Some(name),
                _ => None,
            };
            let weights = match &options.table.weights {
                Some(StatedWeights::Named(name)) => Some(name),
                _ => None,
            };
            let is_named = label.into_iter().chain(weights).any(|name| {
                name.parse::<i64>().is_err() && texts().any(|text| *text == *name.as_bytes())
            });
            if is_named || (0..columns).any(is_number) {
                return Ok(is_named);
            }
            let mut seen = HashSet::new();
            for text in texts() {
                let is_named = !text.is_empty();
                if !memory::insert(&mut seen, text)? && is_named {
                    return Ok(false);
                }
            }
            Ok(true)
        }
    }
}

/// Decides the labels of the column `at`.
///
/// # Errors
/// Labels that leave the classes open.
pub(crate) fn decided(
    labels: LabelNames,
    at: usize,
    table: &TableColumns,
    header: Header,
) -> Result<ReadLabels, Fault> {
    labels.finish().map_err(|fault| {
        let header = match !table.has_header && header == Header::Auto {
            true => "If the first row holds names, add `header=true`. ",
            false => "",
        };
        let is_last = at + 1 == table.columns.len();
        let column = if is_last { "first" } else { "last" };
        let detail = format!(
            "{header}{} If another column has the labels, name the column, as in `labels={column}`.",
            fault.detail
        );
        let fault = Fault { detail, ..fault };
        match header.is_empty() {
            true => fault.mended_by("labels", column),
            false => fault
                .mended_by("header", "true")
                .mended_by("labels", column),
        }
    })
}
