//! Computing time of the papers' figures.
//!
//! `cargo bench --bench experiments` computes `fang-venkatesh-figure-1` with one thread per core and prints the
//! seconds in JSON, together with the work of each point. `benches/peers/figure_1.py` measures the same work in
//! NumPy.
//!
//! `-- points FIGURE` prints, for each point of a figure, the measured time of a run beside the estimate.
//! `-- csv FIGURE` and `-- svg FIGURE` print the figure itself.
#![expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use halfspace::records::figure::Figure;
use halfspace_core::experiments::Experiment;
use halfspace_core::experiments::outcome::ExperimentOutcome;
use halfspace_core::learners::engine::run::Run;
use serde_json::json;

const FIGURE_1: &str = "fang-venkatesh-figure-1";
const SEED: u64 = 1;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["points", figure, ..] => points(figure),
        ["csv", figure, ..] => print!("{}", compute(&experiment(figure), cores()).0.chart.to_csv()),
        ["svg", figure, ..] => print!("{}", compute(&experiment(figure), cores()).0.chart.to_svg()),
        _ => whole(),
    }
}

fn experiment(figure: &str) -> Experiment {
    let figure = Figure::find(figure).expect("a figure");
    figure.spec().check().expect("in range")
}

/// Measures single runs at each point for a tenth of a second.
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

/// Computes a figure with `threads` threads. Returns the outcome and the seconds.
fn compute(experiment: &Experiment, threads: usize) -> (ExperimentOutcome, f64) {
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

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn whole() {
    let (outcome, seconds) = compute(&experiment(FIGURE_1), cores());
    let works = outcome.chart.series.iter().flat_map(|series| {
        let (learner, n) = series.label.split_once(", n = ").expect("a label with n");
        let features: f64 = n.parse().expect("a number");
        let unit = 0.5 * std::f64::consts::PI * features * features.ln();
        series.points.iter().map(move |point| {
            json!({
                "learner": learner,
                "n": features as u64,
                "batch_size": (point.x * unit).round() as u64,
                "mistakes": point.y * features * point.runs as f64,
            })
        })
    });
    let points: Vec<_> = works.collect();
    println!(
        "{}",
        json!({"runs": outcome.runs, "seconds": seconds, "points": points})
    );
}
