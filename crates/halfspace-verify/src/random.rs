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

/// The rows for the learner and the held-out rows, or `None` if one of them would be empty. `classes` asks for the same
/// share of every class, of which at least one row remains for the learner.
pub fn split(
    share: f64,
    examples: usize,
    classes: Option<Vec<usize>>,
    seed: u64,
) -> Option<[Vec<u64>; 2]> {
    let kept = u64::from(classes.is_some());
    let strata = classes.unwrap_or_else(|| vec![0; examples]);
    let mut to_come = vec![0_u64; strata.iter().max()? + 1];
    for stratum in &strata {
        to_come[*stratum] += 1;
    }
    let up_to = |examples: u64| (share * examples as f64).round() as u64;
    let mut before = 0;
    let wanted = to_come.iter().map(|&examples| {
        let wanted = up_to(before + examples) - up_to(before);
        before += examples;
        wanted.min(examples.saturating_sub(kept))
    });
    let mut wanted: Vec<u64> = wanted.collect();
    let mut random = stream(seed, HOLDOUT);
    let (shown, held_out) = (0..).zip(&strata).partition::<Vec<_>, _>(|(_, stratum)| {
        let (to_come, wanted) = (&mut to_come[**stratum], &mut wanted[**stratum]);
        let is_shown = random.random_range(0..*to_come) >= *wanted;
        *to_come -= 1;
        *wanted -= u64::from(!is_shown);
        is_shown
    });
    let parts = [shown, held_out].map(|part| part.into_iter().map(|(row, _)| row).collect());
    parts
        .iter()
        .all(|part: &Vec<u64>| !part.is_empty())
        .then_some(parts)
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
