//! The states of a learner of binary weights: one odd integer per weight, whose sign is the weight. The papers call
//! them hidden states, because predictions depend on their signs only.
//!
//! Each example on which a learner updates moves the states. A state far from zero keeps its sign even if several such
//! examples disagree with it. The learners `sbpi` and `clipped-perceptron` share these moves and decide when to make
//! them.
//!
//! C. Baldassi, A. Braunstein, N. Brunel, R. Zecchina, "Efficient supervised learning in networks with binary
//! synapses", PNAS 104 (2007) 11079-11084. The states of the paper are bounded. Here they are 64-bit numbers, which no
//! run is long enough to overflow.

use crate::bits::{self, BitVector, WORD_BITS};

use crate::learners::engine::random::Generator;
use crate::learners::engine::random::random_vector;
use crate::learners::engine::snapshot::{SnapshotError, SnapshotReader, SnapshotWriter};
use crate::learners::engine::update::Update;
use crate::learners::sample::block::Block;

/// Hidden states and the weights that are their signs.
#[derive(Clone, Debug)]
pub struct HiddenStates {
    /// Odd numbers, so that no state is 0.
    states: Vec<i64>,
    weights: BitVector,
    /// Buffers for one example and for a mask.
    row: Vec<u64>,
    mask: Vec<u64>,
}

impl HiddenStates {
    /// Creates `n` states of 1 or -1 at random.
    pub fn random(n: usize, random: &mut Generator) -> Self {
        Self::of(random_vector(n, random))
    }

    /// Creates the states nearest to zero, 1 or -1, whose signs are the given weights.
    pub fn of(weights: BitVector) -> Self {
        let n = weights.n();
        let state = |j| if weights.get(j) { 1 } else { -1 };
        Self {
            states: (0..n).map(state).collect(),
            row: vec![0; bits::words_for(n)],
            mask: vec![0; bits::words_for(n)],
            weights,
        }
    }

    /// Number of weights.
    pub fn n(&self) -> usize {
        self.weights.n()
    }

    /// Signs of the states.
    pub fn weights(&self) -> &BitVector {
        &self.weights
    }

    /// Moves every state by 2 towards a half-space example. Returns whether a weight changed.
    pub fn follow(&mut self, block: &Block<'_>, row: usize) -> Update {
        block.bits().copy_row(row, &mut self.row);
        bits::add_signed(&mut self.states, &self.row, 2);
        let words = signs(&self.states);
        if words == self.weights.words() {
            return Update::Unchanged;
        }
        self.weights = BitVector::from_words(self.n(), words);
        Update::Changed
    }

    /// Moves each state whose weight agrees with the example by 2 away from zero.
    pub fn hold_agreeing(&mut self, block: &Block<'_>, row: usize) {
        block.bits().copy_row(row, &mut self.row);
        let signs = self.weights.words();
        for (mask, (bits, signs)) in self.mask.iter_mut().zip(self.row.iter().zip(signs)) {
            *mask = bits & signs;
        }
        bits::add_selected(&mut self.states, &self.mask, 2);
        for (mask, (bits, signs)) in self.mask.iter_mut().zip(self.row.iter().zip(signs)) {
            *mask = !(bits | signs);
        }
        // `add_selected` ignores the bits of the mask past the last weight.
        bits::add_selected(&mut self.states, &self.mask, -2);
    }

    /// Moves state `j` by 2 away from zero. `j` counts from 0.
    pub fn hold(&mut self, j: usize) {
        self.states[j] += if self.weights.get(j) { 2 } else { -2 };
    }

    pub fn snapshot(&self, snapshot: &mut SnapshotWriter) {
        snapshot.numbers(self.states.iter().map(|state| state.cast_unsigned()));
    }

    /// Restores states that [`Self::snapshot`] wrote.
    ///
    /// # Errors
    /// Returns an error if a state is missing or even.
    pub fn restore(&mut self, snapshot: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        let states = snapshot.numbers(self.n())?.into_iter();
        self.states = states.map(u64::cast_signed).collect();
        if self.states.iter().any(|state| state % 2 == 0) {
            return Err(SnapshotError);
        }
        self.weights = BitVector::from_words(self.n(), signs(&self.states));
        Ok(())
    }
}

/// One bit per state, which is 1 for a positive state.
fn signs(states: &[i64]) -> Vec<u64> {
    let word = |states: &[i64]| {
        let places = states.iter().enumerate();
        places.fold(0, |word, (place, &state)| {
            word | u64::from(state > 0) << place
        })
    };
    states.chunks(WORD_BITS).map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::{BitMatrix, WORD_BITS};
    use crate::learners::engine::random::{Purpose, Seed};
    use crate::learners::sample::block::BlockFeatures;

    fn states(numbers: &[i64]) -> Result<HiddenStates, SnapshotError> {
        let mut random = Seed(1).generator(Purpose::Learner);
        let mut states = HiddenStates::random(numbers.len(), &mut random);
        let mut writer = SnapshotWriter::default();
        writer.numbers(numbers.iter().map(|number| number.cast_unsigned()));
        states.restore(&mut SnapshotReader::new(&writer.finish()))?;
        Ok(states)
    }

    fn example(text: &str) -> BitMatrix {
        let bits = BitVector::from_bit_string(text.as_bytes()).expect("bits");
        let mut matrix = BitMatrix::new(bits.n());
        matrix.push_row(bits.words());
        matrix
    }

    fn block(matrix: &BitMatrix) -> Block<'_> {
        Block::of(BlockFeatures::Boolean(matrix.block(0)), 1)
    }

    #[test]
    fn hidden_states_move_on_a_mistake_and_on_a_hold() {
        let mut states = states(&[1, 3, -1, -5]).expect("odd");
        assert_eq!(states.weights().to_bit_string(), "1100");
        assert_eq!(states.follow(&block(&example("0111")), 0), Update::Changed);
        assert_eq!(states.states, [-1, 5, 1, -3]);
        assert_eq!(states.weights().to_bit_string(), "0110");
        assert_eq!(
            states.follow(&block(&example("0110")), 0),
            Update::Unchanged
        );
        assert_eq!(states.states, [-3, 7, 3, -5]);
        states.hold_agreeing(&block(&example("0011")), 0);
        assert_eq!(states.states, [-5, 7, 5, -5]);
        states.hold(1);
        states.hold(3);
        assert_eq!(states.states, [-5, 9, 5, -7]);
    }

    #[test]
    fn hidden_states_refuse_an_even_state() {
        assert!(states(&[1, 2]).is_err());
        assert!(states(&vec![-7; 3 * WORD_BITS]).is_ok());
    }
}
