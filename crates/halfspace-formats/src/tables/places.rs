//! Where the columns of a given encoding are in a table: by their names, or without names by their order.

use std::collections::HashSet;

use halfspace_core::memory::{self, NoMemory};

use super::columns::TableColumns;
use crate::encoding::{ColumnEncoding, TableEncoding};
use crate::error::{Fault, FormatErrorKind, excerpt};

impl TableColumns {
    /// The columns of the encoding in their order, as indices of columns of this table.
    ///
    /// # Errors
    /// When the table lacks a column of the encoding, or has one too many.
    pub(crate) fn places(&self, encoding: &TableEncoding) -> Result<Vec<usize>, Fault> {
        if self.has_header && encoding.header {
            return self.places_by_name(encoding);
        }
        let (label, weights) = (encoding.label.as_ref(), encoding.weights.as_ref());
        let label = label.map(|label| label.index as usize - 1);
        let weights = weights.map(|weights| weights.index as usize - 1);
        let sides = [(self.label, label), (self.weights, weights)];
        let others = encoding.column_count() + encoding.ignored.len();
        let theirs = others + usize::from(label.is_some()) + usize::from(weights.is_some());
        let mut found: Option<Vec<usize>> = None;
        // A table may lack the labels and the weights.
        for lacked in [[false, false], [true, false], [false, true], [true, true]] {
            let moved = Moved::new(sides.into_iter().zip(lacked));
            if self.columns.len() + moved.gone.len() != theirs + moved.stated.len() {
                continue;
            }
            let place = |column: &ColumnEncoding| Ok::<_, NoMemory>(moved.place(column.place()));
            let places = memory::collect(encoding.columns.iter().map(place))?;
            if found.as_ref().is_some_and(|found| *found != places) {
                let detail = format!(
                    "The rows have {} cells, so they lack either the labels or the weights of the encoding; say which \
                     column has the labels, as in `labels=last` or `labels=none`, or which has the weights.",
                    self.columns.len()
                );
                return Err(Fault::new(FormatErrorKind::TableOption, detail));
            }
            found = Some(places);
        }
        found.ok_or_else(|| {
            let beside = match weights {
                None => "the label",
                Some(_) => "the label and the weights",
            };
            let detail = format!(
                "The rows have {} cells, but the encoding has {others} columns beside {beside}.",
                self.columns.len()
            );
            Fault::new(FormatErrorKind::UnequalLength, detail)
        })
    }

    /// Gives columns the kinds that they have in an encoding of names. Columns may be absent, and further ones give
    /// names that the encoding does not have.
    ///
    /// # Errors
    /// As for [`Self::places`], if columns are matched by position.
    pub(super) fn read_as(&mut self, encoding: &TableEncoding) -> Result<(), Fault> {
        let (read, unread): (Vec<_>, Vec<_>) = if self.has_header && encoding.header {
            let own = self.by_name()?;
            let place = |name: &String| own.get(name.as_str()).copied();
            let read = encoding.columns.iter();
            let read = read.filter_map(|column| Some(Ok((place(&column.name)?, column))));
            let unread = unread_names(encoding).filter_map(|name| place(name).map(Ok));
            (
                memory::collect::<_, NoMemory>(read)?,
                memory::collect::<_, NoMemory>(unread)?,
            )
        } else {
            let places = self.places(encoding)?;
            let is_unread = |at: &usize| !places.contains(at);
            let unread = (0..self.columns.len()).filter(is_unread).collect();
            (places.into_iter().zip(&encoding.columns).collect(), unread)
        };
        let beside = self.beside();
        for at in unread.into_iter().filter(|at| !beside.contains(&Some(*at))) {
            let ignored = &mut self.columns[at].ignored;
            ignored.get_or_insert("the encoding ignores the column");
        }
        for (at, column) in read {
            let own = &mut self.columns[at];
            own.name.clone_from(&column.name);
            own.kind = Some(column.kind_name());
        }
        Ok(())
    }

    fn places_by_name(&self, encoding: &TableEncoding) -> Result<Vec<usize>, Fault> {
        let own = self.by_name()?;
        let mut known = HashSet::new();
        let others = unread_names(encoding);
        let names = encoding.columns.iter().map(|column| &column.name);
        for name in names.chain(others) {
            memory::insert(&mut known, name.as_str())?;
        }
        let surplus = (0..self.columns.len()).find(|&at| {
            let column = &self.columns[at];
            let is_known = known.contains(column.name.as_str());
            !self.is_beside(at) && column.ignored.is_none() && !is_known
        });
        if let Some(at) = surplus {
            let detail = format!(
                "The encoding does not know the column {}; `ignore={}` leaves the column out.",
                excerpt(self.columns[at].name.as_bytes()),
                self.said(at)
            );
            let fault = Fault::new(FormatErrorKind::TableOption, detail);
            return Err(fault.mended_by("ignore", self.said(at)));
        }
        let place = |column: &ColumnEncoding| {
            own.get(column.name.as_str()).copied().ok_or_else(|| {
                let detail = format!(
                    "The table has no column {}, which the encoding needs; the columns are {}.",
                    excerpt(column.name.as_bytes()),
                    self.listed()
                );
                Fault::new(FormatErrorKind::TableOption, detail)
            })
        };
        memory::collect(encoding.columns.iter().map(place))
    }
}

/// The names of the columns that an encoding does not read.
fn unread_names(encoding: &TableEncoding) -> impl Iterator<Item = &String> {
    let ignored = encoding.ignored.iter().map(|ignored| &ignored.column);
    let label = encoding.label.iter().map(|label| &label.column);
    let weights = encoding.weights.iter().map(|weights| &weights.column);
    ignored.chain(label).chain(weights)
}

/// How a table without names differs from that of an encoding. Apart from labels and weights, the columns keep their
/// order.
#[derive(Default)]
struct Moved {
    /// The columns of labels and weights of the encoding that the table lacks, or has where the request says.
    gone: Vec<usize>,
    /// The columns of labels and weights that the request states, in ascending order.
    stated: Vec<usize>,
}

impl Moved {
    /// The sides are the places of the labels and of the weights in the table and in the encoding, each with whether
    /// the table lacks them unless it states them.
    fn new(sides: impl Iterator<Item = ((Option<usize>, Option<usize>), bool)>) -> Self {
        let mut moved = Self::default();
        for ((own, their), is_lacking) in sides {
            moved.stated.extend(own);
            moved
                .gone
                .extend(their.filter(|_| own.is_some() || is_lacking));
        }
        moved.stated.sort_unstable();
        moved
    }

    /// Where the column of the encoding is.
    fn place(&self, column: usize) -> usize {
        let before = self.gone.iter().filter(|gone| **gone < column).count();
        let stated = self.stated.iter();
        stated.fold(column - before, |at, stated| {
            at + usize::from(*stated <= at)
        })
    }
}
