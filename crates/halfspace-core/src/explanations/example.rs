//! The example of an explanation: its active features, with their values if the hypothesis reads values.

use crate::learners::hypothesis::Hypothesis;
use crate::learners::sample::data::{Data, Features};

/// The features that decide on one example.
#[derive(Clone, Debug, PartialEq)]
pub struct ExplainedExample {
    /// In ascending order.
    ids: Vec<u32>,
    /// None for an example of bits.
    values: Option<Vec<f64>>,
}

impl ExplainedExample {
    /// The first example of some data, as the hypothesis reads it. A hypothesis over reals reads the bit 0 as `zero`.
    ///
    /// # Panics
    /// Panics if there is no example.
    pub fn new(hypothesis: &Hypothesis, data: &Data, zero: f64) -> Self {
        let of_values = |values: &mut dyn Iterator<Item = (u32, f64)>| {
            let (ids, values) = values.filter(|(_, value)| *value != 0.0).unzip();
            let values = Some(values);
            Self { ids, values }
        };
        match data.features() {
            Features::Sparse(rows) if rows.is_real() => {
                of_values(&mut rows.row(0).entries().map(|(id, value)| (id as u32, value)))
            }
            Features::Sparse(rows) => Self {
                ids: rows.row(0).ids.to_vec(),
                values: None,
            },
            Features::Boolean(rows) => {
                let row = rows.row(0);
                if !hypothesis.reads_bits() {
                    let value = |id: u32| if row.get(id as usize) { 1.0 } else { zero };
                    return of_values(&mut (0..rows.n() as u32).map(|id| (id, value(id))));
                }
                let ids = (0..rows.n() as u32).filter(|&id| row.get(id as usize));
                Self {
                    ids: ids.collect(),
                    values: None,
                }
            }
            Features::Real(rows) => {
                of_values(&mut (0..).zip(rows.row(0)).map(|(id, value)| (id, *value)))
            }
        }
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = u32> {
        self.ids.iter().copied()
    }

    /// Whether a feature is active.
    pub(super) fn has(&self, feature: usize) -> bool {
        self.place(feature).is_some()
    }

    /// The value of an active feature. None if features have no values.
    pub(super) fn value(&self, feature: usize) -> Option<f64> {
        Some(self.values.as_ref()?[self.place(feature)?])
    }

    fn place(&self, feature: usize) -> Option<usize> {
        self.ids.binary_search(&(feature as u32)).ok()
    }
}
