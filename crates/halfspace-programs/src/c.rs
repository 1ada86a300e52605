//! Programs in C99, with whole numbers of 64 bits or doubles.

use std::fmt::{self, Write};

use super::computation::{Cells, Computation, Input, Rows, Word};
use super::scores::Scores;
use super::sink::{Sink, Stop, section};
use halfspace_formats::MISSING_AMONG_NUMBERS;

/// The code of a program.
const TEMPLATE: &str = include_str!("templates/program.c");

pub(super) fn write(computation: &Computation, title: &str, sink: &mut Sink) -> Result<(), Stop> {
    if !matches!(computation.scores, Scores::Real(_)) {
        computation.check_integral(63)?;
    }
    let [head, reader] = computation.rows.sections();
    write!(sink, "/* {title}.\n{}", section(TEMPLATE, head))?;
    sink.write_str(section(TEMPLATE, "imports"))?;
    let (n, members) = (computation.n, computation.members());
    writeln!(sink, "enum {{ FEATURES = {n}, MEMBERS = {members} }};")?;
    let classes = computation.classes.iter().map(|name| text(name));
    sink.write_str("static const char *const CLASSES[] = {")?;
    sink.list(classes.collect::<Result<Vec<_>, _>>()?)?;
    sink.write_str("};\n")?;
    match computation.rows {
        Rows::Names(names) => {
            let (count, is_presence) = (names.len(), u8::from(computation.is_presence()));
            writeln!(
                sink,
                "enum {{ NAMES_COUNT = {count}, IS_PRESENCE = {is_presence} }};\n\
                 /* The names of the features. */\nstatic const char *const NAMES[] = {{"
            )?;
            for name in names.names() {
                writeln!(sink, "    {},", text(name)?)?;
            }
            sink.write_str("    0};\n")?;
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
fn table(computation: &Computation, sink: &mut Sink) -> Result<(), Stop> {
    writeln!(
        sink,
        "enum {{ COLUMNS = {}, FILE_COLUMNS = {}, HAS_NAMES = {} }};\n{}",
        computation.input_count(),
        computation.columns,
        u8::from(computation.has_names),
        section(TEMPLATE, "columns")
    )?;
    let (rest, minus_one) = (computation.rest, computation.minus_one);
    writeln!(
        sink,
        "static const double REST = {rest:?}, MINUS_ONE = {minus_one:?};"
    )?;
    let words = computation.missing_words();
    for (name, words) in [
        ("MISSING", &words[..]),
        ("MISSING_AMONG_NUMBERS", &MISSING_AMONG_NUMBERS),
    ] {
        texts(name, words, sink)?;
    }
    for (at, input) in computation.inputs().enumerate() {
        lists(at, &input, sink)?;
    }
    sink.write_str("static const struct column TABLE[COLUMNS] = {\n")?;
    for (at, input) in computation.inputs().enumerate() {
        column(at, &input, sink)?;
    }
    Ok(sink.write_str("};\n\n")?)
}

/// Writes a list of texts, which ends with a null pointer.
fn texts(name: &str, texts: &[impl AsRef<str>], sink: &mut Sink) -> Result<(), Stop> {
    write!(sink, "static const char *const {name}[] = {{")?;
    for own in texts {
        write!(sink, "{}, ", text(own.as_ref())?)?;
    }
    Ok(sink.write_str("0};\n")?)
}

/// Writes the words, the values or the thresholds of a column.
fn lists(at: usize, input: &Input, sink: &mut Sink) -> Result<(), Stop> {
    match &input.cells {
        Cells::Flag { off, on, .. } => {
            for (name, own) in [("OFF", off), ("ON", on)] {
                let own = own.iter().map(word).collect::<Result<String, _>>()?;
                writeln!(
                    sink,
                    "static const struct word {name}_{at}[] = {{{own}{{0, 0, 0}}}};"
                )?;
            }
        }
        Cells::Values(own) => {
            texts(&format!("VALUES_{at}"), own, sink)?;
        }
        Cells::Number => {}
        Cells::Thresholds(own) => {
            write!(sink, "static const double THRESHOLDS_{at}[] = {{")?;
            for threshold in *own {
                write!(sink, "{threshold:?}, ")?;
            }
            sink.write_str("0};\n")?;
        }
    }
    Ok(())
}

/// Writes a column, which names its lists.
fn column(at: usize, input: &Input, sink: &mut Sink) -> Result<(), Stop> {
    let none = || "0".to_owned();
    let (mut values, mut thresholds, mut off, mut on) = (none(), none(), none(), none());
    let mut zero = 0.0;
    let kind = match &input.cells {
        Cells::Flag { off_value, .. } => {
            zero = *off_value;
            (off, on) = (format!("OFF_{at}"), format!("ON_{at}"));
            'f'
        }
        Cells::Values(_) => {
            values = format!("VALUES_{at}");
            'v'
        }
        Cells::Number => 'n',
        Cells::Thresholds(_) => {
            thresholds = format!("THRESHOLDS_{at}");
            't'
        }
    };
    let missing = input.missing.map_or(-1, |missing| missing as i64);
    let count = input.features().len();
    writeln!(
        sink,
        "    {{{}, {}, {}, {missing}, {}, '{kind}', {count}, {values}, {thresholds}, {off}, {on}, {zero:?}}},",
        text(&input.name)?,
        input.place,
        input.first,
        u8::from(input.is_of_numbers)
    )?;
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

/// Writes the numbers of the scores.
fn constants(scores: &Scores, sink: &mut Sink) -> fmt::Result {
    match scores {
        Scores::Sum(members) => {
            sink.write_str("static const int64_t WEIGHTS[MEMBERS][FEATURES] = {\n")?;
            for own in members {
                sink.write_str("    {")?;
                sink.list(&own.weights)?;
                sink.write_str("},\n")?;
            }
            sink.write_str("}, CONSTANTS[MEMBERS] = {")?;
            sink.list(members.iter().map(|own| &own.constant))?;
            sink.write_str("};\n")
        }
        Scores::Kernel(kernel) => {
            let all = || kernel.supports.iter().flatten();
            let most = all().map(|(ones, _)| ones.len()).max().unwrap_or(0).max(1);
            sink.write_str("static const int64_t KERNEL[] = {")?;
            sink.list(&kernel.values)?;
            let is_counted = u8::from(kernel.counts_agreements);
            writeln!(sink, "}};\nenum {{ COUNTS_AGREEMENTS = {is_counted} }};")?;
            sink.write_str(
                "/* Support vectors: the sum of the labels, and the features that are 1. */\n",
            )?;
            let shape = format!("struct {{ int64_t net; size_t count, ones[{most}]; }}");
            writeln!(sink, "static const {shape} SUPPORT[] = {{")?;
            for (ones, net) in all() {
                write!(sink, "    {{{net}, {}, {{", ones.len())?;
                match ones.is_empty() {
                    true => sink.write_char('0')?,
                    false => sink.list(ones)?,
                }
                sink.write_str("}},\n")?;
            }
            sink.write_str("    {0, 0, {0}}\n};\n")?;
            sink.write_str("/* The first support vector of each member. */\n")?;
            let mut first = 0;
            let starts = kernel.supports.iter().map(|support| {
                first += support.len();
                first
            });
            sink.write_str("static const size_t STARTS[MEMBERS + 1] = {0, ")?;
            sink.list(starts)?;
            sink.write_str("};\n")
        }
        Scores::Real(own) => {
            writeln!(sink, "enum {{ LANES = {} }};", own.lanes)?;
            sink.write_str("static const double WEIGHTS[MEMBERS][FEATURES] = {\n")?;
            for weights in &own.weights {
                sink.write_str("    {")?;
                sink.list(weights.iter().copied().map(double))?;
                sink.write_str("},\n")?;
            }
            write!(
                sink,
                "}};\nstatic const double DIVISOR = {:?}, OFFSETS[MEMBERS] = {{",
                own.divisor
            )?;
            sink.list(own.offsets.iter().copied().map(double))?;
            sink.write_str("};\n")
        }
        Scores::Monomials(_) => Ok(()),
    }
}
