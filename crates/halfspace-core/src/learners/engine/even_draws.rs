//! Tests whether examples are too regular for independent draws: too few of them repeat another, or the rows are in
//! order.
//!
//! # Few duplicates
//!
//! Among m independent draws from at most K possible examples, D repeat an earlier one, and Z of the K examples do
//! not occur. P(D <= d) is largest with the most possible examples and a uniform distribution over them (Wong and
//! Yue, 1973), so a bound on it for uniform draws from K examples holds for every other case. There are two:
//!
//! - A sequence with d duplicates takes m - d distinct examples in some order, and the duplicate at place i is one of
//!   at most i - 1 examples. Hence `P(D = d) <= prod over i < m - d of (1 - i / K) * mu^d / d!` with
//!   `mu = m (m - 1) / 2K`. The product falls with m - d, so the sum over all counts up to d < mu is at most the term
//!   of d divided by `1 - d / mu`. For d = 0 the bound is exact.
//! - Whether an example occurs is negatively associated between examples (Dubhashi and Ranjan, 1998). The bound of
//!   Chernoff and Hoeffding for Z = K - m + D therefore holds with the mean K p and `p = (1 - 1 / K)^m`:
//!   `P(Z <= z) <= exp(-K KL(z / K || p))`.
//!
//! The first is sharp for few draws, the second for so many that nearly every example should occur. Up to `EXACT_MAX`
//! draws we compute the distribution itself, whose terms are all positive.
//!
//! # Rows in order
//!
//! Of two independent draws that differ, either is equally likely to be the larger, whatever their distribution. The
//! order is that of the first 64 features, and only disjoint pairs are counted, so that the pairs are independent.

use std::f64::consts::{LN_2, PI};

use crate::learners::arithmetic::stirling;
use crate::learners::engine::stopping::Sampling;

/// Largest number of draws whose distribution is computed, in about a millisecond.
const EXACT_MAX: u64 = 1024;

/// Beyond this many possible examples, the number of those that do not occur is no longer exact in f64.
const LN_COUNTABLE: f64 = 40.0 * LN_2;

/// An upper bound on ln K, the logarithm of the number of possible examples. For odd n the bound is exact.
pub(crate) fn ln_population_at_most(sampling: Sampling, n: usize) -> f64 {
    match sampling {
        Sampling::Uniform => n as f64 * LN_2,
        Sampling::UniformPositive | Sampling::Reflected if n % 2 == 1 => (n - 1) as f64 * LN_2,
        // The examples on the hyperplane are possible with both signs. Their share of all is at most sqrt(2 / (pi n)).
        Sampling::UniformPositive | Sampling::Reflected => {
            (n - 1) as f64 * LN_2 + libm::log1p(libm::sqrt(2.0 / (PI * n as f64)))
        }
    }
}

/// K, as a whole number as long as f64 can hold it.
pub(crate) fn population(ln_population: f64) -> f64 {
    let population = libm::exp(ln_population);
    match ln_population < LN_COUNTABLE {
        // The error of the exponential is below a hundredth.
        true => libm::ceil(population - 0.01),
        false => population,
    }
}

/// The logarithm of a bound on the probability that at most `duplicates` of `examples` draws from K examples repeat
/// an earlier draw.
pub(crate) fn ln_so_few_duplicates(examples: u64, duplicates: u64, ln_population: f64) -> f64 {
    let (m, d) = (examples as f64, duplicates as f64);
    if m < 2.0 {
        return 0.0;
    }
    let ln_mu = libm::log(m) + libm::log(m - 1.0) - LN_2 - ln_population;
    // The examples have as many duplicates as draws from infinitely many.
    if ln_mu < 0.0 {
        return 0.0;
    }
    let population = population(ln_population);
    // More examples than are possible.
    if m - d > population {
        return f64::NEG_INFINITY;
    }
    if examples <= EXACT_MAX {
        let chances = distribution(examples as usize, population);
        let least = (examples - duplicates) as usize;
        return libm::log(chances[least.min(chances.len())..].iter().rev().sum());
    }
    ln_bound(m, d, libm::exp(ln_mu), population)
}

/// Exact probabilities of the number of distinct examples among m draws out of K.
pub(crate) fn distribution(draws: usize, population: f64) -> Vec<f64> {
    let most = (draws as f64).min(population) as usize;
    let mut chances = vec![0.0; most + 1];
    chances[0] = 1.0;
    for _ in 0..draws {
        for distinct in (1..chances.len()).rev() {
            let known = distinct as f64 / population;
            let fresh = (population - (distinct - 1) as f64) / population;
            chances[distinct] = chances[distinct] * known + chances[distinct - 1] * fresh;
        }
        chances[0] = 0.0;
    }
    chances
}

/// The smaller of the two bounds.
fn ln_bound(draws: f64, duplicates: f64, mu: f64, population: f64) -> f64 {
    let distinct = draws - duplicates;
    let by_duplicates = ln_by_duplicates(distinct, duplicates, mu, population);
    let by_absent = match population < libm::exp(LN_COUNTABLE) {
        true => ln_by_absent(draws, distinct, population),
        false => 0.0,
    };
    by_duplicates.min(by_absent).min(0.0)
}

/// The bound by the number of sequences with so many duplicates.
fn ln_by_duplicates(distinct: f64, duplicates: f64, mu: f64, population: f64) -> f64 {
    if duplicates >= mu {
        return 0.0;
    }
    let ln_factorial = match duplicates {
        0.0 => 0.0,
        d => d * libm::log(d) - d + 0.5 * libm::log(2.0 * PI * d) + stirling::remainder(d),
    };
    let ln_sequences = duplicates * libm::log(mu) - ln_factorial - libm::log1p(-duplicates / mu);
    ln_all_distinct(distinct, population) + ln_sequences
}

/// ln of the product of 1 - i / K over i < x, by Stirling's formula, for 1 <= x <= K.
pub(crate) fn ln_all_distinct(distinct: f64, population: f64) -> f64 {
    let absent = population - distinct;
    let of_all = stirling::remainder(population);
    if absent < 1.0 {
        return 0.5 * libm::log(2.0 * PI * population) - population + of_all;
    }
    let ln_absent = libm::log1p(-distinct / population);
    -absent * ln_absent - 0.5 * ln_absent - distinct + of_all - stirling::remainder(absent)
}

/// The bound by the number of examples that do not occur.
fn ln_by_absent(draws: f64, distinct: f64, population: f64) -> f64 {
    let ln_missed = draws * libm::log1p(-1.0 / population);
    let (missed, met) = (libm::exp(ln_missed), -libm::expm1(ln_missed));
    let absent = population - distinct;
    if absent >= population * missed || population <= 1.0 {
        return 0.0;
    }
    let of_absent = match absent {
        0.0 => 0.0,
        absent => absent * (libm::log(absent / population) - ln_missed),
    };
    -of_absent - distinct * libm::log(distinct / population / met)
}

/// Counts how often the second row of a pair is the larger one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowOrder {
    /// The first row of a pair that has no second row yet.
    first: Option<u64>,
    /// Pairs of different rows.
    pub pairs: u64,
    /// Pairs whose second row is larger.
    pub ascents: u64,
}

impl RowOrder {
    /// Counts the packed words of the next row.
    pub fn note(&mut self, row: &[u64]) {
        // The first feature decides first, as in a sorted table.
        let key = row.first().copied().unwrap_or_default().reverse_bits();
        match self.first.take() {
            None => self.first = Some(key),
            Some(first) if first == key => {}
            Some(first) => {
                self.pairs += 1;
                self.ascents += u64::from(key > first);
            }
        }
    }

    /// The state as numbers.
    pub(crate) fn numbers(&self) -> [u64; 4] {
        let first = self.first;
        [
            first.is_some().into(),
            first.unwrap_or_default(),
            self.pairs,
            self.ascents,
        ]
    }

    /// The state from [`Self::numbers`].
    pub(crate) fn from_numbers([has_first, first, pairs, ascents]: [u64; 4]) -> Self {
        Self {
            first: (has_first == 1).then_some(first),
            pairs,
            ascents,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learners::engine::evidence::FALSE_ALARM;

    #[test]
    fn ln_all_distinct_matches_the_plain_product() {
        for population in [1_u32, 2, 3, 16, 32, 512, 1 << 20] {
            for distinct in [1, 2, 3, 15, 16, 31, 32, 100, 511, 512, 5_000] {
                if distinct > population {
                    continue;
                }
                let plain =
                    (0..distinct).map(|i| libm::log1p(-f64::from(i) / f64::from(population)));
                let plain: f64 = plain.sum();
                let found = ln_all_distinct(distinct.into(), population.into());
                assert!(
                    (found - plain).abs() < 1e-7 * plain.abs().max(1.0),
                    "{distinct} of {population}: {found} {plain}"
                );
            }
        }
    }

    /// Catches a bound that is too small: it must be above the exact tail for every count. Catches one without power:
    /// it must refute whatever is far rarer than the level.
    #[test]
    fn bound_on_few_duplicates_is_just_above_the_exact_tail() {
        let mut refuted = 0;
        for bits in 1..=10 {
            let population = libm::exp2(f64::from(bits));
            for m in [
                2, 3, 8, 16, 31, 32, 33, 64, 100, 256, 400, 512, 700, 1_024, 2_048, 5_000,
            ] {
                let chances = distribution(m, population);
                let mu = (m * (m - 1)) as f64 / (2.0 * population);
                let mut tail = 0.0;
                for x in (1..chances.len()).rev() {
                    tail += chances[x];
                    let bound = ln_bound(m as f64, (m - x) as f64, mu, population);
                    let place = format!("{} of {m} from {population}", m - x);
                    assert!(bound >= libm::log(tail) - 1e-6, "{place}: {bound} {tail:e}");
                    if tail < FALSE_ALARM * 1e-21 {
                        assert!(bound < libm::log(FALSE_ALARM), "{place}: {bound} {tail:e}");
                        refuted += 1;
                    }
                }
            }
        }
        assert!(refuted > 500, "{refuted}");
    }

    #[test]
    fn enumerations_of_all_examples_have_too_few_duplicates() {
        let bound = |m, d, n: u32| {
            ln_so_few_duplicates(m, d, f64::from(n) * LN_2) / std::f64::consts::LN_10
        };
        // 512! / 512^512
        assert!(
            (bound(512, 0, 9) + 220.6).abs() < 0.1,
            "{}",
            bound(512, 0, 9)
        );
        // Each example exactly twice, three times.
        assert!(bound(1_024, 512, 9) < -20.0 && bound(1_536, 1_024, 9) < -9.0);
        assert!(bound(32, 0, 5) < -12.0);
        assert!(bound(1 << 22, 0, 40) < -3.0 && bound(1 << 22, 8, 40) > -1.0);
        // Sixteen examples are too few for the level.
        assert!(bound(16, 0, 4) > -9.0);
        // More distinct examples than are possible.
        assert_eq!(bound(33, 0, 5), f64::NEG_INFINITY);
        assert_eq!(bound(1, 0, 1), 0.0);
        assert_eq!(ln_so_few_duplicates(4_000_000, 0, 1e6), 0.0);
    }

    #[test]
    fn population_bound_is_at_least_the_exact_population() {
        for n in 2..=30_usize {
            let ways = (1..=n / 2).fold(1.0, |c, i| c * (2 * i - 1) as f64 / (2 * i) as f64);
            let on_the_plane = if n % 2 == 0 { ways } else { 0.0 };
            let exact = libm::log(libm::exp2((n - 1) as f64) * (1.0 + on_the_plane));
            for sampling in [Sampling::UniformPositive, Sampling::Reflected] {
                let found = ln_population_at_most(sampling, n);
                assert!(found >= exact - 1e-12 && found < exact + 0.1, "{n}");
            }
        }
    }

    #[test]
    fn row_order_counts_pairs_and_ascents() {
        let mut order = RowOrder::default();
        (0..64_u64).for_each(|row| order.note(&[row]));
        assert_eq!((order.pairs, order.ascents), (32, 32));
        order.note(&[1]);
        let again = RowOrder::from_numbers(order.numbers());
        assert_eq!(again, order);
        // Equal rows say nothing about the order.
        order.note(&[1]);
        assert_eq!(order.pairs, 32);
    }
}
