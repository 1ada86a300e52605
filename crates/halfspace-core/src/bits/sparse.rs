//! Sparse rows: the sorted numbers of the features that are not 0, and their values.
//!
//! The memory of a sparse row grows with its active features only, not with the number of all features. Boolean rows
//! have no values, because an active feature is a bit 1.

use std::ops::Range;

use super::matrix::{BLOCK_ROWS, BitMatrix};
use super::vector::{WORD_BITS, words_for};

/// Sparse rows of `n` features.
#[derive(Clone, Debug, PartialEq)]
pub struct SparseMatrix {
    n: usize,
    /// Where each row begins among the entries, and where the last one ends.
    starts: Vec<usize>,
    ids: Vec<u32>,
    values: Option<Vec<f64>>,
}

/// Up to 64 sparse rows.
#[derive(Clone, Copy, Debug)]
pub struct SparseBlock<'a> {
    n: usize,
    /// Where each row begins among the entries, and where the last one ends.
    starts: &'a [usize],
    ids: &'a [u32],
    values: Option<&'a [f64]>,
}

/// One sparse row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SparseRow<'a> {
    /// The active features, ascending from 0.
    pub ids: &'a [u32],
    /// Their values. `None` in a Boolean row.
    pub values: Option<&'a [f64]>,
}

impl SparseMatrix {
    /// No rows yet. `is_real` says whether the rows have values.
    pub fn new(n: usize, is_real: bool) -> Self {
        Self {
            n,
            starts: vec![0],
            ids: Vec::new(),
            values: is_real.then(Vec::new),
        }
    }

    /// Takes memory for further rows and active features at once, so that it does not grow in steps.
    pub fn reserve(&mut self, rows: usize, entries: usize) {
        self.starts.reserve_exact(rows);
        self.ids.reserve_exact(entries);
        if let Some(values) = &mut self.values {
            values.reserve_exact(entries);
        }
    }

    /// Appends a row.
    ///
    /// # Panics
    /// Panics if the features do not ascend below n, or the row has values where the others have none.
    pub fn push_row(&mut self, row: SparseRow<'_>) {
        assert!(
            row.ids.is_sorted_by(|one, other| one < other),
            "ascending features"
        );
        assert!(
            row.ids.last().is_none_or(|&last| (last as usize) < self.n),
            "features below n"
        );
        self.ids.extend_from_slice(row.ids);
        match (&mut self.values, row.values) {
            (None, None) => {}
            (Some(all), Some(values)) => all.extend_from_slice(values),
            _ => panic!("rows of one kind"),
        }
        self.starts.push(self.ids.len());
        let values = self.values.as_ref();
        assert!(
            values.is_none_or(|values| values.len() == self.ids.len()),
            "a value per feature"
        );
    }

    /// Appends a row whose features are given by their distances: the first from 0, each other one from the one
    /// before, less 1. None if a feature is not below n, or there is not a value per feature of real rows.
    pub fn push_distances(&mut self, distances: &[u32], values: Option<&[f64]>) -> Option<()> {
        let mut next = 0_u64;
        self.ids.extend(distances.iter().map(|&distance| {
            next += u64::from(distance) + 1;
            (next - 1) as u32
        }));
        self.end_row();
        if let Some(all) = &mut self.values {
            all.extend_from_slice(values?);
        }
        let all = self.values.as_ref();
        let has_values = all.is_none_or(|all| all.len() == self.ids.len());
        // The features ascend, so the last one speaks for all.
        (has_values && next <= self.n as u64).then_some(())
    }

    /// Appends a Boolean row whose active features come in any order, each once.
    pub fn push_unsorted(&mut self, ids: impl Iterator<Item = u32>) {
        debug_assert!(!self.is_real(), "Boolean rows");
        let first = self.ids.len();
        self.ids.extend(ids);
        self.ids[first..].sort_unstable();
        self.end_row();
    }

    /// Appends an active feature to the unfinished row. The features of a row ascend, and a Boolean row takes only
    /// the value 1.
    #[inline]
    pub fn push(&mut self, id: u32, value: f64) {
        debug_assert!((id as usize) < self.n, "features below n");
        self.ids.push(id);
        match &mut self.values {
            Some(values) => values.push(value),
            None => debug_assert!(value == 1.0, "a bit"),
        }
    }

    /// Makes a row of the features that were pushed since the last call.
    pub fn end_row(&mut self) {
        self.starts.push(self.ids.len());
    }

    /// Gives Boolean rows values.
    pub fn become_real(&mut self) {
        let entries = self.ids.len();
        self.values.get_or_insert_with(|| vec![1.0; entries]);
    }

    /// The same rows with `n` features. Unless `is_real`, they become Boolean, and the features whose value is 1 are
    /// active.
    ///
    /// # Panics
    /// Panics if a feature is not below `n`.
    #[must_use]
    pub fn with(mut self, n: usize, is_real: bool) -> Self {
        assert!(
            self.ids.iter().all(|&id| (id as usize) < n),
            "features below n"
        );
        self.n = n;
        match (&self.values, is_real) {
            (None, true) => self.become_real(),
            (Some(_), false) => {
                let mut bits = Self::new(n, false);
                for row in 0..self.rows() {
                    let ones = self.row(row).entries().filter(|(_, value)| *value == 1.0);
                    ones.for_each(|(id, _)| bits.push(id as u32, 1.0));
                    bits.end_row();
                }
                return bits;
            }
            (None, false) | (Some(_), true) => {}
        }
        self
    }

    /// Adds features up to `n` features, none of which is active in the rows.
    pub fn grow(&mut self, n: usize) {
        debug_assert!(n >= self.n, "more features");
        self.n = n;
    }

    /// Boolean rows as packed bits.
    ///
    /// # Panics
    /// Panics if the rows have values.
    pub fn packed(&self) -> BitMatrix {
        assert!(!self.is_real(), "Boolean rows");
        let (mut matrix, mut words) = (BitMatrix::new(self.n), vec![0; words_for(self.n)]);
        for row in 0..self.rows() {
            self.row(row).pack(&mut words);
            matrix.push_row(&words);
        }
        matrix
    }

    /// Bytes of the rows in memory.
    pub fn bytes(&self) -> u64 {
        let values = self.values.as_ref().map_or(0, Vec::len);
        (size_of_val(&*self.starts) + size_of_val(&*self.ids) + values * size_of::<f64>()) as u64
    }

    /// Number of features.
    pub fn n(&self) -> usize {
        self.n
    }

    pub fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// Number of active features of all rows.
    pub fn entries(&self) -> usize {
        self.ids.len()
    }

    /// Whether the rows have values.
    pub fn is_real(&self) -> bool {
        self.values.is_some()
    }

    /// One row.
    ///
    /// # Panics
    /// Panics if there is no such row.
    pub fn row(&self, row: usize) -> SparseRow<'_> {
        self.among(row..row + 1).row(0)
    }

    /// Block `index`, of 64 rows or fewer at the end.
    pub fn block(&self, index: usize) -> SparseBlock<'_> {
        let first = index * BLOCK_ROWS;
        self.among(first..self.rows().min(first + BLOCK_ROWS))
    }

    /// Up to 64 rows.
    ///
    /// # Panics
    /// Panics if a row does not exist.
    pub fn among(&self, rows: Range<usize>) -> SparseBlock<'_> {
        debug_assert!(rows.len() <= BLOCK_ROWS);
        SparseBlock {
            n: self.n,
            starts: &self.starts[rows.start..=rows.end],
            ids: &self.ids,
            values: self.values.as_deref(),
        }
    }

    pub fn clear(&mut self) {
        self.starts.truncate(1);
        self.ids.clear();
        if let Some(values) = &mut self.values {
            values.clear();
        }
    }
}

impl<'a> SparseBlock<'a> {
    /// Number of features.
    pub fn n(&self) -> usize {
        self.n
    }

    pub fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// Number of active features of all rows.
    pub fn entries(&self) -> usize {
        self.starts[self.rows()] - self.starts[0]
    }

    /// Whether the rows have values.
    pub fn is_real(&self) -> bool {
        self.values.is_some()
    }

    /// One row.
    ///
    /// # Panics
    /// Panics if there is no such row.
    #[inline]
    pub fn row(&self, row: usize) -> SparseRow<'a> {
        let entries = self.starts[row]..self.starts[row + 1];
        SparseRow {
            ids: &self.ids[entries.clone()],
            values: self.values.map(|values| &values[entries]),
        }
    }
}

impl<'a> SparseRow<'a> {
    /// The active features with their values.
    pub fn entries(self) -> impl Iterator<Item = (usize, f64)> + use<'a> {
        let value = move |at| self.values.map_or(1.0, |values: &[f64]| values[at]);
        self.ids
            .iter()
            .enumerate()
            .map(move |(at, &id)| (id as usize, value(at)))
    }

    /// Writes the row as packed words. `words` has the words of a row.
    pub fn pack(self, words: &mut [u64]) {
        words.fill(0);
        for &id in self.ids {
            words[id as usize / WORD_BITS] |= 1 << (id as usize % WORD_BITS);
        }
    }

    /// Writes the row as values, with 0 for the other features. `values` has the `n` values of a row.
    pub fn spread(self, values: &mut [f64]) {
        values.fill(0.0);
        for (id, value) in self.entries() {
            values[id] = value;
        }
    }
}
