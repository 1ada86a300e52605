//! What can be set of a learner: one table that names, checks, documents and reads parameters.

use serde_json::{Map, Value, json};

use crate::bits::BitVector;

/// One parameter of a learner.
#[derive(Debug)]
pub struct Parameter {
    /// Its name; a dot separates the levels of a nested one.
    pub name: &'static str,
    /// What it may be, and what it is when absent.
    pub kind: Kind,
    /// What it does.
    pub description: &'static str,
}

/// What a parameter may be.
#[derive(Debug)]
pub enum Kind {
    /// True or false.
    Flag { default: bool },
    /// One of a few names.
    Choice {
        options: &'static [&'static str],
        default: &'static str,
    },
    /// A finite number in (`above`, `at_most`].
    Number {
        above: f64,
        at_most: f64,
        default: f64,
    },
    /// A whole number in `minimum..=maximum`; when absent the learner computes it.
    Count {
        minimum: u64,
        maximum: u64,
        default: &'static str,
    },
    /// A bit string of the data's length; when absent it is drawn at random.
    Bits,
    /// One number for all weights, or one a weight with the bias last.
    Weights { at_most: f64, default: f64 },
}

/// A checked value.
#[derive(Clone, Debug, PartialEq)]
enum Setting {
    Flag(bool),
    Choice(&'static str),
    Number(f64),
    Count(Option<u64>),
    Bits(Option<BitVector>),
    Weights(Weights),
}

/// First weights.
#[derive(Clone, Debug, PartialEq)]
pub enum Weights {
    /// The same for all.
    Each(f64),
    /// One a weight, the bias last.
    List(Vec<f64>),
}

/// Why a parameter is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterError {
    /// The parameter's dotted name, as the client gave it.
    pub name: String,
    /// What is wrong and what would be right.
    pub detail: String,
    /// Whether no parameter has this name.
    pub unknown: bool,
}

/// The checked parameters of one learner, defaults filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters(Vec<Entry>);

#[derive(Clone, Debug, PartialEq)]
struct Entry {
    name: &'static str,
    setting: Setting,
    given: bool,
}

impl Parameters {
    /// Checks a JSON object against a learner's table.
    ///
    /// # Errors
    /// Every unknown name and every value out of its range.
    pub fn from_json(
        table: &'static [Parameter],
        object: &Map<String, Value>,
    ) -> Result<Self, Vec<ParameterError>> {
        let mut given = Vec::new();
        flatten("", object, table, &mut given);
        Self::check(table, &given)
    }

    fn check(
        table: &'static [Parameter],
        given: &[(String, &Value)],
    ) -> Result<Self, Vec<ParameterError>> {
        let mut errors = Vec::new();
        let known = || table.iter().map(|p| p.name).collect::<Vec<_>>().join(", ");
        for (name, _) in given {
            if !table.iter().any(|parameter| parameter.name == name) {
                let detail = if table.is_empty() {
                    "this learner has no parameters".to_owned()
                } else {
                    format!("no such parameter; there are: {}", known())
                };
                errors.push(ParameterError {
                    name: name.clone(),
                    detail,
                    unknown: true,
                });
            }
        }
        let mut settings = Vec::with_capacity(table.len());
        for parameter in table {
            let value = given.iter().find(|(name, _)| name == parameter.name);
            match parameter.kind.read(value.map(|(_, value)| *value)) {
                Ok(setting) => settings.push(Entry {
                    name: parameter.name,
                    setting,
                    given: value.is_some(),
                }),
                Err(detail) => errors.push(ParameterError {
                    name: parameter.name.to_owned(),
                    detail,
                    unknown: false,
                }),
            }
        }
        if errors.is_empty() {
            Ok(Self(settings))
        } else {
            Err(errors)
        }
    }

    /// The parameters as the JSON object that [`Self::from_json`] reads back, defaults included.
    pub fn to_json(&self) -> Map<String, Value> {
        let mut root = Map::new();
        for entry in &self.0 {
            if let Some(value) = entry.setting.to_json() {
                insert_nested(&mut root, entry.name, value);
            }
        }
        root
    }

    fn entry(&self, name: &str) -> &Entry {
        let found = self.0.iter().find(|entry| entry.name == name);
        found.expect("a learner reads only parameters of its table")
    }

    fn setting(&self, name: &str) -> &Setting {
        &self.entry(name).setting
    }

    /// Whether the client gave the parameter, rather than leave it to its default.
    pub fn is_given(&self, name: &str) -> bool {
        self.entry(name).given
    }

    /// A flag of the table.
    pub fn flag(&self, name: &str) -> bool {
        matches!(self.setting(name), Setting::Flag(true))
    }

    /// A choice of the table.
    pub fn choice(&self, name: &str) -> &'static str {
        match self.setting(name) {
            Setting::Choice(choice) => choice,
            other => unreachable!("{name} is {other:?}"),
        }
    }

    /// A number of the table.
    pub fn number(&self, name: &str) -> f64 {
        match self.setting(name) {
            Setting::Number(number) => *number,
            other => unreachable!("{name} is {other:?}"),
        }
    }

    /// A count of the table, if given.
    pub fn count(&self, name: &str) -> Option<u64> {
        match self.setting(name) {
            Setting::Count(count) => *count,
            other => unreachable!("{name} is {other:?}"),
        }
    }

    /// A bit string of the table, if given.
    pub fn bits(&self, name: &str) -> Option<&BitVector> {
        match self.setting(name) {
            Setting::Bits(bits) => bits.as_ref(),
            other => unreachable!("{name} is {other:?}"),
        }
    }

    /// First weights of the table.
    pub fn weights(&self, name: &str) -> &Weights {
        match self.setting(name) {
            Setting::Weights(weights) => weights,
            other => unreachable!("{name} is {other:?}"),
        }
    }
}

/// Walks nested objects down to the dotted names of the table.
fn flatten<'v>(
    prefix: &str,
    object: &'v Map<String, Value>,
    table: &[Parameter],
    out: &mut Vec<(String, &'v Value)>,
) {
    for (key, value) in object {
        let name = format!("{prefix}{key}");
        let group = format!("{name}.");
        match value {
            Value::Object(inner) if table.iter().any(|p| p.name.starts_with(&group)) => {
                flatten(&group, inner, table, out);
            }
            _ => out.push((name, value)),
        }
    }
}

/// Puts a value under its dotted name.
pub fn insert_nested(object: &mut Map<String, Value>, name: &str, value: Value) {
    match name.split_once('.') {
        None => {
            object.insert(name.to_owned(), value);
        }
        Some((group, rest)) => {
            let inner = object.entry(group).or_insert_with(|| json!({}));
            if let Value::Object(inner) = inner {
                insert_nested(inner, rest, value);
            }
        }
    }
}

impl Setting {
    fn to_json(&self) -> Option<Value> {
        match self {
            Self::Flag(flag) => Some(json!(flag)),
            Self::Choice(choice) => Some(json!(choice)),
            Self::Number(number) | Self::Weights(Weights::Each(number)) => {
                Some(number_json(*number))
            }
            Self::Count(count) => count.map(|count| json!(count)),
            Self::Bits(bits) => bits.as_ref().map(|bits| json!(bits.to_bit_string())),
            Self::Weights(Weights::List(list)) => {
                Some(list.iter().map(|&number| number_json(number)).collect())
            }
        }
    }
}

/// A whole number without a fraction, so that 1 is shown as 1.
fn number_json(number: f64) -> Value {
    if number.fract() == 0.0 && number.abs() < 9e15 {
        json!(number as i64)
    } else {
        json!(number)
    }
}

impl Kind {
    /// Turns the text of a query string into the JSON value that it stands for.
    pub fn value_of_text(&self, text: &str) -> Value {
        let parsed = || serde_json::from_str::<Value>(text).ok();
        let literal = || parsed().filter(|value| value.is_number() || value.is_boolean());
        match self {
            Self::Flag { .. } | Self::Number { .. } | Self::Count { .. } => {
                literal().unwrap_or_else(|| json!(text))
            }
            Self::Weights { .. } if text.contains(',') => text
                .split(',')
                .map(|part| serde_json::from_str(part).unwrap_or_else(|_| json!(part)))
                .collect(),
            Self::Weights { .. } => literal().unwrap_or_else(|| json!(text)),
            Self::Choice { .. } | Self::Bits => json!(text),
        }
    }

    fn read(&self, value: Option<&Value>) -> Result<Setting, String> {
        let value = value.filter(|value| !(value.is_null() && self.is_nullable()));
        match self {
            Self::Flag { default } => match value {
                None => Ok(Setting::Flag(*default)),
                Some(Value::Bool(flag)) => Ok(Setting::Flag(*flag)),
                Some(other) => Err(format!("{other} is neither true nor false")),
            },
            Self::Choice { options, default } => {
                let Some(value) = value else {
                    return Ok(Setting::Choice(default));
                };
                let chosen = options.iter().find(|option| value.as_str() == Some(option));
                let wrong = || format!("{value} is none of: {}", options.join(", "));
                chosen.map(|c| Setting::Choice(c)).ok_or_else(wrong)
            }
            Self::Number {
                above,
                at_most,
                default,
            } => {
                let Some(value) = value else {
                    return Ok(Setting::Number(*default));
                };
                let number = value.as_f64().filter(|x| x > above && x <= at_most);
                number.map(Setting::Number).ok_or_else(|| {
                    format!("{value} is no number above {above} and at most {at_most}")
                })
            }
            Self::Count {
                minimum, maximum, ..
            } => {
                let Some(value) = value else {
                    return Ok(Setting::Count(None));
                };
                let count = value.as_u64().filter(|c| (minimum..=maximum).contains(&c));
                count.map(|c| Setting::Count(Some(c))).ok_or_else(|| {
                    format!("{value} is no whole number from {minimum} to {maximum}")
                })
            }
            Self::Bits => match value {
                None => Ok(Setting::Bits(None)),
                Some(value) => read_bits(value),
            },
            Self::Weights { at_most, default } => match value {
                None => Ok(Setting::Weights(Weights::Each(*default))),
                Some(value) => read_weights(value, *at_most),
            },
        }
    }

    fn is_nullable(&self) -> bool {
        matches!(self, Self::Count { .. } | Self::Bits)
    }

    /// The JSON Schema of the parameter.
    pub fn schema(&self, description: &str) -> Value {
        let mut schema = match self {
            Self::Flag { default } => json!({"type": "boolean", "default": default}),
            Self::Choice { options, default } => {
                json!({"type": "string", "enum": options, "default": default})
            }
            Self::Number {
                above,
                at_most,
                default,
            } => json!({
                "type": "number", "exclusiveMinimum": number_json(*above),
                "maximum": number_json(*at_most), "default": number_json(*default)
            }),
            Self::Count {
                minimum, maximum, ..
            } => json!({"type": ["integer", "null"], "minimum": minimum, "maximum": maximum}),
            Self::Bits => json!({"type": ["string", "null"], "pattern": "^[01]+$"}),
            Self::Weights { at_most, default } => {
                let number = json!({
                    "type": "number", "minimum": number_json(-at_most),
                    "maximum": number_json(*at_most)
                });
                json!({"default": number_json(*default), "oneOf": [
                    number, {"type": "array", "minItems": 1, "items": number}
                ]})
            }
        };
        let text = match self {
            Self::Count { default, .. } => format!("{description} Default: {default}."),
            Self::Bits => format!("{description} Default: random."),
            _ => description.to_owned(),
        };
        schema["description"] = json!(text);
        schema
    }
}

fn read_bits(value: &Value) -> Result<Setting, String> {
    let text = value
        .as_str()
        .filter(|text| !text.is_empty())
        .ok_or_else(|| format!("{value} is no bit string such as \"0110\""))?;
    match BitVector::from_bit_string(text.as_bytes()) {
        Ok(bits) => Ok(Setting::Bits(Some(bits))),
        Err(position) => Err(format!("character {} is neither 0 nor 1", position + 1)),
    }
}

fn read_weights(value: &Value, at_most: f64) -> Result<Setting, String> {
    let number = |value: &Value| {
        let wrong = || format!("{value} is no number from {} to {at_most}", -at_most);
        value
            .as_f64()
            .filter(|number| number.abs() <= at_most)
            .ok_or_else(wrong)
    };
    let weights = match value {
        Value::Array(list) if !list.is_empty() => {
            Weights::List(list.iter().map(number).collect::<Result<_, _>>()?)
        }
        other => Weights::Each(number(other)?),
    };
    Ok(Setting::Weights(weights))
}

/// The JSON Schema of a learner's `params` object.
pub fn schema(table: &[Parameter]) -> Value {
    schema_of(table, "")
}

fn schema_of(table: &[Parameter], prefix: &str) -> Value {
    let mut properties = Map::new();
    for parameter in table {
        let Some(rest) = parameter.name.strip_prefix(prefix) else {
            continue;
        };
        match rest.split_once('.') {
            None => {
                let schema = parameter.kind.schema(parameter.description);
                properties.insert(rest.to_owned(), schema);
            }
            Some((group, _)) if !properties.contains_key(group) => {
                let inner = schema_of(table, &format!("{prefix}{group}."));
                properties.insert(group.to_owned(), inner);
            }
            Some(_) => {}
        }
    }
    json!({"type": "object", "properties": properties, "additionalProperties": false})
}

#[cfg(test)]
mod tests {
    use super::*;

    static TABLE: &[Parameter] = &[
        Parameter {
            name: "bias",
            kind: Kind::Flag { default: true },
            description: "A bias.",
        },
        Parameter {
            name: "eta",
            kind: Kind::Number {
                above: 0.0,
                at_most: 10.0,
                default: 1.0,
            },
            description: "A rate.",
        },
        Parameter {
            name: "kernel.conjunctions",
            kind: Kind::Choice {
                options: &["all", "monotone"],
                default: "all",
            },
            description: "Which.",
        },
        Parameter {
            name: "kernel.max_literals",
            kind: Kind::Count {
                minimum: 1,
                maximum: 9,
                default: "unlimited",
            },
            description: "How many.",
        },
        Parameter {
            name: "initial",
            kind: Kind::Weights {
                at_most: 100.0,
                default: 0.0,
            },
            description: "First weights.",
        },
    ];

    fn read(value: Value) -> Result<Parameters, Vec<ParameterError>> {
        let object = value.as_object().expect("an object");
        Parameters::from_json(TABLE, object)
    }

    #[test]
    fn absent_parameters_take_their_defaults() {
        let parameters = read(json!({})).expect("defaults");
        assert!(parameters.flag("bias"));
        assert_eq!(parameters.number("eta"), 1.0);
        assert_eq!(parameters.choice("kernel.conjunctions"), "all");
        assert_eq!(parameters.count("kernel.max_literals"), None);
        assert_eq!(parameters.weights("initial"), &Weights::Each(0.0));
    }

    #[test]
    fn nested_parameters_survive_the_round_trip() {
        let given = json!({
            "bias": false, "eta": 0.5, "initial": [1, 2.5],
            "kernel": {"conjunctions": "monotone", "max_literals": 3}
        });
        let parameters = read(given.clone()).expect("valid");
        assert_eq!(parameters.count("kernel.max_literals"), Some(3));
        assert_eq!(Value::Object(parameters.to_json()), given);
    }

    #[test]
    fn every_wrong_parameter_is_named() {
        let given = json!({
            "bias": 1, "eta": 0, "kernel": {"conjunctions": "some", "max_literals": 0, "x": 1},
            "initial": [1, 1e9], "etta": 1
        });
        let errors = read(given).expect_err("all wrong");
        let names: Vec<_> = errors.iter().map(|error| error.name.as_str()).collect();
        let expected = [
            "etta",
            "kernel.x",
            "bias",
            "eta",
            "kernel.conjunctions",
            "kernel.max_literals",
            "initial",
        ];
        assert_eq!(names.len(), expected.len());
        assert!(expected.iter().all(|name| names.contains(name)));
    }

    #[test]
    fn query_text_becomes_the_value_it_stands_for() {
        assert_eq!(TABLE[0].kind.value_of_text("false"), json!(false));
        assert_eq!(TABLE[1].kind.value_of_text("0.5"), json!(0.5));
        assert_eq!(TABLE[1].kind.value_of_text("NaN"), json!("NaN"));
        assert_eq!(TABLE[2].kind.value_of_text("all"), json!("all"));
        assert_eq!(TABLE[4].kind.value_of_text("1,2.5"), json!([1, 2.5]));
    }
}
