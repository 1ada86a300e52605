//! The weights of examples: how much each counts in a training.
//!
//! An example of the whole weight w is shown w times in a row, so a training with whole weights is that of the repeated
//! rows. A weight of 2.5 is shown three times, the last time as a part of 0.5, from which a rule takes half a step.
//! Weights are multiples of a thousandth, so that whole weights of hypotheses stay whole in a smaller unit.

use std::fmt;
use std::sync::Arc;

use crate::learners::engine::run::Interrupt;
use crate::learners::sample::classes::ClassCodes;
use crate::learners::sample::examples::{Examples, class_codes};
use crate::memory;

/// The weight 1 in thousandths.
const WHOLE: u32 = 1000;

/// The largest weight, in thousandths.
const MAX: u32 = 1000 * WHOLE;

/// A weight from 0.001 to 1000, in thousandths.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Weight(u32);

impl Weight {
    pub const ONE: Self = Self(WHOLE);

    /// What a weight must be.
    pub const RULE: &str = "a weight is a number from 0.001 to 1000";

    /// The nearest multiple of a thousandth. None outside of the range.
    pub fn new(value: f64) -> Option<Self> {
        let thousandths = (value * f64::from(WHOLE)).round();
        let is_within = (1.0..=f64::from(MAX)).contains(&thousandths);
        is_within.then_some(Self(thousandths as u32))
    }

    /// The weight of so many thousandths. None outside of the range.
    pub fn of_thousandths(thousandths: u32) -> Option<Self> {
        (1..=MAX)
            .contains(&thousandths)
            .then_some(Self(thousandths))
    }

    pub fn thousandths(self) -> u32 {
        self.0
    }

    pub fn value(self) -> f64 {
        f64::from(self.0) / f64::from(WHOLE)
    }

    /// How often an example of this weight is shown.
    fn copies(self) -> u64 {
        self.0.div_ceil(WHOLE).into()
    }

    /// The product, rounded to a thousandth. It may exceed the largest weight that a request may give.
    #[must_use]
    fn times(self, other: Self) -> Self {
        let product = u64::from(self.0) * u64::from(other.0) + u64::from(WHOLE / 2);
        Self::rounded(product / u64::from(WHOLE))
    }

    fn rounded(thousandths: u64) -> Self {
        Self(thousandths.clamp(1, u32::MAX.into()) as u32)
    }
}

impl fmt::Debug for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.value())
    }
}

/// The weights of classes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClassWeights {
    /// All classes count alike together: of m examples in k classes, each of a class of c examples has the weight
    /// m / (k c), rounded to a thousandth. Held-out examples are not counted.
    Balanced,
    /// One weight per class, in the order of the codes.
    Each(Vec<Weight>),
}

impl ClassWeights {
    /// None if all classes have the weight 1, so that nothing has to be withheld.
    #[must_use]
    pub fn differing(self) -> Option<Self> {
        let is_one = matches!(&self, Self::Each(all) if all.iter().all(|own| *own == Weight::ONE));
        (!is_one).then_some(self)
    }
}

/// The weights of all examples, as their data have them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowWeights {
    each: Arc<[Weight]>,
    parts: u32,
    /// The sum of the numbers of times that each is shown.
    shown: u64,
}

impl RowWeights {
    pub fn new(each: Arc<[Weight]>) -> Self {
        Self {
            parts: parts_of(&each),
            shown: each.iter().map(|own| own.copies()).sum(),
            each,
        }
    }

    /// One weight per example.
    pub fn each(&self) -> &Arc<[Weight]> {
        &self.each
    }
}

/// How much each example counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Weighing {
    pub classes: Option<ClassWeights>,
    /// A weight of its class multiplies that of an example.
    pub rows: Option<RowWeights>,
}

impl Weighing {
    /// Whether all examples count alike.
    pub fn is_none(&self) -> bool {
        self.classes.is_none() && self.rows.is_none()
    }

    /// The equal parts of a step of which all steps are multiples, 1 if all weights are whole. They depend on no label,
    /// so that a rule can be built before the labels are read.
    pub fn parts(&self) -> u32 {
        let of_classes = match &self.classes {
            None => 1,
            Some(ClassWeights::Balanced) => WHOLE,
            Some(ClassWeights::Each(all)) => parts_of(all),
        };
        let product = self.row_parts() * of_classes;
        // A product of weights is rounded to a thousandth.
        if WHOLE.is_multiple_of(product) {
            product
        } else {
            WHOLE
        }
    }

    /// The parts of the examples' own weights, see [`Self::parts`].
    pub fn row_parts(&self) -> u32 {
        self.rows.as_ref().map_or(1, |rows| rows.parts)
    }

    /// About how many examples a pass over `examples` examples shows. The numbers of examples in the classes are not
    /// known, so named classes count as if their weights were 1.
    pub fn shown(&self, examples: u64) -> u64 {
        let of_rows = self.rows.as_ref().map_or(examples, |rows| rows.shown);
        match &self.classes {
            // Each of weights that add up to m is rounded up.
            Some(ClassWeights::Balanced) => of_rows.saturating_mul(2),
            Some(ClassWeights::Each(_)) | None => of_rows,
        }
    }

    /// The weights of the examples, of which `shown` lists those that the learner is shown. The labels tell `count`
    /// classes apart.
    ///
    /// # Errors
    /// An interrupt if the labels cannot be read.
    pub fn weights(
        &self,
        data: &dyn Examples,
        shown: &[u32],
        count: usize,
    ) -> Result<Weights, Interrupt> {
        let examples = data.shape().examples;
        let codes = match &self.classes {
            Some(_) => class_codes(data)?,
            None => None,
        };
        let of_classes = codes.as_ref().zip(self.classes.as_ref());
        let of_classes = of_classes.map(|(codes, classes)| match classes {
            ClassWeights::Balanced => balanced(codes, shown, count),
            ClassWeights::Each(all) => all.clone(),
        });
        memory::need((examples * size_of::<Weight>()) as u64).map_err(|_| Interrupt::Memory)?;
        let of_row = |row: usize| {
            let own = self
                .rows
                .as_ref()
                .map_or(Weight::ONE, |rows| rows.each[row]);
            match (&codes, &of_classes) {
                (Some(codes), Some(all)) => own.times(all[codes.get(row) as usize]),
                _ => own,
            }
        };
        Ok(Weights {
            of_rows: (0..examples).map(of_row).collect(),
            of_classes,
            parts: self.parts(),
        })
    }
}

/// See [`ClassWeights::Balanced`]. A class without examples has the weight 1.
fn balanced(codes: &ClassCodes, shown: &[u32], classes: usize) -> Vec<Weight> {
    let mut counts = vec![0_u64; classes];
    for &row in shown {
        counts[codes.get(row as usize) as usize] += 1;
    }
    let seen = counts.iter().filter(|count| **count > 0).count() as u64;
    let weight = |count: &u64| match count {
        0 => Weight::ONE,
        count => {
            let (above, below) = (shown.len() as u64 * u64::from(WHOLE), seen * count);
            Weight::rounded((above + below / 2) / below)
        }
    };
    counts.iter().map(weight).collect()
}

/// The equal parts of 1 of which all these weights are multiples.
fn parts_of(weights: &[Weight]) -> u32 {
    WHOLE / weights.iter().fold(WHOLE, |all, own| gcd(all, own.0))
}

/// Why a run with parts of steps has no bound.
pub const NO_BOUND_OF_PARTS: &str =
    "some weights are not whole, and the bound counts whole steps; give whole weights";

/// The weights of all examples of a sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weights {
    of_rows: Arc<[Weight]>,
    of_classes: Option<Vec<Weight>>,
    /// The number of equal parts of a whole step of which all steps are multiples.
    parts: u32,
}

/// Marks an example that is shown in part.
const PART: u32 = 1 << 31;

impl Weights {
    /// The weights of the classes, if they have some.
    pub fn of_classes(&self) -> Option<&[Weight]> {
        self.of_classes.as_deref()
    }

    /// The number of parts of a step, 1 if all weights are whole.
    pub fn parts(&self) -> u32 {
        self.parts
    }

    /// Whether some weights are not whole.
    pub fn has_parts(&self) -> bool {
        self.parts > 1
    }

    /// The examples that a pass over these rows shows, each as often as its weight says. A part of an example is shown
    /// last.
    ///
    /// # Errors
    /// [`Interrupt::Memory`] if the memory grant is too small for them.
    pub fn shown(&self, rows: &[u32]) -> Result<Vec<Shown>, Interrupt> {
        let count: u64 = rows.iter().map(|row| self.of(*row).copies()).sum();
        let bytes = count.saturating_mul(size_of::<Shown>() as u64);
        memory::need(bytes).map_err(|_| Interrupt::Memory)?;
        let mut shown = Vec::with_capacity(count as usize);
        for &row in rows {
            let weight = self.of(row).0;
            let (whole, part) = (weight / WHOLE, !weight.is_multiple_of(WHOLE));
            let whole = std::iter::repeat_n(Shown(row), whole as usize);
            shown.extend(whole.chain(part.then_some(Shown(row | PART))));
        }
        Ok(shown)
    }

    /// The step of an example that is shown, in [parts](Self::parts).
    pub fn step(&self, shown: Shown) -> u32 {
        let whole = self.parts;
        match shown.0 & PART {
            0 => whole,
            _ => self.of(shown.row()).0 % WHOLE / (WHOLE / whole),
        }
    }

    fn of(&self, row: u32) -> Weight {
        self.of_rows[row as usize]
    }
}

/// An example of a pass: a row, or a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown(u32);

impl Shown {
    /// The most rows that can be told apart.
    pub const ROWS_MAX: u64 = PART as u64;

    /// A whole row.
    pub fn whole(row: u32) -> Self {
        Self(row)
    }

    /// The number of the row.
    pub fn row(self) -> u32 {
        self.0 & !PART
    }

    /// The row and whether it is shown in part, as a number.
    pub fn code(self) -> u32 {
        self.0
    }

    /// The example of a [code](Self::code).
    pub fn of_code(code: u32) -> Self {
        Self(code)
    }
}

fn gcd(one: u32, other: u32) -> u32 {
    match other {
        0 => one,
        _ => gcd(other, one % other),
    }
}
