//! Dense matrices in panels of eight columns, for the interior-point solver.
//!
//! Every instruction set gives the same bits, because each sum has one order on every machine: the lanes of a vector
//! belong to different sums, and no product is fused with an addition.
//!
//! `faer` 0.24 cannot promise that: it fuses products where the processor can, and the blocks of its sums follow the
//! sizes of the caches. Even without its default features it would bring 32 crates that we do not have.

use crate::bits::multiversioned;
use crate::learners::engine::run::{Interrupt, Run};

use super::examples::look;

/// Columns of a panel.
pub const LANES: usize = 8;

/// Rows of two panels that stay in the nearest cache.
const ROWS: usize = 256;

/// One row of a panel.
type Lanes = [f64; LANES];

/// Products of the columns of two panels.
type Tile = [Lanes; LANES];

/// A dense matrix, panel by panel. The last panel is filled with columns of 0.
pub struct Panels {
    entries: Vec<Lanes>,
    rows: usize,
    columns: usize,
}

impl Panels {
    /// Creates a matrix of zeros.
    pub fn zeros(rows: usize, columns: usize) -> Self {
        let entries = vec![[0.0; LANES]; columns.div_ceil(LANES) * rows];
        Self {
            entries,
            rows,
            columns,
        }
    }

    /// Sets one entry.
    pub fn set(&mut self, row: usize, column: usize, value: f64) {
        self.entries[column / LANES * self.rows + row][column % LANES] = value;
    }

    fn panel(&self, index: usize) -> &[Lanes] {
        &self.entries[index * self.rows..][..self.rows]
    }

    fn panels(&self) -> usize {
        self.columns.div_ceil(LANES)
    }

    /// The product with a vector of one value per column.
    pub fn times(&self, vector: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; self.rows];
        for (index, weights) in vector.chunks(LANES).enumerate() {
            let mut lanes = [0.0; LANES];
            lanes[..weights.len()].copy_from_slice(weights);
            add_row_products(self.panel(index), &lanes, &mut sums);
        }
        sums
    }

    /// The product of the transpose with a vector of one value per row.
    pub fn transposed_times(&self, vector: &[f64]) -> Vec<f64> {
        let panels = (0..self.panels()).flat_map(|index| column_sums(self.panel(index), vector));
        panels.take(self.columns).collect()
    }

    /// Returns A^T D A for the diagonal matrix D of `weights`.
    ///
    /// # Errors
    /// Returns the interrupt if the run stops.
    pub fn gram(&self, weights: &[f64], run: &Run) -> Result<Gram, Interrupt> {
        let mut gram = Gram::zeros(self.columns);
        let mut scaled = Vec::with_capacity(ROWS);
        for (from, weights) in (0..).step_by(ROWS).zip(weights.chunks(ROWS)) {
            let to = from + weights.len();
            for left in 0..self.panels() {
                look(run)?;
                scaled.clear();
                let rows = self.panel(left)[from..to].iter().zip(weights);
                scaled.extend(rows.map(|(row, weight)| row.map(|value| value * weight)));
                for right in 0..=left {
                    let tile = products(&scaled, &self.panel(right)[from..to]);
                    gram.add(left, right, &tile);
                }
            }
        }
        Ok(gram)
    }
}

/// The lower half of a symmetric matrix, later its Cholesky factor. Panel p holds the rows from 8 p on, and its entry k
/// holds their values in column k.
pub struct Gram {
    panels: Vec<Vec<Lanes>>,
    size: usize,
}

impl Gram {
    fn zeros(size: usize) -> Self {
        let panels = 1..=size.div_ceil(LANES);
        Self {
            panels: panels.map(|p| vec![[0.0; LANES]; p * LANES]).collect(),
            size,
        }
    }

    fn add(&mut self, left: usize, right: usize, tile: &Tile) {
        for (column, row) in (0..LANES).zip(&mut self.panels[left][right * LANES..]) {
            for lane in 0..LANES {
                row[lane] += tile[lane][column];
            }
        }
    }

    /// Adds an amount to an entry of the diagonal.
    pub fn add_to_diagonal(&mut self, index: usize, amount: f64) {
        self.panels[index / LANES][index][index % LANES] += amount;
    }

    /// An entry of the diagonal.
    pub fn diagonal(&self, index: usize) -> f64 {
        self.panels[index / LANES][index][index % LANES]
    }

    /// Replaces the matrix with its Cholesky factor. If rounding has made a pivot nearly 0, it becomes so large that
    /// its variable does not move.
    ///
    /// # Errors
    /// Returns the interrupt if the run stops.
    pub fn factor(&mut self, run: &Run) -> Result<(), Interrupt> {
        for left in 0..self.panels.len() {
            look(run)?;
            let (before, rest) = self.panels.split_at_mut(left);
            let own = &mut rest[0];
            for (right, other) in before.iter().enumerate() {
                let (done, open) = own.split_at_mut(right * LANES);
                let tile = products(&other[..done.len()], done);
                eliminate(&mut open[..LANES], &other[done.len()..], &tile);
            }
            let (done, open) = own.split_at_mut(left * LANES);
            let tile = products(done, done);
            factor_corner(open, &tile, self.size.saturating_sub(left * LANES));
        }
        Ok(())
    }

    /// Solves the system of the factored matrix in place.
    pub fn solve(&self, vector: &mut Vec<f64>) {
        vector.resize(self.panels.len() * LANES, 0.0);
        for (index, panel) in self.panels.iter().enumerate() {
            let (done, open) = vector.split_at_mut(index * LANES);
            let (before, corner) = panel.split_at(done.len());
            let sums = column_sums(before, done);
            for lane in 0..LANES {
                open[lane] -= sums[lane];
                for other in 0..lane {
                    open[lane] -= corner[other][lane] * open[other];
                }
                open[lane] /= corner[lane][lane];
            }
        }
        for (index, panel) in self.panels.iter().enumerate().rev() {
            let (before, open) = vector.split_at_mut(index * LANES);
            let (above, corner) = panel.split_at(before.len());
            let mut solved = [0.0; LANES];
            for lane in (0..LANES).rev() {
                let mut value = open[lane];
                for other in lane + 1..LANES {
                    value -= corner[lane][other] * solved[other];
                }
                solved[lane] = value / corner[lane][lane];
            }
            open[..LANES].copy_from_slice(&solved);
            add_row_products(above, &solved.map(|value| -value), before);
        }
        vector.truncate(self.size);
    }
}

/// Finishes eight columns of a panel, after the products with the columns before.
fn eliminate(open: &mut [Lanes], corner: &[Lanes], tile: &Tile) {
    for column in 0..LANES {
        let mut values = open[column];
        for lane in 0..LANES {
            values[lane] -= tile[column][lane];
        }
        for other in 0..column {
            for lane in 0..LANES {
                values[lane] -= corner[other][column] * open[other][lane];
            }
        }
        open[column] = values.map(|value| value / corner[column][column]);
    }
}

/// Factors the corner of a panel. Only the first `size` columns belong to the matrix.
fn factor_corner(corner: &mut [Lanes], tile: &Tile, size: usize) {
    for column in 0..LANES {
        let first = corner[column][column];
        let mut values = corner[column];
        for lane in 0..LANES {
            values[lane] -= tile[column][lane];
            for before in &corner[..column] {
                values[lane] -= before[column] * before[lane];
            }
        }
        let pivot = values[column];
        let is_open = column < size && pivot > first * 1e-15;
        let root = if is_open { libm::sqrt(pivot) } else { 1e100 };
        corner[column] = values.map(|value| value / root);
        corner[column][column] = root;
    }
}

multiversioned! {
    /// Returns left^T right.
    fn products(left: &[Lanes], right: &[Lanes]) -> Tile {
        let mut tile = [[0.0; LANES]; LANES];
        // Half a tile stays in the registers.
        for half in [0, LANES / 2] {
            let mut sums = [[0.0; LANES]; LANES / 2];
            for (a, b) in left.iter().zip(right) {
                for (i, sums) in sums.iter_mut().enumerate() {
                    for lane in 0..LANES {
                        sums[lane] += a[half + i] * b[lane];
                    }
                }
            }
            tile[half..half + LANES / 2].copy_from_slice(&sums);
        }
        tile
    }
}

multiversioned! {
    fn add_row_products(panel: &[Lanes], weights: &Lanes, sums: &mut [f64]) {
        for (row, sum) in panel.iter().zip(sums) {
            let mut products = *row;
            for lane in 0..LANES {
                products[lane] *= weights[lane];
            }
            let [a, b, c, d, e, f, g, h] = products;
            *sum += ((a + e) + (b + f)) + ((c + g) + (d + h));
        }
    }
}

multiversioned! {
    fn column_sums(panel: &[Lanes], weights: &[f64]) -> Lanes {
        let mut sums = [0.0; LANES];
        for (row, weight) in panel.iter().zip(weights) {
            for lane in 0..LANES {
                sums[lane] += row[lane] * weight;
            }
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A matrix of 40 rows and its entries by a formula.
    fn matrix(columns: usize) -> (Panels, impl Fn(usize, usize) -> f64) {
        let entry = |row: usize, column: usize| libm::sin((row * row + 3 * column) as f64 + 0.5);
        let mut panels = Panels::zeros(40, columns);
        for row in 0..40 {
            (0..columns).for_each(|column| panels.set(row, column, entry(row, column)));
        }
        (panels, entry)
    }

    #[test]
    fn cholesky_factor_solves_the_normal_equations() {
        for columns in [1, 7, 8, 9, 24, 33] {
            let (panels, entry) = matrix(columns);
            let weights: Vec<f64> = (0..40).map(|row| f64::from(row % 7 + 1)).collect();
            let mut gram = panels.gram(&weights, &Run::default()).unwrap();
            for column in 0..columns {
                let expected: f64 = (0..40)
                    .map(|row| weights[row] * entry(row, column) * entry(row, column))
                    .sum();
                assert!((gram.diagonal(column) - expected).abs() < 1e-9);
                gram.add_to_diagonal(column, 1.0);
            }
            gram.factor(&Run::default()).unwrap();
            let solution: Vec<f64> = (0..columns).map(|at| at as f64 - 5.0).collect();
            let mut products = panels.times(&solution);
            products
                .iter_mut()
                .zip(&weights)
                .for_each(|(product, weight)| *product *= weight);
            let mut right = panels.transposed_times(&products);
            right
                .iter_mut()
                .zip(&solution)
                .for_each(|(right, x)| *right += x);
            gram.solve(&mut right);
            for (found, expected) in right.iter().zip(&solution) {
                assert!((found - expected).abs() < 1e-9, "{found} {expected}");
            }
        }
    }

    #[test]
    fn stop_flag_ends_gram_products_and_factor() {
        let (panels, _) = matrix(9);
        let run = Run::default();
        let mut gram = panels.gram(&[1.0; 40], &run).unwrap();
        run.stop.raise(Interrupt::Cancelled);
        assert_eq!(gram.factor(&run), Err(Interrupt::Cancelled));
        let found = panels.gram(&[1.0; 40], &run);
        assert!(matches!(found, Err(Interrupt::Cancelled)));
    }
}
