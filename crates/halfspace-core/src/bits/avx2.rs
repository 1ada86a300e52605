//! AVX2 code for the few steps that the compiler does not derive well from plain loops: products and updates of
//! doubles, and sums and updates of 16-bit weights, which a row selects or a list names.
//!
//! For the products, the compiler would keep the partial sums in registers of half the width. As in [`super::avx512`],
//! the intrinsics need no `unsafe`, because reading or writing an array element by element compiles to one load or
//! store of 32 bytes.

use std::arch::x86_64::{
    __m256d, __m256i, _CMP_EQ_OQ, _MM_HINT_T0, _mm_add_epi32, _mm_add_pd, _mm_add_sd,
    _mm_cvtsd_f64, _mm_cvtsi128_si32, _mm_prefetch, _mm_shuffle_epi32, _mm_unpackhi_pd,
    _mm256_add_epi16, _mm256_add_epi32, _mm256_add_pd, _mm256_and_si256, _mm256_castpd256_pd128,
    _mm256_castsi256_si128, _mm256_cmp_pd, _mm256_cmpeq_epi16, _mm256_extract_epi16,
    _mm256_extractf128_pd, _mm256_extracti128_si256, _mm256_madd_epi16, _mm256_movemask_pd,
    _mm256_mul_pd, _mm256_set_epi16, _mm256_set_epi64x, _mm256_set_pd, _mm256_set1_epi16,
    _mm256_set1_pd, _mm256_setzero_pd, _mm256_setzero_si256, _mm256_sub_epi16,
};

use super::class_grid::Groups;
use super::column_groups::{Group, RowWords, WIDTH as VECTOR};
use super::real_lanes::{Part, REAL_LANES};

/// Doubles per register.
const WIDTH: usize = 4;
/// Registers of partial sums.
const REGISTERS: usize = REAL_LANES / WIDTH;

#[target_feature(enable = "avx2")]
#[inline]
fn load(values: &[f64; WIDTH]) -> __m256d {
    let [a, b, c, d] = *values;
    _mm256_set_pd(d, c, b, a)
}

/// How far ahead values are prefetched. A pass over 40 MB takes a third less time than with a distance of 1 KB.
const AHEAD: usize = 12_288 / size_of::<f64>();

/// Returns the product of equally many weights and values, where only the first `columns` weights differ from 0. Also
/// prefetches values behind the row, because the next rows are read soon.
#[target_feature(enable = "avx2")]
#[inline]
pub fn product(weights: &[[f64; REAL_LANES]], values: &[[f64; REAL_LANES]], columns: usize) -> f64 {
    let mut lanes = [_mm256_setzero_pd(); REGISTERS];
    for (at, (weights, values)) in weights.iter().zip(values).enumerate() {
        fetch(values, AHEAD);
        fetch(values, AHEAD + REAL_LANES / 2);
        // The rest of the weights are 0, and so are their products.
        let used = columns - at * REAL_LANES;
        let (weights, values) = (weights.as_chunks().0, values.as_chunks().0);
        for register in 0..REGISTERS {
            if register * WIDTH < used {
                let products = _mm256_mul_pd(load(&weights[register]), load(&values[register]));
                lanes[register] = _mm256_add_pd(lanes[register], products);
            }
        }
    }
    fold(lanes)
}

/// Prefetches the cache line that begins `ahead` values after the first.
#[target_feature(enable = "avx2")]
#[inline]
fn fetch(values: &[f64; REAL_LANES], ahead: usize) {
    let address = values.as_ptr().wrapping_add(ahead).cast();
    _mm_prefetch::<_MM_HINT_T0>(address);
}

/// [`product`] in two parts: the columns before the last few, and the last few.
#[target_feature(enable = "avx2")]
#[inline]
pub fn product_of_parts([(weights, values), (last_weights, last)]: [Part<'_>; 2]) -> f64 {
    let lanes = add_products([_mm256_setzero_pd(); REGISTERS], weights, values);
    fold(add_products(lanes, last_weights, last))
}

#[target_feature(enable = "avx2")]
#[inline]
fn add_products(
    mut lanes: [__m256d; REGISTERS],
    weights: &[[f64; REAL_LANES]],
    values: &[[f64; REAL_LANES]],
) -> [__m256d; REGISTERS] {
    for (weights, values) in weights.iter().zip(values) {
        let (weights, values) = (weights.as_chunks().0, values.as_chunks().0);
        for register in 0..REGISTERS {
            let products = _mm256_mul_pd(load(&weights[register]), load(&values[register]));
            lanes[register] = _mm256_add_pd(lanes[register], products);
        }
    }
    lanes
}

#[target_feature(enable = "avx2")]
#[inline]
fn fold([a, b, c, d]: [__m256d; REGISTERS]) -> f64 {
    let four = _mm256_add_pd(_mm256_add_pd(a, c), _mm256_add_pd(b, d));
    let two = _mm_add_pd(
        _mm256_castpd256_pd128(four),
        _mm256_extractf128_pd::<1>(four),
    );
    _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)))
}

/// Adds `amount` times the values to the weights, as [`super::reals::plain::add`] does.
#[target_feature(enable = "avx2")]
#[inline]
pub fn add(
    weights: &mut [[f64; REAL_LANES]],
    values: &[[f64; REAL_LANES]],
    kept: &[f64; REAL_LANES],
    amount: f64,
    factor: f64,
) -> bool {
    let Some(last) = weights.len().checked_sub(1) else {
        return true;
    };
    let (factor, mut zeros) = (_mm256_set1_pd(factor), _mm256_setzero_pd());
    let amounts = [_mm256_set1_pd(amount); REGISTERS];
    let last_amounts = last_amounts(kept, amount);
    for (at, (weights, values)) in weights.iter().zip(values).enumerate() {
        let amounts = if at == last { last_amounts } else { amounts };
        for (register, amount) in amounts.into_iter().enumerate() {
            let sum = sum(weights, values, register, amount);
            let zero = _mm256_mul_pd(_mm256_mul_pd(sum, factor), _mm256_setzero_pd());
            zeros = _mm256_add_pd(zeros, zero);
        }
    }
    let is_zero = _mm256_cmp_pd::<_CMP_EQ_OQ>(zeros, _mm256_setzero_pd());
    if _mm256_movemask_pd(is_zero) != 0b1111 {
        return false;
    }
    for (at, (weights, values)) in weights.iter_mut().zip(values).enumerate() {
        let amounts = if at == last { last_amounts } else { amounts };
        for (register, amount) in amounts.into_iter().enumerate() {
            let sum = sum(weights, values, register, amount);
            store(sum, &mut weights.as_chunks_mut().0[register]);
        }
    }
    true
}

#[target_feature(enable = "avx2")]
#[inline]
fn last_amounts(kept: &[f64; REAL_LANES], amount: f64) -> [__m256d; REGISTERS] {
    let (kept, amount) = (kept.as_chunks().0, _mm256_set1_pd(amount));
    let mut amounts = [amount; REGISTERS];
    for register in 0..REGISTERS {
        amounts[register] = _mm256_mul_pd(load(&kept[register]), amount);
    }
    amounts
}

#[target_feature(enable = "avx2")]
#[inline]
fn sum(
    weights: &[f64; REAL_LANES],
    values: &[f64; REAL_LANES],
    register: usize,
    amounts: __m256d,
) -> __m256d {
    let values = load(&values.as_chunks().0[register]);
    let weights = load(&weights.as_chunks().0[register]);
    _mm256_add_pd(weights, _mm256_mul_pd(amounts, values))
}

#[target_feature(enable = "avx2")]
#[inline]
fn store(vector: __m256d, to: &mut [f64; WIDTH]) {
    let (low, high) = (
        _mm256_castpd256_pd128(vector),
        _mm256_extractf128_pd::<1>(vector),
    );
    *to = [
        _mm_cvtsd_f64(low),
        _mm_cvtsd_f64(_mm_unpackhi_pd(low, low)),
        _mm_cvtsd_f64(high),
        _mm_cvtsd_f64(_mm_unpackhi_pd(high, high)),
    ];
}

/// For each vector of a group, the bit of a sixteenth that selects from it, repeated in all sixteen lanes.
pub(super) const BITS: [[i16; VECTOR]; VECTOR] = {
    let mut bits = [[0; VECTOR]; VECTOR];
    let mut vector = 0;
    while vector < VECTOR {
        bits[vector] = [1_i16.wrapping_shl(vector as u32); VECTOR];
        vector += 1;
    }
    bits
};

#[target_feature(enable = "avx2")]
#[inline]
fn load_narrow(values: &[i16; VECTOR]) -> __m256i {
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = *values;
    _mm256_set_epi16(p, o, n, m, l, k, j, i, h, g, f, e, d, c, b, a)
}

#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn store_narrow(vector: __m256i) -> [i16; VECTOR] {
    [
        _mm256_extract_epi16::<0>(vector) as i16,
        _mm256_extract_epi16::<1>(vector) as i16,
        _mm256_extract_epi16::<2>(vector) as i16,
        _mm256_extract_epi16::<3>(vector) as i16,
        _mm256_extract_epi16::<4>(vector) as i16,
        _mm256_extract_epi16::<5>(vector) as i16,
        _mm256_extract_epi16::<6>(vector) as i16,
        _mm256_extract_epi16::<7>(vector) as i16,
        _mm256_extract_epi16::<8>(vector) as i16,
        _mm256_extract_epi16::<9>(vector) as i16,
        _mm256_extract_epi16::<10>(vector) as i16,
        _mm256_extract_epi16::<11>(vector) as i16,
        _mm256_extract_epi16::<12>(vector) as i16,
        _mm256_extract_epi16::<13>(vector) as i16,
        _mm256_extract_epi16::<14>(vector) as i16,
        _mm256_extract_epi16::<15>(vector) as i16,
    ]
}

#[target_feature(enable = "avx2")]
#[inline]
fn row_group(row: RowWords<'_>, group: usize) -> __m256i {
    let [a, b, c, d] = row.group(group);
    _mm256_set_epi64x(
        d.cast_signed(),
        c.cast_signed(),
        b.cast_signed(),
        a.cast_signed(),
    )
}

/// All ones in each lane whose sixteenth of the row has the bit of `vector`, else 0.
#[target_feature(enable = "avx2")]
#[inline]
fn selected(row: __m256i, vector: usize) -> __m256i {
    let bit = load_narrow(&BITS[vector]);
    _mm256_cmpeq_epi16(_mm256_and_si256(row, bit), bit)
}

/// The sum of the weights that the row selects.
#[target_feature(enable = "avx2")]
#[inline]
pub fn narrow_sum(groups: &[Group], row: RowWords<'_>) -> i64 {
    // Each addition waits for the previous one, so two independent sums run in parallel.
    let mut sums = [_mm256_setzero_si256(); 2];
    for (at, group) in groups.iter().enumerate() {
        let row = row_group(row, at);
        for (vector, weights) in group.iter().enumerate() {
            // A selected lane is -1, so the products are the negated weights.
            let products = _mm256_madd_epi16(selected(row, vector), load_narrow(weights));
            sums[vector % 2] = _mm256_add_epi32(sums[vector % 2], products);
        }
    }
    let eight = _mm256_add_epi32(sums[0], sums[1]);
    let high = _mm256_extracti128_si256::<1>(eight);
    let four = _mm_add_epi32(_mm256_castsi256_si128(eight), high);
    let two = _mm_add_epi32(four, _mm_shuffle_epi32::<0b0100_1110>(four));
    let one = _mm_add_epi32(two, _mm_shuffle_epi32::<0b1011_0001>(two));
    -i64::from(_mm_cvtsi128_si32(one))
}

/// Adds `amount` times the row, in the signed or unsigned reading.
#[target_feature(enable = "avx2")]
#[inline]
pub fn add_narrow(groups: &mut [Group], row: RowWords<'_>, amount: i16, is_signed: bool) {
    let (factor, less) = match is_signed {
        true => (amount.wrapping_mul(2), amount),
        false => (amount, 0),
    };
    let (factor, less) = (_mm256_set1_epi16(factor), _mm256_set1_epi16(less));
    for (at, group) in groups.iter_mut().enumerate() {
        let row = row_group(row, at);
        for (vector, weights) in group.iter_mut().enumerate() {
            let change = _mm256_and_si256(selected(row, vector), factor);
            let sum = _mm256_add_epi16(load_narrow(weights), _mm256_sub_epi16(change, less));
            *weights = store_narrow(sum);
        }
    }
}

/// Adds up `COUNT` groups of 16-bit cells of these columns. The compiler keeps a plain loop in registers of one cell.
///
/// # Panics
/// Panics if there is no such column.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn class_sums<const COUNT: usize>(
    groups: Groups<'_, i16, VECTOR>,
    ids: &[u32],
) -> [[i16; VECTOR]; COUNT] {
    let mut sums = [_mm256_setzero_si256(); COUNT];
    for &id in ids {
        for (sum, cells) in sums.iter_mut().zip(groups.of::<COUNT>(id)) {
            *sum = _mm256_add_epi16(*sum, load_narrow(cells));
        }
    }
    sums.map(|sum| store_narrow(sum))
}
