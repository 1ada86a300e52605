//! AVX-512 code for the steps that the compiler does not derive well from plain loops: Hamming distances and
//! intersections of eight rows, sums of powers of two, a mask from eight comparisons, and sums and updates of selected
//! integer weights.
//!
//! Given eight rows of many words, the compiler vectorises across the words, with gathers, and the result is four times
//! slower. Nor does it turn comparisons or bits into a mask register. The intrinsics need no `unsafe`, because reading
//! or writing an array of eight elements one by one compiles to one load or store of 64 bytes.

use std::arch::x86_64::{
    __m512i, _mm256_extract_epi32, _mm256_extract_epi64, _mm512_add_epi64, _mm512_and_si512,
    _mm512_castsi512_si256, _mm512_cmplt_epu64_mask, _mm512_cvtepi64_epi32,
    _mm512_extracti64x4_epi64, _mm512_mask_add_epi64, _mm512_mask_blend_epi64,
    _mm512_mask_cmpgt_epi64_mask, _mm512_mask_sub_epi64, _mm512_maskz_mov_epi64, _mm512_max_epi64,
    _mm512_min_epi64, _mm512_popcnt_epi64, _mm512_reduce_add_epi64, _mm512_reduce_max_epi64,
    _mm512_reduce_min_epi64, _mm512_set_epi64, _mm512_set1_epi64, _mm512_setzero_si512,
    _mm512_sllv_epi64, _mm512_sub_epi64, _mm512_test_epi64_mask, _mm512_xor_si512,
};

use super::limbs::{LIMB_BITS, Limb};
use super::matrix::BLOCK_ROWS;
use super::plain_weights as plain;
use super::vector::WORD_BITS;

/// Rows per register.
pub const GROUP_ROWS: usize = 8;

#[target_feature(enable = "avx512f")]
#[inline]
pub fn load_rows(rows: &[u64; GROUP_ROWS]) -> __m512i {
    load(&rows.map(u64::cast_signed))
}

#[target_feature(enable = "avx512f")]
#[inline]
pub fn load(values: &[i64; 8]) -> __m512i {
    let [a, b, c, d, e, f, g, h] = *values;
    _mm512_set_epi64(h, g, f, e, d, c, b, a)
}

/// The distances of the eight rows from `base` on, which is at most 56.
#[target_feature(enable = "avx512f,avx512vpopcntdq")]
#[inline]
pub fn distances_of_group(words: &[u64], base: usize, vector: &[u64]) -> __m512i {
    let mut distances = _mm512_setzero_si512();
    for (column, &word) in words.chunks_exact(BLOCK_ROWS).zip(vector) {
        if let Some(rows) = column[base..].first_chunk() {
            let differing =
                _mm512_xor_si512(load_rows(rows), _mm512_set1_epi64(word.cast_signed()));
            distances = _mm512_add_epi64(distances, _mm512_popcnt_epi64(differing));
        }
    }
    distances
}

/// Calls `take` with each group of eight rows and their counts, all computed in one pass over the words. The counts
/// are intersections with the vector if `COMMON`, else Hamming distances.
///
/// `take` is a closure so that the compiler inlines a copy into each caller. Returning the counts through memory
/// would cost as much as computing them.
#[target_feature(enable = "avx512f,avx512vpopcntdq")]
#[inline]
pub fn for_each_group<const COMMON: bool>(
    words: &[u64],
    vector: &[u64],
    mut take: impl FnMut(usize, __m512i),
) {
    let mut counts = [_mm512_setzero_si512(); BLOCK_ROWS / GROUP_ROWS];
    let (columns, _) = words.as_chunks::<BLOCK_ROWS>();
    for (column, &word) in columns.iter().zip(vector) {
        let word = _mm512_set1_epi64(word.cast_signed());
        let (groups, _) = column.as_chunks::<GROUP_ROWS>();
        for (counts, rows) in counts.iter_mut().zip(groups) {
            let counted = if COMMON {
                _mm512_and_si512(load_rows(rows), word)
            } else {
                _mm512_xor_si512(load_rows(rows), word)
            };
            *counts = _mm512_add_epi64(*counts, _mm512_popcnt_epi64(counted));
        }
    }
    for (group, counts) in counts.into_iter().enumerate() {
        take(group, counts);
    }
}

/// Adds the powers of the rows of a block as [`super::add_powers`] does. `taken` is the mask of the rows.
#[target_feature(enable = "avx512f,avx512vpopcntdq")]
#[inline]
pub fn add_powers<const COMMON: bool>(
    words: &[u64],
    [positives, taken]: [u64; 2],
    vector: &[u64],
    n: usize,
    limbs: &mut [Limb],
) {
    let is_full = taken == u64::MAX;
    let mut exponents = [_mm512_setzero_si512(); BLOCK_ROWS / GROUP_ROWS];
    let all = _mm512_set1_epi64(n as i64);
    for_each_group::<COMMON>(words, vector, |group, counts| {
        exponents[group] = if COMMON {
            counts
        } else {
            _mm512_sub_epi64(all, counts)
        };
    });
    let [positives, taken] = [positives, taken].map(|mask| _mm512_set1_epi64(mask.cast_signed()));
    let mut signs = exponents;
    for (sign, bits) in signs.iter_mut().zip(&BITS) {
        let is_positive = _mm512_test_epi64_mask(positives, load(bits));
        let [minus, plus] = [-1, 1].map(|sign| _mm512_set1_epi64(sign));
        *sign = _mm512_mask_blend_epi64(is_positive, minus, plus);
        if !is_full {
            let is_taken = _mm512_test_epi64_mask(taken, load(bits));
            *sign = _mm512_maskz_mov_epi64(is_taken, *sign);
        }
    }
    if let [limb] = limbs {
        *limb = values(powers_in_limb::<false>(load(limb), 0, &exponents, &signs));
        return;
    }
    // Random rows share about half of their coordinates, so a block seldom reaches more than two limbs.
    let [least, most] = extremes(exponents).map(|exponent| exponent / LIMB_BITS);
    if let Some(limbs) = limbs.get_mut(least..=most) {
        for (place, limb) in limbs.iter_mut().enumerate() {
            let base = (least + place) * LIMB_BITS;
            *limb = values(powers_in_limb::<true>(load(limb), base, &exponents, &signs));
        }
    }
}

/// Adds the signed powers to the sums of the limb that begins at exponent `base`. If `SEVERAL`, powers that belong to
/// other limbs are left out.
#[target_feature(enable = "avx512f")]
#[inline]
fn powers_in_limb<const SEVERAL: bool>(
    sums: __m512i,
    base: usize,
    exponents: &[__m512i; 8],
    signs: &[__m512i; 8],
) -> __m512i {
    // The sums of the previous block come late, so they are added last.
    let mut parts = [_mm512_setzero_si512(); 2];
    for (group, (&exponent, &sign)) in exponents.iter().zip(signs).enumerate() {
        let part = &mut parts[group % 2];
        let place = _mm512_sub_epi64(exponent, _mm512_set1_epi64(base as i64));
        let power = _mm512_sllv_epi64(sign, place);
        *part = if SEVERAL {
            let is_within = _mm512_cmplt_epu64_mask(place, _mm512_set1_epi64(LIMB_BITS as i64));
            _mm512_mask_add_epi64(*part, is_within, *part, power)
        } else {
            _mm512_add_epi64(*part, power)
        };
    }
    _mm512_add_epi64(sums, _mm512_add_epi64(parts[0], parts[1]))
}

/// The least and the largest of 64 small numbers.
#[target_feature(enable = "avx512f")]
#[inline]
fn extremes([a, b, c, d, e, f, g, h]: [__m512i; 8]) -> [usize; 2] {
    let least = |a, b| _mm512_min_epi64(a, b);
    let most = |a, b| _mm512_max_epi64(a, b);
    let of_all = least(
        least(least(a, b), least(c, d)),
        least(least(e, f), least(g, h)),
    );
    let most_of_all = most(most(most(a, b), most(c, d)), most(most(e, f), most(g, h)));
    [
        _mm512_reduce_min_epi64(of_all) as usize,
        _mm512_reduce_max_epi64(most_of_all) as usize,
    ]
}

/// Returns the mask of the `wanted` rows of a group with `distance + extra bit > limit`.
///
/// A learner waits for this mask between any two rows, so the extra bits and the wanted rows are applied to operands
/// that are ready before the distances.
#[target_feature(enable = "avx512f")]
#[inline]
pub fn mask_over(distances: __m512i, limit: u32, extra: u64, wanted: u8) -> u64 {
    let limit = _mm512_set1_epi64(i64::from(limit));
    let limits = _mm512_mask_sub_epi64(limit, extra as u8, limit, _mm512_set1_epi64(1));
    u64::from(_mm512_mask_cmpgt_epi64_mask(wanted, distances, limits))
}

/// Converts the distances to 32-bit counts.
#[target_feature(enable = "avx512f")]
#[inline]
pub fn narrow(distances: __m512i) -> [u32; GROUP_ROWS] {
    let narrow = _mm512_cvtepi64_epi32(distances);
    [
        _mm256_extract_epi32::<0>(narrow),
        _mm256_extract_epi32::<1>(narrow),
        _mm256_extract_epi32::<2>(narrow),
        _mm256_extract_epi32::<3>(narrow),
        _mm256_extract_epi32::<4>(narrow),
        _mm256_extract_epi32::<5>(narrow),
        _mm256_extract_epi32::<6>(narrow),
        _mm256_extract_epi32::<7>(narrow),
    ]
    .map(i32::cast_unsigned)
}

/// For each of the eight groups of a word, the bit of each weight of the group. With these constants, one test of the
/// word yields the mask of a group, in half the time of shifting the word and moving it to a mask register.
const BITS: [[i64; 8]; 8] = {
    let mut bits = [[0; 8]; 8];
    let mut j = 0;
    while j < WORD_BITS {
        bits[j / 8][j % 8] = 1_i64.wrapping_shl(j as u32);
        j += 1;
    }
    bits
};

/// The sum of the weights whose bit in `row` is 1.
#[target_feature(enable = "avx512f")]
#[inline]
pub fn selected_sum(weights: &[i64], row: &[u64]) -> i64 {
    let (words, rest) = weights.as_chunks::<WORD_BITS>();
    // Each addition waits for the previous one, so two independent sums run in parallel.
    let mut sums = [_mm512_setzero_si512(); 2];
    for (weights, &word) in words.iter().zip(row) {
        let word = _mm512_set1_epi64(word.cast_signed());
        for (place, group) in weights.as_chunks::<8>().0.iter().enumerate() {
            sums[place % 2] = add_where(sums[place % 2], word, &BITS[place], group);
        }
    }
    let mut few = 0;
    if let (Some(&last), false) = (row.last(), rest.is_empty()) {
        let word = _mm512_set1_epi64(last.cast_signed());
        let (groups, rest) = rest.as_chunks::<8>();
        for (bits, group) in BITS.iter().zip(groups) {
            sums[0] = add_where(sums[0], word, bits, group);
        }
        let word = last >> (8 * groups.len() % WORD_BITS);
        match weights.last_chunk() {
            // This group is the last eight weights. The bits of those that were summed before stay 0.
            Some(eight) => {
                let word = _mm512_set1_epi64((word << (8 - rest.len())).cast_signed());
                let word = if rest.is_empty() {
                    _mm512_setzero_si512()
                } else {
                    word
                };
                sums[1] = add_where(sums[1], word, &BITS[0], eight);
            }
            None => few = plain::selected_sum(rest, &[word]),
        }
    }
    _mm512_reduce_add_epi64(_mm512_add_epi64(sums[0], sums[1])).wrapping_add(few)
}

/// Adds `amount` to the weights whose bit in `row` is 1 and, if `SIGNED`, subtracts it from the others.
#[target_feature(enable = "avx512f")]
#[inline]
pub fn add<const SIGNED: bool>(weights: &mut [i64], row: &[u64], amount: i64) {
    let (words, rest) = weights.as_chunks_mut::<WORD_BITS>();
    for (weights, &word) in words.iter_mut().zip(row) {
        let word = _mm512_set1_epi64(word.cast_signed());
        for (bits, group) in BITS.iter().zip(weights.as_chunks_mut::<8>().0) {
            change::<SIGNED>(group, word, bits, amount);
        }
    }
    if let (Some(&last), false) = (row.last(), rest.is_empty()) {
        let word = _mm512_set1_epi64(last.cast_signed());
        let (groups, rest) = rest.as_chunks_mut::<8>();
        let shift = 8 * groups.len() % WORD_BITS;
        for (bits, group) in BITS.iter().zip(groups) {
            change::<SIGNED>(group, word, bits, amount);
        }
        // The last weights are changed one by one. A group of the last eight weights would load values that
        // were just stored, and the processor would stall.
        if SIGNED {
            plain::add_signed(rest, &[last >> shift], amount);
        } else {
            plain::add_selected(rest, &[last >> shift], amount);
        }
    }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn add_where(sums: __m512i, word: __m512i, bits: &[i64; 8], weights: &[i64; 8]) -> __m512i {
    let mask = _mm512_test_epi64_mask(word, load(bits));
    _mm512_mask_add_epi64(sums, mask, sums, load(weights))
}

#[target_feature(enable = "avx512f")]
#[inline]
fn change<const SIGNED: bool>(weights: &mut [i64; 8], word: __m512i, bits: &[i64; 8], amount: i64) {
    let (old, amount) = (load(weights), _mm512_set1_epi64(amount));
    let mask = _mm512_test_epi64_mask(word, load(bits));
    let mut new = _mm512_mask_add_epi64(old, mask, old, amount);
    if SIGNED {
        new = _mm512_mask_sub_epi64(new, !mask, new, amount);
    }
    *weights = values(new);
}

#[target_feature(enable = "avx512f")]
#[inline]
pub fn values(register: __m512i) -> [i64; 8] {
    let (low, high) = (
        _mm512_castsi512_si256(register),
        _mm512_extracti64x4_epi64::<1>(register),
    );
    [
        _mm256_extract_epi64::<0>(low),
        _mm256_extract_epi64::<1>(low),
        _mm256_extract_epi64::<2>(low),
        _mm256_extract_epi64::<3>(low),
        _mm256_extract_epi64::<0>(high),
        _mm256_extract_epi64::<1>(high),
        _mm256_extract_epi64::<2>(high),
        _mm256_extract_epi64::<3>(high),
    ]
}
