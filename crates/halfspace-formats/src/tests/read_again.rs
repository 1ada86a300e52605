//! A table that was read once gives the same features and labels when it is read again under its encoding, as a whole
//! and row by row.
//!
//! If a value would be read differently, it is refused, and the message names the option that helps.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::{KindName, Missing, Numbers, TableEncoding, TableOptions};

/// Spellings that readers of numbers and words treat differently.
const CELLS: [&str; 44] = [
    "0",
    "1",
    "-1",
    "+1",
    "01",
    "007",
    " 07 ",
    " 5",
    "0x10",
    "1_000",
    "\u{661}",
    "-0",
    "+0",
    ".5",
    "5.",
    "1e3",
    "1E3",
    "1e400",
    "-1e400",
    "Infinity",
    "inf",
    "NaN",
    "nan",
    "NA",
    "?",
    "",
    "N/A",
    "-",
    "null",
    "true",
    "TRUE",
    "f",
    "no",
    "yes",
    "x",
    "a b",
    "2.0",
    "2",
    "1.50",
    "9007199254740993",
    "3",
    "4",
    "0.5",
    "é",
];

/// The values of the rows, and the labels.
fn values(parsed: &Parsed) -> (Vec<Vec<f64>>, String) {
    let row = |row: usize| match parsed.data.features().packed().expect("memory") {
        DenseFeatures::Boolean(matrix) => {
            let bits = matrix.row(row).to_bit_string();
            let bit = |bit| {
                if bit == '1' {
                    1.0
                } else {
                    parsed.zero_bit_value
                }
            };
            bits.chars().map(bit).collect()
        }
        DenseFeatures::Real(matrix) => matrix.row(row).to_vec(),
    };
    let rows = (0..parsed.data.examples()).map(row).collect();
    (rows, labels(&parsed.data))
}

/// Rows as a body of the format, the label last.
fn body(format: Format, header: Header, table: &[Vec<&str>]) -> String {
    let names = |row: &[&str]| {
        let names = (1..row.len()).map(|at| format!("c{at}"));
        names.chain(["class".to_owned()]).collect::<Vec<_>>()
    };
    let mark = if format == Format::Tsv { "\t" } else { "," };
    let mut text = String::new();
    if header == Header::True && format != Format::Ndjson {
        text += &format!("{}\n", names(&table[0]).join(mark));
    }
    for row in table {
        let line = match format {
            Format::Ndjson => {
                let cells = names(row).into_iter().zip(row);
                let cells = cells.map(|(name, cell)| format!("{name:?}: {cell:?}"));
                format!("{{{}}}", cells.collect::<Vec<_>>().join(", "))
            }
            _ => row.join(mark),
        };
        text += &format!("{line}\n");
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn training_tables_are_read_again_by_their_encoding(
        pools in prop::collection::vec(prop::collection::vec(0..CELLS.len(), 1..6), 1..4),
        picks in prop::collection::vec((prop::collection::vec(any::<prop::sample::Index>(), 3), any::<bool>()), 1..12),
        format in prop::sample::select(vec![Format::Csv, Format::Tsv, Format::Ndjson]),
        header in prop::sample::select(vec![Header::True, Header::False]),
        numbers in prop::sample::select(vec![Numbers::Real, Numbers::Thermometer]),
        missing in prop::sample::select(vec![None, Some(Missing::Drop)]),
    ) {
        let row = |(picks, label): &(Vec<prop::sample::Index>, bool)| {
            let cells = pools.iter().zip(picks).map(|(pool, pick)| CELLS[pool[pick.index(pool.len())]]);
            cells.chain([if *label { "q" } else { "p" }]).collect::<Vec<_>>()
        };
        let table: Vec<Vec<&str>> = picks.iter().map(row).collect();
        let header = if format == Format::Ndjson { Header::Auto } else { header };
        let named = format == Format::Ndjson || header == Header::True;
        let options = Options {
            labels: Some(if named { LabelsColumn::Named("class".to_owned()) } else { LabelsColumn::Last }),
            header,
            table: TableOptions { numbers, missing, ..TableOptions::default() },
            ..Options::default()
        };
        let read = |table: &[Vec<&str>], options: &Options| {
            let header = if named { Header::True } else { Header::False };
            parse(format, body(format, header, table).as_bytes(), options)
        };
        // A refusal is fine too, if it names a way out.
        let trained = match read(&table, &options) {
            Ok(trained) => trained,
            Err(error) => {
                prop_assert!(error.detail.contains('`') || error.detail.contains("at least one"), "{}", error);
                return Ok(());
            }
        };
        let mut again = options.clone();
        again.table = TableOptions {
            encoding: trained.table.clone(),
            missing,
            ..TableOptions::default()
        };
        let reread = read(&table, &again);
        prop_assert!(reread.is_ok(), "{:?}: {:?}", table, reread);
        prop_assert_eq!(values(&reread.unwrap()), values(&trained));
        let alone = Options { labels: Some(LabelsColumn::None), ..again };
        let mut rows = values(&trained).0.into_iter();
        for row in &table {
            let row = &row[..row.len() - 1];
            let Ok(one) = read(&[row.iter().copied().chain(["p"]).collect()], &alone) else {
                // The row was left out.
                prop_assert!(missing.is_some(), "{row:?}");
                continue;
            };
            prop_assert_eq!(&values(&one).0[0], &rows.next().unwrap());
        }
    }
}

/// Reads a table of comma-separated values and returns it with its encoding.
fn table(body: &str, options: &Options) -> (Parsed, TableEncoding) {
    let parsed = parse(Format::Csv, body.as_bytes(), options)
        .unwrap_or_else(|error| panic!("{body}: {error}"));
    let table = parsed.table.clone().expect("a table");
    (parsed, Arc::unwrap_or_clone(table))
}

/// The options of a query.
fn query(pairs: &[(&str, &str)]) -> Options {
    let mut options = Options::default();
    for (name, text) in pairs {
        assert_eq!(options.set(name, text), Ok(true), "{name}");
    }
    options
}

fn like(encoding: TableEncoding) -> Options {
    Options {
        table: TableOptions {
            encoding: Some(encoding.into()),
            ..TableOptions::default()
        },
        ..Options::default()
    }
}

fn refusal(format: Format, body: &[u8], options: &Options) -> FormatError {
    let shown = String::from_utf8_lossy(body).into_owned();
    parse(format, body, options).expect_err(&shown)
}

#[test]
fn numbers_with_a_leading_zero_are_read_again() {
    let body = "label,month,w\n1,01,2.5\n0,07,1\n1,12,3\n0,08,0\n";
    let (trained, encoding) = table(body, &Options::default());
    let (again, _) = table(body, &like(encoding.clone()));
    assert_eq!(values(&again), values(&trained));
    let mut options = like(encoding);
    options.labels = Some(LabelsColumn::None);
    let rows = r#"{"rows": [{"month": "01", "w": 2.5}]}"#;
    let row = parse(Format::Json, rows.as_bytes(), &options).unwrap();
    assert_eq!(values(&row).0, [[1.0, 2.5]]);
    // A model without an encoding reads the same numbers.
    let mut plain = query(&[("labels", "none")]);
    plain.table.numbers_only = true;
    assert_eq!(
        values(&parse(Format::Csv, "01,2.5\n".as_bytes(), &plain).unwrap()).0,
        [[1.0, 2.5]]
    );
}

#[test]
fn boolean_column_refuses_a_new_value_in_any_row() {
    for (body, strange, remedy) in [
        ("a,b,class\n0,1,1\n1,0,0\n", [-1, 1], "`unknown=zero`"),
        ("a,b,class\n-1,1,1\n1,-1,0\n", [0, 1], "`unknown=zero`"),
        ("a,b,class\n0,0.5,1\n1,0,0\n", [-1, 1], "`kinds=`"),
    ] {
        let (_, encoding) = table(body, &Options::default());
        let mut options = like(encoding);
        options.labels = Some(LabelsColumn::None);
        let [a, b] = strange;
        let one = format!(r#"{{"rows": [{{"a": {a}, "b": {b}}}]}}"#);
        let two = format!(r#"{{"rows": [{{"a": 1, "b": 1}}, {{"a": {a}, "b": {b}}}]}}"#);
        let line = format!("{{\"a\": {a}, \"b\": {b}}}\n");
        let (csv, tsv) = (format!("a,b\n{a},{b}\n"), format!("a\tb\n{a}\t{b}\n"));
        for (format, body) in [
            (Format::Json, one),
            (Format::Json, two),
            (Format::Ndjson, line),
            (Format::Csv, csv),
            (Format::Tsv, tsv),
        ] {
            let error = refusal(format, body.as_bytes(), &options);
            assert!(
                error.detail.contains("does not know the value"),
                "{body}: {error}"
            );
            assert!(error.detail.contains(remedy), "{error}");
        }
    }
}

#[test]
fn real_number_changes_the_kind_of_its_column_alone() {
    let kinds = |body: &str| {
        let (_, encoding) = table(body, &Options::default());
        let kind = |column: &crate::ColumnEncoding| column.kind.name();
        encoding.columns.iter().map(kind).collect::<Vec<_>>()
    };
    let bits = [KindName::Boolean, KindName::Boolean];
    assert_eq!(kinds("a,b,class\n0,1,1\n1,0,0\n"), bits);
    let mixed = [KindName::Boolean, KindName::Number];
    assert_eq!(kinds("a,b,class\n0,1,1\n1,1e-9,0\n"), mixed);
    // The rows up to the end of the first block and those after it.
    let body = format!("a,b,class\n{}1,1e-9,0\n", "0,1,1\n".repeat(200));
    assert_eq!(kinds(&body), mixed);
    let body = format!("a,b,class\n0,1e-9,1\n{}2,0,0\n", "0,1,1\n".repeat(200));
    assert_eq!(kinds(&body), [KindName::Number, KindName::Number]);
}

#[test]
fn a_column_that_counts_the_rows_is_ignored_also_if_rows_are_left_out() {
    let body = ",a,b,label\n0,1,1,1\n1,?,0,0\n2,0,1,1\n3,0,0,0\n4,1,0,0\n";
    let drop = query(&[("missing", "drop")]);
    let (trained, encoding) = table(body, &drop);
    assert_eq!(encoding.ignored[0].why, "the column counts the rows");
    assert_eq!(
        (values(&trained).0.len(), encoding.missing.rows_dropped),
        (4, 1)
    );
    let mut again = like(encoding);
    again.table.missing = Some(Missing::Drop);
    assert_eq!(values(&table(body, &again).0), values(&trained));
    let objects = "{\"\": 0, \"a\": 1, \"label\": 1}\n\
                   {\"\": 1, \"a\": \"?\", \"label\": 0}\n{\"\": 2, \"a\": 0, \"label\": 0}\n";
    for (format, body) in [
        (Format::Tsv, body.replace(',', "\t")),
        (Format::Ndjson, objects.to_owned()),
    ] {
        let parsed = parse(format, body.as_bytes(), &drop).unwrap();
        assert_eq!(parsed.table.unwrap().ignored.len(), 1, "{body}");
    }
}

#[test]
fn a_first_column_that_counts_the_rows_is_ignored_without_names() {
    let last = query(&[("labels", "last"), ("header", "false")]);
    let body = "1,5,x\n2,6,x\n3,4,y\n4,8,y\n";
    let (trained, encoding) = table(body, &last);
    assert_eq!((encoding.ignored[0].index, encoding.columns.len()), (1, 1));
    let mut again = like(encoding);
    again.header = Header::False;
    assert_eq!(values(&table(body, &again).0), values(&trained));
    // Two rows may be bits, and a number that is left out or stated is a feature.
    for body in ["0,5,x\n1,6,y\n", "1,5,x\n2,6,x\n3,4,y\n5,8,y\n"] {
        assert_eq!(table(body, &last).1.ignored, [], "{body}");
    }
    let stated = query(&[
        ("labels", "last"),
        ("header", "false"),
        ("kinds", "1:number"),
    ]);
    assert_eq!(table(body, &stated).1.ignored, []);
    let wide: String = (1..400)
        .map(|row| format!("{row},{},{}\n", row % 7, row % 2))
        .collect();
    assert_eq!(table(&wide, &last).1.ignored.len(), 1);
}

#[test]
fn columns_without_names_are_called_column_n_in_options() {
    let options = query(&[
        ("header", "false"),
        ("labels", "last"),
        ("kinds", "column_2:nominal"),
    ]);
    let (_, encoding) = table("7,5,x\n2,6,x\n3,4,y\n", &options);
    assert_eq!(encoding.columns[1].kind.name(), KindName::Nominal);
    let options = query(&[
        ("header", "false"),
        ("labels", "column_3"),
        ("ignore", "column_1"),
    ]);
    assert_eq!(table("7,5,x\n2,6,x\n3,4,y\n", &options).1.columns.len(), 1);
}

#[test]
fn tables_without_header_need_the_option_labels() {
    for (format, body) in [
        (Format::Csv, "1,0.5,0\n0,0.7,1\n1,0.1,1\n"),
        (Format::Tsv, "1\t0.5\t0\n0\t0.7\t1\n"),
    ] {
        let error = crate::parse(format, body.as_bytes(), &Options::default()).expect_err(body);
        assert_eq!(error.kind, FormatErrorKind::TableOption);
        for remedy in [
            "`labels=first`",
            "`labels=last`",
            "`labels=2`",
            "`header=true`",
        ] {
            assert!(error.detail.contains(remedy), "{error}");
        }
    }
    let options = query(&[("labels", "first")]);
    assert_eq!(labels(&table("1,0.5,0\n0,0.7,1\n", &options).0.data), "10");
}

#[test]
fn bytes_that_are_no_utf_8_are_never_a_name() {
    let classes = b"a,class\n1,M\xfcller\n2,M\xf6ller\n";
    let value = b"a,class\nM\xfcller,1\nx,0\n";
    let name = b"M\xfcller,class\n1,1\n0,0\n";
    let declared = b"@relation r\n@attribute a numeric\n@attribute class {M\xfcller,M\xf6ller}\n\
                     @data\n1,M\xfcller\n2,M\xf6ller\n";
    let attribute =
        b"@relation r\n@attribute M\xfcller numeric\n@attribute class {x,y}\n@data\n1,x\n2,y\n";
    let nominal =
        b"@relation r\n@attribute a {M\xfcller,y}\n@attribute class {x,y}\n@data\ny,x\ny,y\n";
    let unix = |body: &[u8]| {
        body.iter()
            .map(|&byte| if byte == b',' { b'\t' } else { byte })
            .collect::<Vec<u8>>()
    };
    for (format, body, place) in [
        (Format::Csv, classes.to_vec(), at(2, 3)),
        (Format::Csv, value.to_vec(), at(2, 1)),
        (Format::Csv, name.to_vec(), at(1, 1)),
        (Format::Tsv, unix(classes), at(2, 3)),
        (Format::Tsv, unix(value), at(2, 1)),
        (Format::Arff, declared.to_vec(), at(3, 12)),
        (Format::Arff, attribute.to_vec(), at(2, 12)),
        (Format::Arff, nominal.to_vec(), at(2, 12)),
    ] {
        let error = refusal(format, &body, &Options::default());
        assert_eq!(error.place, Some(place), "{error}");
        let told = ["byte 2 is 0xFC", "`charset=windows-1252`", "`M\\xfcller`"];
        assert!(
            told.iter().all(|told| error.detail.contains(told)),
            "{error}"
        );
        assert!(!error.detail.contains('\u{fffd}'), "{error}");
    }
    let lines = b"{\"a\": \"M\xfcller\", \"class\": 1}\n";
    assert_eq!(
        refusal(Format::Ndjson, lines, &Options::default()).kind,
        FormatErrorKind::Schema
    );
}

#[test]
fn a_few_words_in_a_column_of_numbers_need_an_option() {
    let body = "w,class\n1.5,no\n2.5,no\nn/k,no\n8.5,yes\n9.5,yes\n";
    let error = refusal(Format::Csv, body.as_bytes(), &Options::default());
    assert_eq!(error.kind, FormatErrorKind::TableOption);
    for told in [
        "4 numbers beside other cells (1)",
        "`n/k` in row 3",
        "`missing_values=n/k`",
        "`kinds=`",
        "`ignore=w`",
    ] {
        assert!(error.detail.contains(told), "{error}");
    }
    let drop = query(&[("missing_values", "n/k"), ("missing", "drop")]);
    let (trained, encoding) = table(body, &drop);
    assert_eq!(
        (values(&trained).0.len(), encoding.columns[0].kind.name()),
        (4, KindName::Number)
    );
    // The encoding remembers the word.
    let mut again = like(encoding);
    again.table.missing = Some(Missing::Drop);
    assert_eq!(values(&table(body, &again).0), values(&trained));
    let (_, encoding) = table(body, &query(&[("kinds", "w:nominal")]));
    assert_eq!(encoding.n(), 5);
    // Small numbers that occur repeatedly are words next to other words, and so are codes.
    let doors = "doors,class\n2,no\n3,no\n4,yes\n5more,yes\n"
        .replace("doors,class\n", "")
        .repeat(5);
    let (_, encoding) = table(&format!("doors,class\n{doors}"), &Options::default());
    assert_eq!(encoding.columns[0].kind.name(), KindName::Nominal);
    let (_, encoding) = table(
        "zip,class\n01234,no\n99999,no\nX1,yes\n",
        &Options::default(),
    );
    assert_eq!(encoding.columns[0].kind.name(), KindName::Nominal);
    // Letters alone are counted too.
    let ages: String = (0..40)
        .map(|row| format!("{},{}\n", row % 10, if row % 2 == 0 { "p" } else { "q" }))
        .collect();
    let error = refusal(
        Format::Csv,
        format!("w,class\nx,p\n{ages}").as_bytes(),
        &Options::default(),
    );
    assert!(
        error.detail.contains("40 numbers beside other cells (1)"),
        "{error}"
    );
}

#[test]
fn column_without_name_and_value_is_dropped_with_its_reason() {
    let body = "a,class,\n1,x,\n3,y,\n";
    for options in [Options::default(), query(&[("missing", "drop")])] {
        let (trained, encoding) = table(body, &options);
        assert_eq!(
            encoding.ignored[0].why,
            "the column has no name and no value"
        );
        assert_eq!(values(&trained).0, [[1.0], [3.0]]);
        let mut again = like(encoding);
        again.table.missing = options.table.missing;
        assert_eq!(values(&table(body, &again).0), values(&trained));
    }
    let options = query(&[("header", "false"), ("labels", "2")]);
    assert_eq!(table("1,x,\n3,y,\n", &options).1.ignored.len(), 1);
    let late = "a,class,\n1,x,\n3,y,z\n";
    assert_eq!(table(late, &Options::default()).1.ignored, []);
    let error = refusal(Format::Csv, late.as_bytes(), &query(&[("missing", "drop")]));
    assert!(error.detail.contains("`ignore=3`"), "{error}");
}

#[test]
fn too_many_words_are_a_fault_of_the_options() {
    let rows: String = (0..300)
        .map(|row| format!("v{row},{}\n", row % 2))
        .collect();
    let error = refusal(
        Format::Csv,
        format!("a,class\n{rows}").as_bytes(),
        &Options::default(),
    );
    assert_eq!(error.kind, FormatErrorKind::TableOption);
    assert!(
        error.detail.contains("`ignore=a`") && error.detail.contains("`missing_values=`"),
        "{error}"
    );
}

#[test]
fn arff_is_read_as_weka_reads_it() {
    let body = "@relation r\n@attribute a integer [1,10]\n@attribute b {x,'?',}\n@attribute class {p,q}\n@data\n\
                1,x,p,\n2,'?',q\n3,x,q\n";
    let parsed = parse(Format::Arff, body.as_bytes(), &Options::default()).unwrap();
    assert_eq!(
        parsed.feature_names.as_deref().unwrap(),
        ["a", "b='?'", "b=x"]
    );
    assert_eq!(
        values(&parsed).0,
        [[1.0, 0.0, 1.0], [2.0, 1.0, 0.0], [3.0, 0.0, 1.0]]
    );
}

#[test]
fn rows_alone_are_a_json_table() {
    let alone = br#"[{"a": 1, "class": "x"}, {"a": 3, "class": "y"}]"#;
    let form = br#"{"rows": [{"a": 1, "class": "x"}, {"a": 3, "class": "y"}]}"#;
    let read = |body: &[u8]| values(&parse(Format::Json, body, &Options::default()).unwrap());
    assert_eq!(read(alone), read(form));
    let error = refusal(
        Format::Json,
        br#"[{"a": 1, "class": "x"}, {"b": 3}]"#,
        &Options::default(),
    );
    assert_eq!(error.place, Some(Place::Pointer("/1/b".to_owned())));
}

#[test]
fn format_errors_name_the_remedy() {
    for (format, body, remedy) in [
        (Format::Libsvm, &b"1 7\n"[..], "`vocabulary=open`"),
        (
            Format::Csv,
            b"\x1f\x8b\x08\x00\x00",
            "`Content-Encoding: gzip`",
        ),
        (
            Format::Json,
            b"\x28\xb5\x2f\xfd\x00",
            "`Content-Encoding: zstd`",
        ),
        (Format::Csv, b"PK\x03\x04\x00", "XLSX"),
        (
            Format::Csv,
            b"PAR1\x15\x04",
            "`application/vnd.apache.parquet`",
        ),
    ] {
        let error = refusal(format, body, &Options::default());
        assert!(error.detail.contains(remedy), "{error}");
    }
    let bars = parse(
        Format::Csv,
        "a|b|class\n1|2|x\n3|4|y\n".as_bytes(),
        &Options::default(),
    )
    .unwrap();
    assert_eq!(values(&bars).0, [[1.0, 2.0], [3.0, 4.0]]);
}

#[test]
fn encoding_without_names_needs_the_label_of_a_named_table() {
    let first = Options {
        labels: Some(LabelsColumn::First),
        ..Options::default()
    };
    let nameless = parse(Format::Csv, &b"yes,1,0\nno,0,1\n"[..], &first).unwrap();
    let given = |labels| Options {
        labels,
        table: TableOptions {
            encoding: nameless.table.clone(),
            ..TableOptions::default()
        },
        ..Options::default()
    };
    let rows = &b"no,0,1\nyes,1,0\n"[..];
    let read = parse(Format::Csv, rows, &given(None)).unwrap();
    assert_eq!(labels(&read.data), "01");
    let named = &b"a,b,answer\n0,1,no\n1,0,yes\n"[..];
    let error = refusal(Format::Csv, named, &given(None));
    assert!(error.detail.contains("`labels=answer`"), "{error}");
    let objects = br#"[{"a": 0, "b": 1, "answer": "no"}]"#;
    let error = refusal(Format::Json, objects, &given(None));
    assert!(error.detail.contains("`labels=answer`"), "{error}");
    let answer = Some(LabelsColumn::Named("answer".to_owned()));
    let read = parse(Format::Csv, named, &given(answer)).unwrap();
    assert_eq!(values(&read).0, [[0.0, 1.0], [1.0, 0.0]]);
    assert_eq!(labels(&read.data), "01");
}
