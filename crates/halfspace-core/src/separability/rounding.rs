//! Conversion of a solver's f64 weights to integers.
//!
//! The coarsest roundings come first, because small weights are easier to read. The exact values come last; they exist
//! because every f64 is an integer over a power of two.

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{One, Signed, Zero};

use super::examples::{whole, whole_shift};

/// Bits of the largest weight in each rounding. The last rounding stays within machine integers.
const PRECISIONS: [i32; 7] = [3, 6, 10, 16, 24, 32, 39];

/// Integer vectors in the direction of `values`, from coarse to exact. There are none if the values are all 0 or not
/// finite.
pub fn roundings(values: &[f64]) -> impl Iterator<Item = Vec<BigInt>> {
    let largest = values
        .iter()
        .fold(0.0_f64, |largest, x| largest.max(x.abs()));
    let usable = largest > 0.0 && values.iter().all(|x| x.is_finite());
    let rounded = PRECISIONS.map(move |bits| {
        let scale = libm::exp2(f64::from(bits)) / largest;
        move |value: &f64| BigInt::from(libm::round(value * scale) as i64)
    });
    let exact = usable.then(|| {
        let shift = whole_shift(values);
        values.iter().map(|&value| whole(value, shift)).collect()
    });
    rounded
        .into_iter()
        .filter(move |_| usable)
        .map(|round| values.iter().map(round).collect())
        .chain(exact)
}

/// Divides the integers by their greatest common divisor.
pub fn reduce(numbers: &mut [BigInt]) {
    let divisor = numbers
        .iter()
        .fold(BigInt::zero(), |gcd, x| gcd.gcd(x))
        .abs();
    if divisor > BigInt::one() {
        numbers.iter_mut().for_each(|number| *number /= &divisor);
    }
}
