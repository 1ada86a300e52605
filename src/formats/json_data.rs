//! The JSON forms of data: one object with one key, read example by example into a sample.
//!
//! Everything is a serde visitor, so that the same forms stand inside any derived request struct
//! and a body of any size is read as a stream; limits and typed faults go through
//! [`super::json`]'s scope.

use std::fmt;
use std::io::Read;

use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use super::error::{Fault, FormatError, FormatErrorKind, Place, excerpt};
use super::generated::GeneratedSpec;
use super::json::{self, scope};
use super::packed::PackedSample;
use super::sample_builder::{SampleBuilder, bad_label};
use super::{Options, Parsed, UnlabelledMeans};

/// Data as a request names them.
#[derive(Clone, Debug, PartialEq)]
pub enum DataForm {
    /// Examples sent along.
    Sample {
        /// The examples.
        parsed: Parsed,
        /// What the sender declares of their distribution.
        assume: Option<Assume>,
    },
    /// Examples to be drawn.
    Generated(GeneratedSpec),
}

/// A declaration that examples are fresh and independent draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Assume {
    /// Half-space examples, uniform over the positive ones.
    UniformPositive,
    /// Half-space examples, uniform and negated when negative.
    Reflected,
    /// Labelled examples, uniform.
    Uniform,
}

/// Reads a body that is one [`DataForm`] with its examples.
pub(super) fn parse(reader: &mut dyn Read, options: &Options) -> Result<Parsed, FormatError> {
    options.refuse_table_options("JSON", false)?;
    let refuse = |detail: &str| Err(Fault::new(FormatErrorKind::Schema, detail).into());
    match json::from_reader(reader, &options.limits)? {
        DataForm::Generated(_) => refuse("Generated data cannot stand here; send examples."),
        DataForm::Sample {
            assume: Some(_), ..
        } => refuse("The field assume cannot stand here."),
        DataForm::Sample { parsed, .. } => {
            let n = parsed.data.n();
            if let Some(expected) = options.n.filter(|&expected| expected != n) {
                let detail =
                    format!("The examples have {n} values, but the n asked for is {expected}.");
                return Err(Fault::new(FormatErrorKind::UnequalLength, detail).into());
            }
            Ok(parsed)
        }
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Tag {
    HalfSpace,
    Labelled,
    Unlabelled,
    Packed,
    Generated,
}

impl<'de> Deserialize<'de> for DataForm {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FormVisitor)
    }
}

struct FormVisitor;

impl<'de> Visitor<'de> for FormVisitor {
    type Value = DataForm;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with one of half_space, labelled, unlabelled, packed, generated")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<DataForm, A::Error> {
        let Some(tag) = map.next_key()? else {
            return Err(de::Error::invalid_length(0, &self));
        };
        let form = match tag {
            Tag::HalfSpace => map.next_value_seed(Kind::HalfSpace)?,
            Tag::Labelled => map.next_value_seed(Kind::Labelled)?,
            Tag::Unlabelled => map.next_value_seed(Kind::Unlabelled)?,
            Tag::Packed => {
                let PackedSample { parsed, assume } = map.next_value()?;
                DataForm::Sample { parsed, assume }
            }
            Tag::Generated => DataForm::Generated(map.next_value()?),
        };
        if map.next_key::<IgnoredAny>()?.is_some() {
            let detail = "Data are given in one form; the object has a second key.";
            return Err(scope::raise(Fault::new(FormatErrorKind::Schema, detail)));
        }
        Ok(form)
    }
}

/// What the examples of a list are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    HalfSpace,
    Labelled,
    Unlabelled,
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum ListField {
    Examples,
    Assume,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::HalfSpace => "half_space",
            Self::Labelled => "labelled",
            Self::Unlabelled => "unlabelled",
        }
    }

    /// What may be declared of such examples.
    fn assumptions(self) -> &'static [Assume] {
        match self {
            Self::HalfSpace => Assume::HALF_SPACE,
            Self::Labelled => Assume::LABELLED,
            Self::Unlabelled => &[],
        }
    }
}

impl Assume {
    pub(super) const HALF_SPACE: &[Self] = &[Self::UniformPositive, Self::Reflected];
    pub(super) const LABELLED: &[Self] = &[Self::Uniform];

    pub(super) fn check(self, allowed: &[Self]) -> Result<Self, Fault> {
        if allowed.contains(&self) {
            return Ok(self);
        }
        let detail = "Half-space examples may be assumed uniform-positive or reflected, labelled \
                      ones uniform, and unlabelled ones nothing.";
        Err(Fault::new(FormatErrorKind::OutOfRange, detail))
    }
}

impl<'de> DeserializeSeed<'de> for Kind {
    type Value = DataForm;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<DataForm, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Kind {
    type Value = DataForm;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with examples")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<DataForm, A::Error> {
        let mut builder = None;
        let mut assume = None;
        while let Some(field) = map.next_key()? {
            match field {
                ListField::Examples if builder.is_some() => {
                    return Err(de::Error::duplicate_field("examples"));
                }
                ListField::Assume if assume.is_some() => {
                    return Err(de::Error::duplicate_field("assume"));
                }
                ListField::Examples => {
                    let started = SampleBuilder::dense(&scope::limits(), None);
                    let started = started.map_err(scope::raise)?;
                    builder = Some(map.next_value_seed(Examples {
                        kind: self,
                        builder: started,
                    })?);
                }
                ListField::Assume => {
                    let allowed = self.assumptions();
                    assume = Some(map.next_value_seed(AssumeOf { allowed })?);
                }
            }
        }
        let builder = builder.ok_or_else(|| de::Error::missing_field("examples"))?;
        let meaning = match self {
            Self::HalfSpace => UnlabelledMeans::HalfSpace,
            Self::Labelled | Self::Unlabelled => UnlabelledMeans::Nothing,
        };
        let parsed = builder.finish(meaning).map_err(scope::raise)?;
        Ok(DataForm::Sample { parsed, assume })
    }
}

/// Reads `assume`; a seed, so that a fault stands at the field.
struct AssumeOf {
    allowed: &'static [Assume],
}

impl<'de> DeserializeSeed<'de> for AssumeOf {
    type Value = Assume;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Assume, D::Error> {
        let assume = Assume::deserialize(deserializer)?;
        assume.check(self.allowed).map_err(scope::raise)
    }
}

/// Reads the list of examples.
struct Examples {
    kind: Kind,
    builder: SampleBuilder,
}

impl<'de> DeserializeSeed<'de> for Examples {
    type Value = SampleBuilder;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<SampleBuilder, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Examples {
    type Value = SampleBuilder;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of examples")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<SampleBuilder, A::Error> {
        loop {
            let builder = &mut self.builder;
            let name = self.kind.name();
            let next = match self.kind {
                Kind::Labelled => seq.next_element_seed(LabelledExample { builder })?,
                _ => seq.next_element_seed(BareExample { name, builder })?,
            };
            if next.is_none() {
                break;
            }
        }
        if self.builder.rows() == 0 {
            let detail = "There is no example; data need at least one.";
            return Err(scope::raise(Fault::new(FormatErrorKind::EmptyData, detail)));
        }
        Ok(self.builder)
    }
}

/// Reads one example that is an `x` alone.
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
        let builder = self.builder;
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
        let ended = builder.end_row(Some(y));
        ended.map_err(|fault| scope::raise_below(fault, "/x"))
    }
}

/// Reads an `x`: a bit string or an array of numbers.
struct X<'b> {
    /// The form that the example stands in.
    name: &'static str,
    /// The pointer from the example to its `x`.
    below: &'static str,
    builder: &'b mut SampleBuilder,
}

impl X<'_> {
    /// Remembers that the value at `index`, or the whole bit string, made the data real.
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
        f.write_str("a bit string or an array of numbers")
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
            match seq.next_element_seed(Value { builder })? {
                None => return Ok(()),
                Some(true) => self.note_first_real(Some(index)),
                Some(false) => {}
            }
            index += 1;
        }
    }
}

/// Reads one value of an array; answers whether it made the data real.
struct Value<'b> {
    builder: &'b mut SampleBuilder,
}

impl<'de> DeserializeSeed<'de> for Value<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Value<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<bool, E> {
        self.visit_f64(value as f64)
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<bool, E> {
        self.visit_f64(value as f64)
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<bool, E> {
        self.builder.value(value).map_err(scope::raise)
    }
}

/// Reads a label.
struct Y<'b> {
    builder: &'b mut SampleBuilder,
}

impl<'de> DeserializeSeed<'de> for Y<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Y<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a label, 1 or -1, or 1 or 0")
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<bool, E> {
        self.visit_f64(value as f64)
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<bool, E> {
        self.visit_f64(value as f64)
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<bool, E> {
        self.builder.label(value).map_err(scope::raise)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<bool, E> {
        Err(scope::raise(bad_label(text)))
    }
}

/// Reads the number of features, from 1 to the limit.
pub(super) fn feature_count<'de, D: Deserializer<'de>>(value: D) -> Result<usize, D::Error> {
    let n = u64::deserialize(value)?;
    let n_max = scope::limits().n_max;
    match usize::try_from(n) {
        Ok(0) => {
            let detail = "n is 0; it must be at least 1.";
            Err(scope::raise(Fault::new(
                FormatErrorKind::OutOfRange,
                detail,
            )))
        }
        Ok(n) if n <= n_max => Ok(n),
        _ => {
            let what = format!("n is {}", excerpt(n.to_string().as_bytes()));
            Err(scope::raise(Fault::too_large(&what, "n_max", n_max as u64)))
        }
    }
}
