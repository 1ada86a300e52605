//! A primal-dual interior-point method for dense programs with inequalities.
//!
//! S. Mehrotra, "On the implementation of a primal-dual interior point method" (1992). The rows of our programs are
//! dense, so each iteration forms the normal equations P + A^T D A as a dense matrix and factors it. Products with A
//! then refine the solution. The result comes without a proof, so the caller must check it.
//!
//! `clarabel` 0.11 solves the same programs, but factors a sparse matrix over variables and constraints together. On
//! the mushrooms of UCI (127 variables, 18 % of the entries not 0) it is as fast as this method: 0.24 s against 0.21 s
//! for the proved maximum margin. With 1,000 dense features a single program of 2,002 constraints takes it 93 s, and
//! this method 1.3 s; the peak of the memory is 254 MiB against 48. Both stay within 10^-9 of the optimum. It can also
//! be stopped only between two iterations, of which that program has 17.

use crate::learners::engine::run::{Interrupt, Run};

use super::examples::look;
use super::panels::{Gram, Panels};

/// Largest number of iterations.
const ITERATIONS_MAX: usize = 60;

/// Errors at which the iterations end, relative to the size of the program.
const TOLERANCE: f64 = 1e-11;

/// Iterations without progress at which the method ends.
const STALLED_MAX: usize = 6;

/// An unchecked result of the solver.
#[derive(Clone)]
pub struct Proposal {
    /// The variables of the program.
    pub variables: Vec<f64>,
    /// One multiplier per constraint, above 0.
    pub multipliers: Vec<f64>,
}

/// One constraint: the inner product of `values` with the variables is at least `least`.
pub struct Constraint {
    pub values: Vec<f64>,
    pub least: f64,
}

/// Minimises half the sum of squares of the first `squared` variables plus a linear term, subject to the constraints.
/// The result is the most precise point of all iterations, or `None` if none had finite values.
///
/// # Errors
/// Returns the interrupt if the run stops.
pub fn minimise(
    squared: usize,
    linear: &[f64],
    constraints: &[Constraint],
    run: &Run,
) -> Result<Option<Proposal>, Interrupt> {
    let mut rows = Panels::zeros(constraints.len(), linear.len());
    for (row, constraint) in constraints.iter().enumerate() {
        for (column, &value) in constraint.values.iter().enumerate() {
            rows.set(row, column, value);
        }
    }
    let program = Program {
        squared,
        linear,
        rows,
        least: constraints.iter().map(|c| c.least).collect(),
        run,
    };
    let mut point = program.start()?;
    let mut best: Option<(f64, Proposal)> = None;
    let mut stalled = 0;
    for _ in 0..ITERATIONS_MAX {
        look(run)?;
        let residuals = program.residuals(&point);
        let error = residuals.error;
        if !error.is_finite() {
            break;
        }
        stalled += 1;
        if best.as_ref().is_none_or(|(least, _)| error < *least) {
            let proposal = Proposal {
                variables: point.variables.clone(),
                multipliers: point.multipliers.clone(),
            };
            best = Some((error, proposal));
            stalled = 0;
        }
        if error <= TOLERANCE || stalled == STALLED_MAX {
            break;
        }
        program.advance(&mut point, &residuals)?;
    }
    Ok(best.map(|(_, proposal)| proposal))
}

struct Program<'a> {
    squared: usize,
    linear: &'a [f64],
    rows: Panels,
    least: Vec<f64>,
    run: &'a Run,
}

/// Variables with positive slacks and multipliers. A direction of a step has the same parts.
struct Point {
    variables: Vec<f64>,
    slacks: Vec<f64>,
    multipliers: Vec<f64>,
}

/// Errors of a point.
struct Residuals {
    /// Px + q - A^T z.
    dual: Vec<f64>,
    /// Ax - s - b.
    primal: Vec<f64>,
    /// The mean of s z.
    mean: f64,
    /// The largest of the errors and the gap, relative to the size of the program.
    error: f64,
}

/// The factored normal equations at a point.
struct Normal {
    factor: Gram,
    /// z / s.
    weights: Vec<f64>,
}

impl Program<'_> {
    /// Returns P x.
    fn squares<'v>(&self, vector: &'v [f64]) -> impl Iterator<Item = f64> + 'v {
        let squared = self.squared;
        let of = move |(at, value): (usize, &f64)| if at < squared { *value } else { 0.0 };
        vector.iter().enumerate().map(of)
    }

    fn normal(&self, weights: Vec<f64>) -> Result<Normal, Interrupt> {
        let mut factor = self.rows.gram(&weights, self.run)?;
        for variable in 0..self.linear.len() {
            let square = if variable < self.squared { 1.0 } else { 0.0 };
            let small = 1e-14 * factor.diagonal(variable) + f64::MIN_POSITIVE;
            factor.add_to_diagonal(variable, square + small);
        }
        factor.factor(self.run)?;
        Ok(Normal { factor, weights })
    }

    /// Solves (P + A^T D A) x = right.
    fn solve(&self, normal: &Normal, right: &[f64]) -> Vec<f64> {
        let mut solution = right.to_vec();
        normal.factor.solve(&mut solution);
        let mut left = self.rest(normal, right, &solution);
        for _ in 0..2 {
            let mut change = left.clone();
            normal.factor.solve(&mut change);
            let next: Vec<f64> = pairs(&solution, &change).map(|(x, d)| x + d).collect();
            let rest = self.rest(normal, right, &next);
            if largest(&rest) >= largest(&left) {
                break;
            }
            (solution, left) = (next, rest);
        }
        solution
    }

    /// Returns right - (P + A^T D A) x.
    fn rest(&self, normal: &Normal, right: &[f64], solution: &[f64]) -> Vec<f64> {
        let products = self.rows.times(solution);
        let weighted: Vec<f64> = pairs(&products, &normal.weights)
            .map(|(a, d)| a * d)
            .collect();
        let sums = self.rows.transposed_times(&weighted);
        let left = pairs(right, &sums).zip(self.squares(solution));
        left.map(|((right, sum), square)| right - sum - square)
            .collect()
    }

    /// The point that minimises the objective plus half the squares of Ax - b, with signs repaired.
    fn start(&self) -> Result<Point, Interrupt> {
        let normal = self.normal(vec![1.0; self.least.len()])?;
        let sums = self.rows.transposed_times(&self.least);
        let right: Vec<f64> = pairs(&sums, self.linear).map(|(sum, q)| sum - q).collect();
        let variables = self.solve(&normal, &right);
        let products = self.rows.times(&variables);
        let beyond: Vec<f64> = pairs(&products, &self.least).map(|(a, b)| a - b).collect();
        let positive = |sign: f64| -> Vec<f64> {
            let least = beyond
                .iter()
                .fold(f64::INFINITY, |least, x| least.min(sign * x));
            let shift = if least <= 0.0 { 1.0 - least } else { 0.0 };
            beyond
                .iter()
                .map(|x| (sign * x + shift).max(1e-8))
                .collect()
        };
        Ok(Point {
            slacks: positive(1.0),
            multipliers: positive(-1.0),
            variables,
        })
    }

    fn residuals(&self, point: &Point) -> Residuals {
        let Point {
            variables,
            slacks,
            multipliers,
        } = point;
        let sums = self.rows.transposed_times(multipliers);
        let dual = pairs(self.linear, &sums).zip(self.squares(variables));
        let dual: Vec<f64> = dual.map(|((q, sum), square)| square + q - sum).collect();
        let products = self.rows.times(variables);
        let primal = pairs(&products, slacks).zip(&self.least);
        let primal: Vec<f64> = primal.map(|((a, s), b)| a - s - b).collect();
        let gap: f64 = pairs(slacks, multipliers).map(|(s, z)| s * z).sum();
        let square: f64 = variables
            .iter()
            .zip(self.squares(variables))
            .map(|(x, p)| x * p)
            .sum();
        let linear: f64 = pairs(self.linear, variables).map(|(q, x)| q * x).sum();
        let error = (gap / (square / 2.0 + linear).abs().max(1.0))
            .max(largest(&dual) / largest(&sums).max(1.0))
            .max(largest(&primal) / largest(&products).max(1.0));
        Residuals {
            mean: gap / slacks.len() as f64,
            dual,
            primal,
            error,
        }
    }

    /// Takes one step of the predictor and the corrector.
    fn advance(&self, point: &mut Point, residuals: &Residuals) -> Result<(), Interrupt> {
        let weights = pairs(&point.multipliers, &point.slacks).map(|(z, s)| z / s);
        let normal = self.normal(weights.collect())?;
        let products: Vec<f64> = pairs(&point.slacks, &point.multipliers)
            .map(|(s, z)| s * z)
            .collect();
        let affine = self.direction(&normal, point, residuals, &products);
        let step = point.longest(&affine, 1.0);
        let after: f64 = pairs(&point.slacks, &affine.slacks)
            .zip(pairs(&point.multipliers, &affine.multipliers))
            .map(|((s, ds), (z, dz))| (s + step * ds) * (z + step * dz))
            .sum();
        let share = after / point.slacks.len() as f64 / residuals.mean;
        let target = residuals.mean * share * share * share;
        let corrected: Vec<f64> = pairs(&affine.slacks, &affine.multipliers)
            .zip(&products)
            .map(|((ds, dz), product)| product + ds * dz - target)
            .collect();
        let direction = self.direction(&normal, point, residuals, &corrected);
        let step = point.longest(&direction, 0.995);
        point.move_along(&direction, step);
        Ok(())
    }

    /// The step of Newton's method that removes the residuals and the given complementarity.
    fn direction(
        &self,
        normal: &Normal,
        point: &Point,
        residuals: &Residuals,
        complementarity: &[f64],
    ) -> Point {
        let wanted: Vec<f64> = pairs(complementarity, &point.slacks)
            .zip(pairs(&normal.weights, &residuals.primal))
            .map(|((c, s), (d, r))| c / s + d * r)
            .collect();
        let sums = self.rows.transposed_times(&wanted);
        let right: Vec<f64> = pairs(&residuals.dual, &sums)
            .map(|(r, sum)| -r - sum)
            .collect();
        let variables = self.solve(normal, &right);
        let products = self.rows.times(&variables);
        let multipliers = pairs(&wanted, &normal.weights).zip(&products);
        Point {
            slacks: pairs(&products, &residuals.primal)
                .map(|(a, r)| a + r)
                .collect(),
            multipliers: multipliers.map(|((w, d), a)| -w - d * a).collect(),
            variables,
        }
    }
}

impl Point {
    /// The share of a step, at most 1, that keeps slacks and multipliers positive.
    fn longest(&self, direction: &Self, caution: f64) -> f64 {
        pairs(&self.slacks, &direction.slacks)
            .chain(pairs(&self.multipliers, &direction.multipliers))
            .filter(|(_, change)| **change < 0.0)
            .fold(1.0_f64, |step, (value, change)| {
                step.min(-caution * value / change)
            })
    }

    fn move_along(&mut self, direction: &Self, step: f64) {
        for (values, changes) in [
            (&mut self.variables, &direction.variables),
            (&mut self.slacks, &direction.slacks),
            (&mut self.multipliers, &direction.multipliers),
        ] {
            values
                .iter_mut()
                .zip(changes)
                .for_each(|(value, change)| *value += step * change);
        }
    }
}

fn pairs<'a>(
    one: &'a [f64],
    other: &'a [f64],
) -> std::iter::Zip<std::slice::Iter<'a, f64>, std::slice::Iter<'a, f64>> {
    one.iter().zip(other)
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |largest, x| largest.max(x.abs()))
}
