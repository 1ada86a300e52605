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
