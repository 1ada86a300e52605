//! From a solver's f64 to whole numbers: the coarsest roundings first, since small weights are
//! easier to read, and the values themselves last, since every f64 is a fraction over a power of
//! two.

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{One, Signed, Zero};

use super::examples::{whole, whole_shift};

/// Bits of the largest weight of each rounding. The last stays within machine integers.
const PRECISIONS: [i32; 7] = [3, 6, 10, 16, 24, 32, 39];

/// Whole vectors in the direction of `values`, coarse to exact; none for what is not finite.
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

/// Divides whole numbers by what divides them all.
pub fn reduce(numbers: &mut [BigInt]) {
    let divisor = numbers
        .iter()
        .fold(BigInt::zero(), |gcd, x| gcd.gcd(x))
        .abs();
    if divisor > BigInt::one() {
        numbers.iter_mut().for_each(|number| *number /= &divisor);
    }
}
