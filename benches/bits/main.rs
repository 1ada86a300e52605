//! Speed of the bit-vector kernels, as ratios to baselines that are timed in the same run.
//!
//! Run `cargo bench --bench bits`. Seconds mean little on a shared machine, so each round times a kernel and its
//! baseline in turn, and the benchmark prints the median of the rounds' ratios. The two columns of times are medians
//! too.

mod data;
mod products;
mod rows;
mod words;

use std::time::{Duration, Instant};

const ROUNDS: usize = 25;
/// Shortest timed interval. A kernel is repeated until it takes as long.
const STRETCH: Duration = Duration::from_millis(2);

fn main() {
    println!(
        "{:<52} {:>12} {:>12} {:>8} {:>8}",
        "kernel / baseline", "kernel", "baseline", "ratio", "target"
    );
    rows::agreement();
    rows::intersection();
    rows::hits();
    rows::tally();
    products::products();
    words::fill();
    words::text();
    words::weights();
    words::places();
    rows::blocks();
}

/// Prints a line with the speed-up of `kernel` over `baseline`. Both process `units` units.
fn compare(
    name: &str,
    target: Option<f64>,
    units: usize,
    mut kernel: impl FnMut(),
    mut baseline: impl FnMut(),
) {
    let (kernel_runs, baseline_runs) = (runs(&mut kernel), runs(&mut baseline));
    let mut rounds: Vec<(f64, f64)> = (0..ROUNDS)
        .map(|_| {
            (
                seconds(&mut kernel, kernel_runs),
                seconds(&mut baseline, baseline_runs),
            )
        })
        .collect();
    let mut median = |key: fn(&(f64, f64)) -> f64| {
        rounds.sort_by(|a, b| key(a).total_cmp(&key(b)));
        key(&rounds[ROUNDS / 2])
    };
    let (ratio, kernel, baseline) = (
        median(|round| round.1 / round.0),
        median(|round| round.0),
        median(|round| round.1),
    );
    let nanoseconds = |seconds: f64| format!("{:.3} ns", seconds * 1e9 / units as f64);
    let target = target.map_or(String::new(), |target| format!(">= {target}"));
    println!(
        "{name:<52} {:>12} {:>12} {ratio:>8.2} {target:>8}",
        nanoseconds(kernel),
        nanoseconds(baseline)
    );
}

fn runs(work: &mut impl FnMut()) -> u32 {
    let mut runs = 1;
    while seconds(work, runs) * f64::from(runs) < STRETCH.as_secs_f64() {
        runs *= 2;
    }
    runs
}

/// Seconds per run.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
fn seconds(work: &mut impl FnMut(), runs: u32) -> f64 {
    let start = Instant::now();
    for _ in 0..runs {
        work();
    }
    start.elapsed().as_secs_f64() / f64::from(runs)
}
