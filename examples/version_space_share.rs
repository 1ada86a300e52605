//! Measures how often a sample leaves only one hypothesis: the share of unique version spaces among samples of uniform
//! positive examples, with its Wilson interval. For each n there are 1.45 n examples, rounded up, and for n = 21 also
//! one fewer and 2.5 n.
//!
//! Y.-D. Lyuu and I. Rivin (1992) show that with high probability 1.45 n examples leave one hypothesis as n grows. At
//! the n measured here they often leave more.
//!
//! `cargo run --release --example version_space_share`

use halfspace_core::learners::engine::random::Seed;
use halfspace_core::learners::engine::run::Run;
use halfspace_core::learners::engine::stopping::Sampling;
use halfspace_core::learners::sample::generate::{Generated, Plan};
use halfspace_core::separability::version_space::{Enumeration, enumerate};

const SEEDS: u64 = 200;

/// Pairs of n and the least whole number of examples that is 1.45 n or more. For n = 21 there are also one fewer and
/// 2.5 n.
const SAMPLES: [(usize, u64); 6] = [(11, 16), (15, 22), (19, 28), (21, 30), (21, 31), (21, 53)];

/// The 97.5 % point of the normal distribution.
const Z: f64 = 1.959_963_985;

fn main() {
    println!("   n  examples  unique  of {SEEDS}   share  95 % interval");
    for (n, examples) in SAMPLES {
        let unique = (0..SEEDS)
            .filter(|&seed| is_unique(n, examples, Seed(seed)))
            .count();
        let (low, high) = wilson(unique as f64, SEEDS as f64);
        let share = unique as f64 / SEEDS as f64;
        println!("  {n:2}  {examples:8}  {unique:6}          {share:.3}  {low:.3} to {high:.3}");
    }
}

fn is_unique(n: usize, examples: u64, seed: Seed) -> bool {
    let plan = Plan {
        target: Plan::random_target(n, seed),
        sampling: Sampling::UniformPositive,
        count: Some(examples),
        noise: 0.0,
        density: 0.5,
    };
    let run = Run::default();
    let data = Generated::materialise(plan.clone(), seed, &run);
    match enumerate(&data, 1, &run).expect("nobody suspends it") {
        Enumeration::Complete(space) => {
            let has_target =
                !space.is_unique() || space.hypotheses.first() == plan.target.binary_weights();
            assert!(has_target, "the target is consistent");
            space.is_unique()
        }
        Enumeration::Excluded(_) => unreachable!("proofs are for wider examples"),
        Enumeration::Undecided(why) => panic!("{why}"),
    }
}

/// Wilson's interval for a share.
fn wilson(successes: f64, trials: f64) -> (f64, f64) {
    let share = successes / trials;
    let scale = 1.0 + Z * Z / trials;
    let centre = share + Z * Z / (2.0 * trials);
    let spread = share * (1.0 - share) / trials + Z * Z / (4.0 * trials * trials);
    let half = Z * spread.sqrt();
    ((centre - half) / scale, (centre + half) / scale)
}
