//! Labelled examples as exact integer vectors a = y (x, 1), where y is the label and the bias coordinate comes last.
//!
//! A hyperplane w is right on an example if a.w > 0. A real value is an f64, so it is a multiple of some power of
//! two. We multiply all values by one common power of two, which makes them integers and preserves every sign and
//! every sum that is zero.

use num_bigint::{BigInt, BigUint, Sign};
use num_traits::Zero;

use crate::bits::words_for;
use crate::learners::arithmetic::unit::INTEGER_WEIGHT_MAX;
use crate::learners::engine::run::{Interrupt, Run};
use crate::learners::linear::linear_weights::{IntegerWeights, Reading};
use crate::learners::sample::data::{Data, DenseFeatures};

/// A sample as vectors a = y (x, 1) or a = y x.
pub struct SignedExamples<'a> {
    data: &'a Data,
    features: DenseFeatures<'a>,
    reading: Reading,
    has_bias: bool,
    /// Every coordinate times 2^shift is an integer.
    shift: u32,
}

/// One example as an integer vector.
#[derive(Clone, Debug)]
pub enum IntegerExample {
    /// Coordinates in {-1, 0, 1}: the indices of the 1s and of the -1s.
    Signs { plus: Vec<u32>, minus: Vec<u32> },
    /// Arbitrary integers, one per coordinate.
    Whole(Vec<BigInt>),
}

impl<'a> SignedExamples<'a> {
    /// Wraps the examples of `data`. `reading` applies to Boolean examples. If `has_bias`, each example has a
    /// last coordinate of 1.
    ///
    /// # Errors
    /// Returns the interrupt if the run stops during the pass over the real values, or the memory grant is too small
    /// for the dense form of sparse examples.
    pub fn new(
        data: &'a Data,
        reading: Reading,
        has_bias: bool,
        run: &Run,
    ) -> Result<Self, Interrupt> {
        let mut lowest = 0;
        let features = data.features().packed().map_err(|_| Interrupt::Memory)?;
        if let DenseFeatures::Real(matrix) = &features {
            for row in 0..matrix.rows() {
                look(run)?;
                let exponents = matrix.row(row).iter().filter(|value| **value != 0.0);
                lowest = exponents.fold(lowest, |lowest, &value| lowest.min(parts(value).1));
            }
        }
        Ok(Self {
            data,
            features,
            reading,
            has_bias,
            shift: lowest.unsigned_abs(),
        })
    }

    pub fn data(&self) -> &'a Data {
        self.data
    }

    pub fn features(&self) -> &DenseFeatures<'a> {
        &self.features
    }

    /// Whether the last coordinate is the bias.
    pub fn has_bias(&self) -> bool {
        self.has_bias
    }

    /// The reading of Boolean examples.
    pub fn reading(&self) -> Reading {
        self.reading
    }

    /// The number of coordinates, including the bias.
    pub fn coordinates(&self) -> usize {
        self.data.n() + usize::from(self.has_bias)
    }

    /// The number of examples.
    pub fn count(&self) -> usize {
        self.data.examples()
    }

    /// The shift. Coordinates are integer multiples of 2^-shift.
    pub fn shift(&self) -> u32 {
        self.shift
    }

    /// Whether example `index` has the label -1.
    pub fn is_negative(&self, index: usize) -> bool {
        matches!(self.data.labels().signs(), Some(labels) if !labels.get(index))
    }

    /// Replaces the contents of `out` by the unscaled vector of example `index`.
    pub fn values(&self, index: usize, out: &mut Vec<f64>) {
        out.clear();
        match &self.features {
            DenseFeatures::Boolean(matrix) => {
                let row = matrix.row(index);
                out.extend((0..row.n()).map(|j| self.reading.value(row.get(j))));
            }
            DenseFeatures::Real(matrix) => out.extend_from_slice(matrix.row(index)),
        }
        if self.has_bias {
            out.push(1.0);
        }
        if self.is_negative(index) {
            out.iter_mut().for_each(|value| *value = -*value);
        }
    }

    /// The exact vector of example `index` times 2^shift.
    pub fn column(&self, index: usize) -> IntegerExample {
        let is_negative = self.is_negative(index);
        match &self.features {
            DenseFeatures::Boolean(matrix) => {
                let row = matrix.row(index);
                let (mut ones, mut others): (Vec<u32>, Vec<u32>) =
                    (0..row.n() as u32).partition(|&j| row.get(j as usize));
                if self.reading == Reading::Unsigned {
                    others.clear();
                }
                if self.has_bias {
                    ones.push(row.n() as u32);
                }
                let (plus, minus) = match is_negative {
                    false => (ones, others),
                    true => (others, ones),
                };
                IntegerExample::Signs { plus, minus }
            }
            DenseFeatures::Real(matrix) => {
                let bias = self.has_bias.then_some(&1.0);
                let values = matrix.row(index).iter().chain(bias);
                let sign = if is_negative { -1.0 } else { 1.0 };
                IntegerExample::Whole(values.map(|x| whole(sign * x, self.shift)).collect())
            }
        }
    }

    /// Calls `visit` with the index and the product 2^shift a.w of every example in order.
    ///
    /// # Errors
    /// Returns the interrupt if the run stops.
    pub fn for_each_product(
        &self,
        weights: &[BigInt],
        run: &Run,
        mut visit: impl FnMut(usize, BigInt),
    ) -> Result<(), Interrupt> {
        let Some((matrix, weights)) = self.machine_weights(weights) else {
            for index in 0..self.count() {
                look(run)?;
                visit(index, self.column(index).dot(weights));
            }
            return Ok(());
        };
        let mut words = vec![0; words_for(matrix.n())];
        let mut index = 0;
        for block in matrix.blocks() {
            look(run)?;
            for row in 0..block.rows() {
                block.copy_row(row, &mut words);
                let score = weights.score(&words);
                let is_negative = self.is_negative(index);
                visit(
                    index,
                    BigInt::from(if is_negative { -score } else { score }),
                );
                index += 1;
            }
        }
        Ok(())
    }

    /// The bits and the weights as machine integers, if no score can overflow.
    fn machine_weights(
        &self,
        weights: &[BigInt],
    ) -> Option<(&crate::bits::BitMatrix, IntegerWeights)> {
        let DenseFeatures::Boolean(matrix) = &self.features else {
            return None;
        };
        let fits = |w: &BigInt| {
            i64::try_from(w)
                .ok()
                .filter(|w| w.abs() <= INTEGER_WEIGHT_MAX)
        };
        let mut weights: Vec<i64> = weights.iter().map(fits).collect::<Option<_>>()?;
        let bias = if self.has_bias { weights.pop() } else { None };
        Some((matrix, IntegerWeights::new(self.reading, weights, bias)))
    }

    /// The largest |a|^2 times 4^shift.
    ///
    /// # Errors
    /// Returns the interrupt if the run stops.
    pub fn radius_squared(&self, run: &Run) -> Result<BigUint, Interrupt> {
        let mut largest = BigUint::zero();
        for index in 0..self.count() {
            look(run)?;
            largest = largest.max(self.column(index).norm_squared());
        }
        Ok(largest)
    }
}

impl IntegerExample {
    /// The inner product with `weights`.
    pub fn dot(&self, weights: &[BigInt]) -> BigInt {
        match self {
            Self::Signs { plus, minus } => {
                let mut sum = BigInt::zero();
                plus.iter().for_each(|&j| sum += &weights[j as usize]);
                minus.iter().for_each(|&j| sum -= &weights[j as usize]);
                sum
            }
            Self::Whole(values) => values.iter().zip(weights).map(|(a, w)| a * w).sum(),
        }
    }

    /// sum += amount * a.
    pub fn add_to(&self, sum: &mut [BigInt], amount: &BigInt) {
        match self {
            Self::Signs { plus, minus } => {
                plus.iter().for_each(|&j| sum[j as usize] += amount);
                minus.iter().for_each(|&j| sum[j as usize] -= amount);
            }
            Self::Whole(values) => {
                for (sum, value) in sum.iter_mut().zip(values) {
                    *sum += value * amount;
                }
            }
        }
    }

    /// |a|^2.
    pub fn norm_squared(&self) -> BigUint {
        match self {
            Self::Signs { plus, minus } => BigUint::from(plus.len() + minus.len()),
            Self::Whole(values) => values.iter().map(|value| value.magnitude().pow(2)).sum(),
        }
    }
}

/// Polls the stop flag.
///
/// # Errors
/// Returns the interrupt if one was raised.
pub fn look(run: &Run) -> Result<(), Interrupt> {
    run.stop.raised().map_or(Ok(()), Err)
}

/// Splits a finite value other than 0 into an odd integer and a power of two. The sign is dropped.
fn parts(value: f64) -> (u64, i32) {
    let bits = value.to_bits();
    let (field, fraction) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
    // A subnormal number has no implied bit. Its exponent is that of the smallest normal number.
    let (mantissa, exponent) = match field {
        0 => (fraction, -1074),
        _ => (fraction | 1 << 52, field - 1075),
    };
    let zeros = mantissa.trailing_zeros();
    (mantissa >> zeros, exponent + zeros as i32)
}

/// A finite value times 2^shift, which must be an integer.
pub fn whole(value: f64, shift: u32) -> BigInt {
    if value == 0.0 {
        return BigInt::zero();
    }
    let (odd, exponent) = parts(value);
    let sign = if value < 0.0 { Sign::Minus } else { Sign::Plus };
    let places = exponent + shift as i32;
    assert!(places >= 0, "the shift makes every value whole");
    BigInt::from_biguint(sign, BigUint::from(odd) << places)
}

/// The least shift that makes every value an integer.
pub fn whole_shift(values: &[f64]) -> u32 {
    let exponents = values.iter().filter(|value| **value != 0.0);
    let lowest = exponents.fold(0, |lowest, &value| lowest.min(parts(value).1));
    lowest.unsigned_abs()
}
