//! The position of the k-th set bit in a sequence of words.
//!
//! Source: S. Vigna, "Broadword implementation of rank/select queries", WEA 2008.

use super::kernels::{Kernels, kernels, multiversioned};
use super::scalar;
use super::vector::WORD_BITS;

/// Returns the index of set bit number `k`, from 0, over the words in order.
///
/// # Panics
/// Panics if at most `k` bits are set.
#[inline]
pub fn select_bit(words: &[u64], k: u64) -> usize {
    let found = match (kernels(), words) {
        (Kernels::Scalar, _) => scalar::select_bit(words, k),
        (Kernels::Detected, &[word]) => select_in_word(word, k),
        (Kernels::Detected, _) => select_in_words(words, k),
    };
    match found {
        Some(index) => index,
        None => panic!("at most {k} bits are set"),
    }
}

/// A 1 in each byte. Multiplication by this constant yields the running sums of the bytes.
const ONES: u64 = u64::from_ne_bytes([1; 8]);
const HIGHS: u64 = ONES << 7;
/// The lower half of each pair of bits. `NIBBLES` and `BYTES` hold the lower half of each nibble and byte.
const PAIRS: u64 = ONES * 0x55;
const NIBBLES: u64 = ONES * 0x33;
const BYTES: u64 = ONES * 0x0f;

/// The only branch is the range check, and the thirty or so instructions exist on every machine. A loop over the bits
/// would mispredict its end, and calling a build with a population count would cost as much as that build saves.
#[inline]
pub(super) fn select_in_word(word: u64, k: u64) -> Option<usize> {
    let pairs = word - ((word >> 1) & PAIRS);
    let nibbles = (pairs & NIBBLES) + ((pairs >> 2) & NIBBLES);
    let bytes = (nibbles + (nibbles >> 4)) & BYTES;
    let sums = bytes.wrapping_mul(ONES);
    if k >= sums >> 56 {
        return None;
    }
    let place = 8 * bytes_at_most(sums, k);
    let rank = k - (sums << 8 >> place & 0xff);
    // Byte j keeps only bit j of the selected byte.
    let spread = (word >> place & 0xff).wrapping_mul(ONES) & 0x8040_2010_0804_0201;
    let set = (spread + (HIGHS - ONES)) >> 7 & ONES;
    Some((place + bytes_at_most(set.wrapping_mul(ONES), rank)) as usize)
}

/// The number of bytes of `sums` that are at most `k`. All bytes and `k` are below 128.
#[inline]
fn bytes_at_most(sums: u64, k: u64) -> u64 {
    let at_most = ((((k * ONES) | HIGHS) - sums) >> 7) & ONES;
    at_most.wrapping_mul(ONES) >> 56
}

multiversioned! {
    fn select_in_words(words: &[u64], k: u64) -> Option<usize> {
        let mut rank = k;
        for (index, &word) in words.iter().enumerate() {
            let ones = u64::from(word.count_ones());
            if rank < ones {
                return Some(index * WORD_BITS + select_in_word(word, rank)?);
            }
            rank -= ones;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words() -> impl Strategy<Value = Vec<u64>> {
        let word = prop_oneof![
            any::<u64>(),
            Just(0),
            Just(u64::MAX),
            (0..64).prop_map(|j| 1_u64 << j)
        ];
        prop::collection::vec(word, 0..20)
    }

    proptest! {
        #[test]
        fn select_bit_matches_the_plain_twin(words in words()) {
            let ones: u64 = words.iter().map(|word| u64::from(word.count_ones())).sum();
            for k in 0..ones {
                prop_assert_eq!(Some(select_bit(&words, k)), scalar::select_bit(&words, k));
            }
            prop_assert_eq!(select_in_words(&words, ones), None);
            for &word in &words {
                for k in 0..=64 {
                    prop_assert_eq!(select_in_word(word, k), scalar::select_bit(&[word], k));
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "at most 3 bits are set")]
    fn select_bit_refuses_a_bit_past_the_last() {
        select_bit(&[0b111], 3);
    }
}
