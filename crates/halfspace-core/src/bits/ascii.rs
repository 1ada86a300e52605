//! Packing of bits that are written as the ASCII characters `0` and `1` into words.

use super::kernels::{Kernels, kernels, multiversioned};
use super::scalar;
use super::vector::{BitVector, WORD_BITS, words_for};

/// Packs ASCII `0` and `1` into words. The first character becomes bit 0 of the first word, and bits past the end of
/// the text are zero.
///
/// # Errors
/// Returns the position, from 0, of the first byte that is neither `0` nor `1`. The contents of `words` are then
/// unspecified.
///
/// # Panics
/// Panics if the length of `words` is not `words_for(text.len())`.
pub fn pack_ascii(text: &[u8], words: &mut [u64]) -> Result<(), usize> {
    assert_eq!(words.len(), words_for(text.len()), "words of the text");
    match kernels() {
        Kernels::Detected => match pack_ascii_detected(text, words) {
            true => Ok(()),
            false => Err(first_stranger(text)),
        },
        Kernels::Scalar => scalar::pack_ascii(text, words),
    }
}

/// The position of the first byte that is neither `0` nor `1`, or the length of the text if there is none.
#[cold]
fn first_stranger(text: &[u8]) -> usize {
    let stranger = |byte: &u8| !matches!(byte, b'0' | b'1');
    text.iter().position(stranger).unwrap_or(text.len())
}

/// Eight characters `0`.
const ZEROS: u64 = u64::from_le_bytes([b'0'; 8]);
/// The bits that must be 0 in each byte after the exclusive or with [`ZEROS`].
const STRANGE: u64 = u64::from_le_bytes([0xfe; 8]);
/// The multiplier that moves bit 0 of byte k to bit 56 + k. No two of these products share a bit, so there is
/// no carry.
const GATHER: u64 = 0x0102_0408_1020_4080;

impl BitVector {
    /// Parses a string of `0` and `1`. The leftmost character is the first coordinate.
    ///
    /// # Errors
    /// Returns the position (from 0) of the first byte that is neither `0` nor `1`.
    pub fn from_bit_string(text: &[u8]) -> Result<Self, usize> {
        let mut words = vec![0; words_for(text.len())];
        pack_ascii(text, &mut words)?;
        Ok(Self::from_words(text.len(), words))
    }
}

multiversioned! {
    /// Returns whether every byte is `0` or `1`.
    fn pack_ascii_detected(text: &[u8], words: &mut [u64]) -> bool {
        let (whole, rest) = text.as_chunks::<WORD_BITS>();
        let mut strange = 0;
        for (word, characters) in words.iter_mut().zip(whole) {
            *word = pack_word(characters, &mut strange);
        }
        if let (Some(word), false) = (words.last_mut(), rest.is_empty()) {
            *word = pack_tail(text, rest, &mut strange);
        }
        strange & STRANGE == 0
    }
}

/// Packs the last characters of a text, fewer than 64.
#[inline(always)]
fn pack_tail(text: &[u8], rest: &[u8], strange: &mut u64) -> u64 {
    let (eights, rest) = rest.as_chunks::<8>();
    let mut word = 0;
    for (place, &eight) in eights.iter().enumerate() {
        word |= pack_eight(eight, strange) << (8 * place);
    }
    let last = match text.last_chunk() {
        // This reads the last eight characters of the text. The shift drops those that were packed before.
        Some(&eight) if !rest.is_empty() => {
            let seen = u64::from_le_bytes(eight) ^ ZEROS;
            gather_bits(seen >> (8 * (8 - rest.len())), strange)
        }
        _ => {
            let mut eight = [b'0'; 8];
            for (to, &from) in eight.iter_mut().zip(rest) {
                *to = from;
            }
            pack_eight(eight, strange)
        }
    };
    word | last << (8 * (eights.len() % 8))
}

#[inline(always)]
fn pack_word(characters: &[u8; WORD_BITS], strange: &mut u64) -> u64 {
    let mut word = 0;
    for (place, &eight) in characters.as_chunks::<8>().0.iter().enumerate() {
        word |= pack_eight(eight, strange) << (8 * place);
    }
    word
}

#[inline(always)]
fn pack_eight(characters: [u8; 8], strange: &mut u64) -> u64 {
    gather_bits(u64::from_le_bytes(characters) ^ ZEROS, strange)
}

/// Gathers bit 0 of each byte. `strange` accumulates the bytes for the later check against [`STRANGE`].
#[inline(always)]
fn gather_bits(bytes: u64, strange: &mut u64) -> u64 {
    *strange |= bytes;
    bytes.wrapping_mul(GATHER) >> 56
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn pack_ascii_judges_every_byte_at_every_alignment() {
        for byte in 0..=u8::MAX {
            for position in 0..150 {
                let mut text = [b'1'; 150];
                text[position] = byte;
                let (mut expected, mut found) = ([0; 3], [7; 3]);
                let outcome = scalar::pack_ascii(&text, &mut expected);
                assert_eq!(
                    pack_ascii(&text, &mut found),
                    outcome,
                    "{byte} at {position}"
                );
                match byte {
                    b'0' | b'1' => assert_eq!(found, expected),
                    _ => assert_eq!(outcome, Err(position)),
                }
            }
        }
    }

    proptest! {
        #[test]
        fn pack_ascii_matches_the_plain_twin(
            text in prop::collection::vec(prop_oneof![Just(b'0'), Just(b'1')], 0..400),
            strangers in prop::collection::vec((0_usize..400, any::<u8>()), 0..3),
            skipped in 0_usize..9,
        ) {
            let mut text = text;
            for (position, byte) in strangers {
                if let Some(place) = text.get_mut(position) {
                    *place = byte;
                }
            }
            let text = text.get(skipped..).unwrap_or_default();
            let (mut expected, mut found) =
                (vec![0; words_for(text.len())], vec![1; words_for(text.len())]);
            let outcome = scalar::pack_ascii(text, &mut expected);
            prop_assert_eq!(pack_ascii(text, &mut found), outcome);
            if outcome.is_ok() {
                prop_assert_eq!(found, expected);
            }
        }
    }
}
