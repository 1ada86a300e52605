//! A vector of bits, 64 per machine word, and the size and mask of its words.

/// Bits per machine word of the packed layout.
pub const WORD_BITS: usize = 64;

/// Returns the number of words that hold `n` bits.
pub const fn words_for(n: usize) -> usize {
    n.div_ceil(WORD_BITS)
}

/// The mask of the bits in use in the last word of `n` bits, all ones if `n` is a multiple of 64.
pub const fn last_word_mask(n: usize) -> u64 {
    match n % WORD_BITS {
        0 => u64::MAX,
        used => (1 << used) - 1,
    }
}

/// Returns the places of the bits of a word that are 1, ascending from 0.
pub fn ones_of(mut word: u64) -> impl Iterator<Item = usize> + Clone {
    std::iter::from_fn(move || {
        let place = (word != 0).then(|| word.trailing_zeros() as usize)?;
        word &= word - 1;
        Some(place)
    })
}

/// A vector of `n` bits. Coordinate `j` (from 0) is bit `j % 64` of word `j / 64`.
///
/// Invariant: the unused high bits of the last word are zero, so equal vectors have equal words.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BitVector {
    n: usize,
    words: Vec<u64>,
}

impl BitVector {
    /// Creates a vector of `n` zero bits.
    pub fn zeros(n: usize) -> Self {
        Self {
            n,
            words: vec![0; words_for(n)],
        }
    }

    /// Takes packed words and clears the bits past `n`.
    ///
    /// # Panics
    /// Panics if the length of `words` is not `words_for(n)`.
    pub fn from_words(n: usize, mut words: Vec<u64>) -> Self {
        assert_eq!(words.len(), words_for(n), "words for {n} bits");
        if let Some(last) = words.last_mut() {
            *last &= last_word_mask(n);
        }
        Self { n, words }
    }

    /// The string of `0` and `1` that [`Self::from_bit_string`] parses.
    pub fn to_bit_string(&self) -> String {
        (0..self.n)
            .map(|j| if self.get(j) { '1' } else { '0' })
            .collect()
    }

    /// Returns the number of coordinates.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Returns the packed words, `words_for(n)` in number.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Returns the packed words for a kernel, which must leave the unused bits zero.
    pub(super) fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// Returns coordinate `j`, from 0.
    pub fn get(&self, j: usize) -> bool {
        assert!(j < self.n);
        self.words[j / WORD_BITS] >> (j % WORD_BITS) & 1 == 1
    }

    /// Sets coordinate `j`, from 0.
    pub fn set(&mut self, j: usize, bit: bool) {
        assert!(j < self.n);
        let mask = 1 << (j % WORD_BITS);
        if bit {
            self.words[j / WORD_BITS] |= mask;
        } else {
            self.words[j / WORD_BITS] &= !mask;
        }
    }

    /// Sets each coordinate `first + r` whose bit `r` in `word` is 1.
    ///
    /// # Panics
    /// Panics if such a coordinate is beyond the last word.
    pub fn set_word_from(&mut self, first: usize, word: u64) {
        let (at, shift) = (first / WORD_BITS, first % WORD_BITS);
        let [low, high] = [
            word << shift,
            word.checked_shr((WORD_BITS - shift) as u32).unwrap_or(0),
        ];
        for (at, bits) in [(at, low), (at + 1, high)] {
            if bits != 0 {
                self.words[at] |= bits;
            }
        }
    }

    /// Returns 64 coordinates from `first` on. Coordinates beyond the last are 0.
    pub fn word_from(&self, first: usize) -> u64 {
        let (word, bit) = (first / WORD_BITS, first % WORD_BITS);
        let get = |word: usize| self.words.get(word).copied().unwrap_or(0);
        match bit {
            0 => get(word),
            bit => get(word) >> bit | get(word + 1) << (WORD_BITS - bit),
        }
    }

    /// Returns the number of coordinates that are 1.
    pub fn ones(&self) -> u64 {
        let ones = self.words.iter().map(|word| word.count_ones());
        ones.map(u64::from).sum()
    }

    /// Returns the coordinates that are 1, ascending from 0.
    pub fn places(&self) -> impl Iterator<Item = usize> + Clone {
        let words = (0..).step_by(WORD_BITS).zip(&self.words);
        words.flat_map(|(first, word)| ones_of(*word).map(move |place| first + place))
    }

    /// Inverts coordinate `j`, from 0.
    pub fn flip(&mut self, j: usize) {
        assert!(j < self.n);
        self.words[j / WORD_BITS] ^= 1 << (j % WORD_BITS);
    }

    /// Inverts the coordinates of word `word` whose bit of `mask` is 1.
    ///
    /// # Panics
    /// Panics if there is no such word or no such coordinate.
    pub fn flip_masked(&mut self, word: usize, mask: u64) {
        let last = self.words.len() - 1;
        assert!(word < last || mask & !last_word_mask(self.n) == 0);
        self.words[word] ^= mask;
    }

    /// Returns the number of coordinates in which two vectors of the same length differ.
    pub fn hamming_distance(&self, other: &Self) -> usize {
        assert_eq!(self.n, other.n);
        let differing = |(a, b): (&u64, &u64)| (a ^ b).count_ones() as usize;
        self.words.iter().zip(&other.words).map(differing).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bit_strings_survive_the_round_trip() {
        for n in [1, 7, 8, 63, 64, 65, 200] {
            let text: String = (0..n).map(|j| if j % 3 == 0 { '1' } else { '0' }).collect();
            let vector = BitVector::from_bit_string(text.as_bytes()).expect("bits");
            assert_eq!(vector.to_bit_string(), text);
            assert_eq!(vector.n(), n);
        }
    }

    #[test]
    fn bit_string_error_names_the_first_byte_other_than_0_and_1() {
        assert_eq!(BitVector::from_bit_string(b"01012"), Err(4));
        assert_eq!(BitVector::from_bit_string("01\u{fb}".as_bytes()), Err(2));
    }

    #[test]
    fn bits_past_the_end_are_cleared() {
        let vector = BitVector::from_words(3, vec![u64::MAX]);
        assert_eq!(vector.words(), [0b111]);
    }
}
