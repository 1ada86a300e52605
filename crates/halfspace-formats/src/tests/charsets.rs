//! Tests of texts in other charsets than UTF-8, in every format of text.

use encoding_rs::{BIG5, Encoding, GB18030, SHIFT_JIS, WINDOWS_1252};

use super::*;
use crate::{Charset, LineSteps, NdjsonPortions, json};

const CSV: &str = "size,name,class\n1,Müller,grün\n2,Möller,rot\n3,Müller,rot\n4,Möller,grün\n";

const TEXTS: [(Format, &str); 6] = [
    (Format::Csv, CSV),
    (
        Format::Arff,
        "@relation r\n@attribute größe real\n@attribute name {Müller,Möller}\n@attribute class {grün,rot}\n@data\n\
         1,Müller,grün\n2,Möller,rot\n",
    ),
    (
        Format::Ndjson,
        "{\"größe\": 1, \"name\": \"Müller\", \"class\": 0}\n{\"größe\": 2, \"name\": \"Möller\", \"class\": 1}\n",
    ),
    (
        Format::Json,
        "{\"rows\": [{\"größe\": 1, \"name\": \"Müller\", \"class\": \"grün\"}, \
         {\"größe\": 2, \"name\": \"Möller\", \"class\": \"rot\"}]}",
    ),
    (Format::Vw, "1 | Müller\n-1 | Möller\n"),
    (Format::Libsvm, "1 1:1 # Müller\n-1 2:1 # Möller\n"),
];

/// UTF-16 with or without a byte order mark.
fn utf16(text: &str, order: impl Fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(order).collect()
}

fn encoded(text: &str, encoding: &'static Encoding) -> Vec<u8> {
    let (bytes, _, is_lossy) = encoding.encode(text);
    assert!(!is_lossy);
    bytes.into_owned()
}

fn stated(label: &str) -> Options {
    let mut options = Options::default();
    assert_eq!(options.set("charset", label), Ok(true));
    options
}

#[test]
fn one_text_in_each_charset_gives_the_same_data() {
    for (format, text) in TEXTS {
        let plain = parse(format, text.as_bytes(), &Options::default()).unwrap();
        let marked = format!("\u{feff}{text}");
        for (bytes, label) in [
            (text.as_bytes().to_vec(), "utf-8"),
            (marked.clone().into_bytes(), "utf-8"),
            (encoded(text, WINDOWS_1252), "windows-1252"),
            (encoded(text, WINDOWS_1252), "latin1"),
            (encoded(text, GB18030), "gb18030"),
            (utf16(text, u16::to_le_bytes), "utf-16le"),
            (utf16(text, u16::to_be_bytes), "utf-16be"),
            (utf16(&marked, u16::to_le_bytes), "utf-16"),
            (utf16(&marked, u16::to_be_bytes), "utf-16"),
        ] {
            let read = parse(format, bytes.as_slice(), &stated(label)).unwrap();
            assert_eq!(read, plain, "{format:?} {label}");
            // What LIBSVM says in comments may be in any charset.
            if bytes != text.as_bytes() && format != Format::Libsvm {
                let read = parse(format, bytes.as_slice(), &Options::default());
                let is_marked = label == "utf-16" || label == "utf-8";
                assert_eq!(
                    read.is_ok_and(|read| read == plain),
                    is_marked,
                    "{format:?} {label}"
                );
            }
        }
    }
}

#[test]
fn charset_keeps_names_apart() {
    let names = |text: &str, encoding: &'static Encoding, label| {
        let parsed = parse(
            Format::Csv,
            encoded(text, encoding).as_slice(),
            &stated(label),
        )
        .unwrap();
        (
            parsed.feature_names.clone().unwrap(),
            parsed.class_names().unwrap(),
        )
    };
    let (features, classes) = names(CSV, WINDOWS_1252, "iso-8859-1");
    assert_eq!(features, ["size", "name=Möller", "name=Müller"]);
    assert_eq!(classes, ["grün", "rot"]);
    // The second byte of these characters is that of a bar or of a backslash.
    let text = "a|class\nソ|ポ\n表|能\n";
    let (features, classes) = names(text, SHIFT_JIS, "sjis");
    assert_eq!(
        (features, classes),
        (
            vec!["a=ソ".into(), "a=表".into()],
            vec!["ポ".into(), "能".into()]
        )
    );
    let (features, _) = names("a,class\n功,1\n許,2\n", BIG5, "big5");
    assert_eq!(features, ["a=功", "a=許"]);
}

#[test]
fn a_charset_that_the_text_does_not_have_is_refused_at_the_byte() {
    for (format, text) in TEXTS {
        let bytes = encoded(text, WINDOWS_1252);
        let error = parse(format, bytes.as_slice(), &stated("utf-16le")).unwrap_err();
        assert!(
            error.detail.ends_with('.') && !error.detail.contains('\u{fffd}'),
            "{error}"
        );
        let mut bytes = utf16(&format!("\u{feff}{text}"), u16::to_be_bytes);
        let cut = bytes.len() - 1;
        bytes.truncate(cut);
        let error = parse(format, bytes.as_slice(), &Options::default()).unwrap_err();
        assert_eq!(
            error.place,
            Some(Place::Byte(cut as u64 - 1)),
            "{format:?} {error}"
        );
        assert!(error.detail.contains("`charset="), "{error}");
    }
    let body = b"name,class\nM\xfcller,1\nM\xf6ller,2\n";
    let error = parse(Format::Csv, body.as_slice(), &Options::default()).unwrap_err();
    assert_eq!(error.place, Some(Place::Line { line: 2, column: 1 }));
    let told = ["byte 2 is 0xFC", "`charset=windows-1252`"];
    assert!(
        told.iter().all(|told| error.detail.contains(told)),
        "{error}"
    );
}

#[test]
fn formats_of_bytes_refuse_a_charset() {
    for format in [Format::Xlsx, Format::Npy, Format::Octets] {
        let error = parse(format, b"\0".as_slice(), &stated("utf-8")).unwrap_err();
        assert_eq!(error.kind, FormatErrorKind::BadOption, "{error}");
        assert!(error.detail.contains("`charset`"), "{error}");
    }
    let portions = NdjsonPortions::new(b"".as_slice(), &stated("utf-8"));
    let error = portions.map(|_| ()).unwrap_err();
    assert!(
        error.kind == FormatErrorKind::BadOption && error.detail.contains("`charset`"),
        "{error}"
    );
    let table = br#"{"table": {"rows": [{"a": 1, "class": 1}], "charset": "utf-8"}}"#;
    let error = parse(Format::Json, table.as_slice(), &Options::default()).unwrap_err();
    assert_eq!(
        error.place,
        Some(Place::Pointer("/table".to_owned())),
        "{error}"
    );
    let error = stated_fault("latin9000");
    assert!(
        error.contains("`latin9000` is not a known charset") && error.contains("shift_jis"),
        "{error}"
    );
}

fn stated_fault(label: &str) -> String {
    Options::default().set("charset", label).unwrap_err()
}

#[test]
fn lines_are_read_as_they_arrive_in_any_charset() {
    let lines = "{\"x\": {\"Müller\": 1}, \"y\": 1}\n{\"x\": {\"Möller\": 1}, \"y\": -1}\n";
    let names = |body: &[u8], options: Options| {
        let mut steps = LineSteps::new(body, options);
        let mut names = Vec::new();
        while let Some(step) = steps.next(|_| false).unwrap() {
            let vocabulary = step.parsed.vocabulary.unwrap();
            names.extend(vocabulary.names().map(str::to_owned));
        }
        names
    };
    for (body, label) in [
        (lines.as_bytes().to_vec(), None),
        (encoded(lines, WINDOWS_1252), Some("windows-1252")),
        (utf16(&format!("\u{feff}{lines}"), u16::to_le_bytes), None),
        (utf16(lines, u16::to_be_bytes), Some("utf-16be")),
    ] {
        let options = label.map_or_else(Options::default, stated);
        assert_eq!(names(&body, options), ["Müller", "Möller"], "{label:?}");
    }
}

#[test]
fn documents_may_begin_with_a_byte_order_mark() {
    let text = "\u{feff}{\"name\": \"Müller\"}";
    let read = |body: &[u8]| {
        let limits = ParseLimits::default();
        json::from_reader::<std::collections::BTreeMap<String, String>>(body, &limits)
    };
    for body in [text.as_bytes().to_vec(), utf16(text, u16::to_le_bytes)] {
        assert_eq!(read(&body).unwrap()["name"], "Müller");
    }
    let error = read(b"{\"name\": \"M\xfcller\"}").unwrap_err();
    assert!(error.detail.contains("`charset=windows-1252`"), "{error}");
    assert_eq!(Charset::UTF_8.name(), "utf-8");
}
