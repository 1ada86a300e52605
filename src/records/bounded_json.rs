//! Reads JSON without a fixed shape, such as the parameters of learners, into bounded memory.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};

use halfspace_core::learners::engine::parameters::written_number;

/// The largest number of values: one for each possible feature, and 1,024 more.
const VALUES_MAX: usize = (1 << 20) + 1024;

/// The largest size of all names and texts together, in bytes.
const TEXT_BYTES_MAX: usize = 4 << 20;

/// Reads an object of at most `VALUES_MAX` values and `TEXT_BYTES_MAX` bytes of text, at any depth.
///
/// # Errors
/// The value is not an object or is larger.
pub fn object<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Map<String, Value>, D::Error> {
    object_of_decimals(deserializer, false, |_| None)
}

/// Reads an object like [`object`], with some members as exact decimals. With `has_lists`, every member must be a
/// list.
///
/// `is_factor` returns `None` for an ordinary member. For a decimal or a list of decimals it says whether the member
/// is a factor.
///
/// # Errors
/// As for [`object`], and a member that is no list.
pub fn object_of_decimals<'de, D: Deserializer<'de>>(
    deserializer: D,
    has_lists: bool,
    is_factor: fn(&str) -> Option<bool>,
) -> Result<Map<String, Value>, D::Error> {
    let budget = JsonBudget {
        values: Cell::new(VALUES_MAX),
        text_bytes: Cell::new(TEXT_BYTES_MAX),
    };
    let budget = &budget;
    deserializer.deserialize_map(ObjectVisitor {
        budget,
        has_lists,
        is_factor,
    })
}

/// The number of values and the bytes of text that may still be read.
struct JsonBudget {
    values: Cell<usize>,
    text_bytes: Cell<usize>,
}

impl JsonBudget {
    fn take_value<E: Error>(&self) -> Result<(), E> {
        let left = self.values.get().checked_sub(1);
        let full = || E::custom(format!("the document has more than {VALUES_MAX} values"));
        self.values.set(left.ok_or_else(full)?);
        Ok(())
    }

    fn take_text<E: Error>(&self, text: &str) -> Result<(), E> {
        let left = self.text_bytes.get().checked_sub(text.len());
        let full = || {
            E::custom(format!(
                "the texts of the document take more than {TEXT_BYTES_MAX} bytes"
            ))
        };
        self.text_bytes.set(left.ok_or_else(full)?);
        Ok(())
    }
}

/// A visitor for an object.
struct ObjectVisitor<'r> {
    budget: &'r JsonBudget,
    has_lists: bool,
    is_factor: fn(&str) -> Option<bool>,
}

/// A seed for one member of an object.
struct Member<'r> {
    budget: &'r JsonBudget,
    /// Whether the member is a factor, if it is a decimal.
    is_factor: Option<bool>,
    is_list: bool,
}

impl<'de> DeserializeSeed<'de> for Member<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        let value = match self.is_factor {
            Some(is_factor) => {
                let text = Box::<RawValue>::deserialize(deserializer)?;
                self.decimals(text.get(), is_factor)?
            }
            None => {
                let budget = self.budget;
                Any { budget }.deserialize(deserializer)?
            }
        };
        if self.is_list && !value.is_array() {
            return Err(D::Error::custom("the value must be a list of values"));
        }
        Ok(value)
    }
}

impl Member<'_> {
    /// Reads a decimal or a list of decimals from its text.
    fn decimals<E: Error>(&self, text: &str, is_factor: bool) -> Result<Value, E> {
        self.budget.take_value::<E>()?;
        self.budget.take_text::<E>(text)?;
        let one = |text: &str| match text.as_bytes().first() {
            Some(b'0'..=b'9' | b'-') => Ok(written_number(is_factor, text)),
            _ => serde_json::from_str(text),
        };
        let read = match text.as_bytes().first() {
            Some(b'[') => serde_json::from_str::<Vec<&RawValue>>(text)
                .and_then(|list| list.iter().map(|value| one(value.get())).collect()),
            _ => one(text),
        };
        read.map_err(E::custom)
    }
}

impl<'de> Visitor<'de> for ObjectVisitor<'_> {
    type Value = Map<String, Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = entries.next_key::<String>()? {
            self.budget.take_text(&name)?;
            if object.contains_key(&name) {
                return Err(A::Error::custom(format!("`{name}` stands there twice")));
            }
            let value = entries.next_value_seed(Member {
                budget: self.budget,
                is_factor: (self.is_factor)(&name),
                is_list: self.has_lists,
            })?;
            object.insert(name, value);
        }
        Ok(object)
    }
}

/// A visitor for any value.
struct Any<'r> {
    budget: &'r JsonBudget,
}

impl<'de> DeserializeSeed<'de> for Any<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.budget.take_value()?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Any<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        self.budget.take_text(text)?;
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(value) = values.next_element_seed(Any {
            budget: self.budget,
        })? {
            list.push(value);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<Value, A::Error> {
        let object = ObjectVisitor {
            budget: self.budget,
            has_lists: false,
            is_factor: |_| None,
        };
        let object = object.visit_map(entries)?;
        Ok(object.into())
    }
}
