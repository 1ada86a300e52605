//! AVX-512 code for the columns of [`super::integers`] and [`super::small_column`], eight rows at a time.
//!
//! One load of 32 weights serves eight rows, and a mask register selects the weights of each. When the perceptron makes
//! a mistake on one of the rows, the scores of the rows after it are corrected by their products with that row, so no
//! score has to wait for the update of the weights. [`super::avx512`] says why intrinsics are needed, and no `unsafe`.

use std::arch::x86_64::{
    __m512i, _MM_HINT_T0, _mm_prefetch, _mm512_add_epi16, _mm512_add_epi32, _mm512_add_epi64,
    _mm512_and_si512, _mm512_castsi512_si256, _mm512_cmpge_epi64_mask, _mm512_cmple_epi64_mask,
    _mm512_cvtepi32_epi64, _mm512_extracti64x4_epi64, _mm512_madd_epi16, _mm512_mask_adds_epi16,
    _mm512_mask_mov_epi16, _mm512_maskz_mov_epi16, _mm512_mul_epi32, _mm512_permutex2var_epi64,
    _mm512_permutexvar_epi64, _mm512_popcnt_epi64, _mm512_set_epi16, _mm512_set_epi64,
    _mm512_set1_epi16, _mm512_set1_epi64, _mm512_setzero_si512, _mm512_shuffle_i64x2,
    _mm512_sub_epi64, _mm512_test_epi16_mask, _mm512_unpackhi_epi32, _mm512_unpackhi_epi64,
    _mm512_unpacklo_epi32, _mm512_unpacklo_epi64, _mm512_xor_si512,
};
use std::ops::Range;

use super::avx2::{BITS, store_narrow};
use super::avx512::{GROUP_ROWS, load_rows};
use super::column_groups::{GROUP_WORDS, Group, IntegerStep, NarrowRows, RowWords, WIDTH, change};
use super::matrix::BLOCK_ROWS;
use super::small_bounds::SmallBounds;

/// Two vectors of a group.
type Pair = [[i16; WIDTH]; 2];

#[target_feature(enable = "avx512bw")]
#[inline]
fn load(pair: &Pair) -> __m512i {
    let [
        [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p],
        [q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, af],
    ] = *pair;
    _mm512_set_epi16(
        af, ae, ad, ac, ab, aa, z, y, x, w, v, u, t, s, r, q, p, o, n, m, l, k, j, i, h, g, f, e,
        d, c, b, a,
    )
}

/// One word of the 64 rows of a block.
type Column = [u64; BLOCK_ROWS];

/// The words of group `group` of the eight rows from `base` on, which is at most 56. Words past the last are 0.
///
/// Also prefetches the same rows of the next block, which is usually read next, because the processor does not
/// foresee reads by column.
#[target_feature(enable = "avx512f")]
#[inline]
fn load_words(columns: &[Column], group: usize, base: usize) -> [__m512i; GROUP_WORDS] {
    let load = |column: &Column| match column[base..].first_chunk() {
        Some(rows) => {
            let next = rows.as_ptr().wrapping_add(columns.len() * BLOCK_ROWS);
            _mm_prefetch::<_MM_HINT_T0>(next.cast());
            load_rows(rows)
        }
        None => _mm512_setzero_si512(),
    };
    let columns = columns.get(group * GROUP_WORDS..).unwrap_or_default();
    match columns.first_chunk::<GROUP_WORDS>() {
        Some([a, b, c, d]) => [load(a), load(b), load(c), load(d)],
        None => {
            let mut words = [_mm512_setzero_si512(); GROUP_WORDS];
            words
                .iter_mut()
                .zip(columns)
                .for_each(|(to, column)| *to = load(column));
            words
        }
    }
}

/// For each of eight rows, the words of a group twice, so that they face both vectors of a pair.
#[target_feature(enable = "avx512f")]
#[inline]
fn words_of_each([a, b, c, d]: [__m512i; GROUP_WORDS]) -> [__m512i; GROUP_ROWS] {
    let even = [_mm512_unpacklo_epi64(a, b), _mm512_unpacklo_epi64(c, d)];
    let odd = [_mm512_unpackhi_epi64(a, b), _mm512_unpackhi_epi64(c, d)];
    let mut rows = [a; GROUP_ROWS];
    for (row, to) in rows.iter_mut().enumerate() {
        let [low, high] = if row % 2 == 0 { even } else { odd };
        let first = (row / 2 * 2) as i64;
        let (a, b, c, d) = (first, first + 1, first + 8, first + 9);
        let places = _mm512_set_epi64(d, c, b, a, d, c, b, a);
        *to = _mm512_permutex2var_epi64(low, places, high);
    }
    rows
}

/// Returns, for the eight rows from `base` on, the sums of the weights that they select and the numbers of their
/// ones.
///
/// If `SMALL`, no weight may be negative, and the additions saturate: a sum above [`super::SMALL_SUM_MAX`] may come
/// out smaller, but not below this number.
#[target_feature(enable = "avx512bw,avx512vpopcntdq")]
#[inline]
fn sums_of_rows<const SMALL: bool>(
    groups: &[Group],
    columns: &[Column],
    base: usize,
) -> (__m512i, __m512i) {
    let (mut sums, mut ones) = ([_mm512_setzero_si512(); GROUP_ROWS], _mm512_setzero_si512());
    let one = _mm512_set1_epi16(1);
    for (at, group) in groups.iter().enumerate() {
        let words = load_words(columns, at, base);
        for word in words {
            ones = _mm512_add_epi64(ones, _mm512_popcnt_epi64(word));
        }
        let rows = words_of_each(words);
        for (weights, bits) in group.as_chunks().0.iter().zip(BITS.as_chunks().0) {
            let (weights, bits) = (load(weights), load(bits));
            for (sum, &row) in sums.iter_mut().zip(&rows) {
                let mask = _mm512_test_epi16_mask(row, bits);
                if SMALL {
                    *sum = _mm512_mask_adds_epi16(*sum, mask, *sum, weights);
                } else {
                    let selected = _mm512_maskz_mov_epi16(mask, weights);
                    *sum = _mm512_add_epi32(*sum, _mm512_madd_epi16(selected, one));
                }
            }
        }
    }
    if SMALL {
        sums = sums.map(|sum| _mm512_madd_epi16(sum, one));
    }
    (total_of_each(sums), ones)
}

/// The sum of the sixteen lanes of each register.
#[target_feature(enable = "avx512f")]
#[inline]
fn total_of_each([a, b, c, d, e, f, g, h]: [__m512i; GROUP_ROWS]) -> __m512i {
    let halves = |a, b| _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
    let four = |a, b, c, d| {
        let (a, b) = (halves(a, b), halves(c, d));
        _mm512_add_epi32(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b))
    };
    let (first, last) = (four(a, b, c, d), four(e, f, g, h));
    let two = _mm512_add_epi32(
        _mm512_shuffle_i64x2::<0b01_00_01_00>(first, last),
        _mm512_shuffle_i64x2::<0b11_10_11_10>(first, last),
    );
    let one = _mm512_add_epi32(two, _mm512_shuffle_i64x2::<0b10_11_00_01>(two, two));
    let places = _mm512_set_epi64(0, 0, 0, 0, 5, 4, 1, 0);
    _mm512_cvtepi32_epi64(_mm512_castsi512_si256(_mm512_permutexvar_epi64(
        places, one,
    )))
}

/// The bits of the rows from `base` on that lie within `rows`.
#[inline]
fn window(rows: &Range<usize>, base: usize) -> u8 {
    let bits = |end: usize| ((1_u64 << (end.clamp(base, base + GROUP_ROWS) - base)) - 1) as u8;
    bits(rows.end) & !bits(rows.start)
}

/// Finds the row that [`super::SmallColumn::first_open`] returns.
#[target_feature(enable = "avx512bw,avx512vpopcntdq")]
#[inline]
pub fn first_open(
    groups: &[Group],
    columns: &[Column],
    mut rows: Range<usize>,
    positives: u64,
    bounds: SmallBounds,
) -> Option<usize> {
    while !rows.is_empty() {
        let base = rows.start.min(BLOCK_ROWS - GROUP_ROWS);
        let (sums, ones) = sums_of_rows::<true>(groups, columns, base);
        let most = _mm512_add_epi64(sums, ones);
        let is_positive = _mm512_cmpge_epi64_mask(sums, _mm512_set1_epi64(bounds.positive));
        let is_negative = _mm512_cmple_epi64_mask(most, _mm512_set1_epi64(bounds.negative));
        let positives = (positives >> base) as u8;
        let confirmed = positives & is_positive | !positives & is_negative;
        let open = window(&rows, base) & !confirmed;
        if open != 0 {
            return Some(base + open.trailing_zeros() as usize);
        }
        rows.start = base + GROUP_ROWS;
    }
    None
}

/// Learns as [`super::IntegerColumn::learn`] does, and returns the same.
#[target_feature(enable = "avx512bw,avx512vpopcntdq")]
#[inline]
pub fn learn(
    groups: &mut [Group],
    total: &mut i64,
    within: &NarrowRows<'_>,
    mut step: IntegerStep,
) -> (usize, u64, Option<i64>) {
    let (columns, mut rows) = (within.block.words().as_chunks().0, within.rows.clone());
    let (mut mistaken, mut left) = (0, within.mistakes_max);
    while !rows.is_empty() {
        let base = rows.start.min(BLOCK_ROWS - GROUP_ROWS);
        let (mut scores, _) = sums_of_rows::<false>(groups, columns, base);
        if step.is_signed {
            scores = _mm512_add_epi64(scores, scores);
        }
        scores = _mm512_add_epi64(scores, _mm512_set1_epi64(step.score(0, *total)));
        let (mut unread, positives) = (window(&rows, base), (step.positives >> base) as u8);
        loop {
            let is_positive = _mm512_cmpge_epi64_mask(scores, _mm512_setzero_si512());
            let wrong = (is_positive ^ positives) & unread;
            if wrong == 0 {
                break;
            }
            let place = wrong.trailing_zeros() as usize;
            let (row, amount) = (base + place, step.learn(base + place));
            unread &= u8::MAX.wrapping_shl(1) << place;
            let words = RowWords::of_block(within.block, row);
            add_narrow(groups, words, amount as i16, step.is_signed);
            *total += amount * change(words.ones(columns.len()), within.n, step.is_signed);
            mistaken |= 1 << row;
            left -= 1;
            if left == 0 {
                return (row + 1, mistaken, step.bias);
            }
            let products = products(columns, base, row, within.n, step);
            let changes = _mm512_mul_epi32(products, _mm512_set1_epi64(amount));
            scores = _mm512_add_epi64(scores, changes);
        }
        rows.start = base + GROUP_ROWS;
    }
    (within.rows.end, mistaken, step.bias)
}

/// The products of row `row` with the eight rows from `base` on, including the constant coordinate if there is one.
#[target_feature(enable = "avx512f,avx512vpopcntdq")]
#[inline]
fn products(columns: &[Column], base: usize, row: usize, n: usize, step: IntegerStep) -> __m512i {
    let mut counts = _mm512_setzero_si512();
    for column in columns {
        if let Some(rows) = column[base..].first_chunk() {
            let (rows, word) = (
                load_rows(rows),
                _mm512_set1_epi64(column[row].cast_signed()),
            );
            let counted = match step.is_signed {
                true => _mm512_xor_si512(rows, word),
                false => _mm512_and_si512(rows, word),
            };
            counts = _mm512_add_epi64(counts, _mm512_popcnt_epi64(counted));
        }
    }
    let bias = i64::from(step.bias.is_some());
    match step.is_signed {
        true => {
            let equal = _mm512_set1_epi64(n as i64 + bias);
            _mm512_sub_epi64(equal, _mm512_add_epi64(counts, counts))
        }
        false => _mm512_add_epi64(counts, _mm512_set1_epi64(bias)),
    }
}

/// Adds `amount` times the row, in the signed or unsigned reading.
#[target_feature(enable = "avx512bw")]
#[inline]
pub fn add_narrow(groups: &mut [Group], row: RowWords<'_>, amount: i16, is_signed: bool) {
    let other = if is_signed { amount.wrapping_neg() } else { 0 };
    let (amount, other) = (_mm512_set1_epi16(amount), _mm512_set1_epi16(other));
    for (at, group) in groups.iter_mut().enumerate() {
        let [a, b, c, d] = row.group(at).map(u64::cast_signed);
        let row = _mm512_set_epi64(d, c, b, a, d, c, b, a);
        for (weights, bits) in group.as_chunks_mut().0.iter_mut().zip(BITS.as_chunks().0) {
            let mask = _mm512_test_epi16_mask(row, load(bits));
            let change = _mm512_mask_mov_epi16(other, mask, amount);
            let sum = _mm512_add_epi16(load(weights), change);
            let (low, high) = (
                _mm512_castsi512_si256(sum),
                _mm512_extracti64x4_epi64::<1>(sum),
            );
            *weights = [store_narrow(low), store_narrow(high)];
        }
    }
}
