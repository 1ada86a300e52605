//! The simplex method in exact integers over a growing set of examples.
//!
//! The constraints are: lambda >= 0, sum lambda_i a_i = 0, and the lambda_i of the examples that need a.w > 0 sum to 1.
//! Phase one seeks a solution of them. If there is one, these lambda exclude every separator. Otherwise the prices of
//! the rows are a separator of the examples so far. So you always get an answer, unless the run is stopped.
//!
//! The inverse of the basis is stored as integers over its determinant (J. Edmonds, "Systems of distinct
//! representatives and linear algebra", 1967; E. H. Bareiss, 1968), and each pivot divides exactly. The leaving row
//! follows the lexicographic rule of G. B. Dantzig, A. Orden and P. Wolfe (1955), with which no basis repeats,
//! whatever column enters.
//!
//! A simplex method in f64 cannot take this step. `microlp` 0.7 accepts errors of 10^-7: for 100 separable examples of
//! 100 bits, whose separator has integer weights of up to 69 bits, it returns weights that are wrong on 11 of them. Nor
//! does it report multipliers, which are our proof where no separator exists.

use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};
use num_traits::{One, ToPrimitive, Zero};

use crate::learners::engine::run::{Interrupt, Run};

use super::alternative::Multiplier;
use super::examples::{IntegerExample, look};
use super::rounding::reduce;

/// An example as a column of the program.
pub struct SimplexColumn {
    /// Index of the example in the sample.
    pub example: usize,
    /// The vector of the example in integers.
    pub column: IntegerExample,
    /// The vector of the example in f64, at any positive scale. These values guide the choice of a column but never
    /// decide.
    pub values: Vec<f64>,
    /// Whether the example needs a.w > 0.
    pub is_strict: bool,
}

/// Solution of the program for the present examples.
pub enum Solution {
    /// A hyperplane that is right on all present examples.
    Separator(Vec<BigInt>),
    /// Multipliers whose sum is 0.
    Multipliers(Vec<Multiplier>),
}

/// The program and its present basis.
pub struct ExactSimplex {
    entries: Vec<SimplexColumn>,
    /// The entry in each row of the basis, or `None` for the artificial variable of the start.
    basis: Vec<Option<usize>>,
    /// The inverse of the basis times `determinant`, row by row.
    inverse: Vec<Vec<BigInt>>,
    /// Determinant of the basis, above 0.
    determinant: BigInt,
}

impl ExactSimplex {
    /// Creates a program without examples for vectors of `coordinates` coordinates.
    pub fn new(coordinates: usize) -> Self {
        let rows = coordinates + 1;
        let unit = |row: usize| {
            let entry = |column| {
                if row == column {
                    BigInt::one()
                } else {
                    BigInt::zero()
                }
            };
            (0..rows).map(entry).collect()
        };
        Self {
            entries: Vec::new(),
            basis: vec![None; rows],
            inverse: (0..rows).map(unit).collect(),
            determinant: BigInt::one(),
        }
    }

    /// Adds an example.
    pub fn push(&mut self, entry: SimplexColumn) {
        self.entries.push(entry);
    }

    /// Solves the program over the present examples, starting from the present basis.
    ///
    /// # Errors
    /// Returns the interrupt if the run stops.
    pub fn solve(&mut self, run: &Run) -> Result<Solution, Interrupt> {
        loop {
            let prices = self.prices(run)?;
            if prices.last().is_none_or(Zero::is_zero) {
                return Ok(Solution::Multipliers(self.multipliers()));
            }
            let Some(entering) = self.entering(&prices, run)? else {
                let mut separator: Vec<BigInt> = prices.iter().map(|price| -price).collect();
                separator.pop();
                reduce(&mut separator);
                return Ok(Solution::Separator(separator));
            };
            self.pivot(entering, run)?;
        }
    }

    /// The prices of the rows times the determinant, which are the sum of the rows that still hold an artificial
    /// variable. The last price is the remaining infeasibility.
    fn prices(&self, run: &Run) -> Result<Vec<BigInt>, Interrupt> {
        let mut prices = vec![BigInt::zero(); self.basis.len()];
        for (row, held) in self.inverse.iter().zip(&self.basis) {
            look(run)?;
            if held.is_none() {
                prices
                    .iter_mut()
                    .zip(row)
                    .for_each(|(price, x)| *price += x);
            }
        }
        Ok(prices)
    }

    /// An entry that would reduce the infeasibility. Entries with a positive f64 gain are tried first, the largest
    /// first. If none of them has a positive exact gain, all entries are tried.
    fn entering(&self, prices: &[BigInt], run: &Run) -> Result<Option<usize>, Interrupt> {
        let approximate = approximations(prices);
        let (last, weights) = approximate.split_last().expect("the row of the sum");
        let gain = |entry: &SimplexColumn| {
            let products = entry.values.iter().zip(weights).map(|(a, p)| a * p);
            products.sum::<f64>() + if entry.is_strict { *last } else { 0.0 }
        };
        let gains: Vec<f64> = self.entries.iter().map(gain).collect();
        let mut best: Vec<usize> = (0..gains.len()).filter(|&i| gains[i] > 0.0).collect();
        best.sort_by(|&one, &other| gains[other].total_cmp(&gains[one]));
        for index in best.into_iter().chain(0..self.entries.len()) {
            look(run)?;
            if self.gain(index, prices).sign() == Sign::Plus {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }

    /// The rate at which an entry reduces the infeasibility, times the determinant.
    fn gain(&self, index: usize, prices: &[BigInt]) -> BigInt {
        let entry = &self.entries[index];
        let gain = entry.column.dot(prices);
        match (entry.is_strict, prices.last()) {
            (true, Some(last)) => gain + last,
            _ => gain,
        }
    }

    fn pivot(&mut self, entering: usize, run: &Run) -> Result<(), Interrupt> {
        let mut direction = Vec::with_capacity(self.inverse.len());
        for row in &self.inverse {
            look(run)?;
            direction.push(self.gain(entering, row));
        }
        let leaving = self.leaving(&direction);
        let pivot = direction[leaving].clone();
        let pivot_row = self.inverse[leaving].clone();
        for (row, factor) in self.inverse.iter_mut().zip(&direction) {
            // An interrupt may leave the inverse half updated, but then the simplex is not used again.
            look(run)?;
            for (entry, base) in row.iter_mut().zip(&pivot_row) {
                if entry.is_zero() && (factor.is_zero() || base.is_zero()) {
                    continue;
                }
                *entry *= &pivot;
                if !factor.is_zero() && !base.is_zero() {
                    *entry -= factor * base;
                }
                *entry /= &self.determinant;
            }
        }
        self.inverse[leaving] = pivot_row;
        self.determinant = pivot;
        self.basis[leaving] = Some(entering);
        Ok(())
    }

    /// The row whose variable reaches 0 first. The rows of the inverse break ties lexicographically.
    fn leaving(&self, direction: &[BigInt]) -> usize {
        let last = direction.len() - 1;
        let mut rows: Vec<usize> = (0..=last)
            .filter(|&row| direction[row].sign() == Sign::Plus)
            .collect();
        for key in std::iter::once(last).chain(0..last) {
            if rows.len() == 1 {
                break;
            }
            let ratio_order = |&one: &usize, &other: &usize| {
                let (a, b) = (&self.inverse[one][key], &self.inverse[other][key]);
                match (a.sign(), b.sign()) {
                    (Sign::NoSign, Sign::NoSign) => Ordering::Equal,
                    (one_sign, other_sign) if one_sign != other_sign => one_sign.cmp(&other_sign),
                    _ => (a * &direction[other]).cmp(&(b * &direction[one])),
                }
            };
            let least = *rows.iter().min_by(|a, b| ratio_order(a, b)).expect("rows");
            rows.retain(|row| ratio_order(row, &least) == Ordering::Equal);
        }
        // Phase one is bounded below, so some row always limits the entering variable.
        *rows.first().expect("a row that leaves")
    }

    /// The values of the basic variables, divided by their common divisor.
    fn multipliers(&self) -> Vec<Multiplier> {
        let values = self
            .basis
            .iter()
            .zip(&self.inverse)
            .filter_map(|(held, row)| {
                let value = row.last().filter(|value| value.sign() == Sign::Plus)?;
                Some((self.entries[(*held)?].example, value.clone()))
            });
        let (mut held, mut weights): (Vec<usize>, Vec<BigInt>) = values.unzip();
        reduce(&mut weights);
        let pair = |(example, weight)| Multiplier { example, weight };
        let mut multipliers: Vec<Multiplier> = held.drain(..).zip(weights).map(pair).collect();
        multipliers.sort_by_key(|multiplier| multiplier.example);
        multipliers
    }
}

/// The numbers as f64, all divided by one power of two so that the largest fits.
fn approximations(numbers: &[BigInt]) -> Vec<f64> {
    let bits = numbers.iter().map(BigInt::bits).max().unwrap_or(0);
    let excess = bits.saturating_sub(1000);
    let approximate = |number: &BigInt| (number >> excess).to_f64().unwrap_or(0.0);
    numbers.iter().map(approximate).collect()
}
