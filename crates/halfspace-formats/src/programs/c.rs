//! Programs in C99, with whole numbers of 64 bits or doubles.

use std::fmt::Write;

use super::computation::{Cells, Computation, Input, Score, Word};

/// The part of a program that is the same for every model.
const RUNTIME: &str = include_str!("runtime.c");

pub(super) fn write(computation: &Computation, title: &str) -> Result<String, String> {
    if !matches!(computation.score, Score::Real { .. }) {
        computation.check_integral(63)?;
    }
    let mut source = format!(
        "/* {title}.\n *\n * `predict` labels one row. As a program, this file reads CSV from standard input and writes \
         one label per row.\n * Compile: cc -O2 -o predict FILE.c */\n"
    );
    source += "#include <locale.h>\n#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\n";
    source += "/* A spelling of a truth value: e is the text, a the text in any case, n any spelling of the number. */\n";
    source += "struct word { char kind; const char *text; double number; };\n\n";
    source += "/* Kinds: f is a flag, v has one feature per value, n is a number, t has one feature per threshold. */\n";
    source += "struct column {\n    const char *name;\n    size_t place, first;\n    long missing;\n    char kind;\n    \
               size_t count;\n    const char *const *values;\n    const double *thresholds;\n    \
               const struct word *off, *on;\n    double off_value;\n};\n\n";
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
    score(&computation.score, &mut source);
    Ok(source + RUNTIME)
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

fn list<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<_> = items.into_iter().map(|item| item.to_string()).collect();
    items.join(", ")
}

fn score(score: &Score, source: &mut String) {
    let _ = match score {
        Score::Sum { weights, constant } => write!(
            source,
            "static const int64_t WEIGHTS[FEATURES] = {{{}}};\n\n\
             /* Whether the weights of the features that are 1 and the constant sum to at least 0. */\n\
             static int decide(const double *x) {{\n    int64_t sum = {constant};\n    \
             for (size_t j = 0; j < FEATURES; j++)\n        if (x[j] != 0) sum += WEIGHTS[j];\n    return sum >= 0;\n}}\n",
            list(weights)
        ),
        Score::Kernel(kernel) => {
            let most = kernel
                .support
                .iter()
                .map(|(ones, _)| ones.len())
                .max()
                .unwrap_or(0);
            let vector = |(ones, net): &(Vec<usize>, i64)| {
                format!("    {{{net}, {}, {{{}}}}},\n", ones.len(), list(ones))
            };
            let vectors: String = kernel.support.iter().map(vector).collect();
            let count = match kernel.counts_agreements {
                true => "FEATURES + 2 * shared - SUPPORT[i].count - active",
                false => "shared",
            };
            write!(
                source,
                "/* Kernel values by the number of shared literals. */\n\
                 static const int64_t KERNEL[] = {{{}}};\n\n\
                 /* Support vectors: the sum of the labels, and the features that are 1. */\n\
                 static const struct {{ int64_t net; size_t count; size_t ones[{}]; }} SUPPORT[] = {{\n{vectors}    \
                 {{0, 0, {{0}}}}\n}};\n\n\
                 /* Whether the labels times the kernels sum to at least 0. */\n\
                 static int decide(const double *x) {{\n    int64_t sum = 0;\n    size_t active = 0;\n    \
                 for (size_t j = 0; j < FEATURES; j++) active += x[j] != 0;\n    (void)active;\n    \
                 for (size_t i = 0; SUPPORT[i].net != 0; i++) {{\n        size_t shared = 0;\n        \
                 for (size_t k = 0; k < SUPPORT[i].count; k++) shared += x[SUPPORT[i].ones[k]] != 0;\n        \
                 sum += SUPPORT[i].net * KERNEL[{count}];\n    }}\n    return sum >= 0;\n}}\n",
                list(&kernel.values),
                most.max(1)
            )
        }
        Score::Real {
            weights,
            divisor,
            offset,
        } => write!(
            source,
            "static const double WEIGHTS[FEATURES] = {{{}}};\n\n\
             /* Whether the score is at least 0. The products are added in order. `volatile` prevents fused operations. */\n\
             static int decide(const double *x) {{\n    double sum = 0;\n    \
             for (size_t j = 0; j < FEATURES; j++) {{\n        volatile double product = WEIGHTS[j] * x[j];\n        \
             sum += product;\n    }}\n    volatile double mean = sum / {};\n    return mean + {} >= 0;\n}}\n",
            list(weights.iter().map(|weight| double(*weight))),
            double(*divisor),
            double(*offset)
        ),
        Score::Monomials(_) => Ok(()),
    };
}
