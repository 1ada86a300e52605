//! The positional tally: for each coordinate, in how many rows its bit is 1.
//!
//! Rows are added by carry-save adders. Of each word of the rows stand eight lanes of bit planes:
//! bit j of plane p of a lane is digit p of the count of coordinate j over the rows of that
//! lane. A block of 64 rows is eight rows a lane; seven adders reduce those and the planes of
//! 1, 2 and 4 to one plane of 8, and the planes of 8, 16, .. take these up as a binary
//! counter, so that on average one further adder a block is at work. Only when the counts are
//! asked for are the planes drained.
//!
//! Source of the adder tree: W. Mula, N. Kurz, D. Lemire, "Faster population counts using AVX2
//! instructions", The Computer Journal 61(1), 2018, there for whole words (Harley and Seal).

use std::ops::Range;

use super::kernels::{Kernels, kernels, multiversioned};
use super::{BLOCK_ROWS, BitBlock, WORD_BITS, scalar, words_for};

/// Words of one plane of one word of the rows.
const LANES: usize = 8;
type Plane = [u64; LANES];

/// For each of `n` coordinates the number of rows added whose bit is 1.
#[derive(Clone, Debug)]
pub struct Tally {
    rows: u32,
    /// What has been drained, or was added by the plain twin.
    counts: Vec<u32>,
    /// Blocks in the planes.
    blocks: u32,
    /// The planes of 1, 2 and 4 of each word.
    low: Vec<[Plane; 3]>,
    /// The planes of 8, 16, .., a level each.
    levels: Vec<Level>,
    /// The planes carried from one level to the next; room only.
    carries: Vec<Plane>,
}

/// The planes of 2^(3 + level), one for each word.
#[derive(Clone, Debug)]
struct Level {
    sums: Vec<Plane>,
    /// Planes that wait for a partner: in use when bit `level` of the number of blocks is 1.
    waiting: Vec<Plane>,
}

impl Tally {
    /// The tally of no rows of `n` bits.
    pub fn new(n: usize) -> Self {
        Self::from_counts(0, vec![0; n])
    }

    /// Resumes from the counts of `rows` rows.
    ///
    /// # Panics
    /// When a count exceeds `rows`.
    pub fn from_counts(rows: u32, counts: Vec<u32>) -> Self {
        assert!(counts.iter().all(|&count| count <= rows));
        let words = words_for(counts.len());
        Self {
            rows,
            counts,
            blocks: 0,
            low: vec![[[0; LANES]; 3]; words],
            levels: Vec::new(),
            carries: vec![[0; LANES]; words],
        }
    }

    /// The number of coordinates.
    pub fn n(&self) -> usize {
        self.counts.len()
    }

    /// How many rows have been added.
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// Adds the rows of a block that stand in `rows`.
    ///
    /// # Panics
    /// When the rows have another number of words, the block does not hold all of `rows`, or
    /// more than `u32::MAX` rows would have been added.
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
            Kernels::Scalar => scalar::tally(block, rows, &mut self.counts),
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
            Some(level) => level.waiting.copy_from_slice(&self.carries),
            None => self.levels.push(Level {
                sums: vec![[0; LANES]; self.carries.len()],
                waiting: self.carries.clone(),
            }),
        }
        self.blocks += 1;
    }

    /// The counts of the coordinates, in order. What has been added is drained into them.
    pub fn counts(&mut self) -> &[u32] {
        self.drain();
        &self.counts
    }

    /// Back to no rows.
    pub fn clear(&mut self) {
        self.rows = 0;
        self.counts.fill(0);
        self.clear_planes();
    }

    fn drain(&mut self) {
        if self.blocks == 0 {
            return;
        }
        for (word, counts) in self.counts.chunks_mut(WORD_BITS).enumerate() {
            let mut digits = Digits::default();
            digits.planes[..3].copy_from_slice(&self.low[word]);
            let mut waiting = Digits::default();
            for (place, level) in self.levels.iter().enumerate() {
                digits.planes[3 + place] = level.sums[word];
                if self.blocks >> place & 1 == 1 {
                    waiting.planes[3 + place] = level.waiting[word];
                }
            }
            let mut drained = [0; WORD_BITS];
            drain_word(&mut digits, &waiting, 3 + self.levels.len(), &mut drained);
            for (count, drained) in counts.iter_mut().zip(drained) {
                *count += drained;
            }
        }
        self.clear_planes();
    }

    fn clear_planes(&mut self) {
        self.blocks = 0;
        self.low.fill([[0; LANES]; 3]);
        for level in &mut self.levels {
            level.sums.fill([0; LANES]);
        }
    }
}

/// The planes of one word, of 1, 2, 4, ..: 32 levels above the lowest three, one for the sum with
/// what waits, and three for the sum over the lanes.
struct Digits {
    planes: [Plane; 3 + 32 + 1 + 3],
}

impl Default for Digits {
    fn default() -> Self {
        Self {
            planes: [[0; LANES]; 39],
        }
    }
}

/// Sum and carry of three planes.
#[inline(always)]
fn add_three(a: u64, b: u64, c: u64) -> (u64, u64) {
    let differing = a ^ b;
    (differing ^ c, a & b | differing & c)
}

/// Adds eight rows a lane to the planes of 1, 2 and 4 and leaves the plane of 8.
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
        let columns = words.as_chunks::<BLOCK_ROWS>().0;
        for ((column, low), carry) in columns.iter().zip(low).zip(carries) {
            let mut chosen = [0; BLOCK_ROWS];
            chosen[start..end].copy_from_slice(&column[start..end]);
            add_column(&chosen, low, carry);
        }
    }
}

multiversioned! {
    /// Adds what waits and what is carried to the sums, and leaves what is carried on.
    fn add_planes(sums: &mut [Plane], waiting: &[Plane], carries: &mut [Plane]) {
        let (sums, waiting) = (sums.as_flattened_mut(), waiting.as_flattened());
        for ((sum, &waiting), carry) in sums.iter_mut().zip(waiting).zip(carries.as_flattened_mut()) {
            (*sum, *carry) = add_three(*sum, waiting, *carry);
        }
    }
}

multiversioned! {
    /// The 64 counts of one word, from `used` planes of `digits` and of `waiting`.
    fn drain_word(digits: &mut Digits, waiting: &Digits, used: usize, counts: &mut [u32; WORD_BITS]) {
        let planes = &mut digits.planes;
        let mut carry = [0; LANES];
        for (plane, waiting) in planes.iter_mut().zip(&waiting.planes).take(used) {
            for lane in 0..LANES {
                (plane[lane], carry[lane]) = add_three(plane[lane], waiting[lane], carry[lane]);
            }
        }
        planes[used] = carry;
        let mut used = used + 1;
        // Half of the lanes are added to the other half, three times.
        for half in [4, 2, 1] {
            let mut carry = [0; 4];
            for plane in &mut planes[..used] {
                for lane in 0..half {
                    (plane[lane], carry[lane]) = add_three(plane[lane], plane[lane + half], carry[lane]);
                }
            }
            planes[used][..4].copy_from_slice(&carry);
            used += 1;
        }
        // From the highest digit down, so that each step doubles what is there. Digits past the
        // 32nd are zero, since no more than `u32::MAX` rows are in.
        let (low, high) = counts.split_at_mut(32);
        for plane in planes[..used].iter().rev() {
            let (bits_low, bits_high) = (plane[0] as u32, (plane[0] >> 32) as u32);
            for (j, (low, high)) in low.iter_mut().zip(&mut *high).enumerate() {
                *low = *low << 1 | bits_low >> j & 1;
                *high = *high << 1 | bits_high >> j & 1;
            }
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
        fn counts_match_the_plain_twin(
            n in prop_oneof![1_usize..130, 1_usize..500], seed in any::<u64>(), dense in any::<bool>(),
            parts in prop::collection::vec((0..=BLOCK_ROWS, 0..=BLOCK_ROWS, 0..20), 0..70),
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
    fn many_rows_of_ones_are_all_counted() {
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
    fn rows_past_the_range_of_a_count_are_refused() {
        let ones = vec![u64::MAX; BLOCK_ROWS];
        let mut tally = Tally::from_counts(u32::MAX - 3, vec![0; 5]);
        tally.add(BitBlock::new(&ones, BLOCK_ROWS), 0..4);
    }
}
