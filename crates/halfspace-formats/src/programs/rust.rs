//! Programs in Rust without dependencies, with whole numbers of 64 bits or doubles.

use std::fmt::Write;

use super::computation::{Cells, Computation, Input, Score, Word};

/// The part of a program that is the same for every model.
const RUNTIME: &str = include_str!("runtime.rs.txt");

pub(super) fn write(computation: &Computation, title: &str) -> Result<String, String> {
    if !matches!(computation.score, Score::Real { .. }) {
        computation.check_integral(63)?;
    }
    let mut source = format!(
        "//! {title}.\n//!\n//! `predict` labels one row. As a program, this file reads CSV from standard input and writes \
         one label per row.\n//! Compile: rustc --edition 2021 -O -o predict FILE.rs\n\n"
    );
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
    score(&computation.score, &mut source);
    Ok(source + RUNTIME)
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

fn list<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<_> = items.into_iter().map(|item| item.to_string()).collect();
    items.join(", ")
}

fn score(score: &Score, source: &mut String) {
    let _ = match score {
        Score::Sum { weights, constant } => write!(
            source,
            "const WEIGHTS: &[i64] = &[{}];\n\n\
             /// Whether the weights of the features that are 1 and the constant sum to at least 0.\n\
             fn decide(x: &[f64]) -> bool {{\n    \
             let weights = WEIGHTS.iter().zip(x).filter(|(_, x)| **x != 0.0);\n    \
             {constant} + weights.map(|(weight, _)| weight).sum::<i64>() >= 0\n}}\n",
            list(weights)
        ),
        Score::Kernel(kernel) => {
            let vector = |(ones, net): &(Vec<usize>, i64)| format!("    ({net}, &{ones:?}),\n");
            let vectors: String = kernel.support.iter().map(vector).collect();
            let count = match kernel.counts_agreements {
                true => "FEATURES + 2 * shared - ones.len() - active",
                false => "shared",
            };
            let active = match kernel.counts_agreements {
                true => "    let active = x.iter().filter(|x| **x != 0.0).count();\n",
                false => "",
            };
            write!(
                source,
                "/// Kernel values by the number of shared literals.\nconst KERNEL: &[i64] = &[{}];\n\n\
                 /// Support vectors: the sum of the labels, and the features that are 1.\n\
                 const SUPPORT: &[(i64, &[usize])] = &[\n{vectors}];\n\n\
                 /// Whether the labels times the kernels sum to at least 0.\n\
                 fn decide(x: &[f64]) -> bool {{\n{active}    \
                 let term = |(net, ones): &(i64, &[usize])| {{\n        \
                 let shared = ones.iter().filter(|&&j| x[j] != 0.0).count();\n        \
                 net * KERNEL[{count}]\n    }};\n    SUPPORT.iter().map(term).sum::<i64>() >= 0\n}}\n",
                list(&kernel.values)
            )
        }
        Score::Real {
            weights,
            divisor,
            offset,
        } => write!(
            source,
            "const WEIGHTS: &[f64] = &{weights:?};\n\n\
             /// Whether the score is at least 0. The products are added in order.\n\
             fn decide(x: &[f64]) -> bool {{\n    \
             let mut sum = 0.0;\n    for (weight, x) in WEIGHTS.iter().zip(x) {{\n        sum += weight * x;\n    }}\n    \
             sum / {divisor:?} + {offset:?} >= 0.0\n}}\n"
        ),
        Score::Monomials(_) => Ok(()),
    };
}
