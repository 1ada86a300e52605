//! The baselines: plain programs for the same learners, with loops over one byte per coordinate.

use halfspace_core::learners::engine::stopping::{Sampling, StopRule, Watch, smallest_error};
use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::Read;

/// Draws one example as -1 and +1.
pub type Draw<const N: usize> = fn(&[i8; N], &mut Xoshiro256PlusPlus, &mut [i8; N]);

/// Draws each bit with a call of the generator, and repeats until the example is positive.
pub fn by_bits<const N: usize>(
    target: &[i8; N],
    random: &mut Xoshiro256PlusPlus,
    example: &mut [i8; N],
) {
    loop {
        for bit in example.iter_mut() {
            *bit = if random.next_u64() >> 63 == 1 { 1 } else { -1 };
        }
        if product(target, example) >= 0 {
            return;
        }
    }
}

/// Draws all bits, at most 64, from one word and negates the example if it is negative. For odd `N` it has the same
/// distribution as [`by_bits`].
#[inline(always)]
pub fn by_words<const N: usize>(
    target: &[i8; N],
    random: &mut Xoshiro256PlusPlus,
    example: &mut [i8; N],
) {
    let word = random.next_u64();
    for (j, bit) in example.iter_mut().enumerate() {
        *bit = (word >> j & 1) as i8 * 2 - 1;
    }
    let sign = if product(target, example) >= 0 { 1 } else { -1 };
    for bit in example.iter_mut() {
        *bit *= sign;
    }
}

/// Runs Algorithm D until it is confident.
#[inline(always)]
pub fn drift<const N: usize>(seed: u64, draw: Draw<N>) -> Read {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut vector = || std::array::from_fn(|_| if random.random() { 1 } else { -1 });
    let (target, mut weights): ([i8; N], [i8; N]) = (vector(), vector());
    let mut example = [0; N];
    let mut watch = Watch::new(
        StopRule::Anytime,
        0.99,
        N,
        smallest_error(N, Sampling::UniformPositive),
    );
    let mut read = Read::default();
    loop {
        draw(&target, &mut random, &mut example);
        read.examples += 1;
        if product(&weights, &example) >= 0 {
            if watch.consistent(1) {
                return read;
            }
            continue;
        }
        read.mistakes += 1;
        watch.mistake();
        let differs = |&j: &usize| weights[j] != example[j];
        let differing: Vec<usize> = (0..N).filter(differs).collect();
        let chosen = differing[random.random_range(0..differing.len())];
        weights[chosen] = -weights[chosen];
    }
}

/// [`drift`] with [`by_words`], compiled for the current machine.
#[multiversion::multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl+avx512vpopcntdq+avx2+bmi1+bmi2+lzcnt+popcnt",
    "x86_64+avx2+bmi1+bmi2+lzcnt+popcnt",
))]
pub fn drift_native(seed: u64) -> Read {
    drift::<25>(seed, |target, random, example| {
        by_words(target, random, example)
    })
}

/// Runs the batch variants, which count the votes of `size` examples byte by byte. The synchronous variant flips all
/// outvoted coordinates, the other one flips only one.
pub fn batch_drift<const N: usize>(seed: u64, size: u64, is_synchronous: bool) -> Read {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut vector = || std::array::from_fn(|_| if random.random() { 1 } else { -1 });
    let (target, mut weights): ([i8; N], [i8; N]) = (vector(), vector());
    let mut example = [0; N];
    let mut watch = Watch::new(
        StopRule::Anytime,
        0.99,
        N,
        smallest_error(N, Sampling::UniformPositive),
    );
    let mut read = Read::default();
    loop {
        by_bits(&target, &mut random, &mut example);
        read.examples += 1;
        if product(&weights, &example) >= 0 {
            if watch.consistent(1) {
                return read;
            }
            continue;
        }
        read.mistakes += 1;
        watch.mistake();
        let mut votes = [0_u64; N];
        for further in 0..size {
            if further > 0 {
                by_bits(&target, &mut random, &mut example);
                read.examples += 1;
            }
            for (votes, (weight, bit)) in votes.iter_mut().zip(weights.iter().zip(&example)) {
                *votes += u64::from(weight != bit);
            }
        }
        if is_synchronous {
            for (weight, votes) in weights.iter_mut().zip(votes) {
                *weight = if 2 * votes >= size { -*weight } else { *weight };
            }
        } else {
            let most = votes.iter().copied().max().unwrap_or(0);
            let leaders: Vec<usize> = (0..N).filter(|&j| votes[j] == most).collect();
            let chosen = leaders[random.random_range(0..leaders.len())];
            weights[chosen] = -weights[chosen];
        }
    }
}

/// Runs a perceptron in f64 with a bias over examples of -1 and +1, for `passes` passes.
pub fn perceptron(examples: &[Vec<f64>], labels: &[bool], passes: u64) -> Read {
    let mut weights = vec![0.0; examples[0].len()];
    let mut bias = 0.0;
    let mut read = Read::default();
    for _ in 0..passes {
        for (example, &label) in examples.iter().zip(labels) {
            read.examples += 1;
            let products = weights.iter().zip(example).map(|(w, x)| w * x);
            if (products.sum::<f64>() + bias >= 0.0) == label {
                continue;
            }
            read.mistakes += 1;
            let sign = if label { 1.0 } else { -1.0 };
            for (weight, value) in weights.iter_mut().zip(example) {
                *weight += sign * value;
            }
            bias += sign;
        }
    }
    read
}

#[inline(always)]
fn product<const N: usize>(a: &[i8; N], b: &[i8; N]) -> i32 {
    a.iter()
        .zip(b)
        .map(|(a, b)| i32::from(*a) * i32::from(*b))
        .sum()
}
