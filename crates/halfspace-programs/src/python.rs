//! Programs in Python, with whole numbers of any size.

use std::fmt::{self, Write};

use num_bigint::{BigInt, BigUint};
use serde_json::json;

use super::computation::{Cells, Computation, Input, Rows, Word};
use super::scores::{Scores, Support};
use super::sink::{Sink, Stop, section};
use halfspace_formats::MISSING_AMONG_NUMBERS;

/// The code of a program.
const TEMPLATE: &str = include_str!("templates/program.py");

/// Larger numbers are written in hexadecimal, because Python reads decimal numbers of at most 4,300 digits, and
/// hexadecimal ones of any length.
const DECIMAL_BITS_MAX: u64 = 1_024;

pub(super) fn write(computation: &Computation, title: &str, sink: &mut Sink) -> Result<(), Stop> {
    let [head, reader] = computation.rows.sections();
    write!(sink, "\"\"\"{title}.\n{}", section(TEMPLATE, head))?;
    sink.write_str(section(TEMPLATE, "imports"))?;
    match computation.rows {
        Rows::Names(names) => {
            sink.write_str("# The features of the known names.\nNAMES = {\n")?;
            for (at, name) in names.names().enumerate() {
                writeln!(sink, "    {}: {at},", json!(name))?;
            }
            sink.write_str("}\n")?;
            writeln!(sink, "IS_PRESENCE = {}", truth(computation.is_presence()))?;
        }
        Rows::Table(_) | Rows::Numbers(_) => columns(computation, sink)?,
    }
    writeln!(sink, "FEATURES = {}", computation.n)?;
    writeln!(sink, "CLASSES = {}", json!(computation.classes))?;
    constants(&computation.scores, sink)?;
    for name in [computation.scores.section(), "reading", reader] {
        sink.write_str(section(TEMPLATE, name))?;
    }
    Ok(())
}

fn columns(computation: &Computation, sink: &mut Sink) -> fmt::Result {
    sink.write_str("# The columns with the features of their cells.\nCOLUMNS = [\n")?;
    for input in computation.inputs() {
        sink.write_str("    ")?;
        column(&input, computation.rest, sink)?;
        sink.write_str(",\n")?;
    }
    sink.write_str("]\n")?;
    writeln!(sink, "HAS_NAMES = {}", truth(computation.has_names))?;
    writeln!(sink, "MISSING = {}", json!(computation.missing_words()))?;
    writeln!(
        sink,
        "MISSING_AMONG_NUMBERS = {}",
        json!(MISSING_AMONG_NUMBERS)
    )?;
    writeln!(sink, "FILE_COLUMNS = {}", computation.columns)?;
    writeln!(sink, "REST = {}", json!(computation.rest as i64))?;
    writeln!(sink, "MINUS_ONE = {}", json!(computation.minus_one as i64))
}

/// Writes a column. Python can take texts and numbers as JSON writes them.
fn column(input: &Input, rest: f64, sink: &mut Sink) -> fmt::Result {
    let (name, missing) = (json!(input.name), input.missing);
    let missing = missing.map_or("None".to_owned(), |missing| missing.to_string());
    write!(
        sink,
        "{{\"name\": {name}, \"place\": {}, \"first\": {}, \"missing\": {missing}, \"of_numbers\": {}, ",
        input.place,
        input.first,
        truth(input.is_of_numbers)
    )?;
    match &input.cells {
        Cells::Flag { off, on, off_value } => {
            sink.write_str("\"off\": [")?;
            sink.list(off.iter().map(word))?;
            sink.write_str("], \"on\": [")?;
            sink.list(on.iter().map(word))?;
            sink.write_char(']')?;
            if *off_value != rest {
                write!(sink, ", \"off_value\": {}", json!(off_value))?;
            }
        }
        Cells::Values(values) => {
            sink.write_str("\"values\": [")?;
            sink.list(values.iter().map(|value| json!(value)))?;
            sink.write_char(']')?;
        }
        Cells::Number => sink.write_str("\"number\": True")?,
        Cells::Thresholds(thresholds) => {
            sink.write_str("\"thresholds\": [")?;
            sink.list(thresholds.iter().map(|threshold| json!(threshold)))?;
            sink.write_char(']')?;
        }
    }
    sink.write_char('}')
}

/// A text, a text in any case, or a number.
fn word(word: &Word) -> String {
    match word {
        Word::Exact(text) => json!(["text", text]).to_string(),
        Word::AnyCase(text) => json!(["any case", text]).to_string(),
        Word::Number(number) => json!(["number", number]).to_string(),
    }
}

fn truth(value: bool) -> &'static str {
    if value { "True" } else { "False" }
}

/// A literal of a whole number.
fn whole(number: &BigInt) -> String {
    match number.bits() <= DECIMAL_BITS_MAX {
        true => number.to_string(),
        false => format!("{number:#x}"),
    }
}

fn natural(number: &BigUint) -> String {
    match number.bits() <= DECIMAL_BITS_MAX {
        true => number.to_string(),
        false => format!("{number:#x}"),
    }
}

/// Writes the support vectors of each member: the sum of the labels, and the features that are 1.
fn vectors(supports: &[Vec<Support>], sink: &mut Sink) -> fmt::Result {
    sink.write_str("SUPPORTS = [\n")?;
    for support in supports {
        sink.write_str("    [\n")?;
        for (ones, net) in support {
            writeln!(sink, "        ({net}, {ones:?}),")?;
        }
        sink.write_str("    ],\n")?;
    }
    sink.write_str("]\n")
}

/// Writes the numbers of the scores.
fn constants(scores: &Scores, sink: &mut Sink) -> fmt::Result {
    match scores {
        Scores::Sum(members) => {
            sink.write_str("WEIGHTS = [\n")?;
            for own in members {
                sink.write_str("    [")?;
                sink.list(own.weights.iter().map(whole))?;
                sink.write_str("],\n")?;
            }
            sink.write_str("]\nCONSTANTS = [")?;
            sink.list(members.iter().map(|own| whole(&own.constant)))?;
            sink.write_str("]\n")
        }
        Scores::Kernel(kernel) => {
            vectors(&kernel.supports, sink)?;
            sink.write_str("KERNEL = [")?;
            sink.list(kernel.values.iter().map(natural))?;
            let is_counted = truth(kernel.counts_agreements);
            writeln!(sink, "]\nCOUNTS_AGREEMENTS = {is_counted}")
        }
        Scores::Monomials(own) => {
            vectors(&own.supports, sink)?;
            let fraction =
                |[up, down]: &[BigUint; 2]| format!("Fraction({}, {})", natural(up), natural(down));
            let (base, theta) = (fraction(&own.base), fraction(&own.theta));
            let (active, literals, known) = (own.active_max, own.literals_max, own.known);
            writeln!(
                sink,
                "BASE = {base}\nTHETA = {theta}\nACTIVE_MAX = {active}"
            )?;
            writeln!(sink, "LITERALS_MAX = {literals}\nKNOWN = {known}")
        }
        Scores::Real(own) => {
            sink.write_str("WEIGHTS = [\n")?;
            for weights in &own.weights {
                sink.write_str("    [")?;
                sink.list(weights.iter().map(|weight| json!(weight)))?;
                sink.write_str("],\n")?;
            }
            sink.write_str("]\nOFFSETS = [")?;
            sink.list(own.offsets.iter().map(|offset| json!(offset)))?;
            let (lanes, divisor) = (own.lanes, json!(own.divisor));
            writeln!(sink, "]\nLANES = {lanes}\nDIVISOR = {divisor}")
        }
    }
}
