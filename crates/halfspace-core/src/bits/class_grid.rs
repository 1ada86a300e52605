//! The cells of many columns and classes, in groups of one column. Two groups are added up at once.

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

    /// Adds cells of 0 up to `n` columns.
    pub(super) fn grow(&mut self, n: usize) {
        let cells = n * self.groups;
        self.cells.resize(cells, [C::default(); LANES]);
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

    /// Adds the cells of these columns to the sum of each class. The sums must fit into cells. `two` and `one` add up
    /// two groups or one group of each column: see [`sum_of_groups`].
    #[inline(always)]
    pub(super) fn add_to(
        &self,
        ids: &[u32],
        sums: &mut [i64],
        two: impl Fn(Groups<'_, C, LANES>, &[u32]) -> [[C; LANES]; 2],
        one: impl Fn(Groups<'_, C, LANES>, &[u32]) -> [[C; LANES]; 1],
    ) {
        let mut first = 0;
        while first < self.groups {
            let groups = Groups {
                cells: &self.cells,
                groups: self.groups,
                first,
            };
            let sums = &mut sums[first * LANES..];
            if first + 2 <= self.groups {
                add_up(two(groups, ids).as_flattened(), sums);
            } else {
                add_up(one(groups, ids).as_flattened(), sums);
            }
            first += 2;
        }
    }
}

/// The groups of each column from the group `first` on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Groups<'a, C, const LANES: usize> {
    cells: &'a [[C; LANES]],
    groups: usize,
    first: usize,
}

impl<'a, C, const LANES: usize> Groups<'a, C, LANES> {
    /// `COUNT` groups of a column.
    #[inline(always)]
    pub(super) fn of<const COUNT: usize>(&self, column: u32) -> &'a [[C; LANES]; COUNT] {
        let at = column as usize * self.groups + self.first;
        self.cells[at..]
            .first_chunk()
            .expect("a column of the grid")
    }
}

#[inline(always)]
fn add_up<C: ClassCell>(own: &[C], sums: &mut [i64]) {
    for (sum, own) in sums.iter_mut().zip(own) {
        *sum += (*own).into();
    }
}

/// The sum of `COUNT` groups of these columns.
#[inline(always)]
pub(super) fn sum_of_groups<C: ClassCell, const LANES: usize, const COUNT: usize>(
    groups: Groups<'_, C, LANES>,
    ids: &[u32],
) -> [[C; LANES]; COUNT] {
    let mut all = [[C::default(); LANES]; COUNT];
    for &id in ids {
        for (sums, cells) in all.iter_mut().zip(groups.of::<COUNT>(id)) {
            for (sum, cell) in sums.iter_mut().zip(cells) {
                *sum = sum.plus(*cell);
            }
        }
    }
    all
}
