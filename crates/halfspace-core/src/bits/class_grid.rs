//! The cells of many columns and classes, in groups of one column that fill a cache line each.

/// The most groups that one look at a row adds up.
const GROUPS_AT_ONCE: usize = 2;

/// An integer in a cell.
pub(super) trait ClassCell: Copy + Default + Into<i64> {
    #[must_use]
    fn plus(self, other: Self) -> Self;
}

impl ClassCell for i16 {
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
}

impl ClassCell for i32 {
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
}

/// One cell per column and class.
#[derive(Clone, Debug)]
pub(super) struct ClassGrid<C, const LANES: usize> {
    /// Groups per column.
    groups: usize,
    /// The groups of the first column, then those of the next.
    cells: Vec<[C; LANES]>,
}

impl<C: ClassCell, const LANES: usize> ClassGrid<C, LANES> {
    /// The bytes of so many columns and classes.
    pub(super) fn bytes(n: usize, classes: usize) -> usize {
        let cells = n.saturating_mul(classes.div_ceil(LANES));
        cells.saturating_mul(size_of::<[C; LANES]>())
    }

    /// Cells of 0.
    pub(super) fn new(n: usize, classes: usize) -> Self {
        let groups = classes.div_ceil(LANES);
        Self {
            groups,
            cells: vec![[C::default(); LANES]; n * groups],
        }
    }

    /// The number of classes that have cells.
    pub(super) fn capacity(&self) -> usize {
        self.groups * LANES
    }

    pub(super) fn cell(&self, column: u32, class: usize) -> C {
        self.cells[column as usize * self.groups + class / LANES][class % LANES]
    }

    /// The same numbers in other cells.
    pub(super) fn copied<D: ClassCell + From<C>, const OTHER: usize>(
        &self,
        classes: usize,
    ) -> ClassGrid<D, OTHER> {
        let n = self.cells.len() / self.groups.max(1);
        let mut copy = ClassGrid::<D, OTHER>::new(n, classes);
        for (column, cells) in copy.cells.chunks_exact_mut(copy.groups.max(1)).enumerate() {
            let cells = cells.as_flattened_mut().iter_mut().take(classes);
            for (class, cell) in cells.enumerate() {
                *cell = D::from(self.cell(column as u32, class));
            }
        }
        copy
    }

    /// Replaces the cells of a class by one per column.
    pub(super) fn assign(&mut self, class: usize, weights: &[i64], cell: impl Fn(i64) -> C) {
        let groups = self.cells.iter_mut().skip(class / LANES);
        for (own, &weight) in groups.step_by(self.groups).zip(weights) {
            own[class % LANES] = cell(weight);
        }
    }

    /// Adds to the cells of a class in these columns, and returns the largest magnitude among them.
    pub(super) fn add(&mut self, class: usize, ids: &[u32], amount: C) -> i64 {
        let mut largest = 0;
        for &id in ids {
            let cell = &mut self.cells[id as usize * self.groups + class / LANES][class % LANES];
            *cell = cell.plus(amount);
            let magnitude: i64 = (*cell).into();
            largest = magnitude.abs().max(largest);
        }
        largest
    }

    /// Adds the cells of these columns to the sum of each class. The sums must fit into cells.
    #[inline(always)]
    pub(super) fn add_to(&self, ids: &[u32], sums: &mut [i64]) {
        let mut first = 0;
        while first + GROUPS_AT_ONCE <= self.groups {
            self.add_groups::<GROUPS_AT_ONCE>(first, ids, sums);
            first += GROUPS_AT_ONCE;
        }
        if first < self.groups {
            self.add_groups::<1>(first, ids, sums);
        }
    }

    /// Adds up `COUNT` groups of each column from `first` on.
    #[inline(always)]
    fn add_groups<const COUNT: usize>(&self, first: usize, ids: &[u32], sums: &mut [i64]) {
        let mut all = [[C::default(); LANES]; COUNT];
        for &id in ids {
            let at = id as usize * self.groups + first;
            let own = &self.cells[at..at + COUNT];
            for (sums, cells) in all.iter_mut().zip(own) {
                for (sum, cell) in sums.iter_mut().zip(cells) {
                    *sum = sum.plus(*cell);
                }
            }
        }
        let sums = sums[first * LANES..].iter_mut();
        for (sum, own) in sums.zip(all.as_flattened()) {
            *sum += (*own).into();
        }
    }
}
