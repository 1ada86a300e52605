//! The kernels of `weights` as plain loops for every instruction set. AVX-512 needs only two instructions for eight
//! weights, so its build uses these loops for the last few weights only.
//!
//! A selected sum or an update processes each weight under a mask, whether its bit is set or not. On dense rows this is
//! three times faster than searching for the set bits. On AVX2 it takes up to twice as long if one bit in six is set.
//! We tried to choose the method by the number of bits in a word, and gained nothing.

use super::vector::WORD_BITS;

/// All ones if bit `place` of `word` is 1, else 0.
#[inline(always)]
fn selected(word: u64, place: usize) -> i64 {
    -((word >> place) & 1).cast_signed()
}

#[inline(always)]
pub fn selected_sum(weights: &[i64], row: &[u64]) -> i64 {
    let mut sum = 0_i64;
    for (weights, &word) in weights.chunks(WORD_BITS).zip(row) {
        for (place, weight) in weights.iter().enumerate() {
            sum = sum.wrapping_add(weight & selected(word, place));
        }
    }
    sum
}

/// The weights are added up in four independent chains. On AMD EPYC (Zen 3), gathering four weights with AVX2 takes 1.7
/// times as long: 619 instead of 1,066 million weights/s.
#[inline]
pub fn listed_sum<T: Copy + Into<i64>>(weights: &[T], places: &[u32]) -> i64 {
    let (fours, rest) = places.as_chunks::<4>();
    let mut sums = [0_i64; 4];
    for places in fours {
        for (sum, &place) in sums.iter_mut().zip(places) {
            *sum = sum.wrapping_add(weights[place as usize].into());
        }
    }
    let rest = rest.iter().map(|&place| weights[place as usize].into());
    rest.chain(sums).fold(0, i64::wrapping_add)
}

#[inline(always)]
pub fn add_selected(weights: &mut [i64], row: &[u64], amount: i64) {
    for (weights, &word) in weights.chunks_mut(WORD_BITS).zip(row) {
        for (place, weight) in weights.iter_mut().enumerate() {
            *weight = weight.wrapping_add(amount & selected(word, place));
        }
    }
}

#[inline(always)]
pub fn add_signed(weights: &mut [i64], row: &[u64], amount: i64) {
    // Without a branch, the change is -a where the bit is 0 and 2a - a where the bit is 1.
    let twice = amount.wrapping_mul(2);
    for (weights, &word) in weights.chunks_mut(WORD_BITS).zip(row) {
        for (place, weight) in weights.iter_mut().enumerate() {
            let change = (twice & selected(word, place)).wrapping_sub(amount);
            *weight = weight.wrapping_add(change);
        }
    }
}
