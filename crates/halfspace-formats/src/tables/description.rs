//! The encoding of a table whose columns are read: which features each of them became.

use halfspace_core::memory::{self, NoMemory};

use super::columns::TableColumns;
use crate::dates::DatePart;
use crate::encoding::{
    ColumnEncoding, ColumnKind, IgnoredColumn, LabelEncoding, MissingCells, Scale, TableEncoding,
    Written,
};

/// A column of features as its cells tell it.
pub(crate) struct FoundColumn {
    /// The column of the table, from 0.
    pub(crate) at: usize,
    /// The part of a date that the features are about.
    pub(crate) part: Option<DatePart>,
    pub(crate) kind: ColumnKind,
    /// Whether missing cells have a feature.
    pub(crate) missing: bool,
    pub(crate) written: Option<Written>,
    /// The scale of the numbers and the value of missing cells, once they are found.
    pub(crate) scale: Option<Scale>,
    pub(crate) fill: Option<String>,
}

impl FoundColumn {
    /// A column whose cells are written in the plain way.
    pub(crate) fn plain(at: usize, kind: ColumnKind) -> Self {
        Self {
            at,
            part: None,
            kind,
            missing: false,
            written: None,
            scale: None,
            fill: None,
        }
    }
}

impl TableColumns {
    /// Describes a table that holds only numbers. `low` returns the value of the bit 0 of a Boolean feature.
    pub(crate) fn describe_plain(
        &self,
        label: Option<LabelEncoding>,
        low: impl Fn(usize) -> Option<&'static str>,
        missing: MissingCells,
    ) -> Result<TableEncoding, NoMemory> {
        let kind = |feature| match low(feature) {
            Some(low) => ColumnKind::Boolean {
                values: [low, "1"].map(str::to_owned),
            },
            None => ColumnKind::Number,
        };
        let columns = self.features().enumerate();
        let columns = columns.map(|(feature, at)| FoundColumn::plain(at, kind(feature)));
        self.describe(label, columns, missing)
    }

    /// Describes a table by its columns with features.
    pub(crate) fn describe(
        &self,
        label: Option<LabelEncoding>,
        found: impl IntoIterator<Item = FoundColumn>,
        missing: MissingCells,
    ) -> Result<TableEncoding, NoMemory> {
        let mut next = 0;
        let columns = found.into_iter().map(|found| {
            let from = next;
            next += found.kind.features() as u32 + u32::from(found.missing);
            Ok::<_, NoMemory>(ColumnEncoding {
                name: self.columns[found.at].name.clone(),
                index: found.at as u32 + 1,
                features: [from, next],
                part: found.part,
                kind: found.kind,
                missing: found.missing,
                written: found.written,
                scale: found.scale,
                fill: found.fill,
            })
        });
        let columns = memory::collect(columns)?;
        let ignored = self.columns.iter().enumerate().filter_map(|(at, column)| {
            Some(Ok::<_, NoMemory>(IgnoredColumn {
                column: column.name.clone(),
                index: at as u32 + 1,
                why: column.ignored.or(column.no_feature())?.to_owned(),
            }))
        });
        Ok(TableEncoding {
            label,
            weights: self.described_weights(),
            columns,
            ignored: memory::collect(ignored)?,
            missing,
            header: self.has_header,
            extraction: None,
        })
    }
}
