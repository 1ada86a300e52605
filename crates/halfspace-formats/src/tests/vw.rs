//! Tests of the lines of Vowpal Wabbit: the same examples as from other forms, what is refused and where, and examples
//! that are written and read again.

use proptest::prelude::*;

use super::*;
use crate::{LabelRule, TextFormat, Unwritten, write_examples};

fn parsed(body: &str) -> Parsed {
    read(Format::Vw, body).unwrap_or_else(|error| panic!("{error}\n{body}"))
}

#[test]
fn lines_have_labels_namespaces_and_values() {
    let body =
        "noun |w the |pos:0.5 DT caps:3\nverb 1.0 0 'tag| runs a^b w=x\nnoun tag|w the cat\n'\r\n";
    let error = read(Format::Vw, body).unwrap_err();
    assert_eq!(error.place, Some(at(4, 1)), "{error}");
    let body = "noun |w the |pos:0.5 DT caps:3\nverb 1.0 0 'tag| runs a^b w=x\n\nnoun 1 |\nverb |w:2 the\r\n";
    let vw = parsed(body);
    assert_eq!(
        named_rows(&vw),
        [
            vec!["pos^DT: 0.5", "pos^caps: 1.5", "w^the"],
            vec!["a\\^b", "runs", "w=x"],
            vec![],
            vec!["w^the: 2"],
        ]
    );
    assert_eq!(labels(&vw.data), "0101");
    assert_eq!(
        vw.class_names(),
        Some(vec!["noun".to_owned(), "verb".to_owned()])
    );
}

#[test]
fn lines_give_the_same_examples_as_other_names() {
    let vw = parsed("1 |w the cat\n-1 |w a |caps x\n");
    let ndjson = "{\"x\":[\"w^the\",\"w^cat\"],\"y\":1}\n{\"x\":[\"w^a\",\"caps^x\"],\"y\":-1}\n";
    let other = read(Format::Ndjson, ndjson).unwrap();
    assert_eq!((&other.data, other.digest()), (&vw.data, vw.digest()));
    assert_eq!(other.classes, vw.classes);
}

#[test]
fn namespaces_and_columns_share_no_names() {
    let vw = parsed("1 |a b^c |a^b c |a=b c | a^b\n");
    let names = ["a\\=b^c", "a\\^b", "a\\^b^c", "a^b^c"];
    assert_eq!(named_rows(&vw), [names]);
    let table = "a^b,y\nc,1\nd,0\n";
    let options = Options {
        open_vocabulary: true,
        ..Options::default()
    };
    let table = parse(Format::Csv, table.as_bytes(), &options).unwrap();
    assert_eq!(named_rows(&table), [["a\\^b=c"], ["a\\^b=d"]]);
}

#[test]
fn predictions_ignore_labels_and_tags() {
    let options = Options {
        label_rule: LabelRule::Ignored(None),
        unlabelled: UnlabelledMeans::Nothing,
        ..Options::default()
    };
    for body in [
        "|a x y\n| z\n",
        "noun |a x y\nverb | z\n",
        "tag|a x y\n'other | z\n",
    ] {
        let parsed = parse(Format::Vw, body.as_bytes(), &options).unwrap();
        assert_eq!(
            named_rows(&parsed),
            [vec!["a^x", "a^y"], vec!["z"]],
            "{body}"
        );
    }
}

#[test]
fn lines_of_other_tasks_are_refused_at_their_place() {
    use FormatErrorKind as Kind;
    let cases = [
        ("1 a b\n", Kind::Syntax, 1),
        ("shared | a\n1:0.5 | b\n", Kind::Unsupported, 1),
        ("ca 1:1:0.5 | a\n", Kind::Unsupported, 4),
        ("slates shared 0.8 | a\n", Kind::Unsupported, 8),
        ("NA | a\nx | b\n", Kind::BadLabel, 1),
        ("1:0.5 2:1 | a\n", Kind::Unsupported, 1),
        ("1:0.5:0.2 | a\n", Kind::Unsupported, 1),
        ("1,2 | a\n", Kind::Unsupported, 1),
        ("1 0 | a\n", Kind::BadValue, 3),
        ("1 1 0.5 | a\n", Kind::Unsupported, 5),
        ("1 one | a\n", Kind::BadValue, 3),
        ("1 1 0 more | a\n", Kind::Syntax, 7),
        ("1 |a:x b\n", Kind::BadValue, 6),
        ("1 |a b:\n", Kind::BadValue, 8),
        ("1 |a b:nan\n", Kind::BadValue, 8),
        ("1 |a b:1e400\n", Kind::BadValue, 8),
        ("1 |a :2\n", Kind::BadName, 6),
        ("1 |a b:1 b:2\n", Kind::BadName, 3),
        ("? | a\n", Kind::BadLabel, 1),
    ];
    for (body, kind, column) in cases {
        let error = read(Format::Vw, body).expect_err(body);
        assert_eq!(
            (error.kind, error.place.clone()),
            (kind, Some(at(1, column))),
            "{body}{error}"
        );
    }
    for query in ["n=3", "words=2", "first_index=0", "labels=last"] {
        let mut options = Options::default();
        let (name, text) = query.split_once('=').unwrap();
        assert_eq!(options.set(name, text), Ok(true));
        assert!(
            parse(Format::Vw, &b"1 | a\n"[..], &options).is_err(),
            "{query}"
        );
    }
}

#[test]
fn names_that_lines_cannot_have_are_not_written() {
    for name in ["a b", "a:b", "a|b", "a\\b", "", "^b", "a^", "a\tb"] {
        let body = serde_json::json!({"x": {"other": 1, name: 1}, "y": 1}).to_string();
        let Ok(parsed) = read(Format::Ndjson, &body) else {
            assert_eq!(name, "");
            continue;
        };
        let names = parsed.vocabulary.as_deref();
        let written = write_examples(&parsed.data, None, names, 0, TextFormat::Vw, 1 << 20);
        assert_eq!(written, Err(Unwritten::Name(name.to_owned())));
    }
}

#[test]
fn classes_that_lines_cannot_have_are_not_written() {
    for class in ["a b", "a:b", "a|b", "'a", "shared", "1,2"] {
        let line = |class: &str| serde_json::json!({"x": ["n"], "y": class}).to_string();
        let body = ["x", "y", class].map(line).join("\n");
        let parsed = read(Format::Ndjson, &body).unwrap();
        let (classes, names) = (parsed.classes.as_ref(), parsed.vocabulary.as_deref());
        let written = write_examples(&parsed.data, classes, names, 0, TextFormat::Vw, 1 << 20);
        assert_eq!(written, Err(Unwritten::Name(class.to_owned())));
    }
}

proptest! {
    #[test]
    fn written_lines_are_read_again(
        rows in proptest::collection::vec(
            (0..3_u8, proptest::collection::btree_map("([a-c=\\\\^]{1,2}\\|)?[a-c=\\\\^]{1,2}", 1..4_u8, 0..5)),
            1..6,
        ),
    ) {
        let mut body = "class0 |\nclass1 | a\n".to_owned();
        for (label, names) in &rows {
            body += &format!("class{label} |");
            for (name, value) in names {
                let (namespace, feature) = name.split_once('|').unwrap_or(("", name));
                let value = match value { 1 => String::new(), value => format!(":{value}") };
                body += &format!("{namespace} {feature}{value} |");
            }
            body += "\n";
        }
        let parsed = parsed(&body);
        let (classes, names) = (parsed.classes.as_ref(), parsed.vocabulary.as_deref());
        let text = write_examples(&parsed.data, classes, names, 0, TextFormat::Vw, 1 << 20).unwrap();
        let options = Options {
            label_rule: LabelRule::of(classes),
            ..Options::default()
        };
        let again = parse(Format::Vw, text.as_bytes(), &options).unwrap();
        prop_assert_eq!(&again.data, &parsed.data, "{}", text);
        prop_assert_eq!(again.vocabulary, parsed.vocabulary);
    }
}
