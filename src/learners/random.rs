//! Where every random choice of a run comes from: one seed, one named generator, one stream a
//! purpose.
//!
//! The generator is xoshiro256++ (Blackman and Vigna, "Scrambled linear pseudorandom number
//! generators", 2021). Streams of different purposes are seeded apart, so that, for example, a
//! learner that draws more does not change the data that it is shown.

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::bits::Lanes;

/// The generator of every scalar random choice.
pub type Generator = Xoshiro256PlusPlus;

/// The largest seed a client may give: every JSON reader holds it exactly.
pub const SEED_MAX: u64 = (1 << 53) - 1;

/// What a stream of random numbers is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The hidden target of generated data.
    Target = 1,
    /// The bits of generated examples.
    Examples = 2,
    /// Which generated examples are noisy.
    Noise = 3,
    /// The learner's own choices: its first hypothesis and its updates.
    Learner = 4,
    /// The order in which examples are visited.
    Order = 5,
    /// Which examples are held out.
    Holdout = 6,
}

/// The seed of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed(pub u64);

impl Seed {
    /// The scalar generator for one purpose.
    pub fn generator(self, purpose: Purpose) -> Generator {
        Generator::seed_from_u64(self.stream(purpose))
    }

    /// The eight-lane generator for one purpose, for filling whole blocks.
    pub fn lanes(self, purpose: Purpose) -> Lanes {
        Lanes::from_seed(self.stream(purpose))
    }

    /// SplitMix64's finaliser over seed and purpose: a bijection for each purpose.
    fn stream(self, purpose: Purpose) -> u64 {
        let golden = 0x9e37_79b9_7f4a_7c15_u64;
        let mut z = self.0.wrapping_add(golden.wrapping_mul(purpose as u64));
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;

    #[test]
    fn purposes_and_seeds_have_streams_of_their_own() {
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
}
