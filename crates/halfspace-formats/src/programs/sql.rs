//! Programs in SQL: a query that adds the column `predicted` to the table `rows`.
//!
//! A cell is read as text. A cell without features makes the score NULL, and then the label is NULL too. Sums are
//! balanced, because the depth of an expression is limited.

use num_bigint::{BigInt, BigUint};

use super::computation::{Cells, Computation, Input, KernelScore, Score, Word};
use crate::tables::cell::MISSING;

/// The most features of a kernel. Each feature is a column of a subquery.
const KERNEL_FEATURES_MAX: usize = 1_000;

/// The parts of SQL that the databases write differently.
struct Dialect {
    /// Strips white space around the text of a cell.
    trimmed: fn(&str) -> String,
    /// The number in a cell, from the cell and its text. NULL for other cells.
    number: fn(&str, &str) -> String,
    /// A literal of a whole number.
    whole: fn(&BigInt) -> String,
    /// Kernel values by an expression for the count.
    kernel: fn(&KernelScore, &str) -> String,
    /// Source of the kernel values beside the features, if any.
    kernel_source: fn(&KernelScore) -> String,
    /// The end of a subquery whose columns are computed once per row. PostgreSQL would otherwise put the expression of
    /// a column in each place that names the column.
    computed_once: &'static str,
}

pub(super) fn write_sqlite(computation: &Computation, title: &str) -> Result<String, String> {
    computation.check_integral(63)?;
    let dialect = Dialect {
        trimmed: |cell| {
            format!("trim(coalesce(CAST({cell} AS TEXT), ''), char(9, 10, 12, 13, 32))")
        },
        // Text is a number by the grammar of JSON. A number beyond the doubles is not finite.
        number: |cell, text| {
            let real = format!("CAST({text} AS REAL)");
            format!(
                "CASE WHEN abs({real}) > {max:e} THEN NULL WHEN typeof({cell}) IN ('integer', 'real') THEN {real} \
                 WHEN json_valid({text}) THEN CASE WHEN json_type({text}) IN ('integer', 'real') THEN {real} END END",
                max = f64::MAX
            )
        },
        whole: BigInt::to_string,
        kernel: |kernel, count| match kernel.is_power {
            true => format!("(1 << ({count}))"),
            false => {
                let values = kernel.values.iter().enumerate();
                let values = values.map(|(count, value)| format!("WHEN {count} THEN {value}"));
                format!("CASE {count} {} END", values.collect::<Vec<_>>().join(" "))
            }
        },
        kernel_source: |_| String::new(),
        computed_once: "",
    };
    write(computation, title, &dialect)
}

pub(super) fn write_postgresql(computation: &Computation, title: &str) -> Result<String, String> {
    if computation.largest_sum().is_none() {
        return Err(computation.not_integral());
    }
    let dialect = Dialect {
        trimmed: |cell| format!("btrim(coalesce(CAST({cell} AS text), ''), E' \\t\\n\\f\\r')"),
        // A cast to doubles beyond their range would end the query, and numeric has exponents of three digits.
        number: |_, text| {
            let pattern = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$";
            let numeric = format!("CAST({text} AS numeric)");
            format!(
                "CASE WHEN {text} ~ '{pattern}' THEN CASE WHEN {numeric} = 0 \
                 OR abs({numeric}) BETWEEN 1e-300 AND 1e308 THEN CAST({text} AS double precision) END END"
            )
        },
        whole: |number| format!("{number}::numeric"),
        kernel: |_, count| format!("kernel.value[1 + {count}]"),
        kernel_source: |kernel| {
            let values: Vec<_> = kernel.values.iter().map(BigUint::to_string).collect();
            format!(
                ", (SELECT ARRAY[{}]::numeric[] AS value) AS kernel",
                values.join(", ")
            )
        },
        computed_once: " OFFSET 0",
    };
    write(computation, title, &dialect)
}

fn write(computation: &Computation, title: &str, dialect: &Dialect) -> Result<String, String> {
    let score = match &computation.score {
        Score::Sum { weights, constant } => {
            let value = |features: &[usize]| {
                let sum: BigInt = features.iter().map(|&feature| &weights[feature]).sum();
                (dialect.whole)(&sum)
            };
            let mut terms = vec![(dialect.whole)(constant)];
            for input in &computation.inputs {
                terms.push(case(input, &value, dialect)?);
            }
            format!("SELECT {} AS score", balanced(&terms))
        }
        Score::Kernel(kernel) => of_kernel(computation, kernel, dialect)?,
        Score::Monomials(_) | Score::Real { .. } => return Err(computation.not_integral()),
    };
    let [negative, positive] = &computation.classes;
    let head = format!(
        "-- {title}.\n--\n\
         -- The query adds the column `predicted` to the rows of the table `rows`.\n\
         -- The label is NULL if the model does not know a value of the row.\n"
    );
    let label = format!(
        "CASE WHEN score >= 0 THEN {} WHEN score < 0 THEN {} END",
        text(positive)?,
        text(negative)?
    );
    Ok(format!(
        "{head}SELECT \"rows\".*, (\n  SELECT {label} FROM (\n    {score}\n  ) AS scored\n) AS predicted\n\
         FROM \"rows\";\n"
    ))
}

/// A subquery with one column per feature, and the score over these columns.
fn of_kernel(
    computation: &Computation,
    kernel: &KernelScore,
    dialect: &Dialect,
) -> Result<String, String> {
    if computation.n > KERNEL_FEATURES_MAX {
        return Err(format!(
            "a kernel has at most {KERNEL_FEATURES_MAX} features, and this one has {}",
            computation.n
        ));
    }
    let mut bits = vec![String::new(); computation.n];
    for input in &computation.inputs {
        for feature in input.features() {
            let value = |ones: &[usize]| u8::from(ones.contains(&feature)).to_string();
            bits[feature] = format!("{} AS b{feature}", case(input, &value, dialect)?);
        }
    }
    let columns = |features: &[usize]| -> Vec<String> {
        features
            .iter()
            .map(|feature| format!("b{feature}"))
            .collect()
    };
    let all: Vec<usize> = (0..computation.n).collect();
    let term = |(ones, net): &(Vec<usize>, i64)| {
        let shared = match ones.is_empty() {
            true => "0".to_owned(),
            false => balanced(&columns(ones)),
        };
        let count = match kernel.counts_agreements {
            true => format!("({} - active + 2 * {shared})", computation.n - ones.len()),
            false => shared,
        };
        format!("{net} * {}", (dialect.kernel)(kernel, &count))
    };
    let mut terms = vec![(dialect.whole)(&BigInt::ZERO)];
    terms.extend(kernel.support.iter().map(term));
    let counted = format!(
        "SELECT *, {} AS active FROM (\n        SELECT {}{once}\n      ) AS bits{once}",
        balanced(&columns(&all)),
        bits.join(",\n          "),
        once = dialect.computed_once
    );
    Ok(format!(
        "SELECT {} AS score FROM (\n      {counted}\n    ) AS counted{}\n    WHERE active IS NOT NULL",
        balanced(&terms),
        (dialect.kernel_source)(kernel)
    ))
}

/// An expression for a value of the features of a cell that are 1. NULL for a cell without features.
fn case(
    input: &Input,
    value: &dyn Fn(&[usize]) -> String,
    dialect: &Dialect,
) -> Result<String, String> {
    let cell = format!("\"rows\".{}", name(&input.name)?);
    let own_text = (dialect.trimmed)(&cell);
    let first = input.first;
    let missing = input.missing.map(|missing| value(&[missing]));
    let missing_words: Vec<_> = MISSING
        .iter()
        .map(|word| format!("'{}'", String::from_utf8_lossy(word)))
        .collect();
    let missing_words = format!("'', {}", missing_words.join(", "));
    let missing = missing.unwrap_or_else(|| "NULL".to_owned());
    let mut whens = vec![format!(
        "WHEN {own_text} IN ({missing_words}) THEN {missing}"
    )];
    let number = (dialect.number)(&cell, &own_text);
    match &input.cells {
        Cells::Values(values) => {
            let mut case = format!("CASE {own_text}");
            for word in missing_words
                .split(", ")
                .filter(|_| input.missing.is_some())
            {
                case += &format!(" WHEN {word} THEN {missing}");
            }
            for (at, own) in values.iter().enumerate() {
                case += &format!(" WHEN {} THEN {}", text(own)?, value(&[first + at]));
            }
            return Ok(case + " END");
        }
        Cells::Flag { off, on, .. } => {
            for (words, value) in [(on, value(&[first])), (off, value(&[]))] {
                for word in words {
                    whens.push(match word {
                        Word::Exact(word) => {
                            format!("WHEN {own_text} = {} THEN {value}", text(word)?)
                        }
                        Word::AnyCase(word) => {
                            format!("WHEN lower({own_text}) = {} THEN {value}", text(word)?)
                        }
                        Word::Number(word) => format!("WHEN {number} = {word:?} THEN {value}"),
                    });
                }
            }
        }
        Cells::Thresholds(thresholds) => {
            for (at, threshold) in thresholds.iter().enumerate().rev() {
                let ones: Vec<usize> = (first..=first + at).collect();
                whens.push(format!(
                    "WHEN {number} >= {threshold:?} THEN {}",
                    value(&ones)
                ));
            }
            whens.push(format!("WHEN {number} IS NOT NULL THEN {}", value(&[])));
        }
        Cells::Number => {
            return Err("a column holds numbers, and only whole features are exact".to_owned());
        }
    }
    Ok(format!("CASE {} END", whens.join(" ")))
}

/// A sum whose depth is the logarithm of the number of terms.
fn balanced(terms: &[String]) -> String {
    match terms {
        [] => "0".to_owned(),
        [term] => term.clone(),
        several => {
            let (first, second) = several.split_at(several.len() / 2);
            format!("({} + {})", balanced(first), balanced(second))
        }
    }
}

fn text(text: &str) -> Result<String, String> {
    quoted(text, '\'')
}

fn name(name: &str) -> Result<String, String> {
    quoted(name, '"')
}

fn quoted(text: &str, quote: char) -> Result<String, String> {
    if text.contains('\0') {
        return Err("a text contains the character U+0000".to_owned());
    }
    let doubled = text.replace(quote, &format!("{quote}{quote}"));
    Ok(format!("{quote}{doubled}{quote}"))
}
