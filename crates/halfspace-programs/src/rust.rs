//! Programs in Rust without dependencies, with whole numbers of 64 bits or doubles.

use std::fmt::{self, Write};

use super::computation::{Cells, Computation, Rows, Word};
use super::scores::Scores;
use super::sink::{Sink, Stop, section};
use halfspace_formats::MISSING_AMONG_NUMBERS;

/// The code of a program.
const TEMPLATE: &str = include_str!("templates/program.rs.txt");

pub(super) fn write(computation: &Computation, title: &str, sink: &mut Sink) -> Result<(), Stop> {
    if !matches!(computation.scores, Scores::Real(_)) {
        computation.check_integral(63)?;
    }
    let [head, reader] = computation.rows.sections();
    write!(sink, "//! {title}.\n{}", section(TEMPLATE, head))?;
    writeln!(sink, "const FEATURES: usize = {};", computation.n)?;
    writeln!(sink, "const MEMBERS: usize = {};", computation.members())?;
    let classes = &computation.classes;
    writeln!(sink, "const CLASSES: &[&str] = &{classes:?};")?;
    match computation.rows {
        Rows::Names(names) => {
            let is_presence = computation.is_presence();
            writeln!(sink, "const IS_PRESENCE: bool = {is_presence};\n")?;
            sink.write_str("/// The names of the features.\nconst NAMES: &[&str] = &[\n")?;
            for name in names.names() {
                writeln!(sink, "    {name:?},")?;
            }
            sink.write_str("];\n\n")?;
        }
        Rows::Table(_) | Rows::Numbers(_) => table(computation, sink)?,
    }
    constants(&computation.scores, sink)?;
    for name in [computation.scores.section(), "reading", reader] {
        sink.write_str(section(TEMPLATE, name))?;
    }
    Ok(())
}

/// Writes the columns.
fn table(computation: &Computation, sink: &mut Sink) -> fmt::Result {
    writeln!(sink, "const FILE_COLUMNS: usize = {};", computation.columns)?;
    writeln!(sink, "const REST: f64 = {:?};", computation.rest)?;
    writeln!(sink, "const MINUS_ONE: f64 = {:?};", computation.minus_one)?;
    writeln!(sink, "const HAS_NAMES: bool = {};", computation.has_names)?;
    writeln!(
        sink,
        "const MISSING: &[&str] = &{:?};",
        computation.missing_words()
    )?;
    writeln!(
        sink,
        "const MISSING_AMONG_NUMBERS: &[&str] = &{MISSING_AMONG_NUMBERS:?};\n"
    )?;
    sink.write_str(
        "/// The columns with the features of their cells.\nconst TABLE: &[Column] = &[\n",
    )?;
    for input in computation.inputs() {
        write!(
            sink,
            "    Column {{ name: {:?}, place: {}, first: {}, missing: {:?}, is_of_numbers: {}, cells: ",
            input.name, input.place, input.first, input.missing, input.is_of_numbers
        )?;
        cells(&input.cells, sink)?;
        sink.write_str(" },\n")?;
    }
    sink.write_str("];\n\n")
}

fn cells(cells: &Cells, sink: &mut Sink) -> fmt::Result {
    match cells {
        Cells::Flag { off, on, off_value } => {
            sink.write_str("Cells::Flag { off: &[")?;
            sink.list(off.iter().map(word))?;
            sink.write_str("], on: &[")?;
            sink.list(on.iter().map(word))?;
            write!(sink, "], off_value: {off_value:?} }}")
        }
        Cells::Values(values) => write!(sink, "Cells::Values(&{values:?})"),
        Cells::Number => sink.write_str("Cells::Number"),
        Cells::Thresholds(thresholds) => write!(sink, "Cells::Thresholds(&{thresholds:?})"),
    }
}

fn word(word: &Word) -> String {
    match word {
        Word::Exact(text) => format!("Word::Exact({text:?})"),
        Word::AnyCase(text) => format!("Word::AnyCase({text:?})"),
        Word::Number(number) => format!("Word::Number({number:?})"),
    }
}

/// Writes the numbers of the scores.
fn constants(scores: &Scores, sink: &mut Sink) -> fmt::Result {
    match scores {
        Scores::Sum(members) => {
            sink.write_str("const WEIGHTS: &[&[i64]] = &[\n")?;
            for own in members {
                sink.write_str("    &[")?;
                sink.list(&own.weights)?;
                sink.write_str("],\n")?;
            }
            sink.write_str("];\nconst CONSTANTS: &[i64] = &[")?;
            sink.list(members.iter().map(|own| &own.constant))?;
            sink.write_str("];\n")
        }
        Scores::Kernel(kernel) => {
            sink.write_str("const KERNEL: &[i64] = &[")?;
            sink.list(&kernel.values)?;
            let is_counted = kernel.counts_agreements;
            writeln!(sink, "];\nconst COUNTS_AGREEMENTS: bool = {is_counted};")?;
            sink.write_str(
                "/// Support vectors: the sum of the labels, and the features that are 1.\n",
            )?;
            sink.write_str("const SUPPORTS: &[&[(i64, &[usize])]] = &[\n")?;
            for support in &kernel.supports {
                sink.write_str("    &[\n")?;
                for (ones, net) in support {
                    writeln!(sink, "        ({net}, &{ones:?}),")?;
                }
                sink.write_str("    ],\n")?;
            }
            sink.write_str("];\n")
        }
        Scores::Real(own) => {
            sink.write_str("const WEIGHTS: &[&[f64]] = &[\n")?;
            for weights in &own.weights {
                writeln!(sink, "    &{weights:?},")?;
            }
            writeln!(sink, "];\nconst LANES: usize = {};", own.lanes)?;
            writeln!(sink, "const DIVISOR: f64 = {:?};", own.divisor)?;
            writeln!(sink, "const OFFSETS: &[f64] = &{:?};", own.offsets)
        }
        Scores::Monomials(_) => Ok(()),
    }
}
