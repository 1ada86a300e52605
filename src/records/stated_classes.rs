//! The classes that a request states: their list, or that each class joins when its first example comes.

use std::fmt;

use halfspace_formats::{CLASSES_MAX, Classes, LabelRule, is_missing, name_list};
use serde::de::value::SeqAccessDeserializer;
use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};
use serde::{Serialize, Serializer};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use super::names::{NAMES_BYTES_MAX, is_short};

/// The word for classes that join.
const OPEN: &str = "open";

/// The classes of a training or a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatedClasses {
    /// Each class joins when its first example is read.
    Open,
    /// All classes, in their order.
    Names(Vec<String>),
}

impl StatedClasses {
    /// The classes that a text of a query or a command states: `open`, or names with commas between them.
    ///
    /// # Errors
    /// A quote that is not closed.
    pub fn of_text(text: &str) -> Result<Self, String> {
        match text {
            OPEN => Ok(Self::Open),
            list => name_list(list).map(Self::Names),
        }
    }

    /// The rule by which these classes read labels.
    ///
    /// # Errors
    /// As for [`Self::listed`].
    pub fn label_rule(self) -> Result<LabelRule, String> {
        Ok(self.listed()?.map_or(LabelRule::Open, LabelRule::Of))
    }

    /// The listed classes. None if they are open.
    ///
    /// # Errors
    /// Why the names are no list of classes.
    pub fn listed(self) -> Result<Option<Classes>, String> {
        let Self::Names(names) = self else {
            return Ok(None);
        };
        if names.len() > CLASSES_MAX {
            let count = names.len();
            return Err(format!(
                "There are {count} classes, more than classes_max: {CLASSES_MAX}."
            ));
        }
        if !is_short(&names) {
            return Err(format!(
                "The names take more than {NAMES_BYTES_MAX} bytes in total."
            ));
        }
        if let Some(name) = names.iter().find(|name| is_missing(name)) {
            return Err(format!(
                "{name:?} stands for a missing label, so no class can have this name."
            ));
        }
        match Classes::of_labels(names) {
            Some(classes) if classes.overlap() => {
                Err("Two names read the same labels; each class has a name of its own.".to_owned())
            }
            Some(classes) if classes.count() > 1 => Ok(Some(classes)),
            _ => Err("There are two classes or more, or the word open.".to_owned()),
        }
    }
}

impl Serialize for StatedClasses {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Open => serializer.serialize_str(OPEN),
            Self::Names(names) => names.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for StatedClasses {
    fn deserialize<D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        value.deserialize_any(StatedClassesVisitor)
    }
}

struct StatedClassesVisitor;

impl<'de> Visitor<'de> for StatedClassesVisitor {
    type Value = StatedClasses;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of names, or the text open")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<StatedClasses, E> {
        StatedClasses::of_text(text).map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<StatedClasses, A::Error> {
        Deserialize::deserialize(SeqAccessDeserializer::new(list)).map(StatedClasses::Names)
    }
}

impl PartialSchema for StatedClasses {
    fn schema() -> RefOr<Schema> {
        let word = ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some("`open`, or the names with commas between them."));
        let name = ObjectBuilder::new().schema_type(Type::String);
        let list = ArrayBuilder::new().items(name).min_items(Some(2));
        OneOfBuilder::new().item(list).item(word).into()
    }
}

impl ToSchema for StatedClasses {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stated_classes_are_a_list_or_open() {
        let read = |text| serde_json::from_str::<StatedClasses>(text);
        for text in [r#""open""#, r#"["a","b"]"#] {
            let stated = read(text).expect("classes");
            assert_eq!(serde_json::to_string(&stated).expect("text"), text);
        }
        assert_eq!(read(r#""open""#).expect("open").listed(), Ok(None));
        let of_query = read(r#""a,\"b,c\"""#).expect("a list");
        assert_eq!(of_query, read(r#"["a","b,c"]"#).expect("a list"));
        let error = read("3").expect_err("a number").to_string();
        assert!(
            error.contains("a list of names, or the text open"),
            "{error}"
        );
        let refused = |text| read(text).expect("a list").listed().expect_err("wrong");
        for one in [r#"["a"]"#, r#""closed""#] {
            assert!(refused(one).contains("two classes or more"));
        }
        assert!(refused(r#"["1","1.0"]"#).contains("same labels"));
        let many: Vec<String> = (0..10_000).map(|name| format!("c{name}")).collect();
        let refused = StatedClasses::Names(many).listed().expect_err("too many");
        assert!(refused.contains("classes_max"), "{refused}");
    }
}
