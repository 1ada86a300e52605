//! Programs in Python, with whole numbers of any size.

use std::fmt::Write;

use num_bigint::BigUint;
use serde_json::{Value, json};

use super::computation::{Cells, Computation, Input, Score, Word};
use super::{list, section};

/// The code of a program.
const TEMPLATE: &str = include_str!("templates/program.py");

pub(super) fn write(computation: &Computation, title: &str) -> Result<String, String> {
    let mut source = format!("\"\"\"{title}.\n{}", section(TEMPLATE, "head"));
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
    let _ = writeln!(source, "CLASSES = {}", json!(computation.classes));
    constants(&computation.score, &mut source);
    source += section(TEMPLATE, computation.score.section());
    source += section(TEMPLATE, "tail");
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

/// Support vectors: the sum of the labels, and the features that are 1.
fn vectors(support: &[(Vec<usize>, i64)]) -> String {
    let vector = |(ones, net): &(Vec<usize>, i64)| format!("    ({net}, [{}]),\n", list(ones));
    format!("[\n{}]", support.iter().map(vector).collect::<String>())
}

/// Writes the numbers of the score.
fn constants(score: &Score, source: &mut String) {
    let _ = match score {
        Score::Sum { weights, constant } => {
            writeln!(
                source,
                "WEIGHTS = [{}]\nCONSTANT = {constant}",
                list(weights)
            )
        }
        Score::Kernel(kernel) => {
            let is_counted = literal(&json!(kernel.counts_agreements));
            let (support, values) = (vectors(&kernel.support), list(&kernel.values));
            writeln!(
                source,
                "SUPPORT = {support}\nKERNEL = [{values}]\nCOUNTS_AGREEMENTS = {is_counted}"
            )
        }
        Score::Monomials(own) => {
            let fraction = |[up, down]: &[BigUint; 2]| format!("Fraction({up}, {down})");
            let (base, theta) = (fraction(&own.base), fraction(&own.theta));
            writeln!(
                source,
                "SUPPORT = {}\nBASE = {base}\nTHETA = {theta}",
                vectors(&own.support)
            )
        }
        Score::Real {
            weights,
            lanes,
            divisor,
            offset,
        } => {
            let weights = list(weights.iter().map(|weight| json!(weight)));
            let (divisor, offset) = (json!(divisor), json!(offset));
            writeln!(
                source,
                "WEIGHTS = [{weights}]\nLANES = {lanes}\nDIVISOR = {divisor}\nOFFSET = {offset}"
            )
        }
    };
}
