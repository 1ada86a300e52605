//! Tests the figures of the certificates against enumerations and independent computations.

use std::f64::consts::LN_10;

use super::*;
use crate::learners::catalogue;
use crate::learners::engine::evaluate::Confusion;
use crate::learners::engine::input::Input;
use crate::learners::engine::random::Seed;
use crate::learners::engine::run::{Interrupt, Run, StopFlag};
use crate::learners::engine::stopping::{Sampling, smallest_error};
use crate::learners::engine::task::Task;
use crate::learners::engine::train::train;
use crate::learners::sample::generate::{Generated, Plan};

const SAMPLINGS: [Sampling; 3] = [
    Sampling::UniformPositive,
    Sampling::Reflected,
    Sampling::Uniform,
];

/// P(|A| > |B|), P(|A| = |B|, A not 0) and P(A + B = 0) by direct sums over the ones among d and n - d fair bits.
fn direct(n: u64, d: u64) -> [f64; 3] {
    let ways = |m: u64, k: u64| libm::exp(binomial::ln_choose(m, k));
    let (mut greater, mut equal, mut balanced) = (0.0, 0.0, 0.0);
    for i in 0..=d {
        for j in 0..=n - d {
            let (a, b) = (2 * i as i64 - d as i64, 2 * j as i64 - (n - d) as i64);
            let p = ways(d, i) * ways(n - d, j) / 2_f64.powi(n as i32);
            greater += if a.abs() > b.abs() { p } else { 0.0 };
            equal += if a.abs() == b.abs() && a != 0 { p } else { 0.0 };
            balanced += if a + b == 0 { p } else { 0.0 };
        }
    }
    [greater, equal, balanced]
}

#[test]
fn uniqueness_doubt_is_the_union_bound_of_direct_sums() {
    for n in 1..=15_u64 {
        for sampling in SAMPLINGS {
            let error = |d: u64| {
                let [g, t, c] = direct(n, d);
                match (n % 2, sampling) {
                    (1, _) => g,
                    (_, Sampling::Uniform) => g + t / 2.0,
                    (_, Sampling::Reflected) => g + t / 4.0,
                    (_, Sampling::UniformPositive) => (g + t / 2.0) / (1.0 + c),
                }
            };
            let nearest = smallest_error(n as usize, sampling);
            assert!((error(1) - nearest).abs() < 1e-12, "{n} {sampling:?}");
            let doubt = uniqueness::Doubt::new(n as usize, sampling);
            for m in [1_u64, 2, 7, 30] {
                let ways = |d| libm::exp(binomial::ln_choose(n, d));
                let terms = (1..=n).map(|d| ways(d) * (1.0 - error(d)).max(0.0).powi(m as i32));
                let expected: f64 = terms.sum();
                let found = libm::exp(doubt.ln_after(m));
                let difference = (found - expected).abs();
                assert!(
                    difference < 1e-11 * expected + 1e-300,
                    "{n} {sampling:?} {m}"
                );
            }
        }
    }
}

#[test]
fn uniqueness_doubt_has_the_published_figures() {
    let doubt = |n| uniqueness::Doubt::new(n, Sampling::UniformPositive);
    let log10 = doubt(1001).ln_after(1602) / LN_10;
    assert!((log10 - -12.0749).abs() < 5e-5, "{log10}");
    let rows = [
        (11, 26, 64),
        (21, 45, 100),
        (51, 91, 177),
        (101, 162, 270),
        (301, 449, 522),
        (1001, 1462, 1500),
    ];
    for (n, likely, sure) in rows {
        let found = [0.05, 1e-6].map(|delta| {
            let stop = StopFlag::default();
            doubt(n)
                .examples(libm::log(delta), &stop)
                .expect("not stopped")
        });
        assert_eq!(found, [likely, sure], "{n}");
    }
    for (n, m, expected) in [(11, 30, 0.0140), (13, 34, 0.0158)] {
        let found = libm::exp(doubt(n).ln_after(m));
        assert!((found - expected).abs() < 5e-5, "{n}: {found}");
    }
}

#[test]
fn test_set_and_compression_limits_have_the_published_figures() {
    let found = test_set::limits(0, 1302, 0.95);
    assert!((found.at_most - 0.0023).abs() < 5e-5, "{found:?}");
    assert_eq!(found.low, 0.0);
    let bound = compression::error_at_most(6513, 129, 0, 0.95);
    assert!((bound - 0.096).abs() < 5e-4, "{bound}");
    assert_eq!(compression::error_at_most(7, 7, 0, 0.95), 1.0);
}

#[test]
fn compression_solves_the_sum_of_exact_binomials() {
    let choose = |m: u64, k: u64| {
        (0..k).fold(1_u128, |product, i| {
            product * u128::from(m - i) / u128::from(i + 1)
        })
    };
    for (m, k) in [(10, 0), (10, 3), (40, 7), (60, 20), (60, 59)] {
        let level = 0.05 / (m as f64 * choose(m, k) as f64);
        let others = m - k;
        let closed = 1.0 - level.powf(1.0 / others as f64);
        let found = compression::error_at_most(m, k, 0, 0.95);
        assert!((found - closed).abs() < 1e-12, "{m} {k}: {found} {closed}");
        for errors in 1..others.min(6) {
            let bound = compression::error_at_most(m, k, errors, 0.95);
            let term = |i: u64| {
                choose(others, i) as f64
                    * bound.powf(i as f64)
                    * (1.0 - bound).powf((others - i) as f64)
            };
            let tail: f64 = (0..=errors).map(term).sum();
            assert!(
                (tail / level - 1.0).abs() < 1e-6,
                "{m} {k} {errors}: {bound}"
            );
        }
    }
}

#[test]
fn binomial_tails_and_limits_invert_each_other() {
    for (k, m) in [
        (1_u64, 2_u64),
        (3, 10),
        (50, 100),
        (99, 100),
        (7, 1_000_000),
        (400_000, 1_000_000),
    ] {
        for p in [1e-9, 0.01, 0.3, 0.5, 0.7, 0.999] {
            let whole = libm::exp(binomial::ln_at_most(k - 1, m, p))
                + libm::exp(binomial::ln_at_least(k, m, p));
            assert!((whole - 1.0).abs() < 1e-9, "{k} {m} {p}: {whole}");
        }
        for ln_delta in [-700.0, -3.0, -0.01] {
            let (low, high) = (
                binomial::lower_limit(k, m, ln_delta),
                binomial::upper_limit(k, m, ln_delta),
            );
            if high < 1.0 {
                let back = binomial::ln_at_most(k, m, high);
                assert!(
                    (back - ln_delta).abs() < 1e-6 * ln_delta.abs() + 1e-9,
                    "{k} {m} {ln_delta}: {back}"
                );
            }
            let back = binomial::ln_at_least(k, m, low);
            assert!(
                (back - ln_delta).abs() < 1e-6 * ln_delta.abs() + 1e-9,
                "{k} {m} {ln_delta}: {back}"
            );
        }
    }
}

#[test]
fn long_confidences_are_written_rounded_down() {
    let written = [0.95, 0.975, 1.0 - 0.05 / 3.0, 0.999_999_99].map(shown);
    assert_eq!(written, ["0.95", "0.975", "0.983333", "0.999999"]);
}

#[test]
fn bounds_are_written_rounded_up() {
    for (bound, text) in [
        (0.002_298_4, "0.002299"),
        (0.25, "0.25"),
        (1.0, "1"),
        (0.0, "0"),
        (0.999_99, "1"),
        (1.234_56e-7, "0.0000001235"),
    ] {
        assert_eq!(rounded_up(bound), text);
    }
}

/// Mistaken examples reproduce a run that its request ends, and not the moment at which a clock ended it.
#[test]
fn a_run_that_a_clock_ended_has_no_compression() {
    let plan = Plan {
        count: Some(200),
        ..Plan::endless(Plan::random_target(9, Seed(1)), Sampling::Uniform)
    };
    let data = Generated::materialise(plan, Seed(1), &Run::default());
    let entry = catalogue::find("perceptron").expect("listed");
    let input = Input::Sample {
        data: &data,
        assume: Some(Assume::Independent),
    };
    let trained = |interrupt: Option<Interrupt>| {
        let run = Run::default();
        if let Some(interrupt) = interrupt {
            run.stop.raise(interrupt);
        }
        let outcome = train(&Task::of(entry, Seed(1)), input, &run).expect("an end");
        let certified = of_run(entry, &outcome, CONFIDENCE).only(CertificateKind::Compression);
        (outcome, certified)
    };
    let (_, whole) = trained(None);
    assert_eq!(whole.certificates.len(), 1, "{whole:?}");
    let (outcome, ended) = trained(Some(Interrupt::TimeLimit));
    assert!(outcome.training.is_some(), "the errors were counted");
    let reason = &ended.certificates_withheld[0].reason;
    assert!(reason.contains("max_seconds ended the run"), "{reason}");
    let (_, cancelled) = trained(Some(Interrupt::Cancelled));
    let reason = &cancelled.certificates_withheld[0].reason;
    assert!(
        reason.contains("the cancellation ended the run"),
        "{reason}"
    );
}

/// Every certificate has an example behind it and a bound below 1.
#[test]
fn session_certificate_with_a_vacuous_bound_is_withheld() {
    let entry = catalogue::find("perceptron").expect("listed");
    for (examples, mistakes, run_length) in
        [(0, 0, 0), (1, 1, 0), (5, 5, 0), (9, 1, 1), (400, 3, 350)]
    {
        let tested = Tested {
            examples,
            mistakes,
            changes: mistakes,
            run_length,
            ..Tested::default()
        };
        let found = of_session(entry, tested, Ok(Assume::Independent), 0.95);
        assert_eq!(
            found.certificates.len() + found.certificates_withheld.len(),
            2
        );
        for certificate in &found.certificates {
            let bound = match certificate.claim {
                Claim::Survival { error_at_most, .. } => error_at_most,
                Claim::Progressive {
                    mean_error_at_most, ..
                } => mean_error_at_most,
                _ => panic!("{certificate:?}"),
            };
            assert!(bound < 1.0 && examples > 0, "{certificate:?}");
            assert!(
                !certificate.statement.contains("at most 1,"),
                "{certificate:?}"
            );
        }
        assert_eq!(
            found.certificates.is_empty(),
            mistakes == examples,
            "{examples}"
        );
    }
    // All examples are wrong, or none was counted.
    for errors in [0, 7] {
        let mut confusion = Confusion::of_classes(2);
        confusion.count(0, 1, errors);
        let evaluation = Evaluation {
            confusion,
            ..Evaluation::default()
        };
        let found = of_test(&evaluation, Ok(Assume::Independent), 0.95);
        assert_eq!(found.certificates, [], "{errors}");
    }
    let found = of_support(Ok(3), 3, Ok(Assume::Independent), 0.95);
    assert!(
        found.certificates_withheld[0]
            .reason
            .contains("3 of 3 examples")
    );
}
