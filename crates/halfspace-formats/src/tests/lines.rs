//! Tests of NDJSON, CSV and LIBSVM.

use super::*;
use halfspace_core::learners::sample::examples::Examples;

/// A body and its content: rows, labels, place of the first real value.
type Good = (
    &'static str,
    &'static [&'static str],
    &'static str,
    Option<Place>,
);

fn check_good(format: Format, options: &Options, cases: &[Good]) {
    for (body, expected, expected_labels, first_real) in cases {
        let parsed = parse(format, body.as_bytes(), options);
        let parsed = parsed.unwrap_or_else(|error| panic!("{body:?}: {error}"));
        assert_eq!(rows(&parsed.data), *expected, "{body:?}");
        assert_eq!(labels(&parsed.data), *expected_labels, "{body:?}");
        assert_eq!(parsed.first_real, *first_real, "{body:?}");
        let boolean = matches!(parsed.data.features(), Features::Boolean(_));
        assert_eq!(boolean, first_real.is_none(), "{body:?}");
    }
}

/// A body, and the kind and place of its fault.
type Bad = (&'static str, FormatErrorKind, Option<Place>);

fn check_bad(format: Format, options: &Options, cases: &[Bad]) {
    for (body, kind, place) in cases {
        let parsed = parse(format, body.as_bytes(), options);
        let error = parsed.expect_err(body);
        let found = (error.kind, error.place.clone());
        assert_eq!(found, (*kind, place.clone()), "{body:?}: {error}");
        assert!(error.detail.ends_with('.'), "{error}");
    }
}

#[test]
fn libsvm_is_read() {
    let cases: [Good; 10] = [
        ("1 1:1 3:1\n-1 2:1\n", &["101", "010"], "10", None),
        ("+1 1:1\r\n0 2:1", &["10", "01"], "10", None),
        (
            "# head\n\n1 2:1 # tail\n1.0\t1:1\t2:1#t\n",
            &["01", "11"],
            "11",
            None,
        ),
        ("1\n-1 2:1\n", &["00", "01"], "10", None),
        // An explicit -1 and an absent value are both bit 0.
        ("1 1:1 2:-1\n0 3:1\n", &["100", "001"], "10", None),
        ("1 1:0 2:1.0\n", &["01"], "1", None),
        // In real data an absent value is 0, and -1 stays -1.
        (
            "1 1:1 2:-1\n0 3:1\n1 1:-1 2:1 3:0.5\n",
            &["[1.0, -1.0, 0.0]", "[0.0, 0.0, 1.0]", "[-1.0, 1.0, 0.5]"],
            "101",
            Some(at(3, 14)),
        ),
        // The data have the three values 0, -1 and 1.
        (
            "1 1:0 2:1\n1 1:-1\n",
            &["[0.0, 1.0]", "[-1.0, 0.0]"],
            "11",
            Some(at(2, 5)),
        ),
        (
            "1 1:-1\n1 2:0\n",
            &["[-1.0, 0.0]", "[0.0, 0.0]"],
            "11",
            Some(at(2, 5)),
        ),
        ("1 70:2\n1 1:1\n", &[], "", None),
    ];
    check_good(Format::Libsvm, &Options::default(), &cases[..9]);
    let wide = read(Format::Libsvm, cases[9].0).expect("real");
    assert_eq!(wide.data.n(), 70);
    assert_eq!(wide.first_real, Some(at(1, 6)));
}

#[test]
fn libsvm_options_are_kept() {
    let unlabelled = Options {
        labels: Some(LabelsColumn::None),
        unlabelled: UnlabelledMeans::Nothing,
        ..Options::default()
    };
    check_good(
        Format::Libsvm,
        &unlabelled,
        &[
            ("1:1\n2:1\n", &["10", "01"], "unlabelled", None),
            // A comment and the blank lines at the end do not shift any example.
            (
                "# c\n1:1\n1:0\n2:1\n\n\n",
                &["10", "00", "01"],
                "unlabelled",
                None,
            ),
        ],
    );
    for (text, line) in [
        ("1:1\n\n2:1\n", 2),
        ("\n 1:1", 1),
        ("1:1\n \n\n2:1\n", 2),
        ("# c\n\n\n1:1\n", 2),
        ("1:1\n# c\n# c\n\n# c\n2:1\n", 4),
    ] {
        let error = parse(Format::Libsvm, text.as_bytes(), &unlabelled).expect_err("blank");
        assert_eq!(error.kind, FormatErrorKind::Syntax);
        assert_eq!(error.place, Some(at(line, 1)));
    }
    let wide = Options {
        n: Some(4),
        ..Options::default()
    };
    check_good(
        Format::Libsvm,
        &wide,
        &[
            ("1 1:1\n", &["1000"], "1", None),
            ("1\n", &["0000"], "1", None),
        ],
    );
    let kind = FormatErrorKind::BadIndex;
    check_bad(
        Format::Libsvm,
        &wide,
        &[
            ("1 1:1\n1 2:1 5:1\n", kind, Some(at(2, 7))),
            ("1 1:1 5:0\n", kind, Some(at(1, 7))),
        ],
    );
    let named = Options {
        labels: Some(LabelsColumn::Last),
        ..Options::default()
    };
    check_bad(
        Format::Libsvm,
        &named,
        &[("1 1:1\n", FormatErrorKind::BadOption, None)],
    );
}

#[test]
fn libsvm_labels_are_two_numbers_or_one_against_the_rest() {
    for (text, positive, labels_read, names) in [
        ("1 1:1\n2 2:1\n1 1:1\n", None, "010", Some(["1", "2"])),
        ("2 1:1\n1 2:1\n1 1:1\n", None, "100", Some(["1", "2"])),
        ("1 1:1\n2 2:1\n", Some("1"), "10", Some(["2", "1"])),
        (
            "3 1:1\n1 2:1\n2 1:1\n",
            Some("2"),
            "001",
            Some(["not 2", "2"]),
        ),
        ("-1 1:1\n+1 2:1\n1.0 1:1\n", None, "011", None),
        ("0 1:1\n1 2:1\n", None, "01", None),
    ] {
        let mut options = Options::default();
        options.table.positive = positive.map(str::to_owned);
        let parsed = parse(Format::Libsvm, text.as_bytes(), &options).expect(text);
        assert_eq!(labels(&parsed.data), labels_read, "{text}");
        assert_eq!(
            parsed.class_names(),
            names.map(|names| names.map(str::to_owned).to_vec()),
            "{text}"
        );
    }
    let three = read(Format::Libsvm, "1 1:1\n2 1:1\n3 1:1\n").expect_err("three values");
    assert!(three.detail.contains("`positive=1`"), "{three}");
}

#[test]
fn bad_libsvm_is_refused_at_its_place() {
    check_bad(
        Format::Libsvm,
        &Options::default(),
        &[
            ("", FormatErrorKind::EmptyData, None),
            ("\n# only\n", FormatErrorKind::EmptyData, None),
            ("1\n-1\n", FormatErrorKind::EmptyData, None),
            (
                "1 1:1\n1 3:1 2:1\n",
                FormatErrorKind::IndexOrder,
                Some(at(2, 7)),
            ),
            ("1 3:1 3:1\n", FormatErrorKind::IndexOrder, Some(at(1, 7))),
            ("1 -3:1\n", FormatErrorKind::BadIndex, Some(at(1, 3))),
            ("1 1:1 0:1\n", FormatErrorKind::IndexOrder, Some(at(1, 7))),
            ("1 1:1 x:1\n", FormatErrorKind::BadIndex, Some(at(1, 7))),
            ("1 qid:1 1:1\n", FormatErrorKind::BadIndex, Some(at(1, 3))),
            ("1 7\n", FormatErrorKind::BadIndex, Some(at(1, 3))),
            ("1 qid:3 1:1\n", FormatErrorKind::BadIndex, Some(at(1, 3))),
            (
                "1 99999999999999999999:1\n",
                FormatErrorKind::BadIndex,
                Some(at(1, 3)),
            ),
            ("1 1:\n", FormatErrorKind::BadValue, Some(at(1, 5))),
            ("1 1:x\n", FormatErrorKind::BadValue, Some(at(1, 5))),
            ("1 1:1x\n", FormatErrorKind::BadValue, Some(at(1, 5))),
            ("1 1:nan\n", FormatErrorKind::BadValue, Some(at(1, 5))),
            ("1 1:1e999\n", FormatErrorKind::BadValue, Some(at(1, 5))),
            // A single value other than 1, 0 and -1 may mean either label.
            ("2 1:1\n", FormatErrorKind::TableOption, None),
            (
                "1 1:1\n  yes 1:1\n",
                FormatErrorKind::BadLabel,
                Some(at(2, 3)),
            ),
            ("1:1 2:1\n", FormatErrorKind::BadLabel, Some(at(1, 1))),
            ("1 1:1\n7 1:1\n-1 1:1\n", FormatErrorKind::TableOption, None),
        ],
    );
}

#[test]
fn libsvm_keeps_its_rows_while_the_width_creeps_up() {
    let body: String = (1..300).map(|index| format!("1 {index}:1\n")).collect();
    let data = read(Format::Libsvm, &body).expect("good").data;
    for (index, row) in rows(&data).iter().enumerate() {
        assert_eq!(row.len(), 299);
        assert_eq!(row.find('1'), Some(index));
        assert_eq!(row.rfind('1'), Some(index));
    }
    let real = format!("1 1:-1\n{body}1 2:3\n");
    let data = read(Format::Libsvm, &real).expect("good").data;
    let DenseFeatures::Real(matrix) = data.features().packed().expect("memory") else {
        panic!("real");
    };
    assert_eq!((matrix.n(), matrix.rows()), (299, 301));
    assert_eq!(matrix.row(0)[..2], [-1.0, 0.0]);
    assert_eq!(matrix.row(299)[297..], [0.0, 1.0]);
    assert_eq!(matrix.row(300)[..3], [0.0, 3.0, 0.0]);
    assert_eq!(
        matrix
            .values()
            .iter()
            .filter(|&&value| value != 0.0)
            .count(),
        301
    );
}

#[test]
fn ndjson_is_read() {
    check_good(
        Format::Ndjson,
        &Options::default(),
        &[
            ("1011\n0010\n", &["1011", "0010"], "half-space", None),
            (
                "\"1011\"\r\n\n 0010 ",
                &["1011", "0010"],
                "half-space",
                None,
            ),
            (
                "{\"x\":\"10\"}\n{\"x\":[0,1]}",
                &["10", "01"],
                "half-space",
                None,
            ),
            (
                "{\"x\":\"10\",\"y\":1}\n{\"y\":-1,\"x\":\"01\"}\n",
                &["10", "01"],
                "10",
                None,
            ),
            (
                "{\"x\":[1,-1],\"y\":0}\n{\"x\":\"11\",\"y\":1}\n",
                &["10", "11"],
                "01",
                None,
            ),
            ("{ \"x\" : [ 1 , 0.0 ] , \"y\" : 1.0 }", &["10"], "1", None),
            (
                "{\"x\":[1,-1]}\n{\"x\":\"10\"}\n{\"x\":\"01\"}",
                &["[1.0, -1.0]", "[1.0, 0.0]", "[0.0, 1.0]"],
                "half-space",
                Some(at(2, 8)),
            ),
            (
                "{\"x\":\"10\"}\n{\"x\":[0, -1.5]}",
                &["[1.0, 0.0]", "[0.0, -1.5]"],
                "half-space",
                Some(at(2, 10)),
            ),
            (
                "{\"x\":[1,-1,0]}\n{\"x\":[-0.0,2,1]}",
                &["[1.0, -1.0, 0.0]", "[0.0, 2.0, 1.0]"],
                "half-space",
                Some(at(1, 12)),
            ),
        ],
    );
}

#[test]
fn bad_ndjson_is_refused_at_its_place() {
    use FormatErrorKind as Kind;
    check_bad(
        Format::Ndjson,
        &Options::default(),
        &[
            ("", Kind::EmptyData, None),
            ("\n \r\n", Kind::EmptyData, None),
            ("\"\"\n", Kind::EmptyData, Some(at(1, 2))),
            ("{\"x\":[]}\n", Kind::EmptyData, None),
            ("1011\n101\n", Kind::UnequalLength, Some(at(2, 1))),
            (
                "{\"x\":[1,0]}\n{\"x\":[1,0,1]}",
                Kind::UnequalLength,
                Some(at(2, 6)),
            ),
            (
                "{\"x\":[1,0]}\n{\"x\":[1]}",
                Kind::UnequalLength,
                Some(at(2, 6)),
            ),
            ("1011\n1021\n", Kind::BadBit, Some(at(2, 3))),
            ("\"10x1\"\n", Kind::BadBit, Some(at(1, 4))),
            ("\"1011\n", Kind::Syntax, Some(at(1, 1))),
            ("2\n", Kind::BadBit, Some(at(1, 1))),
            ("[1,0]\n", Kind::Syntax, Some(at(1, 1))),
            ("1 0\n", Kind::BadBit, Some(at(1, 2))),
            ("{\"x\":\"10\"\n", Kind::Syntax, Some(at(1, 9))),
            (
                "{\"x\":\"10\",\"z\":1}\n",
                FormatErrorKind::Schema,
                Some(at(1, 13)),
            ),
            ("{\"y\":1}\n", FormatErrorKind::Schema, Some(at(1, 7))),
            ("{\"x\":5}\n", FormatErrorKind::Schema, Some(at(1, 6))),
            (
                "{\"x\":\"1\",\"y\":1.5}\n{\"x\":\"1\",\"y\":2}\n{\"x\":\"1\",\"y\":3}\n",
                Kind::TableOption,
                None,
            ),
            (
                "{\"x\":\"1\",\"y\":\"yes\"}\n{\"x\":\"0\",\"y\":\"\"}\n",
                Kind::BadLabel,
                Some(at(2, 14)),
            ),
            (
                "{\"x\":\"1\",\"y\":null}\n",
                Kind::BadLabel,
                Some(at(1, 14)),
            ),
            ("{\"x\":[1,null]}\n", Kind::BadValue, Some(at(1, 9))),
            ("{\"x\":[1, 1e999]}\n", Kind::BadValue, Some(at(1, 10))),
            ("{\"x\":[1,[0]]}\n", Kind::BadValue, Some(at(1, 9))),
            (
                "{\"x\":\"1\",\"y\":0}\n{\"x\":\"1\"}\n",
                Kind::MixedLines,
                Some(at(2, 1)),
            ),
            ("{\"x\":\"1\"}\n 1\n", Kind::MixedLines, Some(at(2, 2))),
            ("1\n{\"x\":\"1\"}\n", Kind::MixedLines, Some(at(2, 1))),
            (
                "{\"x\":\"1\",\"x\":\"1\"}\n",
                FormatErrorKind::Schema,
                Some(at(1, 12)),
            ),
        ],
    );
    let labels = Options {
        labels: Some(LabelsColumn::First),
        ..Options::default()
    };
    check_bad(Format::Ndjson, &labels, &[("1\n", Kind::BadOption, None)]);
}

#[test]
fn deep_ndjson_lines_are_refused() {
    let deep = "[".repeat(100_000);
    let kind = FormatErrorKind::TooDeep { limit: 32 };
    for (before, column) in [("", 33), ("{\"x\":", 37), ("{\"x\":[1,", 39)] {
        let error = read(Format::Ndjson, &format!("{before}{deep}")).expect_err("deep");
        assert_eq!(
            (error.kind, error.place),
            (kind, Some(at(1, column))),
            "{before}"
        );
    }
    let closed = format!("{{\"x\":{deep}{}}}", "]".repeat(100_000));
    assert_eq!(read(Format::Ndjson, &closed).expect_err("deep").kind, kind);
}

#[test]
fn csv_is_read() {
    check_good(
        Format::Csv,
        &Options::default(),
        &[
            ("1,1,0\n-1,0,1\n", &["10", "01"], "10", None),
            ("y,a,b\r\n1,1,0\r\n\r\n0,0,1", &["10", "01"], "10", None),
            (
                "1, 1 ,\"0\"\n\"0\",-1,1\n",
                &["[1.0, 0.0]", "[-1.0, 1.0]"],
                "10",
                Some(at(2, 5)),
            ),
            ("\u{feff}1,-1\n1,1\n", &["0", "1"], "11", None),
            ("1,0.5\n0,1e1\n", &["[0.5]", "[10.0]"], "10", Some(at(1, 3))),
        ],
    );
    let last = Options {
        labels: Some(LabelsColumn::Last),
        ..Options::default()
    };
    check_good(
        Format::Csv,
        &last,
        &[("1,0,0\n0,1,1\n", &["10", "01"], "01", None)],
    );
    let none = Options {
        labels: Some(LabelsColumn::None),
        header: Header::True,
        ..Options::default()
    };
    check_good(
        Format::Csv,
        &none,
        &[("1,0\n0,1\n", &["01"], "half-space", None)],
    );
}

#[test]
fn csv_names_must_be_utf_8() {
    let body = b"y,a,\xff\n1,0,1\n".as_slice();
    let error = parse(Format::Csv, body, &Options::default()).expect_err("no text");
    assert_eq!(
        (error.kind, error.place),
        (FormatErrorKind::Syntax, Some(at(1, 5)))
    );
}

#[test]
fn csv_headers_name_labels_and_features() {
    let named = |name: &str, header| Options {
        labels: Some(LabelsColumn::Named(name.to_owned())),
        header,
        ..Options::default()
    };
    let cases = [
        ("a,class,\"b,\"\"c\"\n1,0,0\n", "class", Header::Auto),
        ("1,class,2\n1,0,0\n", "class", Header::True),
        ("1,3,2\n1,0,0\n", "3", Header::True),
    ];
    let names = [["a", "b,\"c"], ["1", "2"], ["1", "2"]];
    for ((body, label, header), names) in cases.into_iter().zip(names) {
        let parsed = parse(Format::Csv, body.as_bytes(), &named(label, header)).expect(body);
        assert_eq!(rows(&parsed.data), ["10"]);
        assert_eq!(labels(&parsed.data), "0");
        assert_eq!(parsed.feature_names.expect("names"), names);
    }
    let kind = FormatErrorKind::TableOption;
    let bad = Some(at(1, 1));
    check_bad(
        Format::Csv,
        &named("y", Header::Auto),
        &[
            ("1,0\n", kind, bad.clone()),
            ("a,b\n1,0\n", kind, bad.clone()),
            ("y,y\n1,0\n", FormatErrorKind::Schema, Some(at(1, 3))),
            (
                "y,a,b,a\n1,0,1,0\n",
                FormatErrorKind::Schema,
                Some(at(1, 7)),
            ),
        ],
    );
    check_bad(
        Format::Csv,
        &named("y", Header::False),
        &[("y,a\n1,0\n", kind, bad)],
    );
}

#[test]
fn bad_csv_is_refused_at_its_place() {
    use FormatErrorKind as Kind;
    check_bad(
        Format::Csv,
        &Options::default(),
        &[
            ("", Kind::EmptyData, None),
            ("y,a\n", Kind::EmptyData, None),
            ("1\n0\n", Kind::EmptyData, Some(at(1, 1))),
            ("1,0,1\n1,0\n", Kind::UnequalLength, Some(at(2, 4))),
            ("1,0\n1,0,1\n", Kind::UnequalLength, Some(at(2, 5))),
            ("1,0\n1,inf\n", Kind::BadValue, Some(at(2, 3))),
            ("1,0\n,0\n", Kind::BadLabel, Some(at(2, 1))),
            ("0,0\n1,0\n7,0\n", Kind::TableOption, None),
            ("a,b\nx,y\n", Kind::TableOption, Some(at(1, 1))),
            ("1,0\n1,\"2,5\"\n", Kind::TableOption, Some(at(2, 3))),
            ("1,\"0\n1,0\n", Kind::Syntax, Some(at(1, 3))),
        ],
    );
    let header_false = Options {
        header: Header::False,
        ..Options::default()
    };
    for (format, body) in [
        (Format::Ndjson, ""),
        (Format::Libsvm, ""),
        (Format::Json, r#"{"half_space": {"examples": ["1"]}}"#),
    ] {
        check_bad(format, &header_false, &[(body, Kind::BadOption, None)]);
    }
}

#[test]
fn a_fixed_n_holds_for_dense_rows() {
    let options = Options {
        n: Some(3),
        ..Options::default()
    };
    check_good(
        Format::Ndjson,
        &options,
        &[("101\n", &["101"], "half-space", None)],
    );
    check_good(
        Format::Csv,
        &options,
        &[("1,1,0,2\n", &["[1.0, 0.0, 2.0]"], "1", Some(at(1, 7)))],
    );
    let kind = FormatErrorKind::UnequalLength;
    check_bad(
        Format::Ndjson,
        &options,
        &[
            ("10\n", kind, Some(at(1, 1))),
            ("1010\n", kind, Some(at(1, 1))),
        ],
    );
    check_bad(Format::Csv, &options, &[("1,1,0\n", kind, Some(at(1, 1)))]);
    for format in [Format::Ndjson, Format::Csv, Format::Libsvm] {
        let zero = Options {
            n: Some(0),
            ..Options::default()
        };
        check_bad(format, &zero, &[("1\n", FormatErrorKind::EmptyData, None)]);
    }
}

#[test]
fn line_formats_name_the_limit_where_it_is_passed() {
    let options = Options {
        limits: ParseLimits {
            n_max: 3,
            state_bytes_max: 512,
            line_bytes_max: 40,
            ..ParseLimits::default()
        },
        ..Options::default()
    };
    let n_max = FormatErrorKind::TooLarge {
        limit: "n_max",
        value: 3,
    };
    check_bad(
        Format::Ndjson,
        &options,
        &[
            ("1010\n", n_max, Some(at(1, 4))),
            ("{\"x\":[1,0,1,0]}\n", n_max, Some(at(1, 13))),
        ],
    );
    check_bad(
        Format::Csv,
        &options,
        &[
            ("1,1,0,1,0\n", n_max, Some(at(1, 9))),
            ("y,a,b,c,d\n", n_max, Some(at(1, 9))),
            ("\"y\",a,b,c,d\n", n_max, Some(at(1, 11))),
        ],
    );
    check_bad(
        Format::Libsvm,
        &options,
        &[
            // The number of active features in all rows decides whether they take the dense form.
            ("1 1:1 4:1\n", n_max, None),
            ("1 1:1 4:0\n", n_max, None),
            ("1 3:2 4:1\n", n_max, None),
        ],
    );
    let long = "1".repeat(41);
    let error = parse(Format::Ndjson, long.as_bytes(), &options).expect_err("long");
    let line_bytes_max = FormatErrorKind::TooLarge {
        limit: "line_bytes_max",
        value: 40,
    };
    assert_eq!((error.kind, error.place), (line_bytes_max, Some(at(1, 41))));
    // 64 packed rows of one word take 512 bytes; 22 rows of 3 doubles take 528.
    let state = FormatErrorKind::TooLarge {
        limit: "state_bytes_max",
        value: 512,
    };
    let error = parse(Format::Ndjson, "101\n".repeat(65).as_bytes(), &options).expect_err("rows");
    assert_eq!((error.kind, error.place), (state, Some(at(65, 1))));
    let real = |rows: usize| format!("1 3:0.5\n{}", "1 1:1\n".repeat(rows - 1));
    assert!(parse(Format::Libsvm, real(21).as_bytes(), &options).is_ok());
    let error = parse(Format::Libsvm, real(22).as_bytes(), &options).expect_err("rows");
    assert_eq!((error.kind, error.place), (state, Some(at(22, 1))));
    let turned = format!("{}1 1:2\n", "1 3:1\n".repeat(22));
    let error = parse(Format::Libsvm, turned.as_bytes(), &options).expect_err("rows");
    assert_eq!(error.kind, state);
    let fixed = Options {
        n: Some(4),
        ..options
    };
    check_bad(Format::Libsvm, &fixed, &[("1\n", n_max, None)]);
}

#[test]
fn sparse_libsvm_rows_take_room_for_active_features_only() {
    let mut options = Options::default();
    options.limits.state_bytes_max = 1 << 20;
    let body = |index: u64| "1 1:1\n".repeat(1000) + &format!("1 {index}:1\n");
    let read = |index| crate::parse(Format::Libsvm, body(index).as_bytes(), &options);
    let data = read(u32::MAX.into()).expect("sparse").data;
    assert_eq!(
        (data.n(), data.shape().entries),
        (u32::MAX as usize, Some(1001))
    );
    // The number of a feature has 32 bits.
    let error = read(1 << 32).expect_err("too large");
    let kind = FormatErrorKind::BadIndex;
    assert_eq!((error.kind, error.place), (kind, Some(at(1001, 3))));
}
