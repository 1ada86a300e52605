//! The error of Stirling's formula for the logarithm of a factorial.

use std::f64::consts::PI;

/// ln k! minus Stirling's formula without its series, for a whole number k >= 1.
pub(crate) fn remainder(k: f64) -> f64 {
    if k >= 16.0 {
        let square = k * k;
        return (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / (1260.0 * square)) / square) / k;
    }
    let factorial: f64 = (1..=k as u64).map(|i| libm::log(i as f64)).sum();
    factorial - k * libm::log(k) + k - 0.5 * libm::log(2.0 * PI * k)
}
