//! Tests of features that have names: every form of a body gives the same examples, faults have their place, and the
//! stored form keeps the names.

use std::io::Cursor;

use halfspace_core::bits::SparseRow;
use proptest::prelude::*;

use super::*;
use crate::{Layout, NdjsonPortions, Place, Spool, Vocabulary, gather, read_blocks, write_blocks};

fn read_named(format: Format, body: &str) -> Parsed {
    let options = Options {
        open_vocabulary: true,
        ..Options::default()
    };
    parse(format, body.as_bytes(), &options).unwrap_or_else(|error| panic!("{error}\n{body}"))
}

fn names_of(parsed: &Parsed) -> Vec<&str> {
    parsed.vocabulary.as_ref().expect("names").names().collect()
}

/// The names and values of each row, in the order of the ids.
fn rows_of(parsed: &Parsed) -> Vec<Vec<(&str, f64)>> {
    let Features::Sparse(rows) = parsed.data.features() else {
        panic!("sparse rows");
    };
    let names = names_of(parsed);
    let named = |row: SparseRow<'_>| {
        row.entries()
            .map(|(id, value)| (names[id], value))
            .collect()
    };
    (0..rows.rows()).map(|row| named(rows.row(row))).collect()
}

#[test]
fn names_give_the_same_examples_in_every_form() {
    let forms = [
        (
            Format::Ndjson,
            "{\"x\":[\"w=the\",\"pos=DT\"],\"y\":\"noun\"}\n{\"x\":[],\"y\":\"verb\"}\n\
             {\"x\":[\"caps\",\"w=the\"],\"y\":\"noun\"}\n",
        ),
        (
            Format::Ndjson,
            "{\"x\":{\"pos\":\"DT\",\"w=the\":1},\"y\":\"noun\"}\n{\"x\":{\"caps\":false},\"y\":\"verb\"}\n\
             {\"x\":{\"w\":\"the\",\"caps\":true,\"pos\":null},\"y\":\"noun\"}\n",
        ),
        (
            Format::Json,
            "{\"labelled\":{\"examples\":[{\"x\":[\"pos=DT\",\"w=the\"],\"y\":\"noun\"},{\"x\":{},\"y\":\"verb\"},\
             {\"x\":{\"w=the\":1.0,\"caps\":1},\"y\":\"noun\"}]}}",
        ),
        (
            Format::Libsvm,
            "noun w=the:1 pos=DT\nverb\nnoun caps:1 w=the # a comment\n",
        ),
    ];
    let parsed = forms.map(|(format, body)| read_named(format, body));
    for other in &parsed {
        assert_eq!(names_of(other), ["caps", "pos=DT", "w=the"]);
        assert_eq!(other.digest(), parsed[0].digest());
        assert_eq!(other.data, parsed[0].data);
        assert_eq!(other.classes, parsed[0].classes);
    }
    let rows = rows_of(&parsed[0]);
    assert_eq!(
        rows,
        [
            vec![("pos=DT", 1.0), ("w=the", 1.0)],
            vec![],
            vec![("caps", 1.0), ("w=the", 1.0)]
        ]
    );
    // The names belong to the digest.
    let other = read_named(Format::Libsvm, "noun w=a:1 pos=DT\nverb\nnoun caps:1 w=a\n");
    assert_eq!(other.data, parsed[0].data);
    assert_ne!(other.digest(), parsed[0].digest());
}

#[test]
fn a_column_with_a_text_has_a_name_of_its_own() {
    let body = r#"{"x": {"a": "b=c", "a=b": "c", "a\\": "=", "a=b=c": 1}}"#;
    let parsed = read_named(Format::Ndjson, body);
    assert_eq!(names_of(&parsed), [r"a=b=c", r"a\=b=c", r"a\\=="]);
}

#[test]
fn first_example_decides_whether_features_have_names() {
    for (format, body) in [
        (
            Format::Ndjson,
            "{\"x\":[\"a\"],\"y\":1}\n{\"x\":[\"b\"],\"y\":-1}\n",
        ),
        (Format::Libsvm, "1 a\n-1 b:1\n"),
        (
            Format::Json,
            "{\"labelled\":{\"examples\":[{\"x\":[\"a\"],\"y\":1},{\"x\":[\"b\"],\"y\":-1}]}}",
        ),
    ] {
        let parsed = parse(format, body.as_bytes(), &Options::default()).expect("names");
        assert_eq!(names_of(&parsed), ["a", "b"]);
    }
    // Indices are names only if the request says so.
    let numbers = parse(
        Format::Libsvm,
        &b"1 7:1 3000000000:1\n"[..],
        &Options::default(),
    );
    let numbers = numbers.expect("indices");
    assert_eq!(
        (numbers.data.n(), numbers.vocabulary),
        (3_000_000_000, None)
    );
    assert_eq!(
        names_of(&read_named(Format::Libsvm, "1 7:1 3000000000:1\n")),
        ["3000000000", "7"]
    );
}

#[test]
fn values_of_names_are_real_unless_all_are_1() {
    let parsed = read_named(
        Format::Ndjson,
        "{\"x\":{\"b\":1,\"a\":1}}\n{\"x\":{\"a\":-0.5,\"c\":0,\"b\":3}}\n",
    );
    assert_eq!(
        rows_of(&parsed),
        [vec![("a", 1.0), ("b", 1.0)], vec![("a", -0.5), ("b", 3.0)]]
    );
    assert_eq!(parsed.first_real, Some(Place::Line { line: 2, column: 6 }));
    let text = read_named(Format::Libsvm, "1 b:1 a\n1 a:-0.5 c:0 b:3\n");
    assert_eq!(text.data.features(), parsed.data.features());
    assert_eq!(text.first_real, Some(Place::Line { line: 2, column: 3 }));
}

#[test]
fn faults_of_names_have_their_place() {
    let long = "n".repeat(1025);
    let cases = [
        (
            Format::Ndjson,
            "{\"x\":[\"\"]}".to_owned(),
            FormatErrorKind::BadName,
            7,
        ),
        (
            Format::Ndjson,
            format!("{{\"x\":[\"a\",\"{long}\"]}}"),
            FormatErrorKind::BadName,
            11,
        ),
        (
            Format::Ndjson,
            "{\"x\":{\"a\":1,\"a\":2}}".to_owned(),
            FormatErrorKind::BadName,
            6,
        ),
        (
            Format::Ndjson,
            "{\"x\":[\"a\",1]}".to_owned(),
            FormatErrorKind::BadName,
            11,
        ),
        (
            Format::Ndjson,
            "{\"x\":{\"a\":1e999}}".to_owned(),
            FormatErrorKind::Schema,
            15,
        ),
        (
            Format::Ndjson,
            "{\"x\":{\"a\":[1]}}".to_owned(),
            FormatErrorKind::Schema,
            11,
        ),
        (
            Format::Libsvm,
            "1 a:1 a:2\n".to_owned(),
            FormatErrorKind::BadName,
            1,
        ),
        (
            Format::Libsvm,
            "1 a b:0 b:2\n".to_owned(),
            FormatErrorKind::BadName,
            1,
        ),
        (
            Format::Ndjson,
            "{\"x\":{\"a\":1,\"a\":0}}".to_owned(),
            FormatErrorKind::BadName,
            6,
        ),
        (
            Format::Libsvm,
            "1 a :1\n".to_owned(),
            FormatErrorKind::BadName,
            5,
        ),
        (
            Format::Libsvm,
            "1 a b:nan\n".to_owned(),
            FormatErrorKind::BadValue,
            7,
        ),
        (
            Format::Libsvm,
            format!("1 {long}\n"),
            FormatErrorKind::BadName,
            3,
        ),
    ];
    for (format, body, kind, column) in cases {
        let error = parse(format, body.as_bytes(), &Options::default()).expect_err(&body);
        assert_eq!(error.kind, kind, "{error}");
        assert_eq!(
            error.place,
            Some(Place::Line { line: 1, column }),
            "{error}"
        );
    }
    // Equal values are one name.
    assert_eq!(
        rows_of(&read_named(Format::Libsvm, "1 a b:1 a:1\n")),
        [vec![("a", 1.0), ("b", 1.0)]]
    );
    let latin =
        parse(Format::Libsvm, &b"1 caf\xe9:1\n"[..], &Options::default()).expect_err("no UTF-8");
    assert_eq!(latin.place, Some(Place::Line { line: 1, column: 3 }));
    assert!(latin.detail.contains("0xE9"), "{latin}");
}

#[test]
fn names_and_values_are_not_mixed() {
    for body in [
        "{\"x\":\"01\"}\n{\"x\":[\"a\"]}\n",
        "{\"x\":[\"a\"]}\n{\"x\":\"01\"}\n",
        "{\"x\":[\"a\"]}\n{\"x\":[0,1]}\n",
        "{\"x\":[0.5]}\n{\"x\":{\"a\":1}}\n",
    ] {
        let error = parse(Format::Ndjson, body.as_bytes(), &Options::default()).expect_err(body);
        assert_eq!(error.kind, FormatErrorKind::BadName, "{error}");
        assert!(
            matches!(error.place, Some(Place::Line { line: 2, .. })),
            "{error}"
        );
    }
    for body in [
        "{\"x\":[\"a\",[\"b\"]]}",
        "{\"x\":[\"a\",[]]}",
        "{\"x\":[\"a\",null]}",
    ] {
        let error = parse(Format::Ndjson, body.as_bytes(), &Options::default()).expect_err(body);
        assert_eq!(error.kind, FormatErrorKind::Schema, "{error}");
    }
    let options = Options {
        n: Some(3),
        ..Options::default()
    };
    for (format, body) in [
        (Format::Ndjson, "{\"x\":[\"a\"]}\n"),
        (Format::Libsvm, "1 a\n"),
    ] {
        let error = parse(format, body.as_bytes(), &options).expect_err(body);
        assert_eq!(error.kind, FormatErrorKind::BadOption, "{error}");
    }
}

#[test]
fn json_keeps_a_stated_open_vocabulary() {
    let empty = r#"{"labelled":{"examples":[{"x":[],"y":1},{"x":{},"y":-1}]}}"#;
    assert_eq!(names_of(&read_named(Format::Json, empty)), [""; 0]);
    let options = Options {
        open_vocabulary: true,
        ..Options::default()
    };
    for (body, kind) in [
        (
            r#"{"unlabelled":{"examples":["01"]}}"#,
            FormatErrorKind::BadName,
        ),
        (
            r#"{"labelled":{"examples":[{"x":[0.5],"y":1}]}}"#,
            FormatErrorKind::BadName,
        ),
        (
            r#"{"packed":{"n":3,"rows":"oEA=","labels":"gA=="}}"#,
            FormatErrorKind::BadOption,
        ),
    ] {
        let error = parse(Format::Json, body.as_bytes(), &options).expect_err(body);
        assert_eq!(error.kind, kind, "{error}");
    }
}

#[test]
fn names_beyond_their_limit_are_refused() {
    let mut options = Options::default();
    options.limits.names_max = 3;
    let body = "{\"x\":[\"a\",\"b\"]}\n{\"x\":[\"b\",\"c\"]}\n";
    parse(Format::Ndjson, body.as_bytes(), &options).expect("three names");
    let error = parse(
        Format::Ndjson,
        (body.to_owned() + "{\"x\":[\"d\"]}").as_bytes(),
        &options,
    );
    let error = error.expect_err("four names");
    let limit = FormatErrorKind::TooLarge {
        limit: "names_max",
        value: 3,
    };
    assert_eq!(
        (error.kind, error.place),
        (limit, Some(Place::Line { line: 3, column: 7 }))
    );
}

#[test]
fn each_portion_has_its_own_names() {
    let body = "{\"x\":[\"b\",\"a\"],\"y\":1}\n{\"x\":[\"c\"],\"y\":-1}\n{\"x\":[],\"y\":1}\n";
    let mut portions = NdjsonPortions::new(body.as_bytes(), &Options::default()).expect("options");
    let mut seen = Vec::new();
    while seen.len() < 3 {
        portions.read(1).expect("good lines");
        let portion = portions.take().expect("memory").expect("an example");
        seen.push(names_of(&portion.parsed).join(" "));
    }
    assert_eq!(seen, ["a b", "c", ""]);
}

#[test]
fn stored_form_keeps_names_and_finds_every_flipped_bit() {
    for body in [
        "{\"x\":[\"w=the\",\"pos=DT\"],\"y\":\"noun\"}\n{\"x\":[\"caps\"],\"y\":\"verb\"}\n",
        "{\"x\":{\"a\":0.5}}\n{\"x\":{}}\n",
    ] {
        let parsed = read_named(Format::Ndjson, body);
        let mut bytes = Vec::new();
        let (classes, names) = (parsed.classes.as_ref(), parsed.vocabulary.as_deref());
        write_blocks(&parsed.data, classes, names, None, &mut bytes).expect("memory");
        assert!(Layout::read(bytes.as_slice()).expect("own").is_named());
        let (data, _, read, _) = read_blocks(bytes.as_slice()).expect("own");
        assert_eq!((&data, read.as_ref()), (&parsed.data, names));
        for bit in 0..8 * bytes.len() {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(read_blocks(bytes.as_slice()).is_err(), "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

fn ndjson(rows: &[Vec<String>]) -> String {
    let line = |names: &Vec<String>| format!("{{\"x\":{}}}\n", serde_json::json!(names));
    rows.iter().map(line).collect()
}

proptest! {
    /// The order of the names in a line changes nothing, and rows that leave memory are stored like others.
    #[test]
    fn order_of_names_changes_nothing(
        rows in proptest::collection::vec(proptest::collection::vec("[a-c\u{e9}]{1,3}", 0..6), 1..200),
        shift in 0_usize..6,
        memory_bytes_max in 1_u64..2_000,
    ) {
        let mut turned = rows.clone();
        turned.iter_mut().for_each(|row| {
            let by = shift.min(row.len());
            row.rotate_left(by);
            row.extend(row.first().cloned());
        });
        let own = read_named(Format::Ndjson, &ndjson(&rows));
        let other = read_named(Format::Ndjson, &ndjson(&turned));
        prop_assert_eq!(&own, &other);
        let distinct: std::collections::HashSet<&String> = rows.iter().flatten().collect();
        prop_assert_eq!(names_of(&own).len(), distinct.len());
        let spool = Spool::new(memory_bytes_max, || Ok(Cursor::new(Vec::new())));
        let options = Options { open_vocabulary: true, ..Options::default() };
        let mut spooled = gather(Format::Ndjson, ndjson(&rows).as_bytes(), &options, spool).expect("good");
        let (mut bytes, mut expected) = (Vec::new(), Vec::new());
        let facts = spooled.store(&mut bytes, 1_000).expect("memory");
        prop_assert_eq!(facts.digest, own.digest());
        Parsed::from(own).store(&mut expected, 1_000).expect("memory");
        prop_assert!(bytes == expected);
    }

    /// Ids of other data become those of a vocabulary, and the examples stay the same.
    #[test]
    fn renumbered_examples_keep_their_names(
        rows in proptest::collection::vec(proptest::collection::vec("[a-d]{1,2}", 0..6), 1..40),
        known in proptest::collection::hash_set("[a-d]{1,2}", 0..12),
    ) {
        let parsed = read_named(Format::Ndjson, &ndjson(&rows));
        let own = Vocabulary::of_names(known.iter().map(String::as_str)).expect("distinct");
        let given = parsed.vocabulary.as_ref().expect("names");
        let renumbered = own.renumbering(given).of(&parsed.data).expect("memory");
        let Features::Sparse(matrix) = renumbered.features() else { panic!("sparse rows") };
        for (row, names) in rows_of(&parsed).into_iter().enumerate() {
            let ids = matrix.row(row).ids;
            let mut found: Vec<&str> = ids.iter().filter_map(|id| own.name(*id)).collect();
            let mut expected: Vec<&str> = names.iter().map(|one| one.0).filter(|name| known.contains(*name)).collect();
            found.sort_unstable();
            expected.sort_unstable();
            prop_assert_eq!(found, expected);
            prop_assert_eq!(ids.len(), names.len());
        }
    }
}
