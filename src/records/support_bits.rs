//! The bits of an example in the document of a model: all of them, or the places of the ones if that is shorter.

use std::borrow::Cow;

use halfspace_core::bits::BitVector;
use halfspace_core::learners::sample::block::{OwnedRowBits, RowBits, lists_ones};

/// Writes an example of `n` bits: `x` and `ones`, of which one is present.
pub(super) fn write(n: usize, bits: RowBits<'_>) -> (Option<String>, Option<Vec<u32>>) {
    if lists_ones(n, bits.count_ones()) {
        return (None, Some(bits.listed(&mut Vec::new()).to_vec()));
    }
    let words = bits.packed(n, &mut Vec::new()).to_vec();
    (Some(BitVector::from_words(n, words).to_bit_string()), None)
}

/// Reads an example of `n` bits.
///
/// # Errors
/// The fault, without its place.
pub(super) fn read(
    n: usize,
    x: Option<&str>,
    ones: Option<&[u32]>,
) -> Result<OwnedRowBits, Cow<'static, str>> {
    let bits = match (x, ones) {
        (Some(x), None) => BitVector::from_bit_string(x.as_bytes())
            .map_err(|at| format!("character {} of `x` is neither 0 nor 1", at + 1))?,
        (None, Some(ones)) => {
            if !ones.is_sorted_by(|one, other| one < other) {
                return Err("the numbers in `ones` do not ascend".into());
            }
            if let Some(last) = ones.last().filter(|&&last| last as usize >= n) {
                return Err(format!("{last} in `ones` is not below n = {n}").into());
            }
            return Ok(OwnedRowBits::Listed(ones.to_vec()));
        }
        _ => return Err("an example has either `x` or `ones`".into()),
    };
    if bits.n() != n {
        return Err(format!("`x` has {} bits, but n is {n}", bits.n()).into());
    }
    Ok(OwnedRowBits::Packed(bits.words().to_vec()))
}
