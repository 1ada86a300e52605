//! Some columns of many, for examples that have no other features.

use super::real_lanes::REAL_LANES;

/// Some columns at places of their own. Each stays in its lane of the sums of reals, behind the chosen columns before
/// it, so that a row of these columns has the same sums there, bit for bit. Places without a column fill the gaps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// The columns in ascending order, with their places.
    places: Vec<(u32, u32)>,
    n: usize,
}

impl Excerpt {
    /// The excerpt of these columns, whatever their order.
    pub fn new(mut columns: Vec<u32>) -> Self {
        columns.sort_unstable();
        columns.dedup();
        let mut taken = [0; REAL_LANES];
        let place = |column: u32| {
            let lane = column as usize % REAL_LANES;
            taken[lane] += 1;
            let place = (taken[lane] - 1) * REAL_LANES + lane;
            (column, place as u32)
        };
        let places: Vec<_> = columns.into_iter().map(place).collect();
        let last = places.iter().map(|(_, place)| *place).max();
        Self {
            places,
            n: last.map_or(1, |last| last as usize + 1),
        }
    }

    /// The number of places, at least 1.
    pub fn n(&self) -> usize {
        self.n
    }

    /// The place of a column.
    pub fn place(&self, column: u32) -> Option<u32> {
        let found = self
            .places
            .binary_search_by_key(&column, |(column, _)| *column);
        found.ok().map(|at| self.places[at].1)
    }

    /// The columns in ascending order, with their places.
    pub fn places(&self) -> &[(u32, u32)] {
        &self.places
    }

    /// One number per place: that of its column, or `rest` without one.
    pub fn of<N: Copy>(&self, rest: N, number: impl Fn(usize) -> N) -> Vec<N> {
        let mut numbers = vec![rest; self.n];
        for &(column, place) in &self.places {
            numbers[place as usize] = number(column as usize);
        }
        numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::{RealColumn, SparseRow};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn excerpt_has_the_sums_of_all_columns(
            weights in prop::collection::vec(-1e3..1e3_f64, 1..200),
            chosen in prop::collection::vec((any::<prop::sample::Index>(), -9.0..9.0_f64), 0..80),
        ) {
            let columns = chosen.iter().map(|(at, _)| at.index(weights.len()) as u32);
            let excerpt = Excerpt::new(columns.collect());
            let entries = excerpt.places().iter().zip(&chosen).map(|(own, (_, value))| (*own, *value));
            let mut entries: Vec<_> = entries.collect();
            let sum = |column: &RealColumn, entries: Vec<(u32, f64)>| {
                let (ids, values): (Vec<u32>, Vec<f64>) = entries.into_iter().unzip();
                column.sparse_product(SparseRow { ids: &ids, values: Some(&values) })
            };
            let own = RealColumn::new(excerpt.of(0.0, |column| weights[column]));
            let all = RealColumn::new(weights);
            let expected = sum(&all, entries.iter().map(|((column, _), value)| (*column, *value)).collect());
            entries.sort_unstable_by_key(|((_, place), _)| *place);
            let found = sum(&own, entries.iter().map(|((_, place), value)| (*place, *value)).collect());
            prop_assert_eq!(found.to_bits(), expected.to_bits());
            for &(column, place) in excerpt.places() {
                prop_assert_eq!(excerpt.place(column), Some(place));
                prop_assert!((place as usize) < excerpt.n());
            }
        }
    }
}
