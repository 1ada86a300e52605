//! The scalar twins: each kernel in its shortest form.
//!
//! They specify the kernels, and property tests compare the two. A process can also run on the twins alone.

use std::ops::Range;

use super::class_grid::{ClassCell, ClassGrid};
use super::column_groups::{GROUP_WORDS, Group, RowWords, cell, cell_mut};
use super::comparison::Comparison;
use super::limbs::{LIMB_BITS, Limb, Shared};
use super::matrix::{BLOCK_ROWS, BitBlock, BitMatrix};
use super::real_lanes::REAL_LANES;
use super::small_bounds::SmallBounds;
use super::vector::WORD_BITS;

fn bit(words: &[u64], j: usize) -> u64 {
    words[j / WORD_BITS] >> (j % WORD_BITS) & 1
}

fn hamming(block: BitBlock, row: usize, vector: &[u64]) -> u32 {
    (0..vector.len())
        .map(|word| (block.word(word, row) ^ vector[word]).count_ones())
        .sum()
}

/// Maps a uniform word to a uniform number below `count`. Returns `None` for the few words that are left over when
/// every number has equally many.
///
/// # Panics
/// Panics if `count` is 0.
#[inline(always)]
pub(super) fn drawn_below(count: u64, draw: u64) -> Option<u64> {
    assert!(count > 0, "nothing to draw from");
    let product = u128::from(draw) * u128::from(count);
    // The remainder needs a division. Few draws reach it.
    let low = product as u64;
    (low >= count || low >= count.wrapping_neg() % count).then_some((product >> 64) as u64)
}

pub fn disagreements(block: BitBlock, vector: &[u64], out: &mut [u32; BLOCK_ROWS]) {
    out.fill(0);
    for (row, out) in out.iter_mut().enumerate().take(block.rows()) {
        *out = hamming(block, row, vector);
    }
}

pub fn intersections(block: BitBlock, vector: &[u64], out: &mut [u32; BLOCK_ROWS]) {
    let common = |row: usize, word: usize| (block.word(word, row) & vector[word]).count_ones();
    out.fill(0);
    for (row, out) in out.iter_mut().enumerate().take(block.rows()) {
        *out = (0..vector.len()).map(|word| common(row, word)).sum();
    }
}

pub fn add_powers(
    matrix: &BitMatrix,
    rows: Range<usize>,
    positives: &[u64],
    vector: &[u64],
    shared: Shared,
    limbs: &mut [Limb],
) {
    for row in rows {
        let (block, place) = (matrix.block(row / BLOCK_ROWS), row % BLOCK_ROWS);
        let common = |word: usize| block.word(word, place) & vector[word];
        let exponent = match shared {
            Shared::Equal => matrix.n() - hamming(block, place, vector) as usize,
            Shared::Ones => (0..vector.len())
                .map(|word| common(word).count_ones() as usize)
                .sum(),
        };
        let power = 1 << (exponent % LIMB_BITS);
        limbs[exponent / LIMB_BITS][place % 8] += match bit(positives, row) {
            1 => power,
            _ => -power,
        };
    }
}

pub fn is_over(block: BitBlock, row: usize, vector: &[u64], limit: u32, extra: u64) -> bool {
    u64::from(hamming(block, row, vector)) + (extra >> row & 1) > u64::from(limit)
}

pub fn rows_over(block: BitBlock, vector: &[u64], limit: u32, extra: u64) -> u64 {
    (0..block.rows())
        .filter(|&row| is_over(block, row, vector, limit, extra))
        .fold(0, |mask, row| mask | 1 << row)
}

pub fn first_over(
    block: BitBlock,
    mut rows: Range<usize>,
    vector: &[u64],
    limit: u32,
    extra: u64,
) -> Option<usize> {
    rows.find(|&row| is_over(block, row, vector, limit, extra))
}

pub fn flip_difference(vector: &mut [u64], block: BitBlock, row: usize, draw: u64) -> bool {
    let differs = |j: &usize| {
        let word = j / WORD_BITS;
        (block.word(word, row) ^ vector[word]) >> (j % WORD_BITS) & 1 == 1
    };
    let differing: Vec<usize> = (0..vector.len() * WORD_BITS).filter(differs).collect();
    let drawn = drawn_below(differing.len() as u64, draw);
    if let Some(drawn) = drawn {
        let j = differing[drawn as usize];
        vector[j / WORD_BITS] ^= 1 << (j % WORD_BITS);
    }
    drawn.is_some()
}

pub fn tally(block: BitBlock, rows: Range<usize>, counts: &mut [u32]) {
    for row in rows {
        for (j, count) in counts.iter_mut().enumerate() {
            *count += (block.word(j / WORD_BITS, row) >> (j % WORD_BITS) & 1) as u32;
        }
    }
}

/// Compares the counts of one word with a number. Missing counts are 0.
pub fn compare(counts: Option<&[u32]>, number: u32) -> Comparison {
    let count = |j| {
        counts
            .and_then(|counts| counts.get(j))
            .copied()
            .unwrap_or(0)
    };
    let mask = |is_so: &dyn Fn(u32) -> bool| {
        (0..WORD_BITS).fold(0, |mask, j| mask | u64::from(is_so(count(j))) << j)
    };
    Comparison {
        at_least: mask(&|count| count >= number),
        equal: mask(&|count| count == number),
    }
}

/// Performs one step of xoshiro256++.
#[inline(always)]
pub fn xoshiro(state: &mut [u64; 4]) -> u64 {
    let drawn = state[0]
        .wrapping_add(state[3])
        .rotate_left(23)
        .wrapping_add(state[0]);
    let shifted = state[1] << 17;
    state[2] ^= state[0];
    state[3] ^= state[1];
    state[1] ^= state[2];
    state[0] ^= state[3];
    state[2] ^= shifted;
    state[3] = state[3].rotate_left(45);
    drawn
}

pub fn fill(state: &mut [[u64; 8]; 4], words: &mut [u64]) {
    for (position, word) in words.iter_mut().enumerate() {
        let lane = position % 8;
        let mut one = [0, 1, 2, 3].map(|part| state[part][lane]);
        *word = xoshiro(&mut one);
        for (part, value) in one.into_iter().enumerate() {
            state[part][lane] = value;
        }
    }
}

pub fn selected_sum(weights: &[i64], row: &[u64]) -> i64 {
    (0..weights.len())
        .filter(|&j| bit(row, j) == 1)
        .fold(0, |sum: i64, j| sum.wrapping_add(weights[j]))
}

pub fn listed_sum<T: Copy + Into<i64>>(weights: &[T], places: &[u32]) -> i64 {
    let listed = places.iter().map(|&place| weights[place as usize].into());
    listed.fold(0, i64::wrapping_add)
}

pub fn add_cells<C: ClassCell, const LANES: usize>(
    grid: &ClassGrid<C, LANES>,
    ids: &[u32],
    sums: &mut [i64],
) {
    for (class, sum) in sums.iter_mut().enumerate() {
        *sum += ids
            .iter()
            .map(|&id| grid.cell(id, class).into())
            .sum::<i64>();
    }
}

pub fn add_selected(weights: &mut [i64], row: &[u64], amount: i64) {
    for (j, weight) in weights.iter_mut().enumerate() {
        if bit(row, j) == 1 {
            *weight = weight.wrapping_add(amount);
        }
    }
}

pub fn add_signed(weights: &mut [i64], row: &[u64], amount: i64) {
    for (j, weight) in weights.iter_mut().enumerate() {
        *weight = match bit(row, j) {
            1 => weight.wrapping_add(amount),
            _ => weight.wrapping_sub(amount),
        };
    }
}

pub fn row_sums(block: BitBlock, weights: &[i32], out: &mut [i32; BLOCK_ROWS]) {
    out.fill(0);
    for (row, out) in out.iter_mut().enumerate().take(block.rows()) {
        for (j, &weight) in weights.iter().enumerate() {
            let bit = block.word(j / WORD_BITS, row) >> (j % WORD_BITS) & 1;
            let signed = if bit == 1 {
                weight
            } else {
                weight.wrapping_neg()
            };
            *out = out.wrapping_add(signed);
        }
    }
}

pub fn add_column_sums(block: BitBlock, weights: &[i32; BLOCK_ROWS], sums: &mut [i64]) {
    for (row, &weight) in weights.iter().enumerate().take(block.rows()) {
        for (j, sum) in sums.iter_mut().enumerate() {
            let bit = block.word(j / WORD_BITS, row) >> (j % WORD_BITS) & 1;
            *sum += i64::from(if bit == 1 { weight } else { -weight });
        }
    }
}

pub fn select_bit(words: &[u64], k: u64) -> Option<usize> {
    (0..words.len() * WORD_BITS)
        .filter(|&j| bit(words, j) == 1)
        .nth(usize::try_from(k).ok()?)
}

pub fn pack_ascii(text: &[u8], words: &mut [u64]) -> Result<(), usize> {
    words.fill(0);
    for (position, &byte) in text.iter().enumerate() {
        match byte {
            b'0' => {}
            b'1' => words[position / WORD_BITS] |= 1 << (position % WORD_BITS),
            _ => return Err(position),
        }
    }
    Ok(())
}

pub fn reflect_rows(words: &mut [u64], mask: u64, last_word: u64) {
    let columns = words.len() / BLOCK_ROWS;
    for (word, column) in words.chunks_exact_mut(BLOCK_ROWS).enumerate() {
        let all = if word + 1 == columns {
            last_word
        } else {
            u64::MAX
        };
        for (row, bits) in column.iter_mut().enumerate() {
            if mask >> row & 1 == 1 {
                *bits ^= all;
            }
        }
    }
}

pub fn real_product(weights: &[f64], row: &[f64]) -> f64 {
    let mut lanes = [0.0; REAL_LANES];
    for (j, (weight, value)) in weights.iter().zip(row).enumerate() {
        lanes[j % REAL_LANES] += weight * value;
    }
    let mut half = REAL_LANES;
    while half > 1 {
        half /= 2;
        (0..half).for_each(|lane| lanes[lane] += lanes[lane + half]);
    }
    lanes[0]
}

pub fn first_wrong_real(
    weights: &[f64],
    values: &[f64],
    mut rows: Range<usize>,
    bias: f64,
    positives: u64,
) -> Option<usize> {
    rows.find(|&row| {
        let product = real_product(weights, &values[row * weights.len()..]);
        (product + bias >= 0.0) != (positives >> row & 1 == 1)
    })
}

fn columns(groups: &[Group]) -> Range<usize> {
    0..groups.len() * GROUP_WORDS * WORD_BITS
}

pub fn narrow_sum(groups: &[Group], row: RowWords<'_>) -> i64 {
    let is_selected = |&j: &usize| row.word(j / WORD_BITS) >> (j % WORD_BITS) & 1 == 1;
    let selected = columns(groups).filter(is_selected);
    selected.map(|j| i64::from(*cell(groups, j))).sum()
}

pub fn add_narrow(groups: &mut [Group], row: RowWords<'_>, amount: i16, is_signed: bool) {
    for j in columns(groups) {
        let change = match (row.word(j / WORD_BITS) >> (j % WORD_BITS) & 1, is_signed) {
            (1, _) => amount,
            (_, true) => amount.wrapping_neg(),
            (_, false) => 0,
        };
        let cell = cell_mut(groups, j);
        *cell = cell.wrapping_add(change);
    }
}

pub fn add_real(weights: &mut [f64], row: &[f64], amount: f64, factor: f64) -> bool {
    // Without an early end, the compiler checks several weights at once.
    let all = weights.iter().zip(row);
    let is_finite = all.fold(true, |is_finite, (weight, value)| {
        let sum = weight + amount * value;
        is_finite & sum.is_finite() & (sum * factor).is_finite()
    });
    if is_finite {
        for (weight, value) in weights.iter_mut().zip(row) {
            *weight += amount * value;
        }
    }
    is_finite
}

pub fn first_open(
    groups: &[Group],
    block: BitBlock,
    mut rows: Range<usize>,
    positives: u64,
    bounds: SmallBounds,
) -> Option<usize> {
    rows.find(|&at| {
        let row = RowWords::of_block(block, at);
        let ones = row.ones(block.words_per_row());
        !bounds.confirm(positives >> at & 1 == 1, narrow_sum(groups, row), ones)
    })
}
