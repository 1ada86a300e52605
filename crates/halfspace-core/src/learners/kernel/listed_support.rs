//! Support vectors as lists of their ones, with an inverted index: for each feature, the vectors that have it.
//!
//! A monotone kernel depends on the number of ones that an example shares with a support vector. The index visits only
//! the vectors that share some, so the time for a score depends on the lists of the example's features, not on n.

use std::ops::AddAssign;

use hashbrown::HashMap;

use crate::bits::{BLOCK_ROWS, Excerpt, SparseMatrix, SparseRow};

use crate::learners::engine::run::StopFlag;

/// Support vectors in the order in which they were added.
#[derive(Clone, Debug)]
pub(super) struct ListedSupport {
    rows: SparseMatrix,
    /// The vectors that have a feature, in ascending order.
    having: HashMap<u32, Vec<u32>>,
}

/// Memory for the counts of one example.
#[derive(Clone, Debug, Default)]
pub(super) struct SharedOnes {
    /// The number of ones that the example shares with each support vector. Those of an example of few ones fit into
    /// the cache.
    few: Vec<u8>,
    many: Vec<u32>,
    /// The sum of the labels of the vectors that share so many.
    sums: Vec<i64>,
}

impl ListedSupport {
    pub(super) fn new(n: usize) -> Self {
        Self {
            rows: SparseMatrix::new(n, false),
            having: HashMap::new(),
        }
    }

    pub(super) fn rows(&self) -> &SparseMatrix {
        &self.rows
    }

    /// Adds features up to `n` features, which are 0 in all support vectors.
    pub(super) fn grow(&mut self, n: usize) {
        self.rows.grow(n);
    }

    /// The vectors with the features of an excerpt alone, at their places there.
    pub(super) fn excerpt(&self, excerpt: &Excerpt) -> Self {
        let mut ones = Vec::new();
        for &(feature, place) in excerpt.places() {
            let having = self.having.get(&feature).into_iter().flatten();
            ones.extend(having.map(|&vector| (vector, place)));
        }
        ones.sort_unstable();
        let (mut support, mut rest) = (Self::new(excerpt.n()), ones.as_slice());
        let mut row = Vec::new();
        for vector in 0..self.rows.rows() as u32 {
            let own = rest.partition_point(|&(other, _)| other == vector);
            row.clear();
            row.extend(rest[..own].iter().map(|&(_, place)| place));
            rest = &rest[own..];
            support.push(&row);
        }
        support
    }

    /// Adds a support vector, given by the places of its ones.
    pub(super) fn push(&mut self, ones: &[u32]) {
        let place = self.rows.rows() as u32;
        for &feature in ones {
            self.having.entry(feature).or_default().push(place);
        }
        let (ids, values) = (ones, None);
        self.rows.push_row(SparseRow { ids, values });
    }

    /// The sums of the labels of the support vectors from `first` on, by the number of ones that they share with an
    /// example. `positives` has the labels of each block of 64. None if the computation was told to stop.
    pub(super) fn sums<'a>(
        &self,
        first: usize,
        ones: &[u32],
        positives: &[u64],
        shared: &'a mut SharedOnes,
        stop: &StopFlag,
    ) -> Option<&'a [i64]> {
        let SharedOnes { few, many, sums } = shared;
        sums.clear();
        sums.resize(ones.len() + 1, 0);
        let is_done = if ones.len() <= usize::from(u8::MAX) {
            self.count(first, ones, few, stop)
                .map(|()| add_labels(few, first, positives, sums))
        } else {
            self.count(first, ones, many, stop)
                .map(|()| add_labels(many, first, positives, sums))
        };
        is_done.map(|()| &**sums)
    }

    /// Counts the shared ones of each vector from `first` on. None if the computation was told to stop.
    fn count<C: From<u8> + Copy + AddAssign>(
        &self,
        first: usize,
        ones: &[u32],
        counts: &mut Vec<C>,
        stop: &StopFlag,
    ) -> Option<()> {
        counts.clear();
        counts.resize(self.rows.rows() - first, C::from(0));
        for feature in ones {
            let Some(having) = self.having.get(feature) else {
                continue;
            };
            let newer = having.partition_point(|&place| (place as usize) < first);
            for &place in &having[newer..] {
                counts[place as usize - first] += C::from(1);
            }
            if stop.raised().is_some() {
                return None;
            }
        }
        Some(())
    }
}

/// Adds the label of each vector from `first` on to the sum of its count.
fn add_labels<C: Into<u32> + Copy>(
    counts: &[C],
    first: usize,
    positives: &[u64],
    sums: &mut [i64],
) {
    for (place, &count) in (first..).zip(counts) {
        let bit = positives[place / BLOCK_ROWS] >> (place % BLOCK_ROWS) & 1;
        let count: u32 = count.into();
        sums[count as usize] += 2 * bit.cast_signed() - 1;
    }
}
