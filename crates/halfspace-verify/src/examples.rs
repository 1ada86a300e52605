//! Examples as plain numbers.

use halfspace_core::learners::sample::data::{Data, Features, Labels};

/// One example. It lists only the features that are not 0, because a text has few of very many.
#[derive(Clone, Debug)]
pub struct Example {
    n: usize,
    nonzero: Vec<(usize, f64)>,
}

impl Example {
    /// The features whose value is not 0, with their values. Bits count as 0 and 1.
    pub fn nonzero(&self) -> &[(usize, f64)] {
        &self.nonzero
    }

    /// The features that are not 0, ascending.
    pub fn ones(&self) -> Vec<usize> {
        self.nonzero.iter().map(|&(j, _)| j).collect()
    }

    /// Every feature as a bit.
    pub fn bits(&self) -> Vec<bool> {
        let mut bits = vec![false; self.n];
        self.nonzero.iter().for_each(|&(j, _)| bits[j] = true);
        bits
    }
}

/// Whether the features are real.
pub fn is_real(data: &Data) -> bool {
    data.features().is_real()
}

/// One example.
pub fn example(data: &Data, row: u64) -> Example {
    let (n, row) = (data.n(), row as usize);
    let nonzero: Vec<(usize, f64)> = match data.features() {
        Features::Boolean(matrix) => {
            let bits = matrix.row(row);
            let ones = (0..n).filter(|&j| bits.get(j));
            ones.map(|j| (j, 1.0)).collect()
        }
        Features::Real(matrix) => matrix.row(row).iter().copied().enumerate().collect(),
        Features::Sparse(matrix) => matrix.row(row).entries().collect(),
    };
    let nonzero = nonzero.into_iter().filter(|(_, value)| *value != 0.0);
    Example {
        n,
        nonzero: nonzero.collect(),
    }
}

/// The most features of one of these rows whose value is not 0.
pub fn active_max(data: &Data, rows: &[u64]) -> u64 {
    let active = |&row: &u64| match data.features() {
        Features::Sparse(matrix) => matrix.row(row as usize).ids.len(),
        Features::Boolean(_) | Features::Real(_) => example(data, row).nonzero().len(),
    };
    rows.iter().map(active).max().unwrap_or(0) as u64
}

/// The code of the class of an example. Every half-space example is positive and has the code 1.
pub fn class(data: &Data, row: u64) -> u32 {
    match data.labels() {
        Labels::Labelled(labels) => labels.get(row as usize),
        Labels::HalfSpace | Labels::Unlabelled => 1,
    }
}
