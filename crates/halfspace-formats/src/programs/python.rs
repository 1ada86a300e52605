//! Programs in Python, with whole numbers of any size.

use std::fmt::Write;

use num_bigint::BigInt;
use serde_json::{Value, json};

use super::computation::{Cells, Computation, Input, Score, Word};

/// The part of a program that is the same for every model.
const RUNTIME: &str = include_str!("runtime.py");

pub(super) fn write(computation: &Computation, title: &str) -> Result<String, String> {
    let mut source = format!(
        "\"\"\"{title}.\n\n`predict` labels one row. As a program, this file reads CSV from standard input and writes one \
         label per row.\n\"\"\"\n\n"
    );
    source += "import csv\nimport math\nimport re\nimport sys\nfrom fractions import Fraction\n\n";
    source += "# The columns with the features of their cells.\nCOLUMNS = [\n";
    for input in &computation.inputs {
        let _ = writeln!(source, "    {},", column(input, computation.rest));
    }
    source += "]\n";
    let _ = writeln!(
        source,
        "HAS_NAMES = {}",
        literal(&json!(computation.has_names))
    );
    let _ = writeln!(source, "FILE_COLUMNS = {}", computation.columns);
    let _ = writeln!(source, "FEATURES = {}", computation.n);
    let _ = writeln!(source, "REST = {}", json!(computation.rest as i64));
    let _ = writeln!(source, "CLASSES = {}\n\n", json!(computation.classes));
    source += &score(&computation.score);
    source += RUNTIME;
    Ok(source)
}

fn column(input: &Input, rest: f64) -> String {
    let mut column = json!({
        "name": input.name, "place": input.place, "first": input.first, "missing": input.missing,
    });
    match &input.cells {
        Cells::Flag { off, on, off_value } => {
            column["off"] = off.iter().map(word).collect();
            column["on"] = on.iter().map(word).collect();
            if *off_value != rest {
                column["off_value"] = json!(off_value);
            }
        }
        Cells::Values(values) => column["values"] = json!(values),
        Cells::Number => column["number"] = json!(true),
        Cells::Thresholds(thresholds) => column["thresholds"] = json!(thresholds),
    }
    literal(&column)
}

/// A text, a text in any case, or a number.
fn word(word: &Word) -> Value {
    match word {
        Word::Exact(text) => json!(["text", text]),
        Word::AnyCase(text) => json!(["any case", text]),
        Word::Number(number) => json!(["number", number]),
    }
}

/// Texts and numbers of JSON are literals of Python.
fn literal(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(_) | Value::String(_) => value.to_string(),
        Value::Array(items) => format!(
            "[{}]",
            items.iter().map(literal).collect::<Vec<_>>().join(", ")
        ),
        Value::Object(members) => {
            let members = members
                .iter()
                .map(|(name, value)| format!("{}: {}", json!(name), literal(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
    }
}

fn list<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<_> = items.into_iter().map(|item| item.to_string()).collect();
    format!("[{}]", items.join(", "))
}

fn vectors(support: &[(Vec<usize>, i64)]) -> String {
    let vector = |(ones, net): &(Vec<usize>, i64)| format!("    ({net}, {}),\n", list(ones));
    format!("[\n{}]", support.iter().map(vector).collect::<String>())
}

/// The constants of the score and the function `score`.
fn score(score: &Score) -> String {
    match score {
        Score::Sum { weights, constant } => format!(
            "# The score is the sum of the weights of the features that are 1, plus the constant.\n\
             WEIGHTS = {}\nCONSTANT = {constant}\n\n\n\
             def score(x):\n    return CONSTANT + sum(WEIGHTS[j] for j in range(FEATURES) if x[j])\n",
            list(weights.iter().map(BigInt::to_string)),
        ),
        Score::Kernel(kernel) => {
            let value = if kernel.is_power {
                "1 << count".to_owned()
            } else {
                "VALUES[count]".to_owned()
            };
            let values = match kernel.is_power {
                true => String::new(),
                false => format!(
                    "# Kernel values by the number of shared literals.\nVALUES = {}\n",
                    list(&kernel.values)
                ),
            };
            let count = match kernel.counts_agreements {
                true => "FEATURES - bin(bits ^ vector).count(\"1\")",
                false => "bin(bits & vector).count(\"1\")",
            };
            format!(
                "# Support vectors: the sum of the labels, and the features that are 1.\n\
                 SUPPORT = {}\n{values}VECTORS = [(net, sum(1 << j for j in ones)) for net, ones in SUPPORT]\n\n\n\
                 def score(x):\n    bits = sum(1 << j for j in range(FEATURES) if x[j])\n    total = 0\n    \
                 for net, vector in VECTORS:\n        count = {count}\n        total += net * ({value})\n    \
                 return total\n",
                vectors(&kernel.support),
            )
        }
        Score::Monomials(own) => format!(
            "# Examples with their promotions minus demotions, and the features that are 1.\n\
             SUPPORT = {}\nBASE = Fraction({}, {})\nTHETA = Fraction({}, {})\n\n\n\
             def score(x):\n    # The exponent of a monomial is the sum over the examples that contain the monomial.\n    \
             active = [j for j in range(FEATURES) if x[j]]\n    cube = [0] * (1 << len(active))\n    \
             for net, ones in SUPPORT:\n        ones = set(ones)\n        \
             cube[sum(1 << at for at, j in enumerate(active) if j in ones)] += net\n    \
             for at in range(len(active)):\n        for subset in range(len(cube)):\n            \
             if not subset >> at & 1:\n                cube[subset] += cube[subset | 1 << at]\n    \
             counts = {{}}\n    for exponent in cube[1:]:\n        \
             counts[exponent] = counts.get(exponent, 0) + 1\n    \
             return sum(count * BASE**exponent for exponent, count in counts.items()) - THETA\n",
            vectors(&own.support),
            own.base[0],
            own.base[1],
            own.theta[0],
            own.theta[1],
        ),
        Score::Real {
            weights,
            divisor,
            offset,
        } => format!(
            "# The score adds the products of weights and features in order.\n\
             WEIGHTS = {}\nDIVISOR = {}\nOFFSET = {}\n\n\n\
             def score(x):\n    total = 0.0\n    for j in range(FEATURES):\n        total += WEIGHTS[j] * x[j]\n    \
             return total / DIVISOR + OFFSET\n",
            list(weights.iter().map(|weight| json!(weight))),
            json!(divisor),
            json!(offset),
        ),
    }
}
