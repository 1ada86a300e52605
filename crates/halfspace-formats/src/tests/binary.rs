//! Tests of `.npy` and octets.

use super::*;
use crate::npy_header;

/// Makes a `.npy` file from the exact dictionary text and the bytes of the values.
fn npy_of(version: [u8; 2], dictionary: &str, values: &[u8]) -> Vec<u8> {
    let mut body = b"\x93NUMPY".to_vec();
    body.extend(version);
    let length = dictionary.len() as u32;
    body.extend(&length.to_le_bytes()[..if version[0] == 1 { 2 } else { 4 }]);
    body.extend(dictionary.as_bytes());
    body.extend(values);
    body
}

/// Makes a `.npy` file like `numpy.save`.
pub(crate) fn npy(dtype: &str, rows: usize, columns: usize, values: &[u8]) -> Vec<u8> {
    let dictionary =
        format!("{{'descr': '{dtype}', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    let padded = (10 + dictionary.len() + 1).next_multiple_of(64) - 11;
    npy_of([1, 0], &format!("{dictionary:padded$}\n"), values)
}

#[test]
fn npy_header_is_that_of_numpy() {
    assert_eq!(npy_header("<f8", &[3, 127]), npy("<f8", 3, 127, &[]));
    let one = "{'descr': '|i1', 'fortran_order': False, 'shape': (7,), }";
    let one = npy_of([1, 0], &format!("{one:117}\n"), &[]);
    assert_eq!(npy_header("|i1", &[7]), one);
    // The longest header of an array of numbers.
    let most = npy_header("<i8", &[usize::MAX, usize::MAX]);
    assert_eq!(most.len() % 64, 0);
}

fn with_labels(labels: LabelsColumn) -> Options {
    Options {
        labels: Some(labels),
        ..Options::default()
    }
}

fn octets(n: usize, labels: Option<LabelsColumn>, bit_order: Option<BitOrder>) -> Options {
    Options {
        n: Some(n),
        labels,
        bit_order,
        ..Options::default()
    }
}

fn good(format: Format, body: &[u8], options: &Options) -> Parsed {
    parse(format, body, options).unwrap_or_else(|error| panic!("{error}"))
}

fn fault(format: Format, body: &[u8], options: &Options) -> (FormatErrorKind, Option<Place>) {
    let parsed = parse(format, body, options);
    let error = parsed.map(|parsed| parsed.data).expect_err("bad");
    assert!(error.detail.ends_with('.'), "{error}");
    (error.kind, error.place)
}

fn cell(row: u64, column: u64) -> Option<Place> {
    Some(Place::Cell { row, column })
}

#[test]
fn npy_of_every_data_type_is_read() {
    let le = |values: &[&[u8]]| values.concat();
    let cases: [(&str, Vec<u8>); 11] = [
        ("|b1", vec![1, 0, 1, 0, 1, 0]),
        ("|i1", vec![1, 0, 1, 0, 1, 0]),
        ("|u1", vec![1, 0, 1, 0, 1, 0]),
        (
            "<i2",
            le(&[1_i16, 0, 1, 0, 1, 0]
                .map(i16::to_le_bytes)
                .each_ref()
                .map(|b| b.as_slice())),
        ),
        (
            "<u2",
            le(&[1_u16, 0, 1, 0, 1, 0]
                .map(u16::to_le_bytes)
                .each_ref()
                .map(|b| b.as_slice())),
        ),
        (
            "<i4",
            le(&[1_i32, 0, 1, 0, 1, 0]
                .map(i32::to_le_bytes)
                .each_ref()
                .map(|b| b.as_slice())),
        ),
        (
            "<u4",
            le(&[1_u32, 0, 1, 0, 1, 0]
                .map(u32::to_le_bytes)
                .each_ref()
                .map(|b| b.as_slice())),
        ),
        (
            "<i8",
            le(&[1_i64, 0, 1, 0, 1, 0]
                .map(i64::to_le_bytes)
                .each_ref()
                .map(|b| b.as_slice())),
        ),
        (
            "<u8",
            le(&[1_u64, 0, 1, 0, 1, 0]
                .map(u64::to_le_bytes)
                .each_ref()
                .map(|b| b.as_slice())),
        ),
        (
            "<f4",
            le(&[1_f32, 0.0, 1.0, 0.0, 1.0, 0.0]
                .map(f32::to_le_bytes)
                .each_ref()
                .map(|b| b.as_slice())),
        ),
        (
            "<f8",
            le(&[1_f64, -0.0, 1.0, 0.0, 1.0, 0.0]
                .map(f64::to_le_bytes)
                .each_ref()
                .map(|b| b.as_slice())),
        ),
    ];
    for (dtype, values) in cases {
        let body = npy(dtype, 2, 3, &values);
        let last = good(Format::Npy, &body, &Options::default());
        assert_eq!(rows(&last.data), ["10", "01"], "{dtype}");
        assert_eq!(labels(&last.data), "10", "{dtype}");
        let first = good(Format::Npy, &body, &with_labels(LabelsColumn::First));
        assert_eq!(
            (rows(&first.data), labels(&first.data)),
            (vec!["01".into(), "10".into()], "10".into())
        );
        let none = good(Format::Npy, &body, &with_labels(LabelsColumn::None));
        assert_eq!(
            (rows(&none.data), labels(&none.data)),
            (vec!["101".into(), "010".into()], "half-space".into())
        );
        for (end, byte) in [(body.len() - 1, None), (body.len(), Some(7))] {
            let mut spoilt = body[..end].to_vec();
            spoilt.extend(byte);
            let found = fault(Format::Npy, &spoilt, &Options::default());
            let (kind, at) = match byte {
                None => (FormatErrorKind::Truncated, end),
                Some(_) => (FormatErrorKind::Syntax, end),
            };
            assert_eq!(found, (kind, Some(Place::Byte(at as u64))), "{dtype}");
        }
    }
}

#[test]
fn npy_rows_are_signed_boolean_or_real() {
    let signed = npy("|i1", 2, 3, &[1, 255, 1, 255, 255, 255]);
    let parsed = good(Format::Npy, &signed, &Options::default());
    assert_eq!(
        (rows(&parsed.data), labels(&parsed.data)),
        (vec!["10".into(), "00".into()], "10".into())
    );
    assert_eq!(parsed.zero_bit_value, -1.0);
    // A row of bits follows a row of signs, and then comes a row with other numbers.
    let mixed = npy("|i1", 3, 2, &[1, 255, 1, 0, 5, 128]);
    let parsed = good(Format::Npy, &mixed, &with_labels(LabelsColumn::None));
    assert_eq!(
        rows(&parsed.data),
        ["[1.0, -1.0]", "[1.0, 0.0]", "[5.0, -128.0]"]
    );
    assert_eq!(parsed.first_real, cell(2, 2));
    let reals: Vec<u8> = [0.5_f64, -1.25, 1.0]
        .into_iter()
        .flat_map(f64::to_le_bytes)
        .collect();
    let parsed = good(Format::Npy, &npy("<f8", 1, 3, &reals), &Options::default());
    assert_eq!(
        (rows(&parsed.data), labels(&parsed.data)),
        (vec!["[0.5, -1.25]".into()], "1".into())
    );
    assert_eq!(parsed.first_real, cell(1, 1));
}

#[test]
fn npy_headers_of_every_version_and_spelling_are_read() {
    let spellings = [
        "{'descr': '<u2', 'fortran_order': False, 'shape': (1, 1)}",
        "{\"shape\":(1,1,),\"descr\":\"<u2\",\"fortran_order\":False,}\n",
        " { 'fortran_order' : False , 'shape' : ( 1 , 1 ) , 'descr' : '<u2' } \n",
    ];
    for version in [[1, 0], [2, 0], [3, 0]] {
        for dictionary in spellings {
            let body = npy_of(version, dictionary, &[1, 0]);
            let parsed = good(Format::Npy, &body, &with_labels(LabelsColumn::None));
            assert_eq!(rows(&parsed.data), ["1"], "{version:?} {dictionary}");
        }
    }
}

#[test]
fn npy_of_unsupported_arrays_is_refused_by_name() {
    let refused = |dictionary: &str, needed: &str, offset: u64| {
        let body = npy_of([1, 0], dictionary, &[0; 64]);
        let error = parse(Format::Npy, body.as_slice(), &Options::default()).expect_err(dictionary);
        assert_eq!(error.kind, FormatErrorKind::Unsupported, "{error}");
        assert_eq!(error.place, Some(Place::Byte(offset)), "{error}");
        assert!(error.detail.contains(needed), "{error}");
    };
    for (dtype, needed) in [
        (">f8", "big-endian"),
        (">i2", "astype('<i2')"),
        ("|O", "Python objects"),
        ("<c16", "complex"),
        ("|S5", "strings"),
        ("<U5", "strings"),
        ("<M8[ns]", "times"),
        ("|V8", "records"),
        ("<f2", "floats of another size"),
        ("f8", "`f8`"),
        ("|f8", "`|f8`"),
        ("", "``"),
    ] {
        let dictionary =
            format!("{{'descr': '{dtype}', 'fortran_order': False, 'shape': (1, 2), }}");
        refused(&dictionary, needed, 20);
    }
    let structured = "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1, 2), }";
    refused(structured, "structured", 20);
    let fortran = "{'descr': '<f8', 'fortran_order': True, 'shape': (1, 2), }";
    refused(fortran, "ascontiguousarray", 44);
    for (shape, needed) in [
        ("()", "0 dimensions"),
        ("(8,)", "1 dimensions"),
        ("(1, 2, 4)", "3 dimensions"),
    ] {
        let dictionary = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}");
        refused(&dictionary, needed, 60);
    }
    let body = npy_of([4, 0], "{}", &[]);
    let found = fault(Format::Npy, &body, &Options::default());
    assert_eq!(found, (FormatErrorKind::Unsupported, Some(Place::Byte(6))));
}

#[test]
fn bad_npy_is_refused_at_its_byte() {
    use FormatErrorKind as Kind;
    let cases: [(&str, u64); 12] = [
        ("", 10),
        ("[]", 10),
        ("{'descr'", 18),
        ("{descr: 1}", 11),
        ("{'descr': '<f8', 'shape': (1, 2)}", 43),
        ("{'descr': '<f8', 'descr': '<f8', 'shape': (1, 2)}", 27),
        ("{'x': 1}", 11),
        ("{'descr': 5}", 20),
        ("{'fortran_order': 0}", 28),
        ("{'shape': (1 2)}", 23),
        ("{'shape': (-1, 2)}", 21),
        ("{'shape': (1, 99999999999999999999)}", 24),
    ];
    for (dictionary, offset) in cases {
        let found = fault(
            Format::Npy,
            &npy_of([1, 0], dictionary, &[]),
            &Options::default(),
        );
        assert_eq!(
            found,
            (Kind::Syntax, Some(Place::Byte(offset))),
            "{dictionary}"
        );
    }
    let at = |offset| Some(Place::Byte(offset));
    let whole = |body: &[u8]| fault(Format::Npy, body, &Options::default());
    assert_eq!(whole(b""), (Kind::Truncated, at(0)));
    assert_eq!(whole(b"\x93NUMPX\x01\x00"), (Kind::Syntax, at(0)));
    assert_eq!(
        whole(b"\x93NUMPY\x02\x00\x00\x00\x01\x00"),
        (Kind::Syntax, at(8))
    );
    let twice = npy_of(
        [1, 0],
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2)} x",
        &[],
    );
    assert_eq!(whole(&twice), (Kind::Syntax, at(68)));
}

#[test]
fn bad_npy_values_are_refused_at_their_cell() {
    use FormatErrorKind as Kind;
    let doubles = |values: [f64; 4]| {
        let bytes: Vec<u8> = values.into_iter().flat_map(f64::to_le_bytes).collect();
        npy("<f8", 2, 2, &bytes)
    };
    let whole = |body: &[u8]| fault(Format::Npy, body, &Options::default());
    assert_eq!(
        whole(&doubles([1.0, 1.0, f64::NAN, 1.0])),
        (Kind::BadValue, cell(2, 1))
    );
    assert_eq!(
        whole(&doubles([f64::INFINITY, 1.0, 1.0, 1.0])),
        (Kind::BadValue, cell(1, 1))
    );
    assert_eq!(
        whole(&doubles([1.0, f64::NAN, 1.0, 1.0])),
        (Kind::BadLabel, cell(1, 2))
    );
    assert_eq!(
        whole(&doubles([1.0, 2.0, 1.0, 2.0])),
        (Kind::TableOption, None)
    );
    assert_eq!(
        whole(&npy("|b1", 1, 2, &[2, 1])),
        (Kind::BadValue, cell(1, 1))
    );
    let large = [(1_i64 << 53) + 1, 1].map(i64::to_le_bytes).concat();
    assert_eq!(
        whole(&npy("<i8", 1, 2, &large)),
        (Kind::BadValue, cell(1, 1))
    );
    assert_eq!(
        whole(&npy("<u8", 1, 2, &large)),
        (Kind::BadValue, cell(1, 1))
    );
    let exact = [-(1_i64 << 53), 1].map(i64::to_le_bytes).concat();
    let parsed = good(Format::Npy, &npy("<i8", 1, 2, &exact), &Options::default());
    assert_eq!(rows(&parsed.data), ["[-9007199254740992.0]"]);
    for (rows, columns) in [(0, 2), (2, 0), (2, 1)] {
        let body = npy("|b1", rows, columns, &vec![0; rows * columns]);
        assert_eq!(whole(&body), (Kind::EmptyData, None));
    }
    let huge = npy("|b1", 2, usize::MAX / 2, &[]);
    assert!(matches!(
        whole(&huge).0,
        Kind::TooLarge { limit: "n_max", .. }
    ));
    let many = npy("|b1", usize::MAX / 2, 2, &[1, 1]);
    assert_eq!(whole(&many).0, Kind::Truncated);
}

#[test]
fn binary_formats_refuse_options_that_do_not_fit() {
    let body = npy("|b1", 1, 2, &[1, 1]);
    let bad = FormatErrorKind::BadOption;
    let named = with_labels(LabelsColumn::Named("y".to_owned()));
    let appended = with_labels(LabelsColumn::Appended);
    let header = Options {
        header: Header::True,
        n: Some(8),
        ..Options::default()
    };
    let order = Options {
        bit_order: Some(BitOrder::Big),
        n: Some(8),
        ..Options::default()
    };
    for options in [&named, &appended, &header, &order] {
        assert_eq!(fault(Format::Npy, &body, options), (bad, None));
    }
    let wrong_n = Options {
        n: Some(2),
        ..Options::default()
    };
    assert_eq!(
        fault(Format::Npy, &body, &wrong_n),
        (FormatErrorKind::UnequalLength, None)
    );
    assert_eq!(
        fault(Format::Octets, b"a", &Options::default()),
        (bad, None)
    );
    assert_eq!(fault(Format::Octets, b"a", &header), (bad, None));
    for labels in [
        LabelsColumn::First,
        LabelsColumn::Last,
        LabelsColumn::Named("y".to_owned()),
    ] {
        assert_eq!(
            fault(Format::Octets, b"a", &octets(8, Some(labels), None)),
            (bad, None)
        );
    }
    for format in [Format::Csv, Format::Libsvm, Format::Ndjson, Format::Json] {
        assert_eq!(fault(format, b"1,1\n", &order), (bad, None));
    }
    for format in [Format::Csv, Format::Libsvm, Format::Ndjson, Format::Json] {
        assert_eq!(fault(format, b"1,1\n", &appended), (bad, None));
    }
}

#[test]
fn octets_are_read() {
    let big = good(
        Format::Octets,
        &[0b1011_0000, 0b0100_0000],
        &octets(4, None, None),
    );
    assert_eq!(
        (rows(&big.data), labels(&big.data)),
        (vec!["1011".into(), "0100".into()], "half-space".into())
    );
    assert_eq!(big.zero_bit_value, 0.0);
    let little = octets(4, None, Some(BitOrder::Little));
    let little = good(Format::Octets, &[0b0000_1101, 0b0000_0010], &little);
    assert_eq!(little.data, big.data);
    let appended = Some(LabelsColumn::Appended);
    let labelled = good(
        Format::Octets,
        &[0b1011_1000, 0b0100_0000],
        &octets(4, appended.clone(), None),
    );
    assert_eq!(
        (rows(&labelled.data), labels(&labelled.data)),
        (vec!["1011".into(), "0100".into()], "10".into())
    );
    // The label after a full word stands in its own byte.
    let mut body = vec![0xff; 8];
    body.push(0x80);
    body.extend([0; 9]);
    let wide = good(Format::Octets, &body, &octets(64, appended, None));
    assert_eq!(
        (rows(&wide.data), labels(&wide.data)),
        (vec!["1".repeat(64), "0".repeat(64)], "10".into())
    );
}

#[test]
fn bad_octets_are_refused_at_their_byte() {
    use FormatErrorKind as Kind;
    let at = |offset| Some(Place::Byte(offset));
    let error = parse(Format::Octets, &[0; 7][..], &octets(17, None, None)).expect_err("7 of 9");
    assert_eq!((error.kind, error.place), (Kind::UnequalLength, at(6)));
    for shown in ["7 bytes", "n = 17", "takes 3 bytes", "left over: 1"] {
        assert!(error.detail.contains(shown), "{}", error.detail);
    }
    let appended = octets(16, Some(LabelsColumn::Appended), None);
    assert_eq!(
        fault(Format::Octets, &[0; 4], &appended),
        (Kind::UnequalLength, at(3))
    );
    assert_eq!(
        fault(Format::Octets, &[0; 2], &octets(17, None, None)),
        (Kind::UnequalLength, at(0))
    );
    assert_eq!(
        fault(Format::Octets, &[0, 0, 0, 1], &octets(9, None, None)),
        (Kind::BadBit, at(3))
    );
    assert_eq!(
        fault(Format::Octets, &[], &octets(9, None, None)),
        (Kind::EmptyData, None)
    );
    assert_eq!(
        fault(Format::Octets, &[0], &octets(0, None, None)),
        (Kind::EmptyData, None)
    );
    let too_wide = octets((1 << 20) + 1, None, None);
    assert!(matches!(
        fault(Format::Octets, &[0], &too_wide).0,
        Kind::TooLarge { limit: "n_max", .. }
    ));
    let narrow = Options {
        limits: ParseLimits {
            state_bytes_max: 512,
            ..ParseLimits::default()
        },
        ..octets(8, None, None)
    };
    let (kind, place) = fault(Format::Octets, &[0; 65], &narrow);
    assert!(matches!(
        kind,
        Kind::TooLarge {
            limit: "state_bytes_max",
            ..
        }
    ));
    assert_eq!(place, at(64));
}

#[test]
fn every_prefix_of_npy_and_octets_is_refused_or_whole_rows() {
    let body = npy("<f4", 3, 3, &[0; 36]);
    for end in 0..body.len() {
        let (kind, place) = fault(Format::Npy, &body[..end], &Options::default());
        assert_eq!(
            (kind, place),
            (FormatErrorKind::Truncated, Some(Place::Byte(end as u64)))
        );
    }
    let body = [0b1010_0000, 0x80, 0b0110_0000, 0];
    let options = octets(9, None, None);
    let whole = rows(&good(Format::Octets, &body, &options).data);
    for end in 0..body.len() {
        match parse(Format::Octets, &body[..end], &options) {
            Ok(parsed) => assert_eq!(rows(&parsed.data), whole[..end / 2]),
            Err(_) => assert!(end % 2 == 1 || end == 0),
        }
    }
}
