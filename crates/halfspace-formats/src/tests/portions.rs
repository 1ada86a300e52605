//! Tests of NDJSON in portions: a source that blocks after every byte gives the same examples as the whole body.

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;
use crate::{ContentCoding, NdjsonPortions, Portion, RowsKind, Supply, decoder};

/// A source that returns a byte on every second read.
struct Drip<'a> {
    left: &'a [u8],
    is_dry: bool,
}

impl Read for Drip<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.is_dry = !self.is_dry;
        if self.is_dry {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.left.read(&mut buffer[..1])
    }
}

fn options(n: usize, values: Option<RowsKind>) -> Options {
    Options {
        n: Some(n),
        values,
        ..Options::default()
    }
}

/// All portions of a body. Each read takes at most `lines_max` lines, and ends when the source has no more for now.
fn portions(
    coding: ContentCoding,
    body: &[u8],
    options: &Options,
    lines_max: u64,
) -> (Vec<Portion>, Result<(), FormatError>) {
    let source = Drip {
        left: body,
        is_dry: false,
    };
    let decoder = decoder(coding, source, &options.limits).expect("a decoder");
    let mut reader = NdjsonPortions::new(decoder, options).expect("good options");
    let mut all = Vec::new();
    loop {
        let read = reader.read(lines_max);
        all.extend(reader.take().expect("little memory"));
        match read {
            Ok(Supply::End) => return (all, Ok(())),
            Ok(Supply::More | Supply::Pending) => {}
            Err(error) => return (all, Err(error)),
        }
    }
}

#[test]
fn ndjson_portions_of_any_coding_add_up_to_the_whole() {
    let body = b"{\"x\": \"1011\", \"y\": 1}\n\n{\"x\": [0, 0, 1, 1], \"y\": 0}\r\n  \n\
                 {\"x\": \"0000\", \"y\": 1}";
    let whole = parse(Format::Ndjson, &body[..], &options(4, None)).expect("good");
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(body).expect("memory");
    let gzip = gzip.finish().expect("memory");
    let members = [gzip.clone(), {
        let mut more = GzEncoder::new(Vec::new(), Compression::fast());
        more.write_all(b"\n").expect("memory");
        more.finish().expect("memory")
    }]
    .concat();
    let zstd = |part: &[u8]| zstd::stream::encode_all(part, 1).expect("memory");
    for (coding, coded) in [
        (ContentCoding::Identity, body.to_vec()),
        (ContentCoding::Gzip, gzip.clone()),
        (ContentCoding::Gzip, members),
        (ContentCoding::Zstd, zstd(body)),
        (
            ContentCoding::Zstd,
            [zstd(&body[..20]), zstd(&body[20..])].concat(),
        ),
    ] {
        for lines_max in [1, 2, 100] {
            let (all, read) = portions(coding, &coded, &options(4, None), lines_max);
            assert_eq!(read, Ok(()), "{coding:?}");
            let rows: Vec<_> = all.iter().flat_map(|portion| &portion.lines).collect();
            assert_eq!(rows[..3], [&1, &3, &5], "{coding:?}");
            let first = &all[0].parsed.data;
            assert_eq!(*first, whole.data.rows(0..first.examples()));
            assert_eq!(
                all.iter()
                    .map(|one| one.parsed.data.examples())
                    .sum::<usize>(),
                rows.len()
            );
        }
    }
    let cut = &gzip[..gzip.len() - 3];
    let (all, read) = portions(ContentCoding::Gzip, cut, &options(4, None), 1);
    assert_eq!(read.expect_err("cut off").kind, FormatErrorKind::Truncated);
    assert!(!all.is_empty());
}

/// Counts the bytes that were read through this reader.
struct CountingReader<'a, R>(R, &'a std::cell::Cell<usize>);

impl<R: Read> Read for CountingReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(buffer)?;
        self.1.set(self.1.get() + read);
        Ok(read)
    }
}

#[test]
fn ndjson_portion_is_read_after_endless_blanks() {
    const BYTES: usize = 3 << 20;
    for blank in [" ", "\n", "  \r\n"] {
        let mut body = blank.repeat(BYTES / blank.len());
        body.push_str("\n{\"x\": \"1\", \"y\": 1}\n");
        let coded = zstd::stream::encode_all(body.as_bytes(), 1).expect("memory");
        let options = options(1, None);
        let decoder = decoder(ContentCoding::Zstd, &coded[..], &options.limits);
        let read = std::cell::Cell::new(0);
        let counted = CountingReader(decoder.expect("a decoder"), &read);
        let mut reader = NdjsonPortions::new(counted, &options).expect("good options");
        let mut portions = 0;
        loop {
            let before = read.get();
            let supply = reader.read(u64::MAX).expect("blanks");
            assert!(read.get() - before <= 256 << 10, "{blank:?}");
            if supply == Supply::End {
                break;
            }
            assert_eq!(supply, Supply::More, "{blank:?}");
            portions += 1;
        }
        assert!(portions >= BYTES / (256 << 10), "{portions}");
        let portion = reader.take().expect("little memory").expect("an example");
        assert_eq!(portion.lines, [body.lines().count() as u64]);
    }
}

#[test]
fn ndjson_portions_refuse_mixed_labels_and_values() {
    let boolean = Some(RowsKind::Boolean);
    for (body, kind, line, column) in [
        (
            "{\"x\":\"1\",\"y\":0}\n{\"x\":\"1\",\"y\":-1}\n",
            FormatErrorKind::MixedLabels,
            2,
            14,
        ),
        (
            "{\"x\":[0],\"y\":1}\n{\"x\":[-1],\"y\":1}\n",
            FormatErrorKind::NotBoolean,
            2,
            7,
        ),
        (
            "{\"x\":[-1],\"y\":1}\n{\"x\":\"0\",\"y\":1}\n",
            FormatErrorKind::NotBoolean,
            2,
            7,
        ),
        (
            "{\"x\":[1],\"y\":1}\n\n{\"x\":[0.5],\"y\":1}\n",
            FormatErrorKind::NotBoolean,
            3,
            7,
        ),
        (
            "{\"x\":[1],\"y\":1}\n{\"x\":[1]}\n",
            FormatErrorKind::MixedLines,
            2,
            1,
        ),
        ("\"1\"\n{\"x\":[1]}\n", FormatErrorKind::MixedLines, 2, 1),
        ("\"1\"\n\"10\"\n", FormatErrorKind::UnequalLength, 2, 2),
    ] {
        for lines_max in [1, 100] {
            let options = options(1, boolean);
            let (all, read) = portions(
                ContentCoding::Identity,
                body.as_bytes(),
                &options,
                lines_max,
            );
            let error = read.expect_err(body);
            assert_eq!(error.kind, kind, "{body}: {error}");
            assert_eq!(error.place, Some(Place::Line { line, column }), "{body}");
            assert_eq!(all.len(), 1, "{body}");
            assert_eq!(all[0].lines, [1], "{body}");
        }
    }
}

#[test]
fn real_ndjson_portions_are_real_from_the_start() {
    let body =
        b"{\"x\": \"01\", \"y\": 1}\n{\"x\": [-1, 1], \"y\": 1}\n{\"x\": [0.5, 0], \"y\": 1}\n";
    let options = options(2, Some(RowsKind::Real));
    let (all, read) = portions(ContentCoding::Identity, body, &options, 1);
    assert_eq!(read, Ok(()));
    let values: Vec<f64> = all
        .iter()
        .flat_map(|portion| match portion.parsed.data.features() {
            Features::Real(matrix) => matrix.values().to_vec(),
            Features::Boolean(_) | Features::Sparse(_) => panic!("no dense values"),
        })
        .collect();
    assert_eq!(values, [0.0, 1.0, -1.0, 1.0, 0.5, 0.0]);
    // In a sparse line an absent value is 0, and -1 stays -1.
    let sparse = parse(Format::Libsvm, &b"1 1:1 2:-1\n1 1:1\n"[..], &options).expect("good");
    let Features::Real(matrix) = sparse.data.features() else {
        panic!("bits");
    };
    assert_eq!(matrix.values(), [1.0, -1.0, 1.0, 0.0]);
}
