//! Rows that are JSON objects: each member is a cell, and the first object names the columns.
//!
//! If a later object lacks a member, the cell is missing. Numbers and truth values keep their text, because it names
//! them if the column turns out to have words.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use halfspace_core::memory;
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::preview::Preview;
use super::table_builder::TableBuilder;
use crate::building::parsed::Parsed;
use crate::building::parsed_rows::ParsedRows;
use crate::cell::Cell;
use crate::error::{Fault, FormatError, FormatErrorKind, Place, excerpt};
use crate::numbers::DecimalMark;
use crate::options::{Header, Options};
use crate::stored::spool::Spool;

/// One object. The values borrow from its text.
pub(crate) struct ObjectRow<'a>(pub(crate) Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for ObjectRow<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(RowVisitor)
    }
}

struct RowVisitor;

/// A name that borrows from the text unless it has escapes.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> Visitor<'de> for RowVisitor {
    type Value = ObjectRow<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with one member per column")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ObjectRow<'de>, A::Error> {
        let mut members: Vec<(Cow<'de, str>, &RawValue)> = Vec::new();
        while let Some((Name(name), value)) = map.next_entry::<Name<'de>, &RawValue>()? {
            memory::push(&mut members, (name, value)).map_err(de::Error::custom)?;
        }
        memory::need_of::<&str>(members.len()).map_err(de::Error::custom)?;
        let mut names: Vec<&str> = members.iter().map(|(name, _)| &**name).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(de::Error::custom(format_args!(
                "duplicate field `{}`",
                pair[0]
            )));
        }
        Ok(ObjectRow(members))
    }
}

/// A table of objects under construction.
pub(crate) struct ObjectRows<'o> {
    options: &'o Options,
    spool: Option<Spool>,
    preview: Option<&'o Preview>,
    table: Option<TableBuilder<'o>>,
    columns: HashMap<String, usize>,
    /// The cells of the current row, each with the number of its member, and the texts of these cells.
    cells: Vec<(Cell<Range<usize>>, usize)>,
    text: Vec<u8>,
}

/// The options of a table that certainly has names.
pub(crate) fn with_names(options: &Options) -> Options {
    Options {
        header: Header::True,
        ..options.clone()
    }
}

impl<'o> ObjectRows<'o> {
    /// Starts a table with the options of [`with_names`].
    ///
    /// # Errors
    /// As for [`TableBuilder::check`].
    pub(crate) fn new(
        options: &'o Options,
        spool: Option<Spool>,
        preview: Option<&'o Preview>,
    ) -> Result<Self, Fault> {
        TableBuilder::check(options)?;
        Ok(Self {
            options,
            spool,
            preview,
            table: None,
            columns: HashMap::new(),
            cells: Vec::new(),
            text: Vec::new(),
        })
    }

    /// Reads a row. `place` returns the place of a member, counted from 0.
    ///
    /// # Errors
    /// The fault with its place.
    pub(crate) fn row(
        &mut self,
        row: &ObjectRow<'_>,
        place: impl Fn(usize) -> Place,
    ) -> Result<(), FormatError> {
        let table = match &mut self.table {
            Some(table) => table,
            none => {
                let count = row.0.len();
                if count == 0 || count > self.options.limits.n_max {
                    let fault = match count {
                        0 => {
                            Fault::new(FormatErrorKind::EmptyData, "The first row has no members.")
                        }
                        _ => {
                            let limit = self.options.limits.n_max as u64;
                            Fault::too_large("The row has too many members", "n_max", limit)
                        }
                    };
                    return Err(fault.placed(Some(place(0))));
                }
                let names = row.0.iter();
                let names = names.map(|(name, _)| Ok::<_, FormatError>(name.to_string()));
                let names = memory::collect(names)?;
                // The names once more, each with its position, in a hash table with at most four places for each.
                let bytes: usize = names.iter().map(String::len).sum();
                memory::need(bytes as u64 + 4 * (count * size_of::<(String, usize, u8)>()) as u64)?;
                self.columns = names.iter().cloned().zip(0..).collect();
                memory::need_of::<(Cell<Range<usize>>, usize)>(count)?;
                self.cells.resize(count, (Cell::Missing, 0));
                let names = Some(names);
                let spool = self.spool.take();
                let begun =
                    TableBuilder::new(self.options, names, count, None, spool, self.preview)?;
                none.insert(begun)
            }
        };
        self.cells.fill((Cell::Missing, 0));
        self.text.clear();
        for (member, (name, value)) in row.0.iter().enumerate() {
            let Some(&at) = self.columns.get(&**name) else {
                let detail = format!(
                    "The first row has no member {}; name every column in the first row.",
                    excerpt(name.as_bytes())
                );
                let fault = Fault::new(FormatErrorKind::TableOption, detail);
                let fault = fault.mended_by("vocabulary", "open");
                return Err(fault.placed(Some(place(member))));
            };
            let cell = push_cell(value, &mut self.text);
            self.cells[at] = (
                cell.map_err(|fault| fault.placed(Some(place(member))))?,
                member,
            );
        }
        let (cells, text) = (&self.cells, &self.text);
        table.row(|at| cells[at].0.within(text), |at| place(cells[at].1))
    }

    /// Returns the sample of all rows.
    ///
    /// # Errors
    /// As for [`TableBuilder::finish`].
    pub(crate) fn finish(self) -> Result<Parsed<ParsedRows>, FormatError> {
        match self.table {
            Some(table) => table.finish(),
            None => {
                let detail = "The data have no examples; send at least one.";
                Err(Fault::new(FormatErrorKind::EmptyData, detail).into())
            }
        }
    }
}

/// Makes the cell of a member, and appends its text to the text of the row. A null is a missing cell. JSON writes its
/// numbers in one way, whatever the decimal mark of texts is.
fn push_cell(value: &RawValue, row: &mut Vec<u8>) -> Result<Cell<Range<usize>>, Fault> {
    let text = value.get();
    let mut push = |text: &str| {
        let start = row.len();
        row.extend_from_slice(text.trim_ascii().as_bytes());
        start..row.len()
    };
    Ok(match text.as_bytes() {
        [b'"', ..] => {
            let Name(text) = serde_json::from_str(text).map_err(|error| {
                Fault::new(
                    FormatErrorKind::Syntax,
                    format!("The text is not valid: {error}."),
                )
            })?;
            Cell::Text(push(&text))
        }
        [b'[' | b'{', ..] => {
            let detail = "A cell is a text, a number, true, false or null.";
            return Err(Fault::new(FormatErrorKind::Schema, detail));
        }
        b"null" => Cell::Missing,
        b"true" | b"false" => Cell::Boolean(text == "true", push(text)),
        number => match Cell::of_number(number, DecimalMark::Point) {
            Cell::Number(number, _) => Cell::Number(number, Some(push(text))),
            _ => Cell::Text(push(text)),
        },
    })
}
