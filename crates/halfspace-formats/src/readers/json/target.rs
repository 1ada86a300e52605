//! JSON form of a target, the Boolean function that labels generated examples. The fields are checked here.

use serde::de::Deserializer;
use serde::{Deserialize, Serialize, Serializer};

use halfspace_core::bits::BitVector;
use halfspace_core::learners::engine::random::Seed;
use halfspace_core::learners::sample::target::{Draw, Literals, Target, WEIGHT_MAX};

use crate::error::{Fault, FormatErrorKind};
use crate::readers::json::object;
use crate::readers::json::scope;

/// Largest number of literals in a target, because labelling a block of examples takes time for each of them.
pub const LITERALS_MAX: usize = 1 << 18;

/// Largest size that is drawn if the request leaves the size out. Such a class with many variables would give almost
/// every example the same label.
const DRAWN_SIZE_MAX: usize = 8;

/// The concept that labels generated examples. Fields that you leave out are drawn at random.
///
/// A literal is the number of a variable from 1, with a minus sign when negated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetSpec {
    /// A half-space whose weights are all 1 or -1.
    BinaryWeights(#[serde(deserialize_with = "object")] BinaryWeightsSpec),
    /// True if and only if at least one of the literals is true.
    Disjunction(#[serde(deserialize_with = "object")] VariablesSpec),
    /// True if and only if all literals of at least one term are true.
    Dnf(#[serde(deserialize_with = "object")] DnfSpec),
    /// True if and only if the weights of the ones add up to `theta` or more.
    Threshold(#[serde(deserialize_with = "object")] ThresholdSpec),
    /// True if and only if an odd number of the variables are true.
    Parity(#[serde(deserialize_with = "object")] VariablesSpec),
}

/// Weights 1 and -1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BinaryWeightsSpec {
    /// One bit per weight, 1 for +1.
    #[serde(
        deserialize_with = "read_bits",
        serialize_with = "write_bits",
        skip_serializing_if = "Option::is_none"
    )]
    pub weights: Option<BitVector>,
}

/// A set of variables or literals.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct VariablesSpec {
    /// The variables or literals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variables: Option<Vec<i64>>,
    /// Number of variables to draw.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<usize>,
}

/// Terms of literals.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DnfSpec {
    /// The terms, each a list of literals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terms: Option<Vec<Vec<i64>>>,
    /// Number of terms to draw.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terms_count: Option<usize>,
    /// Number of variables to draw per term.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<usize>,
}

/// Weights, and the least sum that makes an example true.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ThresholdSpec {
    /// One integer per feature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weights: Option<Vec<i64>>,
    /// Least sum of weights that makes an example true. The default is half the sum of all weights, rounded
    /// down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub theta: Option<i64>,
}

/// A fault and the JSON pointer of its field below the data.
type At = (&'static str, Fault);

impl TargetSpec {
    /// The name of a class that can label any example but has no half-space to draw from.
    pub(crate) fn class_without_half_space(&self) -> Option<&'static str> {
        match self {
            Self::BinaryWeights(_) => None,
            Self::Disjunction(_) => Some("disjunction"),
            Self::Dnf(_) => Some("DNF"),
            Self::Threshold(_) => Some("threshold"),
            Self::Parity(_) => Some("parity"),
        }
    }

    /// The concept over `n` features. The seed draws the fields that were left out.
    ///
    /// # Panics
    /// When the fields were not checked against `n`.
    pub fn concept(&self, n: usize, seed: Seed) -> Target {
        let mut draw = Draw::new(n, seed);
        let mut variables = |given: &Option<Vec<i64>>, size: Option<usize>| match given {
            Some(given) => given.clone(),
            None => {
                let size = size.unwrap_or_else(|| draw.size(DRAWN_SIZE_MAX));
                draw.variables(size)
            }
        };
        match self {
            Self::BinaryWeights(BinaryWeightsSpec { weights }) => {
                let drawn = || Draw::new(n, seed).bits();
                Target::BinaryWeights(weights.clone().unwrap_or_else(drawn))
            }
            Self::Disjunction(VariablesSpec {
                variables: given,
                size,
            }) => Target::Disjunction {
                n,
                literals: Literals::new(&variables(given, *size)),
            },
            Self::Dnf(DnfSpec {
                terms: Some(terms), ..
            }) => Target::Dnf {
                n,
                terms: terms.iter().map(|term| Literals::new(term)).collect(),
            },
            Self::Dnf(DnfSpec {
                terms: None,
                terms_count,
                size,
            }) => {
                let count = terms_count.unwrap_or_else(|| draw.size(DRAWN_SIZE_MAX));
                let term = |_| {
                    let size = size.unwrap_or_else(|| draw.size(DRAWN_SIZE_MAX));
                    Literals::new(&draw.variables(size))
                };
                let terms = (0..count).map(term).collect();
                Target::Dnf { n, terms }
            }
            Self::Threshold(ThresholdSpec { weights, theta }) => {
                let weights = weights.clone().unwrap_or_else(|| draw.integers());
                let half = || weights.iter().sum::<i64>().div_euclid(2);
                let theta = theta.unwrap_or_else(half);
                Target::Threshold { weights, theta }
            }
            Self::Parity(VariablesSpec {
                variables: given,
                size,
            }) => {
                let mut bits = BitVector::zeros(n);
                for variable in variables(given, *size) {
                    bits.set(variable.unsigned_abs() as usize - 1, true);
                }
                Target::Parity(bits)
            }
        }
    }

    /// Checks the fields against the number of features.
    pub(crate) fn check(&self, n: usize) -> Result<(), At> {
        match self {
            Self::BinaryWeights(BinaryWeightsSpec { weights }) => {
                let given = weights.as_ref().map(BitVector::n);
                same_length("/target/binary_weights/weights", given, n)
            }
            Self::Disjunction(VariablesSpec { variables, size }) => {
                let at = "/target/disjunction/variables";
                one_of(at, variables.is_some(), size.is_some())?;
                literals(at, variables.as_deref(), n, true)?;
                drawn("/target/disjunction/size", *size, n.min(LITERALS_MAX))
            }
            Self::Dnf(DnfSpec {
                terms,
                terms_count,
                size,
            }) => {
                let at = "/target/dnf/terms";
                one_of(at, terms.is_some(), terms_count.or(*size).is_some())?;
                let given = terms.as_deref();
                if given.is_some_and(<[_]>::is_empty) {
                    return refused(at, "A DNF has at least one term.".to_owned());
                }
                for term in given.unwrap_or_default() {
                    literals(at, Some(term), n, true)?;
                }
                let literals_drawn = terms_count
                    .unwrap_or(DRAWN_SIZE_MAX)
                    .saturating_mul(size.unwrap_or(DRAWN_SIZE_MAX));
                let all = given.unwrap_or_default().iter().map(Vec::len).sum();
                let drawn_here = if given.is_some() { all } else { literals_drawn };
                not_too_many(at, drawn_here)?;
                drawn("/target/dnf/terms_count", *terms_count, LITERALS_MAX)?;
                drawn("/target/dnf/size", *size, n.min(LITERALS_MAX))
            }
            Self::Threshold(ThresholdSpec { weights, theta }) => {
                let at = "/target/threshold/weights";
                same_length(at, weights.as_ref().map(Vec::len), n)?;
                let is_large = |w: &i64| w.unsigned_abs() > WEIGHT_MAX.unsigned_abs();
                if weights.iter().flatten().any(is_large) {
                    return refused(at, "A weight is more than 2^40 in magnitude.".to_owned());
                }
                if theta
                    .as_ref()
                    .is_some_and(|theta| theta.unsigned_abs() > 1 << 61)
                {
                    let detail = "theta is more than 2^61 in magnitude.".to_owned();
                    return refused("/target/threshold/theta", detail);
                }
                Ok(())
            }
            Self::Parity(VariablesSpec { variables, size }) => {
                let at = "/target/parity/variables";
                one_of(at, variables.is_some(), size.is_some())?;
                literals(at, variables.as_deref(), n, false)?;
                drawn("/target/parity/size", *size, n)
            }
        }
    }
}

fn refused(at: &'static str, detail: String) -> Result<(), At> {
    Err((at, Fault::new(FormatErrorKind::OutOfRange, detail)))
}

fn same_length(at: &'static str, given: Option<usize>, n: usize) -> Result<(), At> {
    match given.filter(|&given| given != n) {
        None => Ok(()),
        Some(given) => {
            let detail = format!("The target has {given} weights, but n is {n}.");
            Err((at, Fault::new(FormatErrorKind::UnequalLength, detail)))
        }
    }
}

fn one_of(at: &'static str, is_given: bool, is_drawn: bool) -> Result<(), At> {
    if is_given && is_drawn {
        let detail = "The target is both given and drawn; remove one of the fields.".to_owned();
        return refused(at, detail);
    }
    Ok(())
}

fn literals(at: &'static str, given: Option<&[i64]>, n: usize, signed: bool) -> Result<(), At> {
    let Some(given) = given else {
        return Ok(());
    };
    if given.is_empty() {
        return refused(
            at,
            "The target has no variables; name at least one.".to_owned(),
        );
    }
    not_too_many(at, given.len())?;
    let is_wrong = |literal: &&i64| {
        let variable = literal.unsigned_abs();
        variable == 0 || variable > n as u64 || (!signed && **literal < 0)
    };
    match given.iter().find(is_wrong) {
        None => Ok(()),
        Some(wrong) if signed => refused(
            at,
            format!(
                "{wrong} is not a variable; the variables are 1 to {n}, and a minus sign negates a \
                 variable."
            ),
        ),
        Some(wrong) => refused(
            at,
            format!("{wrong} is not a variable; the variables are 1 to {n}."),
        ),
    }
}

fn not_too_many(at: &'static str, literals: usize) -> Result<(), At> {
    if literals > LITERALS_MAX {
        let detail = format!("The target has {literals} literals, more than {LITERALS_MAX}.");
        return refused(at, detail);
    }
    Ok(())
}

fn drawn(at: &'static str, size: Option<usize>, most: usize) -> Result<(), At> {
    match size.filter(|size| !(1..=most).contains(size)) {
        None => Ok(()),
        Some(size) => refused(at, format!("{size} is not a number from 1 to {most}.")),
    }
}

fn read_bits<'de, D: Deserializer<'de>>(value: D) -> Result<Option<BitVector>, D::Error> {
    let Some(text) = Option::<String>::deserialize(value)? else {
        return Ok(None);
    };
    let bits = BitVector::from_bit_string(text.as_bytes());
    bits.map(Some).map_err(|at| {
        let detail = format!(
            "Character {} is not a bit; a bit string consists of 0 and 1.",
            at + 1
        );
        scope::raise(Fault::new(FormatErrorKind::BadBit, detail))
    })
}

fn write_bits<S: Serializer>(bits: &Option<BitVector>, to: S) -> Result<S::Ok, S::Error> {
    match bits {
        Some(bits) => to.serialize_str(&bits.to_bit_string()),
        None => to.serialize_none(),
    }
}
