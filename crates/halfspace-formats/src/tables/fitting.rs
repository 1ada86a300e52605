//! What the features of a column take from all of its cells: the value of a missing cell, thresholds and the scale.

use halfspace_core::memory;

use super::cell_buffer::KeptRow;
use super::column_scan::{ColumnScan, ColumnValue, KeptCell};
use super::columns::TableColumns;
use super::description::FoundColumn;
use super::kept_rows::KeptRows;
use super::moments::{Deviations, Total};
use super::order_search::{
    OrderSearch, middle_places, number, ordered, quantile_places, thresholds,
};
use crate::cell::Content;
use crate::dates::{self, DatePart};
use crate::encoding::options::{BINS_DEFAULT, Numbers, Scaling};
use crate::encoding::{ColumnKind, Missing, Scale, number_of};
use crate::error::{Fault, FormatError, FormatErrorKind};
use crate::numbers::shortest;
use crate::options::Options;

/// What fills a column of numbers without any number.
const NOTHING: f64 = 0.0;

/// The cells of a table whose columns have their kinds.
pub(super) struct Fitting<'t> {
    pub(super) table: &'t TableColumns,
    pub(super) scans: &'t [ColumnScan],
    pub(super) rows: &'t mut KeptRows,
}

/// A column of numbers whose cells are read, and what is gathered from them.
struct Gathered<T> {
    /// The index of the column among those that were found.
    found: usize,
    at: usize,
    part: Option<DatePart>,
    /// The number of a missing cell.
    fill: Option<f64>,
    own: T,
}

impl<T> Gathered<T> {
    /// The number of the cell in a row, or that of a missing one.
    fn number(&self, scans: &[ColumnScan], row: KeptRow<'_>) -> Option<f64> {
        let number = match row.cell(self.at) {
            KeptCell::Number(number) => Some(number).filter(|number| !number.is_nan()),
            KeptCell::Code(code) => scans[self.at].values[usize::from(code)].content.number(),
        };
        let number = number.or(self.fill)?;
        Some(self.part.map_or(number, |part| part.of(number)))
    }

    fn with<U>(&self, own: U) -> Gathered<U> {
        Gathered {
            found: self.found,
            at: self.at,
            part: self.part,
            fill: self.fill,
            own,
        }
    }
}

/// A column with the numbers at some places of the sorted ones.
type OrderStatistics = (Gathered<Total>, Vec<f64>);

impl Fitting<'_> {
    /// Completes the columns.
    ///
    /// # Errors
    /// When so many columns with so many bins could have more than `n_max` features, when numbers are too large for
    /// their mean, when memory or time ends, or when the rows cannot be read.
    pub(super) fn fit(
        mut self,
        found: &mut [FoundColumn],
        options: &Options,
    ) -> Result<(), FormatError> {
        let request = &options.table;
        let is_indicated = request.missing == Some(Missing::Indicator);
        match request.missing {
            Some(Missing::Mean | Missing::Indicator) => {
                self.fill_with_means(found, is_indicated)?
            }
            Some(Missing::Median) => self.fill_with_medians(found)?,
            Some(Missing::MostFrequent) => self.fill_with_modes(found)?,
            Some(Missing::Value | Missing::Drop | Missing::Refuse | Missing::Absent) | None => {}
        }
        for column in found.iter_mut().filter(|column| column.fill.is_some()) {
            column.missing &= is_indicated;
        }
        if request.numbers == Numbers::Thermometer {
            let bins = request.bins.unwrap_or(BINS_DEFAULT);
            check_bins(found, bins, options.limits.n_max)?;
            self.find_thresholds(found, bins)?;
        }
        match request.scale {
            Scaling::None => Ok(()),
            scaling => self.find_scales(found, scaling),
        }
    }

    /// The columns of numbers for which `is_meant` holds, with nothing gathered yet. Of a date with its parts there is
    /// only the first, unless `has_parts`.
    fn columns<T: Default>(
        found: &[FoundColumn],
        has_parts: bool,
        is_meant: impl Fn(&FoundColumn) -> bool,
    ) -> Result<Vec<Gathered<T>>, FormatError> {
        let meant = found.iter().enumerate().filter(|(_, column)| {
            let is_first = column.part.is_none_or(|part| part == DatePart::Year);
            column.kind.is_numeric() && (has_parts || is_first) && is_meant(column)
        });
        memory::collect(meant.map(|(found, column)| {
            Ok(Gathered {
                found,
                at: column.at,
                part: column.part.filter(|_| has_parts),
                fill: column
                    .fill
                    .as_ref()
                    .and_then(|fill| number_of(fill, column.part)),
                own: T::default(),
            })
        }))
    }

    /// Passes the number of each cell to its column.
    fn pass<T>(
        &mut self,
        columns: &mut [Gathered<T>],
        see: impl Fn(&mut T, f64),
    ) -> Result<(), FormatError> {
        let scans = self.scans;
        self.rows.for_each(|row, _| {
            for column in &mut *columns {
                if let Some(number) = column.number(scans, row) {
                    see(&mut column.own, number);
                }
            }
            Ok(())
        })
    }

    fn totals(&mut self, columns: &mut [Gathered<Total>]) -> Result<(), FormatError> {
        self.pass(columns, Total::see)
    }

    fn fill_with_means(
        &mut self,
        found: &mut [FoundColumn],
        is_indicated: bool,
    ) -> Result<(), FormatError> {
        // The thermometer has a feature for missing cells, and no bit of its own for a filled one.
        let is_meant = |column: &FoundColumn| !is_indicated || column.kind == ColumnKind::Number;
        let mut columns = Self::columns::<Total>(found, false, is_meant)?;
        self.totals(&mut columns)?;
        for column in &columns {
            let mean = match column.own.count {
                0 => NOTHING,
                _ => column.own.mean(),
            };
            self.check_finite(column.at, mean)?;
            fill(found, column.at, mean);
        }
        Ok(())
    }

    fn fill_with_medians(&mut self, found: &mut [FoundColumn]) -> Result<(), FormatError> {
        let columns = Self::columns::<Total>(found, false, |_| true)?;
        for (column, middle) in self.order_statistics(columns, middle_places)? {
            let median = match middle[..] {
                [low, high] if (low + high).is_finite() => (low + high) / 2.0,
                [low, high] => low / 2.0 + high / 2.0,
                _ => NOTHING,
            };
            fill(found, column.at, median);
        }
        Ok(())
    }

    /// The numbers of each column at the places that `places` says for their count, in one or in eight passes after
    /// the one that counts.
    fn order_statistics(
        &mut self,
        mut columns: Vec<Gathered<Total>>,
        places: impl Fn(u64) -> Vec<u64>,
    ) -> Result<Vec<OrderStatistics>, FormatError> {
        self.totals(&mut columns)?;
        let asked = places(1).len() as u64;
        let bytes = |column: &Gathered<Total>| OrderSearch::bytes(column.own.count, asked);
        memory::need(columns.iter().map(bytes).sum())?;
        let search = |column: &Gathered<Total>| {
            let count = column.own.count;
            column.with(OrderSearch::new(count, places(count)))
        };
        let mut searches: Vec<Gathered<OrderSearch>> = columns.iter().map(search).collect();
        let passes = searches.iter().map(|search| search.own.passes());
        for _ in 0..passes.max().unwrap_or(0) {
            self.pass(&mut searches, OrderSearch::see)?;
            let own = searches.iter_mut().map(|search| &mut search.own);
            own.for_each(OrderSearch::end_pass);
        }
        let found = searches.into_iter().map(|search| search.own.finish());
        Ok(columns.into_iter().zip(found).collect())
    }

    fn fill_with_modes(&mut self, found: &mut [FoundColumn]) -> Result<(), FormatError> {
        self.fill_with_frequent_values(found)?;
        let mut totals = Self::columns::<Total>(found, false, |_| true)?;
        self.totals(&mut totals)?;
        let numbers: u64 = totals.iter().map(|column| column.own.count).sum();
        memory::need(numbers.saturating_mul(size_of::<u64>() as u64))?;
        let keys =
            |column: &Gathered<Total>| column.with(Vec::with_capacity(column.own.count as usize));
        let mut columns: Vec<Gathered<Vec<u64>>> = totals.iter().map(keys).collect();
        self.pass(&mut columns, |keys, number| keys.push(ordered(number)))?;
        for mut column in columns {
            column.own.sort_unstable();
            let mut best: Option<&[u64]> = None;
            for equal in column.own.chunk_by(|first, second| first == second) {
                if best.is_none_or(|best| equal.len() > best.len()) {
                    best = Some(equal);
                }
            }
            let most = best.and_then(<[u64]>::first);
            fill(found, column.at, most.map_or(NOTHING, |key| number(*key)));
        }
        Ok(())
    }

    /// Fills the columns that are no numbers.
    fn fill_with_frequent_values(&mut self, found: &mut [FoundColumn]) -> Result<(), FormatError> {
        let (scans, rows) = (self.scans, &mut *self.rows);
        let meant = found.iter_mut().filter(|column| !column.kind.is_numeric());
        let counted = meant.map(|column| ValueCounts::new(column, &scans[column.at]));
        let mut counted = memory::collect(counted)?;
        rows.for_each(|row, _| {
            for column in &mut counted {
                column.see(row.cell(column.found.at));
            }
            Ok(())
        })?;
        counted.into_iter().for_each(ValueCounts::fill);
        Ok(())
    }

    fn find_thresholds(&mut self, found: &mut [FoundColumn], bins: u32) -> Result<(), FormatError> {
        let columns = Self::columns::<Total>(found, true, is_thermometer)?;
        // A filled cell does not move the thresholds.
        let columns = columns.into_iter();
        let columns: Vec<_> = columns
            .map(|column| Gathered {
                fill: None,
                ..column
            })
            .collect();
        let quantiles = self.order_statistics(columns, |count| quantile_places(count, bins))?;
        for (column, quantiles) in quantiles {
            found[column.found].kind = ColumnKind::Thermometer {
                thresholds: thresholds(quantiles, column.own.smallest),
            };
        }
        Ok(())
    }

    /// Finds the scales. A filled cell counts as its number.
    fn find_scales(
        &mut self,
        found: &mut [FoundColumn],
        scaling: Scaling,
    ) -> Result<(), FormatError> {
        let is_number = |column: &FoundColumn| column.kind == ColumnKind::Number;
        let mut totals = Self::columns::<Total>(found, true, is_number)?;
        self.totals(&mut totals)?;
        let spread: Vec<f64> = match scaling {
            Scaling::Standard => {
                let begun = |column: &Gathered<Total>| column.with(column.own.deviations());
                let mut columns: Vec<Gathered<Deviations>> = totals.iter().map(begun).collect();
                self.pass(&mut columns, Deviations::see)?;
                let deviations = columns.iter().map(|column| column.own.standard());
                deviations.collect()
            }
            Scaling::Range | Scaling::None => {
                let own = totals.iter().map(|column| &column.own);
                own.map(|own| own.largest - own.smallest).collect()
            }
        };
        for (column, spread) in totals.iter().zip(spread) {
            let offset = match scaling {
                Scaling::Standard => column.own.mean(),
                Scaling::Range | Scaling::None => column.own.smallest,
            };
            self.check_finite(column.at, offset + spread)?;
            let divisor = if spread > 0.0 { spread } else { 1.0 };
            found[column.found].scale = Some(Scale { offset, divisor });
        }
        Ok(())
    }

    fn check_finite(&self, at: usize, number: f64) -> Result<(), Fault> {
        if number.is_finite() {
            return Ok(());
        }
        let detail =
            "has numbers whose sum or range is too large for a double; write them in a larger unit";
        let fault = Fault::new(FormatErrorKind::TableOption, detail);
        Err(self.table.about(at, fault))
    }
}

/// The number of cells of each value in a column of words or bits.
struct ValueCounts<'f> {
    found: &'f mut FoundColumn,
    /// The index of the value of each code.
    of_codes: Vec<Option<usize>>,
    /// The number of cells of each value, in the order of the values.
    cells: Vec<u64>,
}

impl<'f> ValueCounts<'f> {
    fn new(found: &'f mut FoundColumn, scan: &ColumnScan) -> Result<Self, FormatError> {
        let values = scan.values.iter();
        let index = |value: &ColumnValue| Ok(index_of(&found.kind, value.content, &value.text));
        Ok(Self {
            of_codes: memory::collect::<_, FormatError>(values.map(index))?,
            cells: vec![0; scan.values.len().max(2)],
            found,
        })
    }

    fn see(&mut self, cell: KeptCell) {
        let index = match cell {
            KeptCell::Code(code) => self.of_codes[usize::from(code)],
            KeptCell::Number(number) if number.is_nan() => None,
            // A number of the rows that were read before the first word.
            KeptCell::Number(number) => {
                let content = Content::Number(number);
                index_of(&self.found.kind, content, &number.to_string())
            }
        };
        if let Some(index) = index {
            self.cells[index] += 1;
        }
    }

    /// Fills missing cells with the first of the most frequent values.
    fn fill(self) {
        let values = match &self.found.kind {
            ColumnKind::Boolean { values } => &values[..],
            ColumnKind::Nominal { values } => values,
            _ => return,
        };
        let counted = values.iter().zip(&self.cells).rev();
        let most = counted.max_by_key(|(_, cells)| **cells);
        self.found.fill = most.map(|(value, _)| value.clone());
    }
}

/// The index of a value among those of its column, which ascend.
fn index_of(kind: &ColumnKind, content: Content, text: &str) -> Option<usize> {
    match (kind, content) {
        (_, Content::Missing) => None,
        (ColumnKind::Boolean { .. }, Content::Flag(_, flag)) => Some(usize::from(flag)),
        (ColumnKind::Boolean { .. }, content) => {
            content.number().map(|number| usize::from(number == 1.0))
        }
        (ColumnKind::Nominal { values }, _) => {
            let found = values.binary_search_by(|value| value.as_str().cmp(text));
            found.ok()
        }
        _ => None,
    }
}

/// Fills the missing cells of a column, or of all parts of its dates, for which the number is that of a whole second.
fn fill(found: &mut [FoundColumn], at: usize, number: f64) {
    for column in found.iter_mut().filter(|column| column.at == at) {
        column.fill = Some(match column.part {
            Some(_) => dates::written(number.round()),
            None => shortest(number).into_owned(),
        });
    }
}

fn is_thermometer(column: &FoundColumn) -> bool {
    matches!(column.kind, ColumnKind::Thermometer { .. })
}

/// Checks that the thresholds of all thermometer columns can be features.
///
/// # Errors
/// When so many columns with so many bins could have more than `n_max` features.
fn check_bins(kinds: &[FoundColumn], bins: u32, n_max: usize) -> Result<(), Fault> {
    let columns = kinds.iter().filter(|column| is_thermometer(column)).count();
    let features = columns.saturating_mul(bins as usize);
    if features <= n_max {
        return Ok(());
    }
    let what = format!(
        "{columns} columns of numbers with {bins} bins each may have {features} features; `bins=` asks for fewer bins, \
         and `ignore=COLUMN,..` leaves columns out"
    );
    Err(Fault::too_large(&what, "n_max", n_max as u64))
}
