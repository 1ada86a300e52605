//! Measures what the documentation claims about Directed Drift over many seeds: the mistakes until the target is found,
//! and how often two confidence rules stop at a wrong hypothesis. Beside each measurement is the exact figure or, for
//! two variants, that of an independent implementation.
//!
//! `cargo run --release --example reference_figures`

use halfspace_core::learners::catalogue;
use halfspace_core::learners::engine::input::Input;
use halfspace_core::learners::engine::outcome::RunOutcome;
use halfspace_core::learners::engine::parameters::Parameters;
use halfspace_core::learners::engine::random::Seed;
use halfspace_core::learners::engine::run::Run;
use halfspace_core::learners::engine::stopping::{Sampling, StopRule};
use halfspace_core::learners::engine::task::Task;
use halfspace_core::learners::engine::train::train;
use halfspace_core::learners::sample::generate::Plan;

/// Learner, n, seeds, and the mean number of mistakes until w = w*. For D this mean is exact (by its Markov chain).
/// For the others an independent implementation measured it to about 0.01.
const MEANS: [(&str, usize, u64, f64); 7] = [
    ("directed-drift", 11, 2000, 218.769_96),
    ("directed-drift", 10, 2000, 198.927_93),
    ("directed-drift-sync", 11, 2000, 1.135),
    ("directed-drift-sync", 21, 2000, 1.135),
    ("directed-drift-sync", 51, 2000, 1.135),
    ("directed-drift-async", 11, 2000, 0.516 * 11.0),
    ("directed-drift-async", 21, 2000, 0.507 * 21.0),
];

/// Rule, seeds, and the exact share of runs at n = 20 and confidence 0.95 that end at a wrong hypothesis.
const FALSE_STOPS: [(StopRule, u64, f64); 2] = [
    (StopRule::Anytime, 1000, 7.9e-5),
    (StopRule::PerHypothesis, 1000, 0.9783),
];

fn main() {
    println!("mistakes until w = w*, random start, uniform-positive examples");
    for (learner, n, seeds, reference) in MEANS {
        // The confidence is so high that the run ends at the target, with no mistake after it.
        let run = |seed| run(learner, n, StopRule::Anytime, 1.0 - 1e-9, seed);
        let mistakes: Vec<f64> = (0..seeds)
            .map(|seed| run(seed).counts.mistakes as f64)
            .collect();
        let mean = mistakes.iter().sum::<f64>() / seeds as f64;
        let squares: f64 = mistakes.iter().map(|x| (x - mean).powi(2)).sum();
        let error = (squares / (seeds - 1) as f64 / seeds as f64).sqrt();
        println!("  {learner:22} n = {n:2}  {mean:9.3} +- {error:6.3}  reference {reference:9.3}");
    }
    println!("wrong stops, directed-drift, n = 20, confidence 0.95");
    for (rule, seeds, exact) in FALSE_STOPS {
        let outcomes = (0..seeds).map(|seed| run("directed-drift", 20, rule, 0.95, seed));
        let (mut wrong, mut unclaimed) = (0, 0);
        for outcome in outcomes {
            wrong += u64::from(!outcome.target.is_some_and(|target| target.recovered));
            let claimed = outcome.termination.confidence.unwrap_or(0.0);
            unclaimed += u64::from(claimed == 0.0);
        }
        let name = rule.name();
        println!("  {name:15} {wrong:4} of {seeds}, exact {exact:.5}; {unclaimed} claim nothing");
    }
}

fn run(learner: &str, n: usize, rule: StopRule, confidence: f64, seed: u64) -> RunOutcome {
    let entry = catalogue::find(learner).expect("a learner of the catalogue");
    let parameters = Parameters::from_json(entry.parameters, &serde_json::Map::new());
    let task = Task {
        parameters: parameters.expect("defaults are valid"),
        confidence: Some(confidence),
        rule: Some(rule),
        ..Task::of(entry, Seed(seed))
    };
    let plan = Plan {
        target: Plan::random_target(n, Seed(seed)),
        sampling: Sampling::UniformPositive,
        count: None,
        noise: 0.0,
        density: 0.5,
    };
    train(&task, Input::Generated(&plan), &Run::default()).expect("nobody suspends it")
}
