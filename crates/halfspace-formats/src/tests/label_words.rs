//! What a request says about labels is honoured or refused, in every format.

use super::*;
use crate::{Classes, DataForm, LabelRule, TextFormat, write_examples};

/// Options by their names, and the rule for labels.
fn options(query: &str, label_rule: LabelRule) -> Options {
    let mut options = Options {
        label_rule,
        ..Options::default()
    };
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, text) = pair.split_once('=').unwrap();
        assert_eq!(options.set(name, text), Ok(true), "{query}");
    }
    options
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
            let text = write_examples(&parsed.data, Some(&classes), 0, format, 1 << 20).unwrap();
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
