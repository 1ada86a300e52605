//! Tests of the indices of LIBSVM: where they begin, and how large they may be.

use std::io::Cursor;

use super::*;
use crate::{FirstIndex, Spool, gather};

/// The rows of LIBSVM under these options, and the first index.
fn indexed(body: &str, options: &Options) -> (Vec<String>, Option<FirstIndex>) {
    let parsed = parse(Format::Libsvm, body.as_bytes(), options);
    let parsed = parsed.unwrap_or_else(|error| panic!("{error}\n{body}"));
    (rows(&parsed.data), parsed.first_index)
}

#[test]
fn libsvm_indices_begin_at_0_or_at_1() {
    use FirstIndex::{One, Zero};
    let options = |first_index, known_first_index| Options {
        first_index,
        known_first_index,
        ..Options::default()
    };
    let auto = options(None, None);
    assert_eq!(
        indexed("1 1:1 3:1\n-1 2:1\n", &auto),
        (vec!["101".to_owned(), "010".to_owned()], Some(One))
    );
    let from_0 = (vec!["0101".to_owned(), "1010".to_owned()], Some(Zero));
    // The index 0 decides for all rows, wherever it is.
    assert_eq!(indexed("1 1:1 3:1\n-1 0:1 2:1\n", &auto), from_0);
    let turned = (vec!["1010".to_owned(), "0101".to_owned()], Some(Zero));
    assert_eq!(indexed("-1 0:1 2:1\n1 1:1 3:1\n", &auto), turned);
    assert_eq!(indexed("1 1:1 3:1\n-1 0:0 2:1\n", &auto).1, Some(Zero));
    assert_eq!(
        indexed("1 1:1\n-1 1:1\n", &options(Some(Zero), None)).0,
        ["01", "01"]
    );
    // What the request states counts more than what a model knows.
    assert_eq!(
        indexed("1 1:1\n-1 1:1\n", &options(None, Some(Zero))).0,
        ["01", "01"]
    );
    assert_eq!(
        indexed("1 1:1\n-1 1:1\n", &options(Some(One), Some(Zero))).0,
        ["1", "1"]
    );
    for stated in [options(Some(One), None), options(None, Some(One))] {
        let error = parse(Format::Libsvm, &b"1 1:1\n-1 0:1\n"[..], &stated).expect_err("index 0");
        assert_eq!(
            (&error.kind, &error.place),
            (&FormatErrorKind::BadIndex, &Some(at(2, 4)))
        );
        assert!(error.detail.contains("first_index=0"), "{error}");
    }
    for (body, place) in [("1 3:1 0:1\n", at(1, 7)), ("1 0:1 0:1\n", at(1, 7))] {
        let error = parse(Format::Libsvm, body.as_bytes(), &auto).expect_err(body);
        assert_eq!(
            (&error.kind, &error.place),
            (&FormatErrorKind::IndexOrder, &Some(place))
        );
    }
    // The option n holds for the indices of all lines.
    let of_3 = |first_index| Options {
        n: Some(3),
        ..options(first_index, None)
    };
    assert_eq!(indexed("1 0:1 2:1\n", &of_3(None)).0, ["101"]);
    for (body, first_index, place) in [
        ("1 3:1\n-1 0:1\n", None, at(2, 4)),
        ("1 0:1 3:1\n", None, at(1, 7)),
        ("1 3:1\n", Some(Zero), at(1, 3)),
        ("1 4:1\n", None, at(1, 3)),
    ] {
        let error = parse(Format::Libsvm, body.as_bytes(), &of_3(first_index)).expect_err(body);
        assert_eq!(
            (&error.kind, &error.place),
            (&FormatErrorKind::BadIndex, &Some(place)),
            "{error}"
        );
    }
    // Names are no indices, and other formats have none.
    for (format, body) in [
        (Format::Libsvm, "1 a:1\n"),
        (Format::Csv, "a,y\n0,1\n"),
        (Format::Ndjson, "01\n"),
    ] {
        let stated = options(Some(Zero), None);
        let error = parse(format, body.as_bytes(), &stated).expect_err(body);
        assert!(error.detail.contains("first_index"), "{error}");
    }
}

/// Rows that left memory before the first index 0 begin there too.
#[test]
fn spooled_libsvm_rows_before_the_first_index_0_are_read_from_it() {
    for value in ["1", "2.5"] {
        let mut body: String = (0..300)
            .map(|row| format!("{} {}:{value}\n", row % 2, row % 50 + 1))
            .collect();
        body += "1 0:1\n0 50:1\n";
        let stated = Options {
            first_index: Some(FirstIndex::Zero),
            ..Options::default()
        };
        let own = parse(Format::Libsvm, body.as_bytes(), &stated).expect("good");
        for memory_bytes_max in [1, 500, 1_000_000] {
            let spool = Spool::new(memory_bytes_max, || Ok(Cursor::new(Vec::new())));
            let spooled = gather(Format::Libsvm, body.as_bytes(), &Options::default(), spool);
            let mut spooled = spooled.expect("good");
            assert_eq!(spooled.first_index, Some(FirstIndex::Zero));
            let facts = spooled.store(std::io::sink(), 1_000).expect("memory");
            assert_eq!(facts.digest, own.digest(), "{value} {memory_bytes_max}");
        }
    }
}

#[test]
fn indices_of_sparse_rows_go_up_to_32_bits() {
    let body = "1 7:1 4294967294:1\n-1 4294967295:2.5\n-1 8:1\n";
    let mut parsed =
        parse(Format::Libsvm, body.as_bytes(), &Options::default()).expect("sparse rows");
    assert_eq!(parsed.data.n(), u32::MAX as usize);
    let Features::Sparse(rows) = parsed.data.features() else {
        panic!("sparse rows");
    };
    assert_eq!(
        rows.row(1).entries().collect::<Vec<_>>(),
        [(4_294_967_294, 2.5)]
    );
    // The stored form and a preview hold the active features only.
    let mut bytes = Vec::new();
    crate::write_blocks(
        &parsed.data,
        parsed.classes.as_ref(),
        None,
        None,
        &mut bytes,
    )
    .expect("memory");
    assert!(bytes.len() < 1_000, "{}", bytes.len());
    assert_eq!(
        crate::read_blocks(bytes.as_slice()).expect("own").0,
        parsed.data
    );
    let (_, shown) = corpus::previewed(Format::Libsvm, body.as_bytes(), &Options::default());
    assert_eq!(
        shown.rows,
        [
            ["1", "7, 4294967294"],
            ["-1", "4294967295: 2.5"],
            ["-1", "8"]
        ]
    );
    parsed = parse(
        Format::Libsvm,
        &b"1 0:1 4294967294:1\n-1 1:1\n"[..],
        &Options::default(),
    )
    .expect("from 0");
    assert_eq!(parsed.data.n(), u32::MAX as usize);
    for (body, place) in [
        ("1 4294967296:1\n", at(1, 3)),
        ("1 0:1 4294967295:1\n", at(1, 7)),
        ("1 4294967295:1\n-1 0:1\n", at(2, 4)),
    ] {
        let error = parse(Format::Libsvm, body.as_bytes(), &Options::default()).expect_err(body);
        assert_eq!(
            (&error.kind, &error.place),
            (&FormatErrorKind::BadIndex, &Some(place)),
            "{error}"
        );
    }
    // Rows in a dense form have another limit.
    let options = Options {
        limits: ParseLimits {
            n_max: 10,
            ..ParseLimits::default()
        },
        ..Options::default()
    };
    let full: String = (1..=11).map(|index| format!(" {index}:1")).collect();
    let error = parse(
        Format::Libsvm,
        format!("1{full}\n-1{full}\n").as_bytes(),
        &options,
    )
    .expect_err("dense rows");
    assert_eq!(
        error.kind,
        FormatErrorKind::TooLarge {
            limit: "n_max",
            value: 10
        }
    );
}
