//! Examples as vectors a = y (x, 1), the bias coordinate last, in exact integers.
//!
//! A hyperplane w is right on an example when a.w > 0. Real values are f64 and so multiples of
//! some power of two: all are multiplied by one such power, which changes no sign and no sum that
//! is zero.

use num_bigint::{BigInt, BigUint, Sign};
use num_traits::Zero;

use crate::bits::words_for;
use crate::learners::data::{Data, Features, Labels};
use crate::learners::linear::{INTEGER_WEIGHT_MAX, IntegerWeights, Reading};
use crate::learners::run::{Interrupt, Run};

/// A sample as vectors a = y (x, 1) or a = y x.
pub struct SignedExamples<'a> {
    data: &'a Data,
    reading: Reading,
    has_bias: bool,
    /// Every coordinate times 2^shift is a whole number.
    shift: u32,
}

/// One example in whole numbers.
#[derive(Clone, Debug)]
pub enum Column {
    /// Coordinates in {-1, 0, 1}: where it is 1, and where -1.
    Signs { plus: Vec<u32>, minus: Vec<u32> },
    /// Any whole numbers, one a coordinate.
    Whole(Vec<BigInt>),
}

impl<'a> SignedExamples<'a> {
    /// The examples of `data`, Boolean ones in `reading`, with a coordinate 1 if `has_bias`.
    ///
    /// # Errors
    /// The interrupt that came while real values were read for their power of two.
    pub fn new(
        data: &'a Data,
        reading: Reading,
        has_bias: bool,
        run: &Run,
    ) -> Result<Self, Interrupt> {
        let mut lowest = 0;
        if let Features::Real(matrix) = data.features() {
            for row in 0..matrix.rows() {
                look(run)?;
                let exponents = matrix.row(row).iter().filter(|value| **value != 0.0);
                lowest = exponents.fold(lowest, |lowest, &value| lowest.min(parts(value).1));
            }
        }
        Ok(Self {
            data,
            reading,
            has_bias,
            shift: lowest.unsigned_abs(),
        })
    }

    /// The sample itself.
    pub fn data(&self) -> &'a Data {
        self.data
    }

    /// Whether the last coordinate is the bias.
    pub fn has_bias(&self) -> bool {
        self.has_bias
    }

    /// How Boolean examples are read.
    pub fn reading(&self) -> Reading {
        self.reading
    }

    /// Coordinates of a vector, the bias included.
    pub fn coordinates(&self) -> usize {
        self.data.n() + usize::from(self.has_bias)
    }

    /// The number of examples.
    pub fn count(&self) -> usize {
        self.data.examples()
    }

    /// Coordinates are whole multiples of 2 to the minus this.
    pub fn shift(&self) -> u32 {
        self.shift
    }

    /// Whether example `index` is labelled -1.
    pub fn is_negative(&self, index: usize) -> bool {
        matches!(self.data.labels(), Labels::Labelled(labels) if !labels.get(index))
    }

    /// The vector of example `index`, unscaled, written over `out`.
    pub fn values(&self, index: usize, out: &mut Vec<f64>) {
        out.clear();
        match self.data.features() {
            Features::Boolean(matrix) => {
                let row = matrix.row(index);
                out.extend((0..row.n()).map(|j| self.reading.value(row.get(j))));
            }
            Features::Real(matrix) => out.extend_from_slice(matrix.row(index)),
        }
        if self.has_bias {
            out.push(1.0);
        }
        if self.is_negative(index) {
            out.iter_mut().for_each(|value| *value = -*value);
        }
    }

    /// The vector of example `index` times 2^shift, exactly.
    pub fn column(&self, index: usize) -> Column {
        let is_negative = self.is_negative(index);
        match self.data.features() {
            Features::Boolean(matrix) => {
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
                Column::Signs { plus, minus }
            }
            Features::Real(matrix) => {
                let bias = self.has_bias.then_some(&1.0);
                let values = matrix.row(index).iter().chain(bias);
                let sign = if is_negative { -1.0 } else { 1.0 };
                Column::Whole(values.map(|x| whole(sign * x, self.shift)).collect())
            }
        }
    }

    /// Calls `visit` with the index and 2^shift a.w of every example, in order.
    ///
    /// # Errors
    /// The interrupt that cut it short.
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

    /// The bits and the weights in machine integers, where no score can overflow them.
    fn machine_weights(
        &self,
        weights: &[BigInt],
    ) -> Option<(&'a crate::bits::BitMatrix, IntegerWeights)> {
        let Features::Boolean(matrix) = self.data.features() else {
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

    /// The largest |a|^2, times 4^shift.
    ///
    /// # Errors
    /// The interrupt that cut it short.
    pub fn radius_squared(&self, run: &Run) -> Result<BigUint, Interrupt> {
        let mut largest = BigUint::zero();
        for index in 0..self.count() {
            look(run)?;
            largest = largest.max(self.column(index).norm_squared());
        }
        Ok(largest)
    }
}

impl Column {
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

/// Whether the run may go on.
///
/// # Errors
/// The interrupt that was raised.
pub fn look(run: &Run) -> Result<(), Interrupt> {
    run.stop.raised().map_or(Ok(()), Err)
}

/// A finite value, not 0, as an odd whole number times a power of two; the sign left out.
fn parts(value: f64) -> (u64, i32) {
    let bits = value.to_bits();
    let (field, fraction) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
    // A subnormal number has no implied bit, and the exponent of the smallest normal one.
    let (mantissa, exponent) = match field {
        0 => (fraction, -1074),
        _ => (fraction | 1 << 52, field - 1075),
    };
    let zeros = mantissa.trailing_zeros();
    (mantissa >> zeros, exponent + zeros as i32)
}

/// A finite value times 2^shift, where that is whole.
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

/// The least shift that makes every value whole.
pub fn whole_shift(values: &[f64]) -> u32 {
    let exponents = values.iter().filter(|value| **value != 0.0);
    let lowest = exponents.fold(0, |lowest, &value| lowest.min(parts(value).1));
    lowest.unsigned_abs()
}
