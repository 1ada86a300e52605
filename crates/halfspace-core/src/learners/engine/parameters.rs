//! The parameters of a learner: one table names, checks, documents and reads them.

use crate::suggestions::question;
use serde_json::{Map, Value, json};

use crate::bits::BitVector;

use crate::learners::arithmetic::decimal::Decimal;
use crate::learners::engine::parameter_kind::Setting;

use crate::learners::arithmetic::power_sum::Base;

pub use crate::learners::engine::parameter_kind::{
    Minimum, ParameterKind, Weights, factor_json, written_number,
};

/// One parameter of a learner.
#[derive(Debug)]
pub struct Parameter {
    /// The name. A dot separates the levels of a nested parameter.
    pub name: &'static str,
    /// The allowed values and the default.
    pub kind: ParameterKind,
    /// The effect of the parameter.
    pub description: &'static str,
}

/// Why a parameter is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterError {
    /// The dotted name of the parameter, as the client gave it.
    pub name: String,
    /// What is wrong, with the allowed values.
    pub detail: String,
    /// Whether no parameter has this name.
    pub unknown: bool,
}

/// The checked parameters of one learner, including defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters(Vec<ParameterValue>);

#[derive(Clone, Debug, PartialEq)]
struct ParameterValue {
    name: &'static str,
    setting: Setting,
    given: bool,
}

impl Parameters {
    /// The parameters of a request that sets none.
    pub fn defaults(table: &'static [Parameter]) -> Self {
        Self::check(table, &[]).expect("defaults are in range")
    }

    /// Checks a JSON object against the table of a learner.
    ///
    /// # Errors
    /// All unknown names and all values out of range.
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
        let names = || table.iter().map(|parameter| parameter.name);
        let known = || names().collect::<Vec<_>>().join(", ");
        for (name, _) in given {
            if !table.iter().any(|parameter| parameter.name == name) {
                let detail = if table.is_empty() {
                    "this learner has no parameters".to_owned()
                } else {
                    let question = question(name, names());
                    format!(
                        "unknown parameter{question}; the parameters are: {}",
                        known()
                    )
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
                Ok(setting) => settings.push(ParameterValue {
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

    /// The parameters, including defaults, as a JSON object that [`Self::from_json`] accepts.
    pub fn to_json(&self) -> Map<String, Value> {
        let mut root = Map::new();
        for entry in &self.0 {
            if let Some(value) = entry.setting.to_json() {
                insert_nested(&mut root, entry.name, value);
            }
        }
        root
    }

    fn entry(&self, name: &str) -> &ParameterValue {
        let found = self.0.iter().find(|entry| entry.name == name);
        found.expect("a learner reads only parameters of its table")
    }

    fn setting(&self, name: &str) -> &Setting {
        &self.entry(name).setting
    }

    /// Whether the client gave the parameter.
    pub fn is_given(&self, name: &str) -> bool {
        self.entry(name).given
    }

    /// Gives a parameter a value in place of its default. A parameter that is not in the table stays away.
    ///
    /// # Errors
    /// The client gave another value. `why` continues the sentence about the value that it must have.
    pub fn require(
        &mut self,
        table: &'static [Parameter],
        (name, text): (&str, &str),
        why: &str,
    ) -> Result<(), ParameterError> {
        let Some(parameter) = table.iter().find(|parameter| parameter.name == name) else {
            return Ok(());
        };
        let value = parameter.kind.value_of_text(text);
        let required = parameter
            .kind
            .read(Some(&value))
            .expect("a value of the parameter");
        let mut entries = self.0.iter_mut();
        let entry = entries.find(|entry| entry.name == name).expect("checked");
        if entry.given && entry.setting != required {
            return Err(ParameterError {
                name: name.to_owned(),
                detail: format!("{why} {text}; remove the field"),
                unknown: false,
            });
        }
        entry.setting = required;
        Ok(())
    }

    /// Whether the parameter differs from its default.
    pub fn is_own(&self, table: &'static [Parameter], name: &str) -> bool {
        let default = |entry: &&Parameter| entry.name == name;
        let default = table
            .iter()
            .find(default)
            .and_then(|it| it.kind.read(None).ok());
        default.as_ref() != Some(self.setting(name))
    }

    /// The value of a flag.
    pub fn flag(&self, name: &str) -> bool {
        matches!(self.setting(name), Setting::Flag(true))
    }

    /// The chosen name of a choice.
    pub fn choice(&self, name: &str) -> &'static str {
        match self.setting(name) {
            Setting::Choice(choice) => choice,
            other => unreachable!("{name} is {other:?}"),
        }
    }

    /// The value of a number.
    pub fn number(&self, name: &str) -> f64 {
        match self.setting(name) {
            Setting::Number(number) => *number,
            other => unreachable!("{name} is {other:?}"),
        }
    }

    /// The value of a count, if given.
    pub fn count(&self, name: &str) -> Option<u64> {
        match self.setting(name) {
            Setting::Count(count) => *count,
            other => unreachable!("{name} is {other:?}"),
        }
    }

    /// The value of a decimal, if given.
    pub fn decimal(&self, name: &str) -> Option<&Decimal> {
        match self.setting(name) {
            Setting::Decimal(decimal) => decimal.as_ref(),
            other => unreachable!("{name} is {other:?}"),
        }
    }

    /// The value of a factor.
    pub fn factor(&self, name: &str) -> Base {
        match self.setting(name) {
            Setting::Factor(base) => *base,
            other => unreachable!("{name} is {other:?}"),
        }
    }

    /// The value of a bit string, if given.
    pub fn bits(&self, name: &str) -> Option<&BitVector> {
        match self.setting(name) {
            Setting::Bits(bits) => bits.as_ref(),
            other => unreachable!("{name} is {other:?}"),
        }
    }

    /// The value of first weights.
    pub fn weights(&self, name: &str) -> &Weights {
        match self.setting(name) {
            Setting::Weights(weights) => weights,
            other => unreachable!("{name} is {other:?}"),
        }
    }
}

/// Collects the members of nested objects under the dotted names of the table.
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

/// Inserts a value under its dotted name.
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
            kind: ParameterKind::Flag { default: true },
            description: "A bias.",
        },
        Parameter {
            name: "eta",
            kind: ParameterKind::Number {
                minimum: Minimum::Above(0.0),
                at_most: 10.0,
                default: 1.0,
            },
            description: "A rate.",
        },
        Parameter {
            name: "kernel.conjunctions",
            kind: ParameterKind::Choice {
                options: &["all", "monotone"],
                default: "all",
            },
            description: "Which.",
        },
        Parameter {
            name: "kernel.max_literals",
            kind: ParameterKind::Count {
                minimum: 1,
                maximum: 9,
                default: "unlimited",
            },
            description: "How many.",
        },
        Parameter {
            name: "initial",
            kind: ParameterKind::Weights {
                at_least: -100.0,
                at_most: 100.0,
                default: 0.0,
            },
            description: "First weights.",
        },
        Parameter {
            name: "theta",
            kind: ParameterKind::Decimal { default: "n" },
            description: "A threshold.",
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
    fn a_decimal_is_a_string_or_a_number_that_is_exact() {
        for (given, shown) in [
            (json!("0.10"), json!("0.1")),
            (json!(0.1), json!("0.1")),
            (json!(1e-7), json!("0.0000001")),
            (json!(1e15), json!("1000000000000000")),
            (json!(u64::MAX), json!("18446744073709551615")),
            (json!("1".repeat(10_000)), json!("1".repeat(10_000))),
        ] {
            let parameters = read(json!({"theta": given})).expect("a decimal");
            assert_eq!(parameters.to_json()["theta"], shown);
        }
        let absent = read(json!({"theta": null})).expect("the default");
        assert_eq!(absent.decimal("theta"), None);
        for wrong in [
            json!(0),
            json!("0.00"),
            json!(-1),
            json!(-0.5),
            json!("-1"),
            json!("1e3"),
            json!(1e16),
            json!(true),
            json!(["1"]),
            json!("1".repeat(10_001)),
        ] {
            assert!(read(json!({"theta": wrong})).is_err(), "{wrong}");
        }
    }

    #[test]
    fn errors_name_every_wrong_parameter() {
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
    fn parameter_values_are_read_from_query_text() {
        assert_eq!(TABLE[0].kind.value_of_text("false"), json!(false));
        assert_eq!(TABLE[1].kind.value_of_text("0.5"), json!(0.5));
        assert_eq!(TABLE[1].kind.value_of_text("NaN"), json!("NaN"));
        assert_eq!(TABLE[2].kind.value_of_text("all"), json!("all"));
        assert_eq!(TABLE[4].kind.value_of_text("1,2.5"), json!([1, 2.5]));
    }
}
