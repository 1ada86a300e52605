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

    /// The product, rounded to a thousandth and brought into the range.
    #[must_use]
    pub fn times(self, other: Self) -> Self {
        let product =
            (u64::from(self.0) * u64::from(other.0) + u64::from(WHOLE / 2)) / u64::from(WHOLE);
        Self(product.clamp(1, MAX.into()) as u32)
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
    /// m / (k c), rounded. Held-out examples are not counted.
    Balanced,
    /// One weight per class, in the order of the codes.
    Each(Vec<Weight>),
}

/// How much each example counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Weighing {
    pub classes: Option<ClassWeights>,
    /// One weight per example. A weight of its class multiplies it.
    pub rows: Option<Arc<[Weight]>>,
}

impl Weighing {
    /// Whether all examples count alike.
    pub fn is_none(&self) -> bool {
        self.classes.is_none() && self.rows.is_none()
    }

    /// Whether all weights are known to be whole before the classes are counted.
    pub fn is_whole(&self) -> bool {
        let are_whole = |all: &[Weight]| all.iter().all(|own| own.0.is_multiple_of(WHOLE));
        let classes = match &self.classes {
            None => true,
            Some(ClassWeights::Balanced) => false,
            Some(ClassWeights::Each(all)) => are_whole(all),
        };
        classes && self.rows.as_deref().is_none_or(are_whole)
    }

    /// The most examples that a pass over `examples` examples may show.
    pub fn shown_max(&self, examples: u64) -> u64 {
        let copies = |all: &[Weight]| -> u64 {
            let copies = all.iter().map(|own| u64::from(own.0.div_ceil(WHOLE)));
            copies.max().unwrap_or(1)
        };
        let of_rows = match self.rows.as_deref() {
            None => examples,
            Some(rows) => rows
                .iter()
                .map(|own| u64::from(own.0.div_ceil(WHOLE)))
                .sum(),
        };
        match &self.classes {
            None => of_rows,
            // The weights of m examples add up to m, and each is rounded up once. A product is rounded, too.
            Some(ClassWeights::Balanced) if self.rows.is_none() => 2 * examples,
            Some(ClassWeights::Balanced) => of_rows.saturating_mul(u64::from(MAX / WHOLE)),
            Some(ClassWeights::Each(all)) => of_rows.saturating_mul(copies(all)),
        }
    }

    /// The weights of the examples, of which `shown` lists those that the learner is shown.
    ///
    /// # Errors
    /// An interrupt if the labels cannot be read.
    pub fn weights(&self, data: &dyn Examples, shown: &[u32]) -> Result<Weights, Interrupt> {
        let (Some(classes), Some(codes)) = (&self.classes, class_codes(data)?) else {
            let own = self.rows.clone();
            let own = own.unwrap_or_else(|| vec![Weight::ONE; data.shape().examples].into());
            return Ok(Weights::new(own, None));
        };
        let of_classes = match classes {
            ClassWeights::Balanced => balanced(&codes, shown),
            ClassWeights::Each(all) => all.clone(),
        };
        let of_row = |row: usize| {
            let of_class = of_classes.get(codes.get(row) as usize).copied();
            let of_class = of_class.unwrap_or(Weight::ONE);
            self.rows
                .as_ref()
                .map_or(of_class, |rows| rows[row].times(of_class))
        };
        let of_rows = (0..codes.rows()).map(of_row).collect();
        Ok(Weights::new(of_rows, Some(of_classes)))
    }
}

/// See [`ClassWeights::Balanced`]. A class without examples has the weight 1.
fn balanced(codes: &ClassCodes, shown: &[u32]) -> Vec<Weight> {
    let mut counts = vec![0_u64; 1 << codes.planes()];
    for &row in shown {
        counts[codes.get(row as usize) as usize] += 1;
    }
    while counts.last() == Some(&0) {
        counts.pop();
    }
    let classes = counts.iter().filter(|count| **count > 0).count() as u64;
    let weight = |count: &u64| match count {
        0 => Weight::ONE,
        count => {
            let (above, below) = (shown.len() as u64 * u64::from(WHOLE), classes * count);
            let rounded = (above + below / 2) / below;
            Weight(rounded.clamp(1, MAX.into()) as u32)
        }
    };
    counts.iter().map(weight).collect()
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
    /// One weight per example, and the weights of the classes that were multiplied into them.
    fn new(of_rows: Arc<[Weight]>, of_classes: Option<Vec<Weight>>) -> Self {
        let divisor = of_rows.iter().fold(WHOLE, |all, own| gcd(all, own.0));
        Self {
            of_rows,
            of_classes,
            parts: WHOLE / divisor,
        }
    }

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
    pub fn shown(&self, rows: impl Iterator<Item = u32>) -> Vec<Shown> {
        let copies = |row| {
            let weight = self.of(row).0;
            let whole = (0..weight / WHOLE).map(move |_| Shown(row));
            whole.chain((weight % WHOLE > 0).then_some(Shown(row | PART)))
        };
        rows.flat_map(copies).collect()
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
