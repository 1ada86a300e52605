//! Visitors of a JSON list of examples, which pass each value straight to the sample builder.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::building::sample_builder::SampleBuilder;
use crate::classes::{LABEL, check_digits};
use crate::error::{Fault, FormatErrorKind, Place};
use crate::options::ParseLimits;
use crate::readers::json::message;
use crate::readers::json::scope;

/// Kind of the examples of a list.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExampleKind {
    HalfSpace,
    Labelled,
    Unlabelled,
}

impl ExampleKind {
    /// The name of the JSON form.
    fn name(self) -> &'static str {
        match self {
            Self::HalfSpace => "half_space",
            Self::Labelled => "labelled",
            Self::Unlabelled => "unlabelled",
        }
    }
}

/// Reads the list of examples.
pub(crate) struct ExamplesReader {
    pub(crate) kind: ExampleKind,
    pub(crate) builder: SampleBuilder,
}

impl<'de> DeserializeSeed<'de> for ExamplesReader {
    type Value = SampleBuilder;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<SampleBuilder, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for ExamplesReader {
    type Value = SampleBuilder;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of examples")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<SampleBuilder, A::Error> {
        loop {
            let builder = &mut self.builder;
            let name = self.kind.name();
            let next = match self.kind {
                ExampleKind::Labelled => seq.next_element_seed(LabelledExample { builder })?,
                _ => seq.next_element_seed(BareExample { name, builder })?,
            };
            if next.is_none() {
                break;
            }
        }
        if self.builder.rows() == 0 {
            let detail = "The data have no examples; send at least one.";
            return Err(scope::raise(Fault::new(FormatErrorKind::EmptyData, detail)));
        }
        Ok(self.builder)
    }
}

/// Reads one example that consists of an `x` alone.
struct BareExample<'b> {
    name: &'static str,
    builder: &'b mut SampleBuilder,
}

impl<'de> DeserializeSeed<'de> for BareExample<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        let Self { name, builder } = self;
        deserializer.deserialize_any(X {
            name,
            below: "",
            builder: &mut *builder,
        })?;
        builder.end_row(None).map_err(scope::raise)
    }
}

/// Reads one `{"x": ..., "y": ...}`.
struct LabelledExample<'b> {
    builder: &'b mut SampleBuilder,
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum ExampleField {
    X,
    Y,
}

impl<'de> DeserializeSeed<'de> for LabelledExample<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for LabelledExample<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with x and y")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { builder } = self;
        let (mut x, mut y) = (None, None);
        while let Some(field) = map.next_key()? {
            match field {
                ExampleField::X if x.is_some() => return Err(de::Error::duplicate_field("x")),
                ExampleField::Y if y.is_some() => return Err(de::Error::duplicate_field("y")),
                ExampleField::X => {
                    x = Some(map.next_value_seed(X {
                        name: "labelled",
                        below: "/x",
                        builder: &mut *builder,
                    })?);
                }
                ExampleField::Y => {
                    y = Some(map.next_value_seed(Y {
                        builder: &mut *builder,
                    })?);
                }
            }
        }
        x.ok_or_else(|| de::Error::missing_field("x"))?;
        let y = y.ok_or_else(|| de::Error::missing_field("y"))?;
        let ended = builder.end_row(y);
        ended.map_err(|fault| scope::raise_below(fault, "/x"))
    }
}

/// Reads the text of an `x` that names its features, an array or an object. An error has its byte in the text.
///
/// # Errors
/// A fault of the text, of a name or of a value.
pub(crate) fn read_names(
    x: &str,
    limits: &ParseLimits,
    builder: &mut SampleBuilder,
) -> Result<(), (usize, Fault)> {
    let (name, below) = ("", "");
    let mut json = serde_json::Deserializer::from_str(x);
    let read = || {
        X {
            name,
            below,
            builder,
        }
        .deserialize(&mut json)
    };
    let (read, raised) = scope::within(limits, scope::Meaning::of_labels(None), None, read);
    read.map_err(|error| {
        let fault = raised.map(|(fault, _)| fault).unwrap_or_else(|| {
            let message = message(&error);
            let detail = format!("x is not an array or an object of names: {message}.");
            Fault::new(FormatErrorKind::Schema, detail)
        });
        (error.column().saturating_sub(1), fault)
    })
}

/// Reads an `x`: a bit string, an array of numbers, or the names of the active features.
struct X<'b> {
    /// Name of the form that contains the example.
    name: &'static str,
    /// The pointer from the example to its `x`.
    below: &'static str,
    builder: &'b mut SampleBuilder,
}

impl X<'_> {
    /// Records that the value at `index`, or the whole bit string, made the data real.
    fn note_first_real(&mut self, index: Option<usize>) {
        let (name, row, below) = (self.name, self.builder.rows(), self.below);
        let index = index.map(|index| format!("/{index}")).unwrap_or_default();
        let pointer = format!("/{name}/examples/{row}{below}{index}");
        self.builder.note_first_real(Place::Pointer(pointer));
    }
}

impl<'de> DeserializeSeed<'de> for X<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for X<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a bit string, an array of numbers, or an array or an object of names")
    }

    fn visit_str<E: de::Error>(mut self, text: &str) -> Result<(), E> {
        match self.builder.bits(text.as_bytes()) {
            Ok(None) => Ok(()),
            Ok(Some(_)) => {
                self.note_first_real(None);
                Ok(())
            }
            Err((at, mut fault)) => {
                if fault.kind == FormatErrorKind::BadBit {
                    let coordinate = at + 1;
                    fault.detail = format!("At coordinate {coordinate}: {}", fault.detail);
                }
                Err(scope::raise(fault))
            }
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<(), A::Error> {
        let mut index = 0;
        loop {
            let builder = &mut *self.builder;
            match seq.next_element_seed(ValueReader {
                builder,
                column: None,
            })? {
                None if index == 0 => return self.builder.no_names().map_err(scope::raise),
                None => return Ok(()),
                Some(true) => self.note_first_real(Some(index)),
                Some(false) => {}
            }
            index += 1;
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        self.builder.no_names().map_err(scope::raise)?;
        while let Some(name) = map.next_key::<Name<'de>>()? {
            let (builder, column) = (&mut *self.builder, Some(&*name.0));
            if map.next_value_seed(ValueReader { builder, column })? {
                let below = format!("/{}", name.0.replace('~', "~0").replace('/', "~1"));
                let (form, row) = (self.name, self.builder.rows());
                let pointer = format!("/{form}/examples/{row}{}{below}", self.below);
                self.builder.note_first_real(Place::Pointer(pointer));
            }
        }
        Ok(())
    }
}

/// A name that borrows from the document unless it has escapes.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// Reads one value of an array, or of the member of this name. Returns whether the value made the data real.
struct ValueReader<'b> {
    builder: &'b mut SampleBuilder,
    column: Option<&'b str>,
}

impl<'de> DeserializeSeed<'de> for ValueReader<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueReader<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.column {
            None => "a number or a name",
            Some(_) => "a number, a text, true, false or null",
        })
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<bool, E> {
        self.visit_f64(value as f64)
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<bool, E> {
        self.visit_f64(value as f64)
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<bool, E> {
        let read = match self.column {
            None => self.builder.value(value),
            Some(member) => self.builder.number(member, value),
        };
        read.map_err(scope::raise)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<bool, E> {
        let read = match self.column {
            None => self.builder.name(text, 1.0),
            Some(member) => self.builder.member(member, text).map(|()| false),
        };
        read.map_err(scope::raise)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<bool, E> {
        match self.column {
            None => Err(E::invalid_type(de::Unexpected::Bool(value), &self)),
            Some(_) => self.visit_f64(value.into()),
        }
    }

    fn visit_unit<E: de::Error>(self) -> Result<bool, E> {
        match self.column {
            None => Err(E::invalid_type(de::Unexpected::Unit, &self)),
            Some(_) => Ok(false),
        }
    }
}

/// Reads a label.
struct Y<'b> {
    builder: &'b mut SampleBuilder,
}

impl<'de> DeserializeSeed<'de> for Y<'_> {
    type Value = Option<u32>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Y<'_> {
    type Value = Option<u32>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a label: {LABEL}")
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Self::Value, E> {
        self.visit_str(if value { "true" } else { "false" })
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Self::Value, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Self::Value, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Self::Value, E> {
        let label = self.visit_str(&value.to_string())?;
        if label.is_some() {
            check_digits(value).map_err(scope::raise)?;
        }
        Ok(label)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        self.builder.label(text.as_bytes()).map_err(scope::raise)
    }
}
