//! Positional counts: for each coordinate, the number of rows whose bit is 1.
//!
//! Carry-save adders add the rows to bit planes. Each word of a row has eight lanes of them: bit j of plane p of a
//! lane is digit p of the count of coordinate j over the rows of this lane.
//!
//! A block of 64 rows gives each lane eight rows. Seven adders reduce these and the planes of 1, 2 and 4 to one plane
//! of 8. The planes of 8, 16, .. take up the results like a binary counter, so a block needs one further adder on
//! average. The planes are drained into counts only when a caller reads the counts; a comparison with one number
//! reads the planes directly.
//!
//! The adder tree is that of W. Mula, N. Kurz, D. Lemire, "Faster population counts using AVX2 instructions", The
//! Computer Journal 61(1), 2018, which counts whole words (Harley and Seal).

use std::array::from_fn;
use std::mem::swap;
use std::ops::Range;

use super::comparison::Comparison;
use super::kernels::{Kernels, kernels, multiversioned};
use super::matrix::{BLOCK_ROWS, BitBlock};
use super::scalar;
use super::vector::{WORD_BITS, words_for};

/// Lanes per word of a row, and so the words per plane.
const LANES: usize = 8;
type Plane = [u64; LANES];

/// For each of `n` coordinates, the number of added rows whose bit is 1.
#[derive(Clone, Debug)]
pub struct Tally {
    rows: u32,
    /// Counts that were drained from the planes or added by the scalar twin.
    counts: Vec<u32>,
    /// Whether `counts` includes any rows.
    is_drained: bool,
    /// Blocks that the planes include.
    blocks: u32,
    /// The planes of 1, 2 and 4 of each word.
    low: Vec<[Plane; 3]>,
    /// The planes of 8, 16, .., one level each.
    levels: Vec<Level>,
    /// Scratch space for the planes that one level carries to the next.
    carries: Vec<Plane>,
}

/// The planes of 2^(3 + level), one per word.
#[derive(Clone, Debug)]
struct Level {
    sums: Vec<Plane>,
    /// Planes that wait for a second plane of the same value. They are in use if bit `level` of the number of blocks
    /// is 1.
    waiting: Vec<Plane>,
}

impl Tally {
    /// Creates the tally of no rows of `n` bits.
    pub fn new(n: usize) -> Self {
        Self::from_counts(0, vec![0; n])
    }

    /// Resumes from the counts of `rows` rows.
    ///
    /// # Panics
    /// Panics if a count exceeds `rows`.
    pub fn from_counts(rows: u32, counts: Vec<u32>) -> Self {
        assert!(counts.iter().all(|&count| count <= rows));
        let words = words_for(counts.len());
        Self {
            rows,
            is_drained: rows > 0,
            counts,
            blocks: 0,
            low: vec![[[0; LANES]; 3]; words],
            levels: Vec::new(),
            carries: vec![[0; LANES]; words],
        }
    }

    /// Returns the number of coordinates.
    pub fn n(&self) -> usize {
        self.counts.len()
    }

    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// Adds the rows `rows` of a block.
    ///
    /// # Panics
    /// Panics if the number of words per row differs, `rows` extends past the last row of the block, or the
    /// total would exceed `u32::MAX` rows.
    pub fn add(&mut self, block: BitBlock, rows: Range<usize>) {
        assert_eq!(block.words_per_row(), self.low.len(), "words a row");
        assert!(rows.end <= block.rows());
        if rows.is_empty() {
            return;
        }
        let Some(total) = self.rows.checked_add(rows.len() as u32) else {
            panic!("more than {} rows", u32::MAX);
        };
        self.rows = total;
        match kernels() {
            Kernels::Detected => self.add_to_planes(block, rows),
            Kernels::Scalar => {
                self.is_drained = true;
                scalar::tally(block, rows, &mut self.counts);
            }
        }
    }

    fn add_to_planes(&mut self, block: BitBlock, rows: Range<usize>) {
        if rows.len() == BLOCK_ROWS {
            add_block(block.words(), &mut self.low, &mut self.carries);
        } else {
            add_rows(
                block.words(),
                rows.start,
                rows.end,
                &mut self.low,
                &mut self.carries,
            );
        }
        let level = self.blocks.trailing_ones() as usize;
        for level in &mut self.levels[..level] {
            add_planes(&mut level.sums, &level.waiting, &mut self.carries);
        }
        match self.levels.get_mut(level) {
            Some(level) => swap(&mut level.waiting, &mut self.carries),
            None => self.levels.push(Level {
                sums: vec![[0; LANES]; self.carries.len()],
                waiting: self.carries.clone(),
            }),
        }
        self.blocks += 1;
    }

    /// The counts of the coordinates in order. Drains the planes into them.
    pub fn counts(&mut self) -> &[u32] {
        self.drain();
        &self.counts
    }

    /// Compares the counts with `number`, word by word. Coordinates past the last compare like a count of 0.
    pub fn compare(&mut self, number: u32) -> impl Iterator<Item = Comparison> {
        if self.is_drained {
            self.drain();
        }
        let (is_drained, words) = (self.is_drained, self.low.len());
        (0..words).map(move |word| {
            if is_drained {
                scalar::compare(self.counts.chunks(WORD_BITS).nth(word), number)
            } else {
                compare_digits(self.planes(word), number)
            }
        })
    }

    pub fn clear(&mut self) {
        self.rows = 0;
        if self.is_drained {
            self.counts.fill(0);
            self.is_drained = false;
        }
        self.clear_planes();
    }

    fn drain(&mut self) {
        if self.blocks == 0 {
            return;
        }
        for word in 0..self.low.len() {
            let mut drained = [0; WORD_BITS];
            expand_digits(self.planes(word), &mut drained);
            let counts = self.counts[word * WORD_BITS..].iter_mut();
            for (count, drained) in counts.zip(drained) {
                *count += drained;
            }
        }
        self.is_drained = true;
        self.clear_planes();
    }

    fn planes(&self, word: usize) -> Planes<'_> {
        Planes {
            word,
            low: &self.low[word],
            levels: &self.levels,
            blocks: self.blocks,
        }
    }

    fn clear_planes(&mut self) {
        if self.blocks == 0 {
            return;
        }
        self.blocks = 0;
        self.low.fill([[0; LANES]; 3]);
        for level in &mut self.levels {
            level.sums.fill([0; LANES]);
        }
    }
}

/// The planes of one word.
#[derive(Clone, Copy)]
struct Planes<'t> {
    word: usize,
    low: &'t [Plane; 3],
    levels: &'t [Level],
    blocks: u32,
}

impl Planes<'_> {
    /// Calls `take` with each digit of the 64 counts, from the lowest, and returns the number of digits. A digit has
    /// one bit per coordinate. The counts are summed over all lanes and include the waiting planes.
    #[inline(always)]
    fn for_each_digit(self, mut take: impl FnMut(usize, u64)) -> usize {
        const NONE: Plane = [0; LANES];
        let mut carries = [NONE; 4];
        let mut place = 0;
        for plane in self.low {
            take(place, add_lanes(&mut carries, plane, &NONE));
            place += 1;
        }
        for (level, planes) in self.levels.iter().enumerate() {
            let is_waiting = self.blocks >> level & 1 == 1;
            let waiting = if is_waiting {
                &planes.waiting[self.word]
            } else {
                &NONE
            };
            take(
                place,
                add_lanes(&mut carries, &planes.sums[self.word], waiting),
            );
            place += 1;
        }
        // Each of the four additions of the last digit left a carry.
        for _ in 0..carries.len() {
            take(place, add_lanes(&mut carries, &NONE, &NONE));
            place += 1;
        }
        place
    }
}

/// Computes one digit from a plane, the waiting plane and the carries of the previous digit, by adding one half of
/// the lanes to the other in three steps. All eight lanes are kept, because reading a part of a vector that was just
/// written is slow.
///
/// This is an `inline(always)` function because a closure was compiled without the instruction set of its caller.
#[inline(always)]
fn add_lanes(carries: &mut [Plane; 4], plane: &Plane, waiting: &Plane) -> u64 {
    let [last, four, two, one] = carries;
    let sum = add_three_planes(plane, waiting, last);
    let sum = add_three_planes(&sum, &turned::<4>(&sum), four);
    let sum = add_three_planes(&sum, &turned::<2>(&sum), two);
    let sum = add_three_planes(&sum, &turned::<1>(&sum), one);
    sum[0]
}

/// Rotates the lanes so that lane `BY` comes first.
#[inline(always)]
fn turned<const BY: usize>(plane: &Plane) -> Plane {
    let mut turned = [0; LANES];
    for lane in 0..LANES {
        turned[lane] = plane[(lane + BY) % LANES];
    }
    turned
}

/// The sum of three planes. Leaves the carry in the third.
#[inline(always)]
fn add_three_planes(a: &Plane, b: &Plane, c: &mut Plane) -> Plane {
    let mut sum = [0; LANES];
    for lane in 0..LANES {
        (sum[lane], c[lane]) = add_three(a[lane], b[lane], c[lane]);
    }
    sum
}

/// Upper bound of the number of digits: three low planes, 32 levels and four carries.
const DIGITS_MAX: usize = 3 + 32 + 4;

/// The sum and the carry of three words.
#[inline(always)]
fn add_three(a: u64, b: u64, c: u64) -> (u64, u64) {
    let differing = a ^ b;
    (differing ^ c, a & b | differing & c)
}

/// Adds eight rows per lane to the planes of 1, 2 and 4 and writes the plane of 8 to `carry`.
#[inline(always)]
fn add_column(column: &[u64; BLOCK_ROWS], low: &mut [Plane; 3], carry: &mut Plane) {
    let [mut ones, mut twos, mut fours] = *low;
    let mut eights = [0; LANES];
    for lane in 0..LANES {
        let row = |place: usize| column[LANES * place + lane];
        let (one, two_a) = add_three(ones[lane], row(0), row(1));
        let (one, two_b) = add_three(one, row(2), row(3));
        let (one, two_c) = add_three(one, row(4), row(5));
        let (one, two_d) = add_three(one, row(6), row(7));
        let (two, four_a) = add_three(twos[lane], two_a, two_b);
        let (two, four_b) = add_three(two, two_c, two_d);
        let (four, eight) = add_three(fours[lane], four_a, four_b);
        (ones[lane], twos[lane], fours[lane], eights[lane]) = (one, two, four, eight);
    }
    *low = [ones, twos, fours];
    *carry = eights;
}

multiversioned! {
    fn add_block(words: &[u64], low: &mut [[Plane; 3]], carries: &mut [Plane]) {
        let columns = words.as_chunks::<BLOCK_ROWS>().0;
        for ((column, low), carry) in columns.iter().zip(low).zip(carries) {
            add_column(column, low, carry);
        }
    }
}

multiversioned! {
    fn add_rows(words: &[u64], start: usize, end: usize, low: &mut [[Plane; 3]], carries: &mut [Plane]) {
        let mut chosen = [0; BLOCK_ROWS];
        for (row, chosen) in chosen.iter_mut().enumerate() {
            *chosen = u64::from(start <= row && row < end).wrapping_neg();
        }
        let columns = words.as_chunks::<BLOCK_ROWS>().0;
        for ((column, low), carry) in columns.iter().zip(low).zip(carries) {
            let rows = from_fn(|row| column[row] & chosen[row]);
            add_column(&rows, low, carry);
        }
    }
}

multiversioned! {
    /// Adds the waiting and the carried planes to the sums, and leaves the new carries in `carries`.
    fn add_planes(sums: &mut [Plane], waiting: &[Plane], carries: &mut [Plane]) {
        let (sums, waiting) = (sums.as_flattened_mut(), waiting.as_flattened());
        for ((sum, &waiting), carry) in sums.iter_mut().zip(waiting).zip(carries.as_flattened_mut()) {
            (*sum, *carry) = add_three(*sum, waiting, *carry);
        }
    }
}

multiversioned! {
    /// Computes the 64 counts of one word.
    fn expand_digits(planes: Planes<'_>, counts: &mut [u32; WORD_BITS]) {
        let mut digits = [0; DIGITS_MAX];
        let used = planes.for_each_digit(|place, digit| digits[place] = digit);
        // The loop runs from the highest digit down, so each step doubles the counts so far. Digits past the
        // 32nd are zero because the tally holds at most `u32::MAX` rows.
        let (low, high) = counts.split_at_mut(32);
        for &digit in digits[..used].iter().rev() {
            let (bits_low, bits_high) = (digit as u32, (digit >> 32) as u32);
            for (j, (low, high)) in low.iter_mut().zip(&mut *high).enumerate() {
                *low = *low << 1 | bits_low >> j & 1;
                *high = *high << 1 | bits_high >> j & 1;
            }
        }
    }
}

multiversioned! {
    /// Compares the 64 counts of one word with `number`.
    fn compare_digits(planes: Planes<'_>, number: u32) -> Comparison {
        let number = u64::from(number);
        let (mut at_least, mut equal) = (u64::MAX, u64::MAX);
        // The loop runs from the lowest digit up, because a higher digit decides unless both numbers have the
        // same.
        let used = planes.for_each_digit(|place, digit| {
            let other = (number >> place & 1).wrapping_neg();
            at_least = digit & !other | !(digit ^ other) & at_least;
            equal &= !(digit ^ other);
        });
        if number >> used == 0 {
            Comparison { at_least, equal }
        } else {
            Comparison { at_least: 0, equal: 0 }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::Lanes;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn tally_matches_the_plain_twin(
            n in prop_oneof![1_usize..130, 1_usize..500], seed in any::<u64>(), dense in any::<bool>(),
            parts in prop::collection::vec((0..=BLOCK_ROWS, 0..=BLOCK_ROWS, 0..20), 0..70),
            any_number in any::<u32>(),
        ) {
            let mut lanes = Lanes::from_seed(seed);
            let mut buffer = crate::bits::BlockBuffer::new(n);
            let (mut tally, mut expected, mut rows) = (Tally::new(n), vec![0; n], 0);
            for (start, end, action) in parts {
                let (start, end) = if dense { (0, BLOCK_ROWS) } else { (start.min(end), start.max(end)) };
                buffer.draw(end, &mut lanes);
                tally.add(buffer.as_block(), start..end);
                scalar::tally(buffer.as_block(), start..end, &mut expected);
                rows += (end - start) as u32;
                let number = match action {
                    3 => any_number >> (expected[0] & 31),
                    _ => expected[0].saturating_add_signed(action - 3),
                };
                let found: Vec<Comparison> = tally.compare(number).collect();
                for (word, found) in found.into_iter().enumerate() {
                    let expected = expected.chunks(WORD_BITS).nth(word);
                    prop_assert_eq!(found, scalar::compare(expected, number));
                }
                match action {
                    0 => prop_assert_eq!(tally.counts(), &expected[..]),
                    1 => tally = Tally::from_counts(tally.rows(), tally.counts().to_vec()),
                    2 => {
                        tally.clear();
                        expected.fill(0);
                        rows = 0;
                    }
                    _ => {}
                }
            }
            prop_assert_eq!(tally.counts(), &expected[..]);
            prop_assert_eq!(tally.counts(), &expected[..]);
            prop_assert_eq!(tally.rows(), rows);
        }
    }

    #[test]
    fn tally_counts_every_row_of_many_blocks_of_ones() {
        let ones = vec![u64::MAX; BLOCK_ROWS];
        let block = BitBlock::new(&ones, BLOCK_ROWS);
        let mut tally = Tally::new(64);
        for blocks in 1..=1_030_u32 {
            tally.add(block, 0..BLOCK_ROWS);
            if blocks % 257 == 0 {
                let mut drained = tally.clone();
                assert_eq!(drained.counts(), [blocks * 64; 64]);
            }
        }
        assert_eq!(tally.counts(), [1_030 * 64; 64]);
    }

    #[test]
    #[should_panic(expected = "more than")]
    fn tally_refuses_rows_past_the_range_of_a_count() {
        let ones = vec![u64::MAX; BLOCK_ROWS];
        let mut tally = Tally::from_counts(u32::MAX - 3, vec![0; 5]);
        tally.add(BitBlock::new(&ones, BLOCK_ROWS), 0..4);
    }
}
