//! Bodies that expand to more memory than their budget has, and tables of many columns.

use halfspace_core::memory::MemoryBudget;

use super::*;
use crate::readers::json::from_reader;
use crate::{ContentCoding, DataForm, KindName, Numbers, TableOptions, decoder};

/// The budget of a body. A second number says how much more a reader may take before its next call that asks.
const BUDGET: u64 = 24 << 20;
const BEYOND: u64 = 3 << 20;

/// The numbers 2 and 3 in `columns` columns, after a label.
fn two_rows(columns: usize) -> String {
    format!("0{}\n1{}\n", ",2".repeat(columns), ",3".repeat(columns))
}

/// Names of columns, the first of which is the label.
fn named(columns: usize, between: &str) -> String {
    let names: Vec<String> = (0..columns).map(|at| format!("{at}c")).collect();
    let rows = [",a", ",b"].map(|cell| cell.replace(',', between).repeat(columns));
    let names = names.join(between);
    format!("y{between}{names}\n0{}\n1{}\n", rows[0], rows[1])
}

fn nominal(attributes: usize) -> String {
    let declared = |at: usize| format!("@attribute a{at} {{a,b}}\n");
    let all: String = (0..attributes).map(declared).collect();
    format!("@relation r\n{all}@attribute class {{0,1}}\n@data\n{{}}\n{{{attributes} 1}}\n")
}

fn thermometers(bins: u32) -> Options {
    Options {
        header: Header::False,
        labels: Some(LabelsColumn::First),
        table: TableOptions {
            numbers: Numbers::Thermometer,
            bins: Some(bins),
            ..TableOptions::default()
        },
        ..Options::default()
    }
}

/// Reads a compressed body within the budget. Returns the outcome and the peak of the memory.
fn measured(format: Format, body: &str, options: &Options) -> (Result<(), FormatError>, u64) {
    let body = zstd::encode_all(body.as_bytes(), 1).expect("memory");
    let budget = MemoryBudget::new(BUDGET / 7 * 8);
    let grant = budget.try_take(0).expect("room");
    let outcome = grant.within(|| {
        let mut reader = decoder(ContentCoding::Zstd, body.as_slice(), &options.limits)?;
        match format {
            Format::Json => match from_reader(&mut reader, &options.limits)? {
                DataForm::Rows(rows) => rows.parse(options, None).map(drop),
                _ => Ok(()),
            },
            _ => crate::parse(format, &mut reader, options).map(drop),
        }
    });
    (outcome, grant.peak())
}

#[test]
fn bodies_of_many_columns_take_no_more_than_their_budget() {
    let first = Options {
        labels: Some(LabelsColumn::First),
        ..Options::default()
    };
    let members: Vec<String> = (0..300_000).map(|at| format!("\"{at}\":0")).collect();
    let long = "n".repeat(1 << 20);
    let rows: String = (0..300)
        .map(|row| format!("{},{row}.5\n", row % 2))
        .collect();
    let named_numbers = Options {
        header: Header::True,
        ..thermometers(255)
    };
    for (what, format, body, options) in [
        ("names", Format::Csv, named(150_000, ","), &first),
        ("tabs", Format::Tsv, named(150_000, "\t"), &first),
        ("no names", Format::Csv, two_rows(300_000), &thermometers(1)),
        (
            "thermometers",
            Format::Csv,
            two_rows(120_000),
            &thermometers(8),
        ),
        (
            "a long name",
            Format::Csv,
            format!("y,{long}\n{rows}"),
            &named_numbers,
        ),
        (
            "attributes",
            Format::Arff,
            nominal(60_000),
            &Options::default(),
        ),
        (
            "members",
            Format::Json,
            format!("{{\"rows\":[{{{}}}]}}", members.join(",")),
            &first,
        ),
        (
            "a line",
            Format::Ndjson,
            format!("{{\"x\":\"{}", "01".repeat(12 << 20)),
            &first,
        ),
    ] {
        let (outcome, peak) = measured(format, &body, options);
        assert!(outcome.is_err(), "{what}");
        assert!(peak <= BUDGET + BEYOND, "{what}: {peak}");
        if format != Format::Json {
            let kind = outcome.expect_err("refused").kind;
            assert!(
                matches!(kind, FormatErrorKind::NoMemory(_)),
                "{what}: {kind:?}"
            );
        }
    }
}

#[test]
fn columns_times_bins_are_refused_before_the_thresholds_are_sought() {
    let (refused, peak) = measured(Format::Csv, &two_rows(9_000), &thermometers(255));
    let error = refused.expect_err("too many features");
    let (limit, value) = ("n_max", 1 << 20);
    assert_eq!(error.kind, FormatErrorKind::TooLarge { limit, value });
    assert!(
        error
            .detail
            .contains("9000 columns of numbers with 255 bins"),
        "{error}"
    );
    assert!(peak < 20 << 20, "{peak}");
    // Three numbers are kept as they are, whatever the number of bins.
    let rows = format!("{}1{}\n", two_rows(4_000), ",4".repeat(4_000));
    let (read, peak) = measured(Format::Csv, &rows, &thermometers(255));
    assert_eq!(read, Ok(()));
    assert!(peak < 24 << 20, "{peak}");
}

/// The instruction counts show that each search is one pass over the columns: see the work `stated_columns`.
#[test]
fn stated_columns_are_found_in_one_pass() {
    const COLUMNS: usize = 30_000;
    let names = (0..COLUMNS).map(|at| format!("{at}c"));
    let options = |kind: KindName, ignore: Vec<String>| Options {
        labels: Some(LabelsColumn::First),
        table: TableOptions {
            kinds: names.clone().map(|name| (name, kind)).collect(),
            ignore,
            ..TableOptions::default()
        },
        ..Options::default()
    };
    let table = named(COLUMNS, ",");
    let stated = options(KindName::Nominal, Vec::new());
    let parsed = parse(Format::Csv, table.as_bytes(), &stated).expect("a table");
    let ignored = options(KindName::Ignored, names.clone().skip(1).collect());
    parse(Format::Csv, table.as_bytes(), &ignored).expect_err("no features");
    // The columns of an encoding are found by their names in another order.
    let given = Options {
        table: TableOptions {
            encoding: parsed.table,
            ..TableOptions::default()
        },
        ..Options::default()
    };
    let reversed: Vec<String> = names.clone().rev().collect();
    let row = ",a".repeat(COLUMNS);
    let reordered = format!("y,{}\n0{row}\n", reversed.join(","));
    parse(Format::Csv, reordered.as_bytes(), &given).expect("the same columns");
}

#[test]
fn texts_take_no_more_than_their_budget() {
    let words = |count: usize| {
        (0..count)
            .map(|at| format!("word{at} "))
            .collect::<String>()
    };
    let line = |text: &str| format!("{{\"x\":{{\"text\":\"{text}\"}},\"y\":1}}\n");
    let names: Vec<String> = (0..1400)
        .map(|at| format!("\"{at}{}\"", "n".repeat(500)))
        .collect();
    for (what, query, body) in [
        ("sequences of words", "words=1-8", line(&words(200_000))),
        (
            "sequences of characters",
            "characters=1-8",
            line(&words(200_000)),
        ),
        ("repeated words", "words=8", line(&"a ".repeat(6 << 20))),
        (
            "conjunctions",
            "conjunctions=2",
            format!("{{\"x\":[{}],\"y\":1}}\n", names.join(",")),
        ),
    ] {
        let mut options = Options::default();
        let (name, text) = query.split_once('=').expect("an option");
        options.set(name, text).expect("a value");
        let (outcome, peak) = measured(Format::Ndjson, &body, &options);
        let kind = outcome.expect_err(what).kind;
        assert!(
            matches!(kind, FormatErrorKind::NoMemory(_)),
            "{what}: {kind:?}"
        );
        assert!(peak <= BUDGET + BEYOND, "{what}: {peak}");
    }
}
