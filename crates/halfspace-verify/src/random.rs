//! The random choices of a run: which examples are held out, their order in each pass, and the draws of the learner.

use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The numbers of the streams of one seed.
const LEARNER: u64 = 4;
const ORDER: u64 = 5;
const HOLDOUT: u64 = 6;

/// The stream of one purpose: xoshiro256++, seeded with the finaliser of SplitMix64 over seed and purpose.
fn stream(seed: u64, purpose: u64) -> Xoshiro256PlusPlus {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(purpose));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    Xoshiro256PlusPlus::seed_from_u64(z ^ (z >> 31))
}

/// The rows for the learner and the held-out rows, or `None` if one of them would be empty.
pub fn split(holdout: Option<f64>, examples: u64, seed: u64) -> Option<(Vec<u64>, Vec<u64>)> {
    let Some(share) = holdout else {
        return Some(((0..examples).collect(), Vec::new()));
    };
    let mut wanted = (share * examples as f64).round() as u64;
    if wanted == 0 || wanted >= examples {
        return None;
    }
    let mut random = stream(seed, HOLDOUT);
    Some((0..examples).partition(|row| {
        let is_shown = random.random_range(0..examples - row) >= wanted;
        wanted -= u64::from(!is_shown);
        is_shown
    }))
}

/// The orders of the passes.
pub struct Orders(Xoshiro256PlusPlus);

impl Orders {
    pub fn new(seed: u64) -> Self {
        Self(stream(seed, ORDER))
    }

    /// Shuffles the order of the last pass.
    pub fn shuffle(&mut self, rows: &mut [u64]) {
        for place in (1..rows.len()).rev() {
            rows.swap(place, self.0.random_range(0..=place as u64) as usize);
        }
    }
}

/// The draws of a learner.
pub struct Draws(Xoshiro256PlusPlus);

impl Draws {
    pub fn new(seed: u64) -> Self {
        Self(stream(seed, LEARNER))
    }

    /// `n` fair bits, 64 from each drawn word.
    pub fn bits(&mut self, n: usize) -> Vec<bool> {
        let words: Vec<u64> = (0..n.div_ceil(64)).map(|_| self.0.next_u64()).collect();
        (0..n).map(|j| words[j / 64] >> (j % 64) & 1 == 1).collect()
    }

    /// A number below `count`, by the method of Lemire.
    pub fn below(&mut self, count: u64) -> u64 {
        loop {
            let product = u128::from(self.0.next_u64()) * u128::from(count);
            if product as u64 >= count.wrapping_neg() % count {
                return (product >> 64) as u64;
            }
        }
    }
}
