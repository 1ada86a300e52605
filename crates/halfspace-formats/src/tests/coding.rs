//! Tests of content codings: whole bodies, truncated bodies, damaged bodies and decompression bombs.

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::{ContentCoding, decoder};

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(body).expect("memory");
    encoder.finish().expect("memory")
}

fn zstd(body: &[u8]) -> Vec<u8> {
    zstd::stream::encode_all(body, 1).expect("memory")
}

fn limits(body_bytes_max: u64) -> ParseLimits {
    ParseLimits {
        body_bytes_max,
        ..ParseLimits::default()
    }
}

fn read_coded(
    coding: ContentCoding,
    body: &[u8],
    limits: &ParseLimits,
) -> Result<Parsed, FormatError> {
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
        let parsed = read_coded(coding, &coded, &ParseLimits::default()).expect("good");
        assert_eq!(rows(&parsed.data), ["101", "010"]);
    }
}

#[test]
fn truncated_coded_body_differs_from_a_damaged_one() {
    let body = "10110100\n".repeat(1000);
    for (coding, coded) in [
        (ContentCoding::Gzip, gzip(body.as_bytes())),
        (ContentCoding::Zstd, zstd(body.as_bytes())),
    ] {
        for length in [1, 5, coded.len() / 2, coded.len() - 1] {
            let cut = read_coded(coding, &coded[..length], &ParseLimits::default());
            let error = cut.expect_err("cut off");
            assert_eq!(
                error.kind,
                FormatErrorKind::Truncated,
                "{coding:?} {length}: {error}"
            );
        }
        let mut damaged = coded.clone();
        damaged[0] ^= 0xff;
        let error = read_coded(coding, &damaged, &ParseLimits::default()).expect_err("damaged");
        assert_eq!(
            error.kind,
            FormatErrorKind::BadCoding,
            "{coding:?}: {error}"
        );
    }
    let mut checksum = gzip(body.as_bytes());
    let last = checksum.len() - 5;
    checksum[last] ^= 1;
    let error =
        read_coded(ContentCoding::Gzip, &checksum, &ParseLimits::default()).expect_err("sum");
    assert_eq!(error.kind, FormatErrorKind::BadCoding);
}

#[test]
fn body_limit_counts_decompressed_bytes() {
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

fn is_over_ratio(error: &FormatError, ratio: u64) -> bool {
    error.kind
        == FormatErrorKind::TooLarge {
            limit: "decompression_ratio_max",
            value: ratio,
        }
}

#[test]
fn compressed_bomb_is_refused_at_its_ratio() {
    let body = vec![b'\n'; 64 << 20];
    let coded = zstd(&body);
    let source = coded.as_slice();
    let mut decoder =
        decoder(ContentCoding::Zstd, source, &ParseLimits::default()).expect("set up");
    let mut read = 0;
    let mut buffer = vec![0; 256 << 10];
    let error = loop {
        match decoder.read(&mut buffer) {
            Ok(0) => panic!("the end"),
            Ok(more) => read += more,
            Err(error) => break FormatError::from(error),
        }
    };
    assert!(is_over_ratio(&error, 1000), "{error}");
    assert!(
        error.detail.contains("decompression_ratio_max is 1000"),
        "{error}"
    );
    assert!((15 << 20..=16 << 20).contains(&read), "{read}");
    // Gzip of one repeated byte reaches a ratio of 1,030.
    let mut best = GzEncoder::new(Vec::new(), Compression::best());
    best.write_all(&body).expect("memory");
    let coded = best.finish().expect("memory");
    let error = read_coded(ContentCoding::Gzip, &coded, &ParseLimits::default()).expect_err("bomb");
    assert!(is_over_ratio(&error, 1000), "{error}");
}

/// An endless source that counts its bytes.
struct Endless<'a> {
    piece: &'a [u8],
    read: usize,
}

impl Read for Endless<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = &self.piece[self.read % self.piece.len()..];
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        self.read += length;
        Ok(length)
    }
}

#[test]
fn endless_empty_frames_are_refused() {
    // A skippable frame: the magic, the length 8, and 8 bytes.
    let skippable = [&[0x50, 0x2a, 0x4d, 0x18, 8, 0, 0, 0][..], &[7; 8]].concat();
    for (coding, piece) in [
        (ContentCoding::Zstd, skippable),
        (ContentCoding::Zstd, zstd(b"")),
        (ContentCoding::Gzip, gzip(b"")),
    ] {
        let mut source = Endless {
            piece: &piece.repeat(1000),
            read: 0,
        };
        let mut decoder = decoder(coding, &mut source, &ParseLimits::default()).expect("set up");
        let ended = io::copy(&mut decoder, &mut io::sink());
        let error = FormatError::from(ended.expect_err("no end"));
        assert_eq!(
            error.kind,
            FormatErrorKind::BadCoding,
            "{coding:?}: {error}"
        );
        drop(decoder);
        assert!(source.read <= 2 << 20, "{coding:?}: {}", source.read);
    }
}

#[test]
fn a_compressed_body_is_not_longer_than_its_limit_allows() {
    let piece = gzip(b"10\n").repeat(1000);
    let mut source = Endless {
        piece: &piece,
        read: 0,
    };
    let mut decoder = decoder(ContentCoding::Gzip, &mut source, &limits(1 << 20)).expect("set up");
    let ended = io::copy(&mut decoder, &mut io::sink());
    let error = FormatError::from(ended.expect_err("no end"));
    let kind = FormatErrorKind::TooLarge {
        limit: "body_bytes_max",
        value: 1 << 20,
    };
    assert_eq!(error.kind, kind);
    drop(decoder);
    assert!(source.read <= 3 << 20, "{}", source.read);
}

#[test]
fn gzip_member_or_zstd_frame_per_line_is_read() {
    for (coding, line) in [
        (ContentCoding::Gzip, gzip(b"1\n")),
        (ContentCoding::Zstd, zstd(b"1\n")),
    ] {
        let body = line.repeat(100_000);
        assert!(body.len() > 1 << 20);
        let parsed = read_coded(coding, &body, &ParseLimits::default()).expect("good");
        assert_eq!(parsed.data.examples(), 100_000);
    }
}

proptest! {
    #[test]
    fn decompression_ratio_is_refused_exactly_where_it_is_passed(
        runs in vec((any::<u8>(), 1_usize..40_000), 1..20),
        ratio in 1_u64..200,
        free in 0_u64..100_000,
        is_gzip in any::<bool>(),
    ) {
        let body: Vec<u8> = runs.iter().flat_map(|&(byte, count)| vec![byte; count]).collect();
        let (coding, coded) = match is_gzip {
            true => (ContentCoding::Gzip, gzip(&body)),
            false => (ContentCoding::Zstd, zstd(&body)),
        };
        let limits = ParseLimits {
            decompression_ratio_max: ratio,
            decompressed_bytes_free: free,
            ..ParseLimits::default()
        };
        let mut decoder = decoder(coding, coded.as_slice(), &limits).expect("set up");
        let mut read = Vec::new();
        let ended = decoder.read_to_end(&mut read).map_err(FormatError::from);
        prop_assert!(body.starts_with(&read));
        let allowed = free.max(ratio * coded.len() as u64);
        prop_assert!(read.len() as u64 <= allowed);
        match ended {
            Ok(_) => prop_assert_eq!(read.len(), body.len()),
            Err(error) => {
                prop_assert!(is_over_ratio(&error, ratio), "{}", error);
                prop_assert!(body.len() as u64 > free);
            }
        }
    }
}

#[test]
fn zstd_windows_are_bounded() {
    let mut encoder = zstd::stream::Encoder::new(Vec::new(), 1).expect("memory");
    encoder.window_log(24).expect("a known parameter");
    encoder.write_all(&b"10\n".repeat(8 << 20)).expect("memory");
    let coded = encoder.finish().expect("memory");
    let error =
        read_coded(ContentCoding::Zstd, &coded, &ParseLimits::default()).expect_err("window");
    assert_eq!(error.kind, FormatErrorKind::BadCoding);
    assert!(error.detail.contains("8 MiB"), "{error}");
}

/// A source that fails after a few bytes.
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
fn io_errors_of_a_coded_source_differ_from_body_errors() {
    let gzip_start = Breaking(&[0x1f, 0x8b, 8]);
    for (coding, source) in [
        (ContentCoding::Identity, Breaking(b"101\n")),
        (ContentCoding::Gzip, gzip_start),
        (ContentCoding::Zstd, Breaking(&[0x28, 0xb5])),
    ] {
        let decoder = decoder(coding, source, &ParseLimits::default()).expect("set up");
        let error = parse(Format::Ndjson, decoder, &Options::default()).expect_err("broken");
        assert_eq!(error.kind, FormatErrorKind::Io, "{coding:?}: {error}");
        assert!(error.detail.contains("connection lost"), "{error}");
    }
}

#[test]
fn coding_errors_keep_their_kind_through_json() {
    let body = br#"{"half_space":{"examples":["10"]}}"#;
    let form = |coded: &[u8], limits: &ParseLimits| {
        let decoder = decoder(ContentCoding::Gzip, coded, limits).expect("set up");
        crate::readers::json::from_reader::<crate::DataForm>(decoder, limits)
    };
    let coded = gzip(body);
    assert!(form(&coded, &ParseLimits::default()).is_ok());
    let error = form(&coded[..coded.len() - 9], &ParseLimits::default()).expect_err("cut off");
    assert_eq!(error.kind, FormatErrorKind::Truncated);
    let error = form(&coded, &limits(5)).expect_err("limit");
    assert!(matches!(
        error.kind,
        FormatErrorKind::TooLarge { value: 5, .. }
    ));
}
