//! Counts the satisfying assignments of monotone 2-CNF formulae by training kernel Winnow on the examples of Theorem 7
//! of R. Khardon, D. Roth and R. A. Servedio (2005), and compares the answers with plain enumeration. The table shows
//! the time of each training.
//!
//! `cargo run --release --example counting_by_winnow`

use std::ops::ControlFlow;
use std::time::Instant;

use halfspace_core::bits::BitMatrix;
use halfspace_core::constructions::winnow_counting::{CountingPlan, CountingQuestion};
use halfspace_core::learners::catalogue;
use halfspace_core::learners::engine::check::check;
use halfspace_core::learners::engine::input::Input;
use halfspace_core::learners::engine::parameters::Parameters;
use halfspace_core::learners::engine::random::Seed;
use halfspace_core::learners::engine::run::{Run, RunLimits};
use halfspace_core::learners::engine::task::Task;
use halfspace_core::learners::engine::train::train;
use halfspace_core::learners::predict::for_each_decisions;
use halfspace_core::learners::sample::data::{Data, Features, Labels};
use serde_json::json;

fn main() {
    println!(
        "| formula | alpha | K | U, V, W, m, q, p | examples | mistakes | answer | truth | seconds |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for (variables, clauses, alpha) in [
        (2, &[[1, 2]][..], 2),
        (2, &[[1, 2]], 3),
        (2, &[[1, 1], [1, 2], [2, 2]], 2),
        (3, &[[1, 2], [2, 3]], 2),
        (3, &[[1, 2], [1, 3], [2, 3]], 2),
    ] {
        for at_least in 1..=1 << variables {
            ask(variables, clauses, at_least, alpha);
        }
    }
}

fn ask(variables: u32, clauses: &[[u32; 2]], at_least: u64, alpha: u64) {
    let question = CountingQuestion {
        variables,
        clauses: clauses.to_vec(),
        at_least,
        alpha,
    };
    let run = Run::default();
    let plan = CountingPlan::new(question).expect("a question");
    let counting = plan.build(&run).expect("nobody stops it");
    let entry = catalogue::find("kernel-winnow").expect("in the catalogue");
    let params = json!({"alpha": alpha});
    let params = params.as_object().expect("an object");
    let task = Task {
        parameters: Parameters::from_json(entry.parameters, params).expect("parameters"),
        limits: RunLimits {
            max_passes: Some(1),
            ..RunLimits::default()
        },
        ..Task::of(entry, Seed(1))
    };
    let input = Input::Sample {
        data: &counting.data,
        assume: None,
    };
    check(&task, input, u64::MAX).expect("a task");
    #[allow(clippy::disallowed_methods)] // A program for people may look at the clock.
    let started = Instant::now();
    let outcome = train(&task, input, &run).expect("nobody suspends it");
    let seconds = started.elapsed().as_secs_f64();
    let mut query = BitMatrix::new(counting.query.n());
    query.push_row(counting.query.words());
    let query = Data::new(Features::Boolean(query), Labels::Unlabelled);
    let mut answer = false;
    for_each_decisions(&outcome.predictor, &query, 0.0, |decisions| {
        answer = decisions[0].is_positive();
        ControlFlow::Continue(())
    });
    let truth = satisfying(variables, clauses) >= at_least;
    let counts = outcome.counts;
    assert_eq!((answer, counts.mistakes), (truth, counts.examples));
    let numbers = plan.numbers();
    println!(
        "| {} | {alpha} | {at_least} | {}, {}, {}, {}, {}, {} | {} | {} | {} | {} | {seconds:.2} |",
        formula(clauses),
        numbers.u,
        numbers.v,
        numbers.w,
        numbers.m,
        numbers.q,
        numbers.p,
        counts.examples,
        counts.mistakes,
        said(answer),
        said(truth),
    );
}

fn said(yes: bool) -> &'static str {
    if yes { "yes" } else { "no" }
}

fn formula(clauses: &[[u32; 2]]) -> String {
    let clauses: Vec<_> = clauses
        .iter()
        .map(|[i, j]| format!("(y{i} or y{j})"))
        .collect();
    clauses.join(" and ")
}

fn satisfying(variables: u32, clauses: &[[u32; 2]]) -> u64 {
    let is_true = |assignment: u64, variable: u32| assignment >> (variable - 1) & 1 == 1;
    let holds = |&assignment: &u64| {
        let mut clauses = clauses.iter();
        clauses.all(|&[i, j]| is_true(assignment, i) || is_true(assignment, j))
    };
    (0..1_u64 << variables).filter(holds).count() as u64
}
