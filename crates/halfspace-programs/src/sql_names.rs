//! Programs in SQL over names: a query that gives the label of each row of the table `rows`, which has one line per
//! name of a row.
//!
//! The names that the model knows are part of the query. Lines without a name only say that there is a row. A value
//! that the model does not take makes all scores of its row NULL.

use std::fmt::Write;

use halfspace_formats::Vocabulary;
use num_bigint::{BigInt, BigUint};

use super::computation::Computation;
use super::dialects::Dialect;
use super::scores::{KernelScores, Scores, Sum};
use super::sink::{Sink, Stop};

pub(super) fn write(
    computation: &Computation,
    names: &Vocabulary,
    title: &str,
    dialect: &Dialect,
    sink: &mut Sink,
) -> Result<(), Stop> {
    let name = (dialect.exact)("\"name\"");
    write!(
        sink,
        "-- {title}.\n--\n\
         -- The table `rows` has the columns row, name and value, and one line for each name of an example. A row\n\
         -- without names has one line whose name is NULL. The value is a number; NULL means 1.\n\
         -- The query gives the label of each row. It is NULL if a value is neither 0 nor 1, or if a name has two.\n\
         WITH entries AS (SELECT \"row\", name,\n  \
         CASE WHEN name <> '' AND (low <> high OR high NOT IN (0, 1)) THEN 1 ELSE 0 END AS fault,\n  \
         CASE WHEN name <> '' AND high = 1 THEN 1 ELSE 0 END AS one\n  \
         FROM (SELECT \"row\", {name} AS name,\n    \
         min(coalesce(\"value\", 1)) AS low, max(coalesce(\"value\", 1)) AS high\n    \
         FROM \"rows\" GROUP BY 1, 2) AS lines)"
    )?;
    match &computation.scores {
        Scores::Sum(own) => sums(own, names, dialect, sink)?,
        Scores::Kernel(own) => kernels(own, names, dialect, sink)?,
        Scores::Monomials(_) | Scores::Real(_) => return Err(computation.not_integral().into()),
    }
    sink.write_str("\nSELECT \"row\", CASE")?;
    dialect.label(computation, sink)?;
    Ok(sink.write_str(" END AS predicted FROM scored;\n")?)
}

/// Writes the weights of the known names, and the scores of all rows.
fn sums(
    members: &[Sum],
    names: &Vocabulary,
    dialect: &Dialect,
    sink: &mut Sink,
) -> Result<(), Stop> {
    sink.write_str(",\nknown(name")?;
    (0..members.len()).try_for_each(|member| write!(sink, ", w{member}"))?;
    // No name equals NULL, so the first line stands for no name.
    sink.write_str(") AS (VALUES (CAST(NULL AS text)")?;
    let zero = (dialect.whole)(&BigInt::ZERO);
    members.iter().try_for_each(|_| write!(sink, ", {zero}"))?;
    for (at, name) in names.names().enumerate() {
        write!(sink, "),\n  ({}", (dialect.literal)(name)?)?;
        for own in members {
            write!(sink, ", {}", (dialect.whole)(&own.weights[at]))?;
        }
    }
    sink.write_str(")),\nscored AS (SELECT \"row\"")?;
    for (member, own) in members.iter().enumerate() {
        let constant = (dialect.whole)(&own.constant);
        let unknown = own.weights.last().map(dialect.whole).unwrap_or_default();
        write!(
            sink,
            ",\n  CASE WHEN max(fault) = 0 THEN {constant} + sum(CASE one WHEN 1 THEN coalesce(w{member}, {unknown}) \
             ELSE {zero} END) END AS s{member}"
        )?;
    }
    Ok(sink.write_str(
        "\n  FROM entries LEFT JOIN known ON known.name = entries.name GROUP BY \"row\")",
    )?)
}

/// Writes the support vectors of all members, and the scores of all rows. A vector that shares no name with a row adds
/// the same number to the score of every row.
fn kernels(
    kernel: &KernelScores,
    names: &Vocabulary,
    dialect: &Dialect,
    sink: &mut Sink,
) -> Result<(), Stop> {
    let whole = |number: &BigUint| BigInt::from(number.clone());
    let none = kernel.values.first().map(whole).unwrap_or_default();
    sink.write_str(",\nkernel(shared, excess) AS (VALUES ")?;
    let excess = kernel.values.iter().enumerate();
    let excess = excess.map(|(shared, value)| {
        let excess = (dialect.whole)(&(whole(value) - &none));
        format!("({shared}, {excess})")
    });
    sink.list(excess)?;
    sink.write_str("),\nvectors(vector, member, net) AS (VALUES (-1, 0, 0)")?;
    let all = || {
        let own = kernel.supports.iter().enumerate();
        own.flat_map(|(member, own)| own.iter().map(move |vector| (member, vector)))
    };
    for (vector, (member, (_, net))) in all().enumerate() {
        write!(sink, ",\n  ({vector}, {member}, {net})")?;
    }
    sink.write_str("),\nones(vector, name) AS (VALUES (-1, CAST(NULL AS text))")?;
    for (vector, (_, (ones, _))) in all().enumerate() {
        for name in ones.iter().filter_map(|one| names.name(*one)) {
            write!(sink, ",\n  ({vector}, {})", (dialect.literal)(name)?)?;
        }
    }
    sink.write_str(
        "),\nmet AS (SELECT \"row\", vector, count(*) AS shared FROM entries JOIN ones ON ones.name = entries.name\n  \
         WHERE one = 1 GROUP BY \"row\", vector),\nexcesses AS (SELECT \"row\" AS of_row",
    )?;
    let members = 0..kernel.supports.len();
    for member in members.clone() {
        write!(
            sink,
            ",\n  sum(CASE member WHEN {member} THEN net * excess END) AS e{member}"
        )?;
    }
    sink.write_str(
        "\n  FROM met JOIN vectors ON vectors.vector = met.vector JOIN kernel ON kernel.shared = met.shared\n  \
         GROUP BY \"row\"),\nscored AS (SELECT \"row\"",
    )?;
    let zero = (dialect.whole)(&BigInt::ZERO);
    for (member, support) in kernel.supports.iter().enumerate() {
        let nets = support.iter().map(|(_, net)| BigInt::from(*net));
        let base = (dialect.whole)(&(nets.sum::<BigInt>() * &none));
        write!(
            sink,
            ",\n  CASE fault WHEN 0 THEN {base} + coalesce(e{member}, {zero}) END AS s{member}"
        )?;
    }
    Ok(sink.write_str(
        "\n  FROM (SELECT \"row\", max(fault) AS fault FROM entries GROUP BY \"row\") AS every\n  \
         LEFT JOIN excesses ON of_row = \"row\")",
    )?)
}
