//! The type of a labelled table with its definition, and the parameters from which it is made.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use rand::RngExt;

use crate::learners::engine::random::{Purpose, SEED_MAX, Seed};
use crate::learners::sample::generate::is_noisy;
use crate::theory::OutOfRange;

/// Largest number of features `n`.
pub const N_MAX: u64 = 50;
/// Largest number of rows `m`.
pub const M_MAX: u64 = 10_000;
/// Largest number of terms of a DNF.
pub const TERMS_MAX: u64 = 100;
/// Largest noise, because with more the labels would follow the negated concept.
pub const NOISE_MAX: f64 = 0.5;

/// The names of the classes of a concept: -1 and +1.
pub const CLASSES: [&str; 2] = ["negative", "positive"];

/// A table and its definition.
#[derive(Debug)]
pub struct Sample {
    /// Name in requests.
    pub name: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// The rows and the rule of the class.
    pub description: &'static str,
    /// The origin of the definition.
    pub source: &'static str,
    /// Names of the classes.
    pub classes: &'static [&'static str],
    /// How the table is read: names of options with their values. Empty if the table needs none.
    pub options: &'static [(&'static str, &'static str)],
    /// Names of the parameters.
    pub parameters: &'static [&'static str],
    /// A learner that classifies the table without errors.
    pub learner: &'static str,
    /// Parameters of the learner.
    pub learner_parameters: &'static [(&'static str, &'static str)],
    /// Makes the rows without noise.
    pub(super) rows: fn(&Settings) -> Rows,
}

/// The parameters of a request. An absent parameter takes the default.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SampleParameters {
    /// Features of a drawn table.
    pub n: Option<u64>,
    /// Rows of a drawn table.
    pub m: Option<u64>,
    /// Terms of a drawn DNF.
    pub terms: Option<u64>,
    /// Probability that a class is replaced by another.
    pub noise: Option<f64>,
    /// Seed of every random choice.
    pub seed: Option<u64>,
}

/// Columns and rows of text. The last column is `class`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampleTable {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// One value per column in each row.
    pub rows: Vec<Vec<Cow<'static, str>>>,
}

/// Checked parameters.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) n: usize,
    pub(super) m: u64,
    pub(super) terms: usize,
    pub(super) seed: Seed,
}

/// The features of each row, and the place of its class among those of the sample.
pub(super) struct Rows {
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<(Vec<Cow<'static, str>>, usize)>,
}

impl Sample {
    /// Makes the table. Equal parameters make equal tables.
    ///
    /// # Errors
    /// A parameter out of range, or one that the sample does not have.
    pub fn table(&self, given: &SampleParameters) -> Result<SampleTable, OutOfRange> {
        let settings = Settings {
            n: self.checked("n", given.n, 1..=N_MAX, 11)? as usize,
            m: self.checked("m", given.m, 1..=M_MAX, 500)?,
            terms: self.checked("terms", given.terms, 1..=TERMS_MAX, 3)? as usize,
            seed: Seed(self.checked("seed", given.seed, 0..=SEED_MAX, 1)?),
        };
        let noise = self.checked("noise", given.noise, 0.0..=NOISE_MAX, 0.0)?;
        let Rows { mut columns, rows } = (self.rows)(&settings);
        columns.push("class".to_owned());
        let mut random = settings.seed.generator(Purpose::Noise);
        let others = self.classes.len() - 1;
        let rows = rows.into_iter().map(|(mut cells, mut class)| {
            if is_noisy(noise, &mut random) {
                let steps = match others {
                    1 => 1,
                    others => random.random_range(1..=others),
                };
                class = (class + steps) % self.classes.len();
            }
            cells.push(self.classes[class].into());
            cells
        });
        Ok(SampleTable {
            rows: rows.collect(),
            columns,
        })
    }

    fn checked<T: PartialOrd + std::fmt::Display>(
        &self,
        parameter: &'static str,
        given: Option<T>,
        range: RangeInclusive<T>,
        default: T,
    ) -> Result<T, OutOfRange> {
        let Some(value) = given else {
            return Ok(default);
        };
        let detail = if !self.parameters.contains(&parameter) {
            format!(
                "the sample {} has no such parameter; the parameters are: {}",
                self.name,
                self.parameters.join(", ")
            )
        } else if !range.contains(&value) {
            format!("{value} is not from {} to {}", range.start(), range.end())
        } else {
            return Ok(value);
        };
        Err(OutOfRange { parameter, detail })
    }
}
