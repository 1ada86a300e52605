//! AVX-512 code for the products of [`super::products`], with sixteen table look-ups per instruction.
//!
//! [`super::avx512`] says why intrinsics are needed, and no `unsafe`.

use std::arch::x86_64::{
    __m512i, _MM_HINT_T0, _mm_prefetch, _mm256_extract_epi32, _mm512_add_epi32, _mm512_add_epi64,
    _mm512_castsi512_si256, _mm512_extracti64x4_epi64, _mm512_gf2p8affine_epi64_epi8,
    _mm512_mask_add_epi32, _mm512_permutex2var_epi32, _mm512_permutexvar_epi8,
    _mm512_permutexvar_epi32, _mm512_set_epi32, _mm512_set1_epi32, _mm512_set1_epi64,
    _mm512_setzero_si512, _mm512_slli_epi64, _mm512_srai_epi64, _mm512_srli_epi32,
};

use super::avx512::{load, load_rows, values};
use super::matrix::BLOCK_ROWS;
use super::signed_sums::{GROUP, SignedSums, WORD_TABLES};
use super::vector::WORD_BITS;

/// Rows per register of 32-bit sums.
const LANES: usize = 16;

#[target_feature(enable = "avx512f")]
#[inline]
fn load_table(table: &SignedSums) -> __m512i {
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = *table;
    _mm512_set_epi32(p, o, n, m, l, k, j, i, h, g, f, e, d, c, b, a)
}

/// The permutation that takes the low halves of sixteen words in two registers. [`odds`] takes the high halves.
#[target_feature(enable = "avx512f")]
#[inline]
fn evens() -> __m512i {
    _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0)
}

#[target_feature(enable = "avx512f")]
#[inline]
fn odds() -> __m512i {
    _mm512_set_epi32(31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1)
}

#[target_feature(enable = "avx512f")]
#[inline]
fn add_looked_up(sums: __m512i, bits: __m512i, table: __m512i) -> __m512i {
    // The instruction uses only the lowest four bits of each index.
    _mm512_add_epi32(sums, _mm512_permutexvar_epi32(bits, table))
}

#[target_feature(enable = "avx512f")]
#[inline]
pub fn row_sums(words: &[u64], tables: &[[SignedSums; WORD_TABLES]], out: &mut [i32; BLOCK_ROWS]) {
    let mut sums = [_mm512_setzero_si512(); BLOCK_ROWS / LANES];
    for (column, tables) in words.as_chunks::<BLOCK_ROWS>().0.iter().zip(tables) {
        fetch_behind(column);
        let (low_tables, high_tables) = tables.split_at(WORD_TABLES / 2);
        let mut halves = [[_mm512_setzero_si512(); 2]; BLOCK_ROWS / LANES];
        for (halves, rows) in halves.iter_mut().zip(column.as_chunks::<LANES>().0) {
            let [first, second] = [0, 1].map(|part| &rows.as_chunks::<8>().0[part]);
            let (first, second) = (load_rows(first), load_rows(second));
            *halves = [
                _mm512_permutex2var_epi32(first, evens(), second),
                _mm512_permutex2var_epi32(first, odds(), second),
            ];
        }
        for (low_table, high_table) in low_tables.iter().zip(high_tables) {
            let (low_table, high_table) = (load_table(low_table), load_table(high_table));
            for (sums, [low, high]) in sums.iter_mut().zip(&mut halves) {
                *sums = add_looked_up(*sums, *low, low_table);
                *sums = add_looked_up(*sums, *high, high_table);
                *low = _mm512_srli_epi32::<4>(*low);
                *high = _mm512_srli_epi32::<4>(*high);
            }
        }
    }
    for (out, sums) in out.as_chunks_mut::<LANES>().0.iter_mut().zip(sums) {
        *out = lanes(sums);
    }
}

/// Adds the signed sums of the row weights to the sums of the columns of each word.
#[target_feature(enable = "avx512f,avx512vbmi,gfni")]
#[inline]
pub fn add_column_sums(words: &[u64], weights: &[i32; BLOCK_ROWS], sums: &mut [i64]) {
    let tables = tables_of(weights);
    let columns = words.as_chunks().0;
    for (column, sums) in columns.iter().zip(sums.chunks_mut(WORD_BITS)) {
        if let Some(sums) = sums.as_mut_array() {
            add_sums_of_columns(column, &tables, sums);
        } else {
            let mut found = [0; WORD_BITS];
            add_sums_of_columns(column, &tables, &mut found);
            sums.iter_mut()
                .zip(found)
                .for_each(|(sum, found)| *sum += found);
        }
    }
}

/// The signed sums of each four weights.
#[target_feature(enable = "avx512f")]
#[inline]
fn tables_of(weights: &[i32; BLOCK_ROWS]) -> [__m512i; WORD_TABLES] {
    // Mask `place` has the sixteen numbers whose bit `place` is 1.
    const ONES: [u16; GROUP] = [0xaaaa, 0xcccc, 0xf0f0, 0xff00];
    let mut tables = [_mm512_setzero_si512(); WORD_TABLES];
    for (table, group) in tables.iter_mut().zip(weights.as_chunks::<GROUP>().0) {
        *table = _mm512_set1_epi32(-group.iter().sum::<i32>());
        for (ones, weight) in ONES.into_iter().zip(group) {
            let change = _mm512_set1_epi32(2 * weight);
            *table = _mm512_mask_add_epi32(*table, ones, *table, change);
        }
    }
    tables
}

/// Adds to the sums of the 64 columns of a word. `tables` holds the signed sums of the row weights.
///
/// A look-up needs the bits of four rows side by side, for one column. A bit is addressed by a row number and a
/// column number of six binary digits each. At first the register gives the upper three digits of the row, the 64-bit
/// lane its lower three, and the place in the lane gives the column. The exchange swaps the three digits of the lane
/// with the lowest three digits of the place. Each 32-bit lane then holds eight groups of four bits, and each group
/// belongs to one column and to the four rows of one table.
#[target_feature(enable = "avx512f,avx512vbmi,gfni")]
#[inline]
fn add_sums_of_columns(
    column: &[u64; BLOCK_ROWS],
    tables: &[__m512i; WORD_TABLES],
    out: &mut [i64; WORD_BITS],
) {
    fetch_behind(column);
    let mut sums = [_mm512_setzero_si512(); 4];
    let eights = column.as_chunks::<8>().0.iter();
    for (rows, tables) in eights.zip(tables.as_chunks::<2>().0) {
        let mut bits = exchange(load_rows(rows));
        for sums in &mut sums {
            *sums = add_looked_up(*sums, bits, tables[0]);
            bits = _mm512_srli_epi32::<4>(bits);
            *sums = add_looked_up(*sums, bits, tables[1]);
            bits = _mm512_srli_epi32::<4>(bits);
        }
    }
    // Sum s holds columns 8 s to 8 s + 7 in the even lanes, and the columns 32 further in the odd lanes.
    let (low, high) = out.as_chunks_mut::<8>().0.split_at_mut(4);
    for ((low, high), sums) in low.iter_mut().zip(high).zip(sums) {
        // A shift to the right by 32 bits extends the sign of the upper lane.
        let even = _mm512_srai_epi64::<32>(_mm512_slli_epi64::<32>(sums));
        *low = values(_mm512_add_epi64(load(low), even));
        *high = values(_mm512_add_epi64(load(high), _mm512_srai_epi64::<32>(sums)));
    }
}

/// Exchanges the three digits of the word number with the lowest three digits of the place, which transposes eight
/// matrices of 8 by 8 bits.
#[target_feature(enable = "avx512vbmi,gfni")]
#[inline]
fn exchange(words: __m512i) -> __m512i {
    // Word q takes byte q of each word. The instruction for matrices counts the rows of a matrix from the last byte.
    let each: [u64; 8] = std::array::from_fn(|byte| byte as u64 * 0x0101_0101_0101_0101);
    let reversed = load_rows(&each.map(|byte| 0x0008_1018_2028_3038 + byte));
    let forward = load_rows(&each.map(|byte| 0x3830_2820_1810_0800 + byte));
    let matrices = _mm512_permutexvar_epi8(reversed, words);
    // Byte l of the second operand selects bit l of each row of the matrix.
    let columns = _mm512_set1_epi64(0x8040_2010_0804_0201_u64.cast_signed());
    let transposed = _mm512_gf2p8affine_epi64_epi8::<0>(columns, matrices);
    _mm512_permutexvar_epi8(forward, transposed)
}

/// How far ahead columns are prefetched, in words. The processor does not foresee the next column, and without the
/// prefetches the row sums of a matrix in memory take two to five times as long.
const AHEAD: usize = 8_192 / size_of::<u64>();

/// Prefetches the column [`AHEAD`] words further, which usually belongs to the next block.
#[target_feature(enable = "avx512f")]
#[inline]
fn fetch_behind(column: &[u64; BLOCK_ROWS]) {
    for line in column.as_chunks::<8>().0 {
        _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().wrapping_add(AHEAD).cast());
    }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn lanes(register: __m512i) -> [i32; LANES] {
    let (low, high) = (
        _mm512_castsi512_si256(register),
        _mm512_extracti64x4_epi64::<1>(register),
    );
    [
        _mm256_extract_epi32::<0>(low),
        _mm256_extract_epi32::<1>(low),
        _mm256_extract_epi32::<2>(low),
        _mm256_extract_epi32::<3>(low),
        _mm256_extract_epi32::<4>(low),
        _mm256_extract_epi32::<5>(low),
        _mm256_extract_epi32::<6>(low),
        _mm256_extract_epi32::<7>(low),
        _mm256_extract_epi32::<0>(high),
        _mm256_extract_epi32::<1>(high),
        _mm256_extract_epi32::<2>(high),
        _mm256_extract_epi32::<3>(high),
        _mm256_extract_epi32::<4>(high),
        _mm256_extract_epi32::<5>(high),
        _mm256_extract_epi32::<6>(high),
        _mm256_extract_epi32::<7>(high),
    ]
}
