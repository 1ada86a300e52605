//! The parts of SQL that SQLite and PostgreSQL write differently.

use std::fmt::Write;

use num_bigint::{BigInt, BigUint};

use super::computation::Computation;
use super::decimals::exact;
use super::scores::KernelScores;
use super::sink::{Sink, Stop};

/// Bits of sums that fit in PostgreSQL's numbers, which have at most 131,072 digits before the point.
const NUMERIC_BITS_MAX: u64 = 400_000;

/// The parts of SQL that the databases write differently.
pub(super) struct Dialect {
    /// The most bits of a sum.
    pub(super) bits_max: u64,
    /// The most columns of a table.
    pub(super) columns_max: usize,
    /// The text of a cell without white space around it.
    pub(super) text: fn(&str) -> String,
    /// A name as it is, whatever the column says about equal texts.
    pub(super) exact: fn(&str) -> String,
    /// The number in a cell that is no text, as a column of the subquery with the text.
    pub(super) typed: fn(&str) -> String,
    /// Compares a typed number with a double by an operator. If the cell is no typed number, the given condition on
    /// texts holds instead.
    pub(super) or_typed: fn(&str, f64, String) -> String,
    /// NULL if a cell is no number.
    pub(super) known: &'static str,
    /// The function that returns the larger of two numbers.
    pub(super) largest_of: &'static str,
    /// A literal of a text.
    pub(super) literal: fn(&str) -> Result<String, String>,
    /// A literal of a whole number.
    pub(super) whole: fn(&BigInt) -> String,
    /// Kernel values by an expression for the count.
    pub(super) kernel: fn(&KernelScores, &str, &mut Sink) -> Result<(), Stop>,
    /// An additional source of the kernel values in FROM, if the database needs one.
    pub(super) kernel_source: fn(&KernelScores, &mut Sink) -> Result<(), Stop>,
}

impl Dialect {
    /// Writes the conditions of the labels on the scores `s0`, `s1`, ... Of several, the first that equals the largest
    /// has the label. All scores are NULL if one is, which equals none.
    pub(super) fn label(&self, computation: &Computation, sink: &mut Sink) -> Result<(), Stop> {
        let name = |class: usize| (self.literal)(&computation.classes[class]);
        if computation.members() == 1 {
            let (negative, positive) = (name(0)?, name(1)?);
            return Ok(write!(
                sink,
                " WHEN s0 >= 0 THEN {positive} WHEN s0 < 0 THEN {negative}"
            )?);
        }
        sink.write_char(' ')?;
        largest(0..computation.members(), self.largest_of, sink)?;
        for member in 0..computation.members() {
            write!(sink, " WHEN s{member} THEN {}", name(member)?)?;
        }
        Ok(())
    }
}

/// Writes the largest of these scores. Its depth is the logarithm of their number.
fn largest(scores: std::ops::Range<usize>, largest_of: &str, sink: &mut Sink) -> std::fmt::Result {
    if scores.len() == 1 {
        return write!(sink, "s{}", scores.start);
    }
    let middle = scores.start + scores.len() / 2;
    write!(sink, "{largest_of}(")?;
    largest(scores.start..middle, largest_of, sink)?;
    sink.write_str(", ")?;
    largest(middle..scores.end, largest_of, sink)?;
    sink.write_char(')')
}

/// SQLite, with whole numbers of 64 bits.
pub(super) fn sqlite() -> Dialect {
    Dialect {
        bits_max: 63,
        columns_max: 2_000,
        // A real number as text has 15 digits. If this text spells another number, it stands for nothing.
        text: |cell| {
            format!(
                "trim(CASE WHEN typeof({cell}) = 'real' AND CAST(CAST({cell} AS TEXT) AS REAL) <> {cell} THEN char(0) \
                 ELSE coalesce(CAST({cell} AS TEXT), '') END, char(9, 10, 12, 13, 32))"
            )
        },
        exact: |cell| format!("CAST({cell} AS TEXT) COLLATE BINARY"),
        typed: |cell| {
            let is_number =
                format!("typeof({cell}) IN ('integer', 'real') AND {cell} - {cell} = 0");
            format!(", CASE WHEN {is_number} THEN CAST({cell} AS REAL) END AS r")
        },
        or_typed: |operator, number, otherwise| {
            let number = exact(number, |whole| format!("CAST({whole} AS REAL)"));
            format!("coalesce(r {operator} {number}, {otherwise})")
        },
        known: "coalesce(r, s)",
        largest_of: "max",
        literal: |text| quoted(text, '\''),
        whole: BigInt::to_string,
        kernel: |kernel, count, sink| {
            if kernel.is_power {
                return Ok(write!(sink, "(1 << ({count}))")?);
            }
            write!(sink, "CASE {count}")?;
            for (count, value) in kernel.values.iter().enumerate() {
                write!(sink, " WHEN {count} THEN {value}")?;
            }
            Ok(sink.write_str(" END")?)
        },
        kernel_source: |_, _| Ok(()),
    }
}

/// PostgreSQL, with whole numbers of any size.
pub(super) fn postgresql() -> Dialect {
    Dialect {
        bits_max: NUMERIC_BITS_MAX,
        columns_max: 1_600,
        // The collation of a column might take different texts for equal.
        text: |cell| {
            format!("btrim(coalesce(CAST({cell} AS text), '') COLLATE \"C\", E' \\t\\n\\f\\r')")
        },
        exact: |cell| format!("CAST({cell} AS text) COLLATE \"C\""),
        typed: |_| String::new(),
        or_typed: |_, _, otherwise| otherwise,
        known: "s",
        largest_of: "greatest",
        // A setting decides what a backslash means in a plain literal.
        literal: |text| match text.contains('\\') {
            true => Ok(format!("E{}", quoted(&text.replace('\\', "\\\\"), '\'')?)),
            false => quoted(text, '\''),
        },
        whole: |number| format!("{number}::numeric"),
        kernel: |_, count, sink| Ok(write!(sink, "kernel.value[1 + {count}]")?),
        kernel_source: |kernel, sink| {
            sink.write_str(", (SELECT ARRAY[")?;
            sink.list::<&BigUint>(&kernel.values)?;
            Ok(sink.write_str("]::numeric[] AS value) AS kernel")?)
        },
    }
}

/// The name of a column.
pub(super) fn name(name: &str) -> Result<String, String> {
    quoted(name, '"')
}

fn quoted(text: &str, quote: char) -> Result<String, String> {
    if text.contains('\0') {
        return Err("a text contains the character U+0000".to_owned());
    }
    let doubled = text.replace(quote, &format!("{quote}{quote}"));
    Ok(format!("{quote}{doubled}{quote}"))
}
