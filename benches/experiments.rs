//! Computing time of the papers' figures, and the time of NumPy for Figure 1.
//!
//! `cargo bench --bench experiments` computes `fang-venkatesh-figure-1` with one thread per core. Then
//! `benches/figure_1_numpy.py` does a part of the work of each point: the first mistakes of some runs. The
//! estimate of NumPy's time for a point is the time per mistake in that part times all mistakes of the point.
//! NumPy comes from `target/venv` (`python3 -m venv target/venv && target/venv/bin/pip install numpy`), or from
//! the Python in the variable `NUMPY_PYTHON`.
//!
//! `-- points FIGURE` prints the measured time of a run at each point of a figure beside the estimate. `-- csv
//! FIGURE` and `-- svg FIGURE` print the figure.
#![expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]

use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use halfspace::records::figure::Figure;
use halfspace_core::experiments::Experiment;
use halfspace_core::experiments::outcome::ExperimentOutcome;
use halfspace_core::learners::engine::run::Run;

const FIGURE_1: &str = "fang-venkatesh-figure-1";
const SEED: u64 = 1;

/// Runs of the baseline per point, and the greatest number of mistakes of each.
const SINGLE_RUNS: u64 = 20;
const MANY_RUNS: u64 = 200;
const MISTAKES: u64 = 50;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["points", figure, ..] => points(figure),
        ["csv", figure, ..] => print!("{}", compute(&experiment(figure), cores()).0.to_csv()),
        ["svg", figure, ..] => print!("{}", compute(&experiment(figure), cores()).0.to_svg()),
        _ => whole(),
    }
}

fn experiment(figure: &str) -> Experiment {
    let figure = Figure::find(figure).expect("a figure");
    figure.spec().check(f64::INFINITY).expect("in range")
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
    let threads = cores();
    println!(
        "{FIGURE_1}: {} runs in {seconds:.1} s on {threads} threads",
        outcome.runs
    );
    for (how, says) in [
        ("single", "one run after the other"),
        ("many", "all runs at once"),
    ] {
        match numpy_seconds(&outcome, how) {
            Ok(numpy) => {
                let ratio = numpy / seconds;
                println!("NumPy, {says}: {numpy:.0} s on one thread, {ratio:.1} times as long");
            }
            Err(error) => println!("NumPy, {says}: not measured ({error})"),
        }
    }
}

#[derive(serde::Deserialize)]
struct Share {
    seconds: f64,
    mistakes: u64,
}

/// Estimated seconds of NumPy for all points of the figure.
fn numpy_seconds(outcome: &ExperimentOutcome, how: &str) -> std::io::Result<f64> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = std::env::var("NUMPY_PYTHON").map(PathBuf::from);
    let mut child = Command::new(python.unwrap_or_else(|_| root.join("target/venv/bin/python")))
        .arg(root.join("benches/figure_1_numpy.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut questions = child.stdin.take().ok_or(ErrorKind::BrokenPipe)?;
    let mut answers = BufReader::new(child.stdout.take().ok_or(ErrorKind::BrokenPipe)?).lines();
    let runs = if how == "many" {
        MANY_RUNS
    } else {
        SINGLE_RUNS
    };
    let mut sum = 0.0;
    for series in &outcome.chart.series {
        let (learner, n) = series
            .label
            .split_once(", n = ")
            .ok_or(ErrorKind::InvalidData)?;
        let features: f64 = n.parse().map_err(|_| ErrorKind::InvalidData)?;
        let learner = learner.rsplit('-').next().unwrap_or_default();
        for point in &series.points {
            let unit = 0.5 * std::f64::consts::PI * features * features.ln();
            let batch_size = (point.x * unit).round();
            writeln!(
                questions,
                "{n} {learner} {batch_size} {runs} {MISTAKES} {how}"
            )?;
            let answer = answers.next().ok_or(ErrorKind::UnexpectedEof)??;
            let share: Share = serde_json::from_str(&answer)?;
            let mistakes = point.y * features * point.runs as f64;
            sum += share.seconds / share.mistakes as f64 * mistakes;
        }
    }
    drop(questions);
    child.wait()?;
    Ok(sum)
}
