//! The JSON forms of a table: `{"rows": [{"odor": "n", "size": 3}]}`, and with options of data
//! `{"table": {"rows": [{"odor": "n", "size": 3}], "labels": "odor"}}`.
//!
//! The rows stay text until the options are complete, because a request may name an encoding that this reader does
//! not know.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::building::parsed::Parsed;
use crate::error::{Fault, FormatError, FormatErrorKind, Place, excerpt};
use crate::option_text::row_option_names;
use crate::options::{FormatOption, Options};
use crate::tables::objects::{ObjectRow, ObjectRows, with_names};
use crate::tables::preview::Preview;

/// The member next to the options that names the encoding of another table.
const ENCODING: &str = "encoding";

/// The rows of a table as text, and the options next to them.
#[derive(Clone, Debug)]
pub struct JsonRows {
    rows: Box<RawValue>,
    /// Names and values of options, `encoding` included.
    pub options: Vec<(String, String)>,
    /// The place of the rows in the form.
    place: &'static str,
}

impl PartialEq for JsonRows {
    fn eq(&self, other: &Self) -> bool {
        self.rows.get() == other.rows.get() && self.options == other.options
    }
}

impl<'de> Deserialize<'de> for JsonRows {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(TableVisitor)
    }
}

struct TableVisitor;

impl<'de> Visitor<'de> for TableVisitor {
    type Value = JsonRows;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with rows and options of data")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<JsonRows, A::Error> {
        let mut rows = None;
        let mut options: Vec<(String, String)> = Vec::new();
        while let Some(name) = map.next_key::<String>()? {
            let shown = excerpt(name.as_bytes());
            let fail = |detail: String| Err(de::Error::custom(detail));
            let is_repeated = options.iter().any(|(known, _)| *known == name);
            if is_repeated || name == "rows" && rows.is_some() {
                return fail(format!("duplicate field {shown}"));
            }
            if name == "rows" {
                rows = Some(map.next_value()?);
                continue;
            }
            if name != ENCODING && !row_option_names().any(|known| known == name) {
                let known = row_option_names().chain(["rows", ENCODING]);
                let known = known.map(|known| format!("`{known}`")).collect::<Vec<_>>();
                return fail(format!(
                    "unknown field {shown}, expected one of {}",
                    known.join(", ")
                ));
            }
            let text = match map.next_value::<Value>()? {
                Value::String(text) => text,
                value @ (Value::Number(_) | Value::Bool(_)) => value.to_string(),
                _ => return fail(format!("{shown} is not a text")),
            };
            options.push((name, text));
        }
        Ok(JsonRows {
            rows: rows.ok_or_else(|| de::Error::missing_field("rows"))?,
            options,
            place: "/table/rows",
        })
    }
}

impl JsonRows {
    /// Rows without options.
    pub(crate) fn alone(rows: Box<RawValue>) -> Self {
        Self {
            rows,
            options: Vec::new(),
            place: "/rows",
        }
    }

    /// Rows that are the data by themselves, without an object around them.
    pub(crate) fn bare(rows: Box<RawValue>) -> Self {
        Self {
            place: "",
            ..Self::alone(rows)
        }
    }

    /// The length of the rows as text, in bytes.
    pub fn length(&self) -> usize {
        self.rows.get().len()
    }

    /// Reads the rows with these options, and shows them to a preview.
    ///
    /// # Errors
    /// The fault, with its place relative to the form.
    pub fn parse(
        &self,
        options: &Options,
        preview: Option<&Preview>,
    ) -> Result<Parsed, FormatError> {
        options.refuse("a row in JSON", &FormatOption::NOT_OF_OBJECTS)?;
        options.check_labels(true)?;
        let options = with_names(options);
        let mut rows = ObjectRows::new(&options, None, preview)?;
        let mut fault = None;
        let mut deserializer = serde_json::Deserializer::from_str(self.rows.get());
        let read = deserializer.deserialize_seq(RowsVisitor {
            place: self.place,
            rows: &mut rows,
            fault: &mut fault,
        });
        match (fault, read) {
            (Some(fault), _) => Err(fault),
            (None, Ok(())) => Ok(rows.finish()?.in_memory()),
            (None, Err(error)) => {
                let detail = format!(
                    "The rows are not an array of objects: {}.",
                    crate::readers::json::message(&error)
                );
                let place = Place::Pointer(self.place.to_owned());
                Err(Fault::new(FormatErrorKind::Schema, detail).placed(Some(place)))
            }
        }
    }
}

/// Passes each row to the table as it is read.
struct RowsVisitor<'a, 'o> {
    place: &'a str,
    rows: &'a mut ObjectRows<'o>,
    fault: &'a mut Option<FormatError>,
}

impl<'de> Visitor<'de> for RowsVisitor<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let mut number = 0_usize;
        while let Some(row) = seq.next_element::<ObjectRow<'de>>()? {
            let place = self.place;
            let place = |member: usize| {
                let name = row.0.get(member).map_or("", |(name, _)| name);
                let name = name.replace('~', "~0").replace('/', "~1");
                Place::Pointer(format!("{place}/{number}/{name}"))
            };
            if let Err(error) = self.rows.row(&row, place) {
                *self.fault = Some(error);
                return Err(de::Error::custom("a fault"));
            }
            number += 1;
        }
        Ok(())
    }
}
