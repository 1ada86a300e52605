//! The classes of examples, as codes in bit planes.
//!
//! Plane `p` has bit `p` of the code of each example, so finding the examples of a class among 64 takes a few word
//! operations, and two classes take one bit per example. The codes number a list of class names, which this module does
//! not know. A learner of two classes sees code 1 as +1 and code 0 as -1.

use crate::bits::{BLOCK_ROWS, BitVector, WORD_BITS, last_word_mask};

/// The most bit planes, and so the most classes: 2^16.
pub const PLANES_MAX: usize = 16;

/// The number of bit planes for so many classes, at least 1.
pub fn planes_for(classes: usize) -> usize {
    (classes
        .saturating_sub(1)
        .checked_ilog2()
        .map_or(0, |log| log + 1) as usize)
        .max(1)
}

/// The class codes of some examples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassCodes {
    /// At least one plane, all of the same length.
    planes: Vec<BitVector>,
}

impl ClassCodes {
    /// Makes the codes of `rows` examples from the words of each plane.
    ///
    /// # Panics
    /// Panics unless there are 1 to [`PLANES_MAX`] planes of as many words as the examples need.
    pub fn from_planes(rows: usize, planes: Vec<Vec<u64>>) -> Self {
        let planes = planes.into_iter();
        Self::of_planes(
            planes
                .map(|words| BitVector::from_words(rows, words))
                .collect(),
        )
    }

    /// Makes the codes of the bits of each plane.
    ///
    /// # Panics
    /// Panics unless there are 1 to [`PLANES_MAX`] planes of the same length.
    pub fn of_planes(planes: Vec<BitVector>) -> Self {
        assert!((1..=PLANES_MAX).contains(&planes.len()), "planes of codes");
        assert!(
            planes.iter().all(|plane| plane.n() == planes[0].n()),
            "codes for each row"
        );
        Self { planes }
    }

    /// The number of examples.
    pub fn rows(&self) -> usize {
        self.planes[0].n()
    }

    pub fn planes(&self) -> usize {
        self.planes.len()
    }

    /// The signs of two classes: bit 1 means +1. None if there are more classes.
    pub fn signs(&self) -> Option<&BitVector> {
        match self.planes.as_slice() {
            [signs] => Some(signs),
            _ => None,
        }
    }

    /// The code of an example.
    pub fn get(&self, row: usize) -> u32 {
        let bits = self.planes.iter().enumerate();
        bits.fold(0, |code, (plane, bits)| {
            code | u32::from(bits.get(row)) << plane
        })
    }

    /// The examples with code 1, of two classes, among up to 64 from `first` on, which are in one block.
    pub fn positives(&self, first: usize) -> u64 {
        debug_assert_eq!(self.planes(), 1, "two classes");
        self.planes[0].words()[first / BLOCK_ROWS] >> (first % BLOCK_ROWS)
    }

    /// The codes of up to 64 examples from `first` on, which are in one block.
    pub fn block(&self, first: usize) -> BlockCodes {
        let mut block = BlockCodes::zeros(self.planes());
        for (word, plane) in block.planes.iter_mut().zip(&self.planes) {
            *word = plane.words()[first / BLOCK_ROWS] >> (first % BLOCK_ROWS);
        }
        block
    }

    /// Copies the codes of these examples.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        let select = |all: &BitVector| {
            let mut bits = BitVector::zeros(rows.len());
            for (at, &row) in rows.iter().enumerate() {
                bits.set(at, all.get(row));
            }
            bits
        };
        Self {
            planes: self.planes.iter().map(select).collect(),
        }
    }

    /// Replaces each code by its entry in `codes`, which must have one for every code that occurs. The result has
    /// `planes` planes.
    #[must_use]
    pub fn recoded(&self, codes: &[Option<u32>], planes: usize) -> Self {
        let rows = self.rows();
        let mut planes = vec![Vec::with_capacity(rows.div_ceil(WORD_BITS)); planes];
        for first in (0..rows).step_by(BLOCK_ROWS) {
            let block = self.block(first).recoded(codes, planes.len());
            for (words, word) in planes.iter_mut().zip(block.words()) {
                words.push(word & last_word_mask((rows - first).min(BLOCK_ROWS)));
            }
        }
        Self::from_planes(rows, planes)
    }
}

impl From<BitVector> for ClassCodes {
    /// The codes of two classes: bit 1 means +1.
    fn from(signs: BitVector) -> Self {
        Self {
            planes: vec![signs],
        }
    }
}

/// The class codes of up to 64 examples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockCodes {
    planes: [u64; PLANES_MAX],
    count: usize,
}

impl BlockCodes {
    /// Code 0 for every example, in `planes` planes.
    pub fn zeros(planes: usize) -> Self {
        debug_assert!((1..=PLANES_MAX).contains(&planes));
        Self {
            planes: [0; PLANES_MAX],
            count: planes,
        }
    }

    /// The codes of two classes. Bit `r` of `positives` is the code of example `r`.
    pub fn of_signs(positives: u64) -> Self {
        let mut codes = Self::zeros(1);
        codes.planes[0] = positives;
        codes
    }

    /// The word of each plane. Bit `r` belongs to example `r`.
    pub fn words(&self) -> &[u64] {
        &self.planes[..self.count]
    }

    /// The word of each plane.
    pub fn words_mut(&mut self) -> &mut [u64] {
        &mut self.planes[..self.count]
    }

    /// The code of an example.
    pub fn get(&self, row: usize) -> u32 {
        let words = self.words().iter().enumerate();
        words.fold(0, |code, (plane, word)| {
            code | ((word >> row & 1) as u32) << plane
        })
    }

    /// Sets the code of an example whose code is 0.
    pub fn set(&mut self, row: usize, code: u32) {
        for (plane, word) in self.words_mut().iter_mut().enumerate() {
            *word |= u64::from(code >> plane & 1) << row;
        }
    }

    /// The examples with this code. Rows beyond the last example have code 0.
    pub fn mask(&self, code: u32) -> u64 {
        let words = self.words().iter().enumerate();
        words.fold(!0, |mask, (plane, word)| match code >> plane & 1 {
            1 => mask & word,
            _ => mask & !word,
        })
    }

    /// Calls `see` with each code that one of the first `rows` examples has, and the number of these examples. Codes
    /// may come more than once. There must be at least one example.
    pub fn count(&self, rows: usize, mut see: impl FnMut(u32, u32)) {
        match self.words() {
            [word] => {
                let positives = (word & last_word_mask(rows)).count_ones();
                see(0, rows as u32 - positives);
                see(1, positives);
            }
            _ => (0..rows).for_each(|row| see(self.get(row), 1)),
        }
    }

    /// Replaces each code by its entry in `codes`, in `planes` planes. Examples whose code has no entry get 0.
    #[must_use]
    pub fn recoded(&self, codes: &[Option<u32>], planes: usize) -> Self {
        let mut recoded = Self::zeros(planes);
        for (code, other) in (0..).zip(codes) {
            let Some(other) = other.filter(|&other| other != 0) else {
                continue;
            };
            let mask = self.mask(code);
            for (plane, word) in recoded.words_mut().iter_mut().enumerate() {
                if other >> plane & 1 == 1 {
                    *word |= mask;
                }
            }
        }
        recoded
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    #[test]
    fn classes_take_as_many_planes_as_their_codes_have_bits() {
        let planes = [0, 1, 2, 3, 4, 5, 256, 257, 1 << 16].map(planes_for);
        assert_eq!(planes, [1, 1, 1, 2, 2, 3, 8, 9, PLANES_MAX]);
    }

    #[test]
    fn class_codes_are_read_selected_and_recoded() {
        let mut random = StdRng::seed_from_u64(7);
        for classes in [1_u32, 2, 3, 26, 300] {
            let codes: Vec<u32> = (0..200).map(|_| random.random_range(0..classes)).collect();
            let planes = planes_for(classes as usize);
            let mut words = vec![vec![0; codes.len().div_ceil(WORD_BITS)]; planes];
            for (row, code) in codes.iter().enumerate() {
                for (plane, words) in words.iter_mut().enumerate() {
                    words[row / WORD_BITS] |= u64::from(code >> plane & 1) << (row % WORD_BITS);
                }
            }
            let all = ClassCodes::from_planes(codes.len(), words);
            let read =
                |all: &ClassCodes| (0..all.rows()).map(|row| all.get(row)).collect::<Vec<_>>();
            assert_eq!(read(&all), codes);
            let block = all.block(70);
            assert_eq!(
                (0..58).map(|row| block.get(row)).collect::<Vec<_>>(),
                codes[70..128]
            );
            for class in 0..classes {
                let mask = (0..58).fold(0, |mask, row| {
                    mask | u64::from(codes[70 + row] == class) << row
                });
                assert_eq!(block.mask(class) & ((1 << 58) - 1), mask);
            }
            assert_eq!(read(&all.select(&[199, 3])), [codes[199], codes[3]]);
            let other: Vec<u32> = (0..classes).map(|_| random.random_range(0..500)).collect();
            let entries: Vec<Option<u32>> = other.iter().copied().map(Some).collect();
            let recoded = read(&all.recoded(&entries, planes_for(500)));
            assert_eq!(
                recoded,
                codes
                    .iter()
                    .map(|&code| other[code as usize])
                    .collect::<Vec<_>>()
            );
        }
    }
}
