//! Tests of Parquet: the cells of good files, and how writers differ.

use parquet::basic::Encoding;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};
use proptest::prelude::*;

use super::parquet_writer::{Column, texts, written};
use super::*;
use crate::{Missing, Spool, gather};

fn properties(
    change: impl Fn(WriterPropertiesBuilder) -> WriterPropertiesBuilder,
) -> WriterProperties {
    change(WriterProperties::builder()).build()
}

pub fn plain() -> WriterProperties {
    properties(|builder| builder)
}

pub fn parquet(body: &[u8], options: &Options) -> Result<Parsed, FormatError> {
    parse(Format::Parquet, body, options)
}

/// Checks that a file is the same table as a CSV text.
fn same(body: &[u8], csv: &str, options: &Options) {
    same_as_csv(Format::Parquet, body, csv, options);
}

/// A file with a column before labels.
fn labelled(field: &str, column: Column, rows: usize) -> Vec<u8> {
    let labels = Column::Int32((0..rows).map(|row| Some((row % 2) as i32)).collect());
    let fields = format!("{field}; optional int32 label");
    written(&fields, &[vec![column, labels]], plain())
}

/// The CSV text of a column before labels.
fn csv(cells: &[&str]) -> String {
    let line = |(row, cell): (usize, &&str)| format!("{cell},{}\n", row % 2);
    let lines = cells.iter().enumerate().map(line);
    format!("x,label\n{}", lines.collect::<String>())
}

#[test]
fn parquet_is_the_table_of_the_same_csv() {
    let body = labelled(
        "optional int32 x",
        Column::Int32(vec![Some(-7), None, Some(3)]),
        3,
    );
    same(&body, &csv(&["-7", "", "3"]), &options("missing=drop"));
    let doubles = [0.1, -0.0, 1e300, 0.0];
    let column = Column::Doubles(doubles.map(Some).to_vec());
    let body = labelled("optional double x", column, 4);
    same(
        &body,
        &csv(&["0.1", "-0", "1e300", "0"]),
        &Options::default(),
    );
    let body = labelled(
        "optional float x",
        Column::Floats(vec![Some(0.5), Some(0.1), None]),
        3,
    );
    let cells = ["0.5", "0.10000000149011612", ""];
    same(&body, &csv(&cells), &options("missing=drop"));
    let column = Column::Booleans(vec![Some(true), None, Some(false)]);
    let body = labelled("optional boolean x", column, 3);
    same(
        &body,
        &csv(&["true", "", "false"]),
        &options("missing=drop"),
    );
    let words = [" red", "green\t", "red", "NA", "7"];
    for field in [
        "optional binary x (STRING)",
        "optional binary x (ENUM)",
        "optional binary x",
    ] {
        let body = labelled(field, texts(&words), 5);
        same(&body, &csv(&words), &Options::default());
    }
    let words = texts(&["ab", "cd"]);
    let Column::Bytes(words) = words else {
        unreachable!()
    };
    let body = labelled(
        "optional fixed_len_byte_array(2) x",
        Column::Fixed(words),
        2,
    );
    same(&body, &csv(&["ab", "cd"]), &Options::default());
}

#[test]
fn numbers_of_parquet_keep_all_their_digits() {
    let wide = 9_007_199_254_740_993;
    let column = Column::Int64(vec![Some(wide), None, Some(-wide), Some(wide - 2)]);
    let words = "kinds=x:nominal";
    let cells = [
        "9007199254740993",
        "",
        "-9007199254740993",
        "9007199254740991",
    ];
    let body = labelled("optional int64 x", column, 4);
    same(&body, &csv(&cells), &options(words));
    let column = Column::Int64(vec![Some(-1), Some(1)]);
    let body = labelled("optional int64 x (INTEGER(64,false))", column, 2);
    same(&body, &csv(&["18446744073709551615", "1"]), &options(words));
    let column = Column::Int32(vec![Some(-1), Some(1)]);
    let body = labelled("optional int32 x (UINT_32)", column, 2);
    same(&body, &csv(&["4294967295", "1"]), &Options::default());
    let decimals = ["1.50", "-0.05", "", "123456.78"];
    let column = [Some(150_i32), Some(-5), None, Some(12_345_678)];
    let bytes = |value: i32| value.to_be_bytes().to_vec();
    let columns = [
        ("int32 x (DECIMAL(9,2))", Column::Int32(column.to_vec())),
        (
            "int64 x (DECIMAL(12,2))",
            Column::Int64(column.map(|value| value.map(i64::from)).to_vec()),
        ),
        (
            "binary x (DECIMAL(12,2))",
            Column::Bytes(column.map(|value| value.map(bytes)).to_vec()),
        ),
        (
            "fixed_len_byte_array(4) x (DECIMAL(9,2))",
            Column::Fixed(column.map(|value| value.map(bytes)).to_vec()),
        ),
    ];
    for (field, column) in columns {
        let body = labelled(&format!("optional {field}"), column, 4);
        same(
            &body,
            &csv(&decimals),
            &options("kinds=x:nominal&missing=value"),
        );
        same(&body, &csv(&decimals), &options("missing=drop"));
    }
}

#[test]
fn uuids_and_short_floats_of_parquet_are_read() {
    let uuid = (0..16).map(|byte| byte * 17).collect();
    let column = Column::Fixed(vec![Some(uuid), None]);
    let body = labelled("optional fixed_len_byte_array(16) x (UUID)", column, 2);
    let text = "00112233-4455-6677-8899-aabbccddeeff";
    same(&body, &csv(&[text, ""]), &options("kinds=x:nominal"));
    let column = Column::Fixed(vec![Some(vec![0, 0x3e]), Some(vec![0, 0xc0])]);
    let body = labelled("optional fixed_len_byte_array(2) x (FLOAT16)", column, 2);
    same(&body, &csv(&["1.5", "-2"]), &Options::default());
}

/// The rows that all encodings and compressions hold.
const ROWS: usize = 60;

fn sampled() -> (Vec<Vec<Column>>, String) {
    let amount = |row: usize| (row % 7 != 3).then_some(row as f64 * 0.25);
    let color = |row: usize| (row % 11 != 5).then_some(["red", "green", "blue"][row % 3]);
    let groups = [0..40, 40..ROWS].map(|rows| {
        let rows = || rows.clone();
        let label = |row: usize| Some(["no", "yes"][row % 2].as_bytes().to_vec());
        vec![
            Column::Doubles(rows().map(amount).collect()),
            Column::Bytes(
                rows()
                    .map(|row| color(row).map(|color| color.as_bytes().to_vec()))
                    .collect(),
            ),
            Column::Int64(rows().map(|row| Some((row * row) as i64)).collect()),
            Column::Booleans(rows().map(|row| Some(row.is_multiple_of(4))).collect()),
            Column::Bytes(rows().map(label).collect()),
        ]
    });
    let line = |row: usize| {
        let amount = amount(row)
            .map(|amount| amount.to_string())
            .unwrap_or_default();
        let (color, flag) = (color(row).unwrap_or_default(), row.is_multiple_of(4));
        let label = ["no", "yes"][row % 2];
        format!("{amount},{color},{},{flag},{label}\n", row * row)
    };
    let lines: String = (0..ROWS).map(line).collect();
    let csv = format!("amount,color,count,flag,label\n{lines}");
    (groups.to_vec(), csv)
}

const FIELDS: &str = "optional double amount; optional binary color (STRING); optional int64 count; \
                      optional boolean flag; optional binary label (STRING)";

#[test]
fn every_encoding_of_parquet_is_read() {
    let (groups, csv) = sampled();
    let (numbers, words) = (
        [
            Encoding::PLAIN,
            Encoding::DELTA_BINARY_PACKED,
            Encoding::BYTE_STREAM_SPLIT,
        ],
        [
            Encoding::PLAIN,
            Encoding::DELTA_LENGTH_BYTE_ARRAY,
            Encoding::DELTA_BYTE_ARRAY,
        ],
    );
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        for rows_per_page in [1000, 7, 1] {
            let base = |builder: WriterPropertiesBuilder| {
                builder
                    .set_writer_version(version)
                    .set_data_page_row_count_limit(rows_per_page)
                    .set_write_batch_size(rows_per_page)
            };
            let body = written(FIELDS, &groups, properties(base));
            same(&body, &csv, &options("numbers=thermometer"));
            for (number, word) in numbers.into_iter().zip(words) {
                let encoded = properties(|builder| {
                    let builder = base(builder).set_dictionary_enabled(false);
                    let doubles = match number {
                        Encoding::DELTA_BINARY_PACKED => Encoding::BYTE_STREAM_SPLIT,
                        number => number,
                    };
                    builder
                        .set_column_encoding("amount".into(), doubles)
                        .set_column_encoding("count".into(), number)
                        .set_column_encoding("color".into(), word)
                        .set_column_encoding("label".into(), word)
                        .set_column_encoding("flag".into(), Encoding::PLAIN)
                });
                let body = written(FIELDS, &groups, encoded);
                same(&body, &csv, &options("numbers=thermometer"));
            }
        }
    }
    // A dictionary that grows too long is followed by plain values.
    let short = properties(|builder| {
        builder
            .set_dictionary_page_size_limit(10)
            .set_write_batch_size(5)
            .set_data_page_row_count_limit(5)
    });
    same(
        &written(FIELDS, &groups, short),
        &csv,
        &options("numbers=thermometer"),
    );
}

/// The files were written by pyarrow 26, the versions of pages alternating, with checksums.
#[test]
fn every_compression_of_parquet_is_read() {
    let (_, csv) = sampled();
    let files: [(&str, &[u8]); 6] = [
        ("none", include_bytes!("parquet_files/none.parquet")),
        ("snappy", include_bytes!("parquet_files/snappy.parquet")),
        ("gzip", include_bytes!("parquet_files/gzip.parquet")),
        ("brotli", include_bytes!("parquet_files/brotli.parquet")),
        ("zstd", include_bytes!("parquet_files/zstd.parquet")),
        ("lz4", include_bytes!("parquet_files/lz4.parquet")),
    ];
    for (name, body) in files {
        println!("{name}");
        same(body, &csv, &options("numbers=thermometer"));
        let spool = Spool::new(0, || Ok(std::io::Cursor::new(Vec::new())));
        let mut spooled = Vec::new();
        let mut gathered = gather(
            Format::Parquet,
            body,
            &options("numbers=thermometer"),
            spool,
        )
        .expect(name);
        gathered.store(&mut spooled, 1000).expect(name);
        let held = parquet(body, &options("numbers=thermometer")).expect(name);
        let mut stored = Vec::new();
        crate::Parsed::from(held)
            .store(&mut stored, 1000)
            .expect(name);
        assert!(spooled == stored, "{name}");
    }
}

#[test]
fn nan_of_parquet_is_missing_and_an_infinity_is_refused() {
    let column = Column::Doubles(vec![Some(f64::NAN), Some(1.5), Some(2.5)]);
    let body = labelled("optional double x", column, 3);
    same(&body, &csv(&["", "1.5", "2.5"]), &options("missing=drop"));
    let column = Column::Floats(vec![Some(1.0), Some(f32::NEG_INFINITY)]);
    let body = labelled("optional float x", column, 2);
    let error = parquet(&body, &Options::default()).expect_err("infinite");
    assert_eq!(error.kind, FormatErrorKind::BadValue);
    assert_eq!(error.place, Some(Place::Cell { row: 2, column: 1 }));
    assert_eq!(
        error.detail,
        "The column `x` has an infinite value, and a value is a finite number; `ignore=x` leaves the column out."
    );
}

#[test]
fn dates_of_parquet_are_those_of_the_same_csv() {
    let days = [19_782, -1, 0, 2_932_896];
    let column = Column::Int32(days.map(Some).to_vec());
    let dates = ["2024-02-29", "1969-12-31", "1970-01-01", "9999-12-31"];
    let body = labelled("required int32 x (DATE)", column, 4);
    same(&body, &csv(&dates), &Options::default());
    let column = Column::Int96(days.map(|day| Some(day.into())).to_vec());
    same(
        &labelled("required int96 x", column, 4),
        &csv(&dates),
        &Options::default(),
    );
    let seconds = [1_709_209_805, -1, 86_399];
    let dates = [
        "2024-02-29T12:30:05",
        "",
        "1969-12-31 23:59:59",
        "1970-01-01T23:59:59",
    ];
    for (kind, scale) in [
        ("TIMESTAMP(MILLIS,true)", 1_000),
        ("TIMESTAMP(MICROS,false)", 1_000_000),
        ("TIMESTAMP(NANOS,true)", 1_000_000_000),
        ("TIMESTAMP_MILLIS", 1_000),
        ("TIMESTAMP_MICROS", 1_000_000),
    ] {
        let [first, second, third] = seconds.map(|seconds: i64| Some(seconds * scale + scale / 2));
        let column = Column::Int64(vec![first, None, second, third]);
        let body = labelled(&format!("optional int64 x ({kind})"), column, 4);
        same(&body, &csv(&dates), &options("numbers=thermometer"));
    }
}

#[test]
fn far_dates_and_times_of_parquet_are_refused_unless_ignored() {
    let columns = [
        (
            "int32 x (DATE)",
            Column::Int32(vec![None, Some(2_932_897)]),
            "has a date whose year has more than four digits",
        ),
        (
            "int64 x (TIMESTAMP(MILLIS,true))",
            Column::Int64(vec![None, Some(i64::MIN)]),
            "has a date whose year has more than four digits",
        ),
        (
            "int32 x (TIME_MILLIS)",
            Column::Int32(vec![None, Some(3)]),
            "has times of day",
        ),
        (
            "fixed_len_byte_array(12) x (INTERVAL)",
            Column::Fixed(vec![None, Some(vec![0; 12])]),
            "has intervals of time",
        ),
        (
            "binary x (BSON)",
            Column::Bytes(vec![None, Some(vec![0; 5])]),
            "has bytes",
        ),
    ];
    for (field, column, reason) in columns {
        let labels = Column::Int32(vec![Some(0), Some(1)]);
        let fields = format!("optional {field}; optional int32 z; optional int32 label");
        let body = written(&fields, &[vec![column, labels.clone(), labels]], plain());
        let error = parquet(&body, &Options::default()).expect_err(field);
        assert!(error.detail.contains(reason), "{field}: {error}");
        assert!(error.detail.contains("`ignore=x`"), "{field}: {error}");
        let parsed = parquet(&body, &options("ignore=x")).expect(field);
        assert_eq!(parsed.feature_names, Some(vec!["z".to_owned()]));
    }
}

#[test]
fn nested_columns_of_parquet_are_refused_by_name() {
    let fields = "optional group tags (LIST) { repeated group list { optional int32 element; } } \
                  optional int32 z; optional int32 label";
    let none = Column::Int32(vec![None, None]);
    let labels = Column::Int32(vec![Some(0), Some(1)]);
    // The writer takes levels of nested columns as they come.
    let body = written(fields, &[vec![none, labels.clone(), labels]], plain());
    let error = parquet(&body, &Options::default()).expect_err("nested");
    assert_eq!(
        error.detail,
        "The column `tags` has nested values, which a table cannot hold; `ignore=tags` leaves the column out."
    );
    let parsed = parquet(&body, &options("ignore=tags")).expect("flat");
    assert_eq!(
        (parsed.data.n(), rows(&parsed.data)),
        (1, vec!["0".to_owned(), "1".to_owned()])
    );
}

#[test]
fn parquet_names_its_columns() {
    let column = Column::Int32(vec![Some(0), Some(1)]);
    let groups = [vec![column.clone(), column.clone(), column]];
    let body = written(
        "required int32 a; required int32 a; required int32 label",
        &groups,
        plain(),
    );
    let error = parquet(&body, &Options::default()).expect_err("two names");
    assert_eq!(
        (error.kind, error.detail.as_str()),
        (
            FormatErrorKind::Schema,
            "The name \"a\" occurs twice; rename one of the columns."
        )
    );
    // Names may be numbers.
    let body = written(
        "required int32 1; required int32 2; required int32 0",
        &groups,
        plain(),
    );
    let parsed = parquet(&body, &options("labels=last")).expect("numbers as names");
    assert_eq!(
        parsed.feature_names,
        Some(vec!["1".to_owned(), "2".to_owned()])
    );
    let error = parquet(&body, &Options::default()).expect_err("no label");
    assert!(error.detail.contains("label"), "{error}");
}

#[test]
fn parquet_refuses_options_of_texts() {
    let body = labelled("optional int32 x", Column::Int32(vec![Some(0), Some(1)]), 2);
    for (option, reason) in [
        ("header=true", "CSV only; Parquet has no such header."),
        ("delimiter=;", "CSV only; Parquet has no delimiter."),
        ("comment=%", "CSV only; Parquet has no such comments."),
        ("sheet=1", "XLSX only; Parquet has no sheets."),
        ("bit_order=big", "octets only; Parquet has no packed bits."),
        ("first_index=1", "LIBSVM only; Parquet has no indices."),
    ] {
        let error = parquet(&body, &options(option)).expect_err(option);
        let name = option.split('=').next().unwrap();
        let detail = format!("The option `{name}` is for {reason} Omit the option.");
        assert_eq!(
            (error.kind, error.detail),
            (FormatErrorKind::BadOption, detail)
        );
    }
}

#[test]
fn parquet_without_rows_or_columns_is_empty() {
    let body = written("required int32 a; required int32 label", &[], plain());
    let error = parquet(&body, &Options::default()).expect_err("no rows");
    assert_eq!(error.kind, FormatErrorKind::EmptyData);
    let error = parquet(b"", &Options::default()).expect_err("nothing");
    assert_eq!(error.kind, FormatErrorKind::EmptyData);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_table_is_the_same_in_parquet_and_csv(
        rows in prop::collection::vec((prop::option::of(-1e3..1e3_f64), "[a-c]{0,2}", any::<bool>()), 2..50),
        dictionary in any::<bool>(),
        rows_per_page in 1_usize..20,
    ) {
        let fields = "optional double a; optional binary b (STRING); optional boolean c; required int32 label";
        let word = |word: &String| (!word.is_empty()).then(|| word.as_bytes().to_vec());
        let columns = vec![
            Column::Doubles(rows.iter().map(|row| row.0).collect()),
            Column::Bytes(rows.iter().map(|row| word(&row.1)).collect()),
            Column::Booleans(rows.iter().map(|row| Some(row.2)).collect()),
            Column::Int32((0..rows.len()).map(|row| Some((row % 2) as i32)).collect()),
        ];
        let written_so = properties(|builder| {
            builder
                .set_dictionary_enabled(dictionary)
                .set_data_page_row_count_limit(rows_per_page)
                .set_write_batch_size(rows_per_page)
        });
        let body = written(fields, &[columns], written_so);
        let line = |(at, row): (usize, &(Option<f64>, String, bool))| {
            let number = row.0.map(|number| number.to_string()).unwrap_or_default();
            format!("{number},{},{},{}\n", row.1, row.2, at % 2)
        };
        let lines = rows.iter().enumerate().map(line);
        let csv = format!("a,b,c,label\n{}", lines.collect::<String>());
        let request = Options {
            table: crate::TableOptions { missing: Some(Missing::Drop), ..Default::default() },
            ..Options::default()
        };
        let text = parse(Format::Csv, csv.as_bytes(), &request);
        let read = parquet(&body, &request);
        match (text, read) {
            (Ok(text), Ok(read)) => {
                prop_assert_eq!(Parsed { first_real: None, ..read }, Parsed { first_real: None, ..text });
            }
            (Err(text), Err(read)) => prop_assert_eq!(text.kind, read.kind),
            (text, read) => prop_assert!(false, "{:?} {:?}", text, read),
        }
    }
}
