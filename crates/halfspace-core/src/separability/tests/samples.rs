//! Samples for the tests.

use rand::RngExt;

use crate::bits::{BitMatrix, BitVector};
use crate::learners::engine::random::Generator;
use crate::learners::sample::data::{Data, Features, Labels, RealMatrix};

/// Creates labelled Boolean examples from bit strings.
pub fn labelled(rows: &[(&str, bool)]) -> Data {
    let mut matrix = BitMatrix::new(rows[0].0.len());
    let mut labels = BitVector::zeros(rows.len());
    for (index, (bits, label)) in rows.iter().enumerate() {
        matrix.push_row(BitVector::from_bit_string(bits.as_bytes()).unwrap().words());
        labels.set(index, *label);
    }
    Data::new(Features::Boolean(matrix), Labels::of_signs(labels))
}

/// Creates Boolean half-space examples from bit strings.
pub fn half_space(rows: &[&str]) -> Data {
    let rows: Vec<(&str, bool)> = rows.iter().map(|&bits| (bits, true)).collect();
    Data::new(labelled(&rows).features().clone(), Labels::HalfSpace)
}

/// Creates labelled real examples.
pub fn real(rows: &[(&[f64], bool)]) -> Data {
    let values = rows.iter().flat_map(|(values, _)| values.iter().copied());
    let matrix = RealMatrix::from_values(rows[0].0.len(), values.collect());
    let mut labels = BitVector::zeros(rows.len());
    rows.iter()
        .enumerate()
        .for_each(|(index, row)| labels.set(index, row.1));
    Data::new(Features::Real(matrix), Labels::of_signs(labels))
}

/// Creates random labels with random bits or with random multiples of 1/4.
pub fn random(n: usize, rows: usize, is_real: bool, random: &mut Generator) -> Data {
    let mut labels = BitVector::zeros(rows);
    (0..rows).for_each(|row| labels.set(row, random.random_bool(0.5)));
    if is_real {
        let values = (0..n * rows).map(|_| f64::from(random.random_range(-6..=6)) / 4.0);
        let matrix = RealMatrix::from_values(n, values.collect());
        return Data::new(Features::Real(matrix), Labels::of_signs(labels));
    }
    let mut matrix = BitMatrix::new(n);
    for _ in 0..rows {
        let mut row = BitVector::zeros(n);
        (0..n).for_each(|j| row.set(j, random.random_bool(0.5)));
        matrix.push_row(row.words());
    }
    Data::new(Features::Boolean(matrix), Labels::of_signs(labels))
}
