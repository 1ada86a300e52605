//! False stops of the rule `anytime`: the probability that it ends a run of Directed Drift (algorithm D) at a wrong
//! hypothesis.
//!
//! The run length T_k of this rule grows with the number k of the hypothesis, so there is no closed recurrence as for a
//! fixed run length. Instead we compute the probability of each distance from the target when hypothesis k is tested,
//! for one k after the other. From about n = 20 on, a run of algorithm D is too long to follow to its end. So the
//! computation bounds the false stops still to come and ends early.
//!
//! At distance d, a mistake moves the hypothesis away from the target with probability bad_d and towards it with
//! probability good_d. Let pi be the measure with pi_d bad_d = pi_(d+1) good_(d+1). A step preserves this measure,
//! except for the runs that stop or reach the target. So if the probabilities at some k are at most C pi, those of
//! every later k are as well. At distance d, hypothesis j is accepted with probability (1 - e_d)^T_j <= delta_j^rho,
//! where rho = ln(1 - e_d) / ln(1 - e_1) >= 1 and delta_j = delta / (j (j + 1)). The sum of delta_j^rho over j > k is
//! at most `delta^rho k^(1 - 2 rho) / (2 rho - 1)`.

use serde::Serialize;

use crate::learners::arithmetic::smallest_count::RUN_LENGTH_MAX;
use crate::learners::drift::drift_chain::DriftChain;
use crate::learners::engine::stopping::anytime_run_length;

/// Largest bound on the false stops to come at which the computation may end.
const UNCERTAINTY_MAX: f64 = 1e-13;

/// Largest ratio of this bound to the false stops so far at which the computation may end.
const UNCERTAINTY_SHARE_MAX: f64 = 1e-3;

/// Limit of the product of distances and hypotheses, at which the computation ends in any case. To reach it takes a
/// few hundredths of a second.
const DISTANCES_VISITED_MAX: u64 = 1 << 23;

/// Hypotheses between two evaluations of the bound, each of which costs as much as several hypotheses.
const HYPOTHESES_BETWEEN_LOOKS: u64 = 256;

/// A rule whose run length grows with the number of mistakes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, utoipa::ToSchema)]
pub struct AnytimeRule {
    /// Run length that accepts the first hypothesis.
    pub run_length: u64,
    /// Probability that the rule ends a run from a random start at a wrong hypothesis.
    pub false_stop_probability: f64,
    /// Largest amount by which `false_stop_probability` may be too small, because an infinite sum is cut
    /// off.
    #[serde(rename = "false_stop_uncertainty")]
    pub uncertainty: f64,
}

/// Computes the false stops of the rule. `starts` holds the probabilities of the distances 0 to n of the
/// first hypothesis.
pub fn anytime(chain: &DriftChain, starts: &[f64], delta: f64) -> AnytimeRule {
    let n = chain.n();
    let ln_delta = libm::log(delta);
    // The smallest error of a wrong hypothesis of the chain is far from 0, so a run length always exists.
    let run_length = |k| {
        let length = anytime_run_length(ln_delta, chain.steps()[1].ln_survival, k);
        length.unwrap_or(RUN_LENGTH_MAX)
    };
    let rest = RemainingStops::new(chain, delta);
    // The extra entry at the far end stays 0 and saves a special case.
    let mut here = [starts, &[0.0]].concat();
    let mut next = here.clone();
    let mut moves = Moves::new(chain, run_length(1));
    let mut rule = AnytimeRule {
        run_length: run_length(1),
        false_stop_probability: 0.0,
        uncertainty: 1.0,
    };
    let mut visited = 0;
    for k in 1.. {
        let length = run_length(k);
        if length != moves.run_length {
            moves = Moves::new(chain, length);
        }
        here[0] = 0.0; // The target accepts every example, so a stop there is correct.
        rule.false_stop_probability += moves.step(&here, &mut next);
        std::mem::swap(&mut here, &mut next);
        visited += n as u64;
        let is_over = visited >= DISTANCES_VISITED_MAX;
        if is_over || k % HYPOTHESES_BETWEEN_LOOKS == 0 {
            rule.uncertainty = rest.after(k, &here[1..=n]);
            let share = UNCERTAINTY_SHARE_MAX * rule.false_stop_probability;
            if is_over || rule.uncertainty <= UNCERTAINTY_MAX.min(share) {
                break;
            }
        }
    }
    rule
}

/// The outcomes of a hypothesis at each distance from 0 to n under one run length.
struct Moves {
    run_length: u64,
    /// Probability that the rule accepts the hypothesis.
    stop: Vec<f64>,
    /// Probability of a mistake that moves the hypothesis one coordinate away from the target.
    out: Vec<f64>,
    /// Probability of a mistake that moves the hypothesis one coordinate towards the target. An extra last
    /// entry is 0.
    back: Vec<f64>,
}

impl Moves {
    fn new(chain: &DriftChain, run_length: u64) -> Self {
        let mut moves = Self {
            run_length,
            stop: Vec::new(),
            out: Vec::new(),
            back: Vec::new(),
        };
        for step in chain.steps() {
            let (stop, mistake) = step.survival(run_length);
            moves.stop.push(stop);
            moves.out.push(mistake * step.bad);
            moves.back.push(mistake * step.good);
        }
        moves.back.push(0.0);
        moves
    }

    /// Advances by one hypothesis. Writes the probabilities of the wrong distances to `next` and returns the
    /// probability of a false stop.
    fn step(&self, here: &[f64], next: &mut [f64]) -> f64 {
        let mut stopped = 0.0;
        for d in 1..self.stop.len() {
            stopped += here[d] * self.stop[d];
            next[d] = here[d - 1] * self.out[d - 1] + here[d + 1] * self.back[d + 1];
        }
        stopped
    }
}

/// Bound on the false stops to come.
struct RemainingStops {
    delta: f64,
    /// pi and rho for each distance from 1.
    distances: Vec<(f64, f64)>,
}

impl RemainingStops {
    fn new(chain: &DriftChain, delta: f64) -> Self {
        let wrong = &chain.steps()[1..];
        let mut measure = 1.0;
        let mut distances = Vec::with_capacity(wrong.len());
        for (at, step) in wrong.iter().enumerate() {
            // At n = 1 both logarithms are infinite. No run is then accepted, so any rho is valid.
            let rho = (step.ln_survival / wrong[0].ln_survival).max(1.0);
            distances.push((measure, rho));
            if let Some(farther) = wrong.get(at + 1) {
                measure *= step.bad / farther.good;
            }
        }
        Self { delta, distances }
    }

    /// The upper bound on the sum of the false stops after run k. `here` holds the probabilities of the distances 1
    /// to n at the start of the next run.
    fn after(&self, k: u64, here: &[f64]) -> f64 {
        let ratios = here.iter().zip(&self.distances);
        let ratio = ratios
            .map(|(p, (measure, _))| p / measure)
            .fold(0.0, f64::max);
        let k = k as f64;
        let terms = self.distances.iter().map(|(measure, rho)| {
            let shares = libm::pow(self.delta, *rho) * libm::pow(k, 1.0 - 2.0 * rho);
            ratio * measure * shares / (2.0 * rho - 1.0)
        });
        terms.sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learners::drift::drift_chain::scaled_binomials;

    fn of(n: usize, delta: f64) -> AnytimeRule {
        let starts = scaled_binomials(n).pop().expect("a row");
        anytime(&DriftChain::new(n), &starts, delta)
    }

    #[test]
    fn anytime_false_stop_probability_is_that_of_the_reference() {
        for (n, rate, digits) in [(5, 0.019, 5e-4), (10, 0.0041, 5e-5), (20, 7.9e-5, 5e-7)] {
            let found = of(n, 0.05);
            let probability = found.false_stop_probability;
            assert!((probability - rate).abs() < digits, "{n}: {found:?}");
            assert!(found.uncertainty <= 1e-13, "{n}: {found:?}");
        }
    }

    #[test]
    fn anytime_rule_keeps_its_delta_at_every_n() {
        for n in [1, 2, 7, 24, 64, 128, 512] {
            for delta in [0.9, 0.05, 1e-9] {
                let found = of(n, delta);
                let probability = found.false_stop_probability;
                assert!(probability + found.uncertainty <= delta, "{n}: {found:?}");
                let close = (1e-2 * probability).min(1e-9);
                assert!(found.uncertainty <= close, "{n}, {delta}: {found:?}");
            }
        }
    }

    /// After every run, the false stops that follow stay within the bound.
    #[test]
    fn remaining_false_stops_stay_within_their_bound() {
        for n in [2, 5, 8, 11] {
            let chain = DriftChain::new(n);
            let starts = scaled_binomials(n).pop().expect("a row");
            let rest = RemainingStops::new(&chain, 0.2);
            let mut here = [&starts[..], &[0.0]].concat();
            let mut stopped = vec![0.0];
            let mut said = Vec::new();
            for k in 1..20_000 {
                let ln_survival = chain.steps()[1].ln_survival;
                let length = anytime_run_length(libm::log(0.2), ln_survival, k).expect("a length");
                here[0] = 0.0;
                let mut next = here.clone();
                let now = Moves::new(&chain, length).step(&here, &mut next);
                here = next;
                stopped.push(stopped[stopped.len() - 1] + now);
                said.push(rest.after(k, &here[1..=n]));
            }
            let last = stopped[stopped.len() - 1];
            for (so_far, said) in stopped[1..].iter().zip(said) {
                assert!(
                    last - so_far <= said + 1e-15,
                    "{n}: {} > {said}",
                    last - so_far
                );
            }
        }
    }
}
