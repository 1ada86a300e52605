//! The JSON forms of data: an object with one key, such as `labelled` or `dataset`, or an array of table rows.
//!
//! Every reader is a serde visitor that adds its examples to the sample one by one. You can therefore put the forms
//! anywhere in a derived request struct, and a body is still read as a stream. Limits and typed faults pass through
//! `scope.rs`.

use std::fmt;
use std::io::Read;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use halfspace_core::learners::engine::assume::Assume;

use crate::building::parsed::Parsed;
use crate::building::parsed_rows::ParsedRows;
use crate::building::sample_builder::SampleBuilder;
use crate::building::sample_rules::SampleRules;
use crate::classes::LabelRule;
use crate::classes::unlabelled;
use crate::error::{Fault, FormatError, FormatErrorKind, Place};
use crate::options::{FormatOption, LabelsColumn, Options, UnlabelledMeans};
use crate::readers::binary::packed::PackedSample;
use crate::readers::json;
use crate::readers::json::examples::{ExampleKind, ExamplesReader};
use crate::readers::json::fields::AssumeOf;
use crate::readers::json::generated::GeneratedSpec;
use crate::readers::json::rows::JsonRows;
use crate::readers::json::scope;
use crate::stored::spool::Spool;
use crate::tables::preview::Preview;

/// Data in a request.
#[derive(Clone, Debug, PartialEq)]
pub enum DataForm {
    /// Examples in the request itself.
    Sample {
        /// The examples.
        parsed: Parsed,
        /// Origin that the sender declares for the examples.
        assume: Option<Assume>,
    },
    /// Rows of a table in the request itself, which become examples by an encoding.
    Rows(JsonRows),
    /// Examples to be drawn.
    Generated(GeneratedSpec),
    /// Examples in a stored dataset.
    Dataset {
        /// Id of the dataset as sent. This module does not know which datasets exist.
        id: String,
        /// Origin that the sender declares. It replaces the one declared with the dataset.
        assume: Option<Assume>,
        /// The class to tell from all others.
        positive: Option<String>,
    },
}

/// Reads a body that is one [`DataForm`], and refuses an option that contradicts the form. The options `values` and
/// `unlabelled` are ignored.
///
/// A preview sees the rows of a table.
pub(crate) fn read(
    reader: &mut dyn Read,
    options: &Options,
    preview: Option<&Preview>,
) -> Result<DataForm, FormatError> {
    if options.labels == Some(LabelsColumn::Appended) {
        options.refuse("JSON", &[FormatOption::LABELS])?;
    }
    let mut form = json::from_reader_of_any(reader, options)?;
    if let DataForm::Rows(rows) = &form {
        return read_rows(rows, options.clone(), preview);
    }
    options.refuse_columns("this form of JSON")?;
    if let DataForm::Sample { .. } = form {
        options.check_scales("this form of JSON")?;
    }
    let has_names = matches!(&form, DataForm::Sample { parsed, .. } if parsed.vocabulary.is_some());
    if !has_names {
        options.refuse("this form of JSON", &FormatOption::EXTRACTION)?;
    }
    // A model or a session states its vocabulary, which a dataset need not have.
    if options.label_rule == LabelRule::New && !matches!(form, DataForm::Sample { .. }) {
        options.refuse("this form of JSON", &[FormatOption::VOCABULARY])?;
    }
    let is_of_values = |parsed: &Parsed| parsed.classes.is_some();
    let has_values = match &form {
        DataForm::Sample { parsed, .. } => is_of_values(parsed),
        DataForm::Dataset { .. } => true,
        DataForm::Rows(_) | DataForm::Generated(_) => false,
    };
    if !has_values {
        options.refuse("this form of JSON", &[FormatOption::POSITIVE])?;
    }
    let n = match &mut form {
        DataForm::Sample { parsed, assume } => {
            if !parsed.data.labels().are_given() && options.needs_labels() {
                return Err(unlabelled().placed(Some(Place::Pointer(String::new()))));
            }
            *assume = declared("assume", options.assume, *assume)?;
            if has_names {
                SampleRules::check_no_n(options.n)?;
                return Ok(form);
            }
            options.refuse("this form of JSON", &[FormatOption::VOCABULARY])?;
            parsed.data.n()
        }
        DataForm::Generated(_) if options.assume.is_some() => {
            let detail = "The option `assume` is only for data that you send; the distribution of \
                          generated data is known. Omit the option.";
            return Err(Fault::new(FormatErrorKind::BadOption, detail).into());
        }
        DataForm::Rows(_) => unreachable!("rows were read above"),
        DataForm::Generated(spec) => spec.n,
        DataForm::Dataset { .. } if options.n.is_some() => {
            let detail = "The options `n` and `encoding` are only for data that you send; a dataset has its own n and \
                          encoding. Omit the option.";
            return Err(Fault::new(FormatErrorKind::BadOption, detail).into());
        }
        DataForm::Dataset {
            assume, positive, ..
        } => {
            *assume = declared("assume", options.assume, *assume)?;
            let own = positive.take();
            *positive = declared("positive", options.table.positive.clone(), own)?;
            return Ok(form);
        }
    };
    options.check_n(n)?;
    Ok(form)
}

/// Reads the rows of a table under these options and those beside the rows.
fn read_rows(
    rows: &JsonRows,
    mut options: Options,
    preview: Option<&Preview>,
) -> Result<DataForm, FormatError> {
    for (name, text) in &rows.options {
        let wrong = |detail| {
            let place = Place::Pointer(format!("/table/{name}"));
            Fault::new(FormatErrorKind::OutOfRange, detail).placed(Some(place))
        };
        if !options.set_within(name, text).map_err(wrong)? {
            return Err(wrong(
                "The encoding belongs in the query of this request.".to_owned(),
            ));
        }
    }
    Ok(DataForm::Sample {
        parsed: rows.parse(&options, preview)?,
        assume: options.assume,
    })
}

/// The value of an option that the query or the body states.
fn declared<T: PartialEq>(
    option: &str,
    query: Option<T>,
    body: Option<T>,
) -> Result<Option<T>, Fault> {
    match (query, body) {
        (Some(query), Some(body)) if query != body => {
            let detail =
                format!("The query and the body state different `{option}`; state it once.");
            Err(Fault::new(FormatErrorKind::BadOption, detail))
        }
        (query, body) => Ok(query.or(body)),
    }
}

/// Reads a body that is one [`DataForm`] with its examples. They stay in memory, so the spool is not used.
pub(crate) fn parse(
    reader: &mut dyn Read,
    options: &Options,
    _: Option<Spool>,
    preview: Option<&Preview>,
) -> Result<Parsed<ParsedRows>, FormatError> {
    let refuse = |detail: &str| Err(Fault::new(FormatErrorKind::Schema, detail).into());
    match read(reader, options, preview)? {
        DataForm::Generated(_) => refuse("Generated data are not allowed here; send examples."),
        DataForm::Dataset { .. } => refuse("A dataset is not allowed here; send examples."),
        DataForm::Sample {
            assume: Some(_), ..
        } => refuse("The field assume is not allowed here."),
        DataForm::Sample { parsed, .. } => Ok(parsed.into()),
        DataForm::Rows(_) => unreachable!("`read` returns rows as a sample"),
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Tag {
    HalfSpace,
    Labelled,
    Unlabelled,
    Packed,
    Rows,
    Table,
    Generated,
    Dataset,
}

impl<'de> Deserialize<'de> for DataForm {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FormVisitor)
    }
}

/// One object with one key, or an array of objects, which are rows.
struct FormVisitor;

impl<'de> Visitor<'de> for FormVisitor {
    type Value = DataForm;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object, or an array of rows, each an object with one member per column")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<DataForm, A::Error> {
        let mut text = String::from("[");
        while let Some(row) = rows.next_element::<Box<RawValue>>()? {
            if text.len() > 1 {
                text.push(',');
            }
            text.push_str(row.get());
        }
        text.push(']');
        let rows = RawValue::from_string(text).map_err(de::Error::custom)?;
        Ok(DataForm::Rows(JsonRows::bare(rows)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<DataForm, A::Error> {
        let choice = || {
            let detail = "Data must be an array of rows, or have exactly one of the properties half_space, labelled, \
                          unlabelled, packed, rows, table, generated and dataset.";
            scope::raise(Fault::new(FormatErrorKind::Schema, detail))
        };
        let Some(tag) = map.next_key()? else {
            return Err(choice());
        };
        let form = match tag {
            Tag::HalfSpace => map.next_value_seed(ExampleKind::HalfSpace)?,
            Tag::Labelled => map.next_value_seed(ExampleKind::Labelled)?,
            Tag::Unlabelled => map.next_value_seed(ExampleKind::Unlabelled)?,
            Tag::Packed => {
                let PackedSample { parsed, assume } = map.next_value()?;
                DataForm::Sample { parsed, assume }
            }
            Tag::Rows => DataForm::Rows(JsonRows::alone(map.next_value()?)),
            Tag::Table => DataForm::Rows(map.next_value()?),
            Tag::Generated => DataForm::Generated(map.next_value()?),
            Tag::Dataset => map.next_value::<NamedDataset>()?.0,
        };
        if map.next_key::<IgnoredAny>()?.is_some() {
            return Err(choice());
        }
        Ok(form)
    }
}

/// A dataset by its id, or an object with the id and how to read the dataset.
struct NamedDataset(DataForm);

/// The members of a dataset that is read in its own way.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DatasetMembers {
    id: String,
    #[serde(default)]
    assume: Option<Assume>,
    #[serde(default)]
    positive: Option<String>,
}

impl<'de> Deserialize<'de> for NamedDataset {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct DatasetVisitor;

        impl<'de> Visitor<'de> for DatasetVisitor {
            type Value = NamedDataset;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the id of a dataset, or an object with the id")
            }

            fn visit_str<E: de::Error>(self, id: &str) -> Result<NamedDataset, E> {
                Ok(NamedDataset(DataForm::Dataset {
                    id: id.to_owned(),
                    assume: None,
                    positive: None,
                }))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<NamedDataset, A::Error> {
                let members = DatasetMembers::deserialize(MapAccessDeserializer::new(map))?;
                let DatasetMembers {
                    id,
                    assume,
                    positive,
                } = members;
                Ok(NamedDataset(DataForm::Dataset {
                    id,
                    assume,
                    positive,
                }))
            }
        }

        deserializer.deserialize_any(DatasetVisitor)
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum ListField {
    Examples,
    Assume,
}

impl ExampleKind {
    /// The assumptions that fit such examples.
    fn assumptions(self) -> &'static [Assume] {
        match self {
            Self::HalfSpace => Assume::allowed(false),
            Self::Labelled => Assume::allowed(true),
            Self::Unlabelled => &[],
        }
    }
}

impl<'de> DeserializeSeed<'de> for ExampleKind {
    type Value = DataForm;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<DataForm, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for ExampleKind {
    type Value = DataForm;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with `examples`")
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
                    let started = SampleBuilder::new(&scope::limits(), None, None);
                    let started = started.map_err(scope::raise)?;
                    let meaning = scope::meaning();
                    let started = started.of_labels(meaning.labels).of_texts(meaning.texts);
                    let started = started.of_vocabulary(meaning.open_vocabulary);
                    let started = started.map_err(scope::raise)?;
                    builder = Some(map.next_value_seed(ExamplesReader {
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
        let is_undecided = builder.has_foreign_labels();
        let mut parsed = builder.finish(meaning).map_err(scope::raise)?.in_memory();
        parsed.is_undecided = is_undecided;
        let assume = assume.flatten();
        Ok(DataForm::Sample { parsed, assume })
    }
}
