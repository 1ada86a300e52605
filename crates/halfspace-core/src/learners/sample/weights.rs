//! The weights of examples: how much each counts in a training.
//!
//! An example of the whole weight w is shown w times in a row, so a training with whole weights is that of the repeated
//! rows. A weight of 2.5 is shown three times, the last time as a part of 0.5, from which a rule takes half a step.
//! Weights are multiples of a thousandth, so that whole weights of hypotheses stay whole in a smaller unit.

use std::fmt;
use std::sync::Arc;

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

/// The weights of all examples of a sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weights {
    of_rows: Arc<[Weight]>,
    /// The number of equal parts of a whole step of which all steps are multiples.
    parts: u32,
}

/// The rows from which a part of an example is shown rather than the whole are numbered from here on: see
/// [`Weights::shown`].
const PART: u32 = 1 << 31;

impl Weights {
    /// The most examples that can be shown in a pass.
    pub const SHOWN_MAX: u64 = (PART - 1) as u64;

    /// One weight per example.
    pub fn new(of_rows: Arc<[Weight]>) -> Self {
        let divisor = of_rows.iter().fold(WHOLE, |all, own| gcd(all, own.0));
        Self {
            of_rows,
            parts: WHOLE / divisor,
        }
    }

    /// The number of parts of a step, 1 if all weights are whole.
    pub fn parts(&self) -> u32 {
        self.parts
    }

    /// How many examples a pass over these rows shows.
    pub fn count(&self, rows: impl Iterator<Item = u32>) -> u64 {
        rows.map(|row| u64::from(self.of(row).0.div_ceil(WHOLE)))
            .sum()
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
    /// A whole row.
    pub fn whole(row: u32) -> Self {
        Self(row)
    }

    /// The number of the row.
    pub fn row(self) -> u32 {
        self.0 & !PART
    }
}

fn gcd(one: u32, other: u32) -> u32 {
    match other {
        0 => one,
        _ => gcd(other, one % other),
    }
}
