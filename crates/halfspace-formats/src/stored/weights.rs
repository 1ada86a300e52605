//! The weights of examples in the stored form: a unit of the number of their bytes, and four bytes for each weight.
//!
//! They stand apart from the blocks, because only trainings need them, and need all at once.

use std::io::{self, Read, Write};
use std::sync::Arc;

use halfspace_core::learners::sample::weights::Weight;

use crate::stored::header::BlocksError;
use crate::stored::words::{WordReader, WordWriter};

/// The bytes of a weight.
pub(crate) const WEIGHT_BYTES: u64 = size_of::<Weight>() as u64;

/// The memory in which the weights of `rows` examples are read.
pub(crate) fn reading_bytes(rows: usize) -> u64 {
    // The words, the weights in them, and these once more at their last place.
    3 * (WEIGHT_BYTES * rows as u64).next_multiple_of(2 * WEIGHT_BYTES)
}

/// Writes the unit without its check.
///
/// # Errors
/// When the target cannot be written.
pub(crate) fn write(weights: &[Weight], to: &mut WordWriter<impl Write>) -> io::Result<()> {
    let word = |pair: &[Weight]| {
        let high = pair.get(1).map_or(0, |weight| weight.thousandths());
        u64::from(pair[0].thousandths()) | u64::from(high) << u32::BITS
    };
    to.write([size_of_val(weights) as u64])?;
    to.write(weights.chunks(2).map(word))
}

/// Reads the unit of `rows` examples, and compares its check with `check` of its CRC.
///
/// # Errors
/// When the source fails or ends, or when the words are not such weights.
pub(crate) fn read(
    rows: usize,
    check: impl Fn(u64) -> u64,
    words: &mut WordReader<impl Read>,
) -> Result<Arc<[Weight]>, BlocksError> {
    let length = words.word()?;
    if length != WEIGHT_BYTES * rows as u64 {
        return Err(damaged());
    }
    let mut pairs = Vec::new();
    words.read(rows.div_ceil(2), &mut pairs, |word| word)?;
    let crc = words.take_crc();
    let found = words.word()?;
    words.take_crc();
    let halves = pairs
        .iter()
        .flat_map(|pair| [*pair as u32, (*pair >> u32::BITS) as u32]);
    let fill = halves.clone().skip(rows);
    if found != check(crc) || fill.sum::<u32>() != 0 {
        return Err(damaged());
    }
    let weights = halves.take(rows).map(Weight::of_thousandths);
    weights
        .collect::<Option<Arc<[Weight]>>>()
        .ok_or_else(damaged)
}

fn damaged() -> BlocksError {
    BlocksError::Header("the weights of the examples")
}
