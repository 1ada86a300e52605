//! The digest of data: equal data have one digest, whatever the format they came in.
//!
//! SHA-256 over, all integers little-endian:
//!
//! 1. the 16 bytes `halfspace-data-1`;
//! 2. one byte for the rows, 0 Boolean or 1 real; one for the labels, 0 half-space, 1 labelled or
//!    2 unlabelled (the codes of [`super::blocks`]);
//! 3. n and the number of rows, 8 bytes each;
//! 4. each row in order: its `ceil(n / 64)` packed words, 8 bytes each (coordinate `j`, from 0, is
//!    bit `j % 64` of word `j / 64`; bit 1 is a value 1, bit 0 a value 0 or -1), or its n doubles
//!    as IEEE 754 bits, -0.0 as 0.0; then, when labelled, one byte: 1 for +1, 0 for -1 or 0.

use sha2::{Digest, Sha256};

use crate::bits::{BLOCK_ROWS, BitBlock};
use crate::learners::data::{Data, Features, Labels};

use super::blocks::BlocksHeader;

const TAG: &[u8; 16] = b"halfspace-data-1";

/// Bytes hashed at once: many rows are short.
const CHUNK_BYTES: usize = 64 * 1024;

/// The digest of the canonical rows.
pub fn digest(data: &Data) -> [u8; 32] {
    let mut digest = RowsDigest::new(&BlocksHeader::of(data));
    digest.add(data);
    digest.finish()
}

/// The digest of data that are at hand one part after the other.
pub(super) struct RowsDigest {
    hash: Sha256,
    chunk: Vec<u8>,
}

impl RowsDigest {
    /// Of the data with this header, none of which was added.
    pub(super) fn new(header: &BlocksHeader) -> Self {
        let mut hash = Sha256::new();
        hash.update(TAG);
        hash.update([header.kind.code(), header.labels.code()]);
        hash.update((header.n as u64).to_le_bytes());
        hash.update((header.rows as u64).to_le_bytes());
        let chunk = Vec::with_capacity(CHUNK_BYTES);
        Self { hash, chunk }
    }

    /// Adds the next rows.
    pub(super) fn add(&mut self, rows: &Data) {
        for_each_row(rows, |row, label| {
            self.chunk.extend_from_slice(row);
            self.chunk.extend(label.map(u8::from));
            if self.chunk.len() >= CHUNK_BYTES {
                self.hash.update(&self.chunk);
                self.chunk.clear();
            }
        });
    }

    pub(super) fn finish(mut self) -> [u8; 32] {
        self.hash.update(&self.chunk);
        self.hash.finalize().into()
    }
}

/// Shows the canonical bytes of every row, in order, and its label where there are labels.
pub(super) fn for_each_row(data: &Data, mut see: impl FnMut(&[u8], Option<bool>)) {
    let label = |row: usize| match data.labels() {
        Labels::Labelled(bits) => Some(bits.get(row)),
        Labels::HalfSpace | Labels::Unlabelled => None,
    };
    let mut bytes = Vec::new();
    match data.features() {
        Features::Boolean(matrix) => {
            for (index, block) in matrix.blocks().enumerate() {
                for row in 0..block.rows() {
                    bytes.clear();
                    push_row(&mut bytes, &block, row);
                    see(&bytes, label(index * BLOCK_ROWS + row));
                }
            }
        }
        Features::Real(matrix) => {
            for row in 0..matrix.rows() {
                bytes.clear();
                for value in matrix.row(row) {
                    bytes.extend_from_slice(&(value + 0.0).to_le_bytes());
                }
                see(&bytes, label(row));
            }
        }
    }
}

fn push_row(bytes: &mut Vec<u8>, block: &BitBlock<'_>, row: usize) {
    let column = block.words().iter().skip(row).step_by(BLOCK_ROWS);
    for word in column {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
}
