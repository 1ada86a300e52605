//! The weights of classes that a request states: `balanced`, or a number for some of the classes.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;

use halfspace_core::learners::sample::weights::{ClassWeights, Weight};
use halfspace_formats::{Classes, name_list};
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use serde::{Serialize, Serializer};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{AdditionalProperties, ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

/// The word for weights that follow from the numbers of examples.
const BALANCED: &str = "balanced";

/// The weights of classes.
#[derive(Clone, Debug, PartialEq)]
pub enum StatedClassWeights {
    Balanced,
    /// By the names of classes. The others have the weight 1.
    Each(BTreeMap<String, f64>),
}

impl StatedClassWeights {
    /// The weights that a text of a query or a command states: `balanced`, or `class:weight` with commas between them.
    /// In each item the last colon precedes the weight.
    fn of_text(text: &str) -> Result<Self, String> {
        if text == BALANCED {
            return Ok(Self::Balanced);
        }
        let each = |item: String| {
            let split = item.rsplit_once(':');
            let (class, weight) = split.ok_or_else(|| {
                format!("`{item}` is neither `{BALANCED}` nor a class, a colon and its weight")
            })?;
            let weight: f64 = weight.trim().parse().map_err(|_| wrong(class, weight))?;
            Ok::<_, String>((class.to_owned(), weight))
        };
        let mut all = BTreeMap::new();
        for item in name_list(text)? {
            let (class, weight) = each(item)?;
            add(&mut all, class, weight)?;
        }
        Ok(Self::Each(all))
    }

    /// One weight per class, in the order of the codes.
    ///
    /// # Errors
    /// A name that is no class, with the names that are.
    pub fn of(&self, classes: Option<&Classes>) -> Result<ClassWeights, String> {
        let Self::Each(all) = self else {
            return Ok(ClassWeights::Balanced);
        };
        let plain = Classes::plain();
        let classes = classes.unwrap_or(&plain);
        let mut each = vec![None; classes.count()];
        for (class, weight) in all {
            let code = code(class, classes).ok_or_else(|| unknown(class, classes))? as usize;
            let weight = Weight::new(*weight).ok_or_else(|| wrong(class, weight))?;
            if each[code].replace(weight).is_some() {
                return Err(format!(
                    "class `{class}` has two weights, under two spellings"
                ));
            }
        }
        let each = each.into_iter().map(|weight| weight.unwrap_or(Weight::ONE));
        Ok(ClassWeights::Each(each.collect()))
    }
}

/// The weights of classes by their names. Plain labels are their own names.
pub fn by_name(weights: &[Weight], classes: Option<&Classes>) -> BTreeMap<String, f64> {
    let names = classes.and_then(Classes::names);
    let names = names.unwrap_or_else(|| vec!["-1".to_owned(), "1".to_owned()]);
    let values = weights.iter().map(|weight| weight.value());
    names.into_iter().zip(values).collect()
}

/// The code of the class of this name. If every value but one means -1, these values have one name together.
fn code(class: &str, classes: &Classes) -> Option<u32> {
    let code = classes.code(class).ok()?;
    let is_rest = classes.is_against_rest() && code == 0;
    let own = || classes.names().is_some_and(|names| names[0] == class);
    (!is_rest || own() || class == "-1").then_some(code)
}

/// Adds the weight of a class.
fn add(all: &mut BTreeMap<String, f64>, class: String, weight: f64) -> Result<(), String> {
    match all.entry(class) {
        Entry::Occupied(entry) => Err(format!("class `{}` has two weights", entry.key())),
        Entry::Vacant(entry) if Weight::new(weight).is_none() => Err(wrong(entry.key(), weight)),
        Entry::Vacant(entry) => {
            entry.insert(weight);
            Ok(())
        }
    }
}

/// The most classes that an error lists.
const LISTED_MAX: usize = 20;

fn unknown(class: &str, classes: &Classes) -> String {
    let names = classes.names();
    let names = names.unwrap_or_else(|| vec!["1".to_owned(), "-1 or 0".to_owned()]);
    let listed = names.iter().take(LISTED_MAX);
    let listed: Vec<_> = listed.map(|name| format!("`{name}`")).collect();
    let more = match names.len() - listed.len() {
        0 => String::new(),
        more => format!(" and {more} others"),
    };
    let listed = listed.join(", ");
    format!("the data have no class `{class}`; their classes are {listed}{more}")
}

fn wrong(class: &str, weight: impl fmt::Display) -> String {
    format!(
        "the weight of class `{class}` is {weight}, but {}",
        Weight::RULE
    )
}

impl Serialize for StatedClassWeights {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Balanced => serializer.serialize_str(BALANCED),
            Self::Each(all) => all.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for StatedClassWeights {
    fn deserialize<D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        value.deserialize_any(StatedClassWeightsVisitor)
    }
}

struct StatedClassWeightsVisitor;

impl<'de> Visitor<'de> for StatedClassWeightsVisitor {
    type Value = StatedClassWeights;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the text balanced, or an object with the weights of classes")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<StatedClassWeights, E> {
        StatedClassWeights::of_text(text).map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<StatedClassWeights, A::Error> {
        let mut all = BTreeMap::new();
        while let Some((class, weight)) = map.next_entry()? {
            add(&mut all, class, weight).map_err(de::Error::custom)?;
        }
        Ok(StatedClassWeights::Each(all))
    }
}

impl PartialSchema for StatedClassWeights {
    fn schema() -> RefOr<Schema> {
        let word = ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some(
                "`balanced`, or each class and its weight as `class:weight`, with commas between them.",
            ));
        let weight = ObjectBuilder::new()
            .schema_type(Type::Number)
            .minimum(Some(0.001))
            .maximum(Some(1000));
        let each = ObjectBuilder::new()
            .schema_type(Type::Object)
            .additional_properties(Some(AdditionalProperties::RefOr(weight.into())));
        OneOfBuilder::new().item(word).item(each).into()
    }
}

impl ToSchema for StatedClassWeights {}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<StatedClassWeights, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn stated_weights_are_balanced_or_numbers_by_class() {
        for text in [r#""balanced""#, r#"{"no":1.0,"yes":2.5}"#] {
            let stated = read(text).expect("weights");
            assert_eq!(serde_json::to_string(&stated).expect("text"), text);
        }
        let of_query = read(r#""yes:2.5,\"a,b:c:3\"""#).expect("a list");
        assert_eq!(
            of_query,
            read(r#"{"yes": 2.5, "a,b:c": 3}"#).expect("an object")
        );
        for text in [
            r#"{"a": 0}"#,
            r#"{"a": -1}"#,
            r#"{"a": 1e9}"#,
            r#""a:0""#,
            r#""a:x""#,
        ] {
            let refused = read(text).expect_err("a wrong weight");
            assert!(
                refused.contains("`a`") && refused.contains("from 0.001 to 1000"),
                "{refused}"
            );
        }
        assert!(read(r#""even""#).expect_err("a word").contains("balanced"));
        assert!(
            read("3")
                .expect_err("a number")
                .contains("an object with the weights")
        );
    }

    #[test]
    fn stated_weights_are_in_the_order_of_the_codes() {
        let weight = |value| Weight::new(value).expect("in the range");
        let of = |text: &str, classes: Option<&Classes>| read(text).expect("weights").of(classes);
        let three = Classes::of_names(["a", "b", "2"].map(str::to_owned)).expect("classes");
        let each = [1.0, 3.0, 0.5].map(weight);
        assert_eq!(
            of(r#"{"b": 3, "2.0": 0.5}"#, Some(&three)),
            Ok(ClassWeights::Each(each.to_vec()))
        );
        for (text, classes) in [
            (r#"{"2": 3, "2.0": 1}"#, Some(&three)),
            (r#"{"0": 1, "-1": 2}"#, None),
        ] {
            assert!(
                of(text, classes)
                    .expect_err("one class")
                    .contains("two spellings")
            );
        }
        let refused = of(r#"{"c": 3}"#, Some(&three)).expect_err("no class");
        let expected = "the data have no class `c`; their classes are `a`, `b`, `2`";
        assert_eq!(refused, expected);
        let refused = of(r#"{"2": 3}"#, None).expect_err("no class");
        assert!(refused.contains("`-1 or 0`"), "{refused}");
        let plain = Ok(ClassWeights::Each([4.0, 1.0].map(weight).to_vec()));
        for text in [r#"{"0": 4}"#, r#"{"-1": 4}"#] {
            assert_eq!(of(text, None), plain);
        }
        let rest = Classes::new(None, "a".to_owned());
        let of_rest = Ok(ClassWeights::Each([2.0, 1.0].map(weight).to_vec()));
        for text in [r#"{"not a": 2}"#, r#"{"-1": 2}"#] {
            assert_eq!(of(text, Some(&rest)), of_rest);
        }
        assert!(
            of(r#"{"b": 2}"#, Some(&rest))
                .expect_err("a part")
                .contains("`not a`, `a`")
        );
        assert_eq!(by_name(&each, Some(&three)).get("b"), Some(&3.0));
        assert_eq!(by_name(&[4.0, 1.0].map(weight), None).get("-1"), Some(&4.0));
    }
}
