//! The steps that the compiler does not get from plain loops on AVX-512: Hamming distances of
//! eight rows, a mask from eight comparisons, and eight integer weights under a mask.
//!
//! The loop over eight rows and many words is vectorised across the words, with gathers, and
//! loses a factor of four; from comparisons the compiler finds no way to a mask, nor from bits to
//! one. So these are spelt out, without `unsafe`: reading or writing an array of eight element
//! by element compiles to one load or store of 64 bytes.

use std::arch::x86_64::{
    __m512i, _mm256_extract_epi32, _mm256_extract_epi64, _mm512_add_epi64, _mm512_castsi512_si256,
    _mm512_cmpge_epu64_mask, _mm512_cmpgt_epu64_mask, _mm512_cvtepi64_epi32,
    _mm512_extracti64x4_epi64, _mm512_mask_add_epi64, _mm512_mask_sub_epi64, _mm512_popcnt_epi64,
    _mm512_reduce_add_epi64, _mm512_set_epi64, _mm512_set1_epi64, _mm512_setzero_si512,
    _mm512_xor_si512,
};

use super::BLOCK_ROWS;
use super::WORD_BITS;
use super::weights::plain;

/// Rows in a register.
pub const GROUP_ROWS: usize = 8;

#[target_feature(enable = "avx512f")]
#[inline]
fn load_rows(rows: &[u64; GROUP_ROWS]) -> __m512i {
    load(&rows.map(u64::cast_signed))
}

#[target_feature(enable = "avx512f")]
#[inline]
fn load(values: &[i64; 8]) -> __m512i {
    let [a, b, c, d, e, f, g, h] = *values;
    _mm512_set_epi64(h, g, f, e, d, c, b, a)
}

/// Distances of the eight rows from `base` on, at most 56.
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

/// Calls `take` with each group of eight rows and their distances, all found in one pass over the
/// words. It takes a closure so that each caller has its own copy, which the compiler inlines:
/// distances returned through memory cost as much as to find them.
#[target_feature(enable = "avx512f,avx512vpopcntdq")]
#[inline]
pub fn for_each_group(words: &[u64], vector: &[u64], mut take: impl FnMut(usize, __m512i)) {
    let mut distances = [_mm512_setzero_si512(); BLOCK_ROWS / GROUP_ROWS];
    let (columns, _) = words.as_chunks::<BLOCK_ROWS>();
    for (column, &word) in columns.iter().zip(vector) {
        let word = _mm512_set1_epi64(word.cast_signed());
        let (groups, _) = column.as_chunks::<GROUP_ROWS>();
        for (distances, rows) in distances.iter_mut().zip(groups) {
            let differing = _mm512_xor_si512(load_rows(rows), word);
            *distances = _mm512_add_epi64(*distances, _mm512_popcnt_epi64(differing));
        }
    }
    for (group, distances) in distances.into_iter().enumerate() {
        take(group, distances);
    }
}

/// The mask of the rows of a group with `distance + extra bit > limit`.
#[target_feature(enable = "avx512f")]
#[inline]
pub fn mask_over(distances: __m512i, limit: u32, extra: u64) -> u64 {
    let limit = _mm512_set1_epi64(i64::from(limit));
    let over = u64::from(_mm512_cmpgt_epu64_mask(distances, limit));
    let at_least = u64::from(_mm512_cmpge_epu64_mask(distances, limit));
    over | at_least & extra
}

/// The distances as 32-bit counts.
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

/// The sum of the weights whose bit in `row` is 1.
#[target_feature(enable = "avx512f")]
#[inline]
pub fn selected_sum(weights: &[i64], row: &[u64]) -> i64 {
    let Some(last) = weights.last_chunk() else {
        return plain::selected_sum(weights, row);
    };
    // Two sums, since an addition waits for the one before it.
    let mut even = add_where(_mm512_setzero_si512(), tail(weights.len(), row).0, last);
    let mut odd = _mm512_setzero_si512();
    for (weights, &word) in weights.chunks(WORD_BITS).zip(row) {
        let (groups, _) = weights.as_chunks::<8>();
        for (place, group) in groups.iter().enumerate() {
            let mask = (word >> (8 * place)) as u8;
            if place % 2 == 0 {
                even = add_where(even, mask, group);
            } else {
                odd = add_where(odd, mask, group);
            }
        }
    }
    _mm512_reduce_add_epi64(_mm512_add_epi64(even, odd))
}

/// Adds `amount` to the weights whose bit in `row` is 1 and, if signed, takes it from the others.
#[target_feature(enable = "avx512f")]
#[inline]
pub fn add<const SIGNED: bool>(weights: &mut [i64], row: &[u64], amount: i64) {
    let (mask, used) = tail(weights.len(), row);
    let Some(last) = weights.last_chunk_mut() else {
        let other = if SIGNED { amount.wrapping_neg() } else { 0 };
        return plain::add(weights, row, amount, other);
    };
    change::<SIGNED>(last, mask, used & !mask, amount);
    for (weights, &word) in weights.chunks_mut(WORD_BITS).zip(row) {
        let (groups, _) = weights.as_chunks_mut::<8>();
        for (place, group) in groups.iter_mut().enumerate() {
            let mask = (word >> (8 * place)) as u8;
            change::<SIGNED>(group, mask, !mask, amount);
        }
    }
}

/// The weights past the last whole group are treated through the last eight: which of these have
/// bit 1, and which are not yet in a group.
#[inline(always)]
fn tail(n: usize, row: &[u64]) -> (u8, u8) {
    let (count, word) = (n % 8, row.last().copied().unwrap_or(0));
    let used = ((1_u32 << count) - 1) << (8 - count);
    let bits = word >> (n % WORD_BITS - count) << (8 - count);
    (bits as u8 & used as u8, used as u8)
}

#[target_feature(enable = "avx512f")]
#[inline]
fn add_where(sums: __m512i, mask: u8, weights: &[i64; 8]) -> __m512i {
    _mm512_mask_add_epi64(sums, mask, sums, load(weights))
}

#[target_feature(enable = "avx512f")]
#[inline]
fn change<const SIGNED: bool>(weights: &mut [i64; 8], up: u8, down: u8, amount: i64) {
    let (old, amount) = (load(weights), _mm512_set1_epi64(amount));
    let mut new = _mm512_mask_add_epi64(old, up, old, amount);
    if SIGNED {
        new = _mm512_mask_sub_epi64(new, down, new, amount);
    }
    let (low, high) = (
        _mm512_castsi512_si256(new),
        _mm512_extracti64x4_epi64::<1>(new),
    );
    *weights = [
        _mm256_extract_epi64::<0>(low),
        _mm256_extract_epi64::<1>(low),
        _mm256_extract_epi64::<2>(low),
        _mm256_extract_epi64::<3>(low),
        _mm256_extract_epi64::<0>(high),
        _mm256_extract_epi64::<1>(high),
        _mm256_extract_epi64::<2>(high),
        _mm256_extract_epi64::<3>(high),
    ];
}
