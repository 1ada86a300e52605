//! Digest of data. Equal data have the same digest in every format.
//!
//! The digest is the SHA-256 of these bytes, with all integers little-endian:
//!
//! 1. the 16 bytes `halfspace-data-1`;
//! 2. one byte for the kind of the rows (0 Boolean, 1 real) and one for the kind of the labels (0 half-space,
//!    1 labelled, 2 unlabelled), which are the codes of [`crate::stored::blocks`];
//! 3. n and the number of rows, 8 bytes each;
//! 4. each row in order and, in labelled data, one byte after each row: 1 for +1, 0 for -1 or 0.
//!
//! A Boolean row is `ceil(n / 64)` packed words of 8 bytes. Coordinate `j`, from 0, is bit `j % 64` of word
//! `j / 64`. Bit 1 is the value 1, and bit 0 is the value 0 or -1. A real row is n doubles as IEEE 754 bits,
//! with -0.0 as 0.0.

use std::convert::Infallible;

use sha2::{Digest, Sha256};

use halfspace_core::learners::sample::data::Data;

use crate::stored::blocks::BlocksHeader;
use crate::stored::parts::{RowsPart, for_each_part};

const TAG: &[u8; 16] = b"halfspace-data-1";

/// Bytes per update of the hash, since many rows are short.
const CHUNK_BYTES: usize = 64 * 1024;

/// Returns the digest of the canonical rows.
pub fn digest(data: &Data) -> [u8; 32] {
    let mut digest = RowsDigest::new(&BlocksHeader::of(data));
    digest.add(data);
    digest.finish()
}

/// Returns the hash of the bytes before the first row. Canonical rows with their label bytes follow.
pub(crate) fn begun(header: &BlocksHeader) -> Sha256 {
    let mut hash = Sha256::new();
    hash.update(TAG);
    hash.update([header.kind.code(), header.labels.code()]);
    hash.update((header.n as u64).to_le_bytes());
    hash.update((header.rows as u64).to_le_bytes());
    hash
}

/// Digest of rows that arrive one after the other.
pub(crate) struct RowsDigest {
    hash: Sha256,
    chunk: Vec<u8>,
}

impl RowsDigest {
    /// Starts the digest of data with this header.
    pub(crate) fn new(header: &BlocksHeader) -> Self {
        let hash = begun(header);
        let chunk = Vec::with_capacity(CHUNK_BYTES);
        Self { hash, chunk }
    }

    /// Adds the next rows.
    pub(crate) fn add(&mut self, rows: &Data) {
        let mut bytes = Vec::new();
        let see = |part: RowsPart<'_>| {
            part.for_each_row(&mut bytes, |row, label| self.push(row, label));
            Ok::<(), Infallible>(())
        };
        let Ok(()) = for_each_part(rows, see);
    }

    /// Adds the canonical bytes of the next row, and the label if there is one.
    pub(crate) fn push(&mut self, row: &[u8], label: Option<bool>) {
        self.chunk.extend_from_slice(row);
        self.chunk.extend(label.map(u8::from));
        if self.chunk.len() >= CHUNK_BYTES {
            self.hash.update(&self.chunk);
            self.chunk.clear();
        }
    }

    pub(crate) fn finish(mut self) -> [u8; 32] {
        self.hash.update(&self.chunk);
        self.hash.finalize().into()
    }
}
