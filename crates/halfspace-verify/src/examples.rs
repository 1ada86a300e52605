//! Examples as plain numbers.

use halfspace_core::learners::sample::data::{Data, Features, Labels};

/// The features of one example.
#[derive(Clone, Debug)]
pub enum Example {
    Bits(Vec<bool>),
    Values(Vec<f64>),
}

impl Example {
    /// The features whose value is not 0, with their values. Bits count as 0 and 1.
    pub fn nonzero(&self) -> Vec<(usize, f64)> {
        let values: Vec<f64> = match self {
            Self::Bits(bits) => bits.iter().map(|&bit| f64::from(u8::from(bit))).collect(),
            Self::Values(values) => values.clone(),
        };
        let all = values.into_iter().enumerate();
        all.filter(|(_, value)| *value != 0.0).collect()
    }

    /// The bits. There are none for real values, which `replay` refuses for learners of bits.
    pub fn bits(&self) -> &[bool] {
        match self {
            Self::Bits(bits) => bits,
            Self::Values(_) => &[],
        }
    }
}

/// Whether the features are real.
pub fn is_real(data: &Data) -> bool {
    data.features().is_real()
}

/// One example.
pub fn example(data: &Data, row: u64) -> Example {
    match data.features() {
        Features::Boolean(matrix) => {
            let bits = matrix.row(row as usize);
            Example::Bits((0..data.n()).map(|j| bits.get(j)).collect())
        }
        Features::Real(matrix) => Example::Values(matrix.row(row as usize).to_vec()),
        Features::Sparse(matrix) => {
            let mut values = vec![0.0; matrix.n()];
            let active = matrix.row(row as usize);
            active.entries().for_each(|(j, value)| values[j] = value);
            match matrix.is_real() {
                true => Example::Values(values),
                false => Example::Bits(values.iter().map(|&value| value == 1.0).collect()),
            }
        }
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
