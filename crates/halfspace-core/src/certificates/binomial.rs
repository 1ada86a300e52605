//! Tails of the binomial distribution, in logarithms, and their inversion.
//!
//! The probability of one count is computed in Loader's saddle-point form, which loses no digits for large m. A tail is
//! this probability times a sum of positive ratios, so nothing cancels. All logarithms come from one software
//! implementation (`libm`), so each figure is the same on every machine.
//!
//! We do not use `statrs` 0.19, which has no logarithm of a tail. It puts the probability of no error in 1,000 examples
//! of error 0.9 at 0 instead of 10^-1000, and with the inverse of its beta distribution the limit for 1,000 errors in
//! 2^30 examples at level 10^-20 is 1 instead of 1.23e-6.
//!
//! Sources: C. Loader, Fast and accurate computation of binomial probabilities (2000); C. J. Clopper and E. S.
//! Pearson, The use of confidence or fiducial limits (1934).

use std::f64::consts::{LN_2, PI};

use crate::learners::arithmetic::stirling;

/// Terms below this share of a sum do not change the sum.
const NEGLIGIBLE: f64 = 1e-18;

/// The upper confidence limit of Clopper and Pearson: the largest p with `P(X <= k) >= delta`, where X counts the
/// errors of m independent examples with error p. In other words, it is the largest error that k errors on m examples
/// do not refute at level delta.
///
/// The limit is rounded up. It needs `k <= m` and `ln_delta < 0`.
pub fn upper_limit(k: u64, m: u64, ln_delta: f64) -> f64 {
    if k >= m {
        return 1.0;
    }
    if k == 0 {
        return -libm::expm1(ln_delta / m as f64);
    }
    last_above(ln_delta, |p| ln_at_most(k, m, p)).1
}

/// The lower confidence limit: the smallest p with `P(X >= k) >= delta`, rounded down.
pub fn lower_limit(k: u64, m: u64, ln_delta: f64) -> f64 {
    if k == 0 {
        return 0.0;
    }
    if k >= m {
        return libm::exp(ln_delta / m as f64);
    }
    last_above(-ln_delta, |p| -ln_at_least(k, m, p)).0
}

/// Neighbouring numbers of [0, 1] between which a decreasing function falls below `level`.
fn last_above(level: f64, decreasing: impl Fn(f64) -> f64) -> (f64, f64) {
    let (mut low, mut high) = (0.0, 1.0);
    loop {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            return (low, high);
        }
        match decreasing(middle) >= level {
            true => low = middle,
            false => high = middle,
        }
    }
}

/// ln P(X <= k) for the number X of errors among m, each with probability p in (0, 1).
pub fn ln_at_most(k: u64, m: u64, p: f64) -> f64 {
    if k >= m {
        return 0.0;
    }
    if (k as f64) < m as f64 * p {
        return ln_pmf(k, m, p) + libm::log(ratios(k, m, p, 1.0 - p));
    }
    ln_one_minus_exp(ln_at_least(k + 1, m, p))
}

/// ln P(X >= k).
pub fn ln_at_least(k: u64, m: u64, p: f64) -> f64 {
    if k == 0 {
        return 0.0;
    }
    if k as f64 >= m as f64 * p {
        // The correct examples are at most m - k.
        return ln_pmf(k, m, p) + libm::log(ratios(m - k, m, 1.0 - p, p));
    }
    ln_one_minus_exp(ln_at_most(k - 1, m, p))
}

/// P(X <= k) / P(X = k): the sum of the products of the ratios P(X = i - 1) / P(X = i) downwards from k, where p is the
/// probability of one count and q = 1 - p.
fn ratios(k: u64, m: u64, p: f64, q: f64) -> f64 {
    let (mut term, mut sum) = (1.0, 1.0);
    for i in (1..=k).rev() {
        term *= i as f64 * q / ((m - i + 1) as f64 * p);
        sum += term;
        if term < NEGLIGIBLE * sum {
            break;
        }
    }
    sum
}

/// ln(1 - e^x) for x <= 0.
fn ln_one_minus_exp(x: f64) -> f64 {
    match x > -LN_2 {
        true => libm::log(-libm::expm1(x)),
        false => libm::log1p(-libm::exp(x)),
    }
}

/// ln P(X = k).
fn ln_pmf(k: u64, m: u64, p: f64) -> f64 {
    let (count, rest, all) = (k as f64, (m - k) as f64, m as f64);
    if k == 0 {
        return all * libm::log1p(-p);
    }
    if k == m {
        return all * libm::log(p);
    }
    let exponent = deviance(count, all * p) + deviance(rest, all * (1.0 - p));
    ln_root(k, m) - exponent
}

/// The part of ln C(m, k) beyond the entropy: the remainders of Stirling's formula, and its root. `0 < k < m`.
fn ln_root(k: u64, m: u64) -> f64 {
    let (count, rest, all) = (k as f64, (m - k) as f64, m as f64);
    let remainders =
        stirling::remainder(all) - stirling::remainder(count) - stirling::remainder(rest);
    remainders + 0.5 * libm::log(all / (2.0 * PI * count * rest))
}

/// ln C(m, k).
pub fn ln_choose(m: u64, k: u64) -> f64 {
    if k == 0 || k >= m {
        return 0.0;
    }
    let (count, rest, all) = (k as f64, (m - k) as f64, m as f64);
    let entropy = count * libm::log(all / count) - rest * libm::log1p(-count / all);
    entropy + ln_root(k, m)
}

/// `x ln(x / mean) + mean - x` without cancellation, for positive numbers.
fn deviance(x: f64, mean: f64) -> f64 {
    let difference = x - mean;
    let ratio = difference / (x + mean);
    if ratio.abs() >= 0.1 {
        return x * libm::log(x / mean) - difference;
    }
    // ln(x / mean) = 2 artanh(ratio), as a series in odd powers.
    let square = ratio * ratio;
    let (mut sum, mut power) = (difference * ratio, 2.0 * x * ratio);
    // The square is below 0.01, so the terms vanish long before the last of these powers.
    for odd in (3..99).step_by(2) {
        power *= square;
        let next = sum + power / f64::from(odd);
        if next == sum {
            break;
        }
        sum = next;
    }
    sum
}
