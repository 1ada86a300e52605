//! Novikoff's theorem on the mistakes of the perceptron.
//!
//! The perceptron from w = 0 makes at most R^2 |u|^2 / xi^2 mistakes on examples of norm at most R if a vector u
//! satisfies y <u, x> >= xi > 0 for every example. You find the formula in `learners::linear::novikoff`, which also
//! applies the bound to runs.

use crate::learners::engine::bound::on_whole_numbers;
use crate::learners::linear::novikoff;

use super::{MistakeBound, OutOfRange, check_positive};

/// Computes the bound for R = `radius`, |u| = `norm` and xi = `margin`. All three must be positive.
///
/// # Errors
/// Names the parameter that is out of range.
pub fn bound(radius: f64, norm: f64, margin: f64) -> Result<MistakeBound, OutOfRange> {
    check_positive("radius", radius)?;
    check_positive("norm", norm)?;
    check_positive("margin", margin)?;
    let log2 = 2.0 * (libm::log2(radius) + libm::log2(norm) - libm::log2(margin));
    let squares = [radius, norm, margin].map(|factor| factor * factor);
    let direct = novikoff::mistakes(squares[0], squares[1], margin);
    let is_precise = direct.is_normal() && squares.iter().all(|square| square.is_normal());
    // A square may exceed the range of f64 even if the bound does not.
    let value = if is_precise { direct } else { libm::exp2(log2) };
    Ok(MistakeBound {
        value: Some(on_whole_numbers(value)).filter(|value| value.is_normal()),
        log2,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn novikoff_bound_is_that_of_the_theorem() {
        let found = bound(3.0, 2.0, 0.5).expect("in range");
        assert_eq!(found.value, Some(144.0));
        assert!((found.log2 - libm::log2(144.0)).abs() < 1e-12);
    }

    #[test]
    fn novikoff_bound_past_f64_has_its_logarithm() {
        let found = bound(1e200, 1e-200, 0.5).expect("in range");
        let value = found.value.expect("4 is no large number");
        assert!((value - 4.0).abs() < 1e-9, "{value}");
        let found = bound(1e200, 1e200, 1.0).expect("in range");
        assert_eq!(found.value, None);
        assert!((found.log2 - 800.0 * libm::log2(10.0)).abs() < 1e-9);
    }

    #[test]
    fn novikoff_names_the_parameter_out_of_range() {
        let named = |radius, norm, margin| {
            let error = bound(radius, norm, margin).expect_err("out of range");
            error.parameter
        };
        assert_eq!(named(0.0, 1.0, 1.0), "radius");
        assert_eq!(named(1.0, f64::INFINITY, 1.0), "norm");
        assert_eq!(named(1.0, 1.0, -1.0), "margin");
        assert_eq!(named(1.0, 1.0, f64::NAN), "margin");
    }
}
