//! Content codings: whole, cut off, damaged, and bombs.

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;
use crate::formats::{ContentCoding, decoder};

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(body).expect("memory");
    encoder.finish().expect("memory")
}

fn zstd(body: &[u8]) -> Vec<u8> {
    zstd::stream::encode_all(body, 1).expect("memory")
}

fn limits(body_bytes_max: u64) -> Limits {
    Limits {
        body_bytes_max,
        ..Limits::default()
    }
}

fn read_coded(coding: ContentCoding, body: &[u8], limits: &Limits) -> Result<Parsed, FormatError> {
    let decoder = decoder(coding, body, limits)?;
    parse(Format::Ndjson, decoder, &Options::default())
}

#[test]
fn codings_are_named_by_their_header() {
    for (value, coding) in [
        ("gzip", ContentCoding::Gzip),
        (" Zstd ", ContentCoding::Zstd),
        ("identity", ContentCoding::Identity),
    ] {
        assert_eq!(ContentCoding::from_header(value), Ok(coding));
    }
    for value in ["br", "gzip, zstd", "gzip,gzip"] {
        let error = ContentCoding::from_header(value).expect_err(value);
        assert_eq!(error.kind, FormatErrorKind::UnknownCoding);
    }
}

#[test]
fn bodies_are_read_through_their_coding() {
    let body = b"101\n010\n";
    let members = [gzip(b"101\n"), gzip(b"010\n")].concat();
    let frames = [zstd(b"101\n"), zstd(b"010\n")].concat();
    for (coding, coded) in [
        (ContentCoding::Identity, body.to_vec()),
        (ContentCoding::Gzip, gzip(body)),
        (ContentCoding::Gzip, members),
        (ContentCoding::Zstd, zstd(body)),
        (ContentCoding::Zstd, frames),
    ] {
        let parsed = read_coded(coding, &coded, &Limits::default()).expect("good");
        assert_eq!(rows(&parsed.data), ["101", "010"]);
    }
}

#[test]
fn a_body_that_is_cut_off_is_told_from_a_damaged_one() {
    let body = "10110100\n".repeat(1000);
    for (coding, coded) in [
        (ContentCoding::Gzip, gzip(body.as_bytes())),
        (ContentCoding::Zstd, zstd(body.as_bytes())),
    ] {
        for length in [1, 5, coded.len() / 2, coded.len() - 1] {
            let cut = read_coded(coding, &coded[..length], &Limits::default());
            let error = cut.expect_err("cut off");
            assert_eq!(
                error.kind,
                FormatErrorKind::Truncated,
                "{coding:?} {length}: {error}"
            );
        }
        let mut damaged = coded.clone();
        damaged[0] ^= 0xff;
        let error = read_coded(coding, &damaged, &Limits::default()).expect_err("damaged");
        assert_eq!(
            error.kind,
            FormatErrorKind::BadCoding,
            "{coding:?}: {error}"
        );
    }
    let mut checksum = gzip(body.as_bytes());
    let last = checksum.len() - 5;
    checksum[last] ^= 1;
    let error = read_coded(ContentCoding::Gzip, &checksum, &Limits::default()).expect_err("sum");
    assert_eq!(error.kind, FormatErrorKind::BadCoding);
}

#[test]
fn the_limit_counts_what_comes_out() {
    let bomb = gzip(&vec![b'1'; 64 << 20]);
    assert!(bomb.len() < 1 << 20);
    let zstd_bomb = zstd(&vec![b'1'; 64 << 20]);
    for (coding, coded) in [
        (ContentCoding::Gzip, &bomb),
        (ContentCoding::Zstd, &zstd_bomb),
        (ContentCoding::Identity, &b"1\n".repeat(1 << 20)),
    ] {
        let error = read_coded(coding, coded, &limits(1 << 20)).expect_err("bomb");
        let kind = FormatErrorKind::TooLarge {
            limit: "body_bytes_max",
            value: 1 << 20,
        };
        assert_eq!(error.kind, kind, "{coding:?}");
    }
    let exact = read_coded(ContentCoding::Gzip, &gzip(b"101\n"), &limits(4));
    assert!(exact.is_ok());
    assert!(read_coded(ContentCoding::Gzip, &gzip(b"101\n"), &limits(3)).is_err());
}

#[test]
fn zstd_windows_are_bounded() {
    let mut encoder = zstd::stream::Encoder::new(Vec::new(), 1).expect("memory");
    encoder.window_log(24).expect("a known parameter");
    encoder.write_all(&b"10\n".repeat(8 << 20)).expect("memory");
    let coded = encoder.finish().expect("memory");
    let error = read_coded(ContentCoding::Zstd, &coded, &Limits::default()).expect_err("window");
    assert_eq!(error.kind, FormatErrorKind::BadCoding);
    assert!(error.detail.contains("8 MiB"), "{error}");
}

/// A source that breaks after a few bytes.
struct Breaking(&'static [u8]);

impl Read for Breaking {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer)? {
            0 => Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "connection lost",
            )),
            read => Ok(read),
        }
    }
}

#[test]
fn faults_of_the_source_are_not_taken_for_faults_of_the_body() {
    let gzip_start = Breaking(&[0x1f, 0x8b, 8]);
    for (coding, source) in [
        (ContentCoding::Identity, Breaking(b"101\n")),
        (ContentCoding::Gzip, gzip_start),
        (ContentCoding::Zstd, Breaking(&[0x28, 0xb5])),
    ] {
        let decoder = decoder(coding, source, &Limits::default()).expect("set up");
        let error = parse(Format::Ndjson, decoder, &Options::default()).expect_err("broken");
        assert_eq!(error.kind, FormatErrorKind::Io, "{coding:?}: {error}");
        assert!(error.detail.contains("connection lost"), "{error}");
    }
}

#[test]
fn typed_faults_come_through_json() {
    let body = br#"{"half_space":{"examples":["10"]}}"#;
    let form = |coded: &[u8], limits: &Limits| {
        let decoder = decoder(ContentCoding::Gzip, coded, limits).expect("set up");
        crate::formats::json::from_reader::<crate::formats::DataForm>(decoder, limits)
    };
    let coded = gzip(body);
    assert!(form(&coded, &Limits::default()).is_ok());
    let error = form(&coded[..coded.len() - 9], &Limits::default()).expect_err("cut off");
    assert_eq!(error.kind, FormatErrorKind::Truncated);
    let error = form(&coded, &limits(5)).expect_err("limit");
    assert!(matches!(
        error.kind,
        FormatErrorKind::TooLarge { value: 5, .. }
    ));
}
