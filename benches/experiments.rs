//! How long the figures of the papers take, and how much longer Figure 1 takes in NumPy.
//!
//! `cargo bench --bench experiments` computes all of `fang-venkatesh-figure-1` on as many threads as
//! there are cores, and has `benches/figure_1_numpy.py` do a share of the same runs at each point in
//! the same minutes, whose seconds it scales up. NumPy comes from `target/venv`, which
//! `scripts/test` makes, or is named by `NUMPY_PYTHON`.
//!
//! `-- points FIGURE` shows what a run takes at each point of a figure beside the estimate.
#![expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use halfspace::experiments::Experiment;
use halfspace::experiments::outcome::Outcome;
use halfspace::learners::run::Run;
use halfspace::records::figure::Figure;

const FIGURE_1: &str = "fang-venkatesh-figure-1";
const SEED: u64 = 1;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["points", figure, ..] => points(figure),
        _ => whole(),
    }
}

fn experiment(figure: &str) -> Experiment {
    let figure = Figure::find(figure).expect("a figure");
    figure.spec().check(f64::INFINITY).expect("in range")
}

/// One run after the other, at each point until a tenth of a second is over.
fn points(figure: &str) {
    let experiment = experiment(figure);
    println!(
        "estimated: {:.1} s in {} parts",
        experiment.estimated_seconds(),
        experiment.parts()
    );
    println!(
        "{:>6} {:>12} {:>12} {:>12}",
        "point", "value", "estimate us", "measured us"
    );
    for point in 0..experiment.plans().len() {
        let plan = experiment.plans()[point];
        let (start, mut runs, mut sum) = (Instant::now(), 0, 0);
        while runs < plan.runs && start.elapsed().as_secs_f64() < 0.1 {
            let observed = experiment.observe(SEED, point, runs, &Run::default());
            sum += observed.expect("nobody stops it").value;
            runs += 1;
        }
        let seconds = start.elapsed().as_secs_f64() / runs.max(1) as f64;
        let value = sum as f64 / runs.max(1) as f64;
        let estimate = plan.seconds_a_run * 1e6;
        println!(
            "{point:>6} {value:>12.3} {estimate:>12.1} {:>12.1}",
            seconds * 1e6
        );
    }
}

/// All of a figure on so many threads: what came of it, and the seconds.
fn compute(experiment: &Experiment, threads: usize) -> (Outcome, f64) {
    let next = AtomicU32::new(0);
    let start = Instant::now();
    let parts = std::thread::scope(|scope| {
        let work = || {
            let mut done = Vec::new();
            loop {
                let part = next.fetch_add(1, Ordering::Relaxed);
                if part >= experiment.parts() {
                    return done;
                }
                done.push(experiment.compute(SEED, part, &Run::default()).ok());
            }
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let joined = workers
            .into_iter()
            .flat_map(|worker| worker.join().expect("no panic"));
        joined.collect::<Vec<_>>()
    });
    (experiment.gather(&parts), start.elapsed().as_secs_f64())
}

fn whole() {
    let experiment = experiment(FIGURE_1);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (outcome, seconds) = compute(&experiment, threads);
    println!("{}", outcome.chart.to_csv());
    println!(
        "{FIGURE_1}: {} runs in {seconds:.1} s on {threads} threads",
        outcome.runs
    );
}
