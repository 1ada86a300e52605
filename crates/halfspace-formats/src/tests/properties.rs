//! Properties that hold for arbitrary data and arbitrary bytes.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::readers::json::from_reader;
use crate::{ContentCoding, DataForm, decoder, digest, read_blocks, write_blocks};

/// Labelled rows of one length, with values from a small set.
fn sample(values: &'static [i32]) -> impl Strategy<Value = Vec<(bool, Vec<i32>)>> {
    let value = proptest::sample::select(values);
    (1_usize..150).prop_flat_map(move |n| vec((any::<bool>(), vec(value.clone(), n)), 1..140))
}

pub(crate) fn libsvm(rows: &[(bool, Vec<i32>)]) -> String {
    let n = rows[0].1.len();
    let line = |(label, values): &(bool, Vec<i32>)| {
        let pair = |(index, value): (usize, &i32)| match value {
            0 => String::new(),
            value => format!(" {}:{value}", index + 1),
        };
        let pairs: String = values.iter().enumerate().map(pair).collect();
        format!("{}{pairs}\n", if *label { "+1" } else { "-1" })
    };
    let lines: String = rows.iter().map(line).collect();
    format!("# n = {n}\n{lines}")
}

pub(crate) fn csv(rows: &[(bool, Vec<i32>)]) -> String {
    let line = |(label, values): &(bool, Vec<i32>)| {
        let fields: String = values.iter().map(|value| format!(",{value}")).collect();
        format!("{}{fields}\r\n", u8::from(*label))
    };
    rows.iter().map(line).collect()
}

pub(crate) fn ndjson(rows: &[(bool, Vec<i32>)]) -> String {
    let line = |(label, values): &(bool, Vec<i32>)| {
        format!("{{\"x\":{values:?},\"y\":{}}}\n", u8::from(*label))
    };
    rows.iter().map(line).collect()
}

fn json(rows: &[(bool, Vec<i32>)]) -> String {
    let examples = ndjson(rows).trim_end().replace('\n', ",");
    format!("{{\"labelled\":{{\"examples\":[{examples}]}}}}")
}

/// ARFF text with the labels last, as 0 and 1.
pub(crate) fn arff(rows: &[(bool, Vec<i32>)]) -> String {
    let n = rows[0].1.len();
    let attributes: String = (0..n)
        .map(|j| format!("@attribute a{j} numeric\n"))
        .collect();
    let row = |(label, values): &(bool, Vec<i32>)| {
        let fields: String = values.iter().map(|value| format!("{value},")).collect();
        format!("{fields}{}\n", u8::from(*label))
    };
    let rows: String = rows.iter().map(row).collect();
    format!("@relation r\n{attributes}@attribute y {{0,1}}\n@data\n{rows}")
}

/// The same ARFF data, without the zeros of each row.
pub(crate) fn sparse_arff(rows: &[(bool, Vec<i32>)]) -> String {
    let dense = arff(rows);
    let (head, _) = dense.split_once("@data\n").expect("a head");
    let row = |(label, values): &(bool, Vec<i32>)| {
        let with_label = values.iter().copied().chain([i32::from(*label)]);
        let given = with_label.enumerate().filter(|(_, value)| *value != 0);
        let given: Vec<_> = given.map(|(j, value)| format!("{j} {value}")).collect();
        format!("{{{}}}\n", given.join(", "))
    };
    let rows: String = rows.iter().map(row).collect();
    format!("{head}@data\n{rows}")
}

/// A `.npy` file of bytes with the labels last, as 0 and 1.
pub(crate) fn npy(rows: &[(bool, Vec<i32>)]) -> Vec<u8> {
    let row = |(label, values): &(bool, Vec<i32>)| {
        let values = values.iter().map(|&value| value as u8);
        values.chain([u8::from(*label)]).collect::<Vec<_>>()
    };
    let values: Vec<u8> = rows.iter().flat_map(row).collect();
    binary::npy("|i1", rows.len(), rows[0].1.len() + 1, &values)
}

/// Packed rows, each with its bits and its label.
pub(crate) fn octets(rows: &[(bool, Vec<i32>)], bit_order: BitOrder) -> Vec<u8> {
    let mut body = Vec::new();
    for (label, values) in rows {
        let bits: Vec<bool> = values
            .iter()
            .map(|&value| value == 1)
            .chain([*label])
            .collect();
        body.extend(bits.chunks(8).map(|chunk| {
            chunk.iter().enumerate().fold(0, |byte, (at, &bit)| {
                let place = match bit_order {
                    BitOrder::Big => 7 - at,
                    BitOrder::Little => at,
                };
                byte | u8::from(bit) << place
            })
        }));
    }
    body
}

pub(crate) fn with_n(n: usize) -> Options {
    Options {
        n: Some(n),
        ..Options::default()
    }
}

/// A body that arrives a few bytes at a time.
struct SlowBody<'a> {
    body: &'a [u8],
    piece: usize,
}

impl std::io::Read for SlowBody<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let wanted = buffer.len().min(self.piece);
        self.body.read(&mut buffer[..wanted])
    }
}

proptest! {
    #[test]
    fn equal_data_in_all_formats_are_equal(
        rows in prop_oneof![sample(&[0, 1]), sample(&[0, 1, -1]), sample(&[0, 1, 2, -1])],
    ) {
        let options = with_n(rows[0].1.len());
        let expected = parse(Format::Csv, csv(&rows).as_bytes(), &options).expect("CSV").data;
        match expected.features().packed().expect("memory") {
            DenseFeatures::Boolean(matrix) => for (row, (_, values)) in rows.iter().enumerate() {
                for (index, value) in values.iter().enumerate() {
                    prop_assert_eq!(matrix.row(row).get(index), *value == 1);
                }
            },
            DenseFeatures::Real(matrix) => {
                let values = rows.iter().flat_map(|(_, values)| values);
                prop_assert!(values.map(|&value| f64::from(value)).eq(matrix.values().iter().copied()));
            }
        }
        for (format, body) in [
            (Format::Libsvm, libsvm(&rows).into_bytes()),
            (Format::Ndjson, ndjson(&rows).into_bytes()),
            (Format::Json, json(&rows).into_bytes()),
            (Format::Arff, arff(&rows).into_bytes()),
            (Format::Arff, sparse_arff(&rows).into_bytes()),
            (Format::Npy, npy(&rows)),
        ] {
            let data = parse(format, body.as_slice(), &options).expect("good").data;
            // LIBSVM leaves zeros out, so rows of only -1, 0 and 1 may be read as Boolean. Then the data and their
            // digests differ.
            if matches!(data.features(), Features::Boolean(_))
                == matches!(expected.features(), Features::Boolean(_))
            {
                prop_assert_eq!(&data, &expected);
                prop_assert_eq!(digest(&data, None, None, None), digest(&expected, None, None, None));
            } else {
                prop_assert_eq!(format, Format::Libsvm);
            }
        }
    }

    #[test]
    fn readers_give_the_same_data_for_pieces_of_any_size(
        rows in prop_oneof![sample(&[0, 1]), sample(&[0, 1, 2, -1])],
        piece in 1_usize..20,
    ) {
        let rows = &rows[..rows.len().min(10)];
        for (format, body) in [
            (Format::Libsvm, libsvm(rows).into_bytes()),
            (Format::Csv, csv(rows).into_bytes()),
            (Format::Ndjson, ndjson(rows).into_bytes()),
            (Format::Json, json(rows).into_bytes()),
            (Format::Arff, arff(rows).into_bytes()),
            (Format::Npy, npy(rows)),
            (Format::Octets, octets(rows, BitOrder::Big)),
        ] {
            let pieces = SlowBody { body: &body, piece };
            let options = with_n(rows[0].1.len());
            let parsed = parse(format, pieces, &options);
            prop_assert_eq!(parsed, parse(format, body.as_slice(), &options));
        }
    }

    #[test]
    fn empty_lines_change_only_the_places_of_errors(
        rows in sample(&[0, 1]),
        empty in vec((any::<prop::sample::Index>(), 1_usize..200, any::<bool>()), 1..6),
        piece in 1_usize..300,
    ) {
        let rows = &rows[..rows.len().min(10)];
        for (format, text) in [
            (Format::Libsvm, libsvm(rows)),
            (Format::Csv, csv(rows)),
            (Format::Ndjson, ndjson(rows)),
            (Format::Arff, arff(rows)),
        ] {
            let mut lines: Vec<String> = text.lines().map(|line| format!("{line}\n")).collect();
            for (at, count, is_dos) in &empty {
                let at = at.index(lines.len());
                lines[at].push_str(&if *is_dos { "\r\n" } else { "\n" }.repeat(*count));
            }
            let body = lines.concat();
            let options = with_n(rows[0].1.len());
            let pieces = SlowBody { body: body.as_bytes(), piece };
            let parsed = parse(format, pieces, &options);
            prop_assert_eq!(parsed, parse(format, text.as_bytes(), &options));
            let wrong = body.clone() + "\n\r\n\"\n";
            let pieces = SlowBody { body: wrong.as_bytes(), piece };
            let error = parse(format, pieces, &options).expect_err("a quote");
            let Some(Place::Line { line, .. }) = error.place else {
                panic!("{error}");
            };
            prop_assert_eq!(line as usize, wrong.lines().count(), "{}", error);
        }
    }

    #[test]
    fn octets_are_the_bit_strings_that_they_pack(rows in sample(&[0, 1])) {
        let n = rows[0].1.len();
        let expected = parse(Format::Csv, csv(&rows).as_bytes(), &with_n(n)).expect("CSV").data;
        for bit_order in [BitOrder::Big, BitOrder::Little] {
            let options = Options {
                labels: Some(LabelsColumn::Appended),
                bit_order: Some(bit_order),
                ..with_n(n)
            };
            let body = octets(&rows, bit_order);
            let data = parse(Format::Octets, body.as_slice(), &options).expect("good").data;
            prop_assert_eq!(digest(&data, None, None, None), digest(&expected, None, None, None));
            prop_assert_eq!(data, expected.clone());
        }
    }

    #[test]
    fn stored_data_survive_the_round_trip(rows in prop_oneof![sample(&[1, -1]), sample(&[0, 1, 2])]) {
        let data = parse(Format::Csv, csv(&rows).as_bytes(), &Options::default()).expect("CSV").data;
        let mut bytes = Vec::new();
        write_blocks(&data, None, None, None, &mut bytes).expect("memory");
        prop_assert_eq!(read_blocks(bytes.as_slice()).expect("own").0, data);
    }

    #[test]
    fn bit_strings_are_read_as_they_are(rows in sample(&[0, 1])) {
        let text = |values: &Vec<i32>| values.iter().map(i32::to_string).collect::<String>();
        let lines: Vec<_> = rows.iter().map(|(_, values)| text(values)).collect();
        let parsed = read(Format::Ndjson, &lines.join("\n")).expect("good");
        prop_assert_eq!(super::rows(&parsed.data), lines);
    }

    #[test]
    fn arbitrary_bytes_never_panic_a_reader(bytes in vec(any::<u8>(), 0..400)) {
        try_everything(&bytes);
    }

    #[test]
    fn text_of_format_characters_never_panics_a_reader(
        text in "([01:,\"{}\\[\\]xye. \n\r#+\\-\\\\9]|half_space|labelled|examples|packed|nan|@relation a|\
            @attribute |@data){0,120}",
    ) {
        try_everything(text.as_bytes());
    }

    #[test]
    fn body_with_a_changed_byte_never_panics_a_reader(
        rows in sample(&[0, 1, 2]),
        at in any::<proptest::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let rows = &rows[..rows.len().min(5)];
        for mut bytes in [
            libsvm(rows).into_bytes(),
            csv(rows).into_bytes(),
            ndjson(rows).into_bytes(),
            json(rows).into_bytes(),
            arff(rows).into_bytes(),
            sparse_arff(rows).into_bytes(),
            npy(rows),
        ] {
            let at = at.index(bytes.len());
            bytes[at] = byte;
            try_everything(&bytes);
        }
        let data = read(Format::Csv, &csv(rows)).expect("good").data;
        let mut bytes = Vec::new();
        write_blocks(&data, None, None, None, &mut bytes).expect("memory");
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let _ = read_blocks(bytes.as_slice());
    }
}

/// Passes bytes to every reader, to check that none panics.
fn try_everything(bytes: &[u8]) {
    let labels = [
        None,
        Some(LabelsColumn::None),
        Some(LabelsColumn::Last),
        Some(LabelsColumn::Appended),
        Some(LabelsColumn::Named("y".to_owned())),
    ];
    for format in [
        Format::Ndjson,
        Format::Csv,
        Format::Libsvm,
        Format::Json,
        Format::Arff,
        Format::Npy,
        Format::Octets,
        Format::Xlsx,
        Format::Parquet,
    ] {
        for labels in labels.clone() {
            for n in [None, Some(3)] {
                let options = Options {
                    labels: labels.clone(),
                    n,
                    ..Options::default()
                };
                let _ = parse(format, bytes, &options);
            }
        }
    }
    for coding in [ContentCoding::Gzip, ContentCoding::Zstd] {
        let limits = ParseLimits::default();
        let decoder = decoder(coding, bytes, &limits).expect("set up");
        let _ = from_reader::<DataForm>(decoder, &limits);
    }
    let _ = read_blocks(bytes);
}

/// Cells of a table, most of them of one kind.
fn cells() -> impl Strategy<Value = Vec<Vec<String>>> {
    let kinds = prop_oneof![
        Just(["0", "1", "0", "1"]),
        Just(["-1", "1", "1", "-1"]),
        Just(["0.25", "-3", "1e3", "1234567.5"]),
        Just(["a", "b", "c", "7"]),
    ];
    let other = prop_oneof![
        "[0-9]{1,3}",
        "-?[0-9]?[.][0-9]{1,3}",
        Just(String::new()),
        Just("?".to_owned()),
        Just("007".to_owned()),
        Just("word".to_owned()),
        Just("1e999".to_owned()),
        Just("nan".to_owned()),
    ];
    let cell = (0_usize..4, prop::option::weighted(0.01, other));
    (kinds, 2_usize..150, 1_usize..6).prop_flat_map(move |(kind, columns, rows)| {
        let cell = cell
            .clone()
            .prop_map(move |(known, other)| other.unwrap_or_else(|| kind[known].to_owned()));
        let row = prop::collection::vec(cell, columns);
        prop::collection::vec(row, rows)
    })
}

proptest! {
    /// With a blank before its first cell, a line is read cell by cell.
    #[test]
    fn bare_lines_are_read_as_cells_are(
        rows in cells(),
        place in 0_usize..4,
        declared in any::<bool>(),
        separator in prop_oneof![Just(","), Just(";"), Just("\t")],
    ) {
        let labels = [LabelsColumn::First, LabelsColumn::Last, LabelsColumn::None, LabelsColumn::Named("2".to_owned())];
        let options = Options {
            labels: Some(labels[place].clone()),
            header: Header::False,
            ..Options::default()
        };
        let told = |format, head: &str, separator: &str, blank: &str, options: &Options| {
            let lines = rows.iter().map(|row| format!("{blank}{}\n", row.join(separator)));
            let body = format!("{head}{}", lines.collect::<String>());
            let parsed = parse(format, body.as_bytes(), options);
            parsed.map_err(|error| (error.kind, error.detail)).map(|parsed| Parsed { first_real: None, ..parsed })
        };
        prop_assert_eq!(
            told(Format::Csv, "", separator, "", &options),
            told(Format::Csv, "", separator, " ", &options)
        );
        let kind = if declared { "{0,1,-1,a,b,c}" } else { "numeric" };
        let attributes = (0..rows[0].len()).map(|at| format!("@attribute x{at} {kind}\n"));
        let head = format!("@relation r\n{}@data\n", attributes.collect::<String>());
        let options = Options { header: Header::Auto, ..options };
        prop_assert_eq!(
            told(Format::Arff, &head, ",", "", &options),
            told(Format::Arff, &head, ",", " ", &options)
        );
    }
}
