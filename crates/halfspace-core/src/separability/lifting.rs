//! Exact coefficients of a linear dependency among integer vectors, by p-adic lifting.
//!
//! J. D. Dixon, "Exact solution of linear equations using p-adic expansions" (1982). The method inverts the system
//! once modulo a prime. Each product with this inverse yields one more digit of the solution to the base of the
//! prime, and after enough digits they determine fractions of bounded size. If it is known which vectors take part,
//! this is a hundred times faster than exact pivots.

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{One, Signed, ToPrimitive, Zero};

use crate::learners::engine::run::{Interrupt, Run};

use super::examples::look;

/// A Mersenne prime. Products fit in 128 bits, and it rarely divides a determinant.
const PRIME: u64 = (1 << 61) - 1;

/// Integer coefficients, one per column, with which the columns sum to 0. The first column that depends on the
/// previous ones has a positive coefficient, and all later columns have 0. The result is `None` if the columns are
/// independent or the prime is unlucky.
///
/// # Errors
/// Returns the interrupt if the run stops.
pub fn dependency(columns: &[Vec<BigInt>], run: &Run) -> Result<Option<Vec<BigInt>>, Interrupt> {
    let Some(rows) = independent_rows(columns, run)? else {
        return Ok(None);
    };
    let size = rows.len();
    let of_rows = |column: &Vec<BigInt>| -> Vec<BigInt> {
        rows.iter().map(|&row| column[row].clone()).collect()
    };
    let system: Vec<Vec<BigInt>> = columns[..size].iter().map(of_rows).collect();
    let right: Vec<BigInt> = of_rows(&columns[size]).iter().map(|x| -x).collect();
    let Some(inverse) = inverse(&system, run)? else {
        return Ok(None);
    };
    let solution = lift(&system, &inverse, &right, run)?;
    Ok(solution.map(|mut solution| {
        solution.resize(columns.len(), BigInt::zero());
        solution
    }))
}

/// Selects rows on which the columns before the first dependent column are independent, as many rows as such columns.
fn independent_rows(columns: &[Vec<BigInt>], run: &Run) -> Result<Option<Vec<usize>>, Interrupt> {
    // Each column is reduced by the previous ones. The remainder is 1 in the column's own row and 0 in the
    // rows of the previous columns.
    let mut reduced: Vec<(usize, Vec<u64>)> = Vec::new();
    for column in columns {
        look(run)?;
        let mut left: Vec<u64> = column.iter().map(residue).collect();
        for (row, base) in &reduced {
            let factor = left[*row];
            subtract(&mut left, base, factor);
        }
        let Some(row) = left.iter().position(|&x| x != 0) else {
            return Ok(Some(reduced.into_iter().map(|(row, _)| row).collect()));
        };
        let scale = inverse_of(left[row]);
        left.iter_mut().for_each(|x| *x = product(*x, scale));
        reduced.push((row, left));
    }
    Ok(None)
}

/// The inverse of a square system modulo the prime, row by row. The system is given by columns.
fn inverse(system: &[Vec<BigInt>], run: &Run) -> Result<Option<Vec<Vec<u64>>>, Interrupt> {
    let size = system.len();
    let row = |i: usize| {
        let own = system.iter().map(|column| residue(&column[i]));
        own.chain((0..size).map(|j| u64::from(i == j))).collect()
    };
    let mut rows: Vec<Vec<u64>> = (0..size).map(row).collect();
    for pivot in 0..size {
        look(run)?;
        let Some(found) = (pivot..size).find(|&i| rows[i][pivot] != 0) else {
            return Ok(None);
        };
        rows.swap(pivot, found);
        let scale = inverse_of(rows[pivot][pivot]);
        rows[pivot].iter_mut().for_each(|x| *x = product(*x, scale));
        let base = rows[pivot].clone();
        for (index, row) in rows.iter_mut().enumerate() {
            if index != pivot && row[pivot] != 0 {
                let factor = row[pivot];
                subtract(row, &base, factor);
            }
        }
    }
    Ok(Some(
        rows.into_iter()
            .map(|mut row| row.split_off(size))
            .collect(),
    ))
}

/// The numerators of the solution, and their common denominator last.
fn lift(
    system: &[Vec<BigInt>],
    inverse: &[Vec<u64>],
    right: &[BigInt],
    run: &Run,
) -> Result<Option<Vec<BigInt>>, Interrupt> {
    let size = system.len();
    // By Hadamard's bound, no determinant of these columns has more bits.
    let norm_bits = |column: &Vec<BigInt>| {
        let squares: BigInt = column.iter().map(|x| x * x).sum();
        squares.bits() / 2 + 1
    };
    let right_bits = right.iter().map(BigInt::bits).max().unwrap_or(0) + 10;
    let bits: u64 = system.iter().map(norm_bits).sum::<u64>() + right_bits;
    let digits_max = 2 * bits / 61 + 3;
    let prime = BigInt::from(PRIME);
    let (mut modulus, mut residual) = (BigInt::one(), right.to_vec());
    let mut solution = vec![BigInt::zero(); size];
    let mut next_attempt = 2;
    for digit in 1..=digits_max {
        let residues: Vec<u64> = residual.iter().map(residue).collect();
        let mut sums = vec![BigInt::zero(); size];
        for (j, row) in inverse.iter().enumerate() {
            look(run)?;
            let terms = row.iter().zip(&residues).map(|(a, b)| product(*a, *b));
            let x = terms.fold(0, |sum, term| (sum + term) % PRIME);
            solution[j] += &modulus * x;
            for (sum, a) in sums.iter_mut().zip(&system[j]) {
                if !a.is_zero() {
                    *sum += a * x;
                }
            }
        }
        for (residual, sum) in residual.iter_mut().zip(&sums) {
            // The choice of x makes the remainder a multiple of the prime.
            *residual = (&*residual - sum) / &prime;
        }
        modulus *= &prime;
        if digit == next_attempt || digit == digits_max {
            next_attempt += (next_attempt / 2).max(1);
            if let Some(fractions) = fractions(&solution, &modulus)
                && solves(system, &fractions, right, run)?
            {
                return Ok(Some(fractions));
            }
        }
    }
    Ok(None)
}

/// The small fractions that the residues represent: the numerators, then the common denominator.
fn fractions(residues: &[BigInt], modulus: &BigInt) -> Option<Vec<BigInt>> {
    let most = (modulus / 2_u32).sqrt();
    let mut denominator = BigInt::one();
    let mut numerators: Vec<BigInt> = Vec::with_capacity(residues.len() + 1);
    for residue in residues {
        let scaled = (residue * &denominator).mod_floor(modulus);
        let wrapped = &scaled - modulus;
        if scaled <= most {
            numerators.push(scaled);
        } else if wrapped.abs() <= most {
            numerators.push(wrapped);
        } else {
            let (numerator, factor) = fraction(scaled, modulus, &most)?;
            numerators.iter_mut().for_each(|before| *before *= &factor);
            numerators.push(numerator);
            denominator *= factor;
        }
    }
    (denominator <= most).then(|| {
        numerators.push(denominator);
        numerators
    })
}

/// The fraction in lowest terms that a residue represents, by Euclid's algorithm.
fn fraction(residue: BigInt, modulus: &BigInt, most: &BigInt) -> Option<(BigInt, BigInt)> {
    let (mut before, mut rest) = (modulus.clone(), residue);
    let (mut factor_before, mut factor) = (BigInt::zero(), BigInt::one());
    while rest > *most {
        let quotient = &before / &rest;
        let next = &before - &quotient * &rest;
        (before, rest) = (rest, next);
        let next = &factor_before - &quotient * &factor;
        (factor_before, factor) = (factor, next);
    }
    if factor.is_negative() {
        (rest, factor) = (-rest, -factor);
    }
    (!factor.is_zero() && factor <= *most).then_some((rest, factor))
}

/// Whether the numerators over their denominator solve the system exactly.
fn solves(
    system: &[Vec<BigInt>],
    fractions: &[BigInt],
    right: &[BigInt],
    run: &Run,
) -> Result<bool, Interrupt> {
    let (denominator, numerators) = fractions.split_last().expect("a denominator");
    for (row, right) in right.iter().enumerate() {
        look(run)?;
        let terms = system.iter().zip(numerators);
        let sum: BigInt = terms.map(|(column, x)| &column[row] * x).sum();
        if sum != right * denominator {
            return Ok(false);
        }
    }
    Ok(true)
}

/// An integer modulo the prime.
fn residue(number: &BigInt) -> u64 {
    let residue = number.mod_floor(&BigInt::from(PRIME)).to_u64();
    residue.expect("a residue is below the prime")
}

fn product(one: u64, other: u64) -> u64 {
    let product = u128::from(one) * u128::from(other);
    // 2^61 is 1 modulo the prime, so the high digits are added to the low ones.
    let folded = (product as u64 & PRIME) + (product >> 61) as u64;
    if folded >= PRIME {
        folded - PRIME
    } else {
        folded
    }
}

/// left -= factor * base.
fn subtract(left: &mut [u64], base: &[u64], factor: u64) {
    if factor != 0 {
        let negated = PRIME - factor;
        for (left, base) in left.iter_mut().zip(base) {
            *left = (*left + product(*base, negated)) % PRIME;
        }
    }
}

/// The inverse of a residue other than 0, by Fermat's little theorem.
fn inverse_of(residue: u64) -> u64 {
    let (mut power, mut base, mut exponent) = (1, residue, PRIME - 2);
    while exponent > 0 {
        if exponent & 1 == 1 {
            power = product(power, base);
        }
        base = product(base, base);
        exponent >>= 1;
    }
    power
}
