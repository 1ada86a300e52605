//! The bound of the perceptron from any first weights, in many random runs.

use halfspace_core::bits::{BitMatrix, BitVector};
use halfspace_core::learners::catalogue::find;
use halfspace_core::learners::engine::input::Input;
use halfspace_core::learners::engine::parameters::Parameters;
use halfspace_core::learners::engine::random::Seed;
use halfspace_core::learners::engine::reason::Reason;
use halfspace_core::learners::engine::run::Run;
use halfspace_core::learners::engine::task::Task;
use halfspace_core::learners::engine::train::train;
use halfspace_core::learners::sample::data::{Data, Features, Labels, RealMatrix};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::json;

/// Some runs begin far on the wrong side of the separator, so they make more mistakes than a run from 0 may.
#[test]
fn bounds_from_any_start_hold_in_two_thousand_runs() {
    let random = &mut StdRng::seed_from_u64(4);
    let (mut stated, mut beyond_zero) = (0, 0);
    for run in 0..2_000 {
        let n = random.random_range(2..8);
        let is_real = run % 3 == 2;
        let target: Vec<f64> = (0..=n)
            .map(|_| f64::from(random.random_range(-5..=5)))
            .collect();
        let product = |x: &[f64]| target.iter().zip(x).map(|(w, x)| w * x).sum::<f64>();
        let mut rows: Vec<Vec<f64>> = Vec::new();
        for _ in 0..random.random_range(5..40) {
            let value = |_| match is_real {
                true => random.random_range(-2.0..2.0),
                false => f64::from(2 * random.random_range(0..2) - 1),
            };
            let x: Vec<f64> = (0..n).map(value).chain([1.0]).collect();
            if product(&x).abs() >= 0.5 {
                rows.push(x);
            }
        }
        if rows.is_empty() {
            continue;
        }
        let mut labels = BitVector::zeros(rows.len());
        rows.iter()
            .enumerate()
            .for_each(|(at, x)| labels.set(at, product(x) > 0.0));
        let features = match is_real {
            true => {
                let values = rows.iter().flat_map(|x| x[..n].to_vec()).collect();
                Features::Real(RealMatrix::from_values(n, values))
            }
            false => {
                let mut bits = BitMatrix::new(n);
                for x in &rows {
                    let word = (0..n).filter(|j| x[*j] > 0.0).map(|j| 1_u64 << j).sum();
                    bits.push_row(&[word]);
                }
                Features::Boolean(bits)
            }
        };
        let data = Data::new(features, Labels::of_signs(labels));
        // A multiple of the target's negative, or anything.
        let far = f64::from(random.random_range(0..20));
        let first: Vec<f64> = match run % 2 {
            0 => target.iter().map(|w| -far * w).collect(),
            _ => (0..=n)
                .map(|_| f64::from(random.random_range(-30..=30)))
                .collect(),
        };
        let eta = [1.0, 3.0, 0.5][run / 2 % 3];
        let tau = [0.0, 0.0, 2.0][run / 6 % 3];
        let params = json!({"initial": first, "eta": eta, "thickness": tau});
        let entry = find("perceptron").expect("listed");
        let params = params.as_object().expect("an object");
        let task = Task {
            parameters: Parameters::from_json(entry.parameters, params).expect("parameters"),
            ..Task::of(entry, Seed(1))
        };
        let input = Input::Sample {
            data: &data,
            assume: None,
        };
        let outcome = train(&task, input, &Run::default()).expect("an end");
        // With thickness, the bound is on the updates.
        let updates = outcome.counts.updates as f64;
        let norm = |w: &[f64]| w.iter().map(|w| w * w).sum::<f64>().sqrt();
        let margins = rows.iter().map(|x| product(x).abs());
        let margin = margins.fold(f64::INFINITY, f64::min) / norm(&target);
        let radius = rows.iter().map(|x| norm(x)).fold(0.0, f64::max);
        let from_zero = (radius * radius + 2.0 * tau / eta) / (margin * margin);
        let most = from_zero + 2.0 * norm(&first) / (eta * margin);
        assert!(
            updates <= most * (1.0 + 1e-12),
            "run {run}: {updates} > {most}"
        );
        beyond_zero += u64::from(updates > from_zero);
        if outcome.termination.reason != Reason::Converged {
            continue;
        }
        let bound = outcome.bound.expect("a converged run");
        if let Some(own) = bound.mistakes_at_most {
            assert!(updates <= own, "run {run}: {updates} > {own}");
            assert_eq!(bound.respected, Some(true), "run {run}");
            let is_from_zero = first.iter().all(|w| *w == 0.0);
            let detail = bound.detail.unwrap_or_default();
            assert_eq!(detail.contains("|w_0|"), !is_from_zero, "run {run}");
            stated += 1;
        }
    }
    assert!(stated > 500, "{stated} bounds were stated");
    assert!(
        beyond_zero > 20,
        "{beyond_zero} runs exceed the bound from 0"
    );
}
