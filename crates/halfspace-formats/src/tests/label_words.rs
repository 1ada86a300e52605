//! Tests that whatever a request says about labels is either obeyed or refused, in every format.

use halfspace_core::learners::engine::assume::Assume;

use super::binary::npy;
use super::*;
use crate::options::FormatOption;
use crate::{Classes, DataForm, LabelRule, TextFormat, write_examples};

const POINTS: &str = "{\"x\":\"10\",\"y\":\"a\"}\n{\"x\":\"01\",\"y\":\"b\"}\n";
const LABELLED: &str = r#"{"labelled":{"examples":[{"x":"10","y":"a"},{"x":"01","y":"b"}]}}"#;

/// Options by their names, and the rule for labels.
fn options(query: &str, label_rule: LabelRule) -> Options {
    Options {
        label_rule,
        ..super::options(query)
    }
}

fn read_by(
    format: Format,
    body: &[u8],
    query: &str,
    label_rule: LabelRule,
) -> Result<Parsed, FormatError> {
    match crate::read(format, body, &options(query, label_rule))? {
        DataForm::Sample { parsed, .. } => Ok(parsed),
        form => panic!("{form:?}"),
    }
}

fn read_new(format: Format, body: &[u8], query: &str) -> Result<Parsed, FormatError> {
    read_by(format, body, query, LabelRule::New)
}

fn refusal(read: Result<Parsed, FormatError>) -> (FormatErrorKind, String) {
    let error = read.expect_err("a refusal");
    (error.kind, error.detail)
}

/// Rows of doubles, the label last.
fn doubles(rows: [[f64; 3]; 2]) -> Vec<u8> {
    let values: Vec<u8> = rows
        .iter()
        .flatten()
        .flat_map(|v| v.to_le_bytes())
        .collect();
    npy("<f8", 2, 3, &values)
}

#[test]
fn positive_names_the_classes_of_labels_beside_examples() {
    let numbers = doubles([[1.0, 0.0, 3.0], [0.0, 1.0, 2.0]]);
    for (format, body, positive, names) in [
        (Format::Ndjson, POINTS.as_bytes(), "a", ["b", "a"]),
        (Format::Json, LABELLED.as_bytes(), "a", ["b", "a"]),
        (Format::Npy, &numbers, "3.0", ["2", "3"]),
        (Format::Libsvm, b"3 1:1\n2 2:1\n", "3", ["2", "3"]),
    ] {
        let parsed = read_new(format, body, &format!("positive={positive}")).unwrap();
        assert_eq!(
            parsed.class_names(),
            Some(names.map(str::to_owned).to_vec())
        );
        assert_eq!(labels(&parsed.data), "10", "{format:?}");
        let (kind, detail) = refusal(read_new(format, body, "positive=nope"));
        assert_eq!(kind, FormatErrorKind::TableOption, "{format:?}");
        let found = format!("{} (1)", names[0]).replacen(names[0], &format!("`{}`", names[0]), 1);
        assert!(
            detail.contains("No label is `nope`") && detail.contains(&found),
            "{detail}"
        );
    }
}

#[test]
fn format_options_have_the_known_option_names() {
    let mut names: Vec<_> = FormatOption::all().map(|option| option.name).collect();
    let mut known = crate::OPTION_NAMES;
    names.sort_unstable();
    known.sort_unstable();
    assert_eq!(names, known);
}

#[test]
fn forms_refuse_options_that_they_cannot_use() {
    let real = doubles([[1.0, 0.0, 1.0], [0.0, 1.0, -1.0]]);
    let points = b"{\"x\":\"10\",\"y\":1}\n".as_slice();
    let labelled = br#"{"labelled":{"examples":[{"x":"10","y":1}]}}"#.as_slice();
    let forms = [
        (Format::Libsvm, b"1 1:1\n-1 2:1\n".as_slice(), ""),
        (Format::Npy, &real, ""),
        (Format::Octets, b"\xa0", "n=2&labels=appended&"),
        (Format::Ndjson, points, ""),
        (Format::Json, labelled, ""),
    ];
    for (format, body, query) in forms {
        assert!(read_new(format, body, query.trim_end_matches('&')).is_ok());
        for option in [
            "ignore=1",
            "kinds=1:nominal",
            "numbers=thermometer",
            "bins=4",
            "missing=drop",
            "missing_values=3",
            "unknown=zero",
            "decimal=,",
            "delimiter=;",
            "sheet=1",
            "header=true",
        ] {
            let name = option.split('=').next().unwrap();
            let (kind, detail) = refusal(read_new(format, body, &format!("{query}{option}")));
            assert_eq!(kind, FormatErrorKind::BadOption, "{format:?} {option}");
            assert!(
                detail.starts_with(&format!("The option `{name}` is for ")),
                "{detail}"
            );
        }
    }
    let rows = br#"[{"a":1,"y":2},{"a":0,"y":1}]"#;
    for option in ["header=false", "delimiter=;", "sheet=1"] {
        let refused = refusal(read_new(Format::Json, rows, option));
        assert_eq!(refused.0, FormatErrorKind::BadOption, "{option}");
    }
}

#[test]
fn positive_is_refused_without_label_values() {
    for (format, body, query) in [
        (Format::Octets, b"\xa0".as_slice(), "n=2&labels=appended&"),
        (
            Format::Json,
            br#"{"packed":{"n":3,"rows":"oEA=","labels":"gA=="}}"#,
            "",
        ),
        (Format::Json, br#"{"half_space":{"examples":["10"]}}"#, ""),
        (Format::Ndjson, b"10\n01\n", ""),
        (Format::Ndjson, b"{\"x\":\"10\"}\n", ""),
        (Format::Libsvm, b"1:1\n", "labels=none&"),
        (Format::Csv, b"1,0\n", "labels=none&"),
    ] {
        let (_, detail) = refusal(read_new(format, body, &format!("{query}positive=1")));
        assert!(detail.contains("positive"), "{detail}");
        // A prediction ignores labels, and also what a request says about them.
        let ignored = read_by(
            format,
            body,
            &format!("{query}positive=1"),
            LabelRule::Ignored(None),
        );
        assert!(ignored.is_ok() || format == Format::Octets, "{format:?}");
    }
}

#[test]
fn streams_of_lines_refuse_a_positive_value_that_later_lines_decide() {
    let stream = |positive: &str, label_rule| {
        let options = options(&format!("positive={positive}&n=2"), label_rule);
        crate::NdjsonPortions::new(POINTS.as_bytes(), &options).map(|_| ())
    };
    let named = Classes::new(Some("b".to_owned()), "a".to_owned());
    assert_eq!(stream("a", LabelRule::Of(named.clone())), Ok(()));
    for (positive, rule) in [("a", LabelRule::New), ("b", LabelRule::Of(named))] {
        assert!(stream(positive, rule).is_err(), "{positive}");
    }
}

#[test]
fn models_without_class_names_accept_only_signs() {
    let plain = || LabelRule::Of(Classes::plain());
    let csv = |text: &str, positive: &str| {
        let query = format!("labels=y&positive={positive}");
        read_by(
            Format::Csv,
            format!("a,y\n{text}").as_bytes(),
            &query,
            plain(),
        )
    };
    // A value that a label has is translated, and one that no label has is refused.
    assert_eq!(labels(&csv("1,foo\n0,bar\n", "foo").unwrap().data), "10");
    let (kind, detail) = refusal(csv("1,foo\n0,bar\n", "nope"));
    assert_eq!(kind, FormatErrorKind::TableOption);
    assert!(
        detail.contains("No label is `nope`: `foo` (1), `bar` (1)"),
        "{detail}"
    );
    assert!(csv("0,bar\n", "foo").is_err());
    // The request may repeat its own names, but not swap them.
    assert_eq!(labels(&csv("0,-1\n", "1").unwrap().data), "0");
    for positive in ["-1", "0"] {
        let (_, detail) = refusal(csv("1,1\n0,-1\n", positive));
        assert!(detail.contains("contradicts"), "{detail}");
    }
}

#[test]
fn unlabelled_examples_are_refused_under_class_names() {
    let named = || LabelRule::Of(Classes::new(Some("no".to_owned()), "yes".to_owned()));
    let read = |format, body: &[u8], query: &str| {
        let options = Options {
            unlabelled: UnlabelledMeans::Nothing,
            ..options(query, named())
        };
        crate::read(format, body, &options).map(|_| ())
    };
    let line = Place::Line { line: 3, column: 2 };
    for body in ["\n\n {\"x\":\"10\"}\n", "\n\n 10\n"] {
        let error = read(Format::Ndjson, body.as_bytes(), "").expect_err(body);
        assert_eq!(
            (error.kind, error.place),
            (FormatErrorKind::BadLabel, Some(line.clone()))
        );
    }
    for (format, body, query) in [
        (Format::Csv, b"a,b\n1,0\n".as_slice(), "labels=none"),
        (Format::Libsvm, b"1:1\n", "labels=none"),
        (Format::Octets, b"\x80", "n=2"),
        (
            Format::Json,
            br#"{"table":{"rows":[{"a":1}],"labels":"none"}}"#,
            "",
        ),
    ] {
        let error = read(format, body, query).expect_err(query);
        assert_eq!(error.kind, FormatErrorKind::BadOption, "{format:?} {error}");
    }
    let body = br#"{"half_space":{"examples":["10"]}}"#;
    assert_eq!(
        read(Format::Json, body, "").map_err(|error| error.kind),
        Err(FormatErrorKind::BadLabel)
    );
    assert_eq!(
        read(Format::Ndjson, b"{\"x\":\"10\",\"y\":\"yes\"}\n", ""),
        Ok(())
    );
    assert_eq!(read(Format::Octets, b"\xa0", "n=2&labels=appended"), Ok(()));
}

#[test]
fn an_option_of_the_query_replaces_that_of_the_table_form() {
    let body =
        br#"{"table":{"rows":[{"a":1,"y":"u"},{"a":0,"y":"v"}],"labels":"y","positive":"u"}}"#;
    for same in ["", "labels=y", "positive=u", "labels=y&positive=u"] {
        let parsed = read_new(Format::Json, body, same).unwrap();
        assert_eq!(labels(&parsed.data), "10", "{same}");
    }
    let parsed = read_new(Format::Json, body, "positive=v").unwrap();
    assert_eq!(labels(&parsed.data), "01");
    let parsed = read_new(Format::Json, body, "labels=a&positive=1").unwrap();
    assert_eq!(labels(&parsed.data), "10");
    // A value of the form is checked although it is not used, and lists of both count.
    let body = br#"{"table":{"rows":[{"a":1,"b":2,"c":3,"y":0}],"ignore":"a","missing":"never"}}"#;
    let error = read_new(Format::Json, body, "missing=drop").unwrap_err();
    assert_eq!(
        error.place,
        Some(Place::Pointer("/table/missing".to_owned()))
    );
    let body = br#"{"table":{"rows":[{"a":1,"b":2,"c":3,"y":0}],"ignore":"a"}}"#;
    let parsed = read_new(Format::Json, body, "ignore=b&labels=y").unwrap();
    assert_eq!(parsed.feature_names, Some(vec!["c".to_owned()]));
    let body = br#"{"half_space":{"examples":["10"],"assume":"independent"}}"#;
    let assumed = |assume| {
        let options = Options {
            assume: Some(assume),
            ..Options::default()
        };
        let read = crate::read(Format::Json, body.as_slice(), &options);
        read.map(|_| ()).map_err(|error| error.kind)
    };
    assert_eq!(assumed(Assume::Independent), Ok(()));
    assert_eq!(assumed(Assume::Reflected), Err(FormatErrorKind::BadOption));
}

#[test]
fn whole_numbers_beyond_the_doubles_are_classes_of_their_own() {
    let (low, high) = ("9007199254740992", "9007199254740993");
    for (sign, [negative, positive]) in [("", [low, high]), ("-", [high, low])] {
        let [first, second] = [high, low].map(|number| format!("{sign}{number}"));
        let names = [negative, positive]
            .map(|number| format!("{sign}{number}"))
            .to_vec();
        let csv = format!("a,b,y\n1,0,{first}\n0,1,{second}\n");
        let rows = format!("[{{\"a\":1,\"y\":{first}}},{{\"a\":0,\"y\":{second}}}]");
        let libsvm = format!("{first} 1:1\n{second} 2:1\n{first}.0 1:1\n");
        for (format, body) in [
            (Format::Csv, csv),
            (Format::Json, rows),
            (Format::Libsvm, libsvm),
        ] {
            let parsed = read_new(format, body.as_bytes(), "").unwrap();
            assert_eq!(parsed.class_names(), Some(names.clone()), "{body}");
        }
        let points = format!("{{\"x\":\"10\",\"y\":{first}}}\n{{\"x\":\"01\",\"y\":{second}}}\n");
        let named = Classes::of_names(names.clone()).unwrap();
        let parsed = read_by(Format::Ndjson, points.as_bytes(), "", LabelRule::Of(named));
        let expected = if sign.is_empty() { "10" } else { "01" };
        assert_eq!(labels(&parsed.unwrap().data), expected);
    }
    // A double has lost its digits.
    let values = [1.0, 0.0, 9_007_199_254_740_992.0_f64].map(f64::to_le_bytes);
    let refused = read_new(Format::Npy, &npy("<f8", 1, 3, &values.concat()), "").unwrap_err();
    assert!(refused.to_string().contains("beyond 2^53"), "{refused}");
    // A number of a JSON document keeps its digits up to 64 bits.
    let of = |label: &str| {
        let body = format!("{{\"labelled\":{{\"examples\":[{{\"x\":\"1\",\"y\":{label}}}]}}}}");
        let named = Classes::new(Some("1".to_owned()), "12345678901234567891".to_owned());
        read_by(Format::Json, body.as_bytes(), "", LabelRule::Of(named)).map(|_| ())
    };
    assert_eq!(of("12345678901234567891"), Ok(()));
    assert_eq!(of("\"12345678901234567891\""), Ok(()));
    for lost in [
        "12345678901234567892",
        "12345678901234567891.0",
        "123456789012345678910",
    ] {
        assert!(of(lost).is_err(), "{lost}");
    }
}

#[test]
fn class_names_with_line_breaks_come_back_from_csv() {
    for [first, second] in [
        ["one\ntwo", "three"],
        ["one\r\ntwo\n\n\"three\"", "a,b"],
        ["\n", "1"],
        ["x", "say \"so\"\n"],
    ] {
        let rows = serde_json::json!([{"a": 1, "b": 0, "y": first}, {"a": 0, "b": 1, "y": second}]);
        let parsed = read_new(
            Format::Json,
            rows.to_string().as_bytes(),
            &format!("positive={second}"),
        );
        let Ok(parsed) = parsed else {
            // A name of blanks is a missing label.
            assert_eq!(first, "\n");
            continue;
        };
        let classes = parsed.classes.clone().unwrap();
        for (labels, format) in [("first", TextFormat::Csv), ("first", TextFormat::Libsvm)] {
            let text =
                write_examples(&parsed.data, Some(&classes), None, 0, format, 1 << 20).unwrap();
            if format == TextFormat::Libsvm {
                assert_eq!(text.lines().count(), 2, "{text}");
                continue;
            }
            let by_names = LabelRule::Of(classes.clone());
            let query = format!("labels={labels}&header=false");
            let again = read_by(Format::Csv, text.as_bytes(), &query, by_names).unwrap();
            assert_eq!(again.data, parsed.data, "{text}");
            let query = format!("{query}&positive={second}");
            let new = read_new(Format::Csv, text.as_bytes(), &query).unwrap();
            assert_eq!(new.classes, Some(classes.clone()), "{text}");
        }
    }
}

#[test]
fn rows_of_csv_go_on_after_a_line_break_in_quotes() {
    let csv = "y,a\r\n\"u\r\nv\",1\r\nw,0\r\n";
    let parsed = read_new(Format::Csv, csv.as_bytes(), "positive=w").unwrap();
    assert_eq!(parsed.class_names().unwrap(), ["u\r\nv", "w"]);
    // The places of faults count every line.
    for (csv, place) in [
        ("y,a\n\"u\nv\",1\nw,x,0\n", at(4, 5)),
        ("y,a\n\"u\nv\",1,2\nw,0\n", at(3, 6)),
        ("y,a\nu,1\nv,\"0\n\n1\n", at(3, 3)),
        ("y,a\nu\"b,1\nc\"d,2\n", at(2, 1)),
    ] {
        let error = read_new(Format::Csv, csv.as_bytes(), "").expect_err(csv);
        assert_eq!(error.place, Some(place), "{csv:?} {error}");
    }
    let mut options = options("labels=first&header=false", LabelRule::New);
    options.limits.line_bytes_max = 10;
    let error = crate::parse(Format::Csv, b"u,1\n\"v,0\nu,1\nv,0\n".as_slice(), &options);
    let limit = FormatErrorKind::TooLarge {
        limit: "line_bytes_max",
        value: 10,
    };
    assert_eq!(error.expect_err("too long").kind, limit);
}
