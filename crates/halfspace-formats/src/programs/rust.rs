//! Programs in Rust without dependencies, with whole numbers of 64 bits or doubles.

use std::fmt::Write;

use super::computation::{Cells, Computation, Input, Score, Word};
use super::{list, section};

/// The code of a program.
const TEMPLATE: &str = include_str!("templates/program.rs.txt");

pub(super) fn write(computation: &Computation, title: &str) -> Result<String, String> {
    if !matches!(computation.score, Score::Real { .. }) {
        computation.check_integral(63)?;
    }
    let mut source = format!("//! {title}.\n{}", section(TEMPLATE, "head"));
    let _ = writeln!(source, "const FEATURES: usize = {};", computation.n);
    let _ = writeln!(
        source,
        "const FILE_COLUMNS: usize = {};",
        computation.columns
    );
    let _ = writeln!(source, "const REST: f64 = {:?};", computation.rest);
    let _ = writeln!(source, "const HAS_NAMES: bool = {};", computation.has_names);
    let _ = writeln!(
        source,
        "const CLASSES: [&str; 2] = {:?};\n",
        computation.classes
    );
    source += "/// The columns with the features of their cells.\nconst TABLE: &[Column] = &[\n";
    for input in &computation.inputs {
        let _ = writeln!(
            source,
            "    Column {{ name: {:?}, place: {}, first: {}, missing: {:?}, cells: {} }},",
            input.name,
            input.place,
            input.first,
            input.missing,
            cells(input)
        );
    }
    source += "];\n\n";
    constants(&computation.score, &mut source);
    source += section(TEMPLATE, computation.score.section());
    source += section(TEMPLATE, "tail");
    Ok(source)
}

fn cells(input: &Input) -> String {
    match &input.cells {
        Cells::Flag { off, on, off_value } => format!(
            "Cells::Flag {{ off: &[{}], on: &[{}], off_value: {off_value:?} }}",
            list(off.iter().map(word)),
            list(on.iter().map(word))
        ),
        Cells::Values(values) => format!("Cells::Values(&{values:?})"),
        Cells::Number => "Cells::Number".to_owned(),
        Cells::Thresholds(thresholds) => format!("Cells::Thresholds(&{thresholds:?})"),
    }
}

fn word(word: &Word) -> String {
    match word {
        Word::Exact(text) => format!("Word::Exact({text:?})"),
        Word::AnyCase(text) => format!("Word::AnyCase({text:?})"),
        Word::Number(number) => format!("Word::Number({number:?})"),
    }
}

/// Writes the numbers of the score.
fn constants(score: &Score, source: &mut String) {
    let _ = match score {
        Score::Sum { weights, constant } => {
            let _ = writeln!(source, "const WEIGHTS: &[i64] = &[{}];", list(weights));
            writeln!(source, "const CONSTANT: i64 = {constant};")
        }
        Score::Kernel(kernel) => {
            let _ = writeln!(
                source,
                "const KERNEL: &[i64] = &[{}];",
                list(&kernel.values)
            );
            let _ = writeln!(
                source,
                "const COUNTS_AGREEMENTS: bool = {};",
                kernel.counts_agreements
            );
            source.push_str(
                "/// Support vectors: the sum of the labels, and the features that are 1.\n",
            );
            source.push_str("const SUPPORT: &[(i64, &[usize])] = &[\n");
            for (ones, net) in &kernel.support {
                let _ = writeln!(source, "    ({net}, &{ones:?}),");
            }
            writeln!(source, "];")
        }
        Score::Real {
            weights,
            lanes,
            divisor,
            offset,
        } => {
            let _ = writeln!(
                source,
                "const WEIGHTS: &[f64] = &{weights:?};\nconst LANES: usize = {lanes};"
            );
            writeln!(
                source,
                "const DIVISOR: f64 = {divisor:?};\nconst OFFSET: f64 = {offset:?};"
            )
        }
        Score::Monomials(_) => Ok(()),
    };
}
