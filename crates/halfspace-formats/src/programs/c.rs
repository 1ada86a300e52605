//! Programs in C99, with whole numbers of 64 bits or doubles.

use std::fmt::Write;

use super::computation::{Cells, Computation, Input, Score, Word};
use super::{list, section};

/// The code of a program.
const TEMPLATE: &str = include_str!("templates/program.c");

pub(super) fn write(computation: &Computation, title: &str) -> Result<String, String> {
    if !matches!(computation.score, Score::Real { .. }) {
        computation.check_integral(63)?;
    }
    let mut source = format!("/* {title}.\n{}", section(TEMPLATE, "head"));
    let _ = writeln!(
        source,
        "enum {{ FEATURES = {}, COLUMNS = {}, FILE_COLUMNS = {}, HAS_NAMES = {} }};",
        computation.n,
        computation.inputs.len(),
        computation.columns,
        u8::from(computation.has_names)
    );
    let [negative, positive] = &computation.classes;
    let _ = writeln!(
        source,
        "static const char *const CLASSES[2] = {{{}, {}}};",
        text(negative)?,
        text(positive)?
    );
    let _ = writeln!(
        source,
        "static const double REST = {};",
        double(computation.rest)
    );
    let mut table = String::new();
    for (at, input) in computation.inputs.iter().enumerate() {
        column(at, input, &mut source, &mut table)?;
    }
    let _ = writeln!(
        source,
        "static const struct column TABLE[COLUMNS] = {{\n{table}}};\n"
    );
    constants(&computation.score, &mut source);
    source += section(TEMPLATE, computation.score.section());
    source += section(TEMPLATE, "tail");
    Ok(source)
}

fn column(at: usize, input: &Input, source: &mut String, table: &mut String) -> Result<(), String> {
    let (mut kind, mut count) = ('n', 1);
    let (mut values, mut thresholds) = ("0".to_owned(), "0".to_owned());
    let (mut off, mut on, mut zero) = ("0".to_owned(), "0".to_owned(), 0.0);
    match &input.cells {
        Cells::Flag {
            off: off_words,
            on: on_words,
            off_value,
        } => {
            kind = 'f';
            zero = *off_value;
            (off, on) = (format!("OFF_{at}"), format!("ON_{at}"));
            for (name, own) in [(&off, off_words), (&on, on_words)] {
                let own = own.iter().map(word).collect::<Result<String, _>>()?;
                let _ = writeln!(
                    source,
                    "static const struct word {name}[] = {{{own}{{0, 0, 0}}}};"
                );
            }
        }
        Cells::Values(own) => {
            (kind, count) = ('v', own.len());
            values = format!("VALUES_{at}");
            let own = own
                .iter()
                .map(|value| text(value))
                .collect::<Result<Vec<_>, _>>()?;
            let _ = writeln!(
                source,
                "static const char *const {values}[] = {{{}}};",
                own.join(", ")
            );
        }
        Cells::Number => {}
        Cells::Thresholds(own) => {
            (kind, count) = ('t', own.len());
            thresholds = format!("THRESHOLDS_{at}");
            let own: Vec<_> = own.iter().map(|threshold| double(*threshold)).collect();
            let _ = writeln!(
                source,
                "static const double {thresholds}[] = {{{}}};",
                own.join(", ")
            );
        }
    }
    let missing = input.missing.map_or(-1, |missing| missing as i64);
    let _ = writeln!(
        table,
        "    {{{}, {}, {}, {missing}, '{kind}', {count}, {values}, {thresholds}, {off}, {on}, {}}},",
        text(&input.name)?,
        input.place,
        input.first,
        double(zero)
    );
    Ok(())
}

fn word(word: &Word) -> Result<String, String> {
    Ok(match word {
        Word::Exact(own) => format!("{{'e', {}, 0}}, ", text(own)?),
        Word::AnyCase(own) => format!("{{'a', {}, 0}}, ", text(own)?),
        Word::Number(number) => format!("{{'n', 0, {}}}, ", double(*number)),
    })
}

/// A literal with octal escapes, which end after three digits.
fn text(text: &str) -> Result<String, String> {
    let mut literal = "\"".to_owned();
    for byte in text.bytes() {
        match byte {
            0 => return Err("a text contains the character U+0000".to_owned()),
            b'"' | b'\\' | b'?' => literal.extend(['\\', byte.into()]),
            b' '..=b'~' => literal.push(byte.into()),
            _ => {
                let _ = write!(literal, "\\{byte:03o}");
            }
        }
    }
    literal.push('"');
    Ok(literal)
}

/// The shortest text of a double, which C reads as the same double.
fn double(value: f64) -> String {
    format!("{value:?}")
}

/// Writes the numbers of the score.
fn constants(score: &Score, source: &mut String) {
    let _ = match score {
        Score::Sum { weights, constant } => writeln!(
            source,
            "static const int64_t WEIGHTS[FEATURES] = {{{}}}, CONSTANT = {constant};",
            list(weights)
        ),
        Score::Kernel(kernel) => {
            let most = kernel
                .support
                .iter()
                .map(|(ones, _)| ones.len())
                .max()
                .unwrap_or(0);
            let _ = writeln!(
                source,
                "static const int64_t KERNEL[] = {{{}}};",
                list(&kernel.values)
            );
            let _ = writeln!(
                source,
                "enum {{ COUNTS_AGREEMENTS = {} }};",
                u8::from(kernel.counts_agreements)
            );
            source.push_str(
                "/* Support vectors: the sum of the labels, and the features that are 1. */\n",
            );
            let shape = format!(
                "struct {{ int64_t net; size_t count, ones[{}]; }}",
                most.max(1)
            );
            let _ = writeln!(source, "static const {shape} SUPPORT[] = {{");
            for (ones, net) in &kernel.support {
                let own = if ones.is_empty() {
                    "0".to_owned()
                } else {
                    list(ones)
                };
                let _ = writeln!(source, "    {{{net}, {}, {{{own}}}}},", ones.len());
            }
            writeln!(source, "    {{0, 0, {{0}}}}\n}};")
        }
        Score::Real {
            weights,
            lanes,
            divisor,
            offset,
        } => {
            let weights = list(weights.iter().copied().map(double));
            let (divisor, offset) = (double(*divisor), double(*offset));
            let _ = writeln!(
                source,
                "enum {{ LANES = {lanes} }};\nstatic const double WEIGHTS[FEATURES] = {{{weights}}};"
            );
            writeln!(
                source,
                "static const double DIVISOR = {divisor}, OFFSET = {offset};"
            )
        }
        Score::Monomials(_) => Ok(()),
    };
}
