//! The shared bit-vector core: packed vectors, the blocked matrix, and the kernels over them.
//!
//! Every kernel has a plain scalar twin that is its specification; nothing here knows what a
//! learner is. Bit 1 stands for +1 (or 1), bit 0 for -1 (or 0).

mod matrix;
mod vector;

pub use matrix::{BLOCK_ROWS, BitBlock, BitMatrix};
pub use vector::{BitVector, WORD_BITS, last_word_mask, words_for};

/// Packs ASCII `0`/`1` into words.
///
/// # Errors
/// The position of the first byte that is neither.
pub fn pack_ascii(text: &[u8], words: &mut [u64]) -> Result<(), usize> {
    assert_eq!(words.len(), words_for(text.len()));
    words.fill(0);
    for (position, &byte) in text.iter().enumerate() {
        match byte {
            b'0' => {}
            b'1' => words[position / WORD_BITS] |= 1 << (position % WORD_BITS),
            _ => return Err(position),
        }
    }
    Ok(())
}
