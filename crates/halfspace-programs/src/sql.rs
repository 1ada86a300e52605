//! Programs in SQL: a query that adds the column `predicted` to the table `rows`.
//!
//! The innermost subquery gives each column of cells a code: -1 for a missing cell, the position of a value, 0 or 1 for
//! a flag, or the number of thresholds that a number reaches. A cell that the encoding refuses has no code, which makes
//! the score and the label NULL. Sums are balanced trees, because databases limit the depth of an expression.

use std::collections::HashSet;
use std::fmt::Write;

use num_bigint::BigInt;

use super::computation::{Cells, Computation, Input, Rows, Word};
use super::decimals::Bound;
use super::dialects::{self, Dialect, name};
use super::scores::{KernelScores, Scores, Support};
use super::sink::{Sink, Stop};
use super::sql_names;

/// The most features of a kernel, each of which is a column of a subquery.
const KERNEL_FEATURES_MAX: usize = 1_000;

/// Ends a subquery so that its columns are computed only once per row. Without it the databases would put the
/// expression of a column in each place that names the column.
const ONCE: &str = " LIMIT 1 OFFSET 0";

/// The steps from the text `t` of a cell to its number: the sign `s`, and the magnitude 0.d times 10^e. All three are
/// NULL if the text spells no finite number. `u` is the text without its sign, `m` its digits with the point, `x` the
/// rest, and `p` the digits of the exponent.
const NUMBER_STEPS: [&str; 5] = [
    "CASE WHEN substr(t, 1, 1) IN ('+', '-') THEN substr(t, 2) ELSE t END AS u",
    "ltrim(u, '0123456789.') AS x",
    "substr(u, 1, length(u) - length(x)) AS m, \
     CASE WHEN substr(x, 2, 1) IN ('+', '-') THEN substr(x, 3) ELSE substr(x, 2) END AS p",
    "CASE WHEN length(replace(m, '.', '')) >= 1 AND length(m) - length(replace(m, '.', '')) <= 1 AND (x = '' OR \
     (substr(x, 1, 1) IN ('e', 'E') AND p <> '' AND ltrim(p, '0123456789') = '')) \
     THEN ltrim(replace(m, '.', ''), '0') END AS l",
    "CASE WHEN l IS NULL THEN NULL WHEN l = '' THEN 0 WHEN substr(t, 1, 1) = '-' THEN -1 ELSE 1 END AS v, \
     rtrim(l, '0') AS d, CASE WHEN l IS NULL THEN NULL ELSE length(m) - length(ltrim(m, '0123456789')) + length(l) \
     - length(replace(m, '.', '')) + CASE WHEN substr(x, 2, 1) = '-' THEN -1 ELSE 1 END * CASE WHEN p = '' THEN 0 \
     WHEN length(ltrim(p, '0')) > 9 THEN 1000000000 ELSE CAST(p AS INTEGER) END END AS e",
];

pub(super) fn write_sqlite(
    computation: &Computation,
    title: &str,
    sink: &mut Sink,
) -> Result<(), Stop> {
    let dialect = dialects::sqlite();
    computation.check_integral(dialect.bits_max)?;
    let mut names = HashSet::new();
    if computation.input_count() <= dialect.columns_max
        && let Some(twice) = computation
            .inputs()
            .find(|input| !names.insert(input.name.to_ascii_lowercase()))
    {
        let name = &twice.name;
        return Err(format!("the column {name:?} and another one differ only in case").into());
    }
    write(computation, title, &dialect, sink)
}

pub(super) fn write_postgresql(
    computation: &Computation,
    title: &str,
    sink: &mut Sink,
) -> Result<(), Stop> {
    let dialect = dialects::postgresql();
    computation.check_integral(dialect.bits_max)?;
    /// The longest name in bytes. PostgreSQL cuts longer ones, and then they could name another column.
    const NAME_BYTES_MAX: usize = 63;
    if let Some(long) = computation
        .inputs()
        .find(|input| input.name.len() > NAME_BYTES_MAX)
    {
        let length = long.name.len();
        return Err(format!(
            "the name of a column has at most {NAME_BYTES_MAX} bytes, and one has {length}"
        )
        .into());
    }
    write(computation, title, &dialect, sink)
}

fn write(
    computation: &Computation,
    title: &str,
    dialect: &Dialect,
    sink: &mut Sink,
) -> Result<(), Stop> {
    let count = computation.input_count();
    if count > dialect.columns_max {
        let most = dialect.columns_max;
        return Err(
            format!("a table has at most {most} columns, and the model has {count}").into(),
        );
    }
    let members = computation.members();
    if members > dialect.columns_max {
        let most = dialect.columns_max;
        return Err(format!(
            "a table has at most {most} columns, and the model has {members} classes"
        )
        .into());
    }
    if let Rows::Names(names) = computation.rows {
        return sql_names::write(computation, names, title, dialect, sink);
    }
    write!(
        sink,
        "-- {title}.\n--\n\
         -- The query adds the column `predicted` to the rows of the table `rows`.\n\
         -- The label is NULL if the model does not know a value of the row.\n\
         SELECT \"rows\".*, (\n  SELECT CASE"
    )?;
    dialect.label(computation, sink)?;
    sink.write_str(" END FROM (\n    SELECT ")?;
    match &computation.scores {
        Scores::Sum(own) => {
            let inputs: Vec<Input> = computation.inputs().collect();
            for (member, sum) in own.iter().enumerate() {
                let constant = (dialect.whole)(&sum.constant);
                begin_column(member, sink)?;
                balanced(0..count + 1, sink, &mut |at, sink| match at {
                    0 => Ok(sink.write_str(&constant)?),
                    _ => weighed(at - 1, &inputs[at - 1], &sum.weights, dialect, sink),
                })?;
                write!(sink, " AS s{member}")?;
            }
            sink.write_str(" FROM (")?;
            codes(computation, dialect, sink)?;
            sink.write_str(") AS cells")?;
        }
        Scores::Kernel(kernel) => of_kernel(computation, kernel, dialect, sink)?,
        Scores::Monomials(_) | Scores::Real(_) => return Err(computation.not_integral().into()),
    }
    sink.write_str(if members > 1 { ONCE } else { "" })?;
    Ok(sink.write_str("\n  ) AS scored\n) AS predicted\nFROM \"rows\";\n")?)
}

fn begin_column(at: usize, sink: &mut Sink) -> std::fmt::Result {
    sink.write_str(if at == 0 { "" } else { ",\n      " })
}

/// Writes the subquery of the codes `c0`, `c1`, ... of the columns.
fn codes(computation: &Computation, dialect: &Dialect, sink: &mut Sink) -> Result<(), Stop> {
    for (at, input) in computation.inputs().enumerate() {
        sink.write_str(if at == 0 { "SELECT" } else { "," })?;
        sink.write_str("\n      ")?;
        code(&input, &computation.missing_words_of(&input), dialect, sink)?;
        write!(sink, " AS c{at}")?;
    }
    Ok(sink.write_str(ONCE)?)
}

/// Writes the sum of the weights of the features that are 1, for each code of a column.
fn weighed(
    at: usize,
    input: &Input,
    weights: &[BigInt],
    dialect: &Dialect,
    sink: &mut Sink,
) -> Result<(), Stop> {
    write!(sink, "CASE c{at}")?;
    let mut when = |code: i64, weight: &BigInt| {
        let weight = (dialect.whole)(weight);
        write!(sink, " WHEN {code} THEN {weight}")
    };
    if let Some(missing) = input.missing {
        when(-1, &weights[missing])?;
    }
    let own = input.features().map(|feature| &weights[feature]);
    if let Cells::Values(_) = input.cells {
        for (code, weight) in own.enumerate() {
            when(code as i64, weight)?;
        }
    } else {
        let mut sum = BigInt::ZERO;
        when(0, &sum)?;
        for (code, weight) in own.enumerate() {
            sum += weight;
            when(code as i64 + 1, &sum)?;
        }
    }
    Ok(sink.write_str(" END")?)
}

/// Writes a subquery with one column per feature, and the score over these columns.
fn of_kernel(
    computation: &Computation,
    kernel: &KernelScores,
    dialect: &Dialect,
    sink: &mut Sink,
) -> Result<(), Stop> {
    let n = computation.n;
    if n > KERNEL_FEATURES_MAX {
        return Err(format!(
            "a kernel has at most {KERNEL_FEATURES_MAX} features, and this one has {n}"
        )
        .into());
    }
    let zero = (dialect.whole)(&BigInt::ZERO);
    for (member, support) in kernel.supports.iter().enumerate() {
        begin_column(member, sink)?;
        balanced(0..support.len() + 1, sink, &mut |at, sink| match at {
            0 => Ok(sink.write_str(&zero)?),
            _ => similarity(n, &support[at - 1], kernel, dialect, sink),
        })?;
        write!(sink, " AS s{member}")?;
    }
    sink.write_str(" FROM (\n      SELECT *, ")?;
    balanced(0..n, sink, &mut |feature, sink| {
        Ok(write!(sink, "b{feature}")?)
    })?;
    sink.write_str(" AS active FROM (")?;
    for (at, input) in computation.inputs().enumerate() {
        let is_value = matches!(input.cells, Cells::Values(_));
        let own = input
            .features()
            .enumerate()
            .map(|(code, feature)| match is_value {
                true => (format!("= {code}"), feature),
                false => (format!("> {code}"), feature),
            });
        let missing = input.missing.map(|missing| ("= -1".to_owned(), missing));
        for (is_one, feature) in own.chain(missing) {
            let before = if feature == 0 { "SELECT" } else { "," };
            write!(
                sink,
                "{before}\n      CAST((c{at} {is_one}) AS INTEGER) AS b{feature}"
            )?;
        }
    }
    sink.write_str(" FROM (")?;
    codes(computation, dialect, sink)?;
    write!(sink, ") AS cells{ONCE}) AS bits{ONCE}) AS counted")?;
    (dialect.kernel_source)(kernel, sink)?;
    Ok(sink.write_str("\n    WHERE active IS NOT NULL")?)
}

/// Writes the labels of a support vector times its kernel with the row.
fn similarity(
    n: usize,
    (ones, net): &Support,
    kernel: &KernelScores,
    dialect: &Dialect,
    sink: &mut Sink,
) -> Result<(), Stop> {
    let shared = Sink::filled(|shared| {
        if kernel.counts_agreements {
            write!(shared, "({} - active + 2 * ", n - ones.len())?;
        }
        balanced(0..ones.len(), shared, &mut |at, shared| {
            Ok(write!(shared, "b{}", ones[at])?)
        })?;
        let end = if kernel.counts_agreements { ")" } else { "" };
        Ok(shared.write_str(end)?)
    })?;
    write!(sink, "{net} * ")?;
    (dialect.kernel)(kernel, &shared, sink)
}

/// Writes an expression for the code of a cell.
fn code(
    input: &Input,
    missing_words: &[&str],
    dialect: &Dialect,
    sink: &mut Sink,
) -> Result<(), Stop> {
    let cell = format!("\"rows\".{}", name(&input.name)?);
    let missing = input.missing.map_or("NULL", |_| "-1");
    let words = missing_words.iter().map(|word| (dialect.literal)(word));
    let words = words.collect::<Result<Vec<_>, _>>()?;
    if let Cells::Values(values) = &input.cells {
        write!(
            sink,
            "CASE {} WHEN '' THEN {missing}",
            (dialect.text)(&cell)
        )?;
        for word in &words {
            write!(sink, " WHEN {word} THEN {missing}")?;
        }
        for (code, value) in values.iter().enumerate() {
            write!(sink, " WHEN {} THEN {code}", (dialect.literal)(value)?)?;
        }
        return Ok(sink.write_str(" END")?);
    }
    write!(
        sink,
        "(SELECT CASE WHEN t IN ('', {}) THEN {missing}",
        words.join(", ")
    )?;
    let at_least = |threshold| {
        let bound = Bound::of(threshold);
        (dialect.or_typed)(">=", threshold, reached(&bound))
    };
    match &input.cells {
        Cells::Flag { off, on, .. } => {
            for (words, code) in [(on, 1), (off, 0)] {
                for word in words {
                    let is = match word {
                        Word::Exact(word) => format!("t = {}", (dialect.literal)(word)?),
                        Word::AnyCase(word) => format!("lower(t) = {}", (dialect.literal)(word)?),
                        Word::Number(number) => {
                            let next = Bound::of(number.next_up());
                            let is = format!(
                                "{} AND NOT {}",
                                reached(&Bound::of(*number)),
                                reached(&next)
                            );
                            (dialect.or_typed)("=", *number, is)
                        }
                    };
                    write!(sink, " WHEN {is} THEN {code}")?;
                }
            }
        }
        Cells::Thresholds(thresholds) => {
            write!(sink, " WHEN {} IS NULL THEN NULL", dialect.known)?;
            for (code, threshold) in thresholds.iter().enumerate() {
                write!(sink, " WHEN NOT {} THEN {code}", at_least(*threshold))?;
            }
            write!(sink, " ELSE {}", thresholds.len())?;
        }
        Cells::Number | Cells::Values(_) => {
            let detail = "a column holds numbers, and only whole features are exact";
            return Err(detail.to_owned().into());
        }
    }
    let text = format!(
        "SELECT {} AS t{}{ONCE}",
        (dialect.text)(&cell),
        (dialect.typed)(&cell)
    );
    let is_number = |word: &Word| matches!(word, Word::Number(_));
    let query = match &input.cells {
        Cells::Flag { off, on, .. } if !off.iter().chain(on).any(is_number) => text,
        _ => numbered(text),
    };
    Ok(write!(sink, " END FROM ({query}) AS cell)")?)
}

/// A query with the sign, the digits and the exponent of the text `t` of a query.
fn numbered(text: String) -> String {
    let step =
        |query: String, step: &&str| format!("SELECT *, {step} FROM ({query}) AS step{ONCE}");
    let read = NUMBER_STEPS.iter().fold(text, step);
    let end = Bound::of(f64::INFINITY);
    let is_infinite = format!("v <> 0 AND (e, d) >= ({}, '{}')", end.exponent, end.digits);
    step(
        read,
        &&*format!("CASE WHEN {is_infinite} THEN NULL ELSE v END AS s"),
    )
}

/// A condition on the sign, the digits and the exponent: the double is at least a threshold.
fn reached(bound: &Bound) -> String {
    let or_equal = if bound.is_included { "=" } else { "" };
    let (exponent, digits) = (bound.exponent, &bound.digits);
    match bound.is_negative {
        true => format!("(s >= 0 OR s < 0 AND (e, d) <{or_equal} ({exponent}, '{digits}'))"),
        false => format!("(s > 0 AND (e, d) >{or_equal} ({exponent}, '{digits}'))"),
    }
}

/// Writes a sum whose depth is the logarithm of the number of terms.
fn balanced(
    terms: std::ops::Range<usize>,
    sink: &mut Sink,
    term: &mut dyn FnMut(usize, &mut Sink) -> Result<(), Stop>,
) -> Result<(), Stop> {
    match terms.len() {
        0 => Ok(sink.write_char('0')?),
        1 => term(terms.start, sink),
        several => {
            let middle = terms.start + several / 2;
            sink.write_char('(')?;
            balanced(terms.start..middle, sink, term)?;
            sink.write_str(" + ")?;
            balanced(middle..terms.end, sink, term)?;
            Ok(sink.write_char(')')?)
        }
    }
}
