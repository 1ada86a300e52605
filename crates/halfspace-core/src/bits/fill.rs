//! Random words from eight generators, which take turns.
//!
//! The generator xoshiro256++, its jump polynomial and the seeding by SplitMix64 are those of D. Blackman, S. Vigna,
//! "Scrambled linear pseudorandom number generators", ACM Transactions on Mathematical Software 47(4), 2021.
//!
//! `rand_xoshiro` 0.8 has the jump and the seeding too, 28 lines here, but keeps the state private. The lanes need all
//! 32 words of it side by side, and would get them only through a serialised form. The tests compare with the crate.

use std::array::from_fn;

use serde::{Deserialize, Serialize};

use super::kernels::{Kernels, kernels, multiversioned};
use super::scalar;

/// The number of interleaved generators.
pub const LANES: usize = 8;

/// Eight interleaved xoshiro256++ generators. Lane `k` is the seeded generator after `k` jumps, so it draws 2^128
/// words before it repeats those of the next lane.
///
/// The serialised form is the state, and a deserialised value resumes at the same position.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Lanes {
    state: [[u64; LANES]; 4],
}

impl Lanes {
    /// Seeds the lanes. Lane 0 equals `Xoshiro256PlusPlus::seed_from_u64(seed)` of the crate `rand_xoshiro`.
    pub fn from_seed(seed: u64) -> Self {
        let mut generator = split_mix(seed);
        let lanes: [_; LANES] = from_fn(|_| {
            let lane = generator;
            jump(&mut generator);
            lane
        });
        let state = from_fn(|part| lanes.map(|lane: [u64; 4]| lane[part]));
        Self { state }
    }

    /// Resumes from a state that [`Self::state`] returned. Returns `None` if a lane is all zeros: no seeded generator
    /// reaches this state, and none leaves it.
    pub fn from_state(state: [[u64; LANES]; 4]) -> Option<Self> {
        let alive = (0..LANES).all(|lane| state.iter().any(|part| part[lane] != 0));
        alive.then_some(Self { state })
    }

    /// Returns the state: four words per generator, with one column per lane.
    pub fn state(&self) -> &[[u64; LANES]; 4] {
        &self.state
    }

    /// Draws every word. `words[i]` comes from lane `i % 8`.
    ///
    /// # Panics
    /// Panics if the number of words is not a multiple of 8.
    pub fn fill(&mut self, words: &mut [u64]) {
        assert!(words.len().is_multiple_of(LANES), "whole rounds of lanes");
        match kernels() {
            Kernels::Detected => fill_detected(&mut self.state, words),
            Kernels::Scalar => scalar::fill(&mut self.state, words),
        }
    }
}

/// Rounds per call of [`draw`] while enough words are left. A round draws one word from each lane.
const STRETCH: usize = 8;

multiversioned! {
    fn fill_detected(state: &mut [[u64; LANES]; 4], words: &mut [u64]) {
        let (stretches, rest) = words.as_chunks_mut::<{ LANES * STRETCH }>();
        for stretch in stretches {
            draw::<STRETCH>(state, stretch);
        }
        for round in rest.as_chunks_mut::<LANES>().0 {
            draw::<1>(state, round);
        }
    }
}

/// Draws `ROUNDS` rounds, lane by lane. In the other order, the compiler would unroll the lanes and not vectorise the
/// rest. Several rounds per lane are too long to unroll, so it turns the loop over lanes into vector instructions.
#[inline(always)]
fn draw<const ROUNDS: usize>(state: &mut [[u64; LANES]; 4], words: &mut [u64]) {
    let [mut a, mut b, mut c, mut d] = *state;
    for lane in 0..LANES {
        let mut one = [a[lane], b[lane], c[lane], d[lane]];
        for round in 0..ROUNDS {
            words[round * LANES + lane] = scalar::xoshiro(&mut one);
        }
        [a[lane], b[lane], c[lane], d[lane]] = one;
    }
    *state = [a, b, c, d];
}

/// Four words of SplitMix64, the initial state of a generator.
fn split_mix(mut seed: u64) -> [u64; 4] {
    [(); 4].map(|()| {
        seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (seed ^ seed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    })
}

/// Advances a generator by 2^128 steps.
fn jump(state: &mut [u64; 4]) {
    const POLYNOMIAL: [u64; 4] = [
        0x180e_c6d3_3cfd_0aba,
        0xd5a6_1266_f0c9_392c,
        0xa958_2618_e03f_c9aa,
        0x39ab_dc45_29b1_661c,
    ];
    let mut jumped = [0; 4];
    for coefficients in POLYNOMIAL {
        for power in 0..64 {
            if coefficients >> power & 1 == 1 {
                for (sum, part) in jumped.iter_mut().zip(*state) {
                    *sum ^= part;
                }
            }
            scalar::xoshiro(state);
        }
    }
    *state = jumped;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    proptest! {
        #[test]
        fn lanes_are_jumps_of_the_published_generator(seed in any::<u64>(), rounds in 0_usize..40) {
            let mut words = vec![0; rounds * LANES];
            Lanes::from_seed(seed).fill(&mut words);
            let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
            for lane in 0..LANES {
                let mut one = generator.clone();
                for round in 0..rounds {
                    prop_assert_eq!(words[round * LANES + lane], one.next_u64());
                }
                generator.jump();
            }
        }

        #[test]
        fn lanes_draw_the_same_in_parts_and_by_the_plain_twin(
            seed in any::<u64>(), first in 0_usize..20, second in 0_usize..20,
        ) {
            let mut whole = vec![0; (first + second) * LANES];
            let mut lanes = Lanes::from_seed(seed);
            lanes.fill(&mut whole);
            let mut parts = vec![0; whole.len()];
            let mut resumed = Lanes::from_seed(seed);
            resumed.fill(&mut parts[..first * LANES]);
            let stored = serde_json::to_string(&resumed).expect("a state");
            let mut resumed: Lanes = serde_json::from_str(&stored).expect("the state");
            resumed.fill(&mut parts[first * LANES..]);
            prop_assert_eq!(&whole, &parts);
            prop_assert_eq!(&lanes, &resumed);
            let mut twin = *Lanes::from_seed(seed).state();
            scalar::fill(&mut twin, &mut parts);
            prop_assert_eq!(&whole, &parts);
            prop_assert_eq!(lanes.state(), &twin);
            prop_assert_eq!(Lanes::from_state(twin), Some(lanes));
        }
    }

    #[test]
    fn lanes_refuse_a_lane_of_zeros() {
        let mut state = *Lanes::from_seed(1).state();
        for part in &mut state {
            part[3] = 0;
        }
        assert_eq!(Lanes::from_state(state), None);
    }
}
