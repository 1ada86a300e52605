//! Hamming distances of eight rows at a time on AVX-512.
//!
//! The plain loop over eight rows and many words is right, but the compiler vectorises it across
//! the words, with gathers, and loses a factor of four; and it finds no way from eight
//! comparisons to a mask. So these steps are spelt out, without `unsafe`: the array reads below
//! compile to one load of 64 bytes.

use std::arch::x86_64::{__m256i, _mm256_extract_epi32};
use std::arch::x86_64::{
    __m512i, _mm512_add_epi64, _mm512_cmpge_epu64_mask, _mm512_cmpgt_epu64_mask,
    _mm512_cvtepi64_epi32, _mm512_popcnt_epi64, _mm512_set_epi64, _mm512_set1_epi64,
    _mm512_setzero_si512, _mm512_xor_si512,
};

use super::BLOCK_ROWS;

/// Rows in a register.
pub const GROUP_ROWS: usize = 8;

#[target_feature(enable = "avx512f")]
#[inline]
fn load(rows: &[u64; GROUP_ROWS]) -> __m512i {
    let [a, b, c, d, e, f, g, h] = rows.map(u64::cast_signed);
    _mm512_set_epi64(h, g, f, e, d, c, b, a)
}

/// Distances of the eight rows from `base` on, at most 56.
#[target_feature(enable = "avx512f,avx512vpopcntdq")]
#[inline]
pub fn distances_of_group(words: &[u64], base: usize, vector: &[u64]) -> __m512i {
    let mut distances = _mm512_setzero_si512();
    for (column, &word) in words.chunks_exact(BLOCK_ROWS).zip(vector) {
        if let Some(rows) = column[base..].first_chunk() {
            let differing = _mm512_xor_si512(load(rows), _mm512_set1_epi64(word.cast_signed()));
            distances = _mm512_add_epi64(distances, _mm512_popcnt_epi64(differing));
        }
    }
    distances
}

/// Distances of all 64 rows, in one pass over the words.
#[target_feature(enable = "avx512f,avx512vpopcntdq")]
#[inline]
pub fn distances_of_block(words: &[u64], vector: &[u64]) -> [__m512i; 8] {
    let mut distances = [_mm512_setzero_si512(); 8];
    let (columns, _) = words.as_chunks::<BLOCK_ROWS>();
    for (column, &word) in columns.iter().zip(vector) {
        let word = _mm512_set1_epi64(word.cast_signed());
        let (groups, _) = column.as_chunks::<GROUP_ROWS>();
        for (distances, rows) in distances.iter_mut().zip(groups) {
            let differing = _mm512_xor_si512(load(rows), word);
            *distances = _mm512_add_epi64(*distances, _mm512_popcnt_epi64(differing));
        }
    }
    distances
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
    let narrow: __m256i = _mm512_cvtepi64_epi32(distances);
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
