//! Tests of the labels of many classes: bodies that have only some of the classes, and tables with more labels than a
//! byte counts.

use halfspace_core::learners::sample::classes::planes_for;
use halfspace_core::learners::sample::examples::{Examples, LabelKind};

use super::*;
use crate::{Classes, LabelRule, NdjsonPortions};

/// The name of class `code`.
fn name(code: usize) -> String {
    format!("c{code}")
}

fn classes(count: usize) -> Classes {
    Classes::of_names((0..count).map(name)).unwrap()
}

fn codes(data: &Data) -> Vec<usize> {
    let Labels::Labelled(codes) = data.labels() else {
        panic!("labelled");
    };
    (0..codes.rows())
        .map(|row| codes.get(row) as usize)
        .collect()
}

/// Bodies of two features with these labels, in each format that names labels, and with and without texts in cells.
fn bodies(labels: &[usize]) -> Vec<(Format, String)> {
    let lines = |line: &dyn Fn(usize, &str) -> String| -> String {
        let lines = labels.iter().enumerate();
        lines
            .map(|(row, code)| line(row % 2, &name(*code)))
            .collect()
    };
    let points = lines(&|bit, label| format!("{{\"x\":[{bit},1],\"y\":\"{label}\"}},"));
    let points = points.trim_end_matches(',');
    vec![
        (
            Format::Csv,
            "a,b,y\n".to_owned() + &lines(&|bit, label| format!("{bit},1,{label}\n")),
        ),
        (
            Format::Csv,
            "a,b,y\n".to_owned()
                + &lines(&|bit, label| format!("{},x,{label}\n", ["red", "blue"][bit])),
        ),
        (
            Format::Ndjson,
            lines(&|bit, label| format!("{{\"x\":[{bit},1],\"y\":\"{label}\"}}\n")),
        ),
        (
            Format::Ndjson,
            lines(&|bit, label| format!("{{\"a\":{bit},\"b\":1,\"y\":\"{label}\"}}\n")),
        ),
        (
            Format::Libsvm,
            lines(&|bit, label| format!("{label} 1:{bit} 2:1\n")),
        ),
        (
            Format::Json,
            format!("{{\"labelled\":{{\"examples\":[{points}]}}}}"),
        ),
    ]
}

fn read_as(format: Format, body: &str, label_rule: LabelRule) -> Parsed {
    let options = Options {
        label_rule,
        ..Options::default()
    };
    parse(format, body.as_bytes(), &options).unwrap()
}

#[test]
fn body_with_some_of_the_classes_has_the_form_of_one_with_all() {
    for count in [2, 3, 5, 300] {
        let planes = planes_for(count);
        for labels in [vec![0], vec![1, 0, 1], vec![count - 1, 0]] {
            for (format, body) in bodies(&labels) {
                let parsed = read_as(format, &body, LabelRule::Of(classes(count)));
                let kind = parsed.data.shape().labels;
                assert_eq!(kind, LabelKind::Labelled { planes }, "{body}");
                assert_eq!(codes(&parsed.data), labels, "{body}");
            }
        }
    }
}

#[test]
fn portion_with_some_of_the_classes_has_the_form_of_one_with_all() {
    let body = bodies(&[0, 4, 1]).swap_remove(2).1;
    let options = Options {
        n: Some(2),
        label_rule: LabelRule::Of(classes(5)),
        ..Options::default()
    };
    let mut portions = NdjsonPortions::new(body.as_bytes(), &options).unwrap();
    for code in [0, 4, 1] {
        portions.read(1).unwrap();
        let portion = portions.take().unwrap().unwrap();
        let kind = portion.parsed.data.shape().labels;
        assert_eq!(kind, LabelKind::Labelled { planes: 3 });
        assert_eq!(codes(&portion.parsed.data), [code]);
    }
}

#[test]
fn table_may_have_more_labels_than_a_byte_counts() {
    let labels: Vec<usize> = (0..900).map(|row| row * 7 % 300).collect();
    let mut first_seen = Vec::new();
    for label in &labels {
        if !first_seen.contains(label) {
            first_seen.push(*label);
        }
    }
    // New labels of LIBSVM are numbers.
    let named = bodies(&labels)
        .into_iter()
        .filter(|(format, _)| *format != Format::Libsvm);
    for (format, body) in named {
        let parsed = read_as(format, &body, LabelRule::New);
        let names = parsed.class_names().unwrap();
        let expected: Vec<String> = first_seen.iter().copied().map(name).collect();
        assert_eq!(names, expected);
        let read: Vec<usize> = codes(&parsed.data)
            .into_iter()
            .map(|code| first_seen[code])
            .collect();
        assert_eq!(read, labels, "{format:?}");
    }
}

#[test]
fn encoding_without_labels_leaves_them_to_the_values() {
    let unlabelled = Options {
        labels: Some(LabelsColumn::None),
        ..Options::default()
    };
    let first = parse(Format::Csv, &b"a,b\nred,x\nblue,x\n"[..], &unlabelled).unwrap();
    let mut options = Options::default();
    options.table.encoding = Some(first.table.unwrap());
    options.labels = Some(LabelsColumn::Named("y".to_owned()));
    let body = &b"a,b,y\nred,x,yes\nblue,x,no\nblue,x,yes\n"[..];
    let parsed = parse(Format::Csv, body, &options).unwrap();
    let classes = parsed.classes.clone().unwrap();
    assert_eq!(
        (classes.positive(), classes.negative()),
        ("yes", Some("no"))
    );
    assert_eq!(labels(&parsed.data), "101");
}

#[test]
fn threshold_makes_two_classes_of_numbers() {
    let mut options = Options::default();
    assert_eq!(options.set("label_threshold", "150.5"), Ok(true));
    let body = "x,y\n0,151\n1,75\n1,150.5\n0,-3\n0,1e3\n";
    let read = |options: &Options, body: &str| parse(Format::Csv, body.as_bytes(), options);
    let parsed = read(&options, body).unwrap();
    assert_eq!(codes(&parsed.data), [1, 0, 1, 0, 1]);
    let classes = parsed.classes.unwrap();
    assert_eq!(
        classes.names(),
        Some(vec!["<150.5".to_owned(), ">=150.5".to_owned()])
    );
    // The model reads numbers and the names of its classes.
    let kept: Classes = serde_json::from_str(&serde_json::to_string(&classes).unwrap()).unwrap();
    let of_model = Options {
        label_rule: LabelRule::Of(kept),
        ..Options::default()
    };
    let again = read(&of_model, "x,y\n0,>=150.5\n1,<150.5\n1,150.5\n0,2\n").unwrap();
    assert_eq!(codes(&again.data), [1, 0, 1, 0]);
    let unknown = read(&of_model, "x,y\n0,high\n").unwrap_err();
    assert_eq!(unknown.kind, FormatErrorKind::UnknownLabel);
    assert!(
        unknown.detail.contains("`high` is not a number"),
        "{unknown}"
    );
    assert!(read(&options, "x,y\n0,high\n1,low\n").is_err());
    for (format, body) in [
        (Format::Libsvm, "151 1:1\n75 2:1\n150.5 1:1\n"),
        (
            Format::Ndjson,
            "{\"x\":[1,0],\"y\":151}\n{\"x\":[0,1],\"y\":75}\n{\"x\":[1,0],\"y\":150.5}\n",
        ),
    ] {
        let parsed = parse(format, body.as_bytes(), &options).unwrap();
        assert_eq!(codes(&parsed.data), [1, 0, 1], "{format:?}");
    }
    for wrong in ["", "x", "inf", "1e999"] {
        assert!(
            Options::default().set("label_threshold", wrong).is_err(),
            "{wrong}"
        );
    }
    assert!(
        options
            .set("positive", "7")
            .unwrap_err()
            .contains("contradict")
    );
}

#[test]
fn refusal_of_measured_labels_proposes_a_threshold() {
    let rows: String = (0..200)
        .map(|row| format!("{},{}\n", row % 2, row * row))
        .collect();
    let refused = parse(
        Format::Csv,
        format!("x,y\n{rows}").as_bytes(),
        &Options::default(),
    )
    .unwrap_err();
    assert!(
        refused.detail.contains("hold 200 numbers")
            && refused.detail.contains("`label_threshold=10000`"),
        "{refused}"
    );
    let mut options = Options::default();
    options.set("label_threshold", "10000").unwrap();
    let parsed = parse(Format::Csv, format!("x,y\n{rows}").as_bytes(), &options).unwrap();
    assert_eq!(codes(&parsed.data).iter().sum::<usize>(), 100);
}
