//! Integer weights of many classes side by side: the sums of a sparse row for all classes at once.
//!
//! Each column has one cell per class: 32 cells of 16 bits fill a cache line while all weights are small, and 16 of 32
//! bits later. So a row reads each of its columns once for that many classes, where a
//! [column](super::IntegerColumn) per class would read as many lines.

use super::class_grid::{ClassGrid, Groups, sum_of_groups};
use super::column_groups::parts_of;
use super::kernels::{Kernels, kernels, multiversioned};
use super::scalar;

/// So many cells of 16 bits can be added up before their sum may need more bits.
const NARROW_AT_ONCE: i64 = 64;

/// The largest magnitude in cells of 16 bits.
const NARROW_MAX: i64 = i16::MAX as i64 / NARROW_AT_ONCE;

/// One integer weight per column and class, with an optional bias per class.
#[derive(Clone, Debug)]
pub struct ClassColumns {
    n: usize,
    is_signed: bool,
    cells: Cells,
    /// No cell has a larger magnitude.
    largest: i64,
    classes: Vec<Class>,
}

type Narrow = ClassGrid<i16, 16>;
type Wide = ClassGrid<i32, 16>;

#[derive(Clone, Debug)]
enum Cells {
    Narrow(Narrow),
    Wide(Wide),
}

/// What the cells of a class leave out.
#[derive(Clone, Debug, Default)]
struct Class {
    /// A number that is added to each cell. A signed row changes it in place of the cells that the row does not select.
    offset: i64,
    /// The sum of all weights.
    total: i64,
    bias: Option<i64>,
}

impl ClassColumns {
    /// The most bytes of the weights of so many columns and classes.
    pub fn bytes(n: usize, classes: usize) -> usize {
        Wide::bytes(n, classes)
    }

    /// Weights of 0 for `n` columns.
    pub fn new(n: usize, classes: usize, is_signed: bool) -> Self {
        Self {
            n,
            is_signed,
            cells: Cells::Narrow(Narrow::new(n, classes)),
            largest: 0,
            classes: vec![Class::default(); classes],
        }
    }

    /// Adds a class with weights of 0, and returns its place. None if there is no cell left.
    pub fn join(&mut self) -> Option<usize> {
        let class = self.classes.len();
        let capacity = match &self.cells {
            Cells::Narrow(cells) => cells.capacity(),
            Cells::Wide(cells) => cells.capacity(),
        };
        if class == capacity {
            return None;
        }
        self.classes.push(Class::default());
        Some(class)
    }

    /// Adds columns with weights of 0 up to `n` columns.
    ///
    /// # Panics
    /// Panics in the signed reading, which changes the weights of all columns.
    pub fn grow(&mut self, n: usize) {
        assert!(!self.is_signed, "the unsigned reading");
        self.n = n;
        match &mut self.cells {
            Cells::Narrow(cells) => cells.grow(n),
            Cells::Wide(cells) => cells.grow(n),
        }
    }

    /// Makes room for cells of this magnitude. Returns false if they need more than 32 bits.
    fn make_room(&mut self, magnitude: i64) -> bool {
        if let Cells::Narrow(cells) = &self.cells
            && magnitude > NARROW_MAX
        {
            self.cells = Cells::Wide(cells.copied(self.classes.len()));
        }
        magnitude <= i32::MAX.into()
    }

    /// Replaces the weights of a class. Returns false, and leaves them as they were, if one of them exceeds 32 bits.
    ///
    /// # Panics
    /// Panics unless there is one weight per column.
    #[must_use]
    pub fn assign(&mut self, class: usize, weights: &[i64], bias: Option<i64>) -> bool {
        assert_eq!(weights.len(), self.n, "one weight per column");
        let largest = weights.iter().map(|weight| weight.saturating_abs()).max();
        let largest = largest.unwrap_or(0);
        if !self.make_room(largest) {
            return false;
        }
        self.largest = self.largest.max(largest);
        match &mut self.cells {
            Cells::Narrow(cells) => cells.assign(class, weights, |weight| weight as i16),
            Cells::Wide(cells) => cells.assign(class, weights, |weight| weight as i32),
        }
        self.classes[class] = Class {
            offset: 0,
            total: weights.iter().sum(),
            bias,
        };
        true
    }

    /// Replaces `sums` by the sum of each class for a row of these active columns, with its bias.
    ///
    /// # Panics
    /// Panics if a column is not below n.
    pub fn scores(&self, ids: &[u32], sums: &mut Vec<i64>) {
        sums.clear();
        sums.resize(self.classes.len(), 0);
        // So many cells at once have a sum that fits into a cell.
        let parts = |most: i64| ids.chunks((most / self.largest.max(1)) as usize);
        let (narrow, wide) = (i16::MAX.into(), i32::MAX.into());
        match (&self.cells, kernels()) {
            (Cells::Narrow(cells), Kernels::Detected) => {
                parts(narrow).for_each(|ids| add_narrow_detected(cells, ids, sums));
            }
            (Cells::Narrow(cells), Kernels::Scalar) => {
                parts(narrow).for_each(|ids| scalar::add_cells(cells, ids, sums));
            }
            (Cells::Wide(cells), Kernels::Detected) => {
                parts(wide).for_each(|ids| add_wide_detected(cells, ids, sums));
            }
            (Cells::Wide(cells), Kernels::Scalar) => {
                parts(wide).for_each(|ids| scalar::add_cells(cells, ids, sums));
            }
        }
        let active = ids.len() as i64;
        for (sum, class) in sums.iter_mut().zip(&self.classes) {
            let selected = *sum + class.offset * active;
            let product = match self.is_signed {
                true => 2 * selected - class.total,
                false => selected,
            };
            *sum = product + class.bias.unwrap_or(0);
        }
    }

    /// Adds `amount` times a row of these active columns to the weights and the bias of a class. Returns false if a
    /// cell may then exceed 32 bits. The weights are unusable in this case.
    ///
    /// # Panics
    /// Panics if a column is not below n.
    #[must_use]
    pub fn add(&mut self, class: usize, ids: &[u32], amount: i64) -> bool {
        let (selected, others) = parts_of(amount, self.is_signed);
        let most = self.largest.saturating_add(selected.saturating_abs());
        if !self.make_room(most) {
            return false;
        }
        let touched = match &mut self.cells {
            Cells::Narrow(cells) => cells.add(class, ids, selected as i16),
            Cells::Wide(cells) => cells.add(class, ids, selected as i32),
        };
        self.largest = self.largest.max(touched);
        let own = &mut self.classes[class];
        own.offset += others;
        own.total += selected * ids.len() as i64 + others * self.n as i64;
        own.bias = own.bias.map(|bias| bias + amount);
        true
    }
}

multiversioned! {
    fn add_narrow_detected(cells: &Narrow, ids: &[u32], sums: &mut [i64]) {
        multiversion::target::match_target! {
            "x86_64+avx2" => {
                let two = |groups: Groups<'_, i16, 16>, ids: &[u32]| super::avx2::class_sums(groups, ids);
                let one = |groups: Groups<'_, i16, 16>, ids: &[u32]| super::avx2::class_sums(groups, ids);
                cells.add_to(ids, sums, two, one)
            },
            _ => cells.add_to(ids, sums, sum_of_groups, sum_of_groups),
        }
    }
}

multiversioned! {
    fn add_wide_detected(cells: &Wide, ids: &[u32], sums: &mut [i64]) {
        cells.add_to(ids, sums, sum_of_groups, sum_of_groups);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::bits::column_groups::IntegerStep;
    use crate::bits::{IntegerColumn, SWITCH, use_kernels};

    prop_compose! {
        fn cases()(n in 1_usize..60, classes in 1_usize..70)(
            weights in prop::collection::vec(prop::collection::vec(-40_i64..40, n), classes),
            large in prop_oneof![3 => Just(0_i64), 2 => 440..520_i64, 1 => Just(i64::from(i32::MAX) - 900)],
            rows in prop::collection::vec((prop::collection::vec(any::<bool>(), n), 0..classes), 1..20),
            is_signed in any::<bool>(), bias in prop::option::of(-90_i64..90), amount in -9_i64..9,
        ) -> (Vec<Vec<i64>>, Vec<(Vec<u32>, usize)>, IntegerStep) {
            let raise = |weights: Vec<i64>| weights.into_iter().map(|weight| weight + large).collect();
            let listed = |(row, class): (Vec<bool>, usize)| {
                let ids = (0..).zip(row).filter_map(|(id, is_active)| is_active.then_some(id));
                (ids.collect(), class)
            };
            let step = IntegerStep { is_signed, bias, amount, positives: 0 };
            (weights.into_iter().map(raise).collect(), rows.into_iter().map(listed).collect(), step)
        }
    }

    proptest! {
        #[test]
        fn class_columns_equal_one_column_per_class((weights, rows, step) in cases()) {
            let _switch = SWITCH.lock();
            let n = weights[0].len();
            let mut columns: Vec<_> = weights.iter().map(|own| IntegerColumn::new(own.clone())).collect();
            let mut biases = vec![step.bias; weights.len()];
            let mut all = ClassColumns::new(n, weights.len(), step.is_signed);
            for (class, own) in weights.iter().enumerate() {
                prop_assert!(all.assign(class, own, step.bias));
            }
            for (ids, class) in rows {
                let step = |class: usize| IntegerStep { bias: biases[class], ..step };
                let expected = columns.iter().enumerate();
                let expected: Vec<i64> =
                    expected.map(|(class, own)| own.sparse_score(&ids, step(class))).collect();
                for chosen in [Kernels::Scalar, Kernels::Detected] {
                    use_kernels(chosen);
                    let mut sums = vec![7; 3];
                    all.scores(&ids, &mut sums);
                    prop_assert_eq!(&sums, &expected);
                }
                prop_assert!(all.add(class, &ids, step(class).amount));
                columns[class].add_sparse(&ids, step(class).amount, step(class).is_signed);
                biases[class] = biases[class].map(|bias| bias + step(class).amount);
            }
        }
    }

    #[test]
    fn cells_become_wide_when_the_weights_grow() {
        let mut columns = ClassColumns::new(3, 20, false);
        for time in 1..2_000 {
            assert!(columns.add(19, &[0, 2], 3));
            let mut sums = Vec::new();
            columns.scores(&[2], &mut sums);
            assert_eq!((sums[18], sums[19]), (0, 3 * time));
            assert_eq!(
                matches!(columns.cells, Cells::Wide(_)),
                3 * time > NARROW_MAX
            );
        }
    }

    #[test]
    fn class_columns_refuse_what_exceeds_32_bits() {
        let mut columns = ClassColumns::new(2, 3, true);
        assert!(!columns.assign(1, &[0, 1 << 31], None));
        assert!(columns.assign(1, &[0, i64::from(i32::MAX) - 1], None));
        assert!(!columns.add(2, &[0], 1));
        assert!(!columns.add(2, &[0], i64::MAX / 2));
        let mut sums = Vec::new();
        columns.scores(&[0, 1], &mut sums);
        assert_eq!(sums, [0, i64::from(i32::MAX) - 1, 0]);
    }
}
