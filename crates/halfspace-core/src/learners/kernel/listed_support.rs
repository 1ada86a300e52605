//! Support vectors as lists of their ones, with an inverted index: for each feature, the vectors that have it.
//!
//! A monotone kernel depends on the number of ones that an example shares with a support vector. The index visits only
//! the vectors that share some, so the time for a score depends on the lists of the example's features, not on n.

use hashbrown::HashMap;

use crate::bits::{BLOCK_ROWS, SparseMatrix, SparseRow};

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
    /// The number of ones that the example shares with each support vector.
    counts: Vec<u32>,
    /// The vectors that share some.
    touched: Vec<u32>,
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
        let vectors = self.rows.rows();
        let SharedOnes {
            counts,
            touched,
            sums,
        } = shared;
        counts.resize(vectors, 0);
        sums.clear();
        sums.resize(ones.len() + 1, 0);
        for feature in ones {
            let Some(having) = self.having.get(feature) else {
                continue;
            };
            let newer = having.partition_point(|&place| (place as usize) < first);
            for &place in &having[newer..] {
                let count = &mut counts[place as usize];
                if *count == 0 {
                    touched.push(place);
                }
                *count += 1;
            }
            if stop.raised().is_some() {
                counts.clear();
                touched.clear();
                return None;
            }
        }
        sums[0] = label_sum(positives, first..vectors);
        for place in touched.drain(..) {
            let count = std::mem::take(&mut counts[place as usize]);
            let place = place as usize;
            let is_positive = positives[place / BLOCK_ROWS] >> (place % BLOCK_ROWS) & 1 == 1;
            let label = if is_positive { 1 } else { -1 };
            sums[0] -= label;
            sums[count as usize] += label;
        }
        Some(sums)
    }
}

/// The sum of the labels of these vectors.
fn label_sum(positives: &[u64], vectors: std::ops::Range<usize>) -> i64 {
    let mut positive = 0;
    crate::bits::for_each_block(vectors.clone(), |index, taken| {
        positive += i64::from((positives[index] & taken).count_ones());
    });
    2 * positive - vectors.len() as i64
}
