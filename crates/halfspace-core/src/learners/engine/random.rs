//! Seeds and generators for every random choice of a run: one seed, and a stream of its own per purpose.
//!
//! The generator is xoshiro256++ (Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021). Each
//! purpose has its own seed, derived from the seed of the run, so a learner that draws more numbers does not change the
//! data that it is shown.

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::bits::{BitVector, Lanes, words_for};

/// The generator of every scalar random choice.
pub type Generator = Xoshiro256PlusPlus;

/// The largest seed that a client may give. Up to here, every JSON reader represents whole numbers exactly.
pub const SEED_MAX: u64 = (1 << 53) - 1;

/// The purpose of a stream of random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The hidden target of generated data.
    Target = 1,
    /// The bits of generated examples.
    Examples = 2,
    /// The choice of noisy examples among generated ones.
    Noise = 3,
    /// The learner's own choices: its first hypothesis and its updates.
    Learner = 4,
    /// The order of the examples in a pass.
    Order = 5,
    /// The choice of held-out examples.
    Holdout = 6,
    /// The seeds of the runs of an experiment.
    Children = 7,
}

/// The seed of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed(pub u64);

impl Seed {
    /// The scalar generator for one purpose.
    pub fn generator(self, purpose: Purpose) -> Generator {
        Generator::seed_from_u64(self.stream(purpose))
    }

    /// The eight-lane generator for one purpose, which fills whole blocks.
    pub fn lanes(self, purpose: Purpose) -> Lanes {
        Lanes::from_seed(self.stream(purpose))
    }

    /// The seed of the `index`-th run of an experiment. It may exceed [`SEED_MAX`], because it never leaves the
    /// program.
    #[must_use]
    pub fn child(self, index: u64) -> Self {
        Self(mixed(self.stream(Purpose::Children), index))
    }

    fn stream(self, purpose: Purpose) -> u64 {
        mixed(self.0, purpose as u64)
    }
}

/// The finaliser of SplitMix64 over a seed and an index. For each index, it is a bijection of the seeds.
fn mixed(seed: u64, index: u64) -> u64 {
    let golden = 0x9e37_79b9_7f4a_7c15_u64;
    let mut z = seed.wrapping_add(golden.wrapping_mul(index));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Draws `n` independent fair bits.
pub fn random_vector(n: usize, generator: &mut Generator) -> BitVector {
    let words = (0..words_for(n)).map(|_| generator.next_u64());
    BitVector::from_words(n, words.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;

    #[test]
    fn random_streams_differ_by_purpose_and_seed() {
        let first = |seed, purpose| Seed(seed).generator(purpose).next_u64();
        let drawn = [
            first(0, Purpose::Target),
            first(0, Purpose::Examples),
            first(0, Purpose::Learner),
            first(1, Purpose::Target),
            first(1, Purpose::Examples),
        ];
        for (i, a) in drawn.iter().enumerate() {
            assert!(drawn[i + 1..].iter().all(|b| a != b));
        }
        assert_eq!(first(7, Purpose::Order), first(7, Purpose::Order));
    }

    #[test]
    fn child_seeds_differ_for_every_run() {
        let mut seeds = Vec::new();
        for seed in 0..10 {
            for point in 0..10 {
                seeds.extend((0..10).map(|run| Seed(seed).child(point).child(run).0));
            }
        }
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 1000);
        assert_ne!(Seed(1).child(2).child(3), Seed(1).child(3).child(2));
    }
}
