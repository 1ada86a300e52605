//! Tests of texts: the same examples from every form of a body, conjunctions, models that read texts by their encoding,
//! and bad input.

use super::*;
use crate::{LabelRule, NdjsonPortions, Occurrences};

fn texts(format: Format, query: &str, body: &str) -> Parsed {
    let parsed = parse(format, body.as_bytes(), &options(query));
    parsed.unwrap_or_else(|error| panic!("{format:?} {query}: {error}"))
}

fn refused(format: Format, query: &str, body: &str) -> FormatError {
    parse(format, body.as_bytes(), &options(query)).expect_err(body)
}

/// The names of one text.
fn names_of(query: &str, text: &str) -> Vec<String> {
    let line = serde_json::json!({"x": {"text": text}, "y": 1}).to_string();
    named_rows(&texts(Format::Ndjson, query, &line)).remove(0)
}

const NDJSON: &str = "{\"x\":{\"text\":\"Win MONEY, win big!\"},\"y\":\"spam\"}\n\
    {\"x\":{\"text\":\"\"},\"y\":\"ham\"}\n{\"x\":{\"text\":\"see you at 10.30\"},\"y\":\"ham\"}\n";

#[test]
fn texts_give_the_same_examples_in_every_form() {
    let json = "{\"labelled\":{\"examples\":[{\"x\":{\"text\":\"Win MONEY, win big!\"},\"y\":\"spam\"},\
        {\"x\":{\"text\":\"\"},\"y\":\"ham\"},{\"y\":\"ham\",\"x\":{\"text\":\"see you at 10.30\"}}]}}";
    let csv = "text,y\n\"Win MONEY, win big!\",spam\n,ham\nsee you at 10.30,ham\n";
    let rows = "{\"text\":\"Win MONEY, win big!\",\"class\":\"spam\"}\n{\"text\":null,\"class\":\"ham\"}\n\
        {\"class\":\"ham\",\"text\":\"see you at 10.30\"}\n";
    let arff = "@relation r\n@attribute text string\n@attribute class {spam,ham}\n@data\n\
        'Win MONEY, win big!',spam\n'',ham\n'see you at 10.30',ham\n";
    for query in [
        "words=1-2",
        "characters=2-4&occurrences=counts",
        "conjunctions=2",
    ] {
        let first = texts(Format::Ndjson, query, NDJSON);
        let columns = format!("{query}&kinds=text:text");
        let tabs = csv
            .replace(",spam", "\tspam")
            .replace(",ham", "\tham")
            .replace(",y", "\ty");
        for (format, query, body) in [
            (Format::Json, query, json),
            (Format::Csv, &columns, csv),
            (Format::Tsv, &columns, &tabs),
            (Format::Ndjson, &columns, rows),
            (Format::Arff, query, arff),
        ] {
            let other = texts(format, query, body);
            assert_eq!(named_rows(&other), named_rows(&first), "{format:?} {query}");
            assert_eq!(other.digest(), first.digest(), "{format:?} {query}");
            let [own, given] =
                [&first, &other].map(|parsed| parsed.table.as_ref().expect("an encoding"));
            assert_eq!(own.extraction, given.extraction);
            assert!(own.fits(given) && given.fits(own) && own.is_open());
            assert_eq!(own.check(None), Ok(()));
        }
    }
    let words = named_rows(&texts(Format::Ndjson, "", NDJSON));
    assert_eq!(
        words,
        [
            vec!["text:big", "text:money", "text:win"],
            vec![],
            vec!["text:10.30", "text:at", "text:see", "text:you"]
        ]
    );
}

#[test]
fn text_gives_the_names_of_its_options() {
    let cases: [(&str, &str, &[&str]); 9] = [
        (
            "words=1-2",
            "a b a",
            &["text:a", "text:a b", "text:b", "text:b a"],
        ),
        ("words=2", "one", &[]),
        ("characters=2", "Ab  c", &["text~ c", "text~ab", "text~b "]),
        ("characters=3&words=1", "abc", &["text:abc", "text~abc"]),
        ("lower_case=false", "Ab ab", &["text:Ab", "text:ab"]),
        ("occurrences=counts", "a b a a", &["text:a: 3", "text:b"]),
        (
            "window=2",
            "I ate a [[piece]] of pie",
            &[
                "text:a",
                "text:ate",
                "text:of",
                "text:pie",
                "text@-1,1:a of",
                "text@-1:a",
                "text@-2,-1:ate a",
                "text@1,2:of pie",
                "text@1:of",
            ],
        ),
        (
            "conjunctions=2",
            "b a&",
            &["text:a", "text:a&text:b", "text:b"],
        ),
        (
            "conjunctions=3",
            "a b c",
            &[
                "text:a",
                "text:a&text:b",
                "text:a&text:b&text:c",
                "text:a&text:c",
                "text:b",
                "text:b&text:c",
                "text:c",
            ],
        ),
    ];
    for (query, text, names) in cases {
        assert_eq!(names_of(query, text), names, "{query}");
    }
}

#[test]
fn names_of_equivalent_texts_are_equal() {
    let composed = "\u{c5}ngstr\u{f6}m \u{c5}";
    let decomposed = "A\u{30a}NGSTRO\u{308}M \u{212b}";
    assert_eq!(names_of("", composed), names_of("", decomposed));
    assert_eq!(
        names_of("", composed),
        ["text:\u{e5}", "text:\u{e5}ngstr\u{f6}m"]
    );
    // The last sigma of a word has a form of its own.
    assert_eq!(names_of("", "\u{39f}\u{3a3}"), ["text:\u{3bf}\u{3c2}"]);
}

#[test]
fn examples_have_names_beside_their_texts() {
    let body = "{\"x\":{\"text\":\"a b\",\"length\":3.5,\"w\":\"the\",\"text:a\":1},\"y\":1}";
    let parsed = texts(Format::Ndjson, "", body);
    assert_eq!(
        named_rows(&parsed),
        [["length: 3.5", "text:a", "text:b", "w=the"]]
    );
    let csv = "title,body,size,kind,y\nA,b a,2.5,x,1\nB,,1,y,0\n";
    let parsed = texts(Format::Csv, "kinds=title:text,body:text", csv);
    assert_eq!(
        named_rows(&parsed),
        [
            vec!["body:a", "body:b", "kind=x", "size: 2.5", "title:a"],
            vec!["kind=y", "size", "title:b"]
        ]
    );
}

#[test]
fn conjunctions_join_all_names_of_an_example() {
    let parsed = texts(Format::Libsvm, "conjunctions=2", "1 a&b c\n-1 c\\ a\n");
    assert_eq!(
        named_rows(&parsed),
        [vec!["a\\&b", "a\\&b&c", "c"], vec!["a", "a&c\\\\", "c\\\\"]]
    );
    let encoding = parsed.table.expect("an encoding");
    assert!(encoding.columns.is_empty() && encoding.is_open());
    assert_eq!(encoding.extraction.as_ref().unwrap().conjunctions, 2);
    let plain = texts(Format::Ndjson, "", NDJSON)
        .table
        .expect("an encoding");
    assert!(!encoding.fits(&plain) && !plain.fits(&encoding));
}

/// A model reads texts as the data that it learnt from were read, in other formats and in streams too.
#[test]
fn encoding_reads_the_texts_of_later_examples() {
    let csv = "title,body,y\nA a,b,1\nB,a,0\n";
    let trained = texts(
        Format::Csv,
        "kinds=title:text,body:text&words=2&occurrences=counts",
        csv,
    );
    let encoding = trained.table.expect("an encoding");
    let stored = serde_json::to_string(&*encoding).unwrap();
    assert_eq!(
        serde_json::from_str::<crate::TableEncoding>(&stored).unwrap(),
        *encoding
    );
    let extraction = encoding.extraction.as_ref().expect("texts");
    assert_eq!(extraction.occurrences, Occurrences::Counts);
    let mut given = options("labels=none&vocabulary=open");
    given.unlabelled = UnlabelledMeans::Nothing;
    given.table.encoding = Some(encoding);
    let expected = [["title:a b: 2", "title:b a"]];
    for (format, body) in [
        (Format::Csv, "title\na b a b\n"),
        (Format::Ndjson, "{\"title\":\"a b a b\"}\n"),
    ] {
        let parsed = parse(format, body.as_bytes(), &given).unwrap();
        assert_eq!(named_rows(&parsed), expected, "{format:?}");
    }
    given.label_rule = LabelRule::Ignored(None);
    let line = "{\"x\":{\"title\":\"a b a b\"}}\n";
    let parsed = parse(Format::Ndjson, line.as_bytes(), &given).unwrap();
    assert_eq!(named_rows(&parsed), expected);
    let mut portions = NdjsonPortions::new(line.as_bytes(), &given).unwrap();
    portions.read(1).unwrap();
    assert_eq!(
        named_rows(&portions.take().unwrap().unwrap().parsed),
        expected
    );
    given.set("words", "1").unwrap();
    let error = parse(Format::Ndjson, line.as_bytes(), &given).unwrap_err();
    assert!(error.detail.contains("`words`"), "{error}");
}

#[test]
fn options_of_texts_without_texts_are_refused() {
    let names = "{\"x\":[\"a\",\"b\"],\"y\":1}\n";
    let cases = [
        (Format::Ndjson, "words=1-2", names, "`words`"),
        (
            Format::Ndjson,
            "conjunctions=2",
            "{\"x\":\"101\",\"y\":1}\n",
            "`conjunctions`",
        ),
        (
            Format::Json,
            "words=1-2",
            "{\"packed\":{\"n\":3,\"rows\":\"oEA=\",\"labels\":\"gA==\"}}",
            "`words`",
        ),
        (Format::Csv, "words=1-2", "a,y\nx,1\n", "`words`"),
        (
            Format::Csv,
            "words=1-2&vocabulary=open",
            "a,y\nx,1\n",
            "`words`",
        ),
        (Format::Libsvm, "characters=2", "1 a b\n", "`characters`"),
        (
            Format::Libsvm,
            "conjunctions=2",
            "1 1:1\n-1 2:1\n",
            "`conjunctions`",
        ),
    ];
    for (format, query, body, named) in cases {
        let error = refused(format, query, body);
        assert_eq!(error.kind, FormatErrorKind::BadOption, "{error}");
        assert!(error.detail.contains(named), "{error}");
    }
}

#[test]
fn bad_texts_are_refused() {
    let marked = refused(
        Format::Ndjson,
        "window=3",
        "{\"x\":{\"text\":\"no mark\"},\"y\":1}\n",
    );
    assert!(marked.detail.contains("marks no word"), "{marked}");
    let names: Vec<String> = (0..10_000).map(|at| format!("\"n{at}\"")).collect();
    let body = format!("{{\"x\":[{}],\"y\":1}}\n", names.join(","));
    let error = refused(Format::Ndjson, "conjunctions=2", &body);
    assert!(error.detail.contains("50005000"), "{error}");
    let limit = FormatErrorKind::TooLarge {
        limit: "example_names_max",
        value: 1 << 20,
    };
    assert_eq!(error.kind, limit);
    let counted = "{\"x\":{\"a\":2,\"b\":1},\"y\":1}\n";
    let error = refused(Format::Ndjson, "conjunctions=2", counted);
    assert!(
        error.detail.contains("The name `a` has the value 2"),
        "{error}"
    );
    let mut few = options("words=1-2");
    few.limits.names_max = 4;
    let long = "{\"x\":{\"text\":\"a b c\"},\"y\":1}\n";
    let error = parse(Format::Ndjson, long.as_bytes(), &few).unwrap_err();
    assert!(error.detail.contains("names_max"), "{error}");
    let invalid = b"text,y\na\xffb,1\n";
    let error = parse(Format::Csv, &invalid[..], &options("kinds=text:text")).unwrap_err();
    assert!(error.detail.contains("UTF-8"), "{error}");
}

/// Conjunctions are no longer than names, so a list of names can always be stored.
#[test]
fn long_conjunctions_are_refused() {
    let line = |names: &[String]| serde_json::json!({"x": names, "y": 1}).to_string();
    let long = ["a", "b"].map(|name| name.repeat(600));
    let error = refused(Format::Ndjson, "conjunctions=2", &line(&long));
    assert_eq!(error.kind, FormatErrorKind::BadName);
    assert!(error.detail.contains("a smaller `conjunctions`"), "{error}");
    let escaped = ["&".repeat(600)];
    let error = refused(Format::Ndjson, "conjunctions=2", &line(&escaped));
    assert_eq!(error.kind, FormatErrorKind::BadName);
    let fits = ["a".repeat(500), "b".repeat(500)];
    assert_eq!(
        named_rows(&texts(Format::Ndjson, "conjunctions=2", &line(&fits)))[0].len(),
        3
    );
    let two = "{\"x\":{\"a&b\":1,\"a&b\":0},\"y\":1}\n";
    assert!(
        refused(Format::Ndjson, "conjunctions=2", two)
            .detail
            .contains("twice")
    );
}

#[test]
fn numbers_in_a_text_are_refused() {
    for value in ["2024", "true"] {
        let line = format!("{{\"x\":{{\"text\":{value}}},\"y\":1}}\n");
        let error = refused(Format::Ndjson, "", &line);
        assert!(error.detail.contains("in quotes"), "{error}");
    }
}

/// Only texts that are features open the vocabulary of an ARFF file.
#[test]
fn arff_text_that_is_no_feature_changes_nothing() {
    let class = "@relation r\n@attribute a numeric\n@attribute class string\n@data\n1,x\n2,y\n";
    let id = "@relation r\n@attribute id string\n@attribute a numeric\n@attribute class {x,y}\n@data\n\
        u1,1,x\nu2,2,y\n";
    let cases = [
        (class, ""),
        (class, "labels=last"),
        (id, "ignore=id"),
        (id, "ignore=1..1"),
        (id, "kinds=id:ignored"),
    ];
    for (body, query) in cases {
        let parsed = texts(Format::Arff, query, body);
        assert_eq!(parsed.vocabulary, None, "{query}");
        assert_eq!(parsed.data.n(), 1, "{query}");
    }
    let parsed = texts(Format::Arff, "", id);
    assert_eq!(named_rows(&parsed), [["a", "id:u1"], ["a: 2", "id:u2"]]);
}

#[test]
fn encodings_need_an_extraction_where_there_are_texts() {
    let table = texts(Format::Ndjson, "", NDJSON)
        .table
        .unwrap()
        .as_ref()
        .clone();
    assert_eq!(table.check(None), Ok(()));
    let without = crate::TableEncoding {
        extraction: None,
        ..table.clone()
    };
    assert!(without.check(None).is_err());
    let mut nothing = table.clone();
    nothing.extraction = Some(crate::Extraction::default());
    assert!(nothing.check(None).is_err());
    assert!(table.check(Some(3)).is_err());
    assert!(!table.is_real());
    let counted = texts(Format::Ndjson, "occurrences=counts", NDJSON)
        .table
        .unwrap();
    assert!(counted.is_real());
}

/// A word or a sequence that is longer than a name may be gives no name.
#[test]
fn long_words_give_no_names() {
    let text = format!("a {} b", "x".repeat(2000));
    assert_eq!(names_of("words=1-2", &text), ["text:a", "text:b"]);
}
