//! The target of content codings: any bytes as a compressed body, and any bytes compressed and decompressed again.

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use halfspace_formats::{ContentCoding, FormatError, FormatErrorKind, ParseLimits, decoder};

use super::pieces::Pieces;

/// The input is four bytes for coding, ratio, free bytes and pieces, then the body.
pub fn coding(bytes: &[u8]) {
    let Some((&[coding, ratio, free, piece], body)) = bytes.split_first_chunk::<4>() else {
        return;
    };
    let coding_of = match coding % 2 {
        0 => ContentCoding::Gzip,
        _ => ContentCoding::Zstd,
    };
    let limits = ParseLimits {
        body_bytes_max: 1 << 20,
        decompression_ratio_max: u64::from(ratio),
        decompressed_bytes_free: u64::from(free) * 64,
        ..ParseLimits::default()
    };
    let piece = usize::from(piece) + 1;
    let (read, _) = decode(coding_of, body, piece, &limits);
    let allowed = limits.decompressed_bytes_free.max(u64::from(ratio) * body.len() as u64);
    assert!(read.len() as u64 <= allowed.min(1 << 20), "{}", read.len());
    of_frames(coding_of, body, piece);
}

/// If a body is compressed in frames and decompressed again, it is the same.
fn of_frames(coding: ContentCoding, body: &[u8], piece: usize) {
    let coded: Vec<u8> = body.chunks(7 * piece).flat_map(|chunk| encode(coding, chunk)).collect();
    let limits = ParseLimits {
        decompression_ratio_max: 1_000_000,
        ..ParseLimits::default()
    };
    let (read, error) = decode(coding, &coded, piece, &limits);
    if coded.is_empty() {
        return;
    }
    assert_eq!(error, None);
    assert_eq!(read, body);
    // A truncated body is an error.
    let cut = &coded[..coded.len() - 1];
    let (_, error) = decode(coding, cut, piece, &limits);
    assert_eq!(error.map(|error| error.kind), Some(FormatErrorKind::Truncated));
}

fn encode(coding: ContentCoding, chunk: &[u8]) -> Vec<u8> {
    match coding {
        ContentCoding::Zstd => zstd::encode_all(chunk, 1).expect("memory"),
        _ => {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(chunk).expect("memory");
            encoder.finish().expect("memory")
        }
    }
}

fn decode(
    coding: ContentCoding,
    body: &[u8],
    piece: usize,
    limits: &ParseLimits,
) -> (Vec<u8>, Option<FormatError>) {
    let mut decoder = decoder(coding, Pieces { body, piece }, limits).expect("set up");
    let mut read = Vec::new();
    let ended: io::Result<usize> = decoder.read_to_end(&mut read);
    (read, ended.err().map(FormatError::from))
}
