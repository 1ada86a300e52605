//! The mistake bound of Winnow: Theorem 2 of Khardon, Roth and Servedio ("Efficiency versus convergence of Boolean
//! kernels for on-line learning algorithms", section 1), which goes back to N. Littlestone (1988). If the examples
//! are labelled by a monotone disjunction of k literals among N features, Winnow with factor alpha and threshold
//! theta makes at most `alpha / (alpha - 1) * N / theta + k (alpha + 1) (1 + log_alpha theta)` mistakes.
//!
//! Proof idea: a relevant weight is never demoted, and promoted at most 1 + log_alpha theta times. The sum of all
//! weights starts at N; a promotion adds at most (alpha - 1) theta to it, and a demotion removes at least
//! (1 - 1 / alpha) theta. If theta < 1, a relevant weight reaches theta from the start, so there are no promotions
//! and the first term alone is the bound.

use crate::learners::engine::bound::on_whole_numbers;

/// A share of theta below which a difference of such shares may be rounding.
const ROUNDING: f64 = 1e-9;

/// The bound on the updates for features with names, whose number is not known. If every example has at most
/// a = `active_max` active features and theta - tau > a alpha/(alpha - 1), there are at most
/// `k (1 + log_alpha(theta + tau)) (1 + ((alpha - 1)(theta + tau) + a) / ((1 - 1/alpha)(theta - tau) - a))`, where the
/// thickness tau is the share `thickness` of theta. Without thickness all updates are mistakes. None if theta is not
/// larger.
///
/// Proof idea: a feature has a stored weight once it was active in a mistake, and the sum of the stored weights starts
/// at 0. A promotion adds less than (alpha - 1)(theta + tau), and 1 for each feature that it stores, of which there are
/// at most a. A demotion removes at least (1 - 1/alpha)(theta - tau) and adds at most a in the same way. The sum is
/// never negative, so the fraction bounds the demotions per promotion. A relevant feature is never demoted, and
/// promoted at most 1 + log_alpha(theta + tau) times.
pub fn updates_over_names(
    alpha: f64,
    ln_theta: f64,
    thickness: f64,
    active_max: f64,
    relevant: f64,
) -> Option<f64> {
    let share = libm::exp(libm::log(active_max) - ln_theta);
    let removed = (1.0 - 1.0 / alpha) * (1.0 - thickness) - share;
    (removed > ROUNDING).then(|| {
        let promotions = relevant * promotions(alpha, ln_theta, thickness).max(1.0);
        let added = (alpha - 1.0) * (1.0 + thickness) + share;
        on_whole_numbers(promotions * (1.0 + added / removed))
    })
}

/// How often a relevant weight can be promoted: 1 + log_alpha (theta + tau). Not positive if a weight reaches
/// theta + tau from the start.
fn promotions(alpha: f64, ln_theta: f64, thickness: f64) -> f64 {
    1.0 + (ln_theta + libm::log1p(thickness)) / libm::log(alpha)
}

/// The bound on the mistakes for alpha > 1, theta > 0, N = `features` and k = `relevant`. With negated literals, N
/// counts every feature twice. The bound is infinite if N / theta leaves the range of f64.
pub fn mistakes(alpha: f64, theta: f64, features: f64, relevant: f64) -> f64 {
    sum(alpha, features / theta, libm::log(theta), 0.0, relevant)
}

/// The same bound from the natural logarithm of theta, for a theta outside the range of f64.
pub fn mistakes_by_logarithm(alpha: f64, ln_theta: f64, features: f64, relevant: f64) -> f64 {
    updates_by_logarithm(alpha, ln_theta, 0.0, features, relevant)
}

/// The bound on the updates with the thickness tau, which is the share `thickness` of theta. By the same proof it is
/// `alpha/(alpha - 1) N/(theta - tau) + k (1 + log_alpha(theta + tau)) (1 + alpha (theta + tau)/(theta - tau))`.
pub fn updates_by_logarithm(
    alpha: f64,
    ln_theta: f64,
    thickness: f64,
    features: f64,
    relevant: f64,
) -> f64 {
    let quotient = libm::exp(libm::log(features) - ln_theta);
    sum(alpha, quotient, ln_theta, thickness, relevant)
}

fn sum(alpha: f64, features_over_theta: f64, ln_theta: f64, thickness: f64, relevant: f64) -> f64 {
    let demotions = alpha / (alpha - 1.0) * features_over_theta / (1.0 - thickness);
    let ratio = (1.0 + thickness) / (1.0 - thickness);
    let promotions = promotions(alpha, ln_theta, thickness);
    on_whole_numbers(match promotions < 1.0 {
        true => demotions,
        false => demotions + relevant * (1.0 + alpha * ratio) * promotions,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn winnow_bound_is_that_of_the_theorem() {
        // 2 * 1024 / 1024 + 3 * 3 * (1 + 10)
        assert!((mistakes(2.0, 1024.0, 1024.0, 3.0) - 101.0).abs() < 1e-9);
        // 1.5 * 90 / 9 + 4 * (1 + 2)
        assert!((mistakes(3.0, 9.0, 90.0, 1.0) - 27.0).abs() < 1e-9);
        // theta = 1: log 1 = 0
        assert!((mistakes(2.0, 1.0, 10.0, 2.0) - 26.0).abs() < 1e-9);
    }

    #[test]
    fn winnow_bound_over_names_needs_no_number_of_features() {
        let bound = |theta: f64, active, relevant| {
            updates_over_names(2.0, theta.ln(), 0.0, active, relevant)
        };
        // 6 k (3 + log2 a) at theta = 4 a
        let expected = 6.0 * 5.0 * (3.0 + 50_f64.log2());
        assert!((bound(200.0, 50.0, 5.0).expect("large") - expected).abs() < 1e-9);
        assert!((expected - 259.3).abs() < 0.05);
        assert_eq!(bound(8.0, 2.0, 1.0), Some(24.0));
        assert_eq!(bound(100.0, 50.0, 5.0), None);
    }

    #[test]
    fn winnow_bounds_with_thickness_are_those_of_the_proofs() {
        // theta + tau = 128, theta - tau = 32, a = 4: (1 + 7) (1 + (128 + 4) / (16 - 4))
        let over_names = updates_over_names(2.0, 80_f64.ln(), 0.6, 4.0, 1.0).expect("large");
        assert!((over_names - 96.0).abs() < 1e-9);
        assert_eq!(updates_over_names(2.0, 80_f64.ln(), 0.9, 4.0, 1.0), None);
        // 2 * 64 / 32 + 3 (1 + 7) (1 + 2 * 128 / 32)
        let of_numbers = updates_by_logarithm(2.0, 80_f64.ln(), 0.6, 64.0, 3.0);
        assert!((of_numbers - 220.0).abs() < 1e-9);
    }

    #[test]
    fn winnow_bound_below_theta_1_has_no_promotions() {
        assert_eq!(mistakes(2.0, 0.5, 10.0, 3.0), 40.0);
    }

    #[test]
    fn a_threshold_may_be_given_by_its_logarithm() {
        for (alpha, theta, features) in [(2.0, 7.0, 7.0), (1.5, 1e30, 1e3), (3.0, 0.25, 20.0)] {
            let direct = mistakes(alpha, theta, features, 2.0);
            let by_logarithm = mistakes_by_logarithm(alpha, libm::log(theta), features, 2.0);
            assert!((direct / by_logarithm - 1.0).abs() < 1e-12);
        }
        // theta = 2^40000, which exceeds the range of f64
        let ln_theta = 40_000.0 * core::f64::consts::LN_2;
        let bound = mistakes_by_logarithm(2.0, ln_theta, 100.0, 1.0);
        assert!((bound - 3.0 * 40_001.0).abs() < 1e-6);
    }
}
