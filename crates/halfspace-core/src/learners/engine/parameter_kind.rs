//! The kinds of parameter: their ranges, how they are read from JSON and from a query string, and their JSON Schema.

use std::fmt;

use serde_json::{Value, json};

use crate::bits::BitVector;

use crate::learners::arithmetic::decimal::{DIGITS_MAX, Decimal};
use crate::learners::arithmetic::power_sum::{BASE_MAX, Base};

/// The type, range and default of a parameter.
#[derive(Debug)]
pub enum ParameterKind {
    /// True or false.
    Flag { default: bool },
    /// One of a few names.
    Choice {
        options: &'static [&'static str],
        default: &'static str,
    },
    /// A finite number from `minimum` to `at_most`.
    Number {
        minimum: Minimum,
        at_most: f64,
        default: f64,
    },
    /// A whole number in `minimum..=maximum`. If absent, the learner computes it.
    Count {
        minimum: u64,
        maximum: u64,
        default: &'static str,
    },
    /// A plain decimal above 0 of any length, exact, as a string or as a number. If absent, the learner computes it.
    Decimal { default: &'static str },
    /// An exact decimal above 1 and at most [`BASE_MAX`], as a string or as a number. A number in a request is read
    /// as the decimal that is written there. In storage a number stands for its double, so [`written_number`] stores
    /// any other value as a string.
    Factor { default: f64 },
    /// A bit string of the length of the data. If absent, it is drawn at random.
    Bits,
    /// One number for all weights, or one number per weight with the bias last.
    Weights {
        at_least: f64,
        at_most: f64,
        default: f64,
    },
}

/// The lower end of a number's range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Minimum {
    /// The range excludes this number.
    Above(f64),
    /// The range includes this number.
    AtLeast(f64),
}

impl Minimum {
    fn admits(self, number: f64) -> bool {
        match self {
            Self::Above(minimum) => number > minimum,
            Self::AtLeast(minimum) => number >= minimum,
        }
    }

    /// The member of the JSON Schema for this minimum.
    fn schema(self) -> (&'static str, Value) {
        match self {
            Self::Above(minimum) => ("exclusiveMinimum", number_json(minimum)),
            Self::AtLeast(minimum) => ("minimum", number_json(minimum)),
        }
    }
}

impl fmt::Display for Minimum {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Above(minimum) => write!(formatter, "above {minimum}"),
            Self::AtLeast(minimum) => write!(formatter, "of at least {minimum}"),
        }
    }
}

/// A checked value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Setting {
    Flag(bool),
    Choice(&'static str),
    Number(f64),
    Count(Option<u64>),
    Decimal(Option<Decimal>),
    Factor(Base),
    Bits(Option<BitVector>),
    Weights(Weights),
}

/// First weights.
#[derive(Clone, Debug, PartialEq)]
pub enum Weights {
    /// The same number for all weights.
    Each(f64),
    /// One number per weight, with the bias last.
    List(Vec<f64>),
}

impl Setting {
    /// The value as JSON. None if the parameter is absent and has no default value.
    pub(crate) fn to_json(&self) -> Option<Value> {
        match self {
            Self::Flag(flag) => Some(json!(flag)),
            Self::Choice(choice) => Some(json!(choice)),
            Self::Number(number) | Self::Weights(Weights::Each(number)) => {
                Some(number_json(*number))
            }
            Self::Count(count) => count.map(|count| json!(count)),
            Self::Decimal(decimal) => decimal.as_ref().map(|decimal| json!(decimal.to_string())),
            Self::Factor(base) => Some(factor_json(*base)),
            Self::Bits(bits) => bits.as_ref().map(|bits| json!(bits.to_bit_string())),
            Self::Weights(Weights::List(list)) => {
                Some(list.iter().map(|&number| number_json(number)).collect())
            }
        }
    }
}

/// Writes whole numbers without a fraction: 1, not 1.0.
fn number_json(number: f64) -> Value {
    if number.fract() == 0.0 && number.abs() < 9e15 {
        json!(number as i64)
    } else {
        json!(number)
    }
}

/// A number if a double holds the base exactly, otherwise a decimal string.
pub fn factor_json(base: Base) -> Value {
    match base.as_double() {
        Some(value) => number_json(value),
        None => json!(base.to_decimal().to_string()),
    }
}

/// The stored form of a number in a request: a string if the number would be read back as another value. A stored
/// number stands for its double in a factor and for its shortest decimal in a decimal.
pub fn written_number(is_factor: bool, text: &str) -> Value {
    let parsed = || serde_json::from_str(text).unwrap_or(Value::Null);
    let Some(decimal) = Decimal::of_json_number(text) else {
        return parsed();
    };
    let number: Value = parsed();
    let stands_for = match is_factor {
        true => number.as_f64().and_then(Base::new).map(Base::to_decimal),
        false => read_decimal(&number).ok(),
    };
    let is_out_of_range = stands_for.is_none();
    if is_out_of_range || stands_for == Some(decimal.clone()) {
        return number;
    }
    json!(decimal.to_string())
}

impl ParameterKind {
    /// Converts the text of a query string into the JSON value that it represents.
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
            Self::Factor { .. } => match literal() {
                Some(Value::Number(_)) => written_number(true, text),
                _ => json!(text),
            },
            Self::Choice { .. } | Self::Decimal { .. } | Self::Bits => json!(text),
        }
    }

    /// Checks a value, or takes the default if it is absent.
    pub(crate) fn read(&self, value: Option<&Value>) -> Result<Setting, String> {
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
                let wrong = || format!("{value} is not one of: {}", options.join(", "));
                chosen.map(|c| Setting::Choice(c)).ok_or_else(wrong)
            }
            Self::Number {
                minimum,
                at_most,
                default,
            } => {
                let Some(value) = value else {
                    return Ok(Setting::Number(*default));
                };
                let wrong = || format!("{value} is not {}", self.range());
                let in_range = |x: &f64| minimum.admits(*x) && x <= at_most;
                let number = value.as_f64().filter(in_range);
                number.map(Setting::Number).ok_or_else(wrong)
            }
            Self::Count {
                minimum, maximum, ..
            } => {
                let Some(value) = value else {
                    return Ok(Setting::Count(None));
                };
                let wrong = || format!("{value} is not {}", self.range());
                let count = value.as_u64().filter(|c| (minimum..=maximum).contains(&c));
                count.map(|c| Setting::Count(Some(c))).ok_or_else(wrong)
            }
            Self::Decimal { .. } => match value {
                None => Ok(Setting::Decimal(None)),
                Some(value) => read_decimal(value).map(|read| Setting::Decimal(Some(read))),
            },
            Self::Factor { default } => match value {
                None => Ok(Setting::Factor(Base::new(*default).expect("a base"))),
                Some(value) => read_factor(value).map(Setting::Factor),
            },
            Self::Bits => match value {
                None => Ok(Setting::Bits(None)),
                Some(value) => read_bits(value),
            },
            Self::Weights {
                at_least,
                at_most,
                default,
            } => match value {
                None => Ok(Setting::Weights(Weights::Each(*default))),
                Some(value) => read_weights(value, *at_least, *at_most),
            },
        }
    }

    /// The values that the parameter takes, in words.
    pub fn range(&self) -> String {
        match self {
            Self::Flag { .. } => "`true` or `false`".to_owned(),
            Self::Choice { options, .. } => format!("`{}`", options.join("` or `")),
            Self::Number {
                minimum, at_most, ..
            } => format!("a number {minimum} and at most {at_most}"),
            Self::Count {
                minimum, maximum, ..
            } => format!("a whole number from {minimum} to {maximum}"),
            Self::Decimal { .. } => "a decimal above 0".to_owned(),
            Self::Factor { .. } => "a decimal above 1 and at most 2^32".to_owned(),
            Self::Bits => "a bit string of length n".to_owned(),
            Self::Weights {
                at_least, at_most, ..
            } => format!(
                "a number from {at_least} to {at_most}, or one number per weight, separated by commas"
            ),
        }
    }

    /// The default in words.
    pub fn default_text(&self) -> String {
        match self {
            Self::Flag { default } => default.to_string(),
            Self::Choice { default, .. } => format!("`{default}`"),
            Self::Number { default, .. }
            | Self::Factor { default }
            | Self::Weights { default, .. } => default.to_string(),
            Self::Count { default, .. } | Self::Decimal { default } => (*default).to_owned(),
            Self::Bits => "random".to_owned(),
        }
    }

    fn is_nullable(&self) -> bool {
        matches!(self, Self::Count { .. } | Self::Decimal { .. } | Self::Bits)
    }

    /// The JSON Schema of the parameter.
    pub fn schema(&self, description: &str) -> Value {
        let mut schema = match self {
            Self::Flag { default } => json!({"type": "boolean", "default": default}),
            Self::Choice { options, default } => {
                json!({"type": "string", "enum": options, "default": default})
            }
            Self::Number {
                minimum,
                at_most,
                default,
            } => {
                let (name, minimum) = minimum.schema();
                json!({
                    "type": "number", name: minimum, "maximum": number_json(*at_most),
                    "default": number_json(*default)
                })
            }
            Self::Count {
                minimum, maximum, ..
            } => json!({"type": ["integer", "null"], "minimum": minimum, "maximum": maximum}),
            // The pattern applies to strings. Numbers have their own bound.
            Self::Decimal { .. } => json!({
                "type": ["string", "number", "null"], "pattern": "^[0-9]+([.][0-9]+)?$",
                "maxLength": DIGITS_MAX + 1, "exclusiveMinimum": 0
            }),
            Self::Factor { default } => json!({
                "type": ["number", "string"], "pattern": "^[0-9]+([.][0-9]+)?$",
                "exclusiveMinimum": 1, "maximum": number_json(BASE_MAX),
                "default": number_json(*default)
            }),
            Self::Bits => json!({"type": ["string", "null"], "pattern": "^[01]+$"}),
            Self::Weights {
                at_least,
                at_most,
                default,
            } => {
                let number = json!({
                    "type": "number", "minimum": number_json(*at_least),
                    "maximum": number_json(*at_most)
                });
                json!({"default": number_json(*default), "oneOf": [
                    number, {"type": "array", "minItems": 1, "items": number}
                ]})
            }
        };
        schema["description"] = match self.is_nullable() {
            true => json!(format!("{description} Default: {}.", self.default_text())),
            false => json!(description),
        };
        schema
    }
}

/// Reads a decimal. A number stands for its shortest decimal, so clients must send a number that a double would round
/// as a string.
fn read_decimal(value: &Value) -> Result<Decimal, String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => match (number.as_u64(), number.as_f64()) {
            (Some(whole), _) => whole.to_string(),
            (None, Some(real)) if real > 0.0 && real < 9_007_199_254_740_992.0 => real.to_string(),
            (None, Some(real)) if real > 0.0 => {
                return Err(format!(
                    "{value} is larger than a JSON number holds exactly; send a string"
                ));
            }
            _ => return Err(format!("{value} is not a number above 0")),
        },
        other => {
            return Err(format!(
                "{other} is not a decimal such as \"12\" or \"0.5\""
            ));
        }
    };
    let decimal = Decimal::parse(&text)?;
    if decimal.is_zero() {
        return Err(format!("{value} is not a number above 0"));
    }
    Ok(decimal)
}

fn read_factor(value: &Value) -> Result<Base, String> {
    let base = match value {
        Value::String(text) => Base::of_decimal(&Decimal::parse(text)?),
        other => other.as_f64().and_then(Base::new),
    };
    base.ok_or_else(|| {
        let text = value.to_string();
        let shown = if text.len() <= 40 { &text } else { "the text" };
        format!("{shown} is not a decimal above 1 and at most 2^32 with at most 19 digits")
    })
}

fn read_bits(value: &Value) -> Result<Setting, String> {
    let text = value
        .as_str()
        .filter(|text| !text.is_empty())
        .ok_or_else(|| format!("{value} is not a bit string such as \"0110\""))?;
    match BitVector::from_bit_string(text.as_bytes()) {
        Ok(bits) => Ok(Setting::Bits(Some(bits))),
        Err(position) => Err(format!("character {} is neither 0 nor 1", position + 1)),
    }
}

fn read_weights(value: &Value, at_least: f64, at_most: f64) -> Result<Setting, String> {
    let number = |value: &Value| {
        let wrong = || format!("{value} is not a number from {at_least} to {at_most}");
        value
            .as_f64()
            .filter(|number| (at_least..=at_most).contains(number))
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
