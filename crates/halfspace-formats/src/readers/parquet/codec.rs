//! The compressions of pages, each to exactly the size that the header of the page states.
//!
//! The codecs of the crate `parquet` read gzip, Brotli and LZ4 to their end, however long that is, and it would bring
//! the encoder of Brotli, too.

use std::io::Read;

use flate2::read::MultiGzDecoder;
use halfspace_core::memory;

use crate::error::{Fault, FormatErrorKind};

/// Bytes that Brotli reads at once.
const BUFFER_BYTES: usize = 4096;

/// The largest window of Brotli (RFC 7932), which its decoder reserves whatever the size of the page.
const WINDOW_BYTES: u64 = 1 << 24;

/// The first seven bits of an extension of Brotli with windows of 1 GiB.
const LARGE_WINDOW: u8 = 0b001_0001;

/// The compression of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Codec {
    Uncompressed,
    Snappy,
    Gzip,
    Brotli,
    /// LZ4 in the frames of Hadoop, or without a frame.
    Lz4,
    Zstd,
    Lz4Raw,
}

impl Codec {
    /// The compression by its number.
    ///
    /// # Errors
    /// When there is no such compression, or it is LZO.
    pub(super) fn of(number: u64) -> Result<Self, Fault> {
        Ok(match number {
            0 => Self::Uncompressed,
            1 => Self::Snappy,
            2 => Self::Gzip,
            4 => Self::Brotli,
            5 => Self::Lz4,
            6 => Self::Zstd,
            7 => Self::Lz4Raw,
            3 => {
                let detail = "LZO compresses the Parquet file; write it with another compression, such as zstd.";
                return Err(Fault::new(FormatErrorKind::Unsupported, detail));
            }
            _ => {
                let detail = format!("The Parquet file has the unknown compression {number}.");
                return Err(Fault::new(FormatErrorKind::Unsupported, detail));
            }
        })
    }

    /// Fills `into` with what the bytes decompress to, which must have this size.
    ///
    /// # Errors
    /// When the bytes are damaged, or decompress to another size.
    pub(super) fn decompress(self, bytes: &[u8], into: &mut [u8]) -> Result<(), Fault> {
        let done = match self {
            Self::Uncompressed => {
                let is_equal = bytes.len() == into.len();
                is_equal.then(|| into.copy_from_slice(bytes))
            }
            Self::Snappy => {
                let size = snap::raw::decompress_len(bytes).ok();
                let is_equal = size == Some(into.len());
                let decompress = || snap::raw::Decoder::new().decompress(bytes, into).ok();
                is_equal.then(decompress).flatten().map(drop)
            }
            Self::Gzip => whole(MultiGzDecoder::new(bytes), into),
            Self::Brotli => {
                memory::need(WINDOW_BYTES)?;
                let is_large = bytes
                    .first()
                    .is_some_and(|byte| byte & 0x7f == LARGE_WINDOW);
                let reader = brotli_decompressor::Decompressor::new(bytes, BUFFER_BYTES);
                (!is_large).then(|| whole(reader, into)).flatten()
            }
            Self::Zstd => memory::foreign(|| {
                let mut decompressor = zstd::bulk::Decompressor::new().ok()?;
                let size = decompressor.decompress_to_buffer(bytes, into).ok()?;
                (size == into.len()).then_some(())
            }),
            Self::Lz4Raw => block(bytes, into),
            Self::Lz4 => frames(bytes, into).or_else(|| block(bytes, into)),
        };
        done.ok_or_else(|| {
            let detail = format!(
                "A page of the Parquet file is damaged: it does not decompress to {} bytes.",
                into.len()
            );
            Fault::new(FormatErrorKind::BadCoding, detail)
        })
    }
}

/// Fills a buffer from a stream that must end with it.
fn whole(mut reader: impl Read, into: &mut [u8]) -> Option<()> {
    reader.read_exact(into).ok()?;
    let more = reader.read(&mut [0]).ok()?;
    (more == 0).then_some(())
}

/// A block of LZ4.
fn block(bytes: &[u8], into: &mut [u8]) -> Option<()> {
    let size = lz4_flex::block::decompress_into(bytes, into).ok()?;
    (size == into.len()).then_some(())
}

/// Blocks of LZ4 as Hadoop writes them, each after its size and its compressed size.
fn frames(mut bytes: &[u8], mut into: &mut [u8]) -> Option<()> {
    while !bytes.is_empty() {
        let (size, rest) = bytes.split_first_chunk()?;
        let (compressed, rest) = rest.split_first_chunk()?;
        let compressed = u32::from_be_bytes(*compressed) as usize;
        let (block_bytes, rest) = rest.split_at_checked(compressed)?;
        let (part, left) = into.split_at_mut_checked(u32::from_be_bytes(*size) as usize)?;
        block(block_bytes, part)?;
        (bytes, into) = (rest, left);
    }
    into.is_empty().then_some(())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// Bytes in every compression that has an encoder here.
    fn compressed(bytes: &[u8]) -> Vec<(Codec, Vec<u8>)> {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(bytes).unwrap();
        let block = |bytes: &[u8]| lz4_flex::block::compress(bytes);
        let frame = |bytes: &[u8]| {
            let sizes = [bytes.len(), block(bytes).len()];
            let sizes = sizes.map(|size| (size as u32).to_be_bytes());
            [&sizes.concat()[..], &block(bytes)].concat()
        };
        let (first, second) = bytes.split_at(bytes.len() / 3);
        vec![
            (Codec::Uncompressed, bytes.to_vec()),
            (
                Codec::Snappy,
                snap::raw::Encoder::new().compress_vec(bytes).unwrap(),
            ),
            (Codec::Gzip, gzip.finish().unwrap()),
            (Codec::Zstd, zstd::bulk::compress(bytes, 3).unwrap()),
            (Codec::Lz4Raw, block(bytes)),
            (Codec::Lz4, block(bytes)),
            (Codec::Lz4, frame(bytes)),
            (Codec::Lz4, [frame(first), frame(second)].concat()),
        ]
    }

    #[test]
    fn pages_decompress_to_exactly_their_size() {
        let bytes: Vec<u8> = (0..5000_u32).map(|at| (at / 7 % 11) as u8).collect();
        for (codec, compressed) in compressed(&bytes) {
            let mut page = vec![0; bytes.len()];
            codec.decompress(&compressed, &mut page).expect("a page");
            assert!(page == bytes, "{codec:?}");
            for size in [0, bytes.len() - 1, bytes.len() + 1] {
                let refused = codec.decompress(&compressed, &mut vec![0; size]);
                let kind = refused.expect_err("another size").kind;
                assert_eq!(kind, FormatErrorKind::BadCoding, "{codec:?}");
            }
            let cut = &compressed[..compressed.len() / 2];
            codec.decompress(cut, &mut page).expect_err("half a page");
        }
    }

    #[test]
    fn windows_beyond_those_of_brotli_are_refused() {
        // The head of a large window of 2^30 bytes, and a block without data that is not the last one.
        let bytes = [LARGE_WINDOW, 30, 0, 0, 0];
        let refused = Codec::Brotli.decompress(&bytes, &mut [0; 4]);
        assert_eq!(refused.unwrap_err().kind, FormatErrorKind::BadCoding);
    }
}
